// Distributed under the Boost Software License, Version 1.0.
// Encoder and decoder: the encoder's ends, and the decoder's attention to what it made.
// Sources: transformers models/t5/modeling_t5.py (T5LayerCrossAttention, T5Stack), models/bart/modeling_bart.py BartDecoderLayer,
// models/whisper/modeling_whisper.py WhisperEncoder.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/host_attention.hpp>

namespace headroom {

/// The encoder's layers as a stack of their own: the main stack's, without what only a decoder has.
constexpr shape encoder_stack(const shape& m) {
  shape e = m;
  e.layers = m.encoder.layers;
  if (m.encoder.heads > 0) e.heads = m.encoder.heads, e.kv_heads = 0;
  if (m.encoder.ffn > 0) e.ffn = m.encoder.ffn;
  if (m.encoder.attention_bias) e.attention_bias = e.output_bias = true;
  e.experts = {};
  e.mla = {};
  e.vision = {};
  e.encoder = {};
  e.bidirectional = true;
  return e;
}

/// The scene of an encoder's layers, in a model whose decoder's scene is `s`. PEFT's adapters are beside the modules of both that have one name.
constexpr scene encoder_scene(const scene& s, const shape& stack) {
  scene e = s;
  e.model = &stack;
  e.sequence = s.memory;
  e.tokens = checked::mul(s.samples, s.memory);
  e.quantised = {};
  return e;
}

/// Tokens, or a spectrum through two convolutions of which the second halves it; positions; the norm after them. The token table is the main
/// stack's: its gradient is added to that one.
constexpr program encoder_front(const scene& s, const encoder_shape& of, bool trains, bool table_trains) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto n = checked::mul(s.tokens, m.hidden);
  const auto width = s.weight_width;
  tensor x{};
  if (of.audio_channels > 0) {
    const auto convolve = [&](tensor from, std::int64_t positions, std::int64_t channels) {
      const auto y = p.make(checked::mul(positions, m.hidden), s.width);
      p.step(from.bit(), y.bit(), {.saves = from.bit(), .weight_gradient = trains ? p.rounded(checked::mul(3, channels, m.hidden), width) : bytes{0}});
      return ops::activate(p, s, y, activation_kind::gelu);
    };
    const auto spectrum = p.make(checked::mul(2 * s.tokens, of.audio_channels), s.width);
    p.step(0, spectrum.bit());
    x = ops::cast(p, convolve(convolve(spectrum, 2 * s.tokens, of.audio_channels), s.tokens, m.hidden), s.residual_width);
  } else {
    x = p.make(n, s.residual_width);
    const bytes table = of.vocab > 0 ? trains ? p.rounded(checked::mul(of.vocab, m.hidden), width) : bytes{0} : table_trains ? p.rounded(checked::mul(s.vocabulary, m.embedding_width()), width) : bytes{0};
    if (of.vocab > 0)
      p.step(0, x.bit(), {.weight_gradient = table});
    else
      p.step(0, x.bit(), {.backward_temporary = table, .weight_gradient = table_trains ? p.rounded(bytes{1}) : bytes{0}});
  }
  if (m.position == position_kind::learned) {
    const auto rows = (of.max_positions > 0 ? of.max_positions : m.max_positions) + m.position_offset;
    const auto positions = p.make(checked::mul(s.sequence, m.hidden), s.residual_width);
    p.step(0, positions.bit(), {.weight_gradient = trains && !of.frozen_positions ? p.rounded(checked::mul(rows, m.hidden), width) : bytes{0}});
    const auto sum = p.make(n, s.residual_width);
    p.step(x | positions, sum.bit(), {.passes_gradient = true});
    x = sum;
  }
  if (m.embedding_norm) x = ops::norm(p, s, x, m.hidden, trains);
  p.set_output(ops::drop(p, x, s.drops.embedding));
  return p;
}

/// The norm at the encoder's end. What it makes is held as long as the decoder's layers read it.
constexpr program encoder_back(const scene& s, bool trains, bool input_has_gradient) {
  const auto& m = *s.model;
  program p(s.granule);
  auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  if (!m.no_final_norm) x = ops::norm(p, s, x, m.hidden, trains);
  x = ops::drop(p, x, m.no_final_norm ? probability{} : s.drops.hidden);
  p.set_output(x);
  p.hold_in_forward(x);
  return p;
}

/// Cross-attention: queries from the stream, keys and values from the encoder's result. That is one tensor for all layers, counted
/// where it is made, so that it has no size here; its gradient does.
constexpr program cross_block(const scene& self, const module_set& trained, bool input_has_gradient, bool memory_has_gradient) {
  scene s = self;
  s.keys = self.memory;
  const auto& m = *s.model;
  program p(s.granule);
  const bool trains = trained.has(module::cross_attention);
  const auto all = checked::mul(s.samples, s.memory, m.hidden);
  const auto memory = p.input(all, 0, memory_has_gradient);
  const auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  const bool adapted = s.side->active();
  const auto read = p.view(memory, all, adapted ? s.residual_width : 0);
  const bytes gradient = memory_has_gradient && !adapted ? p.rounded(all, s.residual_width) : bytes{0};
  p.step(memory.bit(), read.bit(), {.backward_temporary = gradient});
  const bool norms_sum = m.norm_after && m.norm == norm_kind::layernorm;
  const auto first = m.norm_after ? x : ops::norm(p, s, x, m.hidden, trains);
  const auto project = [&](module role, tensor from, std::int64_t in, std::int64_t out, bool bias) {
    const auto y = ops::multiply(p, s, from, {.in = in, .out = out, .bias = bias, .trains = trains});
    return s.adapts(role) ? ops::adapt(p, s, from, y, in, out) : y;
  };
  ops::heads h{.q = project(module::q_proj, first, m.hidden, m.query_width(), m.attention_bias),
               .k = project(module::k_proj, read, m.hidden, m.kv_width(), m.attention_bias && !m.no_key_bias),
               .v = project(module::v_proj, read, m.hidden, m.kv_width(), m.attention_bias)};
  const bool masked = ops::masks_biases(s, m), on_host = ops::runs_math(s, true);
  const bool written_out = !on_host && (s.kernel == attention::eager || s.kernel == attention::math || (m.position == position_kind::relative && !masked));
  tensor_set mask = 0;
  if (masked && s.padded) {  // the least number in each layer's copy of the zeros
    mask = p.make(checked::mul(s.samples, m.heads, checked::mul(s.sequence, s.keys)), s.width).bit();
    p.step(0, mask);
    s.padded = false;
  }
  if (written_out && m.kv() != m.heads) {
    h.k = ops::expand(p, s, h.k);
    h.v = ops::expand(p, s, h.v);
    h.repeated = true;
  }
  auto out = on_host ? ops::math_attention(p, s, h.q, h.k, h.v, 0, checked::mul(s.tokens, m.query_width()))
             : written_out ? ops::eager_attention(p, s, h, ops::fp32_softmax(s))
                           : ops::fused_attention(p, s, h, 0, mask);
  if (!on_host && !written_out && ops::copies_result(s)) out = ops::pointwise(p, out);
  auto y = project(module::o_proj, out, m.query_width(), m.hidden, m.output_bias);
  if (m.post_norms) y = ops::norm(p, s, y, m.hidden, trains);
  const auto sum = ops::add(p, x, ops::drop(p, y, s.drops.hidden));
  p.set_output(norms_sum ? ops::norm(p, s, sum, m.hidden, trains) : sum);
  return p;
}

/// Calls visit(program) for each part of a decoder layer that also attends to an encoder.
constexpr void for_each_cross_block(const scene& s, const module_set& trained, bool flows, const auto& visit) {
  const auto part = [&](const program& p) {
    flows = p.needs_gradient(p.output());
    visit(p);
  };
  with_made([&] { return decoder_block(s, layer_part::attention, trained, flows); }, part);
  with_made([&] { return cross_block(s, trained, flows, s.memory_has_gradient); }, part);
  with_made([&] { return decoder_block(s, layer_part::mlp, trained, flows); }, part);
}

/// Walks one; see walk_layer.
constexpr layer_walk walk_cross_layer(const scene& s, const module_set& trained, bool input_has_gradient, bool graphless = false, bool accumulate = false) {
  layer_walk r;
  bool first = true;
  for_each_cross_block(s, trained, input_has_gradient, [&](const program& p) {
    detail::join(r, p, first, graphless, accumulate);
    first = false;
  });
  return r;
}

}  // namespace headroom
