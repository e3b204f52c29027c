// Distributed under the Boost Software License, Version 1.0.
// cost(job): how long a step takes.
#pragma once

#include <headroom/cost/mixed.hpp>

namespace headroom {

namespace detail {

/// Whether a job's time is predicted, by its model and its GPUs. Refuses, or what `no` does instead.
template <class No = refusing>
constexpr objection check_cost(const job& j, const No& no = {}) {
  const auto& m = j.model;
  if (m.vision.kind != vision_kind::none || m.encoder.layers > 0)
    return no("headroom: the step time of vision towers and encoder-decoder models is not predicted by this version");
  for (std::size_t k = 0; k < j.hardware.kinds(); ++k)
    if (const auto why = check_rates(j.hardware.accelerator(k), no)) return why;
  return {};
}

/// Of all GPUs; recompute is not counted in `model`.
constexpr void count_flops(step_cost& r, const settled_job& s, const inventory& list) {
  const auto& j = *s.source;
  const double sequences = product(j.batch.micro, s.data) * static_cast<double>(j.batch.accumulation);
  const auto f = forward_flops_of(s.model, list, sequences, static_cast<double>(s.layer.sequence), causal_convention::whole_square);
  r.model = flops{3 * f.total()};
  double repeated = 0;
  if (j.recompute.mode == recompute_mode::full) repeated = recomputed_share(s) * (f.layers + f.attention);
  if (j.recompute.mode == recompute_mode::selective) {
    if (s.layer.policy == recompute_policy::every_other_matmul) repeated += f.layers / 2;
    if (s.layer.policy == recompute_policy::attention_only || s.layer.recomputes(recompute_module::core_attn)) repeated += f.attention;
  }
  r.hardware = flops{r.model.value + repeated};
}

template <class Rates>
[[gnu::noinline]] constexpr step_cost mixed_cost(const job& j, const Rates& rates_for) {
  mixed_stages stages(j, rates_for);
  auto r = stages.step(stages.load());
  count_flops(r, stages.settled(), stages.list());
  return r;
}

template <class Rates>
[[gnu::noinline]] constexpr step_cost uniform_cost(const job& j, const Rates& rates_for) {
  const auto s = settle(j);
  const auto list = weights_of(s.model);
  const auto c = cost_scene_of(s, rates_for(*s.on));
  const auto load = load_of(c, passes_of(c, list));
  auto r = step_of(c, load, parameters_of(c, list, load.share));
  count_flops(r, s, list);
  r.assumptions = assumed_of(c, load.slowest);
  return r;
}

/// `rates_for(gpu)`: a reference to its rates.
template <class Rates>
constexpr step_cost cost_by(const job& j, const Rates& rates_for) {
  check_cost(j);
  if (j.hardware.kinds() > 1) [[unlikely]] return mixed_cost(j, rates_for);
  return uniform_cost(j, rates_for);
}

}  // namespace detail

/// The time of a step of `j`, by rates of one's own, the same for every kind of GPU.
/// Errors: job_error as of settle(), and for what is not predicted.
constexpr step_cost cost(const job& j, const rates& share) {
  return detail::cost_by(j, [&](const gpu&) -> const rates& { return share; });
}

#ifdef HEADROOM_COMPILED
namespace compiled {
step_cost cost(const job& j);  ///< in the library headroom::compiled
}
#endif

/// The time of a step of `j`. A few hundred nanoseconds; usable in constant expressions.
/// Errors: job_error as of settle(), and for what is not predicted.
constexpr step_cost cost(const job& j) {
#ifdef HEADROOM_COMPILED
  if (__builtin_is_constant_evaluated())  // the operator itself, and in this order: see estimate()
    return detail::cost_by(j, rates_of);
  else
    return compiled::cost(j);
#else
  return detail::cost_by(j, rates_of);
#endif
}

}  // namespace headroom
