// Distributed under the Boost Software License, Version 1.0.
// From the last layer's output to the scalar: final norm, head, cross entropy.
#pragma once

#include <headroom/block/operations.hpp>

namespace headroom {

namespace ops {

/// log_softmax and nll_loss, in so many pieces: the log-probabilities are saved, the scalar and its total weight remain.
/// Backward makes the nll's gradient, then log_softmax's, of one piece at a time.
constexpr tensor cross_entropy(program& p, const scene& s, tensor logits, std::int64_t pieces = 1) {
  const auto probabilities = p.make(p.elements(logits), p.width(logits), row::logits);
  const auto scalar = p.make(1, 4);
  const auto weight = p.make(1, 4);
  p.step(logits.bit(), probabilities | scalar | weight,
         {.saves = probabilities | weight | (s.habits->softmax_keeps_input ? logits.bit() : 0), .backward_temporary = ceil_div(p.size(probabilities), pieces), .pieces = pieces, .temporaries = row::logits});
  return scalar;
}

/// Head and loss in one (Liger-Kernel, ops/fused_linear_cross_entropy.py): rows are cut into chunks whose logits are about as
/// large as the input, their gradient overwrites them, and the gradients of input and weight are finished in forward.
constexpr tensor fused_linear_cross_entropy(program& p, const scene& s, tensor x, bool trains) {
  const auto cuts = checked::ceil_div(s.vocabulary, s.model->hidden);
  const auto chunk = checked::power_of_two_ceil(checked::ceil_div(s.tokens, cuts));
  const auto weights = checked::mul(s.vocabulary, s.model->hidden);
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
                          .weight_gradient = trains ? p.rounded(weights, s.weight_width) : bytes{0}, .temporaries = row::logits, .releases_first = true});
  return scalar;
}

}  // namespace ops

/// The head and its loss, as the framework computes them. Logits are tokens × padded vocabulary.
constexpr program head_and_loss(const scene& s, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  const auto& habits = *s.habits;
  program p(s.granule);
  const auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  const auto n = ops::norm(p, s, x, m.hidden, trained.has(module::norm));
  const bool trains = trained.has(module::head);
  const auto loss_width = s.loss.logits.width();
  const std::int64_t chunk = s.loss.kind == loss_kind::chunked ? checked::mul(s.loss.chunk_tokens, s.samples) : s.tokens;
  const auto pieces = checked::ceil_div(s.tokens, chunk);
  const bool chunked_head = pieces > 1 && s.loss.chunked_head == choice::yes;

  if (s.loss_program == loss_style::fused_linear) {
    p.set_output(ops::fused_linear_cross_entropy(p, s, n, trains));
    return p;
  }

  const ops::matrix head{.in = m.hidden, .out = s.vocabulary, .bias = m.head_bias, .trains = trains,
                         .quantised = s.quantised.has(module::head), .pieces = chunked_head ? pieces : 1, .result = row::logits};
  auto logits = ops::multiply(p, s, n, head);
  if (s.adapts(module::head)) logits = ops::adapt(p, s, n, logits, m.hidden, s.vocabulary);

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
      logits = ops::cast(p, logits, loss_width);
      if (habits.keeps_outputs) p.hold_through_backward(logits);
      p.hold_in_forward(logits);
      p.returns_here();
      const auto shifted = p.make(checked::mul(checked::mul(s.samples, s.sequence - 1), s.vocabulary), p.width(logits), row::logits);
      p.step(logits.bit(), shifted.bit());
      p.hold_in_forward(shifted);
      p.set_output(ops::cross_entropy(p, s, shifted));
      break;
    }
    case loss_style::upcast_in_loss:
    case loss_style::autocast: {
      if (habits.keeps_outputs) p.hold_through_backward(logits);
      if (habits.outputs_live_in_loss) p.hold_in_forward(logits);
      p.returns_here();
      const auto wide = ops::cast(p, logits, loss_width);
      p.hold_in_forward(wide);
      p.set_output(ops::cross_entropy(p, s, wide));
      break;
    }
    case loss_style::plain: {
      if (habits.keeps_outputs) p.hold_through_backward(logits);
      p.hold_in_forward(logits);
      p.returns_here();
      p.set_output(ops::cross_entropy(p, s, logits));
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
    case loss_style::fused_linear: break;  // returned above
  }
  return p;
}

}  // namespace headroom
