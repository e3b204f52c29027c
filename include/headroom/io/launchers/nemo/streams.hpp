// Distributed under the Boost Software License, Version 1.0.
// NeMo-RL's one controller for rollouts and training (async_rl): it trains on as many prompts as are there, and keeps gradients between them. What it scores
// in the meantime takes less than a micro-batch that trains, where it is no larger (NVIDIA-NeMo/RL 7ea279ab of 2026-08-22
// nemo_rl/algorithms/single_controller.py; nemo_rl/models/policy/workers/megatron_policy_worker.py prepare_for_lp_inference, keep_train_buffers).
#pragma once

#include <headroom/io/launchers/nemo/megatron.hpp>

namespace headroom::io::detail {

/// Of more samples at once than train. `controller`: its section, if any.
/// Errors: job_error where they are scored beside gradients.
inline void refuse_streams(draft& d, const nested_values& k, const json_value* controller) {
  if (controller == nullptr || !controller->is_object()) return;
  const std::string key = "async_rl.min_groups_for_streaming_train";
  const auto* least = value_at(*controller, "min_groups_for_streaming_train");
  const auto groups = least == nullptr ? json_value(32) : *least;
  if (groups.is_number() && groups.get<double>() >= static_cast<double>(nemo_needed_number(k, "grpo.num_prompts_per_step"))) return;
  d.unmodelled_key(key, groups, k.place(key), "less than grpo.num_prompts_per_step, so that samples are scored beside gradients, and more of them at once than train");
}

}  // namespace headroom::io::detail
