// Distributed under the Boost Software License, Version 1.0.
// The steps written out allocation by allocation agree with the walk that only adds up: with segments that expand, blocks are as large
// as the tensors in them, so that the tallest moment is the same to the byte.
#include "../estimate/dice.hpp"
#include "../replayed_steps.hpp"
#include "repeated_calls.hpp"

#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <random>

namespace test_replay {

using namespace headroom;
using namespace headroom::literals;
using repeated_calls::alike_until;
using repeated_calls::calls_of;

namespace {

class jobs {
 public:
  job any() {
    job j;
    static constexpr std::array models{models::llama_3_1_8b, models::gpt2, models::gemma_2_9b, models::qwen2_5_7b, models::phi_2, models::pythia_1b};
    static constexpr std::array frameworks{frameworks::libtorch, frameworks::libtorch_2023, frameworks::hf_trainer, frameworks::hf_trainer_2023,
                                           frameworks::litgpt_202310, frameworks::litgpt_202402, frameworks::litgpt_202410, frameworks::deepspeed};
    static constexpr std::array precisions{precisions::bf16, precisions::fp32, precisions::bf16_mixed, precisions::bf16_autocast};
    j.model = models[below(models.size())];
    j.model.layers = static_cast<std::int64_t>(1 + below(6));
    j.hardware = {.gpu = gpus::h100_sxm_80gb};
    j.framework = frameworks[below(frameworks.size())];
    j.precision = precisions[below(precisions.size())];
    j.batch = {.micro = static_cast<std::int64_t>(1 + below(3)), .sequence = static_cast<std::int64_t>(1 + below(700)), .accumulation = static_cast<std::int64_t>(1 + below(3))};
    j.recompute = below(2) == 0 ? recompute::none : recompute::full;
    j.attention = below(3) == 0 ? attention::eager : attention::sdpa;
    j.optimizer = below(3) == 0 ? optimizers::sgd_momentum : optimizers::adamw;
    j.optimizer.how = static_cast<implementation>(below(3));
    if (below(2) == 0) {
      j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = below(2) == 0 ? formats::fp32 : formats::bf16};
      if (below(2) == 0) j.adapter.base = formats::nf4;
    }
    if (below(4) == 0) {
      j.hardware.gpus_per_node = 4;
      j.sharding = below(2) == 0 ? ddp() : zero(static_cast<std::int64_t>(1 + below(2)));
    }
    j.environment.expandable_segments = choice::yes;
    return j;
  }
  /// The same under FSDP, now and then, in segments of any kind and on a GPU that may be full.
  job any_setting() {
    auto j = any();
    if (below(3) == 0) {
      j.hardware.gpus_per_node = 4;
      j.framework = frameworks::libtorch;
      j.sharding = below(2) == 0 ? fsdp1() : fsdp2();
    }
    j.environment.expandable_segments = below(2) == 0 ? choice::yes : choice::no;
    if (below(3) == 0) j.environment.max_split_size = (20 + static_cast<std::int64_t>(below(500))) * mib;
    if (below(4) == 0) j.environment.roundup_power2_divisions = 4;
    return j;
  }
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

 private:
  std::mt19937_64 random_{11};
};

bytes replayed_peak(const job& j) { return bytes{replayed_steps(j, 0, {.expandable_segments = true}).allocator.peak_allocated()}; }

}  // namespace

TEST_CASE("the replayed peak of experts that are computed at once is the walked one") {
  for (const auto& of : {std::pair{models::qwen3_30b_a3b, frameworks::torchtitan_202607}, std::pair{models::deepseek_v2_lite, frameworks::torchtitan_202607},
                         std::pair{models::llama_4_scout, frameworks::hf_trainer}, std::pair{models::qwen3_30b_a3b, frameworks::hf_trainer}, std::pair{models::deepseek_v2_lite, frameworks::hf_trainer},
                         std::pair{models::gpt_oss_20b, frameworks::hf_trainer}})
    for (const bool recomputes : {false, true})
      for (const bool sharded : {false, true}) {
        job j{.model = of.first, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = of.second, .batch = {.micro = 1, .sequence = 600}};
        j.model.layers = 5;
        j.model.experts.count = 16;
        j.model.vision = {};
        if (recomputes) j.recompute = recompute::full;
        if (sharded) {
          j.hardware.gpus_per_node = 4;
          j.sharding = fsdp2();
        }
        j.environment.expandable_segments = choice::yes;
        CAPTURE(j.model.label.view());
        CAPTURE(recomputes);
        CAPTURE(sharded);
        REQUIRE(replays(j));
        const auto walked = estimate(j).ranks[0];
        const auto apart = replayed_peak(j) - walked.allocated;
        // The walk of FSDP2 counts both ends of a reduction at its tallest, for dense layers alike.
        CHECK(apart <= 64_KiB);
        CHECK(-apart <= (sharded ? walked.allocated / 15 : 64_KiB));
        CHECK(replay(j).ranks[0].reserved >= walked.allocated);
      }
}

TEST_CASE("the replayed peak is the walked one") {
  jobs source;
  int exact = 0, near = 0, refused = 0;
  for (int i = 0; i < (draw::sanitized ? 200 : 600); ++i) {
    const auto j = source.any();
    CAPTURE(i);
    CAPTURE(j.model.label.view());
    CAPTURE(j.framework.label.view());
    CAPTURE(j.framework.date);
    CAPTURE(j.precision.label.view());
    CAPTURE(j.batch.sequence);
    CAPTURE(j.batch.micro);
    CAPTURE(j.batch.accumulation);
    CAPTURE(j.recompute.mode == recompute_mode::full);
    CAPTURE(j.adapter.active());
    CAPTURE(j.adapter.base.quantised());
    CAPTURE(static_cast<int>(j.sharding.kind));
    CAPTURE(j.sharding.stage);
    CAPTURE(static_cast<int>(j.optimizer.how));
    report walked;
    try {
      walked = estimate(j);
    } catch (const job_error&) {
      ++refused;
      continue;
    }
    const auto replayed = replay(j);
    const auto& a = walked.ranks[0];
    const auto& b = replayed.ranks[0];
    const auto apart = replayed_peak(j) - a.allocated;
    // Chunks of a loss are rounded one by one, token numbers all together; a ZeRO partition's shares meet at other moments.
    CHECK(max(apart, -apart) <= max(64_KiB, a.allocated / 1500));
    CHECK(b.reserved >= b.active);
    (max(apart, -apart) <= 1_KiB ? exact : near) += 1;
  }
  MESSAGE("within 1 KiB: ", exact, ", within 0.07 %: ", near, ", refused: ", refused);
  CHECK(exact > near);
}

TEST_CASE("the calls of random jobs end as they do under the plain allocator") {
  jobs source;
  std::size_t calls_seen = 0;
  int full = 0, seen = 0;
  for (int i = 0; i < (draw::sanitized ? 40 : 120); ++i) {
    auto j = source.any_setting();
    if (i % 6 == 0) {
      j = {.model = j.model, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::megatron, .batch = j.batch, .recompute = j.recompute,
           .environment = j.environment};
      j.model.vocab_multiple = 128;
    }
    bytes reserved{0};
    try {
      if (!replays(j)) continue;
      reserved = replay(j).ranks[0].reserved;
    } catch (const job_error&) {
      continue;
    }
    CAPTURE(i);
    auto a = detail::allocator_of(j, 80_GiB);
    if (source.below(2) == 0) {  // what the step takes at most is not there
      a.capacity = reserved.count() - static_cast<std::int64_t>(source.below(200)) * mib.count();
      ++full;
    }
    const auto calls = calls_of(j, a);
    CHECK(alike_until(calls, a) == calls.size());
    calls_seen += calls.size();
    ++seen;
  }
  MESSAGE(seen, " jobs, ", full, " of them on a full GPU, ", calls_seen, " calls");
  CHECK(seen > (draw::sanitized ? 20 : 60));
  CHECK(calls_seen > (draw::sanitized ? 30'000 : 100'000));
}

TEST_CASE("two steps of two micro-batches stand for all, but for what fragments now and then") {
  jobs source;
  int seen = 0, same = 0, near = 0;
  for (int i = 0; i < (draw::sanitized ? 60 : 200); ++i) {
    auto j = source.any_setting();
    j.batch.accumulation = static_cast<std::int64_t>(1 + source.below(6));
    try {
      if (!replays(j)) continue;
      (void)estimate(j);
    } catch (const job_error&) {
      continue;
    }
    const auto s = settle(j);
    const auto list = weights_of(s.model);
    const auto st = states(s, list);
    const auto w = windows_of(s, st);
    const auto after = [&](std::int64_t steps, std::int64_t micros) {
      caching_allocator a(detail::allocator_of(j, bytes{std::int64_t{1} << 42}));
      step_trace trace(s, list, st, w, detail::resident_bytes(s, st, w), a);
      for (std::int64_t n = 0; n < steps; ++n) trace.run(micros);
      return std::pair{a.peak_asked(), a.peak_reserved()};
    };
    CAPTURE(i);
    const auto few = after(2, std::min<std::int64_t>(j.batch.accumulation, 2)), all = after(5, j.batch.accumulation);
    CHECK(few.first == all.first);
    const auto apart = few.second - all.second;
    ++seen;
    same += apart == 0;
    near += std::abs(apart) * 20 <= all.second;
  }
  MESSAGE("reserved: ", same, " of ", seen, " the same, ", near, " within 5 %");
  CHECK(seen > (draw::sanitized ? 45 : 150));
  CHECK(same * 100 >= seen * 90);
  CHECK(near * 100 >= seen * (draw::sanitized ? 90 : 97));
}

TEST_CASE("a stage's first micro-batches stand for all") {
  jobs source;
  int seen = 0, same = 0;
  for (int i = 0; i < 120; ++i) {
    const auto of = source.any();
    job j{.model = of.model, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::megatron, .batch = of.batch, .recompute = of.recompute};
    j.model.layers = 8;
    j.parallel.pipeline = std::int64_t{1} << source.below(3);
    if (source.below(2) == 0 && j.parallel.pipeline > 1) j.parallel.virtual_pipeline = 2;
    j.hardware.gpus_per_node = j.parallel.pipeline;
    j.batch.accumulation = j.parallel.pipeline * static_cast<std::int64_t>(1 + source.below(8));
    j.environment.expandable_segments = source.below(2) == 0 ? choice::yes : choice::no;
    try {
      (void)estimate(j);
    } catch (const job_error&) {
      continue;
    }
    const auto s = settle(j);
    const stage_cut cut(j.parallel, s.model.layers, j.framework.pipeline.split);
    for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage) {
      const auto after = [&](std::int64_t micros) {
        caching_allocator a(detail::allocator_of(j, bytes{std::int64_t{1} << 42}));
        stage_trace trace(s, cut, stage, a);
        trace.run(stage, micros);
        trace.run(stage, micros);
        return std::pair{a.peak_asked(), a.peak_reserved()};
      };
      CAPTURE(i);
      CAPTURE(stage);
      const auto few = after(detail::enough_micros(j, stage)), all = after(j.batch.accumulation);
      CHECK(few.first == all.first);
      ++seen;
      same += few.second == all.second;
    }
  }
  MESSAGE("reserved: ", same, " of ", seen, " the same");
  CHECK(seen > 100);
  CHECK(same * 100 >= seen * 95);
}

}  // namespace test_replay
