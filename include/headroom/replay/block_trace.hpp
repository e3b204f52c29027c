// Distributed under the Boost Software License, Version 1.0.
// A block's run (block/run.hpp), allocation by allocation.
#pragma once

#include <headroom/block/run.hpp>
#include <headroom/replay/tensor_memory.hpp>

#include <array>
#include <vector>

namespace headroom {

namespace detail {

/// What the report counts a storage of a program as, and its gradient.
constexpr row row_of(const program& p, tensor t) {
  return (p.logits() & t.bit()) != 0 ? row::logits : (p.weights() & t.bit()) != 0 ? row::gathered_parameters : row::activations;
}
constexpr row row_of_gradient(const program& p, tensor t) { return p.is_logits(t) ? row::logits : row::temporaries; }

}  // namespace detail

/// The storages of a block's tensors between its forward and its backward.
struct block_tensors {
  std::array<tensor_memory::handle, program::max_tensors> of;
  wide_set alive;
  wide_set borrowed;  ///< somebody else frees these
};

/// What becomes of weight gradients: they stay, in `kept`, or are added to those that exist.
struct gradient_sink {
  bool accumulate{};
  std::vector<tensor_memory::handle> kept{};
  bool waits{};            ///< a gradient of a table that is used twice waits for its second
  bytes tied_size{-1};     ///< … which is as large as this
  tensor_memory::handle tied{tensor_memory::none};
  tensor_memory::handle second{tensor_memory::none};
};

namespace detail {

/// The listener that allocates. `pass`: called where the model hands its outputs to the caller, and where their gradient is there.
template <class Pass>
class allocating {
 public:
  using handle = tensor_memory::handle;
  static constexpr handle none = tensor_memory::none;
  using set = wide_set;
  wide_set& alive;

  allocating(const program& p, tensor_memory& m, block_tensors& b, Pass& pass, handle output_gradient = none, gradient_sink* sink = nullptr)
      : alive(b.alive), program_(&p), memory_(&m), block_(&b), pass_(&pass), handed_(output_gradient), sink_(sink) {}

  /// The gradient of the block's input.
  [[nodiscard]] handle input_gradient() const { return handed_; }

  void make(const wide_set& s) {
    for (const auto t : each(s)) block_->of[at(t)] = memory_->make(program_->size(t), row_of(*program_, t));
  }
  void free(const wide_set& s) {
    for (const auto t : each(s & ~block_->borrowed)) memory_->free(block_->of[at(t)]);
  }
  void make_temporary(bytes b, const operation& o) { temporary_ = memory_->make_cut(b, o.temporary_block, o.temporaries); }
  void free_temporary(const operation&) { memory_->free(temporary_); }
  void returns() { (*pass_)(); }
  void enters() { (*pass_)(); }

  void adopt(tensor t) { first_[at(t)] = handed_, handed_ = none; }
  void make_gradients(const wide_set& s, const wide_set& second) {
    for (const auto t : each(s)) gradient(t, second) = memory_->make(program_->size(t), row_of_gradient(*program_, t));
  }
  void free_gradients(const wide_set& s) {
    for (const auto t : each(s)) memory_->free(first_[at(t)]);
  }
  void free_second(tensor t) { memory_->free(second_[at(t)]); }
  void make_sum(tensor t) { sum_ = memory_->make(program_->size(t), row_of_gradient(*program_, t)); }
  void settle_sum(tensor t) { first_[at(t)] = sum_; }
  void keep_gradients(const wide_set&) {}
  void hand_back(tensor t) { handed_ = first_[at(t)]; }

  void make_weight(const operation& o) { weight_ = memory_->make(o.weight_gradient, row::gradients); }
  void add_weight(const operation& o) { added_ = memory_->make(o.weight_gradient, row::gradients); }
  void free_added_weight(const operation&) { memory_->free(added_); }
  void keep_weight(const operation& o) {
    if (o.gradient_waits && sink_->waits)
      sink_->tied = weight_;
    else if (o.weight_gradient == sink_->tied_size)
      sink_->second = weight_;
    else if (sink_->accumulate)
      memory_->free(weight_);
    else if (weight_ != none)
      sink_->kept.push_back(weight_);
  }

  void begin_pieces(const wide_set& s, const operation&) {
    for (const auto t : each(s)) block_->of[at(t)] = memory_->make_pieced(row_of(*program_, t));
  }
  void make_piece(const wide_set& s, const operation& o, std::int64_t i) {
    for (const auto t : each(s)) memory_->add_piece(block_->of[at(t)], piece_of(t, o, i));
  }
  void begin_gradient_pieces(const wide_set& s, const wide_set& second, const operation&) {
    for (const auto t : each(s)) gradient(t, second) = memory_->make_pieced(row_of_gradient(*program_, t));
  }
  void make_gradient_piece(const wide_set& s, const wide_set& second, const operation& o, std::int64_t i) {
    for (const auto t : each(s)) memory_->add_piece(gradient(t, second), piece_of(t, o, i));
  }
  void drop_piece(const wide_set& storages, const wide_set& gradients, const operation&) {
    for (const auto t : each(storages & alive & ~block_->borrowed)) memory_->drop_piece(block_->of[at(t)]);
    for (const auto t : each(gradients)) memory_->drop_piece(first_[at(t)]);
  }
  void end_pieces() {}
  static std::int64_t after_piece(std::int64_t i, const operation&) { return i + 1; }

 private:
  static std::size_t at(tensor t) { return t.place(); }
  /// The first piece has what is left over.
  [[nodiscard]] bytes piece_of(tensor t, const operation& o, std::int64_t i) const {
    const auto all = program_->size(t), one = all / o.pieces;
    return i == 0 ? all - one * (o.pieces - 1) : one;
  }
  handle& gradient(tensor t, const wide_set& second) { return (has(second, t) ? second_ : first_)[at(t)]; }

  const program* program_;
  tensor_memory* memory_;
  block_tensors* block_;
  Pass* pass_;
  handle handed_, temporary_{none}, sum_{none}, weight_{none}, added_{none};
  gradient_sink* sink_;
  std::array<handle, program::max_tensors> first_, second_;  // gradients of tensors that have one, and a second
};

}  // namespace detail

class block_trace {
 public:
  using handle = tensor_memory::handle;
  static constexpr handle none = tensor_memory::none;

  explicit block_trace(tensor_memory& m) : memory_(&m) {}

  /// Runs a block whose input's storage is in `b` already. What is left is in `b`: the output, and what is kept for backward.
  template <class OnReturn>
  void forward(const program& p, recording mode, block_tensors& b, OnReturn&& on_return) {
    detail::allocating to(p, *memory_, b, on_return);
    run_forward(p, mode, to);
  }
  void forward(const program& p, recording mode, block_tensors& b) {
    forward(p, mode, b, [] {});
  }
  /// Takes the output out of a block: the caller frees it, unless the graph keeps it.
  handle take_output(const program& p, block_tensors& b, recording mode) {
    const auto out = p.storages(p.output().bit());
    const auto t = first_of(out);
    const bool stays = mode != recording::off && (out & (p.checkpointed() ? p.kept() : p.saved() | p.sticky() | p.held())) != 0;
    if (!stays) b.alive &= ~out;
    return b.of[t];
  }

  /// Runs a block's backward; `gradient` is of its output, and what is returned is of its input. What is sticky or held stays in `b`;
  /// a gradient that is borrowed is left to its owner. `on_enter`: called when the gradient of what the model returned is there.
  template <class OnEnter>
  handle backward(const program& p, block_tensors& b, handle gradient, gradient_sink& sink, OnEnter&& on_enter) {
    detail::allocating to(p, *memory_, b, on_enter, gradient, &sink);
    run_backward(p, weight_work::with_inputs, to);
    return to.input_gradient();
  }
  handle backward(const program& p, block_tensors& b, handle gradient, gradient_sink& sink) {
    return backward(p, b, gradient, sink, [] {});
  }

  /// Frees some of a block's storages.
  void free(block_tensors& b, wide_set s) {
    b.alive &= ~s;
    for (const auto t : each(s & ~b.borrowed)) memory_->free(b.of[t.place()]);
  }

 private:
  tensor_memory* memory_;
};

}  // namespace headroom
