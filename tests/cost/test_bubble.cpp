// Distributed under the Boost Software License, Version 1.0.
// Idle time of pipelines against the papers that introduced their schedules.
#include <headroom/cost/pipeline.hpp>

#include "both.hpp"

namespace test_bubble {

using namespace headroom;

namespace {

constexpr stage_seconds even{.forward = 1, .backward = 2, .weights = 1};
constexpr auto plain = schedule::one_forward_one_backward;

}  // namespace

TEST_CASE("1F1B and GPipe idle for (p-1)/m, interleaved for that over v") {
  // Narayanan et al. 2021, sections 2.2.1 and 2.2.2.
  BOTH(bubble_fraction(plain, 8, 1, 28, even) == 7.0 / 28.0);
  BOTH(bubble_fraction(schedule::gpipe, 8, 1, 28, even) == 7.0 / 28.0);
  BOTH(bubble_fraction(schedule::interleaved, 8, 4, 28, even) == 7.0 / 4.0 / 28.0);
  BOTH(bubble_fraction(plain, 1, 1, 28, even) == 0.0);
}

TEST_CASE("ZB-H1 idles for a third of 1F1B") {
  // Qi et al. 2023, table 2 and section 2.3: (p-1)(T_F + T_B - T_W) with T_B the gradient of the input alone; F, B and W take alike.
  BOTH(bubble_seconds(schedule::zero_bubble, 8, 1, even) == 7.0 * (1 + 1 - 1));
  BOTH(3 * bubble_seconds(schedule::zero_bubble, 8, 1, even) == bubble_seconds(plain, 8, 1, even));
}

TEST_CASE("DualPipe") {
  // DeepSeek-V3 report, table 2: (PP/2 - 1)(F&B + B - 3W), B the whole backward, F&B an overlapped pair, here no longer than its parts.
  BOTH(bubble_seconds(schedule::dualpipe, 8, 2, even) == 3.0 * (3 + 2 - 3));
}

TEST_CASE("the slowest stage sets the pace") {
  constexpr stage_seconds slow{.forward = 2, .backward = 4, .weights = 2};
  constexpr stage_seconds sum{.forward = 5, .backward = 10, .weights = 5};  // and three stages of `even`
  BOTH(pipeline_seconds(plain, 4, 1, 10, slow, sum) == 10 * 6.0 + 3 * 3.0);
  BOTH(pipeline_seconds(schedule::naive, 4, 1, 10, slow, sum) == 10 * 15.0);  // one GPU works at a time
  BOTH(pipeline_seconds(plain, 1, 1, 10, even, even) == 30.0);
}

}  // namespace test_bubble
