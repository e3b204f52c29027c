// Distributed under the Boost Software License, Version 1.0.
// Models that see and are walked, by their published configurations: the sums of their checkpoints' indexes on the Hub.
#include <headroom/io/counted.hpp>
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace test_sight_totals {

using namespace headroom;
using nlohmann::json;

namespace {

std::int64_t walked(const json& config) { return count(io::model_from_config(config)).total.count(); }

json glm_41v() {
  return {{"architectures", {"Glm4vForConditionalGeneration"}}, {"model_type", "glm4v"}, {"image_start_token_id", 151339}, {"image_end_token_id", 151340}, {"tie_word_embeddings", false},
          {"text_config", {{"model_type", "glm4v_text"}, {"vocab_size", 151552}, {"hidden_size", 4096}, {"intermediate_size", 13696}, {"num_hidden_layers", 40}, {"num_attention_heads", 32}, {"num_key_value_heads", 2}, {"attention_bias", true}, {"partial_rotary_factor", 0.5}, {"rope_scaling", {{"type", "default"}, {"mrope_section", {8, 12, 12}}}}}},
          {"vision_config", {{"model_type", "glm4v"}, {"depth", 24}, {"hidden_size", 1536}, {"num_heads", 12}, {"image_size", 336}, {"patch_size", 14}, {"out_hidden_size", 4096}, {"intermediate_size", 13696}, {"spatial_merge_size", 2}, {"temporal_patch_size", 2}, {"attention_bias", false}, {"hidden_act", "silu"}}}};
}

json onevision() {
  return {{"architectures", {"LlavaOnevisionForConditionalGeneration"}}, {"model_type", "llava_onevision"}, {"tie_word_embeddings", true}, {"vision_aspect_ratio", "anyres_max_9"}, {"vision_feature_layer", -1}, {"vision_feature_select_strategy", "full"},
          {"text_config", {{"model_type", "qwen2"}, {"hidden_size", 896}, {"num_hidden_layers", 24}, {"intermediate_size", 4864}, {"num_attention_heads", 14}, {"num_key_value_heads", 2}, {"vocab_size", 152000}, {"tie_word_embeddings", true}}},
          {"vision_config", {{"model_type", "siglip_vision_model"}, {"hidden_size", 1152}, {"num_hidden_layers", 26}, {"num_attention_heads", 16}, {"intermediate_size", 4304}, {"image_size", 384}, {"patch_size", 14}, {"vision_use_head", false}}}};
}

}  // namespace

TEST_CASE("GLM-4.1V, 4.5V and 4.6V") {
  auto c = glm_41v();
  CHECK(walked(c) == 10'292'777'472);  // zai-org/GLM-4.1V-9B-Thinking
  const auto m = io::model_from_config(c);
  CHECK(m.attention_bias);
  CHECK(m.post_norms);
  CHECK(m.rotary_percent == 50);
  CHECK(m.vision.ffn == 4096);
  CHECK(m.vision.projector_hidden == 13'696);
  CHECK(m.vision.positions == 24 * 24);
  auto flash = c;  // zai-org/GLM-4.6V-Flash
  flash["architectures"] = {"Glm46VForConditionalGeneration"}, flash["model_type"] = "glm46v";
  CHECK(walked(flash) == 10'292'777'472);
  auto rope = c;  // transformers 5's spelling
  rope["text_config"].erase("partial_rotary_factor");
  CHECK(io::model_from_config(rope).rotary_percent == 100);
  rope["text_config"]["rope_parameters"] = {{"partial_rotary_factor", 0.25}};
  CHECK(io::model_from_config(rope).rotary_percent == 25);
  c["text_config"]["attention_bias"] = false;  // which Glm4vTextAttention does not read
  CHECK(walked(c) == 10'292'777'472);
  c["vision_config"]["attention_bias"] = true;
  CHECK_THROWS_WITH_AS(walked(c), doctest::Contains("a tower with biases is counted alone"), job_error);
  CHECK(io::count_config(c).total.count() == 10'292'777'472 + 24 * 3 * 1536);
  c = glm_41v();
  c["vision_config"]["out_hidden_size"] = 2048;
  CHECK_THROWS_WITH_AS(walked(c), doctest::Contains("must equal the text's hidden_size, 4096, found 2048"), job_error);
  c = glm_41v();
  c["text_config"]["model_type"] = "llama";
  CHECK_THROWS_WITH_AS(walked(c), doctest::Contains("must be glm4v_text or glm4v_moe_text, found \"llama\""), job_error);

  auto large = glm_41v();  // zai-org/GLM-4.5V
  large["architectures"] = {"Glm4vMoeForConditionalGeneration"}, large["model_type"] = "glm4v_moe";
  large["text_config"] = {{"model_type", "glm4v_moe_text"}, {"vocab_size", 151552}, {"hidden_size", 4096}, {"intermediate_size", 10944}, {"num_hidden_layers", 46}, {"num_attention_heads", 96}, {"num_key_value_heads", 8}, {"head_dim", 128},
                          {"n_routed_experts", 128}, {"n_shared_experts", 1}, {"num_experts_per_tok", 8}, {"moe_intermediate_size", 1408}, {"first_k_dense_replace", 1}, {"attention_bias", true}, {"partial_rotary_factor", 0.5}, {"norm_topk_prob", true}};
  large["vision_config"]["model_type"] = "glm4v_moe_vision", large["vision_config"]["intermediate_size"] = 10944;
  CHECK(walked(large) == 107'710'933'120 - 45 * 128);  // the file also holds the correction biases of 45 routers, which are no parameters
  CHECK_FALSE(io::model_from_config(large).experts.raw_weights);
  large["text_config"]["norm_topk_prob"] = false;
  CHECK(io::model_from_config(large).experts.raw_weights);
}

TEST_CASE("GLM-OCR") {
  // The class's defaults (tests/data/models_2026.json): its text is 1024 wide, and its tower delivers 1536, so that no image can be read.
  json c = {{"architectures", {"GlmOcrForConditionalGeneration"}}, {"model_type", "glm_ocr"}, {"text_config", {{"model_type", "glm_ocr_text"}, {"hidden_size", 1536}}}, {"vision_config", {{"model_type", "glm_ocr_vision"}}}};
  CHECK(walked(c) == io::count_config(c).total.count());
  // Tables of 59,392 words; 16 layers of two wide matrices and two of 8 heads, three of the MLP, four norms; one norm. The tower as the class has it.
  const std::int64_t h = 1536, text = 2 * 59'392 * h + 16 * (2 * h * h + 2 * h * (h / 16 * 8) + 3 * h * 4096 + 4 * h) + h;
  const std::int64_t tower = 1'205'248 + 24'576 + 24'576 + 100'764'672 + 302'211'072 + 23'596'032 + 6'292'992 + 1'024;
  CHECK(walked(c) == text + tower);
  c["vision_config"]["attention_bias"] = false;
  CHECK_THROWS_WITH_AS(walked(c), doctest::Contains("a tower without biases is counted alone"), job_error);
  c["vision_config"].erase("attention_bias");
  c["text_config"]["model_type"] = "glm4v_text";
  CHECK_THROWS_WITH_AS(walked(c), doctest::Contains("must be glm_ocr_text, found"), job_error);
}

TEST_CASE("LLaVA-OneVision") {
  auto c = onevision();
  CHECK(walked(c) == 893'675'552);  // llava-hf/llava-onevision-qwen2-0.5b-ov-hf
  const auto m = io::model_from_config(c);
  CHECK(m.tied);
  CHECK(m.vision.grid == 6);
  CHECK(m.vision.newline);
  CHECK_FALSE(m.vision.attention_pool);
  auto seven = c;  // llava-hf/llava-onevision-qwen2-7b-ov-hf
  seven["tie_word_embeddings"] = false;
  seven["text_config"] = {{"model_type", "qwen2"}, {"hidden_size", 3584}, {"num_hidden_layers", 28}, {"intermediate_size", 18944}, {"num_attention_heads", 28}, {"num_key_value_heads", 4}, {"vocab_size", 152128}, {"tie_word_embeddings", false}};
  CHECK(walked(seven) == 8'030'807'584);
  c["image_grid_pinpoints"] = {{384, 384}, {384, 768}, {768, 384}, {768, 768}};
  CHECK(io::model_from_config(c).vision.grid == 2);
  c["image_grid_pinpoints"] = {{384, 768}, {768, 384}};
  CHECK_THROWS_WITH_AS(walked(c), doctest::Contains("must list all grids of tiles"), job_error);
  c = onevision();
  c["vision_config"]["model_type"] = "clip_vision_model";
  CHECK_THROWS_WITH_AS(walked(c), doctest::Contains("must be siglip_vision_model"), job_error);
  c = onevision();
  c["vision_config"]["image_size"] = 336;
  CHECK_THROWS_WITH_AS(walked(c), doctest::Contains("image_grid_pinpoints must be stated"), job_error);
}

}  // namespace test_sight_totals
