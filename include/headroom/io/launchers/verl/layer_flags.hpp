// Distributed under the Boost Software License, Version 1.0.
// Flags of Megatron's TransformerConfig and ModelParallelConfig, by which verl sets its layers up, and what False makes of each (NVIDIA/Megatron-LM d98e8a64 of
// 2026-08-22: megatron/core/transformer/transformer_config.py, megatron/core/model_parallel_config.py). A class that has no such field ends the run.
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

namespace headroom::io::detail {

/// Off by default.
inline constexpr std::string_view transformer_flags_off =
    "account_for_embedding_in_pipeline_split|account_for_loss_in_pipeline_split|activation_func_fp8_input_store|add_qkv_bias|apply_query_key_layer_scaling|"
    "apply_residual_connection_post_layernorm|apply_rope_fusion|attention_output_gate|batch_invariant_mode|bf16|bias_activation_fusion|bias_dropout_fusion|"
    "cache_mla_latents|calculate_per_token_loss|cpu_offloading|cpu_offloading_double_buffering|cpu_offloading_retain_pinned_cpu_buffers|"
    "cpu_offloading_weights|cross_entropy_loss_fusion|cuda_graph_retain_backward_graph|deallocate_pipeline_outputs|defer_embedding_wgrad_compute|"
    "delay_offload_until_cuda_graph|delay_wgrad_compute|deterministic_mode|disable_bf16_reduced_precision_matmul|disable_parameter_transpose_cache|"
    "distribute_saved_activations|dsa_indexer_k_norm_fp32|dsa_indexer_rope_interleaved|dsa_indexer_use_sparse_loss|enable_autocast|enable_cuda_graph|"
    "enable_mhc_connections|ep_overlap_early_attn_memory_release|external_cuda_graph|fine_grained_activation_offloading|first_last_layers_bf16|"
    "flash_decode|fp16|fp32_residual_connection|fp4_param|fp8_dot_product_attention|fp8_multi_head_attention|fp8_output_proj|fp8_param|"
    "fused_residual_rmsnorm|fused_single_qkv_rope|gated_linear_unit|gdp_cutedsl_kernel|gradient_accumulation_fusion|hetereogenous_dist_checkpoint|"
    "heterogeneous_block_specs|high_priority_a2a_comm_stream|hybrid_context_parallel|inference_disable_triton_nvls_kernels|inference_fuse_tp_communication|"
    "inference_moe_disable_fused_quant_kernels|inference_rng_tracker|init_model_with_meta_device|is_hybrid_model|layernorm_zero_centered_gamma|"
    "log_max_attention_logit|masked_softmax_fusion|memory_efficient_layer_norm|mla_down_proj_fusion|moe_apply_probs_on_input|moe_enable_deepep|"
    "moe_enable_routing_replay|moe_grouped_gemm|moe_hybridep_pad_uneven_dispatch_inputs|moe_layer_recompute|moe_ncclep_zero_copy|"
    "moe_pad_expert_input_to_capacity|moe_pad_experts_for_cuda_graph_inference|moe_paged_stash|moe_per_layer_logging|moe_permute_fusion|"
    "moe_permute_fusion_into_hybridep|moe_router_enable_expert_bias|moe_router_force_load_balancing|moe_router_fusion|moe_router_padding_for_fp8|"
    "moe_router_padding_for_quantization|moe_router_pre_softmax|moe_shared_expert_gate|moe_shared_expert_overlap|moe_single_grouped_bias|"
    "moe_single_grouped_weight|moe_token_dropping|moe_use_grouped_tensor|mtp_detach_heads|mtp_hsm|mtp_standalone|mtp_use_repeated_layer|"
    "multi_latent_attention|nccl_all_reduce_for_prefill|overlap_dispatch_backward_with_experts_wgrad|overlap_moe_expert_parallel_comm|overlap_p2p_comm|"
    "overlap_p2p_comm_warmup_flush|persist_layer_norm|qk_clip|qk_l2_norm|qk_layernorm|rotary_interleaved|sequence_parallel|test_mode|tp_comm_atomic_ag|"
    "tp_comm_atomic_rs|tp_comm_overlap|tp_comm_overlap_disable_fc1|tp_comm_overlap_disable_qkv|tp_comm_overlap_rs_dgrad|tp_only_amax_red|"
    "use_cpu_initialization|use_fused_weighted_squared_relu|use_grouped_gemm_for_dense_mlp|use_grouped_gemm_for_shared_expert|"
    "use_inference_optimized_layers|use_kitchen|use_kitchen_attention|use_mup|use_ring_exchange_p2p|use_te_activation_func|use_te_rng_tracker|"
    "use_transformer_engine_op_fuser|variable_seq_lengths";

/// On by default, and without effect on memory in verl's runs: attention is a kernel's, layers have no biases (config_converter.py), nothing is overlapped with
/// tensor parallelism or offloaded.
inline constexpr std::string_view transformer_flags_idle =
    "add_bias_linear|attention_softmax_in_fp32|batch_p2p_comm|batch_p2p_sync|cpu_offloading_activations|cuda_graph_use_single_mempool|"
    "perform_initialization|tp_comm_bulk_dgrad|tp_comm_bulk_wgrad|tp_comm_overlap_ag|tp_comm_overlap_rs|tp_comm_split_ag|tp_comm_split_rs";

/// On by default, and not modelled otherwise.
inline constexpr std::string_view transformer_flags_on = "clone_scatter_output_in_embedding|dsa_indexer_rotate_activation|dsa_indexer_scoring_relu|fp8_wgrad|use_mamba_mem_eff_path";

}  // namespace headroom::io::detail
