// Distributed under the Boost Software License, Version 1.0.
// What each source of error of a step's time (cost/uncertainty.hpp) is proportional to.
#pragma once

#include <headroom/cost/step.hpp>
#include <headroom/cost/uncertainty.hpp>

namespace headroom {

/// What a source of error is proportional to, in one step.
constexpr seconds base_of(const step_cost& c, time_base b) {
  switch (b) {
    case time_base::attention: return c.attention;
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

namespace detail {

/// One standard deviation of a source in thousandths of a step, where it applies.
constexpr double share_of(const time_uncertainty& u, const step_cost& c) {
  return c.assumptions.has(u.when) ? u.per_mille / 1000.0 * (base_of(c, u.of) / c.step) : 0.0;
}

}  // namespace detail

}  // namespace headroom
