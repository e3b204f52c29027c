// Distributed under the Boost Software License, Version 1.0.
// headroom validate MEASURED.jsonl: predicted against measured, record by record and in sum.
#include <headroom/cost/bounds.hpp>
#include <headroom/full_report.hpp>
#include <headroom/io/measured.hpp>
#include <headroom/io/report/text_table.hpp>
#include <iostream>
#include <map>
#include <tuple>

#include "jobs.hpp"
#include "program.hpp"
#include "statistics.hpp"

namespace program {
namespace {

using nlohmann::ordered_json;

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

/// What a predicted number may be wrong by.
std::vector<std::pair<std::string_view, double>> errors_of(const headroom::full_report& r, const headroom::io::measured_record& of, double predicted) {
  const auto& rank = headroom::io::rank_of(r, of.what, of.rank);
  const auto which = headroom::io::reading_of(of.what);
  const double times = predicted / static_cast<double>(headroom::value_of(rank, which).count());
  std::vector<std::pair<std::string_view, double>> all;
  for (const auto& s : headroom::uncertainties)
    if (headroom::applies(s, r.assumptions, which))
      all.emplace_back(s.from, times * static_cast<double>(headroom::base_of(rank, s.of).count()));
  return all;
}

outcome judge(headroom::io::measured_record record, const headroom::io::file_base& base, headroom::confidence sure) {
  outcome o{.record = std::move(record), .predicted = {}, .unreplayed = {}, .errors = {}, .refused = {}};
  try {
    const auto job = headroom::io::read_job(o.record.job, base);
    if (o.is_throughput()) {
      const auto cost = headroom::cost(job);
      o.predicted.value = headroom::io::throughput_of(cost, o.record.what);
      const auto seen = headroom::bounds(cost, sure);
      o.predicted.low = o.in_seconds() ? seen.low.value : o.predicted.value * (cost.step / seen.high);
      o.predicted.high = o.in_seconds() ? seen.high.value : o.predicted.value * (cost.step / seen.low);
      o.speed = cost.tokens_per_second_per_gpu();
      o.tokens = cost.tokens;
      return o;
    }
    const auto report = headroom::replay(job);
    o.predicted = headroom::io::predict(report, o.record.what, o.record.rank, sure);
    o.unreplayed = headroom::io::predict(headroom::estimate_all(job), o.record.what, o.record.rank, sure);
    o.errors = errors_of(report, o.record, o.predicted.value);
  } catch (const headroom::error& e) {
    o.refused = e.what();
  }
  return o;
}

std::vector<outcome> judge_all(const std::string& text, const headroom::io::file_base& base, const std::string& source, headroom::confidence sure) {
  std::vector<outcome> all;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto record = std::string_view{text}.substr(at, end - at);
    at = end + 1;
    ++line;
    if (record.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto where = source + " line " + std::to_string(line);
    try {
      all.push_back(judge(headroom::io::read_measured(record, where), base, sure));
    } catch (const headroom::job_error& e) {
      const std::string_view what = e.what();
      if (what.find(where) != std::string_view::npos) throw;
      headroom::io::fail("headroom: " + where + std::string{what.substr(std::string_view{"headroom"}.size())});
    }
  }
  if (all.empty()) headroom::io::fail("headroom: " + source + " holds no records");
  return all;
}

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

std::map<table_key, ranking> tables_of(const std::vector<outcome>& all) {
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
std::map<group_key, group> grouped_by(const std::vector<outcome>& all, const std::string& by) {
  std::map<group_key, group> groups;
  for (const auto& o : all) {
    const auto part = [&](const char* name, const std::string& value) {
      return by.empty() || by == name ? value : std::string{"all"};
    };
    groups[{part("family", o.record.family), part("metric", o.record.metric_name), part("grade", o.record.grade)}].add(o);
  }
  return groups;
}

ordered_json to_json(const std::vector<outcome>& all) {
  auto records = ordered_json::array();
  for (const auto& o : all) {
    ordered_json r = {{"id", o.record.id},
                      {"family", o.record.family},
                      {"metric", o.record.metric_name},
                      {"grade", o.record.grade},
                      {"bound", std::string{headroom::io::text_of(o.record.bound)}}};
    // Bytes are integers; a refused record predicts nothing.
    const auto number = [&](double v) {
      return o.is_throughput() ? ordered_json(v) : ordered_json(static_cast<std::int64_t>(std::llround(v)));
    };
    const auto amount = [&](double v) { return o.judged() ? number(v) : ordered_json(nullptr); };
    r["predicted"] = amount(o.predicted.value);
    r["measured"] = number(o.record.value);
    r["error"] = o.judged() ? ordered_json(o.error()) : ordered_json(nullptr);
    r["low"] = amount(o.predicted.low);
    r["high"] = amount(o.predicted.high);
    r["unreplayed"] = o.is_throughput() ? ordered_json(nullptr) : amount(o.unreplayed.value);
    if (!o.record.table.empty()) r["table"] = o.record.table;
    r["violation"] = o.violation();
    if (o.judged()) {
      auto errors = ordered_json::object();
      for (const auto& [from, bytes] : o.errors) errors[std::string{from}] = std::llround(bytes);
      r["errors"] = std::move(errors);
    }
    r["refused"] = o.judged() ? ordered_json(nullptr) : ordered_json(o.refused);
    records.push_back(std::move(r));
  }
  auto summary = ordered_json::array();
  for (const auto& [key, g] : grouped_by(all, {})) {
    ordered_json s = {
        {"family", std::get<0>(key)}, {"metric", std::get<1>(key)}, {"grade", std::get<2>(key)}, {"count", g.judged}};
    const auto spread = spread_of(g.errors);
    const auto number = [&](double ::program::spread::*member) {
      return spread ? ordered_json((*spread).*member) : ordered_json(nullptr);
    };
    s["median"] = number(&spread::median);
    s["mean"] = number(&spread::mean);
    s["p90"] = number(&spread::p90);
    s["max"] = number(&spread::max);
    s["bias"] = number(&spread::bias);
    s["coverage"] = !g.widths.empty() ? ordered_json(g.coverage()) : ordered_json(nullptr);
    s["width"] = !g.widths.empty() ? ordered_json(g.width()) : ordered_json(nullptr);
    s["violations"] = g.violations;
    s["refused"] = g.refused;
    summary.push_back(std::move(s));
  }
  ordered_json document = {{"records", std::move(records)}, {"summary", std::move(summary)}};
  const auto tables = tables_of(all);
  if (!tables.empty()) {
    auto& list = document["tables"] = ordered_json::array();
    for (const auto& [key, t] : tables)
      list.push_back({{"family", key.first}, {"table", key.second}, {"count", t.rows.size()}, {"pairs", t.pairs}, {"ordered", t.ordered}});
  }
  return document;
}

std::string percent(double share, bool sign = false) {
  char text[32];
  std::snprintf(text, sizeof text, sign ? "%+.1f %%" : "%.1f %%", share * 100.0);
  return text;
}

/// Room for the longest metric and a gap.
std::size_t metric_width(const std::vector<outcome>& all) {
  std::size_t width = 9;
  for (const auto& o : all) width = std::max(width, o.record.metric_name.size());
  return width + 2;
}

void print_records(std::ostream& out, const std::vector<outcome>& all, const headroom::io::palette& ink) {
  using namespace headroom::io;
  const auto amount = [](const outcome& o, double v) {
    return o.is_throughput() ? fixed(v, v < 100.0 ? 4 : 1) : fixed(v / (1024.0 * 1024.0 * 1024.0), 3);
  };
  constexpr std::size_t widest = 60;
  std::size_t width = 6;
  for (const auto& o : all) width = std::max(width, std::min(widest, o.record.id.size()));
  const auto named = [&](const std::string& id) {
    return left(id.size() <= widest ? id : id.substr(0, widest - 1) + "…", width);
  };
  out << ink.bold(left("record", width) + "  " + left("metric", metric_width(all)) + right("predicted", 11) +
                  right("measured", 11) + right("error", 10))
      << "  (GiB; throughput in its metric)\n";
  for (const auto& o : all) {
    out << named(o.record.id) << "  " << left(o.record.metric_name, metric_width(all));
    if (!o.judged()) {
      out << right("-", 11) << right(amount(o, o.record.value), 11) << "  " << ink.dim("refused: " + o.refused) << '\n';
      continue;
    }
    out << right(amount(o, o.predicted.value), 11) << right(amount(o, o.record.value), 11);
    if (o.exact())
      out << right(percent(o.error(), true), 10);
    else
      out << "  " << text_of(o.record.bound) << (o.violation() ? "  " + ink.bad("VIOLATED") : "");
    out << '\n';
  }
}

void print_summary(std::ostream& out, const std::vector<outcome>& all, const std::string& by,
                   const headroom::io::palette& ink) {
  using namespace headroom::io;
  out << '\n'
      << ink.bold(left("family", 18) + left("metric", metric_width(all)) + left("grade", 6) + right("count", 6) +
                  right("median", 9) + right("mean", 9) + right("p90", 9) + right("max", 9) + right("bias", 9) +
                  right("inside", 9) + right("width", 9) + right("violated", 10) + right("refused", 9))
      << "  (of |predicted - measured| / measured; inside and width of the ranges)\n";
  auto groups = grouped_by(all, by);
  std::vector<std::pair<group_key, group>> lines(groups.begin(), groups.end());
  group whole;
  for (const auto& o : all) whole.add(o);
  lines.push_back({{"all", "all", "all"}, whole});
  for (const auto& [key, g] : lines) {
    out << left(std::get<0>(key), 18) << left(std::get<1>(key), metric_width(all)) << left(std::get<2>(key), 6)
        << right(std::to_string(g.judged), 6);
    if (const auto s = spread_of(g.errors))
      out << right(percent(s->median), 9) << right(percent(s->mean), 9) << right(percent(s->p90), 9)
          << right(percent(s->max), 9) << right(percent(s->bias, true), 9)
          << (g.widths.empty() ? std::string(18, ' ') : right(percent(g.coverage()), 9) + right(percent(g.width()), 9));
    else
      out << std::string(63, ' ');
    out << right(std::to_string(g.violations), 10) << right(std::to_string(g.refused), 9) << '\n';
  }
}

void print_tables(std::ostream& out, const std::vector<outcome>& all, const headroom::io::palette& ink) {
  using namespace headroom::io;
  const auto tables = tables_of(all);
  if (tables.empty()) return;
  constexpr std::size_t width = 60;
  out << '\n'
      << ink.bold(left("family", 18) + left("table", width) + right("rows", 6) + right("pairs", 8) + right("ordered", 9) + right("share", 9))
      << "  (pairs that differ by more than 3 %)\n";
  std::map<std::string, ranking> families;
  const auto line = [&](const std::string& family, const std::string& table, std::size_t rows, const ranking& t) {
    out << left(family, 18) << left(table.size() < width ? table : table.substr(0, width - 2) + "…", width) << right(std::to_string(rows), 6)
        << right(std::to_string(t.pairs), 8) << right(std::to_string(t.ordered), 9) << right(percent(static_cast<double>(t.ordered) / t.pairs), 9) << '\n';
  };
  for (const auto& [key, t] : tables) {
    if (t.pairs == 0) continue;
    line(key.first, key.second, t.rows.size(), t);
    auto& f = families[key.first];
    f.pairs += t.pairs;
    f.ordered += t.ordered;
    f.rows.insert(f.rows.end(), t.rows.begin(), t.rows.end());
  }
  for (const auto& [family, t] : families) line(family, "all", t.rows.size(), t);
}

}  // namespace

int run(const validate_request& asked, const streams& io) {
  const bool piped = asked.records == "-";
  const std::filesystem::path file{asked.records};
  const auto all = judge_all(piped ? headroom::io::read_text(io.in, "standard input") : headroom::io::read_file(file),
                             headroom::io::file_base::anywhere_from(piped ? "." : file.parent_path()), piped ? "standard input" : file.filename().string(), asked.confidence);
  if (asked.json) {
    io.out << to_json(all).dump(2) << '\n';
  } else {
    print_records(io.out, all, {io.colour});
    print_summary(io.out, all, asked.by, {io.colour});
    print_tables(io.out, all, {io.colour});
  }
  return 0;
}

}  // namespace program
