// Distributed under the Boost Software License, Version 1.0.
// What adapters' multiplications add to a step: nothing in 16 bits, where they wait for memory, and in fp32 what their operands' traffic does not hide.
// By hand: six products of an adapter, whole tiles of 128 (cost/matmul.hpp), each against the bytes of its operands and its result.
#include <headroom/cost/step.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_cost_adapters {

using namespace headroom;

namespace {

constexpr std::int64_t h = 1024, f = 4096, t = 1024, layers = 2;

job tuned(const number_format& adapters, std::int64_t rank, adapter_kind kind = adapter_kind::lora) {
  job j{.model = {.layers = layers, .hidden = h, .heads = 8, .ffn = f, .vocab = 32768}, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::hf_trainer,
        .precision = precisions::bf16, .batch = {.micro = 1, .sequence = t}, .attention = attention::flash};
  j.adapter = {.kind = kind, .rank = rank, .targets = all_linear, .format = adapters};
  return j;
}

/// Seconds that a product of r × k and k × c in fp32 takes beyond its traffic: 19.5 TFLOP/s × 0.8 (machine_of), and what memory sustains.
double beyond(double r, double c, double k) {
  const auto share = rates_of(gpus::a100_sxm_80gb);
  const double tiles = 128.0 * 128.0 * static_cast<double>((static_cast<std::int64_t>(r) + 127) / 128 * ((static_cast<std::int64_t>(c) + 127) / 128));
  const double computed = 2 * tiles * k / (0.8 * 19.5e12), moved = 4 * (r * k + k * c + r * c) / (share.memory * 2039e9);
  return computed > moved ? computed - moved : 0;
}
double adapter(double in, double out, double r) {
  constexpr auto T = static_cast<double>(t);
  return beyond(T, r, in) + beyond(T, out, r) + beyond(T, r, out) + beyond(T, in, r) + beyond(in, r, T) + beyond(out, r, T);
}
double matmul(const job& j) { return cost(j).matmul.value; }

}  // namespace

TEST_CASE("16-bit adapters hide behind the memory that they read, but for a part in five hundred") {
  auto none = tuned(formats::bf16, 8);
  none.adapter.targets = {module::q_proj};
  CHECK(matmul(tuned(formats::bf16, 8)) >= matmul(none));
  CHECK(matmul(tuned(formats::bf16, 8)) < 1.005 * matmul(none));
}

TEST_CASE("fp32 adapters do not: q, k, v and output are h × h, gate and up h × f, down f × h") {
  const auto layer = [](double r) { return 4 * adapter(h, h, r) + 2 * adapter(h, f, r) + adapter(f, h, r); };
  const auto wide = [](std::int64_t rank, adapter_kind kind = adapter_kind::lora) {
    auto j = tuned(formats::fp32, rank, kind);
    j.precision = precisions::fp32, j.attention = attention::eager;
    return matmul(j);
  };
  CHECK(wide(64) - wide(8) == doctest::Approx(layers * (layer(64) - layer(8))).epsilon(1e-6));
  CHECK(layer(64) > layer(8));
  CHECK(layer(8) > 0);
  CHECK(wide(64, adapter_kind::dora) > wide(64));  // the norm multiplies B and A in each forward
}

}  // namespace test_cost_adapters
