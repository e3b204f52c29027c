// Distributed under the Boost Software License, Version 1.0.
// Which kinds of loss a framework and its layout have.
#pragma once

#include <headroom/error.hpp>
#include <headroom/job.hpp>

namespace headroom::detail {

/// Whether ms-swift takes the loss of a rank's part of a row, of logits as they are (swift/trainers/utils.py per_token_loss_func_sp).
constexpr bool shares_rows(const job& j) { return j.parallel.context > 1 && of_swift(j.objective.code) && j.objective.kind == objective_kind::sft; }

/// Whether chunks of tokens are TRL's, over transformers' Trainer.
constexpr bool chunks_by_trl(const job& j) { return j.loss.kind == loss_kind::chunked && !shares_rows(j) && (j.framework.label == "hf-trainer" || j.framework.label == "deepspeed"); }

constexpr objection check_loss(const job& j, const auto& no) {
  const auto kind = j.loss.kind;
  if (j.loss.entropies != entropy_code::unset && (j.objective.code != method_code::verl || !generates(j.objective.kind) || j.framework.modules.megatron() || j.batch.padded || kind == loss_kind::fused_linear || kind == loss_kind::cut))
    return no("headroom: loss.entropies is of verl's FSDP workers and of samples without padding (objective.trainer \"verl\", batch.padded false), which do not join head and scores: leave it out");
  if (j.framework.modules.megatron()) {
    if (j.loss.balances_experts) return no("headroom: loss.balances_experts is of transformers; Megatron balances experts within its layers: leave it out");
    const bool joined = kind == loss_kind::fused_linear || kind == loss_kind::cut;
    if (kind == loss_kind::chunked || (joined && !(j.objective.code == method_code::verl && generates(j.objective.kind)))) return no("headroom: for megatron loss.kind must be vocab-parallel, full or fused");
    return {};
  }
  const auto style = j.framework.loss.style;
  if (j.loss.balances_experts && (!j.model.sparse() || !j.framework.modules.eager() || j.framework.modules.dtensor() || (j.framework.label != "hf-trainer" && j.framework.label != "deepspeed") || j.objective.kind != objective_kind::sft ||
                                  j.parallel.pipeline > 1 || kind == loss_kind::cut || j.compile))
    return no("headroom: loss.balances_experts is modelled for fine-tuning (sft) of mixtures of experts under transformers' Trainer, all layers on each GPU and none compiled; framework must be hf-trainer or deepspeed", j.framework.label);
  // Of transformers' models with latent attention none has load_balancing_loss_func (src/transformers/models at decba1d2ea of 2026-08-19: deepseek_v2, deepseek_v3, glm4_moe_lite, …).
  if (j.loss.balances_experts && j.model.latent()) return no("headroom: transformers makes no loss of routers' logits in models with latent attention; leave loss.balances_experts out; model", j.model.label);
  if (const auto& m = j.model; chunks_by_trl(j) && (j.objective.kind != objective_kind::sft || has_own_loss(j.objective) || j.sharding.cuts(sharded_state::weights) || j.evaluation.batch > 0 || j.compile || j.parallel.pipeline > 1 || j.parallel.context > 1 ||
                                                    j.parallel.tensor > 1 || j.loss.balances_experts || m.logit_softcap > 0 || m.head_bias || m.normalised_head || m.classes > 0 || m.encoder.layers > 0 || j.adapter.targets.has(module::head) ||
                                                    (j.adapter.base.quantised() && !j.adapter.base_skips.has(module::head))))
    return no("headroom: TRL's chunked_nll (loss.kind \"chunked\") is modelled for sft with whole weights on each GPU, without evaluation, compile, balances_experts, capped logits, and adapters or four bits in the head; choose full; framework", j.framework.label);
  if (kind == loss_kind::chunked && !chunks_by_trl(j) && !shares_rows(j) && style != loss_style::chunked && style != loss_style::chunked_head && style != loss_style::chunked_in_loss)
    return no("headroom: loss.kind \"chunked\" is modelled for litgpt, torchtitan and torchtune alone by this version; choose full, fused or fused-linear", j.framework.label);
  if (kind == loss_kind::vocab_parallel && (j.parallel.tensor == 1 || !j.framework.modules.dtensor()))
    return no("headroom: loss.kind \"vocab-parallel\" needs tensor parallelism, for this framework or layout not modelled; choose full, fused or fused-linear");
  if (kind == loss_kind::fused_linear && j.framework.modules.dtensor() && j.parallel.tensor > 1)
    return no("headroom: loss.kind \"fused-linear\" is not modelled under tensor parallelism by this version; choose vocab-parallel or full");
  return {};
}

}  // namespace headroom::detail
