// Distributed under the Boost Software License, Version 1.0.
// Whether a job fits, once and for all: by estimate() where fragmentation cannot change the answer, else by replay(). At run time, with a heap.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/replay.hpp>

#include <optional>

namespace headroom {

/// Whether no replay could change what an estimate says. With a confidence: whether that is not, or by the widest range.
template <class Ranks>
constexpr bool is_decided(const basic_report<Ranks>& r, const std::optional<confidence>& sure = {}) {
  return !r.may_fit() || (sure ? fits(r, confidence{0.999}) : r.fits());
}

/// The report that says whether a job fits, the cheapest that does: its fits() is that of replay(job). Microseconds where estimate() leaves
/// nothing open.
/// Errors: those of estimate().
inline full_report decide(const job& j, const std::optional<confidence>& sure = {}) {
  auto r = estimate_all(j);
  if (!is_decided(r, sure)) r = replay(j);
  return r;
}

/// … with layers of one's own (block/own_layer.hpp). Programs that link headroom::compiled include replay/replay_ranks.hpp, too.
template <own_stack Own>
full_report decide(const job& j, const Own& own, const std::optional<confidence>& sure = {}) {
  auto r = estimate_all(j, own);
  if (!is_decided(r, sure)) r = replay(j, own);
  return r;
}

/// Whether it fits; with a confidence, at the upper end of its range. What solve() and confirmed_plan() are given to judge by.
struct decided {
  std::optional<confidence> sure{};
  bool operator()(const job& j) const {
    const auto r = decide(j, sure);
    return sure ? fits(r, *sure) : r.fits();
  }
};

}  // namespace headroom
