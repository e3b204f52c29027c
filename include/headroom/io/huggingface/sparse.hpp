// Distributed under the Boost Software License, Version 1.0.
// Mixtures of experts, with and without latent attention.
#pragma once

#include <headroom/io/huggingface/decoders.hpp>
#include <headroom/io/huggingface/dense.hpp>

#include <algorithm>
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
  m.experts.count = c.number({"num_experts", "num_local_experts"}, experts, 0, config::most);
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
  m.experts.first_dense_layers = c.number({"first_k_dense_replace"}, dense, 0, config::most);
  if (const json* said = c.find({"n_routed_experts", "num_local_experts"}); said != nullptr && *said == 0 && m.experts.first_dense_layers < m.layers)
    complain(c.at("n_routed_experts") + " must be at least 1 where layers have experts (first_k_dense_replace), or null, found 0");
  if (const auto step = c.count({"moe_layer_freq"}, 1); step > 1)  // DeepSeek: layer % moe_layer_freq == 0
    for (std::int64_t i = m.experts.first_dense_layers; i < m.layers; ++i)
      if (i % step != 0) make_dense(c, "moe_layer_freq", m, i);
}

/// DeepSeek's latent attention. `usual`: the class's defaults; where it has none for v_head_dim, that is hidden / heads (MiniCPM3Config).
inline void read_latent_attention(const config& c, shape& m, const mla_shape& usual) {
  m.kv_heads = 0;
  m.head_dim = 0;
  m.mla.q_rank = c.nullable({"q_lora_rank"}, usual.q_rank, 0);  // absent: the class default; null: no compression of queries
  m.mla.kv_rank = c.size({"kv_lora_rank"}, usual.kv_rank);
  m.mla.nope_dim = c.number({"qk_nope_head_dim"}, usual.nope_dim, 0);
  m.mla.rope_dim = c.number({"qk_rope_head_dim"}, usual.rope_dim, 0);
  const auto derived = m.hidden / m.heads;
  m.mla.value_dim = usual.value_dim > 0 ? c.size({"v_head_dim"}, usual.value_dim) : c.nullable({"v_head_dim"}, derived, derived);
}
inline constexpr mla_shape deepseek_heads{1536, 512, 128, 64, 128};

/// Every layer has experts, as wide as intermediate_size says. Some classes have num_experts as another name.
inline void read_local_experts(const config& c, shape& m, std::int64_t count, std::int64_t active, bool other_name = true) {
  m.experts.count = other_name ? c.count({"num_local_experts", "num_experts"}, count) : c.count({"num_local_experts"}, count);
  if (!other_name) require_equal(c, "num_experts", "num_local_experts", m.experts.count);
  m.experts.active = c.count({"num_experts_per_tok"}, active);
  m.experts.ffn = m.ffn;
}

inline void finish_mixtral(const config& c, shape& m) { read_local_experts(c, m, 8, 2); }

inline void finish_granite_shared(const config& c, shape& m) {  // GraniteMoeSharedMLP beside the experts
  read_local_experts(c, m, 8, 2, false);
  m.experts.shared_ffn = c.number({"shared_intermediate_size"}, 0, 0);
  m.experts.shared = m.experts.shared_ffn > 0 ? 1 : 0;
  m.experts.plain_router = m.experts.shared > 0;  // GraniteMoeSharedTopKRouter: a linear layer in the model's format
  m.experts.chosen_logits = m.experts.parameters = m.fused_gate_up = true;  // GraniteMoeSharedParallelExperts, GraniteMoeSharedMLP.input_linear
}

inline void finish_hunyuan(const config& c, shape& m) {  // HunYuanMoEV1Moe: one shared MLP as wide as a routed expert
  auto& e = m.experts;
  m.qk_norm = true;
  e.count = c.number({"num_experts", "num_local_experts"}, 1, 1, config::most);
  e.active = first_of_list(c, "moe_topk", c.count({"num_experts_per_tok"}, 1));
  if (c.has("num_experts_per_tok") && c.count({"num_experts_per_tok"}, 1) != e.active)  // attribute_map: another name of it
    complain(c.at("num_experts_per_tok") + " must be " + std::to_string(e.active) + ", as moe_topk says, found " + shown(c.find({"num_experts_per_tok"})));
  e.ffn = m.ffn;
  e.plain_router = e.fp32_router = e.fp32_weights = true;  // HunYuanMoEV1Gate: made in fp32, and loaded so (core_model_loading.py, empty_param.dtype)
  e.shared = 1;
  e.shared_ffn = e.ffn;
  for (const char* key : {"num_shared_expert", "moe_intermediate_size"})
    if (const auto usual = std::string_view{key} == "num_shared_expert" ? 1 : m.ffn; c.has(key) && first_of_list(c, key, usual) != usual)
      complain(c.at(key) + " must be " + std::to_string(usual) + ", as HunYuanMoEV1MLP has it, found " + shown(c.find({key})));
}

inline void finish_ernie(const config& c, shape& m) {  // Ernie4_5_MoeSparseMoeBlock, Ernie4_5_MoeStatics: the correction bias is a parameter
  auto& e = m.experts;
  if (m.attention_bias) complain(c.at("use_bias") + " must be false for ernie4_5_moe, found true");
  e.router_bias = e.clamped_sum = true;
  m.rotary = rotary_kind::fp32_pairs;
  e.count = c.number({"moe_num_experts", "num_experts"}, 64, 0, config::most);
  e.active = c.count({"moe_k", "num_experts_per_tok"}, 6);
  e.ffn = c.size({"moe_intermediate_size"}, 1536);
  e.shared = c.number({"moe_num_shared_experts"}, 2, 0, config::most);
  e.shared_ffn = checked::mul(e.shared, e.ffn);
  e.first_dense_layers = c.number({"moe_layer_start_index"}, 1, 0, config::most);
  e.every = c.count({"moe_layer_interval"}, 1);
  const auto last = c.number({"moe_layer_end_index"}, m.layers - 1, -1, config::most);
  for (std::int64_t i = last + 1; last >= 0 && i < m.layers; ++i) make_dense(c, "moe_layer_end_index", m, i);
}

inline void finish_minimax_m2(const config& c, shape& m) {  // MiniMaxM2Attention: norms over the whole projections
  if (!c.flag("use_qk_norm", true)) complain(c.at("use_qk_norm") + " must be true for minimax_m2, found false");
  m.qk_norm_full = m.experts.fp32_weights = true;
  read_local_experts(c, m, 256, 8);
}

inline void finish_phimoe(const config& c, shape& m) {  // PhimoeDecoderLayer: LayerNorm with bias
  m.norm = norm_kind::layernorm;
  m.norm_bias = true;
  m.head_bias = c.flag("lm_head_bias", false);
  read_local_experts(c, m, 16, 2, false);
}

inline void finish_gpt_oss(const config& c, shape& m) {  // GptOssAttention: sinks; GptOssExperts, GptOssTopKRouter: biases
  m.attention_sinks = m.fp32_norm = true;  // GptOssRMSNorm
  m.rotary = rotary_kind::split_halves;
  m.experts.bias = m.experts.router_bias = true;
  read_local_experts(c, m, 128, 4);
}

inline void finish_qwen2_moe(const config& c, shape& m) {
  if (!c.has("num_experts")) require_equal(c, "num_local_experts", "num_experts", 60);  // which the class does not read
  read_qwen_experts(c, m, 60, 4, 1408);
  m.experts.shared = 1;
  m.experts.shared_ffn = c.size({"shared_expert_intermediate_size"}, 5632);
  m.experts.shared_gate = true;
}

inline void finish_glm4_moe(const config& c, shape& m) {
  m.qk_norm = c.flag("use_qk_norm", false);
  m.rotary_percent = rotary_percent_of(c, 50);
  read_deepseek_experts(c, m, 128, 8, 1408, 1, 1);
}

/// Layers with positions see their own chunk of the sequence, and torch's attention reads a mask for it from a chunk's length on; those without see all
/// (configuration_llama4.py: layer_types, else no_rope_layers, else every no_rope_layer_interval-th). A chunk has a window's masks.
inline void read_chunks(const config& c, shape& m) {
  const auto every = c.count({"no_rope_layer_interval"}, 4);
  m.full_layers = m.layers / every;
  if (const json* list = c.find({"no_rope_layers"}); list != nullptr && !list->is_null() && !(list->is_array() && list->empty())) {
    if (!list->is_array() || static_cast<std::int64_t>(list->size()) != m.layers) complain(c.at("no_rope_layers") + " must be a list of 0 and 1, one for each of " + std::to_string(m.layers) + " layers, found " + shown(*list));
    m.full_layers = std::count_if(list->begin(), list->end(), [](const json& turns) { return turns == 0 || turns == false; });
  }
  if (const json* list = c.find({"layer_types"}); list != nullptr && list->is_array()) m.full_layers = std::count(list->begin(), list->end(), json("full_attention"));
  if (m.full_layers > m.layers) complain(c.at("no_rope_layers") + " names more layers than there are, " + std::to_string(m.layers) + "; found " + std::to_string(m.full_layers) + " without positions");
  m.sliding_window = c.size({"attention_chunk_size"}, 8192);  // null ends in masking_utils.py create_chunked_causal_mask
  m.chunked = true;
  m.qk_norm = c.flag("use_qk_norm", true) && m.full_layers < m.layers;
}

inline void finish_llama4(const config& c, shape& m) {  // Llama4TextMoe: experts and one shared expert of intermediate_size
  read_chunks(c, m);
  auto& e = m.experts;
  read_local_experts(c, m, 16, 1, false);
  m.ffn = c.size({"intermediate_size_mlp"}, 16384);
  e.shared = 1;
  e.shared_ffn = e.ffn;
  e.every = c.count({"interleave_moe_layer_step"}, 1);
  const json* list = c.find({"moe_layers"});
  if (list == nullptr || list->is_null()) return;
  if (!list->is_array()) complain(c.at("moe_layers") + " must be a list of layer numbers, found " + shown(*list));
  e.every = 1;
  std::vector<bool> sparse(static_cast<std::size_t>(m.layers));
  for (const auto& layer : *list)
    if (const auto i = config::whole(layer, c.at("moe_layers"), 0, config::most); i < m.layers) sparse[static_cast<std::size_t>(i)] = true;
  for (std::int64_t i = 0; i < m.layers; ++i)
    if (!sparse[static_cast<std::size_t>(i)]) make_dense(c, "moe_layers", m, i);
}

inline constexpr decoder_family sparse_decoders[] = {
    {"mixtral", [](const config& c, shape& m) { m.experts.fp32_weights = true, finish_mixtral(c, m); }},  // MixtralTopKRouter
    {"granitemoe", [](const config& c, shape& m) { read_local_experts(c, m, 8, 2, false), m.experts.parameters = m.experts.chosen_logits = true; }},  // GraniteMoeParallelExperts
    {"granitemoeshared", finish_granite_shared},
    {"hunyuan_v1_moe", finish_hunyuan},
    {"ernie4_5_moe", finish_ernie},
    {"dots1", [](const config& c, shape& m) { m.qk_norm = true, read_deepseek_experts(c, m, 0, 1, 1408, 0, 0); }},  // the correction bias is a buffer
    {"olmoe", [](const config& c, shape& m) { m.qk_norm_full = true, read_local_experts(c, m, 64, 8), require_plain_heads(c, m, "the norm of OlmoeAttention"); }},
    {"minimax_m2", finish_minimax_m2},
    {"phimoe", finish_phimoe},
    {"gpt_oss", finish_gpt_oss},
    {"qwen2_moe", finish_qwen2_moe},
    {"qwen3_moe", [](const config& c, shape& m) { m.qk_norm = true, read_qwen_experts(c, m, 128, 8, 768); }},
    {"qwen3_vl_moe_text", [](const config& c, shape& m) { m.qk_norm = m.experts.parameters = true, read_qwen_experts(c, m, 60, 4, 1408); }},  // Qwen3VLMoeTextExperts
    {"deepseek", [](const config& c, shape& m) { read_deepseek_experts(c, m, ask, ask, ask, 0, 0); }},  // ordinary attention, code beside the checkpoint
    {"deepseek_v2", [](const config& c, shape& m) {
       if (!c.has("vocab_size")) complain(c.at("vocab_size") + " must be stated for deepseek_v2: releases of transformers have 32000 and 102400 without it");
       read_latent_attention(c, m, deepseek_heads);
       read_deepseek_experts(c, m, 64, ask, 1407, 2, 0);
       if (c.flag("mlp_bias", false)) complain(c.at("mlp_bias") + " must be false for deepseek_v2, found true");
       require_equal(c, "num_experts", "n_routed_experts", m.experts.count);  // another name of it in transformers 5, and no key of 4
     }},
    // The correction bias is a buffer in transformers, MTP modules are not built.
    {"deepseek_v3", [](const config& c, shape& m) { read_latent_attention(c, m, deepseek_heads), read_deepseek_experts(c, m, 256, 8, 2048, 1, 3); }},
    {"glm4_moe", finish_glm4_moe},
    {"glm4v_moe_text", [](const config& c, shape& m) {  // Glm4vMoeTextAttention has no norms
       finish_glm4_moe(c, m), m.qk_norm = false;
       if (m.head_dim == 0) m.head_dim = m.hidden / m.heads;
     }},
    {"llama4_text", finish_llama4},
};

inline void read_dbrx(const config& c, shape& m) {  // DbrxConfig: attn_config, ffn_config; LayerNorm without bias
  const auto ffn = c.child("ffn_config");
  read_sizes(c, {.layers = {"n_layers", 24, "num_hidden_layers"}, .hidden = {"d_model", 2048}, .heads = {"n_heads", 16, "num_attention_heads"},
                 .vocab = {"vocab_size", 32000}, .positions = {"max_seq_len", 2048, "max_position_embeddings"}}, m);
  m.kv_heads = c.child("attn_config").count({"kv_n_heads"}, 1);
  m.norm = norm_kind::layernorm;
  m.fused_qkv = m.experts.parameters = true;  // DbrxExpertGLU
  m.ffn = m.experts.ffn = ffn.size({"ffn_hidden_size"}, 3584);
  require_equal(c, "hidden_size", "d_model", m.hidden);
  m.experts.count = ffn.count({"moe_num_experts"}, 4);
  m.experts.active = ffn.count({"moe_top_k"}, 1);
}

/// norm_topk_prob: whether the chosen experts' weights are divided by their sum, by the class's default. DeepSeek-V2's class never divides.
inline void read_weight_sums(const config& c, std::string_view type, shape& m) {
  struct usual {
    std::string_view type;
    bool divides;
  };
  static constexpr usual families[] = {{"qwen2_moe", false}, {"qwen3_moe", false}, {"olmoe", false}, {"flex_olmo", false}, {"qwen3_next", true}, {"mellum", true},
                                       {"deepseek_v3", true}, {"dots1", false},   {"glm4_moe", true}, {"glm4v_moe_text", true}, {"glm4_moe_lite", true}, {"mistral4", true}, {"exaone_moe", true}, {"solar_open", true}, {"deepseek_v32", true}, {"glm_moe_dsa", true}};
  if (type == "deepseek_v2") m.experts.raw_weights = true;
  for (const auto& f : families)
    if (type == f.type) m.experts.raw_weights = !c.flag("norm_topk_prob", f.divides);
}

/// The sparse families. Returns false where the family is not one of them.
inline bool read_sparse_decoder(const config& c, std::string_view type, shape& m) {
  if (type == "dbrx") return read_dbrx(c, m), true;
  if (type == "minicpm" && c.has("num_experts") && c.number({"num_experts"}, 0, 0, config::most) > 0) {  // MiniCPMMoE
    m = read_dense(c, dense_defaults(type));
    return finish_mixtral(c, m), true;
  }
  return read_listed(sparse_decoders, c, type, m);
}

}  // namespace headroom::io::detail
