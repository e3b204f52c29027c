// Distributed under the Boost Software License, Version 1.0.
// Where no plan fits: the one that comes closest.
#pragma once

#include <headroom/plan/plan.hpp>

#include <optional>

namespace headroom {

/// What a job needs, of what there is: of the tightest GPU's memory or, where that is larger, of a node's host memory or NVMe.
inline double share_needed(const report& r) {
  const auto of = [](bytes need, bytes there) { return there > bytes{0} ? static_cast<double>(need.count()) / static_cast<double>(there.count()) : 0.0; };
  return std::max({of(r.device(), r.tightest().capacity), of(r.host.per_node, r.host.capacity), of(r.nvme_per_node, r.nvme_capacity)});
}

/// The job of a search that needs the least share; none where all are refused.
inline std::optional<ranked_plan> closest_plan(const search& s, plan_options o = {}) {
  o.top = 1;
  const auto r = plan(s, [](const job& j) {
    const auto seen = estimate(j);
    return judged_plan{.fits = true, .device = seen.device(), .seconds = share_needed(seen)};
  }, o);
  if (r.best.empty()) return std::nullopt;
  return r.best.front();
}

}  // namespace headroom
