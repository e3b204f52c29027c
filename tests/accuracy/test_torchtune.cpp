// Distributed under the Boost Software License, Version 1.0.
// torchtune's published memory: the table of optimization flags (Llama 3.2 3B, packed to 2 × 4096) and older rows.
#include "records.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace test_torchtune {

using namespace accuracy;

namespace {

double error_of(const std::string& id) {
  for (const auto& r : all_records())
    if (r.of.id == id) return std::abs(r.error());
  return 1e9;
}

}  // namespace

TEST_CASE("torchtune's table of optimization flags") {
  for (const auto* id : {"tune-3b-+packed", "tune-3b-+compile", "tune-3b-+AC", "tune-3b-+optim_in_bwd"}) CHECK(error_of(id) <= 0.005);
  for (const auto* id : {"tune-3b-+act_offload", "tune-3b-+adamw8bit"}) CHECK(error_of(id) <= 0.02);
  CHECK(error_of("tune-8b-lora-a6000") <= 0.01);
  CHECK(error_of("tune-8b-full-4090") <= 0.0125);  // the replay makes the gradient of the chunked states in one block, which the walk has in pieces
}

// Rows whose sequence length is borrowed from another table, or whose batch is in doubt: held, so that a change is seen.
TEST_CASE("torchtune's older rows") {
  for (const auto* id : {"tune-l2-7b-lora-r8-qv", "tune-l2-7b-lora-r8-all", "tune-l2-7b-lora-r64-qv"}) CHECK(error_of(id) <= 0.035);
  for (const auto* id : {"tune-pr527", "tune-pr961", "tune-8b-lora-4090", "tune-70b-lora-8a100"}) CHECK(error_of(id) <= 0.1);
}

}  // namespace test_torchtune
