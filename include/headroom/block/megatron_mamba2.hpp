// Distributed under the Boost Software License, Version 1.0.
// A Mamba-2 layer of Megatron's hybrid stacks: one norm, the mixer, one residual.
// Sources: Megatron-LM core/ssm/mamba_layer.py MambaLayer.forward; core/ssm/mamba_mixer.py MambaMixer.forward, _ssm_training;
// core/ssm/mamba_context_parallel.py; mamba_ssm ops/triton/ssd_combined.py MambaSplitConv1dScanCombinedFn, layernorm_gated.py.
#pragma once

#include <headroom/block/mamba2.hpp>
#include <headroom/block/megatron.hpp>

namespace headroom::megatron {

/// The projection's result comes as positions × samples; a copy of it as samples × positions is what the scan keeps, with its own result
/// before the gate. The gated result is copied back, and kept by a norm over each group of channels. Context parallelism exchanges
/// positions for heads before the scan, and back: the copies that it makes take the place of those. One sample needs no copies.
constexpr tensor mamba2(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto inner = detail::mamba2_inner(m), width = divided(s, inner);
  const bool trains = trained.has(module::mixer), copies = s.samples > 1 || s.context > 1;
  auto projected = column(p, s, x, m.hidden, detail::mamba2_projected(m), trained.has(module::mixer_in));
  if (copies) projected = ops::pointwise(p, projected);
  const ops::mamba2_scan scan(p, s, s.width);
  const auto gated = p.make(width, s.width), before_gate = p.make(width, s.width);
  const auto vectors = checked::add(checked::mul(detail::mamba2_channels(m), m.ssm.conv + (m.ssm.conv_bias ? 1 : 0)), 3 * m.ssm.heads) / s.tensor;
  p.step(projected.bit(), gated | before_gate,
         {.saves = projected | before_gate, .forward_temporary = scan.forward, .backward_temporary = scan.backward, .weight_gradient = weight_gradient(p, s, vectors, trains)});
  auto y = copies ? ops::pointwise(p, gated) : gated;
  if (!m.ssm.no_norm) {
    const auto normed = p.make(width, s.width), roots = p.make(divided(s, m.ssm.groups), 4);
    p.step(y.bit(), normed | roots, {.saves = y | roots, .weight_gradient = weight_gradient(p, s, inner / s.tensor, trains)});
    y = normed;
  }
  return row_parallel(p, s, y, inner, m.hidden, trained.has(module::mixer_out));
}

/// Megatron's Mamba-2 mixer.
constexpr program mamba2_block(const scene& s, const module_set& trained) {
  program p(s.granule);
  const auto x = p.input(streamed(s, s.model->hidden), s.residual_width, true);
  const auto n = norm(p, s, x, s.stream_tokens());
  if (s.recomputes(recompute_module::layernorm)) p.recompute(n.bit());
  p.set_output(ops::add(p, x, ops::drop(p, mamba2(p, s, trained, n), s.drops.hidden)));
  return p;
}

}  // namespace headroom::megatron
