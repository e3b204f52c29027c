// Distributed under the Boost Software License, Version 1.0.
// What fragmentation may take at most, added up on paper; who is replayed; and whom a confidence changes the verdict for.
#include <headroom/decide.hpp>
#include <headroom/headroom.hpp>
#include <headroom/model/inventory.hpp>
#include <headroom/solve/solve.hpp>

#include <doctest/doctest.h>

namespace test_fragmentation {

using namespace headroom;
using namespace headroom::literals;

namespace {

/// Llama-3.1-8B: 32 layers, 291 tensors (model.safetensors.index.json).
job llama(choice expandable) {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .batch = {.micro = 1, .sequence = 4096}};
  j.environment.expandable_segments = expandable;
  return j;
}
/// So much comes and goes in forward, and in the update, beside what stays.
rank_report rank(bytes activations, bytes logits, bytes update, bytes stays) {
  rank_report r{};
  r.capacity = 80_GiB;
  auto& forward = r.at_phase[static_cast<std::size_t>(phase::forward)];
  forward[row::activations] = activations;
  forward[row::logits] = logits;
  auto& step = r.at_phase[static_cast<std::size_t>(phase::step)];
  step[row::temporaries] = update;
  step[row::model_parameters] = stays;
  return r;
}
bytes most(choice expandable, const rank_report& r) { return most_fragmentation(llama(expandable), weights_of(models::llama_3_1_8b), r); }

}  // namespace

TEST_CASE("segments of a fixed size: what comes and goes once more, 2 MiB for each tensor of a weight, and a stream's last two") {
  // 4 × 291 tensors × 2 MiB = 2328 MiB.
  CHECK(most(choice::no, rank(3_GiB, 1_GiB, 0_GiB, 45_GiB)) == 4096_MiB + 2328_MiB + 22_MiB);
  CHECK(most(choice::no, rank(3_GiB, 1_GiB, 6_GiB, 45_GiB)) == 6144_MiB + 2328_MiB + 22_MiB);
  CHECK(most(choice::no, rank(3_GiB, 1_GiB, 0_GiB, 1_GiB)) == 4096_MiB + 1024_MiB + 22_MiB);
}

TEST_CASE("segments that expand: two rooms of less than two pages in a layer, and the last pages of a stream's two segments") {
  // 4 × 32 layers × 20 MiB = 2560 MiB.
  CHECK(most(choice::yes, rank(3_GiB, 1_GiB, 0_GiB, 45_GiB)) == 2560_MiB + 22_MiB);
  CHECK(most(choice::yes, rank(100_MiB, 0_MiB, 0_MiB, 45_GiB)) == 100_MiB + 22_MiB);
  // Weights that are gathered, and gradients that are reduced, have streams of their own.
  for (const auto& cut : {fsdp1(), fsdp1(2), fsdp2(), zero(3), zero(2)}) {
    auto j = llama(choice::yes);
    j.sharding = cut;
    const auto added = [&] { return most_fragmentation(j, weights_of(models::llama_3_1_8b), rank(100_MiB, 0_MiB, 0_MiB, 45_GiB)) - 100_MiB; };
    CHECK(added() == (cut == zero(2) ? 1 : 3) * 22_MiB);
    j.offload.optimizer = place::on_cpu;
    CHECK(added() == (cut == zero(2) ? 1 : 4) * 22_MiB);
  }
}

TEST_CASE("a stack of any depth is one to replay, and whether that is begun is said by its size") {
  auto j = llama(choice::no);
  j.model.layers = 1025;
  CHECK(replays(j));
  CHECK_FALSE(replay_size_of(j).too_long());
  j.model.layers = 65'536;
  CHECK(replays(j));
  CHECK(replay_size_of(j).too_long());
}

TEST_CASE("a replay is asked for where the widest range leaves the answer open, whatever confidence is asked for") {
  auto r = estimate(llama(choice::no));
  r.ranks[0].fragmentation = bytes{0};  // the ranges decide
  const auto half = bounds(r, confidence{0.5}).high, widest = bounds(r, confidence{0.999}).high;
  REQUIRE(half < widest);
  r.ranks[0].capacity = bytes{(half.count() + widest.count()) / 2};
  REQUIRE(fits(r, confidence{0.5}));
  CHECK_FALSE(is_decided(r, confidence{0.5}));
  r.ranks[0].capacity = widest;  // a replay has errors of its own
  CHECK_FALSE(is_decided(r, confidence{0.5}));
  r.ranks[0].capacity = 2 * widest - r.ranks[0].device;
  CHECK(is_decided(r, confidence{0.5}));
  CHECK_FALSE(is_decided(r, confidence{0.999}));
  r.ranks[0].capacity = r.ranks[0].device - r.ranks[0].surplus - 1_MiB;  // no replay makes it fit
  CHECK(is_decided(r));
  CHECK(is_decided(r, confidence{0.5}));
}

TEST_CASE("who asks for more confidence is given a smaller batch") {
  job j{.model = models::llama_3_2_1b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .batch = {.micro = 1, .sequence = 2048}};
  const auto exact = solve(j, unknowns::micro_batch, decided{}), sure = solve(j, unknowns::micro_batch, decided{confidence{0.999}});
  CHECK(sure.value < exact.value);
  CHECK(decided{confidence{0.999}}(sure.job));
  CHECK_FALSE(decided{confidence{0.999}}(exact.job));
}

}  // namespace test_fragmentation
