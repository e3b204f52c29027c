// Distributed under the Boost Software License, Version 1.0.
// torchtitan's published runs: peak reserved memory under FSDP2, tensor and context parallelism, eager and compiled, and runs that fitted
// or went out of memory. Nothing is fitted to a record; what is held here is what the mechanisms reach, so that it cannot get worse
// unnoticed.
#include "records.hpp"

#include <doctest/doctest.h>

namespace test_torchtitan {

using namespace accuracy;

namespace {

template <class Choose>
errors titan(Choose choose) {
  return errors_of("torchtitan", [&](const judged_record& r) { return r.refused.empty() && choose(r.job); });
}

}  // namespace

// Low, and not explained (README.md).
TEST_CASE("torchtitan, pipelines") {
  const auto e = titan([](const headroom::job& j) { return j.parallel.pipeline > 1; });
  REQUIRE(e.sizes.size() == 2);
  CHECK(e.largest() <= 0.23);
}

TEST_CASE("torchtitan, FSDP2 with an uncompiled loss") {
  const auto e = titan([](const headroom::job& j) { return j.framework.date < 202504 && j.parallel.tensor == 1 && j.parallel.context == 1; });
  REQUIRE(e.sizes.size() == 7);
  CHECK(e.median() <= 0.0065);
  CHECK(e.largest() <= 0.045);
}

TEST_CASE("torchtitan, context parallelism") {
  const auto e = titan([](const headroom::job& j) { return j.parallel.context > 1; });
  REQUIRE(e.sizes.size() == 3);
  CHECK(e.largest() <= 0.01);
}

TEST_CASE("torchtitan, tensor parallelism with a divided loss") {
  const auto e = titan([](const headroom::job& j) { return j.parallel.tensor > 1 && j.framework.date >= 202504; });
  REQUIRE(e.sizes.size() == 3);
  CHECK(e.largest() <= 0.0155);
}

TEST_CASE("torchtitan, head and loss in chunks") {
  const auto e = titan([](const headroom::job& j) { return j.framework.loss.style == headroom::loss_style::chunked_head; });
  REQUIRE(e.sizes.size() == 3);
  CHECK(e.largest() <= 0.015);
}

}  // namespace test_torchtitan
