// Distributed under the Boost Software License, Version 1.0.
// Every key of a DeepSpeed configuration: read, harmless, or refused unless it switches its feature off (deepspeed/runtime/config.py,
// constants.py, zero/config.py, zero/offload_config.py, precision_config.py, activation_checkpointing/config.py, engine.py
// _configure_basic_optimizer; 2026-08, and names since 2020).
#pragma once

#include <headroom/io/syntax/keys.hpp>
#include <headroom/io/syntax/passed_keys.hpp>

#include <array>

namespace headroom::io::detail {

/// Keys that io/options/deepspeed.hpp reads. Sections of ZeRO may stand with "stage3_" before a key.
inline constexpr auto deepspeed_read = std::to_array<std::string_view>({
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "communication_data_type", "data_types.grad_accum_dtype",
    "fp16.enabled", "bf16.enabled", "optimizer.type", "optimizer.params.torch_adam",
    "zero_optimization.stage", "zero_optimization.contiguous_gradients", "zero_optimization.reduce_scatter", "zero_optimization.reduce_bucket_size",
    "zero_optimization.allgather_bucket_size", "zero_optimization.overlap_comm", "zero_optimization.sub_group_size", "zero_optimization.cpu_offload",
    "zero_optimization.cpu_offload_param", "zero_optimization.cpu_offload_use_pin_memory", "zero_optimization.prefetch_bucket_size",
    "zero_optimization.param_persistence_threshold", "zero_optimization.max_live_parameters", "zero_optimization.max_reuse_distance",
    "zero_optimization.round_robin_gradients", "zero_optimization.zero_hpz_partition_size", "zero_optimization.mics_shard_size",
    "zero_optimization.offload_param.device", "zero_optimization.offload_param.buffer_count", "zero_optimization.offload_param.buffer_size",
    "zero_optimization.offload_param.max_in_cpu", "zero_optimization.offload_param.pin_memory", "zero_optimization.offload_optimizer.device",
    "zero_optimization.offload_optimizer.buffer_count", "zero_optimization.offload_optimizer.pin_memory", "zero_optimization.offload_optimizer.ratio",
    "activation_checkpointing.partition_activations", "activation_checkpointing.cpu_checkpointing",
});

// clang-format off
inline constexpr auto deepspeed_passed = std::to_array<passed_key>({
    // Logs, checkpoints, checks, seeds; factors of gradients.
    {"steps_per_print", "*"}, {"dump_state", "*"}, {"seed", "*"}, {"dataloader_drop_last", "*"}, {"log_level", "*"}, {"timers", "*"}, {"tensorboard", "*"}, {"wandb", "*"},
    {"csv_monitor", "*"}, {"comet", "*"}, {"comms_logger", "*"}, {"memory_breakdown", "*"}, {"vocabulary_size", "*"}, {"checkpoint.tag_validation", "*"},
    {"checkpoint.load_universal", "*"}, {"checkpoint.use_node_local_storage", "*"}, {"checkpoint.parallel_write", "*"},
    {"checkpoint.writer", ""}, {"nebula", "-"}, {"datastates_ckpt", ""}, {"scheduler", "*"}, {"gradient_clipping", "*"}, {"gradient_predivide_factor", "*"},
    {"prescale_gradients", "*"}, {"gradient_allreduce_op", "*"}, {"zero_allow_untested_optimizer", "*"}, {"disable_allgather", "*"}, {"aio", "*"},
    {"gradient_accumulation_dtype", "*"}, {"comms_config", "*"},                       // no keys of DeepSpeed, which reads by name
    {"seq_parallel_communication_data_type", "*"},                                     // without sequence_parallel_size
    {"data_types.param_dtype", "*"}, {"data_types.buffer_dtype", "*"},                 // must be the format that fp16 and bf16 say
    // Time alone, of which a launch's reader says so (deepspeed_slower).
    {"wall_clock_breakdown", "*"}, {"flops_profiler", "*"}, {"zero_force_ds_cpu_optimizer", "true|false"},
    // Features that change what is allocated, or how often the step is what it is.
    {"sparse_gradients", "false"}, {"managed_gradient_accumulation", "true"}, {"curriculum_learning", "-"}, {"data_efficiency", "-"}, {"progressive_layer_drop", "-"},
    {"eigenvalue", "-"}, {"elasticity", "-"}, {"autotuning", "-"}, {"amp", "-"}, {"torch_autocast", "-"}, {"compression_training", "-"}, {"weight_quantization", ""},
    {"quantize_training", "-"}, {"hybrid_engine", "-"}, {"sparse_attention", ""}, {"tensor_parallel", "-"}, {"expert_parallel", "-"},
    {"use_data_before_expert_parallelism", "false"}, {"sequence_parallel_size", "1"}, {"data_parallel_size", ""}, {"pipeline", ""}, {"compile", "-"},
    {"graph_harvesting", "false"}, {"fp8", "-"}, {"msamp", "-"},
    // Formats. auto_cast: of inputs, which are whole numbers.
    {"fp16.auto_cast", "*"}, {"fp16.loss_scale", "*"}, {"fp16.initial_scale_power", "*"}, {"fp16.loss_scale_window", "*"}, {"fp16.hysteresis", "*"},
    {"fp16.consecutive_hysteresis", "*"}, {"fp16.min_loss_scale", "*"}, {"fp16.opt_level", "*"}, {"fp16.fp16_master_weights_and_grads", "false"},
    {"bf16.loss_scale", "*"}, {"bf16.initial_scale_power", "*"}, {"bf16.loss_scale_window", "*"}, {"bf16.hysteresis", "*"}, {"bf16.min_loss_scale", "*"}, {"bf16.opt_level", "*"},
    {"bf16.auto_cast", "*"}, {"bf16.immediate_grad_update", "false"}, {"bf16.check_grad_overflow", "*"}, {"bf16.check_overflow", "*"},
    {"bf16.bf16_master_weights_and_grads", "false"}, {"bf16.bf16_optimizer_states", "false"},
    // Optimizers. fp32_optimizer_states false: the CPU's moments in 16 bits.
    {"optimizer.legacy_fusion", "*"}, {"optimizer.params.lr", "*"}, {"optimizer.params.betas", "*"}, {"optimizer.params.eps", "*"}, {"optimizer.params.weight_decay", "*"},
    {"optimizer.params.bias_correction", "*"}, {"optimizer.params.adam_w_mode", "*"}, {"optimizer.params.amsgrad", "false"},
    {"optimizer.params.fp32_optimizer_states", "true"}, {"optimizer.params.max_coeff", "*"}, {"optimizer.params.min_coeff", "*"}, {"optimizer.params.set_grad_none", "*"},
    {"optimizer.params.momentum", "0"}, {"optimizer.params.dampening", "*"}, {"optimizer.params.nesterov", "false"}, {"optimizer.params.muon_lr", "*"},
    {"optimizer.params.adam_lr", "*"}, {"optimizer.params.ns_method", ""},
    // ZeRO.
    {"zero_optimization.use_multi_rank_bucket_allreduce", "*"}, {"zero_optimization.allgather_partitions", "*"}, {"zero_optimization.load_from_fp32_weights", "*"},
    {"zero_optimization.elastic_checkpoint", "*"}, {"zero_optimization.ignore_unused_parameters", "*"}, {"zero_optimization.pipeline_loading_checkpoint", "*"},
    {"zero_optimization.override_module_apply", "*"}, {"zero_optimization.log_trace_cache_warnings", "*"}, {"zero_optimization.enable_sanity_checks", "*"},
    {"zero_optimization.gather_16bit_weights_on_model_save", "*"}, {"zero_optimization.gather_fp16_weights_on_model_save", "*"},
    {"zero_optimization.model_persistence_threshold", "9223372036854775807"}, {"zero_optimization.module_granularity_threshold", "0"},
    {"zero_optimization.use_all_reduce_for_fetch_params", "false"}, {"zero_optimization.allgather_sequential", "false"}, {"zero_optimization.legacy_stage1", "false"},
    {"zero_optimization.zero_quantized_weights", "false"}, {"zero_optimization.zero_quantized_nontrainable_weights", "false"},
    {"zero_optimization.zero_quantized_gradients", "false"}, {"zero_optimization.zeropp_loco_param", ""}, {"zero_optimization.mics_hierarchical_params_gather", "false"},
    {"zero_optimization.memory_efficient_linear", "true"}, {"zero_optimization.save_muon_momentum_buffer_in_memory", "false"}, {"zero_optimization.leaf_module", ""},
    {"zero_optimization.zenflow", ""}, {"zero_optimization.offload_param.nvme_path", "*"}, {"zero_optimization.offload_optimizer.nvme_path", "*"},
    {"zero_optimization.offload_param.fast_init", "*"}, {"zero_optimization.offload_optimizer.fast_init", "*"}, {"zero_optimization.offload_optimizer.pipeline", "*"},
    {"zero_optimization.offload_optimizer.pipeline_read", "false"}, {"zero_optimization.offload_optimizer.pipeline_write", "false"},
    {"zero_optimization.offload_optimizer.super_offload", "false"}, {"zero_optimization.offload_optimizer.cpuadam_cores_perc", "*"},
    // Checkpoints of layers that the program makes by deepspeed.checkpointing.
    {"activation_checkpointing.number_checkpoints", "*"}, {"activation_checkpointing.profile", "*"},
    {"activation_checkpointing.contiguous_memory_optimization", "false"}, {"activation_checkpointing.synchronize_checkpoint_boundary", "false"},
});
// clang-format on

/// Switches of timers that wait for the GPU (utils/timer.py, SynchronizedWallClockTimer; the profiler turns them on, runtime/config.py).
inline bool deepspeed_slower(const json_value& options) {
  return (options.contains("wall_clock_breakdown") && options["wall_clock_breakdown"] == true) || (options.contains("flops_profiler") && !switched_off(options["flops_profiler"]));
}

/// The name of a key without "stage3_", which ZeRO's may have before them (zero/config.py, aliases).
inline std::string deepspeed_name(const std::string& section, const std::string& key) {
  constexpr std::string_view prefix = "stage3_";
  return joined(section, section == "zero_optimization" && key.starts_with(prefix) ? key.substr(prefix.size()) : key);
}

/// What the lists say of a key of `section`, which may be {}; an "auto" is the Trainer's, or dropped.
inline key_rule deepspeed_rule(const json_value& section, const std::string& name, const json_value& value) {
  if (value == "auto") return rule_of(deepspeed_passed, name, "");
  const bool pipelined = name.find(".pipeline_") != std::string::npos;  // only NVMe has a pipeline
  if (pipelined && section.contains("device") && section["device"] != "nvme") return key_rule::passed;
  return rule_of(deepspeed_passed, name, value);
}

/// Lets `k` take the keys of a section that pass. Throws job_error for one that does not.
inline void pass_deepspeed(key_reader& k, const json_value& options, const std::string& section) {
  for (const auto& [key, value] : options.items()) {
    const auto name = deepspeed_name(section, key);
    const auto rule = deepspeed_rule(options, name, value);
    if (rule == key_rule::unknown) continue;
    if (rule == key_rule::refused) fail("headroom: " + k.at(key) + " = " + value.dump() + " is not modelled by this version");
    k.take(key);
  }
}

}  // namespace headroom::io::detail
