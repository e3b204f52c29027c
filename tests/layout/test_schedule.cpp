// Distributed under the Boost Software License, Version 1.0.
// Orders of work against what the papers state of them: how many micro-batches a stage holds.
#include <headroom/layout/schedule.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace test_schedule {

using namespace headroom;

namespace {

constexpr pipeline_plan plan(schedule kind, std::int64_t stages, std::int64_t micros, std::int64_t chunks = 1) { return {kind, stages, chunks, micros}; }

}  // namespace

// GPipe (Huang et al. 2019): all micro-batches of a step.
static_assert(in_flight(plan(schedule::gpipe, 4, 8), 0) == 8);
static_assert(in_flight(plan(schedule::gpipe, 4, 8), 3) == 8);
// 1F1B (PipeDream-Flush): stages - stage.
static_assert(in_flight(plan(schedule::one_forward_one_backward, 4, 8), 0) == 4);
static_assert(in_flight(plan(schedule::one_forward_one_backward, 4, 8), 3) == 1);
static_assert(in_flight(plan(schedule::one_forward_one_backward, 8, 2), 0) == 2);
// Interleaved (Korthikanti et al. 2022, section 4.2.3): stages·chunks + stages - 1 chunks on the first stage, that is
// L·(1 + (p - 1)/(p·m)) layers.
static_assert(in_flight(plan(schedule::interleaved, 4, 8, 2), 0) == 4 * 2 + 4 - 1);
static_assert(in_flight(plan(schedule::interleaved, 8, 64, 3), 0) == 8 * 3 + 8 - 1);
// Zero bubble H1 (Qi et al. 2023, table 2): as many as 1F1B's first stage, on every stage.
static_assert(in_flight(plan(schedule::zero_bubble, 4, 12), 0) == 4);
static_assert(in_flight(plan(schedule::zero_bubble, 4, 12), 3) == 4);
// DualPipe (DeepSeek-V3 report, table 2): stages + 1, on every stage.
static_assert(in_flight(plan(schedule::dualpipe, 8, 40, 2), 0) == 9);
static_assert(in_flight(plan(schedule::dualpipe, 8, 40, 2), 5) == 9);
static_assert(in_flight(plan(schedule::naive, 8, 40), 2) == 1);

TEST_CASE("every micro-batch passes every chunk once, forward before backward before weight gradient") {
  for (const auto& entry : schedules)
    for (const std::int64_t stages : {1, 2, 4, 7})
      for (const std::int64_t micros : {1, 2, 3, 8, 21})
        for (std::int64_t stage = 0; stage < stages; ++stage) {
          const std::int64_t chunks = entry.chunks == 0 ? 3 : entry.both_ways() ? 2 : entry.chunks;
          std::set<std::tuple<work_kind, std::int64_t, std::int64_t>> done;
          run_schedule(plan(entry.kind, stages, micros, chunks), stage, [&](const work& w) {
            REQUIRE(w.micro >= 0);
            REQUIRE(w.micro < micros);
            REQUIRE(w.chunk >= 0);
            REQUIRE(w.chunk < chunks);
            if (w.kind == work_kind::backward) REQUIRE(done.count({work_kind::forward, w.chunk, w.micro}) == 1);
            if (w.kind == work_kind::weight_gradient) REQUIRE(done.count({work_kind::backward, w.chunk, w.micro}) == 1);
            REQUIRE(done.insert({w.kind, w.chunk, w.micro}).second);
          });
          const auto each = entry.splits_backward ? 3 : 2;
          const auto passes = entry.both_ways() ? micros : micros * chunks;
          CHECK(static_cast<std::int64_t>(done.size()) == each * passes);
        }
}

// Megatron-LM core/pipeline_parallel/schedules.py: get_schedule_table lists (micro-batch, chunk) group by group, chunk by chunk within a group; forward
// goes down the list, backward too, with chunks counted from the last; get_pp_rank_microbatches says how many forwards come first.
TEST_CASE("interleaved stages go by Megatron-LM's table") {
  for (const std::int64_t stages : {2, 4})
    for (const std::int64_t chunks : {2, 3})
      for (const std::int64_t micros : {4, 8, 10})
        for (const std::int64_t group : {std::int64_t{0}, stages, std::int64_t{5}})
          for (std::int64_t stage = 0; stage < stages; ++stage) {
            const auto width = group > 0 ? group : stages;
            std::vector<std::pair<std::int64_t, std::int64_t>> table;
            for (std::int64_t m = 0; m < micros; m += width)
              for (std::int64_t c = 0; c < chunks; ++c)
                for (std::int64_t i = m; i < std::min(m + width, micros); ++i) table.emplace_back(i, c);
            const auto warm = std::min(table.size(), static_cast<std::size_t>((stages - stage - 1) * 2 + (chunks - 1) * width));
            std::vector<work> expected;
            for (std::size_t k = 0; k < table.size() + warm; ++k) {
              if (k < table.size()) expected.push_back({work_kind::forward, table[k].second, table[k].first});
              if (k >= warm) expected.push_back({work_kind::backward, chunks - 1 - table[k - warm].second, table[k - warm].first});
            }
            std::vector<work> seen;
            auto p = plan(schedule::interleaved, stages, micros, chunks);
            p.group = group;
            run_schedule(p, stage, [&](const work& w) { seen.push_back(w); });
            CHECK(seen == expected);
          }
}

TEST_CASE("a stage that is not there is refused") {
  CHECK_THROWS_AS(in_flight(plan(schedule::gpipe, 4, 8), 4), job_error);
  CHECK_THROWS_AS(in_flight(plan(schedule::gpipe, 4, 8), -1), job_error);
}

}  // namespace test_schedule
