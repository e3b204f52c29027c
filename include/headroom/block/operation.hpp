// Distributed under the Boost Software License, Version 1.0.
// One step of a layer, and how a program stores those that name a tensor behind its first 63: as bytes, since they are many and short.
#pragma once

#include <headroom/block/tensor_set.hpp>
#include <headroom/report.hpp>

#include <array>
#include <type_traits>

namespace headroom {

/// What program::step() may be told of an operation beside its tensors. What it saves is kept from its forward to its backward;
/// what it needs only for a moment is a temporary.
struct operation_details {
  tensor_set saves{};
  tensor_set holds{};         ///< kept up to here by a local of the caller, though nothing reads it any more
  tensor_set sticky{};        ///< kept on the context instead: alive until the whole graph dies (bitsandbytes up to 0.43.1)
  bytes forward_temporary{};
  bytes backward_temporary{};
  bytes weight_gradient{};    ///< of the weights it trains
  bytes bias_gradient{};      ///< of it, a bias's, which is a tensor of its own
  bool gradient_waits{};      ///< that is not added to an existing one before a second has come: of a table that is used twice
  std::int64_t pieces{1};     ///< the operation runs in so many equal pieces, one after the other
  bytes temporary_block{};    ///< its temporaries are blocks of this size and what is left of them; 0: one block
  row temporaries{row::temporaries};  ///< the row of the report its temporaries are counted in
  bool passes_gradient{};     ///< an addition: the gradient of each operand is the gradient of the result, not a copy
  bool releases_first{};      ///< its gradients are written over what it saved
  bool splits{};              ///< a schedule may put its weight gradient off: then what it saved and its result's gradient stay
};

/// One step of a layer, as it runs.
struct operation {
  wide_set reads{}, makes{}, saves{}, holds{};
  bytes forward_temporary{}, backward_temporary{}, weight_gradient{}, temporary_block{};
  std::int64_t pieces{1};
  row temporaries{row::temporaries};
  bool gradient_waits{}, passes_gradient{}, releases_first{}, splits{};
  bool recorded{};            ///< part of the graph: something that trains lies before it
  bytes bias_gradient{};
};

/// … of near tensors alone. What few operations have stands beside the list: program::rare().
struct near_operation {
  near_set reads, makes, saves;
  bytes forward_temporary, backward_temporary, weight_gradient;
  row temporaries;
  bool gradient_waits, passes_gradient, releases_first, splits, recorded;
  std::uint8_t rare;          ///< the place there; 0: it has nothing of it
  bytes bias_gradient;
};
/// What few operations have.
struct rare_details {
  near_set holds;
  bytes temporary_block;
  std::int64_t pieces;
};

/// An operation of a program whose tensors are a set of this type.
template <class Set>
using basic_operation = std::conditional_t<std::is_same_v<Set, near_set>, near_operation, operation>;

namespace detail {

/// Operations written one behind the other: flags, the tensors of each set, and the numbers that are not what they mostly are.
template <std::size_t Room, std::size_t Count>
class packed_operations {
 public:
  constexpr packed_operations() {
    if (std::is_constant_evaluated()) bytes_ = {}, start_ = {};
  }
  [[nodiscard]] constexpr std::size_t size() const { return count_; }
  constexpr void clear() { count_ = used_ = 0; }

  constexpr void add(const operation& o) {
    if (count_ == Count) refuse("headroom: a block's operations are too many; split it", static_cast<std::int64_t>(count_));
    start_[count_++] = static_cast<std::uint16_t>(used_);
    put((o.recorded ? 1U : 0U) | (o.gradient_waits ? 2U : 0U) | (o.passes_gradient ? 4U : 0U) | (o.releases_first ? 8U : 0U) | (o.splits ? 16U : 0U));
    put(static_cast<unsigned>(o.temporaries));
    for (const auto* s : {&o.reads, &o.makes, &o.saves, &o.holds}) put_set(*s);
    const std::int64_t numbers[] = {o.forward_temporary.count(), o.backward_temporary.count(), o.weight_gradient.count(), o.temporary_block.count(), o.pieces - 1, o.bias_gradient.count()};
    unsigned there = 0;
    for (unsigned i = 0; i < 6; ++i) there |= numbers[i] != 0 ? 1U << i : 0U;
    put(there);
    for (const auto n : numbers)
      for (unsigned i = 0; n != 0 && i < 8; ++i) put(static_cast<unsigned>(static_cast<std::uint64_t>(n) >> 8 * i & 255U));
  }
  [[nodiscard]] constexpr operation operator[](std::size_t i) const {
    std::size_t at = start_[i];
    operation o;
    const unsigned flags = bytes_[at++];
    o.recorded = (flags & 1U) != 0;
    o.gradient_waits = (flags & 2U) != 0;
    o.passes_gradient = (flags & 4U) != 0;
    o.releases_first = (flags & 8U) != 0;
    o.splits = (flags & 16U) != 0;
    o.temporaries = static_cast<row>(bytes_[at++]);
    for (auto* s : {&o.reads, &o.makes, &o.saves, &o.holds})
      for (unsigned n = bytes_[at++]; n > 0; --n) *s |= tensor::at(bytes_[at++]).bit();
    const unsigned there = bytes_[at++];
    const auto number = [&](unsigned k) {
      std::uint64_t n = 0;
      for (unsigned b = 0; (there >> k & 1U) != 0 && b < 8; ++b) n |= static_cast<std::uint64_t>(bytes_[at++]) << 8 * b;
      return static_cast<std::int64_t>(n);
    };
    o.forward_temporary = bytes{number(0)};
    o.backward_temporary = bytes{number(1)};
    o.weight_gradient = bytes{number(2)};
    o.temporary_block = bytes{number(3)};
    o.pieces = number(4) + 1;
    o.bias_gradient = bytes{number(5)};
    return o;
  }

 private:
  constexpr void put(unsigned b) {
    if (used_ == Room) refuse("headroom: a block's operations take too much room; split it", static_cast<std::int64_t>(count_));
    bytes_[used_++] = static_cast<std::uint8_t>(b);
  }
  constexpr void put_set(const wide_set& s) {
    unsigned n = 0;
    for ([[maybe_unused]] const auto t : each(s)) ++n;
    put(n);
    for (const auto t : each(s)) put(static_cast<unsigned>(t.place()));
  }
  std::size_t count_ = 0, used_ = 0;
  std::array<std::uint16_t, Count> start_;
  std::array<std::uint8_t, Room> bytes_;
};

}  // namespace detail

}  // namespace headroom
