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

// deepspeed runtime/zero/partitioned_param_coordinator.py: what is gathered at once is at least the prefetch bucket, or a matrix that is larger.
TEST_CASE("ZeRO's third stage pays a ring's rounds for each gather and each bucket") {
  auto j = over(4, frameworks::deepspeed);
  j.sharding = zero(3);
  const auto s = settle(j);
  const auto f = links(j);
  const auto pieces = [&](std::int64_t prefetch) {
    auto with = j;
    with.sharding.stage3_prefetch_bucket_size = prefetch;
    const auto t = settle(with);
    return detail::parameters_of(detail::cost_scene_of(t, rates_of(*t.on)), weights_of(t.model), 1.0).gathers;
  };
  // Llama 2 7B: 32 layers of four matrices of 4096 x 4096, three of 11008 x 4096 and two norms; two tables of 32000 x 4096 and a norm.
  CHECK(pieces(0) == 32 * 9 + 3);
  CHECK(pieces(20'000'000) == doctest::Approx(32 * (4 * 16777216 / 2e7 + 3 + 2 * 4096 / 2e7) + 2 + 4096 / 2e7));
  CHECK(pieces(-1) == doctest::Approx(32 * (4 * 16777216 / 5e7 + 3 * 45088768 / 5e7 + 2 * 4096 / 5e7) + 2 + 4096 / 5e7));

  const double round = f.latency + 2 * f.hop + 31 * f.round;  // four nodes
  const auto wide = static_cast<double>(s.precision.reduce.width()) * parameters, narrow = static_cast<double>(s.precision.parameters.width()) * parameters;
  const double whole = 2 * gather_seconds(f, {32, 1}, narrow) + gather_seconds(f, {32, 1}, wide);
  // 10^9 parameters are two buckets of gradients. Nothing hides: what sticks out is counted beside it, of 33 units.
  const auto c = detail::cost_scene_of(s, rates_of(*s.on));
  detail::cover forward{}, backward{};
  const auto one = detail::data_parallel_seconds(c, {.all = parameters, .trained = parameters, .gathers = 1}, forward, backward);
  const auto many = detail::data_parallel_seconds(c, {.all = parameters, .trained = parameters, .gathers = 101}, forward, backward);
  CHECK(one == doctest::Approx(whole + round + (whole + round - gather_seconds(f, {32, 1}, narrow)) / 33));
  CHECK(many - one == doctest::Approx(100 * round * (2 + 1 / 33.0)));
}

// InternEvo @bbb5651 hybrid_zero_optim.py: gradients are summed over all ranks; each rank of a group that has tensors broadcasts them, from node to node.
TEST_CASE("InternEvo broadcasts rank by rank") {
  auto j = over(8, frameworks::internevo);
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
  const auto seconds = [&](std::int64_t groups, double tensors) {
    j.parallel.replicate = groups;
    const auto s = settle(j);
    detail::cover forward{}, backward{};
    return detail::data_parallel_seconds(detail::cost_scene_of(s, rates_of(*s.on)), {.all = parameters, .trained = parameters, .tensors = tensors}, forward, backward);
  };
  j.parallel.replicate = 1;
  const auto s = settle(j);
  const auto f = links(j);
  const auto summed = reduce_seconds(f, {64, 1}, static_cast<double>(s.precision.reduce.width()) * parameters);
  const auto narrow = static_cast<double>(s.precision.parameters.width()) * parameters;
  CHECK(seconds(1, 400) == doctest::Approx(summed + gather_seconds(f, {64, 1}, narrow) + 64 * 7 * f.round));
  CHECK(seconds(1, 20) == doctest::Approx(summed + gather_seconds(f, {64, 1}, narrow) + 20 * 7 * f.round));  // no more have one
  CHECK(seconds(8, 400) == doctest::Approx(summed + gather_seconds(f, {8, 1}, narrow)));                     // within a node
}

}  // namespace test_exchanged_once
