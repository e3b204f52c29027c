// Distributed under the Boost Software License, Version 1.0.
// X-Codec, which joins DAC with HuBERT, and FastSpeech 2, which says spectra and hands them to a vocoder.
#pragma once

#include <headroom/io/counted/waves.hpp>

namespace headroom::io::detail {

/// transformers, modeling_xcodec.py, SemanticEncoder and SemanticDecoder: blocks of residual units; codebooks are buffers.
inline void count_xcodec_semantic(const config& c, tally& t, std::int64_t width) {
  const auto ratios = list_of(c, "channel_ratios", {1, 1}), strides = list_of(c, "strides", {1, 1});
  if (ratios.empty() || ratios.size() != strides.size()) complain(c.at("strides") + " must be as long as channel_ratios, found " + std::to_string(strides.size()));
  const auto units = static_cast<std::int64_t>(list_of(c, "block_dilations", {1, 1}).size()), kernel = c.count({"kernel_size"}, 3), window = c.count({"unit_kernel_size"}, 3);
  const auto residual = [&](std::int64_t channels) {
    count_wave_conv(t, channels, channels, window, false, units);
    count_wave_conv(t, channels, channels, 1, false, units);
  };
  count_wave_conv(t, width, width, kernel, false, 2);
  count_wave_conv(t, width, checked::mul(width, ratios[0]), kernel, false);
  auto in = width;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const auto out = checked::mul(width, ratios[i]), back = i + 1 < ratios.size() ? checked::mul(width, ratios[i + 1]) : width;
    const auto stride = strides[i], wide = stride == 1 ? 3 : checked::mul(2, stride);
    residual(in);
    count_wave_conv(t, in, out, wide);
    count_wave_conv(t, out, back, wide, stride == 1);
    residual(back);
    in = out;
  }
}
inline std::int64_t count_xcodec(const config& c, tally& t, bool unmasked = false) {
  const auto sound = c.child("acoustic_model_config"), given = c.child("semantic_model_config");
  auto stated = given.object();
  if (unmasked && c.has("semantic_model_config") && !given.has("mask_time_prob")) stated["mask_time_prob"] = 0.0;
  const config sense{stated, c.at("semantic_model_config"), c.asked()};
  if (const auto type = sound.text({"model_type"}, "dac"); type != "dac") complain(sound.at("model_type") + " must be dac, found " + quoted_word(type));
  if (const auto type = sense.text({"model_type"}, "hubert"); type != "hubert") complain(sense.at("model_type") + " must be hubert, found " + quoted_word(type));
  sound.ignore({"n_codebooks", "codebook_size", "codebook_dim"});
  c.ignore({"target_bandwidths", "sample_rate", "codebook_size", "codebook_dim", "tie_word_embeddings"});
  ignore_labels(c);
  const auto acoustic = count_dac_sides(sound, t, {{8, 5, 4, 2}, 1024, 256}), width = sense.size({"hidden_size"}, 768), both = checked::add(acoustic, width);
  t.model(count_inner(sense, "hubert"));
  count_xcodec_semantic(c, t, width);
  t.linear(component::other, both, checked::add(both, both), true);
  return both;
}
/// modeling_higgs_audio_v2_tokenizer.py: the same, and matrices around each codebook, of which there are as many as the bandwidth asks for. A
/// HuBERT that is stated masks nothing unless it says so.
inline void count_higgs_tokenizer(const config& c, tally& t) {
  const auto both = count_xcodec(c, t, true);
  c.ignore({"semantic_sample_rate", "downsample_factor"});
  const json* given = c.find({"target_bandwidths"});
  const json usual = json::array({0.5, 1, 1.5, 2, 4});
  const json& list = given == nullptr ? usual : *given;
  if (!list.is_array() || list.empty() || !list.back().is_number()) complain(c.at("target_bandwidths") + " must be a list of numbers, found " + shown(list));
  const auto codes = c.number({"codebook_size"}, 1024, 2), hop = area(list_of(c.child("acoustic_model_config"), "downsampling_ratios", {8, 5, 4, 2}));
  std::int64_t bits = 0;
  while ((std::int64_t{1} << bits) < codes) ++bits;
  const auto rate = checked::ceil_div(c.size({"sample_rate"}, 24000), hop);
  const auto books = static_cast<std::int64_t>(1000 * list.back().get<double>() / static_cast<double>(checked::mul(rate, bits)));
  const auto width = c.nullable({"codebook_dim"}, 64, both);
  t.linear(component::other, both, width, true, books);
  t.linear(component::other, width, both, true, books);
}

/// modeling_pe_audio.py, PeAudioEncoder: DAC's encoder, two convolutions and layers as Qwen3 has them. Returns its width.
inline std::int64_t count_pe_audio_encoder(const config& c, tally& t) {
  const auto s = read_language(c, {6, 1792, 14, 0, 128, 4800, 1});
  c.ignore({"tie_word_embeddings"});
  ignore_labels(c);
  const auto sound = c.child("dac_config");
  if (const auto type = sound.text({"model_type"}, "dac"); type != "dac") complain(sound.at("model_type") + " must be dac, found " + quoted_word(type));
  sound.ignore({"n_codebooks", "codebook_size"});
  const auto width = sound.size({"codebook_dim"}, 128);
  const bool bias = c.flag("attention_bias", false);
  t.within(component::encoder, [&] {
    count_wave_conv(t, count_dac_encoder(sound, t, {{2, 8, 10, 12}}), width, 1);
    t.linear(component::encoder, width, s.hidden, true);
    t.add(component::encoder, s.hidden);
    count_wave_conv(t, s.hidden, s.hidden, 3, true, 2);
    t.layer_norm(s.hidden, 2);
    count_attention(t, s, bias, bias, s.layers);
    t.rms_norm(s.head_dim, checked::mul(2, s.layers));
    count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
    t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
    t.linear(component::encoder, s.hidden, s.hidden, false);
  });
  return s.hidden;
}
/// PeAudioModel: sound and text compared.
inline void count_pe_audio(const config& c, tally& t) {
  json text = {{"model_type", "modernbert"}, {"hidden_size", 1024}, {"intermediate_size", 2624}, {"num_hidden_layers", 22}, {"num_attention_heads", 16}};
  if (const auto given = c.child("text_config"); given.text({"model_type"}, "modernbert") != "modernbert") complain(given.at("model_type") + " must be modernbert, found " + quoted_word(given.text({"model_type"}, "")));
  else text.update(given.object()), ask_all(given);
  const config words{text, c.at("text_config"), c.asked()};
  t.model(count_inner(words, "modernbert"));
  const auto width = words.size({"hidden_size"}, 1024), sound = count_pe_audio_encoder(c.child("audio_config"), t);
  t.layer_norm(checked::add(width, sound));
  t.linear(component::projector, checked::add(width, sound), width, false);
  t.add(component::other, 2);
  c.ignore({"tie_word_embeddings"});
  ignore_labels(c);
}

/// modeling_fastspeech2_conformer.py. A side's keys may stand in a part of their own; MLPs are convolutions.
inline void count_fastspeech_side(const config& c, tally& t, const std::string& name, std::int64_t kernel_usual) {
  const auto flat = [&](const char* key) { return name + "_" + key; };
  const auto part = c.child((name + "_config").c_str());
  const auto hidden = c.size({"hidden_size"}, 384);
  const auto layers = part.number({"layers"}, c.number({flat("layers").c_str()}, 4, 0, config::most), 0, config::most);
  const auto heads = part.count({"num_attention_heads"}, c.count({flat("num_attention_heads").c_str()}, 2));
  const auto kernel = part.count({"kernel_size"}, c.count({flat("kernel_size").c_str()}, kernel_usual)), ffn = part.size({"linear_units"}, c.size({flat("linear_units").c_str()}, 1536));
  const bool joined = part.flag("concat_after", c.flag(flat("concat_after").c_str(), false));
  for (const char* key : {"normalize_before", "dropout_rate", "positional_dropout_rate", "attention_dropout_rate"}) part.ignore({key}), c.ignore({flat(key).c_str()});
  check_heads(c, hidden, heads);
  const auto window = c.count({"positionwise_conv_kernel_size"}, 3);
  const bool twice = c.flag("use_macaron_style_in_conformer", true), convolves = c.flag("use_cnn_in_conformer", true), bias = c.flag("convolution_bias", true);
  const std::int64_t norms = 2 + (twice ? 1 : 0) + (convolves ? 2 : 0);
  t.linear(component::attention, hidden, hidden, true, checked::mul(4, layers));
  t.linear(component::attention, hidden, hidden, false, layers);
  t.add(component::attention, checked::mul(2, hidden), layers);
  count_wave_conv(t, hidden, ffn, window, true, checked::mul(twice ? 2 : 1, layers));
  count_wave_conv(t, ffn, hidden, window, true, checked::mul(twice ? 2 : 1, layers));
  t.layer_norm(hidden, checked::mul(norms, layers));
  if (joined) t.linear(component::attention, checked::mul(2, hidden), hidden, true, layers);
  if (!convolves) return;
  t.linear(component::other, hidden, checked::mul(3, hidden), bias, layers);
  t.linear(component::other, kernel, hidden, bias, layers);
  t.layer_norm(hidden, layers);
}
/// What predicts durations, pitch and energy: convolutions, each with a norm, and one number.
inline void count_fastspeech_predictor(const config& c, tally& t, const std::string& name, std::int64_t layers_usual, std::int64_t kernel_usual) {
  const auto key = [&](const char* what) { return name + "_predictor_" + what; };
  const auto layers = c.number({key("layers").c_str()}, layers_usual, 0, config::most), channels = c.size({key("channels").c_str()}, 256), kernel = c.count({key("kernel_size").c_str()}, kernel_usual);
  c.ignore({key("dropout").c_str(), key("dropout_rate").c_str(), ("stop_gradient_from_" + name + "_predictor").c_str(), (name + "_embed_dropout").c_str()});
  if (layers > 0) {
    count_wave_conv(t, c.size({"hidden_size"}, 384), channels, kernel);
    count_wave_conv(t, channels, channels, kernel, true, layers - 1);
  }
  t.layer_norm(channels, layers);
  t.linear(component::head, channels, 1, true);
}
inline void count_fastspeech(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 384), mels = c.size({"num_mel_bins"}, 80);
  c.ignore({"speech_decoder_postnet_dropout", "speaking_speed", "max_source_positions", "use_masking", "use_weighted_masking", "vocoder_config", "tie_word_embeddings", "num_hidden_layers", "num_attention_heads"});
  ignore_labels(c);
  t.embedding(c.size({"vocab_size"}, 78), hidden);
  count_fastspeech_side(c, t, "encoder", 7);
  count_fastspeech_side(c, t, "decoder", 31);
  count_fastspeech_predictor(c, t, "duration", 2, 3);
  count_fastspeech_predictor(c, t, "pitch", 5, 5);
  count_fastspeech_predictor(c, t, "energy", 2, 3);
  t.linear(component::other, c.count({"pitch_embed_kernel_size"}, 1), hidden, true);
  t.linear(component::other, c.count({"energy_embed_kernel_size"}, 1), hidden, true);
  for (const char* key : {"num_languages", "num_speakers"})
    if (const auto many = c.nullable({key}, 0, 0, 0); many > 1) t.embedding(many, hidden);
  if (const auto voice = c.nullable({"speaker_embed_dim"}, 0, 0, 0); voice > 0) t.linear(component::other, checked::add(hidden, voice), hidden, true);
  const auto layers = c.number({"speech_decoder_postnet_layers"}, 5, 0, config::most), units = c.size({"speech_decoder_postnet_units"}, 256), kernel = c.count({"speech_decoder_postnet_kernel"}, 5);
  t.linear(component::head, hidden, checked::mul(mels, c.count({"reduction_factor"}, 1)), true);
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto out = i + 1 == layers ? mels : units;
    count_wave_conv(t, i == 0 ? mels : units, out, kernel, false);
    t.layer_norm(out);
  }
}

inline constexpr counted_class counted_waves_more[] = {
    {"XcodecModel", "xcodec", [](const config& c, tally& t) { count_xcodec(c, t); }},
    {"HiggsAudioV2TokenizerModel", "higgs_audio_v2_tokenizer", count_higgs_tokenizer},
    {"PeAudioEncoder", "pe_audio_encoder", [](const config& c, tally& t) { count_pe_audio_encoder(c, t); }},
    {"PeAudioModel", "pe_audio", count_pe_audio},
    {"PeAudioFrameLevelModel", "pe_audio", count_pe_audio},
    {"FastSpeech2ConformerModel", "fastspeech2_conformer", count_fastspeech},
    {"FastSpeech2ConformerWithHifiGan", "fastspeech2_conformer_with_hifigan", [](const config& c, tally& t) {
       count_fastspeech(c.child("model_config"), t);
       count_hifigan_fastspeech(c.child("vocoder_config"), t);
       c.ignore({"tie_word_embeddings"});
       ignore_labels(c);
     }},
};

}  // namespace headroom::io::detail
