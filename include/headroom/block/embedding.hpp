// Distributed under the Boost Software License, Version 1.0.
// From token numbers to the residual stream.
#pragma once

#include <headroom/block/operations.hpp>

namespace headroom {

/// Token embedding, learned positions, dropout. Backward makes a dense gradient of the whole table
/// (aten embedding_dense_backward).
constexpr program embedding(const scene& s, const module_set& trained) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto n = checked::mul(s.tokens, m.hidden);
  const auto width = s.autocast ? 4 : s.weight_width;
  auto x = p.make(n, s.residual_width);
  p.step(0, x.bit(), {.weight_gradient = trained.has(module::embedding) ? p.rounded(checked::mul(s.vocabulary, m.hidden), width) : bytes{0}});
  if (m.position == position_kind::learned) {
    const auto positions = p.make(checked::mul(s.sequence, m.hidden), s.residual_width);
    p.step(0, positions.bit(),
           {.weight_gradient = trained.has(module::position) ? p.rounded(checked::mul(m.max_positions, m.hidden), width) : bytes{0}});
    const auto sum = p.make(n, s.residual_width);
    p.step(x | positions, sum.bit(), {.passes_gradient = true});
    x = sum;
  }
  p.set_output(ops::drop(p, x, s.drops.embedding));
  return p;
}

}  // namespace headroom
