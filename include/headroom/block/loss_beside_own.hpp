// Distributed under the Boost Software License, Version 1.0.
// A loss of the caller's own beside the model's, which nobody reads.
#pragma once

#include <headroom/block/cross_entropy.hpp>

namespace headroom::ops {

/// LLaMA-Factory's second trainer (ff6d4d12 of 2026-08-18: src/llamafactory/v1/core/base_trainer.py compute_log_probs): the model is called with labels, so that it
/// makes fp32 logits and a cross entropy of its own (transformers loss/loss_utils.py ForCausalLMLoss), whose log-probabilities its output names until the
/// function returns; then fp32 logits again, a shifted copy of them, which one sample makes without copying, and a cross entropy of each token.
constexpr tensor loss_beside_own(program& p, const scene& s, tensor logits, std::int64_t shifted_elements) {
  p.hold_in_forward(logits);
  const auto theirs = p.make(p.elements(logits), 4, row::logits), named = p.make(p.elements(logits), 4, row::logits);
  p.step(0, theirs.bit(), {.holds = logits.bit()});
  p.step(0, named.bit(), {.holds = theirs.bit()});
  p.hold_in_forward(named);
  p.returns_here();
  const auto wide = cast(p, logits, 4);
  p.hold_in_forward(wide);
  const auto shifted = s.samples > 1 ? p.make(shifted_elements, 4, row::logits) : p.view(wide, shifted_elements);
  p.step(wide.bit(), shifted.bit());
  p.hold_in_forward(shifted);
  return cross_entropy(p, s, shifted);
}

}  // namespace headroom::ops
