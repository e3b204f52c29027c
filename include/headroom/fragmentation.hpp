// Distributed under the Boost Software License, Version 1.0.
// How much more than the tensors of a step PyTorch's caching allocator may need: a bound from their sizes. What it does need is between
// nothing and that, and only a replay (replay.hpp) says how much.
#pragma once

#include <headroom/block/experts.hpp>
#include <headroom/engine/tensor_parallel/capture.hpp>
#include <headroom/job.hpp>
#include <headroom/model/weight.hpp>
#include <headroom/report.hpp>

namespace headroom {

namespace detail {

/// Experts that are computed all at once, each layer alike, and all of them here. A loop over experts is walked, not replayed.
constexpr bool replays_experts(const job& j) {
  return experts_at_once(j.model, j.framework.experts) && j.parallel.expert == 1 && j.model.experts.every == 1 && !j.model.encoder.cross_attention;
}

/// A step of one model, beside another that runs forward alone, or none: no phases of generation and scoring.
constexpr bool replays_method(const job& j) {
  const auto& o = j.objective;
  if (!has_own_loss(o)) return true;
  return !generates(o.kind) && (!j.rollout.given() || j.rollout.placement == rollout_place::separate) && !o.critic.given() && !o.has_reward() && !o.reward_adapter && !o.averages && o.reference != reference_way::swapped &&
         o.code != method_code::nemo_rl && j.framework.runtime == runtime::autograd && j.model.vision.kind == vision_kind::none;
}

/// A tower or an encoder before the main stack: where parameters and gradients stay whole, and the loss is the model's own.
constexpr bool replays_before(const job& j) {
  if (j.model.vision.layers == 0 && j.model.encoder.layers == 0) return true;
  return (j.sharding.kind == sharding_kind::none || j.sharding.kind == sharding_kind::ddp) && j.parallel.tensor == 1 && j.parallel.context == 1 && !j.framework.modules.dtensor() && !has_own_loss(j.objective);
}

/// Trainers that allocate as they go, whose parameters stay whole or are gathered by FSDP.
constexpr bool replays_steps(const job& j) {
  return replays_method(j) && j.framework.runtime == runtime::autograd && j.framework.modules.eager() && (!j.model.sparse() || replays_experts(j)) &&
         j.hardware.accelerator().maker != vendor::cpu && replays_before(j) && j.model.distinct_layers == 0 &&
         j.parallel.pipeline == 1 && j.optimizer.blocks <= 1 &&
         j.offload.activations == place::on_gpu && (place_of_parameters(j) == place::on_gpu || (j.sharding.fully_sharded() && j.sharding.flat())) &&
         !j.sharding.by(sharder::megatron);
}

/// Megatron's stages, whose backward is in one piece, of one model alone that sees nothing, with their optimizer on the GPU.
constexpr bool replays_stages(const job& j) {
  return j.framework.modules.megatron() && !has_own_loss(j.objective) && (j.offload.optimizer == place::on_gpu || j.framework.modules.deepspeed()) && j.hardware.accelerator().maker != vendor::cpu && j.model.mtp_layers == 0 &&
         j.model.vision.kind == vision_kind::none &&
         j.offload.activations == place::on_gpu && !captures_first(j) &&
         properties_of(j.parallel.schedule).plain();
}

constexpr bool expands_segments(const job& j) { return chosen(j.environment.expandable_segments, j.framework.process.expandable_segments); }

/// What comes and goes within a step, at its tallest: all but weights, optimizer states and workspaces.
constexpr bytes turnover_of(const rank_report& r) {
  bytes most{0};
  for (const auto p : {phase::forward, phase::loss_forward, phase::backward, phase::reduce, phase::step}) {
    const auto& rows = r.at_phase[static_cast<std::size_t>(p)];
    most = max(most, rows[row::gradients] + rows[row::activations] + rows[row::logits] + rows[row::gathered_parameters] + rows[row::communication_buffers] +
                         rows[row::temporaries]);
  }
  if (r.has(phase::reference)) most = max(most, r[phase::reference] - r[phase::save]);  // another model's forward comes and goes, too
  return most;
}

}  // namespace detail

/// Whether replay() writes out a job's steps, or leaves the report as estimate() has it. Those that would take too long (replay/size.hpp) are
/// left, too, with what fragmentation may take.
constexpr bool replays(const job& j) { return detail::replays_steps(j) || detail::replays_stages(j); }

/// At most so much is needed beyond `device`, by a rank of a job whose weights are `list`.
/// Segments of a fixed size (c10/cuda/CUDACachingAllocator.cpp get_allocation_size): what outlives a step (optimizer states, which the first
/// update makes; gradients of the micro-batch before) may lie in the segments of all that has come and gone by then, and each of those may be
/// of no use to the next step, which then takes as much again. Tensors that stay have segments of their own, rounded up to 2 MiB or,
/// below 10 MiB, with others in 20 MiB, of which less than a tensor's size is left over: 2 MiB for each weight, its master copy and two moments.
/// Segments that expand: a full GPU gets whole free pages back, so that of the room between two tensors in use less than two pages of 20 MiB
/// stay; a layer is taken to have two such rooms, among what it saved and among its gradients and states. Each stream has segments of its own, of 20 MiB
/// and, for tensors of at most 1 MiB, of 2 MiB, or pages of these sizes, the last of which may be nearly empty: the stream that computes and, where weights
/// are gathered, those that gather, reduce, and copy to and from the host. Where adapters share FSDP1's flat
/// parameters or ZeRO-3's partitions with frozen weights, the walk leaves out what is kept of those, and nothing is certain; nor where samples
/// have different lengths.
/// Held to replays of random jobs near a GPU's capacity by tests/replay/test_verdict.cpp.
constexpr bytes most_fragmentation(const job& j, const inventory& list, const rank_report& r) {
  constexpr bytes page = 20 * mib;
  if (j.batch.varies()) return r.capacity;
  const auto passing = detail::turnover_of(r);
  if (j.adapter.active() && j.sharding.flat() && (j.sharding.cuts(sharded_state::weights) || j.sharding.fully_sharded())) return r.capacity;
  const bool gathers = j.sharding.fully_sharded() || j.sharding.cuts(sharded_state::weights), copies = j.offload.optimizer != place::on_gpu;
  const bytes last = (!gathers ? 1 : copies ? 4 : 3) * (page + 2 * mib);
  if (detail::expands_segments(j)) return min(passing, 4 * j.model.layers * page) + last;
  std::int64_t tensors = 0;
  for (const auto& w : list) tensors += w.copies();
  const auto stays = r.at_phase[static_cast<std::size_t>(phase::step)].total();
  return passing + min(4 * tensors * 2 * mib, stays) + last;
}

}  // namespace headroom
