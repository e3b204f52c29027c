// Distributed under the Boost Software License, Version 1.0.
// The reality check of the walk: litgpt on one GPU, whose memory was published for LoRA, QLoRA and full fine-tuning.
#include <headroom/headroom.hpp>
#include <headroom/io/measured.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

using namespace headroom;

namespace {

std::vector<io::measured_record> litgpt(bool one_gpu) {
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/../accuracy/measured.jsonl");
  std::vector<io::measured_record> records;
  for (std::string line; std::getline(file, line);) {
    if (line.find("\"family\": \"litgpt\"") == std::string::npos) continue;
    auto r = io::read_measured(line, "measured.jsonl");
    if ((io::read_job(r.job, ".").hardware.gpus() == 1) == one_gpu) records.push_back(r);
  }
  return records;
}

}  // namespace

TEST_CASE("allocated memory of litgpt on one GPU") {
  std::vector<double> errors;
  int out_of_memory = 0;
  for (const auto& record : litgpt(true)) {
    CAPTURE(record.id);
    const auto r = estimate(io::read_job(record.job, "."));
    const auto p = io::predict(r, record.what, record.rank);
    if (record.bound != io::bound_kind::equal) {
      ++out_of_memory;
      CHECK_FALSE(io::violates(record.bound, p.value, record.value));
      CHECK_FALSE(r.fits());
      continue;
    }
    const auto error = std::abs(p.value / record.value - 1.0);
    CAPTURE(error);
    CHECK(error <= 0.015);
    errors.push_back(error);
  }
  CHECK(out_of_memory == 6);
  REQUIRE(errors.size() == 45);
  std::sort(errors.begin(), errors.end());
  CHECK(errors[errors.size() / 2] <= 0.003);
}

// Several micro-batches accumulate under no_sync; their samples' lengths vary, so that a record lies below an estimate with the longest
// in every one, by more the more of the memory the tokens take.
TEST_CASE("allocated memory of litgpt over FSDP1") {
  std::vector<double> errors;
  for (const auto& record : litgpt(false)) {
    const auto j = io::read_job(record.job, ".");
    if (j.sharding.kind != sharding_kind::fsdp1) continue;
    CAPTURE(record.id);
    const auto r = estimate(j);
    const auto predicted = io::predict(r, record.what, record.rank).value;
    if (record.bound != io::bound_kind::equal) {
      CHECK_FALSE(io::violates(record.bound, predicted, record.value));
      continue;
    }
    const auto error = predicted / record.value - 1.0;
    CAPTURE(error);
    CHECK(error >= -0.001);
    CHECK(error <= 0.13);
    if (j.trainable.all() && !j.adapter.active()) CHECK(error <= 0.001);
    errors.push_back(error);
  }
  REQUIRE(errors.size() == 11);
  std::sort(errors.begin(), errors.end());
  CHECK(errors[errors.size() / 2] <= 0.025);
}
