// Distributed under the Boost Software License, Version 1.0.
// Until when an answer is waited for: what takes long asks on its way. Of run time alone; what is constexpr takes microseconds and never asks.
#pragma once

#include <headroom/error.hpp>

#include <chrono>

namespace headroom {

/// There was no time for an answer. It says nothing of the job, so that it is no `error`: who passes over jobs that are refused does not
/// pass over this.
class out_of_time : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "headroom: not decided: there was no time left for an answer"; }
};

/// A moment that may be left open. Where exceptions are off, nobody can be stopped and check() has no effect: what a replay takes is bounded
/// all the same (replay/size.hpp).
class deadline {
 public:
  using clock = std::chrono::steady_clock;

  constexpr deadline() = default;  ///< none
  constexpr explicit deadline(clock::time_point at) : at_(at) {}
  /// So many seconds from now; of more than a year, none.
  static deadline in(double wait) {
    if (!(wait < 365.0 * 24 * 3600)) return {};
    return deadline(clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(wait > 0 ? wait : 0.0)));
  }
  /// A part of the time that is left from now, for the first of several things.
  [[nodiscard]] deadline share(double of) const {
    return given() ? in(of * std::chrono::duration<double>(at_ - clock::now()).count()) : deadline{};
  }

  [[nodiscard]] constexpr bool given() const { return at_ != clock::time_point::max(); }
  [[nodiscard]] constexpr clock::time_point at() const { return at_; }
  [[nodiscard]] bool passed() const { return given() && clock::now() >= at_; }
  /// Errors: out_of_time where it has passed.
  void check() const {
#if HEADROOM_EXCEPTIONS
    if (passed()) throw out_of_time();
#endif
  }

 private:
  clock::time_point at_{clock::time_point::max()};
};

/// Asks a deadline where asking takes longer than what is done in between: once in so many calls.
class paced_deadline {
 public:
  constexpr paced_deadline(const deadline& of) : of_(of) {}
  void check() {
    if ((++calls_ & 1023U) == 0) of_.check();
  }

 private:
  deadline of_;
  std::uint32_t calls_ = 0;
};

}  // namespace headroom
