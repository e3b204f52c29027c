// Distributed under the Boost Software License, Version 1.0.
// Who holds a gradient, where an addition handed it on (torch/csrc/autograd: AddBackward0 returns its own gradient for each operand).
#pragma once

#include <headroom/block/program.hpp>

namespace headroom::detail {

/// Gradients that several tensors share: an addition hands its own on, and that goes with the last of them. A shared gradient has
/// the name of the tensor it was made for. Few operations are additions, so that all of this is out of the way of the others.
class shared_gradients {
 public:
  /// The tensors whose gradient is a shared one.
  [[nodiscard]] constexpr tensor_set all() const { return shared_; }
  /// Whether somebody else holds a tensor's gradient, too.
  [[nodiscard]] constexpr bool has(tensor t) const { return (shared_ & t.bit()) != 0 && holders_[place(home_[place(t)])] > 1; }
  [[nodiscard]] constexpr tensor home(tensor t) const { return home_[place(t)]; }

  /// Of these tensors, the gradients that nobody else holds.
  [[nodiscard]] constexpr tensor_set alone(tensor_set s) const {
    auto r = s & ~shared_;
    for (const auto t : each(s & shared_))
      if (!has(t)) r |= home(t).bit();
    return r;
  }

  /// One more holder of a tensor's gradient: whose that is.
  [[gnu::noinline]] constexpr tensor hold(tensor t) {
    if ((shared_ & t.bit()) == 0) {
      home_[place(t)] = t;
      holders_[place(t)] = 1;
      shared_ |= t.bit();
    }
    ++holders_[place(home_[place(t)])];
    return home_[place(t)];
  }
  /// One fewer: whether that was the last.
  constexpr bool let_go(tensor home) { return --holders_[place(home)] == 0; }
  /// These share that gradient.
  constexpr void put(tensor_set s, tensor home) {
    shared_ |= s;
    for (const auto t : each(s)) home_[place(t)] = home;
  }
  /// These have none any more: which gradients go with that.
  [[gnu::noinline]] constexpr tensor_set drop(tensor_set s) {
    shared_ &= ~s;
    tensor_set gone = 0;
    for (const auto t : each(s))
      if (let_go(home_[place(t)])) gone |= home_[place(t)].bit();
    return gone;
  }

 private:
  static constexpr std::size_t place(tensor t) { return first_of(t.bit()); }
  tensor_set shared_ = 0;
  std::array<tensor, program::max_tensors> home_;            // of a tensor in shared_
  std::array<std::int16_t, program::max_tensors> holders_;   // of a gradient, by the tensor it was made for
};

}  // namespace headroom::detail
