// Distributed under the Boost Software License, Version 1.0.
// Every key of torchtitan's configuration: read, harmless, or refused unless it switches its feature off (torchtitan/config/job_config.py up
// to 238fa995 of 2026-02-23, the last with TOML; config_manager.py and the names of every commit since 2024-04).
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

#include <array>

namespace headroom::io::detail {

/// Keys that io/launchers/torchtitan/import.hpp reads.
inline constexpr auto torchtitan_read = std::to_array<std::string_view>({
    "model.name", "model.flavor", "model.converters", "optimizer.name", "optimizer.implementation", "optimizer.fused",
    "optimizer.early_step_in_backward", "training.local_batch_size", "training.batch_size", "training.global_batch_size", "training.seq_len",
    "training.enable_cpu_offload", "training.dtype", "training.mixed_precision_param", "training.mixed_precision_reduce",
    "training.data_parallel_degree", "training.data_parallel_replicate_degree", "training.data_parallel_shard_degree",
    "training.tensor_parallel_degree", "training.pipeline_parallel_degree", "training.disable_loss_parallel", "training.enable_loss_parallel",
    "training.fsdp_reshard_after_forward", "training.compile", "parallelism.data_parallel_replicate_degree", "parallelism.data_parallel_shard_degree",
    "parallelism.fsdp_reshard_after_forward", "parallelism.tensor_parallel_degree", "parallelism.disable_loss_parallel",
    "parallelism.enable_async_tensor_parallel", "parallelism.pipeline_parallel_degree", "parallelism.pipeline_parallel_first_stage_less_layers",
    "parallelism.pipeline_parallel_last_stage_less_layers", "parallelism.pipeline_parallel_layers_per_stage",
    "parallelism.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule_csv", "parallelism.pipeline_parallel_microbatch_size",
    "parallelism.pipeline_parallel_microbatches", "parallelism.pipeline_parallel_split_points", "parallelism.module_fqns_per_model_part",
    "parallelism.context_parallel_degree", "parallelism.context_parallel_rotate_method", "parallelism.expert_parallel_degree",
    "parallelism.expert_tensor_parallel_degree", "experimental.context_parallel_degree", "experimental.context_parallel_rotate_method",
    "experimental.enable_async_tensor_parallel", "experimental.pipeline_parallel_degree", "experimental.pipeline_parallel_microbatches",
    "experimental.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule_csv", "experimental.pipeline_parallel_split_points",
    "activation_checkpoint.mode", "activation_checkpoint.selective_ac_option", "compile.enable", "compile.components", "float8.enable_float8_linear",
    "float8.enable_fsdp_float8_all_gather", "float8.recipe_name", "quantize.linear.float8.enable_fsdp_float8_all_gather",
    "quantize.linear.float8.recipe_name", "validation.enable", "validation.local_batch_size", "validation.seq_len",
});

// clang-format off
/// Keys of sections that nothing switches on are not judged: see without_effect in io/launchers/torchtitan/import.hpp.
inline constexpr auto torchtitan_passed = std::to_array<passed_key>({
    {"job.dump_folder", "*"}, {"job.description", "*"}, {"job.print_config", "*"}, {"job.save_config_file", "*"}, {"job.custom_config_module", ""},
    {"profiling.enable_profiling", "*"}, {"profiling.save_traces_folder", "*"}, {"profiling.profile_freq", "*"}, {"profiling.profiler_active", "*"},
    {"profiling.profiler_warmup", "*"}, {"profiling.enable_memory_snapshot", "*"}, {"profiling.save_memory_snapshot_folder", "*"}, {"metrics.log_freq", "*"},
    {"metrics.enable_tensorboard", "*"}, {"metrics.disable_color_printing", "*"}, {"metrics.save_tb_folder", "*"}, {"metrics.save_for_all_ranks", "*"},
    {"metrics.enable_wandb", "*"}, {"model.hf_assets_path", "*"}, {"model.tokenizer_path", "*"}, {"model.print_after_conversion", "*"}, {"optimizer.lr", "*"},
    {"optimizer.beta1", "*"}, {"optimizer.beta2", "*"}, {"optimizer.eps", "*"}, {"optimizer.weight_decay", "*"}, {"lr_scheduler.warmup_steps", "*"},
    {"lr_scheduler.total_steps", "*"}, {"lr_scheduler.decay_ratio", "*"}, {"lr_scheduler.decay_type", "*"}, {"lr_scheduler.min_lr_factor", "*"},
    {"training.dataset", "*"}, {"training.dataset_path", "*"}, {"training.max_norm", "*"}, {"training.steps", "*"}, {"training.gc_freq", "*"},
    {"training.gc_debug", "*"}, {"parallelism.pipeline_parallel_expert_parallel_overlap", "*"}, {"parallelism.context_parallel_load_balancer", "headtail"},
    {"parallelism.expert_parallel_comm_backend", "standard"}, {"checkpoint.enable", "*"}, {"checkpoint.enable_ft_dataloader_checkpoints", "*"},
    {"checkpoint.folder", "*"}, {"checkpoint.interval", "*"}, {"checkpoint.initial_load_path", "*"}, {"checkpoint.initial_load_model_only", "*"},
    {"checkpoint.initial_load_in_hf", "*"}, {"checkpoint.initial_load_in_hf_quantized", "*"}, {"checkpoint.last_save_model_only", "*"},
    {"checkpoint.last_save_in_hf", "*"}, {"checkpoint.export_dtype", "*"}, {"checkpoint.async_mode", "disabled|async"}, {"checkpoint.keep_latest_k", "*"},
    {"checkpoint.load_step", "*"}, {"checkpoint.exclude_from_loading", "*"}, {"checkpoint.enable_first_step_checkpoint", "*"},
    {"checkpoint.create_seed_checkpoint", "false"}, {"checkpoint.load_only", "*"},
    {"activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns", "[\"moe.router.gate\"]"}, {"activation_checkpoint.early_stop", "false"},
    {"activation_checkpoint.memory_budget", "*"}, {"activation_checkpoint.visualize_memory_budget_pareto", "*"}, {"activation_checkpoint.preserve_rng_state", "*"},
    {"activation_checkpoint.determinism_check", "*"}, {"activation_checkpoint.debug", "false"}, {"compile.backend", "inductor"},
    {"quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp", "*"}, {"quantize.linear.float8.filter_fqns", "[\"output\"]"},
    {"quantize.linear.float8.emulate", "false"}, {"quantize.linear.mx.mxfp8_dim1_cast_kernel_choice", "*"}, {"quantize.linear.mx.recipe_name", "mxfp8|mxfp8_cublas"},
    {"quantize.linear.mx.filter_fqns", "[\"output\"]"}, {"quantize.grouped_mm.float8.fqns", ""}, {"quantize.grouped_mm.mx.recipe_name", "mxfp8|mxfp8_cublas"},
    {"quantize.grouped_mm.mx.fqns", ""}, {"comm.init_timeout_seconds", "*"}, {"comm.train_timeout_seconds", "*"}, {"comm.trace_buf_size", "*"},
    {"comm.save_traces_folder", "*"}, {"comm.save_traces_file_prefix", "*"}, {"comm.mode", "default"}, {"memory_estimation.enable", "false"},
    {"memory_estimation.disable_fake_mode", "*"}, {"fault_tolerance.enable", "false"}, {"fault_tolerance.process_group", "*"},
    {"fault_tolerance.process_group_timeout_ms", "*"}, {"fault_tolerance.replica_id", "*"}, {"fault_tolerance.group_size", "*"},
    {"fault_tolerance.min_replica_size", "*"}, {"fault_tolerance.semi_sync_method", "*"}, {"experimental.custom_import", ""},
    {"experimental.custom_args_module", ""}, {"validation.dataset", "*"}, {"validation.dataset_path", "*"}, {"validation.freq", "*"}, {"validation.steps", "*"},
    {"debug.seed", "*"}, {"debug.deterministic", "false"}, {"debug.deterministic_warn_only", "false"}, {"debug.moe_force_load_balance", "*"},
    {"checkpoint.enable_checkpoint", "*"}, {"checkpoint.initial_load_model_weights_only", "*"}, {"checkpoint.interval_type", "*"},
    {"checkpoint.last_save_in_safetensors_format", "*"}, {"checkpoint.last_save_model_weights_only", "*"}, {"checkpoint.model_weights_only", "*"},
    {"estimate.memory", "false"}, {"estimate.mode", "*"}, {"experimental.custom_model_path", ""}, {"experimental.enable_compiled_autograd", "false"},
    {"experimental.pipeline_parallel_split_mode", "manual"}, {"experimental.torch_spmd", "false"}, {"fault_tolerance.fragment_sync_delay", "*"},
    {"fault_tolerance.fragment_update_alpha", "*"}, {"fault_tolerance.module_fqns_per_model_fragment", "*"}, {"fault_tolerance.num_fragments", "*"},
    {"fault_tolerance.should_quantize", "*"}, {"fault_tolerance.sync_steps", "*"}, {"float8.emulate", "false"}, {"float8.filter_fqns", "[\"output\"]"},
    {"float8.force_recompute_fp8_weight_in_bwd", "false"}, {"float8.moe_fqns_prototype", ""}, {"float8.precompute_float8_dynamic_scale_for_fsdp", "*"},
    {"float8.scaling_type_grad_output", "dynamic"}, {"float8.scaling_type_input", "dynamic"}, {"float8.scaling_type_weight", "dynamic"}, {"job.print_args", "*"},
    {"job.save_config_folder", "*"}, {"job.use_for_integration_test", "*"}, {"lr_scheduler.lr_min", "*"}, {"memory_estimation.enabled", "false"},
    {"metrics.disable_logging_from_checkpoint", "*"}, {"metrics.enable_color_printing", "*"}, {"metrics.rank_0_only", "*"}, {"model.attn_mask_type", "causal"},
    {"model.norm_type", "rmsnorm"}, {"model.use_flex_attn", "false"}, {"mx.filter_fqns", "[\"output\"]"}, {"mx.moe_fqns_prototype", ""},
    {"mx.mxfp8_dim1_cast_kernel_choice", "*"}, {"mx.recipe_name", "mxfp8|mxfp8_cublas"}, {"mx.use_fp8_dim1_cast_triton_kernel", "*"},
    {"parallelism.enable_compiled_autograd", "false"}, {"profiling.profile_every_x_iter", "*"}, {"profiling.run_profiler", "*"},
    {"quantize.dense.float8.emulate", "false"}, {"quantize.dense.float8.filter_fqns", "[\"output\"]"}, {"quantize.dense.mx.filter_fqns", "[\"output\"]"},
    {"quantize.dense.mx.recipe_name", "mxfp8|mxfp8_cublas"}, {"quantize.moe.float8.fqns", ""}, {"quantize.moe.mx.fqns", ""}, {"training.data_parallel_type", "fsdp"},
    {"training.debug_moe_force_load_balance", "*"}, {"training.deterministic", "false"}, {"training.enable_float8_linear", "false"},
    {"training.enable_fp8_linear", "false"}, {"training.enable_fsdp_float8_all_gather", "false"}, {"training.enable_fsdp_fp8_all_gather", "false"},
    {"training.float8_scaling_type_grad_output", "dynamic"}, {"training.float8_scaling_type_input", "dynamic"}, {"training.float8_scaling_type_weight", "dynamic"},
    {"training.fp8_linear", "false"}, {"training.precompute_float8_dynamic_scale_for_fsdp", "false"}, {"training.seed", "*"}, {"training.warmup_steps", "*"},
    {"validation.enabled", "*"}, {"job.config_file", "*"}, {"training.dataloader", "*"}, {"validation.dataloader", "*"},
});
// clang-format on

}  // namespace headroom::io::detail
