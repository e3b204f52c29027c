// Distributed under the Boost Software License, Version 1.0.
// From logits to a scalar, where a student's distribution is compared with a teacher's. Which trainer does what: recipe/method_loss.hpp.
#pragma once

#include <headroom/block/label_scores.hpp>

namespace headroom::ops {

/// The generalised Jensen-Shannon divergence of two distributions (TRL generalized_jsd_loss, 0 < beta < 1): both models' logits, raw, divided
/// by the temperature and as log-probabilities; two sums, stacked; their log-sum-exp; two divergences, weighted and added; a masked copy.
/// Python's variables keep what they name until the function returns.
constexpr tensor divergence_from_teacher(program& p, const scene& s, tensor logits) {
  const auto like = [&](tensor x, std::int64_t times = 1) { return p.make(checked::mul(times, p.elements(x)), p.width(x), row::logits); };
  const auto named = [&](tensor x) { p.hold_in_forward(x); return x; };
  const auto of = [&](tensor_set reads, tensor y, const operation_details& d = {}) { p.step(reads, y.bit(), d); return y; };
  p.other_here();
  const auto theirs_raw = others_logits(p, s, p.width(logits));
  // ms-swift's are copies of the tokens that have a label, all of them here; the models' outputs name the logits all the same.
  const auto read = [&](tensor raw) { return s.scoring.selects ? named(of(raw.bit(), like(raw))) : without_last(p, s, raw); };
  const auto x = read(logits), t = read(theirs_raw);
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
  const auto masked = s.scoring.selects ? sum : of(sum.bit(), like(x)), scalar = p.make(1, 4);
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

}  // namespace headroom::ops
