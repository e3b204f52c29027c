// Distributed under the Boost Software License, Version 1.0.
// Gated DeltaNet, from the normalised input to the output projection: projections, a short convolution, gates, the scan in chunks, a gated
// norm. Fused, the scan is one operation; eager, a tensor of this program stands for those that PyTorch makes and drops together.
// Sources: transformers 5.16 models/qwen3_next/modeling_qwen3_next.py Qwen3NextGatedDeltaNet, torch_chunk_gated_delta_rule,
// Qwen3NextRMSNormGated; fla ops/gated_delta_rule/chunk.py ChunkGatedDeltaRuleFunction, modules/fused_norm_gate.py; causal-conv1d
// causal_conv1d_interface.py.
#pragma once

#include <headroom/block/delta_rule_solved.hpp>

namespace headroom::ops {

/// torch_chunk_gated_delta_rule up to transformers 5.16: q and k over their lengths in the compute format, then everything in fp32, and 63 steps of a triangular
/// solve that each save a row and a square.
constexpr tensor delta_rule_eager(program& p, const scene& s, tensor q, tensor k, tensor v, const delta_gates& gates) {
  const delta_chunks c(s);
  const auto each = delta_chunks::positions;
  const auto n = p.elements(q), w = p.width(q);
  const auto lengths = kept_of(p, q | k, checked::mul(2 * s.tokens, s.model->ssm.heads), w, {.saves = q | k, .forward_temporary = p.size(q), .backward_temporary = 2 * p.size(q)});
  const auto unit_q = made_of(p, q | lengths, n, w), unit_k = made_of(p, k | lengths, n, w);
  const auto q1 = made_of(p, unit_q.bit(), c.keys, 4, {.forward_temporary = p.rounded(c.keys, 4)}), k1 = made_of(p, unit_k.bit(), c.keys, 4);
  const auto v1 = made_of(p, v | gates.beta, checked::add(c.values, c.rows), 4);  // with beta
  const auto g = made_of(p, gates.g.bit(), c.rows, 4, {.forward_temporary = p.rounded(c.rows, 4)});
  const auto v_beta = made_of(p, v1.bit(), c.values, 4, {.saves = v1.bit()});
  const auto k_beta = made_of(p, k1 | v1, c.keys, 4, {.saves = k1 | v1});
  const auto decay = kept_of(p, g.bit(), c.square, 4, {.forward_temporary = p.rounded(c.square, 4), .backward_temporary = p.rounded(c.square, 4)});
  const auto decays = made_of(p, decay.bit(), c.square, 4);
  const auto product = made_of(p, k_beta | k1, c.square, 4, {.saves = k_beta | k1});
  const auto mask = p.make(each * each, 1);
  const auto masked = p.make(c.square, 4);
  p.step(product | decays, masked | mask, {.saves = (product | decays) | mask, .backward_temporary = p.size(product)});
  // Row i reads the rows above it: i and i × i elements, all saved; the sum of i × i + i for i from 1 to 63.
  const auto solve = p.make(checked::mul(c.all, 87'360), 4), solved = p.make(c.square, 4);
  p.step(masked.bit(), solve | solved, {.saves = solve.bit(), .backward_temporary = 2 * p.size(solved), .temporary_block = p.size(solved)});
  const auto u = made_of(p, solved | v_beta, c.values, 4, {.saves = solved | v_beta});
  const auto grown = kept_of(p, g.bit(), c.rows, 4);
  const auto k_grown = made_of(p, k_beta | grown, c.keys, 4, {.saves = k_beta | grown});
  const auto w1 = made_of(p, solved | k_grown, c.keys, 4, {.saves = solved | k_grown});
  // The loop over chunks: of each its scores, before and after the decays, what the state adds and what it keeps. The first one's state is
  // zero and needs no gradient.
  const auto scores = kept_of(p, (q1 | k1) | decays, 2 * c.square, 4, {.saves = q1.bit()});
  const auto factors = kept_of(p, g.bit(), checked::add(2 * c.rows, c.all), 4);  // exp(g), exp(last - g) and exp(last)
  const auto later = c.keys / c.chunks * (c.chunks - 1);
  const auto from_state = later > 0 ? made_of(p, q1 | factors, later, 4) : tensor{};
  const auto k_left = made_of(p, k1 | factors, c.keys, 4);
  const auto states = p.make(checked::add(checked::mul(c.chunks, c.state), c.values), 4), out = p.make(c.values, 4);  // with the new values
  p.step((u | w1) | (scores | k_left) | from_state, states | out,
         {.saves = (states | k_left) | (later > 0 ? from_state | w1 : tensor_set{0}), .forward_temporary = p.rounded(c.values / c.chunks, 4)});
  return made_of(p, out.bit(), checked::mul(s.tokens, detail::delta_values(*s.model)), w);
}

/// Queries and keys of unit length; with their inverse lengths they are what is saved (fla modules/l2norm.py).
struct unit_keys {
  tensor q{}, k{};
};
constexpr unit_keys unit_lengths(program& p, tensor q, tensor k, std::int64_t vectors) {
  const auto w = p.width(q);
  const auto q1 = p.make(p.elements(q), w), k1 = p.make(p.elements(k), w), lengths = p.make(vectors, 4);
  p.step(q | k, (q1 | k1) | lengths, {.saves = (q1 | k1) | lengths});
  return {q1, k1};
}

/// ChunkGatedDeltaRuleFunction behind that: q, k, v, the sums of g, beta and A, the solved square of each chunk, are saved; w, u, the new values and the
/// states h are made again in backward, beside gradients of the states.
constexpr tensor delta_rule_fused(program& p, const scene& s, tensor q1, tensor k1, tensor v, const delta_gates& gates) {
  const delta_chunks c(s);
  const auto w = p.width(q1);
  const auto sums = made_of(p, gates.g.bit(), checked::mul(s.tokens, s.model->ssm.heads), 4);
  const auto inverse = p.make(checked::mul(s.tokens, s.model->ssm.heads, delta_chunks::positions), w);
  const auto out = p.make(p.elements(v), w);
  const auto states = p.rounded(checked::mul(c.chunks, c.state), w), of_values = p.size(v), of_keys = p.size(k1);
  p.step((q1 | k1) | (v | sums) | gates.beta.bit(), out | inverse,
         {.saves = (q1 | k1) | (v | sums) | (gates.beta | inverse), .forward_temporary = of_keys + 2 * of_values + states,
          .backward_temporary = 2 * of_keys + 3 * of_values + 2 * states, .temporary_block = states});
  return out;
}

/// Qwen3NextRMSNormGated over each head: fp32 copies of both, the gate's silu; then the weight and the product in the compute format.
constexpr tensor gated_norm(program& p, const scene& s, const module_set& trained, tensor x, tensor gate) {
  const auto& m = *s.model;
  const auto n = p.elements(x), rows = n / m.ssm.head_dim, w = p.width(x);
  const bool trains = trained.has(module::mixer);
  const auto weight = trains ? p.rounded(m.ssm.head_dim, s.weight_width) : bytes{0};
  if (s.recurrence == recurrence::fused) {
    const auto y = p.make(n, w), root = p.make(rows, 4);
    p.step(x | gate, y | root, {.saves = (x | gate) | root, .weight_gradient = weight});
    return y;
  }
  const auto wide = cast(p, x, 4);
  const auto root = kept_of(p, wide.bit(), rows, 4, {.saves = wide.bit(), .forward_temporary = p.rounded(n, 4), .backward_temporary = p.rounded(n, 4)});
  const auto scaled = cast(p, made_of(p, wide | root, n, 4, {.saves = wide | root, .backward_temporary = p.rounded(n, 4)}), w);
  const auto weighed = made_of(p, scaled.bit(), n, w, {.saves = trains ? scaled.bit() : 0, .backward_temporary = trains ? p.size(scaled) : bytes{0}, .weight_gradient = weight});
  const auto silu = made_of(p, gate.bit(), w == 4 ? n : 2 * n, 4);  // with an fp32 copy of the gate
  return cast(p, made_of(p, weighed | silu, n, 4, {.saves = w == 4 ? (weighed | silu) | gate : weighed | silu}), w);
}

/// Gated DeltaNet as a mixer.
constexpr tensor gated_delta_net(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto values = detail::delta_values(m), keys = detail::delta_keys(m), n = checked::mul(s.tokens, values);
  if (s.padded) x = pointwise(p, x);  // times the mask
  const auto qkvz = linear(p, s, trained, module::mixer_in, x, m.hidden, 2 * checked::add(keys, values), m.ssm.bias);
  const auto gates = gates_of(p, s, trained, linear(p, s, trained, module::mixer_in, x, m.hidden, 2 * m.ssm.heads, m.ssm.bias));
  const auto qkv = made_of(p, qkvz.bit(), checked::mul(s.tokens, detail::delta_channels(m)), p.width(qkvz));  // side by side: copies
  const auto z = made_of(p, qkvz.bit(), n, p.width(qkvz));
  const auto mixed = short_convolution(p, s, trained, qkv);
  const bool copies = m.ssm.heads != m.ssm.groups || s.recurrence == recurrence::fused;
  const auto part = [&](std::int64_t elements) {
    const auto y = p.view(mixed, elements);
    p.step(mixed.bit(), y.bit());
    return y;
  };
  const auto repeated = checked::mul(s.tokens, checked::mul(m.ssm.heads, m.ssm.state));
  const auto q = copies ? made_of(p, mixed.bit(), repeated, p.width(mixed)) : part(repeated);
  const auto k = copies ? made_of(p, mixed.bit(), repeated, p.width(mixed)) : part(repeated);
  const bool fused = s.recurrence == recurrence::fused;
  const auto v = fused ? made_of(p, mixed.bit(), n, p.width(mixed)) : part(n);  // kernels take tensors without gaps
  const auto rule = [&] {
    if (!fused) return s.habits->date >= 202609 ? delta_rule_solved(p, s, q, k, v, gates) : delta_rule_eager(p, s, q, k, v, gates);
    const auto unit = unit_lengths(p, q, k, checked::mul(2 * s.tokens, m.ssm.heads));
    return delta_rule_fused(p, s, unit.q, unit.k, v, gates);
  };
  const auto y = rule();
  return linear(p, s, trained, module::mixer_out, gated_norm(p, s, trained, y, z), values, m.hidden, m.ssm.bias);
}

}  // namespace headroom::ops
