// Distributed under the Boost Software License, Version 1.0.
// Unsloth's functions over frozen matrices and their adapters (unsloth kernels/fast_lora.py LoRA_QKV, LoRA_W, LoRA_MLP; kernels/utils.py matmul_lora,
// fast_dequantize): the input is saved, and nothing that was cast; its gradient is written over it, and those of gate and up over these.
#pragma once

#include <headroom/block/linear.hpp>

namespace headroom::ops {

/// One matrix with its adapter.
struct adapted_matrix {
  module role{};
  std::int64_t in{}, out{};
};

/// What one matrix needs for a moment.
struct fast_matrix {
  bytes result{};     ///< what it multiplies to
  bytes forward{};    ///< beside its result: its weights until they are multiplied, then A and B in the compute format, X·A and perhaps X·A·B
  bytes backward{};   ///< beside the gradient of its input: its weights, or one more product of the input's size
  bytes casts{};      ///< of A and B, and their gradients in the compute format
  bytes gradients{};  ///< of A and B, as they stay
};
constexpr fast_matrix fast_needs(const program& p, const scene& s, std::int64_t rows, const adapted_matrix& m) {
  const auto rank = s.side->rank, weights = checked::mul(m.in, m.out), first = checked::mul(m.in, rank), second = checked::mul(rank, m.out);
  const auto wide = [&](std::int64_t n) { return p.rounded(n, s.width); };
  const bool adds = s.habits->adapters.functions == adapter_functions::add_products;
  // A base of 4 bits becomes its weights and their block's scales in fp32. In forward they lie in a buffer that stays (states/outside.hpp).
  const auto base = s.quantised.has(m.role) ? wide(weights) + p.rounded(checked::ceil_div(weights, 64), 4) : bytes{0};
  const auto casts = s.adapter_width != s.width ? wide(first) + wide(second) : bytes{0};
  const auto low = wide(checked::mul(rows, rank)) + casts;
  fast_matrix r;
  r.result = wide(checked::mul(rows, m.out));
  r.forward = max(adds ? base : bytes{0}, low + (adds ? r.result + wide(second) : bytes{0}));
  r.backward = max(base, low + (adds ? wide(checked::mul(rows, m.in)) : bytes{0}));
  r.casts = casts + wide(first) + wide(second);
  r.gradients = p.rounded(first, s.adapter_width) + p.rounded(second, s.adapter_width);
  return r;
}

/// Up to three matrices over x, one after the other. Of one alone x's gradient is a tensor of its own (LoRA_W).
constexpr std::array<tensor, 3> fast_multiply(program& p, const scene& s, tensor x, std::initializer_list<adapted_matrix> all) {
  x = cast(p, x, s.width);
  const auto rows = p.elements(x) / all.begin()->in;
  std::array<tensor, 3> made{};
  tensor_set makes = 0;
  bytes there{0}, tallest{0}, backward{0}, casts{0}, gradients{0};
  std::size_t i = 0;
  for (const auto& m : all) {
    const auto n = fast_needs(p, s, rows, m);
    made[i] = p.make(checked::mul(rows, m.out), s.width);
    makes |= made[i++].bit();
    there += n.result;
    tallest = max(tallest, there + n.forward);
    backward = max(backward, n.backward);
    casts += n.casts;
    gradients += n.gradients;
  }
  p.step(x.bit(), makes, {.saves = x.bit(), .forward_temporary = tallest - there, .backward_temporary = backward + casts, .weight_gradient = gradients, .releases_first = all.size() > 1});
  return made;
}

/// down(silu(gate)·up): backward makes the gradient of the product, and writes the product over that. Gate and up stay to its end, where x's gradient
/// has taken x's place.
constexpr tensor fast_feed_forward(program& p, const scene& s, tensor x, std::int64_t width) {
  const auto h = s.model->hidden;
  x = cast(p, x, s.width);
  const auto rows = p.elements(x) / h;
  const auto gate_needs = fast_needs(p, s, rows, {module::gate_proj, h, width}), up_needs = fast_needs(p, s, rows, {module::up_proj, h, width});
  const auto down_needs = fast_needs(p, s, rows, {module::down_proj, width, h}), back_needs = fast_needs(p, s, rows, {module::down_proj, h, width});
  const auto gate = p.make(checked::mul(rows, width), s.width), up = p.make(checked::mul(rows, width), s.width), y = p.make(checked::mul(rows, h), s.width);
  const auto product = p.size(gate);
  const auto forward = max(product + gate_needs.forward, max(2 * product + up_needs.forward, 3 * product + p.size(y) + down_needs.forward)) - (2 * product + p.size(y));
  const auto casts = gate_needs.casts + up_needs.casts + down_needs.casts;
  const auto backward = product + max(back_needs.forward, max(gate_needs.backward, up_needs.backward));
  p.step(x.bit(), (gate | up) | y,
         {.saves = (x | gate) | up, .forward_temporary = forward, .backward_temporary = 2 * product + backward + casts, .weight_gradient = gate_needs.gradients + up_needs.gradients + down_needs.gradients, .releases_first = true});
  return y;
}

/// Whether Unsloth takes these over (models/llama.py patch_peft_model): adapters on all of them, without dropout, biases and magnitudes.
constexpr bool takes_over(const scene& s, bool biases) { return s.side->kind == adapter_kind::lora && !s.side->dropout.positive() && !biases; }

}  // namespace headroom::ops
