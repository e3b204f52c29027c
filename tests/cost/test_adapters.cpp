// Distributed under the Boost Software License, Version 1.0.
// What adapters' multiplications add to a step: nothing in 16 bits, where they wait for memory, and in fp32 what their operands' traffic does not hide.
#include <headroom/cost/step.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_cost_adapters {

using namespace headroom;

namespace {

// A memory of 1e12 bytes a second, and 15.6e12 FLOP/s in fp32: 0.8 of the A100's 19.5.
constexpr double flop = 1 / 15.6e12, byte = 1 / 1e12;

job tuned(const number_format& adapters, std::int64_t rank, adapter_kind kind = adapter_kind::lora) {
  job j{.model = {.layers = 2, .hidden = 1024, .heads = 8, .ffn = 4096, .vocab = 32768}, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::hf_trainer,
        .precision = precisions::bf16, .batch = {.micro = 1, .sequence = 1024}, .attention = attention::flash};
  j.adapter = {.kind = kind, .rank = rank, .targets = all_linear, .format = adapters};
  return j;
}
double matmul(const job& j) {
  auto r = rates_of(gpus::a100_sxm_80gb);
  r.memory = 1e12 / (gpus::a100_sxm_80gb.bandwidth_gb_s * 1e9);
  return cost(j, r).matmul.value;
}

}  // namespace

TEST_CASE("an adapter beside a head that is the embedding's matrix is updated as one beside a head of its own") {
  for (const auto how : {implementation::loop, implementation::foreach, implementation::fused}) {
    auto own = tuned(formats::fp32, 64);
    own.optimizer = optimizers::adamw;
    own.optimizer.how = how;
    auto none = own;
    own.adapter.targets.bits |= module_set::bit(module::head);
    auto tied = own;
    tied.model.tied = true;
    CHECK(cost(own).optimizer.value > cost(none).optimizer.value);
    CHECK(cost(tied).optimizer.value == doctest::Approx(cost(own).optimizer.value).epsilon(1e-12).scale(0));
  }
}

TEST_CASE("16-bit adapters hide behind the memory that they read, but for a part in five hundred") {
  auto none = tuned(formats::bf16, 8);
  none.adapter.targets = {module::q_proj};
  CHECK(matmul(tuned(formats::bf16, 8)) >= matmul(none));
  CHECK(matmul(tuned(formats::bf16, 8)) < 1.005 * matmul(none));
}

// 1,024 tokens. q, k, v and output are 1024 × 1024, gate and up 1024 → 4096, down 4096 → 1024: in + out of the seven are 23,552 together.
// A matrix A multiplies three times (its output, the gradient of its input, its own), and so does B. Results of `rank` columns fill tiles of 128
// (NVIDIA, Matrix Multiplication Background User's Guide, section 4.2). Of rank 64 all six wait for the multipliers:
//   2 · 1024 · 23,552 · (2 · 128 + 64) = 15,435,038,720 FLOP, and 4 bytes · 3 · (14 · 1024 · 64 + (1024 + 64) · 23,552) = 318,504,960 bytes move.
// Of rank 8 the two whose inner side is the rank wait for memory, and are no more than their traffic:
//   2 · 1024 · 23,552 · 2 · 128 = 12,348,030,976 FLOP, and 4 bytes · 2 · (14 · 1024 · 8 + (1024 + 8) · 23,552) = 195,362,816 bytes.
TEST_CASE("fp32 adapters do not, but where autocast makes them 16-bit ones") {
  const auto wide = [](std::int64_t rank, adapter_kind kind = adapter_kind::lora, probability dropout = {}) {
    auto j = tuned(formats::fp32, rank, kind);
    j.precision = precisions::fp32, j.attention = attention::eager, j.adapter.dropout = dropout;
    return matmul(j);
  };
  const auto is = [](double found, double expected) { CHECK(found == doctest::Approx(expected).epsilon(1e-6).scale(0)); };
  is(wide(64) - wide(8), 2 * ((15'435'038'720 - 12'348'030'976) * flop - (318'504'960 - 195'362'816) * byte));
  // DoRA's norm of W + B·A puts an identity matrix through A and B (peft tuners/lora/dora.py get_lora_weight). Through A: 2 · 128 · (6 · 1024² + 4096²) FLOP,
  // 4 bytes · (2 · 64 · 10,240 + 6 · 1024² + 4096²); through B: 2 · 64 · (4 · 1024² + 3 · 1024 · 4096) FLOP, 4 bytes · (64 · 23,552 + 4 · 1024² + 3 · 1024 · 4096).
  is(wide(64, adapter_kind::dora) - wide(64), 2 * ((5'905'580'032 + 2'147'483'648) * flop - (97'517'568 + 73'138'176) * byte));
  // Behind a dropout the base multiplies again, there and back: 2 · 2 · 1024 · 16 · 2^20 FLOP; each time 4 · (1024 · 23,552 + 16 · 2^20) bytes.
  is(wide(64, adapter_kind::dora, probability::of(0.5)) - wide(64, adapter_kind::dora), 2 * (68'719'476'736 * flop - 327'155'712 * byte));
  CHECK(matmul(tuned(formats::fp32, 64)) == matmul(tuned(formats::fp32, 8)));
}

}  // namespace test_cost_adapters
