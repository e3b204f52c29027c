// Distributed under the Boost Software License, Version 1.0.
// The reality check of the walk: litgpt on one GPU, whose memory was published for LoRA, QLoRA and full fine-tuning.
#include "records.hpp"

#include <doctest/doctest.h>

namespace test_litgpt {

using namespace accuracy;

TEST_CASE("allocated memory of litgpt on one GPU") {
  const auto e = errors_of("litgpt", [](const judged_record& r) { return r.job.hardware.gpus() == 1; });
  REQUIRE(e.sizes.size() == 45);
  CHECK(e.median() <= 0.003);
  CHECK(e.largest() <= 0.015);
  CHECK(e.one_sided == 6);
  CHECK(e.violations == 0);
  for (const auto& r : all_records())  // those went out of memory
    if (r.of.family == "litgpt" && r.job.hardware.gpus() == 1 && !r.equal()) CHECK_FALSE(r.fits);
}

// Several micro-batches accumulate under no_sync; their samples' lengths vary, so that a record lies below an estimate with the longest
// in every one, by more the more of the memory the tokens take.
TEST_CASE("allocated memory of litgpt over FSDP1") {
  const auto fsdp = [](const judged_record& r) { return r.job.sharding.kind == headroom::sharding_kind::fsdp1; };
  const auto e = errors_of("litgpt", fsdp);
  REQUIRE(e.sizes.size() == 11);
  CHECK(e.median() <= 0.025);
  CHECK(e.violations == 0);
  for (const auto& r : all_records()) {
    if (r.of.family != "litgpt" || !fsdp(r) || !r.equal()) continue;
    CAPTURE(r.of.id);
    CHECK(r.error() >= -0.001);
    CHECK(r.error() <= 0.13);
    if (!r.job.adapter.active()) CHECK(r.error() <= 0.001);
  }
}

}  // namespace test_litgpt
