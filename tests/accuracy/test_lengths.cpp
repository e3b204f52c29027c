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
      CHECK(std::abs(static_cast<double>(report.ranks[0].reserved.count()) / (mebibytes * 1'048'576) - 1) < 0.029);
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

// The same table of 2023-12: GPTQ's packed Qwen-7B under LoRA at 2,048 tokens, whose embedding and head stay in 16 bits.
TEST_CASE("a base that GPTQ packed, at one length") {
  const std::pair<const char*, double> measured[] = {{"gptq-int4", 10'504}, {"gptq-int8", 13'648}};
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/swift_lengths.jsonl");
  int seen = 0;
  for (std::string line; std::getline(file, line);) {
    const auto r = io::read_measured(line, "swift_lengths.jsonl");
    for (const auto& [base, mebibytes] : measured) {
      if (!r.id.ends_with(base)) continue;
      auto j = io::read_job(r.job, io::no_files);
      j.batch.lengths = {};
      CAPTURE(r.id);
      CHECK(std::abs(static_cast<double>(replay(j).ranks[0].reserved.count()) / (mebibytes * 1'048'576) - 1) < 0.009);
      j.adapter.rest = formats::fp32;
      CHECK(static_cast<double>(replay(j).ranks[0].reserved.count()) / (mebibytes * 1'048'576) > 1.16);
      ++seen;
    }
  }
  CHECK(seen == 2);
}

// The range of a job whose samples' lengths nobody knows (uncertainty.hpp, unknown_lengths) is calibrated on the first, third, fifth, … of these
// runs: what follows is held to the others.
TEST_CASE("where lengths are not known, the range of what is reserved holds runs whose lengths vary") {
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/swift_lengths.jsonl");
  int n = 0, inside = 0, before = 0, seen = 0;
  for (std::string line; std::getline(file, line); ++n) {
    if (n % 2 == 0) continue;
    auto j = io::read_job(io::read_measured(line, "swift_lengths.jsonl").job, io::no_files);
    const auto measured = io::read_measured(line, "swift_lengths.jsonl").value;
    j.batch.lengths = {.unknown = true};
    auto report = replay(j);
    CHECK(report.assumptions.has(assumption::lengths_unknown));
    const auto holds = [&](const byte_range& r) { return static_cast<double>(r.low.count()) <= measured && measured <= static_cast<double>(r.high.count()); };
    const auto range = bounds(report, report.ranks[0], reading::reserved);
    inside += holds(range) ? 1 : 0;
    CHECK(static_cast<double>(range.high.count()) < 4 * measured);
    report.assumptions.remove(assumption::lengths_unknown);
    before += holds(bounds(report, report.ranks[0], reading::reserved)) ? 1 : 0;
    ++seen;
  }
  CHECK(seen == 13);
  CHECK(inside >= 12);
  CHECK(before <= 3);
}

// What a version says of who runs the Trainer: the collators of these programs pad to the longest sample (io/frameworks.hpp).
TEST_CASE("a program that pads to the longest sample leaves lengths unknown") {
  const auto of = [](const std::string& framework, const std::string& batch) {
    return io::read_job(io::parse_json(R"({"model": "llama-3.2-1b", "framework": )" + framework + R"(, "batch": {"sequence": 1024, )" + batch + "}}", "job")).batch.lengths.unknown;
  };
  const auto named = [](const std::string& name, const std::string& version) { return R"({"name": ")" + name + R"(", "version": ")" + version + R"("})"; };
  for (const auto* program : {"ms-swift 2025-04", "axolotl 2026-07", "LLaMA-Factory 0.9, 2025-01", "trl 0.12, 2024-11", "2024-08 (Liger-Kernel example, transformers 4.4x)"}) {
    CHECK(of(named("hf-trainer", program), R"("padded": true)"));
    CHECK(of(named("deepspeed", program), R"("padded": true)"));
    CHECK_FALSE(of(named("hf-trainer", program), R"("padded": false)"));
    CHECK_FALSE(of(named("hf-trainer", program), R"("padded": true, "packed": true)"));
    CHECK_FALSE(of(named("hf-trainer", program), R"("padded": true, "lengths": {"mean": 300, "deviation": 200, "longer": "truncated"})"));
    CHECK_FALSE(of(named("torchtune", program), R"("padded": true)"));
    // Where a job says neither, recipes of these may pack or pad.
    const bool often_packs = std::string_view(program).starts_with("ms-") || std::string_view(program).starts_with("axo") || std::string_view(program).starts_with("LLaMA");
    CHECK(of(named("hf-trainer", program), R"("micro": 2)") == often_packs);
    CHECK(of(named("hf-trainer", program), R"("packed": false)") == often_packs);
  }
  // Qwen's own script pads to the limit.
  CHECK_FALSE(of(named("hf-trainer", "2023-11, torch 2.0, transformers 4.3x, peft<0.8"), R"("padded": true)"));
  CHECK_FALSE(of("\"hf-trainer\"", R"("padded": true)"));
}

// What stays cached where lengths vary is given back when the GPU is full (report/spread.hpp, given_back): it widens the range of what is reserved up to
// the GPU's end, and is no part of whether a job fits.
TEST_CASE("unknown lengths fill the GPU at most, and leave it to batch.lengths whether a job fits") {
  const auto of = [](const std::string& lengths, int gib) {
    return io::read_job(io::parse_json(R"({"model": "llama-3.2-1b", "framework": "hf-trainer", "hardware": {"gpu": {"name": "a100-sxm-80gb", "memory_gib": )" + std::to_string(gib) +
                                           R"(}, "gpus_per_node": 1}, "batch": {"sequence": 4096)" + lengths + "}}", "job"));
  };
  const std::string unknown = R"(, "lengths": {"unknown": true})";
  const auto report = replay(of(unknown, 60)), alike = replay(of("", 60));
  const auto &rank = report.ranks[0], &same = alike.ranks[0];
  CHECK(rank.reserved == same.reserved);
  CHECK(base_of(rank, error_base::cached) > 10_GiB);
  CHECK(bounds(alike, same, reading::device).high < 45_GiB);
  CHECK(bounds(report, rank, reading::device).high == rank.capacity);
  CHECK(bounds(report, rank, reading::reserved).high == rank.capacity - (rank.device - rank.reserved));
  CHECK(bounds(report, rank, reading::allocated).high < 45_GiB);
  CHECK(bounds(report, rank, reading::allocated).low < bounds(alike, same, reading::allocated).low);
  CHECK(fits(report, 0.95));
  CHECK(bounds(replay(of(unknown, 300)), confidence{}).high > 80_GiB);
  CHECK_FALSE(replay(of(unknown, 28)).fits());
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
