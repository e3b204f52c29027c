// Distributed under the Boost Software License, Version 1.0.
// Decoders with LayerNorm and a plain MLP that each spell their sizes their own way.
#pragma once

#include <headroom/io/huggingface/decoders.hpp>

namespace headroom::io::detail {

/// LayerNorm with bias, biases on every linear layer, MLP without a gate.
inline shape gpt_block() {
  shape m;
  m.mlp = mlp_kind::plain;
  m.norm = norm_kind::layernorm;
  m.norm_bias = m.attention_bias = m.output_bias = m.mlp_bias = true;
  return m;
}

/// Four times hidden where the config leaves the MLP's width open.
inline std::int64_t mlp_width(const config& c, const shape& m, std::initializer_list<const char*> keys) {
  const auto usual = checked::mul(4, m.hidden);
  return c.nullable(keys, usual, usual);
}

/// GPT-2's spelling, with the names of its attribute_map.
inline void read_gpt2_sizes(const config& c, shape& m, std::int64_t vocab, std::int64_t positions, std::int64_t hidden,
                            std::int64_t layers, std::int64_t heads, bool tied, const char* activation) {
  m.layers = c.count({"n_layer", "num_hidden_layers"}, layers);
  m.hidden = c.size({"n_embd", "hidden_size"}, hidden);
  m.heads = c.count({"n_head", "num_attention_heads"}, heads);
  m.ffn = mlp_width(c, m, {"n_inner"});
  m.vocab = c.size({"vocab_size"}, vocab);
  m.max_positions = c.size({"n_positions", "max_position_embeddings"}, positions);
  m.tied = c.flag("tie_word_embeddings", tied);
  m.activation = activation_of(c, {"activation_function"}, activation);
}

inline void read_gptj(const config& c, shape& m) {  // GPTJBlock, CodeGenBlock: one norm, bias-free attention
  read_gpt2_sizes(c, m, 50400, 2048, 4096, 28, 16, false, "gelu_new");
  m.attention_bias = m.output_bias = false;
  m.head_bias = true;
  m.parallel_block = m.shared_attention_norm = true;
  const auto width = m.hidden / m.heads;
  const auto rotary = c.nullable({"rotary_dim"}, 64, width, 0);
  m.rotary_percent = width > 0 ? checked::mul(100, rotary) / width : 100;
}

inline void read_opt(const config& c, shape& m) {  // OPTDecoder, OPTLearnedPositionalEmbedding
  m.layers = c.count({"num_hidden_layers"}, 12);
  m.hidden = c.size({"hidden_size"}, 768);
  m.heads = c.count({"num_attention_heads"}, 12);
  m.ffn = c.size({"ffn_dim"}, 3072);
  m.vocab = c.size({"vocab_size"}, 50272);
  m.position = position_kind::learned;
  m.max_positions = c.size({"max_position_embeddings"}, 2048);
  m.position_offset = 2;
  m.tied = c.flag("tie_word_embeddings", true);
  m.activation = activation_of(c, {"activation_function"}, "relu");
  if (const auto width = c.nullable({"word_embed_proj_dim"}, m.hidden, m.hidden); width != m.hidden) m.embedding_dim = width;
  m.attention_bias = m.output_bias = m.mlp_bias = c.flag("enable_bias", true);
  m.norm_weight = m.norm_bias = c.flag("layer_norm_elementwise_affine", true);
  m.norm_after = !c.flag("do_layer_norm_before", true);
  m.no_final_norm = m.norm_after || c.flag("_remove_final_layer_norm", false);
}

inline void read_falcon(const config& c, shape& m) {  // FalconDecoderLayer, FalconAttention
  m.layers = c.count({"num_hidden_layers", "n_layer"}, 32);
  m.hidden = c.size({"hidden_size", "n_embed"}, 4544);
  m.heads = c.count({"num_attention_heads", "n_head"}, 71);
  const bool modern = c.flag("new_decoder_architecture", false);
  if (modern)
    m.kv_heads = c.nullable({"num_kv_heads", "n_head_kv"}, 0, 0, 1, config::most);
  else
    m.kv_heads = c.flag("multi_query", true) ? 1 : 0;
  m.ffn = mlp_width(c, m, {"ffn_hidden_size"});
  m.vocab = c.size({"vocab_size"}, 65024);
  m.max_positions = c.size({"max_position_embeddings"}, 2048);
  m.position = c.flag("alibi", false) ? position_kind::alibi : position_kind::rope;
  m.tied = c.flag("tie_word_embeddings", true);
  m.activation = activation_of(c, {"activation"}, "gelu");
  m.attention_bias = m.output_bias = m.mlp_bias = c.flag("bias", false);
  m.parallel_block = modern || c.flag("parallel_attn", true);
  const auto norms = c.nullable({"num_ln_in_parallel_attn"}, 2, 2, 1, 2);  // Falcon 2 (11B): new architecture, one norm
  m.shared_attention_norm = m.parallel_block && (!modern || norms == 1);
  m.fused_qkv = true;
}

inline void read_mpt(const config& c, shape& m) {  // MptBlock: no bias anywhere, LayerNorm included
  const auto attention = c.child("attn_config");
  if (const auto kind = attention.text({"attn_type"}, "multihead_attention"); kind != "multihead_attention")
    complain(attention.at("attn_type") + " must be \"multihead_attention\", as MptAttention has it, found " + quoted_word(kind));
  if (!attention.flag("alibi", true)) complain(attention.at("alibi") + " must be true: MptModel has no other positions; found false");
  if (const auto kind = c.child("ffn_config").text({"ffn_type"}, "mptmlp"); kind != "mptmlp")
    complain(c.at("ffn_config.ffn_type") + " must be \"mptmlp\", found " + quoted_word(kind));
  m.layers = c.count({"n_layers", "num_hidden_layers"}, 24);
  m.hidden = c.size({"d_model", "hidden_size"}, 2048);
  m.heads = c.count({"n_heads", "num_attention_heads"}, 16);
  m.ffn = checked::mul(c.size({"expansion_ratio"}, 4), m.hidden);
  m.vocab = c.size({"vocab_size"}, 50368);
  m.max_positions = c.size({"max_seq_len"}, 2048);
  m.tied = c.flag("tie_word_embeddings", true);
  m.activation = activation_kind::gelu;
  m.norm_bias = m.attention_bias = m.output_bias = m.mlp_bias = false;
  m.position = position_kind::alibi;
  m.fused_qkv = true;
}

/// Returns false where the family is not one of these.
inline bool read_gpt_decoder(const config& c, std::string_view type, shape& m) {
  m = gpt_block();
  if (type == "gpt2") {
    read_gpt2_sizes(c, m, 50257, 1024, 768, 12, 12, true, "gelu_new");
    m.position = position_kind::learned;
    m.fused_qkv = true;
  } else if (type == "gpt_bigcode") {  // GPTBigCodeAttention: one key-value head when multi_query
    read_gpt2_sizes(c, m, 50257, 1024, 768, 12, 12, true, "gelu_pytorch_tanh");
    m.position = position_kind::learned;
    m.kv_heads = c.flag("multi_query", true) ? 1 : 0;
    m.fused_qkv = true;
  } else if (type == "gptj") {
    read_gptj(c, m);
  } else if (type == "codegen") {
    read_gptj(c, m);
    m.fused_qkv = true;
  } else if (type == "gpt_neo") {  // GPTNeoSelfAttention: bias on the output alone
    m.layers = c.count({"num_layers", "num_hidden_layers"}, 24);
    m.hidden = c.size({"hidden_size"}, 2048);
    m.heads = c.count({"num_heads", "num_attention_heads"}, 16);
    m.ffn = mlp_width(c, m, {"intermediate_size"});
    m.vocab = c.size({"vocab_size"}, 50257);
    m.max_positions = c.size({"max_position_embeddings"}, 2048);
    m.position = position_kind::learned;
    m.tied = c.flag("tie_word_embeddings", true);
    m.activation = activation_of(c, {"activation_function"}, "gelu_new");
    m.attention_bias = false;
  } else if (type == "gpt_neox") {  // GPTNeoXLayer
    m.layers = c.count({"num_hidden_layers"}, 44);
    m.hidden = c.size({"hidden_size"}, 6144);
    m.heads = c.count({"num_attention_heads"}, 64);
    m.ffn = c.size({"intermediate_size"}, 24576);
    m.vocab = c.size({"vocab_size"}, 50432);
    m.max_positions = c.size({"max_position_embeddings"}, 2048);
    m.rotary_percent = c.percent({"rotary_pct", "partial_rotary_factor"}, 25);
    m.tied = c.flag("tie_word_embeddings", false);
    m.activation = activation_of(c, {"hidden_act"}, "gelu");
    m.attention_bias = m.output_bias = c.flag("attention_bias", true);
    m.parallel_block = c.flag("use_parallel_residual", true);
    m.fused_qkv = true;
  } else if (type == "opt") {
    read_opt(c, m);
  } else if (type == "bloom") {  // BloomModel: a norm after the embedding; n_embed is the old spelling
    m.layers = c.count({"n_layer", "num_hidden_layers"}, 2);
    m.hidden = c.size({"hidden_size", "n_embed"}, 64);
    m.heads = c.count({"n_head", "num_attention_heads"}, 8);
    m.ffn = checked::mul(4, m.hidden);
    m.vocab = c.size({"vocab_size"}, 250880);
    m.position = position_kind::alibi;
    m.tied = c.flag("tie_word_embeddings", true);
    m.activation = activation_kind::gelu_pytorch_tanh;  // BloomGelu: one custom function, one saved tensor
    m.embedding_norm = m.fused_qkv = true;
  } else if (type == "falcon") {
    read_falcon(c, m);
  } else if (type == "mpt") {
    read_mpt(c, m);
  } else if (type == "xglm") {  // XGLMDecoderLayer; sinusoids are a buffer
    m.layers = c.count({"num_layers", "num_hidden_layers"}, 24);
    m.hidden = c.size({"d_model", "hidden_size"}, 1024);
    m.heads = c.count({"attention_heads", "num_attention_heads"}, 16);
    m.ffn = c.size({"ffn_dim"}, 4096);
    m.vocab = c.size({"vocab_size"}, 256008);
    m.position = position_kind::none;
    m.tied = c.flag("tie_word_embeddings", true);
    m.activation = activation_of(c, {"activation_function"}, "gelu");
  } else if (type == "biogpt") {  // BioGptLearnedPositionalEmbedding: two rows before position 0
    m.layers = c.count({"num_hidden_layers"}, 24);
    m.hidden = c.size({"hidden_size"}, 1024);
    m.heads = c.count({"num_attention_heads"}, 16);
    m.ffn = c.size({"intermediate_size"}, 4096);
    m.vocab = c.size({"vocab_size"}, 42384);
    m.position = position_kind::learned;
    m.max_positions = c.size({"max_position_embeddings"}, 1024);
    m.position_offset = 2;
    m.tied = c.flag("tie_word_embeddings", true);
    m.activation = activation_of(c, {"hidden_act"}, "gelu");
  } else if (type == "qwen") {  // QWenLMHeadModel: intermediate_size counts gate and up together
    m = shape{};
    m.layers = c.count({"num_hidden_layers"}, ask);
    m.hidden = c.size({"hidden_size"}, ask);
    m.heads = c.count({"num_attention_heads"}, ask);
    m.ffn = c.size({"intermediate_size"}, ask) / 2;
    m.vocab = c.size({"vocab_size"}, ask);
    m.max_positions = c.size({"max_position_embeddings", "seq_length"}, 8192);
    m.tied = c.flag("tie_word_embeddings", false);
    m.attention_bias = m.fused_qkv = true;
    if (!c.flag("no_bias", true)) m.output_bias = m.mlp_bias = true;
  } else if (type == "chatglm") {  // ChatGLMModel, which holds its own output layer
    m = shape{};
    m.layers = c.count({"num_layers", "num_hidden_layers"}, ask);
    m.hidden = c.size({"hidden_size"}, ask);
    m.heads = c.count({"num_attention_heads"}, ask);
    m.head_dim = c.size({"kv_channels"}, 128);
    if (c.flag("multi_query_attention", true)) m.kv_heads = c.count({"multi_query_group_num"}, 1);
    m.ffn = c.size({"ffn_hidden_size"}, ask);
    m.vocab = c.size({"padded_vocab_size", "vocab_size"}, ask);
    m.max_positions = c.size({"seq_length"}, 2048);
    m.tied = c.flag("tie_word_embeddings", false);
    m.output_bias = m.mlp_bias = c.flag("add_bias_linear", false);
    m.attention_bias = m.output_bias || c.flag("add_qkv_bias", false);
    m.rotary_percent = 50;
    m.fused_qkv = m.fused_gate_up = true;
    if (!c.flag("rmsnorm", true)) m.norm = norm_kind::layernorm, m.norm_bias = true;
  } else {
    return false;
  }
  return true;
}

}  // namespace headroom::io::detail
