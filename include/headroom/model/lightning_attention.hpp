// Distributed under the Boost Software License, Version 1.0.
// The weights of lightning attention, its buffers, and what its blocks multiply.
// Source: transformers 5.16 models/minimax/modeling_minimax.py MiniMaxLightningAttention; Qin et al. 2024, Lightning Attention-2, algorithm 1.
#pragma once

#include <headroom/model/weight_place.hpp>

namespace headroom::detail {

constexpr void add_lightning_attention(inventory& list, const shape& m, const weight_place& p) {
  const auto width = m.query_width();
  add_matrix(list, p, module::mixer_in, checked::mul(3, width), m.hidden, split_axis::none, false);
  add_matrix(list, p, module::mixer_in, width, m.hidden, split_axis::none, false);  // output_gate
  list.add({.role = p.role(module::mixer), .rows = width, .layers = p.at, .per_layer = p.copies});
  add_matrix(list, p, module::mixer_out, m.hidden, width, split_axis::none, false);
}

/// Elements of its buffers: of each head a slope, decays of queries and of keys, and those between the positions of a block (decay_factors).
constexpr std::int64_t lightning_buffers(const shape& m) {
  const auto block = m.ssm.chunk;
  return checked::mul(m.heads, checked::add(checked::mul(block, block), checked::add(2 * block, 1)));
}

/// FLOPs of one position beside the matrices: scores of a block and what they weigh, the state read and written.
constexpr double lightning_flops(const shape& m) {
  const auto width = static_cast<double>(m.head_width());
  return static_cast<double>(m.heads) * (4 * static_cast<double>(m.ssm.chunk) * width + 4 * width * width);
}

/// Kernels that PyTorch starts in the loop over blocks: six products with their copies, and what stands between them.
constexpr double lightning_loops(const shape& m, std::int64_t sequence) { return 20 * static_cast<double>(checked::ceil_div(sequence, m.ssm.chunk)); }

}  // namespace headroom::detail
