// Distributed under the Boost Software License, Version 1.0.
// The assumptions of one report.
#pragma once

#include <headroom/report/assumption_kind.hpp>

#include <array>
#include <cstddef>

namespace headroom {

/// Assumptions of one report, each once.
struct assumption_set {
  std::array<std::uint64_t, (assumption_count + 63) / 64> words{};

  constexpr void add(assumption a) { word(a) |= bit(a); }
  constexpr void remove(assumption a) { word(a) &= ~bit(a); }
  [[nodiscard]] constexpr bool has(assumption a) const { return (words[static_cast<std::size_t>(a) / 64] & bit(a)) != 0; }
  constexpr assumption_set& operator|=(const assumption_set& b) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] |= b.words[i];
    return *this;
  }
  bool operator==(const assumption_set&) const = default;

 private:
  constexpr std::uint64_t& word(assumption a) { return words[static_cast<std::size_t>(a) / 64]; }
  static constexpr std::uint64_t bit(assumption a) { return std::uint64_t{1} << (static_cast<unsigned>(a) % 64); }
};

}  // namespace headroom
