// Distributed under the Boost Software License, Version 1.0.
// Megatron's layer over TransformerEngine: tensor, sequence and context parallelism, fused modules. Sizes are those of one rank.
// Sources: Megatron-LM core/transformer/{attention,mlp,transformer_layer}.py, core/tensor_parallel/{layers,mappings,
// cross_entropy}.py; TransformerEngine pytorch/module/{linear,layernorm_linear}.py, attention/dot_product_attention/backends.py.
#pragma once

#include <headroom/block/megatron_adapters.hpp>

namespace headroom::megatron {

/// A tensor of `width` features for each of this rank's tokens, features divided over tensor parallelism.
constexpr std::int64_t divided(const scene& s, std::int64_t width) { return checked::mul(s.tokens, width) / s.tensor; }
/// A tensor of the residual stream: whole features, tokens divided under sequence parallelism.
constexpr std::int64_t streamed(const scene& s, std::int64_t width) { return checked::mul(s.stream_tokens(), width); }

/// Bytes of a weight's gradient of its own, where the multiplication does not add to the buffer.
constexpr bytes weight_gradient(const program& p, const scene& s, std::int64_t weights, bool trains) {
  return trains && !s.fuses_weight_gradients ? p.rounded(weights, s.weight_width) : bytes{0};
}

/// Bytes of so many numbers as linear layers multiply them, with the scales of their blocks.
constexpr std::int64_t quantised_size(const scene& s, std::int64_t numbers, std::int64_t together) {
  return checked::ceil_div(checked::mul(numbers, s.narrow_bits), 8) + (together > 0 ? checked::ceil_div(numbers, together) : 0);
}
constexpr bytes quantised_bytes(const program& p, const scene& s, std::int64_t numbers) { return p.rounded(quantised_size(s, numbers, s.scaled_together), 1); }

/// What a linear layer saves of its input for the weight's gradient: the input itself or, in fp8, the quantised tensor that it made of
/// it, in the layout of that multiplication (TransformerEngine pytorch/module/linear.py, update_usage before saving).
struct operand {
  tensor_set makes{};
  tensor_set saves{};
};
constexpr operand operand_of(program& p, const scene& s, tensor x, bool trains) {
  if (!s.fp8) return {0, trains ? x.bit() : 0};
  const auto quantised = p.make(quantised_size(s, p.elements(x), s.scaled_together), 1);
  return {quantised.bit(), trains ? quantised.bit() : 0};
}
/// The other layout of the input, in forward; the result's gradient in both, in backward.
constexpr bytes quantised_input(const program& p, const scene& s, tensor x) { return s.fp8 && s.fp8_copies > 1 ? quantised_bytes(p, s, p.elements(x)) : bytes{0}; }
constexpr bytes quantised_gradient(const program& p, const scene& s, tensor y) { return s.fp8 ? s.fp8_copies * quantised_bytes(p, s, p.elements(y)) : bytes{0}; }

/// A column-parallel linear layer: each rank makes its share of the outputs from all tokens. Under sequence parallelism the input
/// is gathered for a moment in forward and again in backward, where its gradient is whole, too, before it is scattered.
constexpr tensor column(program& p, const scene& s, tensor x, std::int64_t in, std::int64_t out, bool trains) {
  const auto y = p.make(divided(s, out), s.width);
  const auto whole = checked::mul(s.tokens, in);
  const bytes gathered = s.sequence_split > 1 ? s.fp8 ? quantised_bytes(p, s, whole) : p.rounded(whole, s.width) : bytes{0};
  const bytes gradient = s.sequence_split > 1 ? p.rounded(whole, s.width) : bytes{0};
  const auto o = operand_of(p, s, x, trains);
  p.step(x.bit(), y.bit() | o.makes,
         {.saves = o.saves, .forward_temporary = gathered + quantised_input(p, s, x), .backward_temporary = gathered + gradient + quantised_gradient(p, s, y),
          .weight_gradient = weight_gradient(p, s, checked::mul(in, out) / s.tensor, trains), .splits = trains});
  return y;
}

/// A row-parallel linear layer: partial sums of all tokens, reduced (scattered under sequence parallelism).
constexpr tensor row_parallel(program& p, const scene& s, tensor x, std::int64_t in, std::int64_t out, bool trains) {
  const auto y = p.make(streamed(s, out), s.width);
  const auto whole = checked::mul(s.tokens, out);
  const bytes sums = s.sequence_split > 1 ? p.rounded(whole, s.width) : bytes{0};
  const bytes gathered = s.sequence_split > 1 ? s.fp8 ? quantised_bytes(p, s, whole) : p.rounded(whole, s.width) : bytes{0};
  const auto o = operand_of(p, s, x, trains);
  p.step(x.bit(), y.bit() | o.makes,
         {.saves = o.saves, .forward_temporary = sums + quantised_input(p, s, x), .backward_temporary = gathered + quantised_gradient(p, s, y),
          .weight_gradient = weight_gradient(p, s, checked::mul(in, out) / s.tensor, trains), .splits = trains});
  return y;
}

/// Moves a module's saved tensors to host memory, if the module is named; those of fewer than 2^20 elements stay
/// (core/transformer/transformer_config.py, min_offloaded_tensor_size). `twice`: those that two of its operations save.
constexpr void offload(program& p, const scene& s, offload_module m, const wide_set& saved, const wide_set& twice = 0) {
  if (!s.offloads(m)) return;
  wide_set large;
  for (const auto t : each(saved & p.saved()))
    if (p.elements(t) >= std::int64_t{1} << 20) large |= t.bit();
  p.offload(large, twice & large);
}

/// A norm in one kernel: input and statistics of the rank's rows.
constexpr tensor norm(program& p, const scene& s, tensor x, std::int64_t rows) {
  const auto y = p.make(p.elements(x), p.width(x));
  const auto statistics = p.make(checked::mul(rows, s.model->norm == norm_kind::rmsnorm ? 1 : 2), 4);
  p.step(x.bit(), y | statistics, {.saves = x | statistics});
  return y;
}

/// Queries, keys and values, as attention takes them.
struct heads {
  tensor q{}, k{}, v{};
};

/// Whether the softmax is torch's, for no kernel takes so many keys, queries or heads: FusedScaleMaskSoftmax.is_kernel_available and
/// forward_torch_softmax of TransformerEngine (pytorch/softmax.py since 1.7) and of Megatron-LM's own layers (core/fusions/fused_softmax.py).
/// TransformerEngine before 1.4 took 4,096 keys, and before 1.10 causal rows of any number, which are not told apart here.
constexpr bool writes_out_softmax(const scene& s) {
  const auto keys = s.keys > 0 ? s.keys : s.sequence;
  const auto rows = checked::mul(s.samples, s.model->heads / s.tensor);
  const bool local = s.habits->modules.local();
  const bool suits = local ? keys <= 4'096 && keys % 4 == 0 : keys < 16'384 && keys % 8 == 0;
  return s.habits->modules.kind == layer_modules::megatron && s.width == 2 && !(keys > 16 && suits && s.sequence % 4 == 0 && rows % 4 == 0);
}

/// Scores in fp32, masked in place; probabilities in fp32, and their copy in 16 bits (softmax.py forward_torch_softmax, whose locals hold the scores to its end).
/// Each layer makes its own causal mask, which masked_fill_ keeps (dot_product_attention/utils.py get_full_mask, since 2.0). In backward softmax makes the
/// gradient times the result beside the gradient that it returns, and masked_fill_ a copy of that (PyTorch aten/src/ATen/native/cuda/SoftMax.cu
/// softmax_backward_cuda_out).
constexpr void softmax_of_torch(program& p, const scene& s, tensor raw, tensor soft) {
  const auto scores = p.elements(raw);
  const auto wide = p.make(scores, 4), probabilities = p.make(scores, 4);
  const bytes again = p.rounded(scores, 4);
  if (s.model->bidirectional || s.keys > 0) {
    p.step(raw.bit(), wide.bit());
  } else {
    const auto mask = p.make(checked::mul(s.sequence / s.context, s.sequence), 1);
    p.step(raw.bit(), wide | mask, {.saves = mask.bit(), .backward_temporary = again});
  }
  p.step(wide.bit(), probabilities.bit(), {.saves = probabilities.bit(), .backward_temporary = again});
  p.step(probabilities.bit(), soft.bit(), {.holds = wide.bit()});
}

/// Attention proper: fused kernels save q, k, v, their result and a log-sum-exp; written out, the probabilities (with a mask
/// and the dropped copy under dropout).
constexpr tensor core_attention(program& p, const scene& s, tensor_set inputs, std::int64_t result_elements) {
  const auto& m = *s.model;
  const auto first = p.tensors();
  const auto pairs = checked::mul(s.sequence / s.context, s.keys > 0 ? s.keys : s.sequence);
  if (s.kernel == attention::eager || s.kernel == attention::math) {
    const auto scores = checked::mul(s.samples, m.heads / s.tensor, pairs);
    const auto raw = p.make(scores, s.width);
    p.step(inputs, raw.bit(), {.saves = inputs, .forward_temporary = p.rounded(scores, s.width)});
    auto soft = p.make(scores, s.width);
    if (writes_out_softmax(s)) [[unlikely]] {
      softmax_of_torch(p, s, raw, soft);
    } else {
      p.step(raw.bit(), soft.bit(), {.saves = soft.bit(), .passes_gradient = true});
    }
    if (s.zeroes_padding && (m.bidirectional || s.keys > 0)) {
      const auto mask = p.make(checked::mul(s.samples, pairs), 1), filled = p.make(scores, s.width);
      p.step(soft.bit(), filled | mask, {.saves = mask.bit()});
      soft = filled;
    }
    if (s.drops.attention.positive()) soft = ops::drop(p, soft, s.drops.attention);
    const auto product = p.make(result_elements, s.width);
    p.step(soft.bit(), product.bit(), {.saves = soft.bit()});
    // The probabilities are what softmax and what the product with v saved.
    offload(p, s, offload_module::core_attn, p.since(first) | inputs, soft.bit());
    if (s.recomputes(recompute_module::core_attn)) p.recompute_since(first, inputs);
    // Locals hold the scores and q, k, v up to here, though softmax has been (TransformerEngine backends.py, UnfusedDotProductAttention).
    const auto out = p.make(result_elements, s.width);
    p.step(product.bit(), out.bit(), {.holds = inputs | raw});
    return out;
  }
  const auto out = p.make(result_elements, s.width);
  const auto lse = p.make(divided(s, m.heads), 4);
  const bool ring = s.context > 1;
  p.step(inputs, out | lse, {.saves = inputs | out | lse, .backward_temporary = ring ? p.rounded(divided(s, m.query_width()), s.width) : bytes{0}});
  if (s.recomputes(recompute_module::core_attn)) p.recompute(lse.bit());
  offload(p, s, offload_module::core_attn, inputs | out | lse);
  // Ulysses (and a2a+p2p) brings the result back by an all-to-all that makes a second copy; a flash kernel's b-s-h-d result is transposed, under
  // context parallelism too (backends.py FlashAttention.forward: output.contiguous()).
  if ((ring && (s.context_kind == context_kind::ulysses || s.habits->communication.exchanges_heads)) || (s.copies_flash_output && s.samples > 1)) return ops::pointwise(p, out);
  return out;
}

/// What a rotary embedding written out saves: each call makes cosine and sine in the format of q and k, of this rank's positions
/// (core/models/common/embeddings/rope_utils.py _apply_rotary_pos_emb_bshd). The fused kernel makes them on the way.
constexpr tensor_set rotary_factors(program& p, const scene& s, std::int64_t width) {
  if (!s.habits->rotary.writes_out || s.model->position != position_kind::rope) return 0;
  return p.make(checked::mul(4, s.sequence / s.context, width), s.width).bit();  // two factors, for q and for k
}

/// Ordinary attention: one projection makes q, k and v. Rotary embedding or grouped heads make fresh q, k, v of the same size, and
/// the projection's result goes; without either, its views are what the kernel reads. A gate beside the queries is a view of a copy of both, which it
/// keeps until what attention gives is multiplied with its sigmoid (mcore-bridge src/mcore_bridge/model/modules/gated_self_attention.py; Megatron-LM
/// core/transformer/attention.py _apply_output_gate, compiled).
constexpr tensor attend(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto q_out = m.query_width(), kv_out = m.kv_width();
  const auto projected = checked::add(m.gated_attention ? 2 * q_out : q_out, 2 * kv_out);
  auto mixed = column(p, s, x, m.hidden, projected, trained.has(module::q_proj));
  if (adapts(s, module::q_proj)) [[unlikely]] mixed = adapt_column(p, s, x, mixed, m.hidden, projected);
  offload(p, s, offload_module::qkv_linear, p.input() | x);  // the norm in front is part of it (LayerNormLinear)
  tensor_set inputs = mixed.bit();
  const auto both = m.gated_attention ? p.make(divided(s, 2 * q_out), s.width) : tensor{};
  if (m.qk_norm) {
    const auto q0 = p.make(divided(s, q_out), s.width), k0 = p.make(divided(s, kv_out), s.width), v = p.make(divided(s, kv_out), s.width);
    p.step(mixed.bit(), m.gated_attention ? (q0 | k0) | (v | both) : (q0 | k0) | v);
    auto q = norm(p, s, q0, divided(s, m.heads)), k = norm(p, s, k0, divided(s, m.kv()));
    if (m.position == position_kind::rope) {
      const auto q1 = q, k1 = k;
      q = p.make(divided(s, q_out), s.width), k = p.make(divided(s, kv_out), s.width);
      const auto factors = rotary_factors(p, s, m.rotary_width());
      p.step(q1 | k1, (q | k) | factors, {.saves = factors});
    }
    inputs = (q | k) | v;
  } else if (m.position == position_kind::rope || m.kv() != m.heads) {
    const auto q = p.make(divided(s, q_out), s.width), k = p.make(divided(s, kv_out), s.width), v = p.make(divided(s, kv_out), s.width);
    const auto factors = rotary_factors(p, s, m.rotary_width());
    p.step(mixed.bit(), ((q | k) | v) | factors, {.saves = factors});
    inputs = (q | k) | v;
  }
  auto out = core_attention(p, s, inputs, divided(s, q_out));
  if (m.gated_attention) {
    const auto gated = p.make(divided(s, q_out), s.width);
    p.step(out | both, gated.bit(), {.saves = out | both});
    out = gated;
  }
  auto y = row_parallel(p, s, out, q_out, m.hidden, trained.has(module::o_proj));
  if (adapts(s, module::o_proj)) [[unlikely]] y = adapt_row(p, s, out, y, q_out, m.hidden);
  offload(p, s, offload_module::attn_proj, out.bit());
  return y;
}

/// SwiGLU without its fused kernel: the sum with the bias, two views, the function of one and its product with the other.
constexpr tensor written_out_glu(program& p, const scene& s, tensor up, std::int64_t width) {
  const auto part = divided(s, width);
  if (s.model->mlp_bias) {
    const auto sum = p.make(p.elements(up), s.width);
    p.step(up.bit(), sum.bit(), {.passes_gradient = true});
    up = sum;
  }
  const auto gate = p.view(up, part), value = p.view(up, part);
  p.step(up.bit(), gate | value);
  const auto activated = p.make(part, s.width), product = p.make(part, s.width);
  p.step(gate.bit(), activated.bit(), {.saves = gate.bit()});
  p.step(activated | value, product.bit(), {.saves = activated | value});
  return product;
}

/// The dense MLP, or a shared expert: `width` features wide; the activation is one kernel over the first projection's whole result. `first` and
/// `last`: what its layers are called.
constexpr tensor feed_forward(program& p, const scene& s, tensor x, std::int64_t width, bool trains, module first = module::up_proj, module last = module::down_proj) {
  const auto& m = *s.model;
  const std::int64_t factor = m.mlp == mlp_kind::gated ? 2 : 1;
  auto up = column(p, s, x, m.hidden, factor * width, trains);
  if (adapts(s, first)) [[unlikely]] up = adapt_column(p, s, x, up, m.hidden, factor * width);
  if (m.mlp == mlp_kind::gated && s.habits->mlp.writes_out_glu) return row_parallel(p, s, written_out_glu(p, s, up, width), width, m.hidden, trains);
  const auto activated = p.make(divided(s, width), s.width);
  p.step(up.bit(), activated.bit(), {.saves = up.bit()});
  const auto y = row_parallel(p, s, activated, width, m.hidden, trains);
  return adapts(s, last) ? adapt_row(p, s, activated, y, width, m.hidden) : y;
}

/// One part of a dense layer, from residual stream to residual stream.
constexpr program dense_block(const scene& s, bool attention_part, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto x = p.input(streamed(s, m.hidden), s.residual_width, input_has_gradient);
  const auto first = p.tensors();
  const auto n = norm(p, s, x, s.stream_tokens());
  if (s.recomputes(recompute_module::layernorm)) p.recompute(n.bit());
  const auto y = attention_part ? attend(p, s, trained, n) : feed_forward(p, s, n, m.ffn, trained.has(module::up_proj));
  if (!attention_part && s.recomputes(recompute_module::mlp)) p.recompute_since(first, x.bit());
  p.set_output(ops::add(p, x, ops::drop(p, y, s.drops.hidden)));
  return p;
}

}  // namespace headroom::megatron
