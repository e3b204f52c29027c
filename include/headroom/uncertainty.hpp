// Distributed under the Boost Software License, Version 1.0.
// Where a prediction may be wrong, and by how much: the spreads of all assumptions (report/assumption.hpp), a line each, which bounds.hpp
// reads. A report's own assumptions say which lines apply.
#pragma once

#include <headroom/report.hpp>

#include <array>

namespace headroom {

/// A spread, and the assumption that it belongs to: it applies to reports that list that.
struct uncertainty {
  assumption when{};
  std::string_view from{};  ///< what it is called in the report file
  reading first{};          ///< the first number that it is in
  error_base of{};
  std::int32_t below{}, above{};  ///< one standard deviation, in thousandths of `of`
};

namespace detail {

constexpr std::size_t spread_count() {
  std::size_t n = 0;
  for (const auto& a : all_assumptions)
    for (const auto& s : a.spreads) if (!s.from.empty()) ++n;
  return n;
}

constexpr auto lines_of_all() {
  std::array<uncertainty, spread_count()> r{};
  std::size_t n = 0;
  for (const auto& a : all_assumptions)
    for (const auto& s : a.spreads)
      if (!s.from.empty()) r[n++] = {a.id, s.from, s.first, s.of, s.below, s.above};
  return r;
}

}  // namespace detail

/// All sources of error of all assumptions.
inline constexpr auto uncertainties = detail::lines_of_all();

}  // namespace headroom
