// Distributed under the Boost Software License, Version 1.0.
// Published runs over samples of different lengths (tests/data/swift_lengths.jsonl): ms-swift's table of one script, whose data set has lengths of
// mean 3,234 and deviation 2,547, and of which longer samples are deleted. Nothing is fitted to them: which samples they had, and in which
// order, is not known.
#include <headroom/bounds.hpp>
#include <headroom/decide.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/io/measured.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

namespace test_swift_lengths {

using namespace headroom;

namespace {

struct seen {
  std::string id;
  double error{}, at_one_length{};
  bool inside{}, fits{};
};

/// Of the rows whose name ends in one of these, or of all.
std::vector<seen> rows(const std::vector<std::string>& ends) {
  std::vector<seen> all;
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/swift_lengths.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto r = io::read_measured(line, "swift_lengths.jsonl");
    if (!ends.empty() && std::none_of(ends.begin(), ends.end(), [&](const auto& e) { return r.id.ends_with(e); })) continue;
    auto j = io::read_job(r.job, io::no_files);
    const auto report = replay(j);
    const auto& rank = report.ranks[0];
    REQUIRE(rank.lengths.given());
    const auto range = bounds(report, rank, reading::reserved, 0.9);
    CHECK(rank.lengths.least >= rank.active);
    j.batch.lengths = {};
    const auto fixed = replay(j);
    CHECK(rank.allocated == fixed.ranks[0].allocated);
    all.push_back({r.id, static_cast<double>(rank.reserved.count()) / r.value - 1, static_cast<double>(fixed.ranks[0].reserved.count()) / r.value - 1,
                   static_cast<double>(range.low.count()) <= r.value && r.value <= static_cast<double>(range.high.count()), report.fits()});
  }
  return all;
}
double median(std::vector<double> errors) {
  for (auto& e : errors) e = std::abs(e);
  std::sort(errors.begin(), errors.end());
  return errors.at(errors.size() / 2);
}

}  // namespace

TEST_CASE("a run over samples of different lengths reserves what replays of many orders do") {
  const auto all = rows({"lora-qwen-7b-1024"});
  CHECK(all.size() == 1);
  std::vector<double> errors;
  for (const auto& r : all) {
    CAPTURE(r.id);
    CAPTURE(r.error);
    CHECK(r.inside);
    CHECK(r.fits);  // it ran
    CHECK(r.at_one_length < -0.13);
    errors.push_back(r.error);
  }
  CHECK(median(errors) < 0.05);
}

TEST_CASE("training of all parameters at one length: torch 2.1's update makes one copy of them") {
  // The same script while it truncated samples (docs/source/LLM/Benchmark.md of 2023-12: CUDA 11.8, torch 2.1.1; MiB reserved).
  const std::pair<const char*, double> measured[] = {{"512", 75'213}, {"1024", 75'627}, {"2048", 76'520}, {"4096", 78'986}};
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/swift_lengths.jsonl");
  int seen = 0;
  for (std::string line; std::getline(file, line);) {
    const auto r = io::read_measured(line, "swift_lengths.jsonl");
    for (const auto& [length, mebibytes] : measured) {
      if (!r.id.ends_with("-full-qwen-7b-" + std::string{length})) continue;
      auto j = io::read_job(r.job, io::no_files);
      j.batch.lengths = {};
      const auto report = replay(j);
      CAPTURE(r.id);
      CHECK(std::abs(static_cast<double>(report.ranks[0].reserved.count()) / (mebibytes * 1'048'576) - 1) < 0.028);
      CHECK(report.fits());
      ++seen;
      // Weights, gradients and two moments of 7,721,324,544 parameters, 2 bytes each; one of them again for the update's square roots.
      CHECK(report.ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::temporaries].count() >= 2 * 7'721'324'544);
      CHECK(report.ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::temporaries].count() < 3 * 7'721'324'544);
      j.framework = frameworks::hf_trainer_2023;  // over torch 2.0, which makes two
      CHECK_FALSE(replay(j).fits());
    }
  }
  CHECK(seen == 4);
}

// All 27 take a minute.
TEST_CASE("all published runs over samples of different lengths" * doctest::skip()) {
  const auto all = rows({});
  CHECK(all.size() == 27);
  std::vector<double> errors;
  int inside = 0;
  for (const auto& r : all) {
    errors.push_back(r.error);
    inside += r.inside ? 1 : 0;
    CHECK_MESSAGE(r.fits, r.id);
  }
  CHECK(inside >= 25);  // not attention written out, and Yi-6B at 8,192 tokens
  CHECK(median(errors) < 0.035);
}

}  // namespace test_swift_lengths
