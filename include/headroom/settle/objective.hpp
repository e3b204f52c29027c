// Distributed under the Boost Software License, Version 1.0.
// What a method makes of a job: how its reference stands, which loss it computes, and the jobs that other models' standings are.
#pragma once

#include <headroom/settle/settled_job.hpp>

namespace headroom {

/// How the reference's log-probabilities come about, where the job leaves it open: PEFT's adapters are switched off (trl/trainer/dpo_trainer.py
/// _compute_loss), else there is a copy. OpenRLHF has a copy in any case (openrlhf/cli/train_dpo.py).
constexpr reference_way reference_of(const job& j) {
  const auto& o = j.objective;
  if (!traits_of(o.kind).reference) return reference_way::none;
  if (o.reference != reference_way::unset) return o.reference;
  return j.adapter.active() && o.code != method_code::openrlhf ? reference_way::adapter_off : reference_way::copy;
}

/// Whether a model runs forward beside the one that trains: with weights of its own, or with the trained one's, or in their place.
enum class other_weights : std::uint8_t { none, own, shared };
constexpr other_weights other_model_of(const job& j) {
  if (j.objective.kind == objective_kind::sft) return other_weights::none;
  if (j.objective.has_teacher()) return other_weights::own;
  if (traits_of(j.objective.kind).teacher) return j.objective.reference == reference_way::adapter_off ? other_weights::shared : other_weights::none;
  const auto way = reference_of(j);
  return way == reference_way::copy ? other_weights::own : way == reference_way::adapter_off || way == reference_way::swapped ? other_weights::shared : other_weights::none;
}

/// Whether FSDP2 leaves the last layer gathered between forward and backward (of NeMo-RL's workers: NVIDIA-NeMo/Automodel 24b47e85 of 2026-08
/// nemo_automodel/components/distributed/parallelizer.py apply_fsdp2_sharding_recursively).
constexpr bool keeps_last_layer(const job& j) { return j.framework.sharding.keeps_last_layer || j.objective.code == method_code::nemo_rl; }

/// What FSDP2 makes units of outside the layers. verl wraps an untied embedding (volcengine/verl since 0.4, verl/utils/fsdp_utils.py apply_fsdp2).
constexpr root_units root_of(const job& j) {
  if (j.sharding.root != root_units::unset) return j.sharding.root;
  return j.objective.code == method_code::verl ? root_units::embedding_apart : j.framework.sharding.root;
}
/// Whether the root's unit is let go of after forward and gathered again: where reshard_after_forward is given for the root, too, torch heeds it since 2.8
/// (2025-08; pull requests 154704 and 155319; distributed/fsdp/_fully_shard/_fsdp_state.py _lazy_init). NeMo-Automodel gives false (parallelizer.py);
/// accelerate since 1.14, whose root is split, gives none.
constexpr bool lets_root_go(const job& j) {
  if (!j.framework.sharding.reshards_root || j.sharding.stays_gathered() || j.objective.code == method_code::nemo_rl || root_of(j) == root_units::split) return false;
  return j.environment.torch > 0 ? j.environment.torch >= 208 : j.framework.date >= 202508;
}

/// Whether models lie beside the one that trains.
constexpr bool has_other_models(const job& j) {
  const auto& o = j.objective;
  return o.kind != objective_kind::sft && (other_model_of(j) != other_weights::none || o.has_reward() || o.reward_adapter || o.critic.given());
}

/// Whether the job is the standing of a model that runs forward alone: adapters on nothing.
constexpr bool stands_alone(const job& j) { return j.adapter.active() && j.adapter.targets.empty(); }

/// What a role has of its own, in the job that its standing is.
constexpr void stand_as(job& r, const model_role& role) {
  if (!role.given()) return;
  if (r.model.vision.kind == vision_kind::none && role.model.vision.kind != vision_kind::none) r.batch.images.none = true;
  r.model = role.model;
  if (role.parameters.set()) r.precision = {.parameters = role.parameters};
  if (role.stage >= 0) r.sharding.stage = role.stage;
  if (role.parameters_at != place::on_gpu) r.offload.parameters = role.parameters_at;
}

/// Completions that GRPO, RLOO and distillations generate, and score, at once where they evaluate, by the same code as in a step. TRL's GKD evaluates
/// the data's own answers.
constexpr std::int64_t evaluated_at_once(const job& j) {
  const auto kind = j.objective.kind;
  return (scores_first(kind) && kind != objective_kind::ppo && !rolls_out_as_ppo(j.objective)) || (kind == objective_kind::distill && j.rollout.given() && !distils_by_trl(j.objective)) ? j.evaluation.batch : 0;
}

/// Completions of one rollout on a GPU: those between two updates of the weights, or of as many micro-batches as steps_per_generation (TRL grpo_trainer.py
/// _prepare_inputs; rloo_trainer.py up to 0.21: local_batch_size, gradient_accumulation_steps × num_mini_batches).
constexpr std::int64_t trained_at_once(const job& j) { return checked::mul(j.batch.micro, j.rollout.micro_batches(j.batch.accumulation)); }

/// Completions that are scored at once, without a graph. TRL's PPO, and RLOO up to 0.21, generates and scores by local_rollout_forward_batch_size, 64 (ppo_config.py).
constexpr std::int64_t scored_at_once(const job& j) {
  if (keeps_generated_scores(j.objective)) {
    const auto all = trained_at_once(j), most = j.rollout.batch > 0 ? j.rollout.batch : std::int64_t{64};
    return all < most ? all : most;
  }
  const auto here = j.rollout.batch > 0 ? j.rollout.batch : checked::mul(j.batch.micro, sequences_of(j.objective)), there = evaluated_at_once(j);
  return here > there ? here : there;
}

/// Scores over the vocabulary of every token that TRL's PPO generates, in fp32: their variable names them until the next rollout's take its place.
constexpr bytes kept_scores(const job& j, std::int64_t vocab, std::int64_t completions) {
  if (!keeps_generated_scores(j.objective)) return bytes{0};
  return bytes{checked::mul(completions, j.rollout.completion, vocab, 4)};
}

/// Completions of the evaluated set that TRL's PPO, and RLOO up to 0.21, generate and reward at once to show them, beside the last rollout's scores
/// (ppo_trainer.py and rloo_trainer.py generate_completions).
constexpr std::int64_t sampled_at_once(const job& j) { return keeps_generated_scores(j.objective) ? j.evaluation.batch : 0; }

/// Whether the policy scores its completions before it trains on them. TRL's PPO has the scores of its generation; its GRPO does without where each
/// update learns from its own completions (grpo_trainer.py _generate_and_score_completions: since 0.16, e5ae703d3 of 2025-02-20; cf5183db7 of
/// 2025-05-06; 508d551db of 2025-07-15), but not beside vLLM's scores (since 0.23, 12fc85fd1 of 2025-09-03).
constexpr bool scores_itself(const job& j) {
  const auto& r = j.rollout;
  const auto code = j.objective.code;
  if (!scores_first(j.objective.kind) || kept_scores(j, 1, 1) > bytes{0}) return false;
  if (j.objective.kind != objective_kind::grpo || !of_trl(code)) return true;
  const auto steps = r.micro_batches(j.batch.accumulation), times = r.iterations > 1 ? r.iterations : 1;
  if (code == method_code::trl_0_19) return times > 1 || steps > j.batch.accumulation;
  if (code != method_code::trl_0_22 && !r.by_module() && chosen(r.corrects, true)) return true;
  return j.batch.accumulation % checked::mul(steps, times) != 0;
}

/// Whether the trained module generates without keys and values: all of a text for each token. TRL's GKD, online DPO and Nash-MD do where they
/// checkpoint (gkd_trainer.py and online_dpo_trainer.py, __init__: use_cache).
constexpr bool generates_uncached(const job& j) {
  return j.rollout.by_module() && j.recompute.mode != recompute_mode::none && (distils_by_trl(j.objective) || j.objective.kind == objective_kind::online_dpo || j.objective.kind == objective_kind::nash_md);
}

/// Completions that the trained module generates side by side. TRL's GKD and Nash-MD generate before each micro-batch (gkd_trainer.py training_step).
constexpr std::int64_t generated_at_once(const job& j) {
  if (j.objective.kind == objective_kind::ppo || rolls_out_as_ppo(j.objective)) return scored_at_once(j);
  if (distils_by_trl(j.objective) || j.objective.kind == objective_kind::nash_md) return j.batch.micro;
  const auto here = j.objective.kind == objective_kind::online_dpo ? checked::mul(2, j.batch.micro) : trained_at_once(j), there = evaluated_at_once(j);
  return here > there ? here : there;
}

/// … that a reward model reads at once: in TRL's GRPO and RLOO all that were generated (grpo_trainer.py _calculate_rewards).
constexpr std::int64_t rewarded_at_once(const job& j) {
  const bool groups = (j.objective.kind == objective_kind::grpo && !j.objective.reward_teaches()) || (j.objective.kind == objective_kind::rloo && !rolls_out_as_ppo(j.objective));
  const auto here = scored_at_once(j), shown = sampled_at_once(j);
  return groups ? generated_at_once(j) : here > shown ? here : shown;
}

/// The standing of a model that runs forward alone is a job, too: of its model, in which nothing trains. `role`: a teacher, a reward model, or none
/// for a reference. DeepSpeed divides it in the third stage alone (trl/models/utils.py prepare_deepspeed: any other stage becomes 0, so that it is
/// whole on every GPU). It is checked as part of `j`. A reward model has one score for its head (AutoModelForSequenceClassification), but
/// LLaMA-Factory's keeps its language head beside it.
constexpr job standing_of_other(const job& j, const model_role& role) {
  job r = j;
  stand_as(r, role);
  r.batch.micro = role.given() && role.micro > 0 ? role.micro : role.given() ? rewarded_at_once(j) : scored_at_once(j);
  if (!role.given() && j.objective.reference_format.set()) {
    if (!r.precision.set()) r.precision = j.framework.precision;
    r.precision.parameters = j.objective.reference_format;
  }
  r.rollout = {};
  r.evaluation = {};
  const bool scores = role.given() && generates(j.objective.kind) && j.objective.code != method_code::llama_factory && !j.objective.reward_teaches();
  r.objective = {.kind = scores ? objective_kind::classification : objective_kind::sft, .code = j.objective.code};
  r.recompute = {};
  r.trainable = {};
  r.dropout = {};
  r.kernels = j.kernels.adapted() ? fused_kernels{} : j.kernels;
  r.offload.activations = place::on_gpu;
  // Adapters on nothing: a frozen model.
  r.adapter = {.kind = adapter_kind::lora, .rank = 1, .base = j.adapter.base, .base_skips = j.adapter.base_skips, .base_also = j.adapter.base_also, .rest = j.adapter.rest, .rest_experts = j.adapter.rest_experts};
  if (role.given()) r.adapter.base = r.adapter.rest = r.adapter.rest_experts = {};
  if (!role.given() && j.objective.reference_at != place::on_gpu) r.offload.parameters = j.objective.reference_at;
  if (j.objective.code == method_code::verl) {  // in bf16, and on the host (verl/workers/fsdp_workers.py _build_model_optimizer: CPUOffload for all but the actor)
    r.precision = {.parameters = formats::bf16};
    r.offload.parameters = place::on_cpu;
  }
  if (r.sharding.by(sharder::deepspeed) && !r.sharding.cuts(sharded_state::weights)) r.sharding = zero(0);
  return r;
}

/// The critic's is a job of training: the same optimizer and layout, one score a token for a head. Adapters are OpenRLHF's alone, whose options
/// are of both models (openrlhf/trainer/ray/ppo_critic.py lora_rank); elsewhere they are the policy's (trl/experimental/ppo/ppo_trainer.py peft_config).
constexpr job standing_of_critic(const job& j) {
  job r = j;
  stand_as(r, j.objective.critic);
  if (j.objective.critic.parameters.set()) {
    r.precision = j.precision;
    r.precision.parameters = j.objective.critic.parameters;
  }
  r.rollout = {};
  r.evaluation = {};
  r.loss = {};
  r.objective = {.kind = objective_kind::classification, .code = j.objective.code};
  if (j.objective.code != method_code::openrlhf) r.adapter = {};
  r.trainable = {};
  if (const auto again = j.objective.critic.recompute; again != choice::unset) r.recompute = again == choice::yes ? recompute::full : recompute::none;
  if (const std::int64_t own = j.objective.critic.micro; own > 0) {
    const auto all = checked::mul(j.batch.micro, j.batch.accumulation);
    r.batch.micro = own;
    r.batch.accumulation = all > own ? checked::ceil_div(all, own) : 1;
  }
  return r;
}

namespace detail {

/// A model without a vocabulary's head: of one score, of classes, or of nothing (transformers AutoModelForSequenceClassification). LLaMA-Factory's
/// has its score beside it.
constexpr void settle_head(settled_job& r) {
  const auto kind = r.source->objective.kind;
  if (traits_of(kind).vocabulary) return;
  const auto& o = r.source->objective;
  if (!keeps_language_head(o)) r.model.head = head_kind::none, r.model.tied = false;
  r.layer.scoring.of_two_words = o.kind == objective_kind::rerank && o.generative;
  r.layer.scoring.repads = r.source->batch.packed && o.code == method_code::ms_swift;
  if (r.model.classes == 0 && kind != objective_kind::embedding && !r.layer.scoring.of_two_words) r.model.classes = 1;
}

/// Megatron's models return a loss for each token, of which methods make log-probabilities: its own loss program (ms-swift
/// swift/megatron/trainers/rlhf_mixin.py get_logps; verl verl/utils/megatron/tensor_parallel.py vocab_parallel_log_probs_from_logits).
constexpr bool loss_of_method(const job& j) { return has_own_loss(j.objective) && traits_of(j.objective.kind).vocabulary && !stands_alone(j) && !j.framework.modules.megatron(); }

/// Logits come in the format that the layers compute in, unless accelerate or transformers (until 4.45) make them fp32.
constexpr void settle_method_loss(settled_job& r) {
  const auto& j = *r.source;
  auto& s = r.layer;
  auto o = j.objective;
  if (o.code == method_code::unset) {
    o.code = method_code::trl;
    r.assumptions.add(assumption::method_of_trl);
  }
  s.loss = j.loss;
  s.loss_program = j.loss.kind == loss_kind::fused_linear || j.loss.kind == loss_kind::cut ? loss_style::fused_scores : loss_style::compared;
  s.scoring = loss_of(o, j.attention == attention::flash || j.attention == attention::flash3);
  if (o.code == method_code::verl && generates(o.kind) && j.batch.padded) s.scoring.reads_completion = s.scoring.shifts = true;  // dp_actor.py _forward_micro_batch, "not using rmpad"
  // padding_free: dpo_trainer.py concatenated_forward, kto_trainer.py get_batch_logps, grpo_trainer.py _get_logps_via_local_forward
  s.scoring.one_row = j.batch.packed && of_swift(o.code) && !s.scoring.divergence;
  s.scoring.by_token = s.scoring.one_row && generates(o.kind);
  // grpo_trainer.py _get_logps_via_sp: of a part of the row, whose labels are rolled, the quotient lies beside the logits.
  if (j.parallel.context > 1 && of_swift(o.code)) s.scoring.divides = divided_by_temperature::into_copy, s.scoring.shifts = s.scoring.by_token = false;
  s.compares = other_model_of(j) != other_weights::none && !scores_first(o.kind) && reference_of(j) != reference_way::swapped;
  s.wide_outputs = o.code == method_code::nemo_rl;
  if (s.scoring.reads_completion) s.scored = j.rollout.completion;
  if (!s.compares && !generates(o.kind) && o.kind != objective_kind::tpo && reference_of(j) != reference_way::precomputed) s.scoring.entropy = logits_entropy::none;
  if (s.loss.logits.set()) return;
  const bool wide = o.code != method_code::verl && (j.framework.autocast.converts_outputs || j.framework.date < 202410);
  s.loss.logits = wide ? formats::fp32 : r.precision.compute;
  r.assumptions.add(assumption::logits_format_of_framework);
}

}  // namespace detail

}  // namespace headroom
