// Distributed under the Boost Software License, Version 1.0.
// Moonshine over sound as it comes (transformers 5.16, modeling_moonshine_streaming.py): norms have no bias, the decoder's MLP is gated.
#pragma once

#include <headroom/io/counted/language.hpp>

#include <cmath>

namespace headroom::io::detail {

/// Frames of sound become vectors by a matrix and two convolutions; one number bends them.
inline std::int64_t count_streaming_moonshine_encoder(const config& c, tally& t) {
  auto s = read_language(c, {6, 320, 8, 8, 0, 1280, 1});
  c.ignore({"vocab_size", "sliding_windows", "tie_word_embeddings"});
  ignore_labels(c);
  const bool bias = c.flag("attention_bias", false);
  const auto frame = static_cast<std::int64_t>(std::nearbyint(c.real({"sample_rate"}, 16000, 1, 1e9) * c.real({"frame_ms"}, 5, 1e-3, 1e6) / 1000));
  t.add(component::encoder, 1);
  t.linear(component::encoder, frame, s.hidden, false);
  t.linear(component::encoder, checked::mul(5, s.hidden), checked::mul(2, s.hidden), true);
  t.linear(component::encoder, checked::mul(10, s.hidden), s.hidden, true);
  count_attention(t, s, bias, bias, s.layers);
  count_plain_mlp(t, component::mlp, s.hidden, s.ffn, true, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return s.hidden;
}
template <bool Head>
void count_streaming_moonshine(const config& c, tally& t) {
  const auto ear = c.child("encoder_config");
  if (const auto type = ear.text({"model_type"}, "moonshine_streaming_encoder"); type != "moonshine_streaming_encoder") complain(ear.at("model_type") + " must be moonshine_streaming_encoder, found " + quoted_word(type));
  const auto heard = count_streaming_moonshine_encoder(ear, t);
  if (!c.has("num_key_value_heads")) complain(c.at("num_key_value_heads") + " is missing; this family has no default for it");
  const auto s = read_language(c, {6, 320, 8, 0, 0, 1280, 32768});
  c.ignore({"pad_head_dim_to_multiple_of"});
  ignore_labels(c);
  count_attention(t, s, c.flag("attention_bias", false), false, checked::mul(2, s.layers));
  t.linear(component::mlp, s.hidden, checked::mul(2, s.ffn), true, s.layers);
  t.linear(component::mlp, s.ffn, s.hidden, true, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(3, s.layers), 1));
  t.embedding(c.size({"max_position_embeddings"}, 4096), heard);
  if (heard != s.hidden) t.linear(component::projector, heard, s.hidden, false);
  const bool tied = count_vocabulary(c, t, s.vocab, s.hidden, false).tied;
  if (Head && !tied) t.linear(component::head, s.hidden, s.vocab, false);
}

inline constexpr counted_class counted_streaming[] = {
    {"MoonshineStreamingModel", "moonshine_streaming", count_streaming_moonshine<false>},
    {"MoonshineStreamingForConditionalGeneration", "moonshine_streaming", count_streaming_moonshine<true>},
    {"MoonshineStreamingEncoder", "moonshine_streaming_encoder", [](const config& c, tally& t) { count_streaming_moonshine_encoder(c, t); }},
};

}  // namespace headroom::io::detail
