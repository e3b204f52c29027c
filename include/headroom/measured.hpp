// Distributed under the Boost Software License, Version 1.0.
// measured_by(job, figures): one short run makes the predictions of its search exact where it was run, and closer everywhere else. At run time,
// with a heap.
//
//   job other = ran;                                      // the job that was run, and others of its search
//   other.batch.micro = 4;
//   other.measured = measured_by(ran, {.measured = {61'203'283'968_B, ...}, .step = 2'310'000'000});
//   estimate(other), replay(other), cost(other), fits, solve, plan, bounds: all corrected
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/measured/beside.hpp>
#include <headroom/replay.hpp>

namespace headroom {

/// Figures of a run of `ran`, with what is predicted of that job beside them: what job::measured of another job is to be.
/// Errors: those of replay(), and of cost() where a step was measured; job_error for figures that contradict what is counted exactly, or none.
inline measured_run measured_by(job ran, measured_run figures, measured_rank which = measured_rank::most, const deadline& until = {}) {
  ran.measured = {};
  bool any = false;
  for (const auto b : figures.measured) any = any || b >= bytes{0};
  if (!any && figures.step <= 0) refuse("headroom: measured says nothing: one of allocated, active, reserved, device (bytes) and step (seconds) is needed");
  if (any) figures = measured_beside(figures, replay(ran, until), estimate_all(ran), which);
  figures.search = fingerprint_of(ran);
  if (figures.step > 0) figures = measured_beside(figures, cost(ran));
  return figures;
}

}  // namespace headroom
