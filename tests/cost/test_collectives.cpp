// Distributed under the Boost Software License, Version 1.0.
// What collectives move, and over what.
#include <headroom/hardware/gpu.hpp>
#include <headroom/cost/collectives.hpp>

#include "both.hpp"

namespace test_collectives {

using namespace headroom;

namespace {

/// Eight GPUs a node: 200 to each other, 10 each to other nodes.
constexpr fabric nodes{.link = 200.0, .network = 10.0, .latency = 0.5, .hop = 0.5, .domain = 8};

}  // namespace

TEST_CASE("ring volumes") {
  // Thakur, Rabenseifner & Gropp 2005, sections 4.1 and 4.4; NCCL tests, doc/PERFORMANCE.md: factors (n-1)/n, and 2(n-1)/n for all-reduce.
  BOTH(all_gather_volume(64.0, 8) == 56.0);
  BOTH(reduce_scatter_volume(64.0, 8) == 56.0);
  BOTH(all_reduce_volume(64.0, 8) == 112.0);
  BOTH(all_reduce_volume(64.0, 1) == 0.0);
  // ZeRO (Rajbhandari et al. 2020, section 7): reduce-scatter and all-gather are an all-reduce; stage 3 gathers twice, 1.5 times as much.
  BOTH(reduce_scatter_volume(64.0, 8) + all_gather_volume(64.0, 8) == all_reduce_volume(64.0, 8));
  BOTH(2 * all_gather_volume(64.0, 8) + reduce_scatter_volume(64.0, 8) == 1.5 * all_reduce_volume(64.0, 8));
}

TEST_CASE("a ring runs at the rate of its narrowest crossing") {
  BOTH(ring_rate(nodes, {8, 1}) == 200.0);
  BOTH(ring_rate(nodes, {16, 1}) == 80.0);  // eight network shares lead out of each node
  BOTH(ring_rate(nodes, {4, 8}) == 10.0);   // one member a node: eight such rings run side by side
  BOTH(ring_rate(nodes, {8, 4}) == 20.0);
  BOTH(ring_rate(nodes, {2, 4}) == 200.0);
  constexpr fabric wide{.link = 200.0, .network = 50.0, .latency = 0.5, .hop = 0.5, .domain = 8};
  BOTH(ring_rate(wide, {16, 1}) == 200.0);  // no faster than the links
}

TEST_CASE("times") {
  BOTH(gather_seconds(nodes, {1, 1}, 1e9) == 0.0);
  BOTH(gather_seconds(nodes, {8, 1}, 1600.0) == 0.5 + 7.0);
  BOTH(reduce_seconds(nodes, {8, 1}, 1600.0) == 1.0 + 14.0);
  BOTH(gather_seconds(nodes, {16, 1}, 1280.0) == 1.0 + 15.0);
  // All-to-all: seven shares stay in the node, eight leave it.
  BOTH(exchange_seconds(nodes, {8, 1}, 1600.0) == 0.5 + 7.0);
  BOTH(exchange_seconds(nodes, {16, 1}, 160.0) == 1.0 + 8.0);
  BOTH(send_seconds(nodes, 4, 400.0) == 0.5 + 2.0);
  BOTH(send_seconds(nodes, 8, 400.0) == 0.5 + 40.0);
}

TEST_CASE("all-reduces over A100s of a node") {
  // NCCL tests, out of place, in microseconds (VIA-Research/vTrain trace/a100/AR_GPU{2,4,8}_1M_1024M_LUT).
  struct measured {
    std::int64_t ranks;
    double mebibytes, microseconds;
  };
  constexpr measured runs[] = {{2, 4, 61.2}, {2, 16, 131.9}, {2, 64, 404.7}, {2, 256, 1455.8}, {4, 4, 77.3}, {4, 16, 179.6}, {4, 64, 543.8},
                               {4, 256, 1929}, {8, 4, 95.8}, {8, 16, 232.4}, {8, 64, 579.9}, {8, 256, 2162.3}};
  constexpr auto m = machine_of({.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 8}, gpus::a100_sxm_80gb, calibrated::ampere, formats::bf16, 0.5);
  double all = 0;
  for (const auto& r : runs) {
    CAPTURE(r.ranks);
    CAPTURE(r.mebibytes);
    const double error = reduce_seconds(m.links, {r.ranks, 1}, r.mebibytes * 1048576) * 1e6 / r.microseconds - 1;
    CHECK(error < 0.4);
    CHECK(error > -0.1);
    all += error / 12;
  }
  CHECK(all < 0.2);  // back to back, without layers beside them: faster
  CHECK(all > 0);
}

// Bus bandwidths of 1 GiB over nodes of 8 H100 with EFA of 3,200 Gbit/s, in GB/s: the 95th percentile of the runs of the Ultra-Scale Playbook's sweep, each of
// which measured first (assets/data/benchmarks/pp_comm_bandwidth.html; nanotron trainer.py measure_bandwidth at 67c5ebb6). Gathers end in a copy of the whole. Nothing
// ran beside them: in a step they are slower.
TEST_CASE("collectives over nodes of H100s") {
  struct measured {
    std::int64_t nodes;
    double reduced, gathered;
  };
  constexpr measured runs[] = {{4, 219, 229}, {8, 193, 178}, {16, 188, 127}, {32, 194, 77}, {64, 177, 44}};
  constexpr double whole = 1 << 30;
  constexpr cluster those{.gpu = gpus::h100_sxm_80gb, .nodes = 64, .gpus_per_node = 8, .network_gbit = 3200};
  constexpr auto m = machine_of(those, gpus::h100_sxm_80gb, calibrated::hopper, formats::bf16, 0.25);
  for (const auto& r : runs) {
    CAPTURE(r.nodes);
    const rank_group world{8 * r.nodes, 1};
    CHECK(all_reduce_volume(whole, world.size) / reduce_seconds(m.links, world, whole) / 1e9 == doctest::Approx(r.reduced).epsilon(0.15));
    const double copied = 2 * whole / m.memory;
    const double gathered = all_gather_volume(whole, world.size) / (gather_seconds(m.links, world, whole) + copied) / 1e9;
    CHECK(gathered < 1.05 * r.gathered);
    CHECK(gathered > 0.75 * r.gathered);
  }
}

TEST_CASE("a link domain may be wider than a node") {
  constexpr auto m = machine_of({.gpu = gpus::gb200_186gb, .nodes = 16, .gpus_per_node = 4}, gpus::gb200_186gb, calibrated::blackwell, formats::bf16, 0.5);
  BOTH(m.links.domain == 72);
  BOTH(local_members(m.links, {64, 1}) == 64);
}

TEST_CASE("PCIe by generation") {
  BOTH(pcie_rate(3) == 15.75e9);
  BOTH(pcie_rate(5) == 63e9);
}

}  // namespace test_collectives
