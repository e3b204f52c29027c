// Distributed under the Boost Software License, Version 1.0.
// What transformers 5.17 added: random configurations against the classes' own totals, and what is refused of them.
#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "counted_rows.hpp"

namespace test_counted_newest {

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

json with(const char* type, const char* name, const json& keys) {
  json all{{"model_type", type}, {"architectures", {name}}};
  all.update(keys);
  return all;
}

}  // namespace

TEST_CASE("random configurations of Hy4, Qwen4-Exp, GLM-5.3 and DiffusionGemma count exactly, their classes at their defaults, and tables tied inside or out") {
  const auto seen = counted_rows::count_all("counted_newest.json");
  CHECK(seen.exact == 127);
  CHECK(seen.refused == 0);
}

TEST_CASE("what the newest classes cannot be built from is refused by its key") {
  const json sparse{{"indexer_n_heads", 4}, {"indexer_kv_heads", 1}, {"indexer_head_dim", 128}};
  const auto qwen = [&](json keys) { return keys.update(sparse), objection(with("qwen4_exp_text", "Qwen4ExpForCausalLM", keys)); };
  CHECK(qwen({}).empty());
  CHECK(objection(with("qwen4_exp_text", "Qwen4ExpForCausalLM", json::object())).find("indexer_head_dim") != std::string::npos);
  CHECK(qwen({{"ple_layer_ids", {1}}}).find("eos_token_id must be a number where layers have embeddings of n-grams") != std::string::npos);
  CHECK(qwen({{"ple_layer_ids", {1}}, {"eos_token_id", 2}, {"ple_embed_dim", 100}}).find("ple_embed_dim must be a multiple of the 16 heads of n-grams, found 100") != std::string::npos);
  CHECK(qwen({{"ple_layer_ids", {41}}, {"eos_token_id", 2}}).find("ple_layer_ids") != std::string::npos);
  CHECK(qwen({{"layer_types", {"mamba"}}, {"num_hidden_layers", 1}}).find("layer_types must hold linear_attention, qwen_sparse_attention, full_attention alone") != std::string::npos);
  CHECK(objection(with("hy_v4", "HYV4ForCausalLM", {{"q_lora_rank", nullptr}})).find("q_lora_rank") != std::string::npos);
  CHECK(objection(with("hy_v4", "HYV4ForCausalLM", {{"first_k_dense_replace", 3}})).find("first_k_dense_replace is not known for HYV4ForCausalLM") != std::string::npos);
  const auto glm = [](const json& keys) { return objection(with("glm5_next_text", "Glm5NextTextModel", keys)); };
  CHECK(glm({{"qk_rope_head_dim", 64}}).find("qk_rope_head_dim must be 0 for glm5_next_text, found 64") != std::string::npos);
  CHECK(glm({{"num_key_value_heads", 8}}).find("num_key_value_heads must be num_attention_heads") != std::string::npos);
  CHECK(glm({{"index_topk_pattern", "FS"}}).find("index_topk_pattern is not read here; say the same with indexer_types") != std::string::npos);
  CHECK(glm({{"head_dim", 0}}).empty());  // as the class saves it
  CHECK(objection(with("glm_ocr", "GlmOcrForConditionalGeneration", {{"vision_config", {{"num_heads", 4}, {"num_attention_heads", 2}}}})).find("num_heads is another name of config.vision_config.num_attention_heads") != std::string::npos);
  CHECK(objection(with("qwen2_vl", "Qwen2VLModel", {{"vision_config", {{"intermediate_size", 10}}}})).find("vision_config.intermediate_size is not known for Qwen2VLModel") != std::string::npos);
  const auto diffusion = [](const json& keys) { return objection(with("diffusion_gemma", "DiffusionGemmaModel", keys)); };
  CHECK(diffusion({{"text_config", {{"num_experts", 4}, {"top_k_experts", 2}, {"moe_intermediate_size", 8}}}}).find("vision_config is missing, without which the class cannot be built") != std::string::npos);
  CHECK(diffusion({{"text_config", {{"attention_bias", true}}}}).find("attention_bias must be false for diffusion_gemma") != std::string::npos);
}

// configuration_glm5_next.py: 8 of 288 experts read a token, each of three matrices of 4,096 and 2,048; of 45 layers the first three have none.
TEST_CASE("a token passes as many experts as the class's default says") {
  const auto n = headroom::io::count_config(with("glm5_next_text", "Glm5NextTextModel", json::object()));
  CHECK(n.total.count() - n.active.count() == 42LL * (288 - 8) * 3 * 4096 * 2048);
}

// configuration_internvl.py: InternVLVisionConfig's intermediate_size.
TEST_CASE("InternVL's tower is as wide as its class's default says") {
  const auto m = headroom::io::model_from_config(with("internvl", "InternVLForConditionalGeneration", {{"vision_config", {{"norm_type", "layer_norm"}, {"attention_bias", true}, {"use_qk_norm", false}}}, {"text_config", {{"model_type", "qwen2"}}}, {"transformers_version", "5.17.0"}}));
  CHECK(m.vision.ffn == 4096);
}

// The correction of a router's choice: a parameter in transformers 5.16, a buffer in 5.17 (modeling_inkling.py, InklingTopkRouter). Classes instantiated without storage.
TEST_CASE("Inkling by release") {
  nlohmann::json config{{"architectures", {"InklingForConditionalGeneration"}}, {"model_type", "inkling_mm_model"}, {"audio_config", {{"mel_vocab_size", 16}, {"text_hidden_size", 64}}},
                        {"text_config", {{"head_dim", 4}, {"hidden_size", 32}, {"intermediate_size", 32}, {"model_type", "inkling_text"}, {"moe_intermediate_size", 16}, {"n_routed_experts", 17}, {"n_shared_experts", 3},
                                         {"num_attention_heads", 4}, {"num_hidden_layers", 3}, {"num_key_value_heads", 4}, {"swa_head_dim", 4}, {"vocab_size", 320}}},
                        {"vision_config", {{"model_type", "inkling_vision"}, {"num_hidden_layers", 8}}}};
  constexpr std::int64_t newest = 5'943'957'799;
  CHECK_THROWS_WITH_AS((void)headroom::io::count_config(config), doctest::Contains("config.transformers_version must be stated: transformers 5.17 keeps the correction of a router's choice as a buffer"), headroom::job_error);
  config["transformers_version"] = "5.16.2";
  CHECK(headroom::io::count_config(config).total.count() == newest + 3 * 17);
  config["transformers_version"] = "5.17.0";
  CHECK(headroom::io::count_config(config).total.count() == newest);
}

// transformers 5.17 models/auto/modeling_auto.py: Glm46VForConditionalGeneration is the class of both, and their processors resize alike (image_processing_glmga.py).
TEST_CASE("GLM-GA is GLM-4.6V by another name") {
  json keys{{"transformers_version", "5.17.0"}, {"text_config", {{"num_hidden_layers", 2}, {"hidden_size", 512}, {"num_attention_heads", 4}}}, {"vision_config", {{"depth", 2}, {"out_hidden_size", 512}}}};
  const auto ga = with("glmga", "Glm46VForConditionalGeneration", keys), v = with("glm46v", "Glm46VForConditionalGeneration", keys);
  CHECK(headroom::io::model_from_config(ga) == headroom::io::model_from_config(v));
  CHECK(headroom::io::count_config(ga).total == headroom::io::count_config(v).total);
}

}  // namespace test_counted_newest
