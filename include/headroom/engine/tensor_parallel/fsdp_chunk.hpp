// Distributed under the Boost Software License, Version 1.0.
// A chunk of layers whose weights are gathered for a while and whose gradients are reduced on the way: Megatron-FSDP's pipelines of
// all-gathers and reduce-scatters, layer by layer.
// Source: Megatron-LM core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py, AllGatherPipeline and GradReducePipeline.
#pragma once

#include <headroom/engine/tensor_parallel/chunks.hpp>
#include <headroom/engine/tensor_parallel/fsdp_units.hpp>
#include <headroom/layout/schedule.hpp>

namespace headroom {

namespace detail {

/// The groups of a stack in the order in which a pass needs them: in each layer of a forward the dense weights, then the experts.
class fsdp_order {
 public:
  constexpr fsdp_order(const shape& m, const fsdp_layout& l) : shape_(&m) {
    for (std::size_t kind = 0; kind < 2; ++kind) {
      const bool pooled = l.pooled == static_cast<int>(kind);
      const auto& u = l.layer[kind];
      const auto part_of = [&](const fsdp_group& g) { return group_size{g.elements(), pooled ? bytes{0} : l.gathered(g), pooled ? bytes{0} : l.gradients(g)}; };
      sizes_[kind] = {part_of(u.dense), part_of(u.experts)};
      transposes_[kind] = l.transposes(u);
    }
  }
  /// Groups are two a layer, numbered from the first layer's dense one.
  [[nodiscard]] constexpr std::int64_t elements(std::int64_t i) const { return size(i).elements; }
  /// What a group takes for a while: nothing where it has a place in the pool.
  [[nodiscard]] constexpr bytes gathered(std::int64_t i) const { return size(i).gathered; }
  [[nodiscard]] constexpr bytes gradients(std::int64_t i) const { return size(i).gradients; }
  /// What a layer's fp8 weights take more while it runs.
  [[nodiscard]] constexpr bytes transposes(std::int64_t layer) const { return transposes_[kind(layer)]; }
  /// The first of the layers around `layer` that are of its kind one after the other, and the last: itself where kinds alternate.
  [[nodiscard]] constexpr std::int64_t first_alike(std::int64_t layer) const {
    const auto dense = shape_->sparse() ? shape_->experts.first_dense_layers : 0;
    return alternates() ? layer : layer < dense ? 0 : dense;
  }
  [[nodiscard]] constexpr std::int64_t last_alike(std::int64_t layer) const {
    const auto dense = shape_->sparse() ? shape_->experts.first_dense_layers : 0;
    return alternates() ? layer : (layer < dense && dense < shape_->layers ? dense : shape_->layers) - 1;
  }

 private:
  struct group_size {
    std::int64_t elements{};
    bytes gathered{}, gradients{};
  };
  [[nodiscard]] constexpr std::size_t kind(std::int64_t layer) const { return static_cast<std::size_t>(shape_->sparse_layer(layer)); }
  [[nodiscard]] constexpr const group_size& size(std::int64_t i) const { return sizes_[kind(i / 2)][static_cast<std::size_t>(i % 2)]; }
  [[nodiscard]] constexpr bool alternates() const { return shape_->sparse() && (shape_->experts.every > 1 || shape_->experts.masked_dense()); }

  const shape* shape_;
  std::array<std::array<group_size, 2>, 2> sizes_{};  // of a dense layer and of a sparse one
  std::array<bytes, 2> transposes_{};
};

/// Weights gathered while a layer runs: its own, and those of the next until `prefetch` elements are ahead (all_gather_params); with
/// double buffers, at most the next layer's.
class fsdp_gathers {
 public:
  constexpr fsdp_gathers(const fsdp_order& order, const fsdp_layout& l, std::int64_t layers, bool backward)
      : order_(&order), layout_(&l), layers_(layers), backward_(backward) {}
  /// Bytes that are gathered while a layer runs. Layers are asked for one after another.
  constexpr bytes during(std::int64_t layer) {
    const auto at = backward_ ? layers_ - 1 - layer : layer;  // in the order of the pass
    const auto own = 2 * at + 2;
    const auto before = next_ - own, ahead_before = ahead_;
    const auto live_before = live_;
    for (; next_ < own; ++next_) take();
    while (next_ < 2 * layers_ && ahead_ - elements_of(at) < layout_->prefetch && !(layout_->pooled >= 0 && next_ >= own + 2)) {
      take();
      ++next_;
    }
    const auto now = live_;
    for (auto i = own - 2; i < own; ++i) {
      live_ -= order_->gathered(group(i));
      ahead_ -= order_->elements(group(i));
    }
    steady_ = next_ - own == before + 2 && ahead_ == ahead_before && live_ == live_before;
    return now;
  }
  /// Of the layers that follow the one last asked for, how many are sure to find the same: two groups come for each two that go, and all are of one kind.
  [[nodiscard]] constexpr std::int64_t repeats(std::int64_t layer) const {
    const auto end = !steady_ ? 0 : backward_ ? layers_ - order_->first_alike(layer) : order_->last_alike(layer) + 1;  // in the order of the pass
    const auto left = end - (next_ + 1) / 2;
    return left > 0 ? left : 0;
  }
  constexpr void skip(std::int64_t layers) { next_ += 2 * layers; }

 private:
  [[nodiscard]] constexpr std::int64_t group(std::int64_t i) const { return backward_ ? 2 * layers_ - 1 - i : i; }
  [[nodiscard]] constexpr std::int64_t elements_of(std::int64_t at) const {
    return order_->elements(group(2 * at)) + order_->elements(group(2 * at + 1));
  }
  constexpr void take() {
    live_ += order_->gathered(group(next_));
    ahead_ += order_->elements(group(next_));
  }

  const fsdp_order* order_;
  const fsdp_layout* layout_;
  std::int64_t layers_;
  bool backward_;
  std::int64_t next_{};   // groups gathered so far
  std::int64_t ahead_{};  // elements of those that are not released
  bytes live_{0};
  bool steady_ = false;  // the last layer left as much as it found
};

/// What the final norm gathers ahead in the first micro-batch of a run: layers from the first one on. Modules outside the layers do so no
/// more once a backward has run (their state stays PRE_BACKWARD; before 2026-04 they did each time).
constexpr bytes gathered_by_final_norm(const fsdp_order& order, const fsdp_layout& l, std::int64_t layers) {
  if (!l.gathers || l.pooled >= 0) return bytes{0};
  bytes sum{0};
  std::int64_t ahead = 0;
  for (std::int64_t i = 0; i < 2 * layers && ahead < l.prefetch; ++i) {
    sum += order.gathered(i);
    ahead += order.elements(i);
  }
  return sum;
}

/// Gradients on their way. A group is reduced when its last gradient has come; before that, the oldest reductions are waited for until
/// no more than `queue` elements are under way (wait_for_previous_grad_reduce).
class fsdp_reductions {
 public:
  constexpr fsdp_reductions(const fsdp_order& order, const fsdp_layout& l, std::int64_t layers) : order_(&order), layout_(&l), layers_(layers) {}
  [[nodiscard]] constexpr bytes live() const { return live_; }
  /// What is reduced before the layers: final norm and head, where they have a buffer of their own.
  constexpr void push_ends(const fsdp_group& g) {
    if (g.empty()) return;
    ends_ = g.elements();
    ends_bytes_ = layout_->gradients(g);
    under_way_ = ends_;
    live_ = ends_bytes_;
  }
  /// The backward of a layer: its groups' gradients are there whole.
  constexpr bytes during(std::int64_t layer) const { return live_ + order_->gradients(2 * layer) + order_->gradients(2 * layer + 1); }
  constexpr void push(std::int64_t layer) {
    const auto before = first_ - 2 * (layer + 1), under_way_before = under_way_;
    const auto live_before = live_;
    for (auto i = 2 * layer + 1; i >= 2 * layer; --i) {
      const auto n = order_->elements(i);
      if (n == 0) continue;
      while (under_way_ > 0 && (under_way_ > layout_->queue || (layout_->pooled >= 0 && oldest() > layer + 1))) pop();
      under_way_ += n;
      live_ += order_->gradients(i);
    }
    steady_ = ends_ == 0 && first_ - 2 * layer == before && under_way_ == under_way_before && live_ == live_before;
  }
  /// As fsdp_gathers::repeats(): of the layers below `layer`.
  [[nodiscard]] constexpr std::int64_t repeats(std::int64_t layer) const {
    return steady_ && first_ / 2 <= order_->last_alike(layer) ? layer - order_->first_alike(layer) : 0;
  }
  constexpr void skip(std::int64_t layers) { first_ -= 2 * layers; }

 private:
  [[nodiscard]] constexpr std::int64_t oldest() const { return ends_ > 0 ? layers_ : (first_ / 2); }
  constexpr void pop() {
    if (ends_ > 0) {
      under_way_ -= ends_;
      live_ -= ends_bytes_;
      ends_ = 0;
      return;
    }
    under_way_ -= order_->elements(first_);
    live_ -= order_->gradients(first_);
    --first_;
  }

  const fsdp_order* order_;
  const fsdp_layout* layout_;
  std::int64_t layers_;
  std::int64_t first_{2 * layers_ - 1};  // the oldest group under way
  std::int64_t under_way_{};
  std::int64_t ends_{};
  bytes live_{0}, ends_bytes_{0};
  bool steady_ = false;
};

/// walk_chunk for the one chunk of a job under Megatron-FSDP. A buffer across both ends exists from the final norm's gradient to the end.
/// The gradient of a tied matrix waits for its second half, unless it is added in place. Returns the most that is gathered of the layers at
/// once: gathers have a stream of their own, whose memory others cannot use.
constexpr bytes walk_fsdp_chunk(chunk_cost& k, const settled_job& s, const divided_layers& w, const fsdp_layout& l, bytes embedding_mask,
                                bytes attention_mask) {
  const auto& j = *s.source;
  const auto& m = s.model;
  const fsdp_order order(m, l);
  const auto modules = j.recompute.mode == recompute_mode::selective ? j.recompute.modules : 0;
  const bool saves_mask = j.recompute.mode == recompute_mode::full || (modules >> static_cast<int>(recompute_module::core_attn) & 1U) != 0;
  const bytes mask_in_forward = saves_mask ? bytes{0} : attention_mask;
  moment live(row::activations, embedding_mask + attention_mask);
  // Visits the layers of a pass. A visit says how many of those that follow are like it in all but what lies below them.
  const auto each_layer = [&](bool backward, auto&& visit) {
    for (std::int32_t n = 0; n < k.size; ++n) {
      const auto& r = k.runs[static_cast<std::size_t>(backward ? k.size - 1 - n : n)];
      const auto& c = r.recomputes ? w.checkpoint[static_cast<std::size_t>(r.sparse)] : w.whole[static_cast<std::size_t>(r.sparse)];
      for (std::int64_t i = 0; i < r.count; ++i) i += visit(backward ? r.first + r.count - 1 - i : r.first + i, r.count - 1 - i, c);
    }
  };

  bytes tallest{0};
  const auto during = [&](fsdp_gathers& pass, std::int64_t layer) {
    const auto now = pass.during(layer) + order.transposes(layer);
    tallest = max(tallest, now);
    return part{row::gathered_parameters, now};
  };
  fsdp_gathers up(order, l, m.layers, false);
  each_layer(false, [&](std::int64_t layer, std::int64_t left, const layer_cost& c) {
    const auto gathered = during(up, layer);
    if (k.forward.rise_to(live, c.forward, gathered)) k.forward_layer = layer;
    const auto alike = detail::least(left, up.repeats(layer));  // the last of them is the highest
    up.skip(alike);
    live += multiple{alike, c.saved};
    if (alike > 0 && k.forward.rise_to(live, c.forward, gathered)) k.forward_layer = layer + alike;
    live += c.saved;
    return alike;
  });
  k.saved = live + w.head_saved;
  // In a run's first micro-batch layers are gathered in the loss; the backward thread's cuBLAS workspace, which is counted all the time, is
  // not there yet. Optimizer states are, where the run goes on from a checkpoint.
  const part first{row::gathered_parameters, max(gathered_by_final_norm(order, l, m.layers) - cublas_workspace(s), bytes{0})};
  k.loss.rise_to(live, w.head_forward, first);
  live.add(row::activations, -mask_in_forward);
  k.saved.add(row::activations, -mask_in_forward);
  if (k.backward.rise_to(live, w.head_backward, first)) k.backward_layer = -1;

  const bool waits = m.tied && !s.layer.fuses_weight_gradients;
  const bytes table{checked::mul(checked::mul(m.vocab, m.hidden) / s.layer.tensor, s.layer.weight_width)};
  if (waits) live.add(row::gradients, table);
  live.add(row::communication_buffers, l.gradients(l.across));
  fsdp_gathers down(order, l, m.layers, true);
  fsdp_reductions reduced(order, l, m.layers);
  reduced.push_ends(l.back);
  each_layer(true, [&](std::int64_t layer, std::int64_t left, const layer_cost& c) {
    live -= c.saved;
    if (k.backward.rise_to(live, c.backward, during(down, layer), part{row::communication_buffers, reduced.during(layer)})) k.backward_layer = layer;
    reduced.push(layer);
    const auto alike = detail::least(left, detail::least(down.repeats(layer), reduced.repeats(layer)));  // none of them is higher
    down.skip(alike);
    reduced.skip(alike);
    live += multiple{-alike, c.saved};
    return alike;
  });
  // The embedding's backward makes a whole gradient, whatever is added in place elsewhere.
  const part on_the_way{row::communication_buffers, reduced.live() + l.gradients(l.front)};
  if (k.backward.rise_to(live, part{row::temporaries, w.input}, part{row::gradients, table}, on_the_way)) k.backward_layer = -1;
  return tallest;
}

}  // namespace detail

}  // namespace headroom
