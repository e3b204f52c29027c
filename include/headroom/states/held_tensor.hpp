// Distributed under the Boost Software License, Version 1.0.
// What one rank holds of a tensor that it is told of.
// Sources: torch distributed/fsdp/_fully_shard/_fsdp_param.py (padding of dimension 0); DeepSpeed runtime/zero/stage_1_and_2.py (flat partitions).
#pragma once

#include <headroom/recipe/number_format.hpp>
#include <headroom/units/checked.hpp>
#include <headroom/units/quantity.hpp>

#include <cstdint>

namespace headroom::detail {

/// A number format, and whether a tensor in it has metadata beside its elements.
struct stored {
  std::int64_t bits{};
  const number_format* packed{};
  constexpr stored() = default;
  constexpr stored(const number_format& f) : bits(f.bits), packed(f.quantised() ? &f : nullptr) {}
  bool operator==(const stored&) const = default;
};

/// How a rank cuts and stores tensors.
struct tensor_keeping {
  std::int64_t granule{1};  ///< of a tensor's storage, in bytes, a power of two; the parts of a flat vector lie side by side
  bool flat{};              ///< tensors are cut as one vector (ZeRO, FSDP1)

  /// Elements of a tensor of `whole` that one of d ranks holds: dimension 0 padded (FSDP2), or the flat vector (ZeRO, FSDP1).
  [[nodiscard]] constexpr std::int64_t local(std::int64_t rows, std::int64_t columns, std::int64_t whole, std::int64_t d) const {
    if (d == 1) return whole;
    return flat ? checked::ceil_div(whole, d) : checked::mul(checked::ceil_div(rows, d), columns);
  }
  [[nodiscard]] constexpr bytes rounded(bytes b) const { return bytes{checked::add(b.value, granule - 1) & ~(granule - 1)}; }
  /// `here` elements of a rows × columns tensor. Quantisation metadata is that of rows × columns.
  [[nodiscard]] constexpr bytes held(std::int64_t rows, std::int64_t columns, std::int64_t here, const stored& f) const {
    const bytes elements{checked::add(checked::mul(here, f.bits), 7) >> 3};
    return f.packed != nullptr ? rounded(elements) + f.packed->metadata(rows, columns, granule) : rounded(elements);
  }
};

}  // namespace headroom::detail
