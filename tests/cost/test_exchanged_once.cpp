// Distributed under the Boost Software License, Version 1.0.
// What data-parallel ranks exchange in a step where nothing hides it, as sums of rings (test_collectives.cpp): by sharder, with and without copies of the shards.
#include <headroom/cost/cost.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/hardware/gpu.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>

namespace test_exchanged_once {

using namespace headroom;

namespace {

constexpr double parameters = 1e9;

double exchanged(const job& j) {
  const auto s = settle(j);
  const auto c = detail::cost_scene_of(s, rates_of(*s.on));
  const detail::rank_parameters n{.all = parameters, .trained = parameters};
  detail::cover forward{}, backward{};
  return detail::data_parallel_seconds(c, n, forward, backward);
}
fabric links(const job& j) {
  const auto s = settle(j);
  return detail::cost_scene_of(s, rates_of(*s.on)).on.links;
}
job over(std::int64_t nodes, const profile& f) {
  job j{.model = models::llama_2_7b, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = nodes, .gpus_per_node = 8}, .framework = f, .precision = precisions::bf16_mixed, .batch = {.micro = 1, .sequence = 1024}};
  j.framework.communication.overlaps_gradients = j.framework.communication.overlaps_parameters = false;
  return j;
}

}  // namespace

// Megatron-LM core/optimizer/distrib_optimizer.py: gradients are scattered, updated parameters gathered; with num_distributed_optimizer_instances of it
// (core/distributed/param_and_grad_buffer.py start_grad_sync) each rank's share is added up over the instances in between.
TEST_CASE("Megatron's distributed optimizer scatters in an instance, and reduces over instances") {
  for (const std::int64_t instances : {1, 2, 4}) {
    auto j = over(4, frameworks::megatron);
    j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
    j.parallel.replicate = instances;
    const auto s = settle(j);
    const auto f = links(j);
    const auto wide = static_cast<double>(s.precision.reduce.width()) * parameters, narrow = static_cast<double>(s.precision.parameters.width()) * parameters;
    const std::int64_t shard = 32 / instances;
    CAPTURE(instances);
    const double expected = gather_seconds(f, {shard, 1}, wide) + reduce_seconds(f, {instances, shard}, wide / static_cast<double>(shard)) + gather_seconds(f, {shard, 1}, narrow);
    CHECK(exchanged(j) == doctest::Approx(expected));
  }
}

// ZeRO (Rajbhandari et al. 2020, section 7.1): stage 1 reduces all gradients everywhere, and gathers what it updated.
TEST_CASE("ZeRO's first stage reduces whole, DDP does nothing else") {
  auto j = over(2, frameworks::deepspeed);
  j.sharding = zero(1);
  const auto s = settle(j);
  const auto wide = static_cast<double>(s.precision.reduce.width()) * parameters, narrow = static_cast<double>(s.precision.parameters.width()) * parameters;
  CHECK(exchanged(j) == doctest::Approx(reduce_seconds(links(j), {16, 1}, wide) + gather_seconds(links(j), {16, 1}, narrow)));
  auto plain = over(2, frameworks::megatron);
  plain.sharding = ddp();
  const auto ps = settle(plain);
  CHECK(exchanged(plain) == doctest::Approx(reduce_seconds(links(plain), {16, 1}, static_cast<double>(ps.precision.reduce.width()) * parameters)));
}

}  // namespace test_exchanged_once
