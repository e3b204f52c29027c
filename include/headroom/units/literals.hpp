// Distributed under the Boost Software License, Version 1.0.
// 80_GiB is 80 · 2^30 bytes and 80_GB is 80 · 10^9 bytes; 8_B is eight bytes; 7_Bparams is seven billion parameters.
#pragma once

#include <headroom/units/quantity.hpp>

namespace headroom {

/// 2^10, 2^20 and 2^30 bytes.
inline constexpr bytes kib{std::int64_t{1} << 10};
inline constexpr bytes mib{std::int64_t{1} << 20};
inline constexpr bytes gib{std::int64_t{1} << 30};

namespace detail {
constexpr void whole_only(long double n) {
  if (n >= 0) overflowed("headroom: a literal is a whole number of its unit: 1536_MiB, not 1.5_GiB; 7500_Mparams, not 7.5_Bparams");
}
}  // namespace detail

inline namespace literals {

consteval bytes operator""_B(unsigned long long n) { return bytes{n}; }
consteval bytes operator""_KiB(unsigned long long n) { return bytes{n} * (std::int64_t{1} << 10); }
consteval bytes operator""_MiB(unsigned long long n) { return bytes{n} * (std::int64_t{1} << 20); }
consteval bytes operator""_GiB(unsigned long long n) { return bytes{n} * (std::int64_t{1} << 30); }
consteval bytes operator""_TiB(unsigned long long n) { return bytes{n} * (std::int64_t{1} << 40); }
consteval bytes operator""_kB(unsigned long long n) { return bytes{n} * 1'000; }
consteval bytes operator""_MB(unsigned long long n) { return bytes{n} * 1'000'000; }
consteval bytes operator""_GB(unsigned long long n) { return bytes{n} * 1'000'000'000; }
consteval bytes operator""_TB(unsigned long long n) { return bytes{n} * 1'000'000'000'000; }

consteval parameters operator""_params(unsigned long long n) { return parameters{n}; }
consteval parameters operator""_Mparams(unsigned long long n) { return parameters{n} * 1'000'000; }
consteval parameters operator""_Bparams(unsigned long long n) { return parameters{n} * 1'000'000'000; }
consteval tokens operator""_tokens(unsigned long long n) { return tokens{n}; }

// Fractions are errors of compilation with a sentence.
consteval bytes operator""_KiB(long double n) { return detail::whole_only(n), bytes{0}; }
consteval bytes operator""_MiB(long double n) { return detail::whole_only(n), bytes{0}; }
consteval bytes operator""_GiB(long double n) { return detail::whole_only(n), bytes{0}; }
consteval bytes operator""_TiB(long double n) { return detail::whole_only(n), bytes{0}; }
consteval bytes operator""_kB(long double n) { return detail::whole_only(n), bytes{0}; }
consteval bytes operator""_MB(long double n) { return detail::whole_only(n), bytes{0}; }
consteval bytes operator""_GB(long double n) { return detail::whole_only(n), bytes{0}; }
consteval bytes operator""_TB(long double n) { return detail::whole_only(n), bytes{0}; }
consteval parameters operator""_Mparams(long double n) { return detail::whole_only(n), parameters{0}; }
consteval parameters operator""_Bparams(long double n) { return detail::whole_only(n), parameters{0}; }

}  // namespace literals
}  // namespace headroom
