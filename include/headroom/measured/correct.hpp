// Distributed under the Boost Software License, Version 1.0.
// A report corrected by a measured run: its uncertain terms moved as that run says, and its ranges as much narrower as that makes them.
#pragma once

#include <headroom/measured/explain.hpp>

namespace headroom {

/// How much of the variance of each source of error another job of the search has in common with the measured run, as much of it as the job has of
/// what it is proportional to; the rest is its own. Where tensors found their places is mostly a run's own. Calibrated on the pairs of every first,
/// third, fifth, … record, of those that differ only in what a search opens (tests/accuracy/test_measured.cpp): the least error with which the corrected
/// ranges of 95 % hold 95 % of them; of the other pairs they hold 95 %, too.
inline constexpr double common_error = 0.8, common_order = 0.3;

namespace detail {

/// What of a rank's bytes is counted exactly: no measurement moves it.
constexpr bytes counted_of(const breakdown& at) { return at[row::model_parameters] + at[row::master_parameters] + at[row::gradients] + at[row::optimizer_state] + at[row::adapters]; }

/// Takes so much off, from what passes first.
constexpr void take_off(breakdown& at, bytes less) {
  for (const auto r : {row::temporaries, row::activations, row::logits, row::gathered_parameters, row::communication_buffers, row::workspace, row::other_models, row::kv_cache, row::rollout_engine}) {
    const auto part = min(less, at[r]);
    at[r] -= part;
    less -= part;
  }
}

/// How much of a source's error another job of the search has too. How far nanotron's host is ahead differs from run to run of one plan (uncertainty.hpp).
constexpr double common_of(const uncertainty& s) {
  return s.when == assumption::host_ahead_of_collectives ? 0 : s.when == assumption::reserved_replayed ? common_order : common_error;
}

/// Of one rank: by how much each reading moves, and what is left of its ranges.
struct rank_correction {
  std::array<double, reading_count> moved{}, below{}, above{};
  double most{};  ///< bytes that any of it can be
};

/// `same`: it is the rank that was measured, and has all of its errors; what these are proportional to is then what the run says, whichever report it is of.
constexpr rank_correction correction_of(const rank_report& r, const assumption_set& listed, const measured_run& run, const explained_run& e, bool same) {
  rank_correction c;
  for (int m = 0; m < reading_count; ++m) {
    std::array<double, reading_count> seen_below{}, seen_above{};
    double below = 0, above = 0, moved = 0;
    for (std::size_t i = 0; i < explained_run::sources; ++i) {
      const auto& s = uncertainties[i];
      if (static_cast<int>(s.first) > m || !(same || listed.has(s.when))) continue;
      const auto of = same ? run.of[i] : base_of(r, s.of);
      const double under = deviation_of(s, of, false), over = deviation_of(s, of, true);
      below += under * under;
      above += over * over;
      const double share = same ? 1 : common_of(s);
      if (e.sum[i] < 0 || share <= 0) continue;
      moved += share * e.moved[i] * (e.moved[i] < 0 ? under : over);
      seen_below[static_cast<std::size_t>(e.sum[i])] += share * under * e.seen_below[i];
      seen_above[static_cast<std::size_t>(e.sum[i])] += share * over * e.seen_above[i];
    }
    double known_below = 0, known_above = 0;
    for (std::size_t k = 0; k < reading_count; ++k) {
      known_below += seen_below[k] * seen_below[k];
      known_above += seen_above[k] * seen_above[k];
      if (same && static_cast<int>(k) <= m) moved += e.unexplained[k];
    }
    const auto at = static_cast<std::size_t>(m);
    const auto left = [&](double known, double all) { return all > known * (1 + 1e-9) ? e.widens * square_root(1 - known / all) : 0.0; };
    c.moved[at] = moved;
    c.below[at] = left(known_below, below);
    c.above[at] = left(known_above, above);
    if (same && run.measured[at] >= bytes{0}) c.moved[at] = static_cast<double>((run.measured[at] - run.predicted[at]).count()), c.below[at] = c.above[at] = 0;
    c.most = c.most < (moved < 0 ? -moved : moved) ? (moved < 0 ? -moved : moved) : c.most;
  }
  return c;
}

constexpr bytes whole_bytes(double b) { return bytes{static_cast<std::int64_t>(b < 0 ? b - 0.5 : b + 0.5)}; }

/// The peak, and what is no longer below it.
constexpr void move_peak(rank_report& r, bytes by) {
  const auto peak = static_cast<std::size_t>(r.peak_phase);
  const auto move = [&](breakdown& at) {
    if (by >= bytes{0}) at[row::temporaries] += by;
    else take_off(at, -by);
  };
  r.allocated += by;
  move(r.at_peak);
  r.phases[peak] = r.allocated;
  if (in_every_step(r.peak_phase)) r.at_phase[peak] = r.at_peak;
  for (std::size_t i = 0; i < r.phases.size(); ++i) {
    if (r.phases[i] <= r.allocated) continue;
    if (i < r.at_phase.size()) take_off(r.at_phase[i], r.phases[i] - r.allocated);
    r.phases[i] = r.allocated;
  }
}

/// What was measured stands; what was not gives way to it: a reading is at least those before it, and these at least what is counted exactly.
constexpr void put_in_order(std::array<bytes, reading_count>& now, const measured_run& run, bytes counted) {
  bool above = false;
  for (std::size_t m = now.size() - 1; m > 0; --m) {
    above = above || run.measured[m] >= bytes{0};
    if (above && run.measured[m - 1] < bytes{0}) now[m - 1] = min(now[m - 1], now[m]);
  }
  for (std::size_t m = 0; m < now.size(); ++m) now[m] = max(now[m], m == 0 ? counted : now[m - 1]);
}

/// Whether it was the rank that was measured: then nothing of it is left to a replay.
constexpr bool correct_rank(rank_report& r, const assumption_set& listed, const measured_run& run, const explained_run& e, bool ran, bool replayed_later) {
  const std::array as_predicted{r.allocated, r.active, r.reserved, r.device};
  const bool same = ran && (as_predicted == run.predicted || (replayed_later && as_predicted == run.estimated));
  const auto c = correction_of(r, listed, run, e, same);
  std::array<bytes, reading_count> now{};
  for (std::size_t m = 0; m < now.size(); ++m) now[m] = (same ? run.predicted : as_predicted)[m] + whole_bytes(c.moved[m]);
  put_in_order(now, run, counted_of(r.at_peak));
  for (std::size_t m = 0; m < now.size(); ++m) {
    r.measured.below[m] = static_cast<std::int32_t>(c.below[m] * 1000 + 0.5);
    r.measured.above[m] = static_cast<std::int32_t>(c.above[m] * 1000 + 0.5);
    r.measured.moved[m] = now[m] - as_predicted[m];
    r.measured.unexplained[m] = whole_bytes(e.unexplained[m]);
  }
  r.measured.given = true;
  move_peak(r, r.measured.moved[0]);
  r.active = now[1];
  r.reserved = now[2];
  r.device = now[3];
  if (r.lengths.given())
    for (auto* of : {&r.lengths.low, &r.lengths.median, &r.lengths.high, &r.lengths.least}) *of += r.measured.moved[2];
  if (!replayed_later) return same;
  if (same && as_predicted != run.predicted && !listed.has(assumption::lengths_not_replayed)) {  // the replay was made, and measured
    r.surplus = r.fragmentation = bytes{0};
    return true;
  }
  // A replay is corrected by more: by what it has of errors that an estimate has not, and by all of them where it is the measured job's.
  auto all = listed;
  all.add(assumption::reserved_replayed);
  double most = 2 * correction_of(r, all, run, e, true).most;
  for (std::size_t m = 0; m < now.size(); ++m) most += e.unexplained[m] < 0 ? -e.unexplained[m] : e.unexplained[m];
  r.surplus += whole_bytes(most);
  r.fragmentation = max(r.fragmentation, r.capacity);  // whether it fits is for the replay to say
  return false;
}

}  // namespace detail

/// Corrects every rank of a report by a measured run of the same framework and hardware. `ran`: it is the job that was run, of which a rank that is
/// predicted to the byte as the measured one was becomes what was measured. `replayed_later`: it is an estimate of a job that replay() replays, which then
/// says whether the job fits; of the rank that was measured the run has said it.
template <class Ranks>
constexpr void correct(basic_report<Ranks>& r, const measured_run& run, bool ran, bool replayed_later) {
  if (!run.of_memory()) return;
  const auto e = explain(run);
  bytes most{0};
  bool known = r.kinds == r.size;
  for (std::size_t i = 0; i < static_cast<std::size_t>(r.size); ++i) known = detail::correct_rank(r.ranks[i], r.assumptions, run, e, ran, replayed_later) && known;
  if (replayed_later && known) {  // every number is that of a replay
    r.assumptions.remove(assumption::reserved_without_fragmentation);
    r.assumptions.remove(assumption::reserved_by_pools);
    r.assumptions.add(assumption::reserved_replayed);
  }
  if (r.kinds > r.size) {  // of those that are not here, what they may be moved by
    for (std::size_t i = 0; i < explained_run::sources; ++i) {
      const auto& s = uncertainties[i];
      if (!applies(s, r.assumptions, reading::device)) continue;
      const double moved = e.moved[i] < 0 ? -e.moved[i] : e.moved[i];
      most += detail::whole_bytes(moved * detail::deviation_of(s, r.others.largest[static_cast<std::size_t>(s.of)], e.moved[i] >= 0));
    }
    for (const auto left : e.unexplained) most += detail::whole_bytes(left < 0 ? -left : left);
    r.others.may_fit = r.others.may_fit || r.others.least_headroom + most >= bytes{0};
    r.others.least_headroom -= most;
    r.others.fit = r.others.fit && r.others.least_headroom >= bytes{0} && !replayed_later;
  }
  r.assumptions.add(assumption::corrected_by_run);
}

}  // namespace headroom
