// Distributed under the Boost Software License, Version 1.0.
// Whether a job fits, once and for all: by estimate() where fragmentation cannot change the answer, else by replay(). At run time, with a heap.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/replay.hpp>

#include <optional>

namespace headroom {

/// Whether every rank fits by the widest range of the worst that a replay could say of it: all that fragmentation may take is reserved, and the
/// replay's own errors come on top. Of ranks that a report has no room for it is not said.
template <class Ranks>
constexpr bool fits_in_any_case(const basic_report<Ranks>& r) {
  if (!r.fits() || r.kinds > r.size || r.assumptions.has(assumption::corrected_by_run)) return false;
  auto listed = r.assumptions;
  listed.add(assumption::reserved_replayed);
  for (auto rank : r) {
    rank.reserved += rank.fragmentation;
    rank.device += rank.fragmentation;
    const auto reach = detail::reach_of(listed, reading::device, confidence{0.999}, [&](error_base b) { return given_back(b) ? bytes{0} : base_of(rank, b); });
    if (rank.device > rank.capacity || reach.high > rank.capacity - rank.device) return false;
  }
  return true;
}

/// Whether no replay could change what an estimate says, with a confidence or by the prediction itself. Of a confidence beyond 99 % the widest
/// range is too little wider than what is asked for.
template <class Ranks>
constexpr bool is_decided(const basic_report<Ranks>& r, const std::optional<confidence>& sure = {}) {
  return !r.may_fit() || (sure ? sure->per_mille <= 990 && fits_in_any_case(r) : r.fits());
}

/// The report that says whether a job fits, the cheapest that does: its fits() is that of replay(job). Microseconds where estimate() leaves
/// nothing open, which it does whatever the deadline.
/// Errors: those of estimate(); out_of_time where it takes a replay that is not done by the deadline.
inline full_report decide(const job& j, const std::optional<confidence>& sure = {}, const deadline& until = {}) {
  auto r = estimate_all(j);
  if (!is_decided(r, sure)) r = replay(j, until);
  return r;
}

/// … with layers of one's own (block/own_layer.hpp). Programs that link headroom::compiled include replay/replay_ranks.hpp, too.
template <own_stack Own>
full_report decide(const job& j, const Own& own, const std::optional<confidence>& sure = {}, const deadline& until = {}) {
  auto r = estimate_all(j, own);
  if (!is_decided(r, sure)) r = replay(j, own, until);
  return r;
}

/// Whether it fits; with a confidence, at the upper end of its range. What solve() and confirmed_plan() are given to judge by.
/// Errors: those of decide(); a deadline that has passed ends a search in any case.
struct decided {
  std::optional<confidence> sure{};
  deadline until{};
  bool operator()(const job& j) const {
    until.check();
    const auto r = decide(j, sure, until);
    return sure ? fits(r, *sure) : r.fits();
  }
};

}  // namespace headroom
