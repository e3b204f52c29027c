// Distributed under the Boost Software License, Version 1.0.
// Which patterns of layer kinds this version has no program for.
#pragma once

#include <headroom/block/divided_layers.hpp>
#include <headroom/model/check.hpp>

namespace headroom::detail {

/// Sparse attention: its indexer has weights whose gradients never come, and kernels that take a mask.
constexpr objection check_sparse_attention(const job& j, const auto& no) {
  const auto& p = j.precision.set() ? j.precision : j.framework.precision;
  if (j.attention != attention::unset && j.attention != attention::sdpa && j.attention != attention::eager)
    return no("headroom: sparse attention (model.pattern sparse-attention) runs over a mask; attention must be sdpa or eager");
  if (j.batch.packed) return no("headroom: packed sequences are not modelled for sparse attention by this version; batch.packed must be false");
  if (p.autocasts() && p.parameters.bits > p.compute.bits)
    return no("headroom: sparse attention under autocast is modelled for parameters of 16 bits alone by this version; precision.parameters has bits", p.parameters.bits);
  if (!j.adapter.active() && j.sharding.kind != sharding_kind::none && j.sharding.kind != sharding_kind::fsdp2)
    return no("headroom: the indexer of sparse attention never has gradients, which is modelled without sharding, under fsdp2 or with adapters alone by this version; sharding.kind must be none or fsdp2");
  if (j.adapter.active() && (j.adapter.base.quantised() || j.adapter.targets == all_linear))
    return no("headroom: adapters on, or fewer bits for, the indexer of sparse attention are not modelled by this version; adapter.targets must name modules, and adapter.base have 16 or 32 bits");
  return {};
}

/// Embeddings of each layer, and keys and values that layers share.
constexpr objection check_shared_tensors(const job& j, const auto& no) {
  const auto& m = j.model;
  if (m.altup.streams > 0 && (j.adapter.base.quantised() || j.adapter.targets == all_linear || !j.kernels.empty()))
    return no("headroom: several residual streams (model.altup) are modelled without fused kernels, a quantised base and adapters on every linear layer by this version; streams", m.altup.streams);
  bool shares = m.layer_input.width > 0;
  for (std::int64_t i = 0; i < m.pattern.period && !shares; ++i) shares = shares_keys(m.pattern.at(i).mixer);
  if (!shares) return {};
  if (j.parallel.pipeline > 1) return no("headroom: embeddings of each layer (model.layer_input) and shared keys and values are not modelled over stages by this version: parallel.pipeline must be 1; it is", j.parallel.pipeline);
  if (j.objective.kind != objective_kind::sft || j.rollout.given())
    return no("headroom: embeddings of each layer (model.layer_input) and shared keys and values are modelled for sft alone by this version; objective.kind must be sft, without a rollout");
  if (j.optimizer.in_backward) return no("headroom: optimizers that update in backward are not modelled for embeddings of each layer and shared keys and values by this version; optimizer", j.optimizer.label);
  return {};
}

/// Patterns of layer kinds.
constexpr objection check_pattern_layers(const job& j, const auto& no) {
  const auto& p = j.parallel;
  if (j.framework.modules.megatron()) return {};  // engine/tensor_parallel/limits.hpp
  if (divides_layers(j.framework))
    return no("headroom: patterns of layer kinds (model.pattern) are not modelled for this framework by this version; states(job) counts their weights", j.framework.label);
  if (p.tensor > 1 || p.context > 1 || p.expert > 1)
    return no("headroom: tensor, context and expert parallelism are not modelled for patterns of layer kinds (model.pattern) by this version; parallel.tensor, context and expert must be 1");
  if (j.compile || j.recompute.mode == recompute_mode::selective)
    return no("headroom: compiled or selectively recomputed layers are not modelled for patterns of layer kinds (model.pattern) by this version; compile must be false, recompute \"none\" or \"full\"");
  for (std::int64_t i = 0; i < j.model.pattern.period; ++i) {
    const auto mixer = j.model.pattern.at(i).mixer;
    if (mixer == mixer_kind::sparse_attention) return check_sparse_attention(j, no);
    if (mixer == mixer_kind::rg_lru && j.attention != attention::unset && j.attention != attention::sdpa && j.hardware.gpu.maker != vendor::cpu)
      return no("headroom: RecurrentGemma's class runs scaled_dot_product_attention whatever it is asked for; attention must be sdpa");
    if (mixer == mixer_kind::kimi_delta && (j.recurrence == recurrence::eager || j.hardware.gpu.maker == vendor::cpu))
      return no("headroom: Kimi Delta Attention (model.pattern kimi-delta) runs in fla's kernels alone, on a GPU; leave recurrence out");
    if (!global(mixer) && !shares_keys(mixer)) continue;
    if (!j.kernels.empty()) return no("headroom: fused kernels are not modelled for layers of global attention by this version; kernels must be empty");
    if (j.batch.packed) return no("headroom: packed sequences are not modelled for layers of global attention by this version; batch.packed must be false");
    if ((j.attention == attention::flash || j.attention == attention::flash3) && attending(j.model, mixer).head_width() > 256)
      return no("headroom: flash kernels take heads of at most 256 features: attention must be sdpa or eager; model.global.head_dim is", j.model.global.head_dim);
  }
  if (const auto why = check_shared_tensors(j, no)) return why;
  if (j.model.ssm.rank > 0 && j.adapter.active() && (j.adapter.base.quantised() || j.adapter.targets == all_linear))
    return no("headroom: adapters on Mamba-1's x_proj and dt_proj, or fewer bits for them, are not modelled by this version; adapter.targets must name modules, and adapter.base have 16 or 32 bits");
  // Fused kernels are told where documents end (fla's and mamba_ssm's cu_seqlens and seq_idx), and keep what they keep of one long sequence.
  if (j.batch.packed && j.model.recurs() && (!j.model.scans() || j.recurrence == recurrence::eager || !j.framework.attention.packs_by_kernel))
    return no("headroom: packed sequences are modelled for recurrent mixers that have fused kernels alone, under transformers' Trainer, by this version; batch.packed must be false");
  return {};
}

}  // namespace headroom::detail
