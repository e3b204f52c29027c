// Distributed under the Boost Software License, Version 1.0.
// torchtitan's mixture of experts, counted by hand from its models/moe.py and distributed/expert_parallel.py. t tokens, h hidden, e experts,
// k of them active, f wide, g the shared one; n = t·k routed copies.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_grouped_experts {

using namespace headroom;

namespace {

constexpr std::int64_t t = 2048, h = 512, e = 16, k = 4, f = 256, g = 512, n = t * k;

job experts(std::int64_t ranks = 1) {
  job j;
  j.model = {.layers = 2, .hidden = h, .heads = 8, .ffn = 1024, .vocab = 1000};
  j.model.experts = {.count = e, .active = k, .ffn = f, .shared = 1, .shared_ffn = g};
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8};
  j.framework = frameworks::torchtitan_202508;
  j.parallel = {.data = 8, .expert = ranks};
  j.sharding = fsdp2();
  j.batch = {.micro = 2, .sequence = t / 2};
  return j;
}

bytes saved(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_forward(grouped_experts_block(sc, trained_modules(j, 0), true, 4)).saved;
}

// The norm (one kernel) keeps its input and 4 bytes a row; its result is what router and shared expert read. Scores in fp32, top-k's
// numbers and the order of the sorted copies in int64, their scores in fp32. Sorted copies, SwiGLU's four tensors of each expert, and the
// experts' results in fp32, for the gradient of the scores. The shared expert's four.
constexpr std::int64_t everything = 2 * t * h + 4 * t + 2 * t * h + 4 * t * e + 2 * 8 * n + 4 * n + 2 * n * h + 4 * 2 * n * f + 4 * n * h + 4 * 2 * t * g;

}  // namespace

TEST_CASE("the sparse half of a layer, kept whole") {
  CHECK(saved(experts()).count() == everything);
  CHECK(saved(experts(8)).count() == everything);  // an even share of the copies comes back from the other ranks
  for (const std::int64_t ranks : {2, 8}) {  // half as many copies again come to a busy rank: what is sorted and what its experts make grows, what goes back does not
    auto busy = experts(ranks);
    busy.parallel.expert_imbalance_percent = 150;
    CHECK(saved(busy).count() == everything + (2 * h + 4 * 2 * f) * n / 2);
  }
}

// Four matrices were multiplied before (query, both of keys and values, output): of the shared expert's three the first and the third
// are the fifth and the seventh of the layer, whose results are kept. The router's is not counted, grouped ones are no aten.mm; both
// all-to-alls are kept.
TEST_CASE("the sparse half of a layer under a selective checkpoint") {
  auto j = experts();
  j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::every_other_matmul};
  CHECK(saved(j).count() == 2 * t * g + 2 * t * h);
  j.parallel.expert = 8;
  CHECK(saved(j).count() == 2 * t * g + 2 * t * h + 2 * 2 * n * h);
}

// Experts that are divided over ranks are held whole by one, gathered by none: a layer's unit loses them, its states do not.
TEST_CASE("states and units under expert parallelism") {
  const auto j = experts(), divided = experts(8);
  CHECK(states(j).gpu[row::optimizer_state] == states(divided).gpu[row::optimizer_state]);
  CHECK(states(j).unit.count() - states(divided).unit.count() == e / 8 * 7 * 3 * h * f);
}

TEST_CASE("what is refused") {
  auto j = experts(8);
  j.parallel.tensor = 2;
  j.parallel.data = 4;
  CHECK_THROWS_AS(estimate(j), job_error);
  j = experts(8);
  j.sharding = ddp();
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("fsdp2"), job_error);
  CHECK_NOTHROW(estimate(experts(8)));
}

}  // namespace test_grouped_experts
