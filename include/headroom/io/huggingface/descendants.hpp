// Distributed under the Boost Software License, Version 1.0.
// Decoders of 2025 and 2026 that are made of the parts of earlier ones. A comment names the class that they build on, in transformers 5.16's
// modular_<family>.py, and what they change of it.
#pragma once

#include <headroom/io/huggingface/dense.hpp>
#include <headroom/io/huggingface/sparse.hpp>

namespace headroom::io::detail {

/// mlp_layer_types: "dense" or "sparse", layer by layer. Without it the first `dense` layers are; first_k_dense_replace, which the class does
/// not read, must not say otherwise.
inline void read_mlp_layer_types(const config& c, shape& m, std::int64_t dense) {
  const json* list = c.find({"mlp_layer_types"});
  if (list == nullptr || list->is_null()) {
    m.experts.first_dense_layers = dense;
    if (c.has("first_k_dense_replace") && c.number({"first_k_dense_replace"}, dense, 0, config::most) != dense)
      complain(c.at("first_k_dense_replace") + " must be " + std::to_string(dense) + " without mlp_layer_types, as the class builds it, found " + shown(c.find({"first_k_dense_replace"})));
    return;
  }
  const auto path = c.at("mlp_layer_types");
  if (!list->is_array() || static_cast<std::int64_t>(list->size()) != m.layers)
    complain(path + " must be a list of " + std::to_string(m.layers) + " words, one for each layer, found " + shown(*list));
  std::int64_t first = 0;
  for (; first < m.layers && (*list)[static_cast<std::size_t>(first)] == "dense"; ++first) {}
  m.experts.first_dense_layers = first;
  for (std::int64_t i = first; i < m.layers; ++i) {
    const auto& word = (*list)[static_cast<std::size_t>(i)];
    if (word == "dense")
      make_dense(c, "mlp_layer_types", m, i);
    else if (word != "sparse")
      complain(path + " must hold dense and sparse alone, found " + shown(word));
  }
}

/// Routed experts and shared ones as wide as they, by the words of a family.
inline void read_routed(const config& c, shape& m, const char* count, std::int64_t experts, std::int64_t active, std::int64_t width, const char* shared, std::int64_t shared_experts) {
  auto& e = m.experts;
  e.count = c.count({count, "num_local_experts"}, experts);
  e.active = c.count({"num_experts_per_tok"}, active);
  e.ffn = c.size({"moe_intermediate_size"}, width);
  e.shared = c.nullable({shared}, shared_experts, 0, 0, config::most);
  e.shared_ffn = checked::mul(e.shared, e.ffn);
}

/// Code beside the checkpoint (inclusionAI Ling and Ring, modeling_bailing_moe_v2.py): the correction bias is a buffer, and a norm over each
/// head's q and k is there where use_qk_norm says so.
inline void finish_bailing(const config& c, shape& m) {
  read_routed(c, m, "num_experts", ask, ask, ask, "num_shared_experts", 0);
  m.experts.first_dense_layers = c.number({"first_k_dense_replace"}, 0, 0, config::most);
  m.fused_qkv = true;
  m.qk_norm = c.flag("use_qk_norm", false);
  m.output_bias = c.flag("use_bias", false);
  if (c.flag("norm_head", false)) complain(c.at("norm_head") + " must be false for bailing_moe, found true");
  if (c.number({"num_nextn_predict_layers"}, 0, 0, config::most) != 0)
    complain(c.at("num_nextn_predict_layers") + " must be 0 for bailing_moe: its modules of multi-token prediction are not known here, found " + shown(c.find({"num_nextn_predict_layers"})));
}

/// DeepseekV32Attention: DeepseekV3DecoderLayer over keys that an indexer chooses, in every layer. Modules of multi-token prediction are not built.
inline void finish_sparse_attention(const config& c, shape& m, const mla_shape& usual, std::int64_t index_heads) {
  read_latent_attention(c, m, usual);
  if (m.mla.q_rank == 0) complain(c.at("q_lora_rank") + " must be a number where layers have an indexer, found null");
  require_equal(c, "qk_head_dim", "qk_nope_head_dim + qk_rope_head_dim", m.mla.nope_dim + m.mla.rope_dim);
  m.mla.index_heads = c.count({"index_n_heads"}, index_heads);
  m.mla.index_dim = c.size({"index_head_dim"}, 128);
  m.mla.index_keys = c.size({"index_topk"}, 2048);
  if (m.mla.index_dim < m.mla.rope_dim) complain(c.at("index_head_dim") + " must be at least qk_rope_head_dim, " + std::to_string(m.mla.rope_dim) + ", found " + std::to_string(m.mla.index_dim));
  auto& e = m.experts;
  e.count = c.count({"num_local_experts", "n_routed_experts", "num_experts"}, 256);
  e.active = c.count({"num_experts_per_tok"}, 8);
  e.ffn = c.size({"moe_intermediate_size"}, 2048);
  e.shared = c.number({"n_shared_experts"}, 1, 0, config::most);
  e.shared_ffn = checked::mul(e.shared, e.ffn);
  if (c.count({"moe_layer_freq"}, 1) != 1) complain(c.at("moe_layer_freq") + " must be 1, as the class builds it, found " + shown(c.find({"moe_layer_freq"})));
  read_mlp_layer_types(c, m, c.number({"first_k_dense_replace"}, 3, 0, config::most));
  if (e.first_dense_layers > m.layers) e.first_dense_layers = m.layers;
  m.pattern.add({mixer_kind::sparse_attention, feed_forward_kind::unset});
}

/// GlmMoeDsaConfig: layers that take over an earlier one's choice (indexer_types "shared") are not known here.
inline void require_own_indexers(const config& c, const shape& m) {
  const json* pattern = c.find({"index_topk_pattern"});
  const json* types = c.find({"indexer_types"});
  const bool listed = types != nullptr && !types->is_null();
  if (!listed && pattern != nullptr && !pattern->is_null()) complain(c.at("index_topk_pattern") + " is not read here; say the same with indexer_types, found " + shown(*pattern));
  if (!listed && c.number({"index_topk_freq"}, 1, 0, config::most) <= 1) return;
  const auto path = c.at(listed ? "indexer_types" : "index_topk_freq");
  if (!listed) complain(path + " must be 1: layers that take over another's keys are counted, and not walked, by this version; found " + shown(c.find({"index_topk_freq"})));
  if (!types->is_array() || static_cast<std::int64_t>(types->size()) != m.layers) complain(path + " must be a list of " + std::to_string(m.layers) + " words, one for each layer, found " + shown(*types));
  for (const auto& one : *types)
    if (one != "full") complain(path + " must be full in all layers: layers that take over another's keys are counted, and not walked, by this version; found " + shown(one));
}

inline constexpr decoder_family descended_decoders[] = {
    {"cwm", read_mlp_bias},   // Llama behind a window
    {"ministral3", [](const config&, shape& m) { m.scaled_queries = true; }},  // Mistral with get_llama_4_attn_scale
    {"ministral", nullptr},   // Mistral
    {"hyperclovax", [](const config& c, shape& m) { read_mlp_bias(c, m), m.post_norms = c.flag("use_post_norm", true); }},  // Granite with Gemma2's norms
    {"mellum", [](const config& c, shape& m) {  // Qwen3Moe with mlp_layer_types
       m.qk_norm = true;
       m.experts.count = c.count({"num_local_experts", "num_experts"}, 64);
       m.experts.active = c.count({"num_experts_per_tok"}, 8);
       m.experts.ffn = c.size({"moe_intermediate_size"}, 896);
       read_mlp_layer_types(c, m, 0);
     }},
    {"jais2", [](const config& c, shape& m) { m.mlp_bias = c.flag("mlp_bias", true), layer_norms(m, true), m.mlp = mlp_kind::plain; }},  // Llama; NemotronMLP, LayerNorm
    {"vaultgemma", [](const config& c, shape& m) { finish_gemma2(c, m, 50, 30), m.post_norms = false; }},              // Gemma2 without the norms behind
    {"mimo", [](const config& c, shape& m) { read_window_switch(c, m), m.mtp_layers = c.number({"num_nextn_predict_layers"}, 0, 0, config::most); }},  // Qwen2
    {"youtu", [](const config& c, shape& m) { read_latent_attention(c, m, deepseek_heads); }},  // Llama over DeepseekV3Attention
    {"minicpm3", [](const config& c, shape& m) { read_mlp_bias(c, m), read_latent_attention(c, m, {768, 256, 64, 32, 0}); }},  // Llama over DeepseekV2Attention
    {"granite_swa", [](const config& c, shape& m) { read_mlp_bias(c, m), m.attention_sinks = m.sinks_scale = true; }},
    {"granitemoe_swa", [](const config& c, shape& m) {
       read_local_experts(c, m, 8, 2, false);
       m.attention_sinks = m.sinks_scale = true;
       m.experts.shared_ffn = c.number({"shared_intermediate_size"}, 0, 0);
       m.experts.shared = m.experts.shared_ffn > 0 ? 1 : 0;
       m.experts.chosen_logits = true;
       m.experts.plain_router = m.experts.shared > 0;  // GraniteMoeSWATopKRouter: a linear layer in the model's format
     }},
    {"flex_olmo", [](const config& c, shape& m) { finish_olmo2(c, m), read_local_experts(c, m, 7, 5); }},  // Olmoe behind Olmo2's norms
    {"exaone_moe", [](const config& c, shape& m) {  // OlmoeDecoderLayer over Exaone4Attention
       m.qk_norm = true;
       read_routed(c, m, "num_experts", 64, 8, 1024, "num_shared_experts", 1);
       read_mlp_layer_types(c, m, c.number({"first_k_dense_replace"}, 1, 0, config::most));
     }},
    {"solar_open", [](const config& c, shape& m) {  // LlamaDecoderLayer with Glm4MoeMoE in every layer
       read_routed(c, m, "n_routed_experts", 128, 8, 1280, "n_shared_experts", 1);
       read_mlp_layer_types(c, m, 0);
     }},
    {"hy_v3", [](const config& c, shape& m) {  // DeepseekV3DecoderLayer over ApertusAttention
       m.qk_norm = true;
       read_mlp_bias(c, m);
       if (m.mlp_bias) complain(c.at("mlp_bias") + " must be false for hy_v3, found true");
       read_routed(c, m, "num_experts", 192, 8, 1536, "num_shared_experts", 1);
       if (m.experts.shared_ffn == 0) m.experts.shared_ffn = m.ffn;  // HYV3MLP takes a width of 0 for none given
       read_mlp_layer_types(c, m, m.layers > 0 ? 1 : 0);
     }},
    {"mistral4", [](const config& c, shape& m) {  // DeepseekV3DecoderLayer
       read_latent_attention(c, m, {1024, 256, 64, 64, 128});
       m.scaled_queries = true;
       read_deepseek_experts(c, m, 128, 4, 2048, 1, 0);
       m.experts.plain_router = m.experts.narrow_scores = m.sparse();  // Mistral4TopkRouter: a linear layer and a softmax in the model's format, and no correction bias
     }},
    {"glm4_moe_lite", [](const config& c, shape& m) {  // Glm4MoeDecoderLayer over DeepseekV3Attention
       read_latent_attention(c, m, {768, 512, 192, 64, 256});
       require_equal(c, "head_dim", "qk_rope_head_dim", m.mla.rope_dim);  // another name of it
       read_routed(c, m, "n_routed_experts", 64, 4, 1536, "n_shared_experts", 1);
       read_mlp_layer_types(c, m, 1);
     }},
    {"bailing_moe", finish_bailing},
    {"apertus", [](const config&, shape& m) { m.mlp = mlp_kind::plain, m.qk_norm = true; }},  // Llama with NemotronMLP and Qwen3's norms
    {"bitnet", [](const config& c, shape& m) {  // Llama with a norm in front of both halves' last matrix
       m.sub_norms = true;
       if (!c.flag("use_sub_norms", true)) complain(c.at("use_sub_norms") + " must be true or absent: BitNetModel of transformers makes these norms whatever it says, found false");
       require_plain_heads(c, m, "the norm in front of o_proj");
       if (c.has("quantization_config")) complain(c.at("quantization_config") + " must be absent: ternary matrices are not modelled; what their unpacked weights train as is");
     }},
    {"nanochat", [](const config& c, shape& m) {  // Llama with CLIP's MLP; norms without weights, one of them behind the embedding
       m.mlp = mlp_kind::plain;
       m.norm_weight = false;
       m.qk_norm = m.embedding_norm = true;
       m.logit_softcap = c.softcap("final_logit_softcapping", 15);
     }},
    {"deepseek_v32", [](const config& c, shape& m) { finish_sparse_attention(c, m, deepseek_heads, 64); }},
    {"glm_moe_dsa", [](const config& c, shape& m) {
       finish_sparse_attention(c, m, {2048, 512, 192, 64, 256}, 32);
       m.mla.index_handed_on = true;
       require_own_indexers(c, m);
     }},
};

/// Returns false where the family is not one of them.
inline bool read_descended_decoder(const config& c, std::string_view type, shape& m) { return read_listed(descended_decoders, c, type, m); }

}  // namespace headroom::io::detail
