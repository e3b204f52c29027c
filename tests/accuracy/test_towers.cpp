// Distributed under the Boost Software License, Version 1.0.
// MiniCPM-V's table of fine-tuning memory (its finetune/readme.md), whole-device figures of an unstated tool, model version and number of
// slices. It is not explained: every row lies far above what tensors, context and communicators add up to.
#include <headroom/headroom.hpp>
#include <headroom/io/measured.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>

using namespace headroom;

TEST_CASE("MiniCPM-V: a lower bound, no more") {
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/../accuracy/measured.jsonl");
  int seen = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("\"family\": \"minicpmv\"") == std::string::npos) continue;
    const auto record = io::read_measured(line, "measured.jsonl");
    CAPTURE(record.id);
    const auto p = io::predict(estimate(io::read_job(record.job, ".")), record.what, record.rank);
    CAPTURE(p.value / record.value);
    CHECK(p.value < record.value);
    CHECK(p.value > 0.4 * record.value);
    ++seen;
  }
  CHECK(seen == 6);
}
