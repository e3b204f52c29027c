// Distributed under the Boost Software License, Version 1.0.
// What recurrent mixers share: the convolution in front of the scan.
// Sources: torch.nn.Conv1d with padding, cut to the sequence; causal-conv1d causal_conv1d_interface.py, which keeps its input alone.
#pragma once

#include <headroom/block/linear.hpp>

namespace headroom::ops {

/// A result of one operation.
constexpr tensor made_of(program& p, tensor_set reads, std::int64_t elements, std::int64_t width, operation_details d = {}) {
  const auto y = p.make(elements, width);
  p.step(reads, y.bit(), d);
  return y;
}
/// … that it saves itself.
constexpr tensor kept_of(program& p, tensor_set reads, std::int64_t elements, std::int64_t width, operation_details d = {}) {
  const auto y = p.make(elements, width);
  d.saves |= y.bit();
  p.step(reads, y.bit(), d);
  return y;
}

/// Copies of weights that a fused kernel casts by itself where autocast is on, and keeps (mamba_ssm selective_scan_interface.py, ssd_combined.py).
constexpr tensor cast_weights(program& p, const scene& s, std::int64_t elements) {
  const auto y = p.make(s.casts_weights ? elements : 0, s.width);
  p.step(0, y.bit());
  return y;
}

/// The convolution over the last positions of each channel. Fused, its silu is part of it, if it has one; torch.nn.Conv1d makes as many positions
/// more as it looks back.
constexpr tensor convolution(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto channels = p.elements(x) / s.tokens;
  const auto weight = trained.has(module::mixer) ? p.rounded(checked::mul(channels, m.ssm.conv + (m.ssm.conv_bias ? 1 : 0)), s.weight_width) : bytes{0};
  const auto made = s.recurrence == recurrence::fused ? p.elements(x) : checked::mul(s.samples, channels, s.sequence + m.ssm.conv - 1);
  return made_of(p, x.bit(), made, p.width(x), {.saves = x.bit(), .weight_gradient = weight});
}
/// … and its silu.
constexpr tensor short_convolution(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto y = convolution(p, s, trained, x);
  return s.recurrence == recurrence::fused ? y : made_of(p, y.bit(), p.elements(x), p.width(x), {.saves = y.bit()});
}

}  // namespace headroom::ops
