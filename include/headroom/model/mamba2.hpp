// Distributed under the Boost Software License, Version 1.0.
// The weights of Mamba-2, and what its chunks multiply.
// Source: transformers 5.16 models/mamba2/modeling_mamba2.py Mamba2Mixer (Bamba, GraniteMoeHybrid, NemotronH alike).
#pragma once

#include <headroom/model/weight_place.hpp>

namespace headroom::detail {

/// Features of all heads; of all heads with the groups' B and C, which the convolution sees; and with the gate and a step for each head.
constexpr std::int64_t mamba2_inner(const shape& m) { return checked::mul(m.ssm.heads, m.ssm.head_dim); }
constexpr std::int64_t mamba2_channels(const shape& m) { return checked::add(mamba2_inner(m), checked::mul(2 * m.ssm.groups, m.ssm.state)); }
constexpr std::int64_t mamba2_projected(const shape& m) { return checked::add(checked::add(mamba2_channels(m), mamba2_inner(m)), m.ssm.heads); }
constexpr std::int64_t mamba2_chunk(const shape& m) { return m.ssm.chunk > 0 ? m.ssm.chunk : 256; }

constexpr void add_mamba2(inventory& list, const shape& m, const weight_place& p) {
  // Tensor parallelism divides heads and groups (Megatron-LM core/ssm/mamba_mixer.py, nheads_local_tp, ngroups_local_tp).
  const auto vector = [&](std::int64_t rows, std::int64_t columns, std::int64_t each) {
    list.add({.role = p.role(module::mixer), .rows = rows, .columns = columns, .layers = p.at, .per_layer = checked::mul(p.copies, each), .split = split_axis::rows});
  };
  add_matrix(list, p, module::mixer_in, mamba2_projected(m), m.hidden, split_axis::rows, m.ssm.bias);
  vector(mamba2_channels(m), m.ssm.conv, 1);
  if (m.ssm.conv_bias) vector(mamba2_channels(m), 1, 1);
  vector(m.ssm.heads, 1, 3);  // dt_bias, A_log, D
  if (!m.ssm.no_norm) vector(mamba2_inner(m), 1, 1);
  add_matrix(list, p, module::mixer_out, m.hidden, mamba2_inner(m), split_axis::columns, m.ssm.bias);
}

/// FLOPs of one position beside the matrices, in chunks of c: C·BT of each group (2·c·N), the scores times the inputs (2·c·P) and, of each
/// head, the state written and read (2·2·P·N), and the convolution.
/// mamba_ssm ops/triton/ssd_combined.py _mamba_chunk_scan_combined_fwd.
constexpr double mamba2_flops(const shape& m) {
  const auto& s = m.ssm;
  const auto c = static_cast<double>(mamba2_chunk(m)), n = static_cast<double>(s.state), width = static_cast<double>(s.head_dim);
  return static_cast<double>(s.groups) * 2 * c * n + static_cast<double>(s.heads) * (2 * c * width + 4 * width * n) +
         2 * static_cast<double>(mamba2_channels(m)) * static_cast<double>(s.conv);
}

}  // namespace headroom::detail
