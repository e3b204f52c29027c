// Distributed under the Boost Software License, Version 1.0.
// Mixtures of experts, with and without latent attention.
#pragma once

#include <headroom/io/huggingface/decoders.hpp>

#include <vector>

namespace headroom::io::detail {

/// Layers that a config makes dense one by one (Qwen's mlp_only_layers), or that a rule of its own makes dense.
inline void make_dense(const config& c, const char* key, shape& m, std::int64_t layer) {
  if (layer >= m.layers) return;  // transformers ignores them too
  if (layer >= 128) complain(c.at(key) + " names layer " + std::to_string(layer) + "; layers from 0 to 127 can be made dense one by one");
  m.experts.dense_mask[layer / 64] |= std::uint64_t{1} << (layer % 64);
}

inline void read_dense_layers(const config& c, const char* key, shape& m) {
  const json* list = c.find({key});
  if (list == nullptr || list->is_null()) return;
  if (!list->is_array()) complain(c.at(key) + " must be a list of layer numbers, found " + shown(*list));
  for (std::size_t i = 0; i < list->size(); ++i)
    make_dense(c, key, m, config::whole((*list)[i], c.at(key) + "[" + std::to_string(i) + "]", 0, config::most));
}

/// A whole number, or a list of one for each layer that are all the same.
inline std::int64_t first_of_list(const config& c, const char* key, std::int64_t fallback) {
  const json* list = c.find({key});
  if (list == nullptr || !list->is_array()) return c.count({key}, fallback);
  if (list->empty()) complain(c.at(key) + " must be a whole number or a list of one for each layer, found []");
  for (const auto& one : *list)
    if (one != list->front()) complain(c.at(key) + " must be the same for all layers, found " + shown(*list));
  return config::whole(list->front(), c.at(key) + "[0]", 1, config::widest);
}

/// Qwen2MoeDecoderLayer, Qwen3MoeDecoderLayer: sparse every `decoder_sparse_step` layers, but for mlp_only_layers.
inline void read_qwen_experts(const config& c, shape& m, std::int64_t experts, std::int64_t active, std::int64_t width) {
  m.experts.count = c.nullable({"num_experts", "num_local_experts"}, experts, 0, 0, config::most);
  m.experts.active = c.count({"num_experts_per_tok"}, active);
  m.experts.ffn = c.size({"moe_intermediate_size"}, width);
  m.experts.every = c.count({"decoder_sparse_step"}, 1);
  read_dense_layers(c, "mlp_only_layers", m);
  if (!c.flag("use_sliding_window", false)) m.sliding_window = 0;
}

/// DeepSeek and GLM: leading dense layers, shared experts as wide as routed ones.
inline void read_deepseek_experts(const config& c, shape& m, std::int64_t experts, std::int64_t active, std::int64_t width,
                                  std::int64_t shared, std::int64_t dense) {
  m.experts.count = c.nullable({"n_routed_experts", "num_local_experts"}, experts, 0, 0, config::most);
  m.experts.active = c.nullable({"num_experts_per_tok"}, active, 1, 1, config::most);
  m.experts.ffn = c.size({"moe_intermediate_size"}, width);
  m.experts.shared = c.nullable({"n_shared_experts"}, shared, 0, 0, config::most);
  m.experts.shared_ffn = checked::mul(m.experts.shared, m.experts.ffn);
  m.experts.first_dense_layers = c.nullable({"first_k_dense_replace"}, dense, 0, 0, config::most);
  if (const auto step = c.count({"moe_layer_freq"}, 1); step > 1)  // DeepSeek: layer % moe_layer_freq == 0
    for (std::int64_t i = m.experts.first_dense_layers; i < m.layers; ++i)
      if (i % step != 0) make_dense(c, "moe_layer_freq", m, i);
}

inline void read_latent_attention(const config& c, shape& m, std::int64_t q_rank) {
  m.kv_heads = 0;
  m.head_dim = 0;
  m.mla.q_rank = c.nullable({"q_lora_rank"}, q_rank, 0);  // absent: the class default; null: no compression of queries
  m.mla.kv_rank = c.size({"kv_lora_rank"}, 512);
  m.mla.nope_dim = c.number({"qk_nope_head_dim"}, 128, 0);
  m.mla.rope_dim = c.number({"qk_rope_head_dim"}, 64, 0);
  m.mla.value_dim = c.size({"v_head_dim"}, 128);
}

/// The sparse families. Returns false where the family is not one of them.
inline bool read_sparse_decoder(const config& c, std::string_view type, shape& m) {
  const auto start = [&] { m = read_dense(c, dense_defaults(type)); };
  auto& e = m.experts;
  const auto local_experts = [&](std::int64_t count, std::int64_t active) {  // every layer, experts of intermediate_size
    e.count = c.count({"num_local_experts", "num_experts"}, count);
    e.active = c.count({"num_experts_per_tok"}, active);
    e.ffn = m.ffn;
  };
  if (type == "mixtral") {
    start();
    local_experts(8, 2);
  } else if (type == "granitemoe") {
    start();
    local_experts(8, 2);
  } else if (type == "granitemoeshared") {  // GraniteMoeSharedMLP beside the experts
    start();
    local_experts(8, 2);
    e.shared_ffn = c.number({"shared_intermediate_size"}, 1024, 0);
    e.shared = e.shared_ffn > 0 ? 1 : 0;
  } else if (type == "minicpm" && c.has("num_experts") && c.number({"num_experts"}, 0, 0, config::most) > 0) {  // MiniCPMMoE
    start();
    local_experts(8, 2);
  } else if (type == "hunyuan_v1_moe") {  // HunYuanMoEV1Moe: one shared MLP as wide as a routed expert
    start();
    m.qk_norm = true;
    e.count = c.number({"num_experts"}, 1, 1, config::most);
    e.active = first_of_list(c, "moe_topk", 1);
    e.ffn = m.ffn;
    e.shared = 1;
    e.shared_ffn = e.ffn;
    for (const char* key : {"num_shared_expert", "moe_intermediate_size"})
      if (const auto usual = std::string_view{key} == "num_shared_expert" ? 1 : m.ffn; c.has(key) && first_of_list(c, key, usual) != usual)
        complain(c.at(key) + " must be " + std::to_string(usual) + ", as HunYuanMoEV1MLP has it, found " + shown(*c.find({key})));
  } else if (type == "ernie4_5_moe") {  // Ernie4_5_MoeSparseMoeBlock, Ernie4_5_MoeStatics: the correction bias is a parameter
    start();
    if (m.attention_bias) complain(c.at("use_bias") + " must be false for ernie4_5_moe, found true");
    e.router_bias = true;
    e.count = c.number({"moe_num_experts", "num_experts"}, 64, 0, config::most);
    e.active = c.count({"moe_k", "num_experts_per_tok"}, 6);
    e.ffn = c.size({"moe_intermediate_size"}, 1536);
    e.shared = c.number({"moe_num_shared_experts"}, 2, 0, config::most);
    e.shared_ffn = checked::mul(e.shared, e.ffn);
    e.first_dense_layers = c.number({"moe_layer_start_index"}, 1, 0, config::most);
    e.every = c.count({"moe_layer_interval"}, 1);
    const auto last = c.number({"moe_layer_end_index"}, m.layers - 1, -1, config::most);
    for (std::int64_t i = last + 1; last >= 0 && i < m.layers; ++i) make_dense(c, "moe_layer_end_index", m, i);
  } else if (type == "dots1") {  // Dots1Attention: norms over each head; Dots1MoE: the correction bias is a buffer
    start();
    m.qk_norm = true;
    read_deepseek_experts(c, m, 0, 1, 1408, 0, 0);
  } else if (type == "olmoe") {
    start();
    m.qk_norm_full = true;
    local_experts(64, 8);
  } else if (type == "minimax_m2") {  // MiniMaxM2Attention: norms over the whole projections
    start();
    if (!c.flag("use_qk_norm", true)) complain(c.at("use_qk_norm") + " must be true for minimax_m2, found false");
    m.qk_norm_full = true;
    local_experts(256, 8);
  } else if (type == "phimoe") {  // PhimoeDecoderLayer: LayerNorm with bias
    start();
    m.norm = norm_kind::layernorm;
    m.norm_bias = true;
    m.head_bias = c.flag("lm_head_bias", false);
    local_experts(16, 2);
  } else if (type == "gpt_oss") {  // GptOssAttention: sinks; GptOssExperts, GptOssTopKRouter: biases
    start();
    m.attention_sinks = true;
    e.bias = e.router_bias = true;
    local_experts(128, 4);
  } else if (type == "qwen2_moe") {
    start();
    read_qwen_experts(c, m, 60, 4, 1408);
    e.shared = 1;
    e.shared_ffn = c.size({"shared_expert_intermediate_size"}, 5632);
    e.shared_gate = true;
  } else if (type == "qwen3_moe") {
    start();
    m.qk_norm = true;
    read_qwen_experts(c, m, 128, 8, 768);
  } else if (type == "qwen3_vl_moe_text") {
    start();
    m.qk_norm = true;
    read_qwen_experts(c, m, 60, 4, 1408);
  } else if (type == "deepseek") {  // deepseek-moe: ordinary attention, code beside the checkpoint
    start();
    read_deepseek_experts(c, m, ask, ask, ask, 0, 0);
  } else if (type == "deepseek_v2") {
    start();
    read_latent_attention(c, m, 1536);
    read_deepseek_experts(c, m, 64, ask, 1407, 2, 0);
  } else if (type == "deepseek_v3") {  // the correction bias is a buffer in transformers, MTP modules are not built
    start();
    read_latent_attention(c, m, 1536);
    read_deepseek_experts(c, m, 256, 8, 2048, 1, 3);
  } else if (type == "glm4_moe") {
    start();
    m.qk_norm = c.flag("use_qk_norm", false);
    m.rotary_percent = c.percent({"partial_rotary_factor"}, 50);
    read_deepseek_experts(c, m, 128, 8, 1408, 1, 1);
  } else if (type == "llama4_text") {  // Llama4TextMoe: experts and one shared expert of intermediate_size
    start();
    local_experts(16, 1);
    m.ffn = c.size({"intermediate_size_mlp"}, 16384);
    e.shared = 1;
    e.shared_ffn = e.ffn;
    e.every = c.count({"interleave_moe_layer_step"}, 1);
    if (const json* list = c.find({"moe_layers"}); list != nullptr && !list->is_null()) {
      if (!list->is_array()) complain(c.at("moe_layers") + " must be a list of layer numbers, found " + shown(*list));
      e.every = 1;
      std::vector<bool> sparse(static_cast<std::size_t>(m.layers));
      for (const auto& layer : *list)
        if (const auto i = config::whole(layer, c.at("moe_layers"), 0, config::most); i < m.layers) sparse[static_cast<std::size_t>(i)] = true;
      for (std::int64_t i = 0; i < m.layers; ++i)
        if (!sparse[static_cast<std::size_t>(i)]) make_dense(c, "moe_layers", m, i);
    }
  } else if (type == "dbrx") {  // DbrxConfig: attn_config, ffn_config; LayerNorm without bias
    const auto attention = c.child("attn_config");
    const auto ffn = c.child("ffn_config");
    m.layers = c.count({"n_layers", "num_hidden_layers"}, 24);
    m.hidden = c.size({"d_model", "hidden_size"}, 2048);
    m.heads = c.count({"n_heads", "num_attention_heads"}, 16);
    m.kv_heads = attention.count({"kv_n_heads"}, 1);
    m.vocab = c.size({"vocab_size"}, 32000);
    m.max_positions = c.size({"max_seq_len", "max_position_embeddings"}, 2048);
    m.tied = c.flag("tie_word_embeddings", false);
    m.norm = norm_kind::layernorm;
    m.fused_qkv = true;
    m.ffn = e.ffn = ffn.size({"ffn_hidden_size"}, 3584);
    e.count = ffn.count({"moe_num_experts"}, 4);
    e.active = ffn.count({"moe_top_k"}, 1);
  } else {
    return false;
  }
  return true;
}

}  // namespace headroom::io::detail
