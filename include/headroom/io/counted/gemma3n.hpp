// Distributed under the Boost Software License, Version 1.0.
// Gemma 3n as a whole: the language model, a conformer that hears and MobileNetV5 that sees (transformers 5.16, modeling_gemma3n.py; timm 1.0.16,
// mobilenetv5.py, _efficientnet_blocks.py and attention2d.py).
#pragma once

#include <headroom/io/counted/gemma.hpp>

namespace headroom::io::detail {

/// UniversalInvertedResidual: a depthwise convolution of `start` places along an edge (0: none), a matrix that widens, one of `mid` places, a matrix back,
/// each with a norm's weight; and a vector that scales.
inline void count_inverted(tally& t, std::int64_t in, std::int64_t out, std::int64_t start, std::int64_t mid, std::int64_t wider, bool scales = true) {
  const auto wide = in * wider;
  if (start > 0) t.add(component::vision, in * (start * start + 1));
  t.add(component::vision, in * wide + wide);
  if (mid > 0) t.add(component::vision, wide * (mid * mid + 1));
  t.add(component::vision, wide * out + out + (scales ? out : 0));
}
/// MobileAttention with one key and one value for all heads, which a strided convolution and a norm make of every other place; and a vector that scales.
inline void count_mobile_attention(tally& t, std::int64_t width, std::int64_t heads, std::int64_t features, bool strides) {
  t.add(component::vision, 2 * width + 2 * width * features * (heads + 1) + (strides ? 2 * 10 * width : 0));
}
/// timm's mobilenetv5_300m_enc.
inline void count_mobilenet_v5(tally& t) {
  t.add(component::vision, 27 * 64 + 2 * 64);  // a biased convolution, and a norm
  for (const std::int64_t in : {64, 128, 128}) t.add(component::vision, 9 * in * 4 * in + 4 * in + 4 * in * 128 + 128);
  count_inverted(t, 128, 256, 3, 5, 6);
  for (const std::int64_t edge : {5, 3, 5, 3}) count_inverted(t, 256, 256, edge, 0, 4);
  count_inverted(t, 256, 640, 5, 5, 6);
  for (int i = 0; i < 7; ++i) count_inverted(t, 640, 640, 5, 0, 4);
  count_inverted(t, 640, 640, 0, 0, 1);
  for (int i = 0; i < 14; ++i) count_mobile_attention(t, 640, 12, 64, true), count_inverted(t, 640, 640, 0, 0, 2);
  count_inverted(t, 640, 1280, 5, 5, 6);
  for (int i = 0; i < 19; ++i) count_mobile_attention(t, 1280, 16, 96, false), count_inverted(t, 1280, 1280, 0, 0, 2);
  count_inverted(t, 640 + 1280, 2048, 0, 0, 2, false);
  t.add(component::vision, 2048);
}

/// Gemma3nMultimodalEmbedder: words of its own, a norm for them and one for what a tower makes, a matrix. Returns its width.
inline std::int64_t count_gemma3n_embedder(const config& c, tally& t, std::int64_t usual, std::int64_t text) {
  const auto width = c.size({"hidden_size"}, usual);
  c.ignore({"vocab_offset"});
  t.embedding(c.size({"vocab_size"}, 128), width);
  t.rms_norm(width, 2);
  t.linear(component::projector, width, text, false);
  return width;
}

/// Gemma3nModel. Both towers are there whatever the file says.
inline language_model count_gemma3n(const config& c, tally& t) {
  const auto text = count_gemma3n_text(c.child("text_config"), t);
  const auto sight = c.child("vision_config"), ear = c.child("audio_config");
  if (const auto built = sight.text({"architecture"}, "mobilenetv5_300m_enc"); built != "mobilenetv5_300m_enc") complain(sight.at("architecture") + " must be mobilenetv5_300m_enc, found " + quoted_word(built));
  if (sight.has("model_args")) complain(sight.at("model_args") + " must be left out, found " + shown(sight.find({"model_args"})));
  sight.ignore({"do_pooling", "num_classes", "label_names", "tie_word_embeddings", "max_position_embeddings"});
  c.ignore({"audio_soft_tokens_per_image", "vision_soft_tokens_per_image", "max_position_embeddings"});
  count_mobilenet_v5(t);
  if (const auto width = count_gemma3n_embedder(sight, t, 2048, text.hidden); width != 2048) complain(sight.at("hidden_size") + " must be 2048, as wide as what MobileNetV5 makes, found " + std::to_string(width));
  count_gemma3n_audio(ear, t);
  ignore_labels(ear), ignore_labels(sight);
  (void)count_gemma3n_embedder(ear, t, 1536, text.hidden);
  return {text.hidden, text.vocab, c.flag("tie_word_embeddings", true)};
}

inline constexpr counted_class counted_gemma3ns[] = {
    {"Gemma3nModel", "gemma3n", count_base<count_gemma3n>},
    {"Gemma3nForConditionalGeneration", "gemma3n", count_causal<count_gemma3n>},
};

}  // namespace headroom::io::detail
