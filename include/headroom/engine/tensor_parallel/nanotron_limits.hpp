// Distributed under the Boost Software License, Version 1.0.
// What nanotron's layers, stages and optimizer do not run, or this version does not follow.
#pragma once

#include <headroom/block/limits.hpp>

namespace headroom::detail {

/// Llama's layer alone (nanotron models/llama.py).
constexpr objection check_nanotron_model(const job& j, const auto& no) {
  const auto& m = j.model;
  if (m.sparse() || m.latent() || m.pattern.given() || m.mtp_layers > 0 || m.bidirectional || m.encoder.layers > 0 || m.vision.kind != vision_kind::none || m.parallel_block || m.post_norms ||
      m.qk_norm || m.qk_norm_full || m.mlp != mlp_kind::gated || m.norm != norm_kind::rmsnorm || m.position != position_kind::rope || m.embedding_dim > 0 || m.embedding_norm ||
      m.no_final_norm || m.classes > 0)
    return no("headroom: for nanotron the model must be a Llama (models/llama.py): dense, a gated MLP, RMSNorm before each half, rotary positions", m.label);
  if (m.attention_bias || m.output_bias || m.mlp_bias) return no("headroom: nanotron's Llama has no biases; model.attention_bias, output_bias and mlp_bias must be false", m.label);
  if (checked::mul(m.heads, m.head_width()) != m.hidden) return no("headroom: for nanotron model.head_dim must be model.hidden / heads", m.head_width());
  return {};
}

constexpr objection check_nanotron_layout(const job& j, const auto& no) {
  const auto& p = j.parallel;
  if (p.virtual_pipeline > 1 || (p.schedule != schedule::one_forward_one_backward && p.schedule != schedule::gpipe))
    return no("headroom: for nanotron parallel.schedule must be 1f1b or gpipe (afab), with parallel.virtual_pipeline 1; chunks", p.virtual_pipeline);
  if (p.pipeline > degrees::max_entries) return no("headroom: parallel.pipeline must be from 1 to 256", p.pipeline);
  if (p.pipeline > 1 && p.schedule == schedule::one_forward_one_backward && j.batch.accumulation < p.pipeline - 1)
    return no("headroom: nanotron's 1f1b needs batch.accumulation of at least parallel.pipeline - 1; found", j.batch.accumulation);
  if (p.schedule == schedule::gpipe && j.batch.accumulation > 65'536) return no("headroom: with the gpipe schedule batch.accumulation must be from 1 to 65536; accumulation", j.batch.accumulation);
  if (p.context > 1 || p.expert > 1 || p.expert_tensor > 1 || p.replicate > 1)
    return no("headroom: context and expert parallelism and replicas are not modelled for nanotron by this version; parallel.context, expert, expert_tensor and replicate must be 1");
  const auto& z = j.sharding;
  if ((z.divides() && !z.by(sharder::deepspeed)) || z.stage > 1) return no("headroom: for nanotron sharding must be \"none\", \"ddp\" or \"zero\" of stage 0 or 1; stage", z.stage);
  return {};
}

constexpr objection check_nanotron_recipe(const job& j, const auto& no) {
  const auto& p = j.precision;
  if (p.set() && (p.parameters.bits != 16 || p.compute.bits != 16 || p.gradients != formats::fp32 || p.master != formats::fp32 || p.reduce != formats::fp32))
    return no("headroom: nanotron is modelled with parameters in 16 bits and accumulate_grad_in_fp32; precision.gradients, reduce and master must be fp32");
  const auto& o = j.optimizer;
  const bool plain = o.by_tensor == nullptr || o.by_tensor == &updates::one_kernel;
  if (!plain || o.extent != state_extent::full || o.state.quantised() || o.paged_from > 0 || o.blocks > 0 || o.in_backward || o.vector_moments > 0)
    return no("headroom: for nanotron the optimizer must be adamw or sgd");
  if (o.set() && o.how != implementation::fused && o.how != implementation::unset) return no("headroom: for nanotron optimizer.implementation must be fused (torch_adam_is_fused)");
  if (j.adapter.active() || !j.trainable.all()) return no("headroom: adapters and partly frozen models are not modelled for nanotron");
  if (j.attention != attention::unset && j.attention != attention::flash) return no("headroom: nanotron's attention is flash attention; attention must be \"flash\" or left out");
  if (j.loss.kind != loss_kind::unset && j.loss.kind != loss_kind::vocab_parallel && j.loss.kind != loss_kind::full)
    return no("headroom: for nanotron loss.kind must be vocab-parallel, full or left out");
  if (j.loss.logits.set() && j.loss.logits != formats::fp32) return no("headroom: nanotron computes its loss from fp32 logits; loss.logits must be fp32");
  if (j.recompute.mode == recompute_mode::selective || j.recompute.method != recompute_method::unset || (j.recompute.layers != 0 && j.recompute.layers != j.model.layers))
    return no("headroom: nanotron recomputes every layer or none (recompute_layer); recompute must be \"none\" or \"full\"");
  if (j.dropout.hidden.positive() || j.dropout.attention.positive() || j.dropout.embedding.positive()) return no("headroom: nanotron's Llama has no dropout; dropout must be 0");
  const auto& f = j.offload;
  if (f.optimizer != place::on_gpu || f.parameters != place::on_gpu || f.activations != place::on_gpu) return no("headroom: nanotron offloads nothing; offload must be left out");
  return {};
}

/// A job of nanotron's modules.
constexpr objection check_nanotron(const job& j, const auto& no) {
  if (const auto why = check_layers(j, no)) return why;
  if (const auto why = check_division(j, no)) return why;
  if (const auto why = check_nanotron_model(j, no)) return why;
  if (const auto why = check_nanotron_layout(j, no)) return why;
  if (const auto why = check_nanotron_recipe(j, no)) return why;
  return check_running(j, no);
}

}  // namespace headroom::detail
