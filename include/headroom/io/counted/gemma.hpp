// Distributed under the Boost Software License, Version 1.0.
// Gemma 3n and Gemma 4 of transformers 5.16: embeddings for each layer, layers that share keys and values, and towers for pictures and sound.
#pragma once

#include <headroom/io/counted/language.hpp>

namespace headroom::io::detail {

/// Tokens have an embedding in every layer; 0: they have not.
inline void count_layer_embeddings(const config& c, tally& t, const language_sizes& s) {
  const auto width = c.nullable({"hidden_size_per_layer_input"}, 256, 0, 0);
  const auto rows = c.number({"vocab_size_per_layer_input"}, 262144, 0);
  if (width == 0) return;
  const auto all = checked::mul(width, s.layers);
  t.embedding(rows, all);
  t.linear(component::embedding, s.hidden, all, false);
  t.rms_norm(width);
  t.linear(component::mlp, s.hidden, width, false, checked::mul(2, s.layers));
}

/// modeling_gemma3n.py, Gemma3nTextModel: several residual streams (AltUp), a way around each block of low rank (Laurel).
inline language_model count_gemma3n_text(const config& c, tally& t) {
  auto plain = c.object();
  const json* widths = c.find({"intermediate_size"});
  const bool listed = widths != nullptr && widths->is_array();
  if (listed) plain.erase("intermediate_size");
  const auto s = read_language({plain, c.path(), c.asked()}, {35, 2048, 8, 2, 256, 16384, 262400});
  c.ignore({"layer_types", "altup_active_idx", "altup_coef_clip", "altup_correct_scale", "activation_sparsity_pattern"});
  const auto mlp = [&](std::int64_t width, std::int64_t times) { count_gated_mlp(t, component::mlp, s.hidden, width, false, times); };
  if (!listed) mlp(s.ffn, s.layers);
  if (listed && static_cast<std::int64_t>(widths->size()) != s.layers) complain(c.at("intermediate_size") + " must be a number, or a list of " + std::to_string(s.layers) + ", found " + shown(*widths));
  if (listed)
    for (const auto& one : *widths) mlp(config::whole(one, c.at("intermediate_size"), 1, config::widest), 1);
  const auto first = s.layers - c.number({"num_kv_shared_layers"}, 15, 0, config::most);
  const auto own = first > 0 ? first : s.layers;  // layers with keys and values of their own
  const bool bias = c.flag("attention_bias", false);
  const auto q = checked::mul(s.heads, s.head_dim);
  t.linear(component::attention, s.hidden, q, bias, s.layers);
  t.linear(component::attention, q, s.hidden, bias, s.layers);
  t.linear(component::attention, s.hidden, checked::mul(s.kv, s.head_dim), bias, checked::mul(2, own));
  t.rms_norm(s.head_dim, checked::add(s.layers, own));
  const auto n = c.count({"altup_num_inputs"}, 4);
  const auto square = checked::mul(n, n);
  t.add(component::other, checked::add(checked::add(checked::mul(s.hidden, n), square), checked::mul(n, square)), s.layers);
  t.linear(component::other, s.hidden, s.hidden, false, checked::mul(2, n - 1));
  t.linear(component::other, s.hidden, c.size({"laurel_rank"}, 64), false, checked::mul(2, s.layers));
  t.rms_norm(s.hidden, checked::mul(8, s.layers));  // four around the blocks, two of AltUp, one of Laurel, one behind the layer's embedding
  count_layer_embeddings(c, t, s);
  return count_frame(c, t, s, true);
}

/// Gemma3nAudioEncoder: a conformer behind two convolutions.
inline void count_gemma3n_audio(const config& c, tally& t) {
  const auto h = c.size({"hidden_size"}, 1536);
  const auto layers = c.number({"conf_num_hidden_layers"}, 12, 0, config::most);
  const auto heads = c.count({"conf_num_attention_heads"}, 8);
  c.ignore({"vocab_size", "vocab_offset", "gradient_clipping", "conf_attention_chunk_size", "conf_attention_context_left", "conf_attention_context_right", "conf_attention_logit_cap",
            "conf_reduction_factor", "conf_residual_weight", "sscp_conv_group_norm_eps", "max_position_embeddings"});
  const auto pair = [&](const char* key, const json& usual) {
    const json* found = c.find({key});
    const json& list = found == nullptr ? usual : *found;
    if (!list.is_array() || list.size() != 2) complain(c.at(key) + " must be a list of two, found " + shown(list));
    return list;
  };
  const json square{json::array({3, 3}), json::array({3, 3})}, twos{json::array({2, 2}), json::array({2, 2})};
  const auto channels = pair("sscp_conv_channel_size", {128, 32}), kernels = pair("sscp_conv_kernel_size", square), strides = pair("sscp_conv_stride_size", twos);
  const auto whole = [&](const json& one) { return config::whole(one, c.at("sscp_conv_channel_size, sscp_conv_kernel_size and sscp_conv_stride_size"), 1, config::most); };
  std::int64_t in = 1, bins = c.count({"input_feat_size"}, 128);
  t.within(component::encoder, [&] {
    for (std::size_t i = 0; i < 2; ++i) {
      if (!kernels[i].is_array() || kernels[i].size() != 2 || !strides[i].is_array() || strides[i].size() != 2) complain(c.at("sscp_conv_kernel_size") + " must hold pairs, found " + shown(kernels));
      const auto out = whole(channels[i]), high = whole(kernels[i][0]), wide = whole(kernels[i][1]);
      t.linear(component::encoder, checked::mul(in, checked::mul(high, wide)), out, false);
      t.rms_norm(out);
      bins = bins + 2 < wide ? 0 : (bins + 2 - wide) / whole(strides[i][1]) + 1;
      in = out;
    }
    t.linear(component::encoder, checked::mul(in, bins), h, false);
    const auto width = h / heads;
    t.linear(component::encoder, h, checked::mul(width, heads), false, checked::mul(4, layers));  // q, k, v, positions
    t.linear(component::encoder, h, h, false, checked::mul(20, layers));                          // behind attention 1, two MLPs 16, the convolution's gates 3
    t.add(component::encoder, width, layers);
    t.add(component::encoder, checked::mul(h, c.count({"conf_conv_kernel_size"}, 5)), layers);
    t.rms_norm(h, checked::mul(9, layers));
  });
}

/// Gemma4TextModel and, without experts and embeddings for each layer, Gemma4UnifiedTextModel. `drafts`: all layers share keys and values with
/// another model unless num_kv_shared_layers says how many.
inline language_model count_gemma4_layers(const config& c, tally& t, bool unified, bool drafts) {
  const auto s = read_language(c, {30, 2304, 8, 4, 256, 9216, 262144});
  c.ignore({"use_bidirectional_attention"});
  auto words = read_words(c, "layer_types", s.layers, {"sliding_attention", "full_attention"});
  for (std::int64_t i = 0; static_cast<std::int64_t>(words.size()) < s.layers; ++i) words.emplace_back((i + 1) % 6 != 0 ? "sliding_attention" : "full_attention");
  if (!words.empty()) words.back() = "full_attention";  // as the class makes it
  const bool same = c.flag("attention_k_eq_v", false);
  const auto wide_heads = read_full_heads(c, s.layers, {s.head_dim, s.kv}, [&](std::int64_t i) { return words[static_cast<std::size_t>(i)] == "full_attention"; });
  auto shared = c.number({"num_kv_shared_layers"}, 0, 0, config::most);
  const bool wide = c.flag("use_double_wide_mlp", false);
  const bool bias = c.flag("attention_bias", false);
  if (drafts && shared == 0) shared = s.layers;
  const auto first = s.layers - shared;
  for (std::int64_t i = 0; i < s.layers; ++i) {
    const bool full = words[static_cast<std::size_t>(i)] == "full_attention";
    const auto width = full ? wide_heads.width : s.head_dim;
    const auto kv = checked::mul(full ? wide_heads.kv : s.kv, width), q = checked::mul(s.heads, width);
    const bool own = first < 0 || i < first;
    t.linear(component::attention, s.hidden, q, bias);
    t.linear(component::attention, q, s.hidden, bias);
    if (own) t.linear(component::attention, s.hidden, kv, bias, full && same ? 1 : 2);
    t.rms_norm(width, own ? 2 : 1);
    count_gated_mlp(t, component::mlp, s.hidden, checked::mul(s.ffn, wide && first > 0 && i >= first ? 2 : 1), false, 1);
  }
  t.rms_norm(s.hidden, checked::mul(4, s.layers));
  if (!unified) {
    count_layer_embeddings(c, t, s);
    if (c.nullable({"hidden_size_per_layer_input"}, 256, 0, 0) > 0) t.rms_norm(s.hidden, s.layers);
    const auto experts = c.nullable({"num_experts"}, 0, 0, 0, config::most), active = c.nullable({"top_k_experts"}, 0, 0, 0, config::most);
    const auto ffn = c.nullable({"moe_intermediate_size"}, 0, 0, 0);
    if (c.flag("enable_moe_block", false)) {
      if (experts == 0 || active == 0 || ffn == 0) complain(c.at("num_experts") + ", top_k_experts and moe_intermediate_size must be there where enable_moe_block is true");
      count_routed(t, s.hidden, {experts, active, ffn}, s.layers);
      t.add(component::router, checked::add(s.hidden, experts), s.layers);
      t.rms_norm(s.hidden, checked::mul(3, s.layers));
    }
  }
  return count_frame(c, t, s, true);
}
inline language_model count_gemma4_text(const config& c, tally& t) { return count_gemma4_layers(c, t, false, false); }
inline language_model count_gemma4_unified_text(const config& c, tally& t) { return count_gemma4_layers(c, t, true, false); }

/// Gemma4AudioModel.
inline void count_gemma4_audio(const config& c, tally& t) {
  const auto h = c.size({"hidden_size"}, 1024);
  const auto layers = c.number({"num_hidden_layers"}, 12, 0, config::most);
  const auto heads = c.count({"num_attention_heads"}, 8);
  c.ignore({"residual_weight", "attention_chunk_size", "attention_context_left", "attention_context_right", "attention_logit_cap", "attention_invalid_logits_value", "use_clipped_linears",
            "gradient_clipping", "max_position_embeddings"});
  const json usual{128, 32};
  const json* found = c.find({"subsampling_conv_channels"});
  const json& list = found == nullptr ? usual : *found;
  if (!list.is_array() || list.size() != 2) complain(c.at("subsampling_conv_channels") + " must be a list of two, found " + shown(list));
  const auto first = config::whole(list[0], c.at("subsampling_conv_channels"), 1, config::most), second = config::whole(list[1], c.at("subsampling_conv_channels"), 1, config::most);
  const auto width = h / heads;
  t.within(component::encoder, [&] {
    t.linear(component::encoder, 9, first, false);
    t.linear(component::encoder, checked::mul(9, first), second, false);
    t.rms_norm(checked::add(first, second));
    t.linear(component::encoder, checked::mul(first / 4, second), h, false);
    t.linear(component::encoder, h, checked::mul(width, heads), false, checked::mul(4, layers));
    t.linear(component::encoder, h, h, false, checked::mul(20, layers));
    t.add(component::encoder, width, layers);
    t.add(component::encoder, checked::mul(h, c.count({"conv_kernel_size"}, 5)), layers);
    t.rms_norm(h, checked::mul(9, layers));
    t.linear(component::encoder, h, c.size({"output_proj_dims"}, 1536), true);
  });
}

/// Gemma4VisionModel.
inline void count_gemma4_vision(const config& c, tally& t) {
  auto s = read_language(c, {16, 768, 12, 12, 64, 3072, 1});
  c.ignore({"attention_bias", "pooling_kernel_size", "use_clipped_linears", "standardize", "default_output_length", "global_head_dim", "image_seq_length", "video_seq_length"});
  const auto patch = c.count({"patch_size"}, 16);
  t.within(component::vision, [&] {
    t.linear(component::vision, checked::mul(3, checked::mul(patch, patch)), s.hidden, false);
    t.embedding(checked::mul(2, c.count({"position_embedding_size"}, 10240)), s.hidden);
    count_attention(t, s, false, false, s.layers);
    count_gated_mlp(t, component::vision, s.hidden, s.ffn, false, s.layers);
    t.rms_norm(checked::add(checked::mul(2, s.head_dim), checked::mul(4, s.hidden)), s.layers);
  });
}

/// Gemma4Model: towers are there where their configurations are.
inline language_model count_gemma4(const config& c, tally& t) {
  c.ignore({"vision_soft_tokens_per_image", "audio_soft_tokens_per_image", "max_position_embeddings"});
  const auto text = count_gemma4_text(c.child("text_config"), t);
  if (c.has("vision_config")) {
    const auto vision = c.child("vision_config");
    count_gemma4_vision(vision, t);
    t.linear(component::projector, vision.size({"output_proj_dims", "hidden_size"}, 768), text.hidden, false);
  }
  if (c.has("audio_config")) {
    const auto audio = c.child("audio_config");
    count_gemma4_audio(audio, t);
    t.linear(component::projector, audio.size({"output_proj_dims"}, 1536), text.hidden, false);
  }
  return {text.hidden, text.vocab, c.flag("tie_word_embeddings", true)};
}

/// modeling_gemma4_unified.py: pictures and sound without towers.
inline language_model count_gemma4_unified(const config& c, tally& t) {
  c.ignore({"vision_soft_tokens_per_image", "audio_soft_tokens_per_image", "max_position_embeddings"});
  const auto text = count_gemma4_unified_text(c.child("text_config"), t);
  if (c.has("vision_config")) {
    const auto v = c.child("vision_config");
    v.ignore({"mm_embed_dim", "num_soft_tokens", "hidden_size"});
    const auto side = checked::mul(v.count({"patch_size"}, 16), v.count({"pooling_kernel_size"}, 3));
    expect(v, "model_patch_size", side);
    const auto patch = checked::mul(3, checked::mul(side, side)), width = v.size({"mm_embed_dim"}, 3840);
    t.within(component::vision, [&] {
      t.linear(component::vision, patch, width, true);
      t.layer_norm(checked::add(patch, checked::mul(2, width)));
      t.embedding(checked::mul(2, v.count({"mm_posemb_size"}, 1120)), width);
    });
    t.linear(component::projector, v.size({"output_proj_dims"}, 3840), text.hidden, false);
  }
  if (c.has("audio_config")) {
    const auto a = c.child("audio_config");
    const auto width = a.size({"hidden_size", "output_proj_dims", "audio_samples_per_token", "audio_embed_dim"}, 640);
    for (const char* key : {"hidden_size", "output_proj_dims", "audio_samples_per_token", "audio_embed_dim"}) expect(a, key, width);
    t.linear(component::projector, width, text.hidden, false);
  }
  return {text.hidden, text.vocab, c.flag("tie_word_embeddings", true)};
}

/// modeling_gemma4_assistant.py and modeling_gemma4_unified_assistant.py: a drafter over the keys and values of the model that it drafts for.
template <bool Unified>
void count_gemma4_assistant(const config& c, tally& t) {
  if (!c.has("text_config")) complain(c.at("text_config") + " is missing; this family has no default for it");
  const auto text = count_gemma4_layers(c.child("text_config"), t, Unified, true);
  const auto width = c.size({"backbone_hidden_size"}, Unified ? 3840 : 1536);
  const auto centroids = c.count({"num_centroids"}, 2048);
  c.ignore({"centroid_intermediate_top_k", "max_position_embeddings"});
  ignore_labels(c);
  t.linear(component::projector, checked::mul(3, width), text.hidden, false);  // two widths in, one out
  if (c.flag("use_ordered_embeddings", false)) t.linear(component::head, text.hidden, centroids, false);
  if (!c.flag("tie_word_embeddings", true)) t.linear(component::head, text.hidden, text.vocab, false);
}

inline constexpr counted_class counted_gemmas[] = {
    {"Gemma3nTextModel", "gemma3n_text", count_base<count_gemma3n_text>},
    {"Gemma3nForCausalLM", "gemma3n_text", count_causal<count_gemma3n_text>},
    {"Gemma3nAudioEncoder", "gemma3n_audio", [](const config& c, tally& t) { count_gemma3n_audio(c, t), ignore_labels(c); }},
    {"Gemma4TextModel", "gemma4_text", count_base<count_gemma4_text>},
    {"Gemma4ForCausalLM", "gemma4_text", count_causal<count_gemma4_text>},
    {"Gemma4Model", "gemma4", count_base<count_gemma4>},
    {"Gemma4ForConditionalGeneration", "gemma4", count_causal<count_gemma4>},
    {"Gemma4AudioModel", "gemma4_audio", [](const config& c, tally& t) { count_gemma4_audio(c, t), ignore_labels(c); }},
    {"Gemma4VisionModel", "gemma4_vision", [](const config& c, tally& t) { count_gemma4_vision(c, t), ignore_labels(c); }},
    {"Gemma4UnifiedTextModel", "gemma4_unified_text", count_base<count_gemma4_unified_text>},
    {"Gemma4UnifiedForCausalLM", "gemma4_unified_text", count_causal<count_gemma4_unified_text>},
    {"Gemma4UnifiedModel", "gemma4_unified", count_base<count_gemma4_unified>},
    {"Gemma4UnifiedForConditionalGeneration", "gemma4_unified", count_causal<count_gemma4_unified>},
    {"Gemma4AssistantForCausalLM", "gemma4_assistant", count_gemma4_assistant<false>},
    {"Gemma4UnifiedAssistantForCausalLM", "gemma4_unified_assistant", count_gemma4_assistant<true>},
};

}  // namespace headroom::io::detail
