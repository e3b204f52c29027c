// Distributed under the Boost Software License, Version 1.0.
// Which releases of TRL have an argument: a file's arguments tell how old it may be, and with that what TRL does where they are silent.
// From every release from 0.7 to 1.10.0.dev0 (huggingface/trl f2cd57710 of 2026-07-24): trl/trainer/*_config.py, trl/experimental/*/*_config.py,
// trl/trainer/model_config.py, trl/scripts/utils.py, trl/trainer/utils.py (OnPolicyConfig, RLOO's up to 0.21).
#pragma once

#include <headroom/io/syntax/names.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace headroom::io::detail {

/// Releases as 100 × major + minor. `methods`: of whose configuration, between bars; "*" of all. `until`: the last that has it; 0: today's has it.
struct trl_age {
  std::string_view key, methods;
  std::int32_t since{}, until{};
};
inline constexpr std::int32_t trl_today = 110;

// clang-format off
inline constexpr auto trl_ages = std::to_array<trl_age>({
    {"activation_offloading", "sft", 18, 0}, {"activation_offloading", "reward", 24, 0}, {"activation_offloading", "dpo", 29, 0},
    {"activation_offloading", "kto", 106, 0}, {"alpha", "cpo", 22, 0}, {"assistant_only_loss", "sft", 19, 0}, {"base_model", "rloo", 0, 9},
    {"base_model_attribute_name", "kto", 17, 27}, {"base_model_attribute_name", "dpo", 19, 28}, {"bnb_4bit_quant_storage", "*", 26, 0},
    {"cache_implementation", "grpo", 16, 0}, {"cache_implementation", "rloo", 22, 0}, {"cache_implementation", "online-dpo", 23, 0},
    {"cast_lm_head_to_fp32", "grpo", 25, 0}, {"center_rewards_coefficient", "reward", 10, 0}, {"chars_per_token", "sft", 0, 17},
    {"chat_template_kwargs", "grpo|rloo", 25, 0}, {"chat_template_path", "sft", 19, 0}, {"chat_template_path", "reward", 24, 0},
    {"cliprange", "rloo", 0, 24}, {"cliprange_value", "rloo", 0, 9}, {"completion_only_loss", "sft", 17, 0}, {"cpo_alpha", "cpo", 9, 0},
    {"dataset_batch_size", "sft", 0, 17}, {"dataset_num_proc", "online-dpo", 0, 24}, {"dataset_num_proc", "reward", 10, 0},
    {"dataset_num_proc", "rloo", 10, 24}, {"dataset_streaming", "*", 19, 0}, {"delta", "grpo", 18, 0}, {"disable_dropout", "online-dpo", 11, 0},
    {"disable_dropout", "kto", 12, 0}, {"disable_dropout", "reward|prm", 14, 0}, {"disable_dropout", "grpo", 17, 0}, {"disable_dropout", "rloo", 22, 0},
    {"discopop_tau", "dpo", 13, 0}, {"ds3_gather_for_generation", "rloo|online-dpo", 14, 0}, {"ds3_gather_for_generation", "grpo", 15, 0},
    {"dtype", "*", 23, 0}, {"entropy_coef", "grpo", 108, 0}, {"entropy_coef_delta", "grpo", 108, 0}, {"entropy_coef_max", "grpo", 108, 0},
    {"entropy_coef_min", "grpo", 108, 0}, {"entropy_target", "grpo", 108, 0}, {"eos_token", "sft", 17, 0}, {"eos_token", "reward", 24, 0},
    {"epsilon_high", "grpo", 16, 0}, {"epsilon_high", "rloo", 22, 0}, {"force_use_ref_model", "dpo", 0, 28}, {"generate_during_eval", "dpo", 0, 28},
    {"generate_during_eval", "kto", 0, 101}, {"generation_batch_size", "grpo", 18, 0}, {"generation_batch_size", "rloo", 22, 0},
    {"generation_kwargs", "grpo", 19, 0}, {"generation_kwargs", "rloo", 22, 0}, {"generation_kwargs", "online-dpo", 23, 0},
    {"gpu_memory_utilization", "online-dpo", 17, 24}, {"gradient_checkpointing_use_reentrant", "*", 0, 26}, {"importance_sampling_level", "grpo", 20, 0},
    {"is_encoder_decoder", "dpo", 0, 14}, {"is_encoder_decoder", "kto", 0, 26}, {"judge", "online-dpo", 12, 100}, {"kl_coef", "rloo", 0, 24},
    {"label_pad_token_id", "kto|orpo|cpo", 0, 27}, {"label_pad_token_id", "dpo", 0, 28}, {"lam", "rloo", 0, 9}, {"ld_alpha", "dpo", 18, 0},
    {"local_rollout_forward_batch_size", "rloo", 0, 24}, {"log_completions", "grpo", 15, 0}, {"log_completions", "rloo", 22, 0},
    {"log_completions_hub_repo", "grpo", 28, 0}, {"log_multimodal", "grpo|rloo", 109, 0}, {"log_unique_prompts", "grpo|rloo", 26, 0},
    {"lora_target_parameters", "*", 21, 0}, {"lora_task_type", "*", 8, 0}, {"loss_type", "kto", 9, 0}, {"loss_type", "grpo", 17, 0},
    {"loss_type", "sft", 23, 0}, {"loss_weights", "dpo", 20, 0}, {"mask_truncated_completions", "grpo", 17, 0},
    {"mask_truncated_completions", "rloo", 22, 0}, {"max_completion_length", "kto", 0, 26}, {"max_completion_length", "dpo", 11, 28},
    {"max_completion_length", "rloo", 22, 0}, {"max_density_ratio", "kto", 9, 9}, {"max_prompt_length", "kto", 0, 26},
    {"max_prompt_length", "orpo|cpo|grpo|prm", 0, 27}, {"max_prompt_length", "dpo", 0, 28}, {"max_prompt_length", "rloo", 22, 28},
    {"max_seq_length", "sft", 0, 19}, {"max_target_length", "cpo", 0, 10}, {"max_target_length", "dpo", 0, 13},
    {"max_tool_calling_iterations", "grpo", 27, 0}, {"min_density_ratio", "kto", 9, 9}, {"min_p", "grpo", 16, 0}, {"min_p", "rloo", 22, 0},
    {"min_p", "online-dpo", 23, 0}, {"missing_eos_penalty", "rloo", 11, 24}, {"model_adapter_name", "dpo", 0, 28},
    {"model_init_kwargs", "online-dpo", 20, 0}, {"model_init_kwargs", "rloo", 22, 0}, {"model_init_kwargs", "reward", 24, 0},
    {"multi_objective_aggregation", "grpo", 27, 0}, {"neftune_noise_alpha", "sft", 0, 11}, {"non_eos_penalty", "rloo", 0, 10},
    {"normalize_advantage", "rloo", 14, 21}, {"normalize_advantages", "rloo", 22, 0}, {"normalize_reward", "rloo", 14, 24},
    {"num_completions_to_print", "grpo", 17, 0}, {"num_completions_to_print", "rloo", 22, 0}, {"num_generations", "rloo", 22, 0},
    {"num_generations_eval", "grpo|rloo", 26, 0}, {"num_iterations", "grpo", 16, 0}, {"num_iterations", "rloo", 22, 0}, {"num_mini_batches", "rloo", 0, 24},
    {"num_of_sequences", "sft", 0, 17}, {"num_ppo_epochs", "rloo", 0, 24}, {"num_sample_generations", "rloo", 0, 24},
    {"off_policy_mask_threshold", "grpo", 27, 0}, {"packing_strategy", "sft", 19, 0}, {"pad_to_multiple_of", "sft", 18, 0},
    {"pad_to_multiple_of", "reward", 24, 0}, {"pad_to_multiple_of", "dpo", 29, 0}, {"pad_to_multiple_of", "grpo|rloo", 100, 0},
    {"pad_to_multiple_of", "kto", 107, 0}, {"pad_token", "sft", 16, 0}, {"pad_token", "dpo|reward", 24, 0}, {"padding_free", "dpo", 14, 0},
    {"padding_free", "sft", 16, 0}, {"padding_value", "dpo", 0, 25}, {"padding_value", "kto|cpo", 0, 27}, {"penalty_reward_value", "rloo", 0, 10},
    {"precompute_ref_batch_size", "dpo", 13, 0}, {"precompute_ref_batch_size", "kto", 102, 0}, {"prompt_sample_size", "kto", 9, 9},
    {"ref_adapter_name", "dpo", 0, 28}, {"ref_model_init_kwargs", "kto", 0, 27}, {"ref_model_init_kwargs", "dpo", 0, 28},
    {"ref_model_mixup_alpha", "grpo", 15, 0}, {"ref_model_mixup_alpha", "rloo", 22, 0}, {"ref_model_mixup_alpha", "kto", 107, 0},
    {"ref_model_sync_steps", "grpo", 15, 0}, {"ref_model_sync_steps", "rloo", 22, 0}, {"ref_model_sync_steps", "kto", 107, 0},
    {"reference_free", "dpo", 0, 28}, {"repetition_penalty", "grpo", 16, 0}, {"repetition_penalty", "rloo", 22, 0},
    {"repetition_penalty", "online-dpo", 23, 0}, {"response_length", "rloo", 0, 24}, {"reward_clip_range", "rloo", 14, 0},
    {"reward_model_path", "rloo", 0, 21}, {"reward_weights", "grpo", 15, 0}, {"reward_weights", "rloo", 22, 0}, {"reward_weights", "online-dpo", 23, 0},
    {"rloo_k", "rloo", 0, 24}, {"router_aux_loss_coef", "grpo|rloo|sft", 107, 0}, {"router_aux_loss_coef", "dpo|kto", 108, 0}, {"rpo_alpha", "dpo", 0, 28},
    {"sanity_check", "rloo", 0, 10}, {"sapo_temperature_neg", "grpo", 26, 0}, {"sapo_temperature_pos", "grpo", 26, 0}, {"scale_rewards", "grpo", 16, 0},
    {"seq_kd", "gkd", 12, 0}, {"sft_model_path", "rloo", 0, 21}, {"shuffle_dataset", "grpo", 17, 0}, {"shuffle_dataset", "rloo", 22, 0},
    {"shuffle_dataset", "sft", 26, 0}, {"simpo_gamma", "cpo", 9, 0}, {"steps_per_generation", "grpo", 18, 0}, {"steps_per_generation", "rloo", 22, 0},
    {"stop_token", "rloo", 0, 24}, {"stop_token_id", "rloo", 0, 24}, {"sync_ref_model", "grpo", 15, 0}, {"sync_ref_model", "rloo", 22, 0},
    {"sync_ref_model", "kto", 107, 0}, {"token_level_kl", "rloo", 14, 24}, {"tools", "dpo", 14, 28}, {"top_entropy_quantile", "grpo", 20, 0},
    {"top_k", "grpo", 16, 0}, {"top_k", "rloo", 22, 0}, {"top_k", "online-dpo", 23, 0}, {"top_p", "grpo", 16, 0}, {"top_p", "rloo", 22, 0},
    {"top_p", "online-dpo", 23, 0}, {"torch_dtype", "*", 0, 26}, {"total_episodes", "rloo", 0, 24},
    {"transformers_continuous_batching_config", "grpo|rloo", 107, 0}, {"truncation_mode", "kto", 0, 26}, {"truncation_mode", "orpo|cpo", 0, 29},
    {"truncation_mode", "sft", 100, 0}, {"use_adaptive_entropy", "grpo", 108, 0}, {"use_bias_correction_kl", "grpo", 26, 0}, {"use_dora", "*", 16, 0},
    {"use_liger", "sft", 10, 17}, {"use_liger_loss", "kto|grpo", 17, 27}, {"use_liger_loss", "dpo", 19, 27}, {"use_logits_to_keep", "dpo", 15, 28},
    {"use_num_logits_to_keep", "dpo", 13, 16}, {"use_rslora", "*", 10, 0}, {"use_transformers_continuous_batching", "grpo|rloo", 107, 0},
    {"use_transformers_paged", "grpo", 20, 0}, {"use_transformers_paged", "rloo", 22, 0}, {"use_transformers_paged", "online-dpo", 23, 101},
    {"use_vllm", "online-dpo", 14, 0}, {"use_vllm", "rloo", 22, 0}, {"use_weighting", "dpo", 12, 0}, {"vespo_k_neg", "grpo", 100, 0},
    {"vespo_k_pos", "grpo", 100, 0}, {"vespo_lambda_neg", "grpo", 100, 0}, {"vespo_lambda_pos", "grpo", 100, 0}, {"vf_coef", "rloo", 0, 9},
    {"vllm_device", "grpo", 0, 17}, {"vllm_dtype", "grpo", 15, 17}, {"vllm_enable_prefix_caching", "grpo", 16, 17},
    {"vllm_enable_sleep_mode", "grpo", 23, 0}, {"vllm_enable_sleep_mode", "rloo", 24, 0}, {"vllm_enable_sleep_mode", "online-dpo", 28, 0},
    {"vllm_gpu_memory_utilization", "rloo", 22, 0}, {"vllm_gpu_memory_utilization", "online-dpo", 23, 0},
    {"vllm_group_port", "grpo|rloo|online-dpo", 27, 0}, {"vllm_guided_decoding_regex", "grpo", 16, 27}, {"vllm_guided_decoding_regex", "rloo", 22, 27},
    {"vllm_guided_decoding_regex", "online-dpo", 23, 26}, {"vllm_importance_sampling_cap", "grpo", 23, 0},
    {"vllm_importance_sampling_clip_max", "grpo", 106, 0}, {"vllm_importance_sampling_clip_min", "grpo", 106, 0},
    {"vllm_importance_sampling_correction", "grpo", 23, 0}, {"vllm_importance_sampling_mode", "grpo", 26, 0}, {"vllm_max_model_len", "grpo", 15, 17},
    {"vllm_max_model_length", "grpo", 26, 0}, {"vllm_max_model_length", "rloo", 27, 0}, {"vllm_mode", "grpo", 18, 0}, {"vllm_mode", "rloo", 22, 0},
    {"vllm_mode", "online-dpo", 23, 0}, {"vllm_model_impl", "grpo|online-dpo", 21, 0}, {"vllm_model_impl", "rloo", 22, 0},
    {"vllm_server_base_url", "grpo", 18, 0}, {"vllm_server_base_url", "rloo", 22, 0}, {"vllm_server_base_url", "online-dpo", 23, 0},
    {"vllm_server_host", "grpo", 16, 0}, {"vllm_server_host", "rloo", 22, 0}, {"vllm_server_host", "online-dpo", 23, 0},
    {"vllm_server_port", "grpo", 16, 0}, {"vllm_server_port", "rloo", 22, 0}, {"vllm_server_port", "online-dpo", 23, 0},
    {"vllm_server_timeout", "grpo", 16, 0}, {"vllm_server_timeout", "rloo", 22, 0}, {"vllm_server_timeout", "online-dpo", 23, 0},
    {"vllm_structured_outputs_regex", "grpo|rloo|online-dpo", 27, 0}, {"vllm_tensor_parallel_size", "grpo", 18, 0},
    {"vllm_tensor_parallel_size", "rloo", 22, 0}, {"vllm_tensor_parallel_size", "online-dpo", 23, 0}, {"wandb_log_unique_prompts", "grpo", 17, 26},
    {"wandb_log_unique_prompts", "rloo", 22, 26}, {"whiten_rewards", "rloo", 0, 21},
});
// clang-format on

/// The releases that have all of a file's arguments, and the argument that each end is due to.
struct trl_releases {
  std::int32_t low{}, high{trl_today};
  std::string_view by_low{}, by_high{};
};
/// `has(key)`: whether the file has the argument.
template <class Has>
constexpr trl_releases trl_releases_with(std::string_view method, const Has& has) {
  trl_releases r;
  for (const auto& a : trl_ages) {
    if ((a.methods != "*" && !among_words(a.methods, method)) || !has(a.key)) continue;
    if (a.since > r.low) r.low = a.since, r.by_low = a.key;
    if (a.until > 0 && a.until < r.high) r.high = a.until, r.by_high = a.key;
  }
  return r;
}
/// "1.6", "0.29".
inline std::string trl_release_text(std::int32_t release) { return std::to_string(release / 100) + "." + std::to_string(release % 100); }

}  // namespace headroom::io::detail
