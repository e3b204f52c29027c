// Distributed under the Boost Software License, Version 1.0.
// Small things written out one by one: the lengths of a histogram's samples, and which trainer runs which method over Megatron's layers.
#include "dice.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace test_by_the_sample {

using namespace headroom;

namespace {

/// Every sample of a histogram whose buckets hold as many of each of their lengths, cut at a limit or left out beyond it.
std::vector<std::int64_t> samples_of(const sample_lengths& all, std::int64_t limit) {
  std::vector<std::int64_t> r;
  for (std::int32_t i = 0; i < all.buckets; ++i) {
    const auto& b = all.histogram[static_cast<std::size_t>(i)];
    const auto each = b.samples / (b.to - b.from + 1);
    for (std::int64_t length = b.from; length <= b.to; ++length)
      for (std::int64_t n = 0; n < each; ++n) {
        if (length <= limit) r.push_back(length);
        else if (all.longer == longer_samples::truncated) r.push_back(limit);
      }
  }
  return r;
}

}  // namespace

TEST_CASE("the lengths of a histogram are those of its samples, one by one") {
  draw::dice dice(20261207);
  for (int n = 0; n < 400; ++n) {
    sample_lengths all;
    all.longer = dice.flip() ? longer_samples::truncated : longer_samples::deleted;
    std::int32_t from = 1;
    all.buckets = static_cast<std::int32_t>(1 + dice.index(4));
    for (std::int32_t i = 0; i < all.buckets; ++i) {
      auto& b = all.histogram[static_cast<std::size_t>(i)];
      from += static_cast<std::int32_t>(dice.index(5));
      b.from = from;
      b.to = from + static_cast<std::int32_t>(dice.index(7));
      b.samples = (b.to - b.from + 1) * dice.pick({1, 2, 5});
      from = b.to + 1;
    }
    const auto limit = static_cast<std::int64_t>(1 + dice.index(40));
    const auto those = samples_of(all, limit);
    double lengths = 0, squares = 0;
    for (const auto l : those) lengths += static_cast<double>(l), squares += static_cast<double>(l * l);
    CAPTURE(n);
    CAPTURE(limit);
    CHECK(all.of_a_token(limit) == doctest::Approx(those.empty() ? 0 : squares / lengths));
    const auto longest = those.empty() ? 0 : *std::max_element(those.begin(), those.end());
    if (all.longer == longer_samples::deleted)
      CHECK(all.longest_within(limit) == longest);
    else
      CHECK(all.longest_within(limit) == (all.longest() < limit ? all.longest() : limit));
  }
  const sample_lengths normal{.mean = 300, .deviation = 400, .most = 4000};
  CHECK(normal.of_a_token(4096) == doctest::Approx((300.0 * 300 + 400.0 * 400) / 300));
  CHECK(normal.of_a_token(500) == doctest::Approx(500));
}

// ms-swift swift/megatron/trainers (dpo, kto, and of the present release grpo, reward, embedding, reranker trainers, a classifier's head); verl/workers/megatron_workers.py;
// nemo_rl/algorithms/{sft,dpo,grpo}.py over nemo_rl/models/policy/workers/megatron_policy_worker.py.
TEST_CASE("which trainer runs which method over Megatron's layers") {
  using enum method_code;
  using kind = objective_kind;
  const std::set<std::pair<method_code, kind>> runs = {
      {ms_swift_megatron, kind::dpo}, {ms_swift_megatron, kind::kto}, {ms_swift_megatron, kind::reward}, {ms_swift_megatron, kind::classification}, {ms_swift_megatron, kind::embedding}, {ms_swift_megatron, kind::grpo},
      {ms_swift_megatron_3_12, kind::dpo}, {ms_swift_megatron_3_12, kind::kto}, {ms_swift_megatron_3_8, kind::dpo}, {ms_swift_megatron_3_8, kind::kto}, {verl, kind::grpo}, {verl, kind::rloo}, {nemo_rl, kind::sft}, {nemo_rl, kind::dpo}, {nemo_rl, kind::grpo}};
  for (int code = 0; code <= static_cast<int>(medicalgpt); ++code)
    for (int of = 0; of <= static_cast<int>(kind::rloo); ++of) {
      CAPTURE(code);
      CAPTURE(of);
      objective o;
      o.code = static_cast<method_code>(code), o.kind = static_cast<kind>(of);
      CHECK(detail::models_divided(o) == (runs.count({o.code, o.kind}) == 1));
      o.generative = true;
      CHECK(detail::models_divided(o) == (runs.count({o.code, o.kind}) == 1 || (o.code == ms_swift_megatron && o.kind == kind::rerank)));
    }
}

}  // namespace test_by_the_sample
