// Distributed under the Boost Software License, Version 1.0.
// Models that write music and speech: MusicGen's decoders, Dia and CLVP. Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language.hpp>
#include <headroom/io/counted/text_heads.hpp>

namespace headroom::io::detail {

/// modeling_musicgen.py, MusicgenModel, and modeling_musicgen_melody.py, whose layers attend to nothing else: a table and a head for each codebook.
template <bool Crosses, bool Head>
void count_musicgen(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 1024), ffn = c.size({"ffn_dim"}, 4096), layers = c.number({"num_hidden_layers"}, 24, 0, config::most), vocab = c.size({"vocab_size"}, 2048);
  const auto books = c.count({"num_codebooks"}, 4);
  check_heads(c, hidden, c.count({"num_attention_heads"}, 16));
  c.ignore({"max_position_embeddings", "layerdrop", "activation_function", "activation_dropout", "scale_embedding", "audio_channels", "is_decoder", "add_cross_attention",
            "cross_attention_hidden_size", "tie_word_embeddings"});
  ignore_labels(c);
  t.embedding(checked::mul(books, checked::add(vocab, 1)), hidden);
  t.linear(component::attention, hidden, hidden, false, checked::mul(Crosses ? 8 : 4, layers));
  count_plain_mlp(t, component::mlp, hidden, ffn, false, layers);
  t.layer_norm(hidden, checked::add(checked::mul(Crosses ? 3 : 2, layers), 1));
  if (Head) t.linear(component::head, hidden, checked::mul(books, vocab), false);
}

/// modeling_dia.py: an encoder of letters, and a decoder of sounds whose channels share one table.
inline language_sizes count_dia_layers(const config& c, tally& t, const language_sizes& usual) {
  const auto s = read_language(c, usual);
  c.ignore({"tie_word_embeddings"});
  count_attention(t, s, false, false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return s;
}
template <bool Head>
void count_dia(const config& c, tally& t) {
  c.ignore({"delay_pattern", "norm_eps", "tie_word_embeddings"});
  ignore_labels(c);
  const auto decoder = c.child("decoder_config");
  const auto encoder = count_dia_layers(c.child("encoder_config"), t, {12, 1024, 16, 16, 128, 4096, 256});
  t.embedding(encoder.vocab, encoder.hidden);
  const auto s = count_dia_layers(decoder, t, {18, 2048, 16, 4, 128, 8192, 1028});
  const auto width = decoder.size({"cross_head_dim"}, 128), q = checked::mul(decoder.count({"cross_num_attention_heads"}, 16), width), kv = checked::mul(decoder.count({"cross_num_key_value_heads"}, 16), width);
  t.linear(component::attention, s.hidden, q, false, checked::mul(2, s.layers));
  t.linear(component::attention, decoder.size({"cross_hidden_size"}, 1024), kv, false, checked::mul(2, s.layers));
  t.rms_norm(s.hidden, s.layers);
  const auto rows = checked::mul(s.vocab, decoder.count({"num_channels"}, 9));
  t.embedding(rows, s.hidden);
  if (Head) t.linear(component::head, s.hidden, rows, false);
}

/// modeling_clvp.py, ClvpEncoder: a gated MLP whose first matrix makes both halves, and a projection.
inline void count_clvp_encoder(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 768), ffn = c.size({"intermediate_size"}, 1536), layers = c.number({"num_hidden_layers"}, 20, 0, config::most);
  check_heads(c, hidden, c.count({"num_attention_heads"}, 12));
  const auto summary = c.text({"summary_type"}, "mean");
  if (summary == "attn") complain(c.at("summary_type") + " must not be \"attn\", which the class does not build");
  if (c.flag("summary_use_proj", false)) complain(c.at("summary_use_proj") + " must be false here, found true");
  c.ignore({"use_rotary_embedding", "initializer_factor", "summary_activation", "summary_proj_to_labels", "tie_word_embeddings"});
  ignore_labels(c);
  t.embedding(c.size({"vocab_size"}, 256), hidden);
  t.linear(component::attention, hidden, hidden, c.flag("use_attention_bias", false), checked::mul(3, layers));
  t.linear(component::attention, hidden, hidden, true, layers);
  t.linear(component::mlp, hidden, checked::mul(2, ffn), true, layers);
  t.linear(component::mlp, ffn, hidden, true, layers);
  t.rms_norm(hidden, checked::mul(2, layers));
  t.layer_norm(hidden);
  t.linear(component::projector, hidden, c.size({"projection_dim"}, 768), false);
}
/// ClvpModel, as GPT-2 has its layers.
struct clvp_decoder {
  std::int64_t hidden{}, vocab{};
  bool bias{};
};
inline clvp_decoder count_clvp_decoder(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 1024), layers = c.number({"num_hidden_layers"}, 30, 0, config::most), vocab = c.size({"vocab_size"}, 8194);
  const auto ffn = c.nullable({"n_inner"}, checked::mul(4, hidden), checked::mul(4, hidden));
  check_heads(c, hidden, c.count({"num_attention_heads"}, 16));
  c.ignore({"max_text_tokens", "num_mel_attn_blocks", "activation_function", "resid_pdrop", "embd_pdrop", "layer_norm_epsilon", "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
            "summary_first_dropout", "feature_size", "decoder_fixing_codes", "add_cross_attention", "initializer_factor", "tie_word_embeddings"});
  ignore_labels(c);
  const clvp_decoder d{hidden, vocab, c.flag("use_attention_bias", true)};
  t.embedding(checked::add(vocab, c.size({"max_position_embeddings"}, 608)), hidden);
  t.linear(component::attention, hidden, hidden, d.bias, checked::mul(3, layers));
  t.linear(component::attention, hidden, hidden, true, layers);
  count_plain_mlp(t, component::mlp, hidden, ffn, true, layers);
  t.layer_norm(hidden, checked::add(checked::mul(2, layers), 1));
  return d;
}
inline clvp_decoder count_clvp_causal(const config& c, tally& t) {
  const auto d = count_clvp_decoder(c, t);
  t.layer_norm(d.hidden);
  t.linear(component::head, d.hidden, d.vocab, true);
  return d;
}
/// ClvpModelForConditionalGeneration: the decoder told by a few layers over a voice, and two encoders that judge what it says.
inline void count_clvp(const config& c, tally& t) {
  const auto text = c.child("text_config"), decoder = c.child("decoder_config");
  c.ignore({"logit_scale_init_value", "projection_dim", "initializer_factor", "tie_word_embeddings"});
  const auto d = count_clvp_causal(decoder, t);
  count_clvp_encoder(text, t);
  count_clvp_encoder(c.child("speech_config"), t);
  const auto blocks = decoder.number({"num_mel_attn_blocks"}, 6, 0, config::most);
  t.embedding(checked::add(text.size({"vocab_size"}, 256), decoder.size({"max_text_tokens"}, 404)), d.hidden);
  t.linear(component::encoder, decoder.size({"feature_size"}, 80), d.hidden, true);
  t.layer_norm(d.hidden, blocks);
  t.linear(component::attention, d.hidden, d.hidden, d.bias, checked::mul(3, blocks));
  t.linear(component::attention, d.hidden, d.hidden, true, blocks);
  t.add(component::other, 1);
}

inline constexpr counted_class counted_music[] = {
    {"MusicgenModel", "musicgen_decoder", count_musicgen<true, false>},
    {"MusicgenForCausalLM", "musicgen_decoder", count_musicgen<true, true>},
    {"MusicgenMelodyModel", "musicgen_melody_decoder", count_musicgen<false, false>},
    {"MusicgenMelodyForCausalLM", "musicgen_melody_decoder", count_musicgen<false, true>},
    {"DiaModel", "dia", count_dia<false>},
    {"DiaForConditionalGeneration", "dia", count_dia<true>},
    {"ClvpModelForConditionalGeneration", "clvp", count_clvp},
    {"ClvpEncoder", "clvp_encoder", count_clvp_encoder},
    {"ClvpModel", "clvp_decoder", [](const config& c, tally& t) { count_clvp_decoder(c, t); }},
    {"ClvpDecoder", "clvp_decoder", [](const config& c, tally& t) { count_clvp_decoder(c, t); }},
    {"ClvpForCausalLM", "clvp_decoder", [](const config& c, tally& t) { count_clvp_causal(c, t); }},
};

}  // namespace headroom::io::detail
