// Distributed under the Boost Software License, Version 1.0.
// What a block's run (block/run.hpp) asks of memory, written down once: layers that are alike repeat it, each with tensors of its own.
#pragma once

#include <headroom/block/run.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace headroom {

/// Which run of a block: a forward that leaves something or nothing, one from what was kept, or the backward.
enum class block_run : std::uint8_t { forward, forward_without_graph, forward_again, backward };

namespace detail {

/// What the report counts a storage of a program as, and its gradient.
constexpr row row_of(const program& p, tensor t) {
  return (p.logits() & t.bit()) != 0 ? row::logits : (p.weights() & t.bit()) != 0 ? row::gathered_parameters : row::activations;
}
constexpr row row_of_gradient(const program& p, tensor t) { return p.is_logits(t) ? row::logits : row::temporaries; }

struct script_step {
  enum class kind : std::uint8_t {
    make,         ///< a tensor
    make_cut,     ///< … in blocks of a size
    free,         ///< of a temporary `of` is its row
    make_pieced,  ///< a tensor that has no piece yet
    add_piece,
    drop_piece,
    keep_weight,  ///< the gradient of a weight is complete
    pass,         ///< the model hands its outputs to the caller, or their gradient is there
    product,      ///< a backward has come to its first matrix
    other,        ///< another model runs
  };
  kind what{};
  row of{};
  std::uint16_t at{};   ///< a block_script::place
  bool waits{};         ///< of `keep_weight`: for a second gradient of the same table
  bytes size{};
  bytes cut{};          ///< of `make_cut`: the blocks' size
};

}  // namespace detail

/// One run of a block, written down: what it allocates and frees, in order.
struct block_script {
  using place = std::uint16_t;  ///< a storage's in its program or, from first_slot on, what ends with the run
  static constexpr place first_slot = program::max_tensors;
  static constexpr place nowhere = 0xffff;

  const program* of{};
  block_run run{};
  wide_set alive;     ///< when it begins
  wide_set borrowed;  ///< somebody else frees these

  std::vector<detail::script_step> steps{};
  wide_set left{};         ///< alive when it has ended
  std::size_t slots = 0;   ///< how many
  place output = nowhere;  ///< of a backward: the gradient of the block's input; that of its output is in the first slot at first
};

namespace detail {

/// The listener that writes a script.
class script_writer {
 public:
  using set = wide_set;
  wide_set alive;

  explicit script_writer(block_script& to) : alive(to.alive), program_(to.of), borrowed_(to.borrowed), to_(&to) {
    if (to.run == block_run::backward) to.output = new_slot();
  }

  void make(const wide_set& s) {
    for (const auto t : each(s)) {
      const auto one = program_->one_of(t);
      write(one > bytes{0} ? script_step::kind::make_cut : script_step::kind::make, at(t), program_->size(t), row_of(*program_, t));
      to_->steps.back().cut = one;
    }
  }
  void free(const wide_set& s) {
    for (const auto t : each(s & ~borrowed_)) write(script_step::kind::free, at(t));
  }
  void make_temporary(bytes b, const operation& o) {
    if (b <= bytes{0}) return;
    temporary_ = new_slot();
    const bool whole = o.temporary_block <= bytes{0} || b <= o.temporary_block;
    write(whole ? script_step::kind::make : script_step::kind::make_cut, temporary_, b, o.temporaries);
    to_->steps.back().cut = o.temporary_block;
  }
  void free_temporary(const operation& o) {
    say_product();
    const auto before = to_->steps.size();
    free_slot(temporary_);
    if (to_->steps.size() > before) to_->steps.back().of = o.temporaries;
  }
  void returns() { write(script_step::kind::pass, 0); }
  void enters() { returns(); }
  void other() { write(script_step::kind::other, 0); }

  void adopt(tensor t) { first_[at(t)] = std::exchange(to_->output, block_script::nowhere); }
  /// What makes gradients is a product, but for the loss' own: of its numbers, and of logits.
  void make_gradients(const wide_set& s, const wide_set& second) {
    if (!multiplies_)
      for (const auto t : each(s)) multiplies_ = multiplies_ || (!program_->is_logits(t) && program_->elements(t) > 1);
    gradients_from_ = to_->steps.size();
    for (const auto t : each(s)) make_gradient(script_step::kind::make, gradient(t, second), t);
    first_product_ = multiplies_ && !std::exchange(said_, true);
  }
  void free_gradients(const wide_set& s) {
    for (const auto t : each(s)) write(script_step::kind::free, first_[at(t)]);
  }
  void free_second(tensor t) { write(script_step::kind::free, second_[at(t)]); }
  void make_sum(tensor t) { make_gradient(script_step::kind::make, sum_, t); }
  void settle_sum(tensor t) { first_[at(t)] = sum_; }
  void keep_gradients(const wide_set&) {}
  void hand_back(tensor t) { to_->output = first_[at(t)]; }

  /// A product without a bias makes its weight's gradient first, one with a bias its input's first and the bias' last (MmBackward0, AddmmBackward0: tools/
  /// autograd/load_derivatives.py has them in the order of their arguments' names).
  void make_weight(const operation& o) {
    const auto before = to_->steps.size();
    make_weight(o, weight_);
    if (to_->steps.size() == before) return;
    if (o.bias_gradient == bytes{0}) {
      std::rotate(to_->steps.begin() + static_cast<std::ptrdiff_t>(gradients_from_), to_->steps.end() - 1, to_->steps.end());
    } else if (const auto matrix = o.weight_gradient - o.bias_gradient; matrix > bytes{0}) {
      to_->steps.back().size = matrix;
      bias_ = new_slot();
      write(script_step::kind::make, bias_, o.bias_gradient, row::gradients);
    }
  }
  void add_weight(const operation& o) { make_weight(o, added_); }
  void free_added_weight(const operation&) { free_slot(added_); }
  void keep_weight(const operation& o) {
    if (weight_ == block_script::nowhere) return;
    const bool apart = bias_ != block_script::nowhere;
    write(script_step::kind::keep_weight, std::exchange(weight_, block_script::nowhere), apart ? o.weight_gradient - o.bias_gradient : o.weight_gradient);
    to_->steps.back().waits = o.gradient_waits;
    if (apart) write(script_step::kind::keep_weight, std::exchange(bias_, block_script::nowhere), o.bias_gradient);
  }

  void begin_pieces(const wide_set& s, const operation&) {
    for (const auto t : each(s)) write(script_step::kind::make_pieced, at(t), bytes{0}, row_of(*program_, t));
  }
  void make_piece(const wide_set& s, const operation& o, std::int64_t i) {
    for (const auto t : each(s)) write(script_step::kind::add_piece, at(t), piece_of(t, o, i));
  }
  void begin_gradient_pieces(const wide_set& s, const wide_set& second, const operation&) {
    for (const auto t : each(s)) make_gradient(script_step::kind::make_pieced, gradient(t, second), t);
  }
  void make_gradient_piece(const wide_set& s, const wide_set& second, const operation& o, std::int64_t i) {
    gradients_from_ = to_->steps.size();
    for (const auto t : each(s)) write(script_step::kind::add_piece, gradient(t, second), piece_of(t, o, i));
  }
  void drop_piece(const wide_set& storages, const wide_set& gradients, const operation&) {
    for (const auto t : each(storages & alive & ~borrowed_)) write(script_step::kind::drop_piece, at(t));
    for (const auto t : each(gradients)) write(script_step::kind::drop_piece, first_[at(t)]);
  }
  void end_pieces() {}
  static std::int64_t after_piece(std::int64_t i, const operation&) { return i + 1; }

 private:
  using slot = block_script::place;

  /// A backward's first product asks for its thread's workspace when its first result is there (aten/src/ATen/native/cuda/Blas.cpp addmm_out_cuda_impl; a trace of
  /// a GPU has it so).
  void say_product() {
    if (!std::exchange(first_product_, false) || gradients_from_ >= to_->steps.size()) return;
    to_->steps.insert(to_->steps.begin() + static_cast<std::ptrdiff_t>(gradients_from_) + 1, script_step{.what = script_step::kind::product});
  }

  static slot at(tensor t) { return static_cast<slot>(t.place()); }
  /// One that nothing is in: of so many pieces each uses the same.
  slot new_slot() {
    if (!spare_.empty()) {
      const auto s = spare_.back();
      spare_.pop_back();
      return s;
    }
    return static_cast<slot>(block_script::first_slot + to_->slots++);
  }
  void write(script_step::kind what, slot at, bytes size = {}, row of = {}) { to_->steps.push_back({.what = what, .of = of, .at = at, .size = size}); }
  void free_slot(slot& s) {
    if (s == block_script::nowhere) return;
    write(script_step::kind::free, s);
    spare_.push_back(std::exchange(s, block_script::nowhere));
  }
  slot& gradient(tensor t, const wide_set& second) { return (has(second, t) ? second_ : first_)[at(t)]; }
  void make_gradient(script_step::kind what, slot& to, tensor t) {
    to = new_slot();
    write(what, to, program_->size(t), row_of_gradient(*program_, t));
  }
  void make_weight(const operation& o, slot& to) {
    if (o.weight_gradient <= bytes{0} && !o.gradient_waits) return;
    to = new_slot();
    write(script_step::kind::make, to, o.weight_gradient, row::gradients);
  }
  /// The first piece has what is left over.
  [[nodiscard]] bytes piece_of(tensor t, const operation& o, std::int64_t i) const {
    const auto all = program_->size(t), one = all / o.pieces;
    return i == 0 ? all - one * (o.pieces - 1) : one;
  }

  const program* program_;
  wide_set borrowed_;
  block_script* to_;
  slot temporary_ = block_script::nowhere, sum_ = block_script::nowhere, weight_ = block_script::nowhere, bias_ = block_script::nowhere, added_ = block_script::nowhere;
  bool multiplies_ = false, said_ = false, first_product_ = false;
  std::size_t gradients_from_ = 0;  // of an operation: its first step that makes one
  std::array<slot, program::max_tensors> first_, second_;  // gradients of tensors that have one, and a second
  std::vector<slot> spare_;                                // that have been freed
};

}  // namespace detail

/// Writes it down.
inline void write_script(block_script& s) {
  detail::script_writer to(s);
  switch (s.run) {
    case block_run::forward: run_forward(*s.of, recording::on, to); break;
    case block_run::forward_without_graph: run_forward(*s.of, recording::off, to); break;
    case block_run::forward_again: run_forward(*s.of, recording::again, to); break;
    case block_run::backward: run_backward(*s.of, weight_work::with_inputs, to); break;
  }
  s.left = to.alive;
}

}  // namespace headroom
