// Distributed under the Boost Software License, Version 1.0.
// Decoders with LayerNorm and a plain MLP that each spell their sizes their own way.
#pragma once

#include <headroom/io/huggingface/sizes.hpp>

namespace headroom::io::detail {

/// LayerNorm with bias, biases on every linear layer, MLP without a gate.
inline shape gpt_block() {
  shape m;
  m.mlp = mlp_kind::plain;
  m.norm = norm_kind::layernorm;
  m.norm_bias = m.attention_bias = m.output_bias = m.mlp_bias = true;
  return m;
}

/// RMSNorm, a gated MLP, no biases.
inline shape llama_block() { return {}; }

/// A family: how it spells its sizes, what its blocks are like before it says more, and what it says.
struct gpt_family {
  std::string_view type;
  size_keys sizes;
  void (*finish)(const config&, shape&);
  shape (*block)(){gpt_block};
};

inline void finish_gpt2(const config&, shape& m) {
  m.position = position_kind::learned;
  m.fused_qkv = true;
}

inline void finish_gptj(const config& c, shape& m) {  // GPTJBlock, CodeGenBlock: one norm, bias-free attention
  m.attention_bias = m.output_bias = false;
  m.head_bias = true;
  m.parallel_block = m.shared_attention_norm = true;
  m.rotary = rotary_kind::own_pairs;
  m.softmax = softmax_kind::fp32_scores;
  m.unfused_attention = true;
  const auto width = m.hidden / m.heads;
  const auto rotary = c.nullable({"rotary_dim"}, 64, width, 0);
  m.rotary_percent = width > 0 ? checked::mul(100, rotary) / width : 100;
}

inline void finish_gpt_neo(const config&, shape& m) {  // GPTNeoSelfAttention: bias on the output alone; q and k in fp32
  m.position = position_kind::learned;
  m.softmax = softmax_kind::fp32_scores;
  m.unfused_attention = true;
  m.attention_bias = false;
}

inline void finish_gpt_neox(const config& c, shape& m) {  // GPTNeoXLayer
  m.rotary_percent = c.percent({"rotary_pct", "partial_rotary_factor"}, 25);
  m.attention_bias = m.output_bias = c.flag("attention_bias", true);
  m.parallel_block = c.flag("use_parallel_residual", true);
  m.fused_qkv = true;
}

inline void finish_opt(const config& c, shape& m) {  // OPTDecoder, OPTLearnedPositionalEmbedding
  m.position = position_kind::learned;
  m.position_offset = 2;
  m.softmax = softmax_kind::fp32;
  if (const auto width = c.nullable({"word_embed_proj_dim"}, m.hidden, m.hidden); width != m.hidden) m.embedding_dim = width;
  m.attention_bias = m.output_bias = m.mlp_bias = c.flag("enable_bias", true);
  m.norm_weight = m.norm_bias = c.flag("layer_norm_elementwise_affine", true);
  m.norm_after = !c.flag("do_layer_norm_before", true);
  m.no_final_norm = m.norm_after || c.flag("_remove_final_layer_norm", false);
}

inline void finish_bloom(const config&, shape& m) {  // BloomModel: a norm after the embedding
  m.position = position_kind::alibi;
  m.activation = activation_kind::gelu_pytorch_tanh;  // BloomGelu: one custom function, one saved tensor
  m.embedding_norm = m.fused_qkv = m.unfused_attention = true;
}

inline void finish_falcon(const config& c, shape& m) {  // FalconDecoderLayer, FalconAttention
  m.softmax = softmax_kind::compute;
  const bool modern = c.flag("new_decoder_architecture", false);
  if (modern)
    m.kv_heads = c.nullable({"num_kv_heads", "n_head_kv"}, 0, 0, 1, config::most);
  else
    m.kv_heads = c.flag("multi_query", true) ? 1 : 0, c.ignore({"num_kv_heads", "n_head_kv"});
  m.position = c.flag("alibi", false) ? position_kind::alibi : position_kind::rope;
  m.attention_bias = m.output_bias = m.mlp_bias = c.flag("bias", false);
  m.parallel_block = modern || c.flag("parallel_attn", true);
  const auto norms = c.nullable({"num_ln_in_parallel_attn"}, modern ? 2 : 1, modern ? 2 : 1, 1, 2);  // Falcon 2 (11B): new architecture, one norm
  if (!modern && norms != 1) complain(c.at("num_ln_in_parallel_attn") + " must be 1 or absent without new_decoder_architecture, found 2");
  m.shared_attention_norm = m.parallel_block && (!modern || norms == 1);
  m.fused_qkv = true;
}

inline void finish_mpt(const config& c, shape& m) {  // MptBlock: no bias anywhere, LayerNorm included
  const auto attention = c.child("attn_config");
  if (const auto kind = attention.text({"attn_type"}, "multihead_attention"); kind != "multihead_attention")
    complain(attention.at("attn_type") + " must be \"multihead_attention\", as MptAttention has it, found " + quoted_word(kind));
  if (!attention.flag("alibi", true)) complain(attention.at("alibi") + " must be true: MptModel has no other positions; found false");
  if (const auto kind = c.child("ffn_config").text({"ffn_type"}, "mptmlp"); kind != "mptmlp")
    complain(c.at("ffn_config.ffn_type") + " must be \"mptmlp\", found " + quoted_word(kind));
  if (const auto ratio = c.size({"expansion_ratio"}, 4); ratio != 4) complain(c.at("expansion_ratio") + " must be 4, as MptMLP has it, found " + std::to_string(ratio));
  m.ffn = checked::mul(4, m.hidden);
  m.activation = activation_kind::gelu;
  m.norm_bias = m.attention_bias = m.output_bias = m.mlp_bias = false;
  m.position = position_kind::alibi;
  m.fused_qkv = m.unfused_attention = true;
}

inline void finish_biogpt(const config&, shape& m) {  // BioGptLearnedPositionalEmbedding: two rows before position 0
  m.position = position_kind::learned;
  m.position_offset = 2;
}

inline void finish_qwen(const config& c, shape& m) {  // QWenLMHeadModel: intermediate_size counts gate and up together
  m.ffn /= 2;
  m.attention_bias = m.fused_qkv = true;
  if (!c.flag("no_bias", true)) m.output_bias = m.mlp_bias = true;
}

inline void finish_chatglm(const config& c, shape& m) {  // ChatGLMModel, which holds its own output layer
  m.head_dim = c.size({"kv_channels"}, 128);
  if (c.flag("multi_query_attention", true)) m.kv_heads = c.count({"multi_query_group_num"}, 1);
  m.output_bias = m.mlp_bias = c.flag("add_bias_linear", false);
  m.attention_bias = m.output_bias || c.flag("add_qkv_bias", false);
  m.rotary_percent = 50;
  m.fused_qkv = m.fused_gate_up = true;
  if (!c.flag("rmsnorm", true)) m.norm = norm_kind::layernorm, m.norm_bias = true;
}

/// GPT-2's spelling, with the names of its attribute_map.
constexpr size_keys gpt2_sizes(std::int64_t vocab, std::int64_t positions, std::int64_t hidden, std::int64_t layers, std::int64_t heads, bool tied, const char* activation) {
  return {{"n_layer", layers, "num_hidden_layers"}, {"n_embd", hidden, "hidden_size"}, {"n_head", heads, "num_attention_heads"}, {"n_inner"},
          {"vocab_size", vocab}, {"n_positions", positions, "max_position_embeddings"}, tied, "activation_function", activation};
}

inline constexpr gpt_family gpt_families[] = {
    {"gpt2", gpt2_sizes(50257, 1024, 768, 12, 12, true, "gelu_new"), finish_gpt2},
    {"gpt_bigcode", gpt2_sizes(50257, 1024, 768, 12, 12, true, "gelu_pytorch_tanh"),
     [](const config& c, shape& m) { finish_gpt2(c, m), m.kv_heads = c.flag("multi_query", true) ? 1 : 0, m.softmax = softmax_kind::fp32, require_equal(c, "num_key_value_heads", "multi_query's heads", m.kv_heads > 0 ? m.kv_heads : m.heads); }},  // GPTBigCodeAttention
    {"gptj", gpt2_sizes(50400, 2048, 4096, 28, 16, false, "gelu_new"), finish_gptj},
    {"codegen", gpt2_sizes(50400, 2048, 4096, 28, 16, false, "gelu_new"), [](const config& c, shape& m) { finish_gptj(c, m), m.fused_qkv = true; }},
    {"gpt_neo", {{"num_layers", 24, "num_hidden_layers"}, {"hidden_size", 2048}, {"num_heads", 16, "num_attention_heads"}, {"intermediate_size"}, {"vocab_size", 50257},
                 {"max_position_embeddings", 2048}, true, "activation_function", "gelu_new"}, finish_gpt_neo},
    {"gpt_neox", {{"num_hidden_layers", 44}, {"hidden_size", 6144}, {"num_attention_heads", 64}, {"intermediate_size", 24576}, {"vocab_size", 50432},
                  {"max_position_embeddings", 2048}, false, "hidden_act", "gelu"}, finish_gpt_neox},
    {"opt", {{"num_hidden_layers", 12}, {"hidden_size", 768}, {"num_attention_heads", 12}, {"ffn_dim", 3072}, {"vocab_size", 50272},
             {"max_position_embeddings", 2048}, true, "activation_function", "relu"}, finish_opt},
    {"bloom", {{"n_layer", 2, "num_hidden_layers"}, {"hidden_size", 64, "n_embed"}, {"n_head", 8, "num_attention_heads"}, {}, {"vocab_size", 250880}, {}, true}, finish_bloom},
    {"falcon", {{"num_hidden_layers", 32, "n_layer"}, {"hidden_size", 4544, "n_embed"}, {"num_attention_heads", 71, "n_head"}, {"ffn_hidden_size"}, {"vocab_size", 65024},
                {"max_position_embeddings", 2048}, true, "activation", "gelu"}, finish_falcon},
    {"mpt", {{"n_layers", 24, "num_hidden_layers"}, {"d_model", 2048, "hidden_size"}, {"n_heads", 16, "num_attention_heads"}, {}, {"vocab_size", 50368}, {"max_seq_len", 2048}, true}, finish_mpt},
    {"xglm", {{"num_layers", 24, "num_hidden_layers"}, {"d_model", 1024, "hidden_size"}, {"attention_heads", 16, "num_attention_heads"}, {"ffn_dim", 4096}, {"vocab_size", 256008},
              {}, true, "activation_function", "gelu"}, [](const config&, shape& m) { m.position = position_kind::none, m.softmax = softmax_kind::maximum, m.unfused_attention = true; }},  // XGLMAttention; sinusoids are a buffer
    {"biogpt", {{"num_hidden_layers", 24}, {"hidden_size", 1024}, {"num_attention_heads", 16}, {"intermediate_size", 4096}, {"vocab_size", 42384},
                {"max_position_embeddings", 1024}, true, "hidden_act", "gelu"}, finish_biogpt},
    {"qwen", {{"num_hidden_layers", ask}, {"hidden_size", ask}, {"num_attention_heads", ask}, {"intermediate_size", ask}, {"vocab_size", ask},
              {"max_position_embeddings", 8192}}, finish_qwen, llama_block},
    {"chatglm", {{"num_layers", ask, "num_hidden_layers"}, {"hidden_size", ask}, {"num_attention_heads", ask}, {"ffn_hidden_size", ask},
                 {"padded_vocab_size", ask, "vocab_size"}, {"seq_length", 2048}}, finish_chatglm, llama_block},
};

/// Returns false where the family is not one of these.
inline bool read_gpt_decoder(const config& c, std::string_view type, shape& m) {
  for (const auto& f : gpt_families) {
    if (type != f.type) continue;
    m = f.block();
    read_sizes(c, f.sizes, m);
    f.finish(c, m);
    return true;
  }
  return false;
}

}  // namespace headroom::io::detail
