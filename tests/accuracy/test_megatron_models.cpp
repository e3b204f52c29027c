// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's functional tests beyond GPT (hybrid stacks, BERT, T5, LLaVA), toys with experts, and GPTs over TransformerEngine 1.2, which wrote attention out where
// kernels had to be deterministic: peak allocated of the last rank. Nothing is fitted to a record; BERT's release test is 0.46 GB large.
#include <headroom/io/measured.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>

namespace test_megatron_models {

using namespace headroom;

namespace {

struct errors {
  std::vector<double> sizes;  ///< absolute, ascending
  int outside{};              ///< of the range of 95 %
};
errors errors_of(const std::string& family, const char* without = "nothing") {
  errors all;
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/megatron_models.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto r = io::read_measured(line, "megatron_models.jsonl");
    if (r.family != family || r.id.find(without) != std::string::npos) continue;
    const auto p = io::predict(replay(io::read_job(r.job, io::no_files)), r.what, r.rank, 0.95);
    all.sizes.push_back(std::abs(p.value / r.value - 1.0));
    all.outside += p.low > r.value || r.value > p.high;
  }
  std::sort(all.sizes.begin(), all.sizes.end());
  return all;
}
double median(const errors& e) { return e.sizes.at(e.sizes.size() / 2); }

}  // namespace

TEST_CASE("hybrid stacks of Mamba-2, attention and MLPs") {
  const auto e = errors_of("megatron-hybrid");
  REQUIRE(e.sizes.size() == 4);
  CHECK(median(e) <= 0.0043);
  CHECK(e.sizes.back() <= 0.0086);
  CHECK(e.outside == 0);
}

TEST_CASE("BERT") {
  const auto e = errors_of("megatron-bert", "release");
  REQUIRE(e.sizes.size() == 8);
  CHECK(median(e) <= 0.0225);
  CHECK(e.sizes.back() <= 0.026);
  CHECK(errors_of("megatron-bert").sizes.size() == 10);
  CHECK(errors_of("megatron-bert").outside == 0);
}

TEST_CASE("T5") {
  const auto e = errors_of("megatron-t5");
  REQUIRE(e.sizes.size() == 15);
  CHECK(median(e) <= 0.0081);
  CHECK(e.sizes.back() <= 0.0218);
  CHECK(e.outside == 0);
}

// A tower that trains: unfused attention of odd lengths on H100, and packed samples in a ring on A100.
TEST_CASE("LLaVA") {
  const auto e = errors_of("megatron-vlm");
  REQUIRE(e.sizes.size() == 2);
  CHECK(e.sizes.front() <= 0.0041);
  CHECK(e.sizes.back() <= 0.036);
  CHECK(e.outside == 0);
}

// Sinkhorn's and a balancing loss's routers, one expert after the other and grouped, with deterministic kernels and without, from 2025-04 to 2026-07.
TEST_CASE("toys with experts") {
  const auto e = errors_of("megatron-experts");
  REQUIRE(e.sizes.size() == 12);
  CHECK(median(e) <= 0.0045);
  CHECK(e.sizes[e.sizes.size() - 2] <= 0.0078);
  CHECK(e.sizes.back() <= 0.024);
  CHECK(e.outside == 0);
}

TEST_CASE("GPT, deterministic, over TransformerEngine 1.2") {
  const auto e = errors_of("megatron-te-1.2");
  REQUIRE(e.sizes.size() == 12);
  CHECK(median(e) <= 0.005);
  CHECK(e.sizes.back() <= 0.018);
}

}  // namespace test_megatron_models
