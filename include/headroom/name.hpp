// Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <compare>
#include <cstddef>
#include <string_view>

namespace headroom {

/// A short name held by value, so that what carries it stays structural (usable as a template argument) and never
/// touches the heap. Longer text is cut at `Capacity` characters.
template <std::size_t Capacity>
struct basic_name {
  static constexpr std::size_t capacity = Capacity;
  char text[capacity + 1];  // basic_name{} is empty; as for an array, `basic_name n;` is not initialised

  constexpr basic_name() = default;
  constexpr basic_name(const char* s) : basic_name(std::string_view{s}) {}  // NOLINT(google-explicit-constructor)
  constexpr basic_name(std::string_view s) : text{} {                                // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < s.size() && i < capacity; ++i) text[i] = s[i];
  }

  [[nodiscard]] constexpr std::string_view view() const { return {text}; }
  [[nodiscard]] constexpr bool empty() const { return text[0] == '\0'; }
  friend constexpr bool operator==(const basic_name& a, std::string_view b) { return a.view() == b; }
  friend constexpr bool operator==(const basic_name& a, const char* b) { return a.view() == b; }
  bool operator==(const basic_name&) const = default;
};

/// Names of models and GPUs, and the shorter ones of formats, optimizers and frameworks.
using name = basic_name<47>;
using short_name = basic_name<23>;

}  // namespace headroom
