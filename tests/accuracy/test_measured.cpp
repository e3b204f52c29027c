// Distributed under the Boost Software License, Version 1.0.
// One measured run corrects the others of its search: of every pair of records that differ only in what a search opens (batch, recompute, degrees,
// sharding, offload, how many GPUs), one is taken as measured and the other is predicted.
#include "records.hpp"

#include <headroom/cost/bounds.hpp>
#include <headroom/measured.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>

namespace test_measured_pairs {

using namespace headroom;
using accuracy::all_records;
using accuracy::judged_record;

namespace {

/// What two runs of a search have in common, as text.
std::string search_of(const io::measured_record& r) {
  auto job = r.job;
  for (const auto* open : {"batch", "recompute", "parallel", "sharding", "offload"}) job.erase(open);
  if (job.contains("hardware"))
    for (const auto* open : {"nodes", "gpus_per_node"}) job["hardware"].erase(open);
  return r.family + " " + r.metric_name + " " + r.table + " " + std::string{io::text_of(r.rank)} + " " + job.dump();
}

struct pair_errors {
  std::vector<double> before, after;
  int inside_before{}, inside_after{};
  std::vector<double> width_before, width_after;
  [[nodiscard]] std::size_t size() const { return before.size(); }
  void add(double measured, const io::prediction& was, const io::prediction& now) {
    before.push_back(std::abs(was.value / measured - 1));
    after.push_back(std::abs(now.value / measured - 1));
    inside_before += was.low <= measured && measured <= was.high ? 1 : 0;
    inside_after += now.low <= measured && measured <= now.high ? 1 : 0;
    width_before.push_back((was.high - was.low) / was.value);
    width_after.push_back((now.high - now.low) / now.value);
  }
};
double at(std::vector<double> all, double share) {
  std::sort(all.begin(), all.end());
  return all.at(std::min(all.size() - 1, static_cast<std::size_t>(share * static_cast<double>(all.size()))));
}

/// A record as a measured run: of a sum over ranks each has an equal part of what it was off.
measured_run run_of(const judged_record& r) {
  const auto& rank = io::rank_of(r.report, r.of.what, r.of.rank);
  const auto m = io::reading_of(r.of.what);
  double gpus = 0;
  for (const auto& one : r.report) gpus += static_cast<double>(one.count);
  measured_run run;
  const auto off = (r.of.value - r.predicted) / (r.of.rank == io::rank_choice::sum ? gpus : 1);
  run.measured[static_cast<std::size_t>(m)] = value_of(rank, m) + bytes{std::llround(off)};
  run.predicted = {rank.allocated, rank.active, rank.reserved, rank.device};
  for (std::size_t i = 0; i < uncertainties.size(); ++i) run.of[i] = applies(uncertainties[i], r.report.assumptions, reading::device) ? base_of(rank, uncertainties[i].of) : bytes{0};
  return run;
}

std::map<std::string, pair_errors> memory_pairs() {
  std::map<std::string, std::vector<const judged_record*>> searches;
  for (const auto& r : all_records())
    if (r.equal()) searches[search_of(r.of)].push_back(&r);
  std::map<std::string, pair_errors> families;
  for (const auto& [name, rows] : searches)
    for (const auto* ran : rows) {
      if (rows.size() < 2) continue;
      const auto run = run_of(*ran);
      for (const auto* other : rows) {
        if (other == ran) continue;
        auto corrected = other->report;
        correct(corrected, run, false, false);
        families[ran->of.family].add(other->of.value, other->range(0.95), io::predict(corrected, other->of.what, other->of.rank));
      }
    }
  return families;
}

struct timed {
  io::measured_record of;
  step_cost cost;
  double measured{};  ///< seconds of a step
};

std::map<std::string, pair_errors> time_pairs() {
  std::map<std::string, std::vector<timed>> searches;
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/../accuracy/throughput.jsonl");
  for (std::string line; std::getline(file, line);) {
    timed t{.of = io::read_measured(line, "throughput.jsonl"), .cost = {}};
    t.cost = cost(io::read_job(t.of.job, "."));
    const double predicted = io::throughput_of(t.cost, t.of.what);
    t.measured = t.cost.step.value * (t.of.what == io::metric::step_seconds ? t.of.value / predicted : predicted / t.of.value);
    searches[search_of(t.of)].push_back(std::move(t));
  }
  std::map<std::string, pair_errors> families;
  const auto range = [](const step_cost& c) {
    const auto b = bounds(c);
    return io::prediction{c.step.value, b.low.value, b.high.value};
  };
  for (const auto& [name, rows] : searches)
    for (const auto& ran : rows) {
      const auto run = measured_beside(measured_run{.step = std::llround(ran.measured * 1e9)}, ran.cost);
      for (const auto& other : rows) {
        if (&other == &ran) continue;
        auto corrected = other.cost;
        headroom::detail::correct_measured_step(corrected, run, false);
        families[ran.of.family].add(other.measured, range(other.cost), range(corrected));
      }
    }
  return families;
}

void join(pair_errors& all, const pair_errors& one) {
  const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(all.before, one.before), add(all.after, one.after), add(all.width_before, one.width_before), add(all.width_after, one.width_after);
  all.inside_before += one.inside_before;
  all.inside_after += one.inside_after;
}

}  // namespace

TEST_CASE("one run predicts the others of its search: the median error of memory falls to half") {
  // Of the five largest families; the others have fewer than eight pairs of runs. litgpt's median is that of one GPU, which is within 0.2 % either way:
  // under FSDP1, where the samples' lengths are not known, it falls from 2.7 to 0.9 %.
  struct held {
    const char* family;
    std::size_t pairs;
    double before, after;  ///< medians: at least, at most
  };
  constexpr held families[] = {{"bridge", 20, 0.0040, 0.0013},  {"fms", 34, 0.0065, 0.0065},     {"fsdp-qlora", 12, 0.0090, 0.0075}, {"hf-bert", 8, 0.0130, 0.0081}, {"litgpt", 54, 0.0010, 0.0017}, {"longlora", 18, 0.041, 0.027},
                               {"megatron", 2, 0.045, 0.043}, {"minicpmv", 12, 0.49, 0.12}, {"qwen", 276, 0.0198, 0.0097}, {"torchtitan", 14, 0.0025, 0.0026}, {"torchtune", 2, 0.018, 0.016}};
  const auto found = memory_pairs();
  pair_errors all;
  for (const auto& f : families) {
    CAPTURE(std::string(f.family));
    const auto& p = found.at(f.family);
    CHECK(p.size() == f.pairs);
    CHECK(at(p.before, 0.5) >= f.before);
    CHECK(at(p.after, 0.5) <= f.after);
    join(all, p);
  }
  CHECK(found.size() == std::size(families));
  CHECK(all.size() == 452);
  CHECK(at(all.before, 0.5) >= 0.0150);
  CHECK(at(all.after, 0.5) <= 0.0078);
  CHECK(at(all.before, 0.9) >= 0.104);
  CHECK(at(all.after, 0.9) <= 0.077);
  // The ranges are a third narrower, and hold nearly as many.
  CHECK(at(all.width_before, 0.5) >= 0.185);
  CHECK(at(all.width_after, 0.5) <= 0.132);
  CHECK(all.inside_before == 435);
  CHECK(all.inside_after >= 429);  // 95 %
}

TEST_CASE("one run predicts the others of its search: step times of stacks that the rates were not calibrated on") {
  pair_errors on, others;
  for (const auto& [name, p] : time_pairs()) {
    const bool calibrated = name == "vtrain" || name == "vtrain-single" || name == "bigscience" || name == "internevo";
    join(calibrated ? on : others, p);
  }
  CHECK(others.size() == 244);
  CHECK(at(others.before, 0.5) >= 0.123);
  CHECK(at(others.after, 0.5) <= 0.0853);
  CHECK(at(others.before, 0.9) >= 0.312);
  CHECK(at(others.after, 0.9) <= 0.252);
  CHECK(others.inside_before >= 231);  // 95 %
  CHECK(others.inside_before <= 233);
  CHECK(others.inside_after >= 229);   // 94 %
  // Of the families that the rates are calibrated on what all runs have in common is in the rates: errors are a tenth worse at most, the ranges hold.
  CHECK(on.size() == 3940);
  CHECK(at(on.before, 0.5) >= 0.060);
  CHECK(at(on.after, 0.5) <= 0.067);
  CHECK(at(on.before, 0.9) >= 0.205);
  CHECK(at(on.after, 0.9) <= 0.211);
  CHECK(on.inside_after >= 3851);  // 98 %
  CHECK(at(on.width_after, 0.5) < 0.9 * at(on.width_before, 0.5));
}

}  // namespace test_measured_pairs
