// Distributed under the Boost Software License, Version 1.0.
// Tensors of one program, and sets of them. Most blocks have at most 63 tensors, whose sets are bits of one word (near_set). The
// others are far: an operation names a few of them, by their places (tensor_set), and what a program keeps is bits again (wide_set).
#pragma once

#include <headroom/error.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace headroom {

/// A set of near tensors, as bits: the first 63 of a program.
using near_set = std::uint64_t;
inline constexpr std::size_t near_tensors = 63;

/// The tensors that an operation names: near ones as bits, and up to eight far ones, a byte each. 0 is the empty set.
struct tensor_set {
  near_set near{};
  std::uint64_t far{};

  constexpr tensor_set(near_set bits = 0, std::uint64_t places = 0) : near(bits), far(places) {}
  friend constexpr tensor_set operator|(tensor_set a, tensor_set b) {
    if ((a.far | b.far) == 0) [[likely]] return {a.near | b.near, 0};
    return {a.near | b.near, joined(a.far, b.far)};
  }
  constexpr tensor_set& operator|=(tensor_set b) { return *this = *this | b; }

 private:
  static constexpr bool names(std::uint64_t places, std::uint64_t one) {
    for (; places != 0; places >>= 8)
      if ((places & 255U) == one) return true;
    return false;
  }
  [[gnu::noinline, gnu::cold]] static constexpr std::uint64_t joined(std::uint64_t a, std::uint64_t b) {
    for (; b != 0; b >>= 8) {
      if (names(a, b & 255U)) continue;
      if (a >> 56 != 0) refuse("headroom: an operation names at most 8 tensors behind a block's first 63; split it");
      a = a << 8 | (b & 255U);
    }
    return a;
  }
};

/// A tensor of a program: a set of one. tensor{} is none.
struct tensor {
  std::uint64_t bits{};  ///< one bit of a near_set or, with the highest bit, a place

  static constexpr tensor at(std::size_t place) { return {place < near_tensors ? std::uint64_t{1} << place : highest | place}; }
  [[nodiscard]] constexpr bool valid() const { return bits != 0; }
  [[nodiscard]] constexpr bool is_far() const { return bits >= highest; }
  [[nodiscard]] constexpr std::size_t place() const { return is_far() ? static_cast<std::size_t>(bits & ~highest) : static_cast<std::size_t>(std::countr_zero(bits)); }
  [[nodiscard]] constexpr tensor_set bit() const {
    if (is_far()) [[unlikely]] return {0, bits & ~highest};
    return {bits, 0};
  }
  template <class Set>
  [[nodiscard]] constexpr Set as() const {
    if constexpr (std::is_same_v<Set, near_set>)
      return bits;
    else
      return bit();
  }
  friend constexpr tensor_set operator|(tensor a, tensor b) {
    if ((a.bits | b.bits) < highest) [[likely]] return {a.bits | b.bits, 0};
    return a.bit() | b.bit();
  }
  friend constexpr tensor_set operator|(tensor_set a, tensor b) { return a | b.bit(); }

 private:
  static constexpr std::uint64_t highest = std::uint64_t{1} << 63;
};

/// A set of any tensors of a program, as bits.
struct wide_set {
  static constexpr std::size_t words = 3, places = 64 * words;
  std::uint64_t word[words];

  constexpr wide_set(near_set bits = 0) : word{bits, 0, 0} {}
  constexpr wide_set(tensor_set s) : word{s.near, 0, 0} {
    for (auto rest = s.far; rest != 0; rest >>= 8) word[(rest & 255U) >> 6] |= std::uint64_t{1} << (rest & 63U);
  }
  constexpr wide_set(std::uint64_t a, std::uint64_t b, std::uint64_t c) : word{a, b, c} {}

  friend constexpr wide_set operator|(const wide_set& a, const wide_set& b) {
    return {a.word[0] | b.word[0], a.word[1] | b.word[1], a.word[2] | b.word[2]};
  }
  friend constexpr wide_set operator&(const wide_set& a, const wide_set& b) {
    return {a.word[0] & b.word[0], a.word[1] & b.word[1], a.word[2] & b.word[2]};
  }
  constexpr wide_set operator~() const { return {~word[0], ~word[1], ~word[2]}; }
  constexpr wide_set& operator|=(const wide_set& b) { return *this = *this | b; }
  constexpr wide_set& operator&=(const wide_set& b) { return *this = *this & b; }
  friend constexpr bool operator==(const wide_set& a, const wide_set& b) {
    return ((a.word[0] ^ b.word[0]) | (a.word[1] ^ b.word[1]) | (a.word[2] ^ b.word[2])) == 0;
  }
};
constexpr wide_set operator|(const wide_set& a, tensor b) { return a | wide_set(b.bit()); }
constexpr wide_set operator&(tensor_set a, tensor_set b) { return wide_set(a) & wide_set(b); }
constexpr wide_set operator~(tensor_set a) { return ~wide_set(a); }
constexpr bool operator==(tensor_set a, tensor_set b) { return wide_set(a) == wide_set(b); }

/// Whether a set has a tensor.
constexpr bool has(near_set s, tensor t) { return (s & t.bits) != 0; }
constexpr bool has(const wide_set& s, tensor t) {
  if (t.is_far()) [[unlikely]] return (s.word[t.place() >> 6] >> (t.place() & 63U) & 1U) != 0;
  return (s.word[0] & t.bits) != 0;
}
/// A set with one tensor more.
constexpr void put(wide_set& s, tensor t) {
  if (t.is_far()) [[unlikely]]
    s |= t.bit();
  else
    s.word[0] |= t.bits;
}

/// The tensors of a set, first to last: for (const auto t : each(set)).
template <class Set>
class each {
 public:
  struct iterator {
    wide_set rest;
    std::size_t word;
    constexpr tensor operator*() const { return tensor::at(64 * word + static_cast<std::size_t>(std::countr_zero(rest.word[word]))); }
    constexpr iterator& operator++() {
      rest.word[word] &= rest.word[word] - 1;
      return to_next(), *this;
    }
    constexpr bool operator==(const iterator& b) const { return word == b.word && (word == wide_set::words || rest.word[word] == b.rest.word[word]); }
    constexpr void to_next() {
      while (word < wide_set::words && rest.word[word] == 0) ++word;
    }
  };
  constexpr explicit each(const wide_set& s) : set_(s) {}
  [[nodiscard]] constexpr iterator begin() const {
    iterator i{set_, 0};
    i.to_next();
    return i;
  }
  [[nodiscard]] constexpr iterator end() const { return {{}, wide_set::words}; }

 private:
  wide_set set_;
};
template <>
class each<near_set> {
 public:
  struct iterator {
    near_set rest;
    constexpr tensor operator*() const { return {rest & -rest}; }
    constexpr iterator& operator++() { return rest &= rest - 1, *this; }
    constexpr bool operator==(const iterator&) const = default;
  };
  constexpr explicit each(near_set s) : set_(s) {}
  [[nodiscard]] constexpr iterator begin() const { return {set_}; }
  [[nodiscard]] constexpr iterator end() const { return {0}; }

 private:
  near_set set_;
};
each(near_set) -> each<near_set>;
each(wide_set) -> each<wide_set>;
each(tensor_set) -> each<wide_set>;

/// The place of a set's first tensor in its program.
constexpr std::size_t first_of(const wide_set& s) { return (*each(s).begin()).place(); }
/// The last tensor of a set that is not empty.
constexpr tensor last_of(near_set s) { return {std::bit_floor(s)}; }
constexpr tensor last_of(const wide_set& s) {
  std::size_t i = wide_set::words - 1;
  while (i > 0 && s.word[i] == 0) --i;
  return tensor::at(64 * i + static_cast<std::size_t>(std::bit_width(s.word[i])) - 1);
}

/// The first word of a set, or all of it.
template <class Set>
constexpr const Set& cut(const wide_set& s) {
  if constexpr (std::is_same_v<Set, near_set>)
    return s.word[0];
  else
    return s;
}

}  // namespace headroom
