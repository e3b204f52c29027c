// Distributed under the Boost Software License, Version 1.0.
// From logits to the scalar, where a method compares log-probabilities of labels (DPO and its relatives) or distributions (distillation).
// Which trainer does what, with its source: recipe/method_loss.hpp. Sizes beside v = vocabulary × tokens numbers are not counted.
#pragma once

#include <headroom/block/linear.hpp>

namespace headroom::ops {

/// Positions of a sample whose logits are read: all but the last, or the completion's.
constexpr std::int64_t read_positions(const scene& s) { return s.scored > 0 ? s.scored : s.sequence > 1 ? s.sequence - 1 : 1; }

/// Those of each sample, in the same storage; in backward its gradient is padded to that of all.
constexpr tensor without_last(program& p, const scene& s, tensor logits) {
  const auto positions = read_positions(s);
  const auto y = p.view(logits, checked::mul(checked::mul(s.samples, positions), s.vocabulary));
  p.step(logits.bit(), y.bit());
  return y;
}

/// log_softmax of a slice, which is made contiguous where there are several samples, and gather.
constexpr tensor scores_at_once(program& p, const scene& s, tensor x) {
  const auto all = p.make(p.elements(x), p.width(x), row::logits), scores = p.make(s.tokens, p.width(x));
  p.step(x.bit(), all.bit(), {.saves = all.bit(), .forward_temporary = s.samples > 1 && s.scoring.shifts ? p.size(all) : bytes{0}, .temporaries = row::logits});
  p.step(all.bit(), scores.bit(), {.saves = all.bit()});
  return scores;
}

/// One sample after the other. Of 16-bit logits its log-probabilities are saved; in backward gather's zeros, then the gradient. Of fp32 ones
/// gather and logsumexp both save the logits; logsumexp makes exponentials, in backward a difference and its exponential beside the gradient.
constexpr tensor scores_by_sample(program& p, const scene& s, tensor x) {
  const auto n = s.scoring.by_token ? s.tokens : s.scoring.one_row ? 1 : s.samples;
  const auto one = p.rounded(p.elements(x) / n, p.width(x));
  const auto scores = p.make(s.tokens, p.width(x));
  if (p.width(x) < 4 && !p.needs_gradient(x)) {
    p.step(x.bit(), scores.bit(), {.forward_temporary = one, .temporaries = row::logits});
    return scores;
  }
  if (p.width(x) < 4) {
    const auto rows = p.view(x, p.elements(x));
    p.step(x.bit(), rows.bit());
    const auto all = p.make(p.elements(x), p.width(x), row::logits);
    p.step(rows.bit(), all | scores, {.saves = all.bit(), .backward_temporary = one, .pieces = n, .temporaries = row::logits});
    return scores;
  }
  const auto chosen = p.make(s.tokens, 4), sums = p.make(s.tokens, 4);
  p.step(x.bit(), chosen.bit(), {.saves = x.bit()});
  const auto rows = p.view(x, p.elements(x));
  p.step(x.bit(), rows.bit());
  p.step(rows.bit(), sums.bit(), {.saves = rows | sums, .forward_temporary = one, .backward_temporary = 2 * one, .pieces = n, .temporaries = row::logits});
  p.step(chosen | sums, scores.bit());
  return scores;
}

/// 1024 tokens at a time, written into one tensor: in backward each chunk's gradient is padded to all tokens and added.
constexpr tensor scores_in_chunks(program& p, const scene& s, tensor x) {
  constexpr std::int64_t chunk = 1024;
  const auto n = checked::ceil_div(s.tokens, chunk);
  const auto one = p.rounded(checked::mul(n > 1 ? chunk : s.tokens, s.vocabulary), 4);
  const auto chosen = p.make(s.tokens, 4), sums = p.make(s.tokens, 4), scores = p.make(s.tokens, 4);
  p.step(x.bit(), chosen.bit(), {.saves = x.bit()});
  const auto rows = p.view(x, p.elements(x));
  p.step(x.bit(), rows.bit(), {.backward_temporary = n > 1 ? one : bytes{0}, .temporaries = row::logits});
  p.step(rows.bit(), sums.bit(), {.saves = rows | sums, .forward_temporary = one, .backward_temporary = 2 * one, .pieces = n, .temporaries = row::logits});
  p.step(chosen | sums, scores.bit());
  return scores;
}

/// Log-probabilities by one kernel, which saves the logits.
constexpr tensor scores_in_kernel(program& p, const scene& s, tensor x) {
  const auto sums = p.make(s.tokens, 4), scores = p.make(s.tokens, 4);
  p.step(x.bit(), sums | scores, {.saves = x | sums, .releases_first = s.scoring.overwrites});
  return scores;
}

/// What one model's logits become: scores of the labels.
constexpr tensor scores_of(program& p, const scene& s, tensor logits) {
  const auto x = s.scoring.shifts && s.scoring.divides != divided_by_temperature::into_copy ? without_last(p, s, logits) : logits;
  switch (s.scoring.scores) {
    case label_scores::whole: return scores_at_once(p, s, x);
    case label_scores::by_sample: return scores_by_sample(p, s, x);
    case label_scores::in_chunks: return scores_in_chunks(p, s, x);
    case label_scores::in_kernel: break;
  }
  return scores_in_kernel(p, s, x);
}

/// Every layer's input in another model's forward, where it returns them; else none.
constexpr tensor others_hidden_states(program& p, const scene& s) {
  if (!s.scoring.keeps_hidden_states) return {};
  const auto x = p.make(checked::mul(checked::mul(s.model->layers, s.tokens), s.model->hidden), s.residual_width);
  p.step(0, x.bit());
  return x;
}

/// Another model's logits, as its forward returns them, and as the trainer reads them.
constexpr tensor others_logits(program& p, const scene& s, std::int64_t width) {
  const auto raw = p.make(checked::mul(s.tokens, s.vocabulary), s.width, row::logits);
  p.step(0, raw.bit());
  const auto logits = cast(p, raw, width);
  if (s.scoring.names_reference) p.hold_in_forward(logits);
  return logits;
}

/// Cross entropy of the first half of the samples, whose shifted logits are copied: the likelihood that ORPO and CPO add. Or of the logits as they are.
constexpr tensor first_half_entropy(program& p, const scene& s, tensor logits) {
  if (s.scoring.likelihood == half_entropy::unused) {
    const auto named = p.make(p.elements(logits) / 2, p.width(logits), row::logits);
    p.step(0, named.bit(), {.holds = logits.bit()});
    p.hold_in_forward(named);
    return named;
  }
  const auto half = p.view(logits, p.elements(logits) / 2);
  p.step(logits.bit(), half.bit());
  auto shifted = half;
  if (s.scoring.likelihood != half_entropy::after_as_they_are) {
    shifted = p.make(checked::mul(checked::mul(s.samples / 2, s.sequence > 1 ? s.sequence - 1 : 1), s.vocabulary), p.width(logits), row::logits);
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
  const auto half = checked::mul(checked::mul(s.samples, s.sequence > 1 ? s.sequence - 1 : 1), s.vocabulary) / 2;
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
  if (how.likelihood > half_entropy::before) {
    const auto likelihood = first_half_entropy(p, s, logits);
    if (how.likelihood != half_entropy::unused) parts |= likelihood.bit();
  }
  if (how.means_halves) mean_metric(p, logits, {});
  if (s.compares) {
    p.other_here();
    const auto hidden = others_hidden_states(p, s), theirs = others_logits(p, s, p.width(logits));
    parts |= scores_of(p, s, theirs).bit();
    if (how.likelihood > half_entropy::before) first_half_entropy(p, s, theirs);
    if (how.means_halves) mean_metric(p, theirs, hidden);
  }
  p.step(parts, scalar.bit());
  if (how.entropy != logits_entropy::none) entropy_metric(p, s, logits, entropy_chunk);
  if (how.copies_by_verdict) verdict_metrics(p, s, logits);
  return scalar;
}

/// The generalised Jensen-Shannon divergence of two distributions (TRL generalized_jsd_loss, 0 < beta < 1): both models' logits, raw, divided
/// by the temperature and as log-probabilities; two sums, stacked; their log-sum-exp; two divergences, weighted and added; a masked copy.
/// Python's variables keep what they name until the function returns.
constexpr tensor divergence_from_teacher(program& p, const scene& s, tensor logits) {
  const auto like = [&](tensor x, std::int64_t times = 1) { return p.make(checked::mul(times, p.elements(x)), p.width(x), row::logits); };
  const auto named = [&](tensor x) { p.hold_in_forward(x); return x; };
  const auto of = [&](tensor_set reads, tensor y, const operation_details& d = {}) { p.step(reads, y.bit(), d); return y; };
  p.other_here();
  const auto theirs_raw = others_logits(p, s, p.width(logits));
  const auto x = without_last(p, s, logits), t = without_last(p, s, theirs_raw);
  const auto scaled = named(of(x.bit(), like(x))), scaled_t = named(of(t.bit(), like(t)));
  const auto own = like(x), theirs = named(of(scaled_t.bit(), like(t)));
  p.step(scaled.bit(), own.bit(), {.saves = own.bit()});
  p.hold_in_forward(own);
  const auto a = of(own.bit(), like(x)), b = of(theirs.bit(), like(t));
  const auto both = like(x, 2), mixture = like(x);
  p.step(a | b, both.bit());
  p.step(both.bit(), mixture.bit(), {.saves = both | mixture, .forward_temporary = p.size(both) + p.size(mixture), .backward_temporary = 2 * p.size(both), .temporaries = row::logits});
  p.hold_in_forward(mixture);
  const auto weight_t = of(theirs.bit(), like(t)), apart_t = of(theirs | mixture, like(t)), from_t = like(t);
  p.step(weight_t | apart_t, from_t.bit(), {.saves = weight_t.bit()});
  p.hold_in_forward(from_t);
  const auto weight = like(x), apart = like(x), from_own = like(x);
  p.step(own.bit(), weight.bit(), {.saves = weight.bit()});
  p.step(own | mixture, apart.bit());
  p.step(weight | apart, from_own.bit(), {.saves = weight | apart});
  p.hold_in_forward(from_own);
  const auto part_t = of(from_t.bit(), like(x)), part = of(from_own.bit(), like(x)), sum = like(x);
  p.step(part_t | part, sum.bit(), {.passes_gradient = true});
  const auto masked = of(sum.bit(), like(x)), scalar = p.make(1, 4);
  p.step(masked.bit(), scalar.bit());
  return scalar;
}

/// What 512 tokens' divergence leaves for its backward, in tensors as large as these tokens' logits, and what it makes on the way.
struct divergence_piece {
  std::int64_t saved{}, forward{}, backward{};
};
/// ms-swift's jsd_loss (swift/rlhf_trainers/gkd_loss.py): the student's log-probabilities are always saved, by log_softmax.
/// Jensen-Shannon: two shifted sums, stacked, and their log-sum-exp (3 saved); exp(t) and (t - m), whose product is summed: exp(t) is saved; exp(s) and
/// (s - m): both are. Forward: exp(t). Reverse: exp(s) and (s - t). What is there beside them for a moment was counted (tests/data/loss_counts.jsonl).
constexpr divergence_piece piece_of(divergence_kind k) {
  switch (k) {
    case divergence_kind::forward: return {.saved = 2, .forward = 3, .backward = 1};
    case divergence_kind::reverse: return {.saved = 3, .forward = 2, .backward = 2};
    case divergence_kind::jensen_shannon: break;
  }
  return {.saved = 7, .forward = 2, .backward = 5};
}

/// Of the copy that is read, or the logits that a server's teacher has named: the quotient, and the pieces.
constexpr tensor pieces_of_divergence(program& p, const scene& s, tensor logits, tensor read) {
  const auto w = p.width(logits);
  const auto named = [&](tensor x) { p.hold_in_forward(x); return x; };
  p.step(logits.bit(), read.bit());
  const auto compared = s.scoring.top > 0 ? checked::mul(s.tokens, s.scoring.top) : p.elements(read);
  auto scaled = read;
  if (s.scoring.top > 0) {
    scaled = p.make(compared, w);
    p.step(read.bit(), scaled.bit());
  }
  const auto quotient = named(p.make(compared, w, row::logits));
  p.step(scaled.bit(), quotient.bit());
  const auto how = piece_of(s.scoring.towards);
  const auto n = checked::ceil_div(s.tokens, 512);
  const auto one = p.rounded(n > 1 ? checked::mul(512, compared / s.tokens) : compared, w);
  const auto saved = p.make(checked::mul(how.saved, compared), w, row::logits), scalar = p.make(1, 4);
  const auto all = p.rounded(compared, w);
  const auto kept = how.saved * one, rest = n > 1 ? how.saved * all - (n - 1) * kept : kept;  // of a piece, of the last
  auto backward = how.backward * one - all;                                                    // in the first piece, which has no gradient of all tokens yet
  if (n > 1) backward = max(backward, max(how.backward * one - rest, 2 * all - kept - rest));
  p.step(quotient.bit(), saved | scalar, {.saves = saved.bit(), .forward_temporary = how.forward * one, .backward_temporary = max(backward, bytes{0}), .temporaries = row::logits});
  return scalar;
}

/// … of copies of the tokens that have a label, divided by the temperature: of each model the copy and the quotient are named until the function
/// returns. In backward, from the last piece on, a piece's gradient is padded to all tokens and added: the first stands beside all that was saved;
/// when the second is added, there are both and their sum.
/// `top`: of the largest logits of the teacher alone, which is a server.
constexpr tensor divergence_in_pieces(program& p, const scene& s, tensor logits) {
  const auto w = p.width(logits);
  const auto named = [&](tensor x) { p.hold_in_forward(x); return x; };
  const auto read = named(p.make(p.elements(logits), w, row::logits));
  if (s.compares) {
    p.other_here();
    const auto theirs = others_logits(p, s, w);
    if (s.scoring.top > 0) return pieces_of_divergence(p, s, logits, read);
    const auto copy = named(p.make(p.elements(theirs), w, row::logits)), quotient = named(p.make(p.elements(theirs), w, row::logits));
    p.step(theirs.bit(), copy.bit());
    p.step(copy.bit(), quotient.bit());
  }
  return pieces_of_divergence(p, s, logits, read);
}

/// Tensor.div_ of a view of the logits, which all of them are then computed from: in backward the gradient is copied whole, its part copied
/// once more and divided (torch csrc/autograd/functions/tensor.cpp CopySlices::apply_impl).
constexpr tensor divided_in_place(program& p, const scene& s, tensor logits) {
  const auto y = p.view(logits, p.elements(logits));
  const auto positions = s.scoring.shifts ? read_positions(s) : s.sequence;
  const auto part = p.rounded(checked::mul(checked::mul(s.samples, positions), s.vocabulary), p.width(logits));
  p.step(logits.bit(), y.bit(), {.backward_temporary = 2 * part, .temporaries = row::logits});
  return y;
}

/// Logits / temperature, of the slice that is read: the quotient takes the logits' name, who are gone with it.
constexpr tensor divided_into_copy(program& p, const scene& s, tensor logits) {
  const auto x = without_last(p, s, logits);
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
  p.returns_here();
  if (s.scoring.keeps_logits) p.hold_through_backward(logits);
  logits = divided(p, s, logits);
  if (s.scoring.divergence) return s.scoring.in_pieces ? divergence_in_pieces(p, s, logits) : divergence_from_teacher(p, s, logits);
  return compared_scores(p, s, logits);
}

}  // namespace headroom::ops
