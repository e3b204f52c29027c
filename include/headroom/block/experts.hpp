// Distributed under the Boost Software License, Version 1.0.
// Mixtures of experts as transformers writes them: a router, a loop over the experts that gathers each one's tokens, and a sum.
// Sources: transformers models/mixtral/modeling_mixtral.py MixtralSparseMoeBlock (OLMoE, Qwen2-MoE, Qwen3-MoE alike),
// models/deepseek_v3/modeling_deepseek_v3.py DeepseekV3MoE (GLM-4.5 alike), models/gpt_oss/modeling_gpt_oss.py GptOssExperts,
// models/llama4/modeling_llama4.py Llama4TextMoe; all of 2025.
#pragma once

#include <headroom/block/decoder.hpp>

namespace headroom {

/// How a block of experts is written. Told apart by what only these have.
enum class expert_style : std::uint8_t {
  gathered,  ///< softmax, top-k, a loop (Mixtral and its kin)
  wide,      ///< … with router, weights and sum in fp32 (DeepSeek: shared experts without a gate)
  fused,     ///< … over one parameter for all experts, indexed in the loop; a clamped activation written out (gpt-oss: biased experts)
  repeated,  ///< every expert sees every token (Llama 4: one expert a token beside a shared one)
};
constexpr expert_style style_of(const shape& m) {
  if (m.experts.bias) return expert_style::fused;
  if (m.experts.shared_ffn == 0 || m.experts.shared_gate) return expert_style::gathered;
  return m.experts.active == 1 && m.mla.kv_rank == 0 ? expert_style::repeated : expert_style::wide;
}

/// Tokens that one expert computes: routing is taken to be balanced.
constexpr std::int64_t routed_to_one(const scene& s) {
  return checked::ceil_div(checked::mul(s.tokens, s.model->experts.active), s.model->experts.count);
}

namespace ops {

/// An MLP of its own width behind modules of its own.
struct mlp_modules {
  module gate, up, down;
};
constexpr tensor feed_forward(program& p, const scene& s, const module_set& trained, const mlp_modules& of, tensor x, std::int64_t width, bool bias) {
  const auto& m = *s.model;
  const auto up = [&] { return linear(p, s, trained, of.up, x, m.hidden, width, bias); };
  tensor inner{};
  if (m.mlp == mlp_kind::gated) {
    const auto gate = linear(p, s, trained, of.gate, x, m.hidden, width, bias);
    const auto wide = up();
    inner = multiply(p, activate(p, s, gate, m.activation), wide);
  } else {
    inner = activate(p, s, up(), m.activation);
  }
  return linear(p, s, trained, of.down, inner, width, m.hidden, bias);
}

/// Which experts a token visits, and with what weights: tokens × experts in fp32, tokens × active of weights and numbers.
constexpr void route(program& p, const scene& s, const module_set& trained, tensor n) {
  const auto& e = s.model->experts;
  const auto style = style_of(*s.model);
  const auto scores = checked::mul(s.tokens, e.count), chosen = checked::mul(s.tokens, e.active);
  tensor logits{};
  if (style == expert_style::wide) {
    const auto x = cast(p, n, 4);
    const auto weight = p.make(checked::mul(e.count, s.model->hidden), 4);  // a fp32 copy, for the gradient of x
    const bool trains = trained.has(module::router);
    logits = p.make(scores, 4);
    p.step(0, weight.bit());
    p.step(x | weight, logits.bit(), {.saves = (trains ? x.bit() : 0) | (p.needs_gradient(x) ? weight.bit() : 0),
                                      .weight_gradient = trains ? p.rounded(p.elements(weight), s.weight_width) : bytes{0}});
  } else {
    logits = linear(p, s, trained, module::router, n, s.model->hidden, e.count, e.router_bias);
  }
  const auto numbers = p.make(chosen, 8);
  if (style == expert_style::fused) {  // top-k of the logits, softmax over those, scattered back
    const auto top = p.make(chosen, s.width), weights = p.make(chosen, s.width), spread = p.make(scores, s.width);
    p.step(logits.bit(), top | numbers, {.saves = numbers.bit()});
    p.step(top.bit(), weights.bit(), {.saves = weights.bit()});
    p.step(weights.bit(), spread.bit());
    return;
  }
  const auto wide = p.make(scores, 4);
  p.step(logits.bit(), wide.bit(), {.saves = wide.bit()});
  const auto top = p.make(chosen, 4), sum = p.make(s.tokens, 4);
  p.step(wide.bit(), top | numbers, {.saves = numbers.bit()});
  p.step(top.bit(), sum.bit(), {.saves = top | sum});  // normalised in place: what it was is kept beside its sum
  cast(p, top, style == expert_style::wide ? 4 : s.width);
}

/// gpt-oss: clamp(up) + 1 times clamp(gate)·sigmoid(α·clamp(gate)), step by step. Indexing the fused parameter copies the expert's
/// matrix, which the product keeps; backward makes a gradient as large as the whole parameter, and adds it.
constexpr tensor fused_expert(program& p, const scene& s, bool trains, tensor x) {
  const auto& e = s.model->experts;
  const auto rows = p.elements(x) / s.model->hidden;
  const auto product = [&](tensor from, std::int64_t in, std::int64_t out) {
    const auto matrix = p.make(checked::mul(in, out), s.width, row::gathered_parameters);
    const auto to = p.make(checked::mul(rows, out), s.width);
    p.step(0, matrix.bit());
    const bytes whole = trains ? p.rounded(checked::mul(checked::mul(in, out), e.count), s.width) + p.size(matrix) : bytes{0};
    p.step(from | matrix, to.bit(), {.saves = (trains ? from.bit() : 0) | (p.needs_gradient(from) ? matrix.bit() : 0), .backward_temporary = whole});
    return pointwise(p, to);  // and its bias
  };
  const auto both = product(x, s.model->hidden, 2 * e.ffn);
  const auto half = [&] {
    const auto y = p.make(checked::mul(rows, e.ffn), s.width);
    p.step(both.bit(), y.bit(), {.saves = both.bit(), .backward_temporary = p.size(both)});  // a strided slice's gradient is as large as the whole
    return y;
  };
  const auto gate = half();
  const auto up = half();
  const auto sigmoid = p.make(p.elements(gate), s.width);
  p.step(gate.bit(), sigmoid.bit(), {.saves = sigmoid.bit(), .forward_temporary = p.size(gate), .backward_temporary = p.size(gate)});
  const auto glu = multiply(p, gate, sigmoid);
  return product(multiply(p, pointwise(p, up), glu), e.ffn, s.model->hidden);
}

/// One expert: its tokens gathered, its MLP, and the routing weights of its tokens.
constexpr program one_expert(const scene& s, const module_set& trained, std::int64_t width_of_n, bool n_has_gradient) {
  const auto& m = *s.model;
  const auto style = style_of(m);
  const auto rows = routed_to_one(s);
  program p(s.granule);
  const auto weight = p.input(rows, style == expert_style::wide ? 4 : s.width, n_has_gradient || trained.has(module::router));
  const auto n = p.input(checked::mul(s.tokens, m.hidden), width_of_n, n_has_gradient);
  const auto places = p.make(2 * rows, 8);
  p.step(0, weight | places);
  const auto mine = p.make(checked::mul(rows, m.hidden), width_of_n);
  p.step(n | places, mine.bit(), {.saves = places.bit()});
  constexpr mlp_modules of{module::experts_gate, module::experts_up, module::experts_down};
  const auto y = style == expert_style::fused ? fused_expert(p, s, trained.has(module::experts_up), mine) : feed_forward(p, s, trained, of, mine, m.experts.ffn, false);
  p.set_output(multiply(p, y, weight));
  return p;
}

/// Llama 4: all tokens for every expert, scaled by their scores, through batched products; then a sum over experts.
constexpr tensor repeated_experts(program& p, const scene& s, const module_set& trained, tensor n) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  const auto rows = checked::mul(s.tokens, e.count);
  const auto logits = linear(p, s, trained, module::router, n, m.hidden, e.count, e.router_bias);
  const auto wide = p.make(rows, 4);
  p.step(logits.bit(), wide.bit(), {.saves = wide.bit()});
  const auto scores = cast(p, wide, s.width);
  const auto all = p.make(checked::mul(rows, m.hidden), s.width);
  p.step(n.bit(), all.bit());
  const auto product = [&](tensor from, std::int64_t in, std::int64_t out, module role) {
    const auto to = p.make(checked::mul(rows, out), s.width);
    const bool trains = trained.has(role);
    p.step(from.bit(), to.bit(), {.saves = trains ? from.bit() : 0, .weight_gradient = trains ? p.rounded(checked::mul(checked::mul(in, out), e.count), s.weight_width) : bytes{0}});
    return to;
  };
  const auto both = product(multiply(p, all, scores), m.hidden, 2 * e.ffn, module::experts_up);
  const auto gate = p.view(both, checked::mul(rows, e.ffn)), up = p.view(both, checked::mul(rows, e.ffn));
  p.step(both.bit(), gate | up);
  const auto out = product(multiply(p, activate(p, s, gate, m.activation), up), e.ffn, m.hidden, module::experts_down);
  const auto sum = p.make(checked::mul(s.tokens, m.hidden), s.width);
  p.step(out.bit(), sum.bit());
  return sum;
}

constexpr tensor shared_experts(program& p, const scene& s, const module_set& trained, tensor n) {
  const auto& m = *s.model;
  constexpr mlp_modules of{module::shared_gate, module::shared_up, module::shared_down};
  auto y = feed_forward(p, s, trained, of, n, m.experts.shared_ffn, m.mlp_bias);
  if (!m.experts.shared_gate) return y;
  const auto gate = linear(p, s, trained, module::shared_gate, n, m.hidden, 1, false);
  return multiply(p, y, activate(p, s, gate, activation_kind::tanh));  // a sigmoid, which saves its result as tanh does
}

}  // namespace ops

/// The sparse half of a layer in one program, where no loop runs over experts.
constexpr program repeated_experts_block(const scene& s, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  const auto n = ops::norm(p, s, x, m.hidden, trained.has(module::norm));
  const auto y = ops::add(p, ops::shared_experts(p, s, trained, n), ops::repeated_experts(p, s, trained, n));
  p.set_output(ops::add(p, x, ops::drop(p, y, s.drops.hidden)));
  return p;
}

namespace detail {

/// What is alive beside a part of the sparse half that its program does not name.
struct company {
  moment forward{};      ///< with a graph
  moment forward_off{};  ///< without one
  moment backward{};
  bytes backward_later{};  ///< … and from the second run on: the gradient that the first run made
  bytes counted{};       ///< of what the program names, what an earlier part has saved already: in forward
  bytes counted_saved{}; ///< … and saved by this one, too
  bytes backward_after{};  ///< weight gradients that are there from here on in backward, though no program makes them
};

/// Joins a part that runs `times` over, each run with tensors of its own.
constexpr void join_repeated(layer_walk& r, const program& p, std::int64_t times, const company& c, bool graphless, bool accumulate) {
  if (times == 0) return;
  const auto f = walk_forward(p);
  const auto b = walk_backward(p, accumulate);
  moment one(f.saved, f.saved_rows);
  one.add(row::activations, -c.counted_saved);
  const auto earlier = r.backward;
  auto live = r.saved;
  live += c.backward;
  live.add(row::activations, -c.counted_saved);
  // Backward runs the last first: all that was saved is there, then all the weight gradients are.
  r.backward.clear();
  r.backward.rise_to(b.peak, live, multiple{times - 1, one});
  const auto gradients = accumulate ? bytes{0} : b.weight_gradients;
  const part later{row::temporaries, c.backward_later};
  if (times > 1) r.backward.rise_to(b.peak, live, later, multiple{times - 2, one}, part{row::gradients, gradients});
  r.backward.rise_to(b.peak, live, times > 1 ? later : part{row::temporaries, bytes{0}}, part{row::gradients, (times - 1) * gradients});
  r.backward.rise_to(earlier, part{row::gradients, times * gradients});
  r.backward.add(row::gradients, c.backward_after);
  auto before = r.saved;
  before += c.forward;
  before.add(row::activations, -c.counted);
  r.forward.rise_to(f.peak, before, multiple{times - 1, one});
  if (graphless) {
    const auto off = walk_forward(p, recording::off);
    const moment cached(off.saved, off.saved_rows);
    r.forward_off.rise_to(off.peak, r.cached, multiple{times - 1, cached}, c.forward_off, part{row::activations, r.input});
    r.cached += multiple{times, cached};
  }
  r.saved += multiple{times, one};
  r.sticky += times * f.sticky;
  r.weight_gradients += times * b.weight_gradients;
}

/// Norm and router; then the loop; then shared experts and the sums. `trained_experts` of all train.
constexpr void join_sparse_half(layer_walk& r, const scene& s, const module_set& trained, std::int64_t trained_experts, bool graphless, bool accumulate) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  const auto style = style_of(m);
  const bool flows = r.output_has_gradient;
  if (style == expert_style::repeated) return join(r, repeated_experts_block(s, trained, flows), false, graphless, accumulate);

  const auto elements = checked::mul(s.tokens, m.hidden);
  program front(s.granule);
  const auto x = front.input(elements, s.residual_width, flows);
  const auto n = ops::norm(front, s, x, m.hidden, trained.has(module::norm));
  ops::route(front, s, trained, n);
  front.set_output(n);
  const auto width = front.width(n);
  const bool n_flows = front.needs_gradient(n) || flows;
  const auto stream = front.size(x), normed = front.size(n);
  const bool keeps_x = (front.saved() & front.storages(x.bit())) != 0, keeps_n = (front.saved() & front.storages(n.bit())) != 0;
  // Behind it the residual stream's gradient waits for the norm's.
  const auto residual = part{row::temporaries, flows ? stream : bytes{0}};

  const std::int64_t sum_width = style == expert_style::wide ? 4 : s.residual_width;
  program back(s.granule);
  const auto y0 = back.input(elements, sum_width, true);
  const auto x1 = back.input(elements, s.residual_width, flows);
  const auto n1 = back.input(elements, width, n_flows);
  back.step(0, y0 | x1);
  auto y = ops::cast(back, y0, s.residual_width);
  if (e.shared_ffn > 0) y = ops::add(back, y, ops::shared_experts(back, s, trained, n1));
  if (m.post_norms) y = ops::norm(back, s, y, m.hidden, trained.has(module::norm));
  back.set_output(ops::add(back, x1, ops::drop(back, y, s.drops.hidden)));
  const bool again = keeps_n && (back.saved() & back.storages(n1.bit())) != 0;

  const auto sum = back.size(y0);
  const auto numbers = front.rounded(checked::mul(checked::mul(s.tokens, e.active), e.count), 8);  // one_hot, int64
  const auto locals = front.rounded(checked::mul(routed_to_one(s), m.hidden), s.width);            // the expert's before, named until the next is done
  company start, loop;
  start.backward += residual;
  loop.forward_off = moment(row::temporaries, sum + numbers + 2 * locals) + moment(row::activations, stream);
  loop.forward = moment(row::temporaries, sum + numbers + locals) + moment(row::activations, keeps_x ? bytes{0} : stream);
  loop.counted = keeps_n ? normed : bytes{0};
  // Gradients of the sum, which may be the residual stream's, and of n as far as it has been added up.
  const bool apart = sum_width != s.residual_width || m.post_norms || s.drops.hidden.positive();
  loop.backward = moment(row::temporaries, sum + (apart && flows ? stream : bytes{0}));
  const auto gathered = part{row::temporaries, n_flows ? normed : bytes{0}};
  if (e.shared_ffn > 0) loop.backward += gathered;
  else loop.backward_later = gathered.total;
  if (style == expert_style::fused && trained_experts > 0) {
    const auto fused = e.count * (front.rounded(checked::mul(3 * m.hidden, e.ffn), s.weight_width) + front.rounded(2 * e.ffn + m.hidden, s.weight_width));
    r.weight_gradients += fused;
    if (!accumulate) {  // there from the first expert's backward on
      loop.backward.add(row::gradients, fused);
      start.backward_after = fused;
    }
  }
  company end;
  end.forward_off = moment(row::activations, stream);
  end.counted = (keeps_n ? normed : bytes{0}) + (keeps_x ? stream : bytes{0});
  end.counted_saved = again ? normed : bytes{0};
  module_set frozen = trained;
  frozen.bits &= ~module_set{module::experts_gate, module::experts_up, module::experts_down}.bits;
  join_repeated(r, front, 1, start, graphless, accumulate);
  auto before = loop;  // backward has been through the others
  if (trained_experts > 0 && e.shared_ffn == 0) before.backward += gathered, before.backward_later = bytes{0};
  join_repeated(r, ops::one_expert(s, frozen, width, n_flows), e.count - trained_experts, before, graphless, accumulate);
  join_repeated(r, ops::one_expert(s, trained, width, n_flows), trained_experts, loop, graphless, accumulate);
  join_repeated(r, back, 1, end, graphless, accumulate);
  r.output_has_gradient = back.needs_gradient(back.output());
}

}  // namespace detail

/// Walks a layer whose MLP is routed; see walk_layer.
constexpr layer_walk walk_sparse_layer(const scene& s, const module_set& trained, std::int64_t trained_experts, bool input_has_gradient, bool graphless = false,
                                       bool accumulate = false) {
  layer_walk r;
  detail::join(r, decoder_block(s, layer_part::attention, trained, input_has_gradient), true, graphless, accumulate);
  detail::join_sparse_half(r, s, trained, trained_experts, graphless, accumulate);
  return r;
}

}  // namespace headroom
