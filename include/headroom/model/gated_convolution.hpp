// Distributed under the Boost Software License, Version 1.0.
// The weights of a convolution between two gates, and its work.
// Source: transformers 5.16 models/lfm2/modeling_lfm2.py Lfm2ShortConv (lfm2_moe alike).
#pragma once

#include <headroom/model/weight_place.hpp>

namespace headroom::detail {

constexpr void add_gated_convolution(inventory& list, const shape& m, const weight_place& p) {
  add_matrix(list, p, module::mixer_in, checked::mul(3, m.hidden), m.hidden, split_axis::none, m.ssm.bias);
  list.add({.role = p.role(module::mixer), .rows = m.hidden, .columns = m.ssm.conv, .layers = p.at, .per_layer = p.copies});
  if (m.ssm.conv_bias) list.add({.role = p.role(module::mixer), .rows = m.hidden, .layers = p.at, .per_layer = p.copies});
  add_matrix(list, p, module::mixer_out, m.hidden, m.hidden, split_axis::none, m.ssm.bias);
}

/// FLOPs of one position beside the matrices: the convolution, and a product before and behind it.
constexpr double gated_convolution_flops(const shape& m) { return static_cast<double>(m.hidden) * (2 * static_cast<double>(m.ssm.conv) + 2); }

}  // namespace headroom::detail
