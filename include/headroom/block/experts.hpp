// Distributed under the Boost Software License, Version 1.0.
// Mixtures of experts as transformers writes them: a router, a loop over the experts that gathers each one's tokens, and a sum.
// Sources: transformers models/mixtral/modeling_mixtral.py MixtralSparseMoeBlock (OLMoE, Qwen2-MoE, Qwen3-MoE alike),
// models/deepseek_v3/modeling_deepseek_v3.py DeepseekV3MoE (GLM-4.5 alike), models/gpt_oss/modeling_gpt_oss.py GptOssExperts,
// models/llama4/modeling_llama4.py Llama4TextMoe; all of 2025.
#pragma once

#include <headroom/block/linear.hpp>

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
  if (m.experts.fp32_router && !m.experts.plain_router) return expert_style::wide;
  if (m.experts.shared_ffn == 0 || m.experts.shared_gate || m.experts.plain_router) return expert_style::gathered;
  return (m.experts.active == 1 || m.chunked) && !m.latent() ? expert_style::repeated : expert_style::wide;
}

/// Whether a layer's experts are parameters and no linear layers in transformers before 5, too, where those of most families are linear layers (its models of
/// 2025-11: dbrx DbrxExpertGLU, granitemoe GraniteMoeParallelExperts, gpt_oss GptOssExperts, llama4 Llama4TextExperts, qwen3_vl_moe Qwen3VLMoeTextExperts).
constexpr bool always_joined(const shape& m) {
  return m.sparse() && (m.experts.parameters || style_of(m) == expert_style::fused || style_of(m) == expert_style::repeated);
}

/// Whether the experts of a layer are computed all at once, out of one parameter, and not in a loop.
constexpr bool experts_at_once(const shape& m, const experts_profile& how) { return how.at_once() || style_of(m) == expert_style::repeated; }

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
  tensor inner{};
  if (m.mlp == mlp_kind::gated) {
    inner = gated_projection(p, s, trained, {of.gate, of.up}, x, width, bias, true);
  } else {
    inner = activate(p, s, linear(p, s, trained, of.up, x, m.hidden, width, bias), m.activation);
  }
  return linear(p, s, trained, of.down, inner, width, m.hidden, bias);
}

/// Which experts the tokens visit, and with what weights: tokens × active of each.
struct routing {
  tensor weights, numbers;
};
/// DeepSeek's logits, in fp32: of a fp32 copy of the weight, which x's gradient needs.
constexpr tensor wide_logits(program& p, const scene& s, const module_set& trained, tensor n) {
  const auto& e = s.model->experts;
  const auto x = cast(p, n, 4);
  const auto matrix = checked::mul(e.count, s.model->hidden);
  const bool trains = trained.has(module::router);
  tensor weight{};
  if (s.weight_width != 4 && !e.plain_router) {  // HunYuan's is in fp32 itself
    weight = p.make(matrix, 4);
    p.step(0, weight.bit());
  }
  const auto logits = p.make(checked::mul(s.tokens, e.count), 4);
  p.step(x | weight, logits.bit(), {.saves = (trains ? x.bit() : 0) | (p.needs_gradient(x) ? weight.bit() : 0),
                                    .weight_gradient = trains ? p.rounded(matrix, s.weight_width) : bytes{0}});
  return logits;
}

/// The router: tokens × experts in fp32, then what is chosen of them.
constexpr routing route(program& p, const scene& s, const module_set& trained, tensor n) {
  const auto& e = s.model->experts;
  const auto style = style_of(*s.model);
  const bool wide_style = style == expert_style::wide;
  const auto scores = checked::mul(s.tokens, e.count), chosen = checked::mul(s.tokens, e.active);
  // Autocast takes the copies' product back to the format that it computes in, and so what follows.
  const bool wide_router = wide_style || e.fp32_router;
  const bool narrowed = wide_router && s.autocast && s.habits->experts.at_once();
  const auto logits = wide_router && !narrowed ? wide_logits(p, s, trained, n)
                                              : linear(p, s, trained, module::router, narrowed ? cast(p, n, 4) : n, s.model->hidden, e.count, e.router_bias && e.bias);
  const auto numbers = p.make(chosen, 8);
  if (style == expert_style::fused || e.chosen_logits) {  // top-k of the logits, softmax over those; gpt-oss: scattered back
    const auto width = e.chosen_logits ? 4 : s.width;
    const auto top = p.make(chosen, width), weights = p.make(chosen, width);
    p.step(logits.bit(), top | numbers, {.saves = numbers.bit()});
    p.step(top.bit(), weights.bit(), {.saves = weights.bit()});
    if (!s.habits->experts.at_once()) p.step(weights.bit(), p.make(scores, s.width).bit());
    return {cast(p, weights, s.width), numbers};
  }
  const auto width = narrowed || (e.narrow_scores && !(e.plain_router && s.autocast)) ? s.width : 4;  // autocast makes softmax in fp32
  const auto wide = p.make(scores, width);
  p.step(logits.bit(), wide.bit(), {.saves = wide.bit()});
  const auto top = p.make(chosen, width);
  p.step(wide.bit(), top | numbers, {.saves = numbers.bit()});
  const bool stays = (wide_style && !e.clamped_sum) || (e.fp32_weights && s.habits->experts.joins_gate());
  if (e.raw_weights) return {cast(p, top, stays ? width : s.width), numbers};
  const auto sum = p.make(checked::mul(s.tokens, e.clamped_sum ? 2 : 1), e.narrow_scores && !s.autocast ? width : 4);  // before and behind the floor
  p.step(top.bit(), sum.bit(), {.saves = top | sum});  // normalised in place: what it was is kept beside its sum
  return {cast(p, top, stays ? width : s.width), numbers};
}

/// gpt-oss: clamp(up) + 1 times clamp(gate)·sigmoid(α·clamp(gate)), step by step, of `both` in turns.
constexpr tensor clamped_glu(program& p, tensor both) {
  const auto half = [&] {
    const auto y = p.make(p.elements(both) / 2, p.width(both));
    p.step(both.bit(), y.bit(), {.saves = both.bit(), .backward_temporary = p.size(both)});  // a strided slice's gradient is as large as the whole
    return y;
  };
  const auto gate = half();
  const auto up = half();
  const auto sigmoid = p.make(p.elements(gate), p.width(gate));
  p.step(gate.bit(), sigmoid.bit(), {.saves = sigmoid.bit(), .forward_temporary = p.size(gate), .backward_temporary = p.size(gate)});
  const auto glu = multiply(p, gate, sigmoid);
  return multiply(p, pointwise(p, up), glu);
}

/// Indexing the fused parameter copies the expert's matrix, which the product keeps; backward makes a gradient as large as the whole
/// parameter, and adds it.
constexpr tensor fused_expert(program& p, const scene& s, bool trains, tensor x) {
  const auto& e = s.model->experts;
  const auto rows = p.elements(x) / s.model->hidden;
  const auto product = [&](tensor from, std::int64_t in, std::int64_t out) {
    const auto matrix = p.make(checked::mul(in, out), s.width, row::gathered_parameters);
    const auto to = p.make(checked::mul(rows, out), s.width);
    p.step(0, matrix.bit());
    const bytes whole = trains ? p.rounded(checked::mul(in, out, e.count), s.width) + p.size(matrix) : bytes{0};
    p.step(from | matrix, to.bit(), {.saves = (trains ? from.bit() : 0) | (p.needs_gradient(from) ? matrix.bit() : 0), .backward_temporary = whole});
    return pointwise(p, to);  // and its bias
  };
  return product(clamped_glu(p, product(x, s.model->hidden, 2 * e.ffn)), e.ffn, s.model->hidden);
}

/// One expert: its tokens gathered, its MLP, the routing weights of its tokens, and where they are added up.
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
  // index_add_ into the sum: its derivative expands to the shape of the source, so that the whole source is saved.
  const auto source = cast(p, multiply(p, y, weight), style == expert_style::wide ? 4 : width_of_n);
  const auto added = p.view(source, p.elements(source));
  p.step(source.bit(), added.bit(), {.saves = source.bit(), .passes_gradient = true});
  p.set_output(added);
  return p;
}

/// Llama 4: all tokens for every expert, scaled by their scores, through batched products; then a sum over experts.
constexpr tensor repeated_experts(program& p, const scene& s, const module_set& trained, tensor n) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  const auto rows = checked::mul(s.tokens, e.count);
  const auto logits = linear(p, s, trained, module::router, n, m.hidden, e.count, e.router_bias);
  const auto wide = p.make(rows, 4), numbers = p.make(checked::mul(s.tokens, e.active), 8);
  p.step(logits.bit(), wide | numbers, {.saves = wide | numbers});
  const auto scores = pointwise(p, wide, s.width);  // transposed, which reshape copies
  const auto all = p.make(checked::mul(rows, m.hidden), s.width);
  p.step(n.bit(), all.bit());
  const auto product = [&](tensor from, std::int64_t in, std::int64_t out, module role) {
    const auto to = p.make(checked::mul(rows, out), s.width);
    const bool trains = trained.has(role);
    p.step(from.bit(), to.bit(), {.saves = trains ? from.bit() : 0, .weight_gradient = trains ? p.rounded(checked::mul(in, out, e.count), s.weight_width) : bytes{0}});
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

/// The experts that every token passes through, as one MLP. Of no width it keeps what it reads all the same, and gives zeros.
constexpr tensor shared_mlp(program& p, const scene& s, const module_set& trained, tensor n) {
  if (s.model->experts.shared_ffn == 0) {
    const auto zeros = p.make(p.elements(n), s.width);
    p.step(n.bit(), zeros.bit(), {.saves = trained.has(module::shared_up) ? n.bit() : 0});
    return zeros;
  }
  constexpr mlp_modules of{module::shared_gate, module::shared_up, module::shared_down};
  return feed_forward(p, s, trained, of, n, s.model->experts.shared_ffn, s.model->mlp_bias);
}
/// Qwen2-MoE: y × sigmoid(a number of each token), where the model has that gate.
constexpr tensor pass_shared_gate(program& p, const scene& s, const module_set& trained, tensor n, tensor y) {
  if (!s.model->experts.shared_gate) return y;
  const auto gate = linear(p, s, trained, module::shared_gate, n, s.model->hidden, 1, false);
  return multiply(p, y, activate(p, s, gate, activation_kind::tanh));  // a sigmoid, which saves its result as tanh does
}
constexpr tensor shared_experts(program& p, const scene& s, const module_set& trained, tensor n) {
  return pass_shared_gate(p, s, trained, n, shared_mlp(p, s, trained, n));
}

}  // namespace ops

/// The sparse half of a layer in one program, where no loop runs over experts.
constexpr program repeated_experts_block(const scene& s, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  const auto n = ops::norm(p, s, x, m.hidden, trained.has(module::norm));
  const auto routed = ops::repeated_experts(p, s, trained, n);
  const auto y = ops::add(p, ops::shared_experts(p, s, trained, n), routed);
  p.set_output(ops::add(p, x, ops::drop(p, y, s.drops.hidden)));
  return p;
}

}  // namespace headroom
