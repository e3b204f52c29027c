// Distributed under the Boost Software License, Version 1.0.
// Lightning attention, from the normalised input to the output projection: one projection and its activation, blocks of positions in a loop, a norm,
// a gate. A tensor of this program stands for those of all blocks.
// Source: transformers 5.16 models/minimax/modeling_minimax.py MiniMaxLightningAttention.
#pragma once

#include <headroom/block/short_convolution.hpp>
#include <headroom/model/lightning_attention.hpp>

namespace headroom::ops {

/// Blocks of a sequence; the last one may be shorter.
struct lightning_blocks {
  std::int64_t count{};
  std::int64_t squares{};  ///< pairs of positions of a block, of all of them
  std::int64_t last{};     ///< positions of the last one
  constexpr lightning_blocks(std::int64_t sequence, std::int64_t each) : count(checked::ceil_div(sequence, each)), last(sequence - (count - 1) * each) {
    squares = checked::add(checked::mul(count - 1, checked::mul(each, each)), checked::mul(last, last));
  }
};

/// Q·Kᵀ with decays times V within a block, Q with decays times the state of the blocks in front, and what K and V add to it. Products take copies of
/// what lies between other heads, one for each product, but of one sample views do. The state that the last block leaves is read by nobody.
constexpr tensor lightning_scan(program& p, const scene& s, tensor qkv) {
  const auto& m = *s.model;
  const auto w = p.width(qkv), width = m.query_width(), n = checked::mul(s.tokens, width);
  const lightning_blocks blocks(s.sequence, m.ssm.chunk);
  const auto state = checked::mul(s.samples, m.heads, checked::mul(m.head_width(), m.head_width()));
  const auto before_last = checked::mul(s.samples, s.sequence - blocks.last, width);  // features of all blocks but the last
  const auto after_first = blocks.count > 1 ? n - checked::mul(s.samples, m.ssm.chunk, width) : 0;
  const auto part = [&](std::int64_t elements) {
    const auto y = s.samples > 1 ? p.make(elements, w) : p.view(qkv, elements);
    p.step(qkv.bit(), y.bit());
    return y;
  };
  const auto q = part(n), k = part(n), v = part(n);
  const auto squares = checked::mul(s.samples, m.heads, blocks.squares);
  const auto scores = made_of(p, q | k, squares, w, {.saves = q | k});
  const auto decayed = made_of(p, scores.bit(), squares, w);  // times a buffer
  const auto within = made_of(p, decayed | v, n, w, {.saves = decayed | v});
  const auto zero = p.make(state, w);
  p.step(0, zero.bit());
  const auto first = made_of(p, qkv.bit(), n - after_first, w);
  auto between = made_of(p, first | zero, n - after_first, w, {.saves = zero.bit()});
  if (blocks.count > 1) {
    const auto later = made_of(p, qkv.bit(), after_first, w), keys = made_of(p, qkv.bit(), before_last, w), values = part(before_last);
    const auto decays = p.make(blocks.count > 2 ? checked::mul(blocks.count - 2, m.heads) : 0, w);
    p.step(0, decays.bit());
    const auto states = made_of(p, (keys | values) | decays, checked::mul(blocks.count - 1, state), w, {.saves = (keys | values) | decays});
    const auto rest = made_of(p, later | states, after_first, w, {.saves = later | states});
    between = made_of(p, between | rest, n, w);
  }
  return pointwise(p, add(p, between, within));  // block by block, then side by side
}

/// Lightning attention as a mixer.
constexpr tensor lightning_attention(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto width = m.query_width();
  auto qkv = activate(p, s, linear(p, s, trained, module::mixer_in, x, m.hidden, checked::mul(3, width), false), m.activation);
  if (s.padded) qkv = pointwise(p, qkv);  // times the mask
  const auto joined = pointwise(p, lightning_scan(p, s, qkv));  // heads beside each other
  const auto normed = rms_norm(p, s, joined, width, trained.has(module::mixer));
  const auto gate = linear(p, s, trained, module::mixer_in, x, m.hidden, width, false);
  const auto sigmoid = kept_of(p, gate.bit(), p.elements(gate), p.width(gate));
  return linear(p, s, trained, module::mixer_out, multiply(p, sigmoid, normed), width, m.hidden, false);
}

}  // namespace headroom::ops
