// Distributed under the Boost Software License, Version 1.0.
// A layer's own embedding of each token: how all of them are made, and what a layer makes of its own.
// Source: transformers 5.16 models/gemma4/modeling_gemma4.py Gemma4TextModel.project_per_layer_inputs, Gemma4TextDecoderLayer.forward.
#pragma once

#include <headroom/block/linear.hpp>

namespace headroom {

/// Elements of all layers' embeddings.
constexpr std::int64_t layer_inputs(const scene& s) { return checked::mul(s.tokens, checked::mul(s.model->layers, s.model->layer_input.width)); }

namespace ops {

/// All layers' embeddings of each token, one tensor: rows of a table, and what a matrix and a norm make of the embedding x, added and scaled.
constexpr tensor make_layer_inputs(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto all = checked::mul(m.layers, m.layer_input.width), n = layer_inputs(s);
  const bool trains = trained.has(module::embedding);
  const auto found = p.make(n, s.residual_width);
  p.step(0, found.bit(), {.weight_gradient = trains ? p.rounded(checked::mul(m.layer_input.vocab, all), s.weight_width) : bytes{0}});
  const auto rows = scale(p, s, found);
  const auto projected = scale(p, s, linear(p, s, trained, module::layer_input, x, m.hidden, all, false));
  return scale(p, s, add(p, norm(p, s, projected, m.layer_input.width, trained.has(module::norm)), rows));
}

/// What a layer adds of its own embeddings, gated by x and through a norm. The embeddings are counted where they are made; their gradient comes as that of all
/// layers' (select_backward).
constexpr tensor add_layer_input(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto n = checked::mul(s.tokens, m.layer_input.width);
  const auto all = p.make(n, 0), own = p.make(n, 0);
  if (s.layer_inputs_train) p.require_gradient(all);
  p.step(all.bit(), own.bit(), {.backward_temporary = s.layer_inputs_train ? p.rounded(layer_inputs(s), s.residual_width) : bytes{0}});
  const auto gate = activate(p, s, linear(p, s, trained, module::layer_input, x, m.hidden, m.layer_input.width, false), m.activation);
  const auto back = linear(p, s, trained, module::layer_input, multiply(p, gate, own), m.layer_input.width, m.hidden, false);
  return norm(p, s, back, m.hidden, trained.has(module::norm));
}

}  // namespace ops

/// What a layer makes of its own: a gate of the residual stream, its activation times the embedding, and back to the stream.
constexpr program layer_input_block(const scene& s, const module_set& trained, bool flows) {
  program p(s.granule);
  const auto x = p.input(checked::mul(s.tokens, s.model->hidden), s.residual_width, flows);
  p.set_output(ops::add(p, x, ops::add_layer_input(p, s, trained, x)));
  return p;
}

}  // namespace headroom
