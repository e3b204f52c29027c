// Distributed under the Boost Software License, Version 1.0.
// Buffers that one pipeline stage keeps beside its states, where layers are divided.
// Sources: TransformerEngine pytorch/module/base.py get_dummy_wgrad, cpp_extensions/gemm.py get_cublas_workspace; Megatron-LM
// core/tensor_parallel/layers.py, core/models/common/embeddings/rotary_pos_embedding.py.
#pragma once

#include <headroom/block/megatron_gated_delta_net.hpp>
#include <headroom/engine/tensor_parallel/deepspeed_states.hpp>
#include <headroom/engine/tensor_parallel/nanotron_states.hpp>

namespace headroom {

namespace detail {

/// Tokens of this rank's residual stream in the encoder.
constexpr std::int64_t encoder_tokens(const settled_job& s) { return checked::mul(s.layer.samples, s.layer.memory) / s.layer.sequence_split; }
/// What the encoder gives to all layers of the decoder.
constexpr bytes memory_of(const settled_job& s) {
  const auto& sc = s.layer;
  return bytes{checked::round_up(checked::mul(encoder_tokens(s), s.model.hidden, sc.width), sc.granule)};
}

/// What a stage has: which kinds of layer, the embedding, the head.
struct stage_parts {
  bool attention{};
  bool recurs{};
  bool dense{};
  bool sparse{};
  bool first{};
  bool last{};
  bool operator==(const stage_parts&) const = default;
};
/// A chunk at an end of the model adds what lies there.
constexpr void add_ends(stage_parts& parts, const shape& m, bool has_embedding, bool has_head) {
  parts.first = parts.first || has_embedding;
  parts.last = parts.last || has_head;
  if (!has_head || m.mtp_layers == 0) return;
  parts.attention = true;
  (m.sparse() ? parts.sparse : parts.dense) = true;
}

/// TransformerEngine returns, for a weight whose gradient was accumulated elsewhere, an empty tensor of the weight's shape, and
/// since 2.3 keeps one for each distinct shape for the whole run.
constexpr bytes empty_gradients(const settled_job& s, stage_parts kinds) {
  const auto& m = s.model;
  const auto t = s.layer.tensor, h = m.hidden;
  struct matrix {
    std::int64_t rows, columns;
  };
  std::array<matrix, 16> shapes{};
  std::size_t n = 0;
  const auto add = [&](std::int64_t rows, std::int64_t columns) {
    for (std::size_t i = 0; i < n; ++i)
      if (shapes[i].rows == rows && shapes[i].columns == columns) return;
    shapes[n++] = {rows, columns};
  };
  const std::int64_t factor = m.mlp == mlp_kind::gated ? 2 : 1;
  const auto mlp = [&](std::int64_t width) {
    add(factor * width, h);
    add(h, width);
  };
  if (kinds.attention) {
    if (m.latent()) {
      const auto& a = m.mla;
      const auto query = checked::mul(m.heads, a.nope_dim + a.rope_dim) / t;
      if (a.q_rank > 0) {
        add(a.q_rank, h);
        add(query, a.q_rank);
      } else {
        add(query, h);
      }
      add(a.kv_rank + a.rope_dim, h);
      add(checked::mul(m.heads, a.nope_dim + a.value_dim) / t, a.kv_rank);
      add(h, checked::mul(m.heads, a.value_dim) / t);
    } else {
      add((checked::mul(m.gated_attention ? 2 : 1, m.query_width()) + 2 * m.kv_width()) / t, h);
      add(h, m.query_width() / t);
    }
  }
  if (kinds.recurs) {
    const bool delta = m.pattern.at(0).mixer == mixer_kind::gated_delta_net || m.pattern.at(0).whole();  // of whole layers no other recurs
    add((delta ? megatron::delta_projected(m) : mamba2_projected(m)) / t, h);
    add(h, (delta ? delta_values(m) : mamba2_inner(m)) / t);
  }
  if (kinds.attention && m.encoder.cross_attention) {
    add(m.query_width() / t, h);
    add(2 * m.kv_width() / t, h);
  }
  if (kinds.dense) mlp(m.ffn / t);
  if (m.encoder.ffn > 0) mlp(m.encoder.ffn / t);
  if (kinds.sparse) {
    mlp(m.experts.ffn / s.layer.expert_tensor);
    if (m.experts.shared_ffn > 0) mlp(m.experts.shared_ffn / t);
  }
  if (kinds.last && m.mtp_layers > 0) add(h / t, 2 * h);
  if (kinds.last && m.head != head_kind::none) add(m.vocab / t, h);
  if (kinds.last && m.head == head_kind::none && m.classes > 0) add(m.classes, h);
  bytes sum{0};
  for (std::size_t i = 0; i < n; ++i) sum += bytes{checked::mul(shapes[i].rows, shapes[i].columns, 2)};
  return sum;
}

/// Buffers that a stage keeps: library workspaces, empty gradients, masks, gather buffers.
constexpr breakdown buffers_of_stage(const settled_job& s, stage_parts kinds) {
  const auto& j = *s.source;
  const auto& habits = j.framework;
  const auto& sc = s.layer;
  const bool last = kinds.last;
  breakdown b{};
  if (habits.modules.nanotron()) {
    b[row::workspace] += habits.process.cublas_handles * cublas_workspace(s);
    b[row::communication_buffers] += gather_buffers(s);
    return b;
  }
  if (habits.modules.deepspeed()) {
    const auto pipe = pipe_of(s, kinds.first, last);
    b[row::communication_buffers] += pipe.received;
    b[row::logits] += pipe.logits;
  }
  const bool written_out = sc.kernel == attention::eager || sc.kernel == attention::math;
  // A stage of TransformerEngine modules alone never calls a matrix multiplication of torch; its router does not either.
  if (last || written_out || habits.modules.local()) b[row::workspace] += habits.process.cublas_handles * cublas_workspace(s);
  // The router multiplies by TransformerEngine in either case (moe_utils.py RouterGatingLinearFunction, since 2025-06).
  if (!habits.modules.local() || kinds.sparse) {
    const bytes one = s.on->compute_capability >= 90 ? 32 * mib : 4 * mib;
    b[row::workspace] += ((habits.communication.tensor_parallel == tensor_parallel_overlap::userbuffers ? 4 : 1) + (sc.grouped_by_engine ? 4 : 0)) * one;
    if (sc.fuses_weight_gradients && !habits.modules.local()) b[row::workspace] += empty_gradients(s, kinds);
  }
  if (habits.modules.neox()) return b;  // no global buffers; cosine and sine are kept on the host
  // The angles of rotary embedding, fp32, of this rank's positions, are made once (RotaryEmbedding.forward, an lru_cache).
  if (s.model.position == position_kind::rope && kinds.attention)
    b[row::activations] += bytes{checked::mul(sc.sequence / sc.context, s.model.rotary_width(), 4)};
  const bytes stream{checked::mul(sc.stream_tokens(), s.model.hidden, sc.width)};
  const bytes whole{checked::mul(sc.tokens, s.model.hidden, sc.width)};
  // One global buffer for whatever is gathered: the input of the head, and tokens of the all-gather dispatcher.
  bytes gathered = last && sc.sequence_split > 1 && s.model.head != head_kind::none ? whole : bytes{0};
  if (kinds.sparse && habits.experts.dispatcher == token_dispatcher::all_gather && sc.expert * sc.expert_tensor > 1)
    gathered = max(gathered, sc.expert * sc.expert_tensor * stream);
  if (habits.modules.local() && written_out) {
    // One global buffer serves the score matrices and the gathered input of the head.
    const bytes scores{checked::mul(sc.samples, s.model.heads / sc.tensor, sc.sequence / sc.context, checked::mul(sc.sequence, sc.width))};
    b[row::communication_buffers] += max(scores, gathered);
  } else {
    b[row::communication_buffers] += gathered;
  }
  if (habits.pipeline.deferral_limit > 0 && last)
    b[row::logits] += habits.pipeline.deferral_limit * (bytes{checked::mul(checked::mul(sc.tokens, sc.vocabulary) / sc.tensor, sc.width)} + whole);
  return b;
}

}  // namespace detail

}  // namespace headroom
