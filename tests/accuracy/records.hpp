// Distributed under the Boost Software License, Version 1.0.
// Every published run of measured.jsonl beside its prediction, made once for all tests of this folder (test_records.cpp).
#pragma once

#include <headroom/full_report.hpp>
#include <headroom/io/measured.hpp>
#include <headroom/job.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace accuracy {

inline constexpr std::array confidences{0.5, 0.8, 0.9, 0.95, 0.99};

struct judged_record {
  headroom::io::measured_record of;
  headroom::job job;
  double predicted{};
  bool fits{}, fits_surely{};              ///< surely: with a confidence of 0.95
  bool may_fit{};                          ///< every rank does at the lower end of its range
  std::array<headroom::io::prediction, confidences.size()> ranges;
  headroom::io::prediction unreplayed;     ///< by estimate(), with a confidence of 0.95
  headroom::full_report report{};          ///< by replay(), of records with a measured figure
  std::string refused;  ///< why it was not estimated, or empty

  [[nodiscard]] bool equal() const { return refused.empty() && of.bound == headroom::io::bound_kind::equal; }
  [[nodiscard]] bool violates() const { return refused.empty() && headroom::io::violates(of.bound, predicted, of.value); }
  /// With one of the confidences.
  [[nodiscard]] const headroom::io::prediction& range(double sure) const {
    return ranges[static_cast<std::size_t>(std::find(confidences.begin(), confidences.end(), sure) - confidences.begin())];
  }
  [[nodiscard]] bool inside(const headroom::io::prediction& p) const { return p.low <= of.value && of.value <= p.high; }
  /// Signed, relative.
  [[nodiscard]] double error() const { return predicted / of.value - 1.0; }
};

/// All of them, by replay() as the program predicts them.
const std::vector<judged_record>& all_records();

struct errors {
  std::vector<double> sizes;  ///< absolute, ascending
  int one_sided{}, violations{};
  std::vector<std::string> refused;  ///< ids
  [[nodiscard]] double median() const { return sizes.at(sizes.size() / 2); }
  [[nodiscard]] double largest() const { return sizes.empty() ? 0.0 : sizes.back(); }
};

/// Of the records of a family that `choose(record)` picks.
template <class Choose>
errors errors_of(const std::string& family, Choose choose) {
  errors all;
  for (const auto& r : all_records()) {
    if (r.of.family != family || !choose(r)) continue;
    if (!r.refused.empty()) {
      all.refused.push_back(r.of.id);
    } else if (r.equal()) {
      all.sizes.push_back(std::abs(r.error()));
    } else {
      ++all.one_sided;
      all.violations += r.violates();
    }
  }
  std::sort(all.sizes.begin(), all.sizes.end());
  return all;
}

}  // namespace accuracy
