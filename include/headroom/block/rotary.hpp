// Distributed under the Boost Software License, Version 1.0.
// Rotary embedding of queries and keys, as each framework writes it.
#pragma once

#include <headroom/block/operations.hpp>

namespace headroom::ops {

/// Cosines that a model makes once in a forward, and that all its layers read: of so many positions, in the compute format or in fp32. As many sines are made
/// beside them, and backward keeps both. A frequency turns two features, so that their number is even (modeling_rope_utils.py: arange(0, dim, 2), twice).
constexpr bytes cosines(const scene& s, mixer_kind kind, std::int64_t positions) {
  const auto& m = *s.model;
  const bool own = global(kind) && m.global.head_dim > 0;
  if (m.position != position_kind::rope || (global(kind) && m.global.no_positions)) return bytes{0};
  const auto turned = own ? checked::mul(m.global.head_dim, m.rotary_percent) / 100 : m.rotary_width();
  const auto features = checked::round_up(turned, 2) / (m.rotary == rotary_kind::split_halves ? 2 : 1);
  return bytes{checked::mul(positions, features, m.rotary == rotary_kind::fp32_halves ? std::int64_t{4} : s.width)};
}
/// … of all layers that attend. Global layers read a table of their own (Gemma4TextModel, MiMoV2FlashModel: one for each word of layer_types).
constexpr bytes cosines(const scene& s, std::int64_t positions) {
  const auto& m = *s.model;
  bool whole = false, rest = !m.pattern.given();
  if (alternates_by_mask(m)) return cosines(s, mixer_kind::attention, positions);
  for (std::int64_t i = 0; i < m.pattern.period && i < m.layers; ++i) {
    const auto mixer = m.kind_of(i).mixer;
    if (attends(mixer) || is_own(mixer)) (global(mixer) ? whole : rest) = true;
  }
  return (rest ? cosines(s, mixer_kind::attention, positions) : bytes{0}) + (whole ? cosines(s, mixer_kind::global_attention, positions) : bytes{0});
}

/// Cosines and sines that a layer makes itself, once for q and k (transformers models/glm, models/ernie4_5: apply_rotary_pos_emb, repeat_interleave;
/// models/{qwen2_vl,qwen2_5_vl}/modeling_*.py apply_multimodal_rotary_pos_emb: put together of three, for the positions of every sample).
constexpr tensor_set rotary_tables(program& p, const scene& s) {
  const auto& m = *s.model;
  const bool sections = m.vision.kind == vision_kind::qwen2_vl || m.vision.kind == vision_kind::qwen2_5_vl;
  if ((!sections && m.rotary == rotary_kind::halves) || m.rotary == rotary_kind::fp32_halves || m.rotary == rotary_kind::split_halves || m.position != position_kind::rope || s.compiled || s.habits->rotary.style != rope_style::rotate_half) return 0;
  if (s.fused.has(fused_kernel::rotary)) return 0;
  // GLM-4V numbers the positions of each sample on its own.
  const auto elements = checked::mul(sections || is_glm(m.vision.kind) ? s.tokens : s.sequence, m.rotary_width()), width = m.rotary == rotary_kind::fp32_pairs ? std::int64_t{4} : s.width;
  const auto cosine = p.make(elements, width), sine = p.make(elements, width);
  p.step(0, cosine | sine);
  return cosine | sine;
}

/// Rotary embedding, x·cos + rotate_half(x)·sin: cos and sin are constants, so nothing is saved; two tensors of x's size live
/// beside the result for a moment. `tables`: what the layer made of them.
constexpr tensor rotate(program& p, const scene& s, tensor x, tensor_set tables = 0) {
  if (s.model->position != position_kind::rope) return x;
  if (s.fused.has(fused_kernel::rotary)) return x;  // turned in place, forward and backward (Liger-Kernel ops/rope.py)
  const auto n = p.elements(x);
  const auto y = p.make(n, p.width(x));
  if (s.compiled) {
    p.step(x.bit(), y.bit());
    return y;
  }
  const bool wide = s.model->rotary == rotary_kind::fp32_halves || (s.model->rotary == rotary_kind::fp32_pairs && !(tables == tensor_set{0}));
  bytes block = p.rounded(n, wide ? 4 : p.width(x)), temporary = wide ? 3 * block : 2 * block;
  if (s.habits->rotary.style == rope_style::pairs_stacked) {
    // torchtune/modules/position_embeddings.py: the fp32 copy, two turned halves, their products and the stack, y not yet there. The
    // cache is a constant that the products save: its own rows are, if they were looked up for this call.
    block = p.rounded(n, 4);
    temporary = 3 * block - p.size(y);
    if (s.packed) {
      const auto rows = p.make(checked::mul(s.tokens, s.model->head_width()), 4);
      p.step(x.bit(), y | rows, {.saves = rows.bit(), .forward_temporary = temporary, .backward_temporary = temporary, .temporary_block = block});
      return y;
    }
  }
  if (s.habits->rotary.style == rope_style::parts_concatenated) {
    // litgpt/model.py apply_rope: the rotated part is computed in fp32 and concatenated with the rest.
    const auto part = n / 100 * s.model->rotary_percent;
    block = p.rounded(part, 4);
    temporary = 3 * block + p.rounded(part, p.width(x));
  }
  p.step(tables | x, y.bit(), {.saves = tables, .forward_temporary = temporary, .backward_temporary = temporary, .temporary_block = block});
  return y;
}

/// RMSNorm and rotary embedding of queries or keys by one kernel, which keeps what goes in, a number for each head's row, and cosines and sines: of all samples,
/// copies of the model's where it has those of one (axolotl src/axolotl/kernels/gemma4_fused_rope.py fused_rms_norm_rope, _fused_rms_norm_rope_setup_context).
constexpr tensor norm_and_turn(program& p, const scene& s, tensor x, bool trains) {
  const auto width = s.model->head_width();
  const auto y = p.make(p.elements(x), p.width(x)), statistic = p.make(p.elements(x) / width, 4);
  const auto copies = s.packed || s.samples == 1 ? 0 : checked::mul(s.tokens, s.model->rotary_width());
  tensor_set tables = 0;
  if (copies != 0) tables |= p.make(copies, s.width).bit();
  if (copies != 0) tables |= p.make(copies, s.width).bit();
  p.step(x.bit(), y | statistic | tables, {.saves = x | statistic | tables, .weight_gradient = trains ? p.rounded(width, s.weight_width) : bytes{0}});
  return y;
}

/// Queries, keys and values behind their projections.
struct heads {
  tensor q{}, k{}, v{};
  bool parts{};     ///< of a fused projection's rows
  bool v_cut{};     ///< v lies between other heads' keys, so that matmul copies it (reshape)
  bool repeated{};  ///< k and v are copies, one for each query head
};

/// q and k as complex numbers (torchtitan, apply_rotary_emb): both in fp32, and both fp32 products, until both are cast back.
constexpr void rotate_pair(program& p, const scene& s, heads& h) {
  if (s.model->position != position_kind::rope) return;
  const auto q = p.make(p.elements(h.q), p.width(h.q)), k = p.make(p.elements(h.k), p.width(h.k));
  const bytes wide = 2 * (p.rounded(p.elements(q), 4) + p.rounded(p.elements(k), 4));
  p.step(h.q | h.k, q | k, {.forward_temporary = wide, .backward_temporary = wide, .temporary_block = p.rounded(p.elements(q), 4)});
  h.q = q;
  h.k = k;
}

}  // namespace headroom::ops
