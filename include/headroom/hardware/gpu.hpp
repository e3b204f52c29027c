// Distributed under the Boost Software License, Version 1.0.
// Accelerators as data. A new one is one value; anything that is a `gpu` can be put into a job.
#pragma once

#include <headroom/name.hpp>
#include <headroom/units/literals.hpp>

#include <array>

namespace headroom {

enum class vendor : std::uint8_t { cpu, amd, google, huawei, intel, nvidia };

/// One accelerator. `memory` is what a process can use, as torch.cuda.get_device_properties().total_memory reports it, not the
/// figure on the box. Rates are dense peaks; 0: no such unit, or not known.
struct gpu {
  name label{};
  bytes memory{};
  std::int32_t compute_capability{};   ///< ten times the CUDA one: 90 is 9.0
  std::int32_t bandwidth_gb_s{};       ///< of its memory, 10^9 bytes a second
  std::int32_t bf16_tflops_x10{};
  std::int32_t fp16_tflops_x10{};
  std::int32_t fp8_tflops_x10{};
  std::int32_t fp32_tflops_x10{};
  std::int32_t link_gb_s{};            ///< to its neighbours in the node, all links together, one direction
  std::int32_t pcie_generation{};
  vendor maker{vendor::nvidia};
  std::int32_t matmul_tflops_x10{};    ///< the best 16-bit matrix multiplication measured on it; 0: not known
  std::int32_t link_domain{};          ///< GPUs that its links join where those are more than a node's; 0: a node's
  std::int32_t network_gbit{};         ///< usual share of its node's network, 10^9 bits a second; 0: by its generation

  friend constexpr bool operator==(const gpu&, const gpu&) = default;
};

/// Sources: vendors' data sheets for rates and links; `memory` from torch's out-of-memory messages and device properties in
/// public issues (driver dependent, about 0.2 GiB either way).
// clang-format off
namespace gpus {
// name, usable memory, compute capability, GB/s, TFLOP/s x 10 in bf16, fp16, fp8, fp32, link GB/s, PCIe generation, maker, best
// measured matrix multiplication (stas00/ml-engineering compute/accelerator/README.md at 744d01e, MAMF; of the
// 96 GB H100, which runs at 500 W, the 80 GB one's by the root of the power: an
// assumption that torchtitan's runs were looked at for; A800 and H800 are A100 and H100 with fewer links), GPUs of an NVLink domain
inline constexpr gpu v100_sxm2_16gb{"v100-sxm2-16gb", 16159 * mib, 70, 900, 0, 1250, 0, 157, 150, 3, vendor::nvidia};
inline constexpr gpu v100_sxm2_32gb{"v100-sxm2-32gb", 32512 * mib, 70, 900, 0, 1250, 0, 157, 150, 3, vendor::nvidia};
inline constexpr gpu t4{"t4", 15114 * mib, 75, 320, 0, 650, 0, 81, 16, 3, vendor::nvidia};
inline constexpr gpu a10g{"a10g", 22733 * mib, 86, 600, 700, 700, 0, 312, 31, 4, vendor::nvidia};
inline constexpr gpu a40{"a40", 45629 * mib, 86, 696, 1497, 1497, 0, 374, 56, 4, vendor::nvidia};
inline constexpr gpu rtx_3090{"rtx-3090", 24259 * mib, 86, 936, 710, 710, 0, 356, 56, 4, vendor::nvidia};
inline constexpr gpu rtx_4090{"rtx-4090", 24207 * mib, 89, 1008, 1652, 1652, 3303, 826, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_5090{"rtx-5090", 32113 * mib, 120, 1792, 2095, 2095, 4190, 1048, 63, 5, vendor::nvidia};
inline constexpr gpu rtx_a6000{"rtx-a6000", 48681 * mib, 86, 768, 1548, 1548, 0, 387, 56, 4, vendor::nvidia};
inline constexpr gpu rtx_6000_ada{"rtx-6000-ada", 48640 * mib, 89, 960, 3642, 3642, 7285, 911, 31, 4, vendor::nvidia};
inline constexpr gpu l4{"l4", 22702 * mib, 89, 300, 1210, 1210, 2420, 303, 31, 4, vendor::nvidia};
inline constexpr gpu l40{"l40", 45568 * mib, 89, 864, 1810, 1810, 3620, 905, 31, 4, vendor::nvidia};
inline constexpr gpu l40s{"l40s", 45466 * mib, 89, 864, 3620, 3620, 7330, 916, 31, 4, vendor::nvidia};
inline constexpr gpu a100_sxm_40gb{"a100-sxm-40gb", 40335 * mib, 80, 1555, 3120, 3120, 0, 195, 300, 4, vendor::nvidia, 2712};
inline constexpr gpu a100_sxm_80gb{"a100-sxm-80gb", 81050 * mib, 80, 2039, 3120, 3120, 0, 195, 300, 4, vendor::nvidia, 2712};
inline constexpr gpu a100_pcie_40gb{"a100-pcie-40gb", 40335 * mib, 80, 1555, 3120, 3120, 0, 195, 300, 4, vendor::nvidia, 2529};
inline constexpr gpu a100_pcie_80gb{"a100-pcie-80gb", 81050 * mib, 80, 1935, 3120, 3120, 0, 195, 300, 4, vendor::nvidia, 2529};
inline constexpr gpu a800_sxm_80gb{"a800-sxm-80gb", 81254 * mib, 80, 2039, 3120, 3120, 0, 195, 200, 4, vendor::nvidia, 2712};
inline constexpr gpu h800_sxm_80gb{"h800-sxm-80gb", 81009 * mib, 90, 3350, 9890, 9890, 19790, 670, 200, 5, vendor::nvidia, 7945};
inline constexpr gpu h20_96gb{"h20-96gb", 97280 * mib, 90, 4000, 1480, 1480, 2960, 440, 450, 5, vendor::nvidia};
inline constexpr gpu h100_pcie_80gb{"h100-pcie-80gb", 81009 * mib, 90, 2039, 7560, 7560, 15130, 510, 300, 5, vendor::nvidia};
inline constexpr gpu h100_sxm_80gb{"h100-sxm-80gb", 81009 * mib, 90, 3350, 9890, 9890, 19790, 670, 450, 5, vendor::nvidia, 7945};
inline constexpr gpu h100_sxm_96gb{"h100-sxm-96gb", 97270 * mib, 90, 2400, 9890, 9890, 19790, 670, 450, 5, vendor::nvidia, 6710};
inline constexpr gpu h100_nvl_94gb{"h100-nvl-94gb", 95334 * mib, 90, 3938, 8350, 8350, 16710, 600, 300, 5, vendor::nvidia};
inline constexpr gpu h200_sxm_141gb{"h200-sxm-141gb", 143165 * mib, 90, 4800, 9890, 9890, 19790, 670, 450, 5, vendor::nvidia, 7945};
inline constexpr gpu gh200_96gb{"gh200-96gb", 96768 * mib, 90, 4000, 9890, 9890, 19790, 670, 450, 5, vendor::nvidia, 8286};
inline constexpr gpu gh200_144gb{"gh200-144gb", 143155 * mib, 90, 4800, 9890, 9890, 19790, 670, 450, 5, vendor::nvidia, 8286};
inline constexpr gpu b200_sxm_180gb{"b200-sxm-180gb", 182630 * mib, 100, 8000, 22500, 22500, 45000, 800, 900, 5, vendor::nvidia, 17450};
inline constexpr gpu gb200_186gb{"gb200-186gb", 188416 * mib, 100, 8000, 25000, 25000, 50000, 800, 900, 5, vendor::nvidia, 18220, 72};
inline constexpr gpu b300_sxm_288gb{"b300-sxm-288gb", 274432 * mib, 103, 8000, 22500, 22500, 45000, 800, 900, 6, vendor::nvidia, 17690};
inline constexpr gpu gb300_288gb{"gb300-288gb", 283648 * mib, 103, 8000, 25000, 25000, 50000, 800, 900, 6, vendor::nvidia, 0, 72};
inline constexpr gpu mi250x_128gb{"mi250x-128gb", 131031 * mib, 0, 3277, 3830, 3830, 0, 479, 350, 4, vendor::amd};
inline constexpr gpu mi300x_192gb{"mi300x-192gb", 196291 * mib, 0, 5300, 13070, 13070, 26150, 1634, 448, 5, vendor::amd, 6684};
inline constexpr gpu mi325x_256gb{"mi325x-256gb", 262124 * mib, 0, 6000, 13070, 13070, 26150, 1634, 448, 5, vendor::amd, 7849};
inline constexpr gpu mi355x_288gb{"mi355x-288gb", 294892 * mib, 0, 8000, 25000, 25000, 50000, 1573, 536, 5, vendor::amd, 15650};
inline constexpr gpu gaudi2_96gb{"gaudi2-96gb", 96870 * mib, 0, 2460, 4320, 4320, 8650, 0, 262, 4, vendor::intel, 4187};
inline constexpr gpu gaudi3_128gb{"gaudi3-128gb", 129536 * mib, 0, 3700, 16770, 4590, 16770, 2290, 525, 5, vendor::intel, 12430};
inline constexpr gpu ascend_910b_64gb{"ascend-910b-64gb", 62433 * mib, 0, 1600, 3130, 3130, 0, 750, 196, 5, vendor::huawei};
inline constexpr gpu tpu_v4{"tpu-v4", 0 * mib, 0, 1200, 2750, 0, 0, 0, 300, 0, vendor::google};
inline constexpr gpu tpu_v5e{"tpu-v5e", 0 * mib, 0, 820, 1970, 0, 0, 0, 200, 0, vendor::google};
inline constexpr gpu tpu_v5p{"tpu-v5p", 0 * mib, 0, 2765, 4590, 0, 0, 0, 600, 0, vendor::google};

/// A processor: tensors cost exactly their bytes, no context, no library workspaces. For counting, not for capacity.
inline constexpr gpu cpu{.label = "cpu", .memory = 1024 * 1024 * mib, .maker = vendor::cpu};

inline constexpr std::array<gpu, 42> all{v100_sxm2_16gb, v100_sxm2_32gb, t4, a10g, a40, rtx_3090, rtx_4090, rtx_5090, rtx_a6000, rtx_6000_ada, l4, l40, l40s, a100_sxm_40gb, a100_sxm_80gb, a100_pcie_40gb, a100_pcie_80gb, a800_sxm_80gb, h800_sxm_80gb, h20_96gb, h100_pcie_80gb, h100_sxm_80gb, h100_sxm_96gb, h100_nvl_94gb, h200_sxm_141gb, gh200_96gb, gh200_144gb, b200_sxm_180gb, gb200_186gb, b300_sxm_288gb, gb300_288gb, mi250x_128gb, mi300x_192gb, mi325x_256gb, mi355x_288gb, gaudi2_96gb, gaudi3_128gb, ascend_910b_64gb, tpu_v4, tpu_v5e, tpu_v5p, cpu};

struct alias { name from; name to; };
inline constexpr std::array<alias, 15> aliases{{
    {"a100-80gb", "a100-sxm-80gb"},
    {"h100-80gb", "h100-sxm-80gb"},
    {"h200", "h200-sxm-141gb"},
    {"b200", "b200-sxm-180gb"},
    {"b300", "b300-sxm-288gb"},
    {"gb200", "gb200-186gb"},
    {"gb300", "gb300-288gb"},
    {"a10g-24gb", "a10g"},
    {"a800-80gb", "a800-sxm-80gb"},
    {"v100-32gb", "v100-sxm2-32gb"},
    {"v100-16gb", "v100-sxm2-16gb"},
    {"mi250x", "mi250x-128gb"},
    {"mi300x", "mi300x-192gb"},
    {"mi325x", "mi325x-256gb"},
    {"mi355x", "mi355x-288gb"}}};
}  // namespace gpus
// clang-format on

/// A GPU's usual share of its node's network in 10^9 bits a second: nodes of eight V100 with four ports of 100, of A100 with four of
/// 200 (DGX A100 has eight; most published clusters four), from Hopper on a port of 400 for each GPU; cards without links between
/// them, one port of 100 for eight.
constexpr double network_gbit_of(const gpu& g) {
  if (g.network_gbit > 0) return static_cast<double>(g.network_gbit);
  if (g.link_gb_s < 100) return 12.5;
  if (g.maker == vendor::nvidia && g.compute_capability < 80) return 50.0;
  return g.maker == vendor::nvidia && g.compute_capability / 10 == 8 ? 100.0 : 400.0;
}

}  // namespace headroom
