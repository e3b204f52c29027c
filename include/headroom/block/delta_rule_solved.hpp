// Distributed under the Boost Software License, Version 1.0.
// The scan of Gated DeltaNet in PyTorch's own operations since transformers 5.17: everything in fp32, two triangular solves for all chunks, and a loop over
// chunks that multiplies with slices of what was made before it.
// Sources: transformers 5.17 models/qwen3_5/modeling_qwen3_5.py torch_chunk_gated_delta_rule (models/qwen3_next and models/olmo_hybrid have the same);
// pytorch torch/csrc/autograd/FunctionsManual.cpp linalg_solve_triangular_backward; ATen native/PadNd.cpp constant_pad_nd (no padding is a clone).
#pragma once

#include <headroom/block/delta_chunks.hpp>

namespace headroom::ops {

/// q or k over its length.
constexpr tensor over_length(program& p, const scene& s, tensor x) {
  const auto n = p.elements(x);
  const auto wide = cast(p, x, 4), square = p.make(n, 4), length = p.make(checked::mul(s.tokens, s.model->ssm.heads), 4);
  p.step(wide.bit(), square.bit(), {.saves = wide.bit(), .backward_temporary = p.rounded(n, 4)});
  p.step(square.bit(), length.bit(), {.saves = length.bit()});
  return made_of(p, wide | length, n, 4, {.saves = wide | length, .backward_temporary = p.rounded(n, 4)});
}

/// x times a number a row: the number's gradient is a product as large as x, added up.
constexpr tensor times_rows(program& p, tensor x, tensor rows) {
  return made_of(p, x | rows, p.elements(x), 4, {.saves = x | rows, .backward_temporary = p.size(x)});
}

/// A product of matrices, in autocast's format where that is on.
constexpr tensor matrix_product(program& p, const scene& s, tensor a, tensor b, std::int64_t elements) {
  if (s.autocast) a = cast(p, a, s.width), b = cast(p, b, s.width);
  return made_of(p, a | b, elements, p.width(a), {.saves = a | b});
}

/// What one chunk leaves for the next.
struct delta_loop {
  tensor values{}, keys{};    ///< both solved: the new values, and the keys that read the state
  tensor q{}, k{};            ///< times what has decayed
  tensor scores{}, decays{};  ///< within a chunk; of a whole one
};
/// The loop: of each chunk the state that it reads and its new values are kept. A slice's gradient is as large as what it was cut from, and the result's
/// is copied for each chunk (CopySlices).
constexpr tensor scan_chunks(program& p, const scene& s, const delta_chunks& c, const delta_loop& l, tensor_set named) {
  const auto states = p.make(checked::mul(c.chunks, c.state), 4), fresh = p.make(c.values, 4), out = p.make(c.values, 4);
  tensor_set saves = states | l.decays, makes = (states | fresh) | out;
  if (s.autocast) {  // casts of every operand: the state is multiplied twice, and so are the new values
    const auto narrow = p.make(checked::add(checked::add(3 * c.keys, c.square), checked::add(2 * c.values, checked::mul(2 * c.chunks, c.state))), s.width);
    makes |= narrow.bit();
    saves |= narrow.bit();
  } else {
    saves |= ((l.keys | l.q) | (l.k | l.scores)) | fresh.bit();
  }
  const auto one = p.rounded(c.values / c.chunks, 4) + 2 * p.rounded(c.state, 4);
  const auto slice = p.rounded(c.keys > c.values ? c.keys : c.values, 4);
  p.step(((l.values | l.keys) | (l.q | l.k)) | (l.scores | l.decays), makes,
         {.saves = saves, .holds = named, .forward_temporary = one, .backward_temporary = slice + p.size(out) + one, .temporary_block = slice});
  return out;
}

/// From queries, keys and values of all heads to the result.
constexpr tensor delta_rule_solved(program& p, const scene& s, tensor q, tensor k, tensor v, const delta_gates& gates) {
  const delta_chunks c(s);
  const auto square = p.rounded(c.square, 4);
  const auto unit_q = pointwise(p, over_length(p, s, q)), unit_k = over_length(p, s, k), wide_v = cast(p, v, 4);
  const auto q1 = made_of(p, unit_q.bit(), c.keys, 4), k1 = made_of(p, unit_k.bit(), c.keys, 4);
  const auto v1 = made_of(p, wide_v.bit(), c.values, 4, {.holds = unit_q | unit_k});
  const auto beta = made_of(p, gates.beta.bit(), c.rows, 4, {.forward_temporary = p.rounded(c.rows, 4)}), g = made_of(p, gates.g.bit(), c.rows, 4);
  const auto v_beta = times_rows(p, v1, beta), k_beta = times_rows(p, k1, beta);
  const auto sums = made_of(p, g.bit(), c.rows, 4);
  const auto decay = kept_of(p, sums.bit(), c.square, 4, {.forward_temporary = square, .backward_temporary = square});
  const auto weigh = [&](tensor a) {
    const auto product = matrix_product(p, s, a, k1, c.square);
    return made_of(p, product | decay, c.square, 4, {.saves = product | decay});
  };
  const auto system = weigh(k_beta), scores = weigh(q1);
  const auto grown = [&](std::int64_t rows) { return kept_of(p, sums.bit(), rows, 4); };
  const auto k_grown = times_rows(p, k_beta, grown(c.rows));
  const auto solved = [&](tensor right) { return kept_of(p, system | right, p.elements(right), 4, {.saves = system.bit(), .backward_temporary = square}); };
  delta_loop l{.values = solved(v_beta), .keys = solved(k_grown)};
  l.q = times_rows(p, q1, grown(c.rows));
  l.k = times_rows(p, k1, grown(c.rows));
  l.scores = scores;
  l.decays = grown(c.all);
  const auto out = scan_chunks(p, s, c, l, v_beta | k_grown);
  return made_of(p, out.bit(), checked::mul(s.tokens, detail::delta_values(*s.model)), p.width(q));
}

}  // namespace headroom::ops
