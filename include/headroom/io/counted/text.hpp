// Distributed under the Boost Software License, Version 1.0.
// Encoders of text: BERT's relatives whose layers are BERT's but for a few modules.
#pragma once

#include <headroom/io/counted/text_heads.hpp>

namespace headroom::io::detail {

/// transformers, modeling_albert.py: one group of layers serves all; narrow embeddings.
inline text_body count_albert(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {30000, 4096, 12, 64, 16384, 512, 2});
  const auto width = c.size({"embedding_size"}, 128);
  c.ignore({"down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks"});
  count_bert_embeddings(s, width, t);
  t.linear(component::embedding, width, s.hidden, true);
  const auto groups = checked::mul(c.count({"num_hidden_groups"}, 1), c.count({"inner_group_num"}, 1));
  count_encoder({groups, s.hidden, s.ffn}, t);
  auto body = body_of(s);
  body.embedding = width;
  return body;
}

/// modeling_deberta.py and modeling_deberta_v2.py: the positions are the model's own table, or relative ones, or both. The older class has no biases
/// of queries and keys but one vector for the queries.
inline text_body count_deberta_body(const config& c, const bert_sizes& s, tally& t) {
  c.ignore({"pooler_dropout", "pooler_hidden_act", "cls_dropout"});
  t.embedding(checked::add(s.vocab, s.types), s.hidden);
  if (c.flag("position_biased_input", true)) t.embedding(s.positions, s.hidden);
  t.layer_norm(s.hidden);
  auto body = body_of(s, false);
  body.own_output = c.flag("legacy", true);
  body.pooled = c.nullable({"pooler_hidden_size"}, s.hidden, s.hidden);
  return body;
}
/// The positions that relative ones are counted to: max_relative_positions, or max_position_embeddings where that is below 1.
inline std::int64_t relative_positions(const config& c, std::int64_t positions) {
  const auto most = c.number({"max_relative_positions"}, 0, -config::widest);
  return most < 1 ? positions : most;
}
/// The matrices that project relative positions where the layers' own do not: `queries` and `keys` as pos_att_type names them.
struct position_matrices {
  bool queries, keys;
};
inline position_matrices read_position_matrices(const config& c) {
  position_matrices m{};
  const auto add = [&](const std::string& text) {
    if (text.find("c2p") != std::string::npos) m.keys = true;
    if (text.find("p2c") != std::string::npos) m.queries = true;
  };
  const json* list = c.find({"pos_att_type"});
  if (list == nullptr || list->is_null()) return m;
  if (list->is_string()) {
    add(list->get<std::string>());
  } else if (list->is_array()) {
    for (const auto& one : *list) m.keys = m.keys || one == "c2p", m.queries = m.queries || one == "p2c";
  } else {
    complain(c.at("pos_att_type") + " must be a list of c2p and p2c, found " + shown(*list));
  }
  return m;
}

inline text_body count_deberta(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {50265, 768, 12, 12, 3072, 512, 0});
  const auto body = count_deberta_body(c, s, t);
  t.linear(component::attention, s.hidden, checked::mul(3, s.hidden), false, s.layers);
  t.add(component::attention, checked::mul(2, s.hidden), s.layers);
  t.linear(component::attention, s.hidden, s.hidden, true, s.layers);
  count_bert_mlp(s, t);
  const auto m = read_position_matrices(c);
  const auto reach = relative_positions(c, s.positions);
  const bool talking = c.flag("talking_head", false);
  if (talking) t.add(component::attention, checked::mul(2, checked::mul(s.heads, s.heads)), s.layers);
  if (!c.flag("relative_attention", false)) return body;
  t.embedding(checked::mul(2, reach), s.hidden);
  if (m.keys) t.linear(component::attention, s.hidden, s.hidden, false, s.layers);
  if (m.queries) t.linear(component::attention, s.hidden, s.hidden, true, s.layers);
  return body;
}

inline text_body count_deberta_v2(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {128100, 1536, 24, 24, 6144, 512, 0});
  const auto body = count_deberta_body(c, s, t);
  count_bert_layers(s, t);
  const auto m = read_position_matrices(c);
  const auto buckets = c.number({"position_buckets"}, 0, -config::widest);
  const auto reach = relative_positions(c, s.positions);
  const bool shared = c.flag("share_att_key", false);
  const bool norm = c.text({"norm_rel_ebd"}, "none").find("layer_norm") != std::string::npos;
  c.ignore({"conv_act"});
  if (norm) t.layer_norm(s.hidden);
  if (const auto kernel = c.number({"conv_kernel_size"}, 0, 0, config::most); kernel > 0) {
    const auto groups = c.count({"conv_groups"}, 1);
    check_heads(c, s.hidden, groups);
    t.linear(component::other, checked::mul(s.hidden / groups, kernel), s.hidden, true);
    t.layer_norm(s.hidden);
  } else {
    c.ignore({"conv_groups"});
  }
  if (!c.flag("relative_attention", false)) return body;
  t.embedding(checked::mul(2, buckets > 0 ? buckets : reach), s.hidden);
  if (!shared) t.linear(component::attention, s.hidden, s.hidden, true, checked::mul(s.layers, (m.keys ? 1 : 0) + (m.queries ? 1 : 0)));
  return body;
}

/// modeling_mpnet.py: no types, and one table of relative biases for all layers.
inline text_body count_mpnet(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {30527, 768, 12, 12, 3072, 512, 0});
  count_bert_embeddings({s.vocab, s.hidden, s.layers, s.heads, s.ffn, s.positions, 0}, s.hidden, t);
  count_bert_layers(s, t);
  t.add(component::attention, checked::mul(c.size({"relative_attention_num_buckets"}, 32), s.heads));
  return body_of(s);
}

/// modeling_longformer.py: three matrices more in each layer, for the tokens that see all.
inline text_body count_longformer(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {});
  c.ignore({"attention_window", "onnx_export", "ignore_attention_mask", "attention_mode"});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  t.linear(component::attention, s.hidden, s.hidden, true, checked::mul(3, s.layers));
  return body_of(s);
}

inline constexpr counted_class counted_text[] = {
    {"AlbertModel", "albert", count_text<count_albert, text_head::base>},
    {"AlbertForPreTraining", "albert", [](const config& c, tally& t) {  // the order of two sentences is told by a classifier
       const auto body = count_albert(c, t);
       count_word_head(c, body, t);
       count_dense(body, t);
       count_classifier(c, t, body.hidden);
     }},
    {"AlbertForMaskedLM", "albert", count_text<count_albert, text_head::words>},
    {"AlbertForSequenceClassification", "albert", count_text<count_albert, text_head::sequence>},
    {"AlbertForTokenClassification", "albert", count_text<count_albert, text_head::token>},
    {"AlbertForQuestionAnswering", "albert", count_text<count_albert, text_head::question>},
    {"AlbertForMultipleChoice", "albert", count_text<count_albert, text_head::choice>},
    {"DebertaModel", "deberta", count_text<count_deberta, text_head::base>},
    {"DebertaForMaskedLM", "deberta", count_text<count_deberta, text_head::words>},
    {"DebertaForSequenceClassification", "deberta", count_text<count_deberta, text_head::sequence>},
    {"DebertaForTokenClassification", "deberta", count_text<count_deberta, text_head::token>},
    {"DebertaForQuestionAnswering", "deberta", count_text<count_deberta, text_head::question>},
    {"DebertaV2Model", "deberta-v2", count_text<count_deberta_v2, text_head::base>},
    {"DebertaV2ForMaskedLM", "deberta-v2", count_text<count_deberta_v2, text_head::words>},
    {"DebertaV2ForSequenceClassification", "deberta-v2", count_text<count_deberta_v2, text_head::sequence>},
    {"DebertaV2ForTokenClassification", "deberta-v2", count_text<count_deberta_v2, text_head::token>},
    {"DebertaV2ForQuestionAnswering", "deberta-v2", count_text<count_deberta_v2, text_head::question>},
    {"DebertaV2ForMultipleChoice", "deberta-v2", count_text<count_deberta_v2, text_head::choice>},
    {"MPNetModel", "mpnet", count_text<count_mpnet, text_head::base>},
    {"MPNetForMaskedLM", "mpnet", count_text<count_mpnet, text_head::words>},
    {"MPNetForSequenceClassification", "mpnet", count_text<count_mpnet, text_head::sequence>},
    {"MPNetForTokenClassification", "mpnet", count_text<count_mpnet, text_head::token>},
    {"MPNetForQuestionAnswering", "mpnet", count_text<count_mpnet, text_head::question>},
    {"MPNetForMultipleChoice", "mpnet", count_text<count_mpnet, text_head::choice>},
    {"LongformerModel", "longformer", count_text<count_longformer, text_head::base>},
    {"LongformerForMaskedLM", "longformer", count_text<count_longformer, text_head::words>},
    {"LongformerForSequenceClassification", "longformer", count_text<count_longformer, text_head::sequence>},
    {"LongformerForTokenClassification", "longformer", count_text<count_longformer, text_head::token>},
    {"LongformerForQuestionAnswering", "longformer", count_text<count_longformer, text_head::question>},
    {"LongformerForMultipleChoice", "longformer", count_text<count_longformer, text_head::choice>},
};

}  // namespace headroom::io::detail
