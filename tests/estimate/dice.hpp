// Distributed under the Boost Software License, Version 1.0.
// Choices at random, the same ones from the same seed on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>

namespace draw {

/// Of so many jobs, those to look at: builds that are not optimised (clang's, the sanitizers') take a tenth.
constexpr int some(int jobs) {
#ifdef __OPTIMIZE__
  return jobs;
#else
  return jobs / 10;
#endif
}

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

/// Of so many, those to look at where a sanitizer watches: each takes ten times as long there, so a tenth.
constexpr int watched(int all) { return sanitized ? all / 10 : all; }

class dice {
 public:
  explicit dice(std::uint64_t seed) : random_(seed) {}

  std::size_t index(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::int64_t pick(std::initializer_list<std::int64_t> of) { return *(of.begin() + index(of.size())); }
  bool flip() { return index(2) == 1; }

 private:
  std::mt19937_64 random_;
};

}  // namespace draw
