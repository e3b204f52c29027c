// Distributed under the Boost Software License, Version 1.0.
// ZB-V (arXiv 2405.15362): its order against that of torch's ScheduleZBVZeroBubble, and what the paper states of it against a slow clock.
#include <headroom/cost/pipeline.hpp>
#include <headroom/layout/schedule.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace test_zero_bubble_v {

using namespace headroom;

namespace {

constexpr pipeline_plan plan(std::int64_t stages, std::int64_t micros) { return {schedule::zero_bubble_v, stages, 2, micros}; }

std::string order_of(std::int64_t stages, std::int64_t stage, std::int64_t micros) {
  std::string text;
  run_schedule(plan(stages, micros), stage, [&](const work& w) {
    text += (text.empty() ? "" : " ") + std::string(1, "FIW"[static_cast<int>(w.kind)]) + std::to_string(w.chunk) + "." + std::to_string(w.micro);
  });
  return text;
}

/// When everything of a step is done, if each stage starts its next work as soon as what it reads is there.
struct clock_of_stages {
  double all{};      ///< the step
  double longest{};  ///< the stage that takes longest from its first work to its last

  clock_of_stages(std::int64_t stages, std::int64_t micros, double forward, double inputs, double weights) {
    std::vector<std::vector<work>> orders(static_cast<std::size_t>(stages));
    for (std::int64_t i = 0; i < stages; ++i) run_schedule(plan(stages, micros), i, [&](const work& w) { orders[static_cast<std::size_t>(i)].push_back(w); });
    std::map<std::tuple<work_kind, std::int64_t, std::int64_t>, double> done;  // by kind, place in the model and micro-batch
    std::vector<std::size_t> next(orders.size());
    std::vector<double> now(orders.size()), begun(orders.size(), -1);
    for (bool moves = true; moves;) {
      moves = false;
      for (std::size_t s = 0; s < orders.size(); ++s) {
        while (next[s] < orders[s].size()) {
          const auto& w = orders[s][next[s]];
          const auto place = w.chunk == 0 ? static_cast<std::int64_t>(s) : 2 * stages - 1 - static_cast<std::int64_t>(s);
          double ready = 0;
          const auto after = [&](work_kind kind, std::int64_t at) {
            const auto found = done.find({kind, at, w.micro});
            if (found == done.end()) return false;
            ready = std::max(ready, found->second);
            return true;
          };
          const bool can = w.kind == work_kind::forward           ? place == 0 || after(work_kind::forward, place - 1)
                           : w.kind == work_kind::weight_gradient ? after(work_kind::backward, place)
                           : place == 2 * stages - 1              ? after(work_kind::forward, place)
                                                                  : after(work_kind::backward, place + 1) && after(work_kind::forward, place);
          if (!can) break;
          const auto from = std::max(now[s], ready);
          if (begun[s] < 0) begun[s] = from;
          now[s] = from + (w.kind == work_kind::forward ? forward : w.kind == work_kind::backward ? inputs : weights);
          done[{w.kind, place, w.micro}] = now[s];
          ++next[s];
          moves = true;
        }
      }
    }
    for (std::size_t s = 0; s < orders.size(); ++s) {
      REQUIRE(next[s] == orders[s].size());  // nobody waits for ever
      all = std::max(all, now[s]);
      longest = std::max(longest, now[s] - begun[s]);
    }
  }
};

}  // namespace

// Table 1: p micro-batches' activations of a stage, that is 2p of its chunks, on every stage.
static_assert(in_flight(plan(4, 12), 0) == 8);
static_assert(in_flight(plan(4, 12), 1) == 8);
static_assert(in_flight(plan(4, 12), 3) == 8);
static_assert(properties_of(schedule::zero_bubble_v).chunks == 2);

TEST_CASE("every stage holds as much as the first of 1F1B") {
  for (const std::int64_t stages : {2, 3, 4, 8, 16})
    for (const auto micros : {2 * stages - 1, 2 * stages, 5 * stages})
      for (std::int64_t stage = 0; stage < stages; ++stage)
        CHECK(in_flight(plan(stages, micros), stage) == 2 * in_flight({schedule::one_forward_one_backward, stages, 1, micros}, 0));
}

// By the rules of torch distributed/pipelining/schedules.py ScheduleZBVZeroBubble._calculate_single_rank_operations, worked out apart: chunk 0 of stage s is its stage s, chunk 1 its
// stage 2p - 1 - s.
TEST_CASE("the order is torch's") {
  CHECK(order_of(2, 0, 4) ==
        "F0.0 F0.1 F0.2 F1.0 I1.0 W1.0 F1.1 I1.1 W1.1 F0.3 I0.0 W0.0 F1.2 I1.2 W1.2 I0.1 W0.1 F1.3 I1.3 W1.3 I0.2 W0.2 I0.3 W0.3");
  CHECK(order_of(2, 1, 4) ==
        "F0.0 F1.0 F0.1 F1.1 I1.0 W1.0 F0.2 I0.0 W0.0 F1.2 I1.1 W1.1 F0.3 I0.1 W0.1 F1.3 I1.2 W1.2 I0.2 I1.3 I0.3 W0.2 W1.3 W0.3");
  CHECK(order_of(2, 1, 2) == "F0.0 F1.0 F0.1 F1.1 I1.0 W1.0 I0.0 W0.0 I1.1 W1.1 I0.1 W0.1");
  // The same for 4 and 8 stages, too, and 2p to 4p micro-batches, as one number (FNV-1a over kind, chunk and micro-batch of all stages).
  const auto digest = [](std::int64_t stages) {
    std::uint64_t h = 1469598103934665603U;
    for (auto micros = 2 * stages; micros <= 4 * stages; ++micros)
      for (std::int64_t stage = 0; stage < stages; ++stage)
        run_schedule(plan(stages, micros), stage, [&](const work& w) {
          h = (h ^ static_cast<std::uint64_t>(static_cast<std::int64_t>(w.kind) * 1'000'000 + w.chunk * 100'000 + w.micro)) * 1099511628211U;
        });
    return h;
  };
  CHECK(digest(2) == 16835224618377393453U);
  CHECK(digest(4) == 12183683504505508203U);
  CHECK(digest(8) == 15221305985737987203U);
}

// Table 1, its note: 1 - m(F + B + W) / the time of the longest stage is 0 where F, B and W take alike.
TEST_CASE("no stage idles between its first work and its last where F, B and W take alike") {
  for (const std::int64_t stages : {2, 4, 8})
    for (const auto micros : {2 * stages - 1, 3 * stages, 7 * stages}) CHECK(clock_of_stages(stages, micros, 1, 1, 1).longest == 6.0 * static_cast<double>(micros));
}

TEST_CASE("a step takes what its bubble says") {
  // Of a chunk. Attention's backward has no weights, so that inputs take longest.
  constexpr double times[][3] = {{1, 1, 1}, {1, 1, 0.75}, {1, 1.25, 0.75}, {1, 1.5, 0.5}, {1, 1.25, 1}, {1, 2, 1.5}};
  for (const auto& [f, b, w] : times)
    for (const std::int64_t stages : {2, 4, 8})
      for (const auto micros : {2 * stages - 1, 4 * stages}) {
        const stage_seconds both{.forward = 2 * f, .backward = 2 * (b + w), .weights = 2 * w};
        const auto step = clock_of_stages(stages, micros, f, b, w).all;
        CHECK(step == doctest::Approx(static_cast<double>(micros) * both.both() + bubble_seconds(schedule::zero_bubble_v, stages, 2, both)).epsilon(1e-12));
        CHECK(bubble_seconds(schedule::zero_bubble_v, stages, 2, both) < bubble_seconds(schedule::zero_bubble, stages, 1, both) + 1e-12);
      }
}

}  // namespace test_zero_bubble_v
