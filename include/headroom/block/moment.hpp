// Distributed under the Boost Software License, Version 1.0.
// What is alive at one moment of a step, and sums of such. Most moments are only compared, so that their rows are added up
// only where they are the tallest.
#pragma once

#include <headroom/report.hpp>

namespace headroom {

namespace detail {

/// Rows of a moment, `n` times, added to another's. Totals are checked, and no row is above its total: a row needs no check of its own, and
/// one that leaves 64 bits on its way comes back.
constexpr void add_rows(breakdown& __restrict to, const breakdown& __restrict b) {
  static_assert(row_count % 2 == 0, "rows are added in pairs");
  for (std::size_t i = 0; i < row_count; ++i) to.rows[i].value = proven::add(to.rows[i].value, b.rows[i].value);
}
constexpr void add_rows(breakdown& __restrict to, const breakdown& __restrict b, std::int64_t n) {
  for (std::size_t i = 0; i < row_count; ++i) to.rows[i].value = proven::add(to.rows[i].value, proven::mul(n, b.rows[i].value));
}

}  // namespace detail

/// Bytes of one row.
struct part {
  row of;
  bytes total;
  constexpr void add_to(breakdown& b) const { b[of] += total; }
};

/// A moment: its bytes, and of what; moment{} is nothing. `total` is the sum of `rows`.
struct moment {
  bytes total;
  breakdown rows;

  constexpr moment() {
    if (std::is_constant_evaluated())
      total = bytes{0}, rows = {};
    else
      clear();
  }
  constexpr moment(bytes sum, const breakdown& of) : total(sum), rows(of) {}
  constexpr moment(row r, bytes b) : moment() {
    total = b;
    rows[r] = b;
  }

  constexpr void add(row r, bytes b) {
    total += b;
    rows[r] += b;
  }
  // Most moments of most jobs are empty, and an empty one has only empty rows: no row is ever negative.
  constexpr void add_to(breakdown& b) const {
    if (total != bytes{0}) detail::add_rows(b, rows);
  }
  constexpr moment& operator-=(const moment& b) {
    if (b.total == bytes{0}) return *this;
    total -= b.total;
    detail::add_rows(rows, b.rows, -1);
    return *this;
  }
  /// Adds a moment, a multiple of one, or bytes of a row.
  constexpr moment& operator+=(const auto& p) {
    total += p.total;
    p.add_to(rows);
    return *this;
  }
  friend constexpr moment operator+(moment a, const moment& b) { return a += b; }
  friend constexpr moment operator*(std::int64_t n, moment a) {
    a.total = n * a.total;
    for (auto& b : a.rows.rows) b = n * b;
    return a;
  }

  /// Becomes the sum of these, if that is taller.
  template <class... Others>
  constexpr bool rise_to(const moment& first, const Others&... others) {
    const auto sum = (first.total + ... + others.total);
    if (sum <= total) return false;
    total = sum;
    rows = first.rows;
    (others.add_to(rows), ...);
    return true;
  }

 private:
  /// In two halves: g++ clears all rows at once, and what a constexpr constructor clears, with one instruction that takes as long as thirty.
  void clear() {
    constexpr std::size_t half = row_count / 2;
    total = bytes{0};
    for (std::size_t i = 0; i < half; ++i) rows.rows[i] = bytes{0};
    for (std::size_t i = half; i < row_count; ++i) rows.rows[i] = bytes{0};
  }
};

/// A moment of which only the bytes are asked: what it is made of is not kept. height{} is nothing.
struct height {
  bytes total;

  constexpr height() = default;
  constexpr explicit height(const moment& m) : total(m.total) {}
  constexpr height(row, bytes b) : total(b) {}
  constexpr void add(row, bytes b) { total += b; }
  constexpr height& operator-=(const height& b) { total -= b.total; return *this; }
  constexpr height& operator+=(const auto& p) { total += p.total; return *this; }
  friend constexpr height operator+(height a, const height& b) { return a += b; }
  template <class... Others>
  constexpr bool rise_to(const height& first, const Others&... others) {
    const auto sum = (first.total + ... + others.total);
    if (sum <= total) return false;
    total = sum;
    return true;
  }
};

/// n times a moment.
template <class Moment>
struct multiple {
  std::int64_t n;
  const Moment& of;
  bytes total;
  constexpr multiple(std::int64_t times, const Moment& m) : n(times), of(m), total(times * m.total) {}
  constexpr void add_to(breakdown& b) const {
    if (total != bytes{0}) detail::add_rows(b, of.rows, n);
  }
};

}  // namespace headroom
