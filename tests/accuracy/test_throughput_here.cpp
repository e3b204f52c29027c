// Distributed under the Boost Software License, Version 1.0.
// Predicted step times against those that measure.py trainer has measured: small jobs of transformers' Trainer, most of which wait for the processor. One
// constant is calibrated on the first, third, fifth, … of them (cost/rates.hpp, host_step); the others are held.
#include <headroom/cost/bounds.hpp>
#include <headroom/io/measured.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

namespace test_throughput_here {

using namespace headroom;

namespace {

struct timed {
  std::string id;
  double measured{};
  step_cost predicted{};
};
const std::vector<timed>& all_runs() {
  static const auto runs = [] {
    std::vector<timed> all;
    std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/../accuracy/throughput_here.jsonl");
    for (std::string line; std::getline(file, line);) {
      const auto r = io::read_measured(line, "throughput_here.jsonl");
      all.push_back({r.id, r.value, cost(io::read_job(r.job, "."))});
    }
    return all;
  }();
  return runs;
}

struct held {
  double median{};
  int inside{}, all{};
};
/// Of every other run, from `first` on.
held half(std::size_t first) {
  held h;
  std::vector<double> errors;
  for (auto i = first; i < all_runs().size(); i += 2) {
    const auto& r = all_runs()[i];
    errors.push_back(std::abs(r.predicted.step.value / r.measured - 1));
    h.inside += bounds(r.predicted, confidence{0.95}).contains(seconds{r.measured});
    ++h.all;
  }
  std::sort(errors.begin(), errors.end());
  h.median = (errors.at((errors.size() - 1) / 2) + errors.at(errors.size() / 2)) / 2;
  return h;
}

const timed& run_of(const std::string& model) {
  return *std::find_if(all_runs().begin(), all_runs().end(), [&](const timed& r) { return r.id.find("trainer-step-" + model + "-h100") == 0; });
}

}  // namespace

TEST_CASE("small jobs of the Trainer take as long as measured, as far as that is known") {
  REQUIRE(all_runs().size() == 40);
  const auto seen = half(0), unseen = half(1);
  CAPTURE(seen.median);
  CAPTURE(unseen.median);
  CHECK(seen.median <= 0.08);  // 0.49 before an operation was two kernels and a step had a time of its own on the processor
  CHECK(seen.inside == 20);    // of 20; 2
  CHECK(unseen.median <= 0.20);  // 0.41
  CHECK(unseen.inside == 20);    // 8
  CHECK(seen.median > 0.05);
  CHECK(unseen.median > 0.17);
  CHECK(seen.all + unseen.all == 40);
}

TEST_CASE("jobs whose processor starts kernels more slowly than the GPU runs them say so") {
  for (const char* name : {"gemma3", "llama-lora", "lfm2"}) {
    CAPTURE(name);
    const auto& c = run_of(name).predicted;
    CHECK(c.assumptions.has(time_assumption::host_bound));
    CHECK(c.launch / c.step > 0.3);
  }
  CHECK_FALSE(run_of("mistral").predicted.assumptions.has(time_assumption::host_bound));
}

// torch_forward of Mamba-2 writes and reads products of a chunk's positions × positions × heads × state, which takes its GPU longer than all that it keeps.
TEST_CASE("a recurrence that PyTorch writes out takes what its temporaries take") {
  for (const char* name : {"bamba", "falcon-h1", "nemotron-h", "granite-4-h"}) {
    CAPTURE(name);
    const auto& r = run_of(name);
    CHECK(r.predicted.memory / r.predicted.step > 0.4);
    CHECK(r.predicted.step.value > 0.7 * r.measured);
    CHECK(r.predicted.step.value < r.measured);
  }
}

}  // namespace test_throughput_here
