// Distributed under the Boost Software License, Version 1.0.
// A pipeline stage written out agrees with its walk: without stages, what is beside the buffers that stay is the same to the byte.
#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <random>
#include <long_table.hpp>

namespace test_stage_trace {

using namespace headroom;
using namespace headroom::literals;

namespace {

bytes traced(const job& j, std::int64_t stage) {
  const auto s = settle(j);
  const stage_cut cut(j.parallel, s.model.layers, j.framework.pipeline.split);
  caching_allocator allocator({.expandable_segments = true});
  stage_trace trace(s, cut, stage, allocator);
  trace.run(stage);
  return bytes{allocator.peak_allocated()};
}

job any(std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  static constexpr std::array shapes{models::llama_3_1_8b, long_table(models::gpt2_xl), models::mixtral_8x7b, models::deepseek_v3};
  job j;
  j.model = shapes[below(shapes.size())];
  j.model.mtp_layers = 0;
  if (j.model.experts.first_dense_layers > 1) j.model.experts.first_dense_layers = 1;
  j.model.layers = static_cast<std::int64_t>(4 * (1 + below(2)));
  j.framework = frameworks::megatron;
  j.framework.attention.masks_in_loader = false;
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8};
  j.parallel.tensor = below(2) == 0 ? 1 : j.model.heads % 2 == 0 ? 2 : 1;
  j.parallel.sequence = j.parallel.tensor > 1 && below(2) == 0;
  j.parallel.context = below(3) == 0 ? 2 : 1;
  if (j.model.sparse() && below(2) == 0) j.parallel.expert = 2;
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer};
  j.batch = {.micro = static_cast<std::int64_t>(1 + below(3)), .sequence = static_cast<std::int64_t>(512 * (1 + below(4))), .accumulation = 4};
  j.attention = below(3) == 0 ? attention::eager : attention::flash;
  if (j.parallel.context > 1) j.attention = attention::flash;
  switch (below(4)) {
    case 0: j.recompute = recompute::full; break;
    case 1: j.recompute = {.mode = recompute_mode::selective, .modules = 1U << below(4)}; break;
    default: break;
  }
  return j;
}

}  // namespace

TEST_CASE("one stage: activations written out are those walked") {
  std::mt19937_64 random(3);
  int seen = 0;
  for (int i = 0; i < 120; ++i) {
    const auto j = any(random);
    CAPTURE(i);
    CAPTURE(j.model.label.view());
    CAPTURE(j.parallel.tensor);
    CAPTURE(j.parallel.sequence);
    CAPTURE(static_cast<int>(j.recompute.mode));
    CAPTURE(j.recompute.modules);
    CAPTURE(static_cast<int>(j.attention));
    report r;
    try {
      r = estimate(j);
    } catch (const job_error&) {
      continue;
    }
    const auto& rank = r.ranks[0];
    const auto stays = rank.at_phase[static_cast<std::size_t>(phase::save)].total();
    const auto highest = max(rank[phase::forward], max(rank[phase::loss_forward], rank[phase::backward]));
    const auto apart = stays + traced(j, 0) - highest;
    CHECK(max(apart, -apart) <= 1_KiB);
    ++seen;
  }
  CHECK(seen > 60);
}

TEST_CASE("several stages: what is beside the walk are the tensors between stages") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 40; ++i) {
    auto j = any(random);
    j.parallel.pipeline = 2;
    j.parallel.context = 1;
    j.parallel.tensor = 1;
    j.parallel.sequence = false;
    report r;
    try {
      r = estimate(j);
    } catch (const job_error&) {
      continue;
    }
    CAPTURE(i);
    for (const auto& rank : r) {
      const auto stays = rank.at_phase[static_cast<std::size_t>(phase::save)].total();
      const auto stream = bytes{2 * j.batch.micro * j.batch.sequence * j.model.hidden};
      const auto apart = rank.allocated - stays - traced(j, rank.pipeline_stage);
      CHECK(apart >= -2 * stream - 1_KiB);
      CHECK(apart <= 3 * stream + 1_KiB);
    }
  }
}

TEST_CASE("ends of blocks count as allocated, and the report still adds up") {
  // 2,560 features of 500 tokens: 2.44 MiB, so that eight fill a segment of 20 MiB all but 0.47 MiB. An end is at most 1 MiB: 40 for
  // activations, one for master copy and two moments of four matrices in each of eight layers.
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::megatron, .batch = {.micro = 1, .sequence = 500, .accumulation = 2},
        .attention = attention::flash};
  j.model.hidden = 2560;
  j.model.heads = 20;
  j.model.kv_heads = 20;
  j.model.ffn = 2560;
  j.model.layers = 8;
  const report walked = estimate(j), replayed = replay(j);
  CHECK(replayed.ranks[0].allocated > walked.ranks[0].allocated);
  CHECK(replayed.ranks[0].allocated < walked.ranks[0].allocated + 136_MiB);
  CHECK(replayed.ranks[0].at_peak.total() == replayed.ranks[0].allocated);
  CHECK(replayed.ranks[0].reserved >= replayed.ranks[0].allocated);
  j.environment.expandable_segments = choice::yes;
  CHECK(replay(j).ranks[0].allocated <= walked.ranks[0].allocated + 1_KiB);
}

}  // namespace test_stage_trace
