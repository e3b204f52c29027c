// Distributed under the Boost Software License, Version 1.0.
// Multi-token prediction on the last stage (DeepSeek-V3 report, section 2.2): what stands before and after the module's own layer.
// Source: Megatron-LM core/transformer/multi_token_prediction.py MultiTokenPredictionLayer, MultiTokenPredictionBlock, process_mtp_loss.
#pragma once

#include <headroom/block/megatron_experts.hpp>

namespace headroom::megatron {

/// A norm by itself: the last one of the stack, which with multi-token prediction runs before the modules.
constexpr program norm_block(const scene& s) {
  program p(s.granule);
  const auto x = p.input(streamed(s, s.model->hidden), s.residual_width, true);
  p.set_output(norm(p, s, x, s.stream_tokens()));
  return p;
}

/// What a module's checkpoint has beside the hidden state: the next token's embedding, an argument of it, too, and the mask of the dropout that made it,
/// which runs before (MultiTokenPredictionLayer.forward, _get_embeddings). Bytes.
constexpr bytes mtp_embedding(const scene& s) {
  const auto n = streamed(s, s.model->hidden);
  const auto rounded = [&](std::int64_t b) { return bytes{checked::round_up(b, s.granule)}; };
  return rounded(checked::mul(n, s.width)) + rounded(s.drops.embedding.positive() ? n : 0);
}

/// The hidden state and the next token's embedding, each through a norm, side by side through a projection of 2h to h features. That
/// is column-parallel; its result is gathered, and scattered again under sequence parallelism.
constexpr program mtp_front(const scene& s, const module_set& trained) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto x = p.input(streamed(s, m.hidden), s.residual_width, true);
  auto e = p.make(streamed(s, m.hidden), s.width);
  const auto table = weight_gradient(p, s, checked::mul(s.vocabulary, m.hidden) / s.tensor, trained.has(module::embedding));
  p.step(x.bit(), e.bit(), {.weight_gradient = table});
  p.require_gradient(e);  // the embedding trains, wherever its gradient is added up
  e = ops::drop(p, e, s.drops.embedding);
  const auto a = norm(p, s, e, s.stream_tokens()), b = norm(p, s, x, s.stream_tokens());
  const auto both = p.make(streamed(s, 2 * m.hidden), s.width);
  p.step(a | b, both.bit());
  auto y = column(p, s, both, 2 * m.hidden, m.hidden, true);
  if (s.tensor > 1) {
    const auto whole = p.make(checked::mul(s.tokens, m.hidden), s.width);
    p.step(y.bit(), whole.bit());
    y = whole;
    if (s.sequence_split > 1) {
      y = p.make(streamed(s, m.hidden), s.width);
      p.step(whole.bit(), y.bit());
    }
  }
  p.set_output(y);
  return p;
}

}  // namespace headroom::megatron
