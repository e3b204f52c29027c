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

/// Why a job is refused: what was expected, and what was found. Empty where nothing is wrong.
struct objection {
  const char* sentence{};
  std::int64_t found{};
  bool has_found{};
  const char* name{};  ///< found; a text of the job, which must outlive this
  [[nodiscard]] constexpr explicit operator bool() const { return sentence != nullptr; }
  /// In words. Not in constant expressions.
  [[nodiscard]] job_error in_words() const {
    char text[400];
    if (name != nullptr && *name != 0) std::snprintf(text, sizeof text, "%s (found \"%s\")", sentence, name);
    else if (has_found) std::snprintf(text, sizeof text, "%s (found %lld)", sentence, static_cast<long long>(found));
    else std::snprintf(text, sizeof text, "%s", sentence);
    return job_error(text);
  }
};

/// Refuses a job. `sentence` says what was expected; the value found is appended.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const char* sentence, std::int64_t found) {
  detail::raise<job_error>(objection{sentence, found, true, nullptr}.in_words().what());
}
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const char* sentence) { detail::raise<job_error>(sentence); }
template <std::size_t N>
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const char* sentence, const basic_name<N>& found) {
  detail::raise<job_error>(objection{sentence, 0, false, found.text}.in_words().what());
}

/// Refuses a job with the sentence of a check.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const objection& why) { detail::raise<job_error>(why.in_words().what()); }

/// What a check does with the first thing that is wrong: refuse the job, …
struct refusing {
  template <class... Found>
  constexpr objection operator()(const char* sentence, const Found&... found) const {
    return refuse(sentence, found...), objection{};
  }
};
/// … or say what it is.
struct objecting {
  constexpr objection operator()(const char* sentence) const { return {sentence, 0, false, nullptr}; }
  constexpr objection operator()(const char* sentence, std::int64_t found) const { return {sentence, found, true, nullptr}; }
  template <std::size_t N>
  constexpr objection operator()(const char* sentence, const basic_name<N>& found) const {
    return {sentence, 0, false, found.text};
  }
};

}  // namespace headroom
