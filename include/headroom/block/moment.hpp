// Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <headroom/report.hpp>

namespace headroom {

/// A moment: its bytes, and of what. `total` is the sum of `rows`, kept beside them because most moments are only compared.
struct moment {
  bytes total{};
  breakdown rows{};

  constexpr moment() = default;
  constexpr moment(bytes sum, const breakdown& of) : total(sum), rows(of) {}
  constexpr moment(row r, bytes b) : total(b) { rows[r] = b; }

  constexpr void add(row r, bytes b) {
    total += b;
    rows[r] += b;
  }
  constexpr moment& operator+=(const moment& b) {
    total += b.total;
    rows += b.rows;
    return *this;
  }
  constexpr moment& operator-=(const moment& b) {
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

}  // namespace headroom
