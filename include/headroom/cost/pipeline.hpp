// Distributed under the Boost Software License, Version 1.0.
// A pipeline's idle time, by schedule.
#pragma once

#include <headroom/layout/schedule_kind.hpp>

namespace headroom {

/// Idle time of a rank in a step, of stages that all take `t` (the schedule's own formula: layout/schedule_kind.hpp).
constexpr double bubble_seconds(schedule kind, std::int64_t stages, std::int64_t chunks, const stage_seconds& t) {
  if (stages <= 1) return 0.0;
  return properties_of(kind).bubble(static_cast<double>(stages), static_cast<double>(chunks > 1 ? chunks : 1), t);
}

/// The bubble as a share of the time spent working.
constexpr double bubble_fraction(schedule kind, std::int64_t stages, std::int64_t chunks, std::int64_t micros, const stage_seconds& t) {
  return bubble_seconds(kind, stages, chunks, t) / (static_cast<double>(micros) * t.both());
}

/// Of uneven stages: the slowest one sets the pace, and the bubble is that of the mean of the others.
constexpr double pipeline_seconds(schedule kind, std::int64_t stages, std::int64_t chunks, std::int64_t micros, const stage_seconds& slowest,
                                  const stage_seconds& sum) {
  const auto m = static_cast<double>(micros);
  if (properties_of(kind).one_process) return m * sum.both();
  if (stages <= 1) return m * slowest.both();
  const auto n = static_cast<double>(stages - 1);
  const stage_seconds others{(sum.forward - slowest.forward) / n, (sum.backward - slowest.backward) / n, (sum.weights - slowest.weights) / n};
  const auto stall = properties_of(kind).stall;
  return m * (slowest.both() + (stall != nullptr ? stall(stages, slowest) : 0.0)) + bubble_seconds(kind, stages, chunks, others);
}

}  // namespace headroom
