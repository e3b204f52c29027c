// Distributed under the Boost Software License, Version 1.0.
// Routed experts as transformers 5 runs them: a row for each expert of each token, sorted by expert, through two grouped multiplications.
// Sources: transformers integrations/moe.py grouped_mm_experts_forward and _default_apply_gate, models/mixtral/modeling_mixtral.py
// MixtralExperts and MixtralSparseMoeBlock (its kin alike), models/gpt_oss/modeling_gpt_oss.py GptOssExperts; of 2026-08. What the grouped
// product saves: PyTorch tools/autograd/derivatives.yaml, _grouped_mm.
#pragma once

#include <headroom/block/experts.hpp>

namespace headroom {

namespace ops {

/// Features that experts read and write.
constexpr std::int64_t read_by_experts(const shape& m) { return m.experts.latent > 0 ? m.experts.latent : m.hidden; }

/// Rows sorted by expert: x, and what brings them back.
struct sorted_rows {
  tensor x, weights;
  tensor experts;  ///< each row's
  tensor mask;     ///< a byte a row: those of experts that lie elsewhere
  tensor offsets;  ///< where each expert's rows end
  tensor back;     ///< the order in which they came
};

/// Tokens put in the order of the experts that they go to.
constexpr sorted_rows sort_rows(program& p, const scene& s, tensor n, const routing& to) {
  const auto& e = s.model->experts;
  const auto rows = checked::mul(s.tokens, e.active);
  const auto numbers = [&] { return p.make(rows, 8); };
  const auto experts = numbers(), order = numbers();
  p.step(to.numbers.bit(), experts | order);
  const auto tokens = numbers();
  p.step(order.bit(), tokens.bit());
  const auto gathered = p.make(checked::mul(rows, read_by_experts(*s.model)), p.width(n));
  p.step(n | tokens, gathered.bit(), {.saves = tokens.bit()});
  const auto weights = p.make(rows, p.width(to.weights));
  p.step(to.weights | order, weights.bit(), {.saves = order.bit()});
  const auto offsets = p.make(e.count, 4), mask = p.make(rows, 1);
  p.step(experts.bit(), offsets | mask);
  const auto x = p.view(gathered, p.elements(gathered));  // masked in place
  p.step(gathered | mask, x.bit(), {.saves = mask.bit()});
  const auto back = numbers();
  return {cast(p, x, s.expert_width), weights, experts, mask, offsets, back};
}

/// A grouped product with a parameter of all experts, and its bias: a row for each row.
constexpr tensor grouped_product(program& p, const scene& s, const sorted_rows& r, tensor x, std::int64_t in, std::int64_t out, bool trains) {
  const auto& e = s.model->experts;
  const auto rows = p.elements(x) / in;
  const auto y = p.make(checked::mul(rows, out), s.expert_width);
  // A parametrisation makes the parameter whenever it is read, under no_grad, and the product saves that (bitsandbytes nn/parametrize.py
  // Bnb4bitParametrization.forward; functional.py dequantize_4bit, whose scales are made fp32 first).
  tensor made{};
  if (s.quantised.has(module::experts_up)) {
    const auto all = checked::mul(in, out, e.count);
    const bool bytewise = s.base.bits == 8;  // times a scale a row, and then times a number
    made = p.make(all, bytewise ? 4 : s.width, row::gathered_parameters);
    p.step(0, made.bit(), {.forward_temporary = bytewise ? p.size(made) : p.rounded(checked::ceil_div(all, 64), 4)});
  }
  const auto parameter = [&](std::int64_t each) { return trains ? p.rounded(checked::mul(each, e.count), s.weight_width) : bytes{0}; };
  const auto kept = made.valid() && p.needs_gradient(x) ? made.bit() : 0;
  p.step(x | r.offsets | made, y.bit(), {.saves = (trains ? x.bit() : 0) | r.offsets | kept, .weight_gradient = parameter(checked::mul(in, out))});
  if (!e.bias) return y;
  const auto bias = p.make(p.elements(y), s.expert_width);
  p.step(r.experts.bit(), bias.bit(), {.saves = trains ? r.experts.bit() : 0, .weight_gradient = parameter(out)});
  const auto sum = p.view(y, p.elements(y));  // added in place
  p.step(y | bias, sum.bit(), {.passes_gradient = true});
  return sum;
}

/// What stands between the two products.
constexpr tensor apply_gate(program& p, const scene& s, tensor both, std::int64_t rows) {
  const auto& m = *s.model;
  if (m.experts.bias) return clamped_glu(p, both);
  if (m.mlp != mlp_kind::gated) return activate(p, s, both, m.activation);
  const auto half = checked::mul(rows, m.experts.ffn);
  const auto gate = p.view(both, half), up = p.view(both, half);
  p.step(both.bit(), gate | up);
  return multiply(p, activate(p, s, gate, m.activation), up);
}

/// All experts' results for each token, weighted and added up. Names of the function, and its callers', hold what goes in, the gathered rows and the
/// last product to its end.
constexpr tensor sorted_experts(program& p, const scene& s, const module_set& trained, tensor n, const routing& to) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  const auto r = sort_rows(p, s, n, to);
  const auto rows = checked::mul(s.tokens, e.active);
  const auto inner = checked::mul(e.ffn, m.mlp == mlp_kind::gated ? 2 : 1);
  const auto width_of_rows = read_by_experts(m);
  const auto both = grouped_product(p, s, r, r.x, width_of_rows, inner, trained.has(module::experts_up));
  const auto out = grouped_product(p, s, r, apply_gate(p, s, both, rows), e.ffn, width_of_rows, trained.has(module::experts_down));
  const auto width = p.width(out) > p.width(r.weights) ? p.width(out) : p.width(r.weights);
  const auto weighted = p.make(p.elements(out), width);
  // Backward multiplies the gradient by each factor in the wider format, and adds up a row's for its weight.
  p.step(out | r.weights, weighted.bit(), {.saves = factors(p, out, r.weights), .backward_temporary = 2 * p.size(weighted) - p.size(out)});
  const auto masked = p.view(weighted, p.elements(weighted));
  p.step(weighted | r.mask, masked.bit(), {.saves = r.mask.bit()});
  p.step(0, r.back.bit());
  const auto unsorted = p.make(p.elements(masked), width);
  p.step(masked | r.back, unsorted.bit(), {.saves = r.back.bit()});
  const auto sum = p.make(checked::mul(s.tokens, width_of_rows), s.autocast ? 4 : width);  // sum() is on autocast's fp32 list
  p.step(unsorted.bit(), sum.bit(), {.holds = n | r.x | out | r.experts | r.weights});
  return cast(p, sum, p.width(n));
}

/// … between two matrices, where they work on fewer features (transformers models/nemotron_h/modeling_nemotron_h.py NemotronHMoE.forward).
constexpr tensor routed_experts(program& p, const scene& s, const module_set& trained, tensor n, const routing& to) {
  const auto& m = *s.model;
  const auto latent = m.experts.latent;
  if (latent == 0) return sorted_experts(p, s, trained, n, to);
  const auto read = linear(p, s, trained, module::shared_up, n, m.hidden, latent, m.mlp_bias);
  return linear(p, s, trained, module::shared_down, sorted_experts(p, s, trained, read, to), latent, m.hidden, m.mlp_bias);
}

}  // namespace ops

/// The sparse half of a layer in one program: transformers computes a shared expert behind a gate before the routed ones, others after them.
constexpr program sorted_experts_block(const scene& s, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  program p(s.granule);
  const auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  const auto n = ops::norm(p, s, x, m.hidden, trained.has(module::norm));
  const bool shares = e.shares();
  tensor shared{};
  const bool leads = shares && (e.shared_gate || e.plain_router);
  if (leads) shared = ops::shared_mlp(p, s, trained, n);
  const auto to = ops::route(p, s, trained, n);
  auto y = ops::routed_experts(p, s, trained, n, to);
  if (shares && !leads) shared = ops::shared_mlp(p, s, trained, n);
  if (shares) y = ops::add(p, y, ops::pass_shared_gate(p, s, trained, n, shared));
  if (m.post_norms) y = ops::norm(p, s, y, m.hidden, trained.has(module::norm));
  y = ops::drop(p, y, s.drops.hidden);
  const auto residual = m.normed_residual ? ops::scale(p, s, n) : x;
  p.set_output(ops::add(p, residual, m.normed_residual ? ops::scale(p, s, y) : y));
  return p;
}

}  // namespace headroom
