// Distributed under the Boost Software License, Version 1.0.
// Kimi Delta Attention, from the normalised input to the output projection: a Gated DeltaNet whose decay is a number for each feature of a key. It runs
// in fla's kernels alone.
// Sources: moonshotai/Kimi-Linear-48B-A3B-Base modeling_kimi.py KimiDeltaAttention (axolotl model_support/kimi_linear/modeling_kimi.py, 2026-07, trains
// it so); fla bc3b101 (2026-08-22) ops/kda/gate.py KDAGateFunction, ops/kda/chunk.py ChunkKDAFunction, chunk_fwd.py, chunk_bwd.py, chunk_intra.py,
// modules/fused_norm_gate.py.
#pragma once

#include <headroom/block/gated_delta_net.hpp>
#include <headroom/model/kimi_delta.hpp>

namespace headroom::ops {

/// A low-rank pair of matrices: to the features of one head, and from there to those of all.
constexpr tensor through_one_head(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  return linear(p, s, trained, module::mixer_in, linear(p, s, trained, module::mixer_in, x, m.hidden, m.ssm.head_dim, false), m.ssm.head_dim, detail::kimi_width(m), false);
}

/// chunk_kda: queries and keys of unit length with their inverse lengths, values, the decay in fp32 as it came and as it adds up within a chunk, beta, and
/// the two squares of each chunk are saved. Forward makes w, u, the decayed keys, the new values and the states, and, for its scores, a quarter of a square
/// in fp32; the state at the end is asked for and thrown away. Backward makes w, u, both decayed queries and keys, the new values and the states again;
/// beside them stand gradients of the states, of both squares in fp32, and of q, k and the decay in fp32, each twice while chunk_kda_bwd_intra adds to them.
constexpr tensor chunk_kda(program& p, const scene& s, tensor q, tensor k, tensor v, tensor decay, tensor beta) {
  const delta_chunks c(s);
  const auto w = p.width(q), n = p.elements(q), rows = checked::mul(s.tokens, s.model->ssm.heads);
  const auto q1 = p.make(n, w), k1 = p.make(n, w), lengths = p.make(2 * rows, 4);
  p.step(q | k, (q1 | k1) | lengths, {.saves = (q1 | k1) | lengths});
  const auto sums = p.make(n, 4);
  const auto squares = p.make(checked::mul(2 * rows, delta_chunks::positions), w), out = p.make(n, w);
  const auto narrow = p.rounded(n, w), wide = p.rounded(n, 4), states = p.rounded(checked::mul(c.chunks, c.state), w), square = p.rounded(checked::mul(rows, delta_chunks::positions), 4);
  p.step((q1 | k1) | (v | decay) | beta.bit(), (sums | squares) | out.bit(),
         {.saves = (q1 | k1) | (v | decay) | (sums | squares) | beta.bit(),
          .forward_temporary = 4 * narrow + states + p.rounded(checked::mul(rows, 16), 4) + p.rounded(c.state, 4),
          .backward_temporary = 3 * narrow + 5 * wide + 2 * states + 2 * square, .temporary_block = states});
  return out;
}

/// Kimi Delta Attention as a mixer.
constexpr tensor kimi_delta(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto width = detail::kimi_width(m), rows = checked::mul(s.tokens, m.ssm.heads);
  const bool trains = trained.has(module::mixer);
  const auto weight = [&](std::int64_t elements) { return trains ? p.rounded(elements, s.weight_width) : bytes{0}; };
  if (s.padded) x = pointwise(p, x);  // rows without padding, one behind the other
  const auto convolved = [&](module projection) { return short_convolution(p, s, trained, linear(p, s, trained, projection, x, m.hidden, width, false)); };
  const auto q = convolved(module::q_proj), k = convolved(module::k_proj), v = convolved(module::v_proj);
  const auto raw = through_one_head(p, s, trained, x);
  // -exp(A_log) softplus(raw + dt_bias) in fp32, from what is saved of it.
  const auto decay = made_of(p, raw.bit(), p.elements(raw), 4, {.saves = raw.bit(), .backward_temporary = p.rounded(p.elements(raw), 4), .weight_gradient = weight(width) + weight(m.ssm.heads)});
  const auto beta = kept_of(p, cast(p, linear(p, s, trained, module::mixer_in, x, m.hidden, m.ssm.heads, false), 4).bit(), rows, 4);
  const auto mixed = chunk_kda(p, s, q, k, v, decay, beta);
  const auto y = gated_norm(p, s, trained, mixed, through_one_head(p, s, trained, x));
  const auto out = linear(p, s, trained, module::o_proj, y, width, m.hidden, false);
  return s.padded ? pointwise(p, out) : out;  // padding is put back
}

}  // namespace headroom::ops
