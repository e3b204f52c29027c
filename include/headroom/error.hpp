// Distributed under the Boost Software License, Version 1.0.
// What goes wrong, in sentences. One place decides between throwing and aborting.
#pragma once

#include <headroom/name.hpp>
#include <headroom/version.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace headroom {

/// Base of everything the core throws. The text lives in the object: making, copying and throwing it needs no heap of ours.
class error : public std::exception {
 public:
  explicit error(std::string_view sentence) noexcept {
    const auto n = sentence.size() < sizeof text_ - 1 ? sentence.size() : sizeof text_ - 1;
    for (std::size_t i = 0; i < n; ++i) text_[i] = sentence[i];
    text_[n] = '\0';
  }
  [[nodiscard]] const char* what() const noexcept override { return text_; }

 private:
  char text_[400];
};

/// A count left the signed 64-bit range, or a division by zero was asked for.
class overflow_error : public error {
 public:
  using error::error;
};

/// A job that contradicts itself, or asks for something that this version does not know. `what()` names the key.
class job_error : public error {
 public:
  using error::error;
};

namespace detail {

// The functions below are deliberately not constexpr: reaching one inside a constant expression stops the compiler, and
// both g++ and clang then print the call with its sentence.

template <class Error>
[[noreturn, gnu::cold, gnu::noinline]] inline void raise(std::string_view sentence) {
#if HEADROOM_EXCEPTIONS
  throw Error(sentence);
#else
  std::fprintf(stderr, "%.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::abort();
#endif
}

[[noreturn, gnu::cold, gnu::noinline]] inline void overflowed(const char* sentence) { raise<overflow_error>(sentence); }

}  // namespace detail

/// Refuses a job. `sentence` says what was expected; the value found is appended.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const char* sentence, std::int64_t found) {
  char text[400];
  std::snprintf(text, sizeof text, "%s (found %lld)", sentence, static_cast<long long>(found));
  detail::raise<job_error>(text);
}
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const char* sentence) { detail::raise<job_error>(sentence); }
template <std::size_t N>
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const char* sentence, const basic_name<N>& found) {
  char text[400];
  std::snprintf(text, sizeof text, "%s (found \"%.*s\")", sentence, static_cast<int>(N), found.text);
  detail::raise<job_error>(text);
}

}  // namespace headroom
