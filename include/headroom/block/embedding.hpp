// Distributed under the Boost Software License, Version 1.0.
// From token numbers to the residual stream.
#pragma once

#include <headroom/block/altup.hpp>

namespace headroom {

/// Token embedding, learned positions, segments, a norm, dropout (GPT2Model, BertEmbeddings, BloomModel, OPTDecoder's project_in).
/// Backward makes a dense gradient of the whole table (aten embedding_dense_backward).
constexpr program embedding(const scene& s, const module_set& trained) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto columns = m.narrow_embedding ? m.embedding_width() : m.hidden;
  const auto n = checked::mul(s.stream_tokens(), columns);
  const auto width = s.weight_width;
  const bool trains = trained.has(module::embedding);
  auto x = p.make(checked::mul(s.tokens, m.embedding_width()), s.residual_width);
  // More than 3,072 tokens are sorted, and a partial sum in fp32 is made for each token and for every tenth (native/cuda/EmbeddingBackwardKernel.cu, NROWS_PER_THREAD).
  const bool sorts = trains && !s.host && s.tokens > 3072;
  const auto sums = sorts ? p.rounded(checked::mul(s.tokens / 10 + s.tokens, m.embedding_width()), 4) : bytes{0};
  p.step(0, x.bit(), {.backward_temporary = sums, .weight_gradient = trains ? p.rounded(checked::mul(checked::add(s.divided(s.vocabulary), m.vision.words), m.embedding_width()), width) : bytes{0}});
  if (m.layer_input.width > 0) {  // read by every layer: see step_facts::layer_inputs
    if (s.embedding_is_leaf) p.require_gradient(x);
    const auto own = ops::make_layer_inputs(p, s, trained, x), read = p.view(x, n);
    p.step(x | own, read.bit());
    x = read;
  }
  if (m.embedding_dim > 0 && !m.narrow_embedding) x = ops::multiply(p, s, x, {.in = m.embedding_dim, .out = m.hidden, .trains = trains});
  x = ops::reduce_partial(p, s, x, columns);
  if (m.position == position_kind::learned) {
    const auto positions = p.make(checked::mul(s.stream_tokens() / s.samples, columns), s.residual_width);  // of one sample, which all of them read
    p.step(0, positions.bit(),
           {.weight_gradient = trained.has(module::position) && !m.frozen_positions ? p.rounded(checked::mul(m.max_positions + m.position_offset, columns), width) : bytes{0}});
    const auto sum = p.make(n, s.residual_width);
    p.step(x | positions, sum.bit(), {.passes_gradient = true});
    x = sum;
  }
  if (m.token_types > 0) {
    const auto types = p.make(n, s.residual_width);
    p.step(0, types.bit(), {.weight_gradient = trained.has(module::position) ? p.rounded(checked::mul(m.token_types, columns), width) : bytes{0}});
    x = ops::add(p, x, types);
  }
  if (m.position == position_kind::disentangled) {  // the table of distances behind its norm, which every layer reads
    const auto table = checked::mul(m.relative_buckets, m.hidden);
    const auto normed = p.make(table, s.autocast ? 4 : s.residual_width), mean = p.make(m.relative_buckets, s.statistic_width), deviation = p.make(m.relative_buckets, s.statistic_width);
    const bytes gradient = (trained.has(module::position) ? p.rounded(table, width) : bytes{0}) + (trained.has(module::norm) ? 2 * p.rounded(m.hidden, width) : bytes{0});
    p.step(0, (normed | mean) | deviation, {.saves = (normed | mean) | deviation, .weight_gradient = gradient});
    p.step(x | normed, p.view(x, n).bit(), {.passes_gradient = true});
  }
  if (m.embedding_norm) x = ops::norm(p, s, x, columns, trained.has(module::norm));
  x = ops::drop(p, x, s.drops.embedding);
  if (m.narrow_embedding) x = ops::multiply(p, s, x, {.in = columns, .out = m.hidden, .bias = true, .trains = trains});
  if (m.altup.streams > 0) x = ops::make_streams(p, s, trained, x);
  p.set_output(x);
  return p;
}

}  // namespace headroom
