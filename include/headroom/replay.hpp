// Distributed under the Boost Software License, Version 1.0.
// replay(job): estimate(job) with what the caching allocator really takes. At run time, with a heap; well under a millisecond.
#pragma once

#include <headroom/estimate.hpp>
#include <headroom/step/step_trace.hpp>

namespace headroom {

/// Whether replay() writes out a job's steps, or leaves `reserved` as estimate() has it: trainers that allocate as they go, dense
/// layers, without parameters that are gathered for a moment.
constexpr bool replays(const job& j) {
  return j.framework.runtime == runtime::autograd && j.framework.layers == layer_modules::eager && !j.model.sparse() &&
         j.hardware.accelerator().maker != vendor::cpu && j.model.vision.kind == vision_kind::none && j.model.encoder.layers == 0 &&
         j.parallel.pipeline == 1 && j.parallel.tensor == 1 && j.parallel.context == 1 &&
         j.offload.activations == place::on_gpu && j.offload.parameters == place::on_gpu &&
         (j.sharding.kind == sharding_kind::none || j.sharding.kind == sharding_kind::ddp || (j.sharding.kind == sharding_kind::zero && j.sharding.stage < 3));
}

namespace detail {

/// One rank's first two steps, through an allocator that may take what lies between the GPU's capacity and what others take of it.
inline void replay_rank(rank_report& rank, const job& j, std::size_t kind) {
  const auto s = settle(j, kind);
  const auto list = weights_of(s.model);
  const auto st = states(s, list);
  const auto w = windows_of(s, st);
  const auto outside = rank.outside.context + rank.outside.nccl;
  caching_allocator allocator({.expandable_segments = chosen(j.environment.expandable_segments, false), .capacity = (rank.capacity - outside).count()});
  step_trace trace(s, list, st, w, resident_bytes(s, st, w), allocator);
  trace.run();
  trace.run();
  rank.active = max(rank.allocated, bytes{allocator.peak_allocated()});
  rank.reserved = max(rank.active, bytes{allocator.peak_reserved()});
  rank.device = rank.reserved + outside;
}

}  // namespace detail

/// The report of estimate(), with `active`, `reserved` and `device` from a replay of loading and two steps through the rules of
/// PyTorch's caching allocator: rounding, segments, splitting, what stays cached, what a full GPU gives back.
/// Errors: those of estimate().
inline report replay(const job& j) {
  auto r = estimate(j);
  if (!replays(j)) return r;
  for (std::size_t kind = 0; kind < j.hardware.kinds(); ++kind) detail::replay_rank(r.ranks[kind], j, kind);
  r.assumptions.remove(assumption::reserved_without_fragmentation);
  r.assumptions.add(assumption::reserved_replayed);
  detail::set_bounds(r);
  return r;
}

}  // namespace headroom
