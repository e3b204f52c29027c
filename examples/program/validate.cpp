// Distributed under the Boost Software License, Version 1.0.
// headroom validate MEASURED.jsonl: predicted against measured, record by record and in sum.
#include "validate.hpp"

#include <headroom/cost/bounds.hpp>
#include <headroom/full_report.hpp>

#include <cmath>
#include <fstream>
#include <iostream>

#include "jobs.hpp"
#include "program.hpp"

namespace program {
namespace validating {
namespace {

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

}  // namespace

nlohmann::ordered_json to_json(const std::vector<outcome>& all) {
  using nlohmann::ordered_json;
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

}  // namespace validating

int run(const validate_request& asked, const streams& io) {
  using namespace validating;
  const bool piped = asked.records == "-";
  const std::filesystem::path file{asked.records};
  const auto all = judge_all(piped ? headroom::io::read_text(io.in, "standard input") : headroom::io::read_file(file),
                             headroom::io::file_base::anywhere_from(piped ? "." : file.parent_path()), piped ? "standard input" : file.filename().string(), asked.confidence);
  if (!asked.plot.empty()) {
    std::ofstream picture{asked.plot, std::ios::binary};
    picture << plot(all);
    picture.close();
    if (!picture) headroom::io::fail("headroom: " + asked.plot + " could not be written");
  }
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
