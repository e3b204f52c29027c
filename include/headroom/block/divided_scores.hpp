// Distributed under the Boost Software License, Version 1.0.
// Log-probabilities of labels of a rank's part of the logits that a model over Megatron's layers returns. Sources: modelscope/ms-swift 3602360a of
// 2026-08-22 swift/megatron/trainers/vocab_parallel_utils.py vocab_parallel_log_softmax and vocab_parallel_gather_logps, grpo_trainer.py forward_step;
// NVIDIA-NeMo/RL 7ea279ab of 2026-08-22 nemo_rl/distributed/model_utils.py DistributedLogprob, nemo_rl/models/megatron/train.py.
#pragma once

#include <headroom/block/megatron.hpp>

namespace headroom::megatron {

/// The log-softmax over the words of all ranks: torch's, which saves what it makes; or, where the words are divided, of the largest of each token, the
/// exponentials of what is left, which are saved, their sum, and the difference again. A variable names the exponentials to the end.
constexpr tensor divided_log_softmax(program& p, const scene& s, tensor x) {
  const auto n = p.elements(x), rows = s.tokens;
  const auto like = [&] { return p.make(n, 4, row::logits); };
  const auto all = like();
  if (s.tensor == 1) {
    p.step(x.bit(), all.bit(), {.saves = all.bit()});
    return all;
  }
  const auto largest = p.make(rows, 4), order = p.make(rows, 8);
  p.step(x.bit(), largest | order, {.saves = order.bit()});
  const auto below = like(), exponentials = like(), sums = p.make(rows, 4);
  p.step(x | largest, below.bit(), {.passes_gradient = true});
  p.step(below.bit(), exponentials | sums, {.saves = exponentials.bit()});  // a sum's gradient is a view of one number a token
  const auto again = like();
  p.step(x | largest, again.bit(), {.passes_gradient = true});
  p.step(again | sums, all.bit(), {.saves = sums.bit(), .holds = exponentials.bit(), .passes_gradient = true});
  return all;
}

/// NeMo-RL's: a function of its own, in whose forward the differences from the largest logit stand beside their exponentials, then beside the
/// log-probabilities, and these beside the probabilities, which are kept for backward; there the gradient is made beside them. The logits are named
/// until the loss is there: by their fp32 form, or (defer_fp32_logits) by what the head made. Of samples in one row each goes through it by itself,
/// which takes most in forward where there is but one; in backward of many the probabilities of those that wait, the sum of their gradients and one as
/// large as all stand side by side, which is no more (since torch 2 the sum is made in place).
constexpr tensor kept_probabilities(program& p, const scene& s, tensor logits) {
  const bool late = s.loss.logits.bits == 16;
  if (late) p.hold_in_forward(logits);
  const auto wide = ops::cast(p, logits, 4);
  if (!late) p.hold_in_forward(wide);
  const auto probabilities = p.make(p.elements(wide), 4, row::logits), scores = p.make(s.tokens, 4), labels = p.make(s.tokens, 8);
  p.step(wide.bit(), scores | probabilities | labels, {.saves = probabilities | labels, .forward_temporary = p.size(wide), .temporaries = row::logits});
  return scores;
}

/// From the head's logits to a number for each token: rows are turned to batch first, which copies several; Float16Module makes them fp32; the
/// temperature divides them where they lie; log-probabilities are gathered by label.
constexpr tensor divided_scores(program& p, const scene& s, tensor logits) {
  if (s.samples > 1 && !s.scoring.one_row) {
    const auto turned = p.make(p.elements(logits), p.width(logits), row::logits);
    p.step(logits.bit(), turned.bit());
    logits = turned;
  }
  if (s.scoring.saves_softmax) return kept_probabilities(p, s, logits);
  const auto wide = ops::cast(p, logits, 4), divided = p.view(wide, p.elements(wide));
  p.step(wide.bit(), divided.bit(), {.backward_temporary = p.size(wide), .temporaries = row::logits});
  p.hold_in_forward(divided);
  const auto all = divided_log_softmax(p, s, divided), scores = p.make(s.tokens, 4), order = p.make(s.tokens, 8);
  p.step(all.bit(), scores | order, {.saves = order.bit()});
  return scores;
}

/// What scores without a graph hold of logits of `width` at once: the model that is not wrapped returns them in its own format (utils.py
/// compute_per_token_logps_fn): the logits, and their log-softmax; or with them the exponentials and a difference.
constexpr bytes scores_alone(bytes logits, std::int64_t tensor) { return (tensor > 1 ? 4 : 2) * logits; }

/// … NeMo-RL's: fp32 logits, the differences and their exponentials or log-probabilities; beside them the logits as the head made them, where those are named.
constexpr bytes probabilities_alone(bytes logits, std::int64_t width, bool late) { return 3 * (4 * logits / width) + (late ? logits : bytes{0}); }

}  // namespace headroom::megatron
