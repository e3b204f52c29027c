// Distributed under the Boost Software License, Version 1.0.
// The weights of Kimi Delta Attention, and what its chunks multiply: of ssm_shape it has heads, head_dim (of queries, keys and values alike) and conv.
// Sources: moonshotai/Kimi-Linear-48B-A3B-Base modeling_kimi.py KimiDeltaAttention; fla layers/kda.py has the same matrices.
#pragma once

#include <headroom/model/weight_place.hpp>

namespace headroom::detail {

/// Features of queries, of keys and of values.
constexpr std::int64_t kimi_width(const shape& m) { return checked::mul(m.ssm.heads, m.ssm.head_dim); }

/// Queries, keys, values and the output have the names that attention's have, and adapters find them by these.
constexpr void add_kimi_delta(inventory& list, const shape& m, const weight_place& p) {
  const auto width = kimi_width(m);
  const auto vector = [&](std::int64_t rows, std::int64_t columns, std::int64_t each) {
    list.add({.role = p.role(module::mixer), .rows = rows, .columns = columns, .layers = p.at, .per_layer = checked::mul(p.copies, each)});
  };
  for (const auto projection : {module::q_proj, module::k_proj, module::v_proj}) add_matrix(list, p, projection, width, m.hidden, split_axis::none, false);
  vector(width, m.ssm.conv, 3);
  vector(m.ssm.heads, 1, 1);  // A_log
  for (int i = 0; i < 2; ++i) {  // f_a and f_b, the decay's; g_a and g_b, the gate's
    add_matrix(list, p, module::mixer_in, m.ssm.head_dim, m.hidden, split_axis::none, false);
    add_matrix(list, p, module::mixer_in, width, m.ssm.head_dim, split_axis::none, false);
  }
  vector(width, 1, 1);  // dt_bias
  add_matrix(list, p, module::mixer_in, m.ssm.heads, m.hidden, split_axis::none, false);  // b
  vector(m.ssm.head_dim, 1, 1);  // the norm's
  add_matrix(list, p, module::o_proj, m.hidden, width, split_axis::none, false);
}

/// FLOPs of one position beside the matrices, in chunks of 64 as Gated DeltaNet's (model/gated_delta_net.hpp), with values as wide as keys, and three
/// convolutions. fla ops/kda/chunk_fwd.py chunk_kda_fwd.
constexpr double kimi_delta_flops(const shape& m) {
  constexpr double chunk = 64;
  const auto d = static_cast<double>(m.ssm.head_dim);
  return static_cast<double>(m.ssm.heads) * (10 * chunk * d + 6 * d * d) + 6 * static_cast<double>(kimi_width(m)) * static_cast<double>(m.ssm.conv);
}

}  // namespace headroom::detail
