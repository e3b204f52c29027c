// Distributed under the Boost Software License, Version 1.0.
// Jobs with more kinds of rank than a report holds: what is kept, and that what is said of all of them is right.
#include "both.hpp"

#include <headroom/full_report.hpp>
#include <headroom/headroom.hpp>

#include <algorithm>
#include <set>

namespace test_many_ranks {

using namespace headroom;
using namespace headroom::literals;

namespace {

/// Stages of one layer each.
constexpr job piped(std::int64_t stages) {
  job j{.model = models::llama_3_1_70b,
        .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = stages, .gpus_per_node = 8},
        .framework = frameworks::megatron,
        .parallel = {.tensor = 8, .pipeline = stages},
        .batch = {.micro = 1, .sequence = 4096, .accumulation = stages}};
  j.model.layers = stages;
  return j;
}

/// Eight hand-made kinds and more: what each occupies.
report of(std::initializer_list<std::pair<bytes, bytes>> device_and_capacity) {
  report r;
  for (const auto& [device, capacity] : device_and_capacity) {
    const auto stage = r.kinds;
    auto& k = r.add();
    k.pipeline_stage = stage;
    k.allocated = k.active = k.reserved = k.device = device;
    k.capacity = capacity;
  }
  return r;
}

std::set<std::int64_t> stages_of(const report& r) {
  std::set<std::int64_t> all;
  for (const auto& rank : r) all.insert(rank.pipeline_stage);
  return all;
}

}  // namespace

static_assert(sizeof(report) < 11 * 1024);

TEST_CASE("a report says of 128 stages what all of them say") {
  for (const std::int64_t stages : {1, 2, 8, 9, 16, 65, 128}) {
    CAPTURE(stages);
    const auto j = piped(stages);
    const auto all = estimate_all(j);
    const auto r = estimate(j);
    CHECK(all.size == stages);
    CHECK(all.kinds == stages);
    CHECK(r.kinds == stages);
    CHECK(r.size == std::min<std::int64_t>(stages, 8));
    for (std::size_t i = 0; i < all.ranks.size(); ++i) CHECK(all.ranks[i].pipeline_stage == static_cast<std::int64_t>(i));
    CHECK(r.tightest() == all.tightest());
    CHECK(r.fits() == all.fits());
    CHECK(r.staged() == all.staged());
    CHECK(r.ranks[0] == all.ranks[0]);
    CHECK(r.last() == all.last());
    CHECK(r.host == all.host);
    CHECK(r.assumptions == all.assumptions);
    CHECK((r == report{all}));
    CHECK((r == all) == (stages <= 8));
    const auto most = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.allocated < b.allocated; })->allocated;
    CHECK(std::any_of(r.begin(), r.end(), [&](const auto& rank) { return rank.allocated == most; }));
    CHECK(std::is_sorted(r.begin(), r.end(), [](const auto& a, const auto& b) { return a.pipeline_stage < b.pipeline_stage; }));
  }
}

TEST_CASE("at compile time as well") {
  constexpr auto nine = estimate(piped(9));
  BOTH(nine.kinds == 9);
  BOTH(nine.size == 8);
  BOTH(nine.tightest().pipeline_stage == 0);
}

TEST_CASE("every kind of rank is visited once") {
  const auto all = estimate_all(piped(20));
  std::size_t i = 0;
  const auto r = for_each_rank(piped(20), [&](const rank_report& rank) {
    REQUIRE(i < all.ranks.size());
    CHECK(rank == all.ranks[i++]);
  });
  CHECK(i == all.ranks.size());
  CHECK((r == estimate(piped(20))));
}

TEST_CASE("the first, the last, the tightest and the largest stay; of the others the first do") {
  // The tightest is small, on a small GPU; the largest has room.
  const auto r = of({{1_GiB, 80_GiB}, {2_GiB, 80_GiB}, {3_GiB, 80_GiB}, {4_GiB, 80_GiB}, {5_GiB, 80_GiB}, {6_GiB, 80_GiB}, {7_GiB, 80_GiB}, {1_GiB, 80_GiB},
                     {3_GiB, 4_GiB}, {60_GiB, 100_GiB}, {2_GiB, 80_GiB}, {2_GiB, 80_GiB}, {2_GiB, 80_GiB}});
  CHECK(r.kinds == 13);
  CHECK(stages_of(r) == std::set<std::int64_t>{0, 1, 2, 3, 4, 8, 9, 12});
  CHECK(r.tightest().pipeline_stage == 8);
  CHECK(r.headroom() == 1_GiB);
  CHECK(r.last().pipeline_stage == 12);
  // Of equals the first is the tightest.
  const auto same = of({{1_GiB, 8_GiB}, {1_GiB, 8_GiB}, {1_GiB, 8_GiB}, {1_GiB, 8_GiB}, {1_GiB, 8_GiB}, {1_GiB, 8_GiB}, {1_GiB, 8_GiB}, {1_GiB, 8_GiB}, {1_GiB, 8_GiB}});
  CHECK(stages_of(same) == std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 8});
  CHECK(same.tightest().pipeline_stage == 0);
}

TEST_CASE("ranks that a report does not hold are judged for sure, too, and never by too little") {
  // The one that goes has 10 GiB left and nothing but NCCL's buffers, which may be 60 % larger.
  full_report all;
  for (int i = 0; i < 12; ++i) {
    auto& k = all.add();
    k.device = 1_GiB;
    k.capacity = i == 9 ? 11_GiB : 2_GiB;
    if (i == 9) k.outside.nccl = 10_GiB;
  }
  all.assumptions.add(assumption::nccl_derived);
  const report r = all;
  CHECK(r.kinds == 12);
  CHECK(std::none_of(r.begin(), r.end(), [](const auto& rank) { return rank.outside.nccl > bytes{0}; }));
  CHECK(r.others.least_headroom == 1_GiB);
  CHECK(r.others.largest[static_cast<std::size_t>(error_base::nccl)] == 10_GiB);
  CHECK(r.fits());
  CHECK_FALSE(fits(all, 0.95));
  CHECK_FALSE(fits(r, 0.95));
  all.ranks[9].outside.nccl = bytes{0};
  CHECK(fits(all, 0.95));
  CHECK(fits(report{all}, 0.95));
  // Whatever the report says for sure holds for all.
  for (const std::int64_t stages : {9, 16, 64})
    for (const auto* g : {&gpus::h100_sxm_80gb, &gpus::a100_sxm_40gb, &gpus::l40s}) {
      auto j = piped(stages);
      j.hardware.gpu = *g;
      const auto whole = estimate_all(j);
      for (const double sure : {0.5, 0.9, 0.99})
        if (fits(estimate(j), sure)) CHECK(fits(whole, sure));
    }
}

TEST_CASE("only the last stage has a loss") {
  const auto all = estimate_all(piped(4));
  for (const auto& rank : all) {
    CHECK(rank.has(phase::loss_forward) == (rank.pipeline_stage == 3));
    for (const auto p : {phase::load, phase::forward, phase::backward, phase::step, phase::save}) CHECK(rank.has(p));
    for (int p = 0; p < phase_count; ++p) CHECK(rank.has(static_cast<phase>(p)) == (rank[static_cast<phase>(p)] > bytes{0}));
  }
}

TEST_CASE("the layers of up to 256 chunks can be given") {
  for (const std::int64_t stages : {65, 96, 256}) {
    auto j = piped(stages), even = j;
    j.parallel.chunks = static_cast<std::int32_t>(stages);
    for (std::int64_t i = 0; i < stages; ++i) j.parallel.stage_layers[i] = 1;
    CHECK((estimate_all(j).ranks == estimate_all(even).ranks));
    j.parallel.stage_layers[stages - 1] = 2;
    CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("parallel.stage_layers must add up to model.layers"), job_error);
    ++j.model.layers;
    const auto more = estimate_all(j);
    CHECK(more.last().at_peak[row::model_parameters] > estimate_all(even).last().at_peak[row::model_parameters]);
    const auto before = static_cast<std::size_t>(stages) - 2;
    CHECK(more.ranks[before] == estimate_all(even).ranks[before]);
  }
}

TEST_CASE("a layer count is a number of two bytes") {
  layer_count n = 7;
  ++n;
  n += 2;
  --n;
  CHECK(n == 9);
  CHECK(sizeof(n) == 2);
  CHECK_THROWS_WITH_AS(layer_count{-1}, doctest::Contains("stage_layers must be from 0 to 65535"), job_error);
  CHECK_THROWS_WITH_AS(layer_count{65'536}, doctest::Contains("stage_layers must be from 0 to 65535"), job_error);
}

}  // namespace test_many_ranks
