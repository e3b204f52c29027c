// Distributed under the Boost Software License, Version 1.0.
// How sure a predicted step time is: the range in which a measured one is expected, and which plans it does not tell apart.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/cost/cost.hpp>

namespace headroom {

/// What an error of a step's time is proportional to.
enum class time_base : std::uint8_t { step, launch, communication, data_parallel, offload, matmul, not_multiplied, other_models, generation, sync };

/// One standard deviation, in thousandths of its base, where `when` is assumed. Plans of one search run on one machine, so that an error is
/// the same factor of the same base in all of them, but for what is a plan's `own` of it: shapes of its kernels, order of its traffic.
struct time_uncertainty {
  std::string_view from{};
  time_assumption when{};
  time_base of{};
  std::int32_t per_mille{};
  std::int32_t own{};
};

/// Calibrated on the published runs that the rates are calibrated on too (cost/rates.hpp): the greatest likelihood of Student's t with four
/// degrees of freedom, families weighed by the root of their size, rounded. tests/accuracy/test_throughput.cpp holds what the others
/// come to. `processor_update`, `another_gpu`, `mixed`, `methods`, `generation` and `sync` are stated: no run, two, and none.
/// `own` is calibrated on the pairs of those runs' tables that differ only in what a search opens, 1,964 of them: with it 95, 78 and 53 % of
/// their differences are where 95, 80 and 50 % are expected.
inline constexpr std::array time_uncertainties{
    time_uncertainty{"rates", time_assumption::rates_calibrated, time_base::step, 80, 50},
    time_uncertainty{"launch", time_assumption::rates_calibrated, time_base::launch, 480},
    time_uncertainty{"communication", time_assumption::rates_calibrated, time_base::communication, 300},
    time_uncertainty{"data_parallel", time_assumption::traffic_overlapped, time_base::data_parallel, 250},
    time_uncertainty{"recipe", time_assumption::release_recipe, time_base::not_multiplied, 430},
    time_uncertainty{"fp8", time_assumption::fp8_in_one_share, time_base::matmul, 100},
    time_uncertainty{"quantised", time_assumption::quantised_base, time_base::step, 80},
    time_uncertainty{"best_matmul", time_assumption::best_matmul_assumed, time_base::matmul, 300},
    time_uncertainty{"another_gpu", time_assumption::rates_of_another_gpu, time_base::step, 200},
    time_uncertainty{"processor_update", time_assumption::host_update, time_base::offload, 500},
    time_uncertainty{"mixed", time_assumption::mixed_kinds, time_base::step, 100, 50},
    time_uncertainty{"methods", time_assumption::methods_from_parts, time_base::other_models, 300},
    time_uncertainty{"generation", time_assumption::generation_by_bandwidth, time_base::generation, 600},
    time_uncertainty{"sync", time_assumption::generation_by_bandwidth, time_base::sync, 600},
};

/// What a source of error is proportional to, in one step.
constexpr seconds base_of(const step_cost& c, time_base b) {
  switch (b) {
    case time_base::launch: return c.launch;
    case time_base::communication: return c.communication;
    case time_base::data_parallel: return c.data_parallel;
    case time_base::offload: return c.offload;
    case time_base::matmul: return c.matmul;
    case time_base::not_multiplied: return c.step - c.matmul - c.attention - c.bubble;
    case time_base::other_models: return c.other_models;
    case time_base::generation: return c.generation;
    case time_base::sync: return c.sync;
    case time_base::step: break;
  }
  return c.step;
}

/// From `low` to `high`, in seconds.
struct seconds_range {
  seconds low{};
  seconds high{};
  [[nodiscard]] constexpr bool contains(seconds s) const { return low <= s && s <= high; }
};

namespace detail {

/// One standard deviation of a source in thousandths of a step, where it applies.
constexpr double share_of(const time_uncertainty& u, const step_cost& c) {
  return c.assumptions.has(u.when) ? u.per_mille / 1000.0 * (base_of(c, u.of) / c.step) : 0.0;
}

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
  const double factor = detail::factor_of(squares, sure);
  return {seconds{c.step.value / factor}, seconds{c.step.value * factor}};
}

/// Whether the prediction does not tell which of two plans of one search is the faster, for a token.
constexpr bool tied(const step_cost& a, const step_cost& b, confidence sure = {}) {
  const double x = a.step.value / a.tokens, y = b.step.value / b.tokens;
  return (x < y ? y / x : x / y) <= detail::factor_of(detail::squares_between(a, b), sure);
}

}  // namespace headroom
