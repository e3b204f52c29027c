// Distributed under the Boost Software License, Version 1.0.
// MobileBERT, whose layers work behind a bottleneck, ProphetNet, which predicts several words at once, and BERT without types and pooler.
#pragma once

#include <headroom/io/counted/text_heads.hpp>

namespace headroom::io::detail {

/// transformers, modeling_mobilebert.py.
struct mobilebert_sizes {
  std::int64_t vocab, hidden, embedding;
  bool pooler;
};
inline mobilebert_sizes count_mobilebert(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {30522, 512, 24, 4, 512, 512, 2});
  const auto width = c.size({"embedding_size"}, 128);
  const bool behind = c.flag("use_bottleneck", true);
  const auto narrow = c.size({"intra_bottleneck_size"}, 128);
  const auto usual = behind ? narrow : s.hidden;
  const auto inner = c.nullable({"true_hidden_size"}, usual, usual);  // as saved, it counts
  const bool narrow_values = c.flag("use_bottleneck_attention", false);
  const bool shared = c.flag("key_query_shared_bottleneck", true);
  const auto networks = c.count({"num_feedforward_networks"}, 4);
  const bool pooler = c.flag("classifier_activation", true);
  const bool trigram = c.flag("trigram_input", true);
  check_heads(c, inner, s.heads);
  c.ignore({"normalization_type"});
  t.embedding(s.vocab, width);
  t.embedding(checked::add(s.positions, s.types), s.hidden);
  t.linear(component::embedding, checked::mul(trigram ? 3 : 1, width), s.hidden, true);
  t.layer_norm(s.hidden);
  t.linear(component::attention, inner, inner, true, checked::mul(3, s.layers));
  t.linear(component::attention, narrow_values ? inner : s.hidden, inner, true, s.layers);
  t.linear(component::mlp, inner, s.ffn, true, checked::mul(networks, s.layers));
  t.linear(component::mlp, s.ffn, inner, true, checked::mul(networks, s.layers));
  t.layer_norm(inner, checked::mul(checked::add(networks, 1), s.layers));
  if (behind) {
    t.linear(component::mlp, inner, s.hidden, true, s.layers);
    t.layer_norm(s.hidden, s.layers);
    t.linear(component::mlp, s.hidden, narrow, true, checked::mul(shared ? 2 : 1, s.layers));
    t.layer_norm(narrow, checked::mul(shared ? 2 : 1, s.layers));
  }
  return {s.vocab, s.hidden, width, pooler};
}
template <text_head Head>
void count_mobilebert_head(const config& c, tally& t) {
  const auto s = count_mobilebert(c, t);
  const bool words = Head == text_head::words || Head == text_head::pretraining;
  const bool pooled = Head != text_head::words && Head != text_head::token && Head != text_head::question;
  if (pooled && s.pooler) t.linear(component::head, s.hidden, s.hidden, true);
  if (words) {
    if (s.embedding > s.hidden) complain(c.at("embedding_size") + " must not be larger than the hidden size, found " + std::to_string(s.embedding));
    t.within(component::head, [&] {
      t.linear(component::head, s.hidden, s.hidden, true);
      t.layer_norm(s.hidden);
      t.linear(component::head, s.hidden - s.embedding, s.vocab, true);
      if (!c.flag("tie_word_embeddings", true)) t.linear(component::head, s.embedding, s.vocab, true);
    });
  }
  if (Head == text_head::pretraining || Head == text_head::next_sentence) t.linear(component::head, s.hidden, 2, true);
  if (Head == text_head::sequence || Head == text_head::token || Head == text_head::question) count_classifier(c, t, s.hidden);
  if (Head == text_head::choice) t.linear(component::head, s.hidden, 1, true);
  c.ignore({"num_labels", "id2label", "tie_word_embeddings"});
}

/// modeling_prophetnet.py.
inline void count_prophetnet_side(const config& c, const std::string& name, std::int64_t hidden, std::int64_t positions, tally& t) {
  const bool decodes = name == "decoder";
  const auto layers = c.number({("num_" + name + "_layers").c_str()}, 12, 0, config::most);
  const auto heads = c.count({("num_" + name + "_attention_heads").c_str()}, 16);
  const auto ffn = c.size({(name + "_ffn_dim").c_str()}, 4096);
  const bool cross = decodes && c.flag("add_cross_attention", true);
  check_heads(c, hidden, heads);
  t.embedding(positions, hidden);
  t.linear(component::attention, hidden, hidden, true, checked::mul(cross ? 8 : 4, layers));
  t.linear(component::mlp, hidden, ffn, true, layers);
  t.linear(component::mlp, ffn, hidden, true, layers);
  t.layer_norm(hidden, checked::add(checked::mul(cross ? 3 : 2, layers), 1));
  if (!decodes) return;
  t.embedding(c.count({"ngram"}, 2), hidden);
  t.linear(component::attention, hidden, checked::mul(c.size({"num_buckets"}, 32), heads), true, layers);
}
enum class prophetnet_head { base, words, decoder };
template <prophetnet_head Head>
void count_prophetnet(const config& c, tally& t) {
  const auto vocab = c.size({"vocab_size"}, 30522);
  const auto hidden = c.size({"hidden_size"}, 1024);
  const auto positions = c.size({"max_position_embeddings"}, 512);
  c.ignore({"relative_max_distance", "disable_ngram_loss", "eps", "is_decoder", "num_labels", "id2label", "num_hidden_layers", "num_encoder_layers", "num_encoder_attention_heads", "encoder_ffn_dim"});
  if (Head != prophetnet_head::decoder) count_prophetnet_side(c, "encoder", hidden, positions, t);
  count_prophetnet_side(c, "decoder", hidden, positions, t);
  const auto untied = Head == prophetnet_head::words ? 3 : 2;
  t.embedding(vocab, hidden);
  if (!c.flag("tie_word_embeddings", true)) t.embedding(checked::mul(untied, vocab), hidden);
}

/// modeling_bert_generation.py. The head over the words is a matrix and a bias; untied, a matrix with a bias of its own beside it.
template <bool Words>
void count_bert_generation(const config& c, tally& t) {
  auto s = read_bert_sizes(c, {50358, 1024, 24, 16, 4096, 512, 0});
  s.types = 0;  // the class has no table of them
  c.ignore({"num_labels", "id2label"});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  const bool tied = c.flag("tie_word_embeddings", true);
  if (!Words) return;
  t.add(component::head, s.vocab);
  if (!tied) t.linear(component::head, s.hidden, s.vocab, true);
}

inline constexpr counted_class counted_text_narrow[] = {
    {"BertGenerationEncoder", "bert-generation", count_bert_generation<false>},
    {"BertGenerationDecoder", "bert-generation", count_bert_generation<true>},
    {"MobileBertModel", "mobilebert", count_mobilebert_head<text_head::base>},
    {"MobileBertForPreTraining", "mobilebert", count_mobilebert_head<text_head::pretraining>},
    {"MobileBertForMaskedLM", "mobilebert", count_mobilebert_head<text_head::words>},
    {"MobileBertForNextSentencePrediction", "mobilebert", count_mobilebert_head<text_head::next_sentence>},
    {"MobileBertForSequenceClassification", "mobilebert", count_mobilebert_head<text_head::sequence>},
    {"MobileBertForQuestionAnswering", "mobilebert", count_mobilebert_head<text_head::question>},
    {"MobileBertForMultipleChoice", "mobilebert", count_mobilebert_head<text_head::choice>},
    {"MobileBertForTokenClassification", "mobilebert", count_mobilebert_head<text_head::token>},
    {"ProphetNetModel", "prophetnet", count_prophetnet<prophetnet_head::base>},
    {"ProphetNetForConditionalGeneration", "prophetnet", count_prophetnet<prophetnet_head::words>},
    {"ProphetNetForCausalLM", "prophetnet", count_prophetnet<prophetnet_head::decoder>},
};

}  // namespace headroom::io::detail
