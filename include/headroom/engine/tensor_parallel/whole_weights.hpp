// Distributed under the Boost Software License, Version 1.0.
// The weights of a pipeline stage one by one, for an optimizer that works on whole matrices; and how Megatron deals them out to ranks.
// Source: Megatron-LM core/optimizer/layer_wise_optimizer.py, LayerWiseDistributedOptimizer.
#pragma once

#include <headroom/engine/tensor_parallel/stage_states.hpp>

namespace headroom {

namespace detail {

/// Whether a job's optimizer is distributed so.
constexpr bool layer_wise(const settled_job& s) {
  return s.optimizer.vector_moments > 0 && s.source->sharding.distributes_optimizer();
}

/// Weights of one size, as Megatron's modules hold them on one rank: q, k and v are one tensor, and so are gate and up.
struct whole_weight {
  module role{};
  layer_span layers{};
  std::int64_t rows{}, columns{1};
  std::int64_t copies{};  ///< in a stage
  bool expert{}, matrix{};  ///< a matrix is Muon's; embedding, head and vectors are AdamW's
  [[nodiscard]] constexpr std::int64_t elements() const { return rows * columns; }
  /// What its orthogonalization takes (_ns_compute_cost).
  [[nodiscard]] constexpr std::int64_t cost() const {
    const auto big = rows > columns ? rows : columns, small = rows > columns ? columns : rows;
    return checked::mul(big, checked::mul(small, small));
  }
};

/// The first of the roles that share a tensor.
constexpr module fused_role(const weight& w, const shape& m) {
  switch (w.role) {
    case module::k_proj:
    case module::v_proj: return m.latent() ? w.role : module::q_proj;
    case module::up_proj: return module::gate_proj;
    case module::experts_up: return module::experts_gate;
    case module::shared_up: return module::shared_gate;
    default: return w.role;
  }
}

/// The whole weights of a stage, in the order of the model: what comes before the layers, the layers' kinds, what comes after.
class whole_weights {
 public:
  constexpr whole_weights(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage) {
    bool first = false, last = false;
    cut.for_each(stage, [&](const layer_chunk& c) {
      first = first || c.index == 0;
      last = last || c.index == cut.chunks() - 1;
    });
    const auto& d = s.source->parallel;
    for (const auto& w : list) {
      const auto t = w.split == split_axis::none ? 1 : w.expert ? d.expert_tensor : d.tensor;
      whole_weight here{.role = fused_role(w, s.model), .layers = w.layers, .rows = w.rows, .columns = w.columns};
      (w.split == split_axis::columns ? here.columns : here.rows) /= t;
      here.expert = w.expert;
      here.matrix = !w.vector() && w.role != module::embedding && w.role != module::head;
      const auto each = w.expert ? w.per_layer / d.expert : w.per_layer;
      if (w.layers.count > 0) {
        std::int64_t n = 0;
        cut.for_each(stage, [&](const layer_chunk& c) { n += layers_within(w.layers, c); });
        here.copies = checked::mul(each, n);
      } else {
        const bool front = w.role == module::embedding || w.role == module::position;
        here.copies = (front ? first || (last && s.model.tied && w.role == module::embedding) : last) ? each : 0;
      }
      if (here.copies > 0) add(here, w);
    }
  }
  [[nodiscard]] constexpr const whole_weight* begin() const { return of_.data(); }
  [[nodiscard]] constexpr const whole_weight* end() const { return of_.data() + size_; }

 private:
  constexpr void add(const whole_weight& w, const weight& part) {
    if (part.role != w.role && size_ > 0)  // a part of the one before, or of one not far before it
      for (auto i = size_; i-- > 0;) {
        auto& other = of_[i];
        if (other.role != w.role || other.layers != w.layers || other.columns != w.columns || other.copies != w.copies) continue;
        other.rows += w.rows;
        return;
      }
    of_[size_++] = w;
  }

  std::array<whole_weight, inventory::capacity> of_{};
  std::size_t size_ = 0;
};

/// What the heaviest rank owns, in elements, and how large the buffers of parameters and gradients are.
struct owned_weights {
  std::int64_t matrices{}, rest{};
  std::int64_t buffer{};
};

/// By size, dealt out in turn, to the last rank and back (_shard_params_ping_pong). The rank with the most bytes of states.
constexpr owned_weights ping_pong(const whole_weights& all, std::int64_t ranks, std::int64_t matrix_bytes, std::int64_t rest_bytes, auto choose) {
  std::array<const whole_weight*, inventory::capacity> sorted{};
  std::size_t n = 0;
  owned_weights most;
  for (const auto& w : all) {
    if (!choose(w)) continue;
    most.buffer = checked::add(most.buffer, checked::mul(w.elements(), w.copies));
    auto i = n++;
    for (; i > 0 && sorted[i - 1]->elements() > w.elements(); --i) sorted[i] = sorted[i - 1];
    sorted[i] = &w;
  }
  const auto round = 2 * ranks;
  std::int64_t top = -1;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    owned_weights own{0, 0, most.buffer};
    std::int64_t at = 0;
    const auto up_to = [&](std::int64_t end) {  // of the first `end` weights, this rank's
      const auto left = end % round;
      return end / round * 2 + (left > rank ? 1 : 0) + (left > round - 1 - rank ? 1 : 0);
    };
    for (std::size_t i = 0; i < n; ++i) {
      const auto& w = *sorted[i];
      (w.matrix ? own.matrices : own.rest) += (up_to(at + w.copies) - up_to(at)) * w.elements();
      at += w.copies;
    }
    const auto here = checked::add(checked::mul(own.matrices, matrix_bytes), checked::mul(own.rest, rest_bytes));
    if (here <= top) continue;
    top = here;
    most = own;
  }
  return most;
}

}  // namespace detail

}  // namespace headroom
