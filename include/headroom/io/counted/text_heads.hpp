// Distributed under the Boost Software License, Version 1.0.
// What encoders of text have in common: the sizes as BERT spells them, its layers, and the heads that people train.
#pragma once

#include <headroom/io/counted/base.hpp>

namespace headroom::io::detail {

/// The keys of BERT's configuration that size a network; as an argument, its class's defaults.
struct bert_sizes {
  std::int64_t vocab{30522}, hidden{768}, layers{12}, heads{12}, ffn{3072}, positions{512}, types{2};
};

/// Refuses a hidden size that the heads do not divide, as the classes do.
inline void check_heads(const config& c, std::int64_t hidden, std::int64_t heads) {
  if (hidden % heads != 0)
    complain(c.path() + ": the hidden size must be a multiple of the number of attention heads, found " + std::to_string(hidden) + " and " + std::to_string(heads));
}

/// What shapes nothing, and what only older versions of the classes read: other values of these built other modules there.
inline void pass_bert_keys(const config& c) {
  c.ignore({"pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "directionality",
            "summary_first_dropout", "summary_last_dropout", "summary_activation", "classifier_dropout_prob", "classifier_activation", "initializer_cutoff_factor"});
  if (const auto kind = c.text({"position_embedding_type"}, "absolute"); kind != "absolute")
    complain(c.at("position_embedding_type") + " must be \"absolute\", found " + quoted_word(kind));
  const bool decodes = c.flag("is_decoder", false);
  if (c.flag("add_cross_attention", false) && decodes)
    complain(c.at("add_cross_attention") + " must be false: an encoder that attends to another is not counted, found true");
}

inline bert_sizes read_bert_sizes(const config& c, const bert_sizes& d) {
  pass_bert_keys(c);
  const bert_sizes s{c.size({"vocab_size"}, d.vocab),
                     c.size({"hidden_size"}, d.hidden),
                     c.number({"num_hidden_layers"}, d.layers, 0, config::most),
                     c.count({"num_attention_heads"}, d.heads),
                     c.size({"intermediate_size"}, d.ffn),
                     c.size({"max_position_embeddings"}, d.positions),
                     c.number({"type_vocab_size"}, d.types, 0)};
  check_heads(c, s.hidden, s.heads);
  return s;
}

/// BertEmbeddings, `width` wide: words, positions, types and a norm.
inline void count_bert_embeddings(const bert_sizes& s, std::int64_t width, tally& t) {
  t.embedding(checked::add(checked::add(s.vocab, s.positions), s.types), width);
  t.layer_norm(width);
}
inline void count_bert_layers(const bert_sizes& s, tally& t) { count_encoder({s.layers, s.hidden, s.ffn}, t); }
/// What a layer has beside its attention: the MLP and both norms.
inline void count_bert_mlp(const bert_sizes& s, tally& t) {
  t.linear(component::mlp, s.hidden, s.ffn, true, s.layers);
  t.linear(component::mlp, s.ffn, s.hidden, true, s.layers);
  t.layer_norm(s.hidden, checked::mul(2, s.layers));
}

/// What a head must know of the encoder below it.
struct text_body {
  std::int64_t vocab{}, hidden{};
  std::int64_t embedding{};    ///< the width of the words' table
  bool pooler{true};           ///< ...Model ends in a dense layer over the first token
  bool kept{false};            ///< and that layer stays below every head
  bool choice_dense{true};     ///< the head of a multiple choice has a dense layer
  std::int64_t pooled{0};      ///< the width of the dense layer; 0: the model's
  bool second_bias{true};      ///< an untied output matrix has a bias beside the head's own
  bool head_bias{true};        ///< the masked language model's output has a bias
  bool own_output{true};       ///< untied, the output has a matrix of its own
};
inline text_body body_of(const bert_sizes& s, bool pooler = true) {
  text_body b;
  b.vocab = s.vocab, b.hidden = b.embedding = s.hidden, b.pooler = pooler;
  return b;
}

/// The head of a masked language model: a dense layer to the words' width, a norm, and the words' table with a bias.
inline void count_word_head(const config& c, const text_body& b, tally& t) {
  t.within(component::head, [&] {
    t.linear(component::head, b.hidden, b.embedding, true);
    t.layer_norm(b.embedding);
    t.add(component::head, b.head_bias ? b.vocab : 0);
    if (!c.flag("tie_word_embeddings", true) && b.own_output) t.linear(component::head, b.embedding, b.vocab, b.second_bias);
  });
}

enum class text_head { base, words, pretraining, next_sentence, sequence, token, question, span, choice };  // span: a question answered by two numbers for each token, whatever num_labels says

inline void count_dense(const text_body& b, tally& t) {
  const auto width = b.pooled == 0 ? b.hidden : b.pooled;
  t.linear(component::head, width, width, true);
}

/// The dense layer that a head has, or that the encoder keeps below it.
inline bool has_dense(const text_body& b, text_head head) {
  switch (head) {
    case text_head::base: return b.pooler;
    case text_head::words:
    case text_head::token:
    case text_head::question:
    case text_head::span: return b.kept;
    case text_head::choice: return b.kept || b.choice_dense;
    default: return true;
  }
}

/// A head as BERT has it. RoBERTa's classifier has a dense layer of its own where BERT has its pooler: as many weights.
inline void count_text_head(const config& c, const text_body& b, text_head head, tally& t) {
  if (has_dense(b, head)) count_dense(b, t);
  if (head == text_head::words || head == text_head::pretraining) count_word_head(c, b, t);
  if (head == text_head::pretraining || head == text_head::next_sentence || head == text_head::span) t.linear(component::head, b.hidden, 2, true);
  if (head == text_head::sequence || head == text_head::token || head == text_head::question) count_classifier(c, t, b.hidden);
  if (head == text_head::choice) t.linear(component::head, b.hidden, 1, true);
  c.ignore({"num_labels", "id2label", "tie_word_embeddings"});
}

/// A row's function: a body and one of BERT's heads.
template <text_body (*Body)(const config&, tally&), text_head Head>
void count_text(const config& c, tally& t) {
  count_text_head(c, Body(c, t), Head, t);
}

}  // namespace headroom::io::detail
