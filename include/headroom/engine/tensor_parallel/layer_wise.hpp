// Distributed under the Boost Software License, Version 1.0.
// Muon under Megatron's layer-wise distributed optimizer: it works on whole matrices, so whole weights, not shards of a flat buffer, are
// given to data-parallel ranks.
// Source: Megatron-LM core/optimizer/layer_wise_optimizer.py, LayerWiseDistributedOptimizer; core/optimizer/param_layout.py.
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
template <class Choose>
constexpr owned_weights ping_pong(const whole_weights& all, std::int64_t ranks, std::int64_t matrix_bytes, std::int64_t rest_bytes, Choose choose) {
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

/// Matrices packed into one equal part of each buffer for a rank (_compute_per_buffer_param_layout): the costly ones first, each to the
/// rank with the least to compute, as long as no part grows past 1.3 of the mean; the largest part is what all are padded to.
class matrix_layout {
 public:
  static constexpr std::size_t capacity = 1024;
  constexpr matrix_layout(std::int64_t ranks, std::int64_t bucket_size) : ranks_(static_cast<std::size_t>(ranks)), bucket_size_(bucket_size) {
    if (ranks_ > capacity) refuse("headroom: Muon's layer-wise layout is modelled for at most 1024 data-parallel ranks; ranks", ranks);
  }
  /// One more weight, from the last of the model to the first.
  constexpr void add(const whole_weight& w) {
    const auto n = w.elements();
    if (bucket_size_ > 0 && size_ > 0) {
      const auto floor = static_cast<std::int64_t>(ranks_) * largest_ * 9 / 10;
      if (elements_ >= (floor > bucket_size_ ? floor : bucket_size_) && aligned(estimate_[least(estimate_)]) + n > aligned(most(estimate_))) close();
    }
    auto& part = estimate_[least(estimate_)];
    part = aligned(part) + n;
    elements_ += n;
    largest_ = n > largest_ ? n : largest_;
    for (std::size_t i = 0; i < size_; ++i)
      if (kinds_[i].of == &w) {
        ++kinds_[i].count;
        return;
      }
    auto i = size_++;
    for (; i > 0 && kinds_[i - 1].of->cost() < w.cost(); --i) kinds_[i] = kinds_[i - 1];
    kinds_[i] = {&w, 1};
  }
  constexpr owned_weights finish() {
    close();
    return {most(owned_), 0, buffer_};
  }

 private:
  using numbers = std::array<std::int64_t, capacity>;
  /// The first of the least and the largest of the ranks' numbers, without <algorithm>: it is a fifth of what the core takes to compile.
  [[nodiscard]] constexpr std::size_t least(const numbers& n) const {
    std::size_t found = 0;
    for (std::size_t r = 1; r < ranks_; ++r)
      if (n[r] < n[found]) found = r;
    return found;
  }
  [[nodiscard]] constexpr std::int64_t most(const numbers& n) const {
    auto found = n[0];
    for (std::size_t r = 1; r < ranks_; ++r)
      if (n[r] > found) found = n[r];
    return found;
  }
  static constexpr std::int64_t aligned(std::int64_t n) { return checked::round_up(n, 64); }

  constexpr void close() {
    if (size_ == 0) return;
    auto& part = estimate_;  // which is done with: numbers of all ranks take 8 KB
    part.fill(0);
    const auto cap = elements_ * 13 / (10 * static_cast<std::int64_t>(ranks_));
    for (std::size_t i = 0; i < size_; ++i) {
      const auto n = kinds_[i].of->elements();
      for (std::int64_t c = 0; c < kinds_[i].count; ++c) {
        auto to = ranks_;
        for (std::size_t r = 0; r < ranks_; ++r)
          if (aligned(part[r]) + n <= cap && (to == ranks_ || cost_[r] < cost_[to])) to = r;
        if (to == ranks_) to = least(part);
        part[to] = aligned(part[to]) + n;
        cost_[to] += kinds_[i].of->cost();
        owned_[to] += n;
      }
    }
    buffer_ = checked::add(buffer_, checked::mul(static_cast<std::int64_t>(ranks_), aligned(most(part))));
    size_ = 0;
    elements_ = largest_ = 0;
    estimate_.fill(0);
  }

  struct kind {
    const whole_weight* of;
    std::int64_t count;
  };
  std::size_t ranks_;
  std::int64_t bucket_size_;
  std::array<kind, inventory::capacity> kinds_{};
  std::size_t size_ = 0;
  std::int64_t elements_{}, largest_{}, buffer_{};
  numbers estimate_{}, cost_{}, owned_{};
};

/// The matrices of a stage that `choose` picks: what lies behind the layers, the layers from the last to the first, what lies before them.
template <class Choose>
constexpr owned_weights lay_out(const whole_weights& all, std::int64_t ranks, std::int64_t bucket_size, Choose choose) {
  matrix_layout l(ranks, bucket_size);
  std::int64_t layers = 0;
  for (const auto& w : all)
    if (w.layers.count > 0 && w.copies > layers) layers = w.copies;
  const auto each = [&](auto&& visit) {
    for (auto w = all.end(); w != all.begin();) {
      --w;
      if (w->matrix && choose(*w)) visit(*w);
    }
  };
  // A kind that is not in every layer, or more than once, comes as evenly as it can.
  for (std::int64_t i = 0; i < layers; ++i)
    each([&](const whole_weight& w) {
      if (w.layers.count == 0) return;
      for (auto c = w.copies * i / layers; c < w.copies * (i + 1) / layers; ++c) l.add(w);
    });
  each([&](const whole_weight& w) {
    if (w.layers.count == 0)
      for (std::int64_t c = 0; c < w.copies; ++c) l.add(w);
  });
  return l.finish();
}

/// The states of the rank that owns most. Gradients and parameters are whole on all ranks. With a layout, matrices lie in padded buffers,
/// and the rest is sharded as the distributed optimizer does it; without, all weights are dealt out whole.
constexpr breakdown layer_wise_states(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage) {
  const auto& p = s.precision;
  const auto& habits = s.source->framework;
  const whole_weights all(s, list, cut, stage);
  const auto ranks = degrees_of_shards(s);
  const auto width = s.optimizer.state.width(), master = p.master.width();
  const auto of_matrix = master + width * s.optimizer.moments, of_rest = master + width * s.optimizer.vector_moments;
  const auto replicas = ranks.dense;
  const std::int64_t bucket_size = habits.optimizer.muon == muon_layout::buckets && stage == 0 ? replicas > 40 ? checked::mul(1'000'000, replicas) : 40'000'000 : 0;
  breakdown b{};
  for (const bool expert : {false, true}) {
    const auto d = expert ? ranks.experts : ranks.dense;
    const auto mine = [&](const whole_weight& w) { return w.expert == expert; };
    owned_weights own;
    if (habits.optimizer.muon == muon_layout::dealt_out) {
      own = ping_pong(all, d, of_matrix, of_rest, mine);
    } else {
      own = lay_out(all, d, bucket_size, mine);
      std::int64_t rest = 0;
      for (const auto& w : all)
        if (!w.matrix && mine(w)) rest = checked::add(rest, checked::mul(w.elements(), w.copies));
      own.rest = checked::ceil_div(rest, d);
      own.buffer = checked::add(own.buffer, rest);
    }
    b[row::model_parameters] += bytes{checked::mul(own.buffer, p.parameters.width())};
    b[row::gradients] += bytes{checked::mul(own.buffer, p.gradients.width())};
    b[row::master_parameters] += bytes{checked::mul(own.matrices + own.rest, master)};
    b[row::optimizer_state] += bytes{checked::add(checked::mul(own.matrices, of_matrix - master), checked::mul(own.rest, of_rest - master))};
  }
  return b;
}

/// Without a layout the updated weights are flattened and gathered into new tensors, the dense ones' first (allgather_params).
constexpr bytes layer_wise_temporaries(const settled_job& s, const stage_weights& w) {
  if (s.source->framework.optimizer.muon != muon_layout::dealt_out) return bytes{0};
  const auto ranks = degrees_of_shards(s);
  const auto gathered = [&](parameters n, std::int64_t d) { return d > 1 ? share(n, s.precision.parameters.width()) : bytes{0}; };
  return max(gathered(w.dense, ranks.dense), gathered(w.experts, ranks.experts));
}

}  // namespace detail

}  // namespace headroom
