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
    return s.habits->experts.pads_to_capacity || busiest > capacity ? capacity : busiest;
  };
  const auto here = s.stream_tokens();
  const auto received = routed(here, true);
  if (s.expert_tensor <= 1) return {routed(here, false), received, received};
  return {routed(here, false), received, s.sequence_split > 1 ? checked::mul(received, s.expert_tensor) : routed(s.tokens, true)};
}

/// Tokens that the all-gather dispatcher collects: those of all ranks among which experts are divided.
constexpr std::int64_t gathered_tokens(const scene& s) { return checked::mul(s.stream_tokens(), checked::mul(s.expert, s.expert_tensor)); }

/// The experts of this rank: two grouped matrix multiplications, `computed` tokens each.
constexpr tensor expert_mlp(program& p, const scene& s, tensor x, std::int64_t computed) {
  const auto& m = *s.model;
  const auto width = m.experts.ffn / s.expert_tensor;
  const auto local = m.experts.count / s.expert;
  const auto grouped = [&](tensor from, std::int64_t in, std::int64_t out) {
    const auto to = p.make(checked::mul(computed, out), s.width);
    const auto o = operand_of(p, s, from, base_trains(s));
    p.step(from.bit(), to.bit() | o.makes,
           {.saves = o.saves, .forward_temporary = quantised_input(p, s, from), .backward_temporary = quantised_gradient(p, s, to),
            .weight_gradient = weight_gradient(p, s, checked::mul(in, out, local), base_trains(s)), .splits = base_trains(s)});
    return to;
  };
  const auto adapted = [&](module role, tensor from, tensor to, std::int64_t in, std::int64_t out) {
    return adapts(s, role) ? adapt_grouped(p, s, from, to, computed, checked::mul(s.side->rank, in + out, local)) : to;
  };
  const std::int64_t factor = m.mlp == mlp_kind::gated ? 2 : 1;
  auto hidden = adapted(module::experts_up, x, grouped(x, m.hidden, factor * width), m.hidden, factor * width);
  offload(p, s, offload_module::expert_fc1, x.bit());
  const auto projected = hidden;
  const auto activated = p.make(checked::mul(computed, width), s.width);
  p.step(hidden.bit(), activated.bit(), {.saves = hidden.bit()});
  hidden = activated;
  if (m.mlp != mlp_kind::gated && !s.weighs_in_activation) {  // GELU, times the router's probabilities, cast back; weighted SwiGLU applies them inside
    const auto weighted = p.make(checked::mul(computed, width), s.habits->experts.routes_in_fp32 ? 4 : s.width);
    p.step(activated.bit(), weighted.bit(), {.saves = activated.bit(), .backward_temporary = p.size(weighted)});
    hidden = ops::cast(p, weighted, s.width);
  }
  const bool again = s.recomputes(recompute_module::moe_act);
  if (again) p.recompute(activated | hidden);
  offload(p, s, offload_module::moe_act, again ? projected.bit() : projected | activated);
  return adapted(module::experts_down, hidden, grouped(hidden, width, m.hidden), width, m.hidden);
}

/// The routed experts: dispatch, the experts' MLPs, and the way back. What moves tokens saves no activations. Locals of
/// MoELayer.forward hold the tokens permuted for the exchange and those received, to its end; one of routed_experts_compute holds the
/// experts' output until it is sorted back (and, where experts are divided too, summed). With probabilities in fp32 that sum is, too.
constexpr tensor routed_experts(program& p, const scene& s, tensor x) {
  const auto h = s.model->hidden;
  const auto tokens = route(s);
  const auto sent = tokens.sent, received = tokens.received, computed = tokens.computed;
  const bool exchanges = s.expert > 1, gathers = s.expert_tensor > 1;
  const auto sum_width = s.habits->experts.routes_in_fp32 ? 4 : s.width;
  const auto move = [&](tensor from, std::int64_t count, tensor_set holds = 0, bytes temporary = bytes{0}) {
    const auto to = p.make(checked::mul(count, h), s.width);
    p.step(from.bit(), to.bit(), {.holds = holds, .forward_temporary = temporary});
    return to;
  };
  const auto put_back = [&](tensor from, std::int64_t count) {
    const auto to = p.make(checked::mul(count, h), s.width);
    p.step(from.bit(), to.bit(), {.saves = s.keeps_returned ? from.bit() : 0});
    return to;
  };
  const auto widened = [&](std::int64_t from, std::int64_t to) {
    return sum_width > s.width ? p.rounded(checked::mul(from, h), sum_width) + p.rounded(checked::mul(to, h), sum_width) : bytes{0};
  };
  if (s.habits->experts.dispatcher == token_dispatcher::all_gather) {
    // All tokens come into a global buffer, of which each rank copies what its experts get; the results, at the places of all
    // tokens, are summed and scattered.
    const auto all = gathered_tokens(s);
    const auto mine = p.make(checked::mul(computed, h), s.width);
    const auto order = p.make(computed, 8);
    p.step(x.bit(), mine | order, {.saves = order.bit(), .backward_temporary = p.rounded(checked::mul(all, h), s.width)});
    const auto output = expert_mlp(p, s, mine, computed);
    const auto placed = put_back(output, all);
    return move(placed, s.stream_tokens(), 0, exchanges || gathers ? widened(all, s.stream_tokens()) : bytes{0});
  }
  const bool flex = s.habits->experts.dispatcher == token_dispatcher::flex;  // its kernels copy each token on the way
  const bool sorts = s.model->experts.count / s.expert > 1 && (exchanges || gathers);
  const auto permuted = p.make(checked::mul(sent, h), s.width);
  const auto order = p.make(sent, 8);
  p.step(x.bit(), permuted | order, {.saves = order.bit()});
  auto local_tokens = permuted;
  if (exchanges && !flex) local_tokens = move(local_tokens, received);
  const tensor_set held = permuted | local_tokens;
  if (gathers) local_tokens = move(local_tokens, computed);
  if (sorts) local_tokens = move(local_tokens, computed);
  const auto output = expert_mlp(p, s, local_tokens, computed);
  auto back = output;
  if (sorts) back = move(back, computed);
  if (gathers) back = move(back, received, output.bit(), widened(computed, received));
  if (exchanges && !flex) back = move(back, sent);
  const auto y = p.make(streamed(s, h), s.width);
  p.step(back.bit(), y.bit(), {.saves = s.keeps_returned ? back.bit() : 0, .holds = held});
  return y;
}

/// The shared expert. Beside the dispatch its input is gathered before its layers, which then divide nothing but their matrices: the first keeps it
/// whole, and what the last makes is scattered after it (core/transformer/moe/shared_experts.py pre_forward_comm, post_forward_comm).
constexpr tensor shared_expert(program& p, const scene& s, tensor x, bool trains) {
  const auto h = s.model->hidden, width = s.model->experts.shared_ffn;
  if (!s.habits->experts.overlaps_shared || s.sequence_split == 1) return feed_forward(p, s, x, width, trains, module::shared_up, module::shared_down);
  scene whole = s;
  whole.sequence_split = 1;
  const auto gathered = p.make(checked::mul(s.tokens, h), s.width);
  p.step(x.bit(), gathered.bit());
  const auto all = feed_forward(p, whole, gathered, width, trains, module::shared_up, module::shared_down);
  const auto y = p.make(streamed(s, h), s.width);
  p.step(all.bit(), y.bit());
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
  offload(p, s, offload_module::mlp_norm, x.bit());
  if (s.recomputes(recompute_module::layernorm)) p.recompute(n.bit());
  const auto scores = checked::mul(s.stream_tokens(), e.count);
  // Logits and probabilities in fp32, and the routing map.
  const auto probabilities = p.make(scores, 4);
  const auto routing = p.make(scores, 9);
  const bytes wide = s.habits->experts.routes_in_fp32 ? 2 * p.rounded(p.elements(n), 4) : bytes{0};  // the input, and its gradient
  p.step(n.bit(), probabilities | routing, {.saves = n | routing, .backward_temporary = wide});
  tensor shared{};
  const auto before_shared = p.tensors();
  if (e.shared_ffn > 0) shared = shared_expert(p, s, n, trained.has(module::shared_up));
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
  const auto first = p.tensors();
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
  offload(p, s, offload_module::qkv_linear, p.since(first) | x, x.bit());  // both down-projections save x
  const auto q = p.make(divided(s, checked::mul(m.heads, head)), s.width), k = p.make(divided(s, checked::mul(m.heads, head)), s.width);
  const auto v = p.make(divided(s, checked::mul(m.heads, a.value_dim)), s.width);
  const auto factors = rotary_factors(p, s, a.rope_dim);
  p.step(q0 | kv0, ((q | k) | v) | factors, {.saves = factors});
  if (s.recomputes(recompute_module::mla_up_proj)) p.recompute((q | k) | v);
  const auto out = core_attention(p, s, (q | k) | v, divided(s, checked::mul(m.heads, a.value_dim)));
  const auto y = row_parallel(p, s, out, checked::mul(m.heads, a.value_dim), m.hidden, true);
  offload(p, s, offload_module::attn_proj, out.bit());
  return y;
}

/// The attention half of a layer with latent attention.
constexpr program latent_block(const scene& s, bool input_has_gradient) {
  program p(s.granule);
  const auto x = p.input(streamed(s, s.model->hidden), s.residual_width, input_has_gradient);
  const auto n = norm(p, s, x, s.stream_tokens());
  offload(p, s, offload_module::attn_norm, x.bit());
  if (s.recomputes(recompute_module::layernorm)) p.recompute(n.bit());
  p.set_output(ops::add(p, x, ops::drop(p, latent_attend(p, s, n), s.drops.hidden)));
  return p;
}

}  // namespace headroom::megatron
