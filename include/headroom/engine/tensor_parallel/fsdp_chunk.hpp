// Distributed under the Boost Software License, Version 1.0.
// A chunk of layers whose weights are gathered for a while and whose gradients are reduced on the way: Megatron-FSDP's pipelines of
// all-gathers and reduce-scatters, layer by layer, around chunk_step.hpp.
// Source: Megatron-LM core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py, AllGatherPipeline and GradReducePipeline.
#pragma once

#include <headroom/engine/tensor_parallel/chunks.hpp>
#include <headroom/engine/tensor_parallel/fsdp_order.hpp>
#include <headroom/layout/schedule.hpp>

#include <utility>

namespace headroom {

namespace detail {

/// Weights gathered while a layer runs: its own, and those of the next until `prefetch` elements are ahead (all_gather_params); with
/// double buffers, at most the next layer's.
class fsdp_gathers {
 public:
  constexpr fsdp_gathers(const fsdp_order& order, const fsdp_layout& l, std::int64_t layers, bool backward)
      : order_(&order), layout_(&l), layers_(layers), backward_(backward) {}
  /// Bytes that are gathered now.
  [[nodiscard]] constexpr bytes live() const { return live_; }
  /// A layer is about to run. Layers come one after another.
  constexpr void begin(std::int64_t layer, auto& to) {
    const auto at = place(layer);
    const auto own = 2 * at + 2;
    before_ = {next_ - own, ahead_, live_};
    for (; next_ < own; ++next_) take(to);
    while (next_ < 2 * layers_ && ahead_ - elements_of(at) < layout_->prefetch && !(layout_->pooled >= 0 && next_ >= own + 2)) {
      take(to);
      ++next_;
    }
  }
  /// It has run.
  constexpr void end(std::int64_t layer, auto& to) {
    const auto own = 2 * place(layer) + 2;
    for (auto i = own - 2; i < own; ++i) {
      const auto size = order_->gathered(group(i));
      to.drop(group_slot::gathered, group(i), size, row::gathered_parameters);
      live_ -= size;
      ahead_ -= order_->elements(group(i));
    }
    steady_ = next_ - own == before_.next + 2 && ahead_ == before_.ahead && live_ == before_.live;
  }
  /// Of the layers that follow the one last asked for, how many are sure to find the same: two groups come for each two that go, and all are of one kind.
  [[nodiscard]] constexpr std::int64_t repeats(std::int64_t layer) const {
    const auto end = !steady_ ? 0 : backward_ ? layers_ - order_->first_alike(layer) : order_->last_alike(layer) + 1;  // in the order of the pass
    const auto left = end - (next_ + 1) / 2;
    return left > 0 ? left : 0;
  }
  constexpr void skip(std::int64_t layers) { next_ += 2 * layers; }

 private:
  [[nodiscard]] constexpr std::int64_t place(std::int64_t layer) const { return backward_ ? layers_ - 1 - layer : layer; }  // in the order of the pass
  [[nodiscard]] constexpr std::int64_t group(std::int64_t i) const { return backward_ ? 2 * layers_ - 1 - i : i; }
  [[nodiscard]] constexpr std::int64_t elements_of(std::int64_t at) const {
    return order_->elements(group(2 * at)) + order_->elements(group(2 * at + 1));
  }
  constexpr void take(auto& to) {
    const auto size = order_->gathered(group(next_));
    to.put(group_slot::gathered, group(next_), size, row::gathered_parameters, stream::gather);
    live_ += size;
    ahead_ += order_->elements(group(next_));
  }

  const fsdp_order* order_;
  const fsdp_layout* layout_;
  std::int64_t layers_;
  bool backward_;
  std::int64_t next_{};   // groups gathered so far
  std::int64_t ahead_{};  // elements of those that are not released
  bytes live_{0};
  struct {
    std::int64_t next{}, ahead{};
    bytes live{};
  } before_{};            // what the layer found
  bool steady_ = false;   // the last layer left as much as it found
};

/// Gradients on their way. A group is reduced when its last gradient has come; before that, the oldest reductions are waited for until
/// no more than `queue` elements are under way (wait_for_previous_grad_reduce).
class fsdp_reductions {
 public:
  constexpr fsdp_reductions(const fsdp_order& order, const fsdp_layout& l, std::int64_t layers) : order_(&order), layout_(&l), layers_(layers) {}
  /// What is reduced before the layers: final norm and head, where they have a buffer of their own.
  constexpr void push_ends(const fsdp_group& g, auto& to) {
    if (g.empty()) return;
    ends_ = under_way_ = g.elements();
    live_ = ends_bytes_ = layout_->gradients(g);
    to.put(group_slot::gradients, 2 * layers_, live_, row::communication_buffers);
  }
  /// The backward of a layer: its groups' gradients are there whole.
  constexpr void begin(std::int64_t layer, auto& to) const {
    for (const auto i : {2 * layer + 1, 2 * layer}) to.put(group_slot::gradients, i, order_->gradients(i), row::communication_buffers);
  }
  constexpr void end(std::int64_t layer, auto& to) {
    const auto before = first_ - 2 * (layer + 1), under_way_before = under_way_, live_before = live_.count();
    for (auto i = 2 * layer + 1; i >= 2 * layer; --i) {
      const auto n = order_->elements(i);
      if (n == 0) continue;
      while (under_way_ > 0 && (under_way_ > layout_->queue || (layout_->pooled >= 0 && oldest() > layer + 1))) pop(to);
      under_way_ += n;
      live_ += order_->gradients(i);
    }
    steady_ = ends_ == 0 && first_ - 2 * layer == before && under_way_ == under_way_before && live_.count() == live_before;
  }
  /// All are waited for.
  constexpr void finish(auto& to) {
    while (under_way_ > 0) pop(to);
  }
  /// As fsdp_gathers::repeats(): of the layers below `layer`.
  [[nodiscard]] constexpr std::int64_t repeats(std::int64_t layer) const {
    return steady_ && first_ / 2 <= order_->last_alike(layer) ? layer - order_->first_alike(layer) : 0;
  }
  constexpr void skip(std::int64_t layers) { first_ -= 2 * layers; }

 private:
  [[nodiscard]] constexpr std::int64_t oldest() const { return ends_ > 0 ? layers_ : (first_ / 2); }
  constexpr void pop(auto& to) {
    const auto i = ends_ > 0 ? 2 * layers_ : first_--;
    const auto n = ends_ > 0 ? std::exchange(ends_, 0) : order_->elements(i);
    const auto size = i == 2 * layers_ ? ends_bytes_ : order_->gradients(i);
    to.drop(group_slot::gradients, i, size, row::communication_buffers);
    under_way_ -= n;
    live_ -= size;
  }

  const fsdp_order* order_;
  const fsdp_layout* layout_;
  std::int64_t layers_;
  std::int64_t first_{2 * layers_ - 1};  // the oldest group under way
  std::int64_t under_way_{}, ends_{};
  bytes live_{0}, ends_bytes_{0};
  bool steady_ = false;
};

/// What happens around the layers of a job under Megatron-FSDP, which has one chunk. A buffer across both ends exists from the final norm's
/// gradient to the end. The gradient of a tied matrix waits for its second half, unless it is added in place.
template <class Listener>
class fsdp_units {
 public:
  static constexpr bool gathers = true;

  constexpr fsdp_units(const settled_job& s, const fsdp_layout& l, Listener& to)
      : job_(&s), layout_(&l), to_(&to), order_(s.model, l), pass_(order_, l, s.model.layers, false), reduced_(order_, l, s.model.layers) {}
  fsdp_units(const fsdp_units&) = delete;
  fsdp_units& operator=(const fsdp_units&) = delete;

  static constexpr void before_input() {}
  static constexpr void after_input() {}
  constexpr void begin_forward() { pass_ = {order_, *layout_, job_->model.layers, false}; }
  constexpr void before_forward(std::int64_t layer) { gather(layer); }
  constexpr void after_forward(std::int64_t layer) { release(layer); }
  /// In a run's first micro-batch layers are gathered in the loss; the backward thread's cuBLAS workspace, which is counted all the time, is
  /// not there yet. Optimizer states are, where the run goes on from a checkpoint.
  constexpr void before_head() {
    const auto ahead = gathered_by_final_norm(order_, *layout_, job_->model.layers) - cublas_workspace(*job_);
    ahead_ = to_->make(max(ahead, bytes{0}), row::gathered_parameters, stream::gather);
  }
  constexpr void after_head() { to_->free(ahead_); }
  constexpr void begin_backward() {
    const bool waits = job_->model.tied && !job_->layer.fuses_weight_gradients;
    waiting_ = to_->make(waits ? table() : bytes{0}, row::gradients);
    across_ = to_->make(layout_->gradients(layout_->across), row::communication_buffers);
    pass_ = {order_, *layout_, job_->model.layers, true};
    reduced_ = {order_, *layout_, job_->model.layers};
    reduced_.push_ends(layout_->back, *to_);
  }
  constexpr void before_backward(std::int64_t layer) {
    gather(layer);
    reduced_.begin(layer, *to_);
  }
  constexpr void after_backward(std::int64_t layer) {
    release(layer);
    reduced_.end(layer, *to_);
  }
  /// The embedding's backward makes a whole gradient, whatever is added in place elsewhere.
  constexpr void end_backward() {
    auto whole = to_->make(table(), row::gradients);
    auto front = to_->make(layout_->gradients(layout_->front), row::communication_buffers);
    to_->consider_gradient();
    to_->free(whole);
    to_->free(waiting_);
    reduced_.finish(*to_);
    to_->free(front);
    to_->free(across_);
  }

  /// Skips layers of so many that are left in a run: those like the one before, but for the last of them, which finds the most there.
  constexpr std::int64_t skip_up(std::int64_t left) {
    const auto alike = least(left, pass_.repeats(layer_)) - 1;
    if (alike <= 0) return 0;
    pass_.skip(alike);
    return alike;
  }
  /// … on the way back, where none of them finds more.
  constexpr std::int64_t skip_down(std::int64_t left) {
    const auto alike = least(left, least(pass_.repeats(layer_), reduced_.repeats(layer_)));
    pass_.skip(alike);
    reduced_.skip(alike);
    return alike;
  }
  /// The most that is gathered of the layers at once: gathers have a stream of their own, whose memory others cannot use.
  [[nodiscard]] constexpr bytes most_gathered() const { return most_; }

 private:
  [[nodiscard]] constexpr bytes table() const {
    return bytes{checked::mul(checked::mul(job_->model.vocab, job_->model.hidden) / job_->layer.tensor, job_->layer.weight_width)};
  }
  constexpr void gather(std::int64_t layer) {
    pass_.begin(layer, *to_);
    transposed_ = to_->make(order_.transposes(layer), row::gathered_parameters, stream::gather);
    most_ = max(most_, pass_.live() + order_.transposes(layer));
    layer_ = layer;
  }
  constexpr void release(std::int64_t layer) {
    to_->free(transposed_);
    pass_.end(layer, *to_);
  }

  const settled_job* job_;
  const fsdp_layout* layout_;
  Listener* to_;
  fsdp_order order_;
  fsdp_gathers pass_;
  fsdp_reductions reduced_;
  typename Listener::handle ahead_{}, waiting_{}, across_{}, transposed_{};
  std::int64_t layer_{};
  bytes most_{0};
};

/// walk_chunk for the one chunk of a job under Megatron-FSDP. Returns the most that is gathered of the layers at once.
template <class Moment>
constexpr bytes walk_fsdp_chunk(basic_chunk_cost<Moment>& k, const settled_job& s, const basic_divided_layers<Moment>& w, const fsdp_layout& l, const chunk_masks& masks) {
  chunk_count<Moment> to(k, s.model, w);
  fsdp_units units(s, l, to);
  walk_chunk(k, *s.source, s.model, w, masks, to, units);
  return units.most_gathered();
}

}  // namespace detail

}  // namespace headroom
