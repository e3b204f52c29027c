// Distributed under the Boost Software License, Version 1.0.
// What an inference engine takes of a GPU, against published sizes of keys and values, a logged start, and sums on paper.
#include <headroom/hardware/gpu.hpp>
#include <headroom/model/zoo.hpp>
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

// 8 GiB of 57,344 bytes a token: 9,362 blocks of 16 tokens; 1,024 positions are 64 blocks.
static_assert(room_for(8_GiB, bytes{57'344}, 16, 1024) == cache_room{9362, 149'792, 146, bytes{9362LL * 16 * 57'344}});
static_assert(room_for(8_GiB, bytes{57'344}, 16, 1025).sequences == 144);  // one position more is a block more
static_assert(room_for(bytes{-1}, bytes{57'344}, 16, 1024) == cache_room{});

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
    m.ssm = {.heads = 32, .head_dim = 128, .state = 128, .groups = 16, .conv = 4};
    m.pattern.add({mixer_kind::gated_delta_net});
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

}  // namespace test_engine
