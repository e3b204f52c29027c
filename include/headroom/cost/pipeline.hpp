// Distributed under the Boost Software License, Version 1.0.
// A pipeline's idle time, by schedule.
#pragma once

#include <headroom/layout/degrees.hpp>

namespace headroom {

/// What one stage spends on one micro-batch, all its chunks together. Weight gradients are a part of `backward`.
struct stage_seconds {
  double forward{};
  double backward{};
  double weights{};
  [[nodiscard]] constexpr double both() const { return forward + backward; }
};

/// Idle time of a rank in a step, of stages that all take `t`. GPipe (Huang et al. 2019) and 1F1B (Narayanan et al. 2021, section
/// 2.2.1): (p - 1)(F + B); interleaved (section 2.2.2): that over v; ZB-H1 (Qi et al. 2023, section 3.1): (p - 1)(F + B - 2W), where
/// B includes W; DualPipe (DeepSeek-V3 report, table 2): (p/2 - 1)(F&B + B - 3W), with an overlapped pair F&B at F + B.
constexpr double bubble_seconds(schedule kind, std::int64_t stages, std::int64_t chunks, const stage_seconds& t) {
  if (stages <= 1) return 0.0;
  const auto p = static_cast<double>(stages);
  const auto least_none = [](double x) { return x > 0 ? x : 0.0; };
  switch (kind) {
    case schedule::naive: return 0.0;  // every micro-batch passes all stages one after the other: see pipeline_seconds
    case schedule::zero_bubble: return (p - 1) * least_none(t.both() - 2 * t.weights);
    case schedule::dualpipe: return (p / 2 - 1) * least_none(t.both() + t.backward - 3 * t.weights);
    case schedule::gpipe:
    case schedule::one_forward_one_backward:
    case schedule::interleaved: break;
  }
  return (p - 1) * t.both() / static_cast<double>(chunks > 1 ? chunks : 1);
}

/// The bubble as a share of the time spent working.
constexpr double bubble_fraction(schedule kind, std::int64_t stages, std::int64_t chunks, std::int64_t micros, const stage_seconds& t) {
  return bubble_seconds(kind, stages, chunks, t) / (static_cast<double>(micros) * t.both());
}

/// Of uneven stages: the slowest one sets the pace, and the bubble is that of the mean of the others.
constexpr double pipeline_seconds(schedule kind, std::int64_t stages, std::int64_t chunks, std::int64_t micros, const stage_seconds& slowest,
                                  const stage_seconds& sum) {
  const auto m = static_cast<double>(micros);
  if (kind == schedule::naive) return m * sum.both();
  if (stages <= 1) return m * slowest.both();
  const auto n = static_cast<double>(stages - 1);
  const stage_seconds others{(sum.forward - slowest.forward) / n, (sum.backward - slowest.backward) / n, (sum.weights - slowest.weights) / n};
  return m * slowest.both() + bubble_seconds(kind, stages, chunks, others);
}

}  // namespace headroom
