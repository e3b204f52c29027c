// Distributed under the Boost Software License, Version 1.0.
// What is predicted of a measured run, put beside its figures; figures that contradict what is counted exactly are refused.
#pragma once

#include <headroom/measured/correct.hpp>

namespace headroom {

/// The rank that was measured. By `most`: of what was measured, the last reading.
template <class Ranks>
constexpr const rank_report& rank_measured(const basic_report<Ranks>& r, const measured_run& run, measured_rank which) {
  auto by = reading::allocated;
  for (int m = 0; m < reading_count; ++m)
    if (run.has(static_cast<reading>(m))) by = static_cast<reading>(m);
  const auto* chosen = &r.ranks[0];
  for (const auto& one : r)
    if (which == measured_rank::most    ? value_of(one, by) > value_of(*chosen, by)
        : which == measured_rank::first ? one.pipeline_stage < chosen->pipeline_stage
                                        : one.pipeline_stage > chosen->pipeline_stage)
      chosen = &one;
  return *chosen;
}

/// Why figures cannot be of a rank, or nothing.
constexpr objection contradiction_of(const measured_run& run, const rank_report& rank) {
  constexpr const char* order[] = {"headroom: measured.active is less than measured.allocated, which is a part of it; bytes", "headroom: measured.reserved is less than what is allocated of it; bytes",
                                   "headroom: measured.device is less than what PyTorch's allocator holds of it; bytes"};
  bytes before{0};
  for (std::size_t m = 0; m < reading_count; ++m) {
    if (run.measured[m] < bytes{0}) continue;
    if (m > 0 && run.measured[m] < before) return {order[m - 1], run.measured[m].count(), true, nullptr};
    before = run.measured[m];
    if (run.measured[m] < detail::counted_of(rank.at_peak))
      return {"headroom: measured says less than the weights, gradients and optimizer states that this rank holds at its peak, which are counted exactly: the run was not this job, or "
              "measured.rank is another's, or the unit is not bytes; bytes of these states", detail::counted_of(rank.at_peak).count(), true, nullptr};
    if (rank.capacity > bytes{0} && run.measured[m] > rank.capacity + rank.taken)
      return {"headroom: measured says more than the GPU of the job has: of several GPUs give one's, or hardware.gpu is another; bytes that a process can use of it", rank.capacity.count(), true, nullptr};
  }
  return {};
}

/// The figures with what a report says of the rank that was measured. The report is one of the measured job, without corrections.
/// Errors: job_error for figures that contradict the report's exact part, and where nothing was measured.
template <class Ranks>
constexpr measured_run measured_beside(measured_run run, const basic_report<Ranks>& r, measured_rank which = measured_rank::most) {
  const auto& rank = rank_measured(r, run, which);
  if (const auto why = contradiction_of(run, rank)) refuse(why.sentence, why.found);
  run.predicted = {rank.allocated, rank.active, rank.reserved, rank.device};
  for (std::size_t i = 0; i < uncertainties.size(); ++i) run.of[i] = applies(uncertainties[i], r.assumptions, reading::device) ? base_of(rank, uncertainties[i].of) : bytes{0};
  return run;
}
/// … and of the same rank what an estimate of the job says, of which a replay was made. Errors: the same.
template <class Ranks>
constexpr measured_run measured_beside(measured_run run, const basic_report<Ranks>& replayed, const basic_report<Ranks>& estimated, measured_rank which = measured_rank::most) {
  run = measured_beside(run, replayed, which);
  const auto& rank = estimated.ranks[static_cast<std::size_t>(&rank_measured(replayed, run, which) - &replayed.ranks[0])];
  run.estimated = {rank.allocated, rank.active, rank.reserved, rank.device};
  return run;
}

}  // namespace headroom
