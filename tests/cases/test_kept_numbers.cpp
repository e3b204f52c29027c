// Distributed under the Boost Software License, Version 1.0.
// What estimate(), cost() and replay() say of jobs that were measured, of jobs that say one thing otherwise, and of drawn ones, as it was when
// tests/data/kept_numbers.txt was written: a line each, so that a review sees what a change moves, and by how much. It detects changes and is no
// source: whether a number is right, other tests say. Where moving them was meant, or two changes meet in the file, it is written anew by
//   HEADROOM_KEEP_NUMBERS=1 build/tests/test_cases --test-case="numbers that nothing was meant to move"
#include "../estimate/draw.hpp"

#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace test_kept_numbers {

using namespace headroom;
using nlohmann::json;

namespace {

const std::string folder{HEADROOM_TEST_DATA};

/// A number of what was put in, in its order (FNV-1a).
class digest {
 public:
  void put(std::int64_t n) {
    for (int i = 0; i < 8; ++i) step(static_cast<std::uint64_t>(n) >> (8 * i) & 0xff);
  }
  void put(bytes b) { put(b.count()); }
  /// As far as every compiler adds up alike.
  void put(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", x);
    for (const char* c = text; *c != 0; ++c) step(static_cast<unsigned char>(*c));
  }
  [[nodiscard]] std::uint64_t value() const { return h_; }

 private:
  std::uint64_t h_ = 0xcbf29ce484222325U;
  void step(std::uint64_t byte) { h_ = (h_ ^ byte) * 0x100000001b3U; }
};

void put(digest& d, const auto& report) {
  for (const auto& r : report) {
    d.put(r.pipeline_stage), d.put(r.count), d.put(r.capacity), d.put(r.allocated), d.put(r.active), d.put(r.reserved), d.put(r.device);
    d.put(r.fragmentation), d.put(r.surplus), d.put(static_cast<std::int64_t>(r.peak_phase)), d.put(r.peak_layer), d.put(r.routed);
    for (const auto b : r.phases) d.put(b);
    for (const auto& at : r.at_phase)
      for (const auto b : at.rows) d.put(b);
  }
  d.put(report.host.per_node), d.put(report.host.pinned_per_node), d.put(report.nvme_per_node);
  d.put(report.parameter_count.total.count()), d.put(report.parameter_count.trainable.count()), d.put(report.parameter_count.active.count());
  d.put(report.others.least_headroom), d.put(report.kinds);
}

/// Memory of the tightest rank, seconds of a step, memory after a replay, each followed by a number of all that stands beside it; or where it was refused.
std::string numbers_of(const job& j, bool replays) {
  std::ostringstream text;
  text << std::hex;
  const auto say = [&](const char* what, const auto& first, const digest& d) { text << ' ' << what << ' ' << std::dec << first << std::hex << ' ' << (d.value() & 0xffffffff); };
  try {
    const auto r = estimate(j);
    digest d;
    put(d, r);
    say("estimate", r.device().count(), d);
  } catch (const job_error&) {
    return " refused";
  }
  try {
    const auto c = cost(j);
    digest d;
    for (const auto& s : {c.matmul, c.attention, c.memory, c.communication, c.launch, c.data_parallel, c.bubble, c.optimizer, c.offload, c.other_models, c.generation, c.sync}) d.put(s.value);
    d.put(c.model.value), d.put(c.hardware.value), d.put(c.tokens);
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.6g", c.step.value);
    say("step", seconds, d);
  } catch (const job_error&) {
    text << " untimed";
  }
  if (!replays || j.batch.lengths.given() || j.batch.accumulation > 32) return text.str();  // they take longest: tests/replay and tests/accuracy
  const auto r = replay(j);
  digest d;
  put(d, r);
  say("replay", r.device().count(), d);
  return text.str();
}

using lines = std::map<std::string, std::string>;

std::string numbers_of(const json& file, bool replays) {
  try {
    return numbers_of(io::read_job(io::parse_json(file.dump(), "job"), io::no_files), replays);
  } catch (const job_error&) {
    return " not read";
  }
}

void add_measured(lines& all) {
  std::set<std::string> seen;
  for (const auto* name : {"/../accuracy/measured", "/../accuracy/measured_here", "/../accuracy/throughput", "/../accuracy/trainer_measured", "/megatron_models", "/nanotron_measured",
                           "/nanotron_throughput", "/objectives_measured", "/rollout_runs", "/tables_measured", "/tables_throughput"}) {
    std::ifstream in{folder + name + ".jsonl"};
    REQUIRE_MESSAGE(in.good(), name);
    int rows = 0;
    for (std::string line; std::getline(in, line);) {
      const auto row = json::parse(line);
      if (!seen.insert(row.at("job").dump()).second) continue;
      auto id = row.at("id").get<std::string>();
      std::replace(id.begin(), id.end(), ' ', '_');
      all[id] = numbers_of(row.at("job"), ++rows % 6 == 0);  // what replays say of the others, tests/accuracy bounds
    }
  }
}

/// Where a word stands on the way to a key, an object takes its place.
void change(json& whole, const json& by) {
  for (const auto& [path, value] : by.items()) {
    const json::json_pointer to(path);
    for (auto above = to.parent_pointer(); !above.empty(); above = above.parent_pointer())
      if (whole.contains(above) && !whole[above].is_object()) whole[above] = json::object();
    whole[to] = value;
  }
}

/// Jobs that say one thing otherwise, and two of these together.
void add_changed(lines& all) {
  std::ifstream in{folder + "/changed_jobs.jsonl"};
  std::map<std::string, json> bases, before;
  for (std::string line; std::getline(in, line);) {
    const auto row = json::parse(line);
    if (row.contains("name")) bases[row.at("name")] = row.at("job");
    if (row.contains("name") || row.contains("says")) continue;
    const auto of = row.at("of").get<std::string>();
    const auto with = row.value("with", json::object());
    auto whole = bases.at(of);
    change(whole, with);
    all[of + ' ' + with.dump()] = numbers_of(whole, false);
    if (const auto& other = before[of]; !other.is_null()) {
      change(whole, other);
      all[of + ' ' + with.dump() + ' ' + other.dump()] = numbers_of(whole, false);
    }
    before[of] = with;
  }
}

void add_drawn(lines& all) {
  draw::jobs jobs{20261128};
  for (int i = 0; i < 1500; ++i) all["drawn-" + std::to_string(i)] = numbers_of(jobs.next(), i % 3 == 0);
}

}  // namespace

TEST_CASE("numbers that nothing was meant to move") {
  lines all;
  add_measured(all);
  add_changed(all);
  add_drawn(all);
  const auto file = folder + "/kept_numbers.txt";
  if (std::getenv("HEADROOM_KEEP_NUMBERS") != nullptr) {
    std::ofstream out{file};
    for (const auto& [id, numbers] : all) out << id << '\t' << numbers << '\n';
  }
  lines kept;
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) kept[line.substr(0, line.find('\t'))] = line.substr(line.find('\t') + 1);
  CHECK(kept.size() == all.size());
  int moved = 0;
  std::ostringstream which;
  for (const auto& [id, numbers] : all)
    if (kept[id] != numbers && ++moved <= 20) which << id << "\n  was" << kept[id] << "\n  is " << numbers << "\n";
  INFO(which.str());
  CHECK_MESSAGE(moved == 0, "where that is meant: HEADROOM_KEEP_NUMBERS=1 build/tests/test_cases --test-case=\"numbers that nothing was meant to move\", and say in the commit why");
}

}  // namespace test_kept_numbers
