// Distributed under the Boost Software License, Version 1.0.
// V-Half and V-Min (arXiv 2405.15362) against the tables that AMD-AGI/Primus makes of them (fd1eeabb; core/pipeline_parallel/scheduler/algorithms/
// zbv_greedy.py, run as it is): the pattern's order, what each stage holds, and how long a step takes by a clock over the finished tables.
#include <headroom/cost/pipeline.hpp>
#include <headroom/layout/schedule.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace test_v_schedules {

using namespace headroom;

namespace {

constexpr pipeline_plan plan(schedule kind, std::int64_t stages, std::int64_t micros) { return {kind, stages, 2, micros}; }

std::string order_of(schedule kind, std::int64_t stages, std::int64_t stage, std::int64_t micros) {
  std::string text;
  run_schedule(plan(kind, stages, micros), stage, [&](const work& w) {
    text += (text.empty() ? "" : " ") + std::string(1, "FIW"[static_cast<int>(w.kind)]) + std::to_string(w.chunk) + "." + std::to_string(w.micro);
  });
  return text;
}
/// All stages' orders for 2p to 4p micro-batches as one number (FNV-1a over kind, chunk and micro-batch). `from`: the first stage that counts.
std::uint64_t digest(schedule kind, std::int64_t stages, std::int64_t from = 0) {
  std::uint64_t h = 1469598103934665603U;
  for (auto micros = 2 * stages; micros <= 4 * stages; ++micros)
    for (auto stage = from; stage < stages; ++stage)
      run_schedule(plan(kind, stages, micros), stage, [&](const work& w) {
        h = (h ^ static_cast<std::uint64_t>(static_cast<std::int64_t>(w.kind) * 1'000'000 + w.chunk * 100'000 + w.micro)) * 1099511628211U;
      });
  return h;
}
stage_seconds both_chunks(double f, double i, double w) { return {.forward = 2 * f, .backward = 2 * (i + w), .weights = 2 * w}; }
double step(schedule kind, std::int64_t stages, std::int64_t micros, const stage_seconds& t) {
  const auto n = static_cast<double>(stages);
  return pipeline_seconds(kind, stages, 2, micros, t, {n * t.forward, n * t.backward, n * t.weights});
}

}  // namespace

TEST_CASE("the order is Primus' before it fills idle time") {
  CHECK(order_of(schedule::v_half, 4, 0, 4) == "F0.0 F0.1 F1.0 F0.2 I1.0 W1.0 F1.1 F0.3 I1.1 W1.1 F1.2 I0.0 I1.2 W0.0 F1.3 W1.2 I0.1 I1.3 W0.1 W1.3 I0.2 W0.2 I0.3 W0.3");
  CHECK(order_of(schedule::v_min, 3, 2, 3) == "F0.0 F1.0 F0.1 F1.1 I1.0 I0.0 W1.0 W0.0 F0.2 F1.2 I1.1 I0.1 W1.1 W0.1 I1.2 I0.2 W1.2 W0.2");
  CHECK(digest(schedule::v_half, 3) == 12120762096241222725U);
  CHECK(digest(schedule::v_half, 4) == 12224760564330870643U);
  CHECK(digest(schedule::v_half, 5) == 12343118989333903835U);
  CHECK(digest(schedule::v_half, 8) == 16419382716425364283U);
  CHECK(digest(schedule::v_min, 3) == 15110779494034352139U);
  CHECK(digest(schedule::v_min, 4) == 15906350397816051475U);
  CHECK(digest(schedule::v_min, 5, 1) == 12555199877788840067U);  // the first stage runs ahead, as it does in the finished table
  CHECK(digest(schedule::v_min, 8, 1) == 17781931676916898925U);
}

// Of the finished tables with 4p micro-batches: the fullest stage, in chunks of one micro-batch. 1F1B's first holds 2p.
TEST_CASE("the fullest stage holds what Primus' does, and the first no less") {
  constexpr std::int64_t held[][3] = {{2, 4, 4}, {3, 4, 4}, {4, 6, 4}, {5, 6, 6}, {6, 8, 6}, {7, 8, 6}, {8, 10, 8}, {9, 10, 8}, {12, 14, 10}, {16, 18, 12}};
  for (const auto& row : held)
    for (const auto& [kind, most] : {std::pair{schedule::v_half, row[1]}, std::pair{schedule::v_min, row[2]}}) {
      const auto stages = row[0];
      CAPTURE(stages);
      std::int64_t fullest = 0;
      for (std::int64_t stage = 0; stage < stages; ++stage) fullest = std::max(fullest, in_flight(plan(kind, stages, 4 * stages), stage));
      CHECK(fullest == most);
      CHECK(in_flight(plan(kind, stages, 4 * stages), 0) == most);
    }
}

TEST_CASE("every micro-batch runs forward, backward and its weights once, in that order") {
  for (const auto kind : {schedule::v_half, schedule::v_min})
    for (const std::int64_t stages : {2, 3, 5, 8})
      for (const std::int64_t micros : {1, 2, 7})
        for (std::int64_t stage = 0; stage < stages; ++stage) {
          std::vector<int> done(static_cast<std::size_t>(2 * micros));
          run_schedule(plan(kind, stages, micros), stage, [&](const work& w) { CHECK(done.at(static_cast<std::size_t>(2 * w.micro + w.chunk))++ == static_cast<int>(w.kind)); });
          CHECK(std::count(done.begin(), done.end(), 3) == 2 * micros);
        }
}

// A clock over the finished tables: each stage starts its next piece as soon as what it reads is there. Pieces of one chunk take 1.
TEST_CASE("a step takes what the clock over Primus' tables says") {
  const auto even = both_chunks(1, 1, 1);
  constexpr double idle[][3] = {{2, 1, 2}, {3, 5, 5}, {4, 5, 11}, {5, 11, 14}, {6, 11, 17}, {7, 17, 23}, {8, 17, 26}, {9, 23, 29}, {12, 29, 41}, {16, 41, 59}};
  for (const auto& row : idle) {
    const auto stages = static_cast<std::int64_t>(row[0]);
    CAPTURE(stages);
    CHECK(step(schedule::v_half, stages, 4 * stages, even) == doctest::Approx(24 * row[0] + row[1]).epsilon(1e-12));
    CHECK(step(schedule::v_min, stages, 4 * stages, even) == doctest::Approx(24 * row[0] + row[2]).epsilon(1e-12));
  }
  const auto near = [](double at) { return doctest::Approx(at).epsilon(0.03); };
  CHECK(step(schedule::v_half, 4, 16, both_chunks(1, 1.25, 0.75)) == near(104.75));
  CHECK(step(schedule::v_half, 8, 32, both_chunks(1, 1.5, 0.5)) == near(250.5));
  CHECK(step(schedule::v_half, 5, 40, both_chunks(1, 2, 1.5)) == near(399.0));
  CHECK(step(schedule::v_min, 4, 16, both_chunks(1, 1.25, 0.75)) == near(129.75));  // 102 by the pieces alone
  CHECK(step(schedule::v_min, 8, 64, both_chunks(1, 1.5, 0.5)) == near(603.5));
  CHECK(step(schedule::v_min, 6, 24, both_chunks(1, 1.25, 1)) == near(196.0));
}

}  // namespace test_v_schedules
