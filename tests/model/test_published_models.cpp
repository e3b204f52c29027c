// Distributed under the Boost Software License, Version 1.0.
// Models by name beside the zoo's: their totals are those of transformers' own classes (tests/data/models_2026.json), or sums by hand.
#include <headroom/io/job/model.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/states/states.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "counted_rows.hpp"

namespace test_published_models {

using namespace headroom;

namespace {

std::int64_t total(std::string_view name) { return count(io::shape_named(name).value()).total.count(); }

template <class Visit>
void each_line(const char* file, const Visit& visit) {
  std::ifstream in(std::string(HEADROOM_TEST_DATA) + file);
  REQUIRE(in.good());
  for (std::string line; std::getline(in, line);) visit(io::json_value::parse(line));
}

/// Parameters of published configurations, a class of transformers' after another (modeling_*.py of 2026-08, their nn.Linear and nn.Parameter), and
/// what makers say of the sum.
std::vector<std::pair<std::string_view, std::int64_t>> by_hand() {
  const auto attend = [](std::int64_t h, std::int64_t q, std::int64_t kv, std::int64_t head) { return h * head * (2 * q + 2 * kv); };
  // Falcon-H1: the mixer's way in for gate, x, B, C and dt, a convolution with a bias of x, B and C, dt_bias, A_log and D, its norm or none, its way out.
  const auto mamba = [](std::int64_t h, std::int64_t heads, std::int64_t head, std::int64_t state, std::int64_t norm) {
    const auto inner = heads * head, flows = inner + 2 * state;
    return h * (inner + flows + heads) + flows * 5 + 3 * heads + norm * inner + inner * h;
  };
  const auto falcon_three = 32 * (mamba(2560, 32, 128, 256, 1) + attend(2560, 10, 2, 128) + 3 * 2560 * 6144 + 2 * 2560) + 2 * 65536 * 2560 + 2560;       // "3B"
  const auto afm = 36 * (attend(2560, 20, 4, 128) + std::int64_t{2} * 2560 * 18432 + 2 * 2560) + 2 * 128004 * 2560 + 2560;                               // relu2, no gate: "4.5B"
  const auto hunyuan = 24 * (attend(1024, 16, 8, 128) + 3 * 1024 * 3584 + 2 * 1024 + 2 * 128) + 120818 * 1024 + 1024;                                    // "539.0M, 23.0 % embeddings"
  const auto nemotron = 32 * (attend(3072, 24, 8, 128) + 2 * 3072 * 9216 + 2 * 2 * 3072) + std::int64_t{2} * 256000 * 3072 + 2 * 3072;                   // LayerNorm with biases: "4.19B"
  const auto orpheus = 28 * (attend(3072, 24, 8, 128) + 3 * 3072 * 8192 + 2 * 3072) + 156940 * 3072 + 3072;                                              // Llama 3.2 3B with 28,684 more words
  // Pixtral's tower: a patch of 14 x 14 x 3, a norm before, layers with RMSNorm and a gate; the merger: a norm, four patches to one, two matrices.
  const auto tower = 14 * 14 * 3 * 1024 + 1024 + 24 * (4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024);
  const auto merger = [](std::int64_t h) { return 1024 + 4 * 1024 * 1024 + 1024 * h + h * h; };
  const auto ministral = 26 * (attend(3072, 32, 8, 128) + 3 * 3072 * 9216 + 2 * 3072) + 131072 * 3072 + 3072 + tower + merger(3072);                    // "3.4B" and a tower of "0.4B"
  // Trinity: attention with a gate as wide as its queries and norms of a head's width, four norms a layer; 54 layers with 128 experts and a shared one, a bias for each expert.
  const auto trinity = 56 * (attend(1024, 8, 2, 128) + 1024 * 8 * 128 + 2 * 128 + 4 * 1024) + 2 * 3 * 1024 * 3072 +
                       54 * (std::int64_t{129} * 3 * 1024 * 256 + 128 * 1024 + 128) + 2 * 200192 * 1024 + 1024;                                          // "6B"
  // GPT-NeoX by Lightning-AI/litgpt 26857050 litgpt/config.py, whose defaults it is: 16 layers, 50,254 words in rows of 512; biases everywhere.
  const auto stable = 2 * std::int64_t{50688} * 4096 + 16 * (std::int64_t{12} * 4096 * 4096 + 13 * 4096) + 2 * 4096;
  return {{"stablelm-base-alpha-3b", stable}, {"falcon-h1-3b-base", falcon_three}, {"afm-4.5b", afm}, {"hunyuan-0.5b-instruct", hunyuan}, {"nemotron-mini-4b-instruct", nemotron},
          {"orpheus-3b-0.1-pretrained", orpheus}, {"ministral-3-3b-reasoning-2512", ministral}, {"trinity-nano-preview", trinity}};
}

}  // namespace

TEST_CASE("each has the parameters that transformers counted of its published configuration") {
  std::map<std::string_view, int> held;
  for (const auto& entry : counted_rows::data("models_2026.json")) {
    const auto name = entry.at("name").get<std::string>();
    const auto* m = name.find('#') == name.npos ? io::find_published(name) : nullptr;
    if (m == nullptr) continue;
    CAPTURE(name);
    CHECK(total(name) == entry.at("params_total").get<std::int64_t>());
    ++held[io::name_of(*m)];
  }
  // Of others the file has no entry: DeepSeek-V3.2 is its class's default, and Nemotron 3 Nano is summed up below.
  CHECK(total("deepseek-ai/DeepSeek-V3.2") == 671'877'929'216);  // "deepseek_v32 (class defaults)"
  ++held["deepseek-v3.2"], ++held["nemotron-3-nano-30b-a3b"];
  each_line("/published_totals.jsonl", [&](const io::json_value& row) {
    CAPTURE(row.dump());
    const auto* m = io::find_published(row.at("model").get<std::string>());
    REQUIRE(m != nullptr);
    CHECK(total(io::name_of(*m)) + row.value("beside", std::int64_t{0}) == row.at("total").get<std::int64_t>());
    ++held[io::name_of(*m)];
  });
  for (const auto& one : by_hand()) {
    const auto& name = one.first;
    CAPTURE(name);
    REQUIRE(io::find_published(name) != nullptr);
    CHECK(total(name) == one.second);
    ++held[io::name_of(*io::find_published(name))];
  }
  // Two words more than what they were made of, in the embedding and in the head.
  CHECK(total("HuggingFaceH4/starchat2-15b-sft-v0.1") == 15'957'889'024 + 2 * 2 * 6144);
  CHECK(total("teknium/OpenHermes-2.5-Mistral-7B") == 7'241'732'096 + 2 * 2 * 4096);
  ++held["starchat2-15b"], ++held["openhermes-2.5-mistral-7b"];
  for (const auto& m : io::published_models) CHECK_MESSAGE(held.contains(io::name_of(m)), io::name_of(m));
}

TEST_CASE("what files have beside the parameters that train") {
  // GLM-4.5's layer of multi-token prediction: 96 heads of 128 over 8 of keys, with biases and norms; 160 experts of 1536, a shared one and a router;
  // the projection of two inputs to one, five norms, and an embedding and a head of its own. Routers' corrections are buffers: 160 for each of 90 layers.
  const std::int64_t h = 5120, heads = 96 * 128, keys = 8 * 128;
  const auto attention = 2 * h * heads + 2 * h * keys + heads + 2 * keys + 2 * 128;
  const auto layer = attention + 161 * 3 * h * 1536 + 160 * h + 2 * h;
  CHECK(layer + 2 * h * h + 3 * h + 2 * 151'552 * h + 90 * 160 == 5'539'976'512);
  // Qwen3.5-0.8B's: a layer that attends with a gate as wide as its queries, and no tables of its own.
  const std::int64_t w = 1024;
  CHECK(w * 2 * 8 * 256 + 2 * w * 2 * 256 + 8 * 256 * w + 2 * 256 + 3 * w * 3584 + 2 * w + 2 * w * w + 3 * w == 20'452'864);
}

// google/gemma-4-E4B-it is E2B's class with other sizes and without its wider MLPs. The file has what no layer that shares keys reads: keys, values and a norm of 15 layers with
// a window and of 3 without, and a number for each of 42 layers (buffers). E2B's: of 16 and of 4 layers, and 35.
TEST_CASE("Gemma 4 E4B, as its own index has it") {
  for (const auto& entry : counted_rows::data("models_2026.json"))
    if (entry.at("name") == "google/gemma-4-E2B") {
      auto config = counted_rows::config_of(entry);
      CHECK(io::count_config(config).total.count() + 2 * 1536 * (16 * 256 + 4 * 512) + 16 * 256 + 4 * 512 + 35 == 5'123'178'051);
      auto& text = config["text_config"];
      text.erase("layer_types");
      text.update({{"hidden_size", 2560}, {"num_hidden_layers", 42}, {"intermediate_size", 10240}, {"num_key_value_heads", 2}, {"num_kv_shared_layers", 18}, {"use_double_wide_mlp", false}});
      CHECK(io::count_config(config).total.count() + 2 * 2560 * (15 * 512 + 3 * 1024) + 15 * 256 + 3 * 512 + 42 == 7'996'156'490);
    }
}

TEST_CASE("checkpoints with a name of their own have the shape of what they were made of") {
  CHECK(count(io::shape_named("BAAI/bge-base-en-v1.5").value()).total.count() == 109'482'240);  // its index: 109,482,752 with 512 position ids
  CHECK(count(io::shape_named("Qwen/Qwen3-VL-4B-Thinking").value()).total.count() == 4'437'815'808);
  CHECK(count(io::shape_named("deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct").value()).total.count() == 15'706'484'224);
  CHECK(count(io::shape_named("deepseek-ai/deepseek-coder-7b-instruct-v1.5").value()).total.count() == 6'910'365'696);
  CHECK(count(io::shape_named("google/gemma-1.1-2b-it").value()).total.count() == 2'506'172'416);
  CHECK(count(io::shape_named("Qwen/Qwen3-Coder-Next").value()).total.count() == 79'674'391'296);
  CHECK(count(io::shape_named("google/medgemma-4b-it").value()).total.count() == 4'300'079'472);
  CHECK(count(io::shape_named("bigscience/bloomz-560m").value()).total.count() == 559'214'592);
  for (const auto& d : io::published_descendants) {
    CAPTURE(d.name);
    REQUIRE(io::shape_named(d.of));
    CHECK(models::find(d.name) == nullptr);
    CHECK(io::find_published(d.name) == nullptr);
    CHECK(io::shape_named(d.name) == io::shape_named(d.of));
  }
}

TEST_CASE("checkpoints have the parameters that their own files say") {
  int held = 0;
  each_line("/descendant_totals.jsonl", [&](const io::json_value& row) {
    CAPTURE(row.dump());
    CHECK(total(row.at("file").get<std::string>()) + row.value("beside", std::int64_t{0}) == row.at("total").get<std::int64_t>());
    ++held;
  });
  CHECK(held == 109);
}

TEST_CASE("Nemotron 3 Nano by hand: 23 layers of Mamba-2, 23 of experts, 6 of attention") {
  const std::int64_t h = 2688, vocab = 131'072, inner = 64 * 64, states = 8 * 128, heads = 64;
  const auto mamba = h * (2 * inner + 2 * states + heads) + (inner + 2 * states) * (4 + 1) + 3 * heads + inner + inner * h;
  const auto experts = 128 * 2 * h * 1856 + 2 * h * 3712 + 128 * h;  // routed, shared, the router; its correction is a buffer
  const auto attention = h * 128 * (32 + 2 + 2 + 32);
  CHECK(total("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16") == 2 * vocab * h + 23 * (mamba + h) + 23 * (experts + h) + 6 * (attention + h) + h);
}

TEST_CASE("a name is found in any case, behind an organisation, and tuned; written back it is a name again") {
  const auto m = io::shape_named("zai-org/GLM-5.1").value();
  CHECK(io::model_to_json(m) == "glm-5");
  CHECK(io::read_model("glm-5", "model", io::no_files) == m);
  CHECK(io::shape_named("google/gemma-4-31B-it") == io::shape_named("gemma-4-31b"));
  CHECK_FALSE(io::shape_named("gemma-4-32b"));
  CHECK_FALSE(io::shape_named("moonshotai/Kimi-K2-Thinking"));  // its index holds experts as int4, packed: other weights than a run in 16 bits has
  CHECK_FALSE(io::shape_named("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8"));  // quantised weights are another thing
  CHECK_FALSE(io::shape_named(""));
  auto deeper = m;
  deeper.layers = 80;
  CHECK(io::model_to_json(deeper).is_object());
}

TEST_CASE("a pattern is no longer than its model") {
  for (const auto& m : io::published_models) {
    const auto said = io::json_value::parse(m.shape);
    if (!said.contains("pattern")) continue;
    CAPTURE(m.names);
    CHECK(said["pattern"].size() <= said["layers"].get<std::size_t>());
  }
}

TEST_CASE("no name is of two models, and none hides one of the zoo") {
  std::set<std::string_view> seen;
  for (const auto& m : io::published_models)
    io::each_name(m, [&](std::string_view name) {
      CHECK_MESSAGE(seen.insert(name).second, name);
      CHECK_MESSAGE(models::find(name) == nullptr, name);
      CHECK(std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
    });
}

// ai-dynamo/aiconfigurator 095f58a5 model_configs/*.json: what makers wrote into their config.json, of which transformers' classes read less.
TEST_CASE("published configurations with keys that their classes do not read") {
  using json = io::json_value;
  const auto counted = [](json config) { return io::count_config(config).total.count(); };
  const auto coder = json{{"architectures", {"Qwen3MoeForCausalLM"}}, {"model_type", "qwen3_moe"},  {"decoder_sparse_step", 1},       {"head_dim", 128},           {"hidden_size", 6144},
                          {"intermediate_size", 8192},                {"moe_intermediate_size", 2560}, {"num_attention_heads", 96},      {"num_experts", 160},        {"num_experts_per_tok", 8},
                          {"num_hidden_layers", 62},                  {"num_key_value_heads", 8},      {"tie_word_embeddings", false}, {"use_qk_norm", true},       {"vocab_size", 151936}};
  CHECK(counted(coder) == 480'154'875'392);  // Qwen/Qwen3-Coder-480B-A35B-Instruct's own files
  // GLM-5.2 is GLM-5 with an indexer in 21 of 78 layers: queries from 2048 to 32 heads of 128, keys, their norm, and a weight for each head.
  json shared = json::array();
  for (int i = 0; i < 78; ++i) shared.push_back(i < 3 || (i - 2) % 4 == 0 ? "full" : "shared");
  const json glm = {{"architectures", {"GlmMoeDsaForCausalLM"}}, {"model_type", "glm_moe_dsa"}, {"indexer_types", shared}, {"index_share_for_mtp_iteration", true}, {"moe_router_dtype", "float32"}, {"tie_word_embeddings", false}};
  const std::int64_t indexer = 2048 * 32 * 128 + 6144 * 128 + 2 * 128 + 6144 * 32;
  CHECK(counted(glm) == total("glm-5") - 57 * indexer);
  // Kimi-K2.5's own code names the tower's sizes otherwise than transformers, which made its classes of it; the text is Kimi-K2.
  const json text = {{"model_type", "kimi_k2"}, {"first_k_dense_replace", 1}, {"hidden_size", 7168}, {"intermediate_size", 18432}, {"kv_lora_rank", 512}, {"moe_intermediate_size", 2048}, {"n_routed_experts", 384}, {"n_shared_experts", 1},
                     {"num_attention_heads", 64}, {"num_experts_per_tok", 8}, {"num_hidden_layers", 61}, {"num_key_value_heads", 64}, {"q_lora_rank", 1536}, {"qk_nope_head_dim", 128}, {"qk_rope_head_dim", 64}, {"v_head_dim", 128}, {"vocab_size", 163840}};
  const json ours = {{"vt_hidden_size", 1152}, {"vt_intermediate_size", 4304}, {"vt_num_attention_heads", 16}, {"vt_num_hidden_layers", 26}, {"init_pos_emb_height", 64}, {"init_pos_emb_width", 64}, {"init_pos_emb_time", 4},
                     {"mm_hidden_size", 1152}, {"mm_projector_type", "patchmerger"}, {"merge_type", "sd2_tpool"}, {"merge_kernel_size", {2, 2}}, {"patch_size", 14}};
  const json theirs = {{"hidden_size", 1152}, {"intermediate_size", 4304}, {"num_attention_heads", 16}, {"num_hidden_layers", 26}, {"merge_kernel_size", {2, 2}}, {"patch_size", 14}};
  const auto kimi = [&](const char* name, const json& tower) {
    return counted({{"architectures", {name}}, {"model_type", "kimi_k25"}, {"text_config", text}, {"vision_config", tower}, {"tie_word_embeddings", false}});
  };
  CHECK(kimi("KimiK25ForConditionalGeneration", ours) == kimi("Kimi_K25ForConditionalGeneration", theirs));
  auto other = ours;
  other["mm_projector_type"] = "mlp";
  CHECK_THROWS_AS(kimi("KimiK25ForConditionalGeneration", other), job_error);
  CHECK(kimi("KimiK25ForConditionalGeneration", ours) > 1'026'408'209'408);  // moonshotai/Kimi-K2-Instruct
}

// HuggingFaceTB/SmolVLM2-2.2B-Instruct's config.json, with what its training code left in it.
TEST_CASE("SmolVLM's own file is the model that its name is") {
  using json = io::json_value;
  const json file = {{"architectures", {"SmolVLMForConditionalGeneration"}}, {"model_type", "smolvlm"}, {"image_token_id", 49190}, {"scale_factor", 3}, {"tie_word_embeddings", false}, {"use_reentrant_checkpointing", false}, {"vocab_size", 49280},
                     {"text_config", {{"_flash_attn_2_enabled", true}, {"architectures", {"VLlama3ForCausalLM"}}, {"head_dim", 64}, {"hidden_size", 2048}, {"intermediate_size", 8192}, {"is_llama_config", true}, {"model_type", "llama"},
                                      {"neftune_noise_alpha", 0.0}, {"num_attention_heads", 32}, {"num_hidden_layers", 24}, {"num_key_value_heads", 32}, {"perceiver_config", {{"resampler_depth", 6}}}, {"pixel_shuffle_factor", 3},
                                      {"qk_layer_norms", false}, {"rope_interleaved", false}, {"tie_word_embeddings", false}, {"use_resampler", false}, {"vocab_size", 49280}}},
                     {"vision_config", {{"hidden_size", 1152}, {"image_size", 384}, {"intermediate_size", 4304}, {"max_image_size", {{"longest_edge", 384}}}, {"model_type", "smolvlm_vision"}, {"num_attention_heads", 16}, {"num_hidden_layers", 27},
                                        {"patch_size", 14}, {"size", {{"longest_edge", 1920}}}, {"use_base_siglip", false}}}};
  auto read = io::model_from_config(file);
  auto named = io::shape_named("HuggingFaceTB/SmolVLM2-2.2B-Instruct").value();
  read.label = named.label;
  read.max_positions = named.max_positions;
  CHECK(read == named);
  CHECK(count(read).total.count() == 2'246'784'880);
  auto uneven = file;
  uneven["scale_factor"] = 2;
  CHECK_THROWS_WITH_AS((void)io::model_from_config(uneven), doctest::Contains("scale_factor must divide the 27 patches of an edge, found 2"), job_error);
}

TEST_CASE("a job names one as it names one of the zoo") {
  const auto j = io::read_job(io::json_value::parse(R"({"model": "nemotron-3-nano-30b-a3b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "hf-trainer",
    "sharding": "fsdp2", "precision": "bf16", "batch": {"micro": 1, "sequence": 512}})"), io::no_files);
  CHECK(j.model.kind_of(0).mixer == mixer_kind::mamba2);
  CHECK(states(j).total == parameters{31'577'937'344});
}

}  // namespace test_published_models
