// Distributed under the Boost Software License, Version 1.0.
// Which plans the prediction does not tell from the fastest.
#pragma once

#include <headroom/cost/bounds.hpp>
#include <headroom/plan/result.hpp>

#include <optional>
#include <vector>

namespace headroom {

/// What cost() says of a plan; nothing for a job that only a judge of one's own has a time of.
inline std::optional<step_cost> cost_of_plan(const ranked_plan& p) {
#if HEADROOM_EXCEPTIONS
  try {
#endif
    return cost(p.job);
#if HEADROOM_EXCEPTIONS
  } catch (const job_error&) {
    return std::nullopt;
  }
#endif
}

/// For each of the fastest plans of one search, whether it is tied with the first: which of the two is the faster, a measurement must say.
inline std::vector<bool> tied_with_first(const std::vector<ranked_plan>& best, confidence sure = {}) {
  std::vector<bool> all(best.size());
  const auto first = best.empty() ? std::nullopt : cost_of_plan(best.front());
  for (std::size_t i = 0; i < best.size() && first; ++i) {
    const auto c = cost_of_plan(best[i]);
    all[i] = c && tied(*first, *c, sure);
  }
  return all;
}

}  // namespace headroom
