// Distributed under the Boost Software License, Version 1.0.
// Encoders of spectra, language models that hear through them, and speech recognisers of an encoder and a decoder.
#pragma once

#include <headroom/io/counted/seq2seq.hpp>

namespace headroom::io::detail {

/// transformers, modeling_whisper.py (WhisperEncoder); Qwen2AudioEncoder, AudioFlamingo3Encoder and VoxtralEncoder are the same. Two convolutions over the spectrum, positions that are not
/// trained, and layers whose keys have no bias.
struct whisper_sizes {
  std::int64_t hidden{1280}, layers{32}, heads{20}, ffn{5120}, channels{128}, positions{1500};
};
inline void count_spectrum_convolutions(std::int64_t channels, std::int64_t hidden, tally& t) {
  t.linear(component::other, checked::mul(3, channels), hidden, true);
  t.linear(component::other, checked::mul(3, hidden), hidden, true);
}
inline void count_whisper_encoder(const config& c, const whisper_sizes& s, tally& t) {
  check_heads(c, s.hidden, s.heads);
  count_spectrum_convolutions(s.channels, s.hidden, t);
  t.frozen(component::embedding, checked::mul(s.positions, s.hidden));
  t.linear(component::attention, s.hidden, s.hidden, true, checked::mul(3, s.layers));
  t.linear(component::attention, s.hidden, s.hidden, false, s.layers);
  t.linear(component::mlp, s.hidden, s.ffn, true, s.layers);
  t.linear(component::mlp, s.ffn, s.hidden, true, s.layers);
  t.layer_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
}
inline whisper_sizes count_audio_tower(const config& c, tally& t) {
  const whisper_sizes s{c.size({"hidden_size", "d_model"}, 1280),          c.number({"num_hidden_layers", "encoder_layers"}, 32, 0, config::most),
                        c.count({"num_attention_heads", "encoder_attention_heads"}, 20), c.size({"intermediate_size", "encoder_ffn_dim"}, 5120),
                        c.size({"num_mel_bins"}, 128),                     c.size({"max_source_positions"}, 1500)};
  c.ignore({"vocab_size", "tie_word_embeddings", "encoder_layerdrop", "avg_pooler"});
  count_whisper_encoder(c, s, t);
  return s;
}

/// The language model inside, without its output, and what its output needs. `defaults` are the sizes that the outer class gives it.
struct inner_language {
  std::int64_t hidden, table;  ///< `table`: the numbers in its words' table
};
inline inner_language count_heard_language(const config& c, json defaults, const char* usual, tally& t) {
  const json* given = c.find({"text_config"});
  if (given != nullptr && !given->is_null() && !given->is_object()) complain(c.at("text_config") + " must be an object, found " + shown(*given));
  if (given != nullptr && given->is_object()) defaults.update(*given);
  const config text{defaults, c.at("text_config"), c.asked()};
  const auto type = text.text({"model_type"}, usual);
  const bool wide = type == "llama" || type == "qwen2" || type == "qwen3" || type == "mistral" || type == "granite";  // 4096 by default
  const auto model = count_inner(text, usual);
  t.model(model);
  return {text.size({"hidden_size"}, wide ? 4096 : config::required), model.of(component::embedding).count()};
}
/// The output, unless it is tied with the words' table. `ties`: whether the class ties them at all (_tied_weights_keys), and does where nothing is said.
inline void count_heard_words(const config& c, const inner_language& l, bool ties, tally& t) {
  if (!ties || !c.flag("tie_word_embeddings", true)) t.add(component::head, l.table);
}

template <bool Head>
void count_qwen2_audio(const config& c, tally& t) {
  const auto tower = count_audio_tower(c.child("audio_config"), t);
  const auto language = count_heard_language(c, json::object(), "qwen2", t);
  t.linear(component::other, tower.hidden, language.hidden, true);
  if (Head) count_heard_words(c, language, false, t);
  c.ignore({"tie_word_embeddings", "vocab_size", "ignore_index"});
}
template <bool Head>
void count_audio_flamingo(const config& c, tally& t) {
  const auto tower = count_audio_tower(c.child("audio_config"), t);
  const auto language = count_heard_language(c, json::object(), "qwen2", t);
  const bool bias = c.flag("projector_bias", true);
  c.ignore({"projector_hidden_act", "audio_frame_step", "audio_rotary_dim", "head_dim", "max_position_embeddings", "audio_bos_token_id", "audio_eos_token_id"});
  t.linear(component::other, tower.hidden, language.hidden, bias);
  t.linear(component::other, language.hidden, language.hidden, bias);
  if (Head) count_heard_words(c, language, false, t);
  c.ignore({"tie_word_embeddings"});
}
/// modeling_voxtral.py: four vectors of the tower, side by side, become one of the language model.
template <bool Head>
void count_voxtral(const config& c, tally& t) {
  const auto tower = count_audio_tower(c.child("audio_config"), t);
  const auto language = count_heard_language(c, {{"vocab_size", 131072}, {"hidden_size", 3072}, {"intermediate_size", 8192}, {"num_hidden_layers", 30}, {"num_key_value_heads", 8}, {"head_dim", 128}}, "llama", t);
  c.ignore({"projector_hidden_act", "hidden_size", "vocab_size"});
  t.linear(component::other, tower.ffn, language.hidden, false);
  t.linear(component::other, language.hidden, language.hidden, false);
  if (Head) count_heard_words(c, language, false, t);
  c.ignore({"tie_word_embeddings"});
}
/// modeling_glmasr.py: rotary positions; keys alone have no bias.
inline std::int64_t count_glmasr_encoder(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 1280);
  const auto layers = c.number({"num_hidden_layers"}, 32, 0, config::most);
  const auto heads = c.count({"num_attention_heads"}, 20);
  const auto shared = c.nullable({"num_key_value_heads"}, heads, heads);
  const auto ffn = c.size({"intermediate_size"}, 5120);
  const auto given = c.nullable({"head_dim"}, 0, 0);
  const auto width = given == 0 ? hidden / heads : given;
  c.ignore({"max_position_embeddings", "partial_rotary_factor", "tie_word_embeddings"});
  count_spectrum_convolutions(c.size({"num_mel_bins"}, 128), hidden, t);
  t.linear(component::attention, hidden, checked::mul(heads, width), true, layers);
  t.linear(component::attention, hidden, checked::mul(shared, width), false, layers);
  t.linear(component::attention, hidden, checked::mul(shared, width), true, layers);
  t.linear(component::attention, checked::mul(heads, width), hidden, true, layers);
  t.linear(component::mlp, hidden, ffn, true, layers);
  t.linear(component::mlp, ffn, hidden, true, layers);
  t.layer_norm(hidden, checked::add(checked::mul(2, layers), 1));
  return ffn;
}
template <bool Head>
void count_glmasr(const config& c, tally& t) {
  const auto ffn = count_glmasr_encoder(c.child("audio_config"), t);
  const auto language = count_heard_language(c, {{"vocab_size", 59264}, {"hidden_size", 2048}, {"intermediate_size", 6144}, {"num_hidden_layers", 28}, {"num_attention_heads", 16}, {"num_key_value_heads", 4}}, "llama", t);
  c.ignore({"projector_hidden_act"});
  t.linear(component::other, ffn, checked::mul(2, language.hidden), true);
  t.linear(component::other, checked::mul(2, language.hidden), language.hidden, true);
  if (Head) count_heard_words(c, language, true, t);
  c.ignore({"tie_word_embeddings"});
}
/// modeling_qwen3_asr.py: three convolutions over the spectrum as a picture.
struct qwen3_asr_sizes {
  std::int64_t hidden, output;
};
inline qwen3_asr_sizes count_qwen3_asr_encoder(const config& c, tally& t) {
  const auto hidden = c.size({"d_model", "hidden_size"}, 1024);
  const auto layers = c.number({"encoder_layers", "num_hidden_layers"}, 24, 0, config::most);
  const auto ffn = c.size({"encoder_ffn_dim"}, 4096);
  const auto channels = c.size({"downsample_hidden_size"}, 480);
  const auto half = [](std::int64_t n) { return (n + 1) / 2; };
  const auto height = half(half(half(c.size({"num_mel_bins"}, 128))));
  check_heads(c, hidden, c.count({"encoder_attention_heads", "num_attention_heads"}, 16));
  c.ignore({"n_window", "n_window_infer", "max_position_embeddings", "max_source_positions", "conv_chunksize", "tie_word_embeddings"});
  t.linear(component::other, 9, channels, true);
  t.linear(component::other, checked::mul(9, channels), channels, true, 2);
  t.linear(component::other, checked::mul(channels, height), hidden, false);
  t.linear(component::attention, hidden, hidden, true, checked::mul(4, layers));
  t.linear(component::mlp, hidden, ffn, true, layers);
  t.linear(component::mlp, ffn, hidden, true, layers);
  t.layer_norm(hidden, checked::add(checked::mul(2, layers), 1));
  return {hidden, c.size({"output_dim"}, 3584)};
}

inline void pass_whisper_keys(const config& c) {
  pass_seq2seq_keys(c);
  c.ignore({"apply_spec_augment", "mask_time_prob", "mask_time_length", "mask_time_min_masks", "mask_feature_prob", "mask_feature_length", "mask_feature_min_masks", "median_filter_width",
            "begin_suppress_tokens", "alignment_heads", "num_mel_bins", "max_source_positions", "use_weighted_layer_sum", "classifier_proj_size", "encoder_layers", "encoder_ffn_dim",
            "encoder_attention_heads", "decoder_layers", "decoder_ffn_dim", "decoder_attention_heads", "max_target_positions", "vocab_size", "num_labels", "id2label", "tie_word_embeddings"});
}
/// WhisperForCausalLM: the decoder with its attention to an encoder. Queries, values and outputs have biases, keys have none.
inline void count_whisper_causal(const config& c, tally& t) {
  const auto width = c.size({"d_model", "hidden_size"}, 384);
  const auto s = read_side(c, "decoder", {4, 6, 1536});
  const auto vocab = c.size({"vocab_size"}, 51865);
  pass_whisper_keys(c);
  count_seq2seq_layers(c, s, width, true, false, t);
  t.add(component::attention, width, checked::mul(6, s.layers));
  t.layer_norm(width);
  t.embedding(checked::add(vocab, c.size({"max_target_positions"}, 448)), width);
  if (!c.flag("tie_word_embeddings", true)) t.linear(component::head, width, vocab, false);
}
inline void count_whisper_classifier(const config& c, tally& t) {
  const auto s = read_side(c, "encoder", {4, 6, 1536});
  const auto width = c.size({"d_model", "hidden_size"}, 384);
  count_whisper_encoder(c, {width, s.layers, s.heads, s.ffn, c.size({"num_mel_bins"}, 80), c.size({"max_source_positions"}, 1500)}, t);
  const auto narrow = c.size({"classifier_proj_size"}, 256);
  if (c.flag("use_weighted_layer_sum", false)) t.add(component::head, checked::add(s.layers, 1));
  t.linear(component::head, width, narrow, true);
  count_classifier(c, t, narrow);
  pass_whisper_keys(c);
}

}  // namespace headroom::io::detail
