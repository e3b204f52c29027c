// Distributed under the Boost Software License, Version 1.0.
// How far each uncertain term of a report was off in a measured run: the least change, of all that are inside their ranges, that explains what
// was measured.
//
// Each source of error (uncertainty.hpp) is as many standard deviations off as z says. What is measured fixes one sum of them, and of all z
// with that sum the one with the least sum of squares is the likeliest where the sources are independent (of a normal or a Student's t
// distribution alike: the conditional mean; Kotz and Nadarajah 2004, Multivariate t Distributions and Their Applications, section 1.11).
// Its parts are proportional to their share of the variance. A source whose part would lie outside its range of 95 % stays at the end of it,
// and the others take the rest; what none of them can take is not explained.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/measured/run.hpp>
#include <headroom/model/images.hpp>

namespace headroom {

/// What a measured run says of each source of error.
struct explained_run {
  static constexpr std::size_t sources = uncertainties.size();
  std::array<double, sources> moved{};                 ///< standard deviations, with their sign
  std::array<double, sources> seen_below{}, seen_above{};  ///< its share of the standard deviation of the sum that was measured, down and up
  std::array<std::int8_t, sources> sum{};              ///< the measured reading whose sum it is part of; -1: of none
  std::array<double, reading_count> unexplained{};     ///< bytes of each sum beyond all ranges
  double widens{1};                                    ///< what is left of the ranges is so many times as wide, by how far the run was off
};

namespace detail {

constexpr double deviation_of(const uncertainty& s, bytes of, bool above) { return (above ? s.above : s.below) / 1000.0 * static_cast<double>(of.count()); }
constexpr double measured_reach() { return static_cast<double>(deviations_of(confidence{})) / 1000; }

/// Divides `rest` (at least 0) among sources of these deviations: the least sum of squares of which no part exceeds the reach. What is left.
template <std::size_t N>
constexpr double divide(double rest, const std::array<double, N>& deviations, std::array<double, N>& parts) {
  std::array<bool, N> full{};
  for (std::size_t turn = 0; turn < N && rest > 0; ++turn) {
    double squares = 0;
    for (std::size_t i = 0; i < N; ++i)
      if (!full[i]) squares += deviations[i] * deviations[i];
    if (squares <= 0) return rest;
    bool bounded = true;
    for (std::size_t i = 0; i < N; ++i)
      if (!full[i] && deviations[i] > 0 && rest / squares * deviations[i] > measured_reach()) bounded = false;
    if (bounded) {
      for (std::size_t i = 0; i < N; ++i)
        if (!full[i]) parts[i] = rest / squares * deviations[i];
      return 0;
    }
    double taken = 0;
    for (std::size_t i = 0; i < N; ++i)
      if (!full[i] && deviations[i] > 0 && rest / squares * deviations[i] > measured_reach()) {
        full[i] = true;
        parts[i] = measured_reach();
        taken += measured_reach() * deviations[i];
      }
    rest -= taken < rest ? taken : rest;
  }
  return rest;
}

/// Of the sources that reading m has and the measured reading before it has not, the sum that was measured.
constexpr void explain_sum(explained_run& e, const measured_run& run, int before, int m, double off) {
  constexpr auto n = explained_run::sources;
  std::array<double, n> below{}, above{}, parts{};
  double under = 0, over = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto& s = uncertainties[i];
    if (static_cast<int>(s.first) > m || static_cast<int>(s.first) <= before) continue;
    e.sum[i] = static_cast<std::int8_t>(m);
    below[i] = deviation_of(s, run.of[i], false);
    above[i] = deviation_of(s, run.of[i], true);
    under += below[i] * below[i];
    over += above[i] * above[i];
  }
  const double sign = off < 0 ? -1 : 1;
  e.unexplained[static_cast<std::size_t>(m)] = sign * divide(sign * off, off < 0 ? below : above, parts);
  const double root_under = square_root(under), root_over = square_root(over);
  for (std::size_t i = 0; i < n; ++i) {
    if (e.sum[i] != m) continue;
    e.moved[i] = sign * parts[i];
    if (under > 0) e.seen_below[i] = below[i] / root_under;
    if (over > 0) e.seen_above[i] = above[i] / root_over;
  }
}

/// How many standard deviations a sum is off, squared, as far as its range goes; 0 where nothing of it is uncertain.
constexpr double square_off(const measured_run& run, int before, int m, double off) {
  double squares = 0;
  for (std::size_t i = 0; i < explained_run::sources; ++i) {
    const auto& s = uncertainties[i];
    if (static_cast<int>(s.first) > m || static_cast<int>(s.first) <= before) continue;
    const double one = deviation_of(s, run.of[i], off >= 0);
    squares += one * one;
  }
  if (squares <= 0) return 0;
  const double most = measured_reach() * measured_reach(), found = off * off / squares;
  return found < most ? found : most;
}

/// Student's t with four degrees of freedom, conditioned on n sums (Ding 2016, On the Conditional Distribution of the Multivariate t Distribution):
/// sqrt((4 + squares) / (4 + n)).
constexpr double widened_by(double squares, int n) { return square_root((4 + squares) / (4 + n)); }

}  // namespace detail

/// What was measured of the memory, taken apart: first what the first measured reading has, then what each next one has beyond it.
constexpr explained_run explain(const measured_run& run) {
  explained_run e;
  for (auto& s : e.sum) s = -1;
  if (!run.of_memory()) return e;
  int before = -1, sums = 0;
  double known = 0, squares = 0;
  for (int m = 0; m < reading_count; ++m) {
    const auto at = static_cast<std::size_t>(m);
    if (run.measured[at] < bytes{0}) continue;
    const double off = static_cast<double>((run.measured[at] - run.predicted[at]).count());
    detail::explain_sum(e, run, before, m, off - known);
    squares += detail::square_off(run, before, m, off - known);
    ++sums;
    known = off;
    before = m;
  }
  e.widens = detail::widened_by(squares, sums);
  return e;
}

}  // namespace headroom
