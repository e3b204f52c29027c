// Distributed under the Boost Software License, Version 1.0.
// A key that a search leaves open, and the values that it may take.
#pragma once

#include <headroom/estimate.hpp>

#include <array>
#include <string_view>

namespace headroom {

/// Values that a key may take: small numbers, ascending.
class choices {
 public:
  static constexpr std::size_t capacity = 64;
  constexpr void add(std::int64_t v) {
    if (size_ == capacity) refuse("headroom: an open key may take at most 64 values", capacity + 1);
    values_[size_++] = v;
  }
  [[nodiscard]] constexpr const std::int64_t* begin() const { return values_.data(); }
  [[nodiscard]] constexpr const std::int64_t* end() const { return values_.data() + size_; }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }

 private:
  std::array<std::int64_t, capacity> values_{};
  std::size_t size_ = 0;
};

/// A key that a search leaves open: what it may be, and how it is set.
struct axis {
  std::string_view key;
  choices (*values)(const job&);            ///< with the axes before it set
  void (*set)(job&, std::int64_t value);
};

namespace axes::detail {

template <class Keep>
constexpr choices divisors(std::int64_t n, std::int64_t most, Keep keep) {
  choices c;
  for (std::int64_t i = 1; i <= n && i <= most; ++i)
    if (n % i == 0 && keep(i)) c.add(i);
  return c;
}

}  // namespace axes::detail

}  // namespace headroom
