// Distributed under the Boost Software License, Version 1.0.
// Muon under Megatron's layer-wise distributed optimizer: it works on whole matrices, so whole weights, not shards of a flat buffer, are
// given to data-parallel ranks.
// Source: Megatron-LM core/optimizer/layer_wise_optimizer.py, LayerWiseDistributedOptimizer; core/optimizer/param_layout.py.
#pragma once

#include <headroom/engine/tensor_parallel/whole_weights.hpp>

namespace headroom {

namespace detail {

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
constexpr owned_weights lay_out(const whole_weights& all, std::int64_t ranks, std::int64_t bucket_size, auto choose) {
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
