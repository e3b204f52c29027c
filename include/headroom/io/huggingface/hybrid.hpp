// Distributed under the Boost Software License, Version 1.0.
// Decoders whose layers are of several kinds. Class defaults are those of transformers 5.16's configuration_<family>.py.
#pragma once

#include <headroom/io/huggingface/mamba.hpp>
#include <headroom/model/check.hpp>

namespace headroom::io::detail {

/// Qwen3NextForCausalLM, Qwen3_5ForCausalLM, Qwen3_5MoeForCausalLM: Gated DeltaNet, and attention with a gated output in every fourth layer.
inline void read_qwen3_next(const config& c, std::string_view type, shape& m) {
  m = read_dense(c, dense_defaults(type));
  m.qk_norm = m.gated_attention = m.norm_offset = true;
  m.rotary_percent = c.percent({"partial_rotary_factor"}, 25);
  m.sliding_window = 0;
  if (!c.flag("attn_output_gate", true)) complain(c.at("attn_output_gate") + " must be true for " + std::string(type) + ", found false");
  m.ssm.heads = c.count({"linear_num_value_heads"}, 32);
  m.ssm.head_dim = c.size({"linear_value_head_dim"}, 128);
  m.ssm.state = c.size({"linear_key_head_dim"}, 128);
  m.ssm.groups = c.count({"linear_num_key_heads"}, 16);
  m.ssm.conv = c.size({"linear_conv_kernel_dim"}, 4);
  if (m.ssm.heads % m.ssm.groups != 0)
    complain(c.at("linear_num_value_heads") + " must be a multiple of linear_num_key_heads, found " + std::to_string(m.ssm.heads) + " and " + std::to_string(m.ssm.groups));
  constexpr layer_kind linear{mixer_kind::gated_delta_net, feed_forward_kind::unset}, full{};
  if (!read_layer_types(c, {"layer_types"}, {{"linear_attention", linear}, {"full_attention", full}}, m)) {
    const auto interval = c.number({"full_attention_interval"}, 4, 1, layer_pattern::capacity);
    for (std::int64_t i = 1; i < interval; ++i) m.pattern.add(linear);
    m.pattern.add(full);
  }
  if (type == "qwen3_5_text") return;
  const bool next = type == "qwen3_next";
  read_qwen_experts(c, m, next ? 512 : 256, next ? 10 : 8, 512);
  m.experts.shared = 1;
  m.experts.shared_ffn = c.size({"shared_expert_intermediate_size"}, 512);
  m.experts.shared_gate = true;
}

/// OlmoHybridForCausalLM: Gated DeltaNet behind its norms, and in every fourth layer attention in front of its own, with norms over the whole of q and k.
inline void read_olmo_hybrid(const config& c, shape& m) {
  m = read_dense(c, dense_defaults("olmo_hybrid"));
  m.qk_norm_full = m.norm_after = m.fp32_norm = true;
  m.rotary = rotary_kind::fp32_halves;
  m.sliding_window = 0;
  const auto rope = c.child("rope_parameters");
  if (const json* theta = rope.find({"rope_theta"}); theta != nullptr && theta->is_null()) m.position = position_kind::none;
  auto& s = m.ssm;
  s.groups = c.nullable({"linear_num_key_heads"}, m.heads, m.heads, 1, config::most);
  s.heads = c.nullable({"linear_num_value_heads"}, m.heads, m.heads, 1, config::most);
  const auto usual = checked::mul(3, m.hidden) / checked::mul(4, s.groups);
  s.state = c.nullable({"linear_key_head_dim"}, usual, usual);
  s.head_dim = c.nullable({"linear_value_head_dim"}, checked::mul(2, s.state), checked::mul(2, s.state));
  s.conv = c.count({"linear_conv_kernel_dim"}, 4);
  if (s.heads % s.groups != 0)
    complain(c.at("linear_num_value_heads") + " must be a multiple of linear_num_key_heads, found " + std::to_string(s.heads) + " and " + std::to_string(s.groups));
  constexpr layer_kind linear{mixer_kind::gated_delta_net, feed_forward_kind::unset}, full{};
  if (read_layer_types(c, {"layer_types"}, {{"linear_attention", linear}, {"mamba", linear}, {"full_attention", full}, {"attention", full}}, m)) return;
  for (std::int64_t i = 0; i < m.layers; ++i) m.pattern.add(i % 4 == 3 || (m.layers < 4 && i == m.layers - 1) ? full : linear);
  m.pattern = m.pattern.shortest(m.layers);
}

/// num_kv_shared_layers: the last layers read keys and values of the last one of their kind in front of them all; with use_double_wide_mlp their MLPs
/// are twice as wide (Gemma4TextAttention, Gemma4TextMLP). `wide`: whether use_double_wide_mlp says so.
inline void share_last_keys(const config& c, shape& m, std::int64_t shared, bool wide) {
  const auto first = m.layers - shared;
  if (shared == 0) return;
  if (wide && m.sparse()) complain(c.at("use_double_wide_mlp") + " must be false where enable_moe_block is true: a wide MLP beside experts is counted, and not walked, by this version; found true");
  if (first < 1) complain(c.at("num_kv_shared_layers") + " must leave a layer with keys of its own, found " + std::to_string(shared) + " of " + std::to_string(m.layers));
  const auto before = m.pattern;
  m.pattern = {};
  for (std::int64_t i = 0; i < m.layers; ++i) {
    const auto kind = before.at(i);
    const bool shares = i >= first;
    const auto mixer = !shares ? kind.mixer : kind.mixer == mixer_kind::global_attention ? mixer_kind::shared_global_attention : mixer_kind::shared_attention;
    m.pattern.add({mixer, shares && wide ? feed_forward_kind::wide : kind.feeds});
    if (shares && !headroom::detail::follows(m, i)) complain(c.at("num_kv_shared_layers") + " must leave a layer of each kind with keys of its own, found " + std::to_string(shared));
  }
}

/// Heads of Gemma 4's layers of full attention. Files that transformers has saved since 2026-08 say them layer by layer, in per_layer_config, in place of
/// global_head_dim and num_global_key_value_heads (configuration_gemma4.py, integrations/heterogeneity). `full(i)`: whether layer i is one.
struct full_heads {
  std::int64_t width{}, kv{};
};
template <class Full>
full_heads read_full_heads(const config& c, std::int64_t layers, const full_heads& others, const Full& full) {
  const auto width = c.size({"global_head_dim"}, 512), kv = c.nullable({"num_global_key_value_heads"}, others.kv, others.kv, 1, config::most);
  const json* by_layer = c.find({"per_layer_config"});
  if (by_layer == nullptr || by_layer->is_null()) return {width, c.flag("attention_k_eq_v", false) ? kv : others.kv};  // which the class reads there alone
  const auto refuse = [&](const json& found) {
    complain(c.at("per_layer_config") + " must say head_dim and num_key_value_heads of every layer of full attention, of all alike, and of no other, found " + shown(found));
  };
  if (!by_layer->is_object()) refuse(*by_layer);
  if (by_layer->empty()) return others;
  std::set<std::int64_t> named;
  full_heads sizes;
  for (const auto& [index, of] : by_layer->items()) {
    if (index.empty() || index.size() > 6 || index.find_first_not_of("0123456789") != index.npos || !of.is_object()) refuse(*by_layer);
    if (c.asked() != nullptr) c.asked()->insert(c.at("per_layer_config") + "." + index);
    for (const auto& [key, value] : of.items())
      if (key != "head_dim" && key != "num_key_value_heads") refuse(*by_layer);
    const config one{of, c.at("per_layer_config"), c.asked()};
    const full_heads here{one.size({"head_dim"}, others.width), one.count({"num_key_value_heads"}, others.kv)};
    if (!named.empty() && (here.width != sizes.width || here.kv != sizes.kv)) refuse(*by_layer);
    sizes = here;
    named.insert(std::stoll(index));
  }
  for (std::int64_t i = 0; i < layers; ++i)
    if (full(i) != named.contains(i)) refuse(*by_layer);
  if (*named.rbegin() >= layers) refuse(*by_layer);
  return sizes;
}

/// Gemma4ForCausalLM: attention over a window, and in every sixth layer over all positions with heads of another size; embeddings for each layer; last
/// layers that share the keys and values of the last ones in front of them. In some sizes experts beside every MLP. `unified`: Gemma4UnifiedForCausalLM, which has
/// neither embeddings for each layer nor experts.
inline void read_gemma4(const config& c, shape& m, bool unified = false) {
  m = read_dense(c, dense_defaults("gemma4_text"));
  m.activation = activation_of(c, {"hidden_activation"}, "gelu_pytorch_tanh");
  m.qk_norm = m.value_norm = m.post_norms = m.norm_power = true;
  m.logit_softcap = c.softcap("final_logit_softcapping", 0);
  m.head_dim = c.size({"head_dim"}, 256);
  m.global.keys_as_values = c.flag("attention_k_eq_v", false);
  if (const auto width = unified ? 0 : c.nullable({"hidden_size_per_layer_input"}, 256, 0, 0); width > 0) m.layer_input = {width, c.size({"vocab_size_per_layer_input"}, 262144)};
  if (!unified && c.flag("enable_moe_block", false)) {  // Gemma4TextRouter, Gemma4TextExperts
    m.experts.count = c.count({"num_experts"}, ask);
    m.experts.active = c.count({"top_k_experts"}, ask);
    m.experts.ffn = c.size({"moe_intermediate_size"}, ask);
    m.experts.beside_mlp = true;
  }
  if (c.text({"use_bidirectional_attention"}, "") == "all") complain(c.at("use_bidirectional_attention") + " must not be \"all\": a decoder sees what came before; found \"all\"");
  constexpr layer_kind local{}, global{mixer_kind::global_attention, feed_forward_kind::unset};
  if (read_layer_types(c, {"layer_types"}, {{"sliding_attention", local}, {"full_attention", global}}, m)) {
    if (m.kind_of(m.layers - 1).mixer != mixer_kind::global_attention) complain(c.at("layer_types") + " must end with full_attention, as the class makes it");
  } else {
    for (std::int64_t i = 0; i < m.layers; ++i) m.pattern.add((i + 1) % 6 == 0 || i == m.layers - 1 ? global : local);
  }
  const auto full = read_full_heads(c, m.layers, {m.head_dim, m.kv()}, [&](std::int64_t i) { return m.pattern.at(i).mixer == mixer_kind::global_attention; });
  m.global.head_dim = full.width;
  if (full.kv != m.kv() || m.global.keys_as_values) m.global.kv_heads = full.kv;
  share_last_keys(c, m, c.number({"num_kv_shared_layers"}, 0, 0, config::most), c.flag("use_double_wide_mlp", false));
  m.pattern = m.pattern.shortest(m.layers);
}

/// Lfm2MLP: two thirds of the width, times a factor, up to the next multiple. Each step is cut to a whole number, as Python's int() does.
inline std::int64_t lfm2_width(const config& c, std::int64_t stated) {
  if (!c.flag("block_auto_adjust_ff_dim", true)) return stated;
  const auto two_thirds = static_cast<std::int64_t>(static_cast<double>(checked::mul(2, stated)) / 3.0);
  const json* factor = c.find({"block_ffn_dim_multiplier"});
  if (factor != nullptr && factor->is_null()) return two_thirds;
  const auto scaled = static_cast<std::int64_t>(c.real({"block_ffn_dim_multiplier"}, 1.0, 1e-6, 1e6) * static_cast<double>(two_thirds));
  const auto multiple = c.size({"block_multiple_of"}, 256);
  return checked::mul(checked::ceil_div(scaled, multiple), multiple);
}

/// Lfm2ForCausalLM, Lfm2MoeForCausalLM: short convolutions between gates, and attention with norms over q and k in some layers.
inline void read_lfm2(const config& c, std::string_view type, shape& m) {
  const bool sparse = type == "lfm2_moe";
  m = read_dense(c, dense_defaults(type));
  m.activation = activation_kind::silu;
  m.tied = c.flag("tie_embedding", m.tied);
  m.qk_norm = true;
  m.sliding_window = 0;
  m.ssm.conv = c.size({"conv_L_cache"}, 3);
  m.ssm.bias = m.ssm.conv_bias = c.flag("conv_bias", false);
  if (!sparse) m.ffn = lfm2_width(c, c.size({"block_ff_dim", "intermediate_size"}, m.ffn));
  constexpr layer_kind convolution{mixer_kind::gated_convolution, feed_forward_kind::unset}, full{};
  if (!read_layer_types(c, {"layer_types"}, {{"conv", convolution}, {"linear_attention", convolution}, {"full_attention", full}}, m)) {
    if (sparse) complain(c.at("layer_types") + " is missing; it says which layers are conv and which are full_attention");
    std::vector<bool> attends(static_cast<std::size_t>(m.layers), !c.has("full_attn_idxs"));
    if (const json* list = c.find({"full_attn_idxs"}); list != nullptr && !list->is_null()) {
      if (!list->is_array()) complain(c.at("full_attn_idxs") + " must be a list of layer numbers, found " + shown(*list));
      for (const auto& one : *list)
        if (const auto i = config::whole(one, c.at("full_attn_idxs"), 0, config::most); i < m.layers) attends[static_cast<std::size_t>(i)] = true;
    }
    for (const bool attention : attends) m.pattern.add(attention ? full : convolution);
    m.pattern = m.pattern.shortest(m.layers);
  }
  if (!sparse) return;
  auto& e = m.experts;
  e.count = c.count({"num_experts"}, 32);
  e.active = c.count({"num_experts_per_tok"}, 4);
  e.ffn = c.size({"moe_intermediate_size"}, 1792);
  e.first_dense_layers = c.number({"num_dense_layers"}, 2, 0, config::most);
  e.narrow_scores = true;
  e.raw_weights = !c.flag("norm_topk_prob", true);
}

/// MiniMaxForCausalLM (MiniMax-Text-01, MiniMax-M1): lightning attention and Mixtral's attention, Mixtral's experts in every layer.
inline void read_minimax(const config& c, shape& m) {
  m = read_dense(c, dense_defaults("minimax"));
  m.experts.fp32_weights = m.normed_residual = true;
  finish_mixtral(c, m);
  m.ssm.chunk = c.count({"block_size"}, 256);
  if (c.real({"router_jitter_noise"}, 0.0, 0.0, 1e6) != 0) complain(c.at("router_jitter_noise") + " must be 0: noise in front of the router is not modelled by this version");
  constexpr layer_kind linear{mixer_kind::lightning_attention, feed_forward_kind::unset}, full{};
  if (read_layer_types(c, {"layer_types"}, {{"linear_attention", linear}, {"full_attention", full}}, m)) return;
  m.pattern.add(full);
  m.pattern.add(linear);
}

/// AfmoeForCausalLM (Arcee's Trinity): gated attention behind a window, and in every fourth layer without positions over all; norms on both sides.
inline void read_afmoe(const config& c, shape& m) {
  m = read_dense(c, dense_defaults("afmoe"));
  m.qk_norm = m.gated_attention = m.post_norms = m.fp32_norm = true;
  if (m.attention_bias) complain(c.at("attention_bias") + " must be false for afmoe, found true");
  m.global.no_positions = true;
  m.full_layers = 0;  // the pattern below says which see all positions
  auto& e = m.experts;
  e.count = c.count({"num_experts"}, 64);
  e.active = c.count({"num_experts_per_tok"}, 6);
  e.ffn = c.size({"moe_intermediate_size"}, 1408);
  e.shared = c.number({"num_shared_experts"}, 2, 0, config::most);
  e.shared_ffn = checked::mul(e.shared, e.ffn);
  e.first_dense_layers = c.nullable({"num_dense_layers"}, 1, 0, 0, config::most);
  if (e.first_dense_layers > m.layers) e.first_dense_layers = m.layers;
  e.plain_router = e.router_bias = e.fp32_weights = true;
  constexpr layer_kind local{}, global{mixer_kind::global_attention, feed_forward_kind::unset};
  if (read_layer_types(c, {"layer_types"}, {{"sliding_attention", local}, {"full_attention", global}}, m)) return;
  const auto every = c.number({"global_attn_every_n_layers"}, 4, 1, layer_pattern::capacity);
  for (std::int64_t i = 1; i < every; ++i) m.pattern.add(local);
  m.pattern.add(global);
}

/// The families with several kinds of layer. Returns false where the family is not one of them.
inline bool read_hybrid_decoder(const config& c, std::string_view type, shape& m) {
  if (type == "qwen3_next" || type == "qwen3_5_text" || type == "qwen3_5_moe_text") return read_qwen3_next(c, type, m), true;
  if (type == "gemma4_text" || type == "gemma4_unified_text") return read_gemma4(c, m, type == "gemma4_unified_text"), true;
  if (type == "minimax") return read_minimax(c, m), true;
  if (type == "afmoe") return read_afmoe(c, m), true;
  if (type == "olmo_hybrid") return read_olmo_hybrid(c, m), true;
  if (type == "falcon_h1") return read_falcon_h1(c, m), true;
  if (type == "mamba2") return read_mamba2(c, m), true;
  if (type == "mamba" || type == "falcon_mamba") return read_mamba(c, type, m), true;
  if (type == "jamba") return read_jamba(c, m), true;
  if (type == "bamba" || type == "granitemoehybrid") return read_bamba(c, type, m), true;
  if (type == "lfm2" || type == "lfm2_moe") return read_lfm2(c, type, m), true;
  if (type == "nemotron_h") return read_nemotron_h(c, m), true;
  return false;
}

}  // namespace headroom::io::detail
