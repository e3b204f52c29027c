// Distributed under the Boost Software License, Version 1.0.
// What a job occupies, where and when. Key for key the report file; reading it needs nothing else of the library.
#pragma once

#include <headroom/report/assumption_set.hpp>
#include <headroom/report/rank.hpp>

#include <array>
#include <type_traits>

namespace headroom {

/// Host memory of a node: tensors and pinned buffers of its ranks, at the moment when they are largest.
struct host_report {
  bytes per_node{};
  bytes pinned_per_node{};  ///< of these, page-locked
  phase at{};
  bytes capacity{};  ///< 0: not stated, so not judged
  bool operator==(const host_report&) const = default;
};

/// Of the whole model, adapters included.
struct parameter_totals {
  parameters total{};
  parameters trainable{};
  parameters active{};  ///< that one token passes through: of a mixture of experts, fewer than `total`
  bool operator==(const parameter_totals&) const = default;
};

/// What the kinds of rank have in common that a report has no room for: enough to say whether they fit for sure.
struct other_ranks {
  bool fit{true}, may_fit{true};  ///< all of them
  bytes least_headroom{};
  std::array<bytes, error_base_count> largest{};  ///< by error_base

  constexpr void add(const rank_report& r, bool first) {
    fit = fit && r.fits();
    may_fit = may_fit && r.may_fit();
    least_headroom = first ? r.headroom() : min(least_headroom, r.headroom());
    for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = max(largest[i], base_of(r, static_cast<error_base>(i)));
  }
  bool operator==(const other_ranks&) const = default;
};

/// What an empty report has for its tightest rank.
inline constexpr rank_report no_rank{};

/// A job's report over some storage for its ranks: `report` holds eight kinds of them by value, `full_report` (full_report.hpp) all, on the
/// heap. How far each number may be from a measured one: bounds(report) (bounds.hpp).
template <class Ranks>
struct basic_report {
  Ranks ranks;             ///< the first `size` are used; at run time the others are left as they are
  std::int32_t size{};
  std::int64_t kinds{};    ///< how many kinds of rank the job has; where that is more than `size`, those that decide are here: add()
  other_ranks others{};    ///< the rest
  host_report host{};
  bytes nvme_per_node{};
  bytes nvme_capacity{};
  parameter_totals parameter_count{};
  assumption_set assumptions{};

  constexpr basic_report() {
    if (std::is_constant_evaluated())
      for (auto& r : ranks) r = rank_report{};
  }
  /// The same, over other storage.
  template <class Other>
  constexpr basic_report(const basic_report<Other>& all)  // NOLINT(google-explicit-constructor)
      : basic_report() {
    for (const auto& r : all) add() = r;
    kinds = all.kinds;
    if (all.kinds > all.size) others = all.others;
    host = all.host;
    nvme_per_node = all.nvme_per_node;
    nvme_capacity = all.nvme_capacity;
    parameter_count = all.parameter_count;
    assumptions = all.assumptions;
  }

  /// One more kind of rank, the last for now; those before it are complete. Where there is no room, one goes that is not the first, the
  /// tightest, the one with the most `allocated` or with the most `device`: of the others, the last.
  constexpr rank_report& add() {
    ++kinds;
    if constexpr (requires { ranks.emplace_back(); }) {
      ranks.emplace_back();
      ++size;
    } else if (static_cast<std::size_t>(size) < ranks.size()) {
      ++size;
    } else {
      make_room();
    }
    auto& r = ranks[static_cast<std::size_t>(size) - 1];
    r = rank_report{};
    r.peak_layer = -1;
    return r;
  }
  [[nodiscard]] constexpr const rank_report* begin() const { return ranks.data(); }
  [[nodiscard]] constexpr const rank_report* end() const { return ranks.data() + size; }
  [[nodiscard]] constexpr const rank_report& last() const { return ranks[static_cast<std::size_t>(size) - 1]; }

  /// Whether its ranks are of several pipeline stages; on a mixed cluster there are several without.
  [[nodiscard]] constexpr bool staged() const { return size > 1 && last().pipeline_stage + ranks[0].pipeline_stage > 0; }
  /// The rank with the least headroom; of an empty report one that holds nothing.
  [[nodiscard]] constexpr const rank_report& tightest() const {
    return size == 0 ? no_rank : ranks[best([](const rank_report& a, const rank_report& b) { return a.headroom() < b.headroom(); })];
  }
  /// `allocated` of the tightest rank.
  [[nodiscard]] constexpr bytes peak() const { return tightest().allocated; }
  /// `device` of the tightest rank: what nvidia-smi shows.
  [[nodiscard]] constexpr bytes device() const { return tightest().device; }
  /// What the tightest rank has left; negative where it does not fit.
  [[nodiscard]] constexpr bytes headroom() const { return tightest().headroom(); }
  /// Every rank, the host and NVMe (where their sizes are stated) are large enough, whatever fragmentation does.
  [[nodiscard]] constexpr bool fits() const {
    for (const auto& r : *this)
      if (!r.fits()) return false;
    return others.fit && suffices_off_gpu();
  }
  /// It is not certain not to. Where an estimate may fit and does not by fits(), fragmentation decides, and decide(job) (decide.hpp) says how;
  /// of a replay both are the same.
  [[nodiscard]] constexpr bool may_fit() const {
    for (const auto& r : *this)
      if (!r.may_fit()) return false;
    return others.may_fit && suffices_off_gpu();
  }
  [[nodiscard]] constexpr bool suffices_off_gpu() const {
    if (host.capacity > bytes{0} && host.per_node > host.capacity) return false;
    return nvme_capacity == bytes{0} || nvme_per_node <= nvme_capacity;
  }

 private:
  /// The first rank than which none comes before.
  [[nodiscard]] constexpr std::size_t best(const auto& before) const {
    std::size_t r = 0;
    for (std::size_t i = 1; i < static_cast<std::size_t>(size); ++i)
      if (before(ranks[i], ranks[r])) r = i;
    return r;
  }
  constexpr void make_room() {
    const auto tight = best([](const rank_report& a, const rank_report& b) { return a.headroom() < b.headroom(); });
    const auto allocated = best([](const rank_report& a, const rank_report& b) { return a.allocated > b.allocated; });
    const auto device = best([](const rank_report& a, const rank_report& b) { return a.device > b.device; });
    auto i = static_cast<std::size_t>(size) - 1;
    while (i == tight || i == allocated || i == device) --i;
    others.add(ranks[i], kinds == size + 1);
    for (; i + 1 < static_cast<std::size_t>(size); ++i) ranks[i] = ranks[i + 1];
  }
};

/// What estimate() gives: at most eight kinds of rank, without a heap.
using report = basic_report<std::array<rank_report, 8>>;

template <class A, class B>
constexpr bool operator==(const basic_report<A>& a, const basic_report<B>& b) {
  if (a.size != b.size || a.kinds != b.kinds) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size); ++i)
    if (!(a.ranks[i] == b.ranks[i])) return false;
  return a.others == b.others && a.host == b.host && a.nvme_per_node == b.nvme_per_node && a.nvme_capacity == b.nvme_capacity &&
         a.parameter_count == b.parameter_count && a.assumptions == b.assumptions;
}

}  // namespace headroom
