// Distributed under the Boost Software License, Version 1.0.
// One job of a search, judged by estimate() and cost().
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/estimate.hpp>
#include <headroom/plan/result.hpp>

namespace headroom {

/// Memory first; the time only of what may fit. Which of the plans that a search names do fit is for confirmed_plan() (plan/confirm.hpp).
constexpr judged_plan judge_plan(const job& j) {
  if (const auto why = objection_to(j)) return {.refused = why};
  const auto r = estimate(j);
  return {r.may_fit(), r.device(), r.may_fit() ? cost(j).step.value : 0.0, {}};
}

/// … with layers of one's own (block/own_layer.hpp).
template <own_stack Own>
constexpr judged_plan judge_own_plan(const job& j, const Own& own) {
  if (const auto why = objection_to(j, own)) return {.refused = why};
  const auto r = estimate(j, own);
  return {r.may_fit(), r.device(), r.may_fit() ? cost(j, own).step.value : 0.0, {}};
}

}  // namespace headroom
