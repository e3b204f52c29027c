// Distributed under the Boost Software License, Version 1.0.
// The weights of the main stack. Fused tensors (query_key_value, c_attn, gate_up_proj) are listed as their parts: the
// count is the same, and a tensor-parallel split cuts every part. The formulas are those of Hugging Face transformers
// 4.56, src/transformers/models/<family>/modeling_<family>.py; a comment names the class where a family is odd.
#pragma once

#include <headroom/model/layer_kinds.hpp>
#include <headroom/model/weight.hpp>

#include <array>

namespace headroom::detail {

/// The layers of the main stack in each half of a sparse model, as few spans as the rule allows.
struct layer_spans {
  static constexpr int capacity = 16;
  std::array<layer_span, capacity> of{};
  int size{};

  constexpr void add(layer_span s) {
    if (s.count <= 0) return;
    if (size == capacity)
      refuse("headroom: model.experts: dense and sparse layers alternate too irregularly; at most 16 runs are accepted", size);
    of[static_cast<std::size_t>(size++)] = s;
  }
  [[nodiscard]] constexpr const layer_span* begin() const { return of.data(); }
  [[nodiscard]] constexpr const layer_span* end() const { return of.data() + size; }
};

/// Layers that `chosen(layer)` picks, as few spans as come out of taking the longest from the first layer not yet covered.
template <class Chosen>
constexpr layer_spans spans_where(const shape& m, const Chosen& chosen) {
  layer_spans r;
  const auto covered = [&](std::int64_t i) {
    for (const auto& s : r)
      if (s.has(i)) return true;
    return false;
  };
  const auto furthest = m.layers < layer_pattern::capacity ? m.layers : layer_pattern::capacity;
  for (std::int64_t i = 0; i < m.layers; ++i) {
    if (!chosen(i) || covered(i)) continue;
    layer_span best{i, 1, 1};
    for (std::int64_t stride = 1; stride < furthest && i + stride * best.count < m.layers; ++stride) {
      layer_span s{i, 1, stride};
      while (i + s.count * stride < m.layers && chosen(i + s.count * stride) && !covered(i + s.count * stride)) ++s.count;
      if (s.count > best.count) best = s;
    }
    r.add(best);
  }
  return r;
}

/// Layers that are sparse (or, with `sparse` false, dense), of a model without a pattern.
constexpr layer_spans spans_by_rule(const shape& m, bool sparse) {
  layer_spans r;
  if (!m.sparse()) {
    if (!sparse) r.add({0, m.layers, 1});
    return r;
  }
  const auto& e = m.experts;
  const std::int64_t every = e.every > 1 ? e.every : 1;
  const std::int64_t dense = e.first_dense_layers < m.layers ? e.first_dense_layers : m.layers;
  // Sparse layers are i = every - 1 (mod every) from `dense` on; first: the smallest such i.
  const std::int64_t first = checked::add(checked::mul(dense / every, every), every - 1);
  if (sparse) {
    if (first < m.layers) r.add({first, (m.layers - 1 - first) / every + 1, every});
    return r;
  }
  r.add({0, first < m.layers ? first : m.layers, 1});
  if (every <= m.layers / every) {  // one span for each place between two sparse layers
    for (std::int64_t k = 1; k < every && first + k < m.layers; ++k)
      r.add({first + k, (m.layers - 1 - first - k) / every + 1, every});
  } else {  // few sparse layers: one span for each gap
    for (std::int64_t i = first; i < m.layers; i += every) r.add({i + 1, (m.layers - 1 - i < every ? m.layers - i : every) - 1, 1});
  }
  return r;
}

/// Layers with such a feed-forward.
constexpr layer_spans spans_of(const shape& m, feed_forward_kind feeds) {
  if (m.layers <= 0) return {};
  if (!m.pattern.given() && !m.experts.masked_dense()) return spans_by_rule(m, feeds == feed_forward_kind::experts);
  return spans_where(m, [&](std::int64_t i) { return m.kind_of(i).feeds == feeds; });
}

/// Layers with such a mixer.
constexpr layer_spans spans_of(const shape& m, mixer_kind mixer) {
  layer_spans r;
  if (m.layers > 0 && !m.pattern.given() && mixer == m.attention()) r.add({0, m.layers, 1});
  if (!m.pattern.given()) return r;
  return spans_where(m, [&](std::int64_t i) { return m.kind_of(i).mixer == mixer; });
}

/// Vectors of one norm module: a weight, and for LayerNorm often a bias.
constexpr std::int64_t norm_vectors(const shape& m) { return (m.norm_weight ? 1 : 0) + (m.norm_bias ? 1 : 0); }

/// Where a block stands: `copies` of it in each layer of `at`. A role given as `into` (MTP, encoder, cross
/// attention) replaces the module's own.
struct weight_place {
  layer_span at{};
  std::int64_t copies{1};
  const module* into{};
  [[nodiscard]] constexpr module role(module own) const { return into != nullptr ? *into : own; }
};

constexpr void add_matrix(inventory& list, const weight_place& p, module own, std::int64_t rows, std::int64_t columns,
                          split_axis split, bool bias) {
  list.add({.role = p.role(own), .rows = rows, .columns = columns, .layers = p.at, .per_layer = p.copies, .split = split, .linear = true});
  if (bias)  // the bias of a matrix cut by rows is cut with it; that of one cut by columns is whole on every rank
    list.add({.role = p.role(own), .rows = rows, .layers = p.at, .per_layer = p.copies,
              .split = split == split_axis::rows ? split_axis::rows : split_axis::none});
}

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

constexpr void add_attention(inventory& list, const shape& m, const weight_place& p) {
  const std::int64_t query = m.query_width();
  const std::int64_t key = m.kv_width();
  add_matrix(list, p, module::q_proj, query, m.hidden, split_axis::rows, m.attention_bias);
  add_matrix(list, p, module::k_proj, key, m.hidden, split_axis::rows, m.attention_bias && !m.no_key_bias);
  add_matrix(list, p, module::v_proj, key, m.hidden, split_axis::rows, m.attention_bias);
  add_matrix(list, p, module::o_proj, m.hidden, query, split_axis::columns, m.output_bias);
}

/// Norms over q and k. Per head: one vector (Qwen3Attention), with a bias where norms have one (PhiAttention). In full:
/// never a bias (Olmo2Attention; the per-head weights of CohereAttention and StableLmLayerNormPerHead count the same).
constexpr void add_query_key_norms(inventory& list, const shape& m, const weight_place& p) {
  if (m.qk_norm) {
    const std::int64_t vectors = m.norm_bias ? 4 : 2;
    list.add({.role = p.role(module::norm), .rows = m.head_width(), .layers = p.at, .per_layer = checked::mul(p.copies, vectors)});
  }
  if (m.qk_norm_full) {
    list.add({.role = p.role(module::norm), .rows = m.query_width(), .layers = p.at, .per_layer = p.copies});
    list.add({.role = p.role(module::norm), .rows = m.kv_width(), .layers = p.at, .per_layer = p.copies});
  }
  if (m.attention_sinks)
    list.add({.role = p.role(module::other), .rows = m.heads, .layers = p.at, .per_layer = p.copies, .split = split_axis::rows});
}

/// The weights of each kind of mixer.
constexpr void add_mixer(inventory& list, const shape& m, mixer_kind kind, const weight_place& p) {
  switch (kind) {
    case mixer_kind::none: return;
    case mixer_kind::attention:
      add_attention(list, m, p);
      return add_query_key_norms(list, m, p);
    case mixer_kind::latent_attention: return add_latent_attention(list, m, p);
  }
}

constexpr void add_mlp(inventory& list, const shape& m, const weight_place& p, std::int64_t width) {
  if (m.mlp == mlp_kind::gated) add_matrix(list, p, module::gate_proj, width, m.hidden, split_axis::rows, m.mlp_bias);
  add_matrix(list, p, module::up_proj, width, m.hidden, split_axis::rows, m.mlp_bias);
  add_matrix(list, p, module::down_proj, m.hidden, width, split_axis::columns, m.mlp_bias);
}

/// Router, routed experts and shared experts of a sparse layer (MixtralSparseMoeBlock, Qwen2MoeSparseMoeBlock,
/// DeepseekV3MoE, GptOssExperts, Llama4TextMoe).
constexpr void add_experts(inventory& list, const shape& m, const weight_place& p) {
  const auto& e = m.experts;
  const std::int64_t all = checked::mul(e.count, p.copies);
  const bool gated = m.mlp == mlp_kind::gated;
  add_matrix(list, p, module::router, e.count, m.hidden, split_axis::none, e.router_bias);
  const auto expert = [&](module own, std::int64_t rows, std::int64_t columns, split_axis split) {
    weight w{.role = p.role(own), .rows = rows, .columns = columns, .layers = p.at, .per_layer = all, .split = split, .linear = true, .expert = true};
    list.add(w);
    if (!e.bias) return;
    w.columns = 1;
    w.linear = false;
    if (split == split_axis::columns) w.split = split_axis::none;
    list.add(w);
  };
  if (gated) expert(module::experts_gate, e.ffn, m.hidden, split_axis::rows);
  expert(module::experts_up, e.ffn, m.hidden, split_axis::rows);
  expert(module::experts_down, m.hidden, e.ffn, split_axis::columns);
  if (e.shared_ffn <= 0) return;
  if (gated) add_matrix(list, p, module::shared_gate, e.shared_ffn, m.hidden, split_axis::rows, m.mlp_bias);
  add_matrix(list, p, module::shared_up, e.shared_ffn, m.hidden, split_axis::rows, m.mlp_bias);
  add_matrix(list, p, module::shared_down, m.hidden, e.shared_ffn, split_axis::columns, m.mlp_bias);
  if (e.shared_gate) add_matrix(list, p, module::shared_gate, 1, m.hidden, split_axis::none, false);
}

/// Norm modules of `hidden` in one layer, the final one and those over q and k not counted.
constexpr std::int64_t norms_per_layer(const shape& m) {
  if (m.post_norms) return 4;
  return m.parallel_block && m.shared_attention_norm ? 1 : 2;
}

/// Token embedding, positions, segments and the norm after them (BertEmbeddings, BloomModel, OPTDecoder).
constexpr void add_embedding(inventory& list, const shape& m) {
  const std::int64_t width = m.embedding_width();
  list.add({.role = module::embedding, .rows = m.vocab, .columns = width, .split = split_axis::vocabulary});
  if (width != m.hidden && m.vocab > 0) {
    list.add({.role = module::embedding, .rows = m.hidden, .columns = width, .linear = true});  // project_in
    list.add({.role = module::head, .rows = width, .columns = m.hidden, .linear = true});       // project_out
  }
  if (m.position == position_kind::learned)
    list.add({.role = module::position, .rows = checked::add(m.max_positions, m.position_offset), .columns = m.hidden});
  if (m.position == position_kind::relative)
    list.add({.role = module::position, .rows = m.relative_buckets, .columns = m.heads, .split = split_axis::columns});
  list.add({.role = module::position, .rows = m.token_types, .columns = m.hidden});
  if (m.embedding_norm) list.add({.role = module::norm, .rows = m.hidden, .per_layer = norm_vectors(m)});
}

/// What reads the last hidden state. A tied matrix is the embedding's and is not listed.
constexpr void add_head(inventory& list, const shape& m) {
  const weight_place once{};
  const std::int64_t width = m.embedding_width();
  const bool bias = m.head_bias || m.head == head_kind::masked_language;
  if (!m.no_final_norm) list.add({.role = module::norm, .rows = m.hidden, .per_layer = norm_vectors(m)});
  if (m.pooler) add_matrix(list, once, module::head, m.hidden, m.hidden, split_axis::none, true);
  if (m.head == head_kind::masked_language) {  // BertPredictionHeadTransform, RobertaLMHead
    add_matrix(list, once, module::head, m.hidden, m.hidden, split_axis::none, true);
    list.add({.role = module::head, .rows = m.hidden, .per_layer = norm_vectors(m)});
  }
  if (m.head != head_kind::none) {
    if (!m.tied) list.add({.role = module::head, .rows = m.vocab, .columns = width, .split = split_axis::vocabulary, .linear = true});
    if (bias) list.add({.role = module::head, .rows = m.vocab, .split = split_axis::vocabulary});
  }
  if (m.classes > 0) add_matrix(list, once, module::head, m.classes, width, split_axis::none, bias);
}

/// Multi-token prediction (DeepSeek-V3 technical report, section 2.2): a projection of 2h to h, three norms and one more
/// layer, sparse if the model is; embedding and head are the model's own.
constexpr void add_mtp(inventory& list, const shape& m) {
  if (m.mtp_layers <= 0) return;
  constexpr module into = module::mtp;
  const weight_place p{{}, m.mtp_layers, &into};
  add_matrix(list, p, into, m.hidden, checked::mul(2, m.hidden), split_axis::rows, false);
  add_mixer(list, m, m.attention(), p);
  if (m.sparse())
    add_experts(list, m, p);
  else
    add_mlp(list, m, p, m.ffn);
  list.add({.role = into, .rows = m.hidden, .per_layer = checked::mul(m.mtp_layers, norm_vectors(m), 3 + norms_per_layer(m))});
}

/// The layers of the main stack, kind by kind.
constexpr void add_layers(inventory& list, const shape& m) {
  if (m.layers <= 0) return;
  for (auto i = 0; i < mixer_kinds; ++i)
    for (const auto& span : spans_of(m, static_cast<mixer_kind>(i))) add_mixer(list, m, static_cast<mixer_kind>(i), {span, 1, nullptr});
  const auto norms = [&](const layer_span& at, std::int64_t each) {
    list.add({.role = module::norm, .rows = m.hidden, .layers = at, .per_layer = each * norm_vectors(m)});
  };
  if (!m.pattern.given()) {
    norms({0, m.layers, 1}, norms_per_layer(m));
  } else {
    for (const auto& span : spans_where(m, [&](std::int64_t i) { return m.kind_of(i).whole(); })) norms(span, norms_per_layer(m));
    for (const auto& span : spans_where(m, [&](std::int64_t i) { return !m.kind_of(i).whole(); })) norms(span, 1);
  }
  for (const auto& span : spans_of(m, feed_forward_kind::dense)) add_mlp(list, m, {span, 1, nullptr}, m.ffn);
  for (const auto& span : spans_of(m, feed_forward_kind::experts)) add_experts(list, m, {span, 1, nullptr});
}

}  // namespace headroom::detail
