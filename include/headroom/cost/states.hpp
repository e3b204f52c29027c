// Distributed under the Boost Software License, Version 1.0.
// What a step does beside its micro-batches: gradients and parameters between data-parallel ranks, the update, offloaded states.
#pragma once

#include <headroom/cost/collectives.hpp>
#include <headroom/cost/layer_parts.hpp>
#include <headroom/layout/zero_sizes.hpp>
#include <headroom/states/adapted_weight.hpp>

namespace headroom::detail {

/// Parameters of one rank of the fullest stage, before sharding.
struct rank_parameters {
  double all{};
  double trained{};
  double experts{};  ///< routed experts' among those that train
  double tensors{};  ///< weight tensors that train
  double gathers{};  ///< of ZeRO's third stage, in one pass
};
/// `share_of_layers`: of the model's, on that stage.
constexpr rank_parameters parameters_of(const cost_scene& c, const inventory& list, double share_of_layers) {
  const auto& s = *c.job;
  rank_parameters r;
  const bool adapted = s.source->adapter.active();
  const auto prefetch = static_cast<double>(zero_sizes_of(s.source->sharding).prefetch);
  for (const auto& w : list) {
    auto n = static_cast<double>(w.elements()) * static_cast<double>(w.copies());
    const bool joined = s.source->framework.modules.nanotron() && (w.role == module::k_proj || w.role == module::v_proj || w.role == module::up_proj);
    auto copies = joined ? 0.0 : static_cast<double>(w.copies());  // one tensor with queries, or the gate
    if (w.split != split_axis::none) n /= static_cast<double>(w.expert ? c.layer.expert_tensor : c.layer.tensor);
    if (w.expert) n /= static_cast<double>(c.layer.expert), copies /= static_cast<double>(c.layer.expert);
    if (w.layers.count > 0) n *= share_of_layers, copies *= share_of_layers;
    r.all += n;
    r.gathers += copies * (product(w.elements()) < prefetch ? product(w.elements()) / prefetch : 1.0);
    if (const auto share = w.frozen ? 0.0 : trained_share(*s.source, c.trained, w); share > 0) r.trained += share * n, r.experts += w.expert ? share * n : 0, r.tensors += share * copies;
    if (s.source->framework.adapters.parallel && adapted) {
      const auto beside = adapter_elements(s, w);
      r.trained += static_cast<double>(beside) * (w.layers.count > 0 ? share_of_layers : 1.0) * static_cast<double>(w.copies()) / static_cast<double>(w.expert ? c.layer.expert : 1);
      r.tensors += beside > 0 ? 2 * copies : 0;
    } else if (const auto beside = w.linear ? s.source->adapter.beside(w, w.copies()) : 0; beside > 0) {
      r.trained += static_cast<double>(w.rows + w.columns) * product(s.source->adapter.rank, beside) * share_of_layers;
      r.tensors += 2 * copies * static_cast<double>(beside) / static_cast<double>(w.copies());
    }
  }
  if (adapts_tied_head(s)) {
    const auto w = tied_head(s);
    r.trained += static_cast<double>(w.rows + w.columns) * static_cast<double>(s.source->adapter.rank) * share_of_layers;
    r.tensors += 2 * share_of_layers;
  }
  return r;
}

/// Parameters of which a rank has the optimizer's state: experts' are divided among the ranks with the same ones alone.
constexpr double updated_of(const cost_scene& c, const rank_parameters& n) {
  const auto ranks = c.job->shards.optimizer, held = c.layer.expert * c.layer.expert_tensor, like = held > 1 && ranks > 1 ? ranks * c.layer.tensor / held : ranks;
  return (n.trained - n.experts) / static_cast<double>(ranks) + n.experts / static_cast<double>(like > 1 ? like : 1);
}

/// Bytes that an optimizer moves for a parameter: gradient, state and weights, read and written. Lists of tensors and single tensors
/// run each of Adam's dozen operations as a kernel of its own (torch/optim/adam.py): about three times the bytes. The norm reads
/// gradients, clipping reads and writes them, zeroing writes them.
constexpr double update_bytes(const settled_job& s) {
  const auto& p = s.precision;
  const auto gradient = static_cast<double>(p.gradients.width());
  const auto parameter = static_cast<double>(p.parameters.width());
  const double weights = p.master.present() ? 2 * static_cast<double>(p.master.width()) + parameter : 2 * parameter;
  const double state = 2 * product(s.optimizer.moments, s.optimizer.state.bits) / 8;
  return (s.optimizer.how == implementation::fused ? 1.0 : 3.0) * (gradient + weights + state) + 4 * gradient;
}

/// Compute of a step, all its micro-batches, that traffic hides behind. It hides once: where one transfer has hidden, no other does, so that a step
/// never becomes shorter where its compute takes longer.
struct cover {
  double left{};   ///< seconds that nothing hides behind yet
  double stall{};  ///< share by which the two slow each other
  /// What traffic adds to the step: what sticks out of the compute it may hide `within`, and what it slows.
  constexpr double beside(double traffic, double within) {
    double hidden = traffic < within ? traffic : within;
    if (hidden > left) hidden = left;
    left -= hidden;
    return traffic - hidden + stall * hidden;
  }
  constexpr double beside(double traffic) { return beside(traffic, left); }
};

/// Of `whole` bytes a share is experts', which only ranks with the same experts exchange: fewer, each `held` GPUs from the next, so that no node's networks are shared.
/// Sources: Megatron-LM core/parallel_state.py get_expert_data_parallel_group, core/distributed/distributed_data_parallel.py (buffers of their own); torchtitan
/// distributed/parallel_dims.py (a mesh of their own).
constexpr double spread_seconds(double (*seconds)(const fabric&, const rank_group&, double), const fabric& f, const rank_group& g, double whole, double experts, std::int64_t held) {
  if (held <= 1 || experts <= 0) return seconds(f, g, whole);
  const auto like = g.size * g.stride / held;
  return seconds(f, g, (1 - experts) * whole) + seconds(f, {like > 1 ? like : 1, held}, experts * whole);
}

/// Gradients and parameters between data-parallel ranks, as far as a step waits for them.
constexpr double data_parallel_seconds(const cost_scene& c, const rank_parameters& n, cover& forward, cover& backward) {
  const auto& s = *c.job;
  const auto& j = *s.source;
  const auto& f = c.on.links;
  const std::int64_t ranks = s.data * c.layer.context;
  if (ranks <= 1) return 0.0;
  const auto micros = static_cast<double>(j.batch.accumulation);
  const double one_forward = forward.left / micros, one_backward = backward.left / micros;
  const rank_group all{ranks, c.layer.tensor};
  const auto shard = j.sharding.mics_shard_size > 0 ? j.sharding.mics_shard_size : ranks / j.parallel.replicate;
  const rank_group shards{shard, c.layer.tensor}, copies{ranks / shard, c.layer.tensor * shard};
  const double reduced = n.trained * static_cast<double>(s.precision.reduce.width());
  const double gathered = n.all * (j.framework.sharding.gathers_in_fp8 ? 1.0 : static_cast<double>(c.layer.width));
  const double experts = n.trained > 0 ? n.experts / n.trained : 0.0;
  const auto held = c.layer.expert * c.layer.expert_tensor;
  const auto spread = [&](const rank_group& g, double whole) { return spread_seconds(gather_seconds, f, g, whole, experts, held); };
  const auto& z = j.sharding;
  const bool deepspeed = z.by(sharder::deepspeed) && !(j.framework.modules.nanotron() && !z.cuts(sharded_state::optimizer));  // its stage 0 is DDP
  if (z.gathers_units() || (deepspeed && z.cuts(sharded_state::weights))) {
    // A ring's rounds are those of each collective: of FSDP's units, of what DeepSpeed fetches at once (runtime/zero/partitioned_param_coordinator.py
    // fetch_sub_module) and of its buckets.
    const auto units = static_cast<double>(s.model.layers + 1), round = start_up(f, shards) + ring_rounds(f, shards);
    const auto more = [&](double pieces) { return pieces > 1 ? (pieces - 1) * round : 0.0; };
    const double buckets = deepspeed ? n.trained / static_cast<double>(zero_sizes_of(j.sharding).reduce_bucket) : units;
    const double scatter = spread(shards, reduced) + more(buckets) + reduce_seconds(f, copies, reduced / static_cast<double>(shard));
    const bool again = j.sharding.stage == 3 && j.sharding.reshard_after_forward != choice::no;
    double gather = spread(shards, gathered) + more(deepspeed ? n.gathers : units), back = again ? gather : 0.0;  // the mean of all forwards, and a backward's
    if (s.shards.secondary > 1) {
      // ZeRO++ hpZ (Wang et al. 2023, section 3.2): a parameter is gathered from the second copy, within its partition, from when the first forward has made
      // it until the update makes it invalid; frozen ones stay valid (deepspeed runtime/zero/partition_parameters.py _all_gather_dtype,
      // use_secondary_tensor; stage3.py invalidate_secondary_tensor).
      const rank_group near{s.shards.secondary, c.layer.tensor};
      const double trained = n.trained < n.all ? n.trained / n.all : 1.0;
      const double later = gather_seconds(f, near, gathered);
      const double first = (trained > 0 ? gather_seconds(f, shards, trained * gathered) : 0.0) + (trained < 1 ? gather_seconds(f, near, (1 - trained) * gathered) : 0.0);
      gather = (first + (micros - 1) * later) / micros;
      back = again ? later : 0.0;
    }
    // Nothing hides the first unit's gather and the last one's scatter.
    const double sticks_out = (gather + (j.sharding.no_sync ? 0.0 : scatter)) / units;
    const double each = forward.beside(micros * gather) + backward.beside(micros * (back + (j.sharding.no_sync ? 0.0 : scatter)));
    return each + micros * sticks_out + (j.sharding.no_sync ? backward.beside(scatter, backward.left / micros) + scatter / units : 0.0);
  }
  if (deepspeed && z.cuts(sharded_state::gradients)) {
    const double scatter = spread(all, reduced);
    const bool overlaps = chosen(j.sharding.overlap_comm, false);
    return (overlaps ? backward.beside(micros * scatter) : micros * scatter) + spread(all, gathered);
  }
  if (deepspeed || z.distributes_optimizer()) {
    // Reduced once, behind the last backward or after it; shards of the updated parameters are gathered.
    double scatter = spread_seconds(reduce_seconds, f, all, reduced, experts, held);
    if (!deepspeed) scatter = spread(shards, reduced) + reduce_seconds(f, copies, reduced / static_cast<double>(shard));
    double gather = j.sharding.stage > 0 || z.distributes_optimizer() ? spread(shards, n.trained * static_cast<double>(s.precision.parameters.width())) : 0.0;
    if (j.framework.communication.overlaps_gradients || j.sharding.overlap_comm == choice::yes) scatter = backward.beside(scatter, one_backward);
    if (j.framework.communication.overlaps_parameters) gather = forward.beside(gather, one_forward);
    if (j.framework.communication.broadcasts_updated && !deepspeed) {
      // A broadcast passes from node to node; whole tensors are dealt to ranks, so that no more of these than there are tensors have one to send.
      const auto senders = n.tensors < static_cast<double>(shard) ? n.tensors : static_cast<double>(shard);
      scatter = reduce_seconds(f, all, reduced);
      gather += senders * static_cast<double>((shard + local_members(f, shards) - 1) / local_members(f, shards) - 1) * f.round;
    }
    if (j.framework.modules.nanotron()) gather += static_cast<double>(ranks) * n.tensors * c.share.host_slice;
    return scatter + gather;
  }
  double reduce = spread_seconds(reduce_seconds, f, all, reduced, experts, held);
  // Each tensor of a bucket is a sum of its own (nanotron optim/gradient_accumulator.py get_fp32_accum_hook; c10d ProcessGroupNCCL::allreduce_coalesced).
  if (j.framework.modules.nanotron()) reduce += (n.tensors - 1) * 2 * start_up(f, all);
  const bool overlaps = j.framework.modules.eager() || j.framework.modules.nanotron() || j.framework.communication.overlaps_gradients;  // DDP's buckets
  return overlaps ? backward.beside(reduce, one_backward) : reduce;
}

/// The first and the last stage add up their gradients of a table that is embedding and head (Shoeybi et al. 2019, appendix A.1; Megatron-LM
/// core/distributed/finalize_model_grads.py). `links`: between the two.
constexpr double tied_seconds(const cost_scene& c, const fabric& links) {
  const auto& s = *c.job;
  const auto& d = s.source->parallel;
  if (!s.model.tied || d.pipeline <= 1 || !c.trained.has(module::embedding)) return 0.0;
  const double table = product(c.layer.vocabulary, s.model.embedding_width(), s.precision.gradients.width()) / static_cast<double>(c.layer.tensor);
  const auto apart = (d.pipeline - 1) * s.data * c.layer.context * c.layer.tensor;
  return reduce_seconds(links, {2, apart < links.domain ? 1 : apart}, table);
}

/// PCIe, and the update on the processor. `away`: bytes that a micro-batch of the stage keeps in host memory. `compute`: what data parallelism has left.
constexpr double offload_seconds(const cost_scene& c, const rank_parameters& n, double away, cover compute) {
  const auto& s = *c.job;
  const auto& o = s.source->offload;
  const auto& d = s.source->hardware;
  double r = 0;
  const auto micros = static_cast<double>(s.source->batch.accumulation);
  const auto width = static_cast<double>(c.layer.width);
  if (o.optimizer != place::on_gpu) {
    const double mine = updated_of(c, n);
    r += 2 * mine * width / c.on.pcie;
    r += mine * update_bytes(s) * static_cast<double>(d.gpus_per_node) / (o.optimizer == place::on_nvme ? c.share.nvme : c.share.host_memory);
  }
  if (s.optimizer.on_host) r += 2 * updated_of(c, n) * product(s.optimizer.moments, s.optimizer.state.width()) / c.on.pcie;
  if (const auto at = place_of_parameters(*s.source); at != place::on_gpu) {
    const double rate = at == place::on_nvme ? c.share.nvme / static_cast<double>(d.gpus_per_node) : c.on.pcie;
    r += compute.beside(micros * 2 * n.all / static_cast<double>(s.shards.parameters) * width / rate);
  }
  return r + compute.beside(micros * 2 * away / c.on.pcie);
}

}  // namespace headroom::detail
