// Distributed under the Boost Software License, Version 1.0.
// Language models that hear and speak: Mimi's codec and those that stand on it, Higgs Audio and Phi-4-multimodal. Each comment names the file of
// transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language_others.hpp>
#include <headroom/io/counted/vision_blocks.hpp>

#include <cmath>

namespace headroom::io::detail {

/// modeling_mimi.py, MimiModel: convolutions that halve and double sound, a transformer on either side, and codebooks, which are buffers.
inline void count_mimi(const config& c, tally& t) {
  auto s = read_language(c, {8, 512, 8, 8, 0, 2048, 1});
  const auto channels = c.count({"audio_channels"}, 1), filters = c.size({"num_filters"}, 64), blocks = c.number({"num_residual_layers"}, 1, 0, config::most);
  const auto kernel = c.count({"kernel_size"}, 7), last = c.count({"last_kernel_size"}, 3), residual = c.count({"residual_kernel_size"}, 3), compress = c.count({"compress"}, 2);
  const bool shortcut = c.flag("use_conv_shortcut", false), bias = c.flag("attention_bias", false);
  c.ignore({"dilation_growth_rate", "use_causal_conv", "pad_mode", "trim_right_ratio", "codebook_size", "codebook_dim", "num_quantizers", "num_semantic_quantizers", "use_streaming",
            "layer_scale_initial_scale", "tie_word_embeddings", "vocab_size", "normalize"});
  ignore_labels(c);
  static const json usual{8, 6, 5, 4};
  const json* found = c.find({"upsampling_ratios"});
  const json& ratios = found == nullptr || found->is_null() || found->empty() ? usual : *found;
  if (!ratios.is_array()) complain(c.at("upsampling_ratios") + " must be a list of numbers, found " + shown(ratios));
  check_layers(c, "num_residual_layers", checked::mul(blocks, checked::mul(2, static_cast<std::int64_t>(ratios.size()))));
  const auto conv = [&](std::int64_t in, std::int64_t out, std::int64_t width, bool biased = true) { t.linear(component::encoder, checked::mul(in, width), out, biased); };
  const auto around = [&](std::int64_t width) {  // MimiResnetBlock
    for (std::int64_t i = 0; i < blocks; ++i) {
      conv(width, width / compress, residual), conv(width / compress, width, 1);
      if (shortcut) conv(width, width, 1);
    }
  };
  t.within(component::encoder, [&] {
    std::int64_t width = filters, hop = 1;
    conv(channels, filters, kernel);
    for (auto one = ratios.rbegin(); one != ratios.rend(); ++one) {
      const auto ratio = config::whole(*one, c.at("upsampling_ratios"), 1, config::most), wide = checked::mul(2, width);
      around(width);
      conv(width, wide, checked::mul(2, ratio));
      conv(wide, width, checked::mul(2, ratio));  // and back, on the other side
      around(width);
      width = wide;
      hop = checked::mul(hop, ratio);
    }
    conv(width, s.hidden, last);
    conv(s.hidden, width, kernel);
    conv(filters, channels, last);
    for (int side = 0; side < 2; ++side) {
      count_attention(t, s, bias, bias, s.layers);
      count_plain_mlp(t, component::encoder, s.hidden, s.ffn, false, s.layers);
      t.layer_norm(s.hidden, checked::mul(2, s.layers));
      t.add(component::encoder, checked::mul(2, s.hidden), s.layers);
    }
    const auto rate = c.real({"sampling_rate"}, 24000, 1, 1e9), coarse = std::ceil(rate / static_cast<double>(hop));
    const auto fine = c.real({"frame_rate"}, rate / (2.0 * static_cast<double>(hop)), 1e-6, 1e9);
    const auto groups = c.count({"upsample_groups"}, 512);
    if (fine < coarse || fine > coarse) {
      const auto window = checked::mul(2, static_cast<std::int64_t>(coarse / fine));
      conv(s.hidden, s.hidden, window, false);
      conv(s.hidden, s.hidden / groups, window, false);
    }
    const auto quantised = c.size({"vector_quantization_hidden_dimension"}, 256);
    if (quantised != s.hidden) t.linear(component::encoder, s.hidden, quantised, false, 4);
  });
}

/// Layers of Moshi and of Kyutai's speech to text: an MLP behind a gate, whose first matrix makes both halves; `each` copies of every matrix.
inline language_sizes count_moshi_layers(const config& c, tally& t, const language_sizes& usual, std::int64_t each) {
  language_sizes s;
  s.layers = c.number({"num_hidden_layers"}, usual.layers, 0, config::most);
  s.hidden = c.size({"hidden_size"}, usual.hidden);
  s.heads = c.count({"num_attention_heads"}, usual.heads);
  s.kv = c.nullable({"num_key_value_heads"}, s.heads, s.heads, 1, config::most);
  s.head_dim = c.nullable({"head_dim"}, s.hidden / s.heads, s.hidden / s.heads);
  s.ffn = c.size({"ffn_dim"}, usual.ffn);
  c.ignore({"max_position_embeddings"});
  const auto times = checked::mul(each, s.layers);
  count_attention(t, s, false, false, times);
  t.linear(component::mlp, s.hidden, s.ffn, false, times);
  t.linear(component::mlp, s.ffn / 2, s.hidden, false, times);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return s;
}
/// modeling_moshi.py, MoshiModel.
inline language_model count_moshi(const config& c, tally& t) {
  const auto s = count_moshi_layers(c, t, {32, 4096, 32, 0, 0, 22528, 32000}, 1);
  c.ignore({"audio_vocab_size", "num_codebooks", "audio_encoder_config", "depth_decoder_config"});
  const auto vocab = c.size({"vocab_size"}, 32000);
  t.rms_norm(s.hidden);
  t.embedding(checked::add(vocab, 1), s.hidden);
  c.ignore({"tie_word_embeddings"});
  return {s.hidden, vocab, false};
}
/// MoshiDepthDecoder, with what the model around it says of its sizes.
inline void count_moshi_depth(const config& c, tally& t, std::int64_t audio, std::int64_t input, std::int64_t vocab, std::int64_t codebooks) {
  const auto s = count_moshi_layers(c, t, {6, 1024, 16, 0, 0, 5632, 32000}, codebooks);
  c.ignore({"audio_vocab_size", "input_size", "vocab_size", "num_codebooks", "tie_word_embeddings"});
  t.embedding(checked::add(vocab, 1), s.hidden);
  t.embedding(checked::mul(codebooks - 1, checked::add(audio, 1)), s.hidden);
  t.linear(component::projector, checked::mul(codebooks, input), s.hidden, false);
  t.linear(component::head, checked::mul(codebooks, s.hidden), audio, false);
}
inline void count_moshi_speaking(const config& c, tally& t) {
  const auto m = count_moshi(c, t);
  ignore_labels(c);
  t.linear(component::head, m.hidden, m.vocab, false);
  const auto codec = c.child("audio_encoder_config");
  const auto audio = c.nullable({"audio_vocab_size"}, codec.size({"codebook_size"}, 2048), codec.size({"codebook_size"}, 2048));
  const auto codebooks = c.count({"num_codebooks"}, 8);
  t.embedding(checked::mul(checked::mul(2, codebooks), checked::add(audio, 1)), m.hidden);
  t.model(count_inner(codec, "mimi"));
  const bool stated = c.has("depth_decoder_config");  // else the class takes all of its defaults
  count_moshi_depth(c.child("depth_decoder_config"), t, stated ? audio : 2048, stated ? m.hidden : 4096, stated ? m.vocab : 32000, stated ? codebooks : 8);
}

/// modeling_kyutai_speech_to_text.py: Moshi's layers over words and codebooks in one table.
inline language_model count_kyutai(const config& c, tally& t) {
  const auto s = count_moshi_layers(c, t, {48, 2048, 32, 0, 0, 11264, 4001}, 1);
  c.ignore({"codec_config", "frame_size"});
  const auto vocab = c.size({"vocab_size"}, 4001);
  t.rms_norm(s.hidden);
  return {s.hidden, vocab, count_vocabulary(c, t, checked::add(checked::add(vocab, 1), checked::mul(c.count({"num_codebooks"}, 32), c.size({"codebook_vocab_size"}, 2049))), s.hidden, false).tied};
}

/// modeling_higgs_audio_v2.py: Llama with an MLP and norms of their own for sound. The head says sounds alone, and is never tied.
inline language_model count_higgs_audio(const config& c, tally& t) {
  const auto s = read_language(c, {28, 3072, 24, 8, 128, 8192, 128256});
  c.ignore({"audio_stream_bos_id", "audio_stream_eos_id", "tie_word_embeddings"});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, c.flag("mlp_bias", false), checked::mul(2, s.layers));
  t.rms_norm(s.hidden, checked::mul(4, s.layers));
  const auto sounds = checked::mul(c.count({"num_codebooks"}, 8), c.size({"codebook_size"}, 1024));
  t.embedding(sounds, s.hidden);
  count_frame(c, t, s);
  return {s.hidden, sounds, false};
}

/// modeling_phi4_multimodal.py, Phi4MultimodalImageEmbedding and its SigLIP.
inline void count_phi4_images(const config& c, tally& t, std::int64_t text) {
  const auto h = c.size({"hidden_size"}, 1152), ffn = c.size({"intermediate_size"}, 4304);
  const auto patch = c.count({"patch_size"}, 14), side = c.count({"image_size"}, 448) / patch;
  c.ignore({"num_attention_heads", "crop_size", "feature_layer", "max_position_embeddings"});
  t.within(component::vision, [&] {
    t.linear(component::vision, checked::mul(c.count({"num_channels"}, 3), checked::mul(patch, patch)), h, true);
    t.embedding(checked::mul(side, side), h);
    count_encoder({checked::add(c.number({"num_hidden_layers"}, 27, 0, config::most), 1), h, ffn}, t);  // one of them pools: a probe, and one norm less than the layer, one more behind
    t.add(component::vision, checked::mul(3, h));  // the probe, and two separators
  });
  t.linear(component::projector, h, text, true);
  t.linear(component::projector, text, text, true);
}
/// Phi4MultimodalAudioModel: a conformer. Returns its width.
inline std::int64_t count_phi4_hearing(const config& c, tally& t) {
  const auto h = c.size({"hidden_size"}, 1024), ffn = c.size({"intermediate_size"}, 1536), blocks = c.number({"num_blocks"}, 24, 0, config::most), heads = c.count({"num_attention_heads"}, 16);
  const auto wide = c.size({"ext_pw_out_channel"}, 1024), separable = c.size({"depthwise_separable_out_channel"}, 1024), multiplied = checked::mul(h, c.count({"depthwise_multiplier"}, 1));
  const auto channels = c.size({"nemo_conv_channels"}, 1024), reduction = c.count({"time_reduction"}, 8);
  c.ignore({"activation", "chunk_size", "left_chunk", "conv_activation", "conv_glu_type", "nemo_activation", "feature_layer", "max_position_embeddings"});
  auto bins = c.count({"input_size"}, 80);
  std::int64_t halvings = 0;
  for (auto rest = reduction; rest > 1; rest /= 2) ++halvings, bins = (bins + 1) / 2;
  expect(c, "nemo_final_size", bins);
  const auto inner = checked::mul(h / heads, heads);
  t.within(component::encoder, [&] {
    t.linear(component::encoder, 9, channels, true, halvings > 0 ? halvings : 1);
    if (halvings > 1) t.linear(component::encoder, channels, channels, true, halvings - 1);
    t.linear(component::encoder, checked::mul(channels, bins), h, true);
    t.embedding(checked::mul(c.count({"bias_max_distance"}, 1000), c.flag("bias_symmetric", false) ? 1 : 2), heads);
    t.linear(component::encoder, h, checked::mul(2, ffn), true, checked::mul(2, blocks));
    t.linear(component::encoder, ffn, h, true, checked::mul(2, blocks));
    t.linear(component::encoder, h, inner, true, checked::mul(3, blocks));
    t.linear(component::encoder, inner, h, true, blocks);
    t.linear(component::encoder, h, checked::mul(3, wide), true, blocks);
    t.add(component::encoder, checked::mul(2, wide), blocks);
    t.linear(component::encoder, c.count({"kernel_size"}, 3), multiplied, true, blocks);
    t.linear(component::encoder, multiplied, separable, true, blocks);
    t.layer_norm(h, checked::mul(5, blocks));
  });
  return h;
}
/// Phi4MultimodalAudioEmbedding: that, and a way into the language model with pictures and one without.
inline void count_phi4_sounds(const config& c, tally& t, std::int64_t text) {
  t.linear(component::projector, checked::mul(count_phi4_hearing(c, t), c.count({"downsample_rate"}, 1)), text, true, 2);
  t.linear(component::projector, text, text, true, 2);
}
inline language_model count_phi4_multimodal(const config& c, tally& t) {
  const auto s = read_language(c, {32, 3072, 32, 8, 0, 8192, 200064});
  c.ignore({"original_max_position_embeddings"});
  count_attention(t, s, false, false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  count_phi4_images(c.child("vision_config"), t, s.hidden);
  count_phi4_sounds(c.child("audio_config"), t, s.hidden);
  return count_frame(c, t, s);
}

inline constexpr counted_class counted_speaking_languages[] = {
    {"MimiModel", "mimi", count_mimi},
    {"MoshiModel", "moshi", [](const config& c, tally& t) { count_base<count_moshi>(c, t), pass_over(c, {"audio_encoder_config", "depth_decoder_config"}); }},
    {"MoshiForCausalLM", "moshi", [](const config& c, tally& t) { count_causal<count_moshi>(c, t), pass_over(c, {"audio_encoder_config", "depth_decoder_config"}); }},
    {"MoshiForConditionalGeneration", "moshi", count_moshi_speaking},
    {"KyutaiSpeechToTextModel", "kyutai_speech_to_text", [](const config& c, tally& t) { count_base<count_kyutai>(c, t), pass_over(c, {"codec_config"}); }},
    {"KyutaiSpeechToTextForConditionalGeneration", "kyutai_speech_to_text", [](const config& c, tally& t) {
       count_causal<count_kyutai>(c, t);
       t.model(count_inner(c.child("codec_config"), "mimi"));
     }},
    {"HiggsAudioV2Model", "higgs_audio_v2", count_base<count_higgs_audio>},
    {"HiggsAudioV2ForConditionalGeneration", "higgs_audio_v2", count_causal<count_higgs_audio>},
    {"Phi4MultimodalModel", "phi4_multimodal", count_base<count_phi4_multimodal>},
    {"Phi4MultimodalForCausalLM", "phi4_multimodal", count_causal<count_phi4_multimodal>},
};

}  // namespace headroom::io::detail
