// Distributed under the Boost Software License, Version 1.0.
// DeepSeek's sparse attention as transformers runs it: an indexer without a graph scores every pair of positions, and attention sees a mask of
// the best. Nothing becomes smaller by it.
// Sources: transformers 5.16 models/deepseek_v32/modeling_deepseek_v32.py DeepseekV32Indexer.forward, DeepseekV32Attention.forward;
// models/glm_moe_dsa/modular_glm_moe_dsa.py GlmMoeDsaAttention.forward.
#pragma once

#include <headroom/block/operations.hpp>

namespace headroom::ops {

/// What the indexer holds at its tallest moment. Locals: queries and keys before and behind their rotation, and the rotated parts. Then copies for the
/// product, whose keys are repeated for each position where there are several samples, and scores [b, s, heads, s]; or the scores twice; or
/// once, with their sum over heads, masked, and what top-k makes of it.
constexpr bytes indexing(const program& p, const scene& s) {
  const auto& a = s.model->mla;
  const auto width = s.autocast ? s.width : 4;        // of scores: made of fp32 copies, which autocast casts back
  const auto key_width = s.autocast ? 4 : s.width;    // LayerNorm is on autocast's fp32 list
  const auto queries = checked::mul(s.tokens, checked::mul(a.index_heads, a.index_dim)), keys = checked::mul(s.tokens, a.index_dim);
  const auto pairs = checked::mul(s.tokens, s.sequence), chosen = checked::mul(s.tokens, a.index_keys < s.sequence ? a.index_keys : s.sequence);
  const auto locals = 2 * p.rounded(queries, s.width) + p.rounded(checked::mul(s.tokens, checked::mul(a.index_heads, a.rope_dim)), s.width) + 2 * p.rounded(keys, key_width) +
                      p.rounded(checked::mul(s.tokens, a.rope_dim), key_width);
  const auto scores = p.rounded(checked::mul(pairs, a.index_heads), width);
  auto copies = s.samples > 1 ? p.rounded(checked::mul(pairs, a.index_dim), width) : bytes{0};
  if (s.width < 4) copies += p.rounded(queries, 4);
  if (key_width < 4) copies += p.rounded(keys, 4);
  if (s.autocast) copies += p.rounded(queries, width) + p.rounded(keys, width);
  const auto sum = p.rounded(pairs, width);
  const auto top = p.rounded(chosen, width) + p.rounded(chosen, 8);
  const auto rest = p.rounded(checked::mul(s.tokens, a.index_heads), 4) + sum + (top < sum ? sum : top);
  auto most = copies < scores ? scores : copies;
  if (most < rest) most = rest;
  return locals + scores + most;
}

/// What attention sees of the indexer's choice, and what lives as long: numbers of keys, and which are left out.
struct chosen_keys {
  tensor mask{};   ///< samples × positions × positions: what is added to the scores, or a byte each
  tensor_set with{};
};
constexpr chosen_keys choose_keys(program& p, const scene& s, tensor x, tensor low) {
  const auto& a = s.model->mla;
  const auto pairs = checked::mul(s.tokens, s.sequence), chosen = checked::mul(s.tokens, a.index_keys < s.sequence ? a.index_keys : s.sequence);
  const bool adds = s.kernel == attention::eager || a.index_handed_on;
  const auto numbers = p.make(chosen, 4);
  const auto earlier = a.index_handed_on ? p.size(numbers) : bytes{0};  // the layer before's, until this one returns its own
  p.step(0, numbers.bit(), {.holds = x | low, .forward_temporary = earlier + indexing(p, s), .temporary_block = p.rounded(checked::mul(pairs, a.index_heads), s.autocast ? s.width : 4)});
  if (a.index_handed_on) p.cache_in_forward(numbers);  // a checkpoint of the next layer keeps its arguments
  const auto left_out = p.make(pairs, 1);
  p.step(numbers.bit(), left_out.bit(), {.forward_temporary = p.size(left_out) + p.rounded(chosen, 8)});
  const auto mask = p.make(pairs, adds ? s.width : 1);
  const bool zeros = a.index_handed_on && s.kernel != attention::eager;  // no mask came in
  p.step(left_out.bit(), mask.bit(), {.forward_temporary = zeros || !adds ? p.size(mask) : bytes{0}});
  return {mask, numbers | left_out | mask};
}

}  // namespace headroom::ops
