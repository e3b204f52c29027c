// Distributed under the Boost Software License, Version 1.0.
// How sure a predicted step time is: the range in which a measured one is expected.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/cost/cost.hpp>

namespace headroom {

/// What an error of a step's time is proportional to.
enum class time_base : std::uint8_t { step, launch, communication, data_parallel, offload, matmul, not_multiplied };

/// One standard deviation, in thousandths of its base, where `when` is assumed.
struct time_uncertainty {
  std::string_view from{};
  time_assumption when{};
  time_base of{};
  std::int32_t per_mille{};
};

/// Calibrated on the published runs that the rates are calibrated on too (cost/rates.hpp): the greatest likelihood of Student's t with four
/// degrees of freedom, families weighed by the root of their size, rounded. tests/accuracy/test_throughput.cpp holds what the others
/// come to. `processor_update`, `another_gpu` and `mixed` are stated: no run, two, and none.
inline constexpr std::array time_uncertainties{
    time_uncertainty{"rates", time_assumption::rates_calibrated, time_base::step, 80},
    time_uncertainty{"launch", time_assumption::rates_calibrated, time_base::launch, 480},
    time_uncertainty{"communication", time_assumption::rates_calibrated, time_base::communication, 300},
    time_uncertainty{"data_parallel", time_assumption::traffic_overlapped, time_base::data_parallel, 250},
    time_uncertainty{"recipe", time_assumption::release_recipe, time_base::not_multiplied, 430},
    time_uncertainty{"fp8", time_assumption::fp8_in_one_share, time_base::matmul, 100},
    time_uncertainty{"quantised", time_assumption::quantised_base, time_base::step, 80},
    time_uncertainty{"best_matmul", time_assumption::best_matmul_assumed, time_base::matmul, 300},
    time_uncertainty{"another_gpu", time_assumption::rates_of_another_gpu, time_base::step, 200},
    time_uncertainty{"processor_update", time_assumption::host_update, time_base::offload, 500},
    time_uncertainty{"mixed", time_assumption::mixed_kinds, time_base::step, 100},
};

constexpr seconds base_of(const step_cost& c, time_base b) {
  switch (b) {
    case time_base::launch: return c.launch;
    case time_base::communication: return c.communication;
    case time_base::data_parallel: return c.data_parallel;
    case time_base::offload: return c.offload;
    case time_base::matmul: return c.matmul;
    case time_base::not_multiplied: return c.step - c.matmul - c.attention - c.bubble;
    case time_base::step: break;
  }
  return c.step;
}

struct seconds_range {
  seconds low{};
  seconds high{};
  [[nodiscard]] constexpr bool contains(seconds s) const { return low <= s && s <= high; }
};

/// Independent sources of error, added in quadrature. Errors are factors: a range reaches as many times up as down.
constexpr seconds_range bounds(const step_cost& c, confidence sure = {}) {
  double squares = 0;
  for (const auto& u : time_uncertainties) {
    const double one = c.assumptions.has(u.when) ? u.per_mille / 1000.0 * (base_of(c, u.of) / c.step) : 0.0;
    squares += one * one;
  }
  double root = squares;  // Newton's
  for (int i = 0; i < 40 && root > 0; ++i) root = (root + squares / root) / 2;
  const double reach = static_cast<double>(detail::deviations_of(sure)) / 1000 * root;
  const double factor = 1 + reach + reach * reach / 2;  // e^reach, nearly
  return {seconds{c.step.value / factor}, seconds{c.step.value * factor}};
}

}  // namespace headroom
