// Distributed under the Boost Software License, Version 1.0.
// Models of sound beside the wav2vec 2.0 family: classifiers of spectra, recognisers, and the list of what counted/audio.hpp counts.
#pragma once

#include <headroom/io/counted/audio.hpp>
#include <headroom/io/counted/speech.hpp>

namespace headroom::io::detail {

inline inner_language count_qwen3_asr_body(const config& c, tally& t) {
  const auto tower = count_qwen3_asr_encoder(c.child("audio_config"), t);
  const auto given = c.has("text_config");
  const auto language = count_heard_language(c, given ? json::object() : json{{"hidden_size", 2048}, {"intermediate_size", 6144}, {"num_hidden_layers", 28}, {"num_attention_heads", 16}, {"num_key_value_heads", 8}, {"head_dim", 128}, {"vocab_size", 151936}}, "qwen3", t);
  t.linear(component::other, tower.hidden, tower.hidden, true);
  t.linear(component::other, tower.hidden, tower.output, true);
  c.ignore({"timestamp_token_id", "token_classification_bias", "projector_hidden_act", "num_labels", "id2label"});
  c.ignore({"tie_word_embeddings"});
  return language;
}
template <bool Head>
void count_qwen3_asr(const config& c, tally& t) {
  const auto language = count_qwen3_asr_body(c, t);
  if (Head) count_heard_words(c, language, true, t);
}

/// transformers, modeling_speech_to_text.py: gated convolutions shorten the spectrum; the decoder alone has words.
inline constexpr seq2seq_family speech_to_text_family{
    .vocab = 10000, .width = 256, .encoder = {12, 4, 2048}, .decoder = {6, 4, 2048}, .tables = false, .embedding_norm = false, .final_norm = true};
template <bool Head>
void count_speech_to_text(const config& c, tally& t) {
  const auto s = read_seq2seq(c, speech_to_text_family);
  const auto kernels = read_list(c, "conv_kernel_sizes", {5, 5});
  const auto middle = c.size({"conv_channels"}, 1024);
  c.ignore({"max_source_positions", "max_target_positions", "input_channels", "max_position_embeddings", "scale_embedding"});
  if (c.number({"num_conv_layers"}, 2) != static_cast<std::int64_t>(kernels.size())) complain(c.at("num_conv_layers") + " must be the length of conv_kernel_sizes");
  auto in = checked::mul(c.size({"input_feat_per_channel"}, 80), c.size({"input_channels"}, 1));
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto out = i + 1 < kernels.size() ? middle : checked::mul(2, s.width);
    t.linear(component::other, checked::mul(in, kernels[i]), out, true);
    in = middle / 2;
  }
  count_seq2seq_side(c, speech_to_text_family, s.encoder, s.width, 0, false, t);
  count_seq2seq_side(c, speech_to_text_family, s.decoder, s.width, 0, true, t);
  t.embedding(s.vocab, s.width);
  if (Head && !c.flag("tie_word_embeddings", true)) t.linear(component::head, s.width, s.vocab, false);
  c.ignore({"num_labels", "id2label", "tie_word_embeddings"});
}

/// modeling_audio_spectrogram_transformer.py: ViT over patches of a spectrum that overlap.
inline std::int64_t count_ast(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 768);
  const auto layers = c.number({"num_hidden_layers"}, 12, 0, config::most);
  const auto ffn = c.size({"intermediate_size"}, 3072);
  const auto patch = c.size({"patch_size"}, 16);
  const bool bias = c.flag("qkv_bias", true);
  const auto high = c.size({"num_mel_bins"}, 128);
  const auto wide = c.size({"max_length"}, 1024);
  check_heads(c, hidden, c.count({"num_attention_heads"}, 12));
  if (high < patch || wide < patch) complain(c.at("patch_size") + " must not be larger than the spectrum, found " + std::to_string(patch));
  const auto rows = (high - patch) / c.size({"frequency_stride"}, 10) + 1;
  const auto columns = (wide - patch) / c.size({"time_stride"}, 10) + 1;
  t.linear(component::embedding, checked::mul(patch, patch), hidden, true);
  t.embedding(checked::add(checked::mul(rows, columns), 4), hidden);
  t.linear(component::attention, hidden, hidden, bias, checked::mul(3, layers));
  t.linear(component::attention, hidden, hidden, true, layers);
  t.linear(component::mlp, hidden, ffn, true, layers);
  t.linear(component::mlp, ffn, hidden, true, layers);
  t.layer_norm(hidden, checked::add(checked::mul(2, layers), 1));
  c.ignore({"tie_word_embeddings"});
  return hidden;
}

/// modeling_moonshine.py: convolutions over the waveform; norms have no bias, the decoder's MLP is gated.
inline void count_moonshine_side(const config& c, const std::string& name, std::int64_t hidden, bool cross, tally& t) {
  const auto layers = c.number({(name + "_num_hidden_layers").c_str()}, 6, 0, config::most);
  const auto heads = c.count({(name + "_num_attention_heads").c_str()}, 8);
  const auto shared = c.nullable({(name + "_num_key_value_heads").c_str()}, heads, heads);
  const auto ffn = c.size({"intermediate_size"}, 1152);
  const bool bias = c.flag("attention_bias", false);
  check_heads(c, hidden, heads);
  const auto other = c.count({"encoder_num_attention_heads"}, 8);
  if (cross && (heads != other || shared != c.nullable({"encoder_num_key_value_heads"}, other, other)))
    complain(c.at("decoder_num_attention_heads") + " and decoder_num_key_value_heads must be the encoder's, which the class writes over them");
  const auto blocks = checked::mul(cross ? 2 : 1, layers);
  t.linear(component::attention, hidden, hidden, bias, blocks);
  t.linear(component::attention, hidden, checked::mul(shared, hidden / heads), bias, checked::mul(2, blocks));
  t.linear(component::attention, hidden, hidden, false, blocks);
  t.linear(component::mlp, hidden, checked::mul(cross ? 2 : 1, ffn), true, layers);
  t.linear(component::mlp, ffn, hidden, true, layers);
  t.add(component::norm, hidden, checked::add(checked::mul(cross ? 3 : 2, layers), 1));
}
template <bool Head>
void count_moonshine(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 288);
  const auto vocab = c.size({"vocab_size"}, 32768);
  c.ignore({"max_position_embeddings", "pad_head_dim_to_multiple_of", "encoder_hidden_act", "decoder_hidden_act", "partial_rotary_factor", "num_labels", "id2label"});
  t.linear(component::other, 127, hidden, false);
  t.linear(component::other, checked::mul(7, hidden), checked::mul(2, hidden), true);
  t.linear(component::other, checked::mul(6, hidden), hidden, true);
  t.layer_norm(hidden);
  count_moonshine_side(c, "encoder", hidden, false, t);
  count_moonshine_side(c, "decoder", hidden, true, t);
  t.embedding(vocab, hidden);
  if (Head && !c.flag("tie_word_embeddings", true)) t.linear(component::head, hidden, vocab, false);
  c.ignore({"tie_word_embeddings"});
}

/// modeling_parakeet.py: FastConformer. Convolutions shorten the spectrum by subsampling_factor. modeling_nemotron_asr_streaming.py pads it in front, so that a row more may stay.
inline std::int64_t count_fast_conformer(const config& c, bool streams, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 1024);
  const auto layers = c.number({"num_hidden_layers"}, 24, 0, config::most);
  const auto heads = c.count({"num_attention_heads"}, 8);
  const auto ffn = c.size({"intermediate_size"}, 4096);
  const bool bias = c.flag("attention_bias", true);
  const bool conv_bias = c.flag("convolution_bias", true);
  const auto kernel = c.size({"conv_kernel_size"}, 9);
  const auto factor = c.count({"subsampling_factor"}, 8);
  const auto channels = c.size({"subsampling_conv_channels"}, 256);
  const auto window = c.size({"subsampling_conv_kernel_size"}, 3);
  const auto stride = c.size({"subsampling_conv_stride"}, 2);
  check_heads(c, hidden, heads);
  c.ignore({"dropout_positions", "max_position_embeddings", "scale_input", "num_key_value_heads", "tie_word_embeddings"});
  if (const auto shared = c.nullable({"num_key_value_heads"}, heads, heads); shared != heads) complain(c.at("num_key_value_heads") + " must be the number of heads, found " + std::to_string(shared));
  std::int64_t stages = 0;
  for (auto f = factor; f > 1; f /= 2) ++stages;
  auto height = c.size({"num_mel_bins"}, 80);
  for (std::int64_t i = 0; i < stages; ++i) height = streams ? (height + stride - 2) / stride + 1 : height / stride;
  if (stages < 1 || height < 1) complain(c.at("subsampling_factor") + " must be at least 2 and leave a channel, found " + std::to_string(factor));
  const auto square = checked::mul(window, window);
  t.linear(component::other, square, channels, true);
  t.linear(component::other, square, channels, true, stages - 1);
  t.linear(component::other, channels, channels, true, stages - 1);
  t.linear(component::other, checked::mul(channels, height), hidden, true);
  t.linear(component::attention, hidden, hidden, bias, checked::mul(4, layers));
  t.linear(component::attention, hidden, hidden, false, layers);
  t.add(component::attention, checked::mul(2, hidden), layers);
  t.linear(component::mlp, hidden, ffn, bias, checked::mul(2, layers));
  t.linear(component::mlp, ffn, hidden, bias, checked::mul(2, layers));
  t.linear(component::other, hidden, checked::mul(2, hidden), conv_bias, layers);
  t.linear(component::other, kernel, hidden, conv_bias, layers);
  t.linear(component::other, hidden, hidden, conv_bias, layers);
  t.layer_norm(hidden, checked::mul(6, layers));
  return hidden;
}

inline std::int64_t count_parakeet(const config& c, tally& t) { return count_fast_conformer(c, false, t); }
inline std::int64_t count_streaming_encoder(const config& c, tally& t) {
  c.ignore({"default_num_lookahead_tokens"});
  return count_fast_conformer(c, true, t);
}

inline constexpr counted_class counted_audio[] = {
    {"Qwen2AudioEncoder", "qwen2_audio_encoder", [](const config& c, tally& t) { count_audio_tower(c, t); }},
    {"Qwen2AudioModel", "qwen2_audio", count_qwen2_audio<false>},
    {"Qwen2AudioForConditionalGeneration", "qwen2_audio", count_qwen2_audio<true>},
    {"AudioFlamingo3Encoder", "audioflamingo3_encoder", [](const config& c, tally& t) { count_audio_tower(c, t); }},
    {"AudioFlamingo3Model", "audioflamingo3", count_audio_flamingo<false>},
    {"AudioFlamingo3ForConditionalGeneration", "audioflamingo3", count_audio_flamingo<true>},
    {"MusicFlamingoModel", "musicflamingo", count_audio_flamingo<false>},
    {"MusicFlamingoForConditionalGeneration", "musicflamingo", count_audio_flamingo<true>},
    {"VoxtralEncoder", "voxtral_encoder", [](const config& c, tally& t) { count_audio_tower(c, t); }},
    {"VoxtralModel", "voxtral", count_voxtral<false>},
    {"VoxtralForConditionalGeneration", "voxtral", count_voxtral<true>},
    {"GlmAsrEncoder", "glmasr_encoder", [](const config& c, tally& t) { count_glmasr_encoder(c, t); }},
    {"GlmAsrModel", "glmasr", count_glmasr<false>},
    {"GlmAsrForConditionalGeneration", "glmasr", count_glmasr<true>},
    {"Qwen3ASRModel", "qwen3_asr", count_qwen3_asr<false>},
    {"Qwen3ASRForConditionalGeneration", "qwen3_asr", count_qwen3_asr<true>},
    {"Qwen3ASRForTokenClassification", "qwen3_asr", [](const config& c, tally& t) { count_classifier(c, t, count_qwen3_asr_body(c, t).hidden, c.flag("token_classification_bias", false)); }},
    {"WhisperForCausalLM", "whisper", count_whisper_causal},
    {"WhisperForAudioClassification", "whisper", count_whisper_classifier},
    {"Speech2TextModel", "speech_to_text", count_speech_to_text<false>},
    {"Speech2TextForConditionalGeneration", "speech_to_text", count_speech_to_text<true>},
    {"ASTModel", "audio-spectrogram-transformer", [](const config& c, tally& t) { c.ignore({"num_labels", "id2label"}), count_ast(c, t); }},
    {"ASTForAudioClassification", "audio-spectrogram-transformer", [](const config& c, tally& t) {
       const auto hidden = count_ast(c, t);
       t.within(component::head, [&] { t.layer_norm(hidden); });
       count_classifier(c, t, hidden);
     }},
    {"MoonshineModel", "moonshine", count_moonshine<false>},
    {"MoonshineForConditionalGeneration", "moonshine", count_moonshine<true>},
    {"ParakeetEncoder", "parakeet_encoder", [](const config& c, tally& t) { count_parakeet(c, t); }},
    {"ParakeetForCTC", "parakeet_ctc", [](const config& c, tally& t) {
       const auto hidden = count_parakeet(c.child("encoder_config"), t);
       t.linear(component::head, hidden, c.size({"vocab_size"}, 1025), true);
       c.ignore({"ctc_loss_reduction", "ctc_zero_infinity", "tie_word_embeddings"});
     }},
};

}  // namespace headroom::io::detail
