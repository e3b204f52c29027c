// Distributed under the Boost Software License, Version 1.0.
// Encoders of text that are BERT with a table, a norm or a head more.
#pragma once

#include <headroom/io/counted/text_heads.hpp>

namespace headroom::io::detail {

inline text_body count_plain_bert(const config& c, const bert_sizes& defaults, tally& t) {
  const auto s = read_bert_sizes(c, defaults);
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  return body_of(s);
}
/// transformers, modeling_bert.py; as are modeling_xlm_roberta.py, modeling_camembert.py, modeling_data2vec_text.py and modeling_ibert.py.
inline text_body count_bert(const config& c, tally& t) { return count_plain_bert(c, {}, t); }
inline text_body count_roberta(const config& c, tally& t) { return count_plain_bert(c, {50265}, t); }
inline text_body count_ibert(const config& c, tally& t) {
  c.ignore({"quant_mode", "force_dequant"});
  return count_bert(c, t);
}
/// modeling_ernie.py: a table of tasks.
inline text_body count_ernie(const config& c, tally& t) {
  const auto body = count_bert(c, t);
  const auto tasks = c.size({"task_type_vocab_size"}, 3);
  if (c.flag("use_task_id", false)) t.embedding(tasks, body.hidden);
  return body;
}
/// modeling_big_bird.py. Its classifiers have layers of their own above the pooler.
inline text_body count_big_bird(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {50358, 768, 12, 12, 3072, 4096, 2});
  c.ignore({"attention_type", "block_size", "num_random_blocks", "rescale_embeddings"});
  count_bert_embeddings(s, s.hidden, t);
  t.linear(component::attention, s.hidden, checked::mul(3, s.hidden), c.flag("use_bias", true), s.layers);
  t.linear(component::attention, s.hidden, s.hidden, true, s.layers);
  count_bert_mlp(s, t);
  auto body = body_of(s);
  body.kept = true;
  return body;
}
inline void count_big_bird_questions(const config& c, tally& t) {
  const auto body = count_big_bird(c, t);
  const auto ffn = c.size({"intermediate_size"}, 3072);
  t.within(component::head, [&] {
    t.linear(component::head, body.hidden, ffn, true);
    t.linear(component::head, ffn, body.hidden, true);
    t.layer_norm(body.hidden);
  });
  t.linear(component::head, body.hidden, 2, true);
  c.ignore({"tie_word_embeddings", "num_labels", "id2label"});
}
/// modeling_megatron_bert.py: norms in front of the sub-blocks and one at the end, none over the embeddings.
inline text_body count_megatron_bert(const config& c, tally& t) { return count_plain_bert(c, {29056, 1024, 24, 16, 4096, 512, 2}, t); }
/// modeling_xlm_roberta_xl.py: as Megatron's.
inline text_body count_xlm_roberta_xl(const config& c, tally& t) { return count_plain_bert(c, {250880, 2560, 36, 32, 10240, 514, 1}, t); }
/// modeling_roberta_prelayernorm.py: a norm at the end beside that over the embeddings. Its masked language model is RoBERTa's.
inline text_body count_roberta_prelayernorm(const config& c, tally& t) {
  const auto body = count_roberta(c, t);
  t.layer_norm(body.hidden);
  return body;
}
/// modeling_rembert.py: narrow embeddings, and an output matrix of another width that is never tied.
inline text_body count_rembert(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {250300, 1152, 32, 18, 4608, 512, 2});
  const auto width = c.size({"input_embedding_size"}, 256);
  c.ignore({"output_embedding_size"});
  count_bert_embeddings(s, width, t);
  t.linear(component::embedding, width, s.hidden, true);
  count_bert_layers(s, t);
  return body_of(s);
}
inline void count_rembert_words(const config& c, tally& t) {
  const auto body = count_rembert(c, t);
  const auto width = c.size({"output_embedding_size"}, 1664);
  t.within(component::head, [&] {
    t.linear(component::head, body.hidden, width, true);
    t.linear(component::head, width, body.vocab, true);
    t.layer_norm(width);
  });
  c.ignore({"tie_word_embeddings", "num_labels", "id2label"});
}
/// modeling_roc_bert.py: tables of sounds and shapes, joined with the words'.
inline text_body count_roc_bert(const config& c, tally& t) {
  const auto body = count_bert(c, t);
  const auto sound = c.size({"pronunciation_embed_dim"}, 768);
  const auto shape = c.size({"shape_embed_dim"}, 512);
  const auto sounds = c.size({"pronunciation_vocab_size"}, 910);
  const auto shapes = c.size({"shape_vocab_size"}, 24858);
  const bool has_sound = c.flag("enable_pronunciation", true);
  const bool has_shape = c.flag("enable_shape", true);
  t.embedding(sounds, sound);
  t.embedding(shapes, shape);
  if (c.flag("concat_input", true)) {
    auto width = body.hidden;
    if (has_sound) width = checked::add(width, sound);
    if (has_shape) width = checked::add(width, shape);
    t.linear(component::embedding, width, body.hidden, true);
  }
  return body;
}
/// modeling_nystromformer.py: two rows of positions more, and a convolution over the values of each head.
inline text_body count_nystromformer(const config& c, tally& t) {
  auto s = read_bert_sizes(c, {30000, 768, 12, 12, 3072, 510, 2});
  s.positions = checked::add(s.positions, 2);
  c.ignore({"num_landmarks", "segment_means_seq_len", "inv_coeff_init_option"});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  if (const auto kernel = c.nullable({"conv_kernel_size"}, 65, 0); kernel > 0) t.add(component::attention, checked::mul(s.heads, kernel), s.layers);
  return body_of(s, false);
}
/// modeling_mra.py and modeling_yoso.py: two rows of positions more.
inline text_body count_mra(const config& c, tally& t) {
  auto s = read_bert_sizes(c, {50265, 768, 12, 12, 3072, 512, 1});
  s.positions = checked::add(s.positions, 2);
  c.ignore({"block_per_row", "approx_mode", "initial_prior_first_n_blocks", "initial_prior_diagonal_n_blocks"});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  return body_of(s, false);
}
inline text_body count_yoso(const config& c, tally& t) {
  auto s = read_bert_sizes(c, {50265, 768, 12, 12, 3072, 4096, 1});
  s.positions = checked::add(s.positions, 2);
  c.ignore({"use_expectation", "hash_code_len", "num_hash", "use_fast_hash", "lsh_backward"});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  if (const auto window = c.nullable({"conv_window"}, 0, 0); window > 0) t.add(component::attention, checked::mul(s.heads, window), s.layers);
  return body_of(s, false);
}
/// modeling_roformer.py: positions are rotated in, by a table of sines that is counted and not trained.
inline text_body count_roformer(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {50000, 768, 12, 12, 3072, 1536, 2});
  const auto width = c.nullable({"embedding_size"}, s.hidden, s.hidden);
  c.ignore({"rotary_value"});
  count_bert_embeddings({s.vocab, s.hidden, s.layers, s.heads, s.ffn, 0, s.types}, width, t);
  if (width != s.hidden) t.linear(component::embedding, width, s.hidden, true);
  t.embedding(s.positions, s.hidden / s.heads);
  count_bert_layers(s, t);
  auto body = body_of(s, false);
  body.embedding = width, body.choice_dense = false;
  return body;
}
/// modeling_layoutlm.py: places on the page in four tables.
inline text_body count_layoutlm(const config& c, tally& t) {
  auto body = count_bert(c, t);
  t.embedding(checked::mul(4, c.size({"max_2d_position_embeddings"}, 1024)), body.hidden);
  body.kept = true;
  return body;
}

inline constexpr counted_class counted_text_relatives[] = {
    {"XLMRobertaForCausalLM", "xlm-roberta", count_text<count_bert, text_head::words>},
    {"CamembertModel", "camembert", count_text<count_bert, text_head::base>},
    {"CamembertForMaskedLM", "camembert", count_text<count_bert, text_head::words>},
    {"CamembertForSequenceClassification", "camembert", count_text<count_bert, text_head::sequence>},
    {"CamembertForTokenClassification", "camembert", count_text<count_bert, text_head::token>},
    {"CamembertForQuestionAnswering", "camembert", count_text<count_bert, text_head::question>},
    {"CamembertForMultipleChoice", "camembert", count_text<count_bert, text_head::choice>},
    {"CamembertForCausalLM", "camembert", count_text<count_bert, text_head::words>},
    {"Data2VecTextModel", "data2vec-text", count_text<count_bert, text_head::base>},
    {"Data2VecTextForMaskedLM", "data2vec-text", count_text<count_bert, text_head::words>},
    {"Data2VecTextForSequenceClassification", "data2vec-text", count_text<count_bert, text_head::sequence>},
    {"Data2VecTextForTokenClassification", "data2vec-text", count_text<count_bert, text_head::token>},
    {"Data2VecTextForQuestionAnswering", "data2vec-text", count_text<count_bert, text_head::question>},
    {"Data2VecTextForMultipleChoice", "data2vec-text", count_text<count_bert, text_head::choice>},
    {"Data2VecTextForCausalLM", "data2vec-text", count_text<count_bert, text_head::words>},
    {"IBertModel", "ibert", count_text<count_ibert, text_head::base>},
    {"IBertForMaskedLM", "ibert", count_text<count_ibert, text_head::words>},
    {"IBertForSequenceClassification", "ibert", count_text<count_ibert, text_head::sequence>},
    {"IBertForTokenClassification", "ibert", count_text<count_ibert, text_head::token>},
    {"IBertForQuestionAnswering", "ibert", count_text<count_ibert, text_head::question>},
    {"IBertForMultipleChoice", "ibert", count_text<count_ibert, text_head::choice>},
    {"ErnieModel", "ernie", count_text<count_ernie, text_head::base>},
    {"ErnieForMaskedLM", "ernie", count_text<count_ernie, text_head::words>},
    {"ErnieForSequenceClassification", "ernie", count_text<count_ernie, text_head::sequence>},
    {"ErnieForTokenClassification", "ernie", count_text<count_ernie, text_head::token>},
    {"ErnieForQuestionAnswering", "ernie", count_text<count_ernie, text_head::question>},
    {"ErnieForMultipleChoice", "ernie", count_text<count_ernie, text_head::choice>},
    {"ErnieForCausalLM", "ernie", count_text<count_ernie, text_head::words>},
    {"ErnieForPreTraining", "ernie", count_text<count_ernie, text_head::pretraining>},
    {"ErnieForNextSentencePrediction", "ernie", count_text<count_ernie, text_head::next_sentence>},
    {"BigBirdModel", "big_bird", count_text<count_big_bird, text_head::base>},
    {"BigBirdForMaskedLM", "big_bird", count_text<count_big_bird, text_head::words>},
    {"BigBirdForCausalLM", "big_bird", count_text<count_big_bird, text_head::words>},
    {"BigBirdForPreTraining", "big_bird", count_text<count_big_bird, text_head::pretraining>},
    {"BigBirdForTokenClassification", "big_bird", count_text<count_big_bird, text_head::token>},
    {"BigBirdForMultipleChoice", "big_bird", count_text<count_big_bird, text_head::choice>},
    {"BigBirdForQuestionAnswering", "big_bird", count_big_bird_questions},
    {"BigBirdForSequenceClassification", "big_bird", [](const config& c, tally& t) {
       const auto body = count_big_bird(c, t);
       count_dense(body, t);
       count_text_head(c, body, text_head::sequence, t);
     }},
    {"MegatronBertModel", "megatron-bert", count_text<count_megatron_bert, text_head::base>},
    {"MegatronBertForMaskedLM", "megatron-bert", count_text<count_megatron_bert, text_head::words>},
    {"MegatronBertForSequenceClassification", "megatron-bert", count_text<count_megatron_bert, text_head::sequence>},
    {"MegatronBertForTokenClassification", "megatron-bert", count_text<count_megatron_bert, text_head::token>},
    {"MegatronBertForQuestionAnswering", "megatron-bert", count_text<count_megatron_bert, text_head::question>},
    {"MegatronBertForMultipleChoice", "megatron-bert", count_text<count_megatron_bert, text_head::choice>},
    {"MegatronBertForCausalLM", "megatron-bert", count_text<count_megatron_bert, text_head::words>},
    {"MegatronBertForPreTraining", "megatron-bert", count_text<count_megatron_bert, text_head::pretraining>},
    {"MegatronBertForNextSentencePrediction", "megatron-bert", count_text<count_megatron_bert, text_head::next_sentence>},
    {"XLMRobertaXLModel", "xlm-roberta-xl", count_text<count_xlm_roberta_xl, text_head::base>},
    {"XLMRobertaXLForMaskedLM", "xlm-roberta-xl", count_text<count_xlm_roberta_xl, text_head::words>},
    {"XLMRobertaXLForSequenceClassification", "xlm-roberta-xl", count_text<count_xlm_roberta_xl, text_head::sequence>},
    {"XLMRobertaXLForTokenClassification", "xlm-roberta-xl", count_text<count_xlm_roberta_xl, text_head::token>},
    {"XLMRobertaXLForQuestionAnswering", "xlm-roberta-xl", count_text<count_xlm_roberta_xl, text_head::question>},
    {"XLMRobertaXLForMultipleChoice", "xlm-roberta-xl", count_text<count_xlm_roberta_xl, text_head::choice>},
    {"XLMRobertaXLForCausalLM", "xlm-roberta-xl", count_text<count_xlm_roberta_xl, text_head::words>},
    {"RobertaPreLayerNormModel", "roberta-prelayernorm", count_text<count_roberta_prelayernorm, text_head::base>},
    {"RobertaPreLayerNormForMaskedLM", "roberta-prelayernorm", count_text<count_roberta_prelayernorm, text_head::words>},
    {"RobertaPreLayerNormForSequenceClassification", "roberta-prelayernorm", count_text<count_roberta_prelayernorm, text_head::sequence>},
    {"RobertaPreLayerNormForTokenClassification", "roberta-prelayernorm", count_text<count_roberta_prelayernorm, text_head::token>},
    {"RobertaPreLayerNormForQuestionAnswering", "roberta-prelayernorm", count_text<count_roberta_prelayernorm, text_head::question>},
    {"RobertaPreLayerNormForMultipleChoice", "roberta-prelayernorm", count_text<count_roberta_prelayernorm, text_head::choice>},
    {"RobertaPreLayerNormForCausalLM", "roberta-prelayernorm", count_text<count_roberta_prelayernorm, text_head::words>},
    {"RemBertModel", "rembert", count_text<count_rembert, text_head::base>},
    {"RemBertForSequenceClassification", "rembert", count_text<count_rembert, text_head::sequence>},
    {"RemBertForTokenClassification", "rembert", count_text<count_rembert, text_head::token>},
    {"RemBertForQuestionAnswering", "rembert", count_text<count_rembert, text_head::question>},
    {"RemBertForMultipleChoice", "rembert", count_text<count_rembert, text_head::choice>},
    {"RemBertForMaskedLM", "rembert", count_rembert_words},
    {"RemBertForCausalLM", "rembert", count_rembert_words},
    {"RoCBertModel", "roc_bert", count_text<count_roc_bert, text_head::base>},
    {"RoCBertForMaskedLM", "roc_bert", count_text<count_roc_bert, text_head::words>},
    {"RoCBertForSequenceClassification", "roc_bert", count_text<count_roc_bert, text_head::sequence>},
    {"RoCBertForTokenClassification", "roc_bert", count_text<count_roc_bert, text_head::token>},
    {"RoCBertForQuestionAnswering", "roc_bert", count_text<count_roc_bert, text_head::question>},
    {"RoCBertForMultipleChoice", "roc_bert", count_text<count_roc_bert, text_head::choice>},
    {"RoCBertForCausalLM", "roc_bert", count_text<count_roc_bert, text_head::words>},
    {"RoCBertForPreTraining", "roc_bert", [](const config& c, tally& t) {  // no next sentence
       const auto body = count_roc_bert(c, t);
       count_dense(body, t);
       count_text_head(c, body, text_head::words, t);
     }},
    {"NystromformerModel", "nystromformer", count_text<count_nystromformer, text_head::base>},
    {"NystromformerForMaskedLM", "nystromformer", count_text<count_nystromformer, text_head::words>},
    {"NystromformerForSequenceClassification", "nystromformer", count_text<count_nystromformer, text_head::sequence>},
    {"NystromformerForTokenClassification", "nystromformer", count_text<count_nystromformer, text_head::token>},
    {"NystromformerForQuestionAnswering", "nystromformer", count_text<count_nystromformer, text_head::span>},
    {"NystromformerForMultipleChoice", "nystromformer", count_text<count_nystromformer, text_head::choice>},
    {"MraModel", "mra", count_text<count_mra, text_head::base>},
    {"MraForMaskedLM", "mra", count_text<count_mra, text_head::words>},
    {"MraForSequenceClassification", "mra", count_text<count_mra, text_head::sequence>},
    {"MraForTokenClassification", "mra", count_text<count_mra, text_head::token>},
    {"MraForQuestionAnswering", "mra", count_text<count_mra, text_head::span>},
    {"MraForMultipleChoice", "mra", count_text<count_mra, text_head::choice>},
    {"YosoModel", "yoso", count_text<count_yoso, text_head::base>},
    {"YosoForMaskedLM", "yoso", count_text<count_yoso, text_head::words>},
    {"YosoForSequenceClassification", "yoso", count_text<count_yoso, text_head::sequence>},
    {"YosoForTokenClassification", "yoso", count_text<count_yoso, text_head::token>},
    {"YosoForQuestionAnswering", "yoso", count_text<count_yoso, text_head::span>},
    {"YosoForMultipleChoice", "yoso", count_text<count_yoso, text_head::choice>},
    {"RoFormerModel", "roformer", count_text<count_roformer, text_head::base>},
    {"RoFormerForMaskedLM", "roformer", count_text<count_roformer, text_head::words>},
    {"RoFormerForSequenceClassification", "roformer", count_text<count_roformer, text_head::sequence>},
    {"RoFormerForTokenClassification", "roformer", count_text<count_roformer, text_head::token>},
    {"RoFormerForQuestionAnswering", "roformer", count_text<count_roformer, text_head::span>},
    {"RoFormerForMultipleChoice", "roformer", count_text<count_roformer, text_head::choice>},
    {"RoFormerForCausalLM", "roformer", count_text<count_roformer, text_head::words>},
    {"LayoutLMModel", "layoutlm", count_text<count_layoutlm, text_head::base>},
    {"LayoutLMForMaskedLM", "layoutlm", count_text<count_layoutlm, text_head::words>},
    {"LayoutLMForSequenceClassification", "layoutlm", count_text<count_layoutlm, text_head::sequence>},
    {"LayoutLMForTokenClassification", "layoutlm", count_text<count_layoutlm, text_head::token>},
    {"LayoutLMForQuestionAnswering", "layoutlm", count_text<count_layoutlm, text_head::question>},
};

}  // namespace headroom::io::detail
