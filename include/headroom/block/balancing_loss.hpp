// Distributed under the Boost Software License, Version 1.0.
// The loss that balances experts over all layers of a model, beside the scalar.
// Source: huggingface/transformers 3cd1a2307 of 2026-08-21 models/mixtral/modeling_mixtral.py load_balancing_loss_func, which the models with routers
// of softmax share.
#pragma once

#include <headroom/block/linear.hpp>

namespace headroom::ops {

/// Of all layers' router logits, which forward keeps, one tensor and its softmax, in their format or, under autocast, in fp32 of a copy. The experts that
/// were chosen become a one-hot tensor of 8-byte numbers, rows × chosen × experts, and one of 4 bytes. With a mask of padding that is spread to as many
/// 8-byte numbers, and multiplied; then to rows × experts, whose product with the probabilities saves it. All but those of 4 bytes and products have names
/// until the function returns. Sums over the rows, of so many numbers as there are experts, are left out.
constexpr tensor balance_experts(program& p, const scene& s, tensor scalar) {
  const auto& e = s.model->experts;
  std::int64_t layers = 0;
  for (std::int64_t i = 0; i < s.model->layers; ++i) layers += s.model->sparse_layer(i) ? 1 : 0;
  const auto rows = checked::mul(layers, s.tokens), scores = checked::mul(rows, e.count), picked = checked::mul(rows, e.active), chosen = checked::mul(scores, e.active);
  const auto width = s.autocast ? 4 : s.width;
  const auto recorded = p.make(scores, s.width, row::logits), probabilities = p.make(scores, width, row::logits), sum = p.make(1, 4);
  p.step(0, recorded.bit());
  p.hold_in_forward(recorded);
  bytes named = p.rounded(scores, s.width);  // joined
  p.step(0, probabilities.bit(), {.holds = recorded.bit(), .forward_temporary = named + (width != s.width ? p.rounded(scores, width) : bytes{0}), .temporaries = row::logits});
  named += p.rounded(picked, width) + p.rounded(picked, 8) + p.rounded(chosen, 8);
  if (!s.packed) named += p.rounded(chosen, 8);
  p.step(0, 0, {.holds = recorded | probabilities, .forward_temporary = named + (s.packed ? 1 : 2) * p.rounded(chosen, 4), .temporaries = row::logits});
  tensor_set kept = probabilities.bit();
  if (!s.packed) {
    const auto mask = p.make(scores, 8, row::logits);
    p.step(0, mask.bit(), {.forward_temporary = named, .temporaries = row::logits});
    kept |= mask.bit();
    named += p.rounded(scores, width);
  }
  p.step(scalar.bit() | kept, sum.bit(), {.saves = kept, .forward_temporary = named, .backward_temporary = 2 * p.rounded(scores, width), .temporaries = row::logits});
  return sum;
}

}  // namespace headroom::ops
