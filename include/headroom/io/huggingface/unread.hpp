// Distributed under the Boost Software License, Version 1.0.
// A key of a configuration that no reader asked for is refused: it might shape the network. What is known to shape nothing passes: for any
// class by its name (harmless.hpp), for a family by the rows below.
#pragma once

#include <headroom/io/huggingface/harmless.hpp>
#include <headroom/io/huggingface/kinds_of_value.hpp>
#include <headroom/io/huggingface/refusals.hpp>
#include <headroom/io/syntax/printable.hpp>

namespace headroom::io::detail {

/// Whether a list of words, one blank between two, has a word.
constexpr bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto end = list.find(' ');
    if (list.substr(0, end) == word) return true;
    list = end == list.npos ? std::string_view{} : list.substr(end + 1);
  }
  return false;
}

/// Keys of families' own classes (configuration_<family>.py of transformers 5.16, and the code beside checkpoints) that shape none of their
/// weights: scales, functions, masks, what a head of another class reads, how images are cut.
struct family_keys {
  std::string_view types;  ///< model_type, one after the other
  std::string_view keys;
};
inline constexpr family_keys keys_that_pass[] = {
    {"deepseek_v2 deepseek_v3 deepseek_v32 glm_moe_dsa glm4_moe_lite mistral4 youtu minicpm3", "rope_interleave ep_size mlp_bias indexer_rope_interleave embedding_initializer_range qk_head_dim num_nextn_predict_layers num_mtp_layers"},
    {"glm4_moe exaone_moe hy_v3 solar_open dots1 mimo bailing_moe", "num_nextn_predict_layers num_mtp_layers"},
    {"minimax_m2", "num_mtp_modules use_mtp mtp_transformer_layers attn_type_list shared_intermediate_size use_routing_bias qk_norm_type rotary_dim"},
    {"mamba mamba2 falcon_mamba bamba falcon_h1 granitemoehybrid jamba nemotron_h",
     "rescale_prenorm_residual time_step_floor time_step_max time_step_min time_step_limit time_step_init_scheme time_step_scale use_associative_scan use_mamba_kernels "
     "num_logits_to_keep mixer_rms_eps z_loss_coefficient"},
    {"mamba2 nemotron_h", "time_step_rank"},  // nvidia/Nemotron-H-56B-Base-8K
    {"mamba mamba2 falcon_mamba", "max_position_embeddings"},
    {"glm_moe_dsa", "index_topk_freq index_topk_pattern index_share_for_mtp_iteration moe_router_dtype"},  // zai-org/GLM-5.2
    {"nemotron_h", "expand mamba_hidden_act mamba_proj_bias mamba_ssm_cache_dtype moe_shared_expert_overlap moe_intermediate_size moe_shared_expert_intermediate_size moe_latent_size n_routed_experts num_experts_per_tok mtp_layers_block_type mtp_hybrid_override_pattern n_shared_experts num_nextn_predict_layers"},
    {"falcon_h1", "attention_in_multiplier attention_out_multiplier key_multiplier lm_head_multiplier mamba_norm_before_gate mlp_multipliers ssm_in_multiplier ssm_multipliers ssm_out_multiplier"},
    {"olmo_hybrid", "linear_a_log_max linear_a_log_min linear_allow_neg_eigval linear_dt_init_floor linear_dt_max linear_dt_min"},
    {"cohere cohere2 mpt", "logit_scale"},
    {"cohere2", "layer_switch order_of_interleaved_layers position_embedding_type rotary_pct use_embedding_sharing use_gated_activation use_parallel_block use_parallel_embedding"},
    {"gpt_oss", "experts_per_token initial_context_length swiglu_limit"},
    {"granite granitemoe granitemoeshared granitemoehybrid", "normalization_function init_method"},
    {"gemma gemma2 gemma3_text gemma3", "use_bidirectional_attention sliding_window_pattern _sliding_window_pattern sliding_window_size mm_tokens_per_image"},
    {"exaone4 exaone_moe cohere2 olmo3", "sliding_window_pattern"},
    {"bert albert roberta xlm-roberta electra gpt_neox bart mbart marian pegasus m2m_100 t5 mt5 umt5", "is_decoder add_bias_logits"},
    {"electra gpt2 gpt_bigcode gptj gpt_neo codegen",
     "n_ctx summary_activation summary_type summary_use_proj summary_proj_to_labels scale_attn_weights scale_attn_by_inverse_layer_idx predict_special_tokens rotary window_size attention_types "
     "attention_softmax_in_fp32 scale_attention_softmax_in_fp32 reorder_and_upcast_attn inference_runner max_batch_size pad_key_length pre_allocate_kv_cache validate_runner_input attention_layers"},
    {"gpt_neox falcon", "rotary_emb_base rotary_pct parallel_attn multi_query"},
    {"starcoder2", "attention_softmax_in_fp32 scale_attention_softmax_in_fp32 scale_attn_weights mlp_type norm_type"},
    {"bloom falcon", "slow_but_exact apply_residual_connection_post_layernorm n_inner offset_alibi masked_softmax_fusion skip_bias_add skip_bias_add_qkv attention_softmax_in_fp32 bias_dropout_fusion"},
    {"mpt", "embedding_fraction init_device init_config learned_pos_emb no_bias norm_type max_seq_len emb_pdrop loss_fn verbose fc_type attn_impl clip_qkv alibi_bias_max softmax_scale"},
    {"dbrx", "emb_pdrop clip_qkv moe_jitter_eps moe_loss_weight moe_normalize_expert_weights ffn_act_fn uniform_expert_assignment"},
    {"olmo olmoe", "clip_qkv"},
    {"olmoe", "moe_intermediate_size"},
    {"granite_swa granitemoe_swa", "layer_rope_theta"},
    {"llama4_text smollm3", "no_rope_layer_interval no_rope_layers"},
    {"llama4_text llama4", "attn_scale attn_temperature_tuning floor_scale multi_modal_projector_bias pixel_shuffle_ratio projector_dropout vision_feature_select_strategy"},
    {"llava llava_next mistral3 paligemma internvl_chat",
     "use_bidirectional_attention projector_hidden_act image_seq_length vision_feature_select_strategy image_grid_pinpoints vocab_size projection_dim max_position_embeddings hidden_size num_image_tokens"},
    {"clip siglip", "logit_scale_init_value projection_dim tie_word_embeddings"},
    {"t5 mt5 umt5", "relative_attention_max_distance n_positions dense_act_fn is_gated_act scale_decoder_outputs"},
    {"distilbert", "sinusoidal_pos_embds tie_weights_"},
    {"bert", "directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type"},
    {"bart mbart marian pegasus plbart mvp blenderbot blenderbot-small", "add_final_layer_norm normalize_before normalize_embedding static_position_embeddings extra_pos_embeddings force_bos_token_to_be_generated num_hidden_layers"},
    {"bert roberta xlm-roberta distilbert electra mpnet deberta-v2 modernbert nomic_bert esm new", "num_key_value_heads"},
    {"deberta-v2", "legacy pooler_hidden_act"},
    {"modernbert eurobert", "decoder_bias classifier_activation classifier_pooling deterministic_flash_attn initializer_cutoff_factor sparse_pred_ignore_index sparse_prediction reference_compile repad_logits_with_grad global_rope_theta local_rope_theta position_embedding_type causal_mask"},
    {"esm", "esmfold_config token_dropout vocab_list"},
    {"vit", "encoder_stride pooler_act tie_word_embeddings"},
    {"gemma4_text gemma4 gemma4_unified_text", "moe_intermediate_size expert_intermediate_size top_k_experts vocab_size_per_layer_input"},
    {"whisper", "apply_spec_augment classifier_proj_size mask_feature_length mask_feature_min_masks mask_feature_prob mask_time_length mask_time_min_masks mask_time_prob median_filter_width "
                "use_weighted_layer_sum"},
    {"xglm", "max_position_embeddings"},
    {"afmoe", "mup_enabled route_scale global_attn_every_n_layers load_balance_coeff"},
    {"ernie4_5 ernie4_5_moe", "moe_norm_min num_nextn_predict_layers moe_use_aux_free moe_capacity moe_gate use_rmsnorm weight_share_add_bias"},
    {"hunyuan_v1_dense hunyuan_v1_moe",
     "anyres_pooling_size anyres_vit_max_image_size cla_share_factor dense_list im_end_id im_newline_id im_start_id kv_lora_rank mask_init_id norm_type num_media_embeds org_vocab_size pool_type q_lora_rank "
     "qk_nope_head_dim qk_rope_head_dim text_end_id text_start_id use_qk_norm use_rotary_pos_emb v_head_dim video_end_id video_start_id vit_input_resolution vit_path vit_patch vit_token vit_type"},
    {"hy_v3", "enable_moe_fp32_combine router_scaling_factor"},
    {"lfm2 lfm2_moe", "use_expert_bias block_multiple_of block_ffn_dim_multiplier block_dim block_mlp_init_scale block_norm_eps block_out_init_scale block_use_swiglu block_use_xavier_init conv_dim conv_dim_out conv_use_xavier_init use_pos_enc num_heads theta full_attn_idxs"},  // of which layer_types says the same, where it is read
    {"minicpm minicpm3 minicpmv", "dim_model_base scale_depth scale_emb"},
    {"minicpmv", "batch_vision_input image_size patch_size slice_config slice_mode vision_batch_size tokenizer"},
    {"internvl_chat",
     "dynamic_image_size force_image_size image_fold max_dynamic_patch min_dynamic_patch ps_version template system_message use_thumbnail capacity_factor eval_capacity_factor moe_coeff_ratio "
     "moe_intermediate_size noisy_gate_policy norm_type num_experts num_routed_experts num_shared_experts ep_size shared_expert_intermediate_size laux_allreduce use_rts use_residual use_weighted_residual "
     "attn_type norm_type z_loss_coef"},
    {"minimax", "full_attn_alpha_factor full_attn_beta_factor linear_attn_alpha_factor linear_attn_beta_factor mlp_alpha_factor mlp_beta_factor"},
    {"phi3 phimoe", "original_max_position_embeddings full_attn_mod interpolate_factor input_jitter_noise"},
    {"baichuan", "z_loss_weight"},
    {"chatglm", "apply_query_key_layer_scaling apply_residual_connection_post_layernorm attention_softmax_in_fp32 bias_dropout_fusion layernorm_epsilon original_rope post_layer_norm rope_ratio interleaved_qkv"},
    {"qwen", "kv_channels rotary_emb_base rotary_pct scale_attn_weights use_dynamic_ntk use_logn_attn onnx_safe bf16 fp16 fp32 softmax_in_fp32"},
    {"bailing_moe", "use_rmsnorm router_dtype moe_router_enable_expert_bias moe_router_enable_routed_scaling moe_router_enable_shared_expert score_function rotary_dim moe_shared_expert_intermediate_size "
                    "embedding_dropout output_dropout norm_softmax"},
    {"qwen2_vl qwen2_5_vl qwen2_vl_text", "fullatt_block_indexes tokens_per_second window_size hidden_act in_chans spatial_patch_size use_mrope"},
    {"qwen3_next qwen3_5 qwen3_5_moe qwen3_5_text qwen3_5_moe_text", "full_attention_interval mamba_ssm_dtype mlp_only_layers mtp_num_hidden_layers output_gate_type"},  // Qwen/Qwen3.6-27B
    {"qwen3_moe", "use_qk_norm"},  // Qwen/Qwen3-Coder-480B-A35B-Instruct; the class has the norms whatever it says
    {"qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe", "head_dim attention_bias"},  // of the tower's part
};

inline bool passes(std::string_view type, std::string_view key) {
  for (const auto& p : keys_that_pass)
    if (has_word(p.types, type) && has_word(p.keys, key)) return true;
  return false;
}

/// Who answers for the keys of a configuration.
struct reader_of_keys {
  std::string name;
  std::string_view type;  ///< a family that is walked; empty: a class that is counted, for which a false or a 0 may shape the network, too
};
inline reader_of_keys strict_class(const std::string& name) { return {name, {}}; }

/// Whether `copy` says what `part` says: CLIP's text_config_dict beside its text_config, which it overrides.
inline bool repeats(const json& copy, const json& part) {
  if (!copy.is_object() || !part.is_object()) return false;
  for (const auto& [key, value] : copy.items())
    if (!value.is_null() && !is_harmless(key) && (!part.contains(key) || part.at(key) != value)) return false;
  return true;
}

/// Refuses the first key of an object that nobody asked for, unless it shapes nothing.
inline void check_asked(const json& object, const std::string& path, const key_log& asked, const reader_of_keys& by) {
  for (const auto& [key, value] : object.items()) {
    const auto before = path.empty() ? path : path + ".", place = before + key;
    if (value.is_null() || is_harmless(key)) continue;
    if (!asked.contains(place)) {
      const bool silent = value == false || value == 0 || value == "" || ((value.is_object() || value.is_array()) && value.empty());
      if (!by.type.empty() && (silent || passes(by.type, key))) continue;
      if (key.ends_with("_config_dict") && object.contains(key.substr(0, key.size() - 5)) && repeats(value, object.at(key.substr(0, key.size() - 5)))) continue;
      complain(before + printable(cut_to(key, 64)) + " is not known for " + by.name + ", and may shape the network. Take it away if it does not, found " + shown(value));
    }
    if (value.is_object() && (key.ends_with("_config") || key == "encoder" || key == "decoder")) check_asked(value, place, asked, by);
  }
}

}  // namespace headroom::io::detail
