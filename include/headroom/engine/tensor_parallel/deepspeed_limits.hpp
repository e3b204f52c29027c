// Distributed under the Boost Software License, Version 1.0.
// What of Megatron-DeepSpeed and GPT-NeoX this version does not follow, beside what it does not of Megatron's layers (engine/tensor_parallel/limits.hpp).
#pragma once

#include <headroom/block/limits.hpp>

namespace headroom::detail {

/// GPT-NeoX's own layers (megatron/model/transformer.py).
constexpr objection check_neox(const job& j, const auto& no) {
  const auto& m = j.model;
  const bool biases = m.attention_bias && m.output_bias && m.mlp_bias, glu = m.mlp == mlp_kind::gated && (m.activation == activation_kind::silu || m.activation == activation_kind::gelu);
  if ((m.norm == norm_kind::layernorm && !m.norm_bias) || m.attention_bias != m.output_bias || (!glu && (m.mlp != mlp_kind::plain || m.activation != activation_kind::gelu || !m.mlp_bias)) || (m.parallel_block && !biases) || m.qk_norm ||
      m.qk_norm_full || m.latent() || m.sliding_window > 0 || m.embedding_norm || m.head_bias || m.shared_attention_norm || m.no_final_norm || m.norm_offset || m.norm_power ||
      (m.position != position_kind::rope && m.position != position_kind::learned && m.position != position_kind::none))
    return no("headroom: for gpt-neox the model must have LayerNorm with a bias or RMSNorm, GELU with biases, SwiGLU or GEGLU, and rotary, learned or no positions; parallel blocks without biases, alibi, windows and shared norms are not modelled by this version", m.label);
  if (m.mlp == mlp_kind::gated && j.framework.mlp.gates_apart && (m.activation != activation_kind::silu || m.mlp_bias))
    return no("headroom: for gpt-neox before 2024-09 a gated MLP must be SwiGLU without biases, as mlp_type llama makes it", m.label);
  if (j.attention != attention::unset && j.attention != attention::eager && j.attention != attention::flash) return no("headroom: for gpt-neox attention must be \"eager\" (global) or \"flash\"");
  return {};
}

/// Layers in Megatron's manner under DeepSpeed's pipeline and optimizers.
constexpr objection check_deepspeed_pipeline(const job& j, const auto& no) {
  if (j.framework.modules.neox())
    if (const auto why = check_neox(j, no)) return why;
  const auto& z = j.sharding;
  if (!z.by(sharder::deepspeed) || z.stage > 1)
    return no("headroom: for megatron-deepspeed and gpt-neox sharding.kind must be \"zero\", with sharding.stage 0 or 1, as its pipeline asks for; stage", z.stage);
  const auto& p = j.precision.set() ? j.precision : j.framework.precision;
  const bool bf16 = p.parameters == formats::bf16 && (p.gradients == formats::fp32 || p.gradients == formats::bf16), fp16 = p.parameters == formats::fp16 && p.gradients == formats::fp16;
  if (p.compute != p.parameters || (!bf16 && !fp16) || p.master != formats::fp32)
    return no("headroom: for megatron-deepspeed and gpt-neox precision must be fp16-mixed, or have parameters in bf16, gradients in fp32 or bf16 and the master in fp32; bits of gradients", p.gradients.bits);
  if (bf16 && z.stage != 1) return no("headroom: with bf16 DeepSpeed divides master and states over data-parallel ranks whatever the stage is; for megatron-deepspeed and gpt-neox sharding.stage must be 1 then; stage", z.stage);
  const auto& d = j.parallel;
  if (d.sequence || d.context > 1 || d.virtual_pipeline > 1 || d.expert > 1 || d.replicate > 1 || j.model.sparse())
    return no("headroom: sequence, context and expert parallelism, virtual stages, experts and replicas are not modelled for megatron-deepspeed and gpt-neox by this version; parallel.sequence must be false, the degrees 1");
  if (d.schedule != schedule::one_forward_one_backward) return no("headroom: DeepSpeed's pipeline runs one forward and one backward in turn; parallel.schedule must be \"1f1b\"");
  if (j.model.bidirectional || j.model.encoder.layers > 0 || j.model.pattern.given() || j.model.mtp_layers > 0)
    return no("headroom: for megatron-deepspeed and gpt-neox models must be decoders of one kind of layer", j.model.label);
  if (j.recompute.mode == recompute_mode::selective || j.recompute.method == recompute_method::block || (j.recompute.layers != 0 && j.recompute.layers != 1))
    return no("headroom: for megatron-deepspeed and gpt-neox recompute must be \"none\" or \"full\", a layer in a checkpoint; recompute.layers", j.recompute.layers);
  if (j.optimizer.set() && j.optimizer.moments != 2) return no("headroom: for megatron-deepspeed and gpt-neox the optimizer must be adam or adamw; moments", j.optimizer.moments);
  if (j.adapter.active()) return no("headroom: adapters are not modelled for megatron-deepspeed and gpt-neox by this version; adapter.rank", j.adapter.rank);
  return {};
}

}  // namespace headroom::detail
