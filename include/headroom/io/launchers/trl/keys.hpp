// Distributed under the Boost Software License, Version 1.0.
// Arguments of TRL's trainers beside SFT's that no reader takes (trl/trainer/*_config.py, trl/experimental/*/*_config.py, trl/scripts/*.py; every
// release from 0.7 to 1.10.0.dev0, huggingface/trl f2cd57710 of 2026-07-24): harmless, or refused unless they switch a feature off. What they share
// with SFT, ModelConfig and ScriptArguments: trl_passed.
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

namespace headroom::io::detail {

// clang-format off
/// What scripts for models that see set themselves.
inline constexpr auto trl_sight_passed = std::to_array<passed_key>({{"max_length", "*"}, {"max_seq_length", "*"}});
/// DPO, KTO, ORPO, CPO, Reward and GKD.
inline constexpr auto trl_preference_passed = std::to_array<passed_key>({
    {"alpha", "*"}, {"base_model_attribute_name", "*"}, {"center_rewards_coefficient", "*"}, {"desirable_weight", "*"}, {"discopop_tau", "*"},
    {"f_alpha_divergence_coef", "*"}, {"f_divergence_type", "*"}, {"gamma", "*"}, {"gamma_beta_ratio", "*"}, {"generate_during_eval", "*"},
    {"label_pad_token_id", "*"}, {"label_smoothing", "*"}, {"ld_alpha", "*"}, {"loss_weights", "*"}, {"max_new_tokens", "*"}, {"padding_value", "*"},
    {"precompute_ref_batch_size", "*"}, {"ref_model_mixup_alpha", "*"}, {"ref_model_sync_steps", "*"}, {"simpo_gamma", "*"}, {"temperature", "*"}, {"tpo_l_gamma", "*"},
    {"tools", "*"}, {"undesirable_weight", "*"}, {"is_encoder_decoder", "false"}, {"max_density_ratio", "10|10.0"}, {"min_density_ratio", "0.5"},
    {"model_adapter_name", ""}, {"model_init_kwargs", ""}, {"pad_to_multiple_of", ""}, {"padding_free", "false"}, {"prompt_sample_size", "1024"},
    {"ref_adapter_name", ""}, {"ref_model_init_kwargs", ""}, {"reference_free", "false"}, {"rpo_alpha", ""}, {"seq_kd", "false"}, {"sync_ref_model", "false"},
    {"teacher_model_init_kwargs", ""}, {"use_liger_loss", "false"}, {"use_logits_to_keep", "false"}, {"use_num_logits_to_keep", "false"},
    {"use_weighting", "false"}, {"lora_task_type", "CAUSAL_LM|SEQ_CLS"}, {"activation_offloading", "false"}, {"chat_template_path", "*.jinja"}, {"router_aux_loss_coef", "0|0.001"},
});
/// PRM, beside those, whose script hands over a model that it loads without a format and an implementation of attention.
inline constexpr auto trl_steps_passed = std::to_array<passed_key>({{"step_separator", "*"}, {"train_on_last_step_only", "*"}, {"dtype", "*"}, {"torch_dtype", "*"}, {"lora_task_type", "CAUSAL_LM|TOKEN_CLS"}});
/// GRPO and RLOO. Losses are arithmetic on log-probabilities of (completions, tokens); entropies are computed for a metric in any case.
inline constexpr auto trl_online_passed = std::to_array<passed_key>({
    {"chat_template_kwargs", "*"}, {"delta", "*"}, {"epsilon", "*"}, {"epsilon_high", "*"}, {"importance_sampling_level", "*"}, {"log_completions", "*"},
    {"log_completions_hub_repo", "*"}, {"log_multimodal", "*"}, {"log_unique_prompts", "*"}, {"loss_type", "*"}, {"mask_truncated_completions", "*"},
    {"max_tool_calling_iterations", "*"}, {"min_p", "*"}, {"multi_objective_aggregation", "*"}, {"normalize_advantages", "*"},
    {"num_completions_to_print", "*"}, {"num_generations_eval", "*"}, {"off_policy_mask_threshold", "*"}, {"ref_model_mixup_alpha", "*"},
    {"ref_model_sync_steps", "*"}, {"repetition_penalty", "*"}, {"reward_clip_range", "*"}, {"reward_funcs", "*"}, {"reward_weights", "*"},
    {"sapo_temperature_neg", "*"}, {"sapo_temperature_pos", "*"}, {"scale_rewards", "*"}, {"temperature", "*"}, {"top_entropy_quantile", "*"}, {"top_k", "*"},
    {"top_p", "*"}, {"use_bias_correction_kl", "*"}, {"vespo_k_neg", "*"}, {"vespo_k_pos", "*"}, {"vespo_lambda_neg", "*"}, {"vespo_lambda_pos", "*"},
    {"vllm_group_port", "*"}, {"vllm_guided_decoding_regex", "*"}, {"vllm_importance_sampling_cap", "*"}, {"vllm_importance_sampling_clip_max", "*"},
    {"vllm_importance_sampling_clip_min", "*"}, {"vllm_importance_sampling_mode", "*"},
    {"vllm_max_model_length", "*"}, {"vllm_server_base_url", "*"}, {"vllm_server_host", "*"}, {"vllm_server_port", "*"}, {"vllm_server_timeout", "*"},
    {"vllm_structured_outputs_regex", "*"}, {"wandb_log_unique_prompts", "*"}, {"entropy_coef_delta", "*"}, {"entropy_coef_max", "*"},
    {"entropy_coef_min", "*"}, {"entropy_target", "*"}, {"ds3_gather_for_generation", "*"}, {"steps_per_generation", "*"}, {"generation_batch_size", "*"},
    {"generation_kwargs", "*"}, {"cache_implementation", "*"}, {"use_transformers_paged", "*"}, {"use_transformers_continuous_batching", "*"},
    {"transformers_continuous_batching_config", ""}, {"cast_lm_head_to_fp32", "false"}, {"entropy_coef", "0|0"}, {"model_init_kwargs", ""},
    {"pad_to_multiple_of", ""}, {"router_aux_loss_coef", "0|0.001"}, {"sync_ref_model", "false"}, {"use_adaptive_entropy", "false"},
    {"use_liger_loss", "false"}, {"vllm_model_impl", "vllm"}, {"vllm_dtype", "auto"}, {"vllm_max_model_len", "*"}, {"vllm_enable_prefix_caching", "*"},
    {"rollout_func", ""}, {"environment_factory", ""}, {"qlora", "*"}, {"subset_name", "*"}, {"train_file_dir", "*"}, {"train_samples", "*"},
    // huggingface/open-r1 src/open_r1/configs.py (1416fa0 of 2026-04-02), GRPOScriptArguments and GRPOConfig: rewards are computed on the host or by servers.
    {"cosine_min_value_wrong", "*"}, {"cosine_max_value_wrong", "*"}, {"cosine_min_value_correct", "*"}, {"cosine_max_value_correct", "*"},
    {"cosine_max_len", "*"}, {"repetition_n_grams", "*"}, {"repetition_max_penalty", "*"}, {"code_language", "*"}, {"code_eval_test_batch_size", "*"},
    {"code_eval_scoring_mode", "*"}, {"parallel_code_exec_per_proc", "*"}, {"dataset_prompt_column", "*"}, {"e2b_router_url", "*"},
    {"morph_router_url", "*"}, {"code_provider", "*"}, {"ioi_provider", "*"}, {"max_completion_len", "*"}, {"soft_punish_cache", "*"},
    {"benchmarks", "*"}, {"callbacks", "*"}, {"chat_template", "*"}, {"hub_model_revision", "*"}, {"overwrite_hub_revision", "*"},
    {"push_to_hub_revision", "*"}, {"system_prompt", "*"}, {"wandb_entity", "*"}, {"wandb_project", "*"}, {"wandb_run_group", "*"},
    // RLOO up to 0.21 was another program; 0.22 to 0.24 know its names and make no use of them.
    {"base_model", ""}, {"cliprange", ""}, {"cliprange_value", ""}, {"exp_name", ""}, {"kl_coef", ""}, {"lam", ""},
    {"local_rollout_forward_batch_size", ""}, {"missing_eos_penalty", ""}, {"non_eos_penalty", ""}, {"normalize_reward", ""}, {"num_mini_batches", ""},
    {"num_ppo_epochs", ""}, {"num_sample_generations", ""}, {"penalty_reward_value", ""}, {"response_length", ""}, {"reward_model_path", ""},
    {"rloo_k", ""}, {"sanity_check", ""}, {"sft_model_path", ""}, {"stop_token", ""}, {"stop_token_id", ""}, {"token_level_kl", ""}, {"total_episodes", ""},
    {"vf_coef", ""}, {"whiten_rewards", ""}, {"normalize_advantage", ""},
});
/// PPO, online DPO and Nash-MD.
inline constexpr auto trl_scored_passed = std::to_array<passed_key>({
    {"cliprange", "*"}, {"cliprange_value", "*"}, {"exp_name", "*"}, {"gamma", "*"}, {"judge", "*"}, {"kl_coef", "*"}, {"kl_estimator", "*"}, {"lam", "*"},
    {"loss_type", "*"}, {"min_p", "*"}, {"missing_eos_penalty", "*"}, {"num_total_batches", "*"}, {"repetition_penalty", "*"},
    {"reward_weights", "*"}, {"stop_token", "*"}, {"stop_token_id", "*"}, {"temperature", "*"}, {"top_k", "*"}, {"top_p", "*"}, {"total_episodes", "*"},
    {"vf_coef", "*"}, {"vllm_group_port", "*"}, {"vllm_server_base_url", "*"}, {"vllm_server_host", "*"}, {"vllm_server_port", "*"},
    {"vllm_server_timeout", "*"}, {"vllm_structured_outputs_regex", "*"}, {"whiten_rewards", "*"}, {"generation_kwargs", "*"}, {"cache_implementation", "*"},
    {"model_adapter_name", ""}, {"model_init_kwargs", ""}, {"model_name_or_path", "*"}, {"ref_adapter_name", ""}, {"sft_model_path", "*"}, {"vllm_model_impl", "vllm"},
    {"use_transformers_paged", "*"}, {"use_transformers_continuous_batching", "*"}, {"steps_per_generation", "*"}, {"generation_batch_size", "*"},
    {"normalize_advantage", "*"}, {"normalize_reward", "*"}, {"reward_clip_range", "*"}, {"token_level_kl", "*"},
});
// clang-format on

}  // namespace headroom::io::detail
