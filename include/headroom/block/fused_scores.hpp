// Distributed under the Boost Software License, Version 1.0.
// verl's head and scores in one (use_fused_kernels): log-probabilities and entropies of hidden states, whose logits are never there as a whole.
// Sources: volcengine/verl b178a3cd of 2026-01-29 verl/utils/experimental/torch_functional.py FusedLinearForPPOFunction (backend torch), and
// verl/utils/kernel/kernels.py efficient_entropy_forward, efficient_entropy_backward with BackwardEnum._Split_Dlogits_N (backend triton, and over Megatron's
// layers verl/models/mcore/model_forward_fused.py).
#pragma once

#include <headroom/block/operations.hpp>

namespace headroom::ops {

inline constexpr std::int64_t fused_score_rows = 512;        ///< tokens at a time (FusedLinearForPPO, chunk_size)
inline constexpr std::int64_t fused_forward_words = 1024, fused_backward_words = 9504;  ///< words at a time (vocab_per_split)

/// What the kernels make of `tokens` rows and this rank's `words` beside what they keep: in forward three numbers for each token and 1024 words.
constexpr bytes kernel_forward(const program& p, std::int64_t tokens, std::int64_t words) { return 3 * p.rounded(checked::mul(tokens, checked::ceil_div(words, fused_forward_words)), 4); }

/// … in backward the gradient of the logits of 9504 words; beside it that of the input of all but the first part of the words, or a copy of what the last part fills.
constexpr bytes kernel_backward(const program& p, std::int64_t tokens, std::int64_t words, std::int64_t hidden, std::int64_t width) {
  const auto parts = checked::ceil_div(words, fused_backward_words), rest = words - (parts - 1) * fused_backward_words;
  const auto of = [&](std::int64_t n) { return n > 0 ? p.rounded(checked::mul(tokens, n), width) : bytes{0}; };
  const auto copy = rest == fused_backward_words ? bytes{0} : of(rest);
  return max(of(fused_backward_words) + max(copy, parts > 2 ? of(hidden) : bytes{0}), parts > 1 ? of(rest) + of(hidden) : bytes{0});
}

/// The kernels: of each token a log-probability and an entropy; the input, the label, and a maximum and two sums are kept. `words`: this rank's.
constexpr tensor kernel_scores(program& p, const scene& s, tensor x, std::int64_t words, bool trains, bool waits) {
  const auto scores = p.make(checked::mul(2, s.tokens), 4), kept = p.make(checked::mul(5, s.tokens), 4);
  p.step(x.bit(), scores | kept, {.saves = x | kept, .forward_temporary = kernel_forward(p, s.tokens, words), .backward_temporary = kernel_backward(p, s.tokens, words, s.model->hidden, p.width(x)),
                                  .weight_gradient = trains ? p.rounded(checked::mul(words, s.model->hidden), s.width) : bytes{0}, .gradient_waits = waits, .temporaries = row::logits});
  return scores;
}

/// 512 tokens at a time, by torch's operations in fp32: logits, probabilities and their logarithm, and one more at a time; in backward logits, probabilities, a one in
/// each row, and two of what is added, or the gradient in the input's format and the weight's of these tokens, beside that of the tokens before.
constexpr tensor chunk_scores(program& p, const scene& s, tensor x, bool trains) {
  const auto weights = checked::mul(s.vocabulary, s.model->embedding_width()), rows = s.tokens < fused_score_rows ? s.tokens : fused_score_rows;
  const auto wide = p.rounded(checked::mul(rows, s.vocabulary), 4), narrow = p.rounded(checked::mul(rows, s.vocabulary), s.width);
  const auto weight = p.rounded(weights, s.width), before = s.tokens > rows ? weight : bytes{0};
  const auto scores = p.make(checked::mul(2, s.tokens), s.width), kept = p.make(s.tokens, 8);
  p.step(x.bit(), scores | kept, {.saves = x | kept, .forward_temporary = 4 * wide, .backward_temporary = before + max(5 * wide, 3 * wide + narrow + weight) + p.rounded(checked::mul(rows, s.model->hidden), s.width),
                                  .weight_gradient = trains ? p.rounded(weights, s.weight_width) : bytes{0}, .gradient_waits = s.model->tied, .temporaries = row::logits});
  return scores;
}

}  // namespace headroom::ops
