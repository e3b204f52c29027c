// Distributed under the Boost Software License, Version 1.0.
// nanotron's decoder layer, and its head and loss: one program each. Sizes are those of one rank.
// Sources: huggingface/nanotron src/nanotron/models/llama.py, parallel/tensor_parallel/functional.py at 67c5ebb6; flash-attention
// flash_attn/layers/rotary.py, csrc/flash_attn/flash_api.cpp mha_varlen_bwd.
#pragma once

#include <headroom/block/megatron.hpp>
#include <headroom/block/megatron_loss.hpp>

namespace headroom::nanotron {

using megatron::divided;
using megatron::streamed;

/// A matrix's gradient is autograd's own, in the weight's format.
constexpr bytes weight_gradient(const program& p, const scene& s, std::int64_t weights) { return p.rounded(weights / s.tensor, s.weight_width); }

/// TensorParallelColumnLinear. Under sequence parallelism the input is gathered into a buffer that stays for the whole run
/// (parallel/utils.py MemoryBuffer), in forward and again in backward; or into a tensor that is saved. Backward makes the input's
/// gradient of all tokens, which lives until the function returns.
constexpr tensor column(program& p, const scene& s, tensor x, std::int64_t in, std::int64_t out) {
  const auto whole = checked::mul(s.tokens, in);
  const bool divides = s.sequence_split > 1;
  auto saved = x;
  if (divides && s.habits->communication.keeps_gathered) {
    saved = p.make(whole, s.width);
    p.step(x.bit(), saved.bit());
  }
  const auto y = p.make(divided(s, out), s.width);
  const auto weights = weight_gradient(p, s, checked::mul(in, out));
  p.step(saved.bit(), y.bit(), {.saves = saved.bit(), .backward_temporary = divides && saved.bits == x.bits ? p.rounded(whole, s.width) : bytes{0}, .weight_gradient = weights, .temporaries = row::communication_buffers});
  return y;
}

/// TensorParallelRowLinear. Partial sums of all tokens are scattered, or added up in place. Samples that do not lie one behind the other
/// (`apart`) are copied for both multiplications. In backward the gradient is gathered into another buffer that stays where communication
/// is asynchronous, else into a new one. `holds`: locals of the caller.
constexpr tensor row_parallel(program& p, const scene& s, tensor x, std::int64_t in, std::int64_t out, bool apart, tensor_set holds = 0) {
  const auto whole = p.rounded(checked::mul(s.tokens, out), s.width);
  const bool divides = s.sequence_split > 1;
  const auto y = p.make(streamed(s, out), s.width);
  const auto copy = apart && s.samples > 1 ? p.size(x) : bytes{0};
  const bool stays = s.habits->communication.overlaps_input_gradients;
  p.step(x.bit(), y.bit(),
         {.saves = x.bit(), .holds = holds, .forward_temporary = copy + (divides ? whole : bytes{0}), .backward_temporary = copy + (divides && !stays ? whole : bytes{0}),
          .weight_gradient = weight_gradient(p, s, checked::mul(in, out)), .temporary_block = divides ? whole : bytes{0}, .temporaries = row::communication_buffers});
  return y;
}

/// CausalSelfAttention.forward, in training. Without grouped heads q, k and v are one copy of the projection's result, in another order, of
/// which q is a view and stays; k and v are joined and copied once more. Rotary embedding turns q and k in place. `qkv` is a local of the
/// caller until the output projection has returned.
constexpr tensor attend(program& p, const scene& s, tensor x) {
  const auto& m = *s.model;
  const auto q_out = m.query_width(), kv_out = m.kv_width();
  const auto qkv = column(p, s, x, m.hidden, checked::add(q_out, 2 * kv_out));
  tensor q, k, v;
  if (m.kv() == m.heads) {
    const auto turned = p.make(divided(s, 3 * q_out), s.width);
    p.step(qkv.bit(), turned.bit());
    q = p.view(turned, divided(s, q_out)), k = p.view(turned, divided(s, kv_out)), v = p.view(turned, divided(s, kv_out));
    p.step(turned.bit(), (q | k) | v);
  } else {
    q = p.make(divided(s, q_out), s.width), k = p.make(divided(s, kv_out), s.width), v = p.make(divided(s, kv_out), s.width);
    p.step(qkv.bit(), (q | k) | v);
  }
  const auto joined = p.make(divided(s, 2 * kv_out), s.width), kv = p.make(divided(s, 2 * kv_out), s.width);
  p.step(k | v, joined.bit());
  p.step(joined.bit(), kv.bit());
  const auto out = p.make(divided(s, q_out), s.width), lse = p.make(divided(s, m.heads), 4);
  const auto rounded_heads = checked::mul(divided(s, m.heads), checked::round_up(m.head_width(), 32));
  p.step(q | kv, out | lse, {.saves = (q | kv) | (out | lse), .backward_temporary = p.rounded(rounded_heads, 4) + p.rounded(divided(s, m.heads), 4)});
  return row_parallel(p, s, out, q_out, m.hidden, true, qkv.bit());
}

/// MLP.forward: gate and up are one matrix; the function of one half and its product with the other are two operations.
constexpr tensor feed_forward(program& p, const scene& s, tensor x) {
  const auto& m = *s.model;
  const auto up = column(p, s, x, m.hidden, 2 * m.ffn);
  return row_parallel(p, s, megatron::written_out_glu(p, s, up, m.ffn), m.ffn, m.hidden, false);
}

/// LlamaDecoderLayer._core_forward, whose local holds what attention returned until the layer has.
constexpr program layer(const scene& s) {
  program p(s.granule);
  const auto h = s.model->hidden;
  const auto x = p.input(streamed(s, h), s.residual_width, true);
  const auto mixed = attend(p, s, megatron::norm(p, s, x, s.stream_tokens()));
  const auto middle = ops::add(p, x, mixed);
  const auto y = feed_forward(p, s, megatron::norm(p, s, middle, s.stream_tokens()));
  const auto out = p.make(p.elements(x), p.width(x));
  p.step(middle | y, out.bit(), {.holds = mixed.bit(), .passes_gradient = true});
  p.set_output(out);
  return p;
}

/// Final norm, head, a cast to fp32 (the 16-bit logits are a local of LlamaModel.forward_with_hidden_states until that returns) and
/// _ShardedCrossEntropy, which subtracts each row's maximum into another tensor, keeps that, and writes the gradient over it.
constexpr program head_and_loss(const scene& s) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto x = p.input(streamed(s, m.hidden), s.residual_width, true);
  const auto last = megatron::norm(p, s, x, s.stream_tokens());
  const auto whole = checked::mul(s.tokens, m.hidden);
  const auto logits = p.make(divided(s, s.vocabulary), s.width, row::logits);
  p.step(last.bit(), logits.bit(),
         {.saves = last.bit(), .backward_temporary = s.sequence_split > 1 ? p.rounded(whole, s.width) : bytes{0}, .weight_gradient = weight_gradient(p, s, checked::mul(s.vocabulary, m.hidden))});
  const auto wide = p.make(p.elements(logits), 4, row::logits);
  p.step(logits.bit(), wide.bit());
  const auto soft = p.make(p.elements(logits), 4, row::logits), loss = p.make(s.tokens, 4);
  const auto masks = p.make(checked::mul(9, s.tokens), 1);  // targets of this rank (int64), and which are another's
  p.step(wide.bit(), (soft | loss) | masks, {.saves = soft | masks, .releases_first = true});
  p.set_output(loss);
  return p;
}

}  // namespace headroom::nanotron
