// Distributed under the Boost Software License, Version 1.0.
// The weights of Gated DeltaNet, and what its chunks multiply.
// Source: transformers 5.16 models/qwen3_next/modeling_qwen3_next.py Qwen3NextGatedDeltaNet (Qwen3_5GatedDeltaNet splits the first matrix in
// two and the second in two: the same count).
#pragma once

#include <headroom/model/weight_place.hpp>

namespace headroom::detail {

/// Features of queries and keys; of values.
constexpr std::int64_t delta_keys(const shape& m) { return checked::mul(m.ssm.groups, m.ssm.state); }
constexpr std::int64_t delta_values(const shape& m) { return checked::mul(m.ssm.heads, m.ssm.head_dim); }
constexpr std::int64_t delta_channels(const shape& m) { return checked::add(2 * delta_keys(m), delta_values(m)); }

constexpr void add_gated_delta_net(inventory& list, const shape& m, const weight_place& p) {
  const auto vector = [&](std::int64_t rows, std::int64_t columns, std::int64_t each, split_axis split = split_axis::rows) {
    list.add({.role = p.role(module::mixer), .rows = rows, .columns = columns, .layers = p.at, .per_layer = checked::mul(p.copies, each), .split = split});
  };
  add_matrix(list, p, module::mixer_in, checked::mul(2, checked::add(delta_keys(m), delta_values(m))), m.hidden, split_axis::rows, m.ssm.bias);
  add_matrix(list, p, module::mixer_in, checked::mul(2, m.ssm.heads), m.hidden, split_axis::rows, m.ssm.bias);
  vector(delta_channels(m), m.ssm.conv, 1);
  if (m.ssm.conv_bias) vector(delta_channels(m), 1, 1);
  vector(m.ssm.heads, 1, 2);  // dt_bias, A_log
  if (!m.ssm.no_norm) vector(m.ssm.head_dim, 1, 1, split_axis::none);
  add_matrix(list, p, module::mixer_out, m.hidden, delta_values(m), split_axis::columns, m.ssm.bias);
}

/// FLOPs of one position beside the matrices, in chunks of c: k·kT and q·kT (2·2·c·dk), the inverse applied to keys and values and the
/// scores to values (2·c·(dk + 2·dv)), the state read twice and written once (2·3·dk·dv), and the convolution.
/// fla ops/gated_delta_rule/chunk.py chunk_gated_delta_rule_fwd.
constexpr double gated_delta_net_flops(const shape& m) {
  const auto c = static_cast<double>(m.ssm.chunk > 0 ? m.ssm.chunk : 64);
  const auto dk = static_cast<double>(m.ssm.state), dv = static_cast<double>(m.ssm.head_dim);
  return static_cast<double>(m.ssm.heads) * (4 * c * dk + 2 * c * (dk + 2 * dv) + 6 * dk * dv) +
         2 * static_cast<double>(delta_channels(m)) * static_cast<double>(m.ssm.conv);
}

/// Kernels that PyTorch starts in the loops of torch_chunk_gated_delta_rule: six for each of 63 rows, 18 for each chunk.
constexpr double gated_delta_net_loops(const shape&, std::int64_t sequence) { return 6 * 63 + 18 * static_cast<double>(checked::ceil_div(sequence, 64)); }

}  // namespace headroom::detail
