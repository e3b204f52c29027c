// Distributed under the Boost Software License, Version 1.0.
// Every key of GPT-NeoX's configuration: read, harmless, or refused unless it switches its feature off (EleutherAI/gpt-neox ea7aefd8 of 2026-05-20
// megatron/neox_arguments/{neox_args,deepspeed_args}.py), and names of 2021 to 2022.
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

#include <array>

namespace headroom::io::detail {

/// Keys that io/launchers/gpt_neox/import.hpp reads.
inline constexpr auto gpt_neox_read = std::to_array<std::string_view>({
    "pipe_parallel_size", "model_parallel_size", "pipe_partition_method", "precision", "num_layers", "hidden_size", "intermediate_size", "mlp_multiple_of", "expansion_factor", "num_attention_heads", "seq_length",
    "max_position_embeddings", "pos_emb", "no_weight_tying", "attention_config", "make_vocab_size_divisible_by", "scaled_upper_triang_masked_softmax_fusion", "bias_gelu_fusion", "rotary_pct", "gpt_j_residual",
    "tokenizer_type", "vocab_file", "attention_dropout", "hidden_dropout", "checkpoint_activations", "partition_activations", "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
    "optimizer", "fp16", "bf16", "zero_optimization", "data_types", "num_nodes", "num_gpus", "global_num_gpus", "include", "hostfile",
    "norm", "rmsnorm_fusion", "activation", "use_flashattn_swiglu", "num_kv_heads", "use_bias_in_attn_linear", "use_bias_in_mlp", "mlp_type", "deepspeed_extra_args", "fp32_allreduce",
});

// clang-format off
/// No norm asks whether it should have a bias (megatron/model/norms.py). Norms of gradients and parameters make numbers. What is evaluated goes forward alone,
/// with the same micro-batch. apex's LayerNorm saves what torch's does. Synchronising after each layer, and profiling, take longer and keep nothing.
inline constexpr auto gpt_neox_passed = std::to_array<passed_key>({
    // The model.
    {"layernorm_fusion", "*"}, {"layernorm_epsilon", "*"}, {"rms_norm_epsilon", "*"}, {"scalenorm_epsilon", "*"},
    {"use_qk_layernorm", "false"}, {"gpt_j_tied", "false"}, {"use_bias_in_norms", "*"}, {"opt_pos_emb_offset", "0"},
    {"rpe_num_buckets", "*"}, {"rpe_max_distance", "*"}, {"rotary_emb_base", "*"}, {"rotary_save_freqs_buffer", "*"}, {"scaled_masked_softmax_fusion", "false"}, {"bias_dropout_fusion", "false"},
    {"rope_fusion", "false"}, {"fp16_lm_cross_entropy", "false"}, {"apply_query_key_layer_scaling", "false"}, {"attention_softmax_in_fp32", "false"}, {"output_layer_parallelism", "column"}, {"onnx_safe", "false"},
    {"gmlp_attn_dim", "*"}, {"mamba_selective_scan_fusion", "*"}, {"mamba_causal_conv_fusion", "*"}, {"mamba_inner_func_fusion", "*"}, {"mamba_selective_fp32_params", "*"}, {"mamba_use_bias_in_conv", "*"},
    {"mamba_use_bias_in_linears", "*"}, {"dim_att", "*"}, {"head_size", "*"}, {"ffn_dim", "*"}, {"num_unique_layers", ""}, {"param_sharing_style", "*"}, {"soft_prompt_tuning", "-"}, {"sparsity_config", "*"},
    {"te_columnparallel", "false"}, {"te_rowparallel", "false"}, {"te_layernorm_mlp", "false"}, {"te_mha", "false"}, {"te_fp8_mha", "false"}, {"te_fp8_format", "*"}, {"te_fp8_wgrad", "*"},
    {"te_fp8_amax_history_len", "*"}, {"te_fp8_amax_compute_algo", "*"}, {"te_fp8_margin", "*"}, {"moe_num_experts", "1"}, {"moe_expert_interval", "*"}, {"moe_top_k", "*"}, {"moe_router_type", "*"},
    {"moe_lbl_in_fp32", "*"}, {"moe_jitter_eps", "*"}, {"use_mup", "false"}, {"coord_check", "false"}, {"save_base_shapes", "false"}, {"base_shapes_file", "*"}, {"mup_init_scale", "*"}, {"mup_attn_temp", "*"},
    {"mup_output_temp", "*"}, {"mup_embedding_mult", "*"}, {"mup_rp_embedding_mult", "*"}, {"mup_width_scale", "*"},
    {"init_method", "*"}, {"output_layer_init_method", "*"}, {"init_method_std", "*"}, {"use_cpu_initialization", "*"}, {"fused_kernels_build_path", "*"},
    {"serve_model_weights", "false"}, {"weight_server_port", "*"}, {"online_dataserver_ips", "*"}, {"online_dataserver_ports", "*"},
    // How it runs.
    {"sequence_parallel", "false"}, {"checkpoint_num_layers", "1"}, {"deepspeed_activation_checkpointing", "true"}, {"contiguous_checkpointing", "false"}, {"checkpoint_in_cpu", "false"}, {"synchronize_each_layer", "*"},
    {"profile_backward", "*"}, {"communication_data_type", ""}, {"prescale_gradients", "*"}, {"gradient_predivide_factor", "*"}, {"sparse_gradients", "false"}, {"amp", "-"},
    {"gradient_clipping", "*"}, {"clip_grad", "*"}, {"steps_per_print", "*"}, {"wall_clock_breakdown", "*"}, {"dump_state", "*"}, {"flops_profiler", "-"}, {"autotuning", "-"}, {"activation_checkpointing", "-"},
    {"sparse_attention", "-"}, {"data_efficiency", "-"}, {"curriculum_learning", "-"}, {"curriculum_seqlen", "0"}, {"elasticity", "-"}, {"comms_logger", "*"}, {"compression_training", "-"}, {"csv_monitor", "*"},
    {"tensorboard", "*"}, {"wandb", "*"}, {"checkpoint", "*"}, {"deepspeed", "true"}, {"scheduler", "*"}, {"use_bnb_optimizer", "false"}, {"lazy_mpu_init", "*"}, {"train_impl", "normal"},
    {"dpo_fp32", "*"}, {"dpo_reference_free", "*"}, {"dpo_beta", "*"}, {"kto_fp32", "*"}, {"kto_desirable_weight", "*"}, {"kto_undesirable_weight", "*"}, {"z_loss", "*"}, {"kto_beta", "*"}, {"fp32_reinforce", "*"},
    {"kl_impl", "*"}, {"kl_div_beta", "*"}, {"reinforce_leave_one_out", "*"}, {"precompute_model_name", "*"}, {"deepscale", "false"}, {"deepscale_config", "*"},
    // Steps, samples, logs, checkpoints and the launcher.
    {"lr", "*"}, {"lr_decay_style", "*"}, {"lr_decay_iters", "*"}, {"lr_decay_fraction", "*"}, {"min_lr", "*"}, {"warmup", "*"}, {"override_lr_scheduler", "*"}, {"use_checkpoint_lr_scheduler", "*"}, {"weight_decay", "*"},
    {"hysteresis", "*"}, {"loss_scale", "*"}, {"loss_scale_window", "*"}, {"min_scale", "*"}, {"dynamic_loss_scale", "*"},
    {"use_wandb", "*"}, {"wandb_group", "*"}, {"wandb_run_name", "*"}, {"wandb_team", "*"}, {"wandb_project", "*"}, {"wandb_host", "*"}, {"wandb_init_all_ranks", "*"}, {"git_hash", "*"}, {"log_dir", "*"},
    {"tensorboard_dir", "*"}, {"use_comet", "*"}, {"comet_workspace", "*"}, {"comet_project", "*"}, {"comet_experiment_name", "*"}, {"comet_tags", "*"}, {"comet_others", "*"}, {"comet_experiment", "*"},
    {"peak_theoretical_tflops", "*"}, {"log_interval", "*"}, {"log_grad_pct_zeros", "*"}, {"log_param_norm", "*"}, {"log_grad_norm", "*"}, {"log_optimizer_states", "false"}, {"log_gradient_noise_scale", "false"},
    {"gradient_noise_scale_n_batches", "*"}, {"gradient_noise_scale_cpu_offload", "*"}, {"memory_profiling", "*"}, {"memory_profiling_path", "*"}, {"profile", "*"}, {"profile_step_start", "*"}, {"profile_step_stop", "*"},
    {"distributed_backend", "nccl"}, {"local_rank", "*"}, {"rank", "*"}, {"short_seq_prob", "*"}, {"eod_mask_loss", "*"}, {"adlr_autoresume", "*"}, {"adlr_autoresume_interval", "*"}, {"seed", "*"},
    {"deepspeed_mpi", "*"}, {"deepspeed_slurm", "*"}, {"user_script", "*"}, {"iteration", "*"}, {"do_train", "*"}, {"do_valid", "*"}, {"do_test", "*"},
    {"data_path", "*"}, {"use_shared_fs", "*"}, {"train_data_paths", "*"}, {"train_label_data_paths", "*"}, {"train_reward_data_paths", "*"}, {"test_data_paths", "*"}, {"test_label_data_paths", "*"},
    {"test_reward_data_paths", "*"}, {"valid_data_paths", "*"}, {"valid_label_data_paths", "*"}, {"valid_reward_data_paths", "*"}, {"label_data_paths", "*"}, {"pos_train_data_paths", "*"}, {"neg_train_data_paths", "*"},
    {"pos_train_label_data_paths", "*"}, {"neg_train_label_data_paths", "*"}, {"pos_valid_data_paths", "*"}, {"neg_valid_data_paths", "*"}, {"pos_valid_label_data_paths", "*"}, {"neg_valid_label_data_paths", "*"},
    {"pos_test_data_paths", "*"}, {"neg_test_data_paths", "*"}, {"pos_test_label_data_paths", "*"}, {"neg_test_label_data_paths", "*"}, {"train_data_weights", "*"}, {"valid_data_weights", "*"}, {"test_data_weights", "*"},
    {"weight_by_num_documents", "*"}, {"weighted_sampler_alpha", "*"}, {"data_impl", "*"}, {"pack_impl", "*"}, {"dataset_impl", "gpt2"}, {"allow_chopped", "*"}, {"mmap_warmup", "*"}, {"num_workers", "*"}, {"split", "*"},
    {"merge_file", "*"}, {"keep_last_n_checkpoints", "*"}, {"save", "*"}, {"s3_path", "*"}, {"s3_chunk_size", "*"}, {"config_files", "*"}, {"load", "*"}, {"checkpoint_validation_with_forward_pass", "*"},
    {"checkpoint_scale", "*"}, {"checkpoint_factor", "*"}, {"extra_save_iters", "*"}, {"save_interval", "*"}, {"no_save_optim", "*"}, {"no_save_rng", "*"}, {"no_load_optim", "*"}, {"no_load_rng", "*"}, {"finetune", "*"},
    {"train_iters", "*"}, {"train_epochs", "*"}, {"eval_iters", "*"}, {"eval_interval", "*"}, {"exit_interval", "*"}, {"char_level_ppl", "*"}, {"save_iters", "*"},
    {"text_gen_type", "*"}, {"temperature", "*"}, {"top_p", "*"}, {"top_k", "*"}, {"return_logits", "*"}, {"maximum_tokens", "*"}, {"prompt_end", "*"}, {"sample_input_file", "*"}, {"sample_output_file", "*"},
    {"num_samples", "*"}, {"recompute", "*"}, {"eval_results_prefix", "*"}, {"eval_tasks", "*"},
    {"exclude", ""}, {"master_port", "*"}, {"master_addr", "*"}, {"launcher", "*"}, {"force_multi", "*"}, {"autotuning_run", ""}, {"no_ssh_check", "*"}, {"comment", "*"}, {"account", "*"},
    {"sliding_window_width", ""},
    // What calculate_derived() writes over.
    {"world_size", "*"}, {"is_pipe_parallel", "*"}, {"optimizer_type", "*"}, {"zero_stage", "*"}, {"zero_reduce_scatter", "*"}, {"zero_contiguous_gradients", "*"}, {"zero_reduce_bucket_size", "*"},
    {"zero_allgather_bucket_size", "*"}, {"padded_vocab_size", "*"}, {"batch_size", "*"}, {"gas", "*"},
    // Of older versions.
    {"num_experts", "1"}, {"expert_interval", "*"}, {"use_tutel", "*"}, {"moe_loss_coeff", "*"}, {"moe_train_capacity_factor", "*"}, {"moe_eval_capacity_factor", "*"}, {"moe_min_capacity", "*"}, {"moe_token_dropping", "*"},
    {"create_moe_param_group", "*"}, {"moe_use_residual", "*"}, {"moe_expert_parallel_size", "1"}, {"moe_type", "*"}, {"moe_glu", "*"}, {"enable_expert_tensor_parallelism", "*"},
    {"detect_nvlink_pairs", "*"}, {"zero_allow_untested_optimizer", "*"}, {"slurm_comment", "*"}, {"reset_position_ids", "false"}, {"reset_attention_mask", "false"},
    {"apply_residual_connection_post_layernorm", "false"}, {"geglu", "false"}, {"openai_gelu", "false"}, {"sparsity", "none"}, {"train_data_path", "*"}, {"test_data_path", "*"}, {"valid_data_path", "*"},
    {"max_tokens", "*"}, {"greedy", "*"}, {"out_seq_length", "*"}, {"genfile", "*"},
});
// clang-format on

/// Keys of zero_optimization that a pipeline's engine does not use, or that change no size (deepspeed runtime/engine.py _configure_zero_optimizer:
/// overlap_comm is disabled there).
inline constexpr auto gpt_neox_zero_passed = std::to_array<passed_key>({
    {"allgather_partitions", "*"}, {"allgather_bucket_size", "*"}, {"overlap_comm", "*"}, {"reduce_scatter", "*"}, {"load_from_fp32_weights", "*"}, {"elastic_checkpoint", "*"}, {"ignore_unused_parameters", "*"}, {"cpu_offload", "false"},
    {"cpu_offload_params", "false"}, {"cpu_offload_use_pin_memory", "*"}, {"round_robin_gradients", "false"},
});

}  // namespace headroom::io::detail
