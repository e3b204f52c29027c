// Distributed under the Boost Software License, Version 1.0.
// Arguments of ms-swift's sft and pt that no reader takes, beside transformers' own (modelscope/ms-swift 3602360a of 2026-08-22:
// swift/arguments/*.py, swift/trainers/arguments.py; swift/llm/argument of 3.x; swift/llm/utils/argument.py of 1.x and 2.x): harmless, or refused
// unless they switch a feature off.
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

namespace headroom::io::detail {

// clang-format off
inline constexpr auto swift_passed = std::to_array<passed_key>({
    {"acc_steps", "*"}, {"acc_strategy", "*"}, {"adalora_beta1", "*"}, {"adalora_beta2", "*"}, {"adalora_deltaT", "*"}, {"adalora_init_r", "*"},
    {"adalora_orth_reg_weight", "*"}, {"adalora_target_r", "*"}, {"adalora_tfinal", "*"}, {"adalora_tinit", "*"}, {"adapter_act", "*"}, {"adapter_length", "*"},
    {"add_non_thinking_prefix", "*"}, {"add_output_dir_suffix", "*"}, {"add_version", "*"}, {"additional_saved_files", "*"}, {"agent_template", "*"},
    {"aligner_lr", "*"}, {"bnb_4bit_comp_dtype", "*"}, {"bnb_4bit_compute_dtype", "*"}, {"boft_block_num", "*"}, {"boft_block_size", "*"},
    {"boft_dropout", "*"}, {"boft_modules_to_save", "*"}, {"boft_n_butterfly_factor", "*"}, {"boft_target_modules", "*"}, {"cached_dataset", "*"},
    {"channels", "*"}, {"check_dataset_strategy", "*"}, {"check_model", "*"}, {"check_model_is_latest", "*"}, {"ckpt_dir", "*"},
    {"columns", "*"}, {"create_checkpoint_symlink", "*"}, {"custom_dataset_info", "*"}, {"custom_output_dir_suffix", "*"}, {"custom_register_path", "*"},
    {"custom_train_dataset_path", "*"}, {"data_parallel_size", "*"}, {"dataset", "*"}, {"dataset_num_proc", "*"},
    {"dataset_seed", "*"}, {"dataset_shuffle", "*"}, {"device_groups", "*"}, {"disable_auto_column_mapping", "*"},
    {"disable_ignore_empty_think", "*"}, {"do_sample", "*"}, {"download_mode", "*"}, {"ds3_gather_for_generation", "*"}, {"early_stop_interval", "*"},
    {"enable_cache", "*"}, {"enable_npu_model_patch", "*"}, {"enable_thinking", "*"},
    {"eval_dataset_args", "*"}, {"eval_datasets", "*"}, {"eval_datasets_args", "*"}, {"eval_generation_config", "*"}, {"eval_limit", "*"},
    {"eval_use_evalscope", "false"}, {"external_plugins", "*"}, {"extra_eval_args", "*"}, {"fourier_n_frequency", "*"}, {"fourier_scaling", "*"},
    {"galore_config", "*"}, {"galore_cos_threshold", "*"}, {"galore_gamma_proj", "*"}, {"galore_proj_bits", "*"}, {"galore_proj_group_size", "*"},
    {"galore_queue_size", "*"}, {"galore_scale", "*"}, {"gpu_memory_fraction", "*"}, {"gpu_memory_utilization", "*"}, {"host", "*"}, {"hqq_axis", "*"},
    {"hqq_dynamic_config_path", "*"}, {"ia3_feedforward_modules", "*"}, {"ia3_modules_to_save", "*"}, {"ia3_target_modules", "*"}, {"ignore_args_error", "*"},
    {"init_strategy", "*"}, {"interleave_prob", "*"}, {"is_binary_loss_scale", "*"}, {"is_encoder_decoder", "*"}, {"lang", "*"}, {"lazy_tokenize", "*"},
    {"limit_mm_per_prompt", "*"}, {"lisa_step_interval", "*"}, {"llamapro_num_groups", "*"}, {"llamapro_num_new_blocks", "*"},
    {"lmdeploy_cache_max_entry_count", "*"}, {"lmdeploy_device", "*"}, {"lmdeploy_session_len", "*"}, {"load_args", "*"}, {"load_data_args", "*"},
    {"load_dataset_config", "*"}, {"load_from_cache_file", "*"}, {"local_repo_path", "*"}, {"logprobs", "*"}, {"lora_alpha", "*"}, {"lora_alpha_pattern", "*"},
    {"lora_ga_batch_size", "*"}, {"lora_ga_direction", "*"}, {"lora_ga_iters", "*"}, {"lora_ga_max_length", "*"}, {"lora_ga_scale", "*"},
    {"lora_ga_stable_gamma", "*"}, {"lora_int_id", "*"}, {"lora_local_path", "*"}, {"lora_lr_ratio", "*"}, {"lora_modules", "*"}, {"lora_name", "*"},
    {"lorap_lr_ratio", "*"}, {"loss_scale_config_path", "*"}, {"max_epochs", "*"}, {"max_model_len", "*"}, {"max_new_tokens", "*"}, {"max_shard_size", "*"},
    {"metric_warmup_step", "*"}, {"min_lr", "*"}, {"model_author", "*"}, {"model_cache_dir", "*"}, {"model_name", "*"},
    {"model_revision", "*"}, {"mrl_dims", "*"}, {"neftune_alpha", "*"}, {"neftune_backend", "*"}, {"norm_bbox", "*"}, {"num_beams", "*"},
    {"num_infer_workers", "*"}, {"only_save_model", "*"}, {"packing_cache", "*"}, {"packing_num_proc", "*"}, {"packing_strategy", "*"}, {"padding_side", "*"},
    {"port", "*"}, {"pp", "*"}, {"preprocess_num_proc", "*"}, {"preserve_thinking", "*"}, {"problem_type", "*"}, {"push_hub_strategy", "*"},
    {"ray_exp_name", "*"}, {"ref_model_free", "*"}, {"reft_args", "*"}, {"reft_intervention_type", "*"}, {"reft_layer_key", "*"}, {"reft_layers", "*"},
    {"reft_rank", "*"}, {"repetition_penalty", "*"}, {"response_prefix", "*"}, {"resume_only_model", "*"}, {"rope_scaling", "*"}, {"safe_serialization", "*"},
    {"self_cognition_sample", "*"}, {"share", "*"}, {"shuffle_buffer_size", "*"}, {"stop_words", "*"}, {"stopping_strategy", "*"},
    {"stream", "*"}, {"streaming", "*"}, {"streaming_buffer_size", "*"}, {"streaming_val_size", "*"}, {"strict", "*"}, {"structured_outputs_regex", "*"},
    {"swanlab_email_language", "*"}, {"swanlab_exp_name", "*"}, {"swanlab_lark_secret", "*"}, {"swanlab_lark_webhook_url", "*"}, {"swanlab_mode", "*"},
    {"swanlab_notification_method", "*"}, {"swanlab_project", "*"}, {"swanlab_receiver_email", "*"}, {"swanlab_secret", "*"}, {"swanlab_sender_email", "*"},
    {"swanlab_smtp_port", "*"}, {"swanlab_smtp_server", "*"}, {"swanlab_token", "*"}, {"swanlab_webhook_url", "*"}, {"swanlab_workspace", "*"}, {"system", "*"},
    {"temperature", "*"}, {"template", "*"}, {"template_backend", "*"}, {"template_type", "*"}, {"tensor_parallel_size", "*"}, {"test_oom_error", "*"},
    {"tools_prompt", "*"}, {"top_k", "*"}, {"top_logprobs", "*"}, {"top_p", "*"}, {"tp", "*"}, {"train_dataloader_shuffle", "*"}, {"train_dataset_mix_ds", "*"},
    {"train_dataset_mix_ratio", "*"}, {"train_dataset_sample", "*"}, {"train_sampler_random", "*"}, {"truncation_strategy", "*"}, {"use_async_engine", "*"},
    {"use_chat_template", "*"}, {"use_flash_ckpt", "false"}, {"use_hf", "*"}, {"use_lmdeploy", "*"}, {"use_loss_scale", "*"}, {"use_rslora", "*"},
    {"use_vllm", "*"}, {"val_dataset_sample", "*"}, {"val_dataset_shuffle", "*"}, {"vera_d_initial", "*"}, {"vera_dropout", "*"},
    {"vera_modules_to_save", "*"}, {"vera_projection_prng_key", "*"}, {"vera_rank", "*"}, {"vera_target_modules", "*"}, {"vit_lr", "*"},
    {"vllm_data_parallel_size", "*"}, {"vllm_device", "*"}, {"vllm_disable_cascade_attn", "*"}, {"vllm_disable_custom_all_reduce", "*"},
    {"vllm_enable_expert_parallel", "*"}, {"vllm_enable_lora", "*"}, {"vllm_enable_prefix_caching", "*"}, {"vllm_enforce_eager", "*"},
    {"vllm_engine_kwargs", "*"}, {"vllm_gpu_memory_utilization", "*"}, {"vllm_limit_mm_per_prompt", "*"}, {"vllm_max_lora_rank", "*"},
    {"vllm_max_model_len", "*"}, {"vllm_max_num_seqs", "*"}, {"vllm_mm_processor_cache_gb", "*"}, {"vllm_mode", "*"}, {"vllm_pipeline_parallel_size", "*"},
    {"vllm_quantization", "*"}, {"vllm_reasoning_parser", "*"}, {"vllm_server_base_url", "*"}, {"vllm_server_group_port", "*"}, {"vllm_server_host", "*"},
    {"vllm_server_pass_dataset", "*"}, {"vllm_server_port", "*"}, {"vllm_server_timeout", "*"}, {"vllm_speculative_config", "*"},
    {"vllm_tensor_parallel_size", "*"}, {"vllm_use_async_engine", "*"}, {"wandb_log_unique_prompts", "*"}, {"adapters", ""},
    {"additional_trainable_parameters", ""}, {"auto_find_batch_size", "false"}, {"bnb_4bit_quant_storage", ""}, {"callbacks", "early_stop"},
    {"ddp_backend", "nccl"}, {"deepspeed_autotp_size", ""}, {"deepspeed_config_path", ""}, {"device_map_config", ""}, {"device_map_config_path", ""},
    {"device_max_memory", ""}, {"enable_channel_loss", "false"}, {"enable_dft_loss", "false"}, {"experts_impl", ""}, {"freeze_parameters", ""},
    {"freeze_parameters_ratio", "0"}, {"freeze_parameters_regex", ""}, {"fsdp_num", "1|0"}, {"full_determinism", "false"},
    {"galore_proj_quant", "false"}, {"galore_proj_type", "std"}, {"galore_quantization", "false"}, {"galore_target_modules", ""},
    {"galore_with_embedding", "false"}, {"init_lora_weights", "true|gaussian"}, {"init_weights", "true|gaussian"}, {"lisa_activated_layers", "0"},
    {"lora_bias", "none"}, {"lora_bias_trainable", "none"}, {"lora_dtype", "float32|AUTO|fp32"}, {"lora_layers_pattern", ""}, {"lora_layers_to_transform", ""},
    {"lora_loftq_config", ""}, {"lora_rank_pattern", ""}, {"lora_target_regex", ""}, {"loss_name", ""},
    {"loss_scale", "default|last_round|all|ignore_empty_think|default+ignore_empty_think|last_round+ignore_empty_think|all+ignore_empty_think"},
    {"loss_type", ""}, {"max_memory", ""}, {"model_layer_cls_name", ""}, {"num_labels", ""}, {"optimizer", "lorap|multimodal"},
    {"rescale_image", "-1"}, {"router_aux_loss_coef", "0"}, {"sequence_parallel", "false"}, {"sequence_parallel_size", "1"}, {"target_parameters", ""},
    {"target_regex", ""}, {"task_type", "causal_lm"}, {"train_backend", "swift"}, {"trainable_parameters", ""}, {"trainable_parameters_regex", ""},
    {"tuner_backend", "peft"}, {"use_ray", "false"}, {"use_swift_lora", "false"},
});
// clang-format on

}  // namespace headroom::io::detail
