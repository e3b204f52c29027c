// Distributed under the Boost Software License, Version 1.0.
// A key that no reader asked for is refused, whatever the family; published configurations, whose keys are known, read as they did.
#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "counted_rows.hpp"

namespace test_unread_keys {

using headroom::io::model_from_config;
using nlohmann::json;

namespace {

std::string complaint(const json& config) {
  try {
    (void)model_from_config(config);
  } catch (const headroom::job_error& e) {
    return e.what();
  }
  return "accepted";
}

/// A configuration with a key that no class has, in itself or in one of its parts; and where.
std::pair<json, std::string> with_unknown(json config, std::mt19937& random) {
  static const json values[] = {3, true, "wide", {1, 2}, {{"a", 1}}, 1.5, -1};
  std::string key = std::string{random() % 2 == 0 ? "num_" : "use_"} + std::string(3 + random() % 5, static_cast<char>('a' + random() % 26)) + "_zq";
  const auto& value = values[random() % std::size(values)];
  for (const char* part : {"text_config", "vision_config"})
    if (config.contains(part) && config[part].is_object() && random() % 2 == 0) return config[part][key] = value, std::pair{config, std::string{"config."} + part + "." + key};
  config[key] = value;
  return {config, "config." + key};
}

}  // namespace

TEST_CASE("published configurations read with all of their keys") {
  for (const auto& entry : counted_rows::data("published_configs.json")) {
    CAPTURE(entry["name"].get<std::string>());
    CHECK(headroom::count(model_from_config(entry["config"])).total.count() == entry["total"].get<std::int64_t>());
  }
}

TEST_CASE("a key that nobody knows is refused by name, in every family and in its parts") {
  std::mt19937 random(11);
  int seen = 0, parts = 0;
  const auto check = [&](const json& config) {
    if (complaint(config) != "accepted") return;
    const auto unknown = with_unknown(config, random);
    const auto& changed = unknown.first;
    const auto& where = unknown.second;
    CAPTURE(changed.dump());
    const bool held = headroom::io::detail::find_held(config.value("model_type", "")) != nullptr;  // for which the count answers
    CHECK(complaint(changed).starts_with("headroom: " + where + " is not known for " + (held ? "" : "model_type \"")));
    CHECK_THROWS_AS((void)headroom::io::count_config(changed), headroom::job_error);
    ++seen;
    parts += where.find("_config.") != where.npos ? 1 : 0;
  };
  for (const char* file : {"models_2026.json", "models.json", "model_fuzz_vectors.json"})
    for (const auto& entry : counted_rows::data(file)) check(counted_rows::config_of(entry));
  for (const auto& entry : counted_rows::data("published_configs.json")) check(entry["config"]);
  CHECK(seen > 450);
  CHECK(parts > 20);
}

TEST_CASE("what says nothing, or is known to shape nothing, passes") {
  const json llama = {{"model_type", "llama"}, {"num_hidden_layers", 2}};
  const auto with = [&](const char* key, const json& value) {
    auto c = llama;
    c[key] = value;
    return complaint(c);
  };
  for (const json& nothing : {json(nullptr), json(false), json(0), json(""), json::array(), json::object()}) CHECK(with("some_future_key", nothing) == "accepted");
  for (const char* key : {"unsloth_version", "special_token_id", "residual_dropout", "rope_scaling"}) CHECK(with(key, 7) == "accepted");
  CHECK(with("some_future_key", 7) == "headroom: config.some_future_key is not known for model_type \"llama\", and may shape the network. Take it away if it does not, found 7");
  // transformers 5.16, configuration_utils.py: layers with configurations of their own, in any family.
  CHECK(with("per_layer_config", {{"1", {{"intermediate_size", 64}}}}).starts_with("headroom: config.per_layer_config is not known for"));
  // A key is another family's own affair: Nemotron-H's class has `expand` and does not read it, Llama's has none.
  CHECK(with("expand", 2).starts_with("headroom: config.expand is not known for"));
  CHECK(complaint({{"model_type", "nemotron_h"}, {"hybrid_override_pattern", "M*"}, {"num_hidden_layers", 2}, {"expand", 2}}) == "accepted");
  // For a class that is counted, a false may shape the network: it stays strict.
  CHECK_THROWS_WITH_AS((void)headroom::io::count_config({{"model_type", "zamba2"}, {"architectures", {"Zamba2ForCausalLM"}}, {"some_future_key", false}}), doctest::Contains("some_future_key is not known"), headroom::job_error);
}

TEST_CASE("CLIP's copies of its parts must say what the parts say") {
  json clip = {{"model_type", "clip"}, {"architectures", {"CLIPModel"}}, {"text_config", {{"hidden_size", 768}, {"num_attention_heads", 12}}}, {"text_config_dict", {{"hidden_size", 768}, {"bos_token_id", 0}}}};
  CHECK(complaint(clip) == "accepted");
  clip["text_config_dict"]["hidden_size"] = 512;
  CHECK(complaint(clip).starts_with("headroom: config.text_config_dict is not known for model_type \"clip\""));
  clip["text_config_dict"] = {{"intermediate_size", 512}};
  CHECK(complaint(clip).starts_with("headroom: config.text_config_dict is not known"));
}

// transformers 4 took null for a number that no turned head reads; another name of a key that says none of what the key says is a contradiction.
TEST_CASE("positions that turned heads do not read may be null, and experts are as many by all their names") {
  nlohmann::json llama{{"model_type", "llama"}, {"architectures", {"LlamaForCausalLM"}}, {"num_hidden_layers", 2}};
  const auto usual = headroom::io::model_from_config(llama);
  llama["max_position_embeddings"] = nullptr;
  CHECK(headroom::io::model_from_config(llama) == usual);
  llama["max_position_embeddings"] = 0;
  CHECK(count(headroom::io::model_from_config(llama)).total == count(usual).total);
  nlohmann::json bert{{"model_type", "bert"}, {"architectures", {"BertModel"}}, {"max_position_embeddings", nullptr}};
  CHECK_THROWS_AS((void)headroom::io::model_from_config(bert), headroom::job_error);
  nlohmann::json glm{{"model_type", "glm4v_moe_text"}, {"architectures", {"Glm4vMoeTextModel"}}, {"num_local_experts", 0}};
  CHECK_THROWS_AS((void)headroom::io::count_config(glm), headroom::job_error);
  CHECK_THROWS_WITH_AS((void)headroom::io::model_from_config(glm), doctest::Contains("n_routed_experts must be at least 1 where layers have experts (first_k_dense_replace), or null, found 0"), headroom::job_error);
  const nlohmann::json t5{{"model_type", "t5"}, {"architectures", {"T5ForQuestionAnswering"}}, {"num_attention_heads", 1}, {"head_dim", 12}};  // T5Config.attribute_map
  const nlohmann::json own{{"model_type", "t5"}, {"architectures", {"T5ForQuestionAnswering"}}, {"num_heads", 1}, {"d_kv", 12}};
  CHECK(headroom::io::count_config(t5).total == headroom::io::count_config(own).total);
}

}  // namespace test_unread_keys
