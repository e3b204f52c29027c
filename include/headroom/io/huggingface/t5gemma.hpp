// Distributed under the Boost Software License, Version 1.0.
// T5Gemma: Gemma 2's layers as encoder and decoder. Source: transformers 5.16 models/t5gemma/{configuration,modeling}_t5gemma.py.
#pragma once

#include <headroom/io/huggingface/dense.hpp>

namespace headroom::io::detail {

/// A stack of T5Gemma, with the defaults of T5GemmaModuleConfig, which are Gemma 2's.
inline shape read_t5gemma_stack(const config& c) {
  shape m;
  (void)read_listed(dense_decoders, c, "gemma2", m);
  c.ignore({"is_decoder", "layer_types", "cross_attention_hidden_size", "tie_word_embeddings", "query_pre_attn_scalar"});
  return m;
}

/// T5GemmaForConditionalGeneration, T5GemmaModel. Stacks may differ in what an encoder_shape says of them, and in the rows of their tables.
inline shape read_t5gemma(const config& c, task head) {
  if (head != task::unstated && head != task::base && head != task::conditional)
    complain(c.at("architectures") + " puts a head on T5Gemma that is counted alone; accepted are T5GemmaForConditionalGeneration, T5GemmaModel");
  if (!c.flag("is_encoder_decoder", true)) complain(c.at("is_encoder_decoder") + " must be true, found false");
  c.ignore({"vocab_size", "classifier_dropout_rate"});
  shape m = read_t5gemma_stack(c.child("decoder"));
  const shape e = read_t5gemma_stack(c.child("encoder"));
  const auto same = [&](const char* key, bool equal) {
    if (!equal) complain(c.at("encoder.") + key + " must equal " + c.at("decoder.") + key + ": stacks that differ in it are counted alone");
  };
  same("hidden_size", e.hidden == m.hidden);
  same("head_dim", e.head_width() == m.head_width());
  same("num_attention_heads", e.heads == m.heads && e.kv() == m.kv());
  same("hidden_activation", e.activation == m.activation);
  same("attn_logit_softcapping", e.attention_softcap == m.attention_softcap);
  same("sliding_window", e.sliding_window == m.sliding_window);
  same("attention_bias", e.attention_bias || !m.attention_bias);
  m.tied = c.flag("tie_word_embeddings", true);
  m.encoder.layers = e.layers;
  m.encoder.ffn = e.ffn;
  m.encoder.vocab = e.vocab;
  m.encoder.attention_bias = e.attention_bias && !m.attention_bias;
  m.encoder.cross_attention = true;
  if (head == task::base) m.head = head_kind::none;
  return m;
}

}  // namespace headroom::io::detail
