// Distributed under the Boost Software License, Version 1.0.
// The assumptions that a report may make, by name; their sentences: report/assumption.hpp; their spreads: uncertainty.hpp.
#pragma once

#include <cstdint>

namespace headroom {

// clang-format off
/// A default that was filled in, or a term that is calibrated or incomplete rather than derived. Reports list them in this order.
enum class assumption : std::uint8_t {
  framework_precision, optimizer_adamw, optimizer_implementation, data_parallel_from_gpus, attention_sdpa, attention_eager_for_softcap,
  loss_of_framework, logits_format_of_framework, fsdp_keeps_fp32_shards, steady_state, zero_buckets_default, deepspeed_stage3_trace,
  adapter_format, adapters_in_fp32, recompute_reentrant_default, flash_backward_workspace, cublas_workspace_by_capability,
  context_calibrated, nccl_derived, reserved_without_fragmentation, host_runtime_not_counted, activations_offload_overlap,
  experts_overlap_in_turn, graphs_as_eager, fp8_in_all_layers, no_eval_no_generation, gpu_assumed, ddp_assumed, balanced_routing,
  reserved_by_pools, compiled_layers, fp8_in_linear, compiled_loss_targets, int8_update_copies, reserved_replayed, moments_copied_for_step,
  zero_bubble_defers_all, rank_with_most_weights, first_micro_batch_gathers, update_without_copies, compiled_chunks_in_place,
  cublas_workspace_before_2026, samples_of_one_length, recipe_of_one_date, towers_on_few_runs, eager_stages_on_two_runs, megatron_kinds_on_few_runs,
  parameters_stay_on_gpu, sharded_adapters_unexplained, upcast_quantised_base, recurrence_fused, keys_ignored, unified_memory,
  open_defaults, replay_too_long, method_of_trl, methods_on_few_runs, openrlhf_dpo_unexplained, generation_of_full_length, engine_graphs,
  host_ahead_of_collectives, head_with_loss,
  lengths_not_given, lengths_unknown, lengths_not_replayed, lengths_replayed, swift_over_megatron, swift_experts_over_megatron,
  megatron_under_deepspeed, compiled_in_parts, other_maker,
  nvfp4_by_source, unsloth_by_source, corrected_by_run, newest_framework, attention_by_math, towers_held, frozen_tower_asked,
};
// clang-format on

/// How many there are.
inline constexpr int assumption_count = static_cast<int>(assumption::frozen_tower_asked) + 1;

}  // namespace headroom
