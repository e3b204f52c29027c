// Distributed under the Boost Software License, Version 1.0.
// The blocks of a step, allocation by allocation: embedding, layers, head and loss, forward and backward.
#pragma once

#include <headroom/engine/eager/step.hpp>
#include <headroom/replay/traced_stack.hpp>

#include <utility>
#include <vector>

namespace headroom {

/// The blocks of a step, allocation by allocation: embedding, layers, head and loss.
class stack_trace {
 public:
  using block = tensor_memory::handle;
  static constexpr block none = tensor_memory::none;

  template <class Layers>
  stack_trace(const settled_job& s, tensor_memory& m, const Layers& layers, const prelude* before = nullptr)
      : reentrant_(s.reentrant), memory_(&m), blocks_(m), stack_(s, layers, before) {}
  stack_trace(bool reentrant, tensor_memory& m, traced_stack&& stack) : reentrant_(reentrant), memory_(&m), blocks_(m), stack_(std::move(stack)) {}
  void beside(std::function<void()> other) { blocks_.beside(std::move(other)); }
  [[nodiscard]] const scene& sizes() const { return stack_.sizes; }
  [[nodiscard]] const detail::layer_runs& runs() const { return stack_.cut; }
  /// The loss, or one number.
  [[nodiscard]] bytes scalar() const { return stack_.tail().size(stack_.tail().output()); }
  [[nodiscard]] std::int64_t layers() const { return static_cast<std::int64_t>(stack_.layers.size()); }
  /// Of its last block: whether it keeps what it makes, and whether that has a gradient.
  [[nodiscard]] bool keeps_result() const { return (tail_.alive & stack_.tail().storages(stack_.tail().output().bit())) != 0; }
  [[nodiscard]] bool has_gradient() const { return stack_.tail().needs_gradient(stack_.tail().output()); }
  [[nodiscard]] bool layers_have_gradient() const { return stack_.tail().needs_gradient(stack_.tail().input()); }

  void forward_front() {
    block_tensors b;
    blocks_.forward(stack_.embedding(), recording::on, b);
    flow_ = blocks_.take_output(stack_.embedding(), b, recording::on);
    front_ = b;
    const auto& p = stack_.embedding();
    front_keeps_ = (b.alive & p.storages(p.output().bit())) != 0 ? flow_ : none;
  }
  void forward(std::int64_t layer);
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
  block take_loss() { return std::exchange(flow_, none); }
  /// What autocast cached goes when forward closes.
  void end_forward() {
    for (auto& l : stack_.layers)
      if (l.recomputes)
        for (auto& part : l.parts) blocks_.free(part, part.alive);
  }

  void begin_backward() { begin_backward(memory_->make(scalar(), row::temporaries)); }
  void begin_backward(block gradient) { flow_ = gradient; }
  /// `tied`: the gradient of a table that serves twice.
  template <class Enters>
  void backward_tail(bytes tied, const Enters& enters) {
    bool entered = false;
    gradients.waits = tied > bytes{0};
    flow_ = blocks_.backward(stack_.tail(), tail_, flow_, gradients, [&] {
      entered = true;
      enters();
    });
    if (!entered) enters();
  }
  void backward(std::int64_t layer);
  void backward_front(bytes tied);
  /// What outlives a micro-batch's graph: until the next one's forward has returned, in `previous`, or not at all.
  void leave_graph(std::vector<block>& previous);

  gradient_sink gradients;  ///< that backward has made

 private:
  block run_again(traced_layer& l);

  bool reentrant_;
  tensor_memory* memory_;
  block_trace blocks_;
  traced_stack stack_;
  block flow_{none}, leaf_{none};  ///< the residual stream between blocks, or its gradient
  block front_keeps_{none};        ///< the front's output, where its own backward reads it, too: it is the front's to free
  block_tensors front_{}, tail_{};
};

inline void stack_trace::forward(std::int64_t layer) {
  auto& l = stack_.layers[static_cast<std::size_t>(layer)];
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
    if (layer == 0 && i == 0 && front_keeps_ != none) {
      b.borrowed = in;
    } else if (stack_.leaf && layer == 0 && i == 0) {  // the embedding's result is a leaf: its owner keeps it
      b.borrowed = in;
      leaf_ = flow_;
    }
    blocks_.forward(p, mode, b);
    flow_ = blocks_.take_output(p, b, mode);
  }
}

inline void stack_trace::backward(std::int64_t layer) {
  auto& l = stack_.layers[static_cast<std::size_t>(layer)];
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
    if (!reentrant_) memory_->free(local);
  } else if (kind.parts.front().checkpointed()) {
    kept = run_again(l);
  }
  const auto& last = kind.parts.back();
  auto borrowed = last.borrows_output_gradient() && last.needs_gradient(last.output()) ? flow_ : none;
  for (auto i = kind.parts.size(); i-- > 0;) flow_ = blocks_.backward(kind.parts[i], l.parts[i], flow_, gradients);
  if (borrowed != flow_) memory_->free(borrowed);
  memory_->free(local);
  memory_->free(kept);
  if (l.recomputes && reentrant_)  // its graph dies at once
    for (auto& b : l.parts) blocks_.free(b, b.alive);
  if (l.recomputes && l.input != leaf_ && l.input != front_keeps_) memory_->free(l.input);
  l.input = none;
}

/// A selective checkpoint: the layer runs again over what it kept. It holds the layer's input until its graph goes
/// (torch/utils/checkpoint.py, recompute_fn's arguments), which the caller frees if nothing else has saved it.
inline stack_trace::block stack_trace::run_again(traced_layer& l) {
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

inline void stack_trace::backward_front(bytes tied) {
  auto& g = gradients;
  if (g.tied != none) g.tied_size = tied;
  if (const auto& p = stack_.embedding(); p.needs_gradient(p.output())) flow_ = blocks_.backward(p, front_, flow_, g);
  g.tied_size = bytes{-1};
  memory_->free(flow_);
  if (detail::sums_tied_apart(stack_.sizes) && g.second != none) {
    auto sum = memory_->make(tied, row::gradients);
    memory_->free(g.tied);
    g.tied = sum;
  }
  memory_->free(g.second);
  if (g.accumulate)
    memory_->free(g.tied);
  else if (g.tied != none)
    g.kept.push_back(std::exchange(g.tied, none));
}

inline void stack_trace::leave_graph(std::vector<block>& previous) {
  const bool stays = stack_.sizes.habits->loss.keeps_graph();
  const auto leave = [&](block_tensors& b) {
    if (!stays) return blocks_.free(b, b.alive);
    for (const auto t : each(b.alive & ~b.borrowed)) previous.push_back(b.of[t.place()]);
    b.alive = 0;
  };
  for (auto& l : stack_.layers)
    for (auto& b : l.parts) leave(b);
  leave(tail_);
  leave(front_);
  memory_->free(leaf_);
}

}  // namespace headroom
