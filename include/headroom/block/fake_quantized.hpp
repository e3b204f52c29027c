// Distributed under the Boost Software License, Version 1.0.
// Matrix multiplications of quantisation-aware training: torchao's FakeQuantizedLinear (quantization/qat/linear.py, v0.17), operation by operation as
// autograd sees them. Nothing is cast for the kernel: rounded numbers are made anew in the format that they had, and what was made on the way is kept.
#pragma once

#include <headroom/block/operations.hpp>

namespace headroom::ops {

/// A matrix multiplication x·Wᵀ of in → out features with a weight that may train, be cast (autocast) or be quantised.
struct matrix {
  std::int64_t in{};
  std::int64_t out{};
  bool bias{};
  bool trains{};
  bool quantised{};
  bool waits{};            ///< see operation_details::gradient_waits
  std::int64_t pieces{1};  ///< rows are multiplied in so many pieces
  bool normalised{};       ///< each row of the weight is divided by its length first
  bool as_it_is{};         ///< fake quantisation leaves it
  row result{row::activations};
};

/// What is rounded: a tensor, or a weight, whose gradient is then made.
struct unrounded {
  tensor x{};               ///< not valid(): a weight
  std::int64_t elements{};
  std::int64_t width{};     ///< of an element
  std::int64_t scales{};
  bytes gradient{};         ///< of a weight that trains
  bool waits{};
  row counted{row::activations};
};

/// IntxFakeQuantizer (quantization/quant_primitives.py, _quantize_affine_no_dtype_cast and _dequantize_affine_no_dtype_check): times the inverse of the scale,
/// which makes fp32, rounded, plus the zero point, clamped; back in its format, less the zero point, times the scale, in its format. torch.clamp saves what
/// it is given. Tensors that live for a moment are those of that order; backward's tallest moments are torch.where between two masks (clamp_backward),
/// and a product in fp32 before it is cast.
constexpr tensor round_by_scale(program& p, const scene& s, const unrounded& of) {
  const auto wide = p.rounded(of.elements, 4);
  const bool narrow = of.width != 4;
  const auto before = p.make(of.elements, 4, of.counted), inverse = p.make(of.scales, 4);
  p.step(of.x.bit(), before | inverse,
         {.saves = inverse.bit(), .forward_temporary = wide, .backward_temporary = narrow ? wide : bytes{0}, .weight_gradient = of.gradient, .gradient_waits = of.waits});
  const auto clamped = p.make(of.elements, 4, of.counted);
  p.step(before.bit(), clamped.bit(), {.saves = before.bit(), .backward_temporary = 2 * p.rounded(of.elements, 1)});
  const auto y = p.make(of.elements, of.width, of.counted);
  p.step(clamped.bit(), y.bit(), {.forward_temporary = s.host && narrow ? 2 * wide : wide, .backward_temporary = narrow ? wide : bytes{0}});  // a CPU casts the operand of the product
  return y;
}

/// Int4WeightFakeQuantizer._bf16_activations_forward: in fp32, (w − least) / scale, rounded and clamped, less 8, times the scale, plus a zero point. All of it
/// is part of the graph: the copy (amax, amin), the difference, the rounded and the shifted numbers are kept. The quotient's gradient for the scale is the
/// tallest moment of backward: five tensors of its size at once (FunctionsManual.cpp, div_tensor_other_grad).
constexpr tensor round_between_bounds(program& p, const unrounded& of) {
  const auto wide = p.rounded(of.elements, 4);
  const auto made = [&] { return p.make(of.elements, 4, of.counted); };
  const auto copy = made(), of_groups = p.make(4 * of.scales, 4);  // largest, least, range, scale
  p.step(0, copy | of_groups, {.saves = copy | of_groups, .backward_temporary = wide + p.rounded(of.elements, 1) + p.rounded(of.elements, 2), .weight_gradient = of.gradient, .gradient_waits = of.waits});
  const auto above = made(), rounded = made(), shifted = made(), sum = made();
  p.step(copy.bit(), above.bit(), {.backward_temporary = wide, .passes_gradient = true});
  p.step(above.bit(), rounded.bit(), {.saves = above.bit(), .forward_temporary = wide, .backward_temporary = 3 * wide});
  p.step(rounded.bit(), shifted.bit(), {.saves = rounded.bit(), .holds = copy.bit(), .forward_temporary = wide, .backward_temporary = 2 * p.rounded(of.elements, 1)});
  p.step(shifted.bit(), sum.bit(), {.saves = shifted.bit(), .holds = copy.bit(), .forward_temporary = wide, .backward_temporary = wide});
  const auto y = p.make(of.elements, of.width, of.counted);
  p.step(sum.bit(), y.bit(), {.holds = copy.bit()});
  return y;
}

/// A head that is called for one piece of the rows after another (torchtune modules/loss/cross_entropy_loss.py, LinearCrossEntropyLoss): each call rounds
/// the whole weight again, and its graph keeps that to the end of forward. In backward the weight's gradients of a call are done before the next.
constexpr tensor multiply_rounded_pieces(program& p, const scene& s, tensor x, const matrix& m) {
  const auto weights = checked::mul(m.in, m.out), groups = weights / s.fake.group, rows = p.elements(x) / m.in;
  const auto wide = p.rounded(weights, 4), product = p.rounded(checked::mul(rows / m.pieces, m.out), s.width);
  const auto y = p.make(checked::mul(rows, m.out), s.width, m.result);
  const auto inverse = p.make(checked::mul(m.pieces, groups), 4), before = p.make(checked::mul(m.pieces, weights), 4, row::gathered_parameters);
  const auto weight = p.make(checked::mul(m.pieces, weights), s.width, row::gathered_parameters);
  tensor_set kept = (inverse | before) | weight;
  if (s.fake.activations) {
    const auto of_rows = p.make(rows, 4), clamped = p.make(p.elements(x), 4), rounded = p.make(p.elements(x), p.width(x));
    kept |= (of_rows | clamped) | rounded;
  }
  // The product is made when the temporaries have gone; that of its gradient goes before they come, and the rounded weight with it.
  const auto beside = product + p.rounded(weights, s.width);
  p.step(x.bit(), kept | y,
         {.saves = kept | (s.fake.activations ? tensor_set{0} : x.bit()), .forward_temporary = max(bytes{0}, 2 * wide - product), .backward_temporary = max(bytes{0}, 2 * wide - beside),
          .weight_gradient = m.trains ? p.rounded(weights, s.weight_width) : bytes{0}, .gradient_waits = m.waits, .pieces = m.pieces});
  return y;
}

/// x times a matrix, both rounded.
constexpr tensor multiply_rounded(program& p, const scene& s, tensor x, const matrix& m) {
  if (m.pieces > 1) return multiply_rounded_pieces(p, s, x, m);
  const auto rows = p.elements(x) / m.in, weights = checked::mul(m.in, m.out);
  auto rounded = s.fake.activations ? round_by_scale(p, s, {.x = x, .elements = p.elements(x), .width = p.width(x), .scales = rows}) : x;
  if (s.autocast) rounded = cast(p, rounded, s.width);
  const unrounded of{.elements = weights, .width = s.width, .scales = weights / s.fake.group, .gradient = m.trains ? p.rounded(weights, s.weight_width) : bytes{0}, .waits = m.waits, .counted = row::gathered_parameters};
  const auto weight = s.fake.weights == fake_quantizer::intx ? round_by_scale(p, s, of) : round_between_bounds(p, of);
  const auto y = p.make(checked::mul(rows, m.out), s.width, m.result);
  p.step(rounded | weight, y.bit(),
         {.saves = (p.needs_gradient(weight) ? rounded.bit() : 0) | (p.needs_gradient(rounded) ? weight.bit() : 0), .holds = x.bit(),
          .weight_gradient = m.trains && m.bias ? p.rounded(m.out, s.weight_width) : bytes{0}});
  return y;
}

}  // namespace headroom::ops
