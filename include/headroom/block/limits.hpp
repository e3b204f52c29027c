// Distributed under the Boost Software License, Version 1.0.
// Which layers this version has no program for. What a framework's engine cannot run stands with the engine (engine/*/limits.hpp).
#pragma once

#include <headroom/block/expert_limits.hpp>
#include <headroom/block/fake_limits.hpp>
#include <headroom/block/frozen_limits.hpp>
#include <headroom/block/part_limits.hpp>
#include <headroom/block/pattern_limits.hpp>
#include <headroom/block/tower_limits.hpp>

namespace headroom::detail {

/// What a layer is made of, for the framework that the job names.
constexpr objection check_layers(const job& j, const auto& no) {
  const auto& m = j.model;
  if (const auto why = check_widths(j, no)) return why;
  if (const auto why = check_joined_experts(j, no)) return why;
  if (const auto why = check_fake_quantization(j, no)) return why;
  if (const auto why = check_frozen_format(j, no)) return why;
  if (const auto why = check_experts(j, no)) return why;
  if (m.pattern.given())
    if (const auto why = check_pattern_layers(j, no)) return why;
  if (const auto why = check_attention_parts(j, no)) return why;
  if (const auto why = check_images(m.vision, j.batch.images, no)) return why;
  if (const auto why = check_tower_recompute(j, no)) return why;
  if ((m.vision.held | m.vision.words) > 0)
    if (const auto why = check_held_towers(j, no)) return why;
  if (m.vision.kind != vision_kind::none)
    if (const auto why = check_tower_layers(j, no)) return why;
  if (m.encoder.layers > 0)
    if (const auto why = check_encoder_layers(j, no)) return why;
  if (const auto why = check_mlp_parts(j, no)) return why;
  if (const auto why = check_layer_positions(j, no)) return why;
  return check_norms_and_ends(j, no);
}

/// Layers that tensor, sequence and context parallelism divide come out even.
constexpr objection check_division(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& p = j.parallel;
  if (m.heads % p.tensor != 0 || m.kv() % p.tensor != 0)
    return no("headroom: model.heads and kv_heads must be multiples of parallel.tensor; heads", m.heads);
  if (m.ffn % p.tensor != 0) return no("headroom: model.ffn must be a multiple of parallel.tensor; ffn", m.ffn);
  // Each rank has a piece from either end (Megatron-LM training/arguments.py, validate_args; torchtitan distributed/parallel_dims.py, seq_len_divisor).
  if (p.context > 1 && j.batch.sequence % checked::mul(2, p.context) != 0) return no("headroom: batch.sequence must be a multiple of 2 × parallel.context; sequence", j.batch.sequence);
  if (p.sequence && j.batch.sequence / p.context % p.tensor != 0)
    return no("headroom: with parallel.sequence, batch.sequence / context must be a multiple of parallel.tensor; sequence", j.batch.sequence);
  return {};
}

/// Kernels that stand for several operations.
constexpr objection check_kernels(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& a = j.adapter;
  if (j.kernels.empty() && j.loss.kind != loss_kind::cut) return {};
  if (divides_layers(j.framework) || j.compile || j.recompute.mode == recompute_mode::selective)
    return no("headroom: fused kernels (kernels, loss.kind \"cut\") are not modelled for this framework, compiled or selectively recomputed layers by this version", j.framework.label);
  if (j.kernels.has(fused_kernel::norm) && (m.gated_attention || m.fp32_norm))
    return no("headroom: fused norms are not modelled for models with gated attention, and for norms that scale in fp32, by this version; kernels must be without \"norm\"");
  if (j.kernels.has(fused_kernel::normed_rotary) && (!m.qk_norm || m.position != position_kind::rope || m.rotary != rotary_kind::halves || m.rotary_percent != 100 || m.latent() || m.pattern.given() || m.gated_attention || m.vision.layers > 0))
    return no("headroom: a kernel for norms and rotary embedding of queries and keys at once (normed-rotary) is modelled for text models that have both in every layer, as Qwen3, by this version");
  if (!j.kernels.adapted()) return {};
  if (a.kind != adapter_kind::lora || a.base.bits == 8 || a.base.column_bits > 0 || ((m.mlp == mlp_kind::plain || m.sparse()) && j.kernels.has(fused_kernel::adapted_mlp)))
    return no("headroom: kernels for adapters (adapted-qkv, adapted-output, adapted-mlp) are modelled for LoRA with bases of 16 or of 4 bits, adapted-mlp on dense gated models, by this version");
  return {};
}

/// How a layer runs: compiled, in fp8, over packed sequences.
constexpr objection check_running(const job& j, const auto& no) {
  const auto& f = j.framework;
  if (j.compile && !f.compile.layers && !f.compile.loss)
    return no("headroom: torch.compile is not modelled for this framework by this version; compile must be false", f.label);
  if (j.compile && writes_scores(j))
    return no("headroom: compiled layers with attention written out are not modelled by this version; attention must be sdpa, flash or flash3");
  if (!f.modules.megatron() && j.precision.compute.bits > 0 && j.precision.compute.bits < 8)
    return no("headroom: computation in so few bits is not modelled for this framework by this version; precision.compute must have 16 or 32 bits, or 8 where the framework has fp8; its bits", j.precision.compute.bits);
  if (!f.modules.megatron() && j.precision.compute.bits == 8 && !f.fp8.quantises_in_linear)
    return no("headroom: fp8 computation is not modelled by this version; precision.compute must have 16 or 32 bits", j.precision.compute.bits);
  const bool by_kernel = f.attention.packs_by_kernel && (j.attention == attention::flash || j.attention == attention::flash3);
  if (const auto why = check_kernels(j, no)) return why;
  if (j.batch.packed && f.attention.packs_by_kernel && !by_kernel)
    return no("headroom: packed sequences need a kernel that takes them apart here; attention must be flash or flash3");
  const bool of_pairs = f.modules.megatron() && has_own_loss(j.objective);  // rows of whole samples, which kernels take apart by their lengths (PackedSeqParams)
  if (j.batch.packed && !f.attention.packs_documents && !by_kernel && !of_pairs)
    return no("headroom: packed sequences are not modelled for this framework by this version; batch.packed must be false", f.label);
  return {};
}

}  // namespace headroom::detail
