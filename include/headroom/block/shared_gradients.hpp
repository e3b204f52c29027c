// Distributed under the Boost Software License, Version 1.0.
// Who holds a gradient, where an addition handed it on (torch/csrc/autograd: AddBackward0 returns its own gradient for each operand).
#pragma once

#include <headroom/block/program.hpp>

namespace headroom::detail {

/// Gradients that several tensors share: an addition hands its own on, and that goes with the last of them. A shared gradient has
/// the name of the tensor it was made for. Few operations are additions, so that all of this is out of the way of the others.
template <class Set>
class shared_gradients {
 public:
  /// The tensors whose gradient is a shared one.
  [[nodiscard]] constexpr Set all() const { return shared_; }
  /// Whether somebody else holds a tensor's gradient, too.
  [[nodiscard]] constexpr bool has(tensor t) const { return headroom::has(shared_, t) && holders_[home_[place(t)]] > 1; }
  [[nodiscard]] constexpr tensor home(tensor t) const { return tensor::at(home_[place(t)]); }

  /// Of these tensors, the gradients that nobody else holds.
  [[nodiscard]] constexpr Set alone(Set s) const {
    auto r = s & ~shared_;
    for (const auto t : each(s & shared_))
      if (!has(t)) r |= home(t).template as<Set>();
    return r;
  }

  /// One more holder of a tensor's gradient: whose that is.
  [[gnu::noinline]] constexpr tensor hold(tensor t) {
    if (!headroom::has(shared_, t)) {
      home_[place(t)] = static_cast<std::uint8_t>(place(t));
      holders_[place(t)] = 1;
      shared_ |= t.template as<Set>();
    }
    ++holders_[home_[place(t)]];
    return home(t);
  }
  /// One fewer: whether that was the last.
  constexpr bool let_go(tensor home) { return --holders_[place(home)] == 0; }
  /// These share that gradient.
  constexpr void put(Set s, tensor home) {
    shared_ |= s;
    for (const auto t : each(s)) home_[place(t)] = static_cast<std::uint8_t>(place(home));
  }
  /// These have none any more: which gradients go with that.
  [[gnu::noinline]] constexpr Set drop(Set s) {
    shared_ &= ~s;
    Set gone{};
    for (const auto t : each(s))
      if (let_go(home(t))) gone |= home(t).template as<Set>();
    return gone;
  }

 private:
  static constexpr std::size_t room = std::is_same_v<Set, near_set> ? near_tensors : program::max_tensors;
  static constexpr std::size_t place(tensor t) { return t.place(); }
  Set shared_{};
  std::array<std::uint8_t, room> home_;      // by place; of a tensor in shared_
  std::array<std::int16_t, room> holders_;   // of a gradient, by the tensor it was made for
};

}  // namespace headroom::detail
