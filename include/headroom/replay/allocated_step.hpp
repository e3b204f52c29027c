// Distributed under the Boost Software License, Version 1.0.
// A step that is allocated, tensor by tensor: what eager_step makes and frees, in blocks of the caching allocator.
#pragma once

#include <headroom/engine/eager/step.hpp>
#include <headroom/replay/load_trace.hpp>
#include <headroom/replay/traced_stack.hpp>

#include <array>
#include <deque>
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
  allocated_step(const settled_job& s, tensor_memory& m, const Layers& layers) : job_(&s), memory_(&m), blocks_(m), stack_(s, layers) {
    for (auto& slot : slots_) slot.resize(static_cast<std::size_t>(s.model.layers) + 2);
  }
  [[nodiscard]] const scene& sizes() const { return stack_.sizes; }
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
  [[nodiscard]] const detail::layer_runs& runs() const { return stack_.cut; }

  // --- blocks ----------------------------------------------------------------------------------------------------------

  void forward_side(const prelude&) {}
  void backward_side(const prelude&, handle&) {}
  void forward_front() {
    block_tensors b;
    blocks_.forward(stack_.embedding(), recording::on, b);
    flow_ = blocks_.take_output(stack_.embedding(), b, recording::on);
    front_ = b;
  }
  void forward(const layer_place& at);
  template <class Returns>
  void forward_tail(const Returns& returns) {
    block_tensors b;
    bool returned = false;
    b.of[first_of(stack_.tail().input().bit())] = flow_;
    blocks_.forward(stack_.tail(), recording::on, b, [&] {
      returned = true;
      returns();
    });
    flow_ = blocks_.take_output(stack_.tail(), b, recording::on);
    tail_ = b;
    if (!returned) returns();
  }
  handle take_loss() { return {scalar(), row::activations, stream::compute, std::exchange(flow_, none)}; }
  /// What autocast cached goes when forward closes.
  void end_forward() {
    for (auto& l : stack_.layers)
      if (l.recomputes)
        for (auto& part : l.parts) blocks_.free(part, part.alive);
  }

  void accumulate(bool yes) { sink_.accumulate = yes; }
  handle begin_backward() {
    flow_ = memory_->make(scalar(), row::temporaries);
    return make(scalar(), row::activations);
  }
  template <class Enters>
  void backward_tail(const Enters& enters) {
    bool entered = false;
    sink_.waits = facts_->tied > bytes{0};
    flow_ = blocks_.backward(stack_.tail(), tail_, flow_, sink_, [&] {
      entered = true;
      enters();
    });
    if (!entered) enters();
  }
  void backward(const layer_place& at);
  void backward_front() {
    if (sink_.tied != none) sink_.tied_size = facts_->tied;
    if (const auto& p = stack_.embedding(); p.needs_gradient(p.output())) flow_ = blocks_.backward(p, front_, flow_, sink_);
    sink_.tied_size = bytes{-1};
    memory_->free(flow_);
    if (stack_.sizes.habits->autograd.sums_out_of_place && sink_.second != none) {
      auto sum = memory_->make(facts_->tied, row::gradients);
      memory_->free(sink_.tied);
      sink_.tied = sum;
    }
    memory_->free(sink_.second);
    if (sink_.accumulate)
      memory_->free(sink_.tied);
    else if (sink_.tied != none)
      sink_.kept.push_back(std::exchange(sink_.tied, none));
  }

  // --- gradients, and what outlives a micro-batch ------------------------------------------------------------------------

  gradient_list gradients() { return {std::exchange(sink_.kept, {}), {}}; }
  void free(gradient_list& g) { free_list(g.list); }
  void retire(gradient_list& g) {
    for (auto& h : g.list) memory_->retire(h);
    g.list.clear();
  }
  void keep(unit_slot s, std::int64_t place, gradient_list& g) { list_of(s, place) = std::exchange(g.list, {}); }
  void join_gradients(gradient_list& g) {
    g.list.insert(g.list.end(), sink_.kept.begin(), sink_.kept.end());
    sink_.kept = std::exchange(g.list, {});
  }
  void keep_gradients() {
    kept_.insert(kept_.end(), sink_.kept.begin(), sink_.kept.end());
    sink_.kept.clear();
  }
  void drop_gradients() {
    free_reversed(kept_);
    for (const auto slot : {unit_slot::gradient, unit_slot::summed})
      for (auto& l : slots_[static_cast<std::size_t>(slot)]) free_list(l);
  }
  void free_previous() { free_list(previous_); }
  /// What outlives a micro-batch's graph: until the next one's forward has returned, or not at all.
  void leave_graph() {
    const bool stays = stack_.sizes.habits->loss.keeps_graph();
    const auto leave = [&](block_tensors& b) {
      if (!stays) return blocks_.free(b, b.alive);
      for (const auto t : each(b.alive & ~b.borrowed)) previous_.push_back(b.of[t.place()]);
      b.alive = 0;
    };
    for (auto& l : stack_.layers)
      for (auto& b : l.parts) leave(b);
    leave(tail_);
    leave(front_);
    memory_->free(leaf_);
  }

  /// The first update makes the optimizer's state.
  void make_states() {
    for (const auto& t : start_.states) memory_->make(t.size, t.of);
    start_.states.clear();
  }
  void update();

 private:
  [[nodiscard]] bytes scalar() const { return stack_.tail().size(stack_.tail().output()); }
  std::vector<block>& list_of(unit_slot s, std::int64_t place) { return slots_[static_cast<std::size_t>(s)][static_cast<std::size_t>(place + 2)]; }
  void free_list(std::vector<block>& list) {
    for (auto& h : list) memory_->free(h);
    list.clear();
  }
  /// Tensors that go at once, the last one first, as a cache of blocks takes them best.
  void free_reversed(std::vector<block>& list) {
    for (auto i = list.size(); i-- > 0;) memory_->free(list[i]);
    list.clear();
  }
  block run_again(traced_layer& l);
  void update_foreach(std::size_t copies);

  const settled_job* job_;
  const step_facts* facts_{};
  tensor_memory* memory_;
  block_trace blocks_;
  traced_stack stack_;
  loaded_model start_;
  block flow_{none}, leaf_{none};  ///< the residual stream between blocks, or its gradient
  block_tensors front_{}, tail_{};
  gradient_sink sink_;
  std::vector<block> kept_, previous_;
  std::array<std::vector<std::vector<block>>, 3> slots_;  ///< by unit_slot and place
  std::deque<std::size_t> events_;
};

inline void allocated_step::forward(const layer_place& at) {
  auto& l = stack_.layers[static_cast<std::size_t>(at.layer)];
  const auto& kind = stack_.kinds[l.kind];
  const auto mode = l.recomputes ? recording::off : recording::on;
  if (l.recomputes) l.input = flow_;
  for (std::size_t i = 0; i < kind.parts.size(); ++i) {
    const auto& p = kind.parts[i];
    auto& b = l.parts[i];
    b.alive = 0;
    b.borrowed = 0;
    const auto in = p.storages(p.input().bit());
    b.of[first_of(in)] = flow_;
    if (l.recomputes && i == 0) b.borrowed = in;
    if (stack_.leaf && at.layer == 0 && i == 0) {  // the embedding's result is a leaf: its owner keeps it
      b.borrowed = in;
      leaf_ = flow_;
    }
    blocks_.forward(p, mode, b);
    flow_ = blocks_.take_output(p, b, mode);
  }
}

inline void allocated_step::backward(const layer_place& at) {
  auto& l = stack_.layers[static_cast<std::size_t>(at.layer)];
  const auto& kind = stack_.kinds[l.kind];
  block local = none, kept = none;
  if (l.recomputes) {
    auto x = l.input;
    for (std::size_t i = 0; i < kind.parts.size(); ++i) {
      const auto& p = kind.parts[i];
      auto& b = l.parts[i];
      b.borrowed = 0;
      const auto in = p.storages(p.input().bit());
      b.of[first_of(in)] = x;
      if (i == 0) b.borrowed = in;
      blocks_.forward(p, recording::on, b);
      x = blocks_.take_output(p, b, recording::on);
    }
    local = x;
    if (!job_->reentrant) memory_->free(local);
  } else if (kind.parts.front().checkpointed()) {
    kept = run_again(l);
  }
  const auto& last = kind.parts.back();
  auto borrowed = last.borrows_output_gradient() && last.needs_gradient(last.output()) ? flow_ : none;
  for (auto i = kind.parts.size(); i-- > 0;) flow_ = blocks_.backward(kind.parts[i], l.parts[i], flow_, sink_);
  if (borrowed != flow_) memory_->free(borrowed);
  memory_->free(local);
  memory_->free(kept);
  if (l.recomputes && job_->reentrant)  // its graph dies at once
    for (auto& b : l.parts) blocks_.free(b, b.alive);
  if (l.recomputes && l.input != leaf_) memory_->free(l.input);
  l.input = none;
}

/// A selective checkpoint: the layer runs again over what it kept. It holds the layer's input until its graph goes
/// (torch/utils/checkpoint.py, recompute_fn's arguments), which the caller frees if nothing else has saved it.
inline allocated_step::block allocated_step::run_again(traced_layer& l) {
  const auto& kind = stack_.kinds[l.kind];
  block x = none, input = none;
  for (std::size_t i = 0; i < kind.parts.size(); ++i) {
    const auto& p = kind.parts[i];
    auto& b = l.parts[i];
    const auto in = p.storages(p.input().bit());
    if (i > 0) b.of[first_of(in)] = x;
    if (i == 0 && (p.saved() & in) == 0 && (b.borrowed & in) == 0) {
      b.borrowed |= in;
      input = b.of[first_of(in)];
    }
    blocks_.forward(p, recording::again, b);
    x = blocks_.take_output(p, b, recording::again);
  }
  memory_->free(x);
  return input;
}

/// Copies of the tensors of one format, then of the other's, each named until the next is there.
inline void allocated_step::update_foreach(std::size_t copies) {
  std::vector<std::vector<block>> named(copies);
  for (const auto& group : start_.updates) {
    if (group.empty()) continue;
    for (auto& copy : named) {
      std::vector<block> made;
      for (const auto b : group) made.push_back(memory_->make(b, row::temporaries));
      free_reversed(copy);
      copy = std::move(made);
    }
  }
  for (auto& copy : named) free_reversed(copy);
}

inline void allocated_step::update() {
  const auto& s = *job_;
  const auto& habits = s.source->framework;
  const auto& st = *facts_->states;
  if (s.optimizer.state.quantised() && habits.optimizer.int8_copies > 0) {
    auto copies = memory_->make(detail::update_of_one(s, st), row::temporaries);
    memory_->free(copies);
  } else if (s.optimizer.how == implementation::foreach) {
    update_foreach(static_cast<std::size_t>(habits.optimizer.foreach_copies));
  } else if (s.optimizer.how == implementation::loop) {
    for (const auto& group : start_.updates)
      for (const auto b : group) {
        auto first = memory_->make(b, row::temporaries), second = memory_->make(b, row::temporaries);
        memory_->free(first);
        memory_->free(second);
      }
    // The tallest moment: Python still names the result of the tensor before (states/state_sum.hpp).
    const auto previous = habits.optimizer.loop_keeps_previous ? st.loop_previous : bytes{0};
    const auto one = habits.optimizer.loop_keeps_previous ? (st.loop_temporary - st.loop_previous) / 2 : st.largest_trained;
    block tallest[] = {memory_->make(previous, row::temporaries), memory_->make(one, row::temporaries), memory_->make(one, row::temporaries)};
    for (auto& h : tallest) memory_->free(h);
  }
}

}  // namespace headroom
