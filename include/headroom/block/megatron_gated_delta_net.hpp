// Distributed under the Boost Software License, Version 1.0.
// Gated DeltaNet as mcore-bridge builds it for ms-swift, divided by heads: one projection makes all that the mixer reads.
// Sources: modelscope/mcore-bridge f020e479 of 2026-05-04 src/mcore_bridge/model/modules/gated_delta_net.py GatedDeltaNet.forward, whose locals hold the
// projection's result and the convolution's to its end; Megatron-LM core/ssm/gated_delta_net/common.py _apply_gated_norm, compiled; fla
// modules/convolution.py causal_conv1d_bwd, modules/l2norm.py.
#pragma once

#include <headroom/block/gated_delta_net.hpp>
#include <headroom/block/megatron.hpp>

namespace headroom::megatron {

/// Outputs of that projection: queries, keys, values, gates, and two numbers of each head of values.
constexpr std::int64_t delta_projected(const shape& m) { return checked::add(2 * checked::add(detail::delta_keys(m), detail::delta_values(m)), 2 * m.ssm.heads); }

/// The convolution of fla: it keeps its input, and runs forward once more in backward, beside partial sums in fp32 of its weights for each 64 positions.
constexpr tensor delta_convolution(program& p, const scene& s, tensor x, bool trains) {
  const auto channels = p.elements(x) / s.tokens, weights = checked::mul(channels, s.model->ssm.conv);
  const auto y = p.make(p.elements(x), s.width);
  p.step(x.bit(), y.bit(), {.saves = x.bit(), .backward_temporary = p.size(x) + p.rounded(checked::mul(checked::ceil_div(s.tokens, std::int64_t{64}), weights), 4), .weight_gradient = weight_gradient(p, s, weights, trains)});
  return y;
}

/// From the normed input to the output projection; sizes are of one rank's heads.
constexpr tensor gated_delta_net(program& p, const scene& all, const module_set& trained, tensor x) {
  const auto& m = *all.model;
  auto own = m;
  own.ssm.heads /= all.tensor;
  own.ssm.groups /= all.tensor;
  scene s = all;
  s.model = &own;
  s.recurrence = recurrence::fused;
  const auto values = checked::mul(s.tokens, detail::delta_values(own)), keys = checked::mul(s.tokens, detail::delta_keys(own)), heads = checked::mul(s.tokens, own.ssm.heads);
  auto mixed = column(p, all, x, m.hidden, delta_projected(m), trained.has(module::mixer_in));
  if (adapts(all, module::mixer_in)) mixed = adapt_column(p, all, x, mixed, m.hidden, delta_projected(m));
  const auto gate = p.make(values, s.width), qkv = p.make(checked::add(2 * keys, values), s.width), ba = p.make(2 * heads, s.width);
  p.step(mixed.bit(), (gate | qkv) | ba);  // copies, samples before positions
  const auto convolved = delta_convolution(p, s, qkv, trained.has(module::mixer));
  auto q = ops::made_of(p, convolved.bit(), keys, s.width), k = ops::made_of(p, convolved.bit(), keys, s.width);
  const auto v = ops::made_of(p, convolved.bit(), values, s.width);
  const auto unit = ops::unit_lengths(p, q, k, checked::mul(2 * s.tokens, own.ssm.groups));
  q = unit.q, k = unit.k;
  if (own.ssm.heads > own.ssm.groups) {
    const auto repeated = checked::mul(heads, own.ssm.state);
    q = ops::made_of(p, q.bit(), repeated, s.width), k = ops::made_of(p, k.bit(), repeated, s.width);
  }
  const auto out = ops::delta_rule_fused(p, s, q, k, v, ops::gates_of(p, s, trained, ba));
  const auto normed = norm(p, s, out, heads);
  auto y = p.make(values, s.width);
  p.step(normed | gate, y.bit(), {.saves = normed | gate, .holds = mixed | convolved});
  if (s.samples > 1) y = ops::pointwise(p, y);
  auto result = row_parallel(p, all, y, detail::delta_values(m), m.hidden, trained.has(module::mixer_out));
  return adapts(all, module::mixer_out) ? adapt_row(p, all, y, result, detail::delta_values(m), m.hidden) : result;
}

/// One norm, the mixer, one residual. Not inlined, so that no other layer's frame has room for a shape.
[[gnu::noinline]] constexpr program gated_delta_block(const scene& s, const module_set& trained) {
  program p(s.granule);
  const auto x = p.input(streamed(s, s.model->hidden), s.residual_width, true);
  const auto n = norm(p, s, x, s.stream_tokens());
  if (s.recomputes(recompute_module::layernorm)) p.recompute(n.bit());
  p.set_output(ops::add(p, x, ops::drop(p, gated_delta_net(p, s, trained, n), s.drops.hidden)));
  return p;
}

}  // namespace headroom::megatron
