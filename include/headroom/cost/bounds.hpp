// Distributed under the Boost Software License, Version 1.0.
// How sure a predicted step time is: the range in which a measured one is expected, and which plans it does not tell apart.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/cost/cost.hpp>
#include <headroom/cost/errors.hpp>

namespace headroom {

/// From `low` to `high`, in seconds.
struct seconds_range {
  seconds low{};
  seconds high{};
  [[nodiscard]] constexpr bool contains(seconds s) const { return low <= s && s <= high; }
};

namespace detail {

/// The factor by which a time of so much uncertainty, a sum of squares, may be off. Errors are factors: a range reaches as many times up as
/// down.
constexpr double factor_of(double squares, confidence sure) {
  double root = squares;  // Newton's
  for (int i = 0; i < 40 && root > 0; ++i) root = (root + squares / root) / 2;
  const double reach = static_cast<double>(deviations_of(sure)) / 1000 * root;
  return 1 + reach + reach * reach / 2;  // e^reach, nearly
}

/// Of the ratio of two plans' times: what an error has in common cancels in proportion to its shares of the two steps, what is a plan's own
/// adds up.
constexpr double squares_between(const step_cost& a, const step_cost& b) {
  double squares = 0;
  for (const auto& u : time_uncertainties) {
    const double x = share_of(u, a), y = share_of(u, b);
    const double own = static_cast<double>(u.own) / u.per_mille;
    squares += (1 - own * own) * (x - y) * (x - y) + own * own * (x * x + y * y);
  }
  return squares;
}

}  // namespace detail

/// Independent sources of error, added in quadrature.
constexpr seconds_range bounds(const step_cost& c, confidence sure = {}) {
  double squares = 0;
  for (const auto& u : time_uncertainties) {
    const double one = detail::share_of(u, c);
    squares += one * one;
  }
  const double factor = detail::factor_of(squares * c.measured.left * c.measured.left, sure);
  return {seconds{c.step.value / factor}, seconds{c.step.value * factor}};
}

/// Whether the prediction does not tell which of two plans of one search is the faster, for a token.
constexpr bool tied(const step_cost& a, const step_cost& b, confidence sure = {}) {
  const double x = a.step.value / a.tokens, y = b.step.value / b.tokens;
  return (x < y ? y / x : x / y) <= detail::factor_of(detail::squares_between(a, b), sure);
}

}  // namespace headroom
