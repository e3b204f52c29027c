// Distributed under the Boost Software License, Version 1.0.
// From token numbers to the residual stream.
#pragma once

#include <headroom/block/linear.hpp>

namespace headroom {

/// Token embedding, learned positions, segments, a norm, dropout (GPT2Model, BertEmbeddings, BloomModel, OPTDecoder's project_in).
/// Backward makes a dense gradient of the whole table (aten embedding_dense_backward).
constexpr program embedding(const scene& s, const module_set& trained) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto n = checked::mul(s.stream_tokens(), m.hidden);
  const auto width = s.weight_width;
  const bool trains = trained.has(module::embedding);
  auto x = p.make(checked::mul(s.tokens, m.embedding_width()), s.residual_width);
  p.step(0, x.bit(), {.weight_gradient = trains ? p.rounded(checked::mul(s.divided(s.vocabulary), m.embedding_width()), width) : bytes{0}});
  if (m.embedding_dim > 0) x = ops::multiply(p, s, x, {.in = m.embedding_dim, .out = m.hidden, .trains = trains});
  x = ops::reduce_partial(p, s, x, m.hidden);
  if (m.position == position_kind::learned) {
    const auto positions = p.make(checked::mul(s.sequence, m.hidden), s.residual_width);
    p.step(0, positions.bit(),
           {.weight_gradient = trained.has(module::position) ? p.rounded(checked::mul(m.max_positions + m.position_offset, m.hidden), width) : bytes{0}});
    const auto sum = p.make(n, s.residual_width);
    p.step(x | positions, sum.bit(), {.passes_gradient = true});
    x = sum;
  }
  if (m.token_types > 0) {
    const auto types = p.make(n, s.residual_width);
    p.step(0, types.bit(), {.weight_gradient = trained.has(module::position) ? p.rounded(checked::mul(m.token_types, m.hidden), width) : bytes{0}});
    x = ops::add(p, x, types);
  }
  if (m.embedding_norm) x = ops::norm(p, s, x, m.hidden, trained.has(module::norm));
  p.set_output(ops::drop(p, x, s.drops.embedding));
  return p;
}

}  // namespace headroom
