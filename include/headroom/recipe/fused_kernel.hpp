// Distributed under the Boost Software License, Version 1.0.
// Kernels that a job asks for by name, or that a trainer always runs.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace headroom {

/// Kernels that stand for several operations of a layer: Liger-Kernel's RMSNorm, gated activation and rotary embedding; and functions of
/// autograd that multiply by a frozen base and its adapters at once, for q, k and v, for attention's output, and for a gated MLP
/// (axolotl src/axolotl/kernels/lora.py; they fuse where all matrices of their kind have adapters); the norm of queries and of keys with their rotary embedding.
enum class fused_kernel : std::uint8_t { norm, gated, rotary, adapted_qkv, adapted_output, adapted_mlp, normed_rotary };
/// A set of these.
struct fused_kernels {
  std::uint32_t bits{};
  constexpr fused_kernels() = default;
  constexpr fused_kernels(std::initializer_list<fused_kernel> list) {
    for (const auto k : list) add(k);
  }
  constexpr void add(fused_kernel k) { bits |= std::uint32_t{1} << static_cast<int>(k); }
  [[nodiscard]] constexpr bool has(fused_kernel k) const { return (bits >> static_cast<int>(k) & 1U) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits == 0; }
  [[nodiscard]] constexpr bool adapted() const { return has(fused_kernel::adapted_qkv) || has(fused_kernel::adapted_output) || has(fused_kernel::adapted_mlp); }
  bool operator==(const fused_kernels&) const = default;
};

}  // namespace headroom
