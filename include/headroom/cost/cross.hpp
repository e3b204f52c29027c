// Distributed under the Boost Software License, Version 1.0.
// How long a decoder's attention to an encoder takes.
#pragma once

#include <headroom/cost/adapters.hpp>

#include <bit>

namespace headroom::detail {

/// A side matrix on this rank.
constexpr void add_side_matrix(both_passes& t, const cost_scene& c, const side_matrix& one) {
  const bool fits_tensor_cores = aligned(static_cast<std::int64_t>(one.out), c.layer.width) && aligned(static_cast<std::int64_t>(one.in), c.layer.width);
  add_linear(t, c, one.positions, one.out, one.in, one.copies, c.trained.has(one.role) ? 1 : 0, c.layer.quantised.has(one.role), fits_tensor_cores ? c.on.matmul : c.on.unaligned);
}

/// A decoder's attention to the encoder, of one layer.
constexpr void add_cross_attention(both_passes& t, const cost_scene& c) {
  const auto& m = c.job->model;
  const auto& l = c.layer;
  if (!m.encoder.cross_attention) return;
  const auto samples = static_cast<double>(l.samples), sequence = static_cast<double>(l.sequence), memory = static_cast<double>(l.memory);
  for_each_cross_matrix(m, samples, sequence, 1, [&](const side_matrix& one) {
    add_side_matrix(t, c, one);
    if (const auto beside = l.side->active() ? std::popcount(one.parts.bits & l.side->targets.bits) : 0; beside > 0) add_adapter(t, c, one.positions, one.out, one.in, beside);
  });
  const bool written_out = l.kernel == attention::eager || l.kernel == attention::math || m.position == position_kind::relative;
  if (written_out) {
    const double rate = aligned(m.head_width(), l.width) && aligned(l.memory, l.width) ? c.on.matmul_16 : c.on.unaligned;
    const auto scores = seconds_of({.rows = sequence, .columns = memory, .inner = static_cast<double>(m.head_width()), .batch = samples * static_cast<double>(m.heads)}, rate);
    t.forward.attention += 2 * scores;
    t.backward.attention += 4 * scores;
  } else {
    const double work = 2 * samples * sequence * memory * pair_features(m);
    t.forward.attention += work / c.on.attention;
    t.backward.attention += 2.5 * work / c.on.attention;  // as add_attention()
  }
  add_traffic(t, c, with_made([&] { return cross_block(l, c.trained, true, l.memory_has_gradient); }, traffic_of));
}

}  // namespace headroom::detail
