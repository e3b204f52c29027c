// Distributed under the Boost Software License, Version 1.0.
// GPT-NeoX's decoder layer, and its last norm, head and loss: one program each. Sizes are those of one rank.
// Sources: EleutherAI/gpt-neox megatron/model/{transformer,norms,activations,gpt2_model,positional_embeddings,fused_softmax,fused_bias_dropout}.py,
// megatron/mpu/{layers,mappings,cross_entropy}.py at ea7aefd8; flash-attention csrc/flash_attn/flash_api.cpp mha_bwd.
#pragma once

#include <headroom/block/megatron.hpp>
#include <headroom/block/megatron_loss.hpp>

namespace headroom::neox {

using megatron::divided;

/// A matrix of `weights` parameters over all ranks. Its gradient is autograd's own; a bias is handed on, not added (skip_bias_add).
constexpr tensor linear(program& p, const scene& s, tensor x, std::int64_t outputs, std::int64_t weights, tensor_set holds = 0) {
  const auto y = p.make(outputs, s.width);
  p.step(x.bit(), y.bit(), {.saves = x.bit(), .holds = holds, .weight_gradient = p.rounded(weights / s.tensor, s.weight_width)});
  return y;
}

/// RMSNorm before 2025-05-09 (4c9f1081): x / (its norm a row + epsilon), times the weight, all in the format of x. Backward of the quotient has its negative
/// gradient, x over the divisor twice, and their product.
constexpr tensor rms_norm_in_its_format(program& p, const scene& s, tensor x) {
  const auto w = p.width(x), n = p.elements(x);
  const auto root = p.make(s.tokens, w), divisor = p.make(s.tokens, w), scaled = p.make(n, w), y = p.make(n, w);
  p.step(x.bit(), root.bit(), {.saves = x | root, .backward_temporary = p.size(y)});
  p.step(root.bit(), divisor.bit());
  p.step(x | divisor, scaled.bit(), {.saves = x | divisor, .backward_temporary = 3 * p.size(y)});
  p.step(scaled.bit(), y.bit(), {.saves = scaled.bit(), .backward_temporary = p.size(y), .weight_gradient = p.rounded(s.model->hidden, s.weight_width)});
  return y;
}

/// LayerNorm in one kernel; RMSNorm as Python writes it, weights and all in fp32, or (rmsnorm_fusion) in apex's kernel.
constexpr tensor norm(program& p, const scene& s, tensor x) {
  if (s.model->norm != norm_kind::rmsnorm) return megatron::norm(p, s, x, s.tokens);
  return s.habits->norm.style == norm_style::input_format ? rms_norm_in_its_format(p, s, x) : ops::rms_norm(p, s, x, s.model->hidden, true);
}

/// y + bias, which is a tensor of its own.
constexpr tensor plus_bias(program& p, tensor y, tensor_set holds = 0) {
  const auto sum = p.make(p.elements(y), p.width(y));
  p.step(y.bit(), sum.bit(), {.holds = holds, .passes_gradient = true});
  return sum;
}

/// The bias, where there is one, and dropout: bias_dropout_add without its residual.
constexpr tensor biased(program& p, const scene& s, tensor y, bool bias = true) { return ops::drop(p, bias ? plus_bias(p, y) : y, s.drops.hidden); }

/// apply_rotary_pos_emb_torch, of queries or of keys, whose storage is `mixed`: a turned copy, two products and their sum of the features that turn,
/// joined with those that do not (where all turn the sum is the result, and nothing is joined). Cosine and sine come from the host, for each layer anew.
/// In backward each slice's gradient is as large as all features.
constexpr tensor turned(program& p, const scene& s, tensor x, tensor factors) {
  const auto& m = *s.model;
  const auto all = p.elements(x), turning = all / m.head_width() * m.rotary_width();
  const std::int64_t products = turning == all ? 2 : 3;
  const auto y = p.make(all, s.width);
  p.step(x | factors, y.bit(), {.saves = factors.bit(), .forward_temporary = products * p.rounded(turning, s.width), .backward_temporary = p.rounded(all, s.width) + (products - 1) * p.rounded(turning, s.width)});
  return y;
}

/// Queries, keys and values of one projection's result: views of it, or (gqa_project) copies, of which keys and values are repeated for each query head
/// where the kernel takes no groups; a local names the result until all are made.
constexpr megatron::heads projected(program& p, const scene& s, tensor x) {
  const auto& m = *s.model;
  const auto width = m.query_width(), few = m.kv_width(), all = checked::add(width, 2 * few);
  const auto mixed = linear(p, s, x, divided(s, all), checked::mul(m.hidden, all));
  const auto part = [&](std::int64_t of) { return few == width ? p.view(mixed, divided(s, of)) : p.make(divided(s, of), s.width); };
  megatron::heads h{part(width), part(few), part(few)};
  p.step(mixed.bit(), (h.q | h.k) | h.v);
  if (few == width || s.kernel == attention::flash) return h;
  for (auto* one : {&h.k, &h.v}) {
    const auto repeated = p.make(divided(s, width), s.width);
    p.step(one->bit(), repeated.bit(), {.holds = mixed.bit()});
    *one = repeated;
  }
  return h;
}

/// ParallelSelfAttention.forward.
constexpr tensor attend(program& p, const scene& s, tensor x) {
  const auto& m = *s.model;
  const auto width = m.query_width();
  auto [q, k, v] = projected(p, s, x);
  if (m.position == position_kind::rope) {
    const auto factors = p.make(checked::mul(2, checked::mul(s.sequence, m.rotary_width())), s.width);
    p.step(0, factors.bit());
    q = turned(p, s, q, factors);
    k = turned(p, s, k, factors);
  }
  if (s.kernel == attention::flash) {
    const auto out = p.make(divided(s, width), s.width), lse = p.make(divided(s, m.heads), 4);
    const auto rounded_heads = checked::mul(divided(s, m.heads), checked::round_up(m.head_width(), 32));
    const auto expanded = m.kv() == m.heads ? bytes{0} : 2 * p.rounded(divided(s, width), s.width);  // dk and dv of each query head
    p.step((q | k) | v, out | lse, {.saves = ((q | k) | v) | (out | lse), .backward_temporary = p.rounded(rounded_heads, 4) + p.rounded(divided(s, m.heads), 4) + expanded});
    return linear(p, s, out, checked::mul(s.tokens, m.hidden), checked::mul(width, m.hidden));
  }
  // The product is written beside an empty tensor as large; a local names the scores until attention() has returned.
  const auto scores = checked::mul(s.samples, m.heads / s.tensor, checked::mul(s.sequence, s.sequence));
  const auto raw = p.make(scores, s.width), soft = p.make(scores, s.width);
  p.step(q | k, raw.bit(), {.saves = q | k, .forward_temporary = p.rounded(scores, s.width)});
  // The fused kernel writes the gradient over the one that it is given; torch's softmax, and the mask before it, make others.
  const bool apart = s.habits->attention.fills_masked_scores;
  p.step(raw.bit(), soft.bit(), {.saves = soft.bit(), .backward_temporary = apart ? p.rounded(scores, s.width) : bytes{0}, .passes_gradient = !apart});
  const auto dropped = ops::drop(p, soft, s.drops.attention);
  const auto product = p.make(divided(s, width), s.width), out = p.make(divided(s, width), s.width);
  p.step(dropped | v, product.bit(), {.saves = dropped | v, .holds = raw.bit()});
  p.step(product.bit(), out.bit());
  return linear(p, s, out, checked::mul(s.tokens, m.hidden), checked::mul(width, m.hidden));
}

/// Gated_Activation.forward: both halves with their biases, the function of one, and its product with the other. Swish is scripted, x times the sigmoid of
/// x times a number: x and the sigmoid are saved. Locals name all but the sigmoid.
constexpr tensor gated(program& p, const scene& s, tensor up) {
  const auto part = divided(s, s.model->ffn);
  auto x = p.view(up, part), gate = p.view(up, part);
  p.step(up.bit(), x | gate);
  if (s.model->mlp_bias) x = plus_bias(p, x), gate = plus_bias(p, gate);
  const auto named = (x | gate) | up;
  const auto activated = p.make(part, s.width), product = p.make(part, s.width);
  if (s.model->activation == activation_kind::silu) {
    const auto sigmoid = p.make(part, s.width);
    p.step(gate.bit(), sigmoid.bit(), {.saves = sigmoid.bit(), .holds = named, .forward_temporary = p.rounded(part, s.width)});
    p.step(gate | sigmoid, activated.bit(), {.saves = gate | sigmoid, .holds = named});
  } else {
    p.step(gate.bit(), activated.bit(), {.saves = gate.bit(), .holds = named});
  }
  p.step(activated | x, product.bit(), {.saves = activated | x, .holds = named});
  return product;
}

/// LLaMAParallelMLP.forward up to its last matrix: two matrices, whose results locals name until it returns.
constexpr tensor gated_apart(program& p, const scene& s, tensor x) {
  const auto& m = *s.model;
  const auto part = divided(s, m.ffn), weights = checked::mul(m.hidden, m.ffn);
  const auto gate = linear(p, s, x, part, weights), up = linear(p, s, x, part, weights);
  const auto activated = p.make(part, s.width), product = p.make(part, s.width);
  p.step(gate.bit(), activated.bit(), {.saves = gate.bit()});
  p.step(activated | up, product.bit(), {.saves = activated | up, .holds = gate.bit()});
  return product;
}

/// ParallelMLP.forward. GELU with the bias is one kernel that saves its input, or the sum is a tensor of its own; a local names the first result.
constexpr tensor feed_forward(program& p, const scene& s, tensor x) {
  const auto& m = *s.model;
  const auto last = [&](tensor activated) { return linear(p, s, activated, checked::mul(s.tokens, m.hidden), checked::mul(m.ffn, m.hidden)); };
  if (m.mlp == mlp_kind::gated && s.habits->mlp.gates_apart) return last(gated_apart(p, s, x));
  const std::int64_t outputs = m.mlp == mlp_kind::gated ? 2 * m.ffn : m.ffn;
  const auto up = linear(p, s, x, divided(s, outputs), checked::mul(m.hidden, outputs));
  if (m.mlp == mlp_kind::gated) return last(gated(p, s, up));
  const auto from = s.habits->mlp.adds_bias_apart ? plus_bias(p, up) : up;
  const auto activated = p.make(p.elements(up), s.width);
  p.step(from.bit(), activated.bit(), {.saves = from.bit(), .holds = up.bit()});
  return last(activated);
}

/// ParallelTransformerLayer.forward, both halves one behind the other or (gpt_j_residual) beside each other, each with a norm of its own. Its argument is a
/// local until it returns. What the MLP gives without a bias is not dropped.
constexpr program layer(const scene& s) {
  program p(s.granule);
  const auto& m = *s.model;
  const auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, true);
  const auto first = norm(p, s, x);
  if (!m.parallel_block) {
    const auto middle = ops::add(p, x, biased(p, s, attend(p, s, first), m.output_bias));
    const auto y = feed_forward(p, s, norm(p, s, middle));
    const auto last = m.mlp_bias ? biased(p, s, y) : y;
    const auto out = p.make(p.elements(x), p.width(x));
    p.step(middle | last, out.bit(), {.holds = x.bit(), .passes_gradient = true});
    p.set_output(out);
    return p;
  }
  const auto second = norm(p, s, x);
  const auto mixed = biased(p, s, attend(p, s, first));
  const auto y = feed_forward(p, s, second);
  const auto both = ops::add(p, mixed, biased(p, s, y));
  const auto out = p.make(p.elements(x), p.width(x));
  p.step(x | both, out.bit(), {.holds = y.bit(), .passes_gradient = true});
  p.set_output(out);
  return p;
}

/// What stands behind the last layer: samples first, the norm, the head, a cast to fp32 and the loss, which is computed in place. The pipeline keeps the
/// logits as the head's output until the buffer is used again.
constexpr program head_and_loss(const scene& s) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, true);
  const auto turned = s.samples > 1 ? ops::pointwise(p, x) : x;
  const auto last = norm(p, s, turned);
  const auto logits = p.make(divided(s, s.vocabulary), s.width, row::logits);
  p.step(last.bit(), logits.bit(), {.saves = last.bit(), .weight_gradient = p.rounded(checked::mul(s.vocabulary, m.hidden) / s.tensor, s.weight_width)});
  p.hold_through_backward(logits);
  const auto wide = p.make(p.elements(logits), 4, row::logits), loss = p.make(s.tokens, 4), masks = p.make(checked::mul(9, s.tokens), 1);
  p.step(logits.bit(), (wide | loss) | masks, {.saves = wide | masks});
  p.set_output(loss);
  return p;
}

}  // namespace headroom::neox
