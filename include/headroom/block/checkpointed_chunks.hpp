// Distributed under the Boost Software License, Version 1.0.
// Head and loss of a chunk of tokens at a time, each behind a checkpoint of its own.
#pragma once

#include <headroom/block/operations.hpp>

namespace headroom::ops {

/// TRL's chunked_nll (trl/trainer/sft_trainer.py _chunk and _chunked_cross_entropy_loss: v1.5.0 to v1.9.0, f2cd57710 of 2026-07-24). Rows are copied, those with a label first;
/// all are taken to have one. A chunk multiplies an fp32 copy of the weight, which autocast makes narrow again, and does not keep, as it reads a view of it; then logits,
/// log-probabilities and, for a metric, exponentials and their product are there together. Backward does it all again, chunk by chunk, and adds the weight's gradients up.
constexpr tensor checkpointed_chunks(program& p, const scene& s, tensor x, bool trains) {
  const auto hidden = s.model->embedding_width();
  const auto rows = s.loss.chunk_tokens < s.tokens ? s.loss.chunk_tokens : s.tokens;
  const auto weight = [&](std::int64_t width) { return p.rounded(checked::mul(s.vocabulary, hidden), width); };
  const auto stored = s.casts(trains) ? std::int64_t{4} : s.width, multiplied = s.autocast ? s.width : std::int64_t{4};
  const auto ordered = p.make(p.elements(x), p.width(x)), order = p.make(s.tokens, 8), scalar = p.make(1, 4);
  p.step(x.bit(), ordered | order, {.saves = order.bit(), .forward_temporary = s.samples > 1 ? p.size(x) : bytes{0}});
  p.hold_in_forward(x);  // the model's forward names its last hidden states
  const auto wide = stored < 4 ? weight(4) : bytes{0}, operand = s.autocast ? weight(multiplied) : bytes{0};
  const auto input = multiplied == p.width(x) ? bytes{0} : p.rounded(checked::mul(rows, hidden), multiplied);
  const auto logits = p.rounded(checked::mul(rows, s.vocabulary), multiplied);
  const auto multiplying = wide + operand + input + logits, scoring = logits + 3 * p.rounded(checked::mul(rows, s.vocabulary), 4);
  const auto again = (s.autocast ? operand : wide) + (trains ? input : bytes{0});  // what the multiplication saves
  bytes sum{0}, most{0};
  if (trains) {
    sum = rows < s.tokens ? weight(stored) : bytes{0};
    most = sum + max(again + weight(multiplied) + input + logits, weight(4) + (stored == 4 && !s.autocast ? bytes{0} : weight(s.width)));
    if (sum > bytes{0} && s.habits->autograd.sums_out_of_place) most = max(most, 3 * sum);
  }
  most = max(max(most, sum + p.size(ordered)), sum + max(multiplying, again + scoring));
  const auto gradient = trains ? p.rounded(checked::mul(s.vocabulary, hidden), s.weight_width) : bytes{0};
  p.step(ordered.bit(), scalar.bit(), {.saves = ordered.bit(), .forward_temporary = max(multiplying, scoring), .backward_temporary = max(most - gradient, bytes{0}), .weight_gradient = gradient,
                                       .gradient_waits = s.model->tied, .temporary_block = max(wide, operand), .temporaries = row::logits});
  return scalar;
}

}  // namespace headroom::ops
