// Distributed under the Boost Software License, Version 1.0.
// Networks that make waves of spectra and codes: HiFi-GAN, UnivNet, BigVGAN, Qwen2.5-Omni's token2wav, DAC, X-Codec, FastSpeech 2. Each comment
// names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language_heard.hpp>

namespace headroom::io::detail {

/// A convolution along time.
inline void count_wave_conv(tally& t, std::int64_t in, std::int64_t out, std::int64_t window, bool bias = true, std::int64_t times = 1) {
  t.linear(component::other, checked::mul(in, window), out, bias, times);
}
/// How many numbers each inner list has: dilations shape nothing but how many convolutions there are.
inline std::vector<std::int64_t> lengths_of_lists(const config& c, const char* key, std::vector<std::int64_t> usual) {
  const json* value = c.find({key});
  if (value == nullptr || value->is_null()) return usual;
  std::vector<std::int64_t> lengths;
  for (const auto& one : *value) {
    if (!value->is_array() || !one.is_array()) complain(c.at(key) + " must be a list of lists, found " + shown(*value));
    lengths.push_back(static_cast<std::int64_t>(one.size()));
  }
  return lengths;
}
/// The width behind `halvings` halvings.
inline std::int64_t halved(const config& c, std::int64_t width, std::size_t halvings) {
  for (std::size_t i = 0; i < halvings; ++i) width /= 2;
  if (width < 1) complain(c.path() + ": the channels must stay above 0 behind " + std::to_string(halvings) + " halvings");
  return width;
}

/// modeling_speecht5.py, SpeechT5HifiGan; FastSpeech2ConformerHifiGan is the same. `snakes`: BigVGAN of modeling_qwen2_5_omni.py, whose activations learn.
struct wave_style {
  std::vector<std::int64_t> kernels;
  const char* input;
  std::int64_t channels;
  bool snakes;
};
inline void count_hifigan(const config& c, tally& t, const wave_style& style) {
  c.ignore({"sampling_rate", "leaky_relu_slope", "normalize_before", "upsample_rates", "tie_word_embeddings"});
  ignore_labels(c);
  const auto first = c.size({"upsample_initial_channel"}, style.channels);
  const auto kernels = list_of(c, "upsample_kernel_sizes", style.kernels), windows = list_of(c, "resblock_kernel_sizes", {3, 7, 11}), rates = list_of(c, "upsample_rates", style.kernels);
  const auto dilations = lengths_of_lists(c, "resblock_dilation_sizes", {3, 3, 3});
  if (c.has("upsample_rates") && rates.size() != kernels.size()) complain(c.at("upsample_rates") + " must be as long as upsample_kernel_sizes, found " + std::to_string(rates.size()));
  if (kernels.empty() || windows.size() != dilations.size()) complain(c.at("resblock_dilation_sizes") + " must be as long as resblock_kernel_sizes");
  count_wave_conv(t, c.size({style.input}, 80), first, 7);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto in = halved(c, first, i), out = halved(c, first, i + 1);
    count_wave_conv(t, in, out, kernels[i]);
    for (std::size_t k = 0; k < windows.size(); ++k) {
      if (style.snakes && dilations[k] != 3) complain(c.at("resblock_dilation_sizes") + " must hold lists of three numbers, found one of " + std::to_string(dilations[k]));
      count_wave_conv(t, out, out, windows[k], true, checked::mul(2, dilations[k]));
      if (style.snakes) t.add(component::other, checked::mul(12, out));
    }
  }
  const auto last = halved(c, first, kernels.size());
  count_wave_conv(t, last, 1, 7, !style.snakes);
  if (style.snakes) t.add(component::other, checked::mul(2, last));
}
inline void count_hifigan_speecht5(const config& c, tally& t) { count_hifigan(c, t, {{8, 8, 8, 8}, "model_in_dim", 512, false}); }
inline void count_hifigan_fastspeech(const config& c, tally& t) { count_hifigan(c, t, {{16, 16, 4, 4}, "model_in_dim", 512, false}); }
inline void count_bigvgan(const config& c, tally& t) { count_hifigan(c, t, {{11, 7, 4, 4, 4, 4}, "mel_dim", 1536, true}); }

/// modeling_univnet.py: convolutions whose kernels are predicted from the spectrum.
inline void count_univnet(const config& c, tally& t) {
  const auto hidden = c.size({"model_hidden_channels"}, 32), channels = c.size({"model_in_channels"}, 64), predicted = c.size({"kernel_predictor_hidden_channels"}, 64);
  const auto kernels = list_of(c, "resblock_kernel_sizes", {3, 3, 3}), strides = list_of(c, "resblock_stride_sizes", {8, 8, 4}), dilations = lengths_of_lists(c, "resblock_dilation_sizes", {4, 4, 4});
  const auto window = c.count({"kernel_predictor_conv_size"}, 3), blocks = c.number({"kernel_predictor_num_blocks"}, 3, 0, config::most), bins = c.size({"num_mel_bins"}, 100);
  if (kernels.size() != strides.size() || kernels.size() != dilations.size()) complain(c.at("resblock_kernel_sizes") + ", resblock_stride_sizes and resblock_dilation_sizes must be of one length");
  c.ignore({"kernel_predictor_dropout", "leaky_relu_slope", "tie_word_embeddings", "initializer_range"});
  ignore_labels(c);
  count_wave_conv(t, channels, hidden, 7);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto layers = dilations[i];
    count_wave_conv(t, hidden, hidden, checked::mul(2, strides[i]));
    count_wave_conv(t, bins, predicted, 5);
    count_wave_conv(t, channels, channels, window, true, checked::mul(2, blocks));
    count_wave_conv(t, predicted, checked::mul(checked::mul(2, checked::mul(hidden, hidden)), checked::mul(kernels[i], layers)), window);
    count_wave_conv(t, predicted, checked::mul(checked::mul(2, hidden), layers), window);
    count_wave_conv(t, hidden, hidden, kernels[i], true, layers);
  }
  count_wave_conv(t, hidden, 1, 7);
}

/// modeling_qwen2_5_omni.py, ECAPA_TimeDelayNet: who speaks.
inline void count_speaker_encoder(const config& c, tally& t) {
  const auto channels = list_of(c, "enc_channels", {256, 256, 256, 256, 768}), kernels = list_of(c, "enc_kernel_sizes", {5, 3, 3, 3, 1}), dilations = list_of(c, "enc_dilations", {1, 2, 3, 4, 1});
  if (channels.size() < 2 || channels.size() != kernels.size() || channels.size() != dilations.size()) complain(c.at("enc_channels") + ", enc_kernel_sizes and enc_dilations must be of one length");
  const auto scale = c.count({"enc_res2net_scale"}, 2), narrow = c.size({"enc_se_channels"}, 64), asked = c.size({"enc_attention_channels"}, 64);
  count_wave_conv(t, c.size({"mel_dim"}, 80), channels[0], kernels[0]);
  for (std::size_t i = 1; i + 1 < channels.size(); ++i) {
    const auto out = channels[i], part = out / scale;
    count_wave_conv(t, channels[i - 1], out, 1);
    count_wave_conv(t, part, part, kernels[i], true, scale - 1);
    count_wave_conv(t, out, out, 1);
    count_wave_conv(t, out, narrow, 1);
    count_wave_conv(t, narrow, out, 1);
  }
  const auto last = channels.back();
  count_wave_conv(t, last, last, kernels.back());
  count_wave_conv(t, checked::mul(3, last), asked, 1);
  count_wave_conv(t, asked, last, 1);
  count_wave_conv(t, checked::mul(2, last), c.size({"enc_dim"}, 128), 1);
}
/// Qwen2_5OmniToken2WavDiTModel: a diffusion transformer from codes to spectra; norms have no weights, six vectors of each layer come from the time.
inline void count_omni_dit(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 1024), layers = c.number({"num_hidden_layers"}, 22, 0, config::most), inner = checked::mul(c.count({"num_attention_heads"}, 16), c.size({"head_dim"}, 64));
  const auto width = c.size({"emb_dim"}, 512), mels = c.size({"mel_dim"}, 80);
  c.ignore({"max_position_embeddings", "block_size", "look_ahead_layers", "look_backward_layers", "repeats", "dropout", "tie_word_embeddings"});
  ignore_labels(c);
  count_mlp(t, 256, hidden, hidden);
  t.embedding(checked::add(c.size({"num_embeds"}, 8193), 1), width);
  t.linear(component::projector, checked::add(checked::add(mels, width), checked::add(c.size({"enc_dim"}, 128), c.size({"enc_emb_dim"}, 192))), hidden, true);
  count_speaker_encoder(c, t);
  t.linear(component::other, hidden, checked::mul(6, hidden), true, layers);
  t.linear(component::attention, hidden, inner, true, checked::mul(3, layers));
  t.linear(component::attention, inner, hidden, true, layers);
  count_plain_mlp(t, component::mlp, hidden, checked::mul(hidden, c.count({"ff_mult"}, 2)), true, layers);
  t.linear(component::other, hidden, checked::mul(2, hidden), true);
  t.linear(component::head, hidden, mels, true);
}
inline void count_token2wav(const config& c, tally& t) {
  count_omni_dit(c.child("dit_config"), t);
  count_bigvgan(c.child("bigvgan_config"), t);
  c.ignore({"tie_word_embeddings"});
  ignore_labels(c);
}
/// Qwen2_5OmniForConditionalGeneration: the thinker, and what speaks unless it is told not to.
inline void count_omni(const config& c, tally& t) {
  count_speaking<count_omni_thinker, false>(c.child("thinker_config"), t);
  const auto talker = c.child("talker_config"), waves = c.child("token2wav_config");
  c.ignore({"tie_word_embeddings"});
  ignore_labels(c);
  if (c.flag("enable_audio_output", true)) count_omni_talker<true>(talker, t), count_token2wav(waves, t);
  else ask_all(talker), ask_all(waves);
}

/// modeling_dac.py: Snake activations learn a number for each channel. A unit has two convolutions.
inline void count_dac_units(tally& t, std::int64_t width) {
  count_wave_conv(t, width, width, 7, true, 3);
  count_wave_conv(t, width, width, 1, true, 3);
  t.add(component::other, checked::mul(6, width));
}
struct dac_usual {
  std::vector<std::int64_t> down{2, 4, 8, 8};
  std::int64_t decoder{1536}, hidden{0};  ///< hidden 0: as wide as the last convolution
};
/// DacEncoder. Returns the width of what it makes.
inline std::int64_t count_dac_encoder(const config& c, tally& t, const dac_usual& usual) {
  const auto down = list_of(c, "downsampling_ratios", usual.down);
  const auto first = c.size({"encoder_hidden_size"}, 64);
  c.ignore({"quantizer_dropout", "commitment_loss_weight", "codebook_loss_weight", "sampling_rate", "hop_length", "tie_word_embeddings", "upsampling_ratios", "decoder_hidden_size"});
  ignore_labels(c);
  count_wave_conv(t, 1, first, 7);
  auto width = first;
  for (const auto ratio : down) {
    count_dac_units(t, width);
    t.add(component::other, width);
    count_wave_conv(t, width, checked::mul(2, width), checked::mul(2, ratio));
    width = checked::mul(2, width);
  }
  const auto hidden = c.size({"hidden_size"}, usual.hidden != 0 ? usual.hidden : width);
  t.add(component::other, width);
  count_wave_conv(t, width, hidden, 3);
  return hidden;
}
/// That and DacDecoder.
inline std::int64_t count_dac_sides(const config& c, tally& t, const dac_usual& usual) {
  const auto down = list_of(c, "downsampling_ratios", usual.down);
  const auto up = list_of(c, "upsampling_ratios", usual.hidden != 0 ? usual.down : std::vector<std::int64_t>{down.rbegin(), down.rend()});
  const auto hidden = count_dac_encoder(c, t, usual), decoder = c.size({"decoder_hidden_size"}, usual.decoder);
  if (up.empty()) complain(c.at("upsampling_ratios") + " must not be empty");
  count_wave_conv(t, hidden, decoder, 7);
  for (std::size_t i = 0; i < up.size(); ++i) {
    const auto in = halved(c, decoder, i), out = halved(c, decoder, i + 1);
    t.add(component::other, in);
    count_wave_conv(t, in, out, checked::mul(2, up[i]));
    count_dac_units(t, out);
  }
  const auto last = halved(c, decoder, up.size());
  t.add(component::other, last);
  count_wave_conv(t, last, 1, 7);
  return hidden;
}
inline void count_dac(const config& c, tally& t) {
  const auto hidden = count_dac_sides(c, t, {}), books = c.number({"n_codebooks"}, 9, 0, config::most), width = c.size({"codebook_dim"}, 8), codes = c.size({"codebook_size"}, 1024);
  if ((codes & (codes - 1)) != 0) complain(c.at("codebook_size") + " must be a power of 2, found " + std::to_string(codes));
  count_wave_conv(t, hidden, width, 1, true, books);
  count_wave_conv(t, width, hidden, 1, true, books);
  t.embedding(checked::mul(books, codes), width);
}

inline constexpr counted_class counted_waves[] = {
    {"SpeechT5HifiGan", "speecht5_hifigan", count_hifigan_speecht5},
    {"FastSpeech2ConformerHifiGan", "fastspeech2_conformer_hifigan", count_hifigan_fastspeech},
    {"UnivNetModel", "univnet", count_univnet},
    {"Qwen2_5OmniToken2WavBigVGANModel", "qwen2_5_omni_bigvgan", count_bigvgan},
    {"Qwen2_5OmniToken2WavDiTModel", "qwen2_5_omni_dit", count_omni_dit},
    {"Qwen2_5OmniToken2WavModel", "qwen2_5_omni_token2wav", count_token2wav},
    {"Qwen2_5OmniForConditionalGeneration", "qwen2_5_omni", count_omni},
    {"DacModel", "dac", count_dac},
};

}  // namespace headroom::io::detail
