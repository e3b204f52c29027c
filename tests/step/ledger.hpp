// Distributed under the Boost Software License, Version 1.0.
// A slow and plain account of a step: every tensor by its name, and of each phase the moment at which most is alive.
#pragma once

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string>

namespace ledger {

using namespace headroom;

/// Bytes by row; negative ones where a moment counts something that is alive under another name.
using amounts = std::map<row, std::int64_t>;

inline amounts amounts_of(const breakdown& b) {
  amounts r;
  for (std::size_t i = 0; i < row_count; ++i)
    if (b.rows[i] != bytes{0}) r[static_cast<row>(i)] = b.rows[i].count();
  return r;
}
inline amounts amounts_of(const moment& m) { return amounts_of(m.rows); }
inline std::int64_t sum(const amounts& of) {
  std::int64_t all = 0;
  for (const auto& [r, size] : of) all += size;
  return all;
}
inline amounts operator+(amounts a, const amounts& b) {
  for (const auto& [r, size] : b) a[r] += size;
  return a;
}

class account {
 public:
  explicit account(amounts always) : now_(std::move(always)) {}

  void make(const std::string& name, const amounts& size) {
    INFO(name);
    REQUIRE(alive_.emplace(name, size).second);
    now_ = now_ + size;
  }
  void make(const std::string& name, row of, std::int64_t size) { make(name, amounts{{of, size}}); }
  void free(const std::string& name) {
    INFO(name);
    const auto found = alive_.find(name);
    REQUIRE(found != alive_.end());
    for (const auto& [r, size] : found->second) now_[r] -= size;
    alive_.erase(found);
  }
  [[nodiscard]] bool has(const std::string& name) const { return alive_.count(name) == 1; }
  /// A moment of this phase, at which this much is there for a moment.
  void look(phase p, const amounts& more = {}) {
    const auto here = now_ + more;
    auto& most = tallest_[p];
    if (sum(here) > sum(most)) most = here;
  }
  /// Bytes of the tallest moment of a phase.
  [[nodiscard]] std::int64_t tallest(phase p) const {
    const auto found = tallest_.find(p);
    return found == tallest_.end() ? 0 : sum(found->second);
  }
  /// … of a row.
  [[nodiscard]] std::int64_t tallest(phase p, row of) const {
    const auto found = tallest_.find(p);
    if (found == tallest_.end()) return 0;
    const auto size = found->second.find(of);
    return size == found->second.end() ? 0 : size->second;
  }
  [[nodiscard]] const std::map<std::string, amounts>& alive() const { return alive_; }

 private:
  std::map<std::string, amounts> alive_;
  amounts now_;
  std::map<phase, amounts> tallest_;
};

/// The report of a rank is what the account says, in each of these phases, row by row.
inline void check_rank(const rank_report& rank, const account& is, std::initializer_list<phase> phases) {
  for (const auto p : phases) {
    CAPTURE(static_cast<int>(p));
    CHECK(rank[p].count() == is.tallest(p));
    for (std::size_t i = 0; i < row_count; ++i) {
      CAPTURE(i);
      CHECK(rank.at_phase[static_cast<std::size_t>(p)].rows[i].count() == is.tallest(p, static_cast<row>(i)));
    }
  }
}

}  // namespace ledger
