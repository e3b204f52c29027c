// Distributed under the Boost Software License, Version 1.0.
// A step's time corrected by a measured run. Errors of times are factors: what is corrected is the logarithm, by the same rule as memory
// (measured/explain.hpp), with one sum, the whole step.
#pragma once

#include <headroom/cost/errors.hpp>
#include <headroom/measured/correct.hpp>

namespace headroom {

namespace detail {

static_assert(time_uncertainties.size() <= most_time_errors);

/// ln x for x > 0: halved or doubled into [1/2, 2], then 2 artanh((x - 1)/(x + 1)).
constexpr double natural_log(double x) {
  constexpr double log_two = 0.69314718055994530942;
  double halvings = 0;
  for (; x > 1.5; x /= 2) ++halvings;
  for (; x < 0.75; x *= 2) --halvings;
  const double y = (x - 1) / (x + 1), square = y * y;
  double sum = 0, power = y;
  for (int i = 1; i < 40; i += 2, power *= square) sum += power / i;
  return 2 * sum + halvings * log_two;
}
/// e^x, by the series of x / 2^10, squared ten times.
constexpr double exponential(double x) {
  const double part = x / 1024;
  double term = 1, sum = 1;
  for (int i = 1; i < 12; ++i) term *= part / i, sum += term;
  for (int i = 0; i < 10; ++i) sum *= sum;
  return sum;
}

constexpr void scale(step_cost& c, double by) {
  for (auto* part : {&c.step, &c.matmul, &c.attention, &c.memory, &c.communication, &c.launch, &c.data_parallel, &c.bubble, &c.optimizer, &c.offload, &c.other_models, &c.generation, &c.sync})
    part->value *= by;
}
constexpr std::int64_t nanoseconds_of(seconds s) { return static_cast<std::int64_t>(s.value * 1e9 + 0.5); }

/// Of the error that the measured run had, what this step has of it too: a source's `own` part, and own_time of the rest, are others in every job.
inline constexpr double own_time = 0.6;

[[gnu::noinline]] constexpr void correct_measured_step(step_cost& c, const measured_run& run, bool ran) {
  const bool same = ran && nanoseconds_of(c.step) == run.predicted_step;
  double there = 0, here = 0, both = 0;
  for (std::size_t i = 0; i < time_uncertainties.size(); ++i) {
    const auto& u = time_uncertainties[i];
    const double x = run.step_errors[i] / 1e6, y = share_of(u, c), own = static_cast<double>(u.own) / u.per_mille;
    there += x * x;
    here += y * y;
    both += (same ? 1 : (1 - own_time * own_time) * (1 - own * own)) * x * y;
  }
  if (there <= 0 || here <= 0) return;
  const double off = natural_log(static_cast<double>(run.step) / static_cast<double>(run.predicted_step)), most = measured_reach() * square_root(there);
  const double explained = off > most ? most : off < -most ? -most : off;
  c.measured.unexplained = exponential(off - explained);
  c.measured.moved = same ? static_cast<double>(run.step) / static_cast<double>(run.predicted_step) : exponential(explained * both / there);
  c.measured.left = same || here <= both * both / there * (1 + 1e-9) ? 0 : widened_by(explained * explained / there, 1) * square_root(1 - both * both / there / here);
  scale(c, c.measured.moved);
}

}  // namespace detail

/// A measured step beside what is predicted of it.
constexpr measured_run measured_beside(measured_run run, const step_cost& c) {
  run.predicted_step = detail::nanoseconds_of(c.step);
  for (std::size_t i = 0; i < time_uncertainties.size(); ++i) run.step_errors[i] = static_cast<std::int32_t>(detail::share_of(time_uncertainties[i], c) * 1e6 + 0.5);
  return run;
}

}  // namespace headroom
