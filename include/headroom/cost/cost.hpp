// Distributed under the Boost Software License, Version 1.0.
// cost(job): how long a step takes.
#pragma once

#include <headroom/cost/layer.hpp>
#include <headroom/cost/pipeline.hpp>
#include <headroom/layout/stages.hpp>
#include <headroom/step/layer_runs.hpp>

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

  [[nodiscard]] constexpr double tokens_per_second() const { return tokens / step.value; }
  [[nodiscard]] constexpr double tokens_per_second_per_gpu() const { return tokens / step.value / gpus; }
  [[nodiscard]] constexpr double model_tflops_per_gpu() const { return model.value / step.value / gpus / 1e12; }
  [[nodiscard]] constexpr double hardware_tflops_per_gpu() const { return hardware.value / step.value / gpus / 1e12; }
  [[nodiscard]] constexpr double mfu() const { return model.value / step.value / gpus / peak; }
};

namespace detail {

/// Parameters of one rank of the fullest stage, before sharding.
struct rank_parameters {
  double all{};
  double trained{};
  double tensors{};  ///< weight tensors that train
};
/// `share_of_layers`: of the model's, on that stage.
constexpr rank_parameters parameters_of(const cost_scene& c, const inventory& list, double share_of_layers) {
  const auto& s = *c.job;
  rank_parameters r;
  for (const auto& w : list) {
    auto n = static_cast<double>(w.elements()) * static_cast<double>(w.copies());
    auto copies = static_cast<double>(w.copies());
    if (w.split != split_axis::none) n /= static_cast<double>(w.expert ? c.layer.expert_tensor : c.layer.tensor);
    if (w.expert) n /= static_cast<double>(c.layer.expert), copies /= static_cast<double>(c.layer.expert);
    if (w.layers.count > 0) n *= share_of_layers, copies *= share_of_layers;
    r.all += n;
    if (c.trained.has(w.role) && !w.frozen) r.trained += n, r.tensors += copies;
    if (w.linear && s.source->adapter.active() && s.source->adapter.targets.has(w.role)) {
      r.trained += static_cast<double>(w.rows + w.columns) * static_cast<double>(s.source->adapter.rank * w.copies()) * share_of_layers;
      r.tensors += 2 * copies;
    }
  }
  return r;
}

/// Bytes that an optimizer moves for a parameter: gradient, state and weights, read and written. Lists of tensors and single tensors
/// run each of Adam's dozen operations as a kernel of its own (torch/optim/adam.py): about three times the bytes. The norm reads
/// gradients, clipping reads and writes them, zeroing writes them.
constexpr double update_bytes(const settled_job& s) {
  const auto& p = s.precision;
  const auto gradient = static_cast<double>(p.gradients.width());
  const auto parameter = static_cast<double>(p.parameters.width());
  const double weights = p.master.present() ? 2 * static_cast<double>(p.master.width()) + parameter : 2 * parameter;
  const double state = 2 * static_cast<double>(s.optimizer.moments * s.optimizer.state.bits) / 8;
  return (s.optimizer.how == implementation::fused ? 1.0 : 3.0) * (gradient + weights + state) + 4 * gradient;
}

/// What overlapped traffic adds to the compute it hides behind: what sticks out, and the share by which the two slow each other.
constexpr double beside(double traffic, double compute, double stall) {
  const double hidden = traffic < compute ? traffic : compute;
  return traffic - hidden + stall * hidden;
}

/// Gradients and parameters between data-parallel ranks, as far as a step waits for them.
constexpr double data_parallel_seconds(const cost_scene& c, const rank_parameters& n, double forward, double backward) {
  const auto& s = *c.job;
  const auto& j = *s.source;
  const auto& f = c.on.links;
  const std::int64_t ranks = s.data * c.layer.context;
  if (ranks <= 1) return 0.0;
  const auto micros = static_cast<double>(j.batch.accumulation);
  const rank_group all{ranks, c.layer.tensor};
  const auto shard = j.sharding.mics_shard_size > 0 ? j.sharding.mics_shard_size : ranks / j.parallel.replicate;
  const rank_group shards{shard, c.layer.tensor}, copies{ranks / shard, c.layer.tensor * shard};
  const double reduced = n.trained * static_cast<double>(s.precision.reduce.width());
  const double gathered = n.all * (j.framework.gathers_in_fp8 ? 1.0 : static_cast<double>(c.layer.width));
  const auto kind = j.sharding.kind;
  const bool fsdp = kind == sharding_kind::fsdp1 || kind == sharding_kind::fsdp2 || kind == sharding_kind::megatron_fsdp;
  if (fsdp || (kind == sharding_kind::zero && j.sharding.stage == 3)) {
    const double scatter = gather_seconds(f, shards, reduced) + reduce_seconds(f, copies, reduced / static_cast<double>(shard));
    const bool again = j.sharding.stage == 3 && j.sharding.reshard_after_forward != choice::no;
    const double gather = gather_seconds(f, shards, gathered);
    const double each = beside(gather, forward, c.share.stall) + beside((again ? gather : 0.0) + (j.sharding.no_sync ? 0.0 : scatter), backward, c.share.stall);
    return micros * each + (j.sharding.no_sync ? beside(scatter, backward, c.share.stall) : 0.0);
  }
  if (kind == sharding_kind::zero && j.sharding.stage == 2) {
    const double scatter = gather_seconds(f, all, reduced);
    const bool overlaps = chosen(j.sharding.overlap_comm, false);
    return micros * (overlaps ? beside(scatter, backward, c.share.stall) : scatter) + gather_seconds(f, all, gathered);
  }
  if (kind == sharding_kind::zero || kind == sharding_kind::megatron_distributed_optimizer) {
    // Reduced once, behind the last backward or after it; shards of the updated parameters are gathered.
    const bool megatron = kind == sharding_kind::megatron_distributed_optimizer;
    double scatter = megatron ? gather_seconds(f, shards, reduced) + reduce_seconds(f, copies, reduced / static_cast<double>(shard)) : reduce_seconds(f, all, reduced);
    double gather = j.sharding.stage > 0 ? gather_seconds(f, shards, n.trained * static_cast<double>(s.precision.parameters.width())) : 0.0;
    if (j.framework.overlaps_gradients || j.sharding.overlap_comm == choice::yes) scatter = beside(scatter, backward, c.share.stall);
    if (j.framework.overlaps_parameters) gather = beside(gather, forward, c.share.stall);
    return scatter + gather;
  }
  const double reduce = reduce_seconds(f, all, reduced);
  const bool overlaps = j.framework.layers == layer_modules::eager || j.framework.overlaps_gradients;  // DDP's buckets
  return overlaps ? beside(reduce, backward, c.share.stall) : reduce;
}

/// What the slowest stage takes for a micro-batch, and all of them together.
struct stage_load {
  both_passes slowest{}, sum{};
  double share{1};  ///< of the layers, on the fullest stage
};
constexpr stage_load load_stages(const cost_scene& c, const both_passes& dense, const both_passes& sparse, const both_passes& first, const both_passes& last) {
  const auto& s = *c.job;
  const auto& d = s.source->parallel;
  const auto& m = s.model;
  stage_load r;
  const auto layers = [&](both_passes& t, double from, double count) {
    if (!m.sparse()) return t.add(dense, count);
    for (double i = from; i < from + count; ++i) t.add(m.sparse_layer(static_cast<std::int64_t>(i)) ? sparse : dense);
  };
  layers(r.sum, 0, static_cast<double>(m.layers));
  r.sum.add(first);
  r.sum.add(last);
  if (m.mtp_layers > 0) r.sum.add(m.sparse() ? sparse : dense, static_cast<double>(m.mtp_layers));
  if (d.pipeline == 1) {
    r.slowest = r.sum;
    return r;
  }
  const auto chunks = d.pipeline * d.virtual_pipeline;
  const bool given = d.chunks > 0 || d.first_stage_layers > 0 || d.last_stage_layers > 0;
  const bool even = given || m.layers % chunks == 0;
  double most = 0;
  const auto consider = [&](const both_passes& t, double count) {
    if (t.forward.total() + t.backward.total() + t.again.total() > r.slowest.forward.total() + r.slowest.backward.total() + r.slowest.again.total()) r.slowest = t;
    if (count > most) most = count;
  };
  for (std::int64_t stage = 0; stage < d.pipeline; ++stage) {
    both_passes t;
    double count = 0;
    if (even) {
      const stage_cut cut(d, m.layers);
      cut.for_each(stage, [&](const layer_chunk& k) {
        if (d.schedule == schedule::dualpipe && count > 0) return;
        layers(t, static_cast<double>(k.first), static_cast<double>(k.count));
        count += static_cast<double>(k.count);
      });
    } else {  // as many more on the first stages
      const auto low = m.layers / d.pipeline;
      count = static_cast<double>(low + (stage < m.layers % d.pipeline ? 1 : 0));
      layers(t, static_cast<double>(stage * low), count);
    }
    if (stage == 0) t.add(first);
    if (stage == d.pipeline - 1) {
      t.add(last);
      if (m.mtp_layers > 0) t.add(m.sparse() ? sparse : dense, static_cast<double>(m.mtp_layers));
    }
    consider(t, count);
  }
  r.share = most / static_cast<double>(m.layers);
  return r;
}

/// Layers that are computed again, of those that could be.
constexpr double recomputed_share(const settled_job& s) {
  const auto& r = s.source->recompute;
  if (r.mode != recompute_mode::full) return 1.0;
  const auto& d = s.source->parallel;
  const auto each = s.source->framework.layers == layer_modules::megatron ? s.model.layers / (d.pipeline * d.virtual_pipeline) : s.model.layers;
  if (r.method != recompute_method::block || r.layers <= 0 || r.layers >= each) return 1.0;
  return static_cast<double>(r.layers) / static_cast<double>(each);
}

/// PCIe, and the update on the processor.
constexpr double offload_seconds(const cost_scene& c, const rank_parameters& n, double compute) {
  const auto& s = *c.job;
  const auto& o = s.source->offload;
  const auto& d = s.source->hardware;
  double r = 0;
  const auto micros = static_cast<double>(s.source->batch.accumulation);
  const auto width = static_cast<double>(c.layer.width);
  if (o.optimizer != place::on_gpu) {
    const double mine = n.trained / static_cast<double>(s.shards.optimizer);
    r += 2 * mine * width / c.on.pcie;
    r += mine * update_bytes(s) * static_cast<double>(d.gpus_per_node) / (o.optimizer == place::on_nvme ? c.share.nvme : c.share.host_memory);
  }
  if (o.parameters != place::on_gpu) r += beside(micros * 2 * n.all / static_cast<double>(s.shards.parameters) * width / (o.parameters == place::on_nvme ? c.share.nvme / static_cast<double>(d.gpus_per_node) : c.on.pcie), compute, c.share.stall);
  if (o.activations != place::on_gpu)
    r += beside(micros * 2 * static_cast<double>(c.layer.stream_tokens()) * static_cast<double>(s.model.hidden * s.model.layers) * width / c.on.pcie, compute, c.share.stall);
  return r;
}

constexpr void check_cost(const job& j) {
  const auto& m = j.model;
  if (m.vision.kind != vision_kind::none || m.encoder.layers > 0) refuse("headroom: the step time of vision towers and encoder-decoder models is not predicted by this version");
  if (j.hardware.kinds() > 1) refuse("headroom: the step time of a mixed cluster is not predicted by this version; kinds of GPU", static_cast<std::int64_t>(j.hardware.kinds()));
  if (j.hardware.accelerator().maker == vendor::cpu) refuse("headroom: step time needs a GPU");
}

}  // namespace detail

/// The time of a step of `j`, by rates of one's own.
/// Errors: job_error as of settle(), and for what is not predicted.
constexpr step_cost cost(const job& j, const rates& share) {
  using namespace detail;
  check_cost(j);
  const auto s = settle(j);
  const auto list = weights_of(s.model);
  const bool fast = s.layer.kernel == attention::flash3 || s.layer.kernel == attention::te;
  const double flash = fast ? share.flash_fast : j.framework.first_flash_kernels ? share.flash_first : share.flash;
  cost_scene c{.job = &s, .layer = s.layer, .on = machine_of(j.hardware, *s.on, share, j.precision.set() ? j.precision.compute : s.precision.compute, flash),
               .share = share, .trained = trained_modules(j, -1), .host_operation = s.layer.compiled ? share.host_compiled : share.host_operation};
  c.layer.model = &s.model;
  const auto& d = j.parallel;

  const auto& m = s.model;
  both_passes dense, sparse;
  bool any_dense = !m.sparse();
  for (std::int64_t i = 0; i < m.layers && !any_dense; ++i) any_dense = !m.sparse_layer(i);
  if (any_dense) dense = layer_seconds(c, list, false);
  if (m.sparse()) sparse = layer_seconds(c, list, true);
  const double again = recomputed_share(s);
  if (again < 1) {
    both_passes less;
    less.again = dense.again;
    dense.add(less, again - 1);
    less.again = sparse.again;
    sparse.add(less, again - 1);
  }
  const auto first = embedding_seconds(c), last = head_seconds(c, list);
  auto load = load_stages(c, dense, sparse, first, last);

  if (d.pipeline > 1 && d.schedule != schedule::naive) {  // each micro-batch's input is received, and its gradient sent back; interleaved stages do it behind their work
    // Ranks of tensor parallelism send a part each (Narayanan et al. 2021, section 4.1).
    const double boundary = static_cast<double>(c.layer.tokens * m.hidden * c.layer.residual_width) / static_cast<double>(d.tensor);
    const double send = send_seconds(c.on.links, s.data * d.context * d.tensor, boundary);
    const auto add = [&](both_passes& t, double times) { t.forward.communication += times * send, t.backward.communication += times * send; };
    if (d.virtual_pipeline == 1) add(load.slowest, 1), add(load.sum, static_cast<double>(d.pipeline));
  }

  const auto seconds_of_stage = [](const both_passes& t) {
    return stage_seconds{t.forward.total(), t.backward.total() + t.again.total(), t.backward.weights};
  };
  const auto slowest = seconds_of_stage(load.slowest), sum = seconds_of_stage(load.sum);
  const auto micros = static_cast<double>(j.batch.accumulation);
  const double piped = pipeline_seconds(d.schedule, d.pipeline, d.virtual_pipeline, j.batch.accumulation, slowest, sum);

  const auto n = parameters_of(c, list, load.share);
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
  r.optimizer = seconds{on_gpu ? n.trained / static_cast<double>(s.shards.optimizer) * update_bytes(s) / c.on.memory + share.step : share.step};
  if (on_gpu && s.optimizer.how == implementation::loop) r.optimizer = r.optimizer + seconds{n.tensors * c.host_operation};
  r.offload = seconds{offload_seconds(c, n, micros * slowest.both())};
  r.step = seconds{piped} + r.data_parallel + r.optimizer + r.offload;

  r.gpus = static_cast<double>(j.hardware.gpus());
  r.peak = c.on.peak;
  const double sequences = static_cast<double>(j.batch.micro * s.data) * micros;
  r.tokens = sequences * static_cast<double>(s.layer.sequence);
  const auto f = forward_flops_of(m, list, sequences, static_cast<double>(s.layer.sequence), causal_convention::whole_square);
  r.model = flops{3 * f.total()};
  double repeated = 0;
  if (j.recompute.mode == recompute_mode::full) repeated = again * (f.layers + f.attention);
  if (j.recompute.mode == recompute_mode::selective) {
    if (s.layer.policy == recompute_policy::every_other_matmul) repeated += f.layers / 2;
    if (s.layer.policy == recompute_policy::attention_only || s.layer.recomputes(recompute_module::core_attn)) repeated += f.attention;
  }
  r.hardware = flops{r.model.value + repeated};
  return r;
}

/// The time of a step of `j`. A few hundred nanoseconds; usable in constant expressions.
/// Errors: job_error as of settle(), and for what is not predicted.
constexpr step_cost cost(const job& j) { return cost(j, rates_of(j.hardware.accelerator())); }

}  // namespace headroom
