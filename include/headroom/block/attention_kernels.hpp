// Distributed under the Boost Software License, Version 1.0.
// Attention proper, from q, k and v as heads to the result as tokens: written out, or one fused kernel.
#pragma once

#include <headroom/block/attention_mask.hpp>
#include <headroom/block/fused_adapters.hpp>
#include <headroom/block/sinks.hpp>
#include <headroom/block/ulysses.hpp>

namespace headroom::ops {

/// Bytes of an element of a copy: another layer's keys and values have no size here, as they are counted there (see shared_keys).
constexpr std::int64_t copied_width(const program& p, const scene& s, tensor x) { return p.width(x) > 0 ? p.width(x) : s.width; }

/// k or v repeated from the key heads to the query heads: a copy, or a view of one head (`view`), whose gradient is as large as the copy's.
constexpr tensor expand(program& p, const scene& s, tensor x, bool view = false) {
  if (s.model->kv() == s.model->heads) return x;
  const auto n = checked::mul(p.elements(x), s.model->heads) / s.model->kv();
  const auto y = view ? p.view(x, n) : p.make(n, copied_width(p, s, x));
  p.step(x.bit(), y.bit(), {.backward_temporary = view && p.width(x) == 0 ? p.rounded(n, s.width) : bytes{0}});
  return y;
}

/// Whether the axes of heads and positions have traded places in memory, so that one cannot be walked through as the other.
constexpr bool heads_apart(const scene& s) { return s.habits->attention.copies_heads && s.sequence > 1 && s.divided(s.model->heads) > 1; }

/// A projection's result as heads: a view, whose gradient is copied into the order of the result (ViewBackward0, reshape).
constexpr tensor split_heads(program& p, const scene& s, tensor x, std::int64_t heads) {
  if (!heads_apart(s) || heads == 1) return x;
  const auto y = p.view(x, p.elements(x));
  p.step(x.bit(), y.bit());
  return y;
}
/// … one behind the other, over all samples: a copy, which hands its gradient on (CloneBackward0). `part`: of a fused projection's rows.
constexpr tensor join_samples(program& p, const scene& s, tensor x, bool part) {
  const bool apart = s.habits->attention.copies_heads && s.samples > 1 && s.model->heads > 1;
  if (!apart || !(part || heads_apart(s))) return x;
  const auto y = p.make(p.elements(x), copied_width(p, s, x));
  p.step(x.bit(), y.bit(), {.passes_gradient = true});
  return y;
}

/// Scores written out. transformers' eager_attention_forward: q·kᵀ, scaling, mask, softmax in fp32, back to the compute
/// format, dropout, ·v. A soft cap adds a tanh that saves its result.
constexpr tensor eager_attention(program& p, const scene& s, heads views, bool fp32_softmax, tensor biases = {}) {
  const auto& m = *s.model;
  const auto keys = s.keys > 0 ? s.keys : s.sequence;
  const auto scores = checked::mul(s.samples, s.divided(m.heads), checked::mul(s.sequence, keys));
  const auto width = p.width(views.q);
  const auto first = p.tensors();
  auto h = views;
  if (m.softmax == softmax_kind::fp32_scores) {
    h.q = cast(p, h.q, 4);
    h.k = cast(p, h.k, 4);
  }
  const auto w = p.width(h.q);
  const bool turned = m.position == position_kind::rope;  // into tensors of their own
  h.q = join_samples(p, s, h.q, h.parts && !turned);
  if (!h.repeated) h.k = join_samples(p, s, h.k, h.parts && !turned);
  auto t = p.make(scores, w);
  p.step(h.q | h.k, t.bit(), {.saves = factors(p, h.q, h.k), .holds = views.q | views.k});
  t = scale(p, s, t);
  if (m.attention_softcap > 0) {
    t = pointwise(p, t);
    const auto tanh = p.make(scores, w);
    p.step(t.bit(), tanh.bit(), {.saves = tanh.bit()});
    t = pointwise(p, tanh);
  }
  const auto masked = p.make(scores, w);
  p.step(t | biases, masked.bit(), {.passes_gradient = !s.habits->attention.fills_masked_scores});
  t = masked;
  if (m.softmax == softmax_kind::maximum) {  // of each score and the least number
    t = p.make(scores, w);
    p.step(masked.bit(), t.bit(), {.saves = masked.bit()});
  }
  const auto scale_of_result = m.sinks_scale ? sink_scale(p, s, t, scores / keys) : tensor{};
  auto soft = softmax(p, s, t, fp32_softmax ? 4 : w, t.bit());
  soft = drop(p, cast(p, soft, width), s.drops.attention);
  if (!h.repeated) h.v = join_samples(p, s, h.v, h.parts);
  if (h.v_cut && h.v.bits == views.v.bits) {
    h.v = p.make(p.elements(views.v), width);
    p.step(views.v.bit(), h.v.bit(), {.passes_gradient = true});
  }
  auto product = p.make(s.keys > 0 ? checked::mul(s.tokens, m.query_width()) : p.elements(h.v), width);
  p.step(soft | h.v, product.bit(), {.saves = factors(p, soft, h.v), .holds = views.v.bit()});
  if (scale_of_result.valid()) {
    const auto scaled = p.make(p.elements(product), width);
    p.step(product | scale_of_result, scaled.bit(), {.saves = product | scale_of_result, .backward_temporary = p.size(scaled)});
    product = scaled;
  }
  if (s.policy == recompute_policy::attention_only) p.recompute_since(first, 0);
  // Heads back beside each other: a copy, of whose gradient matmul needs one in turn.
  if (s.habits->attention.copies_heads && !heads_apart(s)) return product;
  const auto y = p.make(p.elements(product), width);
  p.step(product.bit(), y.bit(), {.passes_gradient = s.habits->attention.copies_heads && s.samples == 1});
  return y;
}

/// Context parallelism (torch distributed/tensor/experimental/_context_parallel/_attention.py, _templated_ring_attention): each rank's
/// result is merged in fp32 with what the other ranks' keys and values add; those are gathered at once, or handed on from rank to
/// rank, one share received while another is used. Backward accumulates the gradients of q, k and v in fp32 alike.
constexpr bytes exchanged_heads(const program& p, const scene& s, heads h) {
  const auto shares = s.context_kind == context_kind::all_gather ? s.context : 2;
  return shares * (p.size(h.k) + p.size(h.v)) + p.rounded(p.elements(h.q), 4) + p.rounded(p.elements(h.k), 4) + p.rounded(p.elements(h.v), 4);
}

/// One fused kernel: q, k, v, the result and a log-sum-exp a row are saved. FlashAttention-2's backward accumulates dq in fp32,
/// keeps a row sum of d·o, and expands dk, dv to the query heads where they are grouped (flash_attn/flash_api.cpp, mha_bwd). `named`: what the layer
/// names until attention returns; `mask`: one that its caller has made.
constexpr tensor fused_attention(program& p, const scene& s, heads h, tensor_set named = 0, tensor_set mask = 0) {
  const auto& m = *s.model;
  const auto heads_here = s.divided(m.heads);
  const auto q_elements = checked::mul(s.tokens, s.divided(m.query_width()));
  const auto w = p.width(h.q);
  const bool exchanges = exchanges_positions(s);
  if (exchanges) named = (h.q | h.k) | h.v;
  if (exchanges) h = all_positions(p, s, h);
  const auto out = p.make(q_elements, w);
  const auto lse = p.make(checked::mul(s.tokens, heads_here), 4);
  bytes temporary{0};
  if (!s.host) {
    const auto rounded_heads = checked::mul(heads_here, checked::round_up(m.head_width(), 32));
    temporary = p.rounded(checked::mul(s.tokens, rounded_heads), 4) + p.rounded(checked::mul(s.tokens, heads_here), 4);
    if (p.elements(h.k) < q_elements) temporary += 2 * p.rounded(q_elements, w);
  }
  tensor_set saves = ((h.q | h.k) | h.v) | mask;
  tensor_set makes = out | lse;
  if (reads_mask(s) && masks_each_call(s)) {
    const auto bias = p.make(checked::mul(s.samples, checked::mul(s.sequence, s.sequence)), w);
    makes |= bias.bit();
    saves |= bias.bit();
  }
  const bytes exchange = s.context > 1 && !exchanges ? exchanged_heads(p, s, h) : bytes{0};
  p.step(((h.q | h.k) | h.v) | mask, makes, {.saves = saves | out | lse, .holds = named, .forward_temporary = exchange, .backward_temporary = temporary + exchange, .temporary_block = s.cudnn ? bytes{0} : p.rounded(q_elements, 4)});  // cuDNN's is one workspace
  if (s.policy == recompute_policy::every_other_matmul) [[unlikely]] p.keep(out | lse);
  if (s.policy == recompute_policy::attention_only) [[unlikely]] p.recompute(lse.bit());
  return exchanges ? exchange_pieces(p, out, false, s.exchanges_whole) : out;
}

}  // namespace headroom::ops
