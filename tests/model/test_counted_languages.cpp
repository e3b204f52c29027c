// Distributed under the Boost Software License, Version 1.0.
// Language models that are counted and not walked: random configurations against the classes' own totals, and what a token reads of experts.
#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "counted_rows.hpp"

namespace test_counted_languages {

using headroom::io::count_config;
using nlohmann::json;

TEST_CASE("random configurations of language models count exactly") {
  const auto seen = counted_rows::count_all("counted_languages.json");
  CHECK(seen.exact == 334);
  CHECK(seen.refused == 0);
}

TEST_CASE("a random configuration of every decoder counts exactly") {
  const auto seen = counted_rows::count_all("counted_decoders.json");
  CHECK(seen.exact == 152);
  CHECK(seen.refused == 0);
}

TEST_CASE("a drawn configuration of every type of language model counts as transformers makes it") {
  const auto seen = counted_rows::count_all("counted_drawn.json");
  CHECK(seen.exact == 346);
  CHECK(seen.refused == 0);
}

TEST_CASE("models that hear, see or pair an encoder with a decoder count as a count that was written apart") {
  const auto seen = counted_rows::count_all("counted_apart.json");
  CHECK(seen.exact == 56);
  CHECK(seen.refused == 0);
}

TEST_CASE("a token reads the experts that it visits, and what never trains is in the total") {
  const json afmoe = {{"architectures", {"AfmoeForCausalLM"}}, {"model_type", "afmoe"},     {"vocab_size", 101},           {"hidden_size", 64},       {"intermediate_size", 64},
                      {"moe_intermediate_size", 16},           {"num_hidden_layers", 3},    {"num_attention_heads", 4},    {"num_key_value_heads", 2}, {"head_dim", 16},
                      {"num_experts", 4},                      {"num_experts_per_tok", 2},  {"num_dense_layers", 1},       {"num_shared_experts", 2}};
  const auto counted = count_config(afmoe);
  CHECK(counted.total.count() == 112'680);                             // fuzz-Afmoe-0 of models_2026.json
  CHECK((counted.total - counted.active).count() == 2 * 2 * 3 * 64 * 16);  // two experts, in two layers, of three matrices
  CHECK(counted.frozen.count() == 2 * 4);                              // a correction for each expert of two layers
  // NVIDIA-Nemotron-3-Super: 22 of 512 experts of two matrices between 1024 and 2688 in each of 40 layers.
  const json nemotron = {{"architectures", {"NemotronHForCausalLM"}}, {"model_type", "nemotron_h"}, {"layers_block_type", {"moe", "mamba"}}, {"moe_latent_size", 1024}, {"n_routed_experts", 512},
                         {"num_experts_per_tok", 22},                {"moe_intermediate_size", 2688}};
  const auto latent = count_config(nemotron);
  CHECK((latent.total - latent.active).count() == 490LL * 2 * 1024 * 2688);
}

TEST_CASE("a walked NemotronH has as many parameters as a counted one") {
  for (const int shared : {0, 1, 2}) {
    const json config = {{"architectures", {"NemotronHForCausalLM"}}, {"model_type", "nemotron_h"}, {"hybrid_override_pattern", "ME*-E"}, {"hidden_size", 64}, {"n_shared_experts", shared},
                         {"moe_intermediate_size", 24},              {"moe_shared_expert_intermediate_size", 40}};
    CHECK(headroom::count(headroom::io::model_from_config(config)).total == count_config(config).total);
    CHECK(headroom::count(headroom::io::model_from_config(config)).active == count_config(config).active);
  }
}

TEST_CASE("MiniMax-Text-01 of the published sizes") {
  json config = {{"architectures", {"MiniMaxText01ForCausalLM"}}, {"model_type", "minimax_text_01"}, {"vocab_size", 200064},       {"hidden_size", 6144},      {"num_hidden_layers", 80},
                 {"num_attention_heads", 64},                    {"num_key_value_heads", 8},        {"head_dim", 128},            {"intermediate_size", 9216}, {"num_local_experts", 32},
                 {"num_experts_per_tok", 2},                     {"shared_intermediate_size", 0},   {"attn_type_list", json::array()}};
  CHECK_THROWS_WITH_AS(count_config(config), doctest::Contains("config.layer_types must be a list of 80 words"), headroom::job_error);
  for (int i = 0; i < 80; ++i) config["attn_type_list"].push_back(i % 8 == 7 ? 1 : 0);
  CHECK(count_config(config).total.count() == 456'089'655'296);
}

TEST_CASE("BERT as a generator") {
  const auto total = [](const char* name, const char* keys) {
    auto config = json::parse(keys);
    config["architectures"] = {name};
    config["model_type"] = "bert-generation";
    return count_config(config).total.count();
  };  // instantiated as those of counted_decoders.json
  const char* small = R"({"vocab_size": 256, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96, "max_position_embeddings": 128, "tie_word_embeddings": false})";
  CHECK(total("BertGenerationDecoder", small) == 52'928);
  CHECK(total("BertGenerationDecoder", R"({"vocab_size": 101, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 40})") == 26'765);
  CHECK(total("BertGenerationEncoder", R"({"vocab_size": 101, "hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 8, "intermediate_size": 40})") == 149'936);
}

TEST_CASE("Hy3 without shared experts has one as wide as a dense layer") {
  // HYV3MLP: `intermediate_size or config.intermediate_size`. The class instantiated as below.
  CHECK(count_config({{"architectures", {"HYV3ForCausalLM"}}, {"model_type", "hy_v3"}, {"vocab_size", 64}, {"hidden_size", 48}, {"intermediate_size", 40}, {"num_hidden_layers", 4}, {"num_attention_heads", 2},
                      {"num_key_value_heads", 1}, {"head_dim", 8}, {"tie_word_embeddings", false}, {"num_shared_experts", 0}}).total.count() == 127'468'528);
}

TEST_CASE("OpenAI's privacy filter and PaddleOCR's text model") {
  // transformers of 2026-08-19: the classes instantiated without storage, with torch 1.13.1 and stubs of what does not make parameters.
  const auto total = [](const char* name, const char* type, const char* keys) {
    auto config = json::parse(keys);
    config["architectures"] = {name};
    config["model_type"] = type;
    return count_config(config).total.count();
  };
  CHECK(total("OpenAIPrivacyFilterModel", "openai_privacy_filter", "{}") == 1'399'465'712);
  CHECK(total("OpenAIPrivacyFilterForTokenClassification", "openai_privacy_filter", "{}") == 1'399'465'712 + 33 * 641);
  CHECK(total("OpenAIPrivacyFilterForTokenClassification", "openai_privacy_filter",
              R"({"num_hidden_layers": 3, "num_local_experts": 6, "vocab_size": 101, "hidden_size": 64, "intermediate_size": 48, "head_dim": 16, "num_attention_heads": 6, "num_key_value_heads": 2,
                  "num_experts_per_tok": 2, "attention_bias": false, "num_labels": 5})") == 226'345);
  CHECK(total("OpenAIPrivacyFilterForTokenClassification", "openai_privacy_filter",
              R"({"num_hidden_layers": 2, "num_experts": 4, "vocab_size": 100, "hidden_size": 32, "intermediate_size": 24, "head_dim": 8, "num_attention_heads": 4, "num_key_value_heads": 1,
                  "id2label": {"0": "a", "1": "b", "2": "c"}})") == 28'083);
  CHECK(total("PaddleOCRTextModel", "paddleocr_vl_text", "{}") == 360'748'032);
  CHECK(total("PaddleOCRTextModel", "paddleocr_vl_text",
              R"({"num_hidden_layers": 3, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 8, "vocab_size": 101, "use_bias": true})") == 78'672);
}

// Llama-3_3-Nemotron-Super-49B-v1: 64 heads of 128 over 8 of keys and values in 49 layers; MLPs of 28,672, 14,336, 17,920, 7,168, 5,632 and 2,816 columns. Its checkpoint holds
// 99,734,290,432 bytes in bf16 (model.safetensors.index.json, total_size).
TEST_CASE("Llama-Nemotron's layers, each of its own") {
  json config = {{"architectures", {"DeciLMForCausalLM"}}, {"model_type", "nemotron-nas"}, {"hidden_size", 8192}, {"num_attention_heads", 64}, {"num_hidden_layers", 80}, {"vocab_size", 128256},
                 {"intermediate_size", nullptr}, {"num_key_value_heads", nullptr}, {"tie_word_embeddings", false}, {"block_configs", json::array()}};
  auto& blocks = config["block_configs"];
  const auto add = [&](int layers, bool attends, double multiplier) {
    for (int i = 0; i < layers; ++i)
      blocks.push_back({{"attention", {{"no_op", !attends}, {"n_heads_in_group", attends ? json(8) : json(nullptr)}, {"replace_with_linear", false}, {"sparsify", nullptr}}},
                        {"ffn", {{"no_op", false}, {"ffn_mult", multiplier}, {"replace_with_linear", false}, {"sparsify", nullptr}}}});
  };
  add(48, true, 5.25), add(1, true, 2.625), add(10, false, 1.3125), add(8, false, 1.0), add(6, false, 0.5), add(5, false, 2.625), add(1, false, 3.28125), add(1, false, 5.25);
  CHECK(count_config(config).total.count() == 99'734'290'432 / 2);
  blocks[79]["ffn"]["no_op"] = true;
  CHECK(count_config(config).total.count() == 99'734'290'432 / 2 - 3LL * 8192 * 28'672 - 8192);
  const auto refused = [&](const char* half, const char* key, const json& value, const char* words) {
    auto other = config;
    other["block_configs"][3][half][key] = value;
    CHECK_THROWS_WITH_AS(count_config(other), doctest::Contains(words), headroom::job_error);
  };
  refused("attention", "replace_with_linear", true, "config.block_configs[3].attention.replace_with_linear must be false or null");
  refused("ffn", "sparsify", {"2:4"}, "config.block_configs[3].ffn.sparsify must be false or null");
  refused("ffn", "moe", {{"num_local_experts", 4}}, "config.block_configs[3].ffn.moe is not known for a layer of DeciLMForCausalLM");
  refused("attention", "n_heads_in_group", 7, "config.block_configs[3].attention.n_heads_in_group must divide num_attention_heads, 64; found 7");
  blocks.erase(79);
  CHECK_THROWS_WITH_AS(count_config(config), doctest::Contains("config.block_configs must be a list of 80"), headroom::job_error);
}

TEST_CASE("MiniMax-M3 with the keys of its file that the class does not read") {
  json config = {{"architectures", {"MiniMaxM3SparseForConditionalGeneration"}}, {"model_type", "minimax_m3_vl"}};
  const auto plain = count_config(config);
  const json merging = {{"image_token_compression_method", "patch_merge"}, {"spatial_merge_size", 2}, {"temporal_patch_size", 2}};
  config.update({{"image_grid_pinpoints", "[(336, 336)]"}, {"image_seq_length", 576}, {"img_token_compression_config", merging}, {"multimodal_projector_bias", true}, {"num_reward_heads", 0}});
  config["vision_config"] = {{"img_token_compression_config", merging}, {"position_embedding_type", "rope"}, {"projection_dim", 6144}, {"rope_mode", "3d"}, {"vocab_size", 32000}};
  CHECK(count_config(config) == plain);
  config["vision_config"]["img_token_compression_config"]["spatial_merge_size"] = 4;
  CHECK_THROWS_WITH_AS(count_config(config), "headroom: config.vision_config.img_token_compression_config.spatial_merge_size must be 2, as the class builds it, found 4", headroom::job_error);
}

// transformers 38e862ff src/transformers/models/muse_glimmer/configuration_muse_glimmer.py: what the three classes write of their defaults.
TEST_CASE("Muse Glimmer's file says what its classes fill in") {
  const json file = {
      {"model_type", "muse_glimmer"}, {"architectures", {"MuseGlimmerForConditionalGeneration"}}, {"image_token_id", 200092}, {"video_token_id", 200091},
      {"out_hidden_size", 6144}, {"projector_hidden_size", 4096}, {"projector_hidden_act", "gelu"},
      {"vision_config", {{"model_type", "muse_glimmer_vision"}, {"patch_size", 14}, {"pos_emb_height", 32}, {"pos_emb_width", 32}, {"num_attention_heads", 16}, {"num_hidden_layers", 50}, {"hidden_size", 1536},
                         {"intermediate_size", 8960}, {"hidden_act", "gelu"}, {"interpolation_mode", "bilinear"}, {"interpolation_align_corners", false}, {"max_position_embeddings", 1024}, {"patch_temporal", 2},
                         {"merge_size", 2}, {"interpolation_padding", "zeros"}, {"layer_norm_eps", 1e-5}}},
      {"text_config", {{"model_type", "muse_glimmer_text"}, {"vocab_size", 202048}, {"hidden_size", 6656}, {"intermediate_size", 19968}, {"num_hidden_layers", 52}, {"num_attention_heads", 32},
                       {"num_key_value_heads", 2}, {"head_dim", 128}, {"hidden_activation", "silu"}, {"max_position_embeddings", 131072}, {"initializer_range", 0.02}, {"rms_norm_eps", 1e-5}, {"use_cache", true},
                       {"eos_token_id", 200001}, {"bos_token_id", 200000}, {"tie_word_embeddings", false}, {"attention_bias", false}, {"attention_dropout", 0.0}, {"sliding_window", 2048},
                       {"final_logit_softcapping", 20.0}, {"qk_scale_factor", 3.87}, {"output_multiplier", 0.19611613513818404}, {"post_norm_eps", 1e-8}}}};
  CHECK(count_config(file).total.count() == 29'776'626'688);
  auto other = file;
  other["projector_hidden_act"] = "silu";  // a function has no parameters
  CHECK(count_config(other) == count_config(file));
  other = file;
  other["projector_hidden_size"] = 4097;  // a row of the first matrix, a column of the second
  CHECK((count_config(other).total - count_config(file).total).count() == 6144 + 4097 + 4096 + 6656);
}

TEST_CASE("what a class does not build, and what nobody has read, is refused by name") {
  json mimo = {{"architectures", {"MiMoV2FlashForCausalLM"}}, {"model_type", "mimo_v2_flash"}, {"swa_num_key_value_heads", 2}};
  const auto plain = count_config({{"architectures", {"MiMoV2FlashForCausalLM"}}, {"model_type", "mimo_v2_flash"}});
  CHECK(count_config(mimo) == plain);  // transformers' class builds twice the key-value heads, whatever the key says
  mimo["auto_map"] = {{"AutoModelForCausalLM", "modeling_mimo_v2_flash.MiMoV2FlashForCausalLM"}};
  CHECK_THROWS_WITH_AS(count_config(mimo), "headroom: config.swa_num_key_value_heads must be 8, as the class builds it, found 2", headroom::job_error);
  const json glm = {{"architectures", {"GlmMoeDsaForCausalLM"}}, {"model_type", "glm_moe_dsa"}, {"index_topk_pattern", "FSSS"}};
  CHECK_THROWS_WITH_AS(count_config(glm), "headroom: config.index_topk_pattern is not read here; say the same with indexer_types, found \"FSSS\"", headroom::job_error);
  const json words = {{"architectures", {"MiniMaxForCausalLM"}}, {"model_type", "minimax"}, {"num_hidden_layers", 2}, {"layer_types", {"full_attention", "lightning"}}};
  CHECK_THROWS_WITH_AS(count_config(words), "headroom: config.layer_types must hold full_attention, linear_attention alone, found \"lightning\"", headroom::job_error);
  CHECK_THROWS_WITH_AS(count_config({{"model_type", "xlstm"}}),
                       "headroom: config.architectures is missing, and a model has other parameters with a head than without. Name the class, e.g. [\"xLSTMModel\"]", headroom::job_error);
  const json gemma = {{"architectures", {"Gemma4ForCausalLM"}}, {"model_type", "gemma4_text"}, {"per_layer_config", {{"0", {{"head_dim", 8}}}}}};
  CHECK_THROWS_WITH_AS(count_config(gemma), doctest::Contains("config.per_layer_config must say head_dim and num_key_value_heads of every layer of full attention"), headroom::job_error);
}

}  // namespace test_counted_languages
