// Distributed under the Boost Software License, Version 1.0.
// Encoders of raw sound as wav2vec 2.0 has them: convolutions over the waveform, a convolution that tells positions, layers of attention; and their heads.
#pragma once

#include <headroom/io/counted/text_heads.hpp>

#include <vector>

namespace headroom::io::detail {

/// A list of whole numbers; absent or null, the class's default.
inline std::vector<std::int64_t> read_list(const config& c, const char* key, std::initializer_list<std::int64_t> fallback) {
  const json* list = c.find({key});
  if (list == nullptr || list->is_null()) return fallback;
  if (!list->is_array() || list->empty()) complain(c.at(key) + " must be a list of whole numbers, found " + shown(*list));
  std::vector<std::int64_t> out;
  for (const auto& one : *list) out.push_back(config::whole(one, c.at(key), 0, config::widest));
  return out;
}

/// A module of its own in the families of this file.
enum class speech_kind { wav2vec2, unispeech_sat, hubert, wavlm, data2vec, sew, sew_d, conformer };

/// What a head must know.
struct speech_body {
  std::int64_t layers{}, hidden{}, last{};  ///< `last`: channels of the last convolution over the waveform
  std::int64_t output{};                    ///< the width behind the adapter, if there is one
  bool adapter{};
};

inline void pass_speech_keys(const config& c) {
  c.ignore({"feat_proj_dropout", "feat_quantizer_dropout", "feat_extract_dropout", "final_dropout", "feat_extract_activation", "conv_stride", "apply_spec_augment",
            "mask_time_length", "mask_time_min_masks", "mask_feature_length", "mask_feature_min_masks", "num_negatives", "contrastive_logits_temperature",
            "diversity_loss_weight", "ctc_loss_reduction", "ctc_zero_infinity", "tdnn_dilation", "max_bucket_distance", "replace_prob", "mask_channel_length",
            "mask_channel_min_space", "mask_channel_other", "mask_channel_prob", "mask_channel_selection", "mask_time_min_space", "mask_time_other", "mask_time_selection",
            "mask_min_space", "mask_other", "mask_selection", "no_mask_channel_overlap", "no_mask_time_overlap", "feature_layer_norm_eps", "rotary_embedding_base",
            "max_source_positions", "conformer_conv_dropout", "adapter_stride", "tie_word_embeddings"});
}

/// The convolutions over the waveform. Every one has a norm, or the first alone, or one for all channels of the last.
inline std::int64_t count_waveform(const config& c, speech_kind kind, tally& t) {
  const bool squeezed = kind == speech_kind::sew || kind == speech_kind::sew_d;
  const auto dims = squeezed ? read_list(c, "conv_dim", {64, 128, 128, 128, 128, 256, 256, 256, 256, 512, 512, 512, 512}) : read_list(c, "conv_dim", {512, 512, 512, 512, 512, 512, 512});
  const auto kernels = squeezed ? read_list(c, "conv_kernel", {10, 3, 1, 3, 1, 3, 1, 3, 1, 2, 1, 2, 1}) : read_list(c, "conv_kernel", {10, 3, 3, 3, 3, 2, 2});
  const auto layers = static_cast<std::int64_t>(dims.size());
  if (kernels.size() != dims.size() || c.number({"num_feat_extract_layers"}, layers) != layers)
    complain(c.at("conv_kernel") + " and num_feat_extract_layers must agree with the " + std::to_string(layers) + " numbers of conv_dim");
  const auto norm = c.text({"feat_extract_norm"}, "group");
  if (norm != "group" && norm != "layer") complain(c.at("feat_extract_norm") + " must be \"group\" or \"layer\", found " + quoted_word(norm));
  const bool all = norm == "layer" || kind == speech_kind::data2vec;
  const bool bias = c.flag("conv_bias", false);
  std::int64_t in = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    t.linear(component::other, checked::mul(in, kernels[i]), dims[i], bias);
    if (all || i == 0) t.layer_norm(dims[i]);
    in = dims[i];
  }
  return in;
}

/// The convolution that tells positions; its weight is normalised, so it has a length for each place beside its direction.
inline void count_speech_positions(const config& c, speech_kind kind, std::int64_t hidden, tally& t) {
  const auto groups = c.count({"num_conv_pos_embedding_groups"}, 16);
  check_heads(c, hidden, groups);
  if (kind == speech_kind::data2vec)
    return t.linear(component::other, checked::mul(hidden / groups, c.size({"conv_pos_kernel_size"}, 19)), hidden, true, c.number({"num_conv_pos_embeddings"}, 5, 0, config::most));
  const auto kernel = c.size({"num_conv_pos_embeddings"}, 128);
  t.linear(component::other, checked::mul(hidden / groups, kernel), hidden, true);
  if (kind == speech_kind::hubert && c.flag("conv_pos_batch_norm", false))
    t.layer_norm(hidden);
  else
    t.add(component::other, kernel);
}

/// A vector for what is masked, where anything is; UniSpeech-SAT always has one.
inline void count_mask_vector(const config& c, std::int64_t hidden, bool always, tally& t) {
  const auto time = c.real({"mask_time_prob"}, 0.05, 0.0, 1.0);
  const auto features = c.real({"mask_feature_prob"}, 0.0, 0.0, 1.0);
  if (always || time > 0.0 || features > 0.0) t.add(component::other, hidden);
}

/// Convolutions behind the encoder that shorten what it says.
inline void count_speech_adapter(const config& c, speech_body& b, tally& t) {
  b.adapter = c.flag("add_adapter", false);
  const auto output = c.nullable({"output_hidden_size"}, b.hidden, b.hidden);
  const auto kernel = c.size({"adapter_kernel_size"}, 3);
  const auto layers = c.number({"num_adapter_layers"}, 3, 0, config::most);
  b.output = b.adapter ? output : b.hidden;
  if (!b.adapter) return;
  if (output != b.hidden) t.linear(component::other, b.hidden, output, true), t.layer_norm(output);
  t.linear(component::other, checked::mul(output, kernel), checked::mul(2, output), true, layers);
}

/// transformers, modeling_wavlm.py: a gate for each head's relative positions, and their table in the first layer.
inline void count_wavlm_gates(const config& c, const bert_sizes& s, tally& t) {
  const auto buckets = c.size({"num_buckets"}, 320);
  t.add(component::attention, s.heads, s.layers);
  t.linear(component::attention, s.hidden / s.heads, 8, true, s.layers);
  if (s.layers > 0) t.add(component::attention, checked::mul(buckets, s.heads));
}

/// modeling_wav2vec2_conformer.py, modeling_wav2vec2_bert.py: a convolution between two halves of the MLP. `norms` counts weights and biases of the convolution's norm.
inline void count_conformer_layers(const config& c, const bert_sizes& s, tally& t) {
  const auto kernel = c.size({"conv_depthwise_kernel_size"}, 31);
  t.linear(component::attention, s.hidden, s.hidden, true, checked::mul(4, s.layers));
  t.linear(component::mlp, s.hidden, s.ffn, true, checked::mul(2, s.layers));
  t.linear(component::mlp, s.ffn, s.hidden, true, checked::mul(2, s.layers));
  t.add(component::other, checked::mul(s.hidden, checked::add(checked::mul(3, s.hidden), kernel)), s.layers);
  t.layer_norm(s.hidden, checked::mul(6, s.layers));
}
inline void count_relative_attention(const bert_sizes& s, tally& t) {
  t.linear(component::attention, s.hidden, s.hidden, false, s.layers);
  t.add(component::attention, checked::mul(2, s.hidden), s.layers);
}

inline bert_sizes read_speech_sizes(const config& c, const bert_sizes& d) {
  pass_speech_keys(c);
  const bert_sizes s{0, c.size({"hidden_size"}, d.hidden), c.number({"num_hidden_layers"}, d.layers, 0, config::most), c.count({"num_attention_heads"}, d.heads), c.size({"intermediate_size"}, d.ffn), 0, 0};
  check_heads(c, s.hidden, s.heads);
  return s;
}

/// The layers, and what lies around them in the encoder.
inline void count_speech_layers(const config& c, speech_kind kind, const bert_sizes& s, tally& t) {
  t.layer_norm(s.hidden);
  if (kind == speech_kind::conformer) {
    count_conformer_layers(c, s, t);
    if (c.text({"position_embeddings_type"}, c.find({"position_embeddings_type"}) == nullptr ? "relative" : "") == "relative") count_relative_attention(s, t);
    return;
  }
  count_bert_layers(s, t);
  if (kind == speech_kind::wavlm) count_wavlm_gates(c, s, t);
  if (kind != speech_kind::wav2vec2 && kind != speech_kind::unispeech_sat && kind != speech_kind::hubert) return;
  const bool stable = c.flag("do_stable_layer_norm", false);
  if (const auto width = c.nullable({"adapter_attn_dim"}, 0, 0, 0); stable && width > 0) {  // one small MLP for each language, of which one is there
    t.layer_norm(s.hidden, s.layers);
    t.linear(component::other, s.hidden, width, true, s.layers);
    t.linear(component::other, width, s.hidden, true, s.layers);
  }
}

/// modeling_wav2vec2.py; modeling_hubert.py, modeling_wavlm.py, modeling_data2vec_audio.py, modeling_unispeech.py and modeling_unispeech_sat.py are made of the same modules.
template <speech_kind Kind>
speech_body count_speech(const config& c, tally& t) {
  const auto s = read_speech_sizes(c, {0, 768, 12, 12, 3072, 0, 0});
  speech_body b{s.layers, s.hidden, count_waveform(c, Kind, t), s.hidden, false};
  if (Kind != speech_kind::hubert || c.flag("feat_proj_layer_norm", true)) t.layer_norm(b.last);
  t.linear(component::other, b.last, s.hidden, true);
  count_mask_vector(c, s.hidden, Kind == speech_kind::unispeech_sat, t);
  count_speech_positions(c, Kind, s.hidden, t);
  c.ignore({"do_stable_layer_norm"});
  count_speech_layers(c, Kind, s, t);
  if (Kind != speech_kind::hubert) count_speech_adapter(c, b, t);
  return b;
}

}  // namespace headroom::io::detail
