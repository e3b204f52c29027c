// Distributed under the Boost Software License, Version 1.0.
// From logits to the scalar, by each kernel or sequence of kernels that trainers use for it.
#pragma once

#include <headroom/block/linear.hpp>

namespace headroom::ops {

/// log_softmax and nll_loss, in so many pieces: the log-probabilities are saved, the scalar and its total weight remain.
/// Backward makes the nll's gradient, then log_softmax's, of one piece at a time.
constexpr tensor cross_entropy(program& p, const scene& s, tensor logits, std::int64_t pieces = 1) {
  const auto probabilities = p.make(p.elements(logits), p.width(logits), row::logits);
  const auto scalar = p.make(1, p.width(logits));
  const auto weight = p.make(1, p.width(logits));
  if (pieces == 1) {
    p.step(logits.bit(), probabilities.bit(), {.saves = (s.habits->autograd.softmax_keeps_input ? logits.bit() : 0) | probabilities});
    p.step(probabilities.bit(), scalar | weight, {.saves = probabilities | weight});
    return scalar;
  }
  p.step(logits.bit(), probabilities | scalar | weight,
         {.saves = probabilities | weight | (s.habits->autograd.softmax_keeps_input ? logits.bit() : 0), .backward_temporary = ceil_div(p.size(probabilities), pieces), .pieces = pieces, .temporaries = row::logits});
  return scalar;
}

/// Cross entropy of 16-bit logits under autocast: log_softmax, which is asked for its input's format, stays in it
/// (aten/src/ATen/native/LossNLL.cpp cross_entropy_loss), and nll_loss, on autocast's fp32 list, casts and saves what it reads.
constexpr tensor autocast_cross_entropy(program& p, const scene& s, tensor logits) {
  const auto probabilities = p.make(p.elements(logits), p.width(logits), row::logits);
  p.step(logits.bit(), probabilities.bit(), {.saves = probabilities.bit() | (s.habits->autograd.softmax_keeps_input ? logits.bit() : 0)});
  const auto wide = cast(p, probabilities, 4);
  const auto scalar = p.make(1, 4);
  const auto weight = p.make(1, 4);
  p.step(wide.bit(), scalar | weight, {.saves = wide | weight});
  return scalar;
}

/// Cross entropy over a divided vocabulary (torch distributed/tensor/parallel/loss.py, _log_softmax_handler and
/// _nll_loss_and_log_softmax_backward): shifted logits, their exponentials and log-probabilities beside the fp32 logits; in backward
/// zeros with the targets set, exponentials, their sum and its product with the loss's gradient beside the log-probabilities.
constexpr tensor divided_cross_entropy(program& p, tensor logits) {
  const auto probabilities = p.make(p.elements(logits), 4, row::logits);
  const auto scalar = p.make(1, 4);
  const bytes one = p.size(probabilities);
  p.step(logits.bit(), probabilities | scalar,
         {.saves = probabilities.bit(), .forward_temporary = one, .backward_temporary = 2 * one, .temporary_block = one, .temporaries = row::logits});
  return scalar;
}

/// One kernel forward and one backward: the logits are read again for their gradient.
constexpr tensor compiled_cross_entropy(program& p, const scene& s, tensor logits) {
  const auto rows = p.make(checked::mul(2, s.tokens), 4);  // maximum and sum of each
  const auto scalar = p.make(1, 4);
  const auto targets = s.habits->compile.scatters_loss_gradient ? p.rounded(p.elements(logits), 4) : bytes{0};
  p.step(logits.bit(), rows | scalar, {.saves = rows | logits, .backward_temporary = targets, .temporaries = row::logits});
  return scalar;
}

/// torchtune's CEWithChunkedOutputLoss (modules/loss/ce_chunked_output_loss.py): one chunk of the logits after another is cast to fp32, and
/// what its log_softmax makes is saved; backward makes both fp32 gradients of one chunk, and its cast. Compiled, cast included, a chunk is
/// kept as it is and its gradient takes its place (torch/_functorch/config.py donated_buffer; the README's LoRA rows leave room for no more).
constexpr tensor chunk_by_chunk_cross_entropy(program& p, const scene& s, tensor logits, std::int64_t pieces) {
  if (s.compiled_loss) {
    const auto rows = p.make(checked::mul(2, s.tokens), 4);
    const auto scalar = p.make(1, 4);
    p.step(logits.bit(), rows | scalar, {.saves = rows | logits, .releases_first = true});
    return scalar;
  }
  const auto probabilities = p.make(p.elements(logits), 4, row::logits);
  const auto scalar = p.make(1, 4);
  const auto chunk = ceil_div(p.size(probabilities), pieces);
  p.step(logits.bit(), probabilities | scalar,
         {.saves = probabilities.bit(), .forward_temporary = chunk, .backward_temporary = 2 * chunk, .pieces = pieces, .temporary_block = chunk, .temporaries = row::logits});
  return scalar;
}

/// The loss of torchtitan's logits: fp32 inside the loss function, a compiled one, or over the divided vocabulary.
constexpr tensor titan_cross_entropy(program& p, const scene& s, tensor logits) {
  const bool divided = s.loss.kind == loss_kind::vocab_parallel;
  if (s.compiled_loss && !divided) return compiled_cross_entropy(p, s, logits);
  p.hold_in_forward(logits);  // the caller's, until it calls backward
  const auto wide = cast(p, logits, 4);
  p.hold_in_forward(wide);    // an argument of the loss function
  return divided ? divided_cross_entropy(p, wide) : cross_entropy(p, s, wide);
}

}  // namespace headroom::ops
