// Distributed under the Boost Software License, Version 1.0.
// Host memory that a rollout takes: weights of an engine that sleeps, and what the trainer moves away.
#pragma once

#include <headroom/engine/eager/autograd_rank.hpp>
#include <headroom/sharding/host.hpp>

namespace headroom::detail {

/// NeMo-RL's reference waits in pinned memory, a shard at a time, and so does the policy while it is swapped out (nemo_automodel/components/distributed/
/// tensor_utils.py get_cpu_state_dict).
constexpr void add_swapped(host_bytes& h, const settled_job& s, const inventory& list) {
  if (reference_of(*s.source) != reference_way::swapped) return;
  for (const auto& w : list)  // a table that is the head's, too, has two names
    h.pinned += (s.model.tied && w.role == module::embedding ? 4 : 2) * (w.copies() * pinned(share(parameters{w.elements()}, s.precision.parameters.width(), s.shards.parameters)));
}

/// Of one rank, beside what training takes. Weights go to the host when the engine falls asleep, before the trainer takes its own back
/// (ms-swift rollout_mixin.py _fast_infer, within offload_context; verl workers/fsdp_workers.py): both are there at once. What is moved lies in
/// pageable memory (Tensor.to("cpu")).
constexpr void add_rollout(host_bytes& h, const settled_job& s, const inventory& list, const state_bytes& st) {
  const auto& r = s.source->rollout;
  if (!r.shares_gpus()) return;
  if (r.sleep == 1) h.pinned += engine_backup(s.model, list, r);
  auto stays = resident_bytes(s, st, windows_of(s, st));
  stays += moment(row::model_parameters, second_partitions(s, st));
  h.plain += moved_away(s, st, stays, r.trainer_moves.has(trainer_part::weights), r.trainer_moves.has(trainer_part::optimizer)).total;
}

}  // namespace headroom::detail
