// Distributed under the Boost Software License, Version 1.0.
// T5 as Megatron builds it: an encoder's layers as a stack of their own, and the decoder's attention to what they make.
// Sources: Megatron-LM core/models/T5/t5_model.py, t5_spec.py; core/transformer/attention.py CrossAttention.
#pragma once

#include <headroom/block/cross.hpp>
#include <headroom/block/megatron.hpp>

namespace headroom::megatron {

/// `stack`: encoder_stack() of the model.
constexpr scene encoder_scene(const scene& s, const shape& stack) {
  scene e = s;
  e.model = &stack;
  e.sequence = s.memory;
  e.tokens = checked::mul(s.samples, s.memory);
  e.memory = 0;
  return e;
}

/// A norm of its own, queries from the stream, keys and values from the encoder's result. That is one tensor for all layers, which has no
/// size here (chunk_step.hpp has it); each layer's gradient of it is added to those of the layers behind.
constexpr program cross_block(const scene& self, const module_set& trained) {
  scene s = self;
  s.keys = self.memory;
  const auto& m = *s.model;
  program p(s.granule);
  const bool trains = trained.has(module::cross_attention);
  const auto x = p.input(streamed(s, m.hidden), s.residual_width, true);
  const auto q = column(p, s, norm(p, s, x, s.stream_tokens()), m.hidden, m.query_width(), trains);
  const auto read = checked::mul(s.samples, s.memory), whole = checked::mul(read, m.hidden);
  const bytes gradient = p.rounded(whole / s.sequence_split, s.width), gathered = s.sequence_split > 1 ? p.rounded(whole, s.width) : bytes{0};
  const auto kv = p.make(checked::mul(read, 2 * m.kv_width()) / s.tensor, s.width);
  p.step(0, kv.bit(), {.forward_temporary = gathered, .backward_temporary = 2 * gathered + gradient,
                       .weight_gradient = weight_gradient(p, s, checked::mul(m.hidden, 2 * m.kv_width()) / s.tensor, trains)});
  p.require_gradient(kv);
  const auto out = core_attention(p, s, q | kv, divided(s, m.query_width()));
  p.set_output(ops::add(p, x, ops::drop(p, row_parallel(p, s, out, m.query_width(), m.hidden, trains), s.drops.hidden)));
  return p;
}

}  // namespace headroom::megatron
