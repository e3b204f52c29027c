// Distributed under the Boost Software License, Version 1.0.
// The tables of `headroom validate`.
#include "validate.hpp"

#include <algorithm>

namespace program::validating {
namespace {

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

}  // namespace

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

}  // namespace program::validating
