// Distributed under the Boost Software License, Version 1.0.
// What torch's own attention has no kernel for, and what autocast computes in fp32, counted on paper from PyTorch's source (native/transformers/attention.cpp
// _scaled_dot_product_attention_math, cuda/sdp_utils.cpp; autocast_mode.h). Runs of both: tests/accuracy/test_measured_here.cpp.
#include <headroom/headroom.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>

namespace test_own_kernels {

using namespace headroom;

namespace {

job two_samples(const shape& m, const precision& p, const gpu& g, std::int32_t torch = 211) {
  job j;
  j.model = m;
  j.hardware.gpu = g;
  j.framework = *frameworks::find("libtorch", 202607);
  j.precision = p;
  j.attention = attention::sdpa;
  j.environment.torch = torch;
  j.batch = {.micro = 2, .sequence = 1024};
  return j;
}
std::int64_t kept(const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count(); }
bool says_so(const job& j) { return estimate(j).assumptions.has(assumption::attention_by_math); }

constexpr std::int64_t tokens = 2 * 1024, layers = 24, numbers_of_q = tokens * 14 * 64, numbers_of_k = tokens * 2 * 64, scores = 2 * 14 * 1024 * 1024;
constexpr std::int64_t by_row = tokens * 14 * 4;  // log-sum-exp
const shape& grouped = models::qwen2_5_0_5b;      // 14 heads of 64, two of keys

}  // namespace

// A kernel keeps q, k, v, its result and a number a row; the math path q, k and v of as many heads, the scores' softmax, and the result's copy.
TEST_CASE("fp32 with grouped heads writes its scores out, up to torch 2.13") {
  const auto without = two_samples(grouped, precisions::fp32, gpus::h100_sxm_80gb), with = two_samples(grouped, precisions::fp32, gpus::h100_sxm_80gb, 214);
  CHECK(says_so(without));
  CHECK_FALSE(says_so(with));
  CHECK(kept(without) - kept(with) == layers * (4 * scores + 2 * 4 * (numbers_of_q - numbers_of_k) - by_row));
}

TEST_CASE("before Ampere bf16 has no kernel, and fp16 none for grouped heads") {
  const auto on = [](const gpu& g, const precision& p) { return two_samples(grouped, p, g); };
  const auto more = layers * (4 * scores + 3 * 4 * numbers_of_q - 2 * (numbers_of_q + 2 * numbers_of_k) - by_row);
  CHECK(kept(on(gpus::t4, precisions::bf16)) - kept(on(gpus::a100_sxm_40gb, precisions::bf16)) == more);
  auto half = precisions::bf16;
  half.parameters = half.compute = half.gradients = half.state = formats::fp16;
  CHECK(kept(on(gpus::v100_sxm2_32gb, half)) - kept(on(gpus::a100_sxm_40gb, half)) == more);
  auto alike = grouped;
  alike.kv_heads = alike.heads;
  CHECK_FALSE(says_so(two_samples(alike, half, gpus::t4)));
  CHECK(says_so(two_samples(alike, precisions::bf16, gpus::t4)));
  CHECK_FALSE(says_so(two_samples(alike, precisions::fp32, gpus::h100_sxm_80gb)));
  auto padded = on(gpus::t4, half);  // keys and values are repeated beside a mask
  padded.batch.padded = true;
  CHECK_FALSE(says_so(padded));
  CHECK_FALSE(says_so(two_samples(grouped, half, gpus::t4, 204)));  // and before enable_gqa
}

// One kernel keeps what it reads, beside the next product's input. Written out: x, tanh and 1 + tanh are in fp32 since pow makes them so, 0.5·x is not, and
// the product's input is a copy in 16 bits.
TEST_CASE("GPT-2's written-out GELU is in fp32 under autocast") {
  const std::int64_t wide = tokens * 3072;
  for (const auto& p : {precisions::bf16_autocast, precisions::bf16}) {
    auto kernel = models::gpt2;
    kernel.activation = activation_kind::gelu;
    const std::int64_t by_number = p == precisions::bf16 ? 5 * 2 : 3 * 4 + 2 * 2;
    CHECK(kept(two_samples(models::gpt2, p, gpus::h100_sxm_80gb)) - kept(two_samples(kernel, p, gpus::h100_sxm_80gb)) == 12 * wide * (by_number - 2 * 2));
  }
}

TEST_CASE("a foreach Adagrad has two copies of what trains, whatever the framework's Adam has") {
  auto j = two_samples(models::gpt2, precisions::bf16, gpus::h100_sxm_80gb);
  j.optimizer = optimizers::adagrad;
  j.optimizer.how = implementation::foreach;
  const auto copies = [](const job& k) { return estimate(k).ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::temporaries]; };
  auto adam = j;
  adam.optimizer = optimizers::adamw;
  adam.optimizer.how = implementation::foreach;
  CHECK(copies(j) == 2 * copies(adam));
  CHECK(copies(adam) >= bytes{2 * 124'439'808});
}

TEST_CASE("the context is that of measured runs where one is known") {
  const auto context = [](const gpu& g, std::int32_t torch) { return estimate(two_samples(models::gpt2, precisions::bf16, g, torch)).ranks[0].outside.context; };
  CHECK(context(gpus::h100_sxm_80gb, 211) == 767 * mib);
  CHECK(context(gpus::h100_sxm_80gb, 210) == 400 * mib);
  CHECK(context(gpus::a100_sxm_80gb, 211) == 400 * mib);
}

}  // namespace test_own_kernels
