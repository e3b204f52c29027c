// Distributed under the Boost Software License, Version 1.0.
// Changes to jobs with a reference or with an engine that generates, which advice names.
#pragma once

#include <headroom/settle/objective.hpp>

#include <utility>

namespace headroom::changes::detail {

/// Weights on their way to an engine, a layer at a time: verl's adapters, and what ms-swift gathers.
constexpr bool layer_by_layer(job& j) {
  const bool verl = j.objective.code == method_code::verl && j.adapter.active(), swift = j.objective.code == method_code::ms_swift && j.sharding.cuts(sharded_state::weights);
  if (!j.rollout.shares_gpus() || !(verl || swift) || j.framework.modules.megatron()) return false;
  return std::exchange(j.rollout.sync_groups, j.model.layers) < j.model.layers;
}
/// An engine that gives its memory back while the trainer works.
constexpr bool engine_sleeps(job& j) {
  if (!j.rollout.shares_gpus() || j.rollout.engine != engine_kind::vllm || j.rollout.sleep != 0) return false;
  j.rollout.sleep = 2;
  return true;
}
/// … and a trainer that does so while the engine works.
constexpr bool trainer_leaves(job& j) {
  auto& r = j.rollout;
  if (!r.shares_gpus() || !r.sleeps() || (j.objective.code != method_code::verl && j.objective.code != method_code::ms_swift)) return false;
  const auto before = std::exchange(r.trainer_moves, {trainer_part::weights, trainer_part::optimizer});
  return before != r.trainer_moves;
}
/// The reference's log-probabilities of all the data, before the first step.
constexpr bool precomputed(job& j) {
  if ((!of_trl(j.objective.code) && j.objective.code != method_code::unset) || generates(j.objective.kind) || !traits_of(j.objective.kind).reference || other_model_of(j) != other_weights::own) return false;
  j.objective.reference = reference_way::precomputed;
  return true;
}

}  // namespace headroom::changes::detail
