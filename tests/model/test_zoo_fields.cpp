// Distributed under the Boost Software License, Version 1.0.
// Models known by name are, field for field, what their configurations say: a count alone does not see a window or a cap.
#include <headroom/io/huggingface.hpp>
#include <headroom/io/job/model.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <string>

namespace test_zoo_fields {

namespace {

using headroom::shape;
using nlohmann::json;

/// Keys of the checkpoints' own config.json that count no parameter, and so are not in the collection.
const std::map<std::string, json> left_out = {
    {"google/gemma-3-270m", {{"sliding_window", 512}}},
    {"google/gemma-3-1b-pt", {{"sliding_window", 512}}},
    {"google/gemma-3-4b-pt", {{"text_config", {{"sliding_window", 1024}}}}},
    {"google/gemma-3-27b-pt", {{"text_config", {{"sliding_window", 1024}}}}},
    {"mistralai/Mistral-7B-v0.3", {{"sliding_window", nullptr}}},
    {"mistralai/Mistral-Large-Instruct-2407", {{"sliding_window", nullptr}}},
    {"Qwen/Qwen3-30B-A3B", {{"norm_topk_prob", true}}},
    {"Qwen/Qwen3-235B-A22B", {{"norm_topk_prob", true}}},
    {"Qwen/Qwen3-Coder-480B-A35B-Instruct", {{"norm_topk_prob", true}}},
    {"microsoft/phi-2", {{"partial_rotary_factor", 0.4}}},
};

/// Two spellings of one network are one: what is left open is written out, and what nothing reads is dropped.
shape written_out(shape m) {
  m.label = {};
  m.kv_heads = m.latent() ? 0 : m.kv();
  if (m.encoder.layers > 0) {
    if (m.encoder.heads == 0) m.encoder.heads = m.heads;
    if (m.encoder.ffn == 0) m.encoder.ffn = m.ffn;
  }
  if (m.vision.layers > 0 && m.vision.output == 0) m.vision.output = m.hidden;
  if (m.position != headroom::position_kind::learned) m.max_positions = 0;  // no table
  if (m.head == headroom::head_kind::none) m.tied = false;                  // no second matrix
  return m;
}

/// What differs, key by key, for the message of a failure.
std::string difference(shape read, shape known) {
  read.label = known.label = "compared";  // no name of the zoo: all keys are written
  const nlohmann::ordered_json a(headroom::io::model_to_json(read)), b(headroom::io::model_to_json(known));
  return json::diff(json(b), json(a)).dump();
}

}  // namespace

TEST_CASE("the zoo's models have every field that their configurations give them") {
  std::ifstream in(std::string(HEADROOM_TEST_DATA) + "/models.json");
  REQUIRE(in.good());
  int compared = 0;
  for (const auto& entry : json::parse(in)) {
    const auto name = entry.at("name").get<std::string>();
    const shape* known = headroom::models::find(name);
    // The file has Qwen3-Next's configuration under Olmo's name.
    if (known == nullptr || name == "allenai/Olmo-3-32B") continue;
    CAPTURE(name);
    json config = entry.at("config");
    config["architectures"] = entry.at("architectures");
    if (entry.contains("tie_word_embeddings")) config["tie_word_embeddings"] = entry.at("tie_word_embeddings");
    if (const auto more = left_out.find(name); more != left_out.end()) config.update(more->second, true);
    const auto a = written_out(headroom::io::model_from_config(config)), b = written_out(*known);
    CHECK_MESSAGE(a == b, difference(a, b));
    ++compared;
  }
  CHECK(compared == 143);
}

}  // namespace test_zoo_fields
