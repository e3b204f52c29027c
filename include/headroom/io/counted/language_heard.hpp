// Distributed under the Boost Software License, Version 1.0.
// Language models that hear, and what speaks for them: Voxtral Realtime, VibeVoice, Qwen2.5-Omni's talker and the code predictor of Qwen3-Omni's.
// Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/audio_models.hpp>
#include <headroom/io/counted/language_speech.hpp>
#include <headroom/io/counted/vision_language_others.hpp>

namespace headroom::io::detail {

/// modeling_voxtral_realtime.py, VoxtralRealtimeEncoder: Whisper's two convolutions before layers as Llama has them, keys alone without a bias.
inline std::int64_t count_realtime_encoder(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size", "d_model"}, 1280), ffn = c.size({"intermediate_size", "encoder_ffn_dim"}, 5120);
  const auto layers = c.number({"num_hidden_layers", "encoder_layers"}, 32, 0, config::most), heads = c.count({"num_attention_heads", "encoder_attention_heads", "num_key_value_heads"}, 32);
  const auto inner = checked::mul(heads, c.nullable({"head_dim"}, 64, hidden / heads));
  c.ignore({"vocab_size", "max_position_embeddings", "activation_function", "activation_dropout", "tie_word_embeddings", "layerdrop", "encoder_layerdrop"});
  ignore_labels(c);
  t.within(component::encoder, [&] {
    count_spectrum_convolutions(c.size({"num_mel_bins"}, 128), hidden, t);
    t.linear(component::attention, hidden, inner, true, checked::mul(2, layers));
    t.linear(component::attention, hidden, inner, false, layers);
    t.linear(component::attention, inner, hidden, true, layers);
    t.linear(component::mlp, hidden, ffn, false, checked::mul(2, layers));
    t.linear(component::mlp, ffn, hidden, true, layers);
    t.rms_norm(hidden, checked::add(checked::mul(2, layers), 1));
  });
  return hidden;
}
/// VoxtralRealtimeTextModel: Mistral, each layer told by 32 numbers how long it may wait.
inline language_sizes count_realtime_text(const config& c, tally& t, const language_sizes& usual) {
  const auto s = read_language(c, usual);
  ignore_labels(c);
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, false, false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.linear(component::other, s.hidden, 32, false, checked::mul(2, s.layers));
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return s;
}
template <bool Head>
void count_voxtral_realtime(const config& c, tally& t) {
  c.ignore({"projector_hidden_act", "audio_length_per_tok", "default_num_delay_tokens", "hidden_size"});
  ignore_labels(c);
  const auto text = c.child("text_config");
  for (const auto& [part, type] : {std::pair{c.child("audio_config"), "voxtral_realtime_encoder"}, std::pair{text, "voxtral_realtime_text"}})
    if (part.text({"model_type"}, type) != type) complain(part.at("model_type") + " must be " + type + ", found " + quoted_word(part.text({"model_type"}, type)));
  const auto width = count_realtime_encoder(c.child("audio_config"), t);
  auto s = count_realtime_text(text, t, {26, 3072, 32, 8, 128, 9216, 131072});
  text.ignore({"tie_word_embeddings"});
  t.linear(component::projector, checked::mul(width, c.count({"downsample_factor"}, 4)), s.hidden, false);
  t.linear(component::projector, s.hidden, s.hidden, false);
  const bool tied = c.flag("tie_word_embeddings", true);
  if (Head && !tied) t.linear(component::head, s.hidden, s.vocab, false);
}

/// modeling_vibevoice_acoustic_tokenizer.py, ...ConvNext1dLayer: a convolution of each channel, an MLP, and two vectors that scale.
inline void count_vibe_layers(const config& c, tally& t, std::int64_t width, std::int64_t layers) {
  const auto wide = checked::mul(width, c.count({"ffn_expansion"}, 4));
  t.rms_norm(width, checked::mul(2, layers));
  count_plain_mlp(t, component::encoder, width, wide, true, layers);
  t.add(component::encoder, checked::mul(2, width), layers);
  t.linear(component::encoder, c.count({"kernel_size"}, 7), width, true, layers);
}
/// One side: stages, each twice as wide as the one before, from sound to vectors; the decoder goes the other way. `reversed`: depths as the encoder has them.
inline std::int64_t count_vibe_side(const config& c, tally& t, bool decodes, bool reversed, std::int64_t usual = 64) {
  auto ratios = list_of(c, "downsampling_ratios", {2, 2, 4, 5, 5, 8}), depths = depths_of(c, "depths", {3, 3, 3, 3, 3, 3, 8}, 0);
  if (depths.size() != ratios.size() + 1) complain(c.at("depths") + " must have one entry more than downsampling_ratios, found " + std::to_string(depths.size()));
  if (reversed) depths = {depths.rbegin(), depths.rend()};
  if (decodes) depths = {depths.rbegin(), depths.rend()};  // counted from sound's side
  const auto kernel = c.count({"kernel_size"}, 7), hidden = c.size({"hidden_size"}, usual), channels = c.count({"channels"}, 1), filters = c.size({"num_filters"}, 32);
  c.ignore({"layer_scale_init_value", "vae_std", "rms_norm_eps", "tie_word_embeddings"});
  ignore_labels(c);
  t.within(component::encoder, [&] {
    auto width = filters;
    t.linear(component::encoder, checked::mul(channels, kernel), width, !decodes);
    count_vibe_layers(c, t, width, depths[0]);
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      const auto wide = checked::mul(2, width);
      t.linear(component::encoder, checked::mul(width, checked::mul(2, ratios[i])), wide, false);
      t.add(component::encoder, decodes ? width : wide);
      count_vibe_layers(c, t, wide, depths[i + 1]);
      width = wide;
    }
    t.linear(component::encoder, checked::mul(width, kernel), hidden, false);
    t.add(component::encoder, decodes ? checked::add(width, channels) : hidden);
  });
  return hidden;
}
/// modeling_vibevoice_asr.py: two such encoders, of sound and of sense, before a language model.
template <bool Head>
void count_vibevoice_asr(const config& c, tally& t) {
  c.ignore({"audio_token_id", "audio_bos_token_id", "audio_eos_token_id", "acoustic_tokenizer_chunk_size"});
  const auto sound = c.child("acoustic_tokenizer_encoder_config"), sense = c.child("semantic_tokenizer_encoder_config");
  for (const auto& part : {sound, sense})
    if (const auto type = part.text({"model_type"}, "vibevoice_acoustic_tokenizer_encoder"); type != "vibevoice_acoustic_tokenizer_encoder")
      complain(part.at("model_type") + " must be vibevoice_acoustic_tokenizer_encoder, found " + quoted_word(type));
  const auto first = count_vibe_side(sound, t, false, false), second = count_vibe_side(sense, t, false, false, c.has("semantic_tokenizer_encoder_config") ? 64 : 128);
  const auto language = count_heard_language(c, json::object(), "qwen2", t);
  t.linear(component::projector, checked::add(first, second), language.hidden, false);
  t.linear(component::projector, language.hidden, language.hidden, true, 2);
  t.add(component::projector, checked::mul(4, language.hidden));
  if (Head) count_heard_words(c, language, false, t);
  c.ignore({"tie_word_embeddings"});
}

/// modeling_qwen2_5_omni.py, Qwen2_5OmniTalkerModel: Qwen2 over a table as wide as the thinker.
template <bool Head>
void count_omni_talker(const config& c, tally& t) {
  const auto s = read_language(c, {28, 3584, 28, 4, 128, 18944, 8448});
  const auto input = c.size({"embedding_size"}, 3584);
  c.ignore({"position_id_per_seconds", "seconds_per_chunk", "spatial_merge_size", "tts_text_start_token_id", "tts_text_end_token_id", "tts_text_pad_token_id", "tts_codec_start_token_id", "tts_codec_end_token_id",
            "tts_codec_pad_token_id", "tts_codec_mask_token_id", "use_sliding_window", "max_window_layers", "tie_word_embeddings", "audio_start_token_id", "audio_end_token_id"});
  ignore_labels(c);
  t.embedding(s.vocab, input);
  count_attention(t, s, true, false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  if (!Head) return;
  t.linear(component::projector, input, s.hidden, true);
  t.linear(component::head, s.hidden, s.vocab, false);
}

/// modeling_qwen3_omni_moe.py, Qwen3OmniMoeTalkerCodePredictorModel: Qwen3 with a table, and a head, for each group of codes but the first.
template <bool Head>
void count_code_predictor(const config& c, tally& t) {
  const auto s = read_language(c, {5, 1024, 16, 8, 128, 3072, 2048});
  const bool bias = c.flag("attention_bias", false);
  const auto groups = c.count({"num_code_groups"}, 32) - 1;
  c.ignore({"use_sliding_window", "max_window_layers", "tie_word_embeddings"});
  ignore_labels(c);
  count_attention(t, s, bias, bias, s.layers);
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  t.embedding(checked::mul(groups, s.vocab), s.hidden);
  if (Head) t.linear(component::head, s.hidden, checked::mul(groups, s.vocab), false);
}

inline constexpr counted_class counted_heard_languages[] = {
    {"VoxtralRealtimeModel", "voxtral_realtime", count_voxtral_realtime<false>},
    {"VoxtralRealtimeForConditionalGeneration", "voxtral_realtime", count_voxtral_realtime<true>},
    {"VoxtralRealtimeEncoder", "voxtral_realtime_encoder", [](const config& c, tally& t) { count_realtime_encoder(c, t); }},
    {"VibeVoiceAcousticTokenizerModel", "vibevoice_acoustic_tokenizer", [](const config& c, tally& t) { count_vibe_side(c, t, false, false), count_vibe_side(c, t, true, true); }},
    {"VibeVoiceAcousticTokenizerEncoderModel", "vibevoice_acoustic_tokenizer_encoder", [](const config& c, tally& t) { count_vibe_side(c, t, false, false); }},
    {"VibeVoiceAcousticTokenizerDecoderModel", "vibevoice_acoustic_tokenizer_decoder", [](const config& c, tally& t) { count_vibe_side(c, t, true, false); }},
    {"VibeVoiceAsrModel", "vibevoice_asr", count_vibevoice_asr<false>},
    {"VibeVoiceAsrForConditionalGeneration", "vibevoice_asr", count_vibevoice_asr<true>},
    {"Qwen2_5OmniTalkerModel", "qwen2_5_omni_talker", count_omni_talker<false>},
    {"Qwen2_5OmniTalkerForConditionalGeneration", "qwen2_5_omni_talker", count_omni_talker<true>},
    {"Qwen3OmniMoeTalkerCodePredictorModel", "qwen3_omni_moe_talker_code_predictor", count_code_predictor<false>},
    {"Qwen3OmniMoeTalkerCodePredictorModelForConditionalGeneration", "qwen3_omni_moe_talker_code_predictor", count_code_predictor<true>},
    {"Phi4MultimodalAudioModel", "phi4_multimodal_audio", [](const config& c, tally& t) { count_phi4_hearing(c, t), c.ignore({"downsample_rate", "tie_word_embeddings"}), ignore_labels(c); }},
};

}  // namespace headroom::io::detail
