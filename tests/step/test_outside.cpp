// Distributed under the Boost Software License, Version 1.0.
// What lies outside the allocator. NCCL's blocks are those of its own log (issue 1685: 10,485,760 bytes to receive, 2,097,152 to send, for
// each channel and peer), communicators counted by hand.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>
#include <long_table.hpp>

namespace test_outside {

using namespace headroom;

namespace {

constexpr bytes ring{16 * (10'485'760 + 2'097'152)};      // 16 channels, a neighbour on either side
constexpr bytes exchange{32 * (10'485'760 + 2'097'152)};  // 32 channels, for each peer

constexpr job megatron_job(const shape& m, std::int64_t nodes) {
  return {.model = m, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = nodes, .gpus_per_node = 8}, .framework = frameworks::megatron,
          .precision = precisions::bf16_mixed, .batch = {.micro = 1, .sequence = 4096}};
}
constexpr bytes nccl(const job& j) { return estimate(j).ranks[0].outside.nccl; }

}  // namespace

TEST_CASE("each kind of group has a communicator") {
  auto j = megatron_job(models::llama_3_1_8b, 1);
  j.hardware.gpus_per_node = 1;
  CHECK(nccl(j) == bytes{0});
  j.hardware.gpus_per_node = 8;
  CHECK(nccl(j) == ring);  // data
  j.parallel.tensor = 8;
  CHECK(nccl(j) == ring);  // tensor, and no data
  j.hardware.nodes = 4;
  CHECK(nccl(j) == 2 * ring);
  j.parallel.pipeline = 4;
  CHECK(nccl(j) == 2 * ring);  // tensor and pipeline
  j.hardware.nodes = 8;
  CHECK(nccl(j) == 3 * ring);
  j.parallel.context = 2;
  CHECK(nccl(j) == 4 * ring);  // context, and gradients over context ranks
}

// 8 × H100, all_to_all: 32 channels × 7 peers × 12 MiB = 2.6 GiB of the 3.3 GB by which memory grew in that issue.
TEST_CASE("an exchange of tokens has buffers for each peer of the node") {
  auto j = megatron_job(models::mixtral_8x7b, 1);
  j.parallel.expert = 8;
  CHECK(nccl(j) == ring + 7 * exchange);  // data
  j.parallel.expert = 2;
  CHECK(nccl(j) == 2 * ring + exchange);  // and the four that hold the same experts
  j.parallel.expert = 8;
  j.hardware.nodes = 2;
  CHECK(nccl(j) == 2 * ring + 7 * exchange);
  j.parallel.expert_tensor = 2;
  j.parallel.tensor = 2;
  CHECK(nccl(j) == 3 * ring + 3 * exchange);  // data, tensor, experts' tensor; 4 of the 8 ranks in each node
}

// Megatron-LM's golden values of gpt3_mcore_te_tp2_pp2_cp2_1node on GB200 rose by 47 MiB in 5fe3f06658, which moved its image from
// pytorch:26.02 (2.11) to pytorch:26.04 (2.12): two workspaces of 32 MiB instead of 4096 × 2 + 16 × 8 KiB.
TEST_CASE("a cuBLAS workspace on Blackwell is as large as PyTorch's version makes it") {
  auto j = megatron_job(long_table(models::gpt2), 1);
  j.hardware.gpu = gpus::b200_sxm_180gb;
  const auto workspaces = [&] { return estimate(j).ranks[0].at_peak[row::workspace]; };
  const auto unsaid = workspaces();
  j.environment.torch = 211;
  CHECK(workspaces() == unsaid);
  j.environment.torch = 212;
  CHECK(workspaces() - unsaid == bytes{2 * (32 * 1024 - 8320) * 1024});
  j.hardware.gpu = gpus::h100_sxm_80gb;
  const auto hopper = workspaces();
  j.environment.torch = 211;
  CHECK(workspaces() == hopper);
}

TEST_CASE("NCCL_BUFFSIZE is the buffer of the Simple protocol") {
  auto j = megatron_job(models::llama_3_1_8b, 1);
  j.environment.nccl_buffsize = bytes{16 << 20};
  CHECK(nccl(j) == ring + bytes{16 * 12 * 1'048'576});  // 12 MiB more for each channel
}

}  // namespace test_outside
