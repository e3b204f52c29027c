// Distributed under the Boost Software License, Version 1.0.
// What lies outside the allocator. NCCL's blocks are those of its own log (issue 1685: 10,485,760 bytes to receive, 2,097,152 to send, for
// each channel and peer), its buffers for multicast those of its own formula (transport/nvls.cc), communicators counted by hand.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>
#include <long_table.hpp>

namespace test_outside {

using namespace headroom;

namespace {

constexpr bytes neighbour{10'485'760 + 2'097'152};  // of one channel
constexpr bytes pair = 24 * neighbour;              // 24 channels: two ranks are each other's only neighbour
constexpr bytes chain = 48 * neighbour;             // a ring, and a tree that goes both ways: both neighbours, either way
constexpr bytes multicast(int ranks) { return bytes{ranks * 16 * 2 * 1'048'576}; }  // 16 channels, two directions, 8 steps of 128 KiB
constexpr bytes between_nodes = 16 * neighbour;
constexpr bytes exchange = 32 * neighbour;          // 32 channels, for each peer

constexpr job megatron_job(const shape& m, std::int64_t nodes) {
  return {.model = m, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = nodes, .gpus_per_node = 8}, .framework = frameworks::megatron,
          .precision = precisions::bf16_mixed, .batch = {.micro = 1, .sequence = 4096}};
}
constexpr bytes nccl(const job& j) { return estimate(j).ranks[0].outside.nccl; }

}  // namespace

// Beside them Megatron's group of all ranks, and that of the gradient norm: all ranks with a distributed optimizer, else tensor and pipeline.
TEST_CASE("each kind of group has a communicator") {
  auto j = megatron_job(models::llama_3_1_8b, 1);
  j.hardware.gpus_per_node = 1;
  CHECK(nccl(j) == bytes{0});
  j.hardware.gpus_per_node = 8;
  CHECK(nccl(j) == chain + multicast(8) + chain);  // data, all
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
  CHECK(nccl(j) == chain + multicast(8) + 2 * chain);
  j.parallel.tensor = 8;
  CHECK(nccl(j) == chain + multicast(8) + 2 * chain);  // tensor, and no data
  j.hardware.nodes = 4;
  const auto all_nodes = 2 * between_nodes;  // both neighbours
  CHECK(nccl(j) == chain + multicast(8) + between_nodes + 2 * all_nodes);  // data: one rank of each node
  j.hardware.nodes = 1;
  j.parallel.tensor = 2;
  j.parallel.pipeline = 2;
  CHECK(nccl(j) == 2 * pair + exchange + 2 * chain);  // tensor, data, stages of one node
  j.parallel.pipeline = 4;
  CHECK(nccl(j) == pair + 2 * exchange + 2 * chain);  // the stage before and the one after
  j.parallel.pipeline = 1;
  j.parallel.context = 4;
  CHECK(nccl(j) == pair + 2 * (chain + multicast(4)) + 2 * chain);  // gradients over context ranks, context
}

TEST_CASE("multicast is Hopper's and later, between more than two GPUs, and took three times as much up to NCCL 2.21") {
  auto j = megatron_job(models::llama_3_1_8b, 1);
  j.framework = frameworks::libtorch;
  j.precision = precisions::bf16_mixed;
  CHECK(nccl(j) == chain + multicast(8));
  j.environment.torch = 206;
  CHECK(nccl(j) == chain + 3 * multicast(8));  // 805,306,368 bytes, as NCCL's log had it
  j.environment.torch = 207;
  CHECK(nccl(j) == chain + multicast(8));
  j.hardware.gpu = gpus::b200_sxm_180gb;
  CHECK(nccl(j) == chain + bytes{8 * 24 * 2 * 1'048'576});
  j.hardware.gpu = gpus::a100_sxm_80gb;
  CHECK(nccl(j) == chain);
  j.hardware.gpu = gpus::h800_sxm_80gb;  // 16 channels and no multicast (NCCL issue 892)
  CHECK(nccl(j) == 32 * neighbour);
  j.hardware.gpu = gpus::rtx_4090;
  CHECK(nccl(j) == 16 * neighbour);
}

// Memory of a GPU that communicators took in public reports, which what is derived must not exceed, and reach with its range.
TEST_CASE("what communicators were seen to take lies in the range") {
  const auto holds = [](job j, double seen_mib, bytes others = bytes{0}) {
    if (j.framework.modules.megatron()) j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
    const auto derived = static_cast<double>((nccl(j) + others).count()) / 1048576;
    CAPTURE(derived);
    CHECK(derived <= seen_mib);
    CHECK(seen_mib <= derived * (1 + 2.776 * 0.8));  // uncertainty.hpp nccl_buffers, with four degrees of freedom
  };
  auto j = megatron_job(models::llama_3_1_8b, 1);
  j.framework = frameworks::libtorch;
  j.hardware.gpu = gpus::a100_sxm_80gb;
  j.hardware.gpus_per_node = 2;
  holds(j, 544);  // NCCL issue 964
  j.hardware.gpus_per_node = 4;
  holds(j, 688);
  j.hardware.gpu = gpus::h100_sxm_80gb;
  holds(j, 1024);  // vLLM pull request 51485: "~1 GiB/rank at TP4"
  j = megatron_job(models::llama_3_1_8b, 1);
  j.parallel.tensor = j.parallel.pipeline = 2;
  holds(j, 7e9 / 1048576);  // verl pull request 6408: two each of tensor, pipeline and data
  j.hardware.gpu = gpus::h200_sxm_141gb;
  j.parallel.tensor = 8;
  j.parallel.pipeline = 1;
  holds(j, 6.6 * 1024, bytes{400 << 20});  // basetenlabs/ml-cookbook pull request 105: what nvidia-smi shows beyond what is reserved
}

// 8 × H100, all_to_all: 32 channels × 7 peers × 12 MiB = 2.6 GiB of the 3.3 GB by which memory grew in that issue.
TEST_CASE("an exchange of tokens has buffers for each peer of the node") {
  auto j = megatron_job(models::mixtral_8x7b, 1);
  j.parallel.expert = 8;
  const auto data = chain + multicast(8), all = chain;
  CHECK(nccl(j) == data + all + 7 * exchange);
  j.parallel.expert = 2;
  CHECK(nccl(j) == data + (chain + multicast(4)) + all + exchange);  // and the four that hold the same experts
  j.parallel.expert = 8;
  j.hardware.nodes = 2;
  const auto nodes = 2 * between_nodes;
  CHECK(nccl(j) == nodes + multicast(8) + between_nodes + nodes + 7 * exchange);
  j.hardware.nodes = 1;
  j.parallel.expert = 4;
  j.parallel.expert_tensor = 2;
  j.parallel.tensor = 2;
  // data: four; tensor, experts' tensor, the gradient norm's: two; 4 of the 8 ranks exchange
  CHECK(nccl(j) == (chain + multicast(4)) + 3 * pair + all + 3 * exchange);
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

// RCCL's log names blocks of 4 MiB, 256 KiB and 448 KiB (computeBuffSizes), in pages of 2 MiB; the first ring of rome_model_79 is the first of 28, all doubled.
TEST_CASE("RCCL has 28 rings twice over on a node of eight MI300X") {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::mi300x_192gb, .gpus_per_node = 8}, .framework = frameworks::libtorch, .precision = precisions::bf16_mixed, .batch = {.micro = 1, .sequence = 4096}};
  constexpr bytes peer{(6 + 2) * 1'048'576};
  CHECK(nccl(j) == 2 * 56 * peer);  // rings, and trees the other way; no multicast
  j.hardware.gpus_per_node = 4;
  CHECK(nccl(j) == 2 * 24 * peer);
  j.hardware.gpus_per_node = 2;
  CHECK(nccl(j) == 32 * peer);
  j.hardware = {.gpu = gpus::mi300x_192gb, .nodes = 2, .gpus_per_node = 8};
  CHECK(nccl(j) == 2 * 64 * peer);
  j.hardware.gpus_per_node = 1;
  CHECK(nccl(j) == 16 * peer);
}

TEST_CASE("NCCL_BUFFSIZE is the buffer of the Simple protocol") {
  auto j = megatron_job(models::llama_3_1_8b, 1);
  const auto usual = nccl(j);
  j.environment.nccl_buffsize = bytes{16 << 20};
  CHECK(nccl(j) == usual + bytes{2 * 48 * 12 * 1'048'576});  // 12 MiB more for each channel and neighbour, of both communicators
}

}  // namespace test_outside
