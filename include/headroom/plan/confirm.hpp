// Distributed under the Boost Software License, Version 1.0.
// A closer look at the plans that a search names.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/plan/plan.hpp>

#include <map>
#include <optional>
#include <vector>

namespace headroom {

/// Plans more than asked for that a search keeps at first, for those that a closer look leaves out.
inline constexpr std::size_t spare_plans = 32;

namespace detail {

/// Leaves out what `look(plan)` says no to; of the fastest, `top` are kept. How many of the front are left out.
template <class Look>
std::size_t keep_confirmed(plan_result& r, std::size_t top, const Look& look) {
  std::vector<ranked_plan> best;
  for (auto i = r.best.begin(); i != r.best.end() && best.size() < top; ++i)
    if (look(*i)) best.push_back(*i);
  r.best = std::move(best);
  return std::erase_if(r.front, [&](const ranked_plan& p) { return !look(p); });
}

}  // namespace detail

/// Leaves out what `fits(job)` says no to; of the fastest, `top` are kept. Nothing takes the place of what is left out: confirmed_plan().
template <class Fits>
void confirm_plans(plan_result& r, std::size_t top, const Fits& fits) {
  detail::keep_confirmed(r, top, [&](const ranked_plan& p) { return fits(p.job); });
}

/// plan(), of which every plan that is named also fits by `fits(job)`: where one does not, the search goes on without it, since those that it
/// beat may take its place. The result is that of a judge that says so at once, which would have to look closely at every job. Of the time up
/// to a deadline searches get three quarters; plans that cannot be looked at in the rest are not named.
template <class Judge, class Fits>
  requires std::invocable<Judge&, const job&>
plan_result confirmed_plan(const search& s, const Judge& judge, plan_options o, const Fits& fits) {
  std::map<std::uint64_t, bool> seen;
  bool in_time = true;
  const auto look = [&](const ranked_plan& p) {
    const auto [at, fresh] = seen.try_emplace(p.ordinal, false);
#if HEADROOM_EXCEPTIONS
    try {
#endif
      if (fresh) at->second = fits(p.job);
#if HEADROOM_EXCEPTIONS
    } catch (const out_of_time&) {
      in_time = false;
    }
#endif
    return at->second;
  };
  o.until = o.until.share(0.75);
  const auto top = o.top;
  std::vector<std::uint64_t> out;
  o.left_out = &out;
  for (auto spare = spare_plans;; spare *= 8) {
    o.top = top + spare;
    auto r = plan(s, judge, o);
    const bool more = r.best.size() == o.top;
    const auto lost = detail::keep_confirmed(r, top, look);
    r.complete = r.complete && in_time;
    if (!r.complete || (lost == 0 && (r.best.size() >= top || !more))) return r;
    out.clear();
    for (const auto& [ordinal, kept] : seen)
      if (!kept) out.push_back(ordinal);
  }
}

}  // namespace headroom
