// Distributed under the Boost Software License, Version 1.0.
// The operations that blocks are written in: what each saves for backward and needs for a moment. Sources are
// tools/autograd/derivatives.yaml of PyTorch (what a derivative reads is what is saved) unless said otherwise.
#pragma once

#include <headroom/block/program.hpp>
#include <headroom/block/scene.hpp>

namespace headroom::ops {

/// A new tensor of the same number of elements that saves nothing: a scaling by a constant, a copy, an addition of a bias.
constexpr tensor pointwise(program& p, tensor x, std::int64_t width = 0) {
  const auto y = p.make(p.elements(x), width > 0 ? width : p.width(x), p.is_logits(x) ? row::logits : row::activations);
  p.step(x.bit(), y.bit());
  return y;
}

/// x in another format; x itself where it has that format already.
constexpr tensor cast(program& p, tensor x, std::int64_t width) { return p.width(x) == width ? x : pointwise(p, x, width); }

/// A number that a tensor is multiplied with. On a CPU it is a tensor, too: a double, and that in the other's format (ATen/ScalarOps.h
/// wrapped_scalar_tensor).
constexpr bytes number(const scene& s, std::int64_t width) { return s.host ? bytes{8 + width} : bytes{0}; }

/// x × a number.
constexpr tensor scale(program& p, const scene& s, tensor x) {
  const auto y = p.make(p.elements(x), p.width(x));
  const auto factor = number(s, p.width(x));
  p.step(x.bit(), y.bit(), {.forward_temporary = factor, .backward_temporary = factor});
  return y;
}

/// a + b, out of place. Its operands' gradients are its own result's. `copies`: of two formats, the shorter operand is cast for it.
constexpr tensor add(program& p, tensor a, tensor b, bool copies = false) {
  const auto y = p.make(p.elements(a), p.width(a) > p.width(b) ? p.width(a) : p.width(b));
  p.step(a | b, y.bit(), {.forward_temporary = copies && p.width(a) != p.width(b) ? p.size(y) : bytes{0}, .passes_gradient = true});
  return y;
}

/// What a product of a and b saves: each for the other's gradient.
constexpr tensor_set factors(const program& p, tensor a, tensor b) {
  return (p.needs_gradient(a) ? b.bit() : 0) | (p.needs_gradient(b) ? a.bit() : 0);
}

/// a × b, element by element.
constexpr tensor multiply(program& p, tensor a, tensor b) {
  const auto y = p.make(p.elements(a), p.width(a) > p.width(b) ? p.width(a) : p.width(b));
  p.step(a | b, y.bit(), {.saves = factors(p, a, b)});
  return y;
}

/// x × a vector of its features (LayerScale, Touvron et al. 2021). The vector's gradient is a product of x and the result's gradient, added up.
constexpr tensor layer_scale(program& p, const scene& s, tensor x, std::int64_t columns, bool trains) {
  const auto y = p.make(p.elements(x), p.width(x));
  p.step(x.bit(), y.bit(), {.saves = trains ? x.bit() : 0, .backward_temporary = trains ? p.size(y) : bytes{0}, .weight_gradient = trains ? p.rounded(columns, s.weight_width) : bytes{0}});
  return y;
}

/// native_dropout: a mask of one byte an element is saved.
constexpr tensor drop(program& p, tensor x, probability rate) {
  if (!rate.positive()) return x;
  const auto mask = p.make(p.elements(x), 1);
  const auto y = p.make(p.elements(x), p.width(x));
  p.step(x.bit(), y | mask, {.saves = mask.bit()});
  return y;
}

/// torch's softmax with a result of so many bytes an element. A GPU's kernel widens fp16 as it reads; anything else is copied first (ATen native/SoftMax.cpp
/// softmax). In backward a GPU makes the gradient times the result beside the gradient that it returns (native/cuda/SoftMax.cu softmax_backward_cuda_out).
constexpr tensor softmax(program& p, const scene& s, tensor x, std::int64_t width, tensor_set holds = {}) {
  const bool keeps = s.habits->autograd.softmax_keeps_input;
  if (s.copies_for_softmax || (s.autocast && keeps)) x = cast(p, x, width);
  const auto y = p.make(p.elements(x), width);
  p.step(x.bit(), y.bit(), {.saves = keeps ? x | y : y.bit(), .holds = holds, .backward_temporary = s.host ? bytes{0} : p.size(y)});
  return y;
}

/// The function between an MLP's matrices. One kernel saves its input (relu its output); transformers' NewGELUActivation,
/// 0.5·x·(1 + tanh(c·(x + 0.044715·x³))), is seven, and saves x, tanh, 1 + tanh and 0.5·x; its QuickGELUActivation, x·sigmoid(1.702·x),
/// is three, and saves x and the sigmoid. Compiled, each is one kernel that saves its input.
constexpr tensor activate(program& p, const scene& s, tensor x, activation_kind kind) {
  const auto n = p.elements(x);
  const auto w = p.width(x);
  if (!s.compiled && kind == activation_kind::quick_gelu) {
    const auto sigmoid = p.make(n, w);
    p.step(x.bit(), sigmoid.bit(), {.saves = sigmoid.bit(), .forward_temporary = p.size(sigmoid)});
    return multiply(p, x, sigmoid);
  }
  if (!s.compiled && kind == activation_kind::gelu_python) {  // 0.5·x · (1 + erf(x / √2))
    const auto half = scale(p, s, x), inner = scale(p, s, x);
    const auto erf = p.make(n, w), shifted = p.make(n, w);
    p.step(inner.bit(), erf.bit(), {.saves = inner.bit(), .backward_temporary = 2 * p.size(erf), .temporary_block = p.size(erf)});
    p.step(erf.bit(), shifted.bit(), {.forward_temporary = number(s, w), .passes_gradient = true});
    return multiply(p, half, shifted);
  }
  if (s.compiled || kind != activation_kind::gelu_new) {
    const auto y = p.make(n, w);
    const bool by_result = kind == activation_kind::relu || kind == activation_kind::tanh;
    p.step(x.bit(), y.bit(), {.saves = by_result ? y.bit() : x.bit()});
    return y;
  }
  const auto half = scale(p, s, x);
  const auto base = s.autocast && !s.host ? cast(p, x, 4) : x;  // pow is on a GPU's list of autocast to fp32 (aten/src/ATen/autocast_mode.h AT_FORALL_FP32), and what follows keeps that
  const auto wide = p.width(base);
  const auto cube = p.make(n, wide);
  p.step(base.bit(), cube.bit(), {.saves = base.bit(), .backward_temporary = 2 * p.size(cube), .temporary_block = p.size(cube)});  // its gradient is three products (pow_backward)
  const auto inner = scale(p, s, add(p, x, scale(p, s, cube)));
  const auto tanh = p.make(n, wide);
  p.step(inner.bit(), tanh.bit(), {.saves = tanh.bit()});
  const auto shifted = p.make(n, wide);
  p.step(tanh.bit(), shifted.bit(), {.forward_temporary = number(s, wide), .passes_gradient = true});
  return multiply(p, half, shifted);
}

/// act(left) × right. Compiled, one kernel: the activation is computed again in backward, and only what the matrices made is saved.
constexpr tensor gated(program& p, const scene& s, tensor left, tensor right, activation_kind kind) {
  const bool fused = s.fused.has(fused_kernel::gated);  // backward writes the gradients over both (Liger-Kernel ops/swiglu.py, geglu.py)
  if (!s.compiled && !fused) return multiply(p, activate(p, s, left, kind), right);
  const auto y = p.make(p.elements(right), p.width(right));
  p.step(left | right, y.bit(), {.saves = left | right, .releases_first = fused});
  return y;
}

/// rows of `columns` through RMSNorm, written as the framework writes it (norm_style). `columns` weights train, or not. Compiled,
/// all of them are one kernel: what is pointwise is computed again in backward, so the input and a statistic a row are saved
/// (torch/_functorch/partitioners.py, min_cut_rematerialization_partition: fusible operations are recomputed where backward
/// reads their inputs anyway).
constexpr tensor rms_norm(program& p, const scene& s, tensor x, std::int64_t columns, bool trains) {
  const auto n = p.elements(x);
  const auto rows = n / columns;
  const auto w = p.width(x);
  const auto weight = trains ? p.rounded(columns, s.weight_width) : bytes{0};
  if (s.fused.has(fused_kernel::norm)) {  // Liger-Kernel ops/rms_norm.py: backward writes the gradient over its result's
    const auto y = p.make(n, w);
    const auto statistic = p.make(rows, 4);
    p.step(x.bit(), y | statistic, {.saves = x | statistic, .weight_gradient = weight, .passes_gradient = !s.model->post_norms && !s.model->norm_after});
    return y;
  }
  if (s.compiled || s.habits->norm.style == norm_style::fused) {
    const auto y = p.make(n, w);
    const auto statistic = p.make(rows, 4);
    p.step(x.bit(), y | statistic, {.saves = x | statistic, .weight_gradient = weight});
    return y;
  }
  const bool power = s.model->norm_power;    // Gemma4RMSNorm: (mean + ε)^-0.5, whose argument is saved, too
  const bool offset = s.model->norm_offset;  // GemmaRMSNorm, Qwen3NextRMSNorm: fp32 throughout, times 1 + weight
  const std::int64_t inner = s.habits->norm.style == norm_style::input_format && !offset && !power ? w : 4;
  const auto wide = cast(p, x, inner);
  // Square, mean and inverse root: the square lives for a moment, and so do its gradient and, until the statement ends, two of the three products of the
  // power's (pow_backward: grad * (exponent * self.pow(exponent - 1))).
  const bytes square = p.rounded(n, inner), squares = s.host ? square : 3 * square;
  const auto root = p.make(rows, inner);
  if (s.habits->autograd.mean_keeps_input) {  // the power's gradient is three products (pow_backward)
    const auto kept = p.make(n, inner);
    p.step(wide.bit(), kept.bit(), {.saves = wide.bit(), .backward_temporary = 2 * square});
    const auto mean = power ? p.make(rows, inner) : tensor{};
    p.step(kept.bit(), root | mean, {.saves = (kept | root) | mean, .forward_temporary = number(s, inner)});
  } else {
    const auto mean = power ? p.make(rows, inner) : tensor{};
    p.step(wide.bit(), root | mean, {.saves = wide | root | mean, .forward_temporary = square, .backward_temporary = squares, .temporary_block = s.host ? bytes{0} : square});
  }
  auto scaled = p.make(n, inner);
  const auto scales = s.model->position == position_kind::relative ? x : wide;  // T5LayerNorm squares a fp32 copy and scales x itself
  p.step(scales | root, scaled.bit(), {.saves = scales | root, .backward_temporary = p.size(scaled)});
  if (!s.model->norm_weight) return cast(p, scaled, w);  // NanoChatRMSNorm
  const bool times_fp32 = offset || power || s.model->fp32_norm;
  tensor_set named = 0;
  if (s.habits->norm.style == norm_style::cast_before_weight && !times_fp32) {
    if (s.habits->norm.names_scaled) named = scaled.bit();
    scaled = cast(p, scaled, w);
  }
  tensor factor{};
  if (offset || (power && s.weight_width != 4)) {
    factor = p.make(columns, 4);
    p.step(0, factor.bit(), {.forward_temporary = offset ? p.size(factor) : bytes{0}});
  }
  const bool widens = trains && s.narrow_frozen && !times_fp32 && p.width(scaled) < s.weight_width;  // a weight in fp32 times rows in 16 bits
  const auto y = p.make(n, widens ? s.weight_width : p.width(scaled));
  p.step(scaled | factor, y.bit(),
         {.saves = (trains ? scaled.bit() : 0) | (p.needs_gradient(scaled) ? factor.bit() : 0), .holds = named, .backward_temporary = trains ? p.size(y) : bytes{0}, .weight_gradient = weight});
  return widens ? y : cast(p, y, w);
}

/// … without weights, in fp32 (Gemma4RMSNorm with_scale False).
constexpr tensor unit_norm(program& p, const scene& s, tensor x, std::int64_t columns) {
  const auto n = p.elements(x), rows = n / columns;
  const auto wide = cast(p, x, 4), root = p.make(rows, 4), mean = s.model->norm_power ? p.make(rows, 4) : tensor{};
  const auto square = p.rounded(n, 4);
  const auto kept = s.habits->autograd.mean_keeps_input ? p.make(n, 4) : tensor{};
  p.step(wide.bit(), (root | mean) | kept, {.saves = ((wide | root) | mean) | kept, .forward_temporary = kept.valid() ? bytes{0} : square, .backward_temporary = square});
  const auto scaled = p.make(n, 4);
  p.step(wide | root, scaled.bit(), {.saves = wide | root, .backward_temporary = square});
  return cast(p, scaled, p.width(x));
}

/// LayerNorm operation by operation, in fp32 (transformers models/cohere/modeling_cohere.py CohereLayerNorm): what is left without the mean is made
/// twice, first for the variance.
constexpr tensor written_out_layer_norm(program& p, const scene& s, tensor x, std::int64_t columns, bool trains) {
  const auto n = p.elements(x), rows = n / columns;
  const auto wide = cast(p, x, 4), mean = p.make(rows, 4), square = p.make(n, 4), root = p.make(rows, 4);
  const bool keeps = s.habits->autograd.mean_keeps_input;
  p.step(wide.bit(), mean.bit(), {.saves = keeps ? wide.bit() : 0});
  const auto centred = [&] {
    const auto y = p.make(n, 4);
    p.step(wide | mean, y.bit());
    return y;
  };
  const auto first = centred();
  p.step(first.bit(), square.bit(), {.saves = first.bit(), .backward_temporary = p.size(square)});
  p.step(square.bit(), root.bit(), {.saves = keeps ? square | root : root.bit()});
  const auto second = centred();
  const auto scaled = p.make(n, 4), y = p.make(n, 4);
  p.step(second | root, scaled.bit(), {.saves = second | root, .backward_temporary = p.size(scaled)});
  tensor factor{};
  if (s.weight_width != 4) {
    factor = p.make(columns, 4);
    p.step(0, factor.bit());
  }
  p.step(scaled | factor, y.bit(),
         {.saves = (trains ? scaled.bit() : 0) | (p.needs_gradient(scaled) ? factor.bit() : 0), .backward_temporary = trains ? p.size(y) : bytes{0},
          .weight_gradient = trains ? p.rounded(columns, s.weight_width) : bytes{0}});
  return cast(p, y, p.width(x));
}

/// LayerNorm, nearly everywhere one kernel: input, mean and deviation.
constexpr tensor layer_norm(program& p, const scene& s, tensor x, std::int64_t columns, bool trains, bool bias) {
  const auto rows = p.elements(x) / columns;
  const auto y = p.make(p.elements(x), p.width(x));
  const auto statistic = p.width(x) == 4 ? std::int64_t{4} : s.statistic_width;
  const auto mean = p.make(rows, statistic), deviation = p.make(rows, statistic);
  const auto weight = p.rounded(columns, s.weight_width);
  p.step(x.bit(), y | mean | deviation,
         {.saves = x | mean | deviation, .weight_gradient = trains ? (bias ? 2 * weight : weight) : bytes{0}});
  return y;
}

/// The model's norm, as the trainer runs it.
constexpr tensor norm(program& p, const scene& s, tensor x, std::int64_t columns, bool trains, bool biased = true) {
  if (s.autocast && s.model->norm == norm_kind::layernorm) x = cast(p, x, 4);  // layer_norm is on autocast's fp32 list
  if (s.model->fp32_norm && s.model->norm == norm_kind::layernorm && !s.compiled && s.habits->norm.style != norm_style::fused) {
    if (s.model->norm_weight) return written_out_layer_norm(p, s, x, columns, trains);
    return cast(p, layer_norm(p, s, cast(p, x, 4), columns, false, false), p.width(x));  // OLMo 1: the kernel, on an fp32 copy
  }
  return s.model->norm == norm_kind::rmsnorm ? rms_norm(p, s, x, columns, trains && s.model->norm_weight)
                                             : layer_norm(p, s, x, columns, trains && s.model->norm_weight, s.model->norm_bias && biased);
}

}  // namespace headroom::ops
