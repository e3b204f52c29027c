// Distributed under the Boost Software License, Version 1.0.
// Encoders of text with parts of their own: tables, entities, adapters, characters, Fourier transforms.
#pragma once

#include <headroom/io/counted/encoders.hpp>
#include <headroom/io/counted/text_heads.hpp>

namespace headroom::io::detail {

/// transformers, modeling_electra.py: its heads beside those of counted/encoders.hpp.
inline text_body count_electra_body(const config& c, tally& t) {
  const auto s = count_electra(c, t);
  text_body b;
  b.vocab = s.vocab, b.hidden = s.hidden, b.embedding = s.embedding, b.pooler = b.second_bias = false;
  b.choice_dense = c.flag("summary_use_proj", true);
  return b;
}

/// modeling_tapas.py: seven tables of types.
inline text_body count_tapas(const config& c, tally& t) {
  auto s = read_bert_sizes(c, {30522, 768, 12, 12, 3072, 1024, 0});
  s.types = 0;
  if (const json* list = c.find({"type_vocab_sizes"}); list == nullptr) {
    s.types = 3 + 256 + 256 + 2 + 256 + 256 + 10;
  } else {
    if (!list->is_array()) complain(c.at("type_vocab_sizes") + " must be a list of whole numbers, found " + shown(*list));
    for (const auto& one : *list) s.types = checked::add(s.types, config::whole(one, c.at("type_vocab_sizes"), 1, config::widest));
  }
  c.ignore({"positive_label_weight", "aggregation_loss_weight", "use_answer_as_supervision", "answer_loss_importance", "use_normalized_answer_loss", "huber_loss_delta",
            "aggregation_temperature", "use_gumbel_for_cells", "use_gumbel_for_aggregation", "average_approximation_function", "cell_selection_preference", "answer_loss_cutoff",
            "max_num_rows", "max_num_columns", "average_logits_per_cell", "select_one_column", "allow_empty_column_selection", "init_cell_selection_weights_to_zero",
            "reset_position_index_per_cell", "disable_per_token_loss", "aggregation_labels", "no_aggregation_label_index", "softmax_temperature"});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  return body_of(s);
}
inline void count_tapas_questions(const config& c, tally& t) {
  const auto b = count_tapas(c, t);
  count_dense(b, t);
  t.add(component::head, checked::mul(2, checked::add(b.hidden, 1)));
  if (const auto kinds = c.number({"num_aggregation_labels"}, 0, 0, config::most); kinds > 0) t.linear(component::head, b.hidden, kinds, true);
  c.ignore({"tie_word_embeddings", "num_labels", "id2label"});
}
template <text_head Head>
void count_tapas_head(const config& c, tally& t) {
  c.ignore({"num_aggregation_labels"});
  count_text_head(c, count_tapas(c, t), Head, t);
}

/// modeling_splinter.py.
inline text_body count_splinter(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {});
  c.ignore({"question_token_id"});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  return body_of(s, false);
}
inline void count_splinter_questions(const config& c, tally& t) {
  const auto b = count_splinter(c, t);
  t.within(component::head, [&] {
    t.linear(component::head, b.hidden, b.hidden, true, 4);
    t.layer_norm(b.hidden, 4);
    t.linear(component::head, b.hidden, b.hidden, false, 2);
  });
  c.ignore({"tie_word_embeddings", "num_labels", "id2label"});
}

/// modeling_luke.py: entities beside the words, whose queries have matrices of their own.
inline text_body count_luke(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {50267, 768, 12, 12, 3072, 512, 2});
  const auto entity = c.size({"entity_emb_size"}, 256);
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  t.embedding(c.size({"entity_vocab_size"}, 500000), entity);
  if (entity != s.hidden) t.linear(component::embedding, entity, s.hidden, false);
  count_bert_embeddings({0, s.hidden, s.layers, s.heads, s.ffn, s.positions, s.types}, s.hidden, t);
  if (c.flag("use_entity_aware_attention", true)) t.linear(component::attention, s.hidden, s.hidden, true, checked::mul(3, s.layers));
  c.ignore({"cls_entity_prediction"});
  auto b = body_of(s);
  return b;
}
/// A classifier over `Entities` vectors of entities.
template <int Entities>
void count_luke_entities(const config& c, tally& t) {
  const auto b = count_luke(c, t);
  count_dense(b, t);
  count_classifier(c, t, checked::mul(Entities, b.hidden), Entities != 2);
  c.ignore({"tie_word_embeddings"});
}

/// modeling_xmod.py: an adapter for each language in each layer.
inline text_body count_xmod(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {});
  const auto narrow = s.hidden / c.count({"adapter_reduction_factor"}, 2);
  if (narrow < 1) complain(c.at("adapter_reduction_factor") + " must leave a width");
  const json* list = c.find({"languages"});
  if (list != nullptr && !list->is_array()) complain(c.at("languages") + " must be a list, found " + shown(*list));
  const auto languages = list == nullptr ? 1 : static_cast<std::int64_t>(std::set<json>(list->begin(), list->end()).size());
  c.ignore({"adapter_reuse_layer_norm", "ln_before_adapter", "default_language"});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  if (c.flag("adapter_layer_norm", false)) t.layer_norm(s.hidden, s.layers);
  t.linear(component::mlp, s.hidden, narrow, true, checked::mul(languages, s.layers));
  t.linear(component::mlp, narrow, s.hidden, true, checked::mul(languages, s.layers));
  if (c.flag("pre_norm", false)) t.layer_norm(s.hidden);
  return body_of(s);
}

/// modeling_canine.py: characters are hashed into several narrow tables; convolutions make fewer positions of them, and more again.
inline text_body count_canine(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {0, 768, 12, 12, 3072, 16384, 16});
  const auto functions = c.count({"num_hash_functions"}, 8);
  const auto buckets = c.size({"num_hash_buckets"}, 16384);
  c.ignore({"local_transformer_stride", "vocab_size"});
  t.embedding(checked::mul(functions, buckets), s.hidden / functions);
  t.embedding(checked::add(buckets, s.types), s.hidden);
  t.layer_norm(s.hidden, 3);
  count_encoder({checked::add(s.layers, 2), s.hidden, s.ffn}, t);
  t.linear(component::other, checked::mul(s.hidden, c.size({"downsampling_rate"}, 4)), s.hidden, true);
  t.linear(component::other, checked::mul(checked::mul(2, s.hidden), c.size({"upsampling_kernel_size"}, 4)), s.hidden, true);
  auto b = body_of(s);
  b.kept = true;
  return b;
}

/// modeling_fnet.py: a Fourier transform, which has no weights, where others attend.
inline text_body count_fnet(const config& c, tally& t) {
  auto s = read_bert_sizes(c, {32000, 768, 12, 1, 3072, 512, 4});
  c.ignore({"use_tpu_fourier_optimizations", "tpu_short_seq_length"});
  count_bert_embeddings(s, s.hidden, t);
  t.linear(component::embedding, s.hidden, s.hidden, true);
  count_bert_mlp(s, t);
  auto b = body_of(s);
  b.kept = true;
  return b;
}

inline constexpr counted_class counted_text_other[] = {
    {"ElectraForMaskedLM", "electra", count_text<count_electra_body, text_head::words>},
    {"ElectraForCausalLM", "electra", count_text<count_electra_body, text_head::words>},
    {"ElectraForSequenceClassification", "electra", count_text<count_electra_body, text_head::sequence>},
    {"ElectraForTokenClassification", "electra", count_text<count_electra_body, text_head::token>},
    {"ElectraForQuestionAnswering", "electra", count_text<count_electra_body, text_head::question>},
    {"ElectraForMultipleChoice", "electra", count_text<count_electra_body, text_head::choice>},
    {"TapasModel", "tapas", count_tapas_head<text_head::base>},
    {"TapasForMaskedLM", "tapas", count_tapas_head<text_head::words>},
    {"TapasForSequenceClassification", "tapas", count_tapas_head<text_head::sequence>},
    {"TapasForQuestionAnswering", "tapas", count_tapas_questions},
    {"SplinterModel", "splinter", count_text<count_splinter, text_head::base>},
    {"SplinterForQuestionAnswering", "splinter", count_splinter_questions},
    {"SplinterForPreTraining", "splinter", count_splinter_questions},
    {"LukeModel", "luke", count_text<count_luke, text_head::base>},
    {"LukeForSequenceClassification", "luke", count_text<count_luke, text_head::sequence>},
    {"LukeForTokenClassification", "luke", count_text<count_luke, text_head::token>},
    {"LukeForQuestionAnswering", "luke", count_text<count_luke, text_head::question>},
    {"LukeForMultipleChoice", "luke", count_text<count_luke, text_head::choice>},
    {"LukeForEntityClassification", "luke", count_luke_entities<1>},
    {"LukeForEntityPairClassification", "luke", count_luke_entities<2>},
    {"LukeForEntitySpanClassification", "luke", count_luke_entities<3>},
    {"XmodModel", "xmod", count_text<count_xmod, text_head::base>},
    {"XmodForMaskedLM", "xmod", count_text<count_xmod, text_head::words>},
    {"XmodForSequenceClassification", "xmod", count_text<count_xmod, text_head::sequence>},
    {"XmodForTokenClassification", "xmod", count_text<count_xmod, text_head::token>},
    {"XmodForQuestionAnswering", "xmod", count_text<count_xmod, text_head::question>},
    {"XmodForMultipleChoice", "xmod", count_text<count_xmod, text_head::choice>},
    {"XmodForCausalLM", "xmod", count_text<count_xmod, text_head::words>},
    {"CanineModel", "canine", count_text<count_canine, text_head::base>},
    {"CanineForSequenceClassification", "canine", count_text<count_canine, text_head::sequence>},
    {"CanineForTokenClassification", "canine", count_text<count_canine, text_head::token>},
    {"CanineForQuestionAnswering", "canine", count_text<count_canine, text_head::question>},
    {"CanineForMultipleChoice", "canine", count_text<count_canine, text_head::choice>},
    {"FNetModel", "fnet", count_text<count_fnet, text_head::base>},
    {"FNetForMaskedLM", "fnet", count_text<count_fnet, text_head::words>},
    {"FNetForSequenceClassification", "fnet", count_text<count_fnet, text_head::sequence>},
    {"FNetForTokenClassification", "fnet", count_text<count_fnet, text_head::token>},
    {"FNetForQuestionAnswering", "fnet", count_text<count_fnet, text_head::question>},
    {"FNetForMultipleChoice", "fnet", count_text<count_fnet, text_head::choice>},
    {"FNetForPreTraining", "fnet", count_text<count_fnet, text_head::pretraining>},
    {"FNetForNextSentencePrediction", "fnet", count_text<count_fnet, text_head::next_sentence>},
};

}  // namespace headroom::io::detail
