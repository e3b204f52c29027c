// Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <headroom/report.hpp>

namespace headroom {

/// A moment: its bytes, and of what; moment{} is nothing. `total` is the sum of `rows`, kept beside them because most moments are only compared.
struct moment {
  bytes total;
  breakdown rows;

  constexpr moment() = default;
  constexpr moment(bytes sum, const breakdown& of) : total(sum), rows(of) {}
  constexpr moment(row r, bytes b) : total(b), rows{} { rows[r] = b; }

  constexpr void add(row r, bytes b) {
    total += b;
    rows[r] += b;
  }
  // Most moments of most jobs are empty, and an empty one has eleven empty rows: no row is ever negative.
  constexpr moment& operator+=(const moment& b) {
    if (b.total == bytes{0}) return *this;
    total += b.total;
    rows += b.rows;
    return *this;
  }
  constexpr moment& operator-=(const moment& b) {
    if (b.total == bytes{0}) return *this;
    total -= b.total;
    for (std::size_t i = 0; i < rows.rows.size(); ++i) rows.rows[i] -= b.rows.rows[i];
    return *this;
  }
  friend constexpr moment operator+(moment a, const moment& b) { return a += b; }
  friend constexpr moment operator-(moment a, const moment& b) { return a -= b; }
  friend constexpr moment operator*(std::int64_t n, moment a) {
    a.total = n * a.total;
    for (auto& b : a.rows.rows) b = n * b;
    return a;
  }
};

/// n times a moment, where only the total may be needed.
struct multiple {
  std::int64_t n;
  const moment& of;
  [[nodiscard]] constexpr bytes total() const { return n * of.total; }
  constexpr void add_to(breakdown& b) const {
    if (n == 0) return;
    for (std::size_t i = 0; i < b.rows.size(); ++i) b.rows[i] += n * of.rows.rows[i];
  }
};

}  // namespace headroom
