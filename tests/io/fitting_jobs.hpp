// Distributed under the Boost Software License, Version 1.0.
// Jobs near what a target can say, so that many of them are written; one key said otherwise makes them any job again.
#pragma once

#include <headroom/io/export.hpp>

#include "changed_keys.hpp"

namespace changed {

/// Of a Trainer, with what its programs take: today's, whole layers checkpointed or none, formats of autocast.
inline job fit_for_trainer(job j, io::export_target target, draw::dice& dice) {
  const bool engine = dice.index(4) == 0;
  j.framework = engine ? frameworks::deepspeed : frameworks::hf_trainer;
  j.parallel = {.data = dice.flip() ? j.hardware.gpus() : 0};
  if (engine) {
    if (!j.sharding.by(sharder::deepspeed)) j.sharding = zero(dice.pick({1, 2, 3}));
  } else {
    if (j.sharding.by(sharder::deepspeed) || j.sharding.fully_sharded()) j.sharding = dice.flip() ? fsdp1(dice.pick({2, 3})) : fsdp2();
    if (j.sharding.kind == sharding_kind::fsdp1 && dice.flip()) j.sharding.backward_prefetch = dice.flip() ? choice::yes : choice::no;
    j.offload = {};
    if (j.sharding.fully_sharded() && dice.index(4) == 0) j.offload = {.optimizer = place::on_cpu, .parameters = place::on_cpu};
  }
  j.precision = engine || j.sharding.fully_sharded() ? precisions::bf16_mixed : dice.flip() ? precisions::bf16_autocast : precisions::fp32;
  if (j.recompute.mode != recompute_mode::full || j.recompute.method != recompute_method::unset) j.recompute = dice.flip() ? recompute::full : recompute::none;
  if (j.recompute.mode == recompute_mode::full && dice.flip()) j.recompute.reentrant = dice.flip() ? choice::yes : choice::no;
  if (j.attention == attention::te || j.attention == attention::math) j.attention = dice.flip() ? attention::flash : attention::flash3;
  j.optimizer = {};
  if (dice.flip()) j.optimizer = optimizers::all[dice.index(17)];
  if (dice.index(4) == 0) j.optimizer.how = implementation::fused;
  j.loss = {};
  if (dice.index(4) == 0) j.loss.kind = dice.flip() ? loss_kind::fused_linear : loss_kind::full;
  j.batch.padded = false;
  j.dropout = {};
  j.trainable = {};
  const bool adapts = target != io::export_target::hf_trainer && dice.flip();
  if (!adapts) j.adapter = {};
  if (adapts) j.adapter = {.kind = dice.flip() ? adapter_kind::lora : adapter_kind::dora, .rank = 8, .targets = all_linear, .format = engine ? number_format{} : formats::fp32};
  if (adapts && !engine) j.precision = {.parameters = formats::bf16, .compute = formats::bf16, .gradients = formats::fp32, .reduce = formats::fp32, .master = formats::none, .state = formats::fp32};
  if (adapts && target != io::export_target::trl && j.sharding.kind == sharding_kind::none && dice.flip()) {
    j.adapter.base = dice.flip() ? formats::nf4 : formats::nf4_double;
    j.adapter.base_skips = {module::head};
  }
  if (target == io::export_target::axolotl) {
    j.model.experts = {};
    if (!adapts && j.precision == precisions::bf16_autocast) j.precision = precisions::bf16, j.attention = attention::flash;
    if (adapts && dice.flip()) j.kernels = {fused_kernel::adapted_qkv, fused_kernel::rotary};
    if (adapts) j.adapter.kind = adapter_kind::lora;
    if (adapts && j.adapter.base.quantised()) j.adapter.rest = formats::bf16;
    if (dice.index(4) == 0) j.loss.kind = loss_kind::cut;
  }
  if (target == io::export_target::llama_factory && !adapts && !engine && dice.index(4) == 0) j.trainable = {{.first_layer = j.model.layers - 1, .last_layer = j.model.layers - 1}}, j.precision = precisions::bf16;
  return j;
}

/// A job drawn for the framework that a target is of.
inline job drawn_for(io::export_target target, draw::jobs& jobs) {
  using enum io::export_target;
  const std::string_view needed = target == megatron ? "megatron" : target == torchtitan ? "torchtitan" : target == deepspeed ? "deepspeed" : target == accelerate ? "hf-trainer" : "";
  while (true)
    if (auto j = jobs.next(); needed.empty() || j.framework.label.view() == needed) return j;
}

/// Sizes and words that a target knows, where the dice would nearly never find them.
inline job fit_for(job j, io::export_target target, draw::dice& dice) {
  auto& m = j.model;
  using enum io::export_target;
  switch (target) {
    case hf_trainer:
    case trl:
    case llama_factory:
    case axolotl: return fit_for_trainer(std::move(j), target, dice);
    case megatron:
      m.activation = m.mlp == mlp_kind::gated ? activation_kind::silu : activation_kind::gelu;
      m.norm_bias = m.norm == norm_kind::layernorm;
      if (m.mlp == mlp_kind::gated) m.attention_bias = m.output_bias = m.mlp_bias = false;
      j.parallel.schedule = usual_schedule(j.parallel.virtual_pipeline);
      if (j.sharding.kind == sharding_kind::megatron_distributed_optimizer) j.sharding.stage = 1;
      if (j.attention == attention::unset || j.attention == attention::sdpa) j.attention = attention::te;
      break;
    case torchtitan:
      j.batch.padded = false;
      j.loss = {};
      j.optimizer = {.how = j.optimizer.how};
      j.precision = {};
      j.offload = {};
      j.adapter = {};
      j.trainable = {};
      if (j.recompute.policy == recompute_policy::attention_only) j.recompute = {};
      break;
    case accelerate:
      if (j.framework.label.view() != "hf-trainer") break;
      j.precision = j.sharding.fully_sharded() ? precisions::bf16_mixed : precisions::bf16_autocast;
      j.adapter = {};
      if (j.offload.parameters != place::on_gpu) j.offload.parameters = j.offload.optimizer = place::on_cpu;
      break;
    case deepspeed:
      if (j.sharding.kind != sharding_kind::zero) j.sharding = zero(3);
      if (j.precision.compute == formats::fp8) j.precision = precisions::bf16_mixed;
      break;
    default: break;
  }
  return j;
}

}  // namespace changed
