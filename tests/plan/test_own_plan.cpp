// Distributed under the Boost Software License, Version 1.0.
// A search over a model with layers from outside finds what one over the library's own does.
#include <headroom/plan/confirm.hpp>
#include <headroom/plan/judge.hpp>

#include "own.hpp"

#include <doctest/doctest.h>

namespace test_own_plan {

using namespace headroom;

TEST_CASE("a search over a model with layers from outside") {
  search s;
  s.job = {.model = models::llama_3_2_1b, .hardware = {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .batch = {.micro = 1, .sequence = 4096}};
  s.open = axes::bit(axes::sharding) | axes::bit(axes::recomputation);
  s.open_micro = true;
  s.global_batch = 64;
  const auto of = [&](const job& j) {
    auto r = s;
    r.job = j;
    return r;
  };
  const auto all = plan(of(own::shipped(s.job, own::dense))), mine = plan(of(own::whole(s.job, own::dense)), own::both);
  CHECK(all.fitting > 10);
  CHECK(mine.evaluated == all.evaluated);
  CHECK(mine.fitting == all.fitting);
  CHECK(mine.rejected == all.rejected);
  REQUIRE(mine.best.size() == all.best.size());
  for (std::size_t i = 0; i < all.best.size(); ++i) {
    CHECK(mine.best[i].ordinal == all.best[i].ordinal);
    CHECK(mine.best[i].outcome.device == all.best[i].outcome.device);
    CHECK(mine.best[i].outcome.seconds == all.best[i].outcome.seconds);
  }
  const auto without = plan(of(own::whole(s.job, own::dense)));
  CHECK(without.best.empty());
  REQUIRE(without.rejected.size() > 0);
  CHECK(without.rejected.begin()->first.find("names a layer of one's own") != std::string::npos);
  // Plans that fit whatever fragmentation does, by a judge and a verdict that are given the layers.
  const auto sure = confirmed_plan(of(own::whole(s.job, own::dense)), [](const job& j) { return judge_own_plan(j, own::both); }, {.top = 2},
                                   [](const job& j) { return fits(j, own::both); });
  REQUIRE(sure.best.size() == 2);
  for (const auto& p : sure.best) CHECK(estimate(p.job, own::both).fits());
}

}  // namespace test_own_plan
