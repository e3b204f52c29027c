// Distributed under the Boost Software License, Version 1.0.
// Bark's three language models of sound and EnCodec, of transformers 5.16: modeling_bark.py, modeling_encodec.py.
#pragma once

#include <headroom/io/counted/language.hpp>
#include <headroom/io/counted/vision_blocks.hpp>

namespace headroom::io::detail {

/// EncodecModel: convolutions that halve and double sound, each behind a norm of its weights or of its channels, and LSTMs between; codebooks are buffers.
inline void count_encodec(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 128), channels = c.count({"audio_channels"}, 1), filters = c.size({"num_filters"}, 32), blocks = c.number({"num_residual_layers"}, 1, 0, config::most);
  const auto kernel = c.count({"kernel_size"}, 7), last = c.count({"last_kernel_size"}, 7), residual = c.count({"residual_kernel_size"}, 3), compress = c.count({"compress"}, 2);
  const auto norm = c.text({"norm_type"}, "weight_norm");
  const bool weights = norm == "weight_norm", shortcut = c.flag("use_conv_shortcut", true);
  if (!weights && norm != "time_group_norm") complain(c.at("norm_type") + " must be weight_norm or time_group_norm, found " + quoted_word(norm));
  c.ignore({"target_bandwidths", "sampling_rate", "normalize", "chunk_length_s", "overlap", "dilation_growth_rate", "use_causal_conv", "pad_mode", "trim_right_ratio", "codebook_size", "codebook_dim",
            "max_position_embeddings"});
  ignore_labels(c);
  static const json usual{8, 5, 4, 2};
  const json* found = c.find({"upsampling_ratios"});
  const json& ratios = found == nullptr ? usual : *found;
  if (!ratios.is_array()) complain(c.at("upsampling_ratios") + " must be a list of numbers, found " + shown(ratios));
  check_layers(c, "num_residual_layers", checked::mul(blocks, checked::mul(2, static_cast<std::int64_t>(ratios.size()))));
  // weight_norm keeps a length for each of the weight's first dimension: what comes out of a convolution, what goes into a transposed one.
  const auto conv = [&](std::int64_t in, std::int64_t out, std::int64_t width, bool transposed = false) {
    t.linear(component::encoder, checked::mul(in, width), out, true);
    t.add(component::encoder, weights ? (transposed ? in : out) : checked::mul(2, out));
  };
  const auto around = [&](std::int64_t width) {
    for (std::int64_t i = 0; i < blocks; ++i) {
      conv(width, width / compress, residual), conv(width / compress, width, 1);
      if (shortcut) conv(width, width, 1);
    }
  };
  t.within(component::encoder, [&] {
    auto width = filters;
    conv(channels, filters, kernel);
    for (auto one = ratios.rbegin(); one != ratios.rend(); ++one) {
      const auto window = checked::mul(2, config::whole(*one, c.at("upsampling_ratios"), 1, config::most)), wide = checked::mul(2, width);
      around(width);
      conv(width, wide, window);
      conv(wide, width, window, true);  // and back, on the other side
      around(width);
      width = wide;
    }
    conv(width, hidden, last);
    conv(hidden, width, kernel);
    conv(filters, channels, last);
    // nn.LSTM on either side: four gates of the input and of the state, with two biases.
    t.add(component::encoder, checked::mul(8, checked::add(checked::mul(width, width), width)), checked::mul(2, c.number({"num_lstm_layers"}, 2, 0, config::most)));
  });
}

/// Layers of Bark: GPT-2's, with biases where `bias` says so.
struct bark_sizes {
  std::int64_t layers, hidden, in, out;
  bool bias;
};
inline bark_sizes count_bark_layers(const config& c, tally& t, bool fine) {
  const bark_sizes s{c.number({"num_hidden_layers", "num_layers"}, 12, 0, config::most), c.size({"hidden_size"}, 768), c.size({"vocab_size", "input_vocab_size"}, 10048),
                     c.size({"output_vocab_size"}, 10048), c.flag("bias", true)};
  c.ignore({"num_attention_heads", "num_heads"});
  ignore_labels(c);
  t.linear(component::attention, s.hidden, s.hidden, s.bias, checked::mul(4, s.layers));
  count_plain_mlp(t, component::mlp, s.hidden, checked::mul(4, s.hidden), s.bias, s.layers);
  t.rms_norm(checked::mul(s.hidden, fine || s.bias ? 2 : 1), checked::add(checked::mul(2, s.layers), 1));
  t.embedding(c.size({"window_size", "block_size"}, 1024), s.hidden);
  return s;
}
/// BarkSemanticModel, BarkCoarseModel: the head is never tied.
inline void count_bark_causal(const config& c, tally& t) {
  const auto s = count_bark_layers(c, t, false);
  c.ignore({"tie_word_embeddings"});
  t.embedding(s.in, s.hidden);
  t.linear(component::head, s.hidden, s.out, false);
}
/// BarkFineModel: an embedding for each codebook, a head for each that it finds; head i is the embedding of codebook i + 1 where they are tied.
inline void count_bark_fine(const config& c, tally& t) {
  const auto s = count_bark_layers(c, t, true);
  const auto codes = c.count({"n_codes_total"}, 8), given = c.number({"n_codes_given"}, 1, 1, codes);
  t.embedding(checked::mul(codes, s.in), s.hidden);
  const bool tied = c.flag("tie_word_embeddings", true);
  if (tied && s.in != s.out) complain(c.at("output_vocab_size") + " must be input_vocab_size, " + std::to_string(s.in) + ", where heads are tied, found " + std::to_string(s.out));
  if (!tied) t.linear(component::head, s.hidden, s.out, false, codes - given);
}

inline constexpr counted_class counted_barks[] = {
    {"EncodecModel", "encodec", count_encodec},
    {"BarkSemanticModel", "semantic", count_bark_causal},
    {"BarkCoarseModel", "coarse_acoustics", count_bark_causal},
    {"BarkFineModel", "fine_acoustics", count_bark_fine},
    {"BarkModel", "bark", [](const config& c, tally& t) {
       count_bark_causal(c.child("semantic_config"), t);
       count_bark_causal(c.child("coarse_acoustics_config"), t);
       count_bark_fine(c.child("fine_acoustics_config"), t);
       t.model(count_inner(c.child("codec_config"), "encodec"));
       c.ignore({"tie_word_embeddings"});
       ignore_labels(c);
     }},
};

}  // namespace headroom::io::detail
