// Distributed under the Boost Software License, Version 1.0.
// Runs of models that see: what they occupied, beside what is predicted and the range that assumption::towers_on_few_runs gives.
#include "records.hpp"

#include <headroom/estimate.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <set>

namespace test_towers_accuracy {

using namespace headroom;
using namespace headroom::literals;

namespace {

template <class Visit>
void each_run_that_sees(const Visit& visit) {
  for (const auto* file : {"/../accuracy/measured.jsonl", "/objectives_measured.jsonl", "/tables_measured.jsonl", "/megatron_models.jsonl", "/rollout_runs.jsonl"}) {
    std::ifstream in(std::string{HEADROOM_TEST_DATA} + file);
    REQUIRE(in.good());
    for (std::string line; std::getline(in, line);) {
      auto said = io::json_value::parse(line);
      if (!said.contains("family")) said["family"] = "rollout", said["grade"] = "C";  // rollout_runs.jsonl is of one kind
      said.erase("lengths");
      const auto r = io::read_measured(said.dump(), file);
      if (r.bound != io::bound_kind::equal) continue;
      try {
        const auto j = io::read_job(r.job);
        if (j.model.vision.layers == 0) continue;
        const auto report = estimate(j);
        if (report.assumptions.has(assumption::towers_on_few_runs)) visit(r, report);
      } catch (const job_error&) {  // jobs that are refused, and say why elsewhere
      }
    }
  }
}

}  // namespace

TEST_CASE("of 24 runs of models that see those that lie outside their range are known") {
  std::set<std::string> outside;
  int runs = 0;
  each_run_that_sees([&](const io::measured_record& r, const auto& report) {
    ++runs;
    const auto p = io::predict(report, r.what, r.rank);
    if (r.value < p.low || r.value > p.high) outside.insert(r.id);
  });
  CHECK(runs == 24);
  for (const auto& id : outside) CHECK(id == "swift-ex-train-multimodal-vit_gradient_checkpointing-gc1-vgc0");  // 62 GiB, 40 predicted: how large its images are is inferred
  CHECK(outside.size() == 1);
}

TEST_CASE("a tower's spread is of what comes and goes at the peak: more weights do not widen it") {
  for (const auto& s : uncertainties)
    if (s.when == assumption::towers_on_few_runs) {
      rank_report rank{};
      rank.allocated = rank.active = rank.reserved = rank.device = 66_GiB;
      rank.at_peak[row::model_parameters] = 58_GiB;
      CHECK(deviation_of(s, rank).of == 8_GiB);
      CHECK(deviation_of(s, rank).above == 4_GiB);
      CHECK(deviation_of(s, rank).below == 2_GiB);
    }
}

}  // namespace test_towers_accuracy
