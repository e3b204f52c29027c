// Distributed under the Boost Software License, Version 1.0.
// Recognisers of speech on FastConformer encoders, with transducers or decoders behind them; and models of time series.
#pragma once

#include <headroom/io/counted/audio_models.hpp>

namespace headroom::io::detail {

/// transformers, modeling_lasr.py: rotary positions, norms without biases.
inline std::int64_t count_lasr(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 512);
  const auto layers = c.number({"num_hidden_layers"}, 17, 0, config::most);
  const auto heads = c.count({"num_attention_heads"}, 8);
  const auto ffn = c.size({"intermediate_size"}, 2048);
  const bool bias = c.flag("attention_bias", false);
  const bool conv_bias = c.flag("convolution_bias", false);
  const auto kernel = c.size({"conv_kernel_size"}, 32);
  const auto channels = c.size({"subsampling_conv_channels"}, 256);
  const auto window = c.size({"subsampling_conv_kernel_size"}, 5);
  check_heads(c, hidden, heads);
  c.ignore({"dropout_positions", "max_position_embeddings", "scale_input", "subsampling_conv_stride", "feed_forward_residual_weights", "conv_residual_weights", "batch_norm_momentum"});
  if (const auto shared = c.nullable({"num_key_value_heads"}, heads, heads); shared != heads) complain(c.at("num_key_value_heads") + " must be the number of heads, found " + std::to_string(shared));
  t.linear(component::other, c.size({"num_mel_bins"}, 128), hidden, true);
  t.linear(component::other, checked::mul(window, hidden), hidden, true);
  t.linear(component::other, checked::mul(window, hidden), channels, true);
  t.linear(component::other, channels, hidden, true);
  t.linear(component::attention, hidden, hidden, bias, checked::mul(4, layers));
  t.linear(component::mlp, hidden, ffn, bias, checked::mul(2, layers));
  t.linear(component::mlp, ffn, hidden, bias, checked::mul(2, layers));
  t.linear(component::other, hidden, checked::mul(2, hidden), conv_bias, layers);
  t.linear(component::other, kernel, hidden, conv_bias, layers);
  t.linear(component::other, hidden, hidden, conv_bias, layers);
  t.layer_norm(hidden, layers);
  t.rms_norm(hidden, checked::add(checked::mul(5, layers), 1));
  return hidden;
}

/// modeling_parakeet.py (ParakeetRNNTDecoder): an LSTM over the words so far, and a joint output. `durations`: how far a word may reach, of which TDT predicts one.
inline void count_transducer(const config& c, std::int64_t encoder, std::int64_t usual_vocab, std::int64_t durations, tally& t) {
  const auto hidden = c.size({"decoder_hidden_size"}, 640);
  const auto layers = c.count({"num_decoder_layers"}, 2);
  const auto vocab = c.size({"vocab_size"}, usual_vocab);
  c.ignore({"max_symbols_per_step", "blank_token_id"});
  t.linear(component::other, encoder, hidden, true);
  t.embedding(vocab, hidden);
  t.add(component::other, checked::add(checked::mul(8, checked::mul(hidden, hidden)), checked::mul(8, hidden)), layers);
  t.linear(component::other, hidden, hidden, true);
  t.linear(component::head, hidden, checked::add(vocab, durations), true);
  c.ignore({"tie_word_embeddings"});
}

/// modeling_cohere_asr.py: a decoder behind Parakeet's encoder.
inline std::int64_t count_cohere_asr(const config& c, tally& t) {
  const auto vocab = c.size({"vocab_size"}, 16384);
  const auto hidden = c.size({"hidden_size"}, 1024);
  const auto layers = c.number({"num_hidden_layers"}, 8, 0, config::most);
  const auto heads = c.count({"num_attention_heads"}, 8);
  const auto shared = c.nullable({"num_key_value_heads"}, heads, heads);
  const auto width = c.nullable({"head_dim"}, hidden / heads, hidden / heads);
  const auto ffn = c.size({"intermediate_size"}, 4096);
  const bool bias = c.flag("attention_bias", true);
  const auto blocks = checked::mul(2, layers);
  t.embedding(checked::add(vocab, c.size({"max_position_embeddings"}, 1024)), hidden);
  t.linear(component::attention, hidden, checked::mul(heads, width), bias, blocks);
  t.linear(component::attention, hidden, checked::mul(shared, width), bias, checked::mul(2, blocks));
  t.linear(component::attention, checked::mul(heads, width), hidden, bias, blocks);
  t.linear(component::mlp, hidden, ffn, true, layers);
  t.linear(component::mlp, ffn, hidden, true, layers);
  t.layer_norm(hidden, checked::add(checked::mul(3, layers), 2));
  return hidden;
}
template <bool Head>
void count_cohere_asr_model(const config& c, tally& t) {
  const auto hidden = count_cohere_asr(c, t);
  json encoder = {{"hidden_size", 1280}, {"num_hidden_layers", 48}, {"intermediate_size", 5120}, {"num_mel_bins", 128}};
  encoder.update(c.child("encoder_config").object());
  const config inner{encoder, c.at("encoder_config"), c.asked()};
  if (const auto type = inner.text({"model_type"}, "parakeet_encoder"); type != "parakeet_encoder") complain(inner.at("model_type") + " must be \"parakeet_encoder\", found " + quoted_word(type));
  t.linear(component::other, count_parakeet(inner, t), hidden, true);
  if (Head) {
    const auto vocab = c.size({"vocab_size"}, 16384);
    t.add(component::head, vocab);
    if (!c.flag("tie_word_embeddings", false)) t.linear(component::head, hidden, vocab, false);
  }
  c.ignore({"tie_word_embeddings"});
}

/// modeling_timesfm.py and modeling_timesfm2_5.py: two matrices with a shortcut around them.
inline void count_shortcut(std::int64_t in, std::int64_t middle, std::int64_t out, bool bias, tally& t) {
  t.linear(component::other, in, middle, bias);
  t.linear(component::other, middle, out, bias);
  t.linear(component::other, in, out, bias);
}
inline std::int64_t quantiles_of(const config& c) {
  const json* list = c.find({"quantiles"});
  if (list == nullptr) return 10;
  if (!list->is_array()) complain(c.at("quantiles") + " must be a list, found " + shown(*list));
  return static_cast<std::int64_t>(list->size()) + 1;
}
template <bool Head>
void count_timesfm(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 1280);
  const auto layers = c.number({"num_hidden_layers"}, 50, 0, config::most);
  const auto width = c.size({"head_dim"}, 80);
  const auto inner = checked::mul(c.count({"num_attention_heads"}, 16), width);
  const auto ffn = c.size({"intermediate_size"}, 1280);
  const auto horizon = checked::mul(c.size({"horizon_length"}, 128), quantiles_of(c));
  c.ignore({"context_length", "tolerance", "pad_val", "use_positional_embedding", "min_timescale", "max_timescale", "tie_word_embeddings"});
  count_shortcut(checked::mul(2, c.size({"patch_length"}, 32)), ffn, hidden, true, t);
  t.embedding(c.size({"freq_size"}, 3), hidden);
  t.linear(component::attention, hidden, inner, true, checked::mul(3, layers));
  t.linear(component::attention, inner, hidden, true, layers);
  t.add(component::attention, width, layers);
  t.linear(component::mlp, hidden, ffn, true, layers);
  t.linear(component::mlp, ffn, hidden, true, layers);
  t.layer_norm(hidden, layers);
  t.rms_norm(hidden, layers);
  if (Head) count_shortcut(hidden, ffn, horizon, true, t);
}
template <bool Head>
void count_timesfm2_5(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 1280);
  const auto layers = c.number({"num_hidden_layers"}, 20, 0, config::most);
  const auto width = c.size({"head_dim"}, 80);
  const auto inner = checked::mul(c.count({"num_attention_heads"}, 16), width);
  const auto shared = checked::mul(c.count({"num_key_value_heads"}, 16), width);
  const auto ffn = c.size({"intermediate_size"}, 1280);
  const bool bias = c.flag("attention_bias", false);
  const bool mlp_bias = c.flag("use_bias", false);
  const auto quantiles = quantiles_of(c);
  const auto horizon = c.size({"horizon_length"}, 128);
  const auto output = c.size({"output_quantile_len"}, 1024);
  c.ignore({"context_length", "max_position_embeddings", "decode_index", "activation", "use_continuous_quantile_head", "force_flip_invariance", "infer_is_positive", "tie_word_embeddings"});
  count_shortcut(checked::mul(2, c.size({"patch_length"}, 32)), hidden, hidden, true, t);
  t.linear(component::attention, hidden, inner, bias, layers);
  t.linear(component::attention, hidden, shared, bias, checked::mul(2, layers));
  t.linear(component::attention, inner, hidden, bias, layers);
  t.add(component::attention, checked::mul(3, width), layers);
  t.linear(component::mlp, hidden, ffn, mlp_bias, layers);
  t.linear(component::mlp, ffn, hidden, mlp_bias, layers);
  t.rms_norm(hidden, checked::mul(4, layers));
  if (!Head) return;
  count_shortcut(hidden, hidden, checked::mul(horizon, quantiles), false, t);
  count_shortcut(hidden, hidden, checked::mul(output, quantiles), false, t);
}

inline constexpr counted_class counted_audio_more[] = {
    {"LasrEncoder", "lasr_encoder", [](const config& c, tally& t) { count_lasr(c, t); }},
    {"LasrForCTC", "lasr_ctc", [](const config& c, tally& t) {
       t.linear(component::head, count_lasr(c.child("encoder_config"), t), c.size({"vocab_size"}, 512), true);
       c.ignore({"ctc_loss_reduction", "ctc_zero_infinity", "tie_word_embeddings"});
     }},
    {"ParakeetForRNNT", "parakeet_rnnt", [](const config& c, tally& t) { count_transducer(c, count_parakeet(c.child("encoder_config"), t), 8193, 0, t); }},
    {"ParakeetForTDT", "parakeet_tdt", [](const config& c, tally& t) {
       const auto durations = static_cast<std::int64_t>(read_list(c, "durations", {0, 1, 2, 3, 4}).size());
       count_transducer(c, count_parakeet(c.child("encoder_config"), t), 8193, durations, t);
     }},
    {"NemotronAsrStreamingEncoder", "nemotron_asr_streaming_encoder", [](const config& c, tally& t) { count_streaming_encoder(c, t); }},
    {"NemotronAsrStreamingForRNNT", "nemotron_asr_streaming", [](const config& c, tally& t) { count_transducer(c, count_streaming_encoder(c.child("encoder_config"), t), 1025, 0, t); }},
    {"CohereAsrModel", "cohere_asr", count_cohere_asr_model<false>},
    {"CohereAsrForConditionalGeneration", "cohere_asr", count_cohere_asr_model<true>},
    {"TimesFmModel", "timesfm", count_timesfm<false>},
    {"TimesFmModelForPrediction", "timesfm", count_timesfm<true>},
    {"TimesFm2_5Model", "timesfm2_5", count_timesfm2_5<false>},
    {"TimesFm2_5ModelForPrediction", "timesfm2_5", count_timesfm2_5<true>},
};

}  // namespace headroom::io::detail
