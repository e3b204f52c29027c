// Distributed under the Boost Software License, Version 1.0.
// What an inference engine takes of a GPU, against published sizes of keys and values, a logged start, and sums on paper.
#include <headroom/hardware/gpu.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/rollout/engine_memory.hpp>
#include <headroom/rollout/generation.hpp>
#include <headroom/rollout/weight_sync.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_engine {

namespace {

using namespace headroom;
using namespace headroom::literals;

constexpr std::int64_t token(const shape& m, std::int64_t tensor = 1, const number_format& f = formats::bf16) { return token_bytes(m, tensor, f).count(); }
constexpr std::int64_t weights(const shape& m, std::int64_t tensor) { return engine_weights(m, weights_of(m), tensor, formats::bf16).count(); }

// DeepSeek-AI 2025, "Insights into DeepSeek-V3" (arXiv 2505.09343), table 1: keys and values of a token in BF16.
static_assert(token(models::deepseek_v3) == 70'272);
static_assert(token(models::qwen2_5_72b) == 327'680);
static_assert(token(models::llama_3_1_405b) == 516'096);
// A latent is the same on every GPU; heads are divided until there is one on each.
static_assert(token(models::deepseek_v3, 8) == 70'272);
static_assert(token(models::qwen2_5_72b, 4) == 81'920);
static_assert(token(models::llama_3_1_8b, 8) == 131'072 / 8);
static_assert(token(models::llama_3_1_8b, 16) == 131'072 / 8);
static_assert(token(models::qwen2_5_72b, 4, formats::fp8) == 40'960);
// unsloth.ai/blog/grpo: 2.5 GB of keys and values for 20,480 positions of Llama 3.1 8B. Its GB are GiB.
static_assert(token(models::llama_3_1_8b) * 20'480 == (5_GiB / 2).count());

// Whole models, and divided ones: norms are whole on each of four GPUs. 161 norms of 8,192 in 72 B.
static_assert(weights(models::qwen2_5_7b, 1) == 2 * 7'615'616'512);
static_assert(weights(models::qwen2_5_72b, 4) == 2 * ((72'706'203'648 - 161 * 8192) / 4 + 161 * 8192));
// Eight heads of keys and values on sixteen GPUs: each has one of 128, so k and v of 32 layers take twice their sixteenth. 65 norms.
static_assert(weights(models::llama_3_1_8b, 16) == 2 * ((8'030'261'248 - 65 * 4096) / 16 + 65 * 4096 + 32 * 2 * 4096 * 64));
// A table of the vocabulary is padded to a multiple of 64: 50,257 rows to 50,304.
static_assert(weights(models::gpt2, 1) == 2 * (124'439'808 + 47 * 768));
// Experts are cut by their width; the router and its correction stay whole, modules of multi-token prediction are not loaded.
static_assert(weights(models::deepseek_v3, 1) == 2 * 671'026'404'352);

// A start of vLLM on an H100 of 79.18 GiB with a share of 0.825 logs 65.32 GiB requested (llm-d-incubation/llm-d-fast-model-actuation issue 746).
static_assert(engine_budget(engine_kind::vllm, memory_share::of(0.825), 81'080_MiB, 0_B) / (1_GiB / 100) == 6532);
// vLLM rounds up (math.ceil); what is in use when it starts matters to the others alone.
static_assert(engine_budget(engine_kind::vllm, memory_share::of(0.3), gpus::h100_sxm_80gb.memory, 20_GiB).count() == 25'483'227'956);
static_assert(engine_budget(engine_kind::vllm_0_8, memory_share::of(0.5), 80_GiB, 30_GiB) == 10_GiB);
static_assert(engine_budget(engine_kind::vllm_0_8, memory_share::of(0.3), 80_GiB, 30_GiB) == 0_B);
static_assert(engine_budget(engine_kind::sglang, memory_share::of(0.5), 80_GiB, 30_GiB) == 25_GiB);
static_assert(engine_budget(engine_kind::trainer, memory_share::of(0.5), 80_GiB, 0_B) == 0_B);

constexpr cache_pages paged{bytes{16 * 57'344}, 16};
// 8 GiB of 57,344 bytes a token: 9,362 blocks of 16 tokens; 1,024 positions are 64 blocks.
static_assert(room_for(8_GiB, paged, 1024) == cache_room{9362, 149'792, 146, bytes{9362LL * 16 * 57'344}});
static_assert(room_for(8_GiB, paged, 1025).sequences == 144);  // one position more is a block more
static_assert(room_for(bytes{-1}, paged, 1024) == cache_room{});

constexpr sync_sizes sizes(const shape& m, std::int64_t groups = 1) { return sync_sizes_of(m, weights_of(m), groups); }
constexpr std::int64_t moment(sync_kind k, const shape& m, std::int64_t groups = 1) {
  return sync_bytes(k, sizes(m, groups), formats::bf16, formats::bf16, 2048_MiB).count();
}

// TRL: one parameter at a time, everything where adapters are merged. 152,064 rows of 3,584.
static_assert(moment(sync_kind::tensor, models::qwen2_5_7b) == 1'089'994'752);
static_assert(moment(sync_kind::all, models::qwen2_5_7b) == 15'231'233'024);
// ms-swift's recipe for 72 B: 16 groups of 5 layers of 877,684,736 parameters.
static_assert(moment(sync_kind::groups, models::qwen2_5_72b, 16) == 8'776'847'360);
static_assert(moment(sync_kind::groups, models::qwen2_5_72b) == 145'412'407'296);
// More groups than layers: what lies outside the layers is the largest, embedding, head and a norm.
static_assert(moment(sync_kind::groups, models::qwen2_5_72b, 160) == 2 * (2 * 152'064LL * 8192 + 8192));
static_assert(moment(sync_kind::unit, models::qwen2_5_7b) == 2 * (2 * 152'064LL * 3584 + 3584));
// verl: the buffer, the tensor in fp32 and its copy in bf16.
static_assert(sync_bytes(sync_kind::bucket, sizes(models::qwen2_5_7b), formats::fp32, formats::bf16, 2048_MiB) == bytes{2'147'483'648 + 6 * 152'064LL * 3584});

// Four completions of 1,024 positions of Qwen2.5 7B: 0.22 GiB of keys and values, of one layer the keys twice; scores in bf16, fp32 and their softmax.
static_assert(generated_by_module(models::qwen2_5_7b, 4, 512, 512, formats::bf16) ==
              generated{bytes{57'344LL * 4096}, bytes{1024LL * 4096}, bytes{152'064LL * 4 * 10}});

}  // namespace

TEST_CASE("What is not known of an engine is refused") {
  const auto no = [](auto f, const char* word) {
    try {
      f();
      CHECK_MESSAGE(false, word);
    } catch (const job_error& e) {
      CHECK_MESSAGE(std::string(e.what()).find(word) != std::string::npos, e.what());
    }
  };
  no([] {
    auto m = models::qwen2_5_7b;
    m.ssm = {.heads = 32, .head_dim = 128, .state = 128, .groups = 8, .conv = 4};
    m.pattern.add({mixer_kind::mamba2});
    m.pattern.add({mixer_kind::attention});
    return weights(m, 1);
  }, "recurrent");
  no([] { return weights(models::t5_small, 1); }, "decoders");
  no([] { return weights(models::qwen2_5_7b, 3); }, "attention heads");
  no([] { return engine_weights(models::qwen2_5_7b, weights_of(models::qwen2_5_7b), 1, formats::nf4); }, "rollout.format");
  no([] { return token(models::qwen2_5_7b, 1, formats::nf4); }, "kv_format");
  no([] { return generated_by_module(models::gemma_2_9b, 1, 4096, 1, formats::bf16); }, "sliding window");
  no([] { return sync_bytes(sync_kind::bucket, sizes(models::qwen2_5_72b), formats::bf16, formats::bf16, 2048_MiB); }, "largest tensor");
  no([] { return memory_share::of(1.5); }, "rollout.share");
}

TEST_CASE("a module with Gated DeltaNet in three layers of four keeps states of these, and keys and values of the fourth") {
  // Qwen3.5-4B: 32 layers; 16 heads of queries and keys, 32 of values, all of 128; a convolution over 4 positions; 4 heads of keys and values of 256.
  auto m = models::qwen3_4b;
  m.layers = 32, m.hidden = 2560, m.heads = 16, m.kv_heads = 4, m.head_dim = 256, m.vocab = 248'320;
  m.ssm = {.heads = 32, .head_dim = 128, .state = 128, .groups = 16, .conv = 4};
  for (int i = 0; i < 3; ++i) m.pattern.add({mixer_kind::gated_delta_net});
  m.pattern.add({mixer_kind::attention});
  const auto g = generated_by_module(m, 4, 1000, 24, formats::bf16);
  CHECK(g.cache == bytes{8 * std::int64_t{2} * 4 * 256 * 2 * 4 * 1024});
  constexpr std::int64_t state = (2 * 16 * 128 + 32 * 128) * 4 * 2 + 32 * 128 * 128 * 4;
  static_assert(state == 65'536 + 2'097'152);
  CHECK(g.states == bytes{24 * state * 4});
  // A layer's keys of 4 × 1,024 positions, once more, are 8 MiB; a layer's states of four sequences are more.
  CHECK(g.growing == bytes{4 * state});
  CHECK(generated_by_module(m, 4, 10'000, 24, formats::bf16).growing == bytes{2 * std::int64_t{4} * 256 * 2 * 4 * 10'024 / 2});
  CHECK(generated_by_module(m, 4, 10'000, 24, formats::bf16).states == g.states);
}

namespace {

/// Models of 3:1 layers of Gated DeltaNet and of attention, as vLLM sees them.
constexpr shape hybrid(std::int64_t layers, std::int64_t kv, std::int64_t keys, std::int64_t values, bool sees) {
  auto m = models::qwen3_4b;
  m.layers = layers, m.hidden = 2560, m.heads = 16, m.kv_heads = kv, m.head_dim = 256, m.vocab = 248'320;
  m.ssm = {.heads = values, .head_dim = 128, .state = 128, .groups = keys, .conv = 4};
  for (int i = 0; i < 3; ++i) m.pattern.add({mixer_kind::gated_delta_net});
  m.pattern.add({mixer_kind::attention});
  if (sees) m.vision = {.kind = vision_kind::qwen3_vl, .projector = projector_kind::merger, .layers = 12, .hidden = 768, .heads = 12, .ffn = 3072, .patch = 16, .temporal_patch = 2, .positions = 2304, .merge = 2, .output = 2560};
  return m;
}
constexpr rollout by_vllm(std::int64_t tensor = 1) { return {.engine = engine_kind::vllm, .tensor = tensor}; }

}  // namespace

TEST_CASE("vLLM's blocks where Gated DeltaNet recurs are those that its logs name") {
  // "Setting attention block size to 544 tokens", "Padding mamba page size by 2.64%": Qwen3.5-0.8B under vLLM 0.19 and 0.21.
  const auto small = hybrid(24, 2, 16, 16, true);
  CHECK(pages_of(small, by_vllm()).tokens == 544);
  CHECK(engine_state_bytes(small, 1, formats::bf16).count() == 1'085'440);  // 544 tokens of 2,048 bytes are 2.64 % more
  // "784 tokens", "0.13%": Qwen3.5-27B, 64 layers, 0.19.1 and later.
  const auto large = hybrid(64, 4, 16, 48, true);
  CHECK(pages_of(large, by_vllm()).tokens == 784);
  CHECK(engine_state_bytes(large, 1, formats::bf16).count() == 3'207'168);
  // "544 tokens", "1.49%": Qwen3-Next-80B-A3B, which sees nothing and has its states in bf16, 0.10.2.
  const auto next = hybrid(48, 2, 16, 32, false);
  CHECK(pages_of(next, by_vllm()).tokens == 544);
  CHECK(engine_state_bytes(next, 1, formats::bf16).count() == 1'097'728);
  // Qwen3.5-27B with cached prefixes, on an H200: "Maximum concurrency for 32,768 tokens per request: 42.75x". 42 blocks of 784, and two for each of
  // three groups of recurrent layers, are 48; 42.75 × 48 = 2,052 blocks.
  const auto p = pages_of(large, by_vllm());
  CHECK(p == cache_pages{bytes{784 * 4096 * 16}, 784, 6});
  CHECK(room_for(2052 * p.block, p, 32'768).sequences == 42);
  CHECK(room_for(2052 * p.block, p, 32'768).blocks == 2052);
  CHECK(room_for(47 * p.block, p, 32'768).sequences == 0);
  CHECK(room_for(48 * p.block, p, 32'768).sequences == 1);
  // Two GPUs: half the heads of keys and values, half a state: the same positions, and half the bytes.
  CHECK(pages_of(large, by_vllm(2)) == cache_pages{bytes{784 * 2048 * 16}, 784, 6});
  // Keys and values that are 8 bits wide: twice the positions.
  auto narrow = by_vllm();
  narrow.kv_format = formats::fp8;
  CHECK(pages_of(large, narrow).tokens == 1568);
}

TEST_CASE("an engine on several GPUs divides Gated DeltaNet by heads, and Qwen-VL's towers by heads and width") {
  // Of a layer of hidden 2,560 with 16 heads of keys and 32 of values, all of 128: 12,288 + 64 rows and 8,192 × 4 of the convolution, 64 of gates, all in
  // halves, the norm of 128 whole, and 4,096 columns.
  constexpr std::int64_t divided = 2560 * (12'288 + 64) + 8192 * 4 + 64 + 2560 * 4096;
  const auto layer = [](const shape& m, std::int64_t tensor) {
    inventory of;
    detail::add_gated_delta_net(of, m, {{0, 1, 1}});
    return engine_parameters(m, of, tensor).count();
  };
  CHECK(layer(hybrid(32, 4, 16, 32, true), 1) == divided + 128);
  CHECK(layer(hybrid(32, 4, 16, 32, true), 4) == divided / 4 + 128);
  // Qwen2.5-VL 7B on four: 32 blocks of 1,280 with 16 heads and a gated MLP of 3,420, biases beside all but the norms; of the merger 5,120² + 5,120 ×
  // 3,584. Patches of 1,176 numbers, norms, and biases of what is cut by columns stay whole.
  inventory tower;
  const auto& sees = models::qwen2_5_vl_7b;
  detail::add_vision(tower, sees);
  constexpr std::int64_t cut = 32LL * (4 * 1280 * 1280 + 3 * 1280 * 3420 + 3 * 1280 + 2 * 3420) + 5120LL * 5120 + 5120LL * 3584;
  constexpr std::int64_t stays = 1280LL * 1176 + 32 * (2 * 1280 + 2 * 1280) + 1280 + 5120 + 3584;
  CHECK(engine_parameters(sees, tower, 1).count() == cut + stays);
  CHECK(engine_parameters(sees, tower, 4).count() == cut / 4 + stays);
  CHECK_FALSE(check_generated(sees, 4, objecting{}));
  CHECK(std::string(check_generated(models::qwen2_5_vl_7b, 3, objecting{}).sentence).find("tower") != std::string::npos);
}

TEST_CASE("an engine that is asked for more than there is gets nothing") {
  CHECK(engine_budget(engine_kind::sglang, memory_share::of(0.5), 80_GiB, 80_GiB) == 0_B);
  CHECK(engine_budget(engine_kind::sglang, memory_share::of(0.5), 80_GiB, 90_GiB) == 0_B);
  CHECK(engine_budget(engine_kind::vllm_0_8, memory_share::of(0.5), 80_GiB, 40_GiB) == 0_B);
  CHECK(engine_budget(engine_kind::unset, memory_share::of(0.5), 80_GiB, 0_B) == 0_B);
  CHECK(rollout{}.bucket() == 2048_MiB);
  CHECK(rollout{.sync_bucket_mib = 0}.bucket() == 0_B);
  CHECK(rollout{.sync_bucket_mib = 3}.bucket() == 3_MiB);
  // 1,024 positions of 57,344 bytes are 64 blocks of 16: with one block less the engine stops.
  const rollout r{.engine = engine_kind::vllm, .share = memory_share::of(0.5), .prompt = 512, .completion = 512};
  CHECK_FALSE(check_start(models::qwen2_5_7b, r, {.cache = bytes{64 * 16 * 57'344}}));
  CHECK(check_start(models::qwen2_5_7b, r, {.cache = bytes{64 * 16 * 57'344 - 1}}));
}

TEST_CASE("heads that two GPUs cannot share, and keys that each has whole") {
  // SmolLM 135M: nine heads, three of keys and values.
  const objecting no{};
  CHECK(std::string(check_generated(models::smollm2_135m, 2, no).sentence).find("attention heads") != std::string::npos);
  CHECK_FALSE(check_generated(models::smollm2_135m, 3, no));
  CHECK(std::string(check_generated(models::smollm2_135m, 0, no).sentence).find("1 or more") != std::string::npos);
  // One head of 64 rows for three GPUs: 64 is no multiple of 3, and each has all of it.
  constexpr shape m{.layers = 1, .hidden = 384, .heads = 6, .kv_heads = 1, .ffn = 1536, .vocab = 960, .tied = true};
  CHECK_FALSE(check_divided(m, weights_of(m), 3, formats::bf16, no));
  // The table, q, o and the MLP in thirds; k and v of 64 × 384, and three norms.
  CHECK(engine_parameters(m, weights_of(m), 3) == parameters{(960 * 384 + 2 * 384 * 384 + 3 * 384 * 1536) / 3 + 2 * 64 * 384 + 3 * 384});
}

TEST_CASE("a window that holds the sequence forgets nothing") {
  auto m = models::gemma_2_9b;
  m.sliding_window = 1024;
  CHECK_NOTHROW((void)generated_by_module(m, 1, 1000, 24, formats::bf16));
  CHECK_THROWS_AS((void)generated_by_module(m, 1, 1000, 25, formats::bf16), job_error);
}

TEST_CASE("weights of two GPUs' engine in pinned pieces") {
  // Qwen2.5 7B, in MiB on each of two: q, k and v 15.75, output 12.25, gate and up 129.5, down 64.75, in each of 28 layers; two tables of 519.75;
  // norms and biases of less than 10 together. Each is rounded up to 2 MiB and then to a power of two.
  const rollout r{.engine = engine_kind::vllm, .tensor = 2};
  CHECK(engine_backup(models::qwen2_5_7b, weights_of(models::qwen2_5_7b), r) == (28 * (16 + 16 + 256 + 128) + 2 * 1024 + 32) * 1_MiB);
}

TEST_CASE("the largest layer of DeepSeek-V3, three of whose layers are dense") {
  // 256 experts and one for all of 3 × 7,168 × 2,048; a router; latent attention of ranks 1,536 and 512, 128 heads of 128 + 64 and 128; two norms.
  constexpr std::int64_t experts = 257LL * 3 * 7168 * 2048 + 256 * 7168;
  constexpr std::int64_t attention = 7168LL * 1536 + 1536 + 1536LL * 128 * 192 + 7168LL * 576 + 512 + 512LL * 128 * 256 + 128LL * 128 * 7168 + 2 * 7168;
  CHECK(sync_sizes_of(models::deepseek_v3, weights_of(models::deepseek_v3), 1).unit == parameters{experts + attention});
}

}  // namespace test_engine
