// Distributed under the Boost Software License, Version 1.0.
// Models that hear, and Kimi K2.5: the language model is walked over samples of text alone, its towers are weights and nothing else.
#include <headroom/io/counted.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <string>

namespace test_held_towers {

using namespace headroom;
using nlohmann::json;

namespace {

/// A configuration's parameters by the walk; those of the count that lists modules are the same.
std::int64_t total(const json& config) {
  const auto walked = count(io::model_from_config(config)).total.count();
  CHECK(io::count_config(config).total.count() == walked);
  return walked;
}
job job_over(const json& config, const std::string& more = R"(, "images": {"none": true}})") {
  return io::read_job(io::json_value::parse(R"({"model": )" + config.dump() + R"(, "hardware": {"gpu": "h100-sxm-80gb"}, "framework": "hf-trainer", "precision": "bf16", "optimizer": "adamw", "batch": {"micro": 2, "sequence": 512)" + more +
                                            R"(, "adapter": {"kind": "lora", "rank": 8, "targets": ["q_proj", "v_proj"]}})"), io::no_files);
}

const json ear{{"d_model", 32}, {"encoder_layers", 3}, {"encoder_attention_heads", 2}, {"encoder_ffn_dim", 72}, {"num_mel_bins", 80}};
const json text{{"vocab_size", 320}, {"hidden_size", 128}, {"intermediate_size", 160}, {"num_hidden_layers", 2}, {"num_attention_heads", 8}, {"num_key_value_heads", 4}};
const json eye{{"depth", 3}, {"hidden_size", 32}, {"intermediate_size", 64}, {"num_heads", 2}, {"patch_size", 14}, {"out_hidden_size", 128}};
const json omni{{"architectures", {"Qwen2_5OmniThinkerForConditionalGeneration"}}, {"model_type", "qwen2_5_omni_thinker"}, {"text_config", text}, {"audio_config", ear}, {"vision_config", eye}};

}  // namespace

TEST_CASE("thinkers, Voxtral and Kimi K2.5 have the parameters that their classes have") {
  // Classes of transformers 5.16 without storage (tests/data/class_defaults.json).
  CHECK(total({{"architectures", {"Qwen2_5OmniThinkerForConditionalGeneration"}}, {"model_type", "qwen2_5_omni_thinker"}}) == 11'338'288'896);
  const json third{{"architectures", {"Qwen3OmniMoeThinkerForConditionalGeneration"}}, {"model_type", "qwen3_omni_moe_thinker"}};
  CHECK(io::count_config(third).total.count() == 18'418'329'704);  // whose 28 heads do not divide its width: no layer runs
  CHECK_THROWS_WITH_AS((void)io::model_from_config(third), doctest::Contains("model.hidden must be a multiple of model.heads"), job_error);
  CHECK(total({{"architectures", {"VoxtralForConditionalGeneration"}}, {"model_type", "voxtral"}}) == 4'676'271'104);
  CHECK(total({{"architectures", {"Qwen2AudioForConditionalGeneration"}}, {"model_type", "qwen2_audio"}}) == 12'692'062'208);
  CHECK(total({{"architectures", {"Qwen2AudioForConditionalGeneration"}}, {"model_type", "qwen2_audio"}, {"tie_word_embeddings", true}}) == 12'692'062'208);  // which ties nothing
  CHECK(total({{"architectures", {"VoxtralForConditionalGeneration"}}, {"model_type", "voxtral"}, {"tie_word_embeddings", true}}) == 4'676'271'104);
  CHECK(total({{"architectures", {"Kimi_K25Model"}}, {"model_type", "kimi_k25"}, {"tie_word_embeddings", false}}) == 670'570'869'232);
  // By hand: of the thinker, a convolution of 3 × 80 and one of 3 × 32, layers whose keys have no bias, two vectors and a matrix to 3584; of the tower that sees,
  // 3 × 2 × 14 × 14 pixels a patch, gated layers with biases, and a merger of four patches.
  constexpr std::int64_t h = 32, ears = 3 * 80 * h + h + 3 * h * h + h + 3 * (4 * h * h + 3 * h + 2 * h * 72 + 72 + h + 4 * h) + 2 * h + 2 * 3584 + (h + 1) * 3584;
  constexpr std::int64_t eyes = 3 * 2 * 196 * h + 3 * (4 * (h * h + h) + 3 * h * 64 + 2 * 64 + h + 2 * h) + h + (4 * h + 1) * 4 * h + (4 * h + 1) * 128;
  constexpr std::int64_t words = 2 * 320 * 128 + 128 + 2 * (2 * 128 * 128 + 128 + 2 * (128 * 64 + 64) + 3 * 128 * 160 + 2 * 128);
  CHECK(total(omni) == words + ears + eyes);
  CHECK(io::model_from_config(omni).vision.held == ears + eyes);
}

// Totals of transformers 5.17's Lfm2VlForConditionalGeneration without storage; 1,170,340,608 of its Lfm2ForCausalLM with that text_config.
TEST_CASE("LFM2-VL is walked over text alone, as LFM2 is") {
  const json words = json::parse(R"({"model_type": "lfm2", "hidden_size": 2048, "num_hidden_layers": 16, "intermediate_size": 12288, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536, "block_auto_adjust_ff_dim": true,
    "layer_types": ["conv", "conv", "full_attention", "conv", "conv", "full_attention", "conv", "conv", "full_attention", "conv", "full_attention", "conv", "full_attention", "conv", "full_attention", "conv"]})");
  json seeing = json::parse(R"({"architectures": ["Lfm2VlForConditionalGeneration"], "model_type": "lfm2_vl", "projector_hidden_size": 2048, "transformers_version": "5.17.0", "image_token_id": 396, "max_tiles": 10, "tile_size": 512,
    "vision_config": {"model_type": "siglip2_vision_model", "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 26, "num_attention_heads": 16, "vision_use_head": false}})");
  seeing["text_config"] = words;
  const auto with = [&](const char* changes) {
    auto other = seeing;
    other.merge_patch(json::parse(changes));
    return other;
  };
  CHECK(count(io::model_from_config(seeing)).total.count() == 1'581'395'616);
  CHECK(io::model_from_config(seeing).vision.held == 1'581'395'616 - 1'170'340'608);
  for (const auto& row : {std::pair{R"({"projector_use_layernorm": false})", 1'581'386'400}, {R"({"projector_bias": false, "downsample_factor": 1})", 1'574'306'720}, {R"({"tie_word_embeddings": false})", 1'715'613'344},
                                             {R"({"vision_config": {"patch_size": 8, "num_channels": 1, "num_patches": 64, "num_hidden_layers": 2}})", 1'214'615'328}}) {
    CAPTURE(row.first);
    CHECK(count(io::model_from_config(with(row.first))).total.count() == row.second);
  }
  // Text alone: what is alive beside the weights is LFM2's; the tower's weights in bf16 are more.
  auto lfm2 = words;
  lfm2["architectures"] = {"Lfm2ForCausalLM"};
  const auto both = job_over(seeing), alone = job_over(lfm2, "}");
  const auto kept = [](const job& j) { return estimate(j).ranks[0].at_peak[row::activations].count(); };
  CHECK(kept(both) == kept(alone));
  CHECK(estimate(both).ranks[0].allocated - estimate(alone).ranks[0].allocated >= bytes{2 * (1'581'395'616 - 1'170'340'608)});
  CHECK_THROWS_WITH_AS(estimate(job_over(seeing, "}")), doctest::Contains("batch.images must be {\"none\": true}"), job_error);
  CHECK(count(io::model_from_config(with(R"({"vision_config": {"vision_use_head": true}})"))).total == io::count_config(with(R"({"vision_config": {"vision_use_head": true}})")).total);
}

// tests/data/held_towers.json: the total of the class, and the parameters that have a gradient after a step over seven words, as transformers 5.17 makes and runs it.
TEST_CASE("classes that see or hear are walked over text alone as what has gradients then") {
  std::set<std::string> types;
  for (const auto& row : json::parse(std::ifstream{HEADROOM_TEST_DATA "/held_towers.json"})) {
    const auto& config = row["config"];
    types.insert(config["model_type"].get<std::string>());
    CAPTURE(config.dump());
    const auto m = io::model_from_config(config);
    CHECK(count(m).total.count() == row["total"].get<std::int64_t>());
    if (config["model_type"] == "lighton_ocr") {  // Mistral 3 by another name: its tower is walked
      CHECK(m.vision.kind == vision_kind::pixtral);
      CHECK(m.vision.projector == projector_kind::patch_merger);
      continue;
    }
    CHECK(count(m).total.count() - m.vision.held == row["runs"].get<std::int64_t>());
    CHECK(count(m).trainable().count() == row["runs"].get<std::int64_t>());
    auto unnamed = config;
    unnamed.erase("architectures");
    CHECK(io::model_from_config(unnamed) == m);
  }
  for (const auto& one : io::detail::held_classes) {
    CAPTURE(one.type);
    CHECK((types.contains(one.type) || std::string_view{one.type} == "musicflamingo"));  // audioflamingo3's class by another name
  }
}

TEST_CASE("Llama 3.2 Vision over text alone is Llama without the layers that see") {
  // meta-llama/Llama-3.2-11B-Vision-Instruct: the index of its safetensors has 10,670,220,835 parameters; Llama 3.1 8B has 8,030,261,248.
  json llama{{"architectures", {"MllamaForConditionalGeneration"}}, {"model_type", "mllama"}, {"vision_config", {{"image_size", 560}}}, {"text_config", {{"model_type", "mllama_text_model"}, {"tie_word_embeddings", false}}}};
  const auto m = io::model_from_config(llama);
  CHECK(count(m).total.count() == 10'670'220'835);
  CHECK(count(m).trainable().count() == 8'030'261'248 + 8 * 4096);
  CHECK(m.layers == 32);
  // A step of the whole model: the table's eight rows more have gradients and states, and nothing else differs from Llama beside the weights that are held.
  auto j = job_over(llama);
  j.adapter = {};
  auto alone = j;
  alone.model.vision = {}, alone.batch.images = {};
  const auto sees = estimate(j), reads = estimate(alone);
  CHECK(sees.ranks[0].at_peak[row::gradients] - reads.ranks[0].at_peak[row::gradients] == bytes{2 * 8 * 4096});
  CHECK(sees.assumptions.has(assumption::towers_held));
  CHECK(!reads.assumptions.has(assumption::towers_held));
  const auto held = sees.ranks[0].at_peak[row::model_parameters] - reads.ranks[0].at_peak[row::model_parameters] - bytes{2 * (10'670'220'835 - 8'030'261'248)};
  CHECK((held >= bytes{0} && held < bytes{1024}));  // rounded to what the allocator gives
  llama["text_config"]["num_hidden_layers"] = 1;
  llama["text_config"]["cross_attention_layers"] = {0};
  CHECK_THROWS_WITH_AS((void)io::model_from_config(llama), doctest::Contains("cross_attention_layers must leave a layer that runs without pictures, found [0]"), job_error);
  llama["text_config"]["num_hidden_layers"] = 2;
  llama["architectures"] = {"MllamaForSequenceClassification"};
  CHECK_THROWS_AS((void)io::model_from_config(llama), job_error);
}

TEST_CASE("a whole Omni is walked as its thinker where it does not speak") {
  json thinker = omni;
  thinker.erase("architectures"), thinker.erase("model_type");
  json whole{{"architectures", {"Qwen2_5OmniForConditionalGeneration"}}, {"model_type", "qwen2_5_omni"}, {"thinker_config", thinker}, {"talker_config", {{"hidden_size", 64}}}, {"enable_audio_output", false}};
  CHECK(total(whole) == total(omni));
  CHECK(io::model_from_config(whole).vision.held == io::model_from_config(omni).vision.held);
  whole["enable_audio_output"] = true;
  CHECK_THROWS_WITH_AS((void)io::model_from_config(whole), doctest::Contains("enable_audio_output makes a talker beside the thinker, which is counted, and not walked"), job_error);
  CHECK(io::count_config(whole).total.count() > total(omni));
  whole.erase("enable_audio_output");  // it speaks unless it is told not to
  CHECK_THROWS_WITH_AS((void)io::model_from_config(whole), doctest::Contains("makes a talker beside the thinker"), job_error);
  // The count knows the towers' parts, and that they train.
  CHECK(io::count_config(omni).of(component::encoder).count() > 0);
  CHECK(io::count_config(omni).frozen.count() == 0);
  CHECK(count(io::model_from_config(omni)).frozen.count() == io::model_from_config(omni).vision.held);
}

TEST_CASE("the talker of Qwen3-Omni and what makes waves of its codes are counted") {
  json thinker{{"text_config", {{"vocab_size", 101}, {"hidden_size", 64}, {"num_hidden_layers", 1}, {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"num_experts", 4}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 24}}}};
  json whole{{"architectures", {"Qwen3OmniMoeForConditionalGeneration"}}, {"model_type", "qwen3_omni_moe"}, {"thinker_config", thinker}, {"enable_audio_output", false}};
  const auto silent = total(whole);
  whole["enable_audio_output"] = true;
  whole["talker_config"] = {{"thinker_hidden_size", 64},
                            {"text_config", {{"vocab_size", 50}, {"hidden_size", 32}, {"intermediate_size", 40}, {"num_hidden_layers", 1}, {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"num_experts", 4}, {"moe_intermediate_size", 24}, {"shared_expert_intermediate_size", 16}}},
                            {"code_predictor_config", {{"vocab_size", 20}, {"hidden_size", 16}, {"intermediate_size", 24}, {"num_hidden_layers", 1}, {"num_attention_heads", 2}, {"num_key_value_heads", 1}, {"head_dim", 8}, {"num_code_groups", 4}}}};
  whole["code2wav_config"] = {{"hidden_size", 16}, {"intermediate_size", 24}, {"num_hidden_layers", 1}, {"num_attention_heads", 2}, {"num_key_value_heads", 2}, {"codebook_size", 8}, {"num_quantizers", 4}, {"upsampling_ratios", {2}}, {"upsample_rates", {3}}, {"decoder_dim", 12}};
  // By hand. The talker's table and head, attention with norms of 8, four experts and a shared one with its gate, norms; two ways in.
  constexpr std::int64_t talker = 2 * 50 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 2 * 8 + 4 * 3 * 32 * 24 + 4 * 32 + 3 * 32 * 16 + 32 + 3 * 32 + 2 * (65 * 40 + 41 * 32);
  constexpr std::int64_t predictor = 2 * 16 * 16 + 2 * 16 * 8 + 2 * 8 + 3 * 16 * 24 + 3 * 16 + 2 * 3 * 20 * 16;
  // Codes, a layer with two scales, one lengthening by two with its block, and the decoder: 12 channels, then 6.
  constexpr std::int64_t waves = 32 * 16 + 4 * 16 * 16 + 3 * 16 * 24 + 4 * 16 + 16 + (16 * 16 * 2 + 16) + 8 * 16 + 2 * 16 + 17 * 64 + 65 * 16 + 16;
  constexpr std::int64_t decoder = 16 * 12 * 7 + 12 + 2 * 12 + 12 * 6 * 6 + 6 + 3 * (2 * 6 + 6 * 6 * 7 + 6 + 2 * 6 + 6 * 6 + 6) + 2 * 6 + 6 * 7 + 1;
  CHECK(io::count_config(whole).total.count() == silent + talker + predictor + waves + decoder);
}

// Totals of the checkpoints' pages, written down from memory. Their files hold keys and values of the layers that share them, too, of which transformers 5.16
// makes none: two matrices of 2048 × 512 and a norm of 256 in each.
TEST_CASE("Gemma 3n with its towers") {
  const auto gemma = [](int layers, int shared, int width) {
    return json{{"architectures", {"Gemma3nForConditionalGeneration"}}, {"model_type", "gemma3n"}, {"vision_config", {{"architecture", "mobilenetv5_300m_enc"}, {"hidden_size", 2048}, {"vocab_size", 128}}},
                {"text_config", {{"model_type", "gemma3n_text"}, {"num_hidden_layers", layers}, {"num_kv_shared_layers", shared}, {"intermediate_size", width}}}};
  };
  constexpr std::int64_t layer = 2 * 2048 * 512 + 256;
  CHECK(io::count_config(gemma(35, 15, 16384)).total.count() == 7'849'978'192 - 15 * layer);
  CHECK(io::count_config(gemma(30, 10, 8192)).total.count() == 5'439'438'272 - 10 * layer);
  auto other = gemma(30, 10, 8192);
  other["vision_config"]["architecture"] = "resnet50";
  CHECK_THROWS_WITH_AS((void)io::count_config(other), doctest::Contains("vision_config.architecture must be mobilenetv5_300m_enc"), job_error);
  CHECK_THROWS_WITH_AS((void)io::model_from_config(gemma(35, 15, 16384)), doctest::Contains("its towers for pictures and sound"), job_error);
}

TEST_CASE("beside adapters, held towers are weights and nothing else") {
  json qwen{{"architectures", {"Qwen2_5_VLForConditionalGeneration"}}, {"model_type", "qwen2_5_vl"}, {"text_config", text}, {"vision_config", eye}, {"tie_word_embeddings", false}};
  const auto held = job_over(omni), sees = job_over(qwen);
  // The thinker's text is Qwen2.5-VL's: with neither's towers, the two are one job.
  auto thinks = held.model, reads = sees.model;
  thinks.vision = {}, reads.vision = {};
  thinks.label = reads.label = {};
  CHECK(thinks == reads);
  auto bare = held;
  bare.model.vision = {};
  bare.batch.images = {};
  const auto both = estimate(held).ranks[0], alone = estimate(bare).ranks[0];
  CHECK(both.allocated > alone.allocated);
  CHECK((both.allocated - alone.allocated).count() >= 2 * held.model.vision.held);
  CHECK((both.allocated - alone.allocated).count() < 2 * held.model.vision.held + 1024);
  for (const auto r : {row::activations, row::logits, row::gradients, row::optimizer_state, row::adapters}) CHECK(both.at_peak[r] == alone.at_peak[r]);
  CHECK(static_cast<double>(replay(held).ranks[0].allocated.count()) == doctest::Approx(static_cast<double>(both.allocated.count())).epsilon(0.005));
  CHECK_THROWS_WITH_AS((void)estimate(job_over(omni, "}")), doctest::Contains("batch.images must be {\"none\": true}, samples of text alone"), job_error);
  // Experts of Qwen3-Omni are Qwen3-MoE's, not Qwen3-VL-MoE's; their weights are divided by their sum unless it says otherwise.
  json third{{"architectures", {"Qwen3OmniMoeThinkerForConditionalGeneration"}}, {"model_type", "qwen3_omni_moe_thinker"}, {"text_config", {{"num_attention_heads", 32}}}};
  CHECK_FALSE(io::model_from_config(third).experts.parameters);
  CHECK_FALSE(io::model_from_config(third).experts.raw_weights);
  third["text_config"]["norm_topk_prob"] = false;
  CHECK(io::model_from_config(third).experts.raw_weights);
}

TEST_CASE("what is not read of models that hear") {
  const auto refused = [](json config, const char* part, const char* key, const json& value, const char* sentence) {
    (part[0] == '\0' ? config : config[part])[key] = value;
    CHECK_THROWS_WITH_AS((void)io::model_from_config(config), doctest::Contains(sentence), job_error);
  };
  refused(omni, "audio_config", "encoder_attention_heads", 5, "audio_config.encoder_attention_heads must divide d_model, 32, found 5");
  refused(omni, "text_config", "head_dim", 24, "text_config.head_dim must be hidden_size / num_attention_heads, found 24");
  refused(omni, "audio_config", "more_layers", 2, "audio_config.more_layers is not known for model_type \"qwen2_5_omni_thinker\"");
  refused({{"architectures", {"VoxtralForConditionalGeneration"}}, {"model_type", "voxtral"}}, "text_config", "model_type", "whisper", "which no language model here has");
  const json kimi{{"architectures", {"KimiK25ForConditionalGeneration"}}, {"model_type", "kimi_k25"}, {"tie_word_embeddings", false}};
  refused(kimi, "vision_config", "mm_projector_type", "mlp", "mm_projector_type must be \"patchmerger\"");
  refused(kimi, "vision_config", "merge_kernel_size", 2, "merge_kernel_size must be a list of two");
  // Since transformers 5 tables are tied unless it says otherwise; 4, whose code stands beside the checkpoints, reads the text's word.
  json silent = kimi;
  silent.erase("tie_word_embeddings");
  silent["transformers_version"] = "5.2.0";
  CHECK(io::model_from_config(silent).tied);
  silent["transformers_version"] = "4.56.2";
  CHECK_FALSE(io::model_from_config(silent).tied);
  // transformers 4 reads the text's word, 5 the outer one, which is true where it is absent.
  refused(kimi, "", "tie_word_embeddings", true, "transformers_version must be stated");
}

}  // namespace test_held_towers
