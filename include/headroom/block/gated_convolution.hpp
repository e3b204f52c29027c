// Distributed under the Boost Software License, Version 1.0.
// A convolution between two gates, from the normalised input to the output projection: C · conv(B · x), where B, C and x are the thirds of
// one projection.
// Sources: transformers 5.16 models/lfm2/modeling_lfm2.py Lfm2ShortConv.forward; causal-conv1d causal_conv1d_interface.py.
#pragma once

#include <headroom/block/short_convolution.hpp>
#include <headroom/model/gated_convolution.hpp>

namespace headroom::ops {

/// The mixer that is a short convolution between two gates.
constexpr tensor gated_convolution(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto n = checked::mul(s.tokens, m.hidden);
  if (s.padded) x = pointwise(p, x);  // times the mask
  const auto projected = linear(p, s, trained, module::mixer_in, x, m.hidden, checked::mul(3, m.hidden), m.ssm.bias);
  const auto third = [&] {
    const auto y = p.view(projected, n);
    p.step(projected.bit(), y.bit());
    return y;
  };
  const auto before = third(), behind = third(), values = third();
  const auto product = made_of(p, before | values, n, p.width(projected), {.saves = before | values});
  const auto mixed = convolution(p, s, trained, product);
  const auto gated = made_of(p, behind | mixed, n, p.width(projected), {.saves = behind | mixed});
  return linear(p, s, trained, module::mixer_out, gated, m.hidden, m.hidden, m.ssm.bias);
}

}  // namespace headroom::ops
