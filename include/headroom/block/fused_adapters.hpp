// Distributed under the Boost Software License, Version 1.0.
// Matrices and their adapters in one function of autograd, which keeps its input and makes all else again
// (axolotl 067b021c src/axolotl/kernels/lora.py: LoRA_QKV, LoRA_O, LoRA_MLP; quantize.py, dequantize).
#pragma once

#include <headroom/block/fast_adapters.hpp>

namespace headroom::ops {

/// What the function keeps and needs of its matrices.
struct adapted_needs {
  tensor_set copies{};     ///< A and B in the compute format, saved
  bytes gradients{};       ///< of A and B
  bytes forward{};         ///< the tallest of what each needs while it multiplies
  bytes backward{};        ///< low-rank gradients of all, their matrices in the compute format, one base as it is multiplied
};

/// A base of 4 bits becomes its weights and their block's scales in fp32; A and B are cast where they are wider.
constexpr adapted_needs needs_of(program& p, const scene& s, std::int64_t rows, std::initializer_list<adapted_matrix> all) {
  const auto rank = s.side->rank;
  const bool casts = s.adapter_width != s.width;
  adapted_needs r;
  bytes whole{0};
  for (const auto& m : all) {
    const auto weights = checked::mul(m.in, m.out), first = checked::mul(m.in, rank), second = checked::mul(rank, m.out);
    const auto low = p.rounded(checked::mul(rows, rank), s.width), both = p.rounded(first, s.width) + p.rounded(second, s.width);
    const auto base = s.quantised.has(m.role) ? p.rounded(weights, s.width) + p.rounded(checked::ceil_div(weights, 64), 4) : bytes{0};
    const auto beside = low + (casts ? both : bytes{0});
    r.forward = std::max(r.forward, std::max(base, beside));
    whole = std::max(whole, base);
    r.backward += low + both;
    r.gradients += p.rounded(first, s.adapter_width) + p.rounded(second, s.adapter_width);
    if (!casts) continue;
    const auto a = p.make(first, s.width, row::gathered_parameters), b = p.make(second, s.width, row::gathered_parameters);
    r.copies |= a | b;
  }
  r.backward += whole + p.rounded(checked::mul(rank, rows), s.width);  // A·Xᵀ
  return r;
}

/// Whether these functions are Unsloth's.
constexpr bool fast(const scene& s) { return s.habits->adapters.functions != adapter_functions::save_casts; }

/// Whether a kernel takes these over: it does where all of them have adapters.
constexpr bool fuses(const scene& s, fused_kernel k, std::initializer_list<module> all) {
  if (!s.fused.has(k)) return false;
  const auto& m = *s.model;
  const bool biases = k == fused_kernel::adapted_qkv ? m.attention_bias : k == fused_kernel::adapted_output ? m.output_bias : m.mlp_bias || m.down_bias;
  if (fast(s) && !takes_over(s, biases)) return false;
  for (const auto role : all)
    if (!s.adapts(role)) return false;
  return true;
}

/// x·Wᵀ + dropped·Aᵀ·Bᵀ for every one of up to three matrices over x: one operation. One dropout serves all.
constexpr std::array<tensor, 3> multiply_adapted(program& p, const scene& s, tensor x, std::initializer_list<adapted_matrix> all) {
  if (fast(s)) return fast_multiply(p, s, x, all);
  x = cast(p, x, s.width);
  const auto dropped = drop(p, x, s.side->dropout);
  const auto rows = p.elements(x) / all.begin()->in;
  const auto n = needs_of(p, s, rows, all);
  std::array<tensor, 3> made{};
  tensor_set makes = n.copies;
  std::size_t i = 0;
  for (const auto& m : all) {
    made[i] = p.make(checked::mul(rows, m.out), s.width);
    makes |= made[i++].bit();
  }
  p.step(x | dropped, makes, {.saves = (x | dropped) | n.copies, .forward_temporary = n.forward, .backward_temporary = n.backward, .weight_gradient = n.gradients});
  return made;
}

/// down(act(gate)·up) with adapters on all three: x, gate and up are kept; backward writes the gradients of gate and up over them, and the product over
/// its own gradient.
constexpr tensor adapted_feed_forward(program& p, const scene& s, tensor x, std::int64_t width) {
  if (fast(s)) return fast_feed_forward(p, s, x, width);
  const auto h = s.model->hidden;
  x = cast(p, x, s.width);
  const auto dropped = drop(p, x, s.side->dropout);
  const auto rows = p.elements(x) / h;
  const auto n = needs_of(p, s, rows, {{module::gate_proj, h, width}, {module::up_proj, h, width}, {module::down_proj, width, h}});
  const auto gate = p.make(checked::mul(rows, width), s.width), up = p.make(checked::mul(rows, width), s.width), y = p.make(checked::mul(rows, h), s.width);
  p.step(x | dropped, ((gate | up) | y) | n.copies,
         {.saves = ((x | dropped) | (gate | up)) | n.copies, .forward_temporary = p.size(gate) + n.forward, .backward_temporary = p.size(gate) + n.backward, .weight_gradient = n.gradients});
  return y;
}

}  // namespace headroom::ops
