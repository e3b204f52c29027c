// Distributed under the Boost Software License, Version 1.0.
// From logits to the scalar, where a method compares log-probabilities of labels (DPO and its relatives) or distributions (distillation).
// Which trainer does what, with its source: recipe/method_loss.hpp. Sizes beside v = vocabulary × tokens numbers are not counted.
#pragma once

#include <headroom/block/divergence_loss.hpp>

namespace headroom::ops {

/// Cross entropy of the first half of the samples, whose shifted logits are copied: the likelihood that ORPO and CPO add. Or of the logits as they are.
/// Of TPO's third answers, and of TRL's chosen ones, all tokens are taken to be labelled.
constexpr tensor first_half_entropy(program& p, const scene& s, tensor logits) {
  if (s.scoring.likelihood == half_entropy::unused) {
    const auto named = p.make(p.elements(logits) / 2, p.width(logits), row::logits);
    p.step(0, named.bit(), {.holds = logits.bit()});
    p.hold_in_forward(named);
    return named;
  }
  const std::int64_t parts = s.scoring.likelihood == half_entropy::after_of_third ? 3 : 2;
  const auto half = p.view(logits, p.elements(logits) / parts);
  p.step(logits.bit(), half.bit());
  auto shifted = half;
  if (s.scoring.likelihood != half_entropy::after_as_they_are) {
    shifted = p.make(checked::mul(s.samples / parts, s.sequence > 1 ? s.sequence - 1 : 1, s.vocabulary), p.width(logits), row::logits);
    p.step(half.bit(), shifted.bit());
  }
  const auto all = p.make(p.elements(shifted), p.width(shifted), row::logits), scalar = p.make(1, 4);
  p.step(shifted.bit(), all.bit(), {.saves = all.bit()});
  p.step(all.bit(), scalar.bit(), {.saves = all.bit()});
  return scalar;
}

/// A metric: the logits' entropy, so many tokens at a time (trl/trainer/utils.py entropy_from_logits: log-probabilities, exponentials and their
/// product). A slice of several samples is copied first, where its tokens stand in one row.
constexpr void entropy_metric(program& p, const scene& s, tensor logits, std::int64_t chunk) {
  const auto how = s.scoring.entropy;
  const auto of_sample = s.sequence > 1 ? s.sequence - 1 : 1, positions = checked::mul(s.samples, of_sample);
  if (how == logits_entropy::all_at_once) chunk = s.tokens;
  if (how == logits_entropy::by_sample) chunk = s.scored > 0 ? s.scored : of_sample;
  if (how == logits_entropy::with_graph) {  // both are of the logits' format, and nothing of them is needed in backward
    const auto flat = s.samples == 1 ? p.view(logits, checked::mul(positions, s.vocabulary)) : p.make(checked::mul(positions, s.vocabulary), p.width(logits), row::logits);
    const auto all = p.make(p.elements(flat), p.width(logits), row::logits), raised = p.make(p.elements(flat), p.width(logits), row::logits);
    p.step(0, flat.bit(), {.holds = logits.bit()});
    p.step(0, all.bit(), {.holds = logits | flat});
    return p.step(0, raised.bit(), {.holds = logits | flat | all});
  }
  const auto part = 3 * p.rounded(checked::mul(chunk < positions ? chunk : positions, s.vocabulary), p.width(logits));
  if (s.samples == 1 || how == logits_entropy::in_chunks || how == logits_entropy::by_sample) return p.step(0, 0, {.holds = logits.bit(), .forward_temporary = part, .temporaries = row::logits});
  const auto copy = p.make(checked::mul(positions, s.vocabulary), p.width(logits), row::logits), entropy = p.make(positions, p.width(logits));
  p.step(0, copy.bit(), {.holds = logits.bit()});
  p.step(copy.bit(), entropy.bit(), {.forward_temporary = part, .temporaries = row::logits});
}

/// A metric: means of the labelled logits of one half of the samples, then of the other's, each a copy.
constexpr void mean_metric(program& p, tensor logits, tensor beside) {
  const auto half = p.make(p.elements(logits) / 2, p.width(logits), row::logits);
  p.step(0, half.bit(), {.holds = logits | beside});
}

/// Metrics of KTO: samples that are wanted, taken to be half of them, the others, and the tokens of the first, each a copy.
constexpr void verdict_metrics(program& p, const scene& s, tensor logits) {
  const auto half = checked::mul(s.samples, s.sequence > 1 ? s.sequence - 1 : 1, s.vocabulary) / 2;
  const auto wanted = p.make(half, p.width(logits), row::logits), others = p.make(half, p.width(logits), row::logits), tokens = p.make(half, p.width(logits), row::logits);
  p.step(0, wanted.bit(), {.holds = logits.bit()});
  p.step(0, others.bit());
  p.step(wanted.bit(), tokens.bit(), {.holds = others.bit()});
}

/// Scores of the policy, of the reference, and what becomes of both. `entropy_chunk`: tokens of which a metric is made at once.
constexpr tensor compared_scores(program& p, const scene& s, tensor logits, std::int64_t entropy_chunk = 128) {
  const auto& how = s.scoring;
  const auto scalar = p.make(1, 4);
  tensor_set parts{};
  if (how.likelihood == half_entropy::before) parts |= first_half_entropy(p, s, logits).bit();
  parts |= scores_of(p, s, logits).bit();
  const bool last = how.likelihood == half_entropy::after_reference, after = how.likelihood > half_entropy::before && !last;
  if (after) {
    const auto likelihood = first_half_entropy(p, s, logits);
    if (how.likelihood != half_entropy::unused) parts |= likelihood.bit();
  }
  if (how.means_halves) mean_metric(p, logits, {});
  if (s.compares) {
    p.other_here();
    const auto hidden = others_hidden_states(p, s), theirs = others_logits(p, s, p.width(logits));
    parts |= scores_of(p, s, theirs).bit();
    if (after) first_half_entropy(p, s, theirs);
    if (how.means_halves) mean_metric(p, theirs, hidden);
  }
  if (last) parts |= first_half_entropy(p, s, logits).bit();
  p.step(parts, scalar.bit());
  if (how.entropy != logits_entropy::none) entropy_metric(p, s, logits, entropy_chunk);
  if (how.copies_by_verdict) verdict_metrics(p, s, logits);
  return scalar;
}

/// Tensor.div_ of a view of the logits, which all of them are then computed from: in backward the gradient is copied whole, its part copied
/// once more and divided (torch csrc/autograd/functions/tensor.cpp CopySlices::apply_impl).
constexpr tensor divided_in_place(program& p, const scene& s, tensor logits) {
  const auto y = p.view(logits, p.elements(logits));
  const auto positions = s.scoring.shifts ? read_positions(s) : s.sequence;
  const bool whole = s.scoring.scores == label_scores::in_kernel && s.scoring.shifts;  // before the part is cut out: a quotient of its own
  const auto part = whole ? bytes{0} : p.rounded(checked::mul(s.samples, positions, s.vocabulary), p.width(logits));
  p.step(logits.bit(), y.bit(), {.backward_temporary = 2 * part, .temporaries = row::logits});
  return y;
}

/// Logits / temperature, of the slice that is read: the quotient takes the logits' name, who are gone with it. Where all are read, what the model
/// returned still names them.
constexpr tensor divided_into_copy(program& p, const scene& s, tensor logits) {
  const auto x = s.scoring.shifts ? without_last(p, s, logits) : logits;
  if (!s.scoring.shifts) p.hold_in_forward(logits);
  const auto y = p.make(p.elements(x), p.width(x), row::logits);
  p.step(x.bit(), y.bit());
  p.hold_in_forward(y);
  return y;
}

/// What the loss reads, and what a variable names.
constexpr tensor divided(program& p, const scene& s, tensor logits) {
  if (s.scoring.divides == divided_by_temperature::into_copy) return divided_into_copy(p, s, logits);
  if (s.scoring.names_logits) p.hold_in_forward(logits);
  return s.scoring.divides == divided_by_temperature::in_place ? divided_in_place(p, s, logits) : logits;
}

/// What the model returned, and the scalar that its trainer makes of it.
constexpr tensor method_scalar(program& p, const scene& s, tensor logits) {
  logits = cast(p, logits, s.scoring.widens ? 4 : s.loss.logits.width());
  tensor_set own{};  // transformers loss/loss_utils.py ForCausalLMLoss: of an fp32 copy, which only its log-probabilities outlive
  if (s.scoring.likelihood == half_entropy::by_model) own = cross_entropy(p, s, cast(p, logits, 4)).bit();
  p.returns_here();
  if (s.scoring.keeps_logits) p.hold_through_backward(logits);
  logits = divided(p, s, logits);
  if (!s.scoring.divergence) return compared_scores(p, s, logits);
  const auto apart = s.scoring.in_pieces ? divergence_in_pieces(p, s, logits) : divergence_from_teacher(p, s, logits);
  if (own == 0) return apart;
  const auto sum = p.make(1, 4);
  p.step(own | apart, sum.bit());
  return sum;
}

}  // namespace headroom::ops
