// Distributed under the Boost Software License, Version 1.0.
// The weights of RecurrentGemma's recurrence, and its work.
// Source: transformers 5.16 models/recurrent_gemma/modeling_recurrent_gemma.py RecurrentGemmaRecurrentBlock, RecurrentGemmaRglru; De et al. 2024, Griffin,
// section 2.4.
#pragma once

#include <headroom/model/weight_place.hpp>

namespace headroom::detail {

/// Channels: as many heads as the gates have, side by side.
constexpr std::int64_t rg_lru_width(const shape& m) { return checked::mul(m.ssm.heads, m.ssm.head_dim); }

constexpr void add_rg_lru(inventory& list, const shape& m, const weight_place& p) {
  const auto width = rg_lru_width(m);
  const auto add = [&](std::int64_t rows, std::int64_t columns, std::int64_t each) {
    list.add({.role = p.role(module::mixer), .rows = rows, .columns = columns, .layers = p.at, .per_layer = checked::mul(p.copies, each)});
  };
  for (int i = 0; i < 2; ++i) add_matrix(list, p, module::mixer_in, width, m.hidden, split_axis::none, true);  // linear_y, linear_x
  add(width, m.ssm.conv, 1);
  add(width, m.ssm.head_dim, 2);  // of the input's gate and of the recurrence's, head by head
  add(width, 1, 4);               // the convolution's bias, both gates' biases, recurrent_param
  add_matrix(list, p, module::mixer_out, m.hidden, width, split_axis::none, true);
}

/// FLOPs of one position beside the matrices: both gates, the convolution, and about twenty operations of each channel.
constexpr double rg_lru_flops(const shape& m) {
  const auto width = static_cast<double>(rg_lru_width(m));
  return width * (4 * static_cast<double>(m.ssm.head_dim) + 2 * static_cast<double>(m.ssm.conv) + 20);
}

/// Kernels that PyTorch starts in the loop over positions: two casts, a product, a sum, a cast and a copy.
constexpr double rg_lru_loops(std::int64_t sequence) { return 6 * static_cast<double>(sequence); }

}  // namespace headroom::detail
