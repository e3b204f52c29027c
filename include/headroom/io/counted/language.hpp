// Distributed under the Boost Software License, Version 1.0.
// What classes of language models are made of: sizes by the keys that most of them share, attention, MLPs, experts, and the heads on top.
#pragma once

#include <headroom/io/counted/base.hpp>

#include <string>
#include <vector>

namespace headroom::io::detail {

/// Sizes of a stack of decoder layers. As a class's defaults: `kv` 0 stands for as many as heads, `head_dim` 0 for hidden / heads.
struct language_sizes {
  std::int64_t layers{}, hidden{}, heads{}, kv{}, head_dim{}, ffn{}, vocab{};
};
inline language_sizes read_language(const config& c, const language_sizes& usual) {
  language_sizes s;
  s.layers = c.number({"num_hidden_layers"}, usual.layers, 0, config::most);
  s.hidden = c.size({"hidden_size"}, usual.hidden);
  s.heads = c.count({"num_attention_heads"}, usual.heads);
  s.kv = c.nullable({"num_key_value_heads"}, usual.kv > 0 ? usual.kv : s.heads, s.heads, 1, config::most);
  const auto each = s.hidden / s.heads;
  s.head_dim = c.nullable({"head_dim"}, usual.head_dim > 0 ? usual.head_dim : each, each);
  s.ffn = c.size({"intermediate_size"}, usual.ffn);
  s.vocab = c.size({"vocab_size"}, usual.vocab);
  c.ignore({"max_position_embeddings", "partial_rotary_factor", "layer_types"});
  return s;
}

/// What the heads of a language model need of it.
struct language_model {
  std::int64_t hidden{}, vocab{};
  bool tied{};  ///< the head is the embedding
};

/// The embedding; `tied` is the class's default.
inline language_model count_vocabulary(const config& c, tally& t, std::int64_t vocab, std::int64_t hidden, bool tied) {
  t.embedding(vocab, hidden);
  return {hidden, vocab, c.flag("tie_word_embeddings", tied)};
}
/// The embedding and the RMSNorm behind the last layer.
inline language_model count_frame(const config& c, tally& t, const language_sizes& s, bool tied = false) {
  t.rms_norm(s.hidden);
  return count_vocabulary(c, t, s.vocab, s.hidden, tied);
}

/// Projections of queries, keys and values, and the one behind attention.
inline void count_attention(tally& t, const language_sizes& s, bool bias, bool output_bias, std::int64_t times) {
  const auto q = checked::mul(s.heads, s.head_dim);
  const auto kv = checked::mul(s.kv, s.head_dim);
  t.linear(component::attention, s.hidden, q, bias, times);
  t.linear(component::attention, s.hidden, kv, bias, checked::mul(2, times));
  t.linear(component::attention, q, s.hidden, output_bias, times);
}
/// An MLP behind a gate: three matrices.
inline void count_gated_mlp(tally& t, component part, std::int64_t hidden, std::int64_t ffn, bool bias, std::int64_t times) {
  t.linear(part, hidden, ffn, bias, checked::mul(2, times));
  t.linear(part, ffn, hidden, bias, times);
}
/// An MLP of two matrices.
inline void count_plain_mlp(tally& t, component part, std::int64_t hidden, std::int64_t ffn, bool bias, std::int64_t times) {
  t.linear(part, hidden, ffn, bias, times);
  t.linear(part, ffn, hidden, bias, times);
}

/// Routed experts behind a gate, a router without a bias, and shared experts `shared` wide together.
struct routed_sizes {
  std::int64_t experts{}, active{}, ffn{}, shared{};
};
inline void count_routed(tally& t, std::int64_t hidden, const routed_sizes& e, std::int64_t layers) {
  t.linear(component::router, hidden, e.experts, false, layers);
  t.experts(checked::mul(checked::mul(3, hidden), e.ffn), e.experts, e.active, layers);
  count_gated_mlp(t, component::shared_experts, hidden, e.shared, false, layers);
}

/// A list of one word for each layer; empty where it is absent or null. Its words are of `accepted`.
inline std::vector<std::string> read_words(const config& c, const char* key, std::int64_t layers, std::initializer_list<std::string_view> accepted) {
  std::vector<std::string> words;
  const json* list = c.find({key});
  if (list == nullptr || list->is_null()) return words;
  if (!list->is_array() || static_cast<std::int64_t>(list->size()) != layers)
    complain(c.at(key) + " must be a list of " + std::to_string(layers) + " words, one for each layer, found " + shown(*list));
  for (const auto& one : *list) {
    bool known = false;
    std::string all;
    for (const auto a : accepted) {
      known = known || (one.is_string() && one.get_ref<const std::string&>() == a);
      all += (all.empty() ? "" : ", ") + std::string{a};
    }
    if (!known) complain(c.at(key) + " must hold " + all + " alone, found " + shown(one));
    words.push_back(one.get<std::string>());
  }
  return words;
}
/// How many of the words are `word`.
inline std::int64_t count_of(const std::vector<std::string>& words, std::string_view word) {
  std::int64_t n = 0;
  for (const auto& w : words) n += w == word ? 1 : 0;
  return n;
}
/// How many of `layers` layers mlp_layer_types makes sparse; without it all but the first `dense`.
inline std::int64_t read_sparse_layers(const config& c, std::int64_t layers, std::int64_t dense) {
  const auto words = read_words(c, "mlp_layer_types", layers, {"sparse", "dense"});
  if (!words.empty()) return count_of(words, "sparse");
  return dense < layers ? layers - dense : 0;
}

/// A key whose only value here is `value`: the class builds nothing else of it.
inline void expect(const config& c, const char* key, const json& value) {
  const json* found = c.find({key});
  if (found != nullptr && !found->is_null() && *found != value) complain(c.at(key) + " must be " + shown(value) + ", as the class builds it, found " + shown(*found));
}

using language_body = language_model (*)(const config&, tally&);

inline void ignore_labels(const config& c) { c.ignore({"num_labels", "id2label", "classifier_dropout", "hidden_dropout", "token_classification_bias"}); }
template <language_body Body>
void count_base(const config& c, tally& t) {
  Body(c, t);
  ignore_labels(c);
}
/// A head over the vocabulary, without a bias.
template <language_body Body>
void count_causal(const config& c, tally& t) {
  const auto m = Body(c, t);
  ignore_labels(c);
  if (!m.tied) t.linear(component::head, m.hidden, m.vocab, false);
}
/// transformers, modeling_layers.py: GenericForSequenceClassification, GenericForTokenClassification, GenericForQuestionAnswering.
template <language_body Body>
void count_sequence(const config& c, tally& t) {
  count_classifier(c, t, Body(c, t).hidden, false);
  ignore_labels(c);
}
template <language_body Body>
void count_token(const config& c, tally& t) {
  count_classifier(c, t, Body(c, t).hidden, c.flag("token_classification_bias", true));
  ignore_labels(c);
}
template <language_body Body>
void count_question(const config& c, tally& t) {
  t.linear(component::head, Body(c, t).hidden, 2, true);
  ignore_labels(c);
}

}  // namespace headroom::io::detail
