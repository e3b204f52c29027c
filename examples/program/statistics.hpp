// Distributed under the Boost Software License, Version 1.0.
// Median, mean and the like of a handful of errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace program {

struct spread {
  double median{};
  double mean{};
  double p90{};
  double max{};
  double bias{};  ///< mean of the signed errors
};

/// The value below which `share` of the sorted values lie, between two of them by proportion.
inline double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Of the absolute errors; nothing where there are none.
inline std::optional<spread> spread_of(const std::vector<double>& errors) {
  if (errors.empty()) return std::nullopt;
  spread s;
  std::vector<double> sizes;
  for (const double e : errors) {
    sizes.push_back(std::fabs(e));
    s.bias += e / static_cast<double>(errors.size());
    s.mean += std::fabs(e) / static_cast<double>(errors.size());
  }
  std::sort(sizes.begin(), sizes.end());
  s.median = quantile(sizes, 0.5);
  s.p90 = quantile(sizes, 0.9);
  s.max = sizes.back();
  return s;
}

}  // namespace program
