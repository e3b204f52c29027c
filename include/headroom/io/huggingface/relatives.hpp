// Distributed under the Boost Software License, Version 1.0.
// BERT's and BART's nearest relatives: the same layers with norms elsewhere, or under another name.
// Sources: transformers 5.16 models/<family>/modeling_<family>.py and configuration_<family>.py.
#pragma once

#include <headroom/io/huggingface/encoders.hpp>

namespace headroom::io::detail {

/// A relative of BERT: its class's defaults, and where its norms stand.
struct bert_relative {
  const char* type;
  std::int64_t vocab, hidden, layers, heads, ffn, positions, types;
  bool norms_in_front;  ///< of the sub-blocks, and one behind the last layer; else behind them, as BERT's
  bool embedding_norm;
  std::int64_t narrow{0};  ///< the usual width of its embeddings; 0: as wide as the layers
  bool unfused{};          ///< its class has no fused attention (transformers 5.17: no _supports_sdpa)
};
inline constexpr bert_relative bert_relatives[] = {
    {"data2vec-text", 30522, 768, 12, 12, 3072, 512, 2, false, true},
    {"ernie", 30522, 768, 12, 12, 3072, 512, 2, false, true},
    {"megatron-bert", 29056, 1024, 24, 16, 4096, 512, 2, true, false, 0, true},
    {"xlm-roberta-xl", 250880, 2560, 36, 32, 10240, 514, 1, true, false},
    {"roberta-prelayernorm", 50265, 768, 12, 12, 3072, 512, 2, true, true},
    {"rembert", 250300, 1152, 32, 18, 4608, 512, 2, false, true, 256, true},
};
inline shape read_bert_relative(const config& c, const bert_relative& r, task head) {
  shape m = bert_block();
  read_sizes(c, {{"num_hidden_layers", r.layers}, {"hidden_size", r.hidden}, {"num_attention_heads", r.heads}, {"intermediate_size", r.ffn}, {"vocab_size", r.vocab},
                 {"max_position_embeddings", r.positions}, true, "hidden_act", "gelu"}, m);
  m.token_types = c.number({"type_vocab_size"}, r.types, 0);
  m.norm_after = m.no_final_norm = !r.norms_in_front;
  m.embedding_norm = r.embedding_norm;
  m.unfused_attention = r.unfused;
  for (const char* key : {"use_task_id", "is_decoder", "add_cross_attention"})
    if (says(c, key)) complain(c.at(key) + " must be false for " + r.type + ", found " + shown(c.find({key})));
  if (r.narrow > 0) {
    m.embedding_dim = c.size({"input_embedding_size"}, r.narrow);
    m.narrow_embedding = true;
    if (head == task::masked_language || head == task::language || head == task::pretraining || head == task::conditional) complain(c.at("architectures") + " puts RemBERT's matrix of words, which is as wide as no other part, on it, and is counted alone");
    c.ignore({"output_embedding_size"});
  }
  c.ignore({"task_type_vocab_size"});
  set_encoder_head(c, m, head, true);
  return m;
}

/// A relative of BART: its class's defaults, and where its norms stand.
struct bart_relative {
  const char* type;
  std::int64_t vocab, hidden, encoder_layers, decoder_layers, heads, ffn, positions, offset;
  bool norms_in_front;  ///< of the sub-blocks, and one at each stack's end
  bool embedding_norm;
  bool unfused{};  ///< its class has no fused attention
};
inline constexpr bart_relative bart_relatives[] = {
    {"plbart", 50005, 768, 6, 6, 12, 3072, 1024, 2, false, true},
    {"mvp", 50267, 1024, 12, 12, 16, 4096, 1024, 2, false, true, true},
    {"blenderbot", 8008, 2560, 2, 24, 32, 10240, 128, 0, true, false},
    {"blenderbot-small", 50265, 512, 8, 8, 16, 2048, 512, 0, false, true},
};
inline shape read_bart_relative(const config& c, const bart_relative& r, task head) {
  shape m = read_encoder_decoder(c, r.decoder_layers, r.hidden, r.heads, r.ffn, r.vocab, {"max_position_embeddings", r.positions});
  if (c.find({"encoder_layers"}) == nullptr) {
    if (c.has("num_hidden_layers")) complain(c.at("num_hidden_layers") + " is another name of encoder_layers for " + r.type + "; write encoder_layers, found " + shown(c.find({"num_hidden_layers"})));
    m.encoder.layers = r.encoder_layers;
  }
  m.position_offset = r.offset;
  m.unfused_attention = r.unfused;
  m.embedding_norm = r.embedding_norm;
  m.norm_after = m.no_final_norm = !r.norms_in_front;
  if (says(c, "use_prompt")) complain(c.at("use_prompt") + " must be false: prompts are not known here, found " + shown(*c.find({"use_prompt"})));
  c.ignore({"prompt_length", "prompt_mid_dim"});
  if (!m.tied) complain(c.at("tie_word_embeddings") + " must be true for this class: releases of transformers differ in the tables that an untied model has; found false");
  if (head == task::base)
    m.head = head_kind::none;
  else if (head != task::conditional && head != task::unstated)
    complain(c.at("architectures") + " puts a head on " + r.type + " that is counted alone; accepted are ...ForConditionalGeneration, ...Model");
  return m;
}

/// Returns false where the family is not one of them.
inline bool read_relative(const config& c, std::string_view type, task head, shape& m) {
  for (const auto& r : bert_relatives)
    if (type == r.type) return m = read_bert_relative(c, r, head), true;
  for (const auto& r : bart_relatives)
    if (type == r.type) return m = read_bart_relative(c, r, head), true;
  return false;
}

}  // namespace headroom::io::detail
