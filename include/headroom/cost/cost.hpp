// Distributed under the Boost Software License, Version 1.0.
// cost(job): how long a step takes.
#pragma once

#include <headroom/block/limits.hpp>
#include <headroom/cost/measured_step.hpp>
#include <headroom/cost/methods.hpp>
#include <headroom/cost/mixed.hpp>
#include <headroom/cost/spared.hpp>

namespace headroom {

namespace detail {

/// Whether a job's time is predicted, by its model and its GPUs. Refuses, or what `no` does instead.
template <class No = refusing>
constexpr objection check_cost(const job& j, const No& no = {}) {
  const auto& m = j.model;
  if (m.vision.kind != vision_kind::none || m.encoder.layers > 0) {
    if (!j.framework.modules.eager()) return no("headroom: the step time of vision towers and encoder-decoder models is predicted for trainers over PyTorch's own modules alone by this version; framework", j.framework.label);
    if (j.objective.kind != objective_kind::sft) return no("headroom: the step time of vision towers and encoder-decoder models is predicted for objective \"sft\" alone by this version");
  }
  if (const auto why = check_method_cost(j, no)) return why;
  if (j.rollout.by != completion_writer::unset) return no("headroom: the time of completions that a teacher writes is not predicted by this version; leave rollout.model out");
  if (chunks_by_trl(j)) return no("headroom: the step time of TRL's chunked_nll is not predicted by this version; loss.kind must be full");
  if (j.fake_quantization.active()) return no("headroom: the step time of fake quantisation, whose many small kernels take a large part of it, is not predicted by this version; fake_quantization.group", j.fake_quantization.group);
  if (j.framework.modules.megatron() && j.offload.optimizer != place::on_gpu) return no("headroom: the step time of Megatron's optimizer on the host is not predicted by this version; offload.optimizer must be none");
  if (m.pattern.given() && j.framework.modules.megatron() && (j.parallel.context > 1 || m.mtp_layers > 0))
    return no("headroom: the step time of patterns of layer kinds (model.pattern) under Megatron is predicted only without context parallelism and multi-token prediction by this version; parallel.context must be 1, and model.mtp_layers 0");
  for (std::size_t k = 0; k < j.hardware.kinds(); ++k)
    if (const auto why = check_rates(j.hardware.accelerator(k), no)) return why;
  return {};
}

/// What the layers of one's own of a model compute beside their matrices in a forward of `sequences`.
constexpr double own_flops(const settled_job& s, double sequences, const auto& layers) {
  scene sc = s.layer;
  sc.model = &s.model;
  const double micros = sequences / static_cast<double>(sc.samples) * static_cast<double>(sc.tensor) * static_cast<double>(sc.context);
  double r = 0;
  for (const auto& k : kinds_of(s.model))
    if (layers.replaces(k.kind)) r += layers.flops(sc, k.kind).model * micros * static_cast<double>(k.count);
  return r;
}

/// Of all GPUs; recompute is not counted in `model`.
template <class Layers>
constexpr void count_flops(step_cost& r, const settled_job& s, const inventory& list, const Layers& layers) {
  const auto& j = *s.source;
  const double sequences = product(j.batch.micro, s.data, sequences_of(j.objective)) * static_cast<double>(j.batch.accumulation);
  auto m = s.model;
  if (j.batch.images.none) m.vision = {};
  auto f = forward_flops_of(m, list, sequences, static_cast<double>(s.layer.sequence), causal_convention::whole_square, layers);
  if (s.layer.scoring.of_two_words && !j.framework.modules.megatron()) f.head = 0;
  if constexpr (Layers::any_own) {
    f.attention += own_flops(s, sequences, layers);
    r.assumptions.add(time_assumption::own_matrices_alone, !Layers::tells_all_flops);
  }
  r.model = flops{3 * f.total() - spared_flops(s, list, f, sequences) - spared_beside(s, m, sequences)};
  double repeated = 0;
  if (j.recompute.mode == recompute_mode::full) repeated = recomputed_share(s) * (f.layers + f.attention) * share_with_backward(j);
  if (j.recompute.mode == recompute_mode::selective) {
    if (s.layer.policy == recompute_policy::every_other_matmul) repeated += f.layers / 2;
    if (s.layer.policy == recompute_policy::attention_only || s.layer.recomputes(recompute_module::core_attn)) repeated += f.attention;
  }
  r.hardware = flops{r.model.value + repeated};
}

[[gnu::noinline]] constexpr step_cost mixed_cost(const job& j, const auto& rates_for, const auto& layers) {
  mixed_stages stages(j, rates_for, layers);
  auto r = stages.step(stages.load());
  count_flops(r, stages.settled(), stages.list(), layers);
  return r;
}

[[gnu::noinline]] constexpr step_cost uniform_cost(const job& j, const auto& rates_for, const auto& layers) {
  const auto s = settle(j);
  const auto list = layers.weights(s.model);
  const auto c = cost_scene_of(s, rates_for(*s.on));
  const auto load = load_of(c, passes_of(c, list, layers));
  const auto n = parameters_of(c, list, load.share);
  auto r = step_of(c, load, n);
  r.assumptions = assumed_of(c, load.slowest);
  if (j.objective.kind != objective_kind::sft) [[unlikely]] add_method(r, c, list, n, load.slowest.forward.host, rates_for, layers);
  count_flops(r, s, list, layers);
  return r;
}

/// `rates_for(gpu)`: a reference to its rates.
template <class Rates, class Layers = shipped_layers>
constexpr step_cost cost_by(const job& j, const Rates& rates_for, const Layers& layers = {}) {
  check_cost(j);
  check_layers(j, refusing{});
  check_division(j, refusing{});
  layers.check(j, refusing{});
  auto c = j.hardware.kinds() > 1 ? mixed_cost(j, rates_for, layers) : uniform_cost(j, rates_for, layers);
  if (j.measured.of_time()) [[unlikely]] correct_measured_step(c, j.measured, j.measured.search == fingerprint_of(j));
  return c;
}

}  // namespace detail

/// The time of a step of `j`, by rates of one's own, the same for every kind of GPU.
/// Errors: job_error as of settle(), and for what is not predicted.
constexpr step_cost cost(const job& j, const rates& share) {
  return detail::cost_by(j, [&](const gpu&) -> const rates& { return share; });
}

/// The time of a step of `j` with layers of one's own (block/own_layer.hpp), which may say by flops() what they compute beside their
/// matrices; of a layer that does not, that takes no time, and the answer says so (time_assumption::own_matrices_alone).
/// Errors: those of cost(job) and estimate(job, own).
template <own_stack Own>
constexpr step_cost cost(const job& j, const Own& own) {
  return detail::cost_by(j, rates_of, detail::layers_from(own));
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
