// Distributed under the Boost Software License, Version 1.0.
// Attention sinks: a learned logit for each head that takes a share of every row of scores.
#pragma once

#include <headroom/block/rotary.hpp>

namespace headroom::ops {

/// gpt-oss' eager_attention_forward (transformers models/gpt_oss/modeling_gpt_oss.py): a column of sinks joins the scores, of which each row's largest
/// is taken off; then softmax, in the format that scores and sinks have together, and ·v without that column. Positions of the largest are saved. MiMo-V2's layers that see all
/// positions do the same without sinks (models/mimo_v2_flash/modeling_mimo_v2_flash.py eager_attention_forward_with_optional_sink).
constexpr tensor attention_with_sinks(program& p, const scene& s, heads h) {
  const auto rows = checked::mul(s.samples, s.divided(s.model->heads), s.sequence);
  const bool sinks = s.model->attention_sinks;
  const auto scores = checked::mul(rows, s.sequence), joined_scores = sinks ? checked::add(scores, rows) : scores;
  const auto first = p.tensors();
  const auto w = p.width(h.q), wide = s.autocast && sinks ? s.weight_width : w;
  auto t = p.make(scores, w);
  p.step(h.q | h.k, t.bit(), {.saves = factors(p, h.q, h.k)});
  t = scale(p, s, t);
  const auto masked = p.make(scores, w), joined = sinks ? p.make(joined_scores, wide) : masked;
  p.step(t.bit(), masked.bit(), {.passes_gradient = true});
  if (sinks) p.step(masked.bit(), joined.bit());
  const auto largest = p.make(rows, wide), places = p.make(rows, 8), shifted = p.make(joined_scores, wide);
  p.step(joined.bit(), largest | places, {.saves = places.bit(), .holds = masked.bit()});
  p.step(joined | largest, shifted.bit(), {.holds = masked.bit()});
  const auto soft = softmax(p, s, shifted, wide, masked.bit());
  const auto without = sinks ? p.view(soft, scores) : soft;
  if (sinks) p.step(soft.bit(), without.bit());
  const auto probabilities = drop(p, cast(p, without, w), s.drops.attention);
  const auto product = p.make(p.elements(h.v), w);
  p.step(probabilities | h.v, product.bit(), {.saves = factors(p, probabilities, h.v), .holds = shifted.bit()});
  if (s.policy == recompute_policy::attention_only) p.recompute_since(first, 0);
  const auto y = p.make(p.elements(product), w);
  p.step(product.bit(), y.bit());
  return y;
}

/// What GraniteSWA's sinks scale attention's result by, made of the scores (transformers models/granite_swa/modeling_granite_swa.py eager_attention_forward).
constexpr tensor sink_scale(program& p, const scene& s, tensor scores, std::int64_t rows) {
  const auto w = p.width(scores);
  const auto sums = p.make(rows, w), sigmoid = p.make(rows, 4);
  p.step(scores.bit(), sums.bit(), {.saves = scores | sums});
  p.step(sums.bit(), sigmoid.bit(), {.saves = sigmoid.bit(), .forward_temporary = p.size(sigmoid)});
  return cast(p, sigmoid, s.width);
}

}  // namespace headroom::ops
