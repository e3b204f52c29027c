// Distributed under the Boost Software License, Version 1.0.
// The weights of Mamba-1, and its work: of ssm_shape, `heads` channels of one feature, each with `state` numbers, and steps of rank `rank`.
// Sources: transformers 5.16 models/mamba/modeling_mamba.py MambaMixer; models/falcon_mamba FalconMambaMixer, models/jamba JambaMambaMixer, which
// have norms over the steps, B and C.
#pragma once

#include <headroom/model/weight_place.hpp>

namespace headroom::detail {

/// Steps, B and C of a position.
constexpr std::int64_t mamba1_steps(const shape& m) { return checked::add(m.ssm.rank, 2 * m.ssm.state); }

constexpr void add_mamba1(inventory& list, const shape& m, const weight_place& p) {
  const auto& s = m.ssm;
  const auto add = [&](std::int64_t rows, std::int64_t columns, std::int64_t each) {
    list.add({.role = p.role(module::mixer), .rows = rows, .columns = columns, .layers = p.at, .per_layer = checked::mul(p.copies, each)});
  };
  add_matrix(list, p, module::mixer_in, checked::mul(2, s.heads), m.hidden, split_axis::none, s.bias);
  add(s.heads, s.conv, 1);
  add(mamba1_steps(m), s.heads, 1);
  add(s.heads, s.rank, 1);
  add(s.heads, s.state, 1);                        // A_log
  add(s.heads, 1, s.conv_bias ? 3 : 2);            // biases of the convolution and the steps, D
  if (s.step_norm == step_norm_kind::weighed) {
    add(s.rank, 1, 1);
    add(s.state, 1, 2);
  }
  add_matrix(list, p, module::mixer_out, m.hidden, s.heads, split_axis::none, s.bias);
}

/// FLOPs of one position beside the matrices in and out: those of the steps, B and C; of each number of the state exp(A·dt), dt·B·u, the update and
/// what C reads of it (eight); D; and the convolution.
constexpr double mamba1_flops(const shape& m) {
  const auto& s = m.ssm;
  const auto channels = static_cast<double>(s.heads), state = static_cast<double>(s.state), rank = static_cast<double>(s.rank);
  return channels * (2 * (2 * rank + 2 * state) + 8 * state + 2 + 2 * static_cast<double>(s.conv));
}

/// Kernels that PyTorch starts in the loop of mamba_selective_scan: four for each position.
constexpr double mamba1_loops(std::int64_t sequence) { return 4 * static_cast<double>(sequence); }

}  // namespace headroom::detail
