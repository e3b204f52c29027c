// Distributed under the Boost Software License, Version 1.0.
// Arguments of the Trainer and of LLaMA-Factory that are known but say nothing of memory, or are not modelled.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom::io::detail {

/// Data, logging, saving, evaluation, learning rate: nothing of a step's memory.
inline constexpr auto trainer_elsewhere = std::to_array<std::string_view>({
    // transformers
    "output_dir", "overwrite_output_dir", "do_train", "do_eval", "do_predict", "eval_strategy", "evaluation_strategy", "prediction_loss_only", "per_device_eval_batch_size", "eval_accumulation_steps",
    "eval_delay", "learning_rate", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm", "num_train_epochs", "max_steps", "lr_scheduler_type", "lr_scheduler_kwargs", "warmup_ratio",
    "warmup_steps", "log_level", "log_level_replica", "log_on_each_node", "logging_dir", "logging_strategy", "logging_first_step", "logging_steps", "logging_nan_inf_filter", "save_strategy", "save_steps",
    "save_total_limit", "save_safetensors", "save_on_each_node", "save_only_model", "restore_callback_states_from_checkpoint", "use_cpu", "seed", "data_seed", "jit_mode_eval", "fp16_opt_level",
    "half_precision_backend", "local_rank", "ddp_backend", "debug", "dataloader_drop_last", "eval_steps", "dataloader_num_workers", "dataloader_prefetch_factor", "past_index", "run_name", "disable_tqdm",
    "remove_unused_columns", "label_names", "load_best_model_at_end", "metric_for_best_model", "greater_is_better", "ignore_data_skip", "fsdp_config", "accelerator_config", "label_smoothing_factor",
    "length_column_name", "report_to", "ddp_find_unused_parameters", "ddp_bucket_cap_mb", "ddp_broadcast_buffers", "ddp_timeout", "dataloader_pin_memory", "dataloader_persistent_workers",
    "skip_memory_metrics", "push_to_hub", "resume_from_checkpoint", "hub_model_id", "hub_strategy", "hub_token", "hub_private_repo", "hub_always_push", "hub_revision", "include_for_metrics",
    "include_inputs_for_metrics", "eval_do_concat_batches", "mp_parameters", "auto_find_batch_size", "full_determinism", "ray_scope", "torch_empty_cache_steps", "include_tokens_per_second",
    "include_num_input_tokens_seen", "average_tokens_across_devices", "neftune_noise_alpha", "batch_eval_metrics", "eval_on_start", "eval_use_gather_object", "predict_with_generate", "generation_max_length",
    "generation_num_beams", "generation_config", "group_by_length", "optim_args", "optim_target_modules", "tf32", "fp16_full_eval", "bf16_full_eval", "gradient_checkpointing_kwargs", "torch_compile_backend",
    "torch_compile_mode", "project", "trackio_space_id",
    // LLaMA-Factory
    "adapter_name_or_path", "adapter_folder", "cache_dir", "use_fast_tokenizer", "resize_vocab", "split_special_tokens", "add_tokens", "add_special_tokens", "new_special_tokens_config",
    "init_special_tokens", "model_revision", "low_cpu_mem_usage", "rope_scaling", "moe_aux_loss_coef", "train_from_scratch", "infer_backend", "offload_folder", "use_kv_cache", "use_cache", "infer_dtype",
    "hf_hub_token", "ms_hub_token", "om_hub_token", "print_param_status", "trust_remote_code", "quantization_device_map", "image_max_pixels", "image_min_pixels", "image_do_pan_and_scan", "crop_to_patches",
    "video_max_pixels", "video_min_pixels", "video_fps", "video_maxlen", "use_audio_in_video", "audio_sampling_rate", "export_dir", "export_size", "export_device", "export_legacy_format",
    "export_hub_model_id", "template", "dataset", "eval_dataset", "dataset_dir", "media_dir", "train_on_prompt", "mask_history", "streaming", "buffer_size", "mix_strategy", "interleave_probs",
    "overwrite_cache", "preprocessing_batch_size", "preprocessing_num_workers", "max_samples", "eval_num_beams", "ignore_pad_token_for_loss", "val_size", "eval_on_each_dataset", "tool_format",
    "default_system", "enable_thinking", "preserve_thinking", "tokenized_path", "data_shared_file_system", "lora_alpha", "loraplus_lr_ratio", "loraplus_lr_embedding", "use_rslora", "pissa_init",
    "pissa_iter", "pissa_convert", "create_new_adapter", "galore_scale", "galore_proj_type", "galore_target", "apollo_scale", "apollo_proj", "apollo_proj_type", "apollo_scale_type", "apollo_target",
    "apollo_scale_front", "badam_start_block", "badam_switch_mode", "badam_switch_interval", "badam_verbose", "badam_update_ratio", "badam_mask_mode", "use_swanlab", "swanlab_project", "swanlab_workspace",
    "swanlab_run_name", "swanlab_mode", "swanlab_api_key", "swanlab_logdir", "swanlab_lark_webhook_url", "swanlab_lark_secret", "compute_accuracy", "disable_shuffling", "early_stopping_steps", "plot_loss",
    "include_effective_tokens_per_second", "ray_num_workers", "ray_init_kwargs", "ray_run_name", "ray_storage_path", "ray_storage_filesystem", "resources_per_worker", "placement_strategy", "master_addr",
    "master_port", "use_dft_loss", "max_new_tokens", "do_sample", "temperature", "top_p", "top_k", "num_beams", "max_length", "repetition_penalty", "length_penalty", "skip_special_tokens", "pref_beta",
    "pref_ftx", "pref_loss", "dpo_label_smoothing", "upcast_layernorm", "enable_torch_profiler", "use_v1_kernels",
});

/// What would change memory in ways that are not modelled: accepted where it is switched off.
inline constexpr auto trainer_unmodelled = std::to_array<std::string_view>({
    "shift_attn", "mixture_of_depths", "use_unsloth", "use_kt", "use_mca", "use_megatron_bridge", "use_hyper_parallel", "use_llama_pro", "use_adam_mini", "use_asft_loss", "use_eaft_loss", "fp8", "ref_model",
    "reward_model", "oft_rank", "oft_block_size", "upcast_lmhead_output", "tp_size", "sequence_parallel_size", "parallelism_config",
});

/// Whether a value is needed: one that a script leaves open may be a path or a rate.
inline bool trainer_reads(std::string_view key) {
  return key != "model_name_or_path" && key != "deepspeed" && std::find(trainer_elsewhere.begin(), trainer_elsewhere.end(), key) == trainer_elsewhere.end() &&
         (key.find("batch_size") != std::string_view::npos || key.find("accumulation") != std::string_view::npos || key.find("_len") != std::string_view::npos || key.find("rank") != std::string_view::npos);
}

}  // namespace headroom::io::detail
