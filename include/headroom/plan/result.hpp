// Distributed under the Boost Software License, Version 1.0.
// What a search finds: the fastest plans, the front of those that no other beats, and how many were rejected for what. Never a list of all.
#pragma once

#include <headroom/job.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace headroom {

/// What a judge says of one job.
struct judged_plan {
  bool fits{};
  bytes device{};     ///< of the tightest GPU
  double seconds{};   ///< of a step; of those that fit
  objection refused{};  ///< why it is not possible
};

/// A job that was judged, and its place in the search.
struct ranked_plan {
  headroom::job job{};
  judged_plan outcome{};
  std::uint64_t ordinal{};  ///< in the order of the search, which decides where two are as fast and as small
};

/// What a search found, and why the others were rejected.
struct plan_result {
  std::vector<ranked_plan> best;                   ///< the fastest first; of those that are as fast and differ in an engine's share alone, the smallest
  std::vector<ranked_plan> front;                  ///< no other is as fast, as small and on as few GPUs; the fastest first
  std::int64_t evaluated{};                        ///< judged one by one
  std::int64_t passed_over{};                      ///< known not to fit, or not to be possible, by another that was judged
  std::int64_t fitting{};
  std::map<std::string, std::int64_t> rejected;    ///< how many, by reason
  bool complete{true};
  std::string untimed;                             ///< why no times are predicted, where none are: plans are in order of memory (plan/untimed.hpp)
};

namespace detail {

/// Of those that are as fast, the one that needs less is the better.
inline bool faster(const ranked_plan& a, const ranked_plan& b) {
  const auto &x = a.outcome, &y = b.outcome;
  return x.seconds != y.seconds ? x.seconds < y.seconds : x.device != y.device ? x.device < y.device : a.ordinal < b.ordinal;
}

/// Plans that are as fast, and differ in what their engine takes of the GPUs, or gives back, alone: a share that is larger than all completions need gains nothing.
inline bool differ_in_share(const ranked_plan& a, const ranked_plan& b) {
  if (a.outcome.seconds != b.outcome.seconds || !(a.outcome.seconds > 0) || !a.job.rollout.shares_gpus() || !b.job.rollout.shares_gpus()) return false;
  auto same = a.job;
  same.rollout.share = b.job.rollout.share, same.rollout.sleep = b.job.rollout.sleep;
  return same == b.job;
}

/// The fastest so many; of those that differ in their engine's share alone, the one that needs least. Which they are does not depend on the order of arrival.
inline void keep_best(std::vector<ranked_plan>& best, const ranked_plan& p, std::size_t top) {
  if (best.size() >= top && (top == 0 || !faster(p, best.back()))) return;
  if (const auto other = std::find_if(best.begin(), best.end(), [&](const ranked_plan& q) { return differ_in_share(p, q); }); other != best.end()) {
    if (!faster(p, *other)) return;
    best.erase(other);
  }
  best.insert(std::upper_bound(best.begin(), best.end(), p, faster), p);
  if (best.size() > top) best.pop_back();
}

/// Those that no other beats in time, memory and number of GPUs. On one number of GPUs they fall in memory as they rise in time.
inline void keep_front(std::vector<ranked_plan>& front, const ranked_plan& p) {
  const auto as_small = [](const ranked_plan& a, const ranked_plan& b) {
    return a.outcome.device <= b.outcome.device && all_gpus_of(a.job) <= all_gpus_of(b.job);
  };
  const auto at = std::upper_bound(front.begin(), front.end(), p, faster);
  for (auto i = at; i != front.begin();)
    if (as_small(*--i, p)) return;
  const auto place = at - front.begin();
  front.erase(std::remove_if(at, front.end(), [&](const ranked_plan& later) { return as_small(p, later); }), front.end());
  front.insert(front.begin() + place, p);
}

/// Whether a plan would be kept among the fastest, or in the front: most are not, and need not be copied.
inline bool among_best(const std::vector<ranked_plan>& best, const judged_plan& seen, std::uint64_t ordinal, std::size_t top) {
  if (best.size() < top || top == 0) return top > 0;
  const auto& last = best.back();
  const auto& x = last.outcome;
  return seen.seconds != x.seconds ? seen.seconds < x.seconds : seen.device != x.device ? seen.device < x.device : ordinal < last.ordinal;
}
inline bool in_front(const std::vector<ranked_plan>& front, const judged_plan& seen, std::uint64_t ordinal, std::int64_t gpus) {
  auto i = std::upper_bound(front.begin(), front.end(), seen.seconds, [](double s, const ranked_plan& p) { return s < p.outcome.seconds; });
  while (i != front.begin()) {
    const auto& p = *--i;
    if (p.outcome.device > seen.device || all_gpus_of(p.job) > gpus) continue;
    if (p.outcome.seconds < seen.seconds || p.outcome.device < seen.device || p.ordinal < ordinal) return false;
  }
  return true;
}

inline void join(plan_result& to, const plan_result& from, std::size_t top) {
  for (const auto& p : from.best) keep_best(to.best, p, top);
  for (const auto& p : from.front) keep_front(to.front, p);
  to.evaluated += from.evaluated;
  to.passed_over += from.passed_over;
  to.fitting += from.fitting;
  for (const auto& [reason, n] : from.rejected) to.rejected[reason] += n;
  to.complete = to.complete && from.complete;
  if (!from.untimed.empty()) to.untimed = from.untimed;
}

}  // namespace detail

}  // namespace headroom
