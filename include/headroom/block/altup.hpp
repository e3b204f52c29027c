// Distributed under the Boost Software License, Version 1.0.
// Several residual streams: how they are made of one, what a layer does with them, and how they become one again.
// Source: transformers 5.16 models/gemma3n/modeling_gemma3n.py Gemma3nTextModel.forward, Gemma3nTextDecoderLayer.forward, Gemma3nTextAltUp,
// Gemma3nTextLaurelBlock, Gemma3nTextMLP._gaussian_topk.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/layer_input.hpp>
#include <headroom/block/short_convolution.hpp>

namespace headroom {

namespace ops {

/// Stream `i` of all of them: a view, whose gradient is as large as all.
constexpr tensor one_stream(program& p, const scene& s, tensor all) {
  const auto y = p.view(all, checked::mul(s.tokens, s.model->hidden));
  p.step(all.bit(), y.bit(), {.backward_temporary = p.size(all)});
  return y;
}

/// The mean of each row's squares, to the power of a half: of the stream that the others are made as long as.
constexpr tensor row_length(program& p, const scene& s, tensor x) {
  const auto square = p.rounded(p.elements(x), p.width(x));
  const auto mean = made_of(p, x.bit(), s.tokens, p.width(x), {.saves = x.bit(), .forward_temporary = square, .backward_temporary = 2 * square});
  return made_of(p, mean.bit(), s.tokens, p.width(x), {.saves = mean.bit()});
}

/// What a matrix makes of x, as long as `length` says. `least`: the smallest length that divides.
constexpr tensor other_stream(program& p, const scene& s, tensor x, tensor length, tensor least, module role, bool trains) {
  const auto y = cast(p, multiply(p, s, x, {.in = s.model->hidden, .out = s.model->hidden, .trains = trains, .quantised = s.quantised.has(role)}), p.width(x));
  const auto square = p.rounded(p.elements(y), p.width(y));
  const auto mean = made_of(p, y.bit(), s.tokens, p.width(y), {.saves = y.bit(), .forward_temporary = square, .backward_temporary = 2 * square});
  const auto largest = made_of(p, mean | least, s.tokens, p.width(y), {.saves = mean | least});
  const auto own = kept_of(p, largest.bit(), s.tokens, p.width(y));
  const auto scaled = made_of(p, y | length, p.elements(y), p.width(y), {.saves = y | length, .backward_temporary = square});
  return made_of(p, scaled | own, p.elements(y), p.width(y), {.saves = scaled | own, .backward_temporary = 2 * square});
}
constexpr tensor least_length(program& p) {
  const auto y = p.make(1, 4);
  p.step(0, y.bit());
  return y;
}

/// All streams, side by side, of the token's embedding.
constexpr tensor make_streams(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto n = s.model->altup.streams;
  const auto length = row_length(p, s, x), least = least_length(p);
  tensor_set all = x.bit();
  for (std::int64_t i = 1; i < n; ++i) all |= other_stream(p, s, x, length, least, module::embedding, trained.has(module::embedding)).bit();
  const auto y = p.make(checked::mul(p.elements(x), n), p.width(x));
  p.step(all, y.bit());
  return y;
}

/// … and the mean of them, each through a matrix of its own, behind the last layer.
constexpr tensor join_streams(program& p, const scene& s, const module_set& trained, tensor streams) {
  const auto& m = *s.model;
  const auto first = one_stream(p, s, streams);
  const auto length = row_length(p, s, first), least = least_length(p);
  tensor_set all = first.bit();
  for (std::int64_t i = 1; i < m.altup.streams; ++i) all |= other_stream(p, s, one_stream(p, s, streams), length, least, module::head, trained.has(module::head)).bit();
  const auto y = p.make(p.elements(first), p.width(first));
  p.step(all, y.bit(), {.forward_temporary = p.size(streams), .backward_temporary = p.size(streams)});
  return y;
}

/// How much of each stream a token takes: of a norm a number for each, through a tanh in fp32.
constexpr tensor stream_weights(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto normed = scale(p, s, norm(p, s, x, m.hidden, trained.has(module::norm)));
  const auto routed = cast(p, linear(p, s, trained, module::mixer, normed, m.hidden, m.altup.streams, false), 4);
  return cast(p, kept_of(p, routed.bit(), p.elements(routed), 4), p.width(x));
}

/// Each stream as a sum of all, and itself.
constexpr tensor predict_streams(program& p, const scene& s, const module_set& trained, tensor streams) {
  const auto n = s.model->altup.streams;
  const auto weights = linear(p, s, trained, module::mixer, stream_weights(p, s, trained, one_stream(p, s, streams)), n, checked::mul(n, n), false);
  const auto factor = s.autocast ? cast(p, streams, s.width) : streams;
  const auto product = made_of(p, factor | weights, p.elements(factor), p.width(factor), {.saves = factors(p, factor, weights)});
  const auto sum = p.view(product, p.elements(product));  // added in place
  p.step(product | streams, sum.bit(), {.passes_gradient = true});
  return cast(p, pointwise(p, sum), p.width(streams));
}

/// What the blocks made of the stream that they read, less what was predicted for it, goes to all streams, each token's times numbers of its own. Numbers that
/// train are cut to a range first.
constexpr tensor correct_streams(program& p, const scene& s, const module_set& trained, tensor predicted, tensor made) {
  const auto n = s.model->altup.streams, w = p.width(made);
  const auto weights = stream_weights(p, s, trained, made);
  const auto news = add(p, made, one_stream(p, s, predicted));
  const auto repeated = made_of(p, news.bit(), checked::mul(n, p.elements(news)), w);
  const bool trains = trained.has(module::mixer);
  const auto cut = p.make(checked::mul(n, n), s.weight_width);
  p.step(0, cut.bit(), {.weight_gradient = trains ? p.rounded(checked::mul(n, n), s.weight_width) : bytes{0}});
  const auto product = made_of(p, weights | cut, p.elements(weights), w, {.saves = factors(p, weights, cut)});
  const auto numbers = pointwise(p, product);  // and one
  const auto corrected = made_of(p, repeated | numbers, p.elements(repeated), w, {.saves = factors(p, repeated, numbers), .backward_temporary = p.size(repeated)});
  const auto sum = p.view(corrected, p.elements(corrected));
  p.step(corrected | predicted, sum.bit(), {.passes_gradient = true});
  return sum;
}

/// The dense MLP. `cuts`: gates below a number of deviations above their row's mean count as zero.
constexpr tensor cut_feed_forward(program& p, const scene& s, const module_set& trained, tensor x, bool cuts) {
  const auto& m = *s.model;
  auto gate = linear(p, s, trained, module::gate_proj, x, m.hidden, m.ffn, m.mlp_bias);
  if (cuts) {
    const auto w = p.width(gate);
    const auto number = p.make(1, w);
    p.step(0, number.bit());
    const auto mean = made_of(p, gate.bit(), s.tokens, w);
    const auto deviation = kept_of(p, gate.bit(), s.tokens, w, {.saves = gate.bit(), .backward_temporary = 2 * p.size(gate)});
    const auto times = made_of(p, deviation | number, s.tokens, w, {.saves = number.bit()});
    const auto cutoff = add(p, mean, times);
    const auto less = made_of(p, gate | cutoff, p.elements(gate), w);
    gate = kept_of(p, less.bit(), p.elements(gate), w);
  }
  const auto activated = activate(p, s, gate, m.activation);
  const auto up = linear(p, s, trained, module::up_proj, x, m.hidden, m.ffn, m.mlp_bias);
  return linear(p, s, trained, module::down_proj, multiply(p, activated, up), m.ffn, m.hidden, m.mlp_bias);
}

}  // namespace ops

/// A whole layer over several streams.
constexpr program altup_block(const scene& s, layer_kind kind, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  program p(s.granule);
  p.sum_out_of_place(s.habits->autograd.sums_out_of_place);
  const auto norm = [&](tensor y) { return ops::norm(p, s, y, m.hidden, trained.has(module::norm)); };
  const auto streams = p.input(checked::mul(s.tokens, m.stream_width()), s.residual_width, input_has_gradient);
  const auto predicted = ops::predict_streams(p, s, trained, streams);
  const auto active = ops::one_stream(p, s, predicted);
  const auto normed = norm(active);
  const auto low = ops::linear(p, s, trained, module::mixer, normed, m.hidden, m.altup.laurel, false);
  const auto laurel = ops::add(p, normed, norm(ops::linear(p, s, trained, module::mixer, low, m.altup.laurel, m.hidden, false)));
  const auto attended = ops::add(p, active, norm(ops::mix(p, s, kind.mixer, trained, normed)));
  const auto middle = ops::scale(p, s, ops::add(p, attended, laurel));
  const auto made = ops::add(p, middle, norm(ops::cut_feed_forward(p, s, trained, norm(middle), kind.feeds == feed_forward_kind::cut)));
  const auto corrected = ops::correct_streams(p, s, trained, predicted, made);
  const auto first = ops::pointwise(p, ops::one_stream(p, s, corrected));
  const auto scaled = ops::layer_scale(p, s, first, m.hidden, trained.has(module::mixer));
  const auto own = ops::add_layer_input(p, s, trained, scaled);
  const auto out = p.view(corrected, p.elements(corrected));  // added in place to all streams but the first
  p.step(corrected | own, out.bit(), {.backward_temporary = p.size(corrected)});
  p.set_output(out);
  return p;
}

}  // namespace headroom
