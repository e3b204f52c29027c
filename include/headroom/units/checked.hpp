// Distributed under the Boost Software License, Version 1.0.
// Signed 64-bit arithmetic that is exact or an error. Every count in the library goes through these.
#pragma once

#include <headroom/error.hpp>

#include <concepts>
#include <cstdint>
#include <limits>

namespace headroom {

/// An integer that is meant as a number: not bool, not a character.
template <class T>
concept whole_number = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
                       !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

/// Sums, products and quotients that are exact. Errors: overflow_error where the result leaves 63 bits, or for a division by zero.
namespace checked {

/// The value of any integer as a signed 64-bit one; an unsigned value above 2^63 - 1 is an overflow_error.
template <whole_number T>
constexpr std::int64_t of(T value) {
  if constexpr (std::unsigned_integral<T> && sizeof(T) >= sizeof(std::int64_t)) {
    if (value > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
      detail::overflowed("headroom: a count does not fit in a signed 64-bit integer");
  }
  return static_cast<std::int64_t>(value);
}

constexpr std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t r{};
  if (__builtin_add_overflow(a, b, &r)) detail::overflowed("headroom: a sum does not fit in a signed 64-bit integer");
  return r;
}
constexpr std::int64_t sub(std::int64_t a, std::int64_t b) {
  std::int64_t r{};
  if (__builtin_sub_overflow(a, b, &r)) detail::overflowed("headroom: a difference does not fit in a signed 64-bit integer");
  return r;
}
constexpr std::int64_t mul(std::int64_t a, std::int64_t b) {
  std::int64_t r{};
  if (__builtin_mul_overflow(a, b, &r)) detail::overflowed("headroom: a product does not fit in a signed 64-bit integer");
  return r;
}
template <class... Rest>
constexpr std::int64_t mul(std::int64_t a, std::int64_t b, Rest... rest) {
  return mul(mul(a, b), rest...);
}
constexpr std::int64_t div(std::int64_t a, std::int64_t b) {
  if (b == 0) detail::overflowed("headroom: division by zero");
  if (b == -1) return sub(0, a);
  return a / b;
}
/// ceil(a / b) for a >= 0, b > 0.
/// Errors: overflow_error for b = 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  if (b == 0) detail::overflowed("headroom: division by zero");
  if (b == 1) return a;  // most jobs divide most things by one, and a division takes as long as a dozen additions
  return a / b + (a % b != 0 ? 1 : 0);
}
/// The smallest multiple of `unit` that is not below a, for a >= 0.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t unit) { return mul(ceil_div(a, unit), unit); }

/// The greatest common divisor of a and b, for a, b >= 0.
constexpr std::int64_t gcd(std::int64_t a, std::int64_t b) {
  while (b != 0) {
    const auto rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
/// The least common multiple of a and b, for a, b >= 0.
constexpr std::int64_t lcm(std::int64_t a, std::int64_t b) { return a == 0 || b == 0 ? 0 : mul(a / gcd(a, b), b); }

/// The smallest power of two that is not below a, for a >= 1.
constexpr std::int64_t power_of_two_ceil(std::int64_t a) {
  std::int64_t p = 1;
  while (p < a) p = mul(p, 2);
  return p;
}

}  // namespace checked

/// The same without a check, where one has been made for many.
namespace proven {

constexpr std::int64_t add(std::int64_t a, std::int64_t b) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b)); }
constexpr std::int64_t mul(std::int64_t a, std::int64_t b) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)); }

}  // namespace proven
}  // namespace headroom
