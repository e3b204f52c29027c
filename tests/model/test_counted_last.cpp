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

TEST_CASE("random configurations of rarer classes and of heads beside bodies count exactly") {
  const auto seen = counted_rows::count_all("counted_rare.json");
  CHECK(seen.exact == 243);
  CHECK(seen.refused == 0);
}

// XLNetConfig has 64 features a head where d_head is absent, whatever hidden_size says: d_model's other name comes after the default.
TEST_CASE("another name that a default does not follow is refused where it says something else") {
  const json xlnet = {{"architectures", {"XLNetModel"}}, {"model_type", "xlnet"}, {"hidden_size", 2048}};
  CHECK(objection(xlnet).find("config.hidden_size must equal config.d_model, 1024") != std::string::npos);
  auto same = xlnet;
  same["hidden_size"] = 1024;
  CHECK(total(same) == total({{"architectures", {"XLNetModel"}}, {"model_type", "xlnet"}}));
}

// moonshotai/Kimi-VL-A3B-Instruct's index says 32,815,315,552 bytes: two for each parameter, and 27 layers' tables of 32 rotary frequencies in fp32, which are none.
TEST_CASE("Kimi-VL has as many parameters as its index has bytes for") {
  json kimi = {{"architectures", {"KimiVLForConditionalGeneration"}}, {"model_type", "kimi_vl"}, {"auto_map", {{"AutoModel", "modeling_kimi_vl.KimiVLForConditionalGeneration"}}}, {"vocab_size", 163840}, {"ignore_index", -100},
               {"media_placeholder_token_id", 163605}};
  kimi["text_config"] = json::parse(R"({"hidden_size": 2048, "intermediate_size": 11264, "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16,
    "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1, "q_lora_rank": null, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840, "tie_word_embeddings": false, "num_nextn_predict_layers": 0, "model_type": "deepseek_v3"})");
  kimi["vision_config"] = json::parse(R"({"model_type": "moonvit", "patch_size": 14, "num_attention_heads": 16, "num_hidden_layers": 27,
    "hidden_size": 1152, "intermediate_size": 4304, "merge_kernel_size": [2, 2], "init_pos_emb_height": 64, "init_pos_emb_width": 64})");
  CHECK(2 * total(kimi) + 27 * 32 * 4 == 32'815'315'552);
  CHECK_THROWS_WITH_AS((void)headroom::io::model_from_config(kimi), doctest::Contains("\"kimi_vl\" is refused: no exact formula for its tower (MoonViT) and the experts of its own code is known here"), headroom::job_error);
  kimi["text_config"].erase("kv_lora_rank");
  CHECK(objection(kimi).find("config.text_config.kv_lora_rank is missing") != std::string::npos);
}

TEST_CASE("a mixture without shared experts is as much smaller as they are") {
  // Kimi-Linear-48B-A3B: 26 sparse layers, each with one shared expert of three matrices of 2,304 × 1,024. Its checkpoint's total is published.
  for (auto& entry : counted_rows::data("models_2026.json")) {
    if (entry["name"] != "moonshotai/Kimi-Linear-48B-A3B-Instruct") continue;
    auto config = counted_rows::config_of(entry);
    REQUIRE(total(config) == 49'122'675'072);
    config["num_shared_experts"] = 0;
    CHECK(total(config) == 49'122'675'072 - 26LL * 3 * 2304 * 1024);
    config["num_shared_experts"] = 2;
    CHECK(total(config) == 49'122'675'072 + 26LL * 3 * 2304 * 1024);
    config["num_shared_experts"] = -1;
    CHECK(objection(config).find("num_shared_experts") != std::string::npos);
  }
}

TEST_CASE("keys that repeat what others say must say the same") {
  CHECK(objection({{"model_type", "mt5"}, {"architectures", {"MT5Model"}}, {"is_gated_act", false}}).starts_with("headroom: config.is_gated_act must be true, as feed_forward_proj says"));
  // So is ELECTRA without its summary's matrix, which the walk would have had.
  CHECK(total({{"model_type", "electra"}, {"architectures", {"ElectraForMultipleChoice"}}, {"summary_use_proj", false}}) == 13'483'265);
  // UMT5 is counted alone then: what is saved counts. The class of transformers 5.16 over torch 1.13 without storage.
  CHECK(total({{"model_type", "umt5"}, {"architectures", {"UMT5EncoderModel"}}, {"is_gated_act", false}, {"relative_attention_num_buckets", 16}}) == 142'746'880);
  CHECK(objection({{"model_type", "swin"}, {"architectures", {"SwinModel"}}, {"num_layers", 3}}).starts_with("headroom: config.num_layers must equal config.depths' length, 4"));
  // LongT5's head, of 32128 × 512 weights, is its own in transformers 4 alone.
  json longt5 = {{"model_type", "longt5"}, {"architectures", {"LongT5ForConditionalGeneration"}}};
  const auto tied = total(longt5);
  longt5["tie_word_embeddings"] = false;
  CHECK(objection(longt5).starts_with("headroom: config.transformers_version must be stated"));
  longt5["transformers_version"] = "4.22.0";
  CHECK(total(longt5) == tied + 32128 * 512);
  longt5["transformers_version"] = "5.1.0";
  CHECK(total(longt5) == tied);
  CHECK(objection({{"model_type", "segformer"}, {"architectures", {"SegformerModel"}}, {"hidden_sizes", {32, 64, 160, 257}}}).starts_with("headroom: config.hidden_sizes must be multiples of num_attention_heads, found 257 and 8"));
  CHECK(objection({{"model_type", "pixio"}, {"architectures", {"PixioModel"}}, {"hidden_size", 1281}}).starts_with("headroom: config.hidden_size must be a multiple of num_attention_heads, 16"));
}

TEST_CASE("what releases of transformers fill in differently must be stated") {
  json config = {{"model_type", "deepseek_v2"}, {"architectures", {"DeepseekV2Model"}}, {"num_experts_per_tok", 6}};
  CHECK(objection(config).starts_with("headroom: config.vocab_size must be stated for deepseek_v2"));
  // transformers 5.16, the class over torch 1.13 without storage, with the default of 102400.
  config["vocab_size"] = 102400;
  CHECK(total(config) == 38'192'877'568);
}

TEST_CASE("a model inside another is read as it is read alone: Qwen2-VL's keys of the text at the top") {
  // transformers 5.16, ColQwen2ForRetrieval over torch 1.13 without storage.
  const json inner = {{"model_type", "qwen2_vl"}, {"vocab_size", 304128}};
  CHECK(total({{"model_type", "colqwen2"}, {"architectures", {"ColQwen2ForRetrieval"}}, {"vlm_config", inner}}) == 73'383'011'456);
}

TEST_CASE("the stages that a backbone hands on have norms of their own") {
  // 27,519,354 of SwinModel, and 2 × 96 × 2^(stage - 1) for each stage.
  json config = {{"model_type", "swin"}, {"architectures", {"SwinBackbone"}}};
  CHECK(total(config) == 27'519'354 + 2 * 768);
  config["out_features"] = {"stage1", "stage3"};
  CHECK(total(config) == 27'519'354 + 2 * 96 + 2 * 384);
  config["out_indices"] = {1, 3};
  CHECK(total(config) == 27'519'354 + 2 * 96 + 2 * 384);
  config.erase("out_features");
  config["out_indices"] = {-4, -1};  // of the stem and four stages
  CHECK(total(config) == 27'519'354 + 2 * 96 + 2 * 768);
  config["out_features"] = {"stage1", "stage3"};
  config["out_indices"] = {1, 2};
  CHECK(objection(config).starts_with("headroom: config.out_indices must be a list of stages"));
  // What the stem hands on is as wide as the first stage (modeling_swin.py and modeling_hiera.py, num_features).
  CHECK(total({{"model_type", "swin"}, {"architectures", {"SwinBackbone"}}, {"out_features", {"stem", "stage2"}}}) == 27'519'354 + 2 * 96 + 2 * 192);
  // Hiera's last stage has no norm but the one that is handed on with it: 50,755,968 with the 768 features of the fourth alone.
  const auto hiera = [](const json& handed) { return total({{"model_type", "hiera"}, {"architectures", {"HieraBackbone"}}, {"out_features", handed}}) - (50'755'968 - 2 * 768); };
  CHECK(hiera({"stage4"}) == 2 * 768);
  CHECK(hiera({"stem", "stage2"}) == 2 * 96 + 2 * 192);
  CHECK(hiera({"stage1", "stage3"}) == 2 * 96 + 2 * 384);
}

TEST_CASE("what a class fills in of a part that is stated differs from what it fills in of one that is not") {
  // transformers 5.16, HiggsAudioV2TokenizerModel over torch 1.13 without storage: a HuBERT that is stated masks nothing, 768 numbers less.
  json higgs = {{"model_type", "higgs_audio_v2_tokenizer"}, {"architectures", {"HiggsAudioV2TokenizerModel"}}};
  CHECK(total(higgs) == 161'359'425);
  higgs["semantic_model_config"] = {{"model_type", "hubert"}};
  CHECK(total(higgs) == 161'359'425 - 768);
}

TEST_CASE("a detector's ResNet is read from its configuration") {
  // transformers 5.16, the classes over torch 1.13 without storage: RT-DETR's r18, and BatchNorms that train.
  json r18 = {{"model_type", "rt_detr_resnet"}, {"depths", {2, 2, 2, 2}}, {"hidden_sizes", {64, 128, 256, 512}}, {"layer_type", "basic"}, {"out_features", {"stage2", "stage3", "stage4"}}};
  CHECK(total({{"model_type", "rt_detr_resnet"}, {"architectures", {"RTDetrResNetBackbone"}}, {"layer_type", "basic"}, {"depths", {2, 2, 2, 2}}, {"hidden_sizes", {64, 128, 256, 512}}}) == 11'199'968);
  CHECK(total({{"model_type", "rt_detr"}, {"architectures", {"RTDetrForObjectDetection"}}, {"encoder_in_channels", {128, 256, 512}}, {"decoder_layers", 3}, {"backbone_config", r18}}) == 26'372'056);
  CHECK(total({{"model_type", "rt_detr"}, {"architectures", {"RTDetrForObjectDetection"}}, {"freeze_backbone_batch_norms", false}}) == 42'784'330);
  r18["out_features"] = {"stage4"};
  CHECK(objection({{"model_type", "rt_detr"}, {"architectures", {"RTDetrModel"}}, {"backbone_config", r18}}).starts_with("headroom: config.backbone_config.out_features must name three stages"));
}

TEST_CASE("SAM's places have as many features as it says, whatever its neck's channels are") {
  // transformers 5.16, SamModel and SamHQModel over torch 1.13 without storage.
  CHECK(total({{"model_type", "sam"}, {"architectures", {"SamModel"}}, {"tie_word_embeddings", false}}) == 93'735'728 + 2 * 128);
  const json narrow = {{"model_type", "sam_vision_model"}, {"output_channels", 128}};
  CHECK(total({{"model_type", "sam"}, {"architectures", {"SamModel"}}, {"vision_config", narrow}}) == 93'194'544);
  CHECK(objection({{"model_type", "sam"}, {"architectures", {"SamModel"}}, {"prompt_encoder_config", {{"mask_input_channels", 17}}}}).starts_with("headroom: config.prompt_encoder_config.mask_input_channels must be a multiple of 4"));
  CHECK(total({{"model_type", "sam_hq"}, {"architectures", {"SamHQModel"}}}) == 94'806'832);
}

TEST_CASE("configurations as transformers saves them, every key said, count exactly") {
  const auto seen = counted_rows::count_all("counted_saved.json");
  CHECK(seen.exact == 68);
  CHECK(seen.refused == 0);
}

TEST_CASE("the classes' default configurations count exactly, or are refused") {
  const auto seen = counted_rows::count_all("class_defaults.json");
  CHECK(seen.exact == 1334);
  CHECK(seen.refused == 113);
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

TEST_CASE("mT5's head is as its release of transformers has it") {
  json config = {{"model_type", "mt5"}, {"architectures", {"MT5ForConditionalGeneration"}}};
  CHECK(objection(config).starts_with("headroom: config.transformers_version must be stated"));
  // transformers 5.16's own default is tied: 250112 × 512 of words, and both stacks.
  config["tie_word_embeddings"] = true;
  CHECK(total(config) == 172'119'424);
  config["tie_word_embeddings"] = false;
  config["transformers_version"] = "4.10.0.dev0";
  CHECK(total(config) == 172'119'424 + 250'112 * 512);
}

TEST_CASE("LiLT's second stream may be as narrow as one feature, and no narrower") {
  const auto with = [](int ratio) {
    return json{{"model_type", "lilt"}, {"architectures", {"LiltModel"}}, {"num_hidden_layers", 1}, {"hidden_size", 12}, {"num_attention_heads", 1}, {"intermediate_size", 12}, {"channel_shrink_ratio", ratio}};
  };
  CHECK(objection(with(12)).empty());
  CHECK(objection(with(13)).find("channel_shrink_ratio must leave a width, found 13") != std::string::npos);
}

TEST_CASE("a list for each layer has as many entries as there are layers") {
  const auto with = [](const json& frequency) {
    return json{{"model_type", "minimax_m3_vl"}, {"architectures", {"MiniMaxM3VLModel"}}, {"text_config", {{"model_type", "minimax_m3_vl_text"}, {"num_hidden_layers", 3}, {"moe_layer_freq", frequency}}}};
  };
  CHECK(objection(with({0, 1, 1})).empty());
  for (const json& wrong : {json{0, 1}, json{0, 1, 1, 1}, json(1)}) CHECK(objection(with(wrong)).find("moe_layer_freq must be a list of 3, one for each layer") != std::string::npos);
}

}  // namespace test_counted_last
