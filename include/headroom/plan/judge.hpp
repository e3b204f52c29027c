// Distributed under the Boost Software License, Version 1.0.
// plan(search) by estimate() and cost().
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/plan/plan.hpp>

namespace headroom {

/// Memory first; the time only of what fits.
constexpr judged_plan judge_plan(const job& j) {
  const auto r = estimate(j);
  return {r.fits(), r.device(), r.fits() ? step_seconds(j) : 0.0};
}

inline plan_result plan(const search& s, const plan_options& o = {}) { return plan(s, judge_plan, o); }

}  // namespace headroom
