// Distributed under the Boost Software License, Version 1.0.
// A dense MLP and routed experts side by side, each between norms of its own, and a norm over their sum (Gemma 4).
// Source: transformers 5.16 models/gemma4/modeling_gemma4.py Gemma4TextDecoderLayer.forward (enable_moe_block), Gemma4TextRouter.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/sorted_experts.hpp>

namespace headroom {

namespace ops {

/// The router reads the residual stream through a norm without weights, times a vector and a number. The chosen scores, divided by their sum, are
/// multiplied by a trained number of each expert.
constexpr routing route_stream(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  const bool trains = trained.has(module::router);
  const auto chosen = checked::mul(s.tokens, e.active);
  const auto scaled = scale(p, s, layer_scale(p, s, unit_norm(p, s, x, m.hidden), m.hidden, trains));
  const auto logits = linear(p, s, trained, module::router, scaled, m.hidden, e.count, false);
  const auto scores = p.make(checked::mul(s.tokens, e.count), 4), top = p.make(chosen, 4), numbers = p.make(chosen, 8), sum = p.make(s.tokens, 4);
  p.step(logits.bit(), scores.bit(), {.saves = scores.bit()});
  p.step(scores.bit(), top | numbers, {.saves = numbers.bit()});
  p.step(top.bit(), sum.bit());
  const auto divided = p.make(chosen, 4);  // in place: what it was is kept for the sum's gradient
  p.step(top | sum, divided.bit(), {.saves = top | sum});
  const auto each = p.make(chosen, s.weight_width);
  p.step(numbers.bit(), each.bit(), {.saves = trains ? numbers.bit() : 0, .weight_gradient = trains ? p.rounded(e.count, s.weight_width) : bytes{0}});
  if (trains) p.require_gradient(each);
  const auto weights = p.make(chosen, 4);
  p.step(divided | each, weights.bit(), {.saves = (trains ? divided.bit() : 0) | each});
  return {weights, numbers};
}

}  // namespace ops

/// The half of a layer behind its mixer, in one program.
constexpr program beside_mlp_block(const scene& s, const module_set& trained, bool input_has_gradient, std::int64_t matrices) {
  const auto& m = *s.model;
  program p(s.granule);
  p.count_matrices_from(matrices);
  p.sum_out_of_place(s.habits->autograd.sums_out_of_place);
  const auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  const auto normed = [&](tensor y) { return ops::norm(p, s, y, m.hidden, trained.has(module::norm)); };
  const auto dense = normed(ops::feed_forward(p, s, trained, normed(x)));
  const auto to = ops::route_stream(p, s, trained, x);
  const auto sparse = normed(ops::sorted_experts(p, s, trained, normed(x), to));
  p.set_output(ops::add(p, x, normed(ops::add(p, dense, sparse))));
  return p;
}

}  // namespace headroom
