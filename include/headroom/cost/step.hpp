// Distributed under the Boost Software License, Version 1.0.
// A step's time and its parts, of one kind of GPU.
#pragma once

#include <headroom/cost/assumed.hpp>
#include <headroom/cost/pipeline.hpp>
#include <headroom/cost/sides.hpp>
#include <headroom/cost/stage_load.hpp>
#include <headroom/cost/states.hpp>

namespace headroom {

/// What a measured run says of a step's time (cost/measured_step.hpp).
struct measured_time {
  double moved{1};        ///< the factor by which it was corrected, all parts alike
  double left{1};         ///< share of its range
  double unexplained{1};  ///< of the measured run, the factor beyond the range: not carried to other jobs
};

/// A step's time in seconds and where it goes, of the rank that sets the pace. The parts add up to `step`.
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
  seconds other_models{};   ///< forwards of a reference, a teacher or a reward model, scores, a critic's step
  seconds generation{};     ///< completions
  seconds sync{};           ///< weights on their way to what generates, and what is moved out of its way
  flops model{};            ///< of all GPUs, recompute not counted, attention's whole square, no gradients of frozen weights
  flops hardware{};         ///< … recompute counted
  double tokens{};          ///< of a step, of all data-parallel ranks
  double gpus{1};
  double peak{};            ///< FLOP/s of one GPU by its data sheet
  time_assumption_set assumptions{};
  measured_time measured{};

  [[nodiscard]] constexpr double tokens_per_second() const { return tokens / step.value; }
  [[nodiscard]] constexpr double tokens_per_second_per_gpu() const { return tokens / step.value / gpus; }
  [[nodiscard]] constexpr double model_tflops_per_gpu() const { return model.value / step.value / gpus / 1e12; }
  [[nodiscard]] constexpr double hardware_tflops_per_gpu() const { return hardware.value / step.value / gpus / 1e12; }
  [[nodiscard]] constexpr double mfu() const { return model.value / step.value / gpus / peak; }
};

namespace detail {

/// Whether rows may hold several samples, each with attention of its own, of which the job does not say how long they are: packed ones, and those without a mask of
/// the Trainer's flash attention and of ms-swift over Megatron, which are told where a sample begins (transformers modeling_flash_attention_utils.py
/// _is_packed_sequence; ms-swift swift/megatron/utils/utils.py get_packed_seq_params).
constexpr bool holds_unknown_documents(const settled_job& s) {
  const auto& j = *s.source;
  if (j.batch.lengths.given() || j.rollout.given()) return false;
  const bool flash = s.layer.kernel == attention::flash || s.layer.kernel == attention::flash3;
  return j.batch.packed || (!j.batch.padded && ((flash && j.framework.lengths != micro_batch_lengths::one) || j.framework.adapters.parallel));
}

/// `slowest`: passes of the stage that sets the pace.
constexpr time_assumption_set assumed_of(const cost_scene& c, const both_passes& slowest) {
  using enum time_assumption;
  const auto& s = *c.job;
  const auto& j = *s.source;
  const auto& f = j.framework;
  const auto& g = *s.on;
  const auto& compute = s.multiplies;
  time_assumption_set a;
  a.add(steady_state);
  a.add(rates_calibrated);
  a.add(rates_of_another_gpu, !has_calibrated_rates(g));
  a.add(best_matmul_assumed, g.matmul_tflops_x10 == 0);
  a.add(formats_without_units, lacks_units(g, compute));
  a.add(network_of_gpu, j.hardware.network_gbit == 0 && j.hardware.gpus() > c.on.links.domain);
  a.add(traffic_overlapped, s.data * c.layer.context > 1);
  a.add(even_experts, s.model.sparse());
  a.add(release_recipe, f.recipes_change && !f.recipe.known);
  a.add(recipe_of_release, f.recipe.known);
  a.add(fp8_in_one_share, compute.bits <= 8 && !lacks_units(g, compute));
  a.add(host_bound, slowest.forward.host > slowest.forward.device() || slowest.backward.host > slowest.backward.device());
  a.add(graphs_start_themselves, f.graphs.capture != graph_capture::none || f.recipe.graphs != recipe_graphs::none);
  a.add(compiled_start, c.layer.compiled);
  a.add(quantised_base, !c.layer.quantised.empty());
  a.add(host_update, j.offload.optimizer != place::on_gpu || s.optimizer.on_host);
  a.add(documents_unknown, holds_unknown_documents(s));
  a.add(messages_polled, f.pipeline.polls_messages && j.parallel.pipeline > 1);
  a.add(nvme_rate, j.offload.optimizer == place::on_nvme || place_of_parameters(j) == place::on_nvme);
  return a;
}

/// It refers to `s`, which must outlive it.
constexpr cost_scene cost_scene_of(const settled_job& s, const rates& share) {
  const auto& j = *s.source;
  const bool fast = s.layer.kernel == attention::flash3 || s.layer.kernel == attention::te || detail::prefers_cudnn(s);
  const double flash = fast ? share.flash_fast : j.framework.attention.first_flash_kernels ? share.flash_first : share.flash;
  const auto& compute = s.multiplies;
  const bool captured = j.framework.graphs.capture != graph_capture::none || j.framework.recipe.graphs != recipe_graphs::none;
  const bool kernels = j.framework.autocast.over_16bit && !s.layer.compiled;  // transformers' classes in its Trainer: an operation is two kernels at most
  cost_scene c{.job = &s, .layer = s.layer, .on = machine_of(j.hardware, *s.on, share, compute, flash, j.framework.fp8.scaling), .share = share, .trained = trained_modules(j, -1),
               .host_operation = captured ? 0.0 : s.layer.compiled ? share.host_compiled : kernels ? (j.adapter.active() ? 1 : 2) * share.host_kernel : share.host_operation, .flow = share_with_backward(j)};
  c.host_kernel = kernels ? share.host_kernel : c.host_operation;
  if (kernels || j.framework.modules.nanotron() || j.framework.recipe.graphs == recipe_graphs::step) c.share.gap = share.kernel_gap;
  c.layer.model = &s.model;
  return c;
}

/// What layers and both ends take for a micro-batch, wherever they lie. Of several kinds in one place (megatron::place_of), the mean.
template <class Layers = shipped_layers>
constexpr layer_passes passes_of(const cost_scene& c, const inventory& list, const Layers& walked = {}) {
  layer_passes r;
  r.first = embedding_seconds(c, list);
  if (c.job->model.encoder.layers > 0 || c.job->model.vision.kind != vision_kind::none) [[unlikely]] r.first.add(sides_seconds(c));
  r.last = head_seconds(c, list);
  const auto kinds = kinds_of(c.job->model);
  both_passes* const means[megatron::kind_places] = {&r.dense, &r.sparse, &r.plain, &r.scans};
  for (std::size_t place = 0; place < megatron::kind_places; ++place) {
    std::int64_t layers = 0, alike = 0;
    for (const auto& k : kinds)
      if (megatron::place_of(k.kind) == place) layers += k.count, ++alike;
    for (const auto& k : kinds) {
      if (megatron::place_of(k.kind) != place) continue;
      if (alike == 1)
        *means[place] = layer_seconds(c, list, k, walked);
      else
        means[place]->add(layer_seconds(c, list, k, walked), static_cast<double>(k.count) / static_cast<double>(layers));
    }
  }
  return r;
}

/// … with as much of them as the job recomputes.
constexpr layer_passes recomputed(layer_passes p, const settled_job& s) {
  const double again = recomputed_share(s);
  if (again < 1) {
    both_passes less;
    for (auto* part : {&p.dense, &p.sparse, &p.plain, &p.scans}) {
      less.again = part->again;
      part->add(less, again - 1);
    }
  }
  return p;
}

/// nanotron sends one message after the other and hides none: hidden states and a mask of the sequences in forward, a gradient in backward, each
/// behind two messages about it (parallel/pipeline_parallel/p2p.py). Each rank of tensor parallelism sends what it has of the stream. Of both
/// directions the mean.
constexpr double nanotron_sends(const cost_scene& c, const fabric& links) {
  const auto& s = *c.job;
  const auto& d = s.source->parallel;
  const double stream = product(c.layer.stream_tokens(), s.model.hidden, c.layer.residual_width);
  const double received = 9 * links.latency + 2 * (send_seconds(links, s.data * d.context * d.tensor, stream) - links.latency);
  return 2 * received / 2;  // received from one neighbour, sent to the other
}

/// What a stage receives and sends in each direction; interleaved stages do it behind their work. Ranks of tensor parallelism send a part
/// each (Narayanan et al. 2021, section 4.1).
constexpr double between_stages(const cost_scene& c, const fabric& links) {
  const auto& s = *c.job;
  const auto& d = s.source->parallel;
  if (d.pipeline == 1 || properties_of(d.schedule).one_process || d.virtual_pipeline > 1) return 0.0;
  if (s.source->framework.modules.nanotron()) return nanotron_sends(c, links);
  const double boundary = product(c.layer.tokens, s.model.hidden, c.layer.residual_width) / static_cast<double>(d.tensor);
  const double send = send_seconds(links, s.data * d.context * d.tensor, boundary);
  // DeepSpeed's engine receives and sends one after the other (runtime/pipe/schedule.py TrainSchedule), Megatron both at once.
  return s.source->sharding.by(sharder::deepspeed) ? 2 * send : send;
}
constexpr void add_sends(both_passes& t, double seconds) { t.forward.communication += seconds, t.backward.communication += seconds; }

/// … on the stages of a pipeline, whose kinds are known.
constexpr stage_load load_of(const cost_scene& c, const layer_passes& passes, const auto& kinds) {
  auto load = load_stages(*c.job, recomputed(passes, *c.job), kinds);
  const double sends = between_stages(c, c.on.links);
  if (sends > 0) add_sends(load.slowest, sends), add_sends(load.sum, sends * static_cast<double>(c.job->source->parallel.pipeline));
  return load;
}

constexpr stage_load load_of(const cost_scene& c, const layer_passes& passes) {
  return load_of(c, passes, [&](auto&& visit) { for_each_kind_of_stage(*c.job, visit); });
}

/// The step and its parts. `n`: of a rank of the fullest stage; `ends`: what joins the first stage and the last.
constexpr step_cost step_of(const cost_scene& c, const stage_load& load, const rank_parameters& n, const fabric& ends) {
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
  if (j.framework.autocast.over_16bit) r.launch = r.launch + seconds{c.share.host_step};
  cover forward{micros * slowest.forward, c.share.stall}, backward{micros * slowest.backward, c.share.stall};
  r.data_parallel = seconds{data_parallel_seconds(c, n, forward, backward)};
  r.optimizer = seconds{on_gpu ? updated_of(c, n) * update_bytes(s) / c.on.memory + c.share.step : c.share.step};
  if (on_gpu && s.optimizer.how == implementation::loop) r.optimizer = r.optimizer + seconds{n.tensors * c.host_operation};
  r.offload = seconds{offload_seconds(c, n, load.slowest.forward.away, {forward.left + backward.left, c.share.stall})};
  r.communication = r.communication + seconds{tied_seconds(c, ends)};
  r.step = r.matmul + r.attention + r.memory + r.communication + r.launch + r.bubble + r.data_parallel + r.optimizer + r.offload;

  r.gpus = static_cast<double>(j.hardware.gpus());
  r.peak = c.on.peak;
  r.tokens = product(j.batch.micro, s.data, sequences_of(j.objective)) * micros * static_cast<double>(s.layer.sequence);
  return r;
}
constexpr step_cost step_of(const cost_scene& c, const stage_load& load, const rank_parameters& n) { return step_of(c, load, n, c.on.links); }

}  // namespace detail

}  // namespace headroom
