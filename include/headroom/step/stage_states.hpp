// Distributed under the Boost Software License, Version 1.0.
// What one pipeline stage holds for the whole run, where layers are divided (tensor, sequence, context, pipeline and expert
// parallelism): states and buffers.
// Sources: Megatron-LM core/optimizer/distrib_optimizer.py, core/distributed/param_and_grad_buffer.py; TransformerEngine
// pytorch/module/base.py get_dummy_wgrad, cpp_extensions/gemm.py get_cublas_workspace.
#pragma once

#include <headroom/layout/stages.hpp>
#include <headroom/step/outside.hpp>
#include <headroom/step/windows.hpp>

namespace headroom {

namespace detail {

/// Weights of one rank of a stage: those that all data-parallel ranks hold, and experts, which fewer do.
struct stage_weights {
  parameters dense{};
  parameters experts{};
};

/// Layers first, first + stride, … of a weight's span that lie in a chunk.
constexpr std::int64_t layers_within(const layer_span& span, const layer_chunk& chunk) {
  const auto before = [&](std::int64_t layer) {  // of the span's layers, those below `layer`
    const auto n = layer <= span.first ? 0 : checked::ceil_div(layer - span.first, span.stride);
    return n < span.count ? n : span.count;
  };
  return before(chunk.first + chunk.count) - before(chunk.first);
}

constexpr stage_weights weights_of_stage(const settled_job& s, const inventory& list, std::int64_t stage) {
  const auto& d = s.source->parallel;
  const bool first = stage == 0, last = stage == d.pipeline - 1;
  stage_weights r;
  for (const auto& w : list) {
    std::int64_t copies = 0;
    if (w.layers.count > 0) {
      for_each_chunk(d, s.model.layers, stage, [&](const layer_chunk& c) { copies += w.per_layer * layers_within(w.layers, c); });
    } else {
      const bool in_front = w.role == module::embedding || w.role == module::position;
      if (in_front ? first : last) copies = w.per_layer;
      if (w.role == module::embedding && s.model.tied && last && !first) copies = w.per_layer;  // the tied head's own copy
    }
    if (w.expert)
      r.experts += parameters{checked::mul(w.elements(), copies) / checked::mul(d.expert, d.expert_tensor)};
    else
      r.dense += parameters{checked::mul(w.split == split_axis::none ? w.elements() : w.elements() / d.tensor, copies)};
  }
  return r;
}

/// Parameters and main gradients whole, master copy and optimizer state divided over data × context ranks (experts: over the ranks
/// that hold the same experts) with the distributed optimizer.
constexpr breakdown states_of_stage(const settled_job& s, const stage_weights& w) {
  const auto& j = *s.source;
  const auto& p = s.precision;
  const auto replicas = checked::mul(s.data, j.parallel.context) / j.parallel.replicate;
  const auto all = checked::mul(replicas, j.parallel.tensor);
  const bool divides = j.sharding.kind == sharding_kind::megatron_distributed_optimizer;
  const std::int64_t d = divides ? replicas : 1;
  const auto expert_ranks = all / checked::mul(j.parallel.expert, j.parallel.expert_tensor);
  const std::int64_t e = divides && expert_ranks > 1 ? expert_ranks : 1;
  const auto whole = w.dense + w.experts;
  breakdown b{};
  b[row::model_parameters] = share(whole, p.parameters.width());
  b[row::gradients] = share(whole, p.gradients.width());
  b[row::master_parameters] = share(w.dense, p.master.width(), d) + share(w.experts, p.master.width(), e);
  const auto state = s.optimizer.state.width() * s.optimizer.moments;
  b[row::optimizer_state] = share(w.dense, state, d) + share(w.experts, state, e);
  return b;
}

/// Which kinds of layer a stage has.
struct layer_kinds {
  bool dense{};
  bool sparse{};
};

/// TransformerEngine returns, for a weight whose gradient was accumulated elsewhere, an empty tensor of the weight's shape, and
/// keeps one for each distinct shape for the whole run.
constexpr bytes empty_gradients(const settled_job& s, bool last, layer_kinds kinds) {
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
  if (kinds.dense || kinds.sparse) {
    if (m.mla.kv_rank > 0) {
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
      add((m.query_width() + 2 * m.kv_width()) / t, h);
      add(h, m.query_width() / t);
    }
  }
  if (kinds.dense) mlp(m.ffn / t);
  if (kinds.sparse) {
    mlp(m.experts.ffn / s.layer.expert_tensor);
    if (m.experts.shared_ffn > 0) mlp(m.experts.shared_ffn / t);
  }
  if (last) add(m.vocab / t, h);
  bytes sum{0};
  for (std::size_t i = 0; i < n; ++i) sum += bytes{checked::mul(checked::mul(shapes[i].rows, shapes[i].columns), 2)};
  return sum;
}

/// Buffers that a stage keeps: library workspaces, empty gradients, masks, gather buffers, tensors between stages.
constexpr breakdown buffers_of_stage(const settled_job& s, bool first, bool last, layer_kinds kinds) {
  const auto& j = *s.source;
  const auto& habits = j.framework;
  const auto& sc = s.layer;
  breakdown b{};
  const bool written_out = sc.kernel == attention::eager || sc.kernel == attention::math;
  // A stage of TransformerEngine modules alone never calls a matrix multiplication of torch.
  if (last || written_out || kinds.sparse) b[row::workspace] += habits.cublas_handles * cublas_workspace(s);
  if (!habits.local_modules) {
    const bytes one = s.on->compute_capability >= 90 ? 32 * mib : 4 * mib;
    b[row::workspace] += ((habits.overlaps_tensor_parallel ? 3 : 1) + (habits.grouped_gemm ? 4 : 0)) * one;
    if (habits.fuses_weight_gradients) b[row::workspace] += empty_gradients(s, last, kinds);
  }
  if (habits.masks_in_loader && (first || last))
    b[row::activations] += bytes{checked::mul(checked::mul(sc.samples, sc.sequence), sc.sequence / sc.context)};
  // The angles of rotary embedding, fp32, of this rank's positions, are made once (RotaryEmbedding.forward, an lru_cache).
  if (s.model.position == position_kind::rope && (kinds.dense || kinds.sparse))
    b[row::activations] += bytes{checked::mul(checked::mul(sc.sequence / sc.context, s.model.rotary_width()), 4)};
  const bytes stream{checked::mul(checked::mul(sc.stream_tokens(), s.model.hidden), sc.width)};
  const bytes whole{checked::mul(checked::mul(sc.tokens, s.model.hidden), sc.width)};
  const bytes gathered = last && sc.sequence_split > 1 ? whole : bytes{0};
  if (habits.local_modules && written_out) {
    // One global buffer serves the score matrices and the gathered input of the head.
    const bytes scores{checked::mul(checked::mul(checked::mul(sc.samples, s.model.heads / sc.tensor), sc.sequence / sc.context), checked::mul(sc.sequence, sc.width))};
    b[row::communication_buffers] += max(scores, gathered);
  } else {
    b[row::communication_buffers] += gathered;
  }
  if (habits.deferral_limit > 0 && last)
    b[row::logits] += habits.deferral_limit * (bytes{checked::mul(checked::mul(sc.tokens, sc.vocabulary) / sc.tensor, sc.width)} + whole);
  // Between stages: 1F1B keeps an input's gradient while it receives the next input; the interleaved schedule the previous input
  // gradient, the next received input and the received output gradient.
  if (j.parallel.pipeline > 1) {
    if (j.parallel.virtual_pipeline > 1)
      b[row::communication_buffers] += 3 * stream;
    else if (!first)
      b[row::communication_buffers] += stream;
  }
  return b;
}

}  // namespace detail

}  // namespace headroom
