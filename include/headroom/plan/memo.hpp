// Distributed under the Boost Software License, Version 1.0.
// Results by what they depend on: jobs that a search tries one after the other share most of what has to be worked out.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace headroom::detail {

/// A table of results, which stay where they are as long as it lives.
template <std::size_t Words, class Value>
class memo {
 public:
  using key = std::array<std::int64_t, Words>;

  /// The result for `k`, by make() where it is not known. make() may refuse the job, and must not ask this table.
  template <class Make>
  Value& at(const key& k, Make&& make) {
    if (places_.empty()) places_.resize(64);
    auto* place = find(k);
    if (*place == nullptr) {
      slots_.emplace_back(k, make);
      *place = &slots_.back();
      if (2 * slots_.size() > places_.size()) return spread(), slots_.back().value;
    }
    return (*place)->value;
  }
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

 private:
  struct slot {
    template <class Make>
    slot(const key& k, Make& make) : of(k), value(make()) {}
    key of;
    Value value;
  };

  /// Where `k` is, or belongs.
  slot** find(const key& k) {
    for (auto i = hash(k);; ++i) {
      auto& place = places_[i & (places_.size() - 1)];
      if (place == nullptr || same(place->of, k)) return &place;
    }
  }
  void spread() {
    places_.assign(2 * places_.size(), nullptr);
    for (auto& s : slots_) *find(s.of) = &s;
  }
  static std::size_t hash(const key& k) {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (const auto w : k) h = (h ^ static_cast<std::uint64_t>(w)) * 0xff51afd7ed558ccdULL, h ^= h >> 29;
    return static_cast<std::size_t>(h * 0x9e3779b97f4a7c15ULL >> 32);
  }
  static bool same(const key& a, const key& b) {  // most are: no branch for each word
    std::int64_t differ = 0;
    for (std::size_t i = 0; i < Words; ++i) differ |= a[i] ^ b[i];
    return differ == 0;
  }

  std::vector<slot*> places_;  // a power of two; nullptr: empty
  std::deque<slot> slots_;
};

}  // namespace headroom::detail
