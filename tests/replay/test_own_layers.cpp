// Distributed under the Boost Software License, Version 1.0.
// Layers from outside, replayed, recorded and decided: one that does what the library's does occupies the same blocks.
#include <headroom/decide.hpp>

#include "own.hpp"

#include <doctest/doctest.h>

namespace test_own_layers {

using namespace headroom;

namespace {

constexpr job llama() {
  job j{.model = models::llama_3_2_1b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .batch = {.micro = 2, .sequence = 1024}};
  j.model.layers = 8;
  j.model.ssm = own::states;
  return j;
}

}  // namespace

TEST_CASE("the library's layer, told from outside, takes turns with the library's in a replay") {
  own::for_each_recipe(llama(), [&](const job& j) {
    CAPTURE(j.framework.label.view());
    CAPTURE(static_cast<int>(j.sharding.kind));
    CAPTURE(j.sharding.stage);
    for (const auto& other : {own::dense, own::recurs}) {
      const auto all = replay(own::shipped(j, other));
      CHECK(replay(own::whole(j, other), own::both) == all);
      CHECK(replay(own::half(j, other), own::both) == all);
    }
  });
}

TEST_CASE("… is recorded event by event, and decided") {
  const auto j = own::whole(llama(), own::recurs), all = own::shipped(llama(), own::recurs);
  const auto a = record(j, own::both).front(), b = record(all).front();
  REQUIRE(a.events.size() == b.events.size());
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    CHECK(a.events[i].what == b.events[i].what);
    CHECK(a.events[i].size == b.events[i].size);
  }
  auto tight = j;  // so that only a replay can say whether it fits
  tight.hardware.gpu.memory = estimate(j, own::both).device() + 64 * mib;
  CHECK_FALSE(is_decided(estimate(tight, own::both)));
  CHECK(decide(tight, own::both) == replay(tight, own::both));
  CHECK(decide(j, own::both) == estimate_all(j, own::both));
  CHECK_THROWS_AS((void)replay(j), job_error);
  CHECK_THROWS_AS((void)record(j), job_error);
  CHECK_THROWS_AS((void)decide(j), job_error);
}

/// One layer as the whole stack is replayed, too.
TEST_CASE("the library's layer as the whole stack, replayed") {
  const auto j = llama();
  CHECK(replay(j, own::llama_layer{}) == replay(j));
}

}  // namespace test_own_layers
