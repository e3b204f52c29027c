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
    const auto n = layer <= span.first ? 0 : span.stride == 1 ? layer - span.first : checked::ceil_div(layer - span.first, span.stride);
    return n < span.count ? n : span.count;
  };
  return before(chunk.first + chunk.count) - before(chunk.first);
}

/// What one rank of any stage holds of the inventory: per layer of each span of layers, and outside the stack. Added up once for
/// a job, so that a stage only counts layers.
class rank_weights {
 public:
  constexpr rank_weights(const settled_job& s, const inventory& list) {
    const auto& d = s.source->parallel;
    for (const auto& w : list) {
      const auto whole = w.elements();
      const auto here = w.expert ? whole / checked::mul(d.expert, d.expert_tensor) : w.split == split_axis::none || d.tensor == 1 ? whole : whole / d.tensor;
      const parameters all{checked::mul(here, w.per_layer)};
      auto& to = w.layers.count > 0 ? of_span(w.layers) : w.role == module::embedding || w.role == module::position ? front_ : back_;
      (w.expert ? to.experts : to.dense) += all;
      // The head that is tied to the embedding, and the embedding that multi-token prediction reads, are a copy where it is not.
      if (w.role == module::embedding && (s.model.tied || s.model.mtp_layers > 0)) copy_ += all;
    }
  }

  constexpr stage_weights of_stage(const stage_cut& cut, std::int64_t stage) const {
    stage_weights r;
    bool first = false, last = false;
    cut.for_each(stage, [&](const layer_chunk& c) {
      for (int i = 0; i < size_; ++i) {
        const auto n = layers_within(spans_[i], c);
        r.dense += n * layers_[i].dense;
        r.experts += n * layers_[i].experts;
      }
      first = first || c.index == 0;
      last = last || c.index == cut.chunks() - 1;
    });
    if (first) r.dense += front_.dense, r.experts += front_.experts;
    if (last) r.dense += back_.dense, r.experts += back_.experts;
    if (last && !first) r.dense += copy_;
    return r;
  }

 private:
  constexpr stage_weights& of_span(const layer_span& span) {
    for (int i = size_; i-- > 0;)
      if (spans_[i] == span) return layers_[i];
    spans_[size_] = span;
    layers_[size_] = {};
    return layers_[size_++];
  }

  layer_span spans_[inventory::capacity];
  stage_weights layers_[inventory::capacity];  // of one layer of the span
  int size_ = 0;
  stage_weights front_{}, back_{};
  parameters copy_{};
};

constexpr stage_weights weights_of_stage(const settled_job& s, const inventory& list, std::int64_t stage) {
  return rank_weights(s, list).of_stage(stage_cut(s.source->parallel, s.model.layers), stage);
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

/// What a stage has: which kinds of layer, the embedding, the head.
struct stage_parts {
  bool dense{};
  bool sparse{};
  bool first{};
  bool last{};
};

/// TransformerEngine returns, for a weight whose gradient was accumulated elsewhere, an empty tensor of the weight's shape, and
/// keeps one for each distinct shape for the whole run.
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
  if (kinds.last && m.mtp_layers > 0) add(h / t, 2 * h);
  if (kinds.last) add(m.vocab / t, h);
  bytes sum{0};
  for (std::size_t i = 0; i < n; ++i) sum += bytes{checked::mul(checked::mul(shapes[i].rows, shapes[i].columns), 2)};
  return sum;
}

/// Buffers that a stage keeps: library workspaces, empty gradients, masks, gather buffers.
constexpr breakdown buffers_of_stage(const settled_job& s, stage_parts kinds) {
  const auto& j = *s.source;
  const auto& habits = j.framework;
  const auto& sc = s.layer;
  const bool last = kinds.last;
  breakdown b{};
  const bool written_out = sc.kernel == attention::eager || sc.kernel == attention::math;
  // A stage of TransformerEngine modules alone never calls a matrix multiplication of torch.
  if (last || written_out || kinds.sparse) b[row::workspace] += habits.cublas_handles * cublas_workspace(s);
  if (!habits.local_modules) {
    const bytes one = s.on->compute_capability >= 90 ? 32 * mib : 4 * mib;
    b[row::workspace] += ((habits.overlaps_tensor_parallel ? 3 : 1) + (habits.grouped_gemm ? 4 : 0)) * one;
    if (habits.fuses_weight_gradients) b[row::workspace] += empty_gradients(s, kinds);
  }
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
  return b;
}

}  // namespace detail

}  // namespace headroom
