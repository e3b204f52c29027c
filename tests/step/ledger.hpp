// Distributed under the Boost Software License, Version 1.0.
// A slow and plain account of a step: every tensor by its name, and of each phase the moment at which most is alive.
#pragma once

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

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
    if (!most.empty() && sum(here) < sum(most.front())) return;
    if (!most.empty() && sum(here) > sum(most.front())) most.clear();
    if (most.size() < 64) most.push_back(here);
  }
  /// The tallest moments of a phase, which are as tall.
  [[nodiscard]] std::vector<amounts> tallest(phase p) const {
    const auto found = tallest_.find(p);
    return found == tallest_.end() ? std::vector<amounts>{{}} : found->second;
  }
  [[nodiscard]] const std::map<std::string, amounts>& alive() const { return alive_; }

 private:
  std::map<std::string, amounts> alive_;
  amounts now_;
  std::map<phase, std::vector<amounts>> tallest_;
};

/// The report of a rank is what the account says, in each of these phases, row by row of one of the moments that are as tall.
inline void check_rank(const rank_report& rank, const account& is, std::initializer_list<phase> phases) {
  for (const auto p : phases) {
    const auto all = is.tallest(p);
    CAPTURE(static_cast<int>(p));
    CHECK(rank[p].count() == sum(all.front()));
    const auto& rows = rank.at_phase[static_cast<std::size_t>(p)].rows;
    const auto size = [](const amounts& of, std::size_t i) { return of.count(static_cast<row>(i)) == 1 ? of.at(static_cast<row>(i)) : 0; };
    const auto differs = [&](const amounts& of) {
      std::size_t i = 0;
      while (i < row_count && rows[i].count() == size(of, i)) ++i;
      return i;
    };
    std::size_t same = 0;  // rows, of the moment that is most like it
    for (const auto& one : all) same = std::max(same, differs(one));
    CHECK(same == row_count);  // else the row that differs
  }
}

}  // namespace ledger
