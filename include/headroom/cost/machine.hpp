// Distributed under the Boost Software License, Version 1.0.
// One GPU's speeds in FLOP/s and bytes a second, settled once for a job.
#pragma once

#include <headroom/cost/assumed.hpp>
#include <headroom/cost/rates.hpp>
#include <headroom/error.hpp>
#include <headroom/framework/profile.hpp>
#include <headroom/hardware/accelerator.hpp>

namespace headroom {

/// Of counts, as a real number: nothing overflows.
template <class... Counts>
constexpr double product(Counts... n) {
  return (1.0 * ... * static_cast<double>(n));
}

/// A GPU's usual share of its node's network in 10^9 bits a second: nodes of eight V100 with four ports of 100, of A100 with four of
/// 200 (DGX A100 has eight; most published clusters four), from Hopper on a port of 400 for each GPU; cards without links between
/// them, one port of 100 for eight.
constexpr double network_gbit_of(const gpu& g) {
  if (g.network_gbit > 0) return static_cast<double>(g.network_gbit);
  if (g.link_gb_s < 100) return 12.5;
  if (g.maker == vendor::nvidia && g.compute_capability < 80) return 50.0;
  return g.maker == vendor::nvidia && g.compute_capability / 10 == 8 ? 100.0 : 400.0;
}

/// How two GPUs of a job are joined.
struct fabric {
  double link{};              ///< bytes a second of a GPU to its neighbours in a node, one direction
  double network{};           ///< bytes a second of a GPU to other nodes, its share of the node's
  double latency{};           ///< seconds of a collective inside a node
  double hop{};               ///< … more for each doubling of the nodes
  double tree{1};             ///< share of the network that a tree sustains
  double round{};             ///< … of a round of a ring that leaves a node
  std::int64_t domain{1};     ///< GPUs that the links join
};

/// What one GPU and its links sustain, in FLOP/s, bytes a second and seconds.
struct machine {
  double matmul{};     ///< FLOP/s of matrix multiplications in the job's format
  double matmul_16{};  ///< … in 16 bits: attention, head
  double attention{};  ///< FLOP/s of a fused attention kernel
  double vector{};     ///< FLOP/s without tensor cores
  double unaligned{};  ///< … of 16-bit multiplications that tensor cores do not take
  double memory{};     ///< bytes a second
  double pcie{};       ///< bytes a second to the host
  double peak{};       ///< FLOP/s of the data sheet in the job's format, which MFU is measured by
  bool in_fp8{};       ///< linear layers multiply in 8 bits
  fabric links{};
};

/// Bytes a second of a PCIe link of 16 lanes: 8, 16, 32, 64 GT/s from generation 3 on, 128b/130b.
constexpr double pcie_rate(std::int32_t generation) {
  double r = 15.75e9;
  for (std::int32_t i = 3; i < generation; ++i) r *= 2;
  return r;
}

/// A GPU's peak in four bits (NVFP4), of that in eight: twice on Blackwell, three times on Blackwell Ultra (compute capability 10.3: 15 and 5 PFLOP/s dense,
/// NVIDIA's data sheet of the GB300 NVL72).
constexpr std::int32_t fp4_of_fp8(const gpu& g) { return g.maker != vendor::nvidia || g.compute_capability < 100 || g.fp8_tflops_x10 == 0 ? 0 : g.compute_capability == 103 ? 3 : 2; }

/// Multiplications of a format that a GPU has no units for: 4 and 8 bits as 16, bf16 without tensor cores (before Ampere).
constexpr bool lacks_units(const gpu& g, const number_format& compute) {
  return compute.bits == 4 ? fp4_of_fp8(g) == 0 : compute.bits == 8 ? g.fp8_tflops_x10 == 0 : g.bf16_tflops_x10 == 0 && compute == formats::bf16;
}

/// Whether a step's time on a GPU can be predicted: its data sheet is known. Refuses, or what `no` does instead.
template <class No = refusing>
constexpr objection check_rates(const gpu& g, const No& no = {}) {
  if (g.maker == vendor::cpu) return no("headroom: step time needs a GPU");
  if ((g.bf16_tflops_x10 <= 0 && g.fp16_tflops_x10 <= 0) || g.bandwidth_gb_s <= 0)
    return no("headroom: step time needs a GPU whose peak FLOP/s and memory bandwidth are known; hardware.gpu", g.label);
  return {};
}

/// Whether numbers of fp32 are multiplied on tensor cores, as far as those read them: half as fast as 16 bits (NVIDIA's data sheets, from Ampere on), and torch's
/// choice where it is told so alone (torch.backends.cuda.matmul.allow_tf32 is false).
constexpr bool multiplies_tf32(const gpu& g, const number_format& of) { return of == formats::tf32 && g.maker == vendor::nvidia && g.compute_capability >= 80; }

/// FLOP/s of a multiplication of 32 bits, on a machine whose rate in 16 bits is known.
constexpr double rate_of_32_bits(const gpu& g, const machine& m, const number_format& of) { return multiplies_tf32(g, of) ? m.matmul_16 / 2 : 0.8 * m.vector; }

/// `flash`: what the job's fused attention kernel sustains of the peak.
constexpr machine machine_of(const cluster& c, const gpu& g, const rates& r, const number_format& compute, double flash,
                             fp8_scaling scaling = {}) {
  constexpr double tera = 1e11;
  check_rates(g);
  double peak_16 = tera * (g.bf16_tflops_x10 > 0 ? g.bf16_tflops_x10 : g.fp16_tflops_x10);  // fields are in tenths
  machine m;
  const double best = g.matmul_tflops_x10 > 0 ? tera * g.matmul_tflops_x10 : 0.8 * peak_16;
  m.matmul_16 = r.matmul * best;
  m.matmul = m.matmul_16;
  m.peak = peak_16;
  m.vector = g.fp32_tflops_x10 > 0 ? tera * g.fp32_tflops_x10 : peak_16 / 16;
  m.unaligned = r.unaligned * m.vector;
  if (compute.bits == 4 && fp4_of_fp8(g) > 0) {
    const double gain = fp4_of_fp8(g) * tera * g.fp8_tflops_x10 / peak_16;
    m.matmul = r.matmul_fp4 * best * gain;
    m.peak *= gain;
  } else if (compute.bits == 8 && g.fp8_tflops_x10 > 0) {
    const double gain = tera * g.fp8_tflops_x10 / peak_16;
    m.matmul = r.matmul_fp8 * best * gain * (scaling == fp8_scaling::row ? r.fp8_rows : 1.0);
    m.peak *= gain;
    m.in_fp8 = true;
  } else if (compute.bits == 32) {
    m.matmul = m.matmul_16 = rate_of_32_bits(g, m, compute);
    m.peak = multiplies_tf32(g, compute) ? peak_16 / 2 : m.vector;
  }
  // Rates of an A100 on another GPU: a kernel sustains no more of a peak than the best multiplication does, by what that does there (87 %).
  if (!has_calibrated_rates(g) && best < 0.87 * peak_16) peak_16 = best / 0.87;
  m.attention = flash * (compute.bits == 32 ? m.peak : peak_16);
  // … and of a Hopper that keeps its clock where an H100 does not (80 %), more: an H20's kernels of attention reach 57 and 87 % of its peak where an H100's
  // reach 35 and 62 (Dao-AILab/flash-attention issue 1310, meta-pytorch/tritonbench 1254).
  if (g.compute_capability == 90 && compute.bits != 32 && std::int64_t{g.matmul_tflops_x10} * 9890 > std::int64_t{7945} * g.bf16_tflops_x10) m.attention *= best * 9890 / (7945 * peak_16);
  if (compute.bits == 16 && lacks_units(g, compute)) {
    m.matmul = m.matmul_16 = 0.8 * m.vector;
    m.attention = flash * m.vector;
    m.peak = m.vector;
  }
  m.memory = r.memory * 1e9 * g.bandwidth_gb_s;
  m.pcie = r.network * pcie_rate(g.pcie_generation);
  const double share = c.network_gbit > 0 ? static_cast<double>(c.network_gbit) / static_cast<double>(c.gpus_per_node) : network_gbit_of(g);
  m.links = {.link = r.link * 1e9 * (g.link_gb_s > 0 ? g.link_gb_s : 16),
             .network = 1.25e8 * r.network * share,
             .latency = r.latency,
             .hop = r.hop,
             .tree = r.tree,
             .round = r.round,
             .domain = g.link_domain > c.gpus_per_node ? g.link_domain : c.gpus_per_node};
  return m;
}

}  // namespace headroom
