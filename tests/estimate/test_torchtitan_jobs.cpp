// Distributed under the Boost Software License, Version 1.0.
// What must hold for every job of torchtitan: over many drawn at random, from the same seed each time.
#include <headroom/headroom.hpp>

#include <headroom/framework/frameworks.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace headroom;

namespace {

class jobs {
 public:
  job draw() {
    job j;
    auto& m = j.model;
    m.heads = pick({8, 16, 32});
    m.kv_heads = pick({8, m.heads});
    m.hidden = m.heads * pick({32, 64});
    m.layers = pick({1, 2, 5, 24});
    m.ffn = m.hidden * pick({2, 3});
    m.vocab = pick({1024, 50'304});
    m.tied = flip();
    m.qk_norm = flip();
    m.max_positions = 8192;
    j.framework = pick_profile();
    j.compile = flip();
    auto& p = j.parallel;
    p.tensor = pick({1, 1, 2, 8});
    p.sequence = p.tensor > 1 && flip();
    p.context = pick({1, 1, 2});
    p.context_kind = flip() ? context_kind::ring : context_kind::all_gather;
    p.data = pick({2, 8});
    p.replicate = pick({1, 1, 2});
    j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = p.data * p.tensor * p.context, .gpus_per_node = 1};
    j.sharding = fsdp2();
    if (flip()) j.sharding.reshard_after_forward = choice::no;
    j.batch = {.micro = pick({1, 2, 8}), .sequence = pick({512, 2048}), .accumulation = pick({1, 1, 4})};
    switch (pick({0, 1, 2, 3})) {
      case 0: break;
      case 1: j.recompute = headroom::recompute::full; break;
      case 2: j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = pick({1, 3})}; break;
      default: j.recompute = {.mode = recompute_mode::selective, .policy = flip() ? recompute_policy::every_other_matmul : recompute_policy::attention_only}; break;
    }
    j.optimizer.how = static_cast<implementation>(pick({0, 1, 2}));
    return j;
  }
  std::int64_t pick(std::initializer_list<std::int64_t> of) { return *(of.begin() + index(of.size())); }
  std::size_t index(std::size_t n) { return std::uniform_int_distribution<std::size_t>{0, n - 1}(random_); }
  bool flip() { return index(2) == 1; }
  const profile& pick_profile() {
    const profile* all[] = {&frameworks::torchtitan_202404, &frameworks::torchtitan_202504, &frameworks::torchtitan_202508, &frameworks::torchtitan_202607};
    return *all[index(4)];
  }

 private:
  std::mt19937_64 random_{20241226};
};

}  // namespace

TEST_CASE("rows add up, none is negative, and pools hold what is allocated") {
  jobs draw;
  for (int i = 0; i < 20'000; ++i) {
    const auto j = draw.draw();
    const auto r = estimate(j);
    const auto& k = r.tightest();
    REQUIRE(k.at_peak.total() == k.allocated);
    REQUIRE(k.allocated <= k.reserved);
    REQUIRE(k.reserved <= k.device);
    for (const auto& p : k.at_phase)
      for (const auto b : p.rows) REQUIRE(b >= bytes{0});
  }
}

TEST_CASE("more work never takes less, more ranks never take more") {
  jobs draw;
  for (int i = 0; i < 20'000; ++i) {
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
