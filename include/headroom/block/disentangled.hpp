// Distributed under the Boost Software License, Version 1.0.
// DeBERTa's attention (He et al. 2021, DeBERTa, section 3.1; its third version shares the projections): scores of contents, of contents with
// distances, and of distances with contents. Source: transformers models/deberta_v2/modeling_deberta_v2.py DisentangledSelfAttention.
#pragma once

#include <headroom/block/linear.hpp>

namespace headroom::ops {

/// One more use of a matrix that linear() has multiplied with: its second gradient is added to the first, and autocast's copy is there already.
constexpr tensor linear_again(program& p, const scene& s, const module_set& trained, module role, tensor x, std::int64_t in, std::int64_t out) {
  if (s.autocast) x = cast(p, x, s.width);
  const auto y = p.make(checked::mul(p.elements(x) / in, out), s.width);
  const bool trains = trained.has(role);
  p.step(x.bit(), y.bit(), {.saves = trains ? x.bit() : 0, .backward_temporary = trains ? p.rounded(checked::mul(in, out), s.weight_width) : bytes{0}});
  return y;
}

/// x divided by the root of the scores' width, a number that autograd keeps (on a GPU it lies in host memory).
constexpr tensor divide(program& p, const scene& s, tensor x) {
  const auto y = p.make(p.elements(x), p.width(x));
  const auto root = p.make(s.host ? 1 : 0, p.width(x));
  p.step(x.bit(), y | root, {.saves = root.bit()});
  return y;
}

/// Rows of `content` (tokens × heads) times the projected table, of which each pair of positions gathers its distance's.
constexpr tensor score_distances(program& p, const scene& s, const module_set& trained, module role, tensor content, tensor table) {
  const auto& m = *s.model;
  const auto pairs = checked::mul(s.samples, m.heads, checked::mul(s.sequence, s.sequence));
  const auto heads_first = pointwise(p, linear_again(p, s, trained, role, table, m.hidden, m.query_width()));
  const auto repeated = p.make(checked::mul(s.samples, p.elements(heads_first)), s.width);  // for every sample
  p.step(heads_first.bit(), repeated.bit());
  const auto all = p.make(checked::mul(s.tokens, m.heads, m.relative_buckets), s.width);
  p.step(content | repeated, all.bit(), {.saves = factors(p, content, repeated)});
  const auto distances = p.make(checked::mul(s.sequence, s.sequence), 8);
  p.step(0, distances.bit());
  const auto gathered = p.make(pairs, s.width);
  p.step(all | distances, gathered.bit(), {.saves = all | distances});  // gather's derivative reads its input, if only for its size
  return gathered;
}

/// From the layer's input to what is added to it.
constexpr tensor disentangled_attend(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto out = m.query_width();
  const auto pairs = checked::mul(s.samples, m.heads, checked::mul(s.sequence, s.sequence));
  const auto project = [&](module role) { return pointwise(p, linear(p, s, trained, role, x, m.hidden, out, m.attention_bias)); };  // heads in front: a copy
  const auto q = project(module::q_proj), k = project(module::k_proj), v = project(module::v_proj);
  const auto scaled = divide(p, s, k);
  auto scores = p.make(pairs, s.width);
  p.step(q | scaled, scores.bit(), {.saves = factors(p, q, scaled)});
  // The table with its norm is one for all layers, and counted where it is made; its gradient has its size.
  const auto elements = checked::mul(m.relative_buckets, m.hidden);
  const auto shared = p.make(elements, 0);
  if (trained.has(module::position) || trained.has(module::norm)) p.require_gradient(shared);
  auto table = p.view(shared, elements);
  p.step(shared.bit(), table.bit(), {.backward_temporary = p.needs_gradient(shared) ? p.rounded(elements, s.residual_width) : bytes{0}});
  if (s.drops.hidden.positive()) {
    const auto mask = p.make(elements, 1), left = p.make(elements, s.residual_width);
    p.step(table.bit(), mask | left, {.saves = mask.bit()});
    table = left;
  }
  const auto to_distances = score_distances(p, s, trained, module::k_proj, q, table);
  const auto first = pointwise(p, divide(p, s, to_distances));  // added to 0
  const auto from_distances = score_distances(p, s, trained, module::q_proj, k, table);
  const auto second = divide(p, s, from_distances);
  const auto both = p.view(first, pairs);  // added in place
  p.step(first | second, both.bit(), {.holds = to_distances | from_distances, .passes_gradient = true});
  scores = add(p, scores, both);
  const auto mask = p.make(checked::mul(s.tokens, s.sequence), 1), masked = p.make(pairs, s.width);
  p.step(scores | mask, masked.bit(), {.saves = mask.bit(), .forward_temporary = p.size(mask)});
  const auto soft = softmax(p, s, masked, s.autocast ? 4 : s.width);
  const auto probabilities = drop(p, cast(p, soft, s.width), s.drops.attention);
  const auto context = p.make(p.elements(v), s.width);
  p.step(probabilities | v, context.bit(), {.saves = factors(p, probabilities, v)});
  return linear(p, s, trained, module::o_proj, pointwise(p, context), out, m.hidden, m.output_bias);
}

}  // namespace headroom::ops
