// Distributed under the Boost Software License, Version 1.0.
// Results by what they depend on: jobs that a search tries one after the other share most of what has to be worked out.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace headroom::detail {

/// A table of bounded size. A result that falls on another's place takes it.
template <std::size_t Words, class Value>
class memo {
 public:
  using key = std::array<std::int64_t, Words>;

  explicit memo(int bits) : bits_(bits) {}

  /// The result for `k`, by make() where it is not known. Valid until the next call.
  template <class Make>
  Value& at(const key& k, Make&& make) {
    if (places_.empty()) places_.resize(std::size_t{1} << bits_);
    auto& place = places_[static_cast<std::size_t>(hash(k) >> (64 - bits_))];
    if (place != 0 && same(slots_[place - 1].of, k)) return slots_[place - 1].value;
    Value made = make();  // which may refuse the job
    if (place == 0) {
      slots_.push_back({k, std::move(made)});
      place = static_cast<std::uint32_t>(slots_.size());
    } else {
      slots_[place - 1] = {k, std::move(made)};
    }
    return slots_[place - 1].value;
  }

 private:
  static std::uint64_t hash(const key& k) {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (const auto w : k) h = (h ^ static_cast<std::uint64_t>(w)) * 0xff51afd7ed558ccdULL, h ^= h >> 29;
    return h * 0x9e3779b97f4a7c15ULL;
  }
  static bool same(const key& a, const key& b) {  // most are: no branch for each word
    std::int64_t differ = 0;
    for (std::size_t i = 0; i < Words; ++i) differ |= a[i] ^ b[i];
    return differ == 0;
  }
  struct slot {
    key of;
    Value value;
  };
  int bits_;
  std::vector<std::uint32_t> places_;  // 1 + a slot's number; 0: empty
  std::deque<slot> slots_;
};

}  // namespace headroom::detail
