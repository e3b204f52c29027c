// Distributed under the Boost Software License, Version 1.0.
// The bytes that a weight costs where autocast is on, counted by hand: a copy is made of what is wider than the format of multiplication, and of nothing else.
// Source: PyTorch 2.4 aten/src/ATen/autocast_mode.cpp cached_cast and autocast_mode.h AT_FORALL_LOWER_PRECISION_FP (linear, matmul, bmm; no grouped product).
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_cast_weights {

using namespace headroom;

namespace {

job under(const precision& p, const number_format& parameters, const number_format& frozen = {}) {
  job j{.model = {.layers = 2, .hidden = 1024, .heads = 8, .ffn = 4096, .vocab = 32768}, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::hf_trainer,
        .precision = p, .batch = {.micro = 1, .sequence = 1024}, .attention = attention::flash};
  j.precision.parameters = parameters;
  j.precision.frozen = frozen;
  j.precision.gradients = parameters;
  return j;
}
/// Bytes of an element of a matrix of 1,024 x 512, of which so much trains.
struct moved {
  double forward, backward;
};
moved bytes_of(const job& j, double trains) {
  const auto s = settle(j);
  const auto c = detail::cost_scene_of(s, rates_of(*s.on));
  detail::both_passes t;
  detail::add_linear(t, c, 4096, 1024, 512, 1, trains, false, c.on.matmul);
  return {t.forward.memory * c.on.memory / (1024 * 512), t.backward.memory * c.on.memory / (1024 * 512)};
}
void is(const moved& m, double forward, double backward) {
  CHECK(m.forward == doctest::Approx(forward));
  CHECK(m.backward == doctest::Approx(backward));
}

}  // namespace

TEST_CASE("what is in autocast's format already is read, as without autocast") {
  is(bytes_of(under(precisions::bf16_autocast, formats::bf16), 0), 2, 2);
  is(bytes_of(under(precisions::bf16, formats::bf16), 0), 2, 2);
  // A gradient of 2 bytes is written, read, and added to one that is read and written.
  is(bytes_of(under(precisions::bf16_autocast, formats::bf16), 1), 2, 2 + 2 + 2 + 4);
  is(bytes_of(under(precisions::bf16, formats::bf16), 1), 2, 2 + 2 + 2 + 4);
}

TEST_CASE("what is wider is read, its copy written and read; backward reads the copy that was saved") {
  const auto wide = under(precisions::bf16_autocast, formats::fp32);
  is(bytes_of(wide, 0), 4 + 2 + 2, 2);
  // The copy's gradient is written and read, the weight's written and read, and the sum read and written.
  is(bytes_of(wide, 1), 4 + 2 + 2, 2 + (2 + 2) + (4 + 4) + (4 + 4));
  is(bytes_of(under(precisions::fp32, formats::fp32), 0), 4, 4);
}

TEST_CASE("of weights that are frozen in two bytes beside others in four, those that train are cast") {
  const auto both = under(precisions::bf16_autocast, formats::fp32, formats::bf16);
  is(bytes_of(both, 0), 2, 2);
  is(bytes_of(both, 1), 4 + 2 + 2, 2 + (2 + 2) + (4 + 4) + (4 + 4));
  is(bytes_of(both, 0.25), 2 + 0.25 * (4 + 2), 2 + 0.25 * (2 + 2 + 4 + 4 + 4 + 4));
}

// 1,024 rows of 1,024 and of 4,096 numbers, in two bytes.
TEST_CASE("the copy is no part of what a program moves beside its weights") {
  for (const auto& format : {formats::fp32, formats::bf16}) {
    const auto j = under(precisions::bf16_autocast, format);
    const auto s = settle(j);
    program p(1);
    const auto x = p.input(1024 * 1024, 2, true);
    ops::multiply(p, s.layer, x, {.in = 1024, .out = 4096, .trains = true});
    const auto t = detail::traffic_of(p);
    CHECK(t.bytes == 2 * 1024 * (1024 + 4096));
    CHECK(t.operations == (format == formats::fp32 ? 2 : 1));  // its kernel runs
  }
}

// Qwen3-30B-A3B: 48 layers, 8 experts for each of 2,048 tokens (128 rows of an expert: whole tiles), three matrices of 768 x 2,048, three passes.
TEST_CASE("autocast leaves the grouped products of experts in the parameters' format") {
  const auto seconds = [](const number_format& parameters) {
    auto j = under(precisions::bf16_autocast, parameters);
    j.model = models::qwen3_30b_a3b;
    j.batch.sequence = 2048;
    return cost(j);
  };
  constexpr double work = 3 * 2.0 * 48 * 8 * 2048 * 3 * 768 * 2048;
  const double rate = machine_of(job{}.hardware, gpus::a100_sxm_80gb, rates_of(gpus::a100_sxm_80gb), formats::bf16, 0.5).matmul_16;
  CHECK(seconds(formats::fp32).matmul.value - seconds(formats::bf16).matmul.value == doctest::Approx(work / (0.8 * 19.5e12) - work / rate).epsilon(0.001));
}

}  // namespace test_cast_weights
