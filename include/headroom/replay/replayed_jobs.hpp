// Distributed under the Boost Software License, Version 1.0.
// Which jobs' steps replay() writes out.
#pragma once

#include <headroom/engine/tensor_parallel/capture.hpp>
#include <headroom/job.hpp>

namespace headroom {

namespace detail {

/// A replay takes as long as there are layers; ten times as deep as any model that is trained, it is not worth the wait.
constexpr std::int64_t most_replayed_layers = 1024;

/// Experts that are computed all at once, each layer alike, and all of them here. A loop over experts is walked, not replayed.
constexpr bool replays_experts(const job& j) {
  return experts_at_once(j.model, j.framework.experts) && j.parallel.expert == 1 && j.model.experts.every == 1 && !j.model.encoder.cross_attention;
}

/// Trainers that allocate as they go, whose parameters stay whole or are gathered by FSDP.
constexpr bool replays_steps(const job& j) {
  return j.framework.runtime == runtime::autograd && j.framework.modules.kind == layer_modules::eager && (!j.model.sparse() || replays_experts(j)) &&
         j.hardware.accelerator().maker != vendor::cpu && j.model.vision.kind == vision_kind::none && j.model.encoder.layers == 0 &&
         j.parallel.pipeline == 1 && j.optimizer.blocks <= 1 &&
         j.offload.activations == place::on_gpu && (place_of_parameters(j) == place::on_gpu || (j.sharding.fully_sharded() && j.sharding.flat())) &&
         !j.sharding.by(sharder::megatron);
}

/// Megatron's stages, whose backward is in one piece.
constexpr bool replays_stages(const job& j) {
  return j.framework.modules.kind == layer_modules::megatron && j.hardware.accelerator().maker != vendor::cpu && j.model.mtp_layers == 0 &&
         j.offload.activations == place::on_gpu && !captures_first(j) &&
         properties_of(j.parallel.schedule).plain();
}

}  // namespace detail

/// Whether replay() writes out a job's steps, or leaves the report as estimate() has it.
constexpr bool replays(const job& j) {
  return j.model.layers <= detail::most_replayed_layers && (detail::replays_steps(j) || detail::replays_stages(j));
}

}  // namespace headroom
