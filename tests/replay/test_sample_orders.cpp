// Distributed under the Boost Software License, Version 1.0.
// Distributions of lengths at their ends, and orders of few samples, by hand.
#include <headroom/replay/sample_orders.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace test_sample_orders {

using namespace headroom;
using numbers = std::vector<std::int64_t>;

namespace {

double share(const sample_lengths& l, std::int64_t length) { return detail::length_distribution(l).share(length); }
batch of(const sample_lengths& l, std::int64_t sequence = 1 << 20) { return {.sequence = sequence, .lengths = l}; }

}  // namespace

TEST_CASE("shares of a log-normal distribution, cut at both ends") {
  // sigma² = ln(1.25), mu = ln(10) - sigma² / 2; up to 8.5 of what lies between 5.5 and 12.5 (computed with Python's statistics.NormalDist).
  CHECK(share({.mean = 10, .deviation = 5}, 8) == doctest::Approx(0.45705659063576937).epsilon(1e-9));
  CHECK(share({.mean = 10, .deviation = 5, .most = 12}, 8) == doctest::Approx(0.6008331684479699).epsilon(1e-9));
  CHECK(share({.mean = 10, .deviation = 5, .least = 6}, 8) == doctest::Approx(0.3600024974330042).epsilon(1e-9));
  CHECK(share({.mean = 10, .deviation = 5, .least = 6, .most = 12}, 8) == doctest::Approx(0.5014456032433475).epsilon(1e-9));
  CHECK(share({.mean = 10, .deviation = 5, .least = 1}, 8) == share({.mean = 10, .deviation = 5}, 8));  // 1 cuts nothing off
  CHECK(share({.mean = 10, .deviation = 5, .least = 6, .most = 12}, 5) == 0);
  CHECK(share({.mean = 10, .deviation = 5, .least = 6, .most = 12}, 13) == 1);
}

TEST_CASE("without a deviation all are as long as the mean") {
  const sample_lengths l{.mean = 100, .deviation = 0, .most = 100, .longer = longer_samples::truncated};
  CHECK(share(l, 99) == 0);
  CHECK(share(l, 100) == 1);
  CHECK(typical_samples(of(l), 3) == numbers{100, 100, 100});
}

TEST_CASE("a histogram spreads each bucket evenly") {
  const sample_lengths l{.histogram = {{{1, 10, 4}, {11, 14, 12}}}, .buckets = 2};
  CHECK(share(l, 5) == doctest::Approx(2.0 / 16));
  CHECK(share(l, 10) == doctest::Approx(4.0 / 16));
  CHECK(share(l, 12) == doctest::Approx(10.0 / 16));
  CHECK(share(l, 14) == 1);
  CHECK(typical_samples(of(l), 0).empty());
}

TEST_CASE("the longest that is left within a limit") {
  sample_lengths l{.histogram = {{{1, 10, 4}, {20, 30, 12}}}, .buckets = 2};
  CHECK(l.longest() == 30);
  CHECK(l.longest_within(40) == 30);
  CHECK(l.longest_within(25) == 25);
  CHECK(l.longest_within(15) == 15);  // truncated: the second bucket's are as long as that
  l.longer = longer_samples::deleted;
  CHECK(l.longest_within(40) == 30);
  CHECK(l.longest_within(25) == 25);
  CHECK(l.longest_within(20) == 20);
  CHECK(l.longest_within(19) == 10);
  CHECK(l.longest_within(0) == 0);
  CHECK(sample_lengths{.mean = 5}.longest_within(40) == 40);
  CHECK(sample_lengths{.mean = 5, .most = 30}.longest_within(40) == 30);
  CHECK(l.padded(13) == 13);
  l.pad_to_multiple = 8;
  CHECK(l.padded(13) == 16);
  CHECK(l.padded(16) == 16);
}

TEST_CASE("groups of few samples: a fourth of them, or a step's") {
  batch b{.micro = 1, .sequence = 4096, .accumulation = 2, .lengths = {.mean = 10, .deviation = 5, .order = sample_order::grouped}};
  numbers samples(32);
  std::iota(samples.begin(), samples.end(), 1);
  // 32 / (2 × 4) = 4 steps: groups of 8, of which each falls; and the longest of all goes to the front for the first one's sake.
  for (std::uint64_t n = 0; n < 5; ++n) {
    const auto r = micro_batches_in_order(b, samples, n);
    REQUIRE(r.size() == 32);
    CHECK(r[0] == 32);
    int rises = 0;
    for (std::size_t i = 1; i < 32; ++i) {
      if (i % 8 == 0) rises += r[i] > r[i - 1] ? 1 : 0;
      else if (i > 1 && r[i] != *std::max_element(r.begin() + static_cast<std::ptrdiff_t>(i / 8 * 8), r.begin() + static_cast<std::ptrdiff_t>(i / 8 * 8 + 8)) && r[i - 1] <= r[i]) FAIL("a group rises");
    }
    CHECK(rises >= 2);  // groups begin anew
    auto sorted = r;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == samples);
  }
  // Fewer than four steps: one step a group.
  b.accumulation = 16;
  const auto r = micro_batches_in_order(b, samples, 1);
  CHECK(r[0] == 32);
  CHECK(std::is_sorted(r.begin() + 17, r.end(), std::greater<>{}));
}

TEST_CASE("the last micro-batch may have fewer samples") {
  const batch b{.micro = 2, .sequence = 4096, .lengths = {.mean = 10, .deviation = 5, .order = sample_order::sorted}};
  CHECK(micro_batches_in_order(b, {1, 2, 3}, 0) == numbers{2, 3});
  CHECK(micro_batches_in_order(b, {1, 2, 3, 4}, 0) == numbers{2, 4});
}

}  // namespace test_sample_orders
