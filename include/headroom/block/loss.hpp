// Distributed under the Boost Software License, Version 1.0.
// From the last layer's output to the scalar: final norm, head, and what becomes of logits until their cross entropy (block/cross_entropy.hpp).
#pragma once

#include <headroom/block/altup.hpp>
#include <headroom/block/balancing_loss.hpp>
#include <headroom/block/checkpointed_chunks.hpp>
#include <headroom/block/cross_entropy.hpp>
#include <headroom/block/fused_scores.hpp>
#include <headroom/block/loss_beside_own.hpp>
#include <headroom/block/memory_chunked_loss.hpp>
#include <headroom/block/preference_loss.hpp>
#include <headroom/block/span.hpp>

namespace headroom {

namespace ops {

/// What one chunk of tokens needs for head, loss and their backward, beside the rows that it reads.
struct head_chunk {
  bytes temporary{};        ///< at its tallest moment
  bytes holes{};            ///< see program::leave_holes
  std::int64_t tokens{};
};
/// Built in `p`, which is empty and will be cleared: two programs would take twice the stack.
constexpr head_chunk chunk_of_head(program& p, const scene& s, std::int64_t width, const matrix& head) {
  scene part = s;
  part.tokens = checked::ceil_div(s.tokens, s.habits->loss.chunks);
  if (s.loss.chunk_tokens > 0) part.tokens = checked::mul(s.samples, s.loss.chunk_tokens) < s.tokens ? s.samples * s.loss.chunk_tokens : s.tokens;
  const auto rows = p.input(checked::mul(part.tokens, s.model->hidden), width, true);
  p.set_output(titan_cross_entropy(p, part, multiply(p, part, rows, head)));
  const auto tallest = max(walk_forward(p).peak.total, walk_backward(p).peak.total);
  return {.temporary = tallest - p.size(rows), .holes = max(bytes{0}, span_of(p) + p.size(rows) - tallest), .tokens = part.tokens};
}

/// torchtitan's ChunkedLossWrapper (components/loss.py): for each chunk of tokens head, loss and their backward run in turn. The head's
/// gradients are added up, the input's are collected in fp32 and then cast; the model's backward begins with them.
constexpr tensor chunked_head_and_loss(program& p, const scene& s, tensor x, const matrix& head, const head_chunk& chunk) {
  const auto hidden = s.model->hidden;
  p.leave_holes(chunk.holes);
  const auto sum = head.trains ? p.rounded(checked::mul(hidden, head.out), s.accumulated_width) : bytes{0};
  const auto collected = p.make(checked::mul(s.tokens, hidden), 4);
  p.step(0, collected.bit(), {.holds = x.bit(), .forward_temporary = chunk.temporary + sum, .temporary_block = p.rounded(checked::mul(chunk.tokens, head.out), 4), .temporaries = row::logits});
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

/// Cut Cross-Entropy (Wijmans et al. 2024, section 4; apple/ml-cross-entropy, LinearCrossEntropyFunction): logits exist tile by tile in the
/// kernel. The input, a log-sum-exp and the target's logit a row are kept; backward makes the gradients of input and weight whole.
constexpr tensor cut_cross_entropy(program& p, const scene& s, tensor x, bool trains) {
  const auto weights = checked::mul(s.vocabulary, s.model->embedding_width());
  tensor weight{};
  x = cast(p, x, s.width);
  if (s.casts(trains)) {
    weight = p.make(weights, s.width, row::gathered_parameters);
    p.moves_with_matrix(weight);
    p.step(0, weight.bit(), {.weight_gradient = trains ? p.rounded(weights, 4) : bytes{0}, .gradient_waits = s.model->tied});
  }
  const auto sums = p.make(s.tokens, 4), scalar = p.make(1, 4);
  p.step(x | weight, sums | scalar, {.saves = (x | weight) | sums, .forward_temporary = p.rounded(s.tokens, 4), .weight_gradient = trains && !s.casts_weights ? p.rounded(weights, s.weight_width) : bytes{0}, .gradient_waits = s.model->tied});
  return scalar;
}

/// Whether and in how many pieces a trainer that cuts its logits does.
struct logit_pieces {
  std::int64_t count{1};
  bool head{};  ///< the head makes them piece by piece
};
constexpr logit_pieces pieces_of(const scene& s) {
  const bool chunked = s.loss.kind == loss_kind::chunked && (s.loss_program == loss_style::chunked || s.loss_program == loss_style::chunked_in_loss);
  const std::int64_t chunk = chunked ? checked::mul(s.loss.chunk_tokens, s.samples) : s.tokens;
  const auto pieces = checked::ceil_div(s.tokens, chunk);
  return {pieces, pieces > 1 && s.loss.chunked_head == choice::yes};
}

/// The last layer's output, as the head reads it.
constexpr tensor head_input(program& p, const scene& s, const module_set& trained, bool has_gradient) {
  const auto& m = *s.model;
  auto x = p.input(checked::mul(s.stream_tokens(), m.stream_width()), s.wide_outputs ? 4 : s.residual_width, has_gradient);
  if (m.altup.streams > 0) x = join_streams(p, s, trained, x);
  auto n = gather_tokens(p, s, m.no_final_norm ? x : norm(p, s, x, m.hidden, trained.has(module::norm)), m.hidden);
  if (s.wide_outputs) n = cast(p, n, s.width);  // autocast does, for the head
  if (m.embedding_dim == 0) return n;
  return multiply(p, s, n, {.in = m.hidden, .out = m.embedding_dim, .trains = trained.has(module::head)});  // OPTDecoder's project_out
}

/// The last position of each sample is cut off, and what is left is made contiguous.
constexpr std::int64_t shifted_elements(const scene& s) {
  return checked::mul(s.samples, s.sequence > 1 ? s.sequence - 1 : 1, s.vocabulary);
}

/// litgpt: chunks come back as fp32 (Fabric converts a module's outputs) in a list that the loop keeps.
constexpr tensor chunked_loss(program& p, const scene& s, tensor logits, const logit_pieces& pieces) {
  const auto wide = p.make(p.elements(logits), s.loss.logits.width(), row::logits);
  if (s.loss.logits.width() != p.width(logits)) {
    p.step(logits.bit(), wide.bit(), {.pieces = pieces.head ? pieces.count : 1, .temporaries = row::logits});
    logits = wide;
  }
  p.hold_through_backward(logits);
  p.returns_here();
  if (!pieces.head && s.samples > 1) logits = pointwise(p, logits);  // the last position is cut off, then flattened
  return cross_entropy(p, s, logits, pieces.count);
}

/// The loss of logits that the model returns in fp32, and that the loss shifts by one position.
constexpr tensor upcast_shifted_loss(program& p, const scene& s, tensor logits) {
  const bool leaves = s.model->fused_qkv && s.autocast;
  if (!leaves) logits = cast(p, logits, s.loss.logits.width());
  if (s.habits->loss.keeps_outputs()) p.hold_through_backward(logits);
  p.hold_in_forward(logits);
  if (!leaves) p.returns_here();
  const auto elements = shifted_elements(s);
  const auto shifted = s.samples > 1 ? p.make(elements, p.width(logits), row::logits) : p.view(logits, elements);  // one slice is contiguous as it is
  p.step(logits.bit(), shifted.bit());
  p.hold_in_forward(shifted);
  if (!leaves) return cross_entropy(p, s, shifted);
  const auto scalar = autocast_cross_entropy(p, s, shifted);
  if (s.habits->autocast.converts_outputs)
    p.step(0, 0, {.holds = logits.bit(), .forward_temporary = p.rounded(p.elements(logits), 4), .temporaries = row::logits});
  return scalar;
}

/// The loss that makes its logits fp32 itself.
constexpr tensor upcast_in_loss(program& p, const scene& s, tensor logits) {
  const auto& how = s.habits->loss;
  if (how.keeps_outputs()) p.hold_through_backward(logits);
  if (how.outputs != output_lifetime::unnamed) p.hold_in_forward(logits);
  p.returns_here();
  auto wide = cast(p, logits, s.loss.logits.width());
  p.hold_in_forward(wide);
  if (how.shifts_logits && s.samples > 1) [[unlikely]] {
    const auto shifted = p.make(shifted_elements(s), p.width(wide), row::logits);
    p.step(wide.bit(), shifted.bit());
    p.hold_in_forward(shifted);
    wide = shifted;
  }
  return cross_entropy(p, s, wide);
}

/// The loss that runs over chunks of the positions.
constexpr tensor chunked_in_loss(program& p, const scene& s, tensor logits, const logit_pieces& pieces) {
  if (!pieces.head) logits = cast(p, logits, s.loss.logits.width());
  p.hold_in_forward(logits);  // the caller's, until it calls backward
  p.returns_here();
  if (pieces.head) return chunk_by_chunk_cross_entropy(p, s, logits, pieces.count);
  return s.compiled_loss ? compiled_cross_entropy(p, s, logits) : cross_entropy(p, s, logits);
}

/// One kernel: the logits become their own gradient; a log-sum-exp and a loss a row are kept.
constexpr tensor in_place_loss(program& p, const scene& s, tensor logits) {
  const auto rows = p.make(s.tokens, 4), scalar = p.make(1, 4);
  p.step(logits.bit(), rows | scalar, {.saves = rows | logits, .releases_first = true});
  // Unsloth's model returns its logits, which accelerate makes fp32.
  if (s.habits->loss.whole_up_to > 0) p.step(0, 0, {.holds = logits.bit(), .forward_temporary = p.rounded(p.elements(logits), 4), .temporaries = row::logits});
  return scalar;
}

/// ms-swift's ChunkedCrossEntropyLoss, of this rank's positions: log-probabilities of some rows at a time, and again in backward, beside both gradients of them and the one of
/// the rows before, which is written over the logits; then losses of all ranks (swift/sequence_parallel/utils.py, GatherLoss).
constexpr tensor cross_entropy_of_rows(program& p, const scene& s, tensor logits) {
  const bool several = s.loss.chunk_tokens < s.tokens;
  const auto rows = p.rounded(checked::mul(several ? s.loss.chunk_tokens : s.tokens, s.vocabulary), p.width(logits));
  const auto losses = p.make(s.tokens, p.width(logits)), all = p.make(checked::mul(s.tokens, s.context), p.width(logits)), scalar = p.make(1, p.width(logits));
  p.step(logits.bit(), losses.bit(), {.saves = logits.bit(), .forward_temporary = rows, .backward_temporary = (several ? 4 : 3) * rows, .temporaries = row::logits, .releases_first = true});
  p.step(losses.bit(), all.bit());
  p.step(all.bit(), scalar.bit());
  return scalar;
}

/// c·tanh(logits / c), three operations (transformers models/gemma2/modeling_gemma2.py Gemma2ForCausalLM). litgpt's list of chunks is not capped.
constexpr tensor cap_logits(program& p, const scene& s, tensor logits) {
  const auto how = s.loss_program;
  if (s.model->logit_softcap == 0 || how == loss_style::in_place || how == loss_style::chunked || s.compiled_loss) return logits;  // a kernel of the loss does it
  const auto shorter = pointwise(p, logits), bent = p.make(p.elements(logits), p.width(logits), row::logits);
  p.step(shorter.bit(), bent.bit(), {.saves = bent.bit()});
  return pointwise(p, bent);
}

/// From logits to the scalar, where the head makes logits.
constexpr tensor loss_of(program& p, const scene& s, tensor logits, const logit_pieces& pieces) {
  switch (s.loss_program) {
    case loss_style::chunked: return chunked_loss(p, s, logits, pieces);
    case loss_style::upcast_shifted: return upcast_shifted_loss(p, s, logits);
    case loss_style::beside_own: return loss_beside_own(p, s, logits, shifted_elements(s));
    case loss_style::upcast_in_loss:
    case loss_style::autocast: return upcast_in_loss(p, s, logits);
    case loss_style::plain:
    case loss_style::rows_again:
      if (s.habits->loss.keeps_outputs()) p.hold_through_backward(logits);
      p.hold_in_forward(logits);
      p.returns_here();
      return s.loss_program == loss_style::plain ? cross_entropy(p, s, logits) : cross_entropy_of_rows(p, s, logits);
    case loss_style::chunked_in_loss: return chunked_in_loss(p, s, logits, pieces);
    case loss_style::whole_or_divided: p.returns_here(); return titan_cross_entropy(p, s, logits);
    case loss_style::in_place: return in_place_loss(p, s, logits);
    case loss_style::compared: return method_scalar(p, s, logits);
    case loss_style::logits: break;
    case loss_style::chunked_head:
    case loss_style::checkpointed_chunks:
    case loss_style::chunked_by_memory:
    case loss_style::cut:
    case loss_style::fused_scores:
    case loss_style::fused_linear: break;  // these make none
  }
  return logits;
}

/// Head and loss of the last positions of each sample (transformers' logits_to_keep): a slice, which the head's multiplication makes contiguous
/// where there are several samples. Its gradient is padded to all positions.
constexpr tensor loss_of_last(program& p, const scene& s, tensor n, const matrix& head) {
  scene last = s;
  last.sequence = s.kept;
  last.tokens = checked::mul(s.samples, s.kept);
  last.kept = 0;
  const auto elements = checked::mul(last.tokens, head.in);
  const auto part = s.samples > 1 && !s.scoring.one_row ? p.make(elements, p.width(n)) : p.view(n, elements);
  p.step(n.bit(), part.bit());
  auto logits = multiply(p, last, part, head);
  if (s.adapts(module::head)) logits = adapt(p, last, part, logits, head.in, s.vocabulary);
  return loss_of(p, last, cap_logits(p, last, logits), pieces_of(last));
}

}  // namespace ops

/// The head and its loss, as the framework computes them. Logits are tokens × padded vocabulary, or this rank's share of it.
constexpr program head_and_loss(const scene& s, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  const bool trains = trained.has(module::head), chunked_head = s.loss_program == loss_style::chunked_head;
  const auto pieces = ops::pieces_of(s);
  const ops::matrix head{.in = m.embedding_width(), .out = s.divided(s.vocabulary), .bias = m.head_bias, .trains = trains,
                         .quantised = s.quantised.has(module::head), .waits = m.tied, .pieces = pieces.head ? pieces.count : 1, .normalised = m.normalised_head, .as_it_is = !s.fake_head, .result = row::logits};
  program p(s.granule);
  ops::head_chunk chunk;
  if (chunked_head) [[unlikely]] {
    const auto width = p.width(ops::head_input(p, s, trained, input_has_gradient));
    p.clear();
    chunk = ops::chunk_of_head(p, s, width, head);
    p.clear();
  }
  p.sum_out_of_place(s.habits->autograd.sums_out_of_place);
  const auto n = ops::head_input(p, s, trained, input_has_gradient);
  if (chunked_head || s.loss_program == loss_style::fused_linear) {
    const auto scalar = chunked_head ? ops::chunked_head_and_loss(p, s, n, head, chunk) : ops::fused_linear_cross_entropy(p, s, n, trains);
    p.set_output(s.loss.balances_experts ? ops::balance_experts(p, s, scalar) : scalar);
    return p;
  }
  if (s.loss_program == loss_style::cut || s.loss_program == loss_style::chunked_by_memory) {
    p.set_output(s.loss_program == loss_style::cut ? ops::cut_cross_entropy(p, s, n, trains) : ops::memory_chunked_cross_entropy(p, s, n));
    return p;
  }
  if (s.loss_program == loss_style::fused_scores) [[unlikely]] {
    p.set_output(s.loss.kind == loss_kind::cut ? ops::kernel_scores(p, s, n, s.vocabulary, trains, m.tied) : ops::chunk_scores(p, s, n, trains));
    return p;
  }
  if (s.loss_program == loss_style::checkpointed_chunks) [[unlikely]] {
    p.set_output(ops::checkpointed_chunks(p, s, n, trains));
    return p;
  }
  if (s.kept > 0 && s.kept < s.sequence) [[unlikely]] {
    p.set_output(ops::loss_of_last(p, s, n, head));
    return p;
  }
  auto logits = ops::multiply(p, s, n, head);
  if (s.adapts(module::head)) logits = ops::adapt(p, s, n, logits, m.embedding_width(), s.vocabulary);
  if (s.tensor > 1 && s.loss.kind != loss_kind::vocab_parallel) [[unlikely]] {  // every rank gets all logits
    const auto whole = p.make(checked::mul(s.tokens, s.vocabulary), p.width(logits), row::logits);
    p.step(logits.bit(), whole.bit());
    logits = whole;
  }
  const auto scalar = ops::loss_of(p, s, ops::cap_logits(p, s, logits), pieces);
  p.set_output(s.loss.balances_experts ? ops::balance_experts(p, s, scalar) : scalar);
  return p;
}

}  // namespace headroom
