// Distributed under the Boost Software License, Version 1.0.
// What every family of published runs is held to: medians and largest errors as they are today, so that they cannot get worse unnoticed.
#include <headroom/replay.hpp>

#include "records.hpp"

#include <doctest/doctest.h>

#include <fstream>

namespace accuracy {

const std::vector<judged_record>& all_records() {
  static const auto records = [] {
    using namespace headroom;
    std::vector<judged_record> all;
    std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/../accuracy/measured.jsonl");
    for (std::string line; std::getline(file, line);) {
      judged_record r{.of = io::read_measured(line, "measured.jsonl"), .job = {}, .ranges = {}, .unreplayed = {}, .report = {}, .refused = {}};
      try {
        r.job = io::read_job(r.of.job, ".");
        const auto report = replay(r.job);
        r.predicted = io::predict(report, r.of.what, r.of.rank).value;
        r.fits = report.fits();
        r.fits_surely = fits(report, 0.95);
        r.may_fit = std::all_of(report.begin(), report.end(), [&](const auto& rank) { return bounds(report, rank, reading::device).low <= rank.capacity; });
        for (std::size_t i = 0; i < confidences.size(); ++i) r.ranges[i] = io::predict(report, r.of.what, r.of.rank, confidences[i]);
        if (r.of.bound == io::bound_kind::equal) r.report = report;
        r.unreplayed = io::predict(estimate(r.job), r.of.what, r.of.rank);
      } catch (const error& e) {
        r.refused = e.what();
      }
      all.push_back(std::move(r));
    }
    return all;
  }();
  return records;
}

namespace {

struct held {
  const char* family;
  std::size_t equal;    ///< records with a measured value that are estimated
  double median, largest;
  int one_sided;
  int refused;
};

// Rounded up; the gaps are explained, as far as they are, in README.md.
constexpr held families[] = {
    {"simumax", 12, 0.0005, 0.003, 0, 0},
    {"megatron", 87, 0.0029, 0.057, 0, 0},
    {"megatron-2023", 4, 0.0028, 0.0031, 0, 0},
    {"bridge", 7, 0.0042, 0.0232, 1, 0},
    {"litgpt", 56, 0.002, 0.13, 9, 0},
    {"torchtitan", 24, 0.008, 0.23, 9, 0},
    {"torchtune", 18, 0.02, 0.15, 0, 0},
    {"fsdp-qlora", 11, 0.0095, 0.09, 0, 0},
    {"hf-bert", 9, 0.005, 0.026, 0, 0},
    {"qwen", 57, 0.0205, 0.205, 1, 0},
    {"peft", 5, 0.006, 0.028, 0, 0},
    {"fms", 19, 0.033, 0.205, 0, 0},
    {"longlora", 7, 0.042, 0.16, 0, 0},
    {"llmc", 2, 0.006, 0.006, 0, 0},
    {"minicpmv", 6, 0.56, 0.57, 0, 0},
    {"llm-foundry", 0, 0.0, 0.0, 40, 0},
    {"unsloth", 0, 0.0, 0.0, 3, 0},
    {"oom-reports", 0, 0.0, 0.0, 5, 0},
};

}  // namespace
}  // namespace accuracy

namespace test_records {

TEST_CASE("every family of records is as accurate as it was") {
  using namespace accuracy;
  std::size_t seen = 0;
  for (const auto& f : families) {
    const auto e = errors_of(f.family, [](const judged_record&) { return true; });
    CAPTURE(std::string(f.family));
    CHECK(e.sizes.size() == f.equal);
    CHECK(e.one_sided == f.one_sided);
    CHECK(static_cast<int>(e.refused.size()) <= f.refused);
    CHECK(e.violations == 0);
    if (!e.sizes.empty()) {
      CHECK(e.median() <= f.median);
      CHECK(e.largest() <= f.largest);
    }
    seen += e.sizes.size() + static_cast<std::size_t>(e.one_sided) + e.refused.size();
  }
  CHECK(seen == all_records().size());  // no family is missing
}

}  // namespace test_records
