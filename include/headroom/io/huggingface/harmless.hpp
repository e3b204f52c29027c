// Distributed under the Boost Software License, Version 1.0.
// Keys that shape no network of any class: transformers' PreTrainedConfig, generation, initialisation, dropout, rotary positions, and what
// other programs note beside them.
#pragma once

#include <string_view>

namespace headroom::io::detail {

inline constexpr std::string_view harmless_keys[] = {
    // PreTrainedConfig
    "_name_or_path", "architectures", "auto_map", "chunk_size_feed_forward", "dtype", "finetuning_task", "is_encoder_decoder", "label2id", "model_type",
    "output_attentions", "output_hidden_states", "problem_type", "return_dict", "return_dict_in_generate", "task_specific_params", "tokenizer_class",
    "torch_dtype", "torchscript", "transformers_version", "use_bfloat16", "use_cache", "_attn_implementation", "_attn_implementation_autoset",
    "attn_implementation", "gradient_checkpointing", "pretraining_tp", "output_scores", "output_past", "_commit_hash", "name_or_path", "quantization_config",
    "id2label", "num_labels",  // a classifier asks for them
    // generation
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "decoder_start_token_id", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "eos_token_id", "exponential_decay_length_penalty", "forced_bos_token_id", "forced_decoder_ids",
    "forced_eos_token_id", "length_penalty", "max_length", "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "pad_token_id", "prefix", "remove_invalid_values", "repetition_penalty", "sep_token_id", "suppress_tokens",
    "temperature", "top_k", "top_p", "typical_p", "unk_token_id", "cls_token_id", "mask_token_id", "image_token_id", "video_token_id", "audio_token_id",
    "image_token_index", "video_token_index", "audio_token_index", "vision_start_token_id", "vision_end_token_id",
    // numbers that scale what is there
    "initializer_range", "initializer_factor", "init_std", "layer_norm_eps", "rms_norm_eps", "norm_eps", "layer_norm_epsilon", "norm_epsilon",
    "layerdrop", "encoder_layerdrop", "decoder_layerdrop", "attention_dropout", "attention_probs_dropout_prob", "attn_pdrop", "dropout", "dropout_rate",
    "embd_pdrop", "resid_pdrop", "hidden_dropout", "hidden_dropout_prob", "activation_dropout", "classifier_dropout", "drop_path_rate", "embedding_dropout",
    "router_aux_loss_coef", "output_router_logits", "router_z_loss_coef", "router_jitter_noise", "n_group", "topk_group", "norm_topk_prob", "scoring_func", "topk_method",
    "routed_scaling_factor", "aux_loss_alpha", "seq_aux", "scale_embedding", "embedding_multiplier", "logits_scaling", "residual_multiplier", "attention_multiplier",
    // functions without weights, and positions that are computed
    "hidden_act", "hidden_activation", "activation_function", "rope_theta", "rope_scaling", "rope_parameters", "rope_local_base_freq", "sliding_window",
    "use_sliding_window", "max_window_layers", "attention_chunk_size", "final_logit_softcapping", "attn_logit_softcapping", "query_pre_attn_scalar",
    // of earlier releases, and of programs that save models
    "cache_implementation", "model_max_length", "max_sequence_length", "seq_length", "use_return_dict", "prefill_chunk_size", "unsloth_fixed", "unsloth_version",
    "transformers.js_config", "_from_model_config", "is_llama_config", "tokenizer_name", "ignore_index", "use_flash_attn", "keys_to_ignore_at_inference",
    "max_new_tokens", "min_new_tokens", "min_p", "stop_strings", "use_mtp", "_experts_implementation", "experts_implementation",
};

constexpr bool is_harmless(std::string_view key) {
  for (const auto h : harmless_keys)
    if (key == h) return true;
  return key.ends_with("_token_id") || key.ends_with("_token_ids") || key.ends_with("_token_index") || key.find("dropout") != key.npos;
}

}  // namespace headroom::io::detail
