// Distributed under the Boost Software License, Version 1.0.
// Models of an encoder and a decoder that spell their configuration as BART does, and their decoders alone.
#pragma once

#include <headroom/io/counted/text_heads.hpp>
#include <headroom/io/huggingface/sizes.hpp>

namespace headroom::io::detail {

/// One side of the model; as an argument, its class's defaults.
struct seq2seq_side {
  std::int64_t layers{12}, heads{16}, ffn{4096};
};

/// A class's defaults, and where it differs from BART (transformers, modeling_bart.py).
struct seq2seq_family {
  std::int64_t vocab{50265}, width{1024};
  seq2seq_side encoder{}, decoder{};
  std::int64_t positions{1024};
  std::int64_t offset{2};            ///< rows of positions more than max_position_embeddings
  bool tables{true};                 ///< a table of positions on either side; else they are computed
  bool embedding_norm{true};         ///< a norm over the embeddings
  bool final_norm{false};            ///< a norm at the end of each stack
  bool biases{true};                 ///< of the attention's matrices
  std::int64_t labels{2};            ///< num_labels' default
};

/// The numbers of a configuration.
struct seq2seq_sizes {
  std::int64_t vocab, width;
  seq2seq_side encoder, decoder;
  std::int64_t encoder_positions, decoder_positions;
};

inline void pass_seq2seq_keys(const config& c) {
  c.ignore({"is_decoder", "add_cross_attention", "classif_dropout", "extra_pos_embeddings", "normalize_before", "normalize_embedding", "static_position_embeddings",
            "add_bias_logits", "add_final_layer_norm", "force_bos_token_to_be_generated", "encoder_no_repeat_ngram_size", "layernorm_variant", "max_length", "save_step",
            "use_cache", "vocab_sizes", "tie_encoder_decoder"});
}

inline seq2seq_side read_side(const config& c, const std::string& name, const seq2seq_side& d) {
  return {c.number({(name + "_layers").c_str()}, d.layers, 0, config::most), c.count({(name + "_attention_heads").c_str()}, d.heads), c.size({(name + "_ffn_dim").c_str()}, d.ffn)};
}

inline seq2seq_sizes read_seq2seq(const config& c, const seq2seq_family& f) {
  pass_seq2seq_keys(c);
  const auto positions = c.size({"max_position_embeddings"}, f.positions);
  const auto encoder = read_side(c, "encoder", f.encoder);
  require_equal(c, "num_hidden_layers", "encoder_layers", encoder.layers);  // another name of it in transformers 5
  return {c.size({"vocab_size"}, f.vocab), c.size({"d_model", "hidden_size"}, f.width), encoder, read_side(c, "decoder", f.decoder), positions, positions};
}

/// A stack of self-attention, attention to the encoder where `cross`, and a plain MLP, each with a norm.
inline void count_seq2seq_layers(const config& c, const seq2seq_side& s, std::int64_t width, bool cross, bool biases, tally& t) {
  check_heads(c, width, s.heads);
  t.linear(component::attention, width, width, biases, checked::mul(cross ? 8 : 4, s.layers));
  t.linear(component::mlp, width, s.ffn, true, s.layers);
  t.linear(component::mlp, s.ffn, width, true, s.layers);
  t.layer_norm(width, checked::mul(cross ? 3 : 2, s.layers));
}

/// One side without its words' table.
inline void count_seq2seq_side(const config& c, const seq2seq_family& f, const seq2seq_side& s, std::int64_t width, std::int64_t positions, bool cross, tally& t) {
  count_seq2seq_layers(c, s, width, cross, f.biases, t);
  if (f.tables) t.embedding(checked::add(positions, f.offset), width);
  t.layer_norm(width, (f.embedding_norm ? 1 : 0) + (f.final_norm ? 1 : 0));
}

enum class seq2seq_head { base, words, sequence, question };

/// The words' table, of which an untied model has one for each side and one for the output beside the shared one; and the head.
inline void count_seq2seq_head(const config& c, const seq2seq_sizes& s, seq2seq_head head, std::int64_t labels, tally& t) {
  t.embedding(s.vocab, s.width);
  if (!c.flag("tie_word_embeddings", true)) t.embedding(checked::mul(head == seq2seq_head::words ? 3 : 2, s.vocab), s.width);
  if (head == seq2seq_head::sequence) {
    t.linear(component::head, s.width, s.width, true);
    t.linear(component::head, s.width, c.has("num_labels") || c.has("id2label") ? labels_of(c) : labels, true);
  }
  if (head == seq2seq_head::question) t.linear(component::head, s.width, 2, true);
  c.ignore({"num_labels", "id2label"});
}

template <const seq2seq_family& Family, seq2seq_head Head>
void count_seq2seq(const config& c, tally& t) {
  const auto s = read_seq2seq(c, Family);
  count_seq2seq_side(c, Family, s.encoder, s.width, s.encoder_positions, false, t);
  count_seq2seq_side(c, Family, s.decoder, s.width, s.decoder_positions, true, t);
  count_seq2seq_head(c, s, Head, Family.labels, t);
}

/// ...ForCausalLM: the decoder with its attention to an encoder, and the output.
template <const seq2seq_family& Family>
void count_seq2seq_decoder(const config& c, tally& t) {
  const auto s = read_seq2seq(c, Family);
  count_seq2seq_side(c, Family, s.decoder, s.width, s.decoder_positions, true, t);
  t.embedding(s.vocab, s.width);
  if (!c.flag("tie_word_embeddings", true)) t.linear(component::head, s.width, s.vocab, false);
  c.ignore({"num_labels", "id2label"});
}

inline constexpr seq2seq_family bart_family{.labels = 3};
/// modeling_mbart.py: norms in front of the sub-blocks, and one at each stack's end.
inline constexpr seq2seq_family mbart_family{.final_norm = true};
inline constexpr seq2seq_family plbart_family{.vocab = 50005, .width = 768, .encoder = {6, 12, 3072}, .decoder = {6, 12, 3072}};
inline constexpr seq2seq_family mvp_family{.vocab = 50267};
/// modeling_blenderbot.py, modeling_blenderbot_small.py: no rows of positions are kept free.
inline constexpr seq2seq_family blenderbot_family{
    .vocab = 8008, .width = 2560, .encoder = {2, 32, 10240}, .decoder = {24, 32, 10240}, .positions = 128, .offset = 0, .embedding_norm = false, .final_norm = true};
inline constexpr seq2seq_family blenderbot_small_family{.width = 512, .encoder = {8, 16, 2048}, .decoder = {8, 16, 2048}, .positions = 512, .offset = 0};
/// modeling_pegasus.py, modeling_marian.py: the positions are sines, kept as a table of weights.
inline constexpr seq2seq_family pegasus_family{.offset = 0, .embedding_norm = false, .final_norm = true};
inline constexpr seq2seq_family marian_family{.vocab = 58101, .offset = 0, .embedding_norm = false};
/// modeling_m2m_100.py: the positions are sines in a buffer.
inline constexpr seq2seq_family m2m_100_family{.vocab = 128112, .tables = false, .embedding_norm = false, .final_norm = true};
/// modeling_led.py, modeling_bigbird_pegasus.py, modeling_pegasus_x.py: encoders of long texts.
inline constexpr seq2seq_family led_family{.offset = 0};
inline constexpr seq2seq_family bigbird_pegasus_family{.vocab = 96103, .encoder = {16, 16, 4096}, .decoder = {16, 16, 4096}, .positions = 4096, .offset = 0};
inline constexpr seq2seq_family pegasus_x_family{
    .vocab = 96103, .encoder = {16, 16, 4096}, .decoder = {16, 16, 4096}, .positions = 16384, .tables = false, .embedding_norm = false, .final_norm = true, .biases = false};

}  // namespace headroom::io::detail
