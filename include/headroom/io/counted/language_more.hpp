// Distributed under the Boost Software License, Version 1.0.
// Language models inside models that see and hear: MiniMax-M3, BLT, and text models by themselves. Each comment names the file of
// transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language_sparse.hpp>

namespace headroom::io::detail {

/// A list of numbers, 0 or another, for each layer: how many are not 0. Absent or null: `usual`.
inline std::int64_t count_marked(const config& c, const char* key, std::int64_t layers, std::int64_t usual) {
  const json* list = c.find({key});
  if (list == nullptr || list->is_null()) return usual;
  if (!list->is_array() || static_cast<std::int64_t>(list->size()) != layers) complain(c.at(key) + " must be a list of " + std::to_string(layers) + ", one for each layer, found " + shown(*list));
  std::int64_t n = 0;
  for (const auto& one : *list) n += config::whole(one, c.at(key), 0, config::most) != 0 ? 1 : 0;
  return n;
}

/// modeling_minimax_m3_vl.py, MiniMaxM3VLTextModel: layers of sparse attention have an indexer beside it.
inline language_model count_minimax_m3_text(const config& c, tally& t) {
  const auto s = read_language(c, {60, 6144, 64, 4, 128, 3072, 200064});
  c.ignore({"router_jitter_noise", "rotary_dim", "swiglu_alpha", "swiglu_limit", "index_block_size", "index_topk_blocks", "index_local_blocks", "first_k_dense_replace", "moe_intermediate_size",
            "n_shared_experts", "num_mtp_modules", "num_nextn_predict_layers", "qk_norm_type", "attention_output_gate", "use_gemma_norm", "use_qk_norm", "use_routing_bias", "mtp_transformer_layers"});
  const auto old = c.child("sparse_attention_config");
  old.ignore({"sparse_block_size", "sparse_disable_index_value", "sparse_init_block", "sparse_local_block", "sparse_score_type", "sparse_topk_blocks", "use_sparse_attention"});
  const auto heads = old.count({"sparse_num_index_heads"}, c.count({"index_n_heads"}, 4));
  const auto width = old.size({"sparse_index_dim"}, c.size({"index_head_dim"}, 128));
  const auto words = read_words(c, "layer_types", s.layers, {"full_attention", "minimax_m3_sparse"});
  const auto marked = count_marked(old, "sparse_attention_freq", s.layers, 0);
  const auto indexed = words.empty() ? marked : count_of(words, "minimax_m3_sparse");
  count_attention(t, s, false, false, s.layers);
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  t.linear(component::attention, s.hidden, checked::mul(checked::add(heads, 1), width), false, indexed);
  t.rms_norm(width, checked::mul(2, indexed));
  const auto routes = read_words(c, "mlp_layer_types", s.layers, {"sparse", "dense"});
  const auto frequent = count_marked(c, "moe_layer_freq", s.layers, s.layers);
  const auto sparse = routes.empty() ? frequent : count_of(routes, "sparse");
  count_gated_mlp(t, component::mlp, s.hidden, c.size({"dense_intermediate_size"}, 12288), false, s.layers - sparse);
  count_routed(t, s.hidden, {c.count({"num_experts", "num_local_experts"}, 128), c.count({"num_experts_per_tok"}, 4), s.ffn, c.size({"shared_intermediate_size"}, 3072)}, sparse);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}
inline void count_minimax_m3_vision(const config& c, tally& t) {
  const auto h = c.size({"hidden_size"}, 1280);
  const auto patch = c.count({"patch_size"}, 14);
  c.ignore({"num_attention_heads", "image_size", "spatial_merge_size", "max_position_embeddings"});
  t.within(component::vision, [&] {
    t.linear(component::vision, checked::mul(checked::mul(c.count({"num_channels"}, 3), c.count({"temporal_patch_size"}, 2)), checked::mul(patch, patch)), h, false);
    count_encoder({c.number({"num_hidden_layers"}, 32, 0, config::most), h, c.size({"intermediate_size"}, 5120)}, t);
    t.layer_norm(h);
  });
}
/// What the published file says beside: the class builds its projector with biases and GELU, merges as its own keys say, and has no rewards.
inline void count_minimax_m3_extras(const config& c, const config& vision, std::int64_t hidden) {
  expect(c, "multimodal_projector_bias", true), expect(c, "projector_hidden_act", "gelu"), expect(c, "num_reward_heads", 0);
  expect(vision, "position_embedding_type", "rope"), expect(vision, "projection_dim", hidden);
  c.ignore({"image_grid_pinpoints", "image_seq_length", "process_image_mode", "vision_feature_layer", "vision_feature_select_strategy"});
  vision.ignore({"rope_mode", "vision_segment_max_frames", "vocab_size"});
  for (const auto* said : {&c, &vision}) {
    const auto merging = said->child("img_token_compression_config");
    expect(merging, "image_token_compression_method", "patch_merge");
    expect(merging, "spatial_merge_size", vision.count({"spatial_merge_size"}, 2)), expect(merging, "temporal_patch_size", vision.count({"temporal_patch_size"}, 2));
  }
}
inline language_model count_minimax_m3(const config& c, tally& t) {
  const auto language = c.child("text_config"), vision = c.child("vision_config");
  const auto text = count_minimax_m3_text(language, t);
  count_minimax_m3_vision(vision, t);
  count_minimax_m3_extras(c, vision, text.hidden);
  const auto merge = vision.count({"spatial_merge_size"}, 2), width = c.size({"projector_hidden_size"}, 6144);
  t.linear(component::projector, vision.size({"hidden_size"}, 1280), width, true);
  const auto merged = checked::mul(text.hidden, checked::mul(merge, merge));
  require_equal(c, "merged_hidden_size", "text_config.hidden_size times spatial_merge_size squared", merged);
  t.linear(component::projector, merged, width, true);
  t.linear(component::projector, width, text.hidden, true, 2);
  return {text.hidden, text.vocab, c.flag("tie_word_embeddings", false) || text.tied};
}

/// modeling_blt.py: bytes in patches. Local layers before and after the global ones, tables of hashed n-grams, and a patcher that never trains.
struct blt_stack {
  std::int64_t layers, hidden, ffn;
};
inline blt_stack count_blt_stack(const config& c, tally& t, const blt_stack& usual, bool crosses, bool crosses_all) {
  language_sizes s;
  s.layers = c.number({"num_hidden_layers"}, usual.layers, 0, config::most);
  s.hidden = c.size({"hidden_size"}, usual.hidden);
  s.heads = c.count({"num_attention_heads"}, usual.hidden == 768 ? 12 : 16);
  s.kv = c.nullable({"num_key_value_heads"}, s.heads, s.heads, 1, config::most);
  s.head_dim = s.hidden / s.heads;
  const auto derived = checked::mul(8, s.hidden) / 3;
  s.ffn = c.nullable({"intermediate_size"}, usual.ffn > 0 ? usual.ffn : derived, derived);
  c.ignore({"max_position_embeddings", "dropout", "head_dim", "tie_word_embeddings", "vocab_size", "encoder_cross_output_size", "cross_attn_k", "cross_attn_all_layers", "hidden_size_global"});
  count_attention(t, s, false, false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  if (crosses) {
    const auto times = c.flag("cross_attn_all_layers", crosses_all) ? s.layers : 1;
    count_attention(t, s, false, false, times);
    t.rms_norm(s.hidden, checked::mul(2, times));
  }
  return {s.layers, s.hidden, s.ffn};
}
inline language_model count_blt_model(const config& c, tally& t, bool embeds) {
  const auto encoder = c.child("encoder_config"), decoder = c.child("decoder_config"), global = c.child("global_config"), patcher = c.child("patcher_config");
  c.ignore({"patch_size", "patching_mode", "patching_threshold", "patching_batch_size", "max_patch_length", "max_position_embeddings"});
  const auto first = count_blt_stack(encoder, t, {1, 1024, 0}, true, false);
  t.linear(component::projector, first.hidden, checked::mul(first.hidden, encoder.count({"cross_attn_k"}, 2)), false);
  const auto bytes = encoder.size({"vocab_size"}, 260);
  if (embeds) t.embedding(bytes, first.hidden);
  const auto middle = count_blt_stack(global, t, {25, 2048, 5632}, false, false);
  if (const auto in = checked::mul(first.hidden, c.count({"cross_attn_k"}, 2)); in != middle.hidden) t.linear(component::projector, in, middle.hidden, false);
  const auto last = count_blt_stack(decoder, t, {9, 1024, 2816}, true, true);
  t.linear(component::projector, decoder.size({"hidden_size_global"}, 2048), checked::mul(last.hidden, decoder.count({"cross_attn_k"}, 2)), false);
  t.rms_norm(last.hidden);
  const json* groups = c.find({"encoder_hash_byte_group_size"});
  if (groups != nullptr && !groups->is_null() && !groups->is_array()) complain(c.at("encoder_hash_byte_group_size") + " must be a list, found " + shown(*groups));
  const auto sizes = groups == nullptr || groups->empty() ? 6 : static_cast<std::int64_t>(groups->size());
  t.embedding(checked::mul(checked::mul(c.count({"encoder_hash_byte_group_nb_functions"}, 1), sizes), c.size({"encoder_hash_byte_group_vocab"}, 500002)), first.hidden);
  tally own;
  const auto p = count_blt_stack(patcher, own, {14, 768, 2048}, false, false);
  own.embedding(checked::mul(2, patcher.size({"vocab_size"}, 260)), p.hidden);
  own.rms_norm(p.hidden);
  if (c.flag("patch_in_forward", true)) t.frozen(component::encoder, own.counted().total.count());
  return {last.hidden, c.size({"vocab_size"}, 260), false};
}
inline language_model count_blt(const config& c, tally& t) {
  c.ignore({"tie_word_embeddings"});
  return count_blt_model(c, t, true);
}
/// Where they are tied, the head takes the place of the bytes' embedding.
inline language_model count_blt_causal(const config& c, tally& t) { return count_blt_model(c, t, !c.flag("tie_word_embeddings", false)); }


/// modeling_cohere_compass.py, CohereCompassTextModel: one norm for attention and MLP side by side.
inline language_model count_cohere_compass_text(const config& c, tally& t) {
  auto s = read_language(c, {40, 8192, 64, 0, 0, 22528, 256000});
  s.head_dim = s.hidden / s.heads;  // whatever the file says: CohereCompassTextConfig.__post_init__
  c.ignore({"logit_scale", "pooling", "sliding_window_pattern"});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, s.layers);
  return count_frame(c, t, s, true);
}

/// modeling_aria.py, AriaTextModel: Llama with routed and shared experts in every layer.
inline language_model count_aria_text(const config& c, tally& t) {
  const auto s = read_language(c, {32, 4096, 32, 0, 0, 4096, 32000});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  count_routed(t, s.hidden, {c.count({"moe_num_experts"}, 8), c.count({"moe_topk"}, 2), s.ffn}, s.layers);
  count_gated_mlp(t, component::shared_experts, s.hidden, checked::mul(s.ffn, c.number({"moe_num_shared_experts"}, 2, 0, config::most)), c.flag("mlp_bias", false), s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_emu3.py, Emu3TextModel: Llama.
inline language_model count_emu3_text(const config& c, tally& t) {
  const auto s = read_language(c, {32, 4096, 32, 8, 0, 14336, 184622});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, c.flag("mlp_bias", false), s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_modernbert_decoder.py: LayerNorm with or without biases, none before the first layer's attention.
inline language_model count_modernbert_decoder(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, 22, 0, config::most);
  const auto h = c.size({"hidden_size"}, 768), ffn = c.size({"intermediate_size"}, 1152);
  const auto heads = c.count({"num_attention_heads"}, 12);
  if (h % heads != 0) complain(c.at("hidden_size") + " must be a multiple of num_attention_heads, found " + std::to_string(h) + " and " + std::to_string(heads));
  c.ignore({"max_position_embeddings", "initializer_cutoff_factor", "mlp_dropout", "local_attention", "layer_types", "global_attn_every_n_layers", "global_rope_theta", "local_rope_theta",
            "classifier_activation", "decoder_bias", "classifier_bias", "classifier_pooling", "deterministic_flash_attn", "sparse_prediction", "sparse_pred_ignore_index", "reference_compile",
            "repad_logits_with_grad", "causal_mask", "position_embedding_type"});
  t.linear(component::attention, h, h, c.flag("attention_bias", false), checked::mul(4, layers));
  const bool bias = c.flag("mlp_bias", false);
  t.linear(component::mlp, h, checked::mul(2, ffn), bias, layers);
  t.linear(component::mlp, ffn, h, bias, layers);
  // The embedding's and the last one; two a layer, but one in the first.
  t.rms_norm(checked::mul(h, c.flag("norm_bias", false) ? 2 : 1), layers > 0 ? checked::add(checked::mul(2, layers), 1) : 2);
  return count_vocabulary(c, t, c.size({"vocab_size"}, 50368), h, true);
}
/// ModernBertDecoderPredictionHead.
inline void count_modernbert_prediction(const config& c, tally& t, std::int64_t h) {
  t.linear(component::head, h, h, c.flag("classifier_bias", false));
  t.add(component::head, h, c.flag("norm_bias", false) ? 2 : 1);
}

inline constexpr counted_class counted_more_languages[] = {
    {"MiniMaxM3VLTextModel", "minimax_m3_vl_text", count_base<count_minimax_m3_text>},
    {"MiniMaxM3VLForCausalLM", "minimax_m3_vl_text", count_causal<count_minimax_m3_text>},
    {"MiniMaxM3VLVisionModel", "minimax_m3_vl_vision", [](const config& c, tally& t) { count_minimax_m3_vision(c, t), ignore_labels(c); }},
    {"MiniMaxM3VLModel", "minimax_m3_vl", count_base<count_minimax_m3>},
    {"MiniMaxM3SparseForConditionalGeneration", "minimax_m3_vl", count_causal<count_minimax_m3>},
    {"BltModel", "blt", count_base<count_blt>},
    {"BltForCausalLM", "blt", count_causal<count_blt_causal>},
    {"CohereCompassTextModel", "cohere_compass_text", count_base<count_cohere_compass_text>},
    {"CohereCompassForCausalLM", "cohere_compass_text", count_causal<count_cohere_compass_text>},
    {"CohereCompassTextForSequenceClassification", "cohere_compass_text", count_sequence<count_cohere_compass_text>},
    {"AriaTextModel", "aria_text", count_base<count_aria_text>},
    {"AriaTextForCausalLM", "aria_text", count_causal<count_aria_text>},
    {"Emu3TextModel", "emu3_text_model", count_base<count_emu3_text>},
    {"Emu3ForCausalLM", "emu3_text_model", count_causal<count_emu3_text>},
    {"ModernBertDecoderModel", "modernbert-decoder", count_base<count_modernbert_decoder>},
    {"ModernBertDecoderForCausalLM", "modernbert-decoder", [](const config& c, tally& t) {
       count_causal<count_modernbert_decoder>(c, t);
       const auto h = c.size({"hidden_size"}, 768);
       count_modernbert_prediction(c, t, h);
       if (c.flag("decoder_bias", true)) t.add(component::head, c.size({"vocab_size"}, 50368));
     }},
    {"ModernBertDecoderForSequenceClassification", "modernbert-decoder", [](const config& c, tally& t) {
       const auto h = count_modernbert_decoder(c, t).hidden;
       count_modernbert_prediction(c, t, h);
       count_classifier(c, t, h, c.flag("classifier_bias", false));
       ignore_labels(c);
     }},
};

}  // namespace headroom::io::detail
