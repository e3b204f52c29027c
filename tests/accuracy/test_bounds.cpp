// Distributed under the Boost Software License, Version 1.0.
// The ranges of reports against measured runs: they hold what they say, and are narrow where the model is exact. The spreads that they
// are made of (include/headroom/uncertainty.hpp) are calibrated on half of these records by spreads.py; here they are judged by all.
#include "records.hpp"

#include <doctest/doctest.h>

#include <map>

namespace accuracy {
namespace {

struct judged_ranges {
  int records{}, inside{};
  std::vector<double> widths;
  void add(const judged_record& r, const headroom::io::prediction& range) {
    ++records;
    inside += r.inside(range);
    widths.push_back((range.high - range.low) / range.value);
  }
  [[nodiscard]] double coverage() const { return static_cast<double>(inside) / records; }
  [[nodiscard]] double width() const {
    auto sorted = widths;
    std::sort(sorted.begin(), sorted.end());
    return sorted.at(sorted.size() / 2);
  }
};

template <class Choose>
judged_ranges ranges_of(double sure, Choose choose) {
  judged_ranges all;
  for (const auto& r : all_records())
    if (r.equal() && choose(r)) all.add(r, r.range(sure));
  return all;
}

struct held_range {
  const char* family;
  headroom::io::metric what;
  int outside;   ///< at most
  double width;  ///< median, at most
};
using headroom::io::metric;

// One GPU of litgpt, SimuMax and dense Megatron within 1 % either way; wide where little is known (README.md).
constexpr held_range family_ranges[] = {
    {"simumax", metric::allocated, 0, 0.01},   {"litgpt", metric::allocated, 1, 0.02},     {"megatron", metric::allocated, 6, 0.05},
    {"megatron-2023", metric::allocated, 0, 0.05},  {"fms", metric::allocated, 3, 0.25},  {"longlora", metric::device, 1, 0.28},
    {"bridge", metric::allocated, 0, 0.25},    {"fsdp-qlora", metric::allocated, 0, 0.05}, {"fsdp-qlora", metric::reserved, 0, 0.28},
    {"torchtitan", metric::reserved, 1, 0.33}, {"torchtune", metric::active, 0, 0.25},     {"torchtune", metric::allocated, 0, 0.25},
    {"torchtune", metric::reserved, 1, 0.25},  {"peft", metric::reserved, 0, 0.25},        {"hf-bert", metric::device, 0, 0.30},
    {"qwen", metric::device, 4, 0.25},         {"llmc", metric::device, 0, 0.30},          {"minicpmv", metric::device, 0, 2.2},
};

}  // namespace
}  // namespace accuracy

namespace test_bounds {

using namespace accuracy;

TEST_CASE("95 % of the measured values lie in ranges of 95 %, as nearly as 324 of them can say, and half of the ranges are narrower than 17 %") {
  const auto all = ranges_of(0.95, [](const judged_record&) { return true; });
  CHECK(all.coverage() >= 0.94);
  CHECK(all.width() < 0.17);
  CHECK(all.records == 324);
}

TEST_CASE("the ranges of each family and metric") {
  int seen = 0;
  for (const auto& f : family_ranges) {
    const auto of = ranges_of(0.95, [&](const judged_record& r) { return r.of.family == f.family && r.of.what == f.what; });
    CAPTURE(std::string(f.family));
    CAPTURE(static_cast<int>(f.what));
    CHECK(of.records - of.inside <= f.outside);
    CHECK(of.width() <= f.width);
    seen += of.records;
  }
  CHECK(seen == 324);  // no family is missing
}

TEST_CASE("a confidence is the share of measured values inside") {
  // As many more or fewer as two standard deviations of 324 draws: 6 % at one half, 2.6 % at 0.95; and more, where spreads are wider than
  // the runs now ask for (uncertainty.hpp).
  for (const auto& asked : {std::pair{0.5, 0.14}, {0.8, 0.07}, {0.9, 0.04}, {0.95, 0.03}, {0.99, 0.02}}) {
    const double sure = asked.first, slack = asked.second;
    CAPTURE(sure);
    const auto of = ranges_of(sure, [](const judged_record&) { return true; });
    CHECK(of.coverage() >= sure - slack);
    CHECK(of.coverage() <= sure + slack);
  }
}

TEST_CASE("an estimate without a replay knows that fragmentation is not in it") {
  judged_ranges all;
  for (const auto& r : all_records())
    if (r.equal()) all.add(r, r.unreplayed);
  CHECK(all.coverage() >= 0.94);
}

TEST_CASE("what went out of memory does not fit for sure, and what ran may fit") {
  for (const auto& r : all_records()) {
    if (!r.refused.empty()) continue;
    CAPTURE(r.of.id);
    if (r.of.bound == headroom::io::bound_kind::at_least) CHECK_FALSE(r.fits_surely);
    if (r.of.bound != headroom::io::bound_kind::at_least) CHECK(r.may_fit);
    CHECK((r.fits || !r.fits_surely));
  }
}

}  // namespace test_bounds
