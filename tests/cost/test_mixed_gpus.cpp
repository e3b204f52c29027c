// Distributed under the Boost Software License, Version 1.0.
// Which kinds of GPU a stage lies on, and how fast it runs there, beside a list that says it rank by rank.
#include <headroom/hardware/gpu.hpp>
#include <headroom/cost/cost.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace test_mixed_gpus {

using namespace headroom;

namespace {

const gpu cards[] = {gpus::h100_sxm_80gb, gpus::a100_sxm_80gb, gpus::l4, gpus::h200_sxm_141gb};

/// A pipeline on up to four kinds in a row, whose borders lie anywhere between ranks.
struct drawn {
  job j;
  std::vector<std::size_t> kind_of_rank;
};
drawn draw(std::mt19937& dice) {
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(dice() % static_cast<std::uint32_t>(n)); };
  drawn d;
  const auto stages = std::int64_t{1} << below(4), ranks = 1 + below(4), all = stages * ranks;
  const auto kinds = std::min<std::int64_t>(all, 1 + below(4));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(kinds), 1);
  for (auto rest = all - kinds; rest > 0; --rest) ++counts[static_cast<std::size_t>(below(kinds))];
  d.j.model = models::llama_3_2_1b;
  d.j.framework = frameworks::megatron;
  d.j.precision = precisions::bf16_mixed;
  d.j.sharding = {.kind = sharding_kind::ddp};
  d.j.parallel.pipeline = stages;
  d.j.batch = {.micro = 1, .sequence = 1024, .accumulation = 8};
  const auto first = static_cast<std::size_t>(below(4));
  d.j.hardware = {.gpu = cards[first], .nodes = 1, .gpus_per_node = all};
  for (std::size_t k = 1; k < counts.size(); ++k) d.j.hardware.others.add({cards[(first + k) % 4], counts[k]});
  for (std::size_t k = 0; k < counts.size(); ++k) d.kind_of_rank.insert(d.kind_of_rank.end(), static_cast<std::size_t>(counts[k]), k);
  return d;
}
job all_on(job j, const gpu& card) {
  j.hardware = {.gpu = card, .nodes = 1, .gpus_per_node = j.hardware.gpus()};
  return j;
}

}  // namespace

TEST_CASE("a stage lies on the kinds of its ranks, and the slowest sets its pace") {
  std::mt19937 dice{20'261'127};
  int several = 0;
  for (int i = 0; i < 60; ++i) {
    const auto d = draw(dice);
    const auto& j = d.j;
    INFO(i << ": " << j.parallel.pipeline << " stages, " << j.hardware.gpus() << " GPUs of " << j.hardware.kinds() << " kinds");
    REQUIRE(j.hardware.gpus() == static_cast<std::int64_t>(d.kind_of_rank.size()));
    const detail::mixed_stages mixed(j, rates_of);
    const auto ranks = j.hardware.gpus() / j.parallel.pipeline;
    for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage) {
      const auto begin = d.kind_of_rank.begin() + stage * ranks, end = begin + ranks;
      const auto [least, most] = std::minmax_element(begin, end);
      const auto kinds = detail::kinds_of_stage(j, stage);
      CHECK(kinds.first == *least);
      CHECK(kinds.last == *most);
      several += kinds.first != kinds.last ? 1 : 0;
      // Nothing is exchanged within a stage: its layers take what they take on a cluster of the slowest kind alone.
      double layer = 0, ends = 0;
      for (auto at = begin; at != end; ++at) {
        const auto& card = *at == 0 ? j.hardware.gpu : j.hardware.others.list[*at - 1].gpu;
        const auto alone = all_on(j, card);
        const auto pace = detail::mixed_stages(alone, rates_of).pace_of(stage);
        if (pace.layer > layer) {
          layer = pace.layer;
          ends = pace.ends;
        }
      }
      CHECK(layer > 0);
      CHECK(mixed.pace_of(stage).layer == doctest::Approx(layer).epsilon(1e-12));
      CHECK(mixed.pace_of(stage).ends == doctest::Approx(ends).epsilon(1e-12));
    }
  }
  CHECK(several > 10);
}

TEST_CASE("beside its layers something stands at the pipeline's ends alone") {
  std::mt19937 dice{7};
  for (int i = 0; i < 20; ++i) {
    const auto j = draw(dice).j;
    const detail::mixed_stages cut(j, rates_of);
    for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage) CHECK((cut.pace_of(stage).ends > 0) == (stage == 0 || stage == j.parallel.pipeline - 1));
  }
}

TEST_CASE("four kinds that are one are one") {
  std::mt19937 dice{11};
  for (int i = 0; i < 40; ++i) {
    auto d = draw(dice);
    for (auto& other : d.j.hardware.others.list) other.gpu = d.j.hardware.gpu;
    const auto one = cost(all_on(d.j, d.j.hardware.gpu)), several = cost(d.j);
    INFO(d.j.hardware.kinds() << " kinds");
    CHECK(several.step.value == doctest::Approx(one.step.value).epsilon(1e-12));
    CHECK(several.mfu() == doctest::Approx(one.mfu()).epsilon(1e-12));
  }
}

// A message between two stages takes as long as the slower end's link, whichever of the two that is.
TEST_CASE("stages that compute alike may change places, whatever their links are") {
  auto near = gpus::h100_sxm_80gb, far = near;
  far.link_gb_s = near.link_gb_s / 8;
  const auto step = [](const gpu& first, const gpu& second) {
    job j{.model = models::llama_3_2_1b, .hardware = {.gpu = first, .nodes = 1, .gpus_per_node = 2}, .framework = frameworks::megatron, .precision = precisions::bf16_mixed, .parallel = {.pipeline = 2},
          .batch = {.micro = 1, .sequence = 1024, .accumulation = 8}};
    j.model.tied = false;
    if (second != first) j.hardware = {.gpu = first, .nodes = 1, .gpus_per_node = 2}, j.hardware.others.add({second, 1});
    return cost(j).step.value;
  };
  CHECK(step(near, far) == doctest::Approx(step(far, near)).epsilon(1e-12));
  CHECK(step(near, far) > step(near, near) * (1 + 1e-6));
}

}  // namespace test_mixed_gpus
