// Distributed under the Boost Software License, Version 1.0.
// What one pipeline stage holds for the whole run, where layers are divided (tensor, sequence, context, pipeline and expert
// parallelism): states and buffers.
// Sources: Megatron-LM core/optimizer/distrib_optimizer.py, core/distributed/param_and_grad_buffer.py; TransformerEngine
// pytorch/module/base.py get_dummy_wgrad, cpp_extensions/gemm.py get_cublas_workspace.
#pragma once

#include <headroom/layout/stages.hpp>
#include <headroom/sharding/windows.hpp>
#include <headroom/states/outside.hpp>

namespace headroom {

namespace detail {

/// Weights of one rank of a stage: those that all data-parallel ranks hold, and experts, which fewer do.
struct stage_weights {
  parameters dense{};
  parameters experts{};
  parameters linear{};  ///< of all, matrices of TransformerEngine's linear layers: what fp8 is for
  parameters plain{};  ///< of the dense ones, vectors, embeddings and heads: an optimizer for matrices leaves them to AdamW, but for learned
                       ///< positions (core/optimizer/emerging_optimizers.py _is_nonlinear_or_embedding)
  friend constexpr bool operator==(const stage_weights&, const stage_weights&) = default;
};

/// A vector, an embedding or a head. Learned positions are a matrix.
constexpr bool plain(const weight& w) { return !w.expert && (w.vector() || w.role == module::embedding || w.role == module::head); }

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
  constexpr rank_weights(const settled_job& s, const inventory& list) : list_(&list) {
    const auto& d = s.source->parallel;
    for (const auto& w : list) {
      const auto whole = w.elements();
      const auto here = w.expert ? whole / checked::mul(d.expert, d.expert_tensor) : w.split == split_axis::none || d.tensor == 1 ? whole : whole / d.tensor;
      const parameters all{checked::mul(here, w.per_layer)};
      auto& to = w.layers.count > 0 ? of_span(w.layers) : w.role == module::embedding || w.role == module::position ? front_ : back_;
      (w.expert ? to.experts : to.dense) += all;
      if (detail::plain(w)) to.plain += all;
      if (w.linear && !w.vector() && w.role != module::head && w.role != module::router) to.linear += all;
      // The head that is tied to the embedding, and the embedding that multi-token prediction reads, are a copy where it is not.
      if (w.role == module::embedding && (s.model.tied || s.model.mtp_layers > 0)) copy_ += all;
    }
  }

  /// What they were added up from; it has to outlive this.
  [[nodiscard]] constexpr const inventory& list() const { return *list_; }

  constexpr stage_weights of_stage(const stage_cut& cut, std::int64_t stage) const {
    stage_weights r;
    bool first = false, last = false;
    cut.for_each(stage, [&](const layer_chunk& c) {
      for (int i = 0; i < size_; ++i) {
        const auto n = layers_within(spans_[i], c);
        r.dense += n * layers_[i].dense;
        r.experts += n * layers_[i].experts;
        r.plain += n * layers_[i].plain;
        r.linear += n * layers_[i].linear;
      }
      first = first || c.index == 0;
      last = last || c.index == cut.chunks() - 1;
    });
    if (first) r.dense += front_.dense, r.plain += front_.plain;
    if (last) r.dense += back_.dense, r.experts += back_.experts, r.plain += back_.plain, r.linear += back_.linear;
    if (last && !first) r.dense += copy_, r.plain += copy_;
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

  const inventory* list_;
  layer_span spans_[inventory::capacity];
  stage_weights layers_[inventory::capacity];  // of one layer of the span
  int size_ = 0;
  stage_weights front_{}, back_{};
  parameters copy_{};
};

constexpr stage_weights weights_of_stage(const settled_job& s, const inventory& list, std::int64_t stage) {
  return rank_weights(s, list).of_stage(stage_cut(s.source->parallel, s.model.layers), stage);
}

/// Ranks over which master copy and optimizer state are divided: of what all data-parallel ranks hold, and of experts.
struct state_degrees {
  std::int64_t dense{1};
  std::int64_t experts{1};
};
constexpr state_degrees degrees_of_shards(const settled_job& s) {
  const auto& j = *s.source;
  const auto replicas = checked::mul(s.data, j.parallel.context) / j.parallel.replicate;
  const auto same = checked::mul(replicas, j.parallel.tensor) / checked::mul(j.parallel.expert, j.parallel.expert_tensor);
  return {replicas, same > 1 ? same : 1};
}
constexpr state_degrees degrees_of_states(const settled_job& s) {
  const auto& z = s.source->sharding;
  const bool divides = z.by(sharder::megatron) && z.cuts(sharded_state::optimizer);
  return divides ? degrees_of_shards(s) : state_degrees{};
}

/// Whether the precision-aware optimizer works on the shards of parameters and gradients themselves. An fp8 recipe that is not delayed
/// leaves it a master and gradients of its own, in fp32 (core/optimizer/optimizer_config.py, use_precision_aware_optimizer_no_fp8_or_ds_fp8).
constexpr bool updates_shards(const settled_job& s) {
  const auto& habits = s.source->framework;
  return habits.optimizer.precision_aware && (s.precision.master != formats::fp32 || !habits.fp8.names_recipe);
}

/// What the optimizer makes for the time of a step. Gradients that are not fp32 are copied to fp32 (distrib_optimizer.py
/// _copy_model_grads_to_main_grads), but for the precision-aware optimizer; that one may copy moments, the dense weights' and the
/// experts' after one another (TransformerEngine optimizers/fused_adam.py get_unscaled_state).
constexpr bytes update_temporaries(const settled_job& s, const stage_weights& w) {
  const auto& habits = s.source->framework;
  const auto d = degrees_of_states(s);
  const auto& p = s.precision;
  const auto one = share(w.dense, 4, d.dense), other = share(w.experts, 4, d.experts);
  const auto gradients = !updates_shards(s) && p.gradients.width() < 4 && p.master.width() == 4 ? one + other : bytes{0};
  if (!habits.optimizer.precision_aware) return gradients;
  const bool copies = s.optimizer.state.width() < 4 && (habits.optimizer.unscales_moments || s.optimizer.state.bits == 8 || s.optimizer.state == formats::fp16);
  return gradients + (copies ? s.optimizer.moments * max(one, other) : bytes{0});
}

/// Beside bf16 parameters the precision-aware optimizer keeps the 16 bits that a master in fp32 has more (store_param_remainders).
constexpr std::int64_t master_width(const settled_job& s) {
  const auto& p = s.precision;
  return updates_shards(s) && p.master.bits == 32 && p.parameters == formats::bf16 ? 2 : p.master.width();
}

/// Parameters and main gradients whole, master copy and optimizer state divided over data × context ranks (experts: over the ranks
/// that hold the same experts) with the distributed optimizer.
constexpr breakdown states_of_stage(const settled_job& s, const stage_weights& w) {
  const auto& p = s.precision;
  const auto [d, e] = degrees_of_states(s);
  const auto whole = w.dense + w.experts;
  breakdown b{};
  // fp8 copies of weights, with their transposes, stay from the first micro-batch on (TransformerEngine module/base.py
  // get_weight_workspace); with fp8-param-gather they are the parameters.
  const bool fp8_only = p.parameters.bits == 8;
  b[row::model_parameters] = share(whole, fp8_only ? s.layer.width : p.parameters.width());
  if (s.layer.fp8) {
    const auto copies = share(w.linear, s.layer.fp8_copies);
    if (fp8_only)
      b[row::model_parameters] += copies - share(w.linear, s.layer.width);
    else
      b[row::workspace] += copies;
  }
  b[row::gradients] = share(whole, p.gradients.width());
  const auto master = master_width(s);
  b[row::master_parameters] = share(w.dense, master, d) + share(w.experts, master, e);
  const auto state = s.optimizer.state.width() * s.optimizer.moments;
  b[row::optimizer_state] = share(w.dense, state, d) + share(w.experts, state, e);
  if (s.optimizer.vector_moments > 0)
    b[row::optimizer_state] += (s.optimizer.vector_moments - s.optimizer.moments) * share(w.plain, s.optimizer.state.width(), d);
  return b;
}

/// What a stage has: which kinds of layer, the embedding, the head.
struct stage_parts {
  bool dense{};
  bool sparse{};
  bool first{};
  bool last{};
  friend constexpr bool operator==(const stage_parts&, const stage_parts&) = default;
};
/// A chunk at an end of the model adds what lies there.
constexpr void add_ends(stage_parts& parts, const shape& m, bool has_embedding, bool has_head) {
  parts.first = parts.first || has_embedding;
  parts.last = parts.last || has_head;
  if (has_head && m.mtp_layers > 0) (m.sparse() ? parts.sparse : parts.dense) = true;
}

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
  // A stage of TransformerEngine modules alone never calls a matrix multiplication of torch; its router does not either.
  if (last || written_out || habits.modules.local()) b[row::workspace] += habits.process.cublas_handles * cublas_workspace(s);
  // The router multiplies by TransformerEngine in either case (moe_utils.py RouterGatingLinearFunction, since 2025-06).
  if (!habits.modules.local() || kinds.sparse) {
    const bytes one = s.on->compute_capability >= 90 ? 32 * mib : 4 * mib;
    b[row::workspace] += ((habits.communication.tensor_parallel == tensor_parallel_overlap::userbuffers ? 4 : 1) + (habits.experts.gemm == expert_gemm::grouped_gemm ? 4 : 0)) * one;
    if (habits.gradients.fused_accumulation && !habits.modules.local()) b[row::workspace] += empty_gradients(s, kinds);
  }
  // The angles of rotary embedding, fp32, of this rank's positions, are made once (RotaryEmbedding.forward, an lru_cache).
  if (s.model.position == position_kind::rope && (kinds.dense || kinds.sparse))
    b[row::activations] += bytes{checked::mul(checked::mul(sc.sequence / sc.context, s.model.rotary_width()), 4)};
  const bytes stream{checked::mul(checked::mul(sc.stream_tokens(), s.model.hidden), sc.width)};
  const bytes whole{checked::mul(checked::mul(sc.tokens, s.model.hidden), sc.width)};
  // One global buffer for whatever is gathered: the input of the head, and tokens of the all-gather dispatcher.
  bytes gathered = last && sc.sequence_split > 1 ? whole : bytes{0};
  if (kinds.sparse && habits.experts.dispatcher == token_dispatcher::all_gather && sc.expert * sc.expert_tensor > 1)
    gathered = max(gathered, sc.expert * sc.expert_tensor * stream);
  if (habits.modules.local() && written_out) {
    // One global buffer serves the score matrices and the gathered input of the head.
    const bytes scores{checked::mul(checked::mul(checked::mul(sc.samples, s.model.heads / sc.tensor), sc.sequence / sc.context), checked::mul(sc.sequence, sc.width))};
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
