// Distributed under the Boost Software License, Version 1.0.
// LLaMA-Factory's own arguments that no reader takes (hiyouga/LLaMA-Factory src/llamafactory/hparams/*_args.py, releases 0.0.9 to 0.9.5 and
// 2026-08): harmless, or refused unless they switch a feature off.
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

namespace headroom::io::detail {

// clang-format off
inline constexpr auto llama_factory_passed = std::to_array<passed_key>({
    {"_kt_adapter_artifact_path", "*"}, {"_kt_config_handle", "*"}, {"_kt_inference_config", "*"}, {"adapter_folder", "*"}, {"apollo_scale", "*"},
    {"apollo_scale_front", "*"}, {"apollo_scale_type", "*"}, {"asft_alpha", "*"}, {"badam_mask_mode", "*"},
    {"badam_start_block", "*"}, {"badam_switch_block_every", "*"}, {"badam_switch_interval", "*"}, {"badam_switch_mode", "*"}, {"badam_update_ratio", "*"},
    {"badam_verbose", "*"}, {"batch_size", "*"}, {"block_diag_attn", "*"}, {"buffer_size", "*"}, {"cache_dir", "*"}, {"cache_path", "*"}, {"chunk_size", "*"},
    {"compute_dtype", "*"}, {"content", "*"}, {"cpu_infer", "*"}, {"create_new_adapter", "*"}, {"data_shared_file_system", "*"},
    {"dataset", "*"}, {"dataset_dir", "*"}, {"dataset_name", "*"}, {"dataset_sha1", "*"}, {"default_system", "*"}, {"dev_ratio", "*"}, {"device_map", "*"},
    {"disable_shuffling", "*"}, {"disable_version_checking", "*"}, {"do_sample", "*"}, {"download_mode", "*"}, {"dpo_beta", "*"}, {"dpo_ftx", "*"},
    {"dpo_label_smoothing", "*"}, {"dpo_loss", "*"}, {"eaft_alpha", "*"}, {"early_stopping_steps", "*"}, {"enable_thinking", "*"}, {"eval_dataset", "*"},
    {"eval_num_beams", "*"}, {"eval_on_each_dataset", "*"}, {"export_device", "*"}, {"export_dir", "*"}, {"export_hub_model_id", "*"},
    {"export_legacy_format", "*"}, {"export_quantization_bit", "*"}, {"export_quantization_dataset", "*"}, {"export_quantization_maxlen", "*"},
    {"export_quantization_nsamples", "*"}, {"export_size", "*"}, {"folder", "*"}, {"formatting", "*"}, {"fp8_backend", "*"}, {"galore_scale", "*"},
    {"hf_auth_token", "*"}, {"hf_hub_token", "*"}, {"history", "*"}, {"ignore_pad_token_for_loss", "*"}, {"image_dir", "*"},
    {"include_effective_tokens_per_second", "*"}, {"infer_backend", "*"}, {"infer_dtype", "*"}, {"init_special_tokens", "*"}, {"interleave_probs", "*"},
    {"kt_cpu_activation", "*"}, {"kt_expert_checkpoint_path", "*"}, {"kt_force_think", "*"}, {"kt_lora_expert_intermediate_size", "*"},
    {"kt_lora_expert_num", "*"}, {"kt_maxlen", "*"}, {"kt_mode", "*"}, {"kt_non_expert_weight_path", "*"}, {"kt_optimize_rule", "*"},
    {"kt_use_cuda_graph", "*"}, {"kt_use_lora_experts", "*"}, {"kt_weight_path", "*"}, {"kto_chosen_weight", "*"}, {"kto_rejected_weight", "*"},
    {"lang", "*"}, {"ld_alpha", "*"}, {"length_penalty", "*"}, {"load_from", "*"}, {"lora_alpha", "*"}, {"loraplus_lr_embedding", "*"},
    {"loraplus_lr_ratio", "*"}, {"low_cpu_mem_usage", "*"}, {"mask_history", "*"}, {"master_addr", "*"}, {"master_port", "*"}, {"max_length", "*"},
    {"max_samples", "*"}, {"media_dir", "*"}, {"megatron_bridge_args", "*"}, {"messages", "*"}, {"mix_strategy", "*"}, {"mode", "*"},
    {"model_revision", "*"}, {"module_dropout", "*"}, {"ms_hub_token", "*"}, {"n_shot", "*"}, {"neft_alpha", "*"}, {"num_beams", "*"},
    {"num_hidden_layers", "*"}, {"offload_folder", "*"}, {"oft_block_size", "*"}, {"oft_rank", "*"}, {"oft_target", "*"}, {"om_hub_token", "*"},
    {"orpo_beta", "*"}, {"overwrite_cache", "*"}, {"overwrite_output_dir", "*"}, {"padding_side", "*"}, {"pissa_convert", "*"}, {"pissa_iter", "*"},
    {"placement_strategy", "*"}, {"plot_loss", "*"}, {"ppo_buffer_size", "*"}, {"ppo_epochs", "*"}, {"ppo_logger", "*"}, {"ppo_score_norm", "*"},
    {"ppo_target", "*"}, {"ppo_whiten_rewards", "*"}, {"pref_bco_weight", "*"}, {"pref_beta", "*"}, {"pref_ftx", "*"}, {"pref_loss", "*"},
    {"preprocessing_batch_size", "*"}, {"preprocessing_num_workers", "*"}, {"preserve_thinking", "*"}, {"print_param_status", "*"},
    {"profiler_active_steps", "*"}, {"profiler_output_dir", "*"}, {"profiler_profile_memory", "*"}, {"profiler_record_shapes", "*"}, {"profiler_repeat", "*"},
    {"profiler_wait_steps", "*"}, {"profiler_warmup_steps", "*"}, {"profiler_with_stack", "*"}, {"prompt", "*"}, {"prompt_template", "*"}, {"query", "*"},
    {"ranking", "*"}, {"ray_init_kwargs", "*"}, {"ray_run_name", "*"}, {"ray_storage_filesystem", "*"}, {"ray_storage_path", "*"},
    {"ref_model", "*"}, {"ref_model_adapters", "*"}, {"ref_model_checkpoint", "*"}, {"ref_model_quantization_bit", "*"}, {"repetition_penalty", "*"},
    {"reserved_label_len", "*"}, {"response", "*"}, {"resume_lora_training", "*"}, {"reward_model", "*"}, {"reward_model_adapters", "*"},
    {"reward_model_checkpoint", "*"}, {"reward_model_quantization_bit", "*"}, {"reward_model_type", "*"}, {"role", "*"}, {"rope_scaling", "*"},
    {"save_dir", "*"}, {"seed", "*"}, {"sglang_config", "*"}, {"sglang_lora_backend", "*"}, {"sglang_maxlen", "*"},
    {"sglang_mem_fraction", "*"}, {"sglang_tp_size", "*"}, {"simpo_gamma", "*"}, {"skip_special_tokens", "*"}, {"source_prefix", "*"}, {"split", "*"},
    {"split_special_tokens", "*"}, {"streaming", "*"}, {"subset", "*"}, {"swanlab_api_key", "*"}, {"swanlab_lark_secret", "*"},
    {"swanlab_lark_webhook_url", "*"}, {"swanlab_logdir", "*"}, {"swanlab_mode", "*"}, {"swanlab_project", "*"}, {"swanlab_run_name", "*"},
    {"swanlab_workspace", "*"}, {"system", "*"}, {"system_prompt", "*"}, {"task", "*"}, {"task_dir", "*"}, {"temperature", "*"}, {"template", "*"},
    {"tokenized_path", "*"}, {"tool_format", "*"}, {"top_k", "*"}, {"top_p", "*"}, {"train_on_prompt", "*"}, {"trust_remote_code", "*"},
    {"use_auth_token", "*"}, {"use_cache", "*"}, {"use_fast_tokenizer", "*"}, {"use_kv_cache", "*"}, {"use_rslora", "*"}, {"use_swanlab", "*"},
    {"val_size", "*"}, {"vllm_config", "*"}, {"vllm_dtype", "*"}, {"vllm_enforce_eager", "*"}, {"vllm_gpu_util", "*"}, {"vllm_max_lora_rank", "*"},
    {"vllm_maxlen", "*"}, {"account_for_embedding_in_pipeline_split", ""}, {"account_for_loss_in_pipeline_split", ""}, {"adapter_name_or_path", ""},
    {"add_special_tokens", ""}, {"add_tokens", ""}, {"apollo_proj", "random"}, {"apollo_proj_type", "std"}, {"apply_rope_fusion", ""},
    {"bias_activation_fusion", ""}, {"calculate_per_token_loss", ""}, {"checkpoint_dir", ""}, {"context_parallel_size", ""},
    {"cross_entropy_loss_fusion", ""}, {"dpo_ref_model", ""}, {"dpo_ref_model_checkpoint", ""}, {"enable_torch_profiler", "false"},
    {"expert_model_parallel_size", ""}, {"export_hf_on_finish", ""}, {"extra_config", ""}, {"fp8", "false"}, {"fp8_enable_fsdp_float8_all_gather", "false"},
    {"galore_proj_type", "std"}, {"hyper_parallel_args", "1"}, {"hyper_parallel_cp_size", "1"}, {"lora_bf16_mode", "false"}, {"masked_softmax_fusion", ""},
    {"max_source_length", ""}, {"max_target_length", ""}, {"megatron_pretrained_checkpoint", ""}, {"mixed_precision", ""}, {"mixture_of_depths", ""},
    {"model_max_length", ""}, {"moe_aux_loss_coef", "0|0"}, {"moe_grouped_gemm", ""}, {"moe_token_dispatcher_type", ""}, {"name_module_trainable", ""},
    {"new_special_tokens", ""}, {"new_special_tokens_config", ""}, {"num_layer_trainable", ""}, {"overlap_grad_reduce", ""}, {"overlap_param_gather", ""},
    {"pipeline_model_parallel_size", ""}, {"pissa_init", "false"}, {"profile_modules", ""}, {"quantization_device_map", ""}, {"recompute_granularity", ""},
    {"recompute_method", ""}, {"recompute_num_layers", ""}, {"resize_vocab", "false"}, {"resources_per_worker", ""}, {"sequence_parallel", ""},
    {"shift_attn", "false"}, {"tensor_model_parallel_size", ""}, {"train_from_scratch", "false"}, {"train_mm_proj_only", "false"},
    {"upcast_layernorm", "false"}, {"upcast_lmhead_output", "false"}, {"use_asft_loss", "false"}, {"use_dft_loss", "false"},
    {"use_distributed_optimizer", ""}, {"use_eaft_loss", "false"}, {"use_hyper_parallel", "false"}, {"use_kt", "false"}, {"use_llama_pro", "false"},
    {"use_mca", "false"}, {"use_megatron_bridge", "false"}, {"use_packed_sequences", ""}, {"use_unsloth", "false"}, {"use_v1_kernels", "false"},
    {"virtual_pipeline_model_parallel_size", ""}, {"visual_inputs", "false"},
});
// clang-format on
/// Of its trainings over Megatron-Core alone (hparams/training_args.py, mcore_adapter's and Megatron-Bridge's; train/mca, train/megatron_bridge).
inline constexpr std::string_view factory_over_megatron =
    "tensor_model_parallel_size|pipeline_model_parallel_size|virtual_pipeline_model_parallel_size|context_parallel_size|expert_model_parallel_size|sequence_parallel|use_distributed_optimizer|overlap_grad_reduce|overlap_param_gather|"
    "recompute_granularity|recompute_method|recompute_num_layers|apply_rope_fusion|bias_activation_fusion|masked_softmax_fusion|cross_entropy_loss_fusion|calculate_per_token_loss|moe_grouped_gemm|moe_token_dispatcher_type|"
    "account_for_embedding_in_pipeline_split|account_for_loss_in_pipeline_split|use_packed_sequences|megatron_pretrained_checkpoint|mixed_precision|use_mca|use_megatron_bridge";

}  // namespace headroom::io::detail
