// Distributed under the Boost Software License, Version 1.0.
// Searches over models with an encoder or a vision tower: what a plan is ranked by is what estimate() and cost() say of its job.
#include <headroom/hardware/gpu.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/plan/judge.hpp>
#include <headroom/plan/untimed.hpp>

#include <doctest/doctest.h>

namespace test_side_stacks {

using namespace headroom;

TEST_CASE("plans of T5 and LLaVA have the peaks and times of their jobs") {
  for (const auto& [m, sequence] : {std::pair{models::t5_large, 512}, std::pair{models::llava_1_5_7b, 1024}}) {
    search s;
    s.job = {.model = m, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed};
    s.job.batch = {.micro = 1, .sequence = sequence};
    for (const std::string_view key : {"sharding", "recompute", "offload.optimizer"}) s.open |= std::uint32_t{1} << axes::find(key);
    s.open_micro = true;
    s.global_batch = 64;
    CHECK(untimed(s).empty());
    const auto found = plan(s, {.top = 5, .threads = 1});
    REQUIRE(found.best.size() == 5);
    bool again = false;
    for (const auto* list : {&found.best, &found.front})
      for (const auto& p : *list) {
        CHECK(p.outcome.device == estimate(p.job).device());
        CHECK(p.outcome.seconds == doctest::Approx(cost(p.job).step.value));
        again = again || p.job.recompute.mode == recompute_mode::full;
      }
    CHECK(again);  // plans of both kinds
    CHECK(found.best[0].outcome.seconds <= found.best[1].outcome.seconds);
  }
}

}  // namespace test_side_stacks
