// Distributed under the Boost Software License, Version 1.0.
// Which parts of a layer this version has no program for.
#pragma once

#include <headroom/block/divided_layers.hpp>
#include <headroom/model/check.hpp>

namespace headroom::detail {

/// Whether a layer has a dense feed-forward, of width `ffn`.
constexpr bool has_dense_layers(const shape& m) {
  if (!m.pattern.given()) return m.sparse_layers(0, m.layers) < m.layers;
  for (std::int64_t i = 0; i < m.pattern.period && i < m.layers; ++i)
    if (const auto feeds = m.kind_of(i).feeds; plainly_dense(feeds) || feeds == feed_forward_kind::wide) return true;
  return false;
}

/// Widths, and what stands beside a layer's two halves.
constexpr objection check_widths(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& f = j.framework;
  if (!within(m.ffn, m.ffn == 0 && !has_dense_layers(m) ? 0 : 1)) return no("headroom: model.ffn must be a whole number from 1 to 2^40", m.ffn);
  if (!within(m.vocab, m.head == head_kind::language ? 1 : 0)) return no("headroom: model.vocab must be a whole number from 1 to 2^40", m.vocab);
  if (m.sparse() && m.parallel_block) return no("headroom: experts beside a parallel attention block are not modelled by this version; model.parallel_block must be false");
  if (!f.modules.megatron() && m.mtp_layers > 0) return no("headroom: multi-token-prediction modules are not modelled for this framework by this version; model.mtp_layers", m.mtp_layers);
  if (m.fp32_residual && (f.modules.megatron() || m.sparse() || j.adapter.active() || m.vision.kind != vision_kind::none))
    return no("headroom: an fp32 residual stream (model.fp32_residual) is modelled for eager dense models without adapters by this version", f.label);
  return {};
}

/// What attention is made of.
constexpr objection check_attention_parts(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& f = j.framework;
  const bool divides = divides_layers(j.framework);
  if ((m.norm_power || m.value_norm) && (divides || j.compile || !j.kernels.empty() || m.fused_qkv || m.latent() || f.attention.qkv != qkv_projection::separate))
    return no("headroom: norms of a power and over values (model.norm_power, value_norm) are not modelled for this framework, compiled, with fused kernels or one matrix for q, k and v by this version", f.label);
  if (m.fixed_sinks && (divides || j.compile || j.rollout.given() || f.attention.qkv != qkv_projection::separate || j.attention == attention::flash || j.attention == attention::flash3))
    return no("headroom: sinks that never train (model.fixed_sinks) are modelled for attention that writes its scores out, without a rollout, by this version; attention must be eager, or sdpa, which stands for it", f.label);
  if (m.chunked && f.attention.masks != sdpa_masks::none && (j.attention == attention::flash || j.attention == attention::flash3))
    return no("headroom: transformers runs no flash attention in chunks (models/llama4/modeling_llama4.py, _supports_flash_attn): attention must be sdpa or eager; model", m.label);
  const bool gates = f.modules.kind == layer_modules::megatron && f.adapters.parallel && m.qk_norm && !multiplies_narrow(j.precision);
  if (m.gated_attention && !gates && (divides || m.fused_qkv || m.latent() || f.attention.qkv != qkv_projection::separate))
    return no("headroom: gated attention (model.gated_attention) is not modelled for this framework, or with one matrix for q, k and v, by this version", f.label);
  return {};
}

/// What an MLP is made of.
constexpr objection check_mlp_parts(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& f = j.framework;
  const bool divides = divides_layers(j.framework);
  if (m.activation == activation_kind::xielu && (divides || m.sparse() || m.mlp != mlp_kind::plain || m.parallel_block))
    return no("headroom: xielu (model.activation) is modelled for eager dense layers with a plain MLP alone by this version", f.label);
  if (m.down_bias && (divides || m.sparse() || m.encoder.layers > 0 || !j.kernels.empty()))
    return no("headroom: an MLP whose last matrix alone has a bias (model.down_bias) is modelled for eager dense layers without fused kernels alone by this version", f.label);
  return {};
}

/// Where a layer knows positions.
constexpr objection check_layer_positions(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& f = j.framework;
  const bool divides = divides_layers(j.framework);
  if (m.position == position_kind::learned && m.relative_buckets > 0 && (divides || j.compile || m.encoder.layers > 0 || !m.bidirectional))
    return no("headroom: biases of the scores beside learned positions (model.relative_buckets) are modelled for eager encoders alone by this version", m.relative_buckets);
  if (m.layer_biases && (divides || j.compile || m.position != position_kind::relative || m.relative_buckets < 1))
    return no("headroom: tables of relative positions in each layer (model.layer_biases) are modelled for eager layers with model.position \"relative\" alone by this version; model.relative_buckets", m.relative_buckets);
  if (m.position == position_kind::disentangled) {
    constexpr module_set both{module::q_proj, module::k_proj};
    if (divides || j.compile || j.recompute.mode == recompute_mode::selective || m.latent() || m.pattern.given() || m.encoder.layers > 0 || m.kv() != m.heads || m.fused_qkv || m.qk_norm || m.qk_norm_full || !m.bidirectional || m.relative_buckets < 1)
      return no("headroom: distances between positions (model.position \"disentangled\") are modelled for eager encoders of whole heads alone by this version; model.relative_buckets", m.relative_buckets);
    if (j.adapter.active() && (j.adapter.targets.bits & both.bits) != 0)
      return no("headroom: adapters on queries or keys, which project DeBERTa's table of distances too, are not modelled by this version: adapter.targets must be without q_proj and k_proj", f.label);
  }
  return {};
}

/// Norms and residuals, and what stands at the ends of the stack.
constexpr objection check_norms_and_ends(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& f = j.framework;
  const bool divides = divides_layers(j.framework);
  if (m.normed_residual && (divides || j.compile || !j.kernels.empty() || m.parallel_block || m.norm_after || m.post_norms || m.encoder.layers > 0 || (m.sparse() && !f.experts.at_once())))
    return no("headroom: a residual behind each norm (model.normed_residual) is modelled for eager layers without fused kernels, with experts all at once (framework.version of 2026), by this version", f.label);
  if (m.sub_norms && (divides || m.sparse() || m.latent() || m.pattern.given() || m.encoder.layers > 0))
    return no("headroom: norms in front of each half's last matrix (model.sub_norms) are modelled for eager dense layers that attend alone by this version", f.label);
  if (m.narrow_embedding && (m.embedding_dim < 1 || m.head == head_kind::language || m.encoder.layers > 0))
    return no("headroom: model.narrow_embedding needs an embedding_dim, and a head that is masked-language or none; embedding_dim", m.embedding_dim);
  if (j.adapter.active() && m.encoder.layers > 0 && (j.adapter.kind != adapter_kind::lora || j.adapter.base.quantised() || !j.adapter.modules_to_save.empty() || j.sharding.kind != sharding_kind::none))
    return no("headroom: adapters of encoder-decoder models are modelled as LoRA beside weights of 16 or 32 bits that lie whole on each GPU (adapter.kind lora, no adapter.base of fewer bits, no adapter.modules_to_save, no sharding), by this version; adapter.rank", j.adapter.rank);
  if (constexpr module_set whole{module::encoder, module::cross_attention}; j.adapter.active() && m.encoder.layers > 0 && (j.adapter.targets.bits & whole.bits) != 0)
    return no("headroom: adapter.targets must name matrices of a layer, as q_proj, which stands for those of both stacks and between them, and neither encoder nor cross_attention; model", m.label);
  if (m.encoder.layers > 0 && m.position == position_kind::relative && f.label == "hf-trainer" && j.precision.untrained() == formats::fp16)
    return no("headroom: of a T5 that is loaded in fp16 transformers keeps each layer's wo in fp32 (modeling_t5.py _keep_in_fp32_modules), which is not modelled by this version: precision must be bf16, fp32, or either under autocast; model", m.label);
  const bool bert = f.modules.megatron() && m.bidirectional && !m.norm_after && m.head == head_kind::masked_language;  // engine/tensor_parallel/limits.hpp
  if (m.distinct_layers > 0 && (divides || j.adapter.active() || j.sharding.kind != sharding_kind::none || !j.trainable.all() || j.batch.accumulation > 1 || j.parallel.pipeline > 1 || j.optimizer.in_backward || j.hardware.gpus() > 1 || j.recompute.mode != recompute_mode::none))
    return no("headroom: layers that run several times (model.distinct_layers) are modelled on one GPU, all of them trained, with batch.accumulation 1, without adapters and recomputation, by this version", f.label);
  if (divides && !bert && (m.bidirectional || m.norm_after || m.head != head_kind::language))
    return no("headroom: encoders and post-norm models are not modelled for this framework by this version; states(job) counts their weights", f.label);
  return {};
}

}  // namespace headroom::detail
