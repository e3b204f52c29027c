// Distributed under the Boost Software License, Version 1.0.
// A closer look at the plans that a search names.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/plan/plan.hpp>

#include <optional>

namespace headroom {

/// Plans more than asked for that a search keeps, for those that a closer look leaves out.
inline constexpr std::size_t spare_plans = 32;

/// Whether a plan fits by a report of one's own, replay() say: it is made where estimate() does not leave room for what a measured run may
/// take more. With a confidence: at the upper end of its range.
template <class Report>
bool fits_for_sure(const job& j, Report report_of, std::optional<confidence> sure = {}) {
  if (!sure && fits(estimate(j), confidence{0.99})) return true;
  const auto r = report_of(j);
  return sure ? fits(r, *sure) : r.fits();
}

/// Leaves out what `fits(job)` says no to; of the fastest, `top` are kept.
template <class Fits>
void confirm_plans(plan_result& r, std::size_t top, const Fits& fits) {
  std::vector<ranked_plan> best;
  for (auto i = r.best.begin(); i != r.best.end() && best.size() < top; ++i)
    if (fits(i->job)) best.push_back(*i);
  r.best = std::move(best);
  std::erase_if(r.front, [&](const ranked_plan& p) { return !fits(p.job); });
}

}  // namespace headroom
