// Distributed under the Boost Software License, Version 1.0.
// The weights of each kind of mixer, and what it multiplies beside them. Fused tensors (query_key_value, c_attn) are listed as their
// parts: the count is the same, and a tensor-parallel split cuts every part. The formulas are those of Hugging Face transformers 4.56,
// src/transformers/models/<family>/modeling_<family>.py; a comment names the class where a family is odd.
#pragma once

#include <headroom/model/gated_convolution.hpp>
#include <headroom/model/gated_delta_net.hpp>
#include <headroom/model/kimi_delta.hpp>
#include <headroom/model/lightning_attention.hpp>
#include <headroom/model/mamba1.hpp>
#include <headroom/model/mamba2.hpp>
#include <headroom/model/rg_lru.hpp>

namespace headroom::detail {

/// DeepseekV2Attention, DeepseekV3Attention.
constexpr void add_latent_attention(inventory& list, const shape& m, const weight_place& p) {
  const auto& a = m.mla;
  const std::int64_t query = checked::mul(m.heads, checked::add(a.nope_dim, a.rope_dim));
  const auto down = module::mla_down;
  if (a.q_rank > 0) {
    add_matrix(list, p, down, a.q_rank, m.hidden, split_axis::none, m.attention_bias);
    list.add({.role = p.role(down), .rows = a.q_rank, .layers = p.at, .per_layer = p.copies});
    add_matrix(list, p, module::q_proj, query, a.q_rank, split_axis::rows, false);
  } else {
    add_matrix(list, p, module::q_proj, query, m.hidden, split_axis::rows, false);
  }
  add_matrix(list, p, down, checked::add(a.kv_rank, a.rope_dim), m.hidden, split_axis::none, m.attention_bias);
  list.add({.role = p.role(down), .rows = a.kv_rank, .layers = p.at, .per_layer = p.copies});
  add_matrix(list, p, module::k_proj, checked::mul(m.heads, checked::add(a.nope_dim, a.value_dim)), a.kv_rank, split_axis::rows, false);
  add_matrix(list, p, module::o_proj, m.hidden, checked::mul(m.heads, a.value_dim), split_axis::columns, m.output_bias);
}

/// DeepseekV32Indexer. It runs without a graph, so none of it ever has a gradient.
constexpr void add_indexer(inventory& list, const shape& m, const weight_place& p) {
  const auto& a = m.mla;
  const auto add = [&](std::int64_t rows, std::int64_t columns, std::int64_t each) {
    list.add({.role = p.role(module::mla_down), .rows = rows, .columns = columns, .layers = p.at, .per_layer = checked::mul(p.copies, each), .frozen = true});
  };
  add(checked::mul(a.index_heads, a.index_dim), a.q_rank, 1);
  add(checked::add(a.index_dim, a.index_heads), m.hidden, 1);
  add(a.index_dim, 1, 2);
}

/// Queries and the output alone, with a norm over q: Gemma4TextAttention of is_kv_shared_layer.
constexpr void add_shared_attention(inventory& list, const shape& m, const weight_place& p) {
  add_matrix(list, p, module::q_proj, m.query_width(), m.hidden, split_axis::rows, m.attention_bias);
  add_matrix(list, p, module::o_proj, m.hidden, m.query_width(), split_axis::columns, m.output_bias);
  if (m.qk_norm) list.add({.role = p.role(module::norm), .rows = m.head_width(), .layers = p.at, .per_layer = p.copies});
}

constexpr void add_attention(inventory& list, const shape& m, const weight_place& p, bool keys_as_values = false) {
  const std::int64_t query = m.query_width();
  const std::int64_t key = m.kv_width();
  add_matrix(list, p, module::q_proj, m.gated_attention && !m.gate_apart() ? checked::mul(2, query) : query, m.hidden, split_axis::rows, m.attention_bias);
  if (m.gate_apart()) add_matrix(list, p, module::gate_proj, query, m.hidden, split_axis::rows, false);
  add_matrix(list, p, module::k_proj, key, m.hidden, split_axis::rows, m.attention_bias && !m.no_key_bias);
  if (!keys_as_values) add_matrix(list, p, module::v_proj, m.value_width(), m.hidden, split_axis::rows, m.attention_bias);
  add_matrix(list, p, module::o_proj, m.hidden, m.output_width(), split_axis::columns, m.output_bias);
}

/// Norms over q and k. Per head: one vector (Qwen3Attention), with a bias where norms have one (PhiAttention). In full:
/// never a bias (Olmo2Attention; the per-head weights of CohereAttention and StableLmLayerNormPerHead count the same).
constexpr void add_query_key_norms(inventory& list, const shape& m, const weight_place& p) {
  if (m.sub_norms) list.add({.role = p.role(module::norm), .rows = m.query_width(), .layers = p.at, .per_layer = checked::mul(p.copies, norm_vectors(m))});
  if (m.qk_norm && m.norm_weight && !m.chunked) {
    const std::int64_t vectors = m.norm_bias ? 4 : 2;
    list.add({.role = p.role(module::norm), .rows = m.head_width(), .layers = p.at, .per_layer = checked::mul(p.copies, vectors)});
  }
  if (m.qk_norm_full) {
    list.add({.role = p.role(module::norm), .rows = m.query_width(), .layers = p.at, .per_layer = p.copies});
    list.add({.role = p.role(module::norm), .rows = m.kv_width(), .layers = p.at, .per_layer = p.copies});
  }
  if (m.attention_sinks)
    list.add({.role = p.role(module::other), .rows = m.heads, .layers = p.at, .per_layer = p.copies, .split = split_axis::rows, .frozen = m.fixed_sinks});
}

/// The weights of each kind of mixer.
constexpr void add_mixer(inventory& list, const shape& m, mixer_kind kind, const weight_place& p) {
  switch (kind) {
    case mixer_kind::none: return;
    case mixer_kind::attention:
      add_attention(list, m, p);
      return add_query_key_norms(list, m, p);
    case mixer_kind::global_attention: {
      const auto g = globally(m);
      add_attention(list, g, p, m.global.keys_as_values);
      return add_query_key_norms(list, g, p);
    }
    case mixer_kind::latent_attention: return add_latent_attention(list, m, p);
    case mixer_kind::sparse_attention:
      add_latent_attention(list, m, p);
      return add_indexer(list, m, p);
    case mixer_kind::shared_attention:
    case mixer_kind::shared_global_attention: return add_shared_attention(list, attending(m, kind), p);
    case mixer_kind::gated_delta_net: return add_gated_delta_net(list, m, p);
    case mixer_kind::mamba2: return add_mamba2(list, m, p);
    case mixer_kind::mamba1: return add_mamba1(list, m, p);
    case mixer_kind::attention_mamba2:
      add_attention(list, m, p);
      add_query_key_norms(list, m, p);
      return add_mamba2(list, m, p);
    case mixer_kind::gated_convolution: return add_gated_convolution(list, m, p);
    case mixer_kind::lightning_attention: return add_lightning_attention(list, m, p);
    case mixer_kind::rg_lru: return add_rg_lru(list, m, p);
    case mixer_kind::kimi_delta: return add_kimi_delta(list, m, p);
    case mixer_kind::own: return;  // its own: see add_layers()
  }
}

}  // namespace headroom::detail
