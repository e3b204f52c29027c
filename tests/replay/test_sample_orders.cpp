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
  CHECK(share({.mean = 2, .deviation = 5, .most = 1}, 1) == 1);
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

namespace {

/// transformers' get_length_grouped_indices over samples that have been shuffled: lists of lists, as its Python has them.
numbers grouped_by_hand(const numbers& shuffled, std::size_t batch_size) {
  const std::size_t mult = std::max<std::size_t>(std::min<std::size_t>(shuffled.size() / (batch_size * 4), 50), 1);
  std::vector<numbers> lists;
  for (std::size_t i = 0; i < shuffled.size(); ++i) {
    if (i % (mult * batch_size) == 0) lists.emplace_back();
    lists.back().push_back(shuffled[i]);
  }
  std::size_t longest = 0;
  for (auto& l : lists) std::sort(l.rbegin(), l.rend());
  for (std::size_t i = 0; i < lists.size(); ++i)
    if (lists[i][0] > lists[longest][0]) longest = i;
  std::swap(lists[0][0], lists[longest][0]);
  numbers r;
  for (const auto& l : lists) r.insert(r.end(), l.begin(), l.end());
  return r;
}

/// Every sample of a histogram whose buckets have as many samples as lengths, or a multiple of that.
numbers every_sample(const sample_lengths& l) {
  numbers r;
  for (std::size_t i = 0; i < static_cast<std::size_t>(l.buckets); ++i) {
    const auto& b = l.histogram[i];
    for (std::int64_t n = b.from; n <= b.to; ++n) r.insert(r.end(), static_cast<std::size_t>(b.samples / (b.to - b.from + 1)), n);
  }
  return r;
}

}  // namespace

TEST_CASE("chance is SplitMix64's, which is the same everywhere") {
  // The first numbers from 1234567 on, as they are published for tests of SplitMix64: 6457827717110365317, 3203168211198807973,
  // 9817491932198370423, 4593380528125082431, 16408922859458223821. Their remainders by 6, 5, 4, 3 and 2: 3, 3, 3, 1 and 1.
  batch b{.micro = 1, .sequence = 64, .lengths = {.mean = 10, .deviation = 5}};
  CHECK(micro_batches_in_order(b, {10, 20, 30, 40, 50, 60}, 1234567) == numbers{10, 30, 20, 50, 60, 40});
}

TEST_CASE("grouped as transformers groups, whatever the sizes") {
  batch b{.sequence = 4096, .lengths = {.mean = 10, .deviation = 5}};
  for (const std::int64_t micro : {1, 2, 3})
    for (const std::int64_t accumulation : {1, 2, 5})
      for (const std::size_t count : {1U, 7U, 30U, 61U, 499U, 1203U}) {
        b.micro = micro;
        b.accumulation = accumulation;
        numbers samples(count);
        std::iota(samples.begin(), samples.end(), 1);
        auto one = b;
        one.micro = 1;
        one.lengths.order = sample_order::shuffled;
        const auto expected = grouped_by_hand(micro_batches_in_order(one, samples, 11), static_cast<std::size_t>(micro * accumulation));
        b.lengths.order = sample_order::grouped;
        const auto got = micro_batches_in_order(b, samples, 11);
        REQUIRE(got.size() == (count + static_cast<std::size_t>(micro) - 1) / static_cast<std::size_t>(micro));
        for (std::size_t i = 0; i < got.size(); ++i) {
          const auto first = expected.begin() + static_cast<std::ptrdiff_t>(i * static_cast<std::size_t>(micro));
          CHECK(got[i] == *std::max_element(first, std::min(first + micro, expected.end())));
        }
      }
}

TEST_CASE("typical samples are those that lie there when all are written down") {
  const sample_lengths lists[] = {{.histogram = {{{1, 1, 3}, {2, 5, 8}, {7, 9, 30}}}, .buckets = 3, .longer = longer_samples::truncated},
                                  {.histogram = {{{4, 11, 16}, {12, 12, 5}, {100, 103, 4}, {200, 200, 1}}}, .buckets = 4, .longer = longer_samples::truncated},
                                  {.histogram = {{{33, 64, 320}}}, .buckets = 1, .longer = longer_samples::truncated}};
  for (auto l : lists)
    for (const auto longer : {longer_samples::truncated, longer_samples::deleted})
      for (const std::int64_t limit : {5, 8, 12, 40, 101, 1000})
        for (const std::int64_t count : {1, 2, 3, 7, 11}) {
          l.longer = longer;
          if (l.longest_within(limit) == 0) continue;
          auto all = every_sample(l);
          if (longer == longer_samples::deleted) all.erase(std::upper_bound(all.begin(), all.end(), limit), all.end());
          if (all.empty()) continue;
          for (auto& n : all) n = std::min(n, limit);
          const auto squares = std::accumulate(all.begin(), all.end(), 0.0, [](double sum, std::int64_t n) { return sum + static_cast<double>(n) * static_cast<double>(n); });
          CHECK(l.of_a_token(limit) == doctest::Approx(squares / std::accumulate(all.begin(), all.end(), 0.0)).epsilon(1e-12));
          const auto got = typical_samples(of(l, limit), count);
          REQUIRE(got.size() == static_cast<std::size_t>(count));
          CHECK(got.back() == all.back());
          const auto n = static_cast<std::int64_t>(all.size());
          for (std::int64_t i = 0; i + 1 < count; ++i) {
            const auto twice = (2 * i + 1) * n;  // of 2 × count shares; where that is a whole number of samples, either side is the middle
            if (twice % (2 * count) != 0) CHECK(got[static_cast<std::size_t>(i)] == all[static_cast<std::size_t>(twice / (2 * count))]);
          }
        }
}

}  // namespace test_sample_orders
