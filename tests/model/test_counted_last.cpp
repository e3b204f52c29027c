// Distributed under the Boost Software License, Version 1.0.
// Classes that were read last: random configurations against the classes' own totals, and every class at its defaults.
#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "counted_rows.hpp"

namespace test_counted_last {

using nlohmann::json;

namespace {

std::string objection(const json& config) {
  try {
    headroom::io::count_config(config);
  } catch (const headroom::job_error& e) {
    return e.what();
  }
  return {};
}
std::int64_t total(const json& config) { return headroom::io::count_config(config).total.count(); }

}  // namespace

TEST_CASE("random configurations of towers, retrievers and models of two stacks count exactly") {
  const auto seen = counted_rows::count_all("counted_last.json");
  CHECK(seen.exact == 188);
  CHECK(seen.refused == 0);
}

TEST_CASE("the classes' default configurations count exactly, or are refused") {
  const auto seen = counted_rows::count_all("class_defaults.json");
  CHECK(seen.exact == 1216);
  CHECK(seen.refused == 231);
}

TEST_CASE("LLaVA's tied tables are said with the text, too: releases of transformers read either") {
  json llava = {{"architectures", {"LlavaForConditionalGeneration"}}, {"model_type", "llava"}, {"tie_word_embeddings", true}, {"text_config", {{"model_type", "llama"}}}};
  CHECK(objection(llava).starts_with("headroom: config.text_config.tie_word_embeddings must be stated, too"));
}

TEST_CASE("ShieldGemma 2 and Mllama's text are counted by the class that a causal head makes of them") {
  // tests/data/models_2026.json has both, too: class defaults.
  CHECK(total({{"model_type", "shieldgemma2"}, {"architectures", {"Gemma3ForConditionalGeneration"}}}) == 2'723'312'896);
  CHECK(total({{"model_type", "mllama"}, {"architectures", {"MllamaForCausalLM"}}}) == 9'775'192'080);
}

TEST_CASE("mT5's head is asked for: releases of transformers differ") {
  json config = {{"model_type", "mt5"}, {"architectures", {"MT5ForConditionalGeneration"}}};
  CHECK(objection(config).starts_with("headroom: config.tie_word_embeddings must be stated for mT5"));
  // transformers 5.16's own default is tied: 250112 × 512 of words, and both stacks.
  config["tie_word_embeddings"] = true;
  CHECK(total(config) == 172'119'424);
  config["tie_word_embeddings"] = false;
  CHECK(total(config) == 172'119'424 + 250'112 * 512);
}

}  // namespace test_counted_last
