// Distributed under the Boost Software License, Version 1.0.
// Mamba-1, from the normalised input to the output projection. Fused, all behind the first projection is one operation, or, with norms that
// train (Jamba), the scan is; eager, a loop over positions, whose tensors this program joins.
// Sources: transformers 5.16 models/mamba/modeling_mamba.py MambaMixer.forward, mamba_selective_scan; models/jamba/modeling_jamba.py
// JambaMambaMixer.forward; mamba_ssm ops/selective_scan_interface.py MambaInnerFn, SelectiveScanFn; csrc/selective_scan/selective_scan.cpp.
#pragma once

#include <headroom/block/short_convolution.hpp>
#include <headroom/model/mamba1.hpp>

namespace headroom::ops {

/// Sizes of the scan, in elements.
struct mamba1_sizes {
  std::int64_t inner{};   ///< tokens × channels
  std::int64_t keys{};    ///< tokens × state: B, or C
  std::int64_t rates{};   ///< channels × state: A
  std::int64_t state{};   ///< samples × channels × state
  std::int64_t states{};  ///< … at each position
  std::int64_t kept{};    ///< … of B and C side by side, every 2048 positions, where the kernel keeps it
  constexpr explicit mamba1_sizes(const scene& s)
      : inner(checked::mul(s.tokens, s.model->ssm.heads)), keys(checked::mul(s.tokens, s.model->ssm.state)), rates(checked::mul(s.model->ssm.heads, s.model->ssm.state)),
        state(checked::mul(s.samples, rates)), states(checked::mul(s.sequence, state)), kept(checked::mul(checked::ceil_div(s.sequence, 2048), 2 * state)) {}
};

/// Gradients of the weights between the two projections, but for A_log's, which rates_of() makes.
constexpr bytes mamba1_gradients(const program& p, const scene& s) {
  const auto& m = s.model->ssm;
  const auto of = [&](std::int64_t n) { return p.rounded(n, s.weight_width); };
  const auto steps = of(checked::mul(m.heads, m.rank)) + 2 * of(m.heads);
  return steps + of(checked::mul(m.heads, m.conv)) + (m.conv_bias ? of(m.heads) : bytes{0}) + of(checked::mul(detail::mamba1_steps(*s.model), m.heads));
}

/// exp(A_log), and its negative, in fp32.
constexpr tensor rates_of(program& p, const scene& s, bool trains, const mamba1_sizes& n) {
  const auto power = p.make(n.rates, 4);
  p.step(0, power.bit(), {.saves = trains ? power.bit() : 0, .weight_gradient = trains ? p.rounded(n.rates, s.weight_width) : bytes{0}});
  return made_of(p, power.bit(), n.rates, 4);
}

/// MambaInnerFn keeps the first projection's result, turned so that positions lie one behind the other, steps with B and C as one matrix makes
/// them, B and C by themselves, the scan's result before the gate, and a state every 2048 positions. The convolution's result and the steps of each
/// channel are made again in backward, beside gradients of as many, of the gated result, and of B and C in fp32.
constexpr tensor mamba1_fused(program& p, const scene& s, const module_set& trained, tensor projected) {
  const auto& m = *s.model;
  const mamba1_sizes n(s);
  const auto w = p.width(projected);
  const auto turned = made_of(p, projected.bit(), 2 * n.inner, w);
  const auto rates = rates_of(p, s, trained.has(module::mixer), n);
  const auto steps = p.make(checked::mul(s.tokens, detail::mamba1_steps(m)), w), b = p.make(n.keys, w), c = p.make(n.keys, w);
  const auto out = p.make(n.inner, w), kept = p.make(n.kept, 4), y = p.make(checked::mul(s.tokens, m.hidden), w);
  const auto channel = p.size(out);
  const auto copies = cast_weights(p, s, checked::mul(m.ssm.heads, checked::add(m.hidden, checked::add(m.ssm.rank, detail::mamba1_steps(m)))));
  bytes weights = trained.has(module::mixer) ? mamba1_gradients(p, s) : bytes{0};
  if (trained.has(module::mixer_out)) weights += p.rounded(checked::mul(m.ssm.heads, m.hidden), s.weight_width) + (m.ssm.bias ? p.rounded(m.hidden, s.weight_width) : bytes{0});
  p.step(turned | rates, (steps | b | c) | (out | kept) | y.bit(),
         {.saves = (turned | rates | copies) | (steps | b | c) | (out | kept), .holds = projected.bit(), .forward_temporary = 3 * channel,
          .backward_temporary = 6 * channel + 2 * p.rounded(n.keys, 4) + p.size(steps), .weight_gradient = weights, .temporary_block = channel});
  return y;
}

/// SelectiveScanFn, which takes its operands with positions one behind the other, and keeps copies that are turned so.
constexpr tensor selective_scan_fused(program& p, tensor u, tensor dt, tensor rates, tensor b, tensor c, tensor gate, const mamba1_sizes& n, bytes weights) {
  const auto w = p.width(u);
  const auto u1 = pointwise(p, u), dt1 = pointwise(p, dt), b1 = pointwise(p, b), c1 = pointwise(p, c), z = made_of(p, gate.bit(), n.inner, w);
  const auto out = p.make(n.inner, w), kept = p.make(n.kept, 4), y = p.make(n.inner, w);
  const auto keeps = (u1 | dt1 | b1) | (c1 | z) | (rates | out | kept);
  p.step((u1 | dt1 | b1) | (c1 | z | rates), (out | kept) | y.bit(), {.saves = keeps, .backward_temporary = p.size(out) + 2 * p.rounded(n.keys, 4), .weight_gradient = weights, .temporary_block = p.size(out)});
  return y;
}

/// mamba_selective_scan: exp(A·dt) and dt·B·u of all positions in fp32, and a loop that keeps the state before each position in fp32 and, in the
/// compute format, the one behind it. Each position's part of a gradient is made as large as the whole, and added.
constexpr tensor selective_scan_eager(program& p, const scene& s, tensor u, tensor dt, tensor rates, tensor b, tensor c, tensor gate, const mamba1_sizes& n, bool trains) {
  const auto& m = s.model->ssm;
  const auto w = p.width(u);
  const auto channels = trains ? p.rounded(m.heads, s.weight_width) : bytes{0};
  const auto shifted = made_of(p, dt.bit(), n.inner, w, {.weight_gradient = channels});  // by the bias
  const auto steps = made_of(p, shifted.bit(), n.inner, w, {.saves = shifted.bit()});
  const auto whole = p.rounded(n.states, 4);
  const auto product = made_of(p, rates | steps, n.states, 4, {.saves = rates | steps, .backward_temporary = 2 * whole, .temporary_block = whole});
  const auto decay = kept_of(p, product.bit(), n.states, 4);
  const auto wide_b = cast(p, b, 4);
  const auto grown = made_of(p, steps | wide_b, n.states, 4, {.saves = steps | wide_b, .backward_temporary = 2 * whole, .temporary_block = whole});
  const auto wide_u = cast(p, u, 4);
  const auto added = made_of(p, grown | wide_u, n.states, 4, {.saves = grown | wide_u, .backward_temporary = whole});
  const auto each = [&](std::int64_t times, std::int64_t elements, std::int64_t width) { return checked::mul(times, p.rounded(elements, width).count()); };
  const auto states = p.make_each(w == 4 ? s.sequence : s.sequence - 1, p.rounded(n.state, 4)), first = p.make(n.state, w);
  const auto narrow = p.make_each(w == 4 ? 0 : s.sequence, p.rounded(n.state, w)), scanned = p.make(n.inner, w);
  p.step((decay | added) | c.bit(), (states | first) | (narrow | scanned),
         {.saves = (decay | states | first) | (narrow | c), .forward_temporary = bytes{each(s.sequence, checked::mul(s.samples, m.heads), w)},
          .backward_temporary = (p.sums_out_of_place() ? 2 : 1) * whole, .temporary_block = whole});
  const auto d = p.make(w == 4 ? 0 : m.heads, 4);
  p.step(0, d.bit());
  const auto skip = made_of(p, u | d, n.inner, 4, {.saves = (trains ? u.bit() : 0) | d, .weight_gradient = channels});
  const auto sum = add(p, scanned, skip);
  const auto silu = made_of(p, gate.bit(), n.inner, w, {.saves = gate.bit()});
  return multiply(p, sum, silu);
}

/// Mamba-1 as a mixer. Errors: job_error for adapters on out_proj under the fused kernel.
constexpr tensor mamba1(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const mamba1_sizes n(s);
  const bool trains = trained.has(module::mixer), fused = s.recurrence == recurrence::fused;
  if (s.padded) x = pointwise(p, x);  // times the mask
  const auto projected = linear(p, s, trained, module::mixer_in, x, m.hidden, checked::mul(2, m.ssm.heads), m.ssm.bias);
  const auto w = p.width(projected);
  const bool weighed = m.ssm.step_norm == step_norm_kind::weighed;
  if (fused && !weighed) {
    if (s.adapts(module::mixer_out)) refuse("headroom: PEFT has no adapters for Mamba's out_proj, whose weight the fused kernel takes; adapter.targets must leave it out");
    return mamba1_fused(p, s, trained, projected);
  }
  const auto half = [&] {
    const auto y = p.view(projected, n.inner);
    p.step(projected.bit(), y.bit());
    return y;
  };
  const auto in = half(), gate = half();
  const auto hidden = short_convolution(p, s, trained, in);
  // A linear layer joins the samples' positions: a copy, unless there is one sample, or the kernel has channels side by side.
  const auto joined = s.samples > 1 && !fused ? pointwise(p, hidden) : hidden;
  const auto three = multiply(p, s, joined, {.in = m.ssm.heads, .out = detail::mamba1_steps(m), .trains = trains});
  const auto part = [&](std::int64_t features) {
    const auto y = p.view(three, checked::mul(s.tokens, features));
    p.step(three.bit(), y.bit());
    return m.ssm.step_norm == step_norm_kind::none ? y : rms_norm(p, s, y, features, weighed && trains);
  };
  const auto time = part(m.ssm.rank), b = part(m.ssm.state), c = part(m.ssm.state);
  const auto dt = multiply(p, s, time, {.in = m.ssm.rank, .out = m.ssm.heads, .trains = trains});
  const auto rates = rates_of(p, s, trains, n);
  auto y = fused ? selective_scan_fused(p, hidden, dt, rates, b, c, gate, n, trains ? 2 * p.rounded(m.ssm.heads, s.weight_width) : bytes{0})
                 : selective_scan_eager(p, s, hidden, dt, rates, b, c, gate, n, trains);
  y = cast(p, y, w);
  if (s.samples > 1 || fused) y = pointwise(p, y);  // turned
  return linear(p, s, trained, module::mixer_out, y, m.ssm.heads, m.hidden, m.ssm.bias);
}

}  // namespace headroom::ops
