// Distributed under the Boost Software License, Version 1.0.
// What must hold for every job of torchtitan: over many drawn at random, from the same seed each time.
#include "add_up.hpp"
#include "dice.hpp"

#include <headroom/headroom.hpp>

#include <headroom/framework/frameworks.hpp>

#include <doctest/doctest.h>

namespace test_torchtitan_jobs {

using namespace headroom;

namespace {

class jobs {
 public:
  job draw() {
    job j;
    auto& m = j.model;
    m.heads = dice_.pick({8, 16, 32});
    m.kv_heads = dice_.pick({8, m.heads});
    m.hidden = m.heads * dice_.pick({32, 64});
    m.layers = dice_.pick({1, 2, 5, 24});
    m.ffn = m.hidden * dice_.pick({2, 3});
    m.vocab = dice_.pick({1024, 50'304});
    m.tied = dice_.flip();
    m.qk_norm = dice_.flip();
    m.max_positions = 8192;
    j.framework = pick_profile();
    j.compile = dice_.flip();
    auto& p = j.parallel;
    p.tensor = dice_.pick({1, 1, 2, 8});
    p.sequence = p.tensor > 1 && dice_.flip();
    p.context = dice_.pick({1, 1, 2});
    p.context_kind = dice_.flip() ? context_kind::ring : context_kind::all_gather;
    p.data = dice_.pick({2, 8});
    p.replicate = dice_.pick({1, 1, 2});
    j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = p.data * p.tensor * p.context, .gpus_per_node = 1};
    j.sharding = fsdp2();
    if (dice_.flip()) j.sharding.reshard_after_forward = choice::no;
    j.batch = {.micro = dice_.pick({1, 2, 8}), .sequence = dice_.pick({512, 2048}), .accumulation = dice_.pick({1, 1, 4})};
    switch (dice_.pick({0, 1, 2, 3})) {
      case 0: break;
      case 1: j.recompute = headroom::recompute::full; break;
      case 2: j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = dice_.pick({1, 3})}; break;
      default: j.recompute = {.mode = recompute_mode::selective, .policy = dice_.flip() ? recompute_policy::every_other_matmul : recompute_policy::attention_only}; break;
    }
    j.optimizer.how = static_cast<implementation>(dice_.pick({0, 1, 2}));
    return j;
  }
  const profile& pick_profile() {
    const profile* all[] = {&frameworks::torchtitan_202404, &frameworks::torchtitan_202504, &frameworks::torchtitan_202508, &frameworks::torchtitan_202607};
    return *all[dice_.index(4)];
  }

 private:
  draw::dice dice_{20241226};
};

}  // namespace

TEST_CASE("rows add up, none is negative, and pools hold what is allocated") {
  jobs draw;
  for (int i = 0; i < draw::some(20'000); ++i) {
    const auto j = draw.draw();
    parts_add_up(j, estimate(j));
  }
}

TEST_CASE("more work never takes less, more ranks never take more") {
  jobs draw;
  for (int i = 0; i < draw::some(20'000); ++i) {
    const auto j = draw.draw();
    const auto base = estimate(j).tightest().allocated;
    auto larger = j;
    larger.batch.micro *= 2;
    REQUIRE(estimate(larger).tightest().allocated >= base);
    auto wider = j;
    wider.parallel.data *= 2;
    wider.hardware.nodes *= 2;
    REQUIRE(estimate(wider).tightest().allocated <= base);
    if (j.recompute.mode == recompute_mode::none) {
      auto again = j;
      again.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::attention_only};
      REQUIRE(estimate(again).tightest().allocated <= base);
    }
  }
}

// distributed/activation_checkpoint.py counts the layers of each part of the model: every n-th of a stage's own, whichever stage it is.
TEST_CASE("of each stage as many layers are recomputed") {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::torchtitan_202508, .parallel = {.data = 2, .pipeline = 4}, .sharding = fsdp2(),
        .batch = {.micro = 1, .sequence = 8192, .accumulation = 4}};
  const auto with = [&](const recompute& r) {
    j.recompute = r;
    return estimate(j);
  };
  const auto every = [](std::int64_t layers) { return recompute{.mode = recompute_mode::full, .method = recompute_method::block, .layers = layers}; };
  const auto none = with({}), half = with(every(16)), full = with(recompute::full);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CAPTURE(stage);
    CHECK(half.ranks[stage].allocated < none.ranks[stage].allocated);
    CHECK(half.ranks[stage].allocated > full.ranks[stage].allocated);
  }
  // Between the ends half of the layers save a layer's tensors, and half their inputs: the mean of all and none, but for the tallest moment of one layer.
  for (const std::size_t stage : {1U, 2U}) {
    const auto mean = static_cast<double>((none.ranks[stage].allocated + full.ranks[stage].allocated).count()) / 2;
    CHECK(static_cast<double>(half.ranks[stage].allocated.count()) == doctest::Approx(mean).epsilon(0.06));
  }
  const auto again = [&](std::int64_t layers, std::int64_t first, std::int64_t count) {
    j.recompute = every(layers);
    return detail::recomputed_of(settle(j), {first, count, false, false});
  };
  CHECK(again(16, 0, 8) == 4);
  CHECK(again(16, 24, 8) == 4);
  CHECK(again(10, 8, 8) == 2);   // every third of 8
  CHECK(again(10, 0, 32) == 10);
  CHECK(again(2, 8, 8) == 0);    // no 16th among 8
  CHECK(again(32, 8, 8) == 8);
}

}  // namespace test_torchtitan_jobs
