// Distributed under the Boost Software License, Version 1.0.
// A step that is allocated, tensor by tensor: what eager_step makes and frees, in blocks of the caching allocator.
#pragma once

#include <headroom/engine/eager/step.hpp>
#include <headroom/replay/side_trace.hpp>
#include <headroom/replay/update_trace.hpp>

#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace headroom {

/// A listener of eager_step that allocates.
class allocated_step {
 public:
  using block = tensor_memory::handle;
  static constexpr block none = tensor_memory::none;
  struct handle {
    bytes size{};
    row of{};
    stream on{};
    block at{none};
  };
  struct tensors {
    std::vector<bytes> list{};
    void add(bytes one, std::int64_t copies) { list.insert(list.end(), static_cast<std::size_t>(copies), one); }
  };
  struct gradient_list {
    std::vector<block> list{};
    bytes all{};  ///< nobody has to know: slots remember
  };

  template <class Layers>
  allocated_step(const settled_job& s, tensor_memory& m, const Layers& layers, const prelude* before = nullptr) : job_(&s), memory_(&m), stack_(s, m, layers, before) {
    if (before != nullptr) side_.emplace(s, m);
    for (auto& slot : slots_) slot.resize(static_cast<std::size_t>(s.model.layers) + 2);
  }
  void beside(std::function<void()> other) { stack_.beside(std::move(other)); }
  [[nodiscard]] const scene& sizes() const { return stack_.sizes(); }
  void start_from(const step_facts& f, loaded_model&& start) {
    facts_ = &f;
    start_ = std::move(start);
  }

  // --- tensors ---------------------------------------------------------------------------------------------------------

  handle make(bytes size, row of, stream on = stream::compute) { return {size, of, on, memory_->make(size, of, on)}; }
  void free(handle& h) {
    memory_->free(h.at);
    h.size = bytes{0};
  }
  void retire(handle& h) {
    memory_->retire(h.at);
    h.size = bytes{0};
  }
  void put(unit_slot s, std::int64_t place, bytes size, row of, stream on = stream::compute) { list_of(s, place).push_back(memory_->make(size, of, on)); }
  void put(unit_slot s, std::int64_t place, handle& h) {
    list_of(s, place).push_back(std::exchange(h.at, none));
    h.size = bytes{0};
  }
  void put_each(unit_slot s, std::int64_t place, const tensors& t, row of, stream on = stream::compute) {
    for (const auto b : t.list) put(s, place, b, of, on);
  }
  void drop(unit_slot s, std::int64_t place, bytes, row, stream = stream::compute) { free_list(list_of(s, place)); }
  void drop_each(unit_slot s, std::int64_t place, const tensors&, row, stream = stream::compute) { free_list(list_of(s, place)); }
  void retire(unit_slot s, std::int64_t place, bytes, row, stream) {
    for (auto& h : list_of(s, place)) memory_->retire(h);
    list_of(s, place).clear();
  }
  /// An event behind what has been retired so far; waiting for the first of them, where there are so many; and for all.
  void record() { events_.push_back(memory_->record()); }
  void wait_for(std::size_t most) {
    if (events_.size() < most) return;
    memory_->wait(events_.front());
    events_.pop_front();
  }
  void wait_for_all() {
    memory_->wait_for_all();
    events_.clear();
  }

  void enter(phase p, std::int64_t layer) { memory_->enter(p, layer); }
  void consider() {}
  template <class Body>
  void repeat(std::int64_t first, std::int64_t end, std::int64_t, const Body& body) {
    for (; first < end; ++first) body(first);
  }
  template <class Body>
  void visit_up(const layer_place& group, const Body& body) {
    for (auto l = group.layer - group.span + 1; l <= group.layer; ++l) body(layer_place{group.run, l, 1});
  }
  template <class Body>
  void visit_down(const layer_place& group, const Body& body) {
    for (auto l = group.layer; l > group.layer - group.span; --l) body(layer_place{group.run, l, 1});
  }
  [[nodiscard]] const detail::layer_runs& runs() const { return stack_.runs(); }

  // --- blocks ----------------------------------------------------------------------------------------------------------

  void forward_side(const prelude&) { side_->forward(); }
  void backward_side(const prelude&, handle& gathered, bool exist, bool) { side_->backward(std::exchange(gathered.at, none), exist, kept_, previous_); }
  void forward_front() { stack_.forward_front(); }
  void forward(const layer_place& at) { stack_.forward(at.layer); }
  template <class Returns>
  void forward_tail(const Returns& returns) {
    stack_.forward_tail(returns);
  }
  handle take_loss() { return {stack_.scalar(), row::activations, stream::compute, stack_.take_loss()}; }
  void end_forward() {
    stack_.end_forward();
    if (side_) side_->end_forward();
  }

  void accumulate(bool yes) { stack_.gradients.accumulate = yes; }
  handle begin_backward() {
    stack_.begin_backward();
    return make(stack_.scalar(), row::activations);
  }
  template <class Enters>
  void backward_tail(const Enters& enters) {
    stack_.backward_tail(facts_->tied, enters);
  }
  void backward(const layer_place& at) { stack_.backward(at.layer); }
  void backward_front() { stack_.backward_front(facts_->tied); }

  // --- gradients, and what outlives a micro-batch ------------------------------------------------------------------------

  gradient_list gradients() { return {std::exchange(stack_.gradients.kept, {}), {}}; }
  void free(gradient_list& g) { free_list(g.list); }
  void retire(gradient_list& g) {
    for (auto& h : g.list) memory_->retire(h);
    g.list.clear();
  }
  void keep(unit_slot s, std::int64_t place, gradient_list& g) { list_of(s, place) = std::exchange(g.list, {}); }
  void join_gradients(gradient_list& g) {
    g.list.insert(g.list.end(), stack_.gradients.kept.begin(), stack_.gradients.kept.end());
    stack_.gradients.kept = std::exchange(g.list, {});
  }
  void keep_gradients() {
    kept_.insert(kept_.end(), stack_.gradients.kept.begin(), stack_.gradients.kept.end());
    stack_.gradients.kept.clear();
  }
  void drop_gradients() {
    detail::free_reversed(*memory_, kept_);
    for (const auto slot : {unit_slot::gradient, unit_slot::summed})
      for (auto& l : slots_[static_cast<std::size_t>(slot)]) free_list(l);
  }
  void free_previous() { free_list(previous_); }
  void leave_graph() { stack_.leave_graph(previous_); }

  /// The first update makes the optimizer's state.
  void make_states() {
    for (const auto& t : start_.states) memory_->make(t.size, t.of);
    start_.states.clear();
  }
  void update() { detail::allocate_update(*memory_, *job_, start_, *facts_->states); }

 private:
  std::vector<block>& list_of(unit_slot s, std::int64_t place) { return slots_[static_cast<std::size_t>(s)][static_cast<std::size_t>(place + 2)]; }
  void free_list(std::vector<block>& list) {
    for (auto& h : list) memory_->free(h);
    list.clear();
  }

  const settled_job* job_;
  const step_facts* facts_{};
  tensor_memory* memory_;
  stack_trace stack_;
  std::optional<side_trace> side_;  ///< a tower or an encoder
  loaded_model start_;
  std::vector<block> kept_, previous_;
  std::array<std::vector<std::vector<block>>, 3> slots_;  ///< by unit_slot and place
  std::deque<std::size_t> events_;
};

}  // namespace headroom
