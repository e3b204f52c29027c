// Distributed under the Boost Software License, Version 1.0.
// Sharding within groups of ranks: FSDP's hybrid sharding, ZeRO++ hpZ, MiCS. Bytes by hand.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_shard_groups {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr std::int64_t n = 8'030'261'248;  // llama-3.1-8b

job two_nodes(const sharding& s) {
  job j{.model = models::llama_3_1_8b, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = s,
        .batch = {.micro = 1, .sequence = 512}, .recompute = recompute::full};
  j.hardware.gpu = gpus::a100_sxm_80gb;
  j.hardware.nodes = 2;
  j.hardware.gpus_per_node = 8;
  return j;
}

bytes in(const job& j, phase p, row r) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(p)][r]; }

}  // namespace

// torch distributed/fsdp: shards over data / replicate ranks; a group of 8 in each of 2 nodes is one node's FSDP, twice.
TEST_CASE("hybrid sharding is the sharding of one group") {
  for (const auto& kind : {fsdp1(), fsdp2()}) {
    auto hybrid = two_nodes(kind);
    hybrid.framework = frameworks::hf_trainer;
    hybrid.parallel.replicate = 2;
    auto one = hybrid;
    one.parallel.replicate = 1;
    one.hardware.nodes = 1;
    CHECK(states(hybrid).gpu == states(one).gpu);
    CHECK(in(hybrid, phase::step, row::model_parameters) == in(one, phase::step, row::model_parameters));
    CHECK(in(hybrid, phase::step, row::optimizer_state) == in(one, phase::step, row::optimizer_state));
    CHECK(estimate(hybrid).ranks[0].allocated >= estimate(one).ranks[0].allocated);
    CHECK(estimate(hybrid).ranks[0].allocated <= estimate(one).ranks[0].allocated + bytes{2 * 218'112'000 / 8});
    CHECK(estimate(hybrid).ranks[0].outside.nccl == estimate(one).ranks[0].outside.nccl + 16 * 12_MiB);  // and one rank of each node
    auto flat = hybrid;
    flat.parallel.replicate = 1;
    CHECK(states(hybrid).gpu.total() > states(flat).gpu.total());
  }
  auto j = two_nodes(zero(3));
  j.parallel.replicate = 2;
  CHECK_THROWS_AS(estimate(j), job_error);
}

// deepspeed runtime/zero/partition_parameters.py: a second bf16 partition over zero_hpz_partition_size ranks, from forward to the
// end of backward. 2 bytes of 8.03 billion parameters over 8 are 2 GB more; states do not change.
TEST_CASE("hpZ keeps a second partition of the parameters") {
  auto plain = two_nodes(zero(3));
  auto hpz = plain;
  hpz.sharding.zero_hpz_partition_size = 8;
  CHECK(states(hpz).gpu == states(plain).gpu);
  for (const auto p : {phase::forward, phase::loss_forward, phase::backward})
    CHECK(in(hpz, p, row::gathered_parameters) == in(plain, p, row::gathered_parameters) + bytes{2 * n / 8});
  CHECK(in(hpz, phase::step, row::gathered_parameters) == in(plain, phase::step, row::gathered_parameters));
  // With parameters on the host it lies there, pinned: 2 GB rounded up to 2 GiB.
  plain.offload.parameters = hpz.offload.parameters = place::on_cpu;
  CHECK(in(hpz, phase::backward, row::gathered_parameters) == in(plain, phase::backward, row::gathered_parameters));
  CHECK(estimate(hpz).host.pinned_per_node == estimate(plain).host.pinned_per_node + 8 * 2_GiB);
  hpz.sharding.zero_hpz_partition_size = 5;
  CHECK_THROWS_AS(estimate(hpz), job_error);
  hpz.sharding = zero(2);
  hpz.sharding.zero_hpz_partition_size = 8;
  CHECK_THROWS_AS(estimate(hpz), job_error);
}

// deepspeed runtime/zero/mics.py: parameters, gradients and optimizer states over mics_shard_size ranks, whatever the world.
TEST_CASE("MiCS divides states within a group") {
  auto mics = two_nodes(zero(3));
  mics.sharding.mics_shard_size = 8;
  auto node = two_nodes(zero(3));
  node.hardware.nodes = 1;
  CHECK(states(mics).gpu == states(node).gpu);
  CHECK(states(mics).gpu[row::optimizer_state] == bytes{8 * n / 8});
  CHECK(estimate(mics).ranks[0].allocated == estimate(node).ranks[0].allocated);
  auto four = mics;
  four.sharding.mics_shard_size = 4;
  CHECK(states(four).gpu[row::model_parameters] == bytes{2 * n / 4});
  four.sharding.mics_shard_size = 3;
  CHECK_THROWS_AS(estimate(four), job_error);
}

}  // namespace test_shard_groups
