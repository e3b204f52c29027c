// Distributed under the Boost Software License, Version 1.0.
// What is said of a checkpoint's index beside the model: exactly its parameters, or why not. Qwen2.5-0.5B: 494,032,768 parameters, of which the tied table is 151,936 × 896.
#include <headroom/io/import.hpp>

#include <doctest/doctest.h>

namespace test_index_sizes {

using namespace headroom;
using io::json_value;

namespace {

const shape tied = *models::find("qwen2.5-0.5b");
constexpr std::int64_t whole = 494'032'768, table = 151'936LL * 896;

io::safetensors_index index_of(const std::vector<std::string>& names, json_value size) {
  json_value root{{"weight_map", json_value::object()}};
  if (!size.is_null()) root["metadata"] = {{"total_size", size}};
  for (const auto& n : names) root["weight_map"][n] = "a.safetensors";
  return io::read_safetensors_index(io::document{.source = "index.json", .root = root, .lines = {}});
}
std::string said(const std::vector<std::string>& names, std::int64_t size, const shape& m = tied) { return io::compared(index_of(names, size), m); }
bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("an index's bytes are the model's, or it is said why they are others") {
  CHECK(said({"a"}, 2 * whole) == "index.json: 988065536 bytes in 1 tensors are the model's 494032768 parameters in 16-bit, exactly");
  CHECK(holds(said({"a"}, 4 * whole), "parameters in fp32, exactly"));
  CHECK(holds(said({"a"}, whole), "parameters in 8-bit, exactly"));
  CHECK(said({"a"}, 0) == "index.json: 1 tensors of a size that it does not state");
  CHECK(io::compared(index_of({"a", "b"}, nullptr), tied) == "index.json: 2 tensors of a size that it does not state");
  // A copy of the table as the head, by either of its names; without the name it is something else.
  for (const std::string head : {"lm_head.weight", "model.lm_head.weight", "output.weight"}) CHECK(holds(said({head}, 2 * (whole + table)), "and a copy of the tied embedding as its head, 136134656"));
  CHECK(holds(said({"x.output.weight"}, 2 * (whole + table)), "bytes for each"));
  CHECK(holds(said({"lm_head.weight"}, 2 * (whole + table) + 2), "bytes for each"));
  auto untied = tied;
  untied.tied = false;
  CHECK(holds(said({"a"}, 2 * whole, untied), "without a head, 136134656: the checkpoint ties it to the embedding, or is a base model"));
  CHECK(holds(said({"lm_head.weight"}, 2 * whole, untied), "bytes for each"));
}

TEST_CASE("why an index has other bytes than the model") {
  for (const std::string scale : {"a.weight_scale_inv", "a.qweight", "a.qzeros", "a.scales"}) CHECK(holds(said({scale}, whole / 2), ": 1 tensors of scales, so the weights are quantised"));
  for (const std::string buffer : {"rotary_emb.inv_freq", "a.masked_bias", "h.0.attn.bias", "embeddings.position_ids"}) {
    CAPTURE(buffer);
    CHECK(holds(said({buffer}, 2 * whole + 1000), ": 1 buffers are among them, which are no parameters"));
    CHECK(holds(said({buffer}, 5 * whole), ": neither 16 nor 32 bits each"));
    CHECK(holds(said({buffer}, whole + 8), ": neither 16 nor 32 bits each"));
  }
  CHECK(holds(said({"a.attn.c_attn.bias"}, 2 * whole + 1000), ": the checkpoint has other tensors than the model"));
  CHECK(holds(said({"a"}, 4 * whole - 1000), ": the checkpoint has other tensors than the model"));
  CHECK(holds(said({"a"}, 3 * whole), "are 3.000 bytes for each of the model's 494032768 parameters: neither 16 nor 32 bits each, so formats are mixed, or this is another model"));
  CHECK(holds(said({"a"}, 5 * whole), ": neither 16 nor 32 bits each"));
  CHECK(holds(said({"a"}, whole / 2), ": neither 16 nor 32 bits each"));
}

TEST_CASE("an index is a map of tensors to files") {
  const auto read = [](const json_value& root) { (void)io::read_safetensors_index(io::document{.source = "index.json", .root = root, .lines = {}}); };
  CHECK_THROWS_WITH(read({{"weight_map", 3}}), doctest::Contains("weight_map must be an object, found 3"));
  CHECK_THROWS_WITH(read({{"metadata", 1}}), doctest::Contains("weight_map is required"));
  CHECK_THROWS_WITH(read({{"weight_map", {{"a", 3}}}}), doctest::Contains("weight_map.\"a\" must be a string, found 3"));
  CHECK_THROWS_WITH(read({{"weight_map", {{"a", "b"}}}, {"metadata", {{"total_size", -1}}}}), doctest::Contains("metadata.total_size must be a whole number"));
  CHECK_NOTHROW(read({{"weight_map", {{"a", "b"}}}, {"metadata", 3}}));
}

}  // namespace test_index_sizes
