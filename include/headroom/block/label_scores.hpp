// Distributed under the Boost Software License, Version 1.0.
// From logits to log-probabilities of labels, of the model that trains and of another one beside it. Which trainer does what: recipe/method_loss.hpp.
// Sizes beside v = vocabulary × tokens numbers are not counted.
#pragma once

#include <headroom/block/cross_entropy.hpp>

namespace headroom::ops {

/// Positions of a sample whose logits are read: all but the last, or the completion's.
constexpr std::int64_t read_positions(const scene& s) { return s.scored > 0 ? s.scored : s.sequence > 1 ? s.sequence - 1 : 1; }

/// Those of each sample, in the same storage; in backward its gradient is padded to that of all.
constexpr tensor without_last(program& p, const scene& s, tensor logits) {
  const auto positions = read_positions(s);
  const auto y = p.view(logits, checked::mul(s.samples, positions, s.vocabulary));
  p.step(logits.bit(), y.bit());
  return y;
}

/// log_softmax of a slice, which is made contiguous where there are several samples, and gather.
constexpr tensor scores_at_once(program& p, const scene& s, tensor x) {
  const auto all = p.make(p.elements(x), p.width(x), row::logits), scores = p.make(s.tokens, p.width(x));
  p.step(x.bit(), all.bit(), {.saves = all.bit(), .forward_temporary = s.samples > 1 && s.scoring.shifts ? p.size(all) : bytes{0}, .temporaries = row::logits});
  p.step(all.bit(), scores.bit(), {.saves = all.bit()});
  if (s.scoring.keeps_probabilities && p.needs_gradient(x)) p.hold_through_backward(all);
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

/// Log-probabilities by one kernel, which saves the logits. A slice of several samples is copied first, as its tokens stand in one row.
constexpr tensor scores_in_kernel(program& p, const scene& s, tensor x) {
  if (s.scoring.shifts && s.samples > 1) {
    const auto rows = p.make(p.elements(x), p.width(x), row::logits);
    p.step(x.bit(), rows.bit(), {.passes_gradient = true});
    x = rows;
  }
  const auto sums = p.make(s.tokens, 4), scores = p.make(s.tokens, 4);
  p.step(x.bit(), sums | scores, {.saves = x | sums, .releases_first = s.scoring.overwrites});
  return scores;
}

/// Cross entropy of all positions but the last, which several samples make contiguous in a copy that is named to the end. GPUs that cut samples among them
/// read all positions, as labels are rolled.
constexpr tensor scores_by_entropy(program& p, const scene& s, tensor logits) {
  if (s.context > 1) return autocast_cross_entropy(p, s, logits);
  const auto read = without_last(p, s, logits);
  if (s.samples == 1) return autocast_cross_entropy(p, s, read);
  const auto copy = p.make(p.elements(read), p.width(read), row::logits);
  p.step(read.bit(), copy.bit());
  p.hold_through_backward(copy);
  return autocast_cross_entropy(p, s, copy);
}

/// What one model's logits become: scores of the labels.
constexpr tensor scores_of(program& p, const scene& s, tensor logits) {
  if (s.scoring.scores == label_scores::by_entropy) return scores_by_entropy(p, s, logits);
  const auto x = s.scoring.shifts && s.scoring.divides != divided_by_temperature::into_copy ? without_last(p, s, logits) : logits;
  switch (s.scoring.scores) {
    case label_scores::whole: return scores_at_once(p, s, x);
    case label_scores::by_sample: return scores_by_sample(p, s, x);
    case label_scores::in_chunks: return scores_in_chunks(p, s, x);
    case label_scores::by_entropy:
    case label_scores::in_kernel: break;
  }
  return scores_in_kernel(p, s, x);
}

/// Every layer's input in another model's forward, where it returns them; else none.
constexpr tensor others_hidden_states(program& p, const scene& s) {
  if (!s.scoring.keeps_hidden_states) return {};
  const auto x = p.make(checked::mul(s.model->layers, s.tokens, s.model->hidden), s.residual_width);
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

}  // namespace headroom::ops
