// Distributed under the Boost Software License, Version 1.0.
// Megatron's mixture of experts and latent attention. Sizes are those of one rank.
// Sources: Megatron-LM core/transformer/moe/{moe_layer,router,token_dispatcher,experts}.py, core/transformer/
// multi_latent_attention.py.
#pragma once

#include <headroom/block/megatron.hpp>

namespace headroom::megatron {

/// Routed copies of tokens: those that this rank sends, those that come back to its experts, and those that it computes (under
/// expert tensor parallelism also the neighbours'). A capacity limits the copies for each expert (moe_utils.py get_capacity:
/// tokens × active / experts × factor, rounded up) or, padded, fixes them; without one the busiest rank gets its imbalance.
struct routed_tokens {
  std::int64_t sent{};
  std::int64_t received{};
  std::int64_t computed{};
};
constexpr routed_tokens route(const scene& s) {
  const auto& e = s.model->experts;
  const auto routed = [&](std::int64_t tokens, bool arriving) {
    const auto copies = checked::mul(e.active, tokens);
    const auto busiest = arriving && s.expert > 1 ? checked::ceil_div(checked::mul(copies, s.expert_imbalance), 100) : copies;
    if (e.capacity_factor_percent == 0) return busiest;
    const auto capacity = checked::mul(e.count, checked::ceil_div(checked::mul(copies, e.capacity_factor_percent), checked::mul(e.count, 100)));
    return s.habits->pads_experts || busiest > capacity ? capacity : busiest;
  };
  const auto here = s.stream_tokens();
  const auto received = routed(here, true);
  if (s.expert_tensor <= 1) return {routed(here, false), received, received};
  return {routed(here, false), received, s.sequence_split > 1 ? checked::mul(received, s.expert_tensor) : routed(s.tokens, true)};
}

/// The routed experts: dispatch (permutation, all-to-all, gather, sort by expert), two grouped matrix multiplications, and the way
/// back. What moves tokens saves no activations; the forward of the layer, whose locals hold the dispatched tokens and the
/// experts' output up to the combining all-to-all, is tallest there.
constexpr tensor routed_experts(program& p, const scene& s, tensor x) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  const auto tokens = route(s);
  const auto sent = tokens.sent, received = tokens.received, computed = tokens.computed;
  const auto h = m.hidden;
  const auto width = e.ffn / s.expert_tensor;
  const auto local = e.count / s.expert;
  const bool exchanges = s.expert > 1, gathers = s.expert_tensor > 1;
  const bool sorts = local > 1 && (exchanges || gathers);
  const auto move = [&](tensor from, std::int64_t count, tensor_set holds = 0) {
    const auto to = p.make(checked::mul(count, h), s.width);
    p.step(from.bit(), to.bit(), {.holds = holds});
    return to;
  };
  const auto grouped = [&](tensor from, std::int64_t in, std::int64_t out) {
    const auto to = p.make(checked::mul(computed, out), s.width);
    const auto o = operand_of(p, s, from, true);
    p.step(from.bit(), to.bit() | o.makes,
           {.saves = o.saves, .forward_temporary = quantised_input(p, s, from), .backward_temporary = quantised_gradient(p, s, to),
            .weight_gradient = weight_gradient(p, s, checked::mul(checked::mul(in, out), local), true), .splits = true});
    return to;
  };
  const bool flex = s.habits->flex_dispatcher && exchanges;  // its kernels copy each token on the way
  auto dispatched = p.make(checked::mul(sent, h), s.width);
  const auto order = p.make(sent, 8);
  p.step(x.bit(), dispatched | order, {.saves = order.bit()});
  tensor local_tokens = dispatched;
  if (exchanges && !flex) local_tokens = dispatched = move(dispatched, received);
  if (gathers) local_tokens = move(local_tokens, computed);
  if (sorts) local_tokens = move(local_tokens, computed);

  const std::int64_t factor = m.mlp == mlp_kind::gated ? 2 : 1;
  auto hidden = grouped(local_tokens, h, factor * width);
  if (m.mlp == mlp_kind::gated) {  // weighted SwiGLU: the router's probabilities are applied inside
    const auto activated = p.make(checked::mul(computed, width), s.width);
    p.step(hidden.bit(), activated.bit(), {.saves = hidden.bit()});
    if (s.recomputes(recompute_module::moe_act)) p.recompute(activated.bit());
    hidden = activated;
  } else {  // GELU, times fp32 probabilities, cast back
    const auto activated = p.make(checked::mul(computed, width), s.width);
    p.step(hidden.bit(), activated.bit(), {.saves = hidden.bit()});
    const auto weighted = p.make(checked::mul(computed, width), 4);
    p.step(activated.bit(), weighted.bit(), {.saves = activated.bit(), .backward_temporary = p.size(weighted)});
    hidden = ops::pointwise(p, weighted, s.width);
    if (s.recomputes(recompute_module::moe_act)) p.recompute(activated | hidden);
  }
  const auto output = grouped(hidden, width, h);
  auto back = output;
  if (sorts) back = move(back, computed);
  if (gathers) back = move(back, received);
  if (exchanges && !flex) back = move(back, sent, dispatched | output);
  const auto y = p.make(streamed(s, h), s.width);
  p.step(back.bit(), y.bit());
  return y;
}

/// The MLP half of a sparse layer: router, shared expert, routed experts.
constexpr program sparse_block(const scene& s, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  program p(s.granule);
  const auto x = p.input(streamed(s, m.hidden), s.residual_width, input_has_gradient);
  const auto first = p.tensors();
  const auto n = norm(p, s, x, s.stream_tokens());
  if (s.recomputes(recompute_module::layernorm)) p.recompute(n.bit());
  const auto scores = checked::mul(s.stream_tokens(), e.count);
  // Logits and probabilities in fp32, and the routing map.
  const auto probabilities = p.make(scores, 4);
  const auto routing = p.make(scores, 9);
  p.step(n.bit(), probabilities | routing, {.saves = n | routing});
  tensor shared{};
  const auto before_shared = p.tensors();
  if (e.shared_ffn > 0) shared = feed_forward(p, s, n, e.shared_ffn, trained.has(module::shared_up));
  if (s.recomputes(recompute_module::shared_experts)) p.recompute_since(before_shared, shared.bit());
  auto y = routed_experts(p, s, n);
  if (s.recomputes(recompute_module::moe)) p.recompute_since(first, x.bit());
  if (shared.valid()) y = ops::add(p, y, shared);
  p.set_output(ops::add(p, x, ops::drop(p, y, s.drops.hidden)));
  return p;
}

/// Multi-head latent attention (DeepSeek-V2, section 2.1): queries, keys and values come out of compressed vectors, which are what
/// is kept before the up-projections; those projections' outputs are not.
constexpr tensor latent_attend(program& p, const scene& s, tensor x) {
  const auto& m = *s.model;
  const auto& a = m.mla;
  const auto head = a.nope_dim + a.rope_dim;
  const auto rows = s.stream_tokens();
  const auto project = [&](tensor from, std::int64_t elements, std::int64_t weights) {
    const auto to = p.make(elements, s.width);
    const auto o = operand_of(p, s, from, true);
    p.step(from.bit(), to.bit() | o.makes,
           {.saves = o.saves, .forward_temporary = quantised_input(p, s, from), .backward_temporary = quantised_gradient(p, s, to),
            .weight_gradient = weight_gradient(p, s, weights, true), .splits = true});
    return to;
  };
  const auto up = [&](tensor from, std::int64_t rank, std::int64_t out) {  // norm of the compressed vector, then a column-parallel layer
    const auto part = p.make(checked::mul(rows, rank), s.width);  // kv: without the rotary features
    const auto statistic = p.make(rows, 4);
    p.step(from.bit(), part | statistic, {.saves = from | statistic});
    return project(part, divided(s, out), checked::mul(rank, out) / s.tensor);
  };
  tensor q0{};
  if (a.q_rank > 0)
    q0 = up(project(x, checked::mul(rows, a.q_rank), checked::mul(m.hidden, a.q_rank)), a.q_rank, checked::mul(m.heads, head));
  else
    q0 = project(x, divided(s, checked::mul(m.heads, head)), checked::mul(m.hidden, checked::mul(m.heads, head)) / s.tensor);
  const auto compressed = project(x, checked::mul(rows, a.kv_rank + a.rope_dim), checked::mul(m.hidden, a.kv_rank + a.rope_dim));
  const auto kv0 = up(compressed, a.kv_rank, checked::mul(m.heads, a.nope_dim + a.value_dim));
  const auto q = p.make(divided(s, checked::mul(m.heads, head)), s.width), k = p.make(divided(s, checked::mul(m.heads, head)), s.width);
  const auto v = p.make(divided(s, checked::mul(m.heads, a.value_dim)), s.width);
  const auto factors = rotary_factors(p, s, a.rope_dim);
  p.step(q0 | kv0, ((q | k) | v) | factors, {.saves = factors});
  if (s.recomputes(recompute_module::mla_up_proj)) p.recompute((q | k) | v);
  const auto out = core_attention(p, s, (q | k) | v, divided(s, checked::mul(m.heads, a.value_dim)));
  return row_parallel(p, s, out, checked::mul(m.heads, a.value_dim), m.hidden, true);
}

/// The attention half of a layer with latent attention.
constexpr program latent_block(const scene& s, bool input_has_gradient) {
  program p(s.granule);
  const auto x = p.input(streamed(s, s.model->hidden), s.residual_width, input_has_gradient);
  const auto n = norm(p, s, x, s.stream_tokens());
  if (s.recomputes(recompute_module::layernorm)) p.recompute(n.bit());
  p.set_output(ops::add(p, x, ops::drop(p, latent_attend(p, s, n), s.drops.hidden)));
  return p;
}

}  // namespace headroom::megatron
