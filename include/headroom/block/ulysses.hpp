// Distributed under the Boost Software License, Version 1.0.
// DeepSpeed-Ulysses around a fused kernel: before attention each rank gives its positions of most heads for all positions of a few heads, after it
// the way back. Source: volcengine/verl verl/models/transformers/monkey_patch.py _ulysses_flash_attention_forward and verl/utils/ulysses.py
// all_to_all_tensor, SeqAllToAll (b178a3cd of 2026-01-29); modelscope/ms-swift swift/sequence_parallel/ulysses.py single_all_to_all (3602360a of
// 2026-08-22); Jacobs et al. 2023, "DeepSpeed-Ulysses", section 3.
#pragma once

#include <headroom/block/rotary.hpp>

namespace headroom::ops {

/// Whether heads are exchanged for positions in modules that are not divided otherwise.
constexpr bool exchanges_positions(const scene& s) { return s.context > 1 && s.context_kind == context_kind::ulysses; }

/// One exchange of as many elements as `x` has. What is sent is cut into a piece for each rank: along heads each is a copy, along the positions of
/// one row none is. What comes is a piece from each rank, and then one tensor. Backward is the same the other way round; nothing is saved. `whole`: one
/// tensor is sent and one comes, of which the one that is cut along heads is copied.
constexpr tensor exchange_pieces(program& p, tensor x, bool along_heads, bool whole = false) {
  const auto y = p.make(p.elements(x), p.width(x));
  const auto pieces = p.size(y);
  p.step(x.bit(), y.bit(), {.forward_temporary = along_heads && !whole ? 2 * pieces : pieces, .backward_temporary = along_heads || whole ? pieces : 2 * pieces, .temporary_block = pieces});
  return y;
}

/// Keys or values of fewer heads than ranks: each head is copied until there is one a rank.
constexpr tensor heads_for_ranks(program& p, const scene& s, tensor x) {
  const auto copies = s.context / s.model->kv();
  if (copies <= 1) return x;
  const auto y = p.make(checked::mul(p.elements(x), copies), p.width(x));
  p.step(x.bit(), y.bit());
  return y;
}

/// q, k and v of this rank's positions, for those of its heads.
constexpr heads all_positions(program& p, const scene& s, heads h) {
  h.k = heads_for_ranks(p, s, h.k);
  h.v = heads_for_ranks(p, s, h.v);
  h.q = exchange_pieces(p, h.q, true, s.exchanges_whole);
  h.k = exchange_pieces(p, h.k, true, s.exchanges_whole);
  h.v = exchange_pieces(p, h.v, true, s.exchanges_whole);
  return h;
}

}  // namespace headroom::ops
