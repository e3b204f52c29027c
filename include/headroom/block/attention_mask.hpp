// Distributed under the Boost Software License, Version 1.0.
// The masks of transformers' models: those that torch's own attention reads, of padding, of a window, of pictures; that which is added to scores that are written out.
// Sources: transformers 5.16 masking_utils.py (sdpa_mask, _ignore_causal_mask_sdpa, _ignore_bidirectional_mask_sdpa; boolean masks),
// integrations/sdpa_attention.py (use_gqa_in_sdpa: keys and values are repeated where there is a mask); before 4.53 modeling_attn_mask_utils.py
// AttentionMaskConverter and the models' own _update_causal_mask, whose masks are in the model's format (framework/libtorch.hpp has the dates).
#pragma once

#include <headroom/block/program.hpp>
#include <headroom/block/scene.hpp>

namespace headroom::ops {

/// Whether the tokens of a picture see each other in both directions, which no kernel does by itself: Gemma 3's and PaliGemma's (models/gemma3/
/// modeling_gemma3.py create_masks_for_vision_model, models/paligemma/modeling_paligemma.py: block_sequence_ids, which their processors' token_type_ids make).
constexpr bool joins_pictures(const scene& s, const shape& m) {
  const auto& v = m.vision;
  return v.kind == vision_kind::siglip && v.layers > 0 && (v.projector == projector_kind::norm_linear || v.projector == projector_kind::linear) && s.habits->attention.masks != sdpa_masks::none;
}
/// Whether every layer of `m` reads a mask.
constexpr bool masks_all(const scene& s, const shape& m) { return s.kernel == attention::sdpa && (s.padded || s.masked || s.block_mask || joins_pictures(s, m)); }

/// Whether layers behind the window of `m` read one. Where no sample is padded, those without a window are told that they are causal. A sequence as long as
/// the window has a mask, too, although it hides nothing. A window to both sides reaches half as far to each.
constexpr bool masks_window(const scene& s, const shape& m) {
  const auto reach = m.bidirectional ? m.sliding_window / 2 : m.sliding_window;
  return reach > 0 && s.sequence >= reach && s.kernel == attention::sdpa && s.habits->attention.masks != sdpa_masks::none;
}
constexpr bool reads_mask(const scene& s) { return masks_all(s, *s.model) || masks_window(s, *s.model); }

/// Whether a model's masks are boolean. Each call then turns one into what is added to the scores (native/transformers/attention.cpp
/// convert_boolean_attn_mask) and keeps that.
constexpr bool boolean_masks(const scene& s) { return s.habits->attention.masks == sdpa_masks::boolean && !s.block_mask; }
/// Models that made a mask whatever the batch was, before masks were boolean: Gemma 2 and 3 and Cohere 2 (models/gemma2/modeling_gemma2.py
/// _update_causal_mask), and ModernBERT (_update_attention_mask), which makes both of its masks.
constexpr bool masks_always(const shape& m) { return m.sliding_window > 0 && (m.norm_offset || m.parallel_block || m.bidirectional); }
/// … of which each decoder's layer behind the window makes another mask, however short the sequence is (Gemma2DecoderLayer.forward, torch.where).
constexpr bool masks_itself(const scene& s, const shape& m) {
  return s.habits->attention.masks == sdpa_masks::added && s.kernel == attention::sdpa && !m.bidirectional && masks_always(m);
}
/// Whether queries and keys are normalised, without weights, once they are turned: in Llama 4's layers that have positions, as transformers runs them
/// (models/llama4/modeling_llama4.py Llama4TextAttention).
constexpr bool norms_turned(const scene& s, const shape& m) { return m.chunked && m.qk_norm && s.habits->attention.masks != sdpa_masks::none; }
/// Whether each call of torch's attention makes a mask of its own and keeps it for backward. It does where the model's mask is boolean, or the layer makes its own;
/// where autocast casts the mask to the compute format; and where rows of a block mask are no multiple of eight numbers long, since the kernel pads them in a
/// copy (native/transformers/attention.cpp, pad_bias).
constexpr bool masks_each_call(const scene& s) {
  return boolean_masks(s) || masks_itself(s, *s.model) || (s.habits->attention.masks != sdpa_masks::none && s.autocast && s.residual_width != s.width) || (s.block_mask && s.sequence % 8 != 0);
}

/// Whether scores that are written out have a mask added to them, of which layers keep nothing: it is made whatever the batch is (masking_utils.py eager_mask: 0 and the
/// least number of the embeddings' format, of every sample; before 4.53 _update_causal_mask, before 4.38 _prepare_4d_causal_attention_mask), but for an
/// encoder's without padding, and before 4.53 for GPT-2's, whose layers have a buffer (models/gpt2/modeling_gpt2.py).
constexpr bool adds_mask(const scene& s) {
  const auto masks = s.habits->attention.masks;
  return s.kernel == attention::eager && masks != sdpa_masks::none && !s.block_mask && !s.model->bidirectional && (masks == sdpa_masks::boolean || s.model->position != position_kind::learned);
}

/// What a model makes once for all layers: a mask for those behind a window, and one for those that see all positions; of every sample, since
/// collators hand over an attention_mask of ones, too (masking_utils.py sdpa_mask, padding_mask_function). Masks that are added are one for all layers,
/// ModernBERT's two.
constexpr bytes model_masks(const scene& s) {
  const auto& m = *s.model;
  if ((s.habits->attention.masks == sdpa_masks::none && !s.block_mask) || m.encoder.layers > 0 || m.biased_scores() || m.position == position_kind::disentangled) return bytes{0};
  const bool adds = adds_mask(s);
  const bool windows = adds ? m.sliding_window > 0 : masks_window(s, m), all_windowed = m.full_layers == 0 && m.global_every == 0 && !m.pattern.given();
  const bool all = adds || masks_all(s, m);
  if (!windows && !all) return bytes{0};
  const std::int64_t kinds = (windows ? 1 : 0) + (all && !(windows && all_windowed) ? 1 : 0);
  const std::int64_t masks = boolean_masks(s) ? kinds : masks_always(m) && m.bidirectional ? 2 : 1;
  const auto pairs = checked::mul(s.samples, checked::mul(s.sequence, s.sequence));
  return bytes{checked::mul(masks, pairs, boolean_masks(s) && !adds ? 1 : s.residual_width)};
}

}  // namespace headroom::ops
