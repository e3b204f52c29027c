// Distributed under the Boost Software License, Version 1.0.
// SpeechT5: one encoder and one decoder, in front of and behind which stand networks for words or for sound.
#pragma once

#include <headroom/io/counted/seq2seq.hpp>
#include <headroom/io/counted/speech.hpp>

namespace headroom::io::detail {

/// transformers, modeling_speecht5.py.
struct speecht5_sizes {
  std::int64_t vocab, hidden;
};
inline speecht5_sizes count_speecht5(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 768);
  const auto encoder = read_side(c, "encoder", {12, 12, 3072});
  const auto decoder = read_side(c, "decoder", {6, 12, 3072});
  pass_speech_keys(c);
  c.ignore({"positional_dropout", "speech_decoder_prenet_dropout", "speech_decoder_postnet_dropout", "max_speech_positions", "max_text_positions", "max_length", "use_guided_attention_loss",
            "guided_attention_loss_num_heads", "guided_attention_loss_sigma", "guided_attention_loss_scale"});
  count_seq2seq_layers(c, encoder, hidden, false, true, t);
  count_seq2seq_layers(c, decoder, hidden, true, true, t);
  t.layer_norm(hidden);
  t.add(component::attention, checked::mul(checked::mul(2, c.size({"encoder_max_relative_position"}, 160)), hidden / encoder.heads));
  return {c.size({"vocab_size"}, 81), hidden};
}
/// The keys of networks that a class does not have.
inline void pass_speecht5_keys(const config& c) {
  c.ignore({"num_mel_bins", "speech_decoder_prenet_layers", "speech_decoder_prenet_units", "speaker_embedding_dim", "speech_decoder_postnet_layers", "speech_decoder_postnet_units",
            "speech_decoder_postnet_kernel", "reduction_factor", "conv_dim", "conv_kernel", "conv_bias", "feat_extract_norm", "num_feat_extract_layers", "num_conv_pos_embeddings",
            "num_conv_pos_embedding_groups", "mask_time_prob", "mask_feature_prob"});
}
inline void count_speecht5_waveform(const config& c, std::int64_t hidden, tally& t) {
  const auto last = count_waveform(c, speech_kind::wav2vec2, t);
  t.layer_norm(last);
  t.linear(component::other, last, hidden, true);
  count_mask_vector(c, hidden, false, t);
  count_speech_positions(c, speech_kind::wav2vec2, hidden, t);
}
/// Spectra into the decoder, and out of it.
inline void count_speecht5_spectra(const config& c, std::int64_t hidden, tally& t) {
  const auto bins = c.size({"num_mel_bins"}, 80);
  const auto front = c.count({"speech_decoder_prenet_layers"}, 2);
  const auto units = c.size({"speech_decoder_prenet_units"}, 256);
  const auto behind = c.count({"speech_decoder_postnet_layers"}, 5);
  const auto channels = c.size({"speech_decoder_postnet_units"}, 256);
  const auto kernel = c.size({"speech_decoder_postnet_kernel"}, 5);
  const auto frames = c.count({"reduction_factor"}, 2);
  t.linear(component::other, bins, units, true);
  t.linear(component::other, units, units, true, front - 1);
  t.linear(component::other, units, hidden, true);
  t.linear(component::other, checked::add(c.size({"speaker_embedding_dim"}, 512), hidden), hidden, true);
  t.add(component::other, 1);  // how much positions weigh
  t.linear(component::head, hidden, checked::mul(bins, frames), true);
  t.linear(component::head, hidden, frames, true);
  t.within(component::head, [&] {
    for (std::int64_t i = 0; i < behind; ++i) {
      const auto out = i + 1 == behind ? bins : channels;
      t.linear(component::head, checked::mul(i == 0 ? bins : channels, kernel), out, false);
      t.layer_norm(out);
    }
  });
}

inline constexpr counted_class counted_speecht5[] = {
    {"SpeechT5Model", "speecht5", [](const config& c, tally& t) {
       count_speecht5(c, t);
       pass_speecht5_keys(c);
     }},
    {"SpeechT5ForSpeechToText", "speecht5", [](const config& c, tally& t) {
       const auto s = count_speecht5(c, t);
       count_speecht5_waveform(c, s.hidden, t);
       t.embedding(s.vocab, s.hidden);
       if (!c.flag("tie_word_embeddings", true)) t.linear(component::head, s.hidden, s.vocab, false);
       pass_speecht5_keys(c);
     }},
    {"SpeechT5ForTextToSpeech", "speecht5", [](const config& c, tally& t) {
       const auto s = count_speecht5(c, t);
       t.embedding(s.vocab, s.hidden);
       t.add(component::other, 1);
       count_speecht5_spectra(c, s.hidden, t);
       pass_speecht5_keys(c);
     }},
    {"SpeechT5ForSpeechToSpeech", "speecht5", [](const config& c, tally& t) {
       const auto s = count_speecht5(c, t);
       count_speecht5_waveform(c, s.hidden, t);
       count_speecht5_spectra(c, s.hidden, t);
       pass_speecht5_keys(c);
     }},
};

}  // namespace headroom::io::detail
