// Distributed under the Boost Software License, Version 1.0.
// Heads as transformers gives them to torch's own attention: which families call the function that makes them contiguous (`grep ALL_ATTENTION_FUNCTIONS` in
// models/*/modeling_*.py of 2025-02-17 and 2025-06-26, transformers 4.49 and 4.53), which repeat keys and values, and from which torch on none are.
#include <headroom/headroom.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>

namespace test_given_heads {

using namespace headroom;

namespace {

/// 4 heads of 32 features and `kv` of keys and values; 2 samples of 64 tokens in bf16, on a CPU, where a tensor costs its bytes.
job small(std::int64_t kv, std::int32_t date) {
  job j;
  auto& m = j.model;
  m.layers = 12, m.hidden = 64, m.heads = 4, m.kv_heads = kv, m.head_dim = 32, m.ffn = 96, m.vocab = 4096, m.tied = true;
  j.hardware.gpu = gpus::cpu;
  j.framework = *frameworks::find("hf-trainer", date);
  j.framework.autocast.over_16bit = false;
  j.framework.loss.shifts_logits = false;
  j.precision = precisions::bf16;
  j.attention = attention::sdpa;
  j.batch = {.micro = 2, .sequence = 64};
  return j;
}
std::int64_t peak(const job& j) { return estimate(j).ranks[0].allocated.count(); }
template <class Change>
std::int64_t peak_of(std::int64_t kv, std::int32_t date, Change change) {
  auto j = small(kv, date);
  change(j);
  return peak(j);
}

constexpr std::int64_t head = 2 * 64 * 32 * 2;  // of 128 tokens, in two bytes a number
constexpr std::int64_t layers = 12;

void falcon(job& j) {
  auto& m = j.model;
  m.norm = norm_kind::layernorm, m.norm_bias = true, m.mlp = mlp_kind::plain, m.activation = activation_kind::gelu;
  m.softmax = softmax_kind::compute, m.parallel_block = m.shared_attention_norm = m.fused_qkv = true;
}
void stablelm(job& j) { j.model.norm = norm_kind::layernorm, j.model.norm_bias = true; }
void nemotron(job& j) { j.model.norm = norm_kind::layernorm, j.model.norm_bias = true, j.model.mlp = mlp_kind::plain, j.model.activation = activation_kind::relu2; }
void plain(job&) {}

}  // namespace

TEST_CASE("which families share one function for attention") {
  namespace z = models;
  for (const auto& m : {z::llama_3_1_8b, z::mixtral_8x7b, z::qwen2_7b, z::gemma_2b, z::gemma_2_9b, z::gemma_3_1b, z::gpt2, z::pythia_1b, z::phi_2, z::starcoder2_3b, z::phi_3_mini, z::phi_4_mini, z::olmo_1b,
                        z::olmo_2_7b, z::command_r, z::granite_3_8b, z::falcon3_7b, z::qwen3_30b_a3b, z::llama_4_scout}) {
    CAPTURE(m.label.view());
    CHECK(ops::shares_attention(m, 202503));
    CHECK(ops::shares_attention(m, 202506));
  }
  for (const auto& m : {z::falcon_7b, z::falcon_40b, z::bloom_7b1, z::gpt_j_6b, z::mpt_7b, z::qwen1_5_moe_a2_7b, z::qwen2_57b_a14b, z::stablelm_3b, z::stablelm_2_12b, z::dbrx, z::phi_3_5_moe, z::internlm2_7b,
                        z::baichuan2_7b, z::qwen_7b}) {
    CAPTURE(m.label.view());
    CHECK_FALSE(ops::shares_attention(m, 202503));
    CHECK_FALSE(ops::shares_attention(m, 202506));
  }
  for (const auto& m : {z::opt_1_3b, z::qwen2_vl_2b, z::qwen2_5_vl_7b}) {  // since 4.53
    CAPTURE(m.label.view());
    CHECK_FALSE(ops::shares_attention(m, 202503));
    CHECK(ops::shares_attention(m, 202506));
  }
}

// Up to 4.53 both repeat; what the kernel gives is copied where the shared function made q contiguous: four heads.
TEST_CASE("families with an attention of their own copy nothing that they give") {
  for (const auto family : {stablelm, nemotron}) {
    CHECK(peak_of(2, 202503, family) == peak_of(2, 202601, family) + layers * 4 * head);  // k and v of two heads more each
    CHECK(peak_of(4, 202503, family) == peak_of(4, 202601, family));
  }
  CHECK(peak_of(4, 202503, plain) == peak_of(4, 202601, plain) + layers * 4 * head);
  CHECK(peak_of(2, 202503, plain) == peak_of(2, 202601, plain) + layers * 8 * head);
}

TEST_CASE("Falcon keeps its one head of keys and values, and repeats several at every date") {
  CHECK(peak_of(1, 202503, falcon) == peak_of(1, 202601, falcon));
  CHECK(peak_of(1, 202412, falcon) == peak_of(1, 202601, falcon));
  CHECK(peak_of(2, 202503, falcon) == peak_of(2, 202601, falcon));
  // Of one projection's result k and v are views: v alone keeps all 8 heads, beside 4 of q and 2 of k that were turned. Copies are 4 heads each.
  const auto grouped = [](job& j) { falcon(j), j.model.softmax = softmax_kind::by_position; };
  CHECK(peak_of(2, 202601, falcon) == peak_of(2, 202601, grouped) + layers * (3 * 4 - (8 + 4 + 2)) * head);
  const auto fast = [&](job& j) { falcon(j), j.attention = attention::flash; };
  const auto grouped_fast = [&](job& j) { grouped(j), j.attention = attention::flash; };
  CHECK(peak_of(2, 202601, fast) == peak_of(2, 202601, grouped_fast) + layers * (3 * 4 - (8 + 4 + 2)) * head);
}

// aten/src/ATen/native/transformers/sdp_utils_cpp.h check_batch_size_and_num_heads_dense: without enable_gqa kernels take as many heads of keys as of queries,
// and FalconAttention hands over one (models/falcon/modeling_falcon.py).
TEST_CASE("Falcon's one head of keys has no kernel of torch's own attention") {
  const auto by_math = [](std::int64_t kv, attention kernel) {
    auto j = small(kv, 202601);
    falcon(j);
    j.attention = kernel;
    return estimate(j).assumptions.has(assumption::attention_by_math);
  };
  CHECK(by_math(1, attention::sdpa));
  CHECK_FALSE(by_math(2, attention::sdpa));
  CHECK_FALSE(by_math(1, attention::flash));
  CHECK_FALSE(by_math(1, attention::eager));
}

// What layers share outlives forward where a kernel saves it; where it saves copies (repeated, or contiguous) the caller alone names it until forward ends.
TEST_CASE("keys that layers share are named until forward ends where attention saves copies of them") {
  const auto named = [](std::int64_t kv, std::int32_t date, attention kernel = attention::sdpa) {
    auto j = small(kv, date);
    j.attention = kernel;
    j.model.pattern.add({});
    j.model.pattern.add({mixer_kind::shared_attention, feed_forward_kind::unset});
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    return detail::shared_by_layers(s, sc).in_forward.count();
  };
  CHECK(named(2, 202601) == 0);
  CHECK(named(2, 202412) == 2 * 2 * head);  // repeated
  CHECK(named(2, 202412, attention::flash) == 0);
  CHECK(named(4, 202412) == 0);
  CHECK(named(4, 202507) == 2 * 4 * head);  // contiguous
}

// integrations/sdpa_attention.py use_gqa_in_sdpa: torch 2.5 is the first that takes groups.
TEST_CASE("keys and values are repeated for torch before 2.5") {
  const auto under = [](std::int32_t torch, attention kernel = attention::sdpa) { return [=](job& j) { j.environment.torch = torch, j.attention = kernel; }; };
  const auto open = peak_of(2, 202512, plain);
  CHECK(peak_of(2, 202512, under(205)) == open);
  CHECK(peak_of(2, 202512, under(204)) == open + layers * 4 * head);
  CHECK(peak_of(4, 202512, under(204)) == peak_of(4, 202512, plain));
  CHECK(peak_of(2, 202512, under(204, attention::flash)) == peak_of(2, 202512, under(205, attention::flash)));
}

}  // namespace test_given_heads
