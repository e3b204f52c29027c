// Distributed under the Boost Software License, Version 1.0.
// headroom compare FIRST SECOND: which keys of two jobs differ, and what that changes.
#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report/text_table.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/io/syntax/printable.hpp>
#include <headroom/replay.hpp>

#include <map>
#include <optional>
#include <string>

#include "../calls/answers.hpp"
#include "jobs.hpp"
#include "program.hpp"

namespace program {
namespace comparing {
namespace {

using namespace headroom;
using namespace headroom::literals;

struct compared {
  job asked;
  report seen;
  std::optional<step_cost> time;
};

compared look(const std::string& file, const streams& io) {
  compared c{.asked = job_named(file, io.in), .seen = {}, .time = {}};
  c.seen = replay(c.asked, io.until);
  c.time = calls::time_of(c.asked).cost;
  return c;
}

/// "/batch/micro" is "batch.micro".
std::map<std::string, std::string> keys_of(const job& j) {
  std::map<std::string, std::string> keys;
  const auto flat = io::job_to_json(j).flatten();
  for (const auto& [path, value] : flat.items()) {
    auto key = path.substr(1);
    for (auto& letter : key)
      if (letter == '/') letter = '.';
    keys[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return keys;
}

struct difference {
  std::string key, first, second;
};
std::vector<difference> differences(const job& a, const job& b) {
  const auto x = keys_of(a), y = keys_of(b);
  std::vector<difference> all;
  for (const auto& [key, value] : x)
    if (const auto at = y.find(key); at == y.end() || at->second != value) all.push_back({key, value, at == y.end() ? "" : at->second});
  for (const auto& [key, value] : y)
    if (!x.contains(key)) all.push_back({key, "", value});
  return all;
}

/// A number of both jobs, and the bytes or seconds between them.
struct figure {
  std::string name;
  double first{}, second{};
  bool bytes{};  ///< in GiB; else a plain number
};
std::vector<figure> figures_of(const compared& a, const compared& b) {
  std::vector<figure> all;
  const auto add = [&](std::string name, headroom::bytes x, headroom::bytes y) {
    if (max(x, y) >= 10_MiB) all.push_back({std::move(name), io::in_gib(x), io::in_gib(y), true});
  };
  const auto &x = a.seen.tightest(), &y = b.seen.tightest();
  add("device", x.device, y.device);
  add("reserved", x.reserved, y.reserved);
  add("allocated", x.allocated, y.allocated);
  for (int i = 0; i < row_count; ++i) {
    std::string name{text(static_cast<row>(i))};
    for (auto& letter : name)
      if (letter == '_') letter = ' ';
    add("  " + name, x.at_peak[static_cast<row>(i)], y.at_peak[static_cast<row>(i)]);
  }
  add("host, per node", a.seen.host.per_node, b.seen.host.per_node);
  add("NVMe, per node", a.seen.nvme_per_node, b.seen.nvme_per_node);
  if (a.time && b.time) {
    all.push_back({"step, seconds", a.time->step.value, b.time->step.value, false});
    all.push_back({"tokens/s", a.time->tokens_per_second(), b.time->tokens_per_second(), false});
    all.push_back({"MFU, %", 100 * a.time->mfu(), 100 * b.time->mfu(), false});
  }
  return all;
}

std::string number(double value, bool bytes) {
  return bytes ? io::fixed(value, 2) + " GiB" : value >= 1000 ? io::grouped(static_cast<std::int64_t>(value)) : io::fixed(value, 2);
}

std::string shortened(const std::string& value) { return io::width_of(value) > 24 ? value.substr(0, 21) + "…" : value.empty() ? "–" : value; }

std::string line(const figure& f) {
  const auto change = f.second - f.first;
  const auto sign = change > 0 ? "+" : change < 0 ? "-" : " ";
  std::string text = "  " + io::left(f.name, 30) + io::right(number(f.first, f.bytes), 14) + io::right(number(f.second, f.bytes), 14);
  text += io::right(sign + number(change < 0 ? -change : change, f.bytes), 14);
  if (f.first > 0) text += io::right(sign + io::fixed(100 * (change < 0 ? -change : change) / f.first, 1) + " %", 10);
  return text + "\n";
}

nlohmann::ordered_json document(const compared& a, const compared& b) {
  auto keys = nlohmann::ordered_json::array(), numbers = nlohmann::ordered_json::array();
  for (const auto& d : differences(a.asked, b.asked)) keys.push_back({{"key", d.key}, {"first", d.first}, {"second", d.second}});
  for (const auto& f : figures_of(a, b)) {
    const auto name = f.name.substr(f.name.find_first_not_of(' '));
    numbers.push_back({{"name", name}, {"unit", f.bytes ? "GiB" : ""}, {"first", f.first}, {"second", f.second}});
  }
  return {{"differ", keys}, {"first_fits", a.seen.fits()}, {"second_fits", b.seen.fits()}, {"numbers", numbers}};
}

}  // namespace
}  // namespace comparing

int run(const compare_request& asked, const streams& io) {
  using namespace comparing;
  if (asked.first == "-" && asked.second == "-") io::fail("headroom: standard input can be one of the two jobs, not both");
  const auto a = look(asked.first, io), b = look(asked.second, io);
  const int status = a.seen.fits() && b.seen.fits() ? 0 : 1;
  if (asked.json) {
    io.out << document(a, b).dump(2) << '\n';
    return status;
  }
  const io::palette ink{io.colour};
  const auto said = [&](const std::string& file, const compared& c) {
    io.out << ink.bold(io::printable(file)) << ": " << (c.seen.fits() ? ink.good(io::verdict_text(c.seen)) : ink.bad(io::verdict_text(c.seen))) << '\n';
  };
  said(asked.first, a);
  said(asked.second, b);
  const auto differ = differences(a.asked, b.asked);
  io.out << '\n' << ink.bold(differ.empty() ? "No key differs" : "Keys that differ") << '\n';
  for (const auto& d : differ) io.out << "  " << io::left(d.key, 30) << "  " << io::left(shortened(d.first), 24) << "  " << shortened(d.second) << '\n';
  io.out << '\n' << ink.bold("What that changes") << ink.dim(", on the tightest GPU of each") << '\n';
  for (const auto& f : figures_of(a, b)) io.out << line(f);
  if (!a.time || !b.time) io.out << ink.dim("  No step time is predicted for " + std::string{a.time ? "the second" : b.time ? "the first" : "either"} + ".") << '\n';
  return status;
}

}  // namespace program
