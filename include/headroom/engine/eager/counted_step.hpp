// Distributed under the Boost Software License, Version 1.0.
// A step that is added up: what is alive after each event, and the tallest moment of each phase. Layers that are alike are counted once
// and multiplied, so that nothing here depends on how many there are.
#pragma once

#include <headroom/engine/eager/step.hpp>
#include <headroom/step/timeline.hpp>

#include <utility>

namespace headroom {

/// A listener of eager_step that adds up.
class step_count {
 public:
  struct handle {
    bytes size{};
    row of{};
    stream on{};
  };

  /// Several tensors at once.
  struct tensors {
    bytes total{};
    constexpr void add(bytes one, std::int64_t copies) { total += copies * one; }
  };
  /// Weight gradients: those that stay, and all that were made.
  struct gradient_list {
    bytes size{};
    bytes all{};
  };

  constexpr step_count(const settled_job& s, const moment& resident, const windows& w, const detail::layer_runs& room)
      : job_(&s), live_(resident), pools_(w.pools), runs_(room) {
    if (pools_) [[unlikely]] t_.watch_pools(w.gather_pool, w.reduce_pool);
  }

  /// Counts the blocks of the stack. `accumulate`: gradients exist, so that a new one is added to it and goes. `grows`: they stay whole.
  /// `meets`: something happens where the model hands its outputs over.
  constexpr void count_blocks(const step_facts& f, bool accumulate, bool grows, bool meets, const auto& layers);
  /// What stands behind the layers, and the loss.
  constexpr void count_head(const step_facts& f, const scene& sc, const module_set& outside, bool flows, bool accumulate, bool meets);
  /// What earlier micro-batches have left.
  constexpr void start_with(bytes size, row of, stream on = stream::compute) { (void)make(size, of, on); }
  constexpr void start_with_graph() {
    if (keeps_graph()) add_graph(1);
  }
  /// Gradients of all weights, as autograd makes them.
  [[nodiscard]] constexpr bytes all_gradients() const {
    auto sum = front_backward_.made + tail_backward_.made - second_;
    for (std::size_t i = 0; i < runs_.size; ++i) sum += runs_.list[i].count * runs_.list[i].made;
    return sum;
  }
  [[nodiscard]] constexpr const timeline& counted() const { return t_; }
  [[nodiscard]] constexpr const moment& live() const { return live_; }

  // --- events ----------------------------------------------------------------------------------------------------------

  constexpr handle make(bytes size, row of, stream on = stream::compute) {
    live_.add(of, size);
    if (on != stream::compute) elsewhere_ += size;
    rising_ = true;
    return {size, of, on};
  }
  constexpr void free(handle& h) {
    if (h.size == bytes{0}) return;
    settle();
    live_.add(h.of, -h.size);
    if (h.on != stream::compute) elsewhere_ -= h.size;
    h.size = bytes{0};
  }
  constexpr void retire(handle& h) { free(h); }
  constexpr void retire(gradient_list& g) { free(g); }
  constexpr void record() {}
  constexpr void wait_for(std::size_t) {}
  constexpr void wait_for_all() {}
  /// Tensors that somebody has to himself: nobody has to remember whose.
  constexpr void put(unit_slot, std::int64_t, bytes size, row of, stream on = stream::compute) {
    (void)make(size, of, on);
  }
  constexpr void put(unit_slot, std::int64_t, handle&) {}
  constexpr void drop(unit_slot, std::int64_t, bytes size, row of, stream on = stream::compute) {
    handle h{size, of, on};
    free(h);
  }
  constexpr void retire(unit_slot s, std::int64_t place, bytes size, row of, stream on) {
    drop(s, place, size, of, on);
  }
  constexpr void put_each(unit_slot, std::int64_t, const tensors& t, row of, stream on = stream::compute) {
    (void)make(t.total, of, on);
  }
  constexpr void drop_each(unit_slot, std::int64_t, const tensors& t, row of, stream on = stream::compute) {
    handle h{t.total, of, on};
    free(h);
  }
  constexpr void enter(phase p, std::int64_t layer) {
    settle();
    phase_ = p;
    layer_ = layer;
  }
  /// What is alive now counts in this phase, too.
  constexpr void consider() { rising_ = true; }

  /// Layers that are alike but for `edges` at either end: those are visited, and what one leaves is multiplied.
  constexpr void repeat(std::int64_t first, std::int64_t end, std::int64_t edges, const auto& body) {
    if (end - first <= 2 * edges) {
      for (; first < end; ++first) body(first);
      return;
    }
    for (const auto last = first + edges - 1; first < last; ++first) body(first);
    const auto before = live_;
    const auto elsewhere = elsewhere_, flow = flow_.size, leaf = leaf_live_;
    body(first);
    settle();
    const auto times = end - first - 1 - edges;
    auto left = live_;
    left -= before;
    left.add(row::activations, leaf - leaf_live_);
    left.add(flow_.of, flow - flow_.size);
    live_ += multiple{times, left};
    elsewhere_ += times * (elsewhere_ - elsewhere);
    for (first = end - edges; first < end; ++first) body(first);
  }
  /// A group of layers is visited as one.
  constexpr void visit_up(const layer_place& group, const auto& body) {
    body(group);
  }
  constexpr void visit_down(const layer_place& group, const auto& body) {
    body(group);
  }
  [[nodiscard]] constexpr const detail::layer_runs& runs() const { return runs_; }

  // --- blocks ----------------------------------------------------------------------------------------------------------

  constexpr void forward_side(const prelude& p);
  constexpr void forward_front();
  constexpr void forward(const layer_place& at);
  constexpr void forward_tail(const auto& returns);
  constexpr handle take_loss() { return std::exchange(flow_, {}); }
  /// Autocast's cache of the weights that checkpointed layers cast.
  constexpr void end_forward();

  constexpr void accumulate(bool) {}
  constexpr handle begin_backward();
  constexpr void backward_tail(const auto& enters);
  constexpr void backward(const layer_place& at);
  constexpr void backward_front();
  /// `exist`: gradients are there from micro-batches before. `last`: of a step.
  constexpr void backward_side(const prelude& p, handle& gathered, bool exist, bool last);

  // --- gradients, and what outlives a micro-batch ------------------------------------------------------------------------

  /// Weight gradients made since it was last asked.
  constexpr gradient_list gradients() { return std::exchange(made_, {}); }
  constexpr void free(gradient_list& g) {
    handle h{g.size, row::gradients};
    free(h);
    g = {};
  }
  constexpr void keep(unit_slot, std::int64_t, gradient_list& g) {
    g = {};
  }
  constexpr void join_gradients(gradient_list& g) {
    made_.size += g.size;
    made_.all += g.all;
    g = {};
  }
  constexpr void keep_gradients() { made_ = {}; }
  constexpr void drop_gradients() {
    settle();
    live_.add(row::gradients, -live_.rows[row::gradients]);
  }
  constexpr void free_previous() {
    if (keeps_graph()) {
      settle();
      add_graph(-1);
    }
  }
  constexpr void leave_graph() {
    settle();
    if (!keeps_graph()) add_graph(-1);
    add_leaf(-leaf_live_);
  }
  constexpr void make_states() {}
  constexpr void update();
  /// Considers what is alive now, if something has come since it was last considered.
  constexpr void settle() {
    if (!rising_) return;
    if (pools_) [[unlikely]] t_.elsewhere(elsewhere_);
    t_.look(phase_, layer_, live_);
    rising_ = false;
  }

 private:
  constexpr void look(const auto& parts) {
    if (pools_) [[unlikely]] t_.elsewhere(elsewhere_);
    t_.look(phase_, layer_, live_, parts);
  }
  /// What flowed from block to block is the next one's own.
  constexpr void hand_on() {
    settle();
    live_.add(flow_.of, -flow_.size);
    flow_.size = bytes{0};
  }
  constexpr void add_leaf(bytes b) {
    live_.add(row::activations, b);
    leaf_live_ += b;
  }
  [[nodiscard]] constexpr bool keeps_graph() const { return job_->source->framework.loss.keeps_graph(); }
  /// What of a graph is there until all of it dies, and what the model returned.
  constexpr void add_graph(std::int64_t sign) {
    live_.add(row::activations, sign * sticky_);
    live_.add(row::logits, sign * tail_forward_.held);
  }

  const settled_job* job_;
  const state_bytes* states_{};
  timeline t_;
  moment live_;
  bool pools_{}, rising_{};
  phase phase_{phase::forward};
  std::int64_t layer_{-1}, first_layer_{};
  bytes elsewhere_{};         // on other streams than the default one
  handle flow_{};             // the residual stream between blocks, or its gradient
  bytes leaf_{}, leaf_live_{};
  gradient_list made_{};
  bytes tied_{}, sticky_{}, scalar_{}, front_output_{}, tail_flow_{}, tail_span_{}, cached_beside_{};
  bytes second_{};            // the gradient that a table's first one waits for
  bool accumulates_{}, sums_out_of_place_{};
  detail::layer_runs runs_;
  forward_walk front_forward_{}, tail_forward_{};
  backward_walk front_backward_{}, tail_backward_{};
  handover returns_{}, enters_{};
  moment other_{};            // what is there while another model runs, that model's forward included
};

}  // namespace headroom
