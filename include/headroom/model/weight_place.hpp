// Distributed under the Boost Software License, Version 1.0.
// How a block's weights are listed: where it stands, and its matrices with their biases.
#pragma once

#include <headroom/model/weight.hpp>

namespace headroom::detail {

/// Vectors of one norm module: a weight, and for LayerNorm often a bias.
constexpr std::int64_t norm_vectors(const shape& m) { return (m.norm_weight ? 1 : 0) + (m.norm_bias ? 1 : 0); }

/// Where a block stands: `copies` of it in each layer of `at`. A role given as `into` (MTP, encoder, cross
/// attention) replaces the module's own.
struct weight_place {
  layer_span at{};
  std::int64_t copies{1};
  const module* into{};
  std::uint8_t parts{};  ///< weight::parts of its matrix
  [[nodiscard]] constexpr module role(module own) const { return into != nullptr ? *into : own; }
};

constexpr void add_matrix(inventory& list, const weight_place& p, module own, std::int64_t rows, std::int64_t columns,
                          split_axis split, bool bias) {
  list.add({.role = p.role(own), .parts = p.into != nullptr ? part_bits(std::uint32_t{1} << static_cast<int>(own)) : p.parts, .rows = rows, .columns = columns, .layers = p.at, .per_layer = p.copies, .split = split, .linear = true});
  if (bias)  // the bias of a matrix cut by rows is cut with it; that of one cut by columns is whole on every rank
    list.add({.role = p.role(own), .rows = rows, .layers = p.at, .per_layer = p.copies,
              .split = split == split_axis::rows ? split_axis::rows : split_axis::none});
}

}  // namespace headroom::detail
