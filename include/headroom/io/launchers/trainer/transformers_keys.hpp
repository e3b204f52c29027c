// Distributed under the Boost Software License, Version 1.0.
// Arguments of transformers' Trainer that no reader takes (src/transformers/training_args.py of every release from 3.5 to 5.15, 2026-08):
// harmless, or refused unless they switch a feature off.
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

namespace headroom::io::detail {

// clang-format off
inline constexpr auto transformers_passed = std::to_array<passed_key>({
    {"adam_beta1", "*"}, {"adam_beta2", "*"}, {"adam_epsilon", "*"}, {"average_tokens_across_devices", "*"}, {"batch_eval_metrics", "*"}, {"data_seed", "*"},
    {"dataloader_drop_last", "*"}, {"dataloader_in_order", "*"}, {"dataloader_multiprocessing_context", "*"}, {"dataloader_num_workers", "*"},
    {"dataloader_persistent_workers", "*"}, {"dataloader_pin_memory", "*"}, {"dataloader_prefetch_factor", "*"}, {"ddp_broadcast_buffers", "*"},
    {"ddp_bucket_cap_mb", "*"}, {"ddp_find_unused_parameters", "*"}, {"ddp_timeout", "*"}, {"disable_tqdm", "*"}, {"dispatch_batches", "*"},
    {"do_predict", "*"}, {"do_train", "*"}, {"enable_jit_checkpoint", "*"}, {"eval_delay", "*"},
    {"eval_do_concat_batches", "*"}, {"eval_steps", "*"}, {"eval_use_gather_object", "*"},
    {"fp16_opt_level", "*"}, {"generation_config", "*"}, {"generation_max_length", "*"},
    {"generation_num_beams", "*"}, {"greater_is_better", "*"}, {"group_by_length", "*"}, {"hub_always_push", "*"}, {"hub_model_id", "*"},
    {"hub_private_repo", "*"}, {"hub_revision", "*"}, {"hub_strategy", "*"}, {"hub_token", "*"}, {"ignore_data_skip", "*"}, {"include_for_metrics", "*"},
    {"include_inputs_for_metrics", "*"}, {"include_num_input_tokens_seen", "*"}, {"include_tokens_per_second", "*"}, {"jit_mode_eval", "*"},
    {"label_names", "*"}, {"learning_rate", "*"}, {"length_column_name", "*"}, {"load_best_model_at_end", "*"}, {"local_rank", "*"}, {"log_level", "*"},
    {"log_level_replica", "*"}, {"log_on_each_node", "*"}, {"logging_dir", "*"}, {"logging_first_step", "*"}, {"logging_nan_inf_filter", "*"},
    {"logging_steps", "*"}, {"logging_strategy", "*"}, {"lr_scheduler_kwargs", "*"}, {"lr_scheduler_type", "*"}, {"max_grad_norm", "*"}, {"max_steps", "*"},
    {"metric_for_best_model", "*"}, {"neftune_noise_alpha", "*"}, {"no_average_tokens_across_devices", "*"}, {"no_dataloader_in_order", "*"},
    {"no_dataloader_pin_memory", "*"}, {"no_eval_do_concat_batches", "*"}, {"no_log_on_each_node", "*"}, {"no_logging_nan_inf_filter", "*"},
    {"no_remove_unused_columns", "*"}, {"no_save_safetensors", "*"}, {"num_train_epochs", "*"}, {"output_dir", "*"}, {"overwrite_output_dir", "*"},
    {"project", "*"},
    {"push_to_hub", "*"}, {"push_to_hub_model_id", "*"}, {"push_to_hub_organization", "*"}, {"push_to_hub_token", "*"}, {"ray_scope", "*"},
    {"remove_unused_columns", "*"}, {"report_to", "*"}, {"restore_callback_states_from_checkpoint", "*"}, {"resume_from_checkpoint", "*"}, {"run_name", "*"},
    {"save_on_each_node", "*"}, {"save_only_model", "*"}, {"save_safetensors", "*"}, {"save_steps", "*"}, {"save_strategy", "*"}, {"save_total_limit", "*"},
    {"seed", "*"}, {"sortish_sampler", "*"}, {"tf32", "*"}, {"tpu_metrics_debug", "*"}, {"trackio_bucket_id", "*"}, {"trackio_space_id", "*"},
    {"trackio_static_space_id", "*"}, {"train_sampling_strategy", "*"}, {"use_legacy_prediction_loop", "*"}, {"warmup_ratio", "*"}, {"warmup_steps", "*"},
    {"weight_decay", "*"}, {"accelerator_config", ""}, {"auto_find_batch_size", "false"}, {"bf16_full_eval", "false"}, {"ddp_backend", "nccl"},
    {"ddp_static_graph", "false"}, {"debug", ""}, {"fp16_backend", "auto|cuda_amp"}, {"fp16_full_eval", "false"}, {"fsdp_min_num_params", "0"},
    {"full_determinism", "false"}, {"half_precision_backend", "auto|cuda_amp"}, {"label_smoothing_factor", "0|0"}, {"liger_kernel_config", ""},
    {"model_parallel", "false"}, {"mp_parameters", ""}, {"no_cuda", "false"}, {"no_skip_memory_metrics", "true"}, {"optim_args", ""},
    {"optim_target_modules", ""}, {"parallelism_config", ""}, {"past_index", "-1"}, {"sharded_ddp", "false"}, {"skip_memory_metrics", "true"},
    {"split_batches", "false"}, {"torch_empty_cache_steps", ""}, {"torchdynamo", ""}, {"tp_size", "0|1"}, {"tpu_num_cores", ""}, {"use_cache", "false"},
    {"use_cpu", "false"}, {"use_ipex", "false"}, {"use_mps_device", "false"}, {"xpu_backend", "nccl"},
});
// clang-format on

}  // namespace headroom::io::detail
