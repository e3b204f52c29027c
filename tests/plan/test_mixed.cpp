// Distributed under the Boost Software License, Version 1.0.
// Plans over several kinds of GPU: their time, and how their layers are cut, against every division.
#include <headroom/headroom.hpp>
#include <headroom/plan/judge.hpp>

#include <doctest/doctest.h>

namespace test_mixed {

using namespace headroom;
using namespace headroom::literals;

namespace {

double step_seconds(const job& j) { return cost(j).step.value; }

job mixed(std::int64_t layers, const gpu& small, std::int64_t count) {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 2, .gpus_per_node = 8, .others = {{small, count}}}, .framework = frameworks::megatron,
        .parallel = {.tensor = 4, .pipeline = 4}, .batch = {.micro = 1, .sequence = 4096, .accumulation = 16}, .attention = attention::flash};
  j.model.layers = layers;
  return j;
}

}  // namespace

TEST_CASE("one kind named twice is one kind") {
  auto twice = mixed(32, gpus::h100_sxm_80gb, 8);
  auto one = twice;
  one.hardware.others = {};
  CHECK(step_seconds(twice) == doctest::Approx(cost(one).step.value));
  twice.parallel.pipeline = one.parallel.pipeline = 1;
  CHECK(step_seconds(twice) == doctest::Approx(cost(one).step.value));
  CHECK(step_seconds(one) == cost(one).step.value);
}

TEST_CASE("a mixed cluster is no slower than its slow kind alone, and no faster than its fast one") {
  for (const auto pipeline : {1, 2, 4}) {
    auto j = mixed(32, gpus::a100_sxm_80gb, 8);
    j.parallel.pipeline = pipeline;
    auto slow = j, fast = j;
    slow.hardware.gpu = gpus::a100_sxm_80gb, slow.hardware.others = {};
    fast.hardware.others = {};
    CHECK(step_seconds(j) <= cost(slow).step.value * 1.0001);
    CHECK(step_seconds(j) > cost(fast).step.value);
    if (pipeline == 1) CHECK(step_seconds(j) == doctest::Approx(cost(slow).step.value));
  }
}

TEST_CASE("layers follow the speed of their stages' GPUs") {
  const auto j = divide_by_speed(mixed(32, gpus::a100_sxm_80gb, 8));
  const auto& n = j.parallel.stage_layers;
  CHECK(n[0] + n[1] + n[2] + n[3] == 32);
  CHECK(n[0] == n[1]);
  // The head's 525M parameters are 2.4 layers of 218M, but not recomputed and without attention.
  CHECK(n[2] - n[3] >= 1);
  CHECK(n[2] - n[3] <= 3);
  // Data sheets: 989 and 312 TFLOP/s, a factor of 3.2; 3,350 and 2,039 GB/s, of 1.6.
  CHECK(n[0] >= 2 * n[3]);
  CHECK(n[0] <= 4 * n[3]);
  CHECK(step_seconds(j) < 0.8 * step_seconds(mixed(32, gpus::a100_sxm_80gb, 8)));
}

TEST_CASE("the plan's division fits if any does, and is as fast as the fastest that fits, to a layer's rounding") {
  for (const auto layers : {14, 17, 24, 40})
    for (const auto& small : {gpus::a100_sxm_40gb, gpus::l4, gpus::h200_sxm_141gb}) {
      const auto given = mixed(layers, small, 8);
      CAPTURE(layers);
      CAPTURE(small.label.view());
      bool any = false;
      double fastest = 0;
      auto j = detail::with_even_stages(given);
      for (std::int32_t a = 1; a < layers; ++a)
        for (std::int32_t b = 1; a + b < layers; ++b)
          for (std::int32_t c = 1; a + b + c < layers; ++c) {
            const std::int32_t cut[] = {a, b, c, static_cast<std::int32_t>(layers) - a - b - c};
            for (std::size_t i = 0; i < 4; ++i) j.parallel.stage_layers[i] = cut[i];
            if (!estimate(j).may_fit()) continue;
            const auto t = step_seconds(j);
            if (!any || t < fastest) fastest = t;
            any = true;
          }
      const auto r = plan(search{.job = given});
      CHECK(r.best.empty() != any);
      if (any && !r.best.empty()) CHECK(r.best.front().outcome.seconds <= 1.06 * fastest);
    }
}

TEST_CASE("layers of a stack that is deeper than any model are not moved one by one") {
  for (const std::int64_t layers : {32, 1024, 1028}) {
    const auto j = mixed(layers, gpus::a100_sxm_80gb, 8);
    CHECK(detail::cuts_stages(j, j) == (layers <= 1024));
  }
}

TEST_CASE("a search over a mixed cluster cuts what it may, and leaves stages that are given") {
  search s{.job = mixed(32, gpus::a100_sxm_40gb, 8), .open = axes::bit(axes::tensor) | axes::bit(axes::pipeline) | axes::bit(axes::recomputation), .open_micro = true, .global_batch = 64};
  const auto r = plan(s, {.top = 50});
  REQUIRE_FALSE(r.best.empty());
  bool uneven = false;
  for (const auto& p : r.best) {
    CHECK(estimate(p.job).may_fit());
    const auto& d = p.job.parallel;
    for (std::int32_t i = 1; i < d.chunks; ++i) uneven = uneven || d.stage_layers[i] != d.stage_layers[0];
  }
  CHECK(uneven);
  auto one = s;
  one.job.hardware = {.gpu = gpus::a100_sxm_40gb, .nodes = 2, .gpus_per_node = 8};
  CHECK(r.best.front().outcome.seconds < plan(one).best.front().outcome.seconds);
  s.open = 0;
  s.job.parallel.chunks = 4;
  const std::int32_t said[] = {10, 10, 6, 6};
  for (std::size_t i = 0; i < 4; ++i) s.job.parallel.stage_layers[i] = said[i];
  for (const auto& p : plan(s).best) CHECK(p.job.parallel.stage_layers[0] == 10);
}

// As detail::with_even_stages() says: ten layers on four stages are three, three, two and two.
TEST_CASE("even stages have all layers, the first ones a layer more where they do not come out even") {
  auto j = mixed(10, gpus::a100_sxm_40gb, 8);
  const auto cut = detail::with_even_stages(j).parallel;
  const std::int32_t ten[] = {3, 3, 2, 2};
  REQUIRE(cut.chunks == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(cut.stage_layers[i] == ten[i]);
  j.model.layers = 8;
  for (std::size_t i = 0; i < 4; ++i) CHECK(detail::with_even_stages(j).parallel.stage_layers[i] == 2);
}

}  // namespace test_mixed
