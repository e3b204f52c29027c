// Distributed under the Boost Software License, Version 1.0.
// Encoders, and models of an encoder and a decoder.
#pragma once

#include <headroom/io/huggingface/gpt.hpp>
#include <headroom/io/huggingface/refusals.hpp>
#include <headroom/io/huggingface/ties.hpp>

namespace headroom::io::detail {

/// The heads of BertFor…, RobertaFor…, DistilBertFor…. RoBERTa's and DistilBERT's classifiers have a dense layer of their
/// own where BERT has its pooler: the same weights.
inline void set_encoder_head(const config& c, shape& m, task head, bool has_pooler) {
  m.head = head_kind::none;
  switch (head) {
    case task::unstated:
    case task::base: m.pooler = has_pooler; break;
    case task::language:
    case task::conditional:
    case task::masked_language: m.head = head_kind::masked_language; break;
    case task::pretraining:
      m.head = head_kind::masked_language;
      m.pooler = true;
      m.classes = 2;
      break;
    case task::next_sentence: m.pooler = true, m.classes = 2; break;
    case task::sequence: m.pooler = true, m.classes = labels_of(c); break;
    case task::choice: m.pooler = true, m.classes = 1; break;
    case task::token: m.classes = labels_of(c); break;
    case task::question: m.classes = labels_of(c); break;
    case task::image: complain(c.at("architectures") + " names an image classifier of a text encoder");
  }
  m.head_bias = m.classes > 0;
  // Transformers 4 has one bias behind the table of words, 5 a second one where the table is not tied.
  if (m.head == head_kind::masked_language && !m.tied && has_pooler)
    complain(c.at("tie_word_embeddings") + " must be true for this class: releases of transformers differ in the biases of an untied head; found false");
}

/// Norms after each sub-block and after the embedding, none at the end (BertLayer, BertEmbeddings).
inline shape bert_block() {
  shape m = gpt_block();
  m.position = position_kind::learned;
  m.bidirectional = m.norm_after = m.no_final_norm = m.embedding_norm = true;
  return m;
}

inline shape read_bert(const config& c, task head) {
  shape m = bert_block();
  read_sizes(c, {{"num_hidden_layers", 12}, {"hidden_size", 768}, {"num_attention_heads", 12}, {"intermediate_size", 3072},
                 {"vocab_size", c.text({"model_type"}, "") == "roberta" ? 50265 : 30522}, {"max_position_embeddings", 512}, true, "hidden_act", "gelu"}, m);
  m.token_types = c.number({"type_vocab_size"}, 2, 0);
  if (const auto kind = c.text({"position_embedding_type"}, "absolute"); kind != "absolute")
    complain(c.at("position_embedding_type") + " must be \"absolute\", found " + quoted_word(kind));
  set_encoder_head(c, m, head, true);
  return m;
}

inline shape read_distilbert(const config& c, task head) {
  shape m = bert_block();
  read_sizes(c, {{"n_layers", 6, "num_hidden_layers"}, {"dim", 768, "hidden_size"}, {"n_heads", 12, "num_attention_heads"}, {"hidden_dim", 3072},
                 {"vocab_size", 30522}, {"max_position_embeddings", 512}, true, "activation", "gelu"}, m);
  set_encoder_head(c, m, head, false);
  if (head == task::question && m.classes != 2) complain(c.at("num_labels") + " must be 2, as DistilBertForQuestionAnswering has it, found " + std::to_string(m.classes));
  return m;
}

/// T5Stack: bias-free, RMSNorm, one table of relative biases for each stack. mT5 differs in its defaults, UMT5 has a table in each layer. Since
/// transformers 5 the class is tied whatever tie_word_embeddings says; before, false meant a head of its own, and was mT5's default.
inline shape read_t5(const config& c, task head, bool encoder_only, std::string_view type) {
  const bool multilingual = type != "t5";
  shape m;
  m.layer_biases = type == "umt5";
  m.hidden = c.size({"d_model", "hidden_size"}, 512);
  m.heads = c.count({"num_heads", "num_attention_heads"}, multilingual ? 6 : 8);
  m.head_dim = c.size({"d_kv", "head_dim"}, 64);
  m.ffn = c.size({"d_ff"}, multilingual ? 1024 : 2048);
  m.vocab = c.size({"vocab_size"}, multilingual ? 250112 : 32128);
  const bool before = c.flag("tie_word_embeddings", type != "mt5");
  m.position = position_kind::relative;
  m.relative_buckets = c.size({"relative_attention_num_buckets"}, 32);
  const auto encoder_layers = c.count({"num_layers"}, multilingual ? 8 : 6);
  require_equal(c, "num_hidden_layers", "num_layers", encoder_layers);  // another name of it, which the decoder's default does not follow
  const auto kind = c.text({"feed_forward_proj"}, multilingual ? "gated-gelu" : "relu");
  const bool gated = kind.rfind("gated-", 0) == 0;
  if (c.find({"is_gated_act"}) != nullptr && c.flag("is_gated_act", gated) != gated)
    complain(c.at("is_gated_act") + " must be " + (gated ? "true" : "false") + ", as feed_forward_proj says, or be absent; found " + shown(c.find({"is_gated_act"})));
  m.mlp = gated ? mlp_kind::gated : mlp_kind::plain;
  if (kind == "gated-gelu" || kind == "gelu_new" || kind == "gated-gelu_new")
    m.activation = activation_kind::gelu_new;
  else if (kind == "relu" || kind == "gated-relu")
    m.activation = activation_kind::relu;
  else if (kind == "gated-silu" || kind == "silu")
    m.activation = activation_kind::silu;
  else if (kind == "gelu")
    m.activation = activation_kind::gelu;
  else
    complain(c.at("feed_forward_proj") + " must be one of relu, gelu, gelu_new, silu, or one of them after \"gated-\", found " +
             quoted_word(kind));
  if (says(c, "is_decoder")) complain(c.at("is_decoder") + " must be false for T5, found " + shown(*c.find({"is_decoder"})));
  if (encoder_only) {
    c.ignore({"num_decoder_layers"});
    m.layers = encoder_layers;
    m.head = head_kind::none;
    m.tied = m.bidirectional = true;
    return m;
  }
  m.layers = c.nullable({"num_decoder_layers"}, encoder_layers, encoder_layers, 1, config::most);
  m.encoder.layers = encoder_layers;
  m.encoder.cross_attention = true;
  if (head == task::base)
    m.head = head_kind::none;
  else if (head != task::conditional && head != task::language && head != task::unstated)  // T5WithLMHeadModel, of old
    complain(c.at("architectures") + " puts a head on T5 that is not known; accepted are T5ForConditionalGeneration, T5Model, T5EncoderModel");
  tie_by_release(c, m, before, true);
  return m;
}

/// A decoder with learned positions that attends to an encoder of its own sizes, as BART and Whisper spell them.
inline shape read_encoder_decoder(const config& c, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn, std::int64_t vocab, const size_key& positions) {
  shape m = gpt_block();
  read_sizes(c, {{"decoder_layers", layers}, {"d_model", hidden, "hidden_size"}, {"decoder_attention_heads", heads}, {"decoder_ffn_dim", ffn}, {"vocab_size", vocab},
                 positions, true, "activation_function", "gelu"}, m);
  m.position = position_kind::learned;
  m.encoder.layers = c.count({"encoder_layers"}, layers);
  require_equal(c, "num_hidden_layers", "encoder_layers", m.encoder.layers);  // another name of it in transformers 5
  m.encoder.heads = c.count({"encoder_attention_heads", "num_attention_heads"}, heads);
  if (m.hidden % m.encoder.heads != 0) complain(c.at("encoder_attention_heads") + " must divide d_model, " + std::to_string(m.hidden) + ", found " + std::to_string(m.encoder.heads));
  require_equal(c, "num_key_value_heads", "encoder_attention_heads", m.encoder.heads);
  m.encoder.ffn = c.size({"encoder_ffn_dim"}, ffn);
  m.encoder.cross_attention = true;
  return m;
}

inline shape read_whisper(const config& c, task head) {  // WhisperEncoder, WhisperDecoder
  shape m = read_encoder_decoder(c, 4, 384, 6, 1536, 51865, {"max_target_positions", 448});
  m.no_key_bias = true;
  m.encoder.max_positions = m.encoder.sequence = c.size({"max_source_positions"}, 1500);
  m.encoder.audio_channels = c.size({"num_mel_bins"}, 80);
  m.encoder.frozen_positions = true;
  if (head == task::base)
    m.head = head_kind::none;
  else if (head != task::conditional && head != task::unstated)
    complain(c.at("architectures") + " puts a head on Whisper that is not known; accepted are WhisperForConditionalGeneration, WhisperModel");
  return m;
}

/// BartEncoder, BartDecoder: norms after the sub-blocks. mBART has them in front, and one at each stack's end.
inline shape read_bart(const config& c, task head, bool multilingual) {
  shape m = read_encoder_decoder(c, 12, 1024, 16, 4096, 50265, {"max_position_embeddings", 1024});
  m.position_offset = 2;
  m.embedding_norm = true;
  m.norm_after = m.no_final_norm = !multilingual;
  // Transformers 4 shares one table between the stacks all the same, 5 makes each its own.
  if (!m.tied) complain(c.at("tie_word_embeddings") + " must be true for this class: releases of transformers differ in the tables that an untied model has; found false");
  if (head == task::base) {
    m.head = head_kind::none;
  } else if (head == task::sequence) {
    m.head = head_kind::none;
    m.pooler = m.head_bias = true;
    m.classes = labels_of(c, multilingual ? 2 : 3);  // BartConfig: three labels where the file has none
  } else if (head != task::conditional && head != task::unstated) {
    complain(c.at("architectures") + " puts a head on BART that is not known; accepted are ...ForConditionalGeneration, "
                                     "...ForSequenceClassification, ...Model");
  }
  return m;
}

}  // namespace headroom::io::detail
