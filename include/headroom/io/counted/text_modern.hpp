// Distributed under the Boost Software License, Version 1.0.
// Encoders of text with rotary positions, gated MLPs or other parts of newer language models.
#pragma once

#include <headroom/io/counted/encoders.hpp>
#include <headroom/io/counted/text_heads.hpp>

namespace headroom::io::detail {

/// transformers, modeling_modernbert.py: the first layer has no norm in front of its attention.
struct modern_sizes {
  std::int64_t vocab, hidden;
  bool norm_bias;
};
inline void count_modern_norm(const modern_sizes& s, std::int64_t times, tally& t) { t.add(component::norm, checked::mul(s.norm_bias ? 2 : 1, s.hidden), times); }

inline modern_sizes count_modernbert(const config& c, tally& t) {
  const modern_sizes s{c.size({"vocab_size"}, 50368), c.size({"hidden_size"}, 768), c.flag("norm_bias", false)};
  const auto layers = c.number({"num_hidden_layers"}, 22, 1, config::most);
  const auto ffn = c.size({"intermediate_size"}, 1152);
  const bool attention_bias = c.flag("attention_bias", false);
  const bool mlp_bias = c.flag("mlp_bias", false);
  check_heads(c, s.hidden, c.count({"num_attention_heads"}, 12));
  c.ignore({"layer_types", "global_attn_every_n_layers", "local_attention", "local_rope_theta", "global_rope_theta", "max_position_embeddings", "initializer_cutoff_factor", "mlp_dropout",
            "classifier_pooling", "classifier_activation", "deterministic_flash_attn", "sparse_prediction", "sparse_pred_ignore_index", "reference_compile", "repad_logits_with_grad",
            "position_embedding_type", "causal_mask"});
  t.embedding(s.vocab, s.hidden);
  t.linear(component::attention, s.hidden, checked::mul(3, s.hidden), attention_bias, layers);
  t.linear(component::attention, s.hidden, s.hidden, attention_bias, layers);
  t.linear(component::mlp, s.hidden, checked::mul(2, ffn), mlp_bias, layers);
  t.linear(component::mlp, ffn, s.hidden, mlp_bias, layers);
  count_modern_norm(s, checked::add(checked::mul(2, layers), 1), t);
  return s;
}
inline void count_modern_dense(const config& c, const modern_sizes& s, tally& t) {
  t.linear(component::head, s.hidden, s.hidden, c.flag("classifier_bias", false));
  t.within(component::head, [&] { count_modern_norm(s, 1, t); });
}
inline void pass_modern_heads(const config& c) { c.ignore({"classifier_bias", "decoder_bias", "tie_word_embeddings", "num_labels", "id2label"}); }
inline void count_modernbert_base(const config& c, tally& t) {
  count_modernbert(c, t);
  pass_modern_heads(c);
}
inline void count_modernbert_words(const config& c, tally& t) {
  const auto s = count_modernbert(c, t);
  count_modern_dense(c, s, t);
  if (c.flag("decoder_bias", true)) t.add(component::head, s.vocab);
  if (!c.flag("tie_word_embeddings", true)) t.linear(component::head, s.hidden, s.vocab, false);
  pass_modern_heads(c);
}
template <bool Choice>
void count_modernbert_labels(const config& c, tally& t) {
  const auto s = count_modernbert(c, t);
  count_modern_dense(c, s, t);
  t.linear(component::head, s.hidden, Choice ? 1 : labels_of(c), true);
  pass_modern_heads(c);
}
/// modeling_esm.py: a norm in front of each sub-block, and a reader of contacts over all heads' attention that every class has.
inline text_body count_esm(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 768);
  const auto layers = c.number({"num_hidden_layers"}, 12, 0, config::most);
  const auto heads = c.count({"num_attention_heads"}, 12);
  const auto positions = c.size({"max_position_embeddings"}, 1026);
  check_heads(c, hidden, heads);
  c.ignore({"token_dropout", "mask_token_id", "vocab_list"});
  if (c.flag("is_folding_model", false)) complain(c.at("is_folding_model") + " must be false: the folding model is not counted, found true");
  if (c.flag("add_cross_attention", false)) complain(c.at("add_cross_attention") + " must be false, found true");
  c.ignore({"is_decoder", "esmfold_config"});
  const auto vocab = c.size({"vocab_size"}, config::required);
  t.embedding(vocab, hidden);
  const auto kind = c.text({"position_embedding_type"}, "absolute");
  if (kind == "absolute")
    t.embedding(positions, hidden);
  else if (kind != "rotary")
    complain(c.at("position_embedding_type") + " must be \"absolute\" or \"rotary\", found " + quoted_word(kind));
  if (c.flag("emb_layer_norm_before", false)) t.layer_norm(hidden);
  count_encoder({layers, hidden, c.size({"intermediate_size"}, 3072)}, t);
  t.layer_norm(hidden);
  t.linear(component::head, checked::mul(layers, heads), 1, true);
  text_body b;
  b.vocab = vocab, b.hidden = b.embedding = hidden, b.second_bias = false;
  return b;
}

/// Self-attention with heads of their own width, and a norm after each sub-block.
inline std::int64_t head_width(const config& c, std::int64_t hidden, std::int64_t heads) {
  const auto width = c.nullable({"head_dim"}, 0, 0);
  return width == 0 ? hidden / heads : width;
}
/// modeling_nomic_bert.py: no biases in the layers, a gated MLP.
inline text_body count_nomic_bert(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 768);
  const auto layers = c.number({"num_hidden_layers"}, 12, 0, config::most);
  const auto heads = c.count({"num_attention_heads"}, 12);
  const auto inner = checked::mul(heads, head_width(c, hidden, heads));
  const auto vocab = c.size({"vocab_size"}, 30528);
  c.ignore({"max_position_embeddings"});
  t.embedding(checked::add(vocab, c.number({"type_vocab_size"}, 2, 0)), hidden);
  t.layer_norm(hidden, checked::add(checked::mul(2, layers), 1));
  t.add(component::attention, checked::mul(4, checked::mul(hidden, inner)), layers);
  t.add(component::mlp, checked::mul(3, checked::mul(hidden, c.size({"intermediate_size"}, 3072))), layers);
  text_body b;
  b.vocab = vocab, b.hidden = b.embedding = hidden, b.pooler = false;
  return b;
}
/// modeling_jina_embeddings_v3.py: BERT with rotary positions.
inline text_body count_jina(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 1024);
  const auto layers = c.number({"num_hidden_layers"}, 24, 0, config::most);
  const auto heads = c.count({"num_attention_heads"}, 16);
  const auto inner = checked::mul(heads, head_width(c, hidden, heads));
  const auto ffn = c.size({"intermediate_size"}, 4096);
  const auto vocab = c.size({"vocab_size"}, 250002);
  c.ignore({"max_position_embeddings"});
  t.embedding(checked::add(vocab, c.number({"type_vocab_size"}, 1, 0)), hidden);
  t.layer_norm(hidden, checked::add(checked::mul(2, layers), 1));
  t.linear(component::attention, hidden, inner, true, checked::mul(3, layers));
  t.linear(component::attention, inner, hidden, true, layers);
  t.linear(component::mlp, hidden, ffn, true, layers);
  t.linear(component::mlp, ffn, hidden, true, layers);
  text_body b;
  b.vocab = vocab, b.hidden = b.embedding = hidden;
  return b;
}
/// modeling_eurobert.py: Llama's layers, looking both ways.
inline text_body count_eurobert(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 768);
  const auto layers = c.number({"num_hidden_layers"}, 12, 0, config::most);
  const auto heads = c.count({"num_attention_heads"}, 12);
  const auto shared = c.nullable({"num_key_value_heads"}, heads, heads);
  const auto width = head_width(c, hidden, heads);
  const auto ffn = c.size({"intermediate_size"}, 3072);
  const bool bias = c.flag("attention_bias", false);
  const bool mlp_bias = c.flag("mlp_bias", false);
  const auto vocab = c.size({"vocab_size"}, 128256);
  check_heads(c, hidden, heads);
  c.ignore({"max_position_embeddings", "classifier_pooling", "mask_token_id"});
  t.embedding(vocab, hidden);
  t.rms_norm(hidden, checked::add(checked::mul(2, layers), 1));
  t.linear(component::attention, hidden, checked::mul(heads, width), bias, layers);
  t.linear(component::attention, hidden, checked::mul(shared, width), bias, checked::mul(2, layers));
  t.linear(component::attention, checked::mul(heads, width), hidden, bias, layers);
  t.linear(component::mlp, hidden, ffn, mlp_bias, checked::mul(2, layers));
  t.linear(component::mlp, ffn, hidden, mlp_bias, layers);
  text_body b;
  b.vocab = vocab, b.hidden = b.embedding = hidden, b.pooler = false;
  return b;
}
inline void count_eurobert_words(const config& c, tally& t) {
  const auto b = count_eurobert(c, t);
  if (!c.flag("tie_word_embeddings", false)) t.linear(component::head, b.hidden, b.vocab, false);
  if (c.flag("mlp_bias", false)) t.add(component::head, b.vocab);
  c.ignore({"num_labels", "id2label"});
}

inline constexpr counted_class counted_text_modern[] = {
    {"ModernBertModel", "modernbert", count_modernbert_base},
    {"ModernBertForMaskedLM", "modernbert", count_modernbert_words},
    {"ModernBertForSequenceClassification", "modernbert", count_modernbert_labels<false>},
    {"ModernBertForTokenClassification", "modernbert", count_modernbert_labels<false>},
    {"ModernBertForQuestionAnswering", "modernbert", count_modernbert_labels<false>},
    {"ModernBertForMultipleChoice", "modernbert", count_modernbert_labels<true>},
    {"EsmModel", "esm", count_text<count_esm, text_head::base>},
    {"EsmForMaskedLM", "esm", count_text<count_esm, text_head::words>},
    {"EsmForSequenceClassification", "esm", count_text<count_esm, text_head::sequence>},
    {"EsmForTokenClassification", "esm", count_text<count_esm, text_head::token>},
    {"NomicBertModel", "nomic_bert", count_text<count_nomic_bert, text_head::base>},
    {"NomicBertForMaskedLM", "nomic_bert", count_text<count_nomic_bert, text_head::words>},
    {"NomicBertForSequenceClassification", "nomic_bert", count_text<count_nomic_bert, text_head::sequence>},
    {"NomicBertForTokenClassification", "nomic_bert", count_text<count_nomic_bert, text_head::token>},
    {"JinaEmbeddingsV3Model", "jina_embeddings_v3", count_text<count_jina, text_head::base>},
    {"JinaEmbeddingsV3ForMaskedLM", "jina_embeddings_v3", count_text<count_jina, text_head::words>},
    {"JinaEmbeddingsV3ForSequenceClassification", "jina_embeddings_v3", count_text<count_jina, text_head::sequence>},
    {"JinaEmbeddingsV3ForTokenClassification", "jina_embeddings_v3", count_text<count_jina, text_head::token>},
    {"JinaEmbeddingsV3ForQuestionAnswering", "jina_embeddings_v3", count_text<count_jina, text_head::question>},
    {"EuroBertModel", "eurobert", count_text<count_eurobert, text_head::base>},
    {"EuroBertForSequenceClassification", "eurobert", count_text<count_eurobert, text_head::sequence>},
    {"EuroBertForTokenClassification", "eurobert", count_text<count_eurobert, text_head::token>},
    {"EuroBertForMaskedLM", "eurobert", count_eurobert_words},
};

}  // namespace headroom::io::detail
