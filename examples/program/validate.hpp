// Distributed under the Boost Software License, Version 1.0.
// What `headroom validate` knows of a record, and how it is shown: as JSON, as tables, as a picture.
#pragma once

#include <headroom/io/measured.hpp>
#include <headroom/io/report/text_table.hpp>

#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "statistics.hpp"

namespace program::validating {

struct outcome {
  headroom::io::measured_record record;
  headroom::io::prediction predicted;
  headroom::io::prediction unreplayed;    ///< by estimate() alone
  std::vector<std::pair<std::string_view, double>> errors;  ///< sources of error, each with the bytes that it is proportional to
  std::string refused;   ///< why there is no prediction
  double speed{};        ///< of a throughput: predicted tokens/s per GPU, which rows of a table are ranked by …
  double tokens{};       ///< … or, where they do as many tokens in a step, the time of a step

  [[nodiscard]] bool is_throughput() const { return headroom::io::is_throughput(record.what); }
  [[nodiscard]] bool in_seconds() const { return record.what == headroom::io::metric::step_seconds; }
  [[nodiscard]] double measured_speed() const { return speed * (in_seconds() ? predicted.value / record.value : record.value / predicted.value); }

  [[nodiscard]] bool judged() const { return refused.empty(); }
  [[nodiscard]] bool exact() const { return record.bound == headroom::io::bound_kind::equal; }
  [[nodiscard]] double error() const { return record.value > 0.0 ? (predicted.value - record.value) / record.value : 0.0; }
  [[nodiscard]] bool inside() const { return predicted.low <= record.value && record.value <= predicted.high; }
  [[nodiscard]] double width() const { return (predicted.high - predicted.low) / predicted.value; }
  [[nodiscard]] bool violation() const {
    return judged() && headroom::io::violates(record.bound, predicted.value, record.value);
  }
};

/// Pairs of a table that are measured more than 3 % apart, and how many of them are predicted in that order.
struct ranking {
  std::vector<const outcome*> rows;
  int pairs{}, ordered{};

  void rank() {
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) {
        const auto &x = *rows[i], &y = *rows[k];
        const bool by_time = x.in_seconds() && y.in_seconds() && std::fabs(x.tokens - y.tokens) < 0.01 * x.tokens;
        const double a = by_time ? x.record.value : x.measured_speed(), b = by_time ? y.record.value : y.measured_speed();
        const double p = by_time ? x.predicted.value : x.speed, q = by_time ? y.predicted.value : y.speed;
        if (std::max(a, b) <= 1.03 * std::min(a, b)) continue;
        ++pairs;
        ordered += a < b ? p < q : p > q;
      }
  }
};
using table_key = std::pair<std::string, std::string>;  // family, table

inline std::map<table_key, ranking> tables_of(const std::vector<outcome>& all) {
  std::map<table_key, ranking> tables;
  for (const auto& o : all)
    if (o.judged() && o.is_throughput() && !o.record.table.empty()) tables[{o.record.family, o.record.table}].rows.push_back(&o);
  for (auto& [key, t] : tables) t.rank();
  return tables;
}

struct group {
  std::vector<double> errors;
  std::vector<double> widths;  ///< of the ranges, relative to what is predicted
  int judged{}, violations{}, refused{}, inside{};

  void add(const outcome& o) {
    judged += o.judged();
    refused += !o.judged();
    violations += o.violation();
    if (!o.judged() || !o.exact()) return;
    errors.push_back(o.error());
    widths.push_back(o.width());
    inside += o.inside();
  }
  [[nodiscard]] double coverage() const { return static_cast<double>(inside) / static_cast<double>(widths.size()); }
  [[nodiscard]] double width() const {
    auto sorted = widths;
    std::sort(sorted.begin(), sorted.end());
    return quantile(sorted, 0.5);
  }
};

using group_key = std::tuple<std::string, std::string, std::string>;  // family, metric, grade

/// `by` empty: by all three.
inline std::map<group_key, group> grouped_by(const std::vector<outcome>& all, const std::string& by) {
  std::map<group_key, group> groups;
  for (const auto& o : all) {
    const auto part = [&](const char* name, const std::string& value) {
      return by.empty() || by == name ? value : std::string{"all"};
    };
    groups[{part("family", o.record.family), part("metric", o.record.metric_name), part("grade", o.record.grade)}].add(o);
  }
  return groups;
}

nlohmann::ordered_json to_json(const std::vector<outcome>& all);
void print_records(std::ostream& out, const std::vector<outcome>& all, const headroom::io::palette& ink);
void print_summary(std::ostream& out, const std::vector<outcome>& all, const std::string& by, const headroom::io::palette& ink);
void print_tables(std::ostream& out, const std::vector<outcome>& all, const headroom::io::palette& ink);
/// Every measured number of memory over its prediction, both axes logarithmic, as an SVG.
std::string plot(const std::vector<outcome>& all);

}  // namespace program::validating
