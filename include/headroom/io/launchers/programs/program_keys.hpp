// Distributed under the Boost Software License, Version 1.0.
// Arguments of programs over the Trainer that no reader takes, from their sources and those of their earlier releases (2026-11): harmless, or
// refused unless they have a value that stands here and switches a feature off.
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

namespace headroom::io::detail {

// clang-format off
inline constexpr auto run_clm_passed = std::to_array<passed_key>({
    {"cache_dir", "*"}, {"dataset_config_name", "*"}, {"dataset_name", "*"}, {"keep_linebreaks", "*"}, {"low_cpu_mem_usage", "*"}, {"max_eval_samples", "*"},
    {"max_train_samples", "*"}, {"max_val_samples", "*"}, {"model_revision", "*"}, {"overwrite_cache", "*"}, {"preprocessing_num_workers", "*"},
    {"streaming", "*"}, {"token", "*"}, {"tokenizer_name", "*"}, {"train_file", "*"}, {"trust_remote_code", "*"}, {"use_auth_token", "*"},
    {"use_fast_tokenizer", "*"}, {"validation_file", "*"}, {"validation_split_percentage", "*"}, {"config_name", ""}, {"config_overrides", ""},
    {"model_type", ""},
});
inline constexpr auto medicalgpt_full_passed = std::to_array<passed_key>({
    {"lora_alpha", "*"}, {"lora_dropout", "*"}, {"lora_rank", "*"}, {"modules_to_save", "*"}, {"peft_path", "*"}, {"qlora", "*"}, {"target_modules", "*"},
    {"use_peft", "*"},
});
inline constexpr auto medicalgpt_passed = std::to_array<passed_key>({
    {"cache_dir", "*"}, {"dataset_config_name", "*"}, {"dataset_name", "*"}, {"hf_hub_token", "*"}, {"ignore_pad_token_for_loss", "*"},
    {"keep_linebreaks", "*"}, {"lora_alpha", "*"}, {"max_eval_samples", "*"}, {"max_predict_samples", "*"}, {"max_train_samples", "*"},
    {"model_revision", "*"}, {"model_type", "*"}, {"neft_alpha", "*"}, {"overwrite_cache", "*"}, {"padding_side", "*"}, {"preprocessing_num_workers", "*"},
    {"rope_scaling", "*"}, {"streaming", "*"}, {"template_name", "*"}, {"test_file_dir", "*"}, {"tokenizer_name_or_path", "*"}, {"tool_format", "*"},
    {"train_file_dir", "*"}, {"train_on_inputs", "*"}, {"trust_remote_code", "*"}, {"use_fast_tokenizer", "*"}, {"validation_file_dir", "*"},
    {"validation_split_percentage", "*"}, {"device_map", "auto"}, {"load_in_kbits", ""}, {"max_source_length", "256"}, {"max_target_length", "256"},
    {"peft_path", ""}, {"shift_attn", "false"}, {"use_tensor_parallel", "false"},
});
/// Its stages of rewards and preferences (training/reward_modeling.py, dpo_training.py, 2f1008cf of 2026-04-28): beside medicalgpt_passed.
inline constexpr auto medicalgpt_method_passed = std::to_array<passed_key>({
    {"min_target_length", "*"}, {"tool_format", "*"}, {"torch_dtype", "*"}, {"load_in_4bit", "false"}, {"load_in_8bit", "false"}, {"qlora", "false"},
    {"modules_to_save", ""}, {"peft_path", ""},
});
inline constexpr auto llava_passed = std::to_array<passed_key>({
    {"cache_dir", "*"}, {"data_path", "*"}, {"group_by_modality_length", "*"}, {"image_folder", "*"}, {"image_token_len", "*"}, {"is_multimodal", "*"},
    {"lazy_preprocess", "*"}, {"lora_alpha", "*"}, {"mm_projector_lr", "*"}, {"mm_projector_type", "*"}, {"mm_use_im_patch_token", "*"},
    {"mm_vision_select_layer", "*"}, {"mpt_attn_impl", "*"}, {"pretrain_mm_mlp_adapter", "*"}, {"remove_unused_columns", "*"},
    {"sep_image_conv_front", "*"}, {"version", "*"}, {"vision_tower", "*"}, {"force_fsdp", "false"}, {"freeze_backbone", "false"},
    {"freeze_mm_mlp_adapter", "false"}, {"image_aspect_ratio", "square|pad"}, {"image_grid_pinpoints", ""}, {"lora_bias", "none"},
    {"lora_target_modules", ""}, {"lora_weight_path", ""}, {"mm_patch_merge_type", "flat"}, {"mm_vision_select_feature", "patch"},
});
inline constexpr auto fastchat_passed = std::to_array<passed_key>({
    {"cache_dir", "*"}, {"data_path", "*"}, {"eval_data_path", "*"}, {"lazy_preprocess", "*"}, {"lora_alpha", "*"}, {"padding_side", "*"},
    {"trust_remote_code", "*"}, {"bias", "none"}, {"efficient_loss", "false"}, {"last_response_loss", "false"}, {"lora_bias", "none"},
    {"lora_weight_path", ""}, {"split_example_loss", "false"},
});
inline constexpr auto trl_passed = std::to_array<passed_key>({
    {"assistant_only_loss", "*"}, {"auto_insert_empty_system_msg", "*"}, {"average_tokens_across_devices", "*"}, {"base_model_revision", "*"},
    {"chars_per_token", "*"}, {"chat_template", "*"}, {"columns", "*"}, {"completion_only_loss", "*"}, {"dataset_batch_size", "*"}, {"dataset_config", "*"},
    {"dataset_configs", "*"}, {"dataset_kwargs", "*"}, {"dataset_mixer", "*"}, {"dataset_mixture", "*"}, {"dataset_name", "*"}, {"dataset_num_proc", "*"},
    {"dataset_splits", "*"}, {"dataset_streaming", "*"}, {"dataset_test_split", "*"}, {"dataset_text_field", "*"}, {"dataset_train_split", "*"},
    {"datasets", "*"}, {"eos_token", "*"}, {"eval_packing", "*"}, {"hub_model_revision", "*"}, {"id", "*"}, {"ignore_bias_buffers", "*"},
    {"learning_rate", "*"}, {"log_with", "*"}, {"logging_first_step", "*"}, {"logging_steps", "*"}, {"lora_alpha", "*"}, {"lr_scheduler_kwargs", "*"},
    {"max_eval_samples", "*"}, {"max_train_samples", "*"}, {"model_code_revision", "*"}, {"model_revision", "*"}, {"neftune_noise_alpha", "*"},
    {"num_of_sequences", "*"}, {"packing_strategy", "*"}, {"pad_token", "*"}, {"peft_lora_alpha", "*"}, {"preprocessing_num_workers", "*"},
    {"remove_unused_columns", "*"}, {"seed", "*"}, {"shuffle_dataset", "*"}, {"split", "*"}, {"streaming", "*"}, {"test_split_size", "*"},
    {"text_column", "*"}, {"tokenizer_name_or_path", "*"}, {"truncation_mode", "*"}, {"truncation_side", "*"}, {"trust_remote_code", "*"},
    {"use_auth_token", "*"}, {"use_rslora", "*"}, {"weight", "*"}, {"accelerate_config", ""}, {"activation_offloading", "false"}, {"batch_size", "64"},
    {"beta", ""}, {"bnb_4bit_quant_storage", "uint8"}, {"chat_template_path", "*.jinja"}, {"config", ""}, {"disable_dropout", ""}, {"env", ""}, {"gamma", ""},
    {"gamma_beta_ratio", ""}, {"generate_during_eval", ""}, {"gradient_checkpointing_use_reentrant", ""}, {"is_encoder_decoder", ""},
    {"label_pad_token_id", ""}, {"label_smoothing", ""}, {"lora_target_parameters", ""}, {"lora_task_type", "CAUSAL_LM"}, {"loss_type", "nll"},
    {"max_completion_length", ""}, {"max_prompt_length", ""}, {"max_target_length", ""}, {"model_init_kwargs", ""}, {"model_name", "facebook/opt-350m"},
    {"pad_to_multiple_of", ""}, {"padding_free", "false"}, {"padding_value", ""}, {"peft_lora_r", "64"}, {"router_aux_loss_coef", "0|0"},
    {"seq_length", "512"}, {"sft_weight", ""}, {"torch_empty_cache_steps", ""},
    // huggingface/open-r1 src/open_r1/configs.py (1416fa0 of 2026-04-02), SFTConfig: logging, and jobs of their own that evaluate.
    {"benchmarks", "*"}, {"callbacks", "*"}, {"overwrite_hub_revision", "*"}, {"push_to_hub_revision", "*"}, {"system_prompt", "*"}, {"wandb_entity", "*"},
    {"wandb_project", "*"}, {"wandb_run_group", "*"},
});
inline constexpr auto peft_sft_passed = std::to_array<passed_key>({
    {"add_special_tokens", "*"}, {"append_concat_token", "*"}, {"assistant_only_loss", "*"}, {"auto_insert_empty_system_msg", "*"},
    {"average_tokens_across_devices", "*"}, {"base_model_revision", "*"}, {"bnb_4bit_compute_dtype", "*"}, {"chars_per_token", "*"}, {"chat_template", "*"},
    {"chat_template_format", "*"}, {"columns", "*"}, {"completion_only_loss", "*"}, {"dataset_batch_size", "*"}, {"dataset_config", "*"},
    {"dataset_configs", "*"}, {"dataset_kwargs", "*"}, {"dataset_mixer", "*"}, {"dataset_mixture", "*"}, {"dataset_name", "*"}, {"dataset_num_proc", "*"},
    {"dataset_splits", "*"}, {"dataset_streaming", "*"}, {"dataset_test_split", "*"}, {"dataset_text_field", "*"}, {"dataset_train_split", "*"},
    {"datasets", "*"}, {"eos_token", "*"}, {"eval_packing", "*"}, {"hub_model_revision", "*"}, {"id", "*"}, {"ignore_bias_buffers", "*"},
    {"learning_rate", "*"}, {"log_with", "*"}, {"logging_first_step", "*"}, {"logging_steps", "*"}, {"lora_alpha", "*"}, {"lr_scheduler_kwargs", "*"},
    {"max_eval_samples", "*"}, {"max_train_samples", "*"}, {"model_code_revision", "*"}, {"model_revision", "*"}, {"neftune_noise_alpha", "*"},
    {"num_of_sequences", "*"}, {"packing_strategy", "*"}, {"pad_token", "*"}, {"peft_lora_alpha", "*"}, {"preprocessing_num_workers", "*"},
    {"remove_unused_columns", "*"}, {"seed", "*"}, {"shuffle_dataset", "*"}, {"split", "*"}, {"splits", "*"}, {"streaming", "*"}, {"test_split_size", "*"},
    {"text_column", "*"}, {"tokenizer_name_or_path", "*"}, {"truncation_mode", "*"}, {"truncation_side", "*"}, {"trust_remote_code", "*"},
    {"use_auth_token", "*"}, {"use_rslora", "*"}, {"weight", "*"}, {"accelerate_config", ""}, {"activation_offloading", "false"}, {"batch_size", "64"},
    {"beta", ""}, {"bnb_4bit_quant_storage", "uint8"}, {"chat_template_path", "*.jinja"}, {"config", ""}, {"disable_dropout", ""}, {"env", ""}, {"gamma", ""},
    {"gamma_beta_ratio", ""}, {"generate_during_eval", ""}, {"gradient_checkpointing_use_reentrant", ""}, {"is_encoder_decoder", ""},
    {"label_pad_token_id", ""}, {"label_smoothing", ""}, {"lora_target_parameters", ""}, {"lora_task_type", "CAUSAL_LM"}, {"loss_type", "nll"},
    {"max_completion_length", ""}, {"max_prompt_length", ""}, {"max_target_length", ""}, {"model_init_kwargs", ""}, {"model_name", "facebook/opt-350m"},
    {"pad_to_multiple_of", ""}, {"padding_free", "false"}, {"padding_value", ""}, {"peft_lora_r", "64"}, {"router_aux_loss_coef", "0|0"},
    {"seq_length", "512"}, {"sft_weight", ""}, {"torch_empty_cache_steps", ""}, {"use_8bit_qunatization", "false"}, {"use_unsloth", "false"},
});
inline constexpr auto open_instruct_passed = std::to_array<passed_key>({
    {"add_bos", "*"}, {"add_seed_and_date_to_exp_name", "*"}, {"cache_dataset_only", "*"}, {"chat_template", "*"}, {"chat_template_name", "*"}, {"checkpointing_steps", "*"},
    {"clean_checkpoints_at_end", "*"}, {"clip_grad_norm", "*"}, {"dataset_cache_mode", "*"}, {"dataset_config_hash", "*"}, {"dataset_config_name", "*"},
    {"dataset_local_cache_dir", "*"}, {"dataset_mix_dir", "*"}, {"dataset_mixer", "*"}, {"dataset_mixer_list", "*"}, {"dataset_mixer_list_splits", "*"},
    {"dataset_name", "*"}, {"dataset_skip_cache", "*"}, {"dataset_target_columns", "*"}, {"dataset_transform_fn", "*"}, {"do_not_randomize_output_dir", "*"},
    {"exp_name", "*"}, {"final_lr_ratio", "*"}, {"get_tokenizer_fn", "*"}, {"ground_truths_key", "*"}, {"gs_bucket_path", "*"}, {"hf_entity", "*"},
    {"hf_metadata_dataset", "*"}, {"hf_repo_id", "*"}, {"hf_repo_revision", "*"}, {"hf_repo_url", "*"}, {"keep_last_n_checkpoints", "*"},
    {"learning_rate", "*"}, {"llama2", "*"}, {"load_balancing_weight", "*"}, {"logging_steps", "*"}, {"lora_alpha", "*"}, {"low_cpu_mem_usage", "*"},
    {"lr_scheduler_type", "*"}, {"max_train_samples", "*"}, {"max_train_steps", "*"}, {"model_revision", "*"}, {"num_train_epochs", "*"},
    {"oe_eval_max_length", "*"}, {"oe_eval_tasks", "*"}, {"output_dir", "*"}, {"overwrite_cache", "*"}, {"overwrite_output_dir", "*"},
    {"preprocessing_num_workers", "*"}, {"push_to_hub", "*"}, {"reduce_loss", "*"}, {"report_to", "*"}, {"resume_from_checkpoint", "*"}, {"run_name", "*"},
    {"save_merged_lora_model", "*"}, {"save_to_hub", "*"}, {"seed", "*"}, {"sft_messages_key", "*"}, {"timeout", "*"}, {"tokenizer_files_hash", "*"},
    {"tokenizer_name", "*"}, {"tokenizer_name_or_path", "*"}, {"tokenizer_revision", "*"}, {"train_file", "*"}, {"trust_remote_code", "*"},
    {"try_auto_save_to_beaker", "*"}, {"try_launch_beaker_eval_jobs", "*"}, {"use_fast", "*"}, {"use_slow_tokenizer", "*"}, {"verbose", "*"},
    {"wandb_entity", "*"}, {"wandb_project_name", "*"}, {"warmup_ratio", "*"}, {"weight_decay", "*"}, {"with_tracking", "*"},
    {"additional_model_arguments", "{}"}, {"config_name", ""}, {"dpo_beta", ""}, {"dpo_gamma_beta_ratio", ""}, {"dpo_label_smoothing", ""},
    {"dpo_loss_type", ""}, {"dpo_use_paged_optimizer", ""}, {"load_balancing_loss", "false"}, {"sequence_parallel_size", "1"}, {"sync_each_batch", "false"},
    {"use_8bit_optimizer", "false"}, {"use_qlora", "false"},
});
inline constexpr auto minicpm_passed = std::to_array<passed_key>({
    {"cache_dir", "*"}, {"eval_data_path", "*"}, {"train_data_path", "*"},
});
inline constexpr auto lmflow_passed = std::to_array<passed_key>({
    {"arch_type", "decoder_only"}, {"cache_dir", "*"}, {"calculate_dataset_stats", "*"}, {"checkpoint_path", "*"}, {"conversation_template", "*"},
    {"customized_cache_dir", "*"}, {"customized_optim", "*"}, {"customized_optim_args", "*"}, {"dataset_cache_dir", "*"}, {"dataset_config_name", "*"},
    {"dataset_name", "*"}, {"dataset_path", "*"}, {"disable_conversation_bos_token", "*"}, {"disable_conversation_eos_token", "*"}, {"do_ntk_scaling", "*"},
    {"do_position_interpolation", "*"}, {"do_rope_scaling", "*"}, {"eos_padding", "*"}, {"eval_dataset_path", "*"}, {"finetune_part", "*"},
    {"group_texts_batch_size", "*"}, {"ignore_bias_buffers", "*"}, {"image_aspect_ratio", "*"}, {"image_folder", "*"}, {"is_custom_dataset", "*"},
    {"is_multimodal", "*"}, {"keep_linebreaks", "*"}, {"lisa_activated_layers", "*"}, {"lisa_interval_steps", "*"}, {"lisa_layers_attribute", "*"},
    {"lisa_step_interval", "*"}, {"load_on_init", "*"}, {"lora_alpha", "*"}, {"low_resource", "*"}, {"max_eval_samples", "*"}, {"max_train_samples", "*"},
    {"model_revision", "*"}, {"ntk_ratio", "*"}, {"optim_adabelief_beta1", "*"}, {"optim_adabelief_beta2", "*"}, {"optim_adabelief_weight_decay", "*"},
    {"optim_adabound_beta1", "*"}, {"optim_adabound_beta2", "*"}, {"optim_adabound_weight_decay", "*"}, {"optim_adam_beta1", "*"}, {"optim_adam_beta2", "*"},
    {"optim_adamax_beta1", "*"}, {"optim_adamax_beta2", "*"}, {"optim_adamax_weight_decay", "*"}, {"optim_adamp_beta1", "*"}, {"optim_adamp_beta2", "*"},
    {"optim_adamp_weight_decay", "*"}, {"optim_adan_beta1", "*"}, {"optim_adan_beta2", "*"}, {"optim_adan_beta3", "*"}, {"optim_adan_weight_decay", "*"},
    {"optim_beta1", "*"}, {"optim_beta2", "*"}, {"optim_beta3", "*"}, {"optim_dummy_beta1", "*"}, {"optim_dummy_beta2", "*"}, {"optim_lamb_beta1", "*"},
    {"optim_lamb_beta2", "*"}, {"optim_lamb_weight_decay", "*"}, {"optim_lars_momentum", "*"}, {"optim_lars_weight_decay", "*"}, {"optim_momentum", "*"},
    {"optim_nadam_beta1", "*"}, {"optim_nadam_beta2", "*"}, {"optim_nadam_weight_decay", "*"}, {"optim_radam_beta1", "*"}, {"optim_radam_beta2", "*"},
    {"optim_radam_weight_decay", "*"}, {"optim_sgdp_momentum", "*"}, {"optim_sgdp_weight_decay", "*"}, {"optim_sophia_beta1", "*"},
    {"optim_sophia_beta2", "*"}, {"optim_sophia_weight_decay", "*"}, {"optim_weight_decay", "*"}, {"optim_yogi_beta1", "*"}, {"optim_yogi_beta2", "*"},
    {"optim_yogi_weight_decay", "*"}, {"overwrite_cache", "*"}, {"padding_side", "*"}, {"pi_ratio", "*"}, {"preprocessing_num_workers", "*"},
    {"prompt_cache_path", "*"}, {"remove_unused_columns", "*"}, {"rope_ntk_ratio", "*"}, {"rope_pi_ratio", "*"}, {"save_aggregated_lora", "*"},
    {"save_language_projection", "*"}, {"save_pretrain_model_path", "*"}, {"sep_style", "*"}, {"streaming", "*"}, {"test_file", "*"}, {"token", "*"},
    {"tokenizer_name", "*"}, {"train_file", "*"}, {"train_on_prompt", "*"}, {"truncate_to_model_max_length", "*"}, {"truncation_side", "*"},
    {"trust_remote_code", "*"}, {"use_auth_token", "*"}, {"use_fast_tokenizer", "*"}, {"use_image_start_end", "*"}, {"use_int8", "*"},
    {"use_prompt_cache", "*"}, {"use_ram_optimized_load", "*"}, {"use_vllm_inference", "*"}, {"validation_file", "*"}, {"validation_split_percentage", "*"},
    {"vision_select_layer", "*"}, {"vllm_gpu_memory_utilization", "*"}, {"vllm_tensor_parallel_size", "*"}, {"config_name", ""}, {"config_overrides", ""},
    {"custom_model", "false"}, {"custom_vision_model", "false"}, {"disable_group_texts", "true"}, {"image_encoder_name_or_path", ""},
    {"llava_loading", "false"}, {"llava_pretrain_model_path", ""}, {"llm_model_name_or_path", ""}, {"lora_model_path", ""}, {"model_type", ""},
    {"pretrained_language_projection_path", ""}, {"qformer_name_or_path", ""}, {"quant_bit", "4"}, {"use_customized_optim", "false"},
    {"use_lisa", "false"}, {"with_qformer", "false"},
});
inline constexpr auto deepspeed_chat_passed = std::to_array<passed_key>({
    {"add_eot_token", "*"}, {"data_output_path", "*"}, {"data_path", "*"}, {"data_split", "*"}, {"disable_dropout", "*"}, {"enable_tensorboard", "*"},
    {"eot_token", "*"}, {"learning_rate", "*"}, {"local_rank", "*"}, {"lora_learning_rate", "*"}, {"lora_module_name", "*"}, {"lr_scheduler_type", "*"},
    {"num_train_epochs", "*"}, {"num_warmup_steps", "*"}, {"only_optimize_lora", "*"}, {"output_dir", "*"}, {"per_device_eval_batch_size", "*"},
    {"print_loss", "*"}, {"seed", "*"}, {"sft_only_data_path", "*"}, {"tensorboard_path", "*"}, {"weight_decay", "*"}, {"compute_fp32_loss", "false"},
    {"dropout", "0|0"}, {"lora_dim", "0"},
});
/// Of its third step (training/step3_rlhf_finetuning/main.py, parse_args): data, rates, seeds, logs; batches of experience wait as numbers a token.
inline constexpr auto deepspeed_chat_ppo_passed = std::to_array<passed_key>({
    {"actor_learning_rate", "*"}, {"actor_lora_learning_rate", "*"}, {"actor_weight_decay", "*"}, {"add_eot_token", "*"}, {"align_overflow", "false"}, {"compute_fp32_loss", "false"},
    {"critic_learning_rate", "*"}, {"critic_lora_learning_rate", "*"}, {"critic_weight_decay", "*"}, {"data_output_path", "*"}, {"data_path", "*"}, {"data_split", "*"},
    {"enable_mixed_precision_lora", "false"}, {"enable_tensorboard", "*"}, {"enable_test_mode", "*"}, {"generation_batches", "*"}, {"local_rank", "*"}, {"lr_scheduler_type", "*"},
    {"num_padding_at_beginning", "*"}, {"num_train_epochs", "*"}, {"num_warmup_steps", "*"}, {"only_optimize_lora", "*"}, {"output_dir", "*"}, {"ppo_epochs", "1"},
    {"preprocessing_num_workers", "*"}, {"print_answers", "*"}, {"print_answers_interval", "*"}, {"seed", "*"}, {"tensorboard_path", "*"}, {"test_stop_step", "*"},
    {"tp_gather_partition_size", "*"}, {"unsup_coef", "*"}, {"unsupervised_dataset_config_name", ""}, {"unsupervised_dataset_name", ""},
});
// clang-format on

}  // namespace headroom::io::detail
