// Distributed under the Boost Software License, Version 1.0.
// What a GPU, its links and its host sustain in training, of what their data sheets say. These are the only calibrated numbers of the
// cost model: one set for each generation of GPU; none belongs to a table, a model, a framework's name or a plan.
#pragma once

#include <headroom/hardware/cluster.hpp>
#include <headroom/recipe/number_format.hpp>

namespace headroom {

/// Shares of a peak, and times that do not depend on size.
struct rates {
  // By generation and class of kernel.
  double matmul{};          ///< large matrix multiplications, of the best measured one (gpu::matmul_tflops_x10)
  double matmul_fp8{};      ///< … in fp8, scales and transposes included, of the best 16-bit one times the ratio of the peaks
  double matmul_fp4{};      ///< … in NVFP4, likewise
  double flash_first{};     ///< FlashAttention's first kernels, of the 16-bit peak
  double flash{};           ///< … its second version's
  double flash_fast{};      ///< … FlashAttention-3, cuDNN
  double memory{};          ///< kernels that only move data, of the bandwidth
  double link{};            ///< collectives within a node, of the links
  double network{};         ///< collectives between nodes, of the network
  double gap{};             ///< seconds of the device for each operation of a layer's program: its kernels' starts and ends

  // The same for all.
  double backward_traffic{1.35};   ///< data moved in backward, of forward's: a norm reads two tensors and writes one where it read one
  double fp8_rows{0.70};           ///< fp8 with a scale a row, of one with a scale a tensor: kernels of their own, both operands cast twice
  double unaligned{0.42};          ///< multiplications that tensor cores do not take, of the 32-bit vector peak
  double host_operation{83e-6};    ///< seconds of a processor core for an operation of a layer's program, kernels and Python together
  double host_compiled{30e-6};     ///< … where the layer is compiled
  double host_kernel{24e-6};       ///< … for a kernel that eager PyTorch starts
  double kernel_gap{1e-6};         ///< seconds of the device between such kernels, and nanotron's
  double host_step{9e-3};          ///< … of the processor in a step of transformers' Trainer, beside forward and backward: the GPU waits
  double latency{30e-6};           ///< seconds of an all-gather, a reduce-scatter or a message; an all-reduce is two of them
  double tree{1.0};                ///< all-reduces over more than two nodes, of what the network sustains in a ring
  double hop{10e-6};               ///< … more for each doubling of the nodes that it spans
  double round{40e-6};      ///< seconds of a round of a ring that leaves a node: of an all-gather or a reduce-scatter
  double host_slice{6e-6};         ///< seconds of a processor core for each tensor that nanotron gathers after an update, and each rank that has a part of it
  double host_collective{0.285e-3};///< seconds of a processor core for each rank of a collective that nanotron starts between messages of its pipeline
  double stall{0.03};              ///< of overlapped data-parallel traffic, what it slows the compute that hides it
  double channels{0.22};           ///< of a collective behind a multiplication, what it slows that by: the multiprocessors that it runs on
  double step{1e-3};               ///< seconds of a step that depend on nothing
  double host_memory{150e9};       ///< bytes a second of a node's memory in an update on the processor
  double nvme{10e9};               ///< bytes a second of a node's NVMe
};

/// Calibrated on the published runs of tests/accuracy/throughput.jsonl whose name has an even sum of bytes, by a search for the least
/// mean absolute logarithm of predicted over measured: Ampere on vtrain, vtrain-single, llm-foundry, internevo, bigscience (twice the
/// weight) and, lightly, megatron-paper, qwen, torchtitan and fms-fsdp; Hopper on llm-foundry, torchtitan (grade A) and, lightly, nemo,
/// megatron, sailor and bridge; Blackwell on simumax and, lightly, bridge and megatron. The results are rounded. Ampere's gap, link and
/// network, Hopper's link, memory and gap, and backward_traffic were picked among a few values with all the runs in view: the other half is not
/// quite unseen. What is the same for all is Ampere's. latency is no fit, but that of all-reduces over 2 to 8 A100 (NCCL tests,
/// VIA-Research/vTrain trace/a100). channels is stated, not calibrated: 24 of an A100's 108 multiprocessors, NCCL's number of channels as it
/// is remembered; 0 and 0.4 fit the runs as well. round and host_collective are calibrated on the even lines of nanotron's sweep (H100, EFA of
/// 3,200 Gbit/s a node, NCCL 2.18; runs whose pipelines did not poll), among 20, 30, 35, 40, 45 and 60 µs and 0.2, 0.25, 0.27, 0.285, 0.3 and 0.33 ms: a layer's ten
/// collectives take 6 ms over 16 ranks and 13 to 16 over 32, whatever their size below 100 MB; and with pipelines over nodes a layer takes 13, 20 and 44 ms of 4, 8
/// and 16 tensor-parallel ranks, whatever it computes below that, for which no source is known; host_slice on the same lines, among whole microseconds (optim/zero.py
/// _all_gather_params: a slice and a copy each). They are among Hopper's, too, families weighed by the root of their size. tree is published: what that cluster's benchmark sustained of
/// its network in all-reduces of 1 GiB over 4 to 64 nodes, the 95th percentile of its runs (Ultra-Scale Playbook, assets/data/benchmarks/pp_comm_bandwidth.html: 219, 193, 188, 194 and
/// 177 GB/s of 400); its all-gathers are a ring's of 40 µs a round (tests/cost/test_collectives.cpp). fp8_rows is what makes torchao's own benchmark come out (docs/source/workflows/
/// training.md, before in float8/README.md: Llama-3 8B on 8 H100, 6,768 tokens a second with a scale a row, 7,689.5 with one a tensor). matmul_fp4 was
/// stated before any run was looked at; of ten runs of Megatron-Bridge in NVFP4 (docs/performance-summary.md @067f987df: Llama 3 70B and 405B) the first, third, fifth, … have their least
/// error there, too, and the others lie within 14 %. Not
/// calibrated, for want of runs: flash_fast on Ampere, flash_first on Blackwell, host_compiled, host_memory, nvme. host_kernel is published: Llama 2 7B in
/// eager PyTorch on an A100 waits for its processor and gives 25.5 tokens a second (pytorch.org/blog/accelerating-generative-ai-2, 2023-11), 32 layers of 50 kernels
/// each (gpt-fast model.py: two norms of 8, two rotary embeddings of 9, 16 more). Of the 24 operations of such a layer's program forward has two kernels each, and
/// so many are taken in either direction; a loop's are one, and so is each where adapters run beside: theirs are one, and Qwen's published LoRA runs that wait
/// (QwenLM/Qwen README.md, 7B and 14B at 256 and 512 tokens) take no more. host_step is calibrated on the first, third,
/// fifth, … of 40 runs of transformers' Trainer on one H100 (tests/accuracy/throughput_here.jsonl), among whole milliseconds: 9 and 10 fit nearly alike, mean
/// logarithms of 0.110 and 0.105; the less is taken, as what measures waits for the GPU five times a step, which is in it.
/// kernel_gap is published: kernels of 2.9 µs follow each other every 3.8 (developer.nvidia.com/blog/cuda-graphs, 2019-09, figures as they are remembered).
namespace calibrated {
inline constexpr rates ampere{.matmul = 0.81, .matmul_fp8 = 0.8, .flash_first = 0.314, .flash = 0.52, .flash_fast = 0.55,
                              .memory = 0.88, .link = 0.60, .network = 0.96, .gap = 25e-6};
inline constexpr rates hopper{.matmul = 0.90, .matmul_fp8 = 0.90, .flash_first = 0.17, .flash = 0.25, .flash_fast = 0.55,
                              .memory = 0.62, .link = 0.65, .network = 1.0, .gap = 30e-6, .host_operation = 71e-6, .tree = 0.48};
inline constexpr rates blackwell{.matmul = 0.67, .matmul_fp8 = 0.92, .matmul_fp4 = 0.8, .flash_first = 0.2, .flash = 0.55, .flash_fast = 0.46,
                                 .memory = 0.70, .link = 0.62, .network = 0.70, .gap = 29e-6};
}  // namespace calibrated

/// By compute capability. Older ones than 8.0 and other makers' GPUs as Ampere; 10.x as Blackwell, whose consumer cards (12.x) are not.
constexpr const rates& rates_of(const gpu& g) {
  if (g.maker != vendor::nvidia) return calibrated::ampere;
  const auto major = g.compute_capability / 10;
  return major == 9 ? calibrated::hopper : major == 10 || major == 11 ? calibrated::blackwell : calibrated::ampere;
}

}  // namespace headroom
