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

/// native_dropout: a mask of one byte an element is saved.
constexpr tensor drop(program& p, tensor x, probability rate) {
  if (!rate.positive()) return x;
  const auto mask = p.make(p.elements(x), 1);
  const auto y = p.make(p.elements(x), p.width(x));
  p.step(x.bit(), y | mask, {.saves = mask.bit()});
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
  if (s.compiled || kind != activation_kind::gelu_new) {
    const auto y = p.make(n, w);
    const bool by_result = kind == activation_kind::relu || kind == activation_kind::tanh;
    p.step(x.bit(), y.bit(), {.saves = by_result ? y.bit() : x.bit()});
    return y;
  }
  const auto half = scale(p, s, x);
  const auto cube = p.make(n, w);
  p.step(x.bit(), cube.bit(), {.saves = x.bit(), .backward_temporary = 2 * p.size(cube), .temporary_block = p.size(cube)});  // its gradient is three products (pow_backward)
  const auto inner = scale(p, s, add(p, x, scale(p, s, cube)));
  const auto tanh = p.make(n, w);
  p.step(inner.bit(), tanh.bit(), {.saves = tanh.bit()});
  const auto shifted = p.make(n, w);
  p.step(tanh.bit(), shifted.bit(), {.forward_temporary = number(s, w), .passes_gradient = true});
  return multiply(p, half, shifted);
}

/// act(left) × right. Compiled, one kernel: the activation is computed again in backward, and only what the matrices made is saved.
constexpr tensor gated(program& p, const scene& s, tensor left, tensor right, activation_kind kind) {
  if (!s.compiled) return multiply(p, activate(p, s, left, kind), right);
  const auto y = p.make(p.elements(right), p.width(right));
  p.step(left | right, y.bit(), {.saves = left | right});
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
  if (s.compiled || s.habits->norm.style == norm_style::fused) {
    const auto y = p.make(n, w);
    const auto statistic = p.make(rows, 4);
    p.step(x.bit(), y | statistic, {.saves = x | statistic, .weight_gradient = weight});
    return y;
  }
  const bool offset = s.model->norm_offset;  // Qwen3NextRMSNorm: fp32 throughout, times 1 + weight
  const std::int64_t inner = s.habits->norm.style == norm_style::input_format && !offset ? w : 4;
  const auto wide = cast(p, x, inner);
  // Square, mean and inverse root: the square lives for a moment, and so does its gradient.
  const bytes square = p.rounded(n, inner);
  const auto root = p.make(rows, inner);
  if (s.habits->autograd.mean_keeps_input) {  // the power's gradient is three products (pow_backward)
    const auto kept = p.make(n, inner);
    p.step(wide.bit(), kept.bit(), {.saves = wide.bit(), .backward_temporary = 2 * square});
    p.step(kept.bit(), root.bit(), {.saves = kept | root, .forward_temporary = number(s, inner)});
  } else {
    p.step(wide.bit(), root.bit(), {.saves = wide | root, .forward_temporary = square, .backward_temporary = square});
  }
  auto scaled = p.make(n, inner);
  const auto scales = s.model->position == position_kind::relative ? x : wide;  // T5LayerNorm squares a fp32 copy and scales x itself
  p.step(scales | root, scaled.bit(), {.saves = scales | root, .backward_temporary = p.size(scaled)});
  if (s.habits->norm.style == norm_style::cast_before_weight && !offset) scaled = cast(p, scaled, w);
  tensor factor{};
  if (offset) {
    factor = p.make(columns, 4);
    p.step(0, factor.bit(), {.forward_temporary = p.size(factor)});
  }
  const auto y = p.make(n, p.width(scaled));
  p.step(scaled | factor, y.bit(),
         {.saves = (trains ? scaled.bit() : 0) | (p.needs_gradient(scaled) ? factor.bit() : 0), .backward_temporary = trains ? p.size(y) : bytes{0}, .weight_gradient = weight});
  return cast(p, y, w);
}

/// LayerNorm, one kernel everywhere: input, mean and deviation.
constexpr tensor layer_norm(program& p, const scene& s, tensor x, std::int64_t columns, bool trains, bool bias) {
  const auto rows = p.elements(x) / columns;
  const auto y = p.make(p.elements(x), p.width(x));
  const auto mean = p.make(rows, s.statistic_width);
  const auto deviation = p.make(rows, s.statistic_width);
  const auto weight = p.rounded(columns, s.weight_width);
  p.step(x.bit(), y | mean | deviation,
         {.saves = x | mean | deviation, .weight_gradient = trains ? (bias ? 2 * weight : weight) : bytes{0}});
  return y;
}

constexpr tensor norm(program& p, const scene& s, tensor x, std::int64_t columns, bool trains) {
  if (s.autocast && s.model->norm == norm_kind::layernorm) x = cast(p, x, 4);  // layer_norm is on autocast's fp32 list
  return s.model->norm == norm_kind::rmsnorm ? rms_norm(p, s, x, columns, trains && s.model->norm_weight)
                                             : layer_norm(p, s, x, columns, trains && s.model->norm_weight, s.model->norm_bias);
}

/// A matrix multiplication x·Wᵀ of in → out features with a weight that may train, be cast (autocast) or be quantised.
struct matrix {
  std::int64_t in{};
  std::int64_t out{};
  bool bias{};
  bool trains{};
  bool quantised{};
  bool waits{};            ///< see operation_details::gradient_waits
  std::int64_t pieces{1};  ///< rows are multiplied in so many pieces
  row result{row::activations};
};

/// A matrix quantised by GPTQ (auto_gptq nn_modules/qlinear/qlinear_cuda_old.py, from 128 rows on): 32-bit words are shifted into one
/// integer a weight, made bytes, less their zeros, times their scales. To autograd the result is a tensor like any other: saved for x's
/// gradient. A bias is always added.
constexpr tensor multiply_unpacked(program& p, const scene& s, tensor x, const matrix& m) {
  const auto weights = checked::mul(m.in, m.out);
  const auto narrow = p.make(weights, s.base.bits == 8 ? 2 : 1, row::gathered_parameters);
  p.step(0, narrow.bit(), {.forward_temporary = p.rounded(weights, 4)});
  const auto weight = p.make(weights, s.width, row::gathered_parameters);
  p.step(narrow.bit(), weight.bit(), {.forward_temporary = p.size(narrow)});
  x = cast(p, x, s.width);
  const auto product = p.make(checked::mul(p.elements(x) / m.in, m.out), s.width, m.result);
  p.step(x | weight, product.bit(), {.saves = p.needs_gradient(x) ? weight.bit() : 0});
  const auto y = p.make(p.elements(product), s.width, m.result);
  p.step(product.bit(), y.bit(), {.holds = weight.bit(), .passes_gradient = true});
  return y;
}

constexpr tensor multiply(program& p, const scene& s, tensor x, const matrix& m) {
  if (m.quantised && s.base.column_bits > 0) [[unlikely]] return multiply_unpacked(p, s, x, m);
  const auto rows = p.elements(x) / m.in;
  const auto weights = checked::mul(m.in, m.out);
  if (m.quantised) {
    // bitsandbytes, autograd/_functions.py MatMul4Bit: dequantise, multiply, forget; the same again in backward.
    const bytes whole = p.rounded(weights, s.width);
    bytes temporary = s.habits->quantised.dequantises == dequantisation::through_half ? 2 * whole : whole;
    // torchao/dtypes/nf4tensor.py get_original_weight: for N weights two times N/2 indices of 8 bytes, then three times N weights of 2.
    if (s.habits->quantised.dequantises == dequantisation::through_indices && !s.compiled) temporary = p.rounded(weights, 8) + 3 * whole;
    const auto y = p.make(checked::mul(rows, m.out), s.width, m.result);
    p.step(x.bit(), y.bit(),
           {.sticky = s.habits->quantised.keeps_input && p.needs_gradient(x) ? x.bit() : 0,
            .forward_temporary = temporary, .backward_temporary = temporary, .pieces = m.pieces, .temporary_block = whole, .temporaries = row::temporaries});
    return y;
  }
  tensor weight{};
  if (s.autocast || s.model->fp32_residual) x = cast(p, x, s.width);
  if (s.casts_weights) {
    weight = p.make(weights, s.width, row::gathered_parameters);
    p.step(0, weight.bit(), {.weight_gradient = m.trains ? p.rounded(weights, 4) : bytes{0}, .gradient_waits = m.waits});
    if (m.trains && s.habits->autocast.caches_checkpointed) p.cache_in_forward(weight);
  }
  const auto y = p.make(checked::mul(rows, m.out), s.width, m.result);
  bytes gradient{0};
  if (m.trains && !s.casts_weights) gradient += p.rounded(weights, s.weight_width);
  if (m.trains && m.bias) gradient += p.rounded(m.out, s.weight_width);
  p.step(x | weight, y.bit(),
         {.saves = (m.trains ? x.bit() : 0) | (p.needs_gradient(x) ? weight.bit() : 0), .weight_gradient = gradient,
          .gradient_waits = m.waits, .pieces = m.pieces});
  if (s.policy == recompute_policy::every_other_matmul && p.count_matrix() % 2 == 1) [[unlikely]] p.keep(y.bit());
  return y;
}

/// Sequence parallelism around a layer's matrices (torch distributed/tensor/parallel/style.py, PrepareModuleInput, ColwiseParallel,
/// RowwiseParallel): what enters them is gathered from the ranks' shares of the tokens, and saved so; what leaves them, partial sums of
/// all tokens, is reduced, and scattered under sequence parallelism.
constexpr tensor gather_tokens(program& p, const scene& s, tensor x, std::int64_t features) {
  if (s.sequence_split == 1) return x;
  const auto y = p.make(checked::mul(s.tokens, features), p.width(x), p.is_logits(x) ? row::logits : row::activations);
  p.step(x.bit(), y.bit(), {.forward_temporary = p.size(y), .backward_temporary = p.size(y)});
  return y;
}
constexpr tensor reduce_partial(program& p, const scene& s, tensor x, std::int64_t features) {
  if (s.tensor == 1) return x;
  const auto y = p.make(checked::mul(s.stream_tokens(), features), p.width(x));
  const auto turned = s.sequence_split > 1 ? p.size(x) : bytes{0};
  p.step(x.bit(), y.bit(), {.forward_temporary = turned, .backward_temporary = turned});
  if (s.policy == recompute_policy::every_other_matmul && s.sequence_split > 1) p.keep(y.bit());
  return y;
}

/// DoRA's share of the result (peft tuners/lora/dora.py DoraLinearLayer.forward): (m − 1) times what the base made, m times what the
/// adapter made, and both are saved for the gradient of m = magnitude / norm. The norm's temporaries: an identity, B·A, and the weight
/// in the adapters' format, its multiple and their sum. After a dropout the base's result is computed again, from what that left.
constexpr tensor decompose(program& p, const scene& s, tensor dropped, tensor base, tensor high, std::int64_t in, std::int64_t out) {
  const auto matrix = checked::mul(in, out);
  if (s.side->dropout.positive()) {
    const auto weight = p.make(matrix, p.width(dropped), row::gathered_parameters);
    p.step(0, weight.bit());
    base = p.make(p.elements(base), p.width(dropped));
    p.step(dropped | weight, base.bit(), {.saves = p.needs_gradient(dropped) ? weight.bit() : 0});
  }
  const auto width = p.width(base) > s.adapter_width ? p.width(base) : s.adapter_width;
  const bytes norm = p.rounded(checked::mul(in, in), s.adapter_width) + 4 * p.rounded(matrix, s.adapter_width);
  const auto left = p.make(p.elements(base), width);
  p.step(base.bit(), left.bit(),
         {.saves = base.bit(), .forward_temporary = norm, .backward_temporary = p.size(left), .weight_gradient = p.rounded(out, s.adapter_width)});
  const auto right = p.make(p.elements(base), width);
  p.step(high.bit(), right.bit(), {.saves = high.bit(), .forward_temporary = p.size(right), .backward_temporary = p.size(right)});
  return add(p, left, right);
}

/// The low-rank side path of PEFT's lora.Linear: dropout, A, B, scaling, added to the base's result.
constexpr tensor adapt(program& p, const scene& s, tensor x, tensor base, std::int64_t in, std::int64_t out) {
  const auto rank = s.side->rank;
  const auto result_width = p.width(base);
  const auto train = [&](std::int64_t i, std::int64_t o) { return p.rounded(checked::mul(i, o), s.adapter_width); };
  auto h = s.habits->adapters.casts_input ? cast(p, x, s.adapter_width) : x;
  h = drop(p, h, s.side->dropout);
  if (s.autocast) h = cast(p, h, s.width);
  const auto rows = p.elements(x) / in;
  const auto product_width = s.autocast ? s.width : p.width(h);
  // Under autocast both are cast once a forward, and kept to its end.
  const bool casts = s.autocast && s.adapter_width > product_width;
  const auto copied = [&](std::int64_t i, std::int64_t o) {
    if (!casts) return tensor{};
    const auto weight = p.make(checked::mul(i, o), product_width, row::gathered_parameters);
    p.step(0, weight.bit(), {.weight_gradient = train(i, o)});
    if (s.habits->autocast.caches_checkpointed) p.cache_in_forward(weight);
    return weight;
  };
  const auto gradient = [&](std::int64_t i, std::int64_t o) { return casts ? bytes{0} : train(i, o); };
  const auto first = copied(in, rank);
  const auto low = p.make(checked::mul(rows, rank), product_width);
  p.step(h | first, low.bit(), {.saves = h | first, .weight_gradient = gradient(in, rank)});
  const auto second = copied(rank, out);
  auto high = p.make(checked::mul(rows, out), product_width);
  p.step(low | second, high.bit(), {.saves = low | second, .weight_gradient = gradient(rank, out)});
  high = scale(p, s, high);
  const auto side = s.side->kind == adapter_kind::dora ? decompose(p, s, h, base, high, in, out) : high;
  return cast(p, add(p, base, side, s.host), result_width);  // on a CPU TensorIterator casts operands, on a GPU the kernel does
}

/// A linear layer of the model, by the module it is: frozen or trained, quantised, adapted.
constexpr tensor linear(program& p, const scene& s, const module_set& trained, module role, tensor x, std::int64_t in, std::int64_t out, bool bias) {
  const auto y = multiply(p, s, x, {.in = in, .out = out, .bias = bias, .trains = trained.has(role), .quantised = s.quantised.has(role)});
  return s.adapts(role) ? adapt(p, s, x, y, in, out) : y;
}

}  // namespace headroom::ops
