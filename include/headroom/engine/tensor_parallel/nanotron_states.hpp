// Distributed under the Boost Software License, Version 1.0.
// What nanotron keeps beside parameters, gradients and optimizer states, and what its update makes.
// Sources: huggingface/nanotron src/nanotron/trainer.py _init_model, optim/zero.py ZeroDistributedOptimizer._all_gather_params,
// distributed.py all_gather_coalesced, parallel/utils.py MemoryBuffer at 67c5ebb6; torch ProcessGroupNCCL.cpp newLikeFlat.
#pragma once

#include <headroom/engine/tensor_parallel/stage_weights.hpp>
#include <headroom/states/outside.hpp>

namespace headroom::detail {

/// Whether masters and moments are cut by data ranks.
constexpr bool divides_updates(const settled_job& s) { return s.source->sharding.cuts(sharded_state::optimizer) && s.data > 1; }

/// Whether DistributedDataParallel wraps the model: its buckets hold all gradients a second time, as they are no views of them.
constexpr bool wraps_in_buckets(const settled_job& s) { return s.data > 1 && !s.source->sharding.cuts(sharded_state::optimizer); }
constexpr bytes bucketed(const settled_job& s, parameters all) { return wraps_in_buckets(s) ? bytes{checked::mul(all.count(), s.precision.parameters.width())} : bytes{0}; }

/// Updated shards are joined, gathered into tensors of one for each rank, and those are copied out of one that NCCL fills.
struct gathered_update {
  bytes mine{}, each{}, flat{};
  std::int64_t ranks{};
  [[nodiscard]] constexpr bytes all() const { return mine + ranks * each + flat; }
};
constexpr gathered_update gathered_for_update(const settled_job& s, parameters all) {
  if (!divides_updates(s)) return {};
  const bytes part{checked::mul(checked::ceil_div(all.count(), s.data), s.precision.parameters.width())};
  return {part, part, s.data * part, s.data};
}

/// Buffers into which tensor-parallel ranks gather: inputs of column-parallel layers and, where communication is asynchronous, gradients of
/// row-parallel ones.
constexpr bytes gather_buffers(const settled_job& s) {
  const auto& sc = s.layer;
  const auto& how = s.source->framework.communication;
  if (sc.sequence_split == 1) return bytes{0};
  const bytes whole{checked::mul(sc.tokens, s.model.hidden, sc.width)};
  return (how.keeps_gathered ? 0 : 1) * whole + (how.overlaps_input_gradients ? 1 : 0) * whole;
}

}  // namespace headroom::detail
