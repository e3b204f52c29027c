// Distributed under the Boost Software License, Version 1.0.
// From the last layer's output to the scalar: final norm, head, cross entropy.
#pragma once

#include <headroom/block/operations.hpp>
#include <headroom/block/span.hpp>

namespace headroom {

namespace ops {

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

/// torchtitan's ChunkedLossWrapper (components/loss.py): for each chunk of tokens head, loss and their backward run in turn. The head's
/// gradients are added up, the input's are collected in fp32 and then cast; the model's backward begins with them.
constexpr tensor chunked_head_and_loss(program& p, const scene& s, tensor x, const matrix& head) {
  const auto hidden = s.model->hidden;
  scene part = s;
  part.tokens = checked::ceil_div(s.tokens, s.habits->loss.chunks);
  if (s.loss.chunk_tokens > 0) part.tokens = checked::mul(s.samples, s.loss.chunk_tokens) < s.tokens ? s.samples * s.loss.chunk_tokens : s.tokens;
  program chunk(s.granule);
  const auto rows = chunk.input(checked::mul(part.tokens, hidden), p.width(x), true);
  chunk.set_output(titan_cross_entropy(chunk, part, multiply(chunk, part, rows, head)));
  const auto forward = walk_forward(chunk).peak.total, backward = walk_backward(chunk).peak.total;
  p.leave_holes(max(bytes{0}, span_of(chunk) + chunk.size(rows) - max(forward, backward)));
  const auto sum = head.trains ? p.rounded(checked::mul(hidden, head.out), s.accumulated_width) : bytes{0};
  const auto collected = p.make(checked::mul(s.tokens, hidden), 4);
  p.step(0, collected.bit(), {.holds = x.bit(), .forward_temporary = max(forward, backward) - chunk.size(rows) + sum, .temporary_block = chunk.rounded(checked::mul(part.tokens, head.out), 4), .temporaries = row::logits});
  const auto gradient = p.make(p.elements(x), p.width(x));
  const auto scalar = p.make(1, 4);
  p.step(x | collected, gradient | scalar,
         {.saves = gradient.bit(), .weight_gradient = head.trains ? p.rounded(checked::mul(hidden, head.out), s.weight_width) : bytes{0}, .gradient_waits = head.waits, .releases_first = true});
  return scalar;
}

/// Head and loss in one (Liger-Kernel, ops/fused_linear_cross_entropy.py): rows are cut into chunks whose logits are about as
/// large as the input, their gradient overwrites them, and the gradients of input and weight are finished in forward.
constexpr tensor fused_linear_cross_entropy(program& p, const scene& s, tensor x, bool trains) {
  const auto cuts = checked::ceil_div(s.vocabulary, s.model->hidden);
  const auto chunk = checked::power_of_two_ceil(checked::ceil_div(s.tokens, cuts));
  const auto weights = checked::mul(s.vocabulary, s.model->embedding_width());
  const auto input_gradient = p.make(p.elements(x), p.width(x));
  const auto scalar = p.make(1, 4);
  tensor_set makes = input_gradient | scalar;
  tensor_set saves = input_gradient.bit();
  if (trains) {
    const auto weight_gradient = p.make(weights, s.width);
    makes |= weight_gradient.bit();
    saves |= weight_gradient.bit();
  }
  p.step(x.bit(), makes, {.saves = saves, .forward_temporary = p.rounded(checked::mul(chunk, s.vocabulary), s.width) + p.rounded(s.tokens, 4),
                          .weight_gradient = trains ? p.rounded(weights, s.weight_width) : bytes{0}, .gradient_waits = s.model->tied, .temporaries = row::logits, .releases_first = true});
  return scalar;
}

}  // namespace ops

/// The head and its loss, as the framework computes them. Logits are tokens × padded vocabulary, or this rank's share of it.
constexpr program head_and_loss(const scene& s, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  const auto& habits = *s.habits;
  program p(s.granule);
  p.sum_out_of_place(habits.autograd.sums_out_of_place);
  const auto x = p.input(checked::mul(s.stream_tokens(), m.hidden), s.residual_width, input_has_gradient);
  const bool trains = trained.has(module::head);
  auto n = ops::gather_tokens(p, s, m.no_final_norm ? x : ops::norm(p, s, x, m.hidden, trained.has(module::norm)), m.hidden);
  if (m.embedding_dim > 0) n = ops::multiply(p, s, n, {.in = m.hidden, .out = m.embedding_dim, .trains = trains});  // OPTDecoder's project_out
  const auto loss_width = s.loss.logits.width();
  const bool chunked = s.loss.kind == loss_kind::chunked && (s.loss_program == loss_style::chunked || s.loss_program == loss_style::chunked_in_loss);
  const std::int64_t chunk = chunked ? checked::mul(s.loss.chunk_tokens, s.samples) : s.tokens;
  const auto pieces = checked::ceil_div(s.tokens, chunk);
  const bool chunked_head = pieces > 1 && s.loss.chunked_head == choice::yes;

  if (s.loss_program == loss_style::fused_linear) {
    p.set_output(ops::fused_linear_cross_entropy(p, s, n, trains));
    return p;
  }

  const ops::matrix head{.in = m.embedding_width(), .out = s.divided(s.vocabulary), .bias = m.head_bias, .trains = trains,
                         .quantised = s.quantised.has(module::head), .waits = m.tied, .pieces = chunked_head ? pieces : 1,
                         .result = row::logits};
  if (s.loss_program == loss_style::chunked_head) [[unlikely]] {
    p.set_output(ops::chunked_head_and_loss(p, s, n, head));
    return p;
  }
  auto logits = ops::multiply(p, s, n, head);
  if (s.adapts(module::head)) logits = ops::adapt(p, s, n, logits, m.embedding_width(), s.vocabulary);
  if (s.tensor > 1 && s.loss.kind != loss_kind::vocab_parallel) [[unlikely]] {  // every rank gets all logits
    const auto whole = p.make(checked::mul(s.tokens, s.vocabulary), p.width(logits), row::logits);
    p.step(logits.bit(), whole.bit());
    logits = whole;
  }

  switch (s.loss_program) {
    case loss_style::chunked: {
      // litgpt: chunks come back as fp32 (Fabric converts a module's outputs) in a list that the loop keeps.
      const auto wide = p.make(p.elements(logits), loss_width, row::logits);
      if (loss_width != p.width(logits)) {
        p.step(logits.bit(), wide.bit(), {.pieces = chunked_head ? pieces : 1, .temporaries = row::logits});
        logits = wide;
      }
      p.hold_through_backward(logits);
      p.returns_here();
      if (!chunked_head && s.samples > 1) logits = ops::pointwise(p, logits);  // the last position is cut off, then flattened
      p.set_output(ops::cross_entropy(p, s, logits, pieces));
      break;
    }
    case loss_style::upcast_shifted: {
      const bool leaves = m.fused_qkv && s.autocast;
      if (!leaves) logits = ops::cast(p, logits, loss_width);
      if (habits.loss.keeps_outputs()) p.hold_through_backward(logits);
      p.hold_in_forward(logits);
      if (!leaves) p.returns_here();
      const auto elements = checked::mul(checked::mul(s.samples, s.sequence > 1 ? s.sequence - 1 : 1), s.vocabulary);
      const auto shifted = s.samples > 1 ? p.make(elements, p.width(logits), row::logits) : p.view(logits, elements);  // one slice is contiguous as it is
      p.step(logits.bit(), shifted.bit());
      p.hold_in_forward(shifted);
      if (leaves) {
        p.set_output(ops::autocast_cross_entropy(p, s, shifted));
        if (habits.autocast.converts_outputs)
          p.step(0, 0, {.holds = logits.bit(), .forward_temporary = p.rounded(p.elements(logits), 4), .temporaries = row::logits});
      } else {
        p.set_output(ops::cross_entropy(p, s, shifted));
      }
      break;
    }
    case loss_style::upcast_in_loss:
    case loss_style::autocast: {
      if (habits.loss.keeps_outputs()) p.hold_through_backward(logits);
      if (habits.loss.outputs != output_lifetime::unnamed) p.hold_in_forward(logits);
      p.returns_here();
      auto wide = ops::cast(p, logits, loss_width);
      p.hold_in_forward(wide);
      if (habits.loss.shifts_logits && s.samples > 1) [[unlikely]] {
        const auto shifted = p.make(checked::mul(checked::mul(s.samples, s.sequence > 1 ? s.sequence - 1 : 1), s.vocabulary), p.width(wide), row::logits);
        p.step(wide.bit(), shifted.bit());
        p.hold_in_forward(shifted);
        wide = shifted;
      }
      p.set_output(ops::cross_entropy(p, s, wide));
      break;
    }
    case loss_style::plain: {
      if (habits.loss.keeps_outputs()) p.hold_through_backward(logits);
      p.hold_in_forward(logits);
      p.returns_here();
      p.set_output(ops::cross_entropy(p, s, logits));
      break;
    }
    case loss_style::chunked_in_loss: {
      if (!chunked_head) logits = ops::cast(p, logits, loss_width);
      p.hold_in_forward(logits);  // the caller's, until it calls backward
      p.returns_here();
      if (chunked_head)
        p.set_output(ops::chunk_by_chunk_cross_entropy(p, s, logits, pieces));
      else
        p.set_output(s.compiled_loss ? ops::compiled_cross_entropy(p, s, logits) : ops::cross_entropy(p, s, logits));
      break;
    }
    case loss_style::whole_or_divided: {
      p.returns_here();
      p.set_output(ops::titan_cross_entropy(p, s, logits));
      break;
    }
    case loss_style::in_place: {
      // One kernel: the logits become their own gradient; a log-sum-exp and a loss a row are kept.
      const auto rows = p.make(s.tokens, 4);
      const auto scalar = p.make(1, 4);
      p.step(logits.bit(), rows | scalar, {.saves = rows | logits, .releases_first = true});
      p.set_output(scalar);
      break;
    }
    case loss_style::chunked_head:
    case loss_style::fused_linear: break;  // returned above
  }
  return p;
}

}  // namespace headroom
