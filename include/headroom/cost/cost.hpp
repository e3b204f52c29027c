// Distributed under the Boost Software License, Version 1.0.
// cost(job): how long a step takes.
#pragma once

#include <headroom/cost/assumed.hpp>
#include <headroom/cost/pipeline.hpp>
#include <headroom/cost/stage_load.hpp>
#include <headroom/cost/states.hpp>

namespace headroom {

/// A step's time and where it goes, of the rank that sets the pace. The parts add up to `step`.
struct step_cost {
  seconds step{};
  seconds matmul{};         ///< linear layers
  seconds attention{};      ///< scores, and what they weigh
  seconds memory{};         ///< norms, activations, softmax where it is written out, weights and gradients read and written
  seconds communication{};  ///< tensor, expert, context and pipeline parallelism, as far as they are waited for
  seconds launch{};         ///< between kernels, and where the GPU waits for the processor
  seconds data_parallel{};  ///< gradients and parameters, as far as they are waited for
  seconds bubble{};         ///< the pipeline's
  seconds optimizer{};
  seconds offload{};        ///< PCIe and the processor's part of the update, as far as they are waited for
  flops model{};            ///< of all GPUs, recompute not counted, attention's whole square
  flops hardware{};         ///< … recompute counted
  double tokens{};          ///< of a step, of all data-parallel ranks
  double gpus{1};
  double peak{};            ///< FLOP/s of one GPU by its data sheet
  time_assumption_set assumptions{};

  [[nodiscard]] constexpr double tokens_per_second() const { return tokens / step.value; }
  [[nodiscard]] constexpr double tokens_per_second_per_gpu() const { return tokens / step.value / gpus; }
  [[nodiscard]] constexpr double model_tflops_per_gpu() const { return model.value / step.value / gpus / 1e12; }
  [[nodiscard]] constexpr double hardware_tflops_per_gpu() const { return hardware.value / step.value / gpus / 1e12; }
  [[nodiscard]] constexpr double mfu() const { return model.value / step.value / gpus / peak; }
};

namespace detail {

constexpr void check_cost(const job& j) {
  const auto& m = j.model;
  if (m.vision.kind != vision_kind::none || m.encoder.layers > 0)
    refuse("headroom: the step time of vision towers and encoder-decoder models is not predicted by this version");
  if (j.hardware.kinds() > 1)
    refuse("headroom: the step time of a mixed cluster is not predicted by this version; kinds of GPU", static_cast<std::int64_t>(j.hardware.kinds()));
  if (j.hardware.accelerator().maker == vendor::cpu) refuse("headroom: step time needs a GPU");
}

/// All that is the same whatever the times are; `waits`: a direction of a layer takes the processor longer than the GPU.
constexpr time_assumption_set assumed_of(const cost_scene& c, const gpu& g, const number_format& compute, bool waits) {
  using enum time_assumption;
  const auto& s = *c.job;
  const auto& j = *s.source;
  const auto& f = j.framework;
  time_assumption_set a;
  a.add(steady_state);
  a.add(rates_calibrated);
  a.add(rates_of_another_gpu, !has_calibrated_rates(g));
  a.add(best_matmul_assumed, g.matmul_tflops_x10 == 0);
  a.add(formats_without_units, lacks_units(g, compute));
  a.add(network_of_gpu, j.hardware.network_gbit == 0 && j.hardware.gpus() > c.on.links.domain);
  a.add(traffic_overlapped, s.data * c.layer.context > 1);
  a.add(even_experts, s.model.sparse());
  a.add(release_recipe, f.recipes_change);
  a.add(fp8_in_one_share, compute.bits == 8 && !lacks_units(g, compute));
  a.add(host_bound, waits);
  a.add(graphs_start_themselves, f.graphs != graph_capture::none);
  a.add(compiled_start, c.layer.compiled);
  a.add(quantised_base, !c.layer.quantised.empty());
  a.add(host_update, j.offload.optimizer != place::on_gpu);
  a.add(nvme_rate, j.offload.optimizer == place::on_nvme || j.offload.parameters == place::on_nvme);
  return a;
}

/// It refers to `s`, which must outlive it.
constexpr cost_scene cost_scene_of(const settled_job& s, const rates& share) {
  const auto& j = *s.source;
  const bool fast = s.layer.kernel == attention::flash3 || s.layer.kernel == attention::te;
  const double flash = fast ? share.flash_fast : j.framework.first_flash_kernels ? share.flash_first : share.flash;
  const auto& compute = j.precision.set() ? j.precision.compute : s.precision.compute;
  const bool captured = j.framework.graphs != graph_capture::none;
  cost_scene c{.job = &s, .layer = s.layer, .on = machine_of(j.hardware, *s.on, share, compute, flash, j.framework.fp8), .share = share, .trained = trained_modules(j, -1),
               .host_operation = captured ? 0.0 : s.layer.compiled ? share.host_compiled : share.host_operation};
  c.layer.model = &s.model;
  return c;
}

/// What each kind of layer and both ends take for a micro-batch, wherever they lie.
struct layer_passes {
  both_passes dense, sparse, first, last;
};
constexpr layer_passes passes_of(const cost_scene& c, const inventory& list) {
  const auto& m = c.job->model;
  both_passes dense, sparse;
  bool any_dense = !m.sparse();
  for (std::int64_t i = 0; i < m.layers && !any_dense; ++i) any_dense = !m.sparse_layer(i);
  if (any_dense) dense = layer_seconds(c, list, false);
  if (m.sparse()) sparse = layer_seconds(c, list, true);
  return {dense, sparse, embedding_seconds(c), head_seconds(c, list)};
}

/// … on the stages of a pipeline.
constexpr stage_load load_of(const cost_scene& c, const layer_passes& passes) {
  const auto& s = *c.job;
  const auto& m = s.model;
  const auto& d = s.source->parallel;
  auto dense = passes.dense, sparse = passes.sparse;
  const double again = recomputed_share(s);
  if (again < 1) {
    both_passes less;
    less.again = dense.again;
    dense.add(less, again - 1);
    less.again = sparse.again;
    sparse.add(less, again - 1);
  }
  auto load = load_stages(c, dense, sparse, passes.first, passes.last);

  if (d.pipeline > 1 && d.schedule != schedule::naive) {  // inputs are received, and gradients sent back; interleaved stages do it behind their work
    // Ranks of tensor parallelism send a part each (Narayanan et al. 2021, section 4.1).
    const double boundary = product(c.layer.tokens, m.hidden, c.layer.residual_width) / static_cast<double>(d.tensor);
    const double send = send_seconds(c.on.links, s.data * d.context * d.tensor, boundary);
    // DeepSpeed's engine receives and sends one after the other (runtime/pipe/schedule.py TrainSchedule), Megatron both at once.
    const double turns = s.source->sharding.kind == sharding_kind::zero ? 2 : 1;
    const auto add = [&](both_passes& t, double times) { t.forward.communication += times * send, t.backward.communication += times * send; };
    if (d.virtual_pipeline == 1) add(load.slowest, turns), add(load.sum, turns * static_cast<double>(d.pipeline));
  }
  return load;
}

/// The step and its parts. `n`: of a rank of the fullest stage.
constexpr step_cost step_of(const cost_scene& c, const stage_load& load, const rank_parameters& n) {
  const auto& s = *c.job;
  const auto& j = *s.source;
  const auto& d = j.parallel;
  const auto seconds_of_stage = [](const both_passes& t) {
    return stage_seconds{t.forward.total(), t.backward.total() + t.again.total(), t.backward.weights};
  };
  const auto slowest = seconds_of_stage(load.slowest), sum = seconds_of_stage(load.sum);
  const auto micros = static_cast<double>(j.batch.accumulation);
  const double piped = pipeline_seconds(d.schedule, d.pipeline, d.virtual_pipeline, j.batch.accumulation, slowest, sum);

  const bool on_gpu = j.offload.optimizer == place::on_gpu;
  step_cost r;
  const auto part = [&](double pass_seconds::* p) { return seconds{micros * (load.slowest.forward.*p + load.slowest.backward.*p + load.slowest.again.*p)}; };
  r.matmul = part(&pass_seconds::matmul);
  r.attention = part(&pass_seconds::attention);
  r.memory = part(&pass_seconds::memory);
  r.communication = part(&pass_seconds::communication);
  r.launch = seconds{micros * slowest.both()} - r.matmul - r.attention - r.memory - r.communication;
  r.bubble = seconds{piped - micros * slowest.both()};
  r.data_parallel = seconds{data_parallel_seconds(c, n, slowest.forward, slowest.backward)};
  r.optimizer = seconds{on_gpu ? n.trained / static_cast<double>(s.shards.optimizer) * update_bytes(s) / c.on.memory + c.share.step : c.share.step};
  if (on_gpu && s.optimizer.how == implementation::loop) r.optimizer = r.optimizer + seconds{n.tensors * c.host_operation};
  r.offload = seconds{offload_seconds(c, n, micros * slowest.both())};
  r.communication = r.communication + seconds{tied_seconds(c)};
  r.step = seconds{piped + tied_seconds(c)} + r.data_parallel + r.optimizer + r.offload;

  r.gpus = static_cast<double>(j.hardware.gpus());
  r.peak = c.on.peak;
  r.tokens = product(j.batch.micro, s.data) * micros * static_cast<double>(s.layer.sequence);
  return r;
}

}  // namespace detail

/// The time of a step of `j`, by rates of one's own.
/// Errors: job_error as of settle(), and for what is not predicted.
constexpr step_cost cost(const job& j, const rates& share) {
  using namespace detail;
  check_cost(j);
  const auto s = settle(j);
  const auto list = weights_of(s.model);
  const auto c = cost_scene_of(s, share);
  const auto load = load_of(c, passes_of(c, list));
  auto r = step_of(c, load, parameters_of(c, list, load.share));

  const auto& m = s.model;
  const double sequences = product(j.batch.micro, s.data) * static_cast<double>(j.batch.accumulation);
  const auto f = forward_flops_of(m, list, sequences, static_cast<double>(s.layer.sequence), causal_convention::whole_square);
  r.model = flops{3 * f.total()};
  double repeated = 0;
  if (j.recompute.mode == recompute_mode::full) repeated = recomputed_share(s) * (f.layers + f.attention);
  if (j.recompute.mode == recompute_mode::selective) {
    if (s.layer.policy == recompute_policy::every_other_matmul) repeated += f.layers / 2;
    if (s.layer.policy == recompute_policy::attention_only || s.layer.recomputes(recompute_module::core_attn)) repeated += f.attention;
  }
  r.hardware = flops{r.model.value + repeated};
  const auto waits = [](const both_passes& t) { return t.forward.host > t.forward.device() || t.backward.host > t.backward.device(); };
  r.assumptions = assumed_of(c, *s.on, j.precision.set() ? j.precision.compute : s.precision.compute, waits(load.slowest));
  return r;
}

/// The time of a step of `j`. A few hundred nanoseconds; usable in constant expressions.
/// Errors: job_error as of settle(), and for what is not predicted.
constexpr step_cost cost(const job& j) { return cost(j, rates_of(j.hardware.accelerator())); }

}  // namespace headroom
