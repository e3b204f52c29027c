// Distributed under the Boost Software License, Version 1.0.
// How sure: the range in which a measured value is expected, from the spreads of its assumptions (uncertainty.hpp), and whether a job fits for sure.
#pragma once

#include <headroom/report.hpp>
#include <headroom/uncertainty.hpp>

#include <concepts>
#include <limits>

namespace headroom {

/// A share of cases, from 0.5 to 0.999: 0.95 is 95 %.
struct confidence {
  std::int32_t per_mille{950};

  constexpr confidence() = default;
  /// Errors: job_error for a share out of range.
  template <std::floating_point T>
  constexpr confidence(T share) {
    if (!(share >= T(0.5) && share <= T(0.999))) refuse("headroom: a confidence must be a share from 0.5 to 0.999 (0.95 is 95 %)");
    per_mille = static_cast<std::int32_t>(share * 1000 + T(0.5));
  }
  [[nodiscard]] constexpr double share() const { return per_mille / 1000.0; }
  friend constexpr auto operator<=>(const confidence&, const confidence&) = default;
};

/// From `low` to `high`.
struct byte_range {
  bytes low{};
  bytes high{};
  [[nodiscard]] constexpr bool contains(bytes b) const { return low <= b && b <= high; }
  bool operator==(const byte_range&) const = default;
};

/// Whether a source of error is one of this report, and of this number.
constexpr bool applies(const uncertainty& s, const assumption_set& listed, reading m) {
  return s.first <= m && listed.has(s.when);
}

namespace detail {

/// Two-sided quantiles of Student's t with four degrees of freedom, in thousandths (any table of it; Abramowitz & Stegun, table 26.10).
/// Its tails are heavy, as those of the errors are: most records of a kind are close, and a few of every kind are far off.
struct quantile {
  std::int32_t per_mille, deviations;
};
inline constexpr std::array quantiles{quantile{500, 741},  quantile{600, 941},  quantile{700, 1190}, quantile{800, 1533},
                                      quantile{900, 2132}, quantile{950, 2776}, quantile{980, 3747}, quantile{990, 4604},
                                      quantile{995, 5598}, quantile{998, 7173}, quantile{999, 8610}};

/// How many thousandths of a standard deviation a range reaches to either side; between two lines of the table by proportion.
constexpr std::int64_t deviations_of(confidence c) {
  std::size_t i = 1;
  while (quantiles[i].per_mille < c.per_mille) ++i;
  const auto &a = quantiles[i - 1], &b = quantiles[i];
  return a.deviations + checked::ceil_div(std::int64_t{b.deviations - a.deviations} * (c.per_mille - a.per_mille), b.per_mille - a.per_mille);
}

/// n thousandths of a count, without leaving 63 bits unless the result does; then the largest count.
constexpr std::int64_t thousandths(std::int64_t n, std::int64_t of) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (n > 0 && of / 1000 > most / n - 1) return most;
  return of / 1000 * n + of % 1000 * n / 1000;
}

/// floor(sqrt(n)), for n below 2^62.
constexpr std::int64_t whole_root(std::int64_t n) {
  std::int64_t root = 0;
  for (std::int64_t bit = std::int64_t{1} << 30; bit > 0; bit /= 2)
    if ((root + bit) * (root + bit) <= n) root += bit;
  return root;
}

/// The square root of a sum of squares. Counts are scaled to 28 bits: squares of all sources of error add up to less than 2^62.
template <std::size_t N>
constexpr std::int64_t in_quadrature(const std::array<std::int64_t, N>& parts) {
  static_assert(N <= 64);
  std::int64_t largest = 0, scale = 1, sum = 0;
  for (const auto p : parts) largest = p > largest ? p : largest;
  while (largest / scale >= std::int64_t{1} << 28) scale *= 2;
  for (const auto p : parts) sum += (p / scale) * (p / scale);
  const auto root = whole_root(sum);
  return root > std::numeric_limits<std::int64_t>::max() / scale ? std::numeric_limits<std::int64_t>::max() : root * scale;
}

}  // namespace detail

/// One standard deviation of one source of error, in one rank.
struct deviation {
  bytes of{};  ///< what it is proportional to
  bytes below{}, above{};
};
constexpr deviation deviation_of(const uncertainty& s, const rank_report& rank) {
  const auto base = base_of(rank, s.of);
  return {base, bytes{detail::thousandths(s.below, base.count())}, bytes{detail::thousandths(s.above, base.count())}};
}

namespace detail {

/// How far a measured number reaches below and above a predicted one: independent sources of error, added in quadrature. `base` says what
/// each is proportional to.
constexpr byte_range reach_of(const assumption_set& listed, reading m, confidence sure, const auto& base) {
  std::array<std::int64_t, uncertainties.size()> below{}, above{};
  for (std::size_t i = 0; i < uncertainties.size(); ++i) {
    const auto& s = uncertainties[i];
    if (!applies(s, listed, m)) continue;
    const auto of = base(s.of).count();
    below[i] = thousandths(s.below, of);
    above[i] = thousandths(s.above, of);
  }
  const auto reach = deviations_of(sure);
  return {bytes{thousandths(reach, in_quadrature(below))}, bytes{thousandths(reach, in_quadrature(above))}};
}

}  // namespace detail

namespace detail {
/// What a measured run has left of it.
constexpr byte_range reach_left(const rank_report& rank, reading m, byte_range reach) {
  if (!rank.measured.given) return reach;
  const auto at = static_cast<std::size_t>(m);
  return {bytes{thousandths(rank.measured.below[at], reach.low.count())}, bytes{thousandths(rank.measured.above[at], reach.high.count())}};
}
}  // namespace detail

namespace detail {
/// Where lengths vary, what is cached grows until the GPU is full, and is then given back: a range reaches beyond the GPU's end only as far as other errors do.
constexpr byte_range with_full_gpu(const assumption_set& listed, const rank_report& rank, reading m, confidence sure, byte_range all) {
  const auto firm = reach_left(rank, m, reach_of(listed, m, sure, [&](error_base b) { return given_back(b) ? bytes{0} : base_of(rank, b); }));
  const auto value = value_of(rank, m), beside = rank.device - value, end = rank.capacity > beside ? rank.capacity - beside : bytes{0};
  if (all.high <= end || firm.high >= all.high - value) return all;
  return {all.low, max(end, value + firm.high)};
}
}  // namespace detail

/// The range in which a measured number of a rank is expected, with a confidence.
template <class Ranks>
constexpr byte_range bounds(const basic_report<Ranks>& r, const rank_report& rank, reading m, confidence sure = {}) {
  const auto reach = detail::reach_left(rank, m, detail::reach_of(r.assumptions, m, sure, [&](error_base b) { return base_of(rank, b); }));
  const auto value = value_of(rank, m), most = bytes{std::numeric_limits<std::int64_t>::max()};
  // Whatever else is uncertain, weights and optimizer states are there.
  const auto& kept = rank.at_phase[static_cast<std::size_t>(phase::save)];
  const auto least = min(value, kept[row::model_parameters] + kept[row::master_parameters] + kept[row::optimizer_state]);
  const byte_range all{value > reach.low ? max(least, value - reach.low) : least, reach.high > most - value ? most : value + reach.high};
  const bool gives_back = m >= reading::reserved && (r.assumptions.has(assumption::lengths_unknown) || r.assumptions.has(assumption::lengths_replayed));
  return gives_back ? detail::with_full_gpu(r.assumptions, rank, m, sure, all) : all;
}

/// … of `device` of the tightest rank.
template <class Ranks>
constexpr byte_range bounds(const basic_report<Ranks>& r, confidence sure = {}) {
  return bounds(r, r.tightest(), reading::device, sure);
}

namespace detail {
/// Whether a rank fits at the upper end of the range of what it needs. What lengths and orders of samples leave cached is no part of that.
constexpr bool fits_at(const assumption_set& listed, const rank_report& rank, confidence sure) {
  const auto reach = reach_left(rank, reading::device, reach_of(listed, reading::device, sure, [&](error_base b) { return given_back(b) ? bytes{0} : base_of(rank, b); }));
  return rank.needs() <= rank.capacity && reach.high <= rank.capacity - rank.needs();
}
}  // namespace detail

/// Every rank fits even at the upper end of its range; host memory and NVMe are judged as predicted. Ranks that the report has no room for
/// are judged together, by the least headroom and the largest errors of any: at worst a job that fits is said not to.
template <class Ranks>
constexpr bool fits(const basic_report<Ranks>& r, confidence sure) {
  if (!r.fits()) return false;
  for (const auto& rank : r)
    if (!detail::fits_at(r.assumptions, rank, sure)) return false;
  if (r.kinds <= r.size) return true;
  return detail::reach_of(r.assumptions, reading::device, sure, [&](error_base b) { return given_back(b) ? bytes{0} : r.others.largest[static_cast<std::size_t>(b)]; }).high <= r.others.least_headroom;
}

}  // namespace headroom
