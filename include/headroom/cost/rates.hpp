// Distributed under the Boost Software License, Version 1.0.
// What a GPU and its links sustain in training, of what their data sheets say. These are the only calibrated numbers of the cost
// model: one set for each generation of GPU, none for a framework's table, a model or a plan.
#pragma once

#include <headroom/hardware/cluster.hpp>
#include <headroom/recipe/number_format.hpp>

namespace headroom {

/// Shares of a peak, and times that do not depend on size.
struct rates {
  double matmul{};        ///< large matrix multiplications, of the best measured one (gpu::matmul_tflops_x10)
  double matmul_fp8{};    ///< … in fp8, scales and transposes included, of the best measured 16-bit one times the ratio of the peaks
  double flash{};         ///< flash attention, of the 16-bit peak
  double flash_fast{};    ///< … its successors: FlashAttention-3, cuDNN
  double memory{};        ///< kernels that only move data, of the bandwidth
  double link{};          ///< collectives within a node, of the links
  double network{};       ///< collectives between nodes, of the network
  double host_operation{};  ///< seconds of a processor core for one operation of a layer's program, its kernels and Python together
  double host_compiled{};   ///< … where the layer is compiled
  double latency{};       ///< seconds of a collective within a node, and of a hop between nodes
  double stall{};         ///< of the data-parallel traffic that is overlapped, what the compute that hides it is slowed by
  double step{};          ///< seconds of a step that depend on nothing: logging, the optimizer's bookkeeping
  double host_memory{150e9};  ///< bytes a second of a node's memory in an update on the processor
  double nvme{10e9};          ///< bytes a second of a node's NVMe
};

namespace calibrated {
inline constexpr rates ampere{.matmul = 0.92, .matmul_fp8 = 0.8, .flash = 0.55, .flash_fast = 0.6, .memory = 0.75, .link = 0.75, .network = 0.75,
                              .host_operation = 50e-6, .host_compiled = 30e-6, .latency = 15e-6, .stall = 0.2, .step = 5e-3};
inline constexpr rates hopper{.matmul = 0.85, .matmul_fp8 = 0.7, .flash = 0.38, .flash_fast = 0.5, .memory = 0.7, .link = 0.75, .network = 0.75,
                              .host_operation = 30e-6, .host_compiled = 20e-6, .latency = 15e-6, .stall = 0.2, .step = 5e-3};
inline constexpr rates blackwell{.matmul = 0.85, .matmul_fp8 = 0.7, .flash = 0.38, .flash_fast = 0.5, .memory = 0.7, .link = 0.75, .network = 0.75,
                                 .host_operation = 30e-6, .host_compiled = 20e-6, .latency = 15e-6, .stall = 0.2, .step = 5e-3};
}  // namespace calibrated

/// By compute capability. Older than 8.0 and other makers' as Ampere; newer than 10 as Blackwell.
constexpr const rates& rates_of(const gpu& g) {
  if (g.maker != vendor::nvidia) return calibrated::ampere;
  return g.compute_capability >= 100 && g.compute_capability < 120 ? calibrated::blackwell : g.compute_capability / 10 == 9 ? calibrated::hopper : calibrated::ampere;
}

}  // namespace headroom
