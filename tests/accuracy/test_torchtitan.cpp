// Distributed under the Boost Software License, Version 1.0.
// torchtitan's published runs: peak reserved memory under FSDP2, tensor and context parallelism, eager and compiled, and runs that fitted
// or went out of memory. Nothing is fitted to a record; what is held here is what the mechanisms reach, so that it cannot get worse
// unnoticed.
#include <headroom/headroom.hpp>
#include <headroom/io/measured.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

using namespace headroom;

namespace {

struct outcome {
  std::vector<double> errors;
  int one_sided{};
  int violations{};
  std::vector<std::string> refused;
  [[nodiscard]] double median() {
    std::sort(errors.begin(), errors.end());
    return errors[errors.size() / 2];
  }
  [[nodiscard]] double largest() const { return *std::max_element(errors.begin(), errors.end()); }
};

template <class Choose>
outcome records(Choose choose) {
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/../accuracy/measured.jsonl");
  outcome all;
  for (std::string line; std::getline(file, line);) {
    if (line.find("\"family\": \"torchtitan\"") == std::string::npos) continue;
    const auto record = io::read_measured(line, "measured.jsonl");
    try {
      const auto j = io::read_job(record.job, ".");
      if (!choose(j)) continue;
      const auto p = io::predict(estimate(j), record.what, record.rank);
      if (record.bound == io::bound_kind::equal) {
        all.errors.push_back(std::abs(p.value / record.value - 1.0));
      } else {
        ++all.one_sided;
        if (io::violates(record.bound, p.value, record.value)) ++all.violations;
      }
    } catch (const job_error&) {
      all.refused.push_back(record.id);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("torchtitan, reserved memory") {
  auto all = records([](const job&) { return true; });
  REQUIRE(all.errors.size() == 22);
  CHECK(all.median() <= 0.027);
  CHECK(all.largest() <= 0.12);
  CHECK(all.one_sided == 8);
  CHECK(all.violations == 0);
  CHECK(all.refused == std::vector<std::string>{"titan202412-t5-1F1B", "titan202412-t5-Interleaved1F1B", "titan-i1789-ds16b-OOM"});
}

TEST_CASE("torchtitan, FSDP2 with an uncompiled loss") {
  auto all = records([](const job& j) { return j.framework.date < 202504 && j.parallel.tensor == 1 && j.parallel.context == 1; });
  REQUIRE(all.errors.size() == 7);
  CHECK(all.median() <= 0.03);
  CHECK(all.largest() <= 0.045);
}

TEST_CASE("torchtitan, context parallelism") {
  auto all = records([](const job& j) { return j.parallel.context > 1; });
  REQUIRE(all.errors.size() == 3);
  CHECK(all.largest() <= 0.01);
}

TEST_CASE("torchtitan, tensor parallelism with a divided loss") {
  auto all = records([](const job& j) { return j.parallel.tensor > 1 && j.framework.date >= 202504; });
  REQUIRE(all.errors.size() == 3);
  CHECK(all.largest() <= 0.03);
}

TEST_CASE("torchtitan, head and loss in chunks") {
  auto all = records([](const job& j) { return j.framework.loss == loss_style::chunked_head; });
  REQUIRE(all.errors.size() == 3);
  CHECK(all.largest() <= 0.025);
}
