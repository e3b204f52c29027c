// Distributed under the Boost Software License, Version 1.0.
// Head and loss in chunks whose size the free memory decides (settle/loss.hpp).
#pragma once

#include <headroom/block/operations.hpp>

namespace headroom::ops {

/// Unsloth's fused loss (unsloth_zoo fused_losses/cross_entropy_loss.py UnslothFusedLoss): chunk after chunk of the tokens head, loss and the chunk's
/// gradient, by torch.func.grad_and_value, compiled: logits and their gradient in the compute format, between which all is computed in registers.
constexpr tensor memory_chunked_cross_entropy(program& p, const scene& s, tensor x) {
  const auto rows = s.loss.chunk_tokens;
  const auto gradient = p.make(p.elements(x), p.width(x)), scalar = p.make(1, 4);
  const auto chunk = p.rounded(checked::mul(rows, s.vocabulary), s.width);
  p.step(x.bit(), gradient | scalar, {.saves = gradient.bit(), .forward_temporary = 2 * chunk + p.rounded(checked::mul(rows, s.model->hidden), s.width), .temporary_block = chunk, .temporaries = row::logits, .releases_first = true});
  return scalar;
}

}  // namespace headroom::ops
