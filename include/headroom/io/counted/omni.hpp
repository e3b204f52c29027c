// Distributed under the Boost Software License, Version 1.0.
// Qwen3-Omni as a whole: the thinker, a talker over codes of sound, and what makes waves of them (transformers 5.16, modeling_qwen3_omni_moe.py).
#pragma once

#include <headroom/io/counted/language_heard.hpp>
#include <headroom/io/counted/objects.hpp>
#include <headroom/io/counted/waves.hpp>

namespace headroom::io::detail {

/// Qwen3OmniMoeTalkerForConditionalGeneration: experts beside a shared one, two ways into them from the thinker's width, and the code predictor.
inline void count_omni3_talker(const config& c, tally& t) {
  const auto text = c.child("text_config");
  const auto s = read_language(text, {20, 1024, 16, 2, 0, 2048, 3072});
  text.ignore({"tie_word_embeddings", "decoder_sparse_step", "mlp_only_layers"});
  c.ignore({"num_code_groups", "accept_hidden_layer", "codec_nothink_id", "codec_think_bos_id", "codec_think_eos_id", "codec_pad_id", "codec_bos_id", "position_id_per_seconds", "speaker_id", "tie_word_embeddings",
            "spatial_merge_size", "seconds_per_chunk", "output_router_logits"});
  ignore_labels(c), ignore_labels(text);
  ask_all(c.child("speaker_id"));
  const bool bias = text.flag("attention_bias", false);
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, bias, bias, s.layers);
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  count_routed(t, s.hidden, {text.count({"num_experts", "num_local_experts"}, 128), text.count({"num_experts_per_tok"}, 8), text.size({"moe_intermediate_size"}, 384), 0}, s.layers);
  count_gated_mlp(t, component::shared_experts, s.hidden, text.size({"shared_expert_intermediate_size"}, config::required), false, s.layers);
  t.linear(component::shared_experts, s.hidden, 1, false, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  const auto thinks = c.size({"thinker_hidden_size"}, 2048);
  for (int way = 0; way < 2; ++way) count_mlp(t, thinks, s.ffn, s.hidden);
  t.linear(component::head, s.hidden, s.vocab, false);
  count_code_predictor<true>(c.child("code_predictor_config"), t);
}

/// Qwen3OmniMoeCode2Wav: a transformer over codes whose branches are scaled by vectors, and convolutions that lengthen what it makes; SnakeBeta learns two
/// numbers for each channel.
inline void count_code2wav(const config& c, tally& t) {
  const auto s = read_language(c, {8, 1024, 16, 16, 0, 3072, 1});
  c.ignore({"vocab_size", "layer_scale_initial_scale", "tie_word_embeddings"});
  ignore_labels(c);
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  t.add(component::other, s.hidden, checked::mul(2, s.layers));
  t.embedding(checked::mul(c.size({"codebook_size"}, 2048), c.count({"num_quantizers"}, 16)), s.hidden);
  for (const auto ratio : list_of(c, "upsampling_ratios", {2, 2})) {
    count_wave_conv(t, s.hidden, s.hidden, ratio);
    t.linear(component::other, 7, s.hidden, true);
    t.layer_norm(s.hidden);
    count_mlp(t, s.hidden, checked::mul(4, s.hidden), s.hidden);
    t.add(component::other, s.hidden);
  }
  auto width = c.size({"decoder_dim"}, 1536);
  count_wave_conv(t, s.hidden, width, 7);
  for (const auto rate : list_of(c, "upsample_rates", {8, 5, 4, 3})) {
    const auto narrow = width / 2;
    t.add(component::other, width, 2);
    count_wave_conv(t, width, narrow, checked::mul(2, rate));
    count_wave_conv(t, narrow, narrow, 7, true, 3);
    count_wave_conv(t, narrow, narrow, 1, true, 3);
    t.add(component::other, narrow, 12);
    width = narrow;
  }
  t.add(component::other, width, 2);
  count_wave_conv(t, width, 1, 7);
}

/// Qwen3OmniMoeForConditionalGeneration.
inline void count_omni3(const config& c, tally& t) {
  count_speaking<count_omni3_thinker, false>(c.child("thinker_config"), t);
  const auto talker = c.child("talker_config"), waves = c.child("code2wav_config");
  c.ignore({"tie_word_embeddings"});
  ignore_labels(c);
  if (c.flag("enable_audio_output", true)) count_omni3_talker(talker, t), count_code2wav(waves, t);
  else ask_all(talker), ask_all(waves);
}

inline constexpr counted_class counted_omnis[] = {
    {"Qwen3OmniMoeForConditionalGeneration", "qwen3_omni_moe", count_omni3},
};

}  // namespace headroom::io::detail
