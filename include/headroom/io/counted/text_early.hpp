// Distributed under the Boost Software License, Version 1.0.
// Encoders of text of BERT's years with layers of their own: XLM, XLNet, Funnel, ConvBERT, SqueezeBERT, MobileBERT, ProphetNet.
#pragma once

#include <headroom/io/counted/text_heads.hpp>

namespace headroom::io::detail {

/// SQuADHead: where an answer begins and ends, and whether there is one.
inline void count_squad_head(std::int64_t d, tally& t) {
  t.within(component::head, [&] {
    t.linear(component::head, d, 1, true, 2);
    t.linear(component::head, checked::mul(2, d), d, true, 2);
    t.layer_norm(d);
    t.add(component::head, d);
  });
}
/// SequenceSummary: a matrix to the labels, or to the model's own width, or none. Returns the width of what it says.
inline std::int64_t count_summary(const config& c, std::int64_t d, bool to_labels, tally& t) {
  const bool labels = c.flag("summary_proj_to_labels", to_labels);
  if (!c.flag("summary_use_proj", true)) return d;
  const auto width = labels ? labels_of(c) : d;
  t.linear(component::head, d, width, true);
  return width;
}

/// transformers, modeling_xlm.py and modeling_flaubert.py.
struct xlm_sizes {
  std::int64_t vocab, hidden;
};
inline xlm_sizes count_xlm(const config& c, tally& t) {
  const xlm_sizes s{c.size({"vocab_size", "n_words"}, 30145), c.size({"emb_dim", "hidden_size"}, 2048)};
  const auto layers = c.number({"n_layers", "num_hidden_layers"}, 12, 0, config::most);
  check_heads(c, s.hidden, c.count({"n_heads", "num_attention_heads"}, 16));
  if (c.flag("asm", false)) complain(c.at("asm") + " must be false: an adaptive softmax is not counted, found true");
  if (!c.flag("is_encoder", true)) complain(c.at("is_encoder") + " must be true, found false");
  c.ignore({"gelu_activation", "sinusoidal_embeddings", "causal", "embed_init_std", "unk_index", "mask_index", "bos_index", "eos_index", "pad_index", "lang_id", "start_n_top", "end_n_top",
            "summary_type", "summary_activation", "summary_first_dropout", "pre_norm", "id2lang", "lang2id", "layerdrop"});
  const auto languages = c.count({"n_langs"}, 1);
  const bool has_languages = c.flag("use_lang_emb", true);
  t.embedding(checked::add(s.vocab, c.size({"max_position_embeddings"}, 512)), s.hidden);
  if (languages > 1 && has_languages) t.embedding(languages, s.hidden);
  t.layer_norm(s.hidden);
  count_encoder({layers, s.hidden, checked::mul(4, s.hidden)}, t);
  return s;
}
enum class xlm_head { base, words, sequence, token, squad, choice };
template <xlm_head Head>
void count_xlm_head(const config& c, tally& t) {
  const auto s = count_xlm(c, t);
  if (Head == xlm_head::words) {
    t.add(component::head, s.vocab);
    if (!c.flag("tie_word_embeddings", true)) t.linear(component::head, s.hidden, s.vocab, false);
  }
  if (Head == xlm_head::sequence) count_summary(c, s.hidden, true, t);
  if (Head == xlm_head::choice) {
    c.ignore({"summary_proj_to_labels", "summary_use_proj"});
    if (count_summary(c, s.hidden, true, t) != labels_of(c)) complain(c.at("summary_proj_to_labels") + " and summary_use_proj must be true below a multiple choice");
    t.linear(component::head, labels_of(c), 1, true);
  }
  if (Head == xlm_head::token) count_classifier(c, t, s.hidden);
  if (Head == xlm_head::squad) count_squad_head(s.hidden, t);
  c.ignore({"num_labels", "id2label", "tie_word_embeddings", "summary_proj_to_labels", "summary_use_proj"});
}

/// modeling_xlnet.py: relative positions have a matrix and biases of their own in each layer.
inline xlm_sizes count_xlnet(const config& c, tally& t) {
  const xlm_sizes s{c.size({"vocab_size", "n_token"}, 32000), c.size({"d_model"}, 1024)};
  const auto layers = c.number({"n_layer", "num_hidden_layers"}, 24, 0, config::most);
  const auto heads = c.count({"n_head"}, 16);
  require_equal(c, "hidden_size", "d_model", s.hidden);  // other names, which d_head's default does not follow
  require_equal(c, "num_attention_heads", "n_head", heads);
  const auto ffn = c.size({"d_inner"}, 4096);
  check_heads(c, s.hidden, heads);
  if (c.size({"d_head"}, s.hidden / heads) != s.hidden / heads) complain(c.at("d_head") + " must be d_model / n_head, found " + shown(c.find({"d_head"})));
  c.ignore({"ff_activation", "attn_type", "mem_len", "reuse_len", "use_mems_eval", "use_mems_train", "bi_data", "clamp_len", "same_length", "summary_type", "summary_activation",
            "summary_last_dropout", "start_n_top", "end_n_top", "untie_r", "max_position_embeddings"});
  t.embedding(checked::add(s.vocab, 1), s.hidden);
  t.add(component::attention, checked::mul(5, checked::add(checked::mul(s.hidden, s.hidden), s.hidden)), layers);
  t.linear(component::mlp, s.hidden, ffn, true, layers);
  t.linear(component::mlp, ffn, s.hidden, true, layers);
  t.layer_norm(s.hidden, checked::mul(2, layers));
  return s;
}
template <xlm_head Head>
void count_xlnet_head(const config& c, tally& t) {
  const auto s = count_xlnet(c, t);
  if (Head == xlm_head::words) {
    t.add(component::head, s.vocab);
    if (!c.flag("tie_word_embeddings", true)) t.linear(component::head, s.hidden, s.vocab, false);
  }
  if (Head == xlm_head::sequence || Head == xlm_head::choice) {
    if (c.flag("summary_use_proj", true)) t.linear(component::head, s.hidden, s.hidden, true);
    t.linear(component::head, s.hidden, Head == xlm_head::choice ? 1 : labels_of(c), true);
  }
  if (Head == xlm_head::token) count_classifier(c, t, s.hidden);
  if (Head == xlm_head::squad) count_squad_head(s.hidden, t);
  c.ignore({"num_labels", "id2label", "tie_word_embeddings", "summary_use_proj"});
}

/// modeling_funnel.py: blocks of layers, each over half the positions of the one before; a decoder of few layers over all of them.
inline xlm_sizes count_funnel(const config& c, bool decodes, tally& t) {
  const xlm_sizes s{c.size({"vocab_size"}, 30522), c.size({"d_model", "hidden_size"}, 768)};
  const auto inner = checked::mul(c.count({"n_head", "num_attention_heads"}, 12), c.size({"d_head"}, 64));
  const auto ffn = c.size({"d_inner"}, 3072);
  std::int64_t layers = 12;
  if (const json* list = c.find({"block_sizes"}); list != nullptr) {
    if (!list->is_array()) complain(c.at("block_sizes") + " must be a list of whole numbers, found " + shown(*list));
    layers = 0;
    for (const auto& one : *list) layers = checked::add(layers, config::whole(one, c.at("block_sizes"), 0, config::most));
  }
  const auto decoder = c.number({"num_decoder_layers"}, 2, 0, config::most);
  if (decodes) layers = checked::add(layers, decoder);
  c.ignore({"block_repeats", "initializer_std", "pooling_type", "attention_type", "separate_cls", "truncate_seq", "pool_q_only", "max_position_embeddings", "type_vocab_size", "rel_attn_type", "num_hidden_layers", "num_blocks"});
  t.embedding(s.vocab, s.hidden);
  t.layer_norm(s.hidden, checked::add(checked::mul(2, layers), 1));
  t.add(component::attention, checked::add(checked::mul(5, checked::mul(s.hidden, inner)), checked::add(checked::mul(7, inner), s.hidden)), layers);
  t.linear(component::mlp, s.hidden, ffn, true, layers);
  t.linear(component::mlp, ffn, s.hidden, true, layers);
  return s;
}
enum class funnel_head { base, model, words, pretraining, sequence, token, choice };
template <funnel_head Head>
void count_funnel_head(const config& c, tally& t) {
  const bool short_one = Head == funnel_head::base || Head == funnel_head::sequence || Head == funnel_head::choice;
  const auto s = count_funnel(c, !short_one, t);
  if (Head == funnel_head::words) {
    t.add(component::head, s.vocab);
    if (!c.flag("tie_word_embeddings", true)) t.linear(component::head, s.hidden, s.vocab, false);
  }
  if (Head == funnel_head::pretraining || Head == funnel_head::sequence || Head == funnel_head::choice) t.linear(component::head, s.hidden, s.hidden, true);
  if (Head == funnel_head::pretraining || Head == funnel_head::choice) t.linear(component::head, s.hidden, 1, true);
  if (Head == funnel_head::sequence || Head == funnel_head::token) count_classifier(c, t, s.hidden);
  c.ignore({"num_labels", "id2label", "tie_word_embeddings"});
}

/// modeling_convbert.py: half of the attention is a convolution whose kernel the words tell.
inline text_body count_convbert(const config& c, tally& t) {
  auto s = read_bert_sizes(c, {});
  const auto width = c.size({"embedding_size"}, 768);
  const auto ratio = c.count({"head_ratio"}, 2);
  const auto kernel = c.size({"conv_kernel_size"}, 9);
  const auto groups = c.count({"num_groups"}, 1);
  const auto heads = s.heads / ratio < 1 ? 1 : s.heads / ratio;
  check_heads(c, s.hidden, heads);
  if (s.hidden % groups != 0 || s.ffn % groups != 0) complain(c.at("num_groups") + " must divide hidden_size and intermediate_size, found " + std::to_string(groups));
  const auto inner = checked::mul(heads, s.hidden / heads / 2);
  c.ignore({"summary_type", "summary_use_proj"});
  count_bert_embeddings(s, width, t);
  if (width != s.hidden) t.linear(component::embedding, width, s.hidden, true);
  t.linear(component::attention, s.hidden, inner, true, checked::mul(5, s.layers));
  t.add(component::attention, checked::mul(s.hidden, kernel), s.layers);
  t.linear(component::attention, inner, checked::mul(heads, kernel), true, s.layers);
  t.linear(component::attention, s.hidden, s.hidden, true, s.layers);
  t.linear(component::mlp, s.hidden / groups, s.ffn, true, s.layers);
  t.linear(component::mlp, s.ffn / groups, s.hidden, true, s.layers);
  t.layer_norm(s.hidden, checked::mul(2, s.layers));
  auto b = body_of(s, false);
  b.embedding = width, b.second_bias = b.choice_dense = false;
  return b;
}

/// modeling_squeezebert.py: matrices in groups, written as convolutions.
inline text_body count_squeezebert(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {});
  if (c.size({"embedding_size"}, 768) != s.hidden) complain(c.at("embedding_size") + " must be the hidden size, " + std::to_string(s.hidden));
  const auto grouped = [&](component part, const char* key, std::int64_t usual, std::int64_t in, std::int64_t out) {
    const auto groups = c.count({key}, usual);
    if (in % groups != 0 || out % groups != 0) complain(c.at(key) + " must divide both widths, found " + std::to_string(groups));
    t.linear(part, in / groups, out, true, s.layers);
  };
  count_bert_embeddings(s, s.hidden, t);
  grouped(component::attention, "q_groups", 4, s.hidden, s.hidden);
  grouped(component::attention, "k_groups", 4, s.hidden, s.hidden);
  grouped(component::attention, "v_groups", 4, s.hidden, s.hidden);
  grouped(component::attention, "post_attention_groups", 1, s.hidden, s.hidden);
  grouped(component::mlp, "intermediate_groups", 4, s.hidden, s.ffn);
  grouped(component::mlp, "output_groups", 4, s.ffn, s.hidden);
  t.layer_norm(s.hidden, checked::mul(2, s.layers));
  auto b = body_of(s);
  b.kept = true;
  return b;
}

inline constexpr counted_class counted_text_early[] = {
    {"XLMModel", "xlm", count_xlm_head<xlm_head::base>},
    {"XLMWithLMHeadModel", "xlm", count_xlm_head<xlm_head::words>},
    {"XLMForSequenceClassification", "xlm", count_xlm_head<xlm_head::sequence>},
    {"XLMForTokenClassification", "xlm", count_xlm_head<xlm_head::token>},
    {"XLMForQuestionAnsweringSimple", "xlm", count_xlm_head<xlm_head::token>},
    {"XLMForQuestionAnswering", "xlm", count_xlm_head<xlm_head::squad>},
    {"XLMForMultipleChoice", "xlm", count_xlm_head<xlm_head::choice>},
    {"FlaubertModel", "flaubert", count_xlm_head<xlm_head::base>},
    {"FlaubertWithLMHeadModel", "flaubert", count_xlm_head<xlm_head::words>},
    {"FlaubertForSequenceClassification", "flaubert", count_xlm_head<xlm_head::sequence>},
    {"FlaubertForTokenClassification", "flaubert", count_xlm_head<xlm_head::token>},
    {"FlaubertForQuestionAnsweringSimple", "flaubert", count_xlm_head<xlm_head::token>},
    {"FlaubertForQuestionAnswering", "flaubert", count_xlm_head<xlm_head::squad>},
    {"FlaubertForMultipleChoice", "flaubert", count_xlm_head<xlm_head::choice>},
    {"XLNetModel", "xlnet", count_xlnet_head<xlm_head::base>},
    {"XLNetLMHeadModel", "xlnet", count_xlnet_head<xlm_head::words>},
    {"XLNetForSequenceClassification", "xlnet", count_xlnet_head<xlm_head::sequence>},
    {"XLNetForTokenClassification", "xlnet", count_xlnet_head<xlm_head::token>},
    {"XLNetForQuestionAnsweringSimple", "xlnet", count_xlnet_head<xlm_head::token>},
    {"XLNetForQuestionAnswering", "xlnet", count_xlnet_head<xlm_head::squad>},
    {"XLNetForMultipleChoice", "xlnet", count_xlnet_head<xlm_head::choice>},
    {"FunnelModel", "funnel", count_funnel_head<funnel_head::model>},
    {"FunnelBaseModel", "funnel", count_funnel_head<funnel_head::base>},
    {"FunnelForPreTraining", "funnel", count_funnel_head<funnel_head::pretraining>},
    {"FunnelForMaskedLM", "funnel", count_funnel_head<funnel_head::words>},
    {"FunnelForSequenceClassification", "funnel", count_funnel_head<funnel_head::sequence>},
    {"FunnelForMultipleChoice", "funnel", count_funnel_head<funnel_head::choice>},
    {"FunnelForTokenClassification", "funnel", count_funnel_head<funnel_head::token>},
    {"FunnelForQuestionAnswering", "funnel", count_funnel_head<funnel_head::token>},
    {"ConvBertModel", "convbert", count_text<count_convbert, text_head::base>},
    {"ConvBertForMaskedLM", "convbert", count_text<count_convbert, text_head::words>},
    {"ConvBertForSequenceClassification", "convbert", count_text<count_convbert, text_head::sequence>},
    {"ConvBertForTokenClassification", "convbert", count_text<count_convbert, text_head::token>},
    {"ConvBertForQuestionAnswering", "convbert", count_text<count_convbert, text_head::question>},
    {"ConvBertForMultipleChoice", "convbert", count_text<count_convbert, text_head::choice>},
    {"SqueezeBertModel", "squeezebert", count_text<count_squeezebert, text_head::base>},
    {"SqueezeBertForMaskedLM", "squeezebert", count_text<count_squeezebert, text_head::words>},
    {"SqueezeBertForSequenceClassification", "squeezebert", count_text<count_squeezebert, text_head::sequence>},
    {"SqueezeBertForTokenClassification", "squeezebert", count_text<count_squeezebert, text_head::token>},
    {"SqueezeBertForQuestionAnswering", "squeezebert", count_text<count_squeezebert, text_head::question>},
    {"SqueezeBertForMultipleChoice", "squeezebert", count_text<count_squeezebert, text_head::choice>},
};

}  // namespace headroom::io::detail
