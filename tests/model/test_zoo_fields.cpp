// Distributed under the Boost Software License, Version 1.0.
// Models known by name are, field for field, what their configurations say: a count alone does not see a window or a cap.
#include <headroom/io/job/named_shape.hpp>
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
    {"bigcode/starcoder2-3b", {{"sliding_window", 4096}}},
    {"bigcode/starcoder2-7b", {{"sliding_window", 4096}}},
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
  int compared = 0;
  const auto entries = [] {
    auto all = json::array();
    for (const auto* file : {"/models.json", "/models_2026.json"}) {
      std::ifstream in(std::string(HEADROOM_TEST_DATA) + file);
      REQUIRE(in.good());
      for (const auto& entry : json::parse(in)) all.push_back(entry);
    }
    return all;
  }();
  for (const auto& entry : entries) {
    const auto name = entry.at("name").get<std::string>();
    const shape* known = headroom::models::find(name);
    // The file has Qwen3-Next's configuration under Olmo's name; the newer one XLM-RoBERTa's with a head.
    if (known == nullptr || name == "allenai/Olmo-3-32B" || entry.at("architectures") == json::array({"XLMRobertaForMaskedLM"}) || entry.at("config").value("model_type", "") == "internvl") continue;  // which is counted alone
    CAPTURE(name);
    json config = entry.at("config");
    config["architectures"] = entry.at("architectures");
    if (entry.contains("tie_word_embeddings")) config["tie_word_embeddings"] = entry.at("tie_word_embeddings");
    if (const auto more = left_out.find(name); more != left_out.end()) config.update(more->second, true);
    const auto a = written_out(headroom::io::model_from_config(config)), b = written_out(*known);
    CHECK_MESSAGE(a == b, difference(a, b));
    ++compared;
  }
  CHECK(compared == 163);
}

// Numbers of parameters that the hub publishes. Its files of Qwen3.5 have a module for predicting one more token, which transformers does not build: a
// layer of attention and MLP (or experts), a projection of two hidden states, and norms of 5 hidden states.
TEST_CASE("models since 2025 have as many parameters as their files") {
  const auto total = [](const char* name) {
    const auto m = headroom::io::shape_named(name);
    REQUIRE(m.has_value());
    return headroom::count(*m).total.count();
  };
  const auto extra = [](std::int64_t h, std::int64_t heads, std::int64_t kv, std::int64_t feeds) {
    return 2 * h * h + h * heads * 512 + 2 * h * kv * 256 + heads * 256 * h + 512 + feeds + 5 * h;
  };
  CHECK(total("Qwen/Qwen3.5-2B") + extra(2048, 8, 2, 3 * 2048 * 6144) == 2'274'069'824);
  CHECK(total("Qwen/Qwen3.5-4B") + extra(2560, 16, 4, 3 * 2560 * 9216) == 4'659'865'088);
  CHECK(total("Qwen/Qwen3.5-9B") + extra(4096, 16, 4, 3 * 4096 * 12288) == 9'653'104'368);
  CHECK(total("Qwen/Qwen3.6-27B") + extra(5120, 24, 4, 3 * 5120 * 17408) == 27'781'427'952);
  CHECK(total("Qwen/Qwen3.6-35B-A3B") + extra(2048, 16, 2, 257 * 3 * 2048 * 512 + 256 * 2048 + 2048) == 35'951'822'704);
  CHECK(total("Qwen/Qwen3-Embedding-0.6B") == 595'776'512);
  CHECK(total("Qwen/Qwen3-Embedding-4B") == 4'021'774'336);
  CHECK(total("Qwen/Qwen3-Embedding-8B") == 7'567'295'488 + 151'665LL * 4096);  // the file is without the head
  CHECK(total("Qwen/Qwen3-Reranker-4B") == 4'021'784'576);
  CHECK(total("Qwen/Qwen3-Reranker-8B") == 8'188'548'096);
  CHECK(total("Qwen/Qwen3-VL-Embedding-8B") == 8'144'793'840 + 151'936LL * 4096);  // … without the head, too
  CHECK(total("google-bert/bert-base-chinese") == 102'267'648);
}

}  // namespace test_zoo_fields
