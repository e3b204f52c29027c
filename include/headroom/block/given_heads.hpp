// Distributed under the Boost Software License, Version 1.0.
// How heads are given to the function that attends: repeated to as many as queries have, and made contiguous.
// Sources: transformers integrations/sdpa_attention.py; which families call it: models/*/modeling_*.py, ALL_ATTENTION_FUNCTIONS, in 4.48 to 4.55.
#pragma once

#include <headroom/block/attention_mask.hpp>

namespace headroom::ops {

/// Whether a family's attention was the function that most share, at a date from 4.48 (2025-01) on. A shape does not name its family; what is asked for here tells them
/// apart, and where it does not, in code that comes beside a checkpoint (InternLM 1 and 3, EXAONE 3, MiniCPM), theirs is taken for Llama's.
constexpr bool shares_attention(const shape& m, std::int32_t date) {
  const bool refactored = date >= 202506;                      // in 4.53: OPT, BioGPT, Granite's experts, Qwen2-VL
  const bool usual = m.softmax == softmax_kind::by_position;  // not Falcon's, GPT-J's, StarCoder's
  if (m.position == position_kind::learned) return m.fused_qkv ? usual : refactored;  // GPT-2; OPT
  if (m.position != position_kind::rope || !usual) return false;                       // BLOOM, MPT, Jamba
  if (m.norm == norm_kind::layernorm) return !m.sparse() && (m.mlp == mlp_kind::gated ? !m.norm_bias : m.activation != activation_kind::relu2);  // not DBRX, Phi-3.5-MoE; StableLM; Nemotron
  if (m.fused_qkv && (!m.fused_gate_up || m.attention_bias)) return false;  // Qwen 1, InternLM 2, Baichuan, ChatGLM; Phi-3 has both and no bias
  if (m.vision.kind == vision_kind::qwen2_vl || m.vision.kind == vision_kind::qwen2_5_vl) return refactored;
  const bool early = m.qk_norm || m.experts.fp32_weights || m.sliding_window > 0;  // Qwen3-MoE, Mixtral, Llama 4
  return !m.sparse() || (!m.qk_norm_full && !m.experts.shared_gate && (early || refactored));  // not OLMoE, Qwen2-MoE
}

/// Whether transformers makes what torch's own attention reads contiguous, and what it gives, which lies as the queries do (heads_first): in decoders of
/// 4.48 to 4.55.
constexpr bool lays_out(const scene& s) {
  const auto& m = *s.model;
  return s.habits->attention.lays_out_heads && s.kernel == attention::sdpa && !m.bidirectional && m.encoder.layers == 0 && shares_attention(m, s.habits->date);
}

/// Whether biases of the scores are a mask of torch's own attention: T5's and its kin's since transformers 5.16 (models/t5/modeling_t5.py; integrations/
/// sdpa_attention.py create_position_bias_mask; pull request 47014 of 2026-07-30). Looked up, they lie heads innermost (compute_bias, permute), which no
/// kernel takes (native/transformers/sdp_utils_cpp.h check_last_dim_stride_equals_1_dense), so that the scores of a layer's own positions are written out in
/// fp32. Zeros, of those of an encoder, are a mask for a kernel.
constexpr bool masks_biases(const scene& s, const shape& m) {
  return s.kernel == attention::sdpa && !s.host && m.position == position_kind::relative && m.softmax == softmax_kind::by_position && s.habits->date >= 202608;
}

/// Whether no kernel computes the scores, but one operation after another.
constexpr bool writes_scores(const scene& s) {
  const auto& m = *s.model;
  return s.kernel == attention::eager || s.kernel == attention::math || (m.biased_scores() && !masks_biases(s, m)) || ((m.attention_sinks || m.fixed_sinks) && s.kernel == attention::sdpa);
}

/// Whether grouped keys and values are repeated for a kernel; heads of more than 256 features always are for torch's own (since transformers 5.13,
/// 9d011e8375 of 2026-07-02: before, torch fell back to written-out scores there). Falcon's class has one head of them, which it never repeats, or repeats whatever kernel runs
/// (models/falcon/modeling_falcon.py _split_heads, broadcast_to); StarCoder's expands its one without a copy (models/gpt_bigcode/modeling_gpt_bigcode.py).
/// `masked`: the kernel reads a mask.
constexpr bool repeats_heads(const scene& s, const shape& m, bool masked) {
  const auto how = s.habits->attention.expands_kv;
  if (how == kv_expansion::never || how == kv_expansion::always) return how == kv_expansion::always;
  if (masked) return true;
  if (m.kv() == 1 && m.softmax != softmax_kind::by_position) return false;
  return m.softmax == softmax_kind::compute || (s.kernel != attention::flash && (how == kv_expansion::unless_flash || s.ungrouped || m.head_width() > 256));
}
constexpr bool repeats_heads(const scene& s, bool masked) { return repeats_heads(s, *s.model, masked); }
constexpr bool repeats_heads(const scene& s) { return repeats_heads(s, reads_mask(s)); }

/// Whether a kernel's result is copied, heads beside each other: it lies as the queries do, which Whisper makes contiguous, heads before positions (models/whisper/
/// modeling_whisper.py WhisperAttention, of all releases with torch's attention). The kernel that takes masks makes a layout of its own.
constexpr bool copies_result(const scene& s) { return s.model->no_key_bias && s.kernel == attention::sdpa && !s.host && (s.cudnn || !reads_mask(s)); }

/// Whether torch's own attention is handed one head of keys and values beside several of queries, and is not told so (Falcon's class, no enable_gqa). No
/// kernel takes that (sdp_utils_cpp.h check_batch_size_and_num_heads_dense).
constexpr bool broadcasts_heads(const shape& m) { return m.kv() == 1 && m.heads > 1 && m.softmax == softmax_kind::compute; }

/// Whether torch's own attention has no kernel for a layer's queries, keys and values, and computes one operation after another (native/transformers/
/// cuda/sdp_utils.cpp select_sdp_backend): settle_kernels() has which formats and GPUs that are.
constexpr bool attends_by_math(const scene& s, const shape& m) {
  return s.kernel == attention::sdpa && (s.no_kernel || broadcasts_heads(m) || (s.groups_by_math && m.kv() < m.heads && m.softmax == softmax_kind::by_position && !repeats_heads(s, m, masks_all(s, m) || masks_window(s, m))));
}

/// Whether the repeats of one head of keys and values are a view of it (repeat_kv of transformers' models: expand, whose reshape copies nothing of one head).
/// matmul copies them where there are several samples; transformers before 4.48 and lays_out() make them contiguous.
constexpr bool views_repeats(const scene& s, bool written_out) {
  const auto how = s.habits->attention.expands_kv;
  if (s.model->kv() != 1 || how == kv_expansion::never || how == kv_expansion::always) return false;
  return written_out ? s.samples == 1 : s.habits->date >= 202501 && !lays_out(s);
}

}  // namespace headroom::ops
