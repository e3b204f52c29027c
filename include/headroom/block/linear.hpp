// Distributed under the Boost Software License, Version 1.0.
// Matrix multiplications: plain, cast, quantised, divided, with adapters beside them.
#pragma once

#include <headroom/block/fake_quantized.hpp>

namespace headroom::ops {

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

/// Rows of a weight divided by their lengths (Baichuan 2, modeling_baichuan.py NormHead: F.normalize, then F.linear). Autocast has lengths in fp32, and so the
/// result, until linear has made its own copy. Backward of the division: its two gradients, and the two quotients that the second is made of.
struct normalised_weight {
  tensor weight{}, wide{};
};
constexpr normalised_weight normalise_rows(program& p, const scene& s, const matrix& m, std::int64_t weights) {
  const auto width = s.autocast ? std::int64_t{4} : s.width;
  const auto quotient = p.make(weights, width, row::gathered_parameters), lengths = p.make(m.out, width), not_zero = p.make(m.out, width);
  p.step(0, lengths | not_zero);
  p.step(lengths | not_zero, quotient.bit(),
         {.saves = m.trains ? lengths | not_zero : tensor_set{0}, .backward_temporary = m.trains ? 4 * p.size(quotient) : bytes{0}, .weight_gradient = m.trains ? p.rounded(weights, s.weight_width) : bytes{0}, .gradient_waits = m.waits});
  if (width == s.width) return {quotient, {}};
  const auto narrow = p.make(weights, s.width, row::gathered_parameters);
  p.step(quotient.bit(), narrow.bit());
  return {narrow, quotient};
}

/// x times a matrix, which may lie there in few bits.
constexpr tensor multiply(program& p, const scene& s, tensor x, const matrix& m) {
  if (m.quantised && s.base.column_bits > 0) [[unlikely]] return multiply_unpacked(p, s, x, m);
  if (s.fake.active() && !m.as_it_is) [[unlikely]] return multiply_rounded(p, s, x, m);
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
  const auto normal = m.normalised ? normalise_rows(p, s, m, weights) : normalised_weight{};
  if (m.normalised) {
    weight = normal.weight;
  } else if (s.casts(m.trains)) {
    weight = p.make(weights, s.width, row::gathered_parameters);
    p.moves_with_matrix(weight);
    p.step(0, weight.bit(), {.weight_gradient = m.trains ? p.rounded(weights, 4) : bytes{0}, .gradient_waits = m.waits});
    if (m.trains && s.habits->autocast.caches_checkpointed) p.cache_in_forward(weight);
  }
  const auto y = p.make(checked::mul(rows, m.out), s.width, m.result);
  bytes gradient{0};
  if (m.trains && !weight.valid()) gradient += p.rounded(weights, s.weight_width);
  const bytes bias = m.trains && m.bias ? p.rounded(m.out, s.weight_width) : bytes{0};
  gradient += bias;
  p.step(x | weight, y.bit(),
         {.saves = (m.trains ? x.bit() : 0) | (p.needs_gradient(x) ? weight.bit() : 0), .holds = normal.wide.valid() ? normal.wide.bit() : 0, .weight_gradient = gradient, .bias_gradient = bias,
          .gradient_waits = m.waits && !weight.valid(), .pieces = m.pieces});
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

/// act(gate(x)) * up(x), by one kernel or by `two` at least, of two linear layers in this order, or of the halves of one's (models/phi3/modeling_phi3.py Phi3MLP: chunk, whose backward concatenates).
struct gate_and_up {
  module gate{}, up{};
};
constexpr tensor gated_projection(program& p, const scene& s, const module_set& trained, const gate_and_up& of, tensor x, std::int64_t width, bool bias, bool two = false) {
  const auto& m = *s.model;
  const auto h = m.hidden;
  const auto join = [&](tensor gate, tensor up) { return two ? multiply(p, activate(p, s, gate, m.activation), up) : gated(p, s, gate, up, m.activation); };
  if (s.joins_gate_up(m)) {
    const auto both = linear(p, s, trained, of.gate, x, h, 2 * width, bias);
    const auto half = p.elements(both) / 2;
    const auto gate = p.view(both, half), up = p.view(both, half);
    p.step(both.bit(), gate | up);
    return join(gate, up);
  }
  const auto gate = linear(p, s, trained, of.gate, x, h, width, bias);
  if (s.habits->mlp.both_first || (!two && (s.compiled || s.fused.has(fused_kernel::gated)))) return join(gate, linear(p, s, trained, of.up, x, h, width, bias));
  const auto activated = activate(p, s, gate, m.activation);
  return multiply(p, activated, linear(p, s, trained, of.up, x, h, width, bias));
}

/// What a module's locals name to its end, behind its last operation.
constexpr void name_to_end(program& p, const scene& s, const tensor_set& named) {
  if (s.habits->autograd.names_inputs && !s.compiled) p.step(0, 0, {.holds = named});
}

}  // namespace headroom::ops
