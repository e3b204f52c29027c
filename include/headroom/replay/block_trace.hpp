// Distributed under the Boost Software License, Version 1.0.
// A block's forward and backward written out, allocation by allocation: what block/walk.hpp adds up, in the same order.
#pragma once

#include <headroom/block/walk.hpp>
#include <headroom/replay/tensor_memory.hpp>

#include <array>
#include <vector>

namespace headroom {

namespace detail {

/// What the report counts a storage of a program as, and its gradient.
constexpr row row_of(const program& p, std::size_t t) {
  const auto one = tensor_set{1} << t;
  return (p.logits() & one) != 0 ? row::logits : (p.weights() & one) != 0 ? row::gathered_parameters : row::activations;
}
constexpr row row_of_gradient(const program& p, std::size_t t) { return (p.logits() >> t & 1U) != 0 ? row::logits : row::temporaries; }

}  // namespace detail

/// The storages of a block's tensors between its forward and its backward.
struct block_tensors {
  std::array<tensor_memory::handle, program::max_tensors> of;
  tensor_set alive = 0;
  tensor_set borrowed = 0;  ///< somebody else frees these
};

/// What becomes of weight gradients: they stay, in `kept`, or are added to those that exist.
struct gradient_sink {
  bool accumulate{};
  std::vector<tensor_memory::handle> kept{};
  bytes tied_size{-1};     ///< a gradient as large as this is of a table that is used twice: the first waits for the second
  tensor_memory::handle tied{tensor_memory::none};
};

class block_trace {
 public:
  using handle = tensor_memory::handle;
  static constexpr handle none = tensor_memory::none;

  explicit block_trace(tensor_memory& m) : memory_(&m) {}

  /// Runs a block whose input's storage is in `b` already. What is left is in `b`: the output, and what is kept for backward.
  template <class OnReturn>
  void forward(const program& p, recording mode, block_tensors& b, OnReturn&& on_return) {
    const bool on = mode != recording::off;
    auto graph = (p.saved() | p.sticky()) & ~p.recomputed();
    if (p.checkpointed() && mode == recording::on) graph = p.kept();
    const auto kept = p.cached() | p.held() | (on ? graph | p.held_in_forward() : 0);
    const detail::last_readers last(p, kept);
    b.alive |= p.storages(p.input().bit());
    for (std::size_t i = 0; i < p.operations(); ++i) {
      if (i == p.returns_at()) on_return();
      const auto& o = p[i];
      const auto fresh = p.storages(o.makes) & ~b.alive;
      if (o.pieces > 1)
        for_each(fresh, [&](std::size_t t) { b.of[t] = memory_->make_pieced(detail::row_of(p, t)); });
      for (std::int64_t piece = 0; piece < o.pieces; ++piece) {
        auto temporary = memory_->make_cut(o.forward_temporary, o.temporary_block, o.temporaries);
        for_each(fresh, [&](std::size_t t) {
          const auto size = p.size(tensor{tensor_set{1} << t});
          if (o.pieces > 1)
            memory_->add_piece(b.of[t], ceil_div(size, o.pieces));
          else
            b.of[t] = memory_->make(size, detail::row_of(p, t));
        });
        memory_->free(temporary);
      }
      b.alive |= fresh;
      free(b, last.gone[i] & b.alive);
    }
    // Locals of the caller end with forward.
    if (on) free(b, p.held_in_forward() & ~graph & ~p.held() & ~p.cached() & ~p.storages(p.output().bit()) & b.alive);
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
    refill(p, b);
    present_ = p.output().bit() & p.gradients();
    if (present_ != 0) put(p.output(), new_buffer(gradient));
    if (present_ != 0 && p.borrows_output_gradient()) ++buffers_.back().references;
    const auto stays = p.sticky() | p.held();
    for (auto i = p.operations(); i-- > 0;) {
      const auto& o = p[i];
      if (i + 1 == p.returns_at()) on_enter();
      if (!o.recorded) continue;
      const auto arriving = o.makes & present_;
      const auto released = o.saves & ~stays;
      if (o.releases_first) free(b, released & b.alive);

      const auto operands = o.reads & p.gradients();
      tensor_set handed_on = 0;
      int handed = 0;
      if (o.passes_gradient && arriving != 0) {
        const tensor from{std::bit_floor(arriving)};
        handed = buffer_[first_of(from.bit())];
        for_each(operands, [&](std::size_t t) {
          if (p.size(tensor{tensor_set{1} << t}) != p.size(from)) return;
          ++buffers_[at(handed)].references;
          handed_on |= tensor_set{1} << t;
        });
      }
      const auto fresh = operands & ~handed_on;
      std::array<int, program::max_tensors> made;
      run_operation(p, b, o, fresh, released, arriving, made, sink);
      if (!o.releases_first) free(b, released & b.alive);
      for_each(arriving, [&](std::size_t t) { drop(t); });

      const auto again = operands & present_;
      for_each(again, [&](std::size_t t) {
        if (buffers_[at(buffer_[t])].references > 1 || p.sums_out_of_place()) {
          const auto sum = new_buffer(memory_->make(p.size(tensor{tensor_set{1} << t}), detail::row_of_gradient(p, t)));
          drop(t);
          put(tensor{tensor_set{1} << t}, sum);
        }
        release_buffer((handed_on >> t & 1U) != 0 ? handed : made[t]);
      });
      for_each(fresh & ~again, [&](std::size_t t) { put(tensor{tensor_set{1} << t}, made[t]); });
      for_each(handed_on & ~again, [&](std::size_t t) { put(tensor{tensor_set{1} << t}, handed); });
    }
    handle left = none;
    const auto input = p.input().bit() & present_;
    for_each(input, [&](std::size_t t) {
      left = buffers_[at(buffer_[t])].storage;
      buffers_[at(buffer_[t])].storage = none;
      present_ &= ~input;
    });
    for_each(present_, [&](std::size_t t) { drop(t); });
    buffers_.clear();
    free(b, b.alive & ~stays);
    return left;
  }

  handle backward(const program& p, block_tensors& b, handle gradient, gradient_sink& sink) {
    return backward(p, b, gradient, sink, [] {});
  }

  /// Frees some of a block's storages.
  void free(block_tensors& b, tensor_set s) {
    b.alive &= ~s;
    for_each(s & ~b.borrowed, [&](std::size_t t) { memory_->free(b.of[t]); });
  }

 private:
  struct shared_buffer {
    handle storage;
    int references;
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  template <class Visit>
  static void for_each(tensor_set s, Visit&& visit) {
    for (; s != 0; s &= s - 1) visit(first_of(s));
  }

  /// Megatron's selective recomputation makes tensors again when the block's backward begins.
  void refill(const program& p, block_tensors& b) {
    const auto missing = (p.saved() | p.sticky()) & ~b.alive;
    for_each(missing, [&](std::size_t t) { b.of[t] = memory_->make(p.size(tensor{tensor_set{1} << t}), detail::row_of(p, t)); });
    b.alive |= missing;
  }

  /// Gradients of an operation's operands and weights, made while its temporary is alive; in pieces where it runs in pieces.
  void run_operation(const program& p, block_tensors& b, const operation& o, tensor_set fresh, tensor_set released, tensor_set arriving,
                     std::array<int, program::max_tensors>& made, gradient_sink& sink) {
    if (o.pieces > 1) for_each(fresh, [&](std::size_t t) { made[t] = new_buffer(memory_->make_pieced(detail::row_of_gradient(p, t))); });
    for (std::int64_t piece = 0; piece < o.pieces; ++piece) {
      auto temporary = memory_->make_cut(o.backward_temporary, o.temporary_block, o.temporaries);
      for_each(fresh, [&](std::size_t t) {
        const auto size = p.size(tensor{tensor_set{1} << t});
        if (o.pieces > 1)
          memory_->add_piece(buffers_[at(made[t])].storage, ceil_div(size, o.pieces));
        else
          made[t] = new_buffer(memory_->make(size, detail::row_of_gradient(p, t)));
      });
      auto weight = memory_->make(o.weight_gradient, row::gradients);
      memory_->free(temporary);
      if (o.weight_gradient == sink.tied_size && sink.tied == none)
        sink.tied = weight;
      else if (o.weight_gradient == sink.tied_size)
        memory_->free(weight);
      else if (sink.accumulate || piece > 0)
        memory_->free(weight);
      else if (weight != none)
        sink.kept.push_back(weight);
      if (o.pieces == 1) break;
      if (!o.releases_first) for_each(released & b.alive & ~b.borrowed, [&](std::size_t t) { memory_->drop_piece(b.of[t]); });
      for_each(arriving, [&](std::size_t t) { memory_->drop_piece(buffers_[at(buffer_[t])].storage); });
    }
  }

  int new_buffer(handle storage) {
    buffers_.push_back({storage, 1});
    return static_cast<int>(buffers_.size() - 1);
  }
  void release_buffer(int i) {
    auto& buffer = buffers_[at(i)];
    if (--buffer.references == 0) memory_->free(buffer.storage);
  }
  void put(tensor t, int i) {
    present_ |= t.bit();
    buffer_[first_of(t.bit())] = i;
  }
  void drop(std::size_t t) {
    present_ &= ~(tensor_set{1} << t);
    release_buffer(buffer_[t]);
  }

  tensor_memory* memory_;
  tensor_set present_ = 0;  // tensors that have a gradient
  std::array<int, program::max_tensors> buffer_{};
  std::vector<shared_buffer> buffers_;
};

}  // namespace headroom
