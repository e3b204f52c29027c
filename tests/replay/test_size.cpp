// Distributed under the Boost Software License, Version 1.0.
// What a replay would take is known before it starts, one that would take too long is not begun, and one that takes too long is given up.
#include "near_capacity.hpp"

#include "../estimate/draw.hpp"
#include "../replayed_steps.hpp"

#include <headroom/decide.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/measured.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>

namespace test_size {

using namespace headroom;

namespace {

/// Tensors that a replay of a job makes, counted as it makes them.
std::int64_t counted(const job& j) {
  std::int64_t all = 0;
  const auto r = estimate_all(j);
  if (!detail::replays_steps(j)) {
    const auto s = settle(j);
    const auto list = weights_of(s.model);
    const stage_cut cut(j.parallel, s.model.layers, j.framework.pipeline.split);
    for (const auto& rank : r) {
      caching_allocator a;
      stage_run run(s, list, cut, rank.pipeline_stage, a);
      run.run();
      all += run.made();
    }
    return all;
  }
  for (std::size_t kind = 0; kind < j.hardware.kinds(); ++kind) {
    all += replayed_steps(j, kind).made;
  }
  return all;
}

struct comparison {
  std::int64_t jobs{};
  double nearest{1e9}, farthest{0};  ///< how many times too high the bound is
};
void compare(const job& j, comparison& c) {
  if (!replays(j)) return;
  try {
    const auto made = counted(j), most = replay_size_of(j).tensors;
    CAPTURE(c.jobs);
    CAPTURE(j.framework.label.view());
    CAPTURE(made);
    CHECK(made <= most);
    const auto times = static_cast<double>(most) / static_cast<double>(made);
    c.nearest = std::min(c.nearest, times);
    c.farthest = std::max(c.farthest, times);
    ++c.jobs;
  } catch (const error&) {
  }
}

template <class Run>
double milliseconds(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Chunks of one token of a million.
job in_a_million_chunks() {
  job j{.model = models::pythia_1b, .hardware = {.gpu = gpus::b300_sxm_288gb}, .framework = frameworks::litgpt_202410, .batch = {.sequence = 1'048'576}};
  j.recompute = recompute::full;
  j.loss = {.kind = loss_kind::chunked, .chunk_tokens = 1};
  return j;
}
/// A million and a quarter of experts, each a tensor.
job of_a_million_experts() {
  job j{.model = models::mixtral_8x7b, .hardware = {.gpu = gpus::b300_sxm_288gb, .gpus_per_node = 8}, .framework = frameworks::megatron, .batch = {.sequence = 128}};
  j.model.experts.count = 1'280'000;
  j.model.experts.ffn = 1;
  return j;
}

}  // namespace

TEST_CASE("a replay makes no more tensors than were foretold, and not many fewer") {
  comparison drawn, likely;
  draw::jobs source(7);
  for (int i = 0; i < 400; ++i) compare(source.next(), drawn);
  near_capacity::jobs real(7);
  for (int i = 0; i < 60; ++i)
    if (const auto j = real.next()) compare(*j, likely);
  CHECK(drawn.jobs > 100);
  CHECK(likely.jobs > 20);
  MESSAGE(drawn.jobs, " drawn jobs: ", drawn.nearest, " to ", drawn.farthest, " times; ", likely.jobs, " likely ones: ", likely.nearest, " to ", likely.farthest);
  CHECK(drawn.farthest < 16);  // of a layer or two, where what stands around them counts
  CHECK(likely.farthest < 5);
}

TEST_CASE("a replay of a million chunks or experts is not begun, and the answer is the estimate's with all that fragmentation may take") {
  for (const auto& j : {in_a_million_chunks(), of_a_million_experts()}) {
    CAPTURE(j.framework.label.view());
    CHECK(replays(j));
    CHECK(replay_size_of(j).too_long());
    full_report r;
    CHECK(milliseconds([&] { r = replay(j); }) < 500);
    CHECK(r.assumptions.has(assumption::replay_too_long));
    CHECK_FALSE(r.assumptions.has(assumption::reserved_replayed));
    CHECK(r.ranks[0].fragmentation == estimate_all(j).ranks[0].fragmentation);
    CHECK(r.ranks[0].fragmentation > bytes{0});
    CHECK_THROWS_AS((void)record(j), job_error);
    CHECK(r.fits() == estimate(j).fits());
    // Of a measured run, too: no replay is still to come that would decide.
    auto ran = j;
    ran.hardware.gpu.memory = bytes{2 * r.ranks[0].device.count()};
    ran.measured = measured_by(ran, {.measured = {r.ranks[0].allocated, bytes{-1}, bytes{-1}, bytes{-1}}});
    CHECK(replay(ran).ranks[0].allocated == r.ranks[0].allocated);
    CHECK(replay(ran).ranks[0].fragmentation == r.ranks[0].fragmentation);
    CHECK_FALSE(replay(ran).assumptions.has(assumption::reserved_replayed));
  }
  auto usual = in_a_million_chunks();
  usual.loss.chunk_tokens = 128;
  CHECK_FALSE(replay_size_of(usual).too_long());
  CHECK(replay(usual).assumptions.has(assumption::reserved_replayed));
}

TEST_CASE("the number is one of the job, at compile time too") {
  static constexpr job j{.model = models::gpt2, .hardware = {.gpu = gpus::a100_sxm_80gb}, .batch = {.sequence = 1024}};
  static_assert(replay_size_of(j).tensors > 1'000);
  static_assert(replay_size_of(j).tensors < 50'000);
}

TEST_CASE("twice the layers, twice the tensors; what is not replayed makes none") {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .batch = {.sequence = 1024}};
  const auto one = replay_size_of(j).tensors;
  j.model.layers *= 2;
  const auto two = replay_size_of(j).tensors;
  CHECK(two > one * 19 / 10);
  CHECK(two < one * 2);
  j.model.layers = std::int64_t{1} << 16;
  CHECK(replay_size_of(j).too_long());
  j.hardware.gpu = gpus::cpu;
  CHECK(replay_size_of(j).tensors == 0);
}

TEST_CASE("a replay that has no time left is given up, and what is certain without one is said all the same") {
  job j{.model = models::llama_3_1_405b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 16, .gpus_per_node = 8}, .framework = frameworks::megatron, .batch = {.sequence = 8192, .accumulation = 128}};
  j.parallel.tensor = 8;
  j.parallel.pipeline = 16;
  j.model.layers = 128;
  const auto past = deadline::in(0);
  CHECK(past.passed());
  CHECK_THROWS_AS((void)replay(j, past), out_of_time);
  CHECK_THROWS_AS((void)record(j, past), out_of_time);
  bool thrown = false;
  const auto took = milliseconds([&] {
    try {
      (void)replay(j, deadline::in(0.005));
    } catch (const out_of_time&) {
      thrown = true;
    }
  });
  CHECK(thrown);
  CHECK(took < 250);
  CHECK(replay(j, deadline::in(600)) == replay(j));
  CHECK(replay(j, {}) == replay(j));
  j.hardware.gpu = gpus::t4;
  CHECK(is_decided(estimate_all(j)));
  CHECK_FALSE(decide(j, {}, past).fits());
  const decided late{.until = past};
  CHECK_THROWS_AS((void)late(j), out_of_time);
}

TEST_CASE("a deadline is a moment, or none") {
  constexpr deadline none;
  static_assert(!none.given());
  CHECK_FALSE(none.passed());
  CHECK_NOTHROW(none.check());
  CHECK_FALSE(none.share(0.5).given());
  CHECK_FALSE(deadline::in(1e12).given());
  CHECK_FALSE(deadline::in(std::nan("")).given());
  CHECK(deadline::in(-1).passed());
  const auto later = deadline::in(100);
  CHECK_FALSE(later.passed());
  CHECK(later.share(0.5).at() < later.at());
  CHECK_FALSE(later.share(0.5).passed());
}

// A bound of what is made counts what a block leaves from its first operation on, a tensor in pieces once for each of its blocks, and its input.
TEST_CASE("what a block leaves is counted from its first operation on") {
  program p(512);
  const auto x = p.input(1024, 2, true), y = p.make(1024, 2), z = p.make(1024, 2), gone = p.make(1024, 2);
  p.step(x.bit(), y.bit(), {.saves = y.bit()});
  CHECK(detail::kept_by(p).value == 2);
  p.step(y.bit(), z | gone, {.saves = z.bit(), .pieces = 4});
  p.set_output(z);
  CHECK(detail::kept_by(p).value == 6);
}

}  // namespace test_size
