// Distributed under the Boost Software License, Version 1.0.
// Models that Megatron's layers do not build, by kind: hybrids, BERT, T5, experts.
#pragma once

#include <headroom/block/limits.hpp>
#include <headroom/block/megatron_layer.hpp>

namespace headroom::detail {

/// Hybrid stacks: every layer is one half, as Megatron's letters name them.
constexpr objection check_megatron_pattern(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& p = j.parallel;
  const bool whole = m.kind_of(0).whole();
  for (std::int64_t i = 0; i < m.pattern.period && i < m.layers; ++i) {
    const auto k = m.kind_of(i);
    if (k.mixer != mixer_kind::none && !megatron::has_program(k.mixer))
      return no("headroom: for megatron model.pattern may name Mamba-2 (M), attention (*), MLPs (-) and experts (E); layer", i);
    if (k.whole() != whole || (k.mixer == mixer_kind::mamba2 && whole) || (k.mixer == mixer_kind::gated_delta_net && !whole))
      return no("headroom: for megatron model.pattern must be of halves of layers, as \"mamba2+none\", \"attention+none\", \"none+dense\" and \"none+experts\" (M, *, -, E); layer", i);
  }
  if (whole && m.recurs() && (!j.framework.adapters.parallel || p.context > 1 || m.mtp_layers > 0 || multiplies_narrow(j.precision)))
    return no("headroom: Gated DeltaNet under megatron is modelled as ms-swift builds it (framework.version \"Megatron-SWIFT\"), without context parallelism, multi-token prediction and fp8, by this version; model", m.label);
  if (m.recurs() && (m.ssm.heads % checked::mul(p.tensor, p.context) != 0 || m.ssm.groups % checked::mul(p.tensor, p.context) != 0))
    return no("headroom: for megatron model.ssm.heads and groups must be multiples of parallel.tensor × context; groups", m.ssm.groups);
  if (j.recurrence == recurrence::eager) return no("headroom: Megatron runs Mamba-2 by mamba_ssm's kernels; recurrence must be \"fused\" or left out");
  if (j.sharding.gathers_units() || j.optimizer.vector_moments > 0)
    return no("headroom: Megatron-FSDP and Muon are not modelled for patterns of layer kinds (model.pattern) by this version; sharding.kind and optimizer must be others");
  if (j.framework.graphs.capture != graph_capture::none || j.offload.activations != place::on_gpu)
    return no("headroom: CUDA graphs and offloaded activations are not modelled for patterns of layer kinds (model.pattern) under megatron by this version");
  if (j.recompute.mode == recompute_mode::full && j.recompute.method == recompute_method::uniform && j.recompute.layers > 1)
    return no("headroom: several layers of a pattern (model.pattern) in a checkpoint are not modelled by this version; recompute.layers must be 1", j.recompute.layers);
  if (j.recompute.mode == recompute_mode::selective && !whole)
    return no("headroom: selective recompute is not modelled for patterns of layer kinds (model.pattern) by this version; recompute must be \"none\" or \"full\"");
  return {};
}

/// BERT as Megatron builds it (core/models/bert/bert_model.py).
constexpr objection check_megatron_encoder(const job& j, const auto& no) {
  const auto& m = j.model;
  if (m.embedding_norm || m.no_final_norm || m.position != position_kind::learned || m.sparse() || m.latent() || m.pattern.given() || m.mtp_layers > 0 || m.embedding_dim > 0 ||
      (m.classes > 0 && (m.classes != 2 || !m.pooler)))
    return no("headroom: for megatron an encoder (model.bidirectional) must be BERT as Megatron builds it: learned positions, a norm before each half and at the end, none behind the embedding", m.label);
  if (j.parallel.context > 1) return no("headroom: Megatron's BERT has no context parallelism; parallel.context must be 1", j.parallel.context);
  if (j.sharding.gathers_units() || j.optimizer.vector_moments > 0 || multiplies_narrow(j.precision))
    return no("headroom: Megatron-FSDP, Muon and fp8 are not modelled for encoders under megatron by this version; precision.compute must have 16 or 32 bits");
  return {};
}

/// T5 as Megatron builds it (core/models/T5/t5_model.py).
constexpr objection check_megatron_decoder(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& e = m.encoder;
  if (!e.cross_attention || e.heads > 0 || e.ffn > 0 || e.max_positions > 0 || e.frozen_positions || e.audio_channels > 0 || e.vocab > 0 || e.attention_bias || m.post_norms || m.kv() != m.heads || m.position != position_kind::learned ||
      m.sparse() || m.latent() || m.pattern.given() || m.mtp_layers > 0 || m.embedding_norm || m.no_final_norm || m.qk_norm || m.bidirectional || m.embedding_dim > 0 || m.pooler || m.classes > 0 || m.vision.kind != vision_kind::none)
    return no("headroom: for megatron a model with an encoder must be T5 as Megatron builds it: learned positions and one embedding for both stacks, layers of one shape, cross-attention in every layer of the decoder", m.label);
  const auto& p = j.parallel;
  if (p.pipeline > 1 || p.virtual_pipeline > 1 || p.context > 1) return no("headroom: pipeline stages and context parallelism of T5 are not modelled for megatron by this version; parallel.pipeline and context must be 1; pipeline", p.pipeline);
  if (p.sequence && (e.sequence > 0 ? e.sequence : j.batch.sequence) % p.tensor != 0) return no("headroom: with parallel.sequence, model.encoder.sequence must be a multiple of parallel.tensor; sequence", e.sequence);
  if (j.sharding.gathers_units() || j.optimizer.vector_moments > 0 || multiplies_narrow(j.precision) || j.recompute.mode != recompute_mode::none)
    return no("headroom: Megatron-FSDP, Muon, fp8 and recompute are not modelled for T5 under megatron by this version; recompute must be \"none\", precision.compute have 16 or 32 bits");
  if (j.framework.graphs.capture != graph_capture::none || j.offload.activations != place::on_gpu)
    return no("headroom: CUDA graphs and offloaded activations are not modelled for T5 under megatron by this version; offload.activations must be \"gpu\"");
  return {};
}

/// Experts.
constexpr objection check_megatron_experts(const job& j, const auto& no) {
  const auto& e = j.model.experts;
  const auto& p = j.parallel;
  if (e.count % p.expert != 0 || e.ffn % p.expert_tensor != 0)
    return no("headroom: model.experts.count must be a multiple of parallel.expert, and experts.ffn of parallel.expert_tensor; experts", e.count);
  if (j.hardware.gpus() / p.pipeline % checked::mul(p.expert, p.expert_tensor) != 0)
    return no("headroom: data × tensor × context must be a multiple of parallel.expert × expert_tensor; expert", p.expert);
  return {};
}

}  // namespace headroom::detail
