// Distributed under the Boost Software License, Version 1.0.
// The weights of the main stack. Fused tensors (query_key_value, c_attn, gate_up_proj) are listed as their parts: the
// count is the same, and a tensor-parallel split cuts every part. The formulas are those of Hugging Face transformers
// 4.56, src/transformers/models/<family>/modeling_<family>.py; a comment names the class where a family is odd.
#pragma once

#include <headroom/model/mixers.hpp>
#include <headroom/model/spans.hpp>

namespace headroom::detail {

constexpr void add_mlp(inventory& list, const shape& m, const weight_place& p, std::int64_t width) {
  if (m.mlp == mlp_kind::gated) add_matrix(list, p, module::gate_proj, width, m.hidden, split_axis::rows, m.mlp_bias);
  add_matrix(list, p, module::up_proj, width, m.hidden, split_axis::rows, m.mlp_bias);
  add_matrix(list, p, module::down_proj, m.hidden, width, split_axis::columns, m.mlp_bias || m.down_bias);
  if (m.activation == activation_kind::xielu) list.add({.role = p.role(module::other), .rows = 1, .layers = p.at, .per_layer = checked::mul(2, p.copies)});
  if (m.sub_norms) list.add({.role = p.role(module::norm), .rows = width, .layers = p.at, .per_layer = checked::mul(p.copies, norm_vectors(m))});
}

/// Router, routed experts and shared experts of a sparse layer (MixtralSparseMoeBlock, Qwen2MoeSparseMoeBlock,
/// DeepseekV3MoE, GptOssExperts, Llama4TextMoe).
constexpr void add_experts(inventory& list, const shape& m, const weight_place& p) {
  const auto& e = m.experts;
  const std::int64_t all = checked::mul(e.count, p.copies);
  const bool gated = m.mlp == mlp_kind::gated;
  add_matrix(list, p, module::router, e.count, m.hidden, split_axis::none, e.router_bias && e.bias);
  if (e.router_bias && !e.bias) list.add({.role = p.role(module::router), .rows = e.count, .layers = p.at, .per_layer = p.copies, .frozen = true});
  const auto expert = [&](module own, std::int64_t rows, std::int64_t columns, split_axis split) {
    weight w{.role = p.role(own), .rows = rows, .columns = columns, .layers = p.at, .per_layer = all, .split = split, .linear = true, .expert = true};
    list.add(w);
    if (!e.bias) return;
    w.columns = 1;
    w.linear = false;
    if (split == split_axis::columns) w.split = split_axis::none;
    list.add(w);
  };
  const auto read = e.latent > 0 ? e.latent : m.hidden;
  if (gated) expert(module::experts_gate, e.ffn, read, split_axis::rows);
  expert(module::experts_up, e.ffn, read, split_axis::rows);
  expert(module::experts_down, read, e.ffn, split_axis::columns);
  if (e.latent > 0) {  // NemotronHMoE.fc1_latent_proj, fc2_latent_proj
    add_matrix(list, p, module::shared_up, e.latent, m.hidden, split_axis::none, m.mlp_bias);
    add_matrix(list, p, module::shared_down, m.hidden, e.latent, split_axis::none, m.mlp_bias);
  }
  if (e.beside_mlp) {  // Gemma4TextRouter.scale and per_expert_scale, Gemma4TextDecoderLayer's norms around both halves
    add_mlp(list, m, p, m.ffn);
    for (const auto rows : {m.hidden, e.count}) list.add({.role = p.role(module::router), .rows = rows, .layers = p.at, .per_layer = p.copies});
    list.add({.role = p.role(module::norm), .rows = m.hidden, .layers = p.at, .per_layer = checked::mul(3, p.copies)});
  }
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
  list.add({.role = module::embedding, .rows = checked::add(m.vocab, m.vision.words), .columns = width, .split = split_axis::vocabulary});
  const auto table = m.narrow_embedding ? width : m.hidden;  // of positions and segments
  if (m.narrow_embedding) {
    add_matrix(list, weight_place{}, module::embedding, m.hidden, width, split_axis::none, true);
  } else if (width != m.hidden && m.vocab > 0) {
    list.add({.role = module::embedding, .rows = m.hidden, .columns = width, .linear = true});  // project_in
    list.add({.role = module::head, .rows = width, .columns = m.hidden, .linear = true});       // project_out
  }
  if (m.position == position_kind::learned)
    list.add({.role = module::position, .rows = checked::add(m.max_positions, m.position_offset), .columns = table, .frozen = m.frozen_positions});
  if (m.position == position_kind::disentangled) {
    list.add({.role = module::position, .rows = m.relative_buckets, .columns = m.hidden});
    list.add({.role = module::norm, .rows = m.hidden, .per_layer = norm_vectors(m)});
  }
  if (m.biased_scores())
    list.add({.role = module::position, .rows = m.relative_buckets, .columns = m.heads, .layers = {0, m.layer_biases ? m.layers : 0, 1}, .split = split_axis::columns});
  list.add({.role = module::position, .rows = m.token_types, .columns = table});
  if (m.embedding_norm) list.add({.role = module::norm, .rows = table, .per_layer = norm_vectors(m)});
}

/// What reads the last hidden state. A tied matrix is the embedding's and is not listed.
constexpr void add_head(inventory& list, const shape& m) {
  const weight_place once{};
  const std::int64_t width = m.embedding_width();
  const bool bias = m.head_bias || m.head == head_kind::masked_language;
  if (!m.no_final_norm) list.add({.role = module::norm, .rows = m.hidden, .per_layer = norm_vectors(m)});
  const bool words = m.head == head_kind::masked_language;
  if (words) {  // BertPredictionHeadTransform, RobertaLMHead
    add_matrix(list, once, module::head, width, m.hidden, split_axis::none, !m.transformed_classes);
    list.add({.role = module::head, .rows = width, .per_layer = norm_vectors(m)});
  }
  if (m.pooler || m.scored_tokens || (m.transformed_classes && m.classes > 0)) add_matrix(list, once, module::head, m.hidden, m.hidden, split_axis::none, !m.transformed_classes);
  if (m.transformed_classes && m.classes > 0) list.add({.role = module::head, .rows = m.hidden, .per_layer = norm_vectors(m)});
  if (m.head != head_kind::none) {
    if (!m.tied) list.add({.role = module::head, .rows = m.vocab, .columns = width, .split = split_axis::vocabulary, .linear = true});
    if (bias) list.add({.role = module::head, .rows = m.vocab, .split = split_axis::vocabulary});
  }
  if (m.contact_head) {
    list.add({.role = module::head, .rows = 1, .columns = checked::mul(m.layers, m.heads), .frozen = true});
    list.add({.role = module::head, .rows = 1, .frozen = true});
  }
  if (m.classes > 0) add_matrix(list, once, module::head, m.classes, m.narrow_embedding ? m.hidden : width, split_axis::none, bias || m.head == head_kind::language);  // a value head has a bias
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

/// Norms of `hidden` in a layer of a pattern. A layer of one's own lists its own norms: what counts is the half behind it.
constexpr std::int64_t norms_of(const shape& m, layer_kind k) {
  if (is_own(k.mixer)) return k.feeds == feed_forward_kind::none ? 0 : 1;
  return k.whole() ? norms_per_layer(m) : 1;
}

/// Embeddings of each layer (Gemma4TextModel.embed_tokens_per_layer, per_layer_model_projection, and in a layer per_layer_input_gate, per_layer_projection
/// and a norm behind them).
constexpr void add_layer_inputs(inventory& list, const shape& m) {
  const auto width = m.layer_input.width;
  if (width <= 0) return;
  const auto all = checked::mul(m.layers, width);
  list.add({.role = module::embedding, .rows = m.layer_input.vocab, .columns = all, .split = split_axis::vocabulary});
  add_matrix(list, weight_place{}, module::layer_input, all, m.hidden, split_axis::none, false);
  list.add({.role = module::norm, .rows = width});
  const weight_place each{{0, m.layers, 1}, 1, nullptr};
  add_matrix(list, each, module::layer_input, width, m.hidden, split_axis::none, false);
  add_matrix(list, each, module::layer_input, m.hidden, width, split_axis::none, false);
  list.add({.role = module::norm, .rows = m.hidden, .layers = each.at});
}

/// What several residual streams have in each layer, and what makes them and joins them again (Gemma3nTextAltUp, Gemma3nTextLaurelBlock,
/// Gemma3nTextModel.altup_projections and altup_unembed_projections).
constexpr void add_altup(inventory& list, const shape& m) {
  const auto n = m.altup.streams;
  if (n <= 0) return;
  list.add({.role = module::embedding, .rows = m.hidden, .columns = m.hidden, .per_layer = n - 1, .linear = true});
  list.add({.role = module::head, .rows = m.hidden, .columns = m.hidden, .per_layer = n - 1, .linear = true});
  const weight_place each{{0, m.layers, 1}, 1, nullptr};
  add_matrix(list, each, module::mixer, n, m.hidden, split_axis::none, false);              // modality_router
  add_matrix(list, each, module::mixer, checked::mul(n, n), n, split_axis::none, false);    // prediction_coefs
  add_matrix(list, each, module::mixer, n, n, split_axis::none, false);                     // correction_coefs
  add_matrix(list, each, module::mixer, m.altup.laurel, m.hidden, split_axis::none, false);  // linear_left
  add_matrix(list, each, module::mixer, m.hidden, m.altup.laurel, split_axis::none, false);  // linear_right
  list.add({.role = module::mixer, .rows = m.hidden, .layers = each.at});                    // correct_output_scale
  list.add({.role = module::norm, .rows = m.hidden, .layers = each.at, .per_layer = 2});     // router_norm, post_laurel_norm
}

/// The layers of the main stack, kind by kind. `add_own(list, kind, span, begin)`: the weights of a layer of one's own, where the
/// stack's begin at `begin`.
constexpr void add_layers(inventory& list, const shape& m, const auto& add_own) {
  if (m.layers <= 0) return;
  const auto begin = list.size;
  for (auto i = 0; i < mixer_kinds; ++i) {
    const auto kind = static_cast<mixer_kind>(i);
    each_span(m, kind, [&](const layer_span& at) { add_mixer(list, m, kind, {at, 1, nullptr}); });
  }
  const auto norms = [&](const layer_span& at, std::int64_t each) {
    list.add({.role = module::norm, .rows = m.hidden, .layers = at, .per_layer = each * norm_vectors(m)});
  };
  if (!m.pattern.given()) {
    norms({0, m.layers, 1}, norms_per_layer(m));
  } else {
    for (const auto each : {norms_per_layer(m), std::int64_t{1}})
      each_span_where(m, [&](std::int64_t i) { return norms_of(m, m.kind_of(i)) == each; }, [&](const layer_span& at) { norms(at, each); });
  }
  const auto dense = [&](feed_forward_kind kind, std::int64_t width) {
    each_span(m, kind, [&](const layer_span& at) { add_mlp(list, m, {at, 1, nullptr}, width); });
  };
  dense(feed_forward_kind::dense, m.ffn);
  if (m.pattern.given()) dense(feed_forward_kind::wide, widened(m).ffn);
  if (m.altup.streams > 0) dense(feed_forward_kind::cut, m.ffn);
  each_span(m, feed_forward_kind::experts, [&](const layer_span& at) { add_experts(list, m, {at, 1, nullptr}); });
  add_layer_inputs(list, m);
  add_altup(list, m);
  if (m.distinct_layers > 0)
    for (int i = begin; i < list.size; ++i) list.entries[i].runs = static_cast<std::int32_t>(m.layers / m.distinct_layers);
  if (!m.pattern.names_own()) return;
  for (std::size_t i = 0; i < layer_pattern::most_own && !m.pattern.own[i].empty(); ++i) {
    const auto kind = static_cast<mixer_kind>(static_cast<std::size_t>(mixer_kind::own) + i);
    each_span(m, kind, [&](const layer_span& at) { add_own(list, kind, at, begin); });
  }
}

}  // namespace headroom::detail
