// Distributed under the Boost Software License, Version 1.0.
// What an accelerator is, and the one that is assumed where none is named. The others: hardware/gpu.hpp.
#pragma once

#include <headroom/name.hpp>
#include <headroom/units/literals.hpp>

namespace headroom {

/// Who makes it; `cpu` counts tensors that lie in the host's memory.
enum class vendor : std::uint8_t { cpu, amazon, amd, google, huawei, intel, nvidia };

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
  bool unified{};                      ///< its memory is the host's, too: what is moved to the host frees nothing

  bool operator==(const gpu&) const = default;
};

/// Accelerators whose programs a compiler lays out as a whole (XLA, Neuron), tensors and all: none of the rules of PyTorch's autograd engine
/// and caching allocator holds there.
constexpr bool compiles_whole_programs(const gpu& g) { return g.maker == vendor::google || g.maker == vendor::amazon; }

namespace gpus {
/// The columns are those of gpu.hpp, and so are their sources.
inline constexpr gpu h100_sxm_80gb{"h100-sxm-80gb", 81009 * mib, 90, 3350, 9890, 9890, 19790, 670, 450, 5, vendor::nvidia, 7945};
}  // namespace gpus

}  // namespace headroom
