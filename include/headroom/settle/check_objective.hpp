// Distributed under the Boost Software License, Version 1.0.
// Methods that contradict themselves, and those that this version does not model.
#pragma once

#include <headroom/job.hpp>
#include <headroom/model/check.hpp>
#include <headroom/recipe/method_loss.hpp>
#include <headroom/settle/check_divided_method.hpp>

namespace headroom::detail {

/// The reference: by an adapter that is switched off, or by a copy.
constexpr objection check_reference(const job& j, const auto& no) {
  const auto way = j.objective.reference;
  const bool distils = distils_by_swift(j.objective);
  if (distils && way != reference_way::unset && way != reference_way::adapter_off)
    return no("headroom: a distillation's teacher may be the trained model with its adapters switched off; objective.reference must be adapter-off, or left out beside objective.teacher");
  if (!distils && !traits_of(j.objective.kind).reference && way != reference_way::unset && way != reference_way::none)
    return no("headroom: this objective.kind has no reference model; leave objective.reference out");
  if (j.objective.sft_weight > 0) {
    const auto code = j.objective.code;
    const bool computes = of_swift(code) || of_swift_megatron(code) || code == method_code::llama_factory || code == method_code::trl || code == method_code::unset;
    if (!distils && (j.objective.kind != objective_kind::dpo || !computes))
      return no("headroom: objective.sft_weight is modelled of DPO as ms-swift, LLaMA-Factory and TRL since 0.29 run it, and of ms-swift's distillation; elsewhere leave it out");
  }
  if (way == reference_way::swapped && !trains_by_nemo(j.objective)) return no("headroom: references that are swapped in from the host are modelled as NeMo-RL does it alone; objective.reference must be copy, adapter-off, precomputed or none");
  if (way == reference_way::adapter_off && !j.adapter.active()) return no("headroom: objective.reference \"adapter-off\" needs an adapter");
  if (j.objective.reference_format.set() && (way == reference_way::adapter_off || way == reference_way::precomputed || way == reference_way::none || (way == reference_way::unset && j.adapter.active())))
    return no("headroom: objective.reference_parameters is the format of a reference that is a copy; objective.reference must be copy");
  if (j.objective.reference_format.set() && (j.objective.reference_format.quantised() || j.objective.code == method_code::verl)) return no("headroom: objective.reference_parameters must be fp32, bf16 or fp16, and is bf16 in verl, where it is left out");
  if (j.objective.reference_at != place::on_gpu) {
    const bool waits = j.sharding.gathers_units() || j.sharding.cuts(sharded_state::weights) || j.framework.modules.megatron();
    if (way != reference_way::copy || j.objective.reference_at != place::on_cpu || !waits || !traits_of(j.objective.kind).reference)
      return no("headroom: objective.reference_parameters_at must be none, or cpu where objective.reference is copy and weights are gathered (ZeRO's third stage, FSDP) or Megatron's");
  }
  if (way == reference_way::copy && j.adapter.base.quantised()) return no("headroom: a copy of a quantised base as the reference is not modelled by this version; objective.reference must be adapter-off, precomputed or none");
  return {};
}

/// A model that another part of the job names: what is modelled of any, and of where it may lie.
constexpr objection check_role(const job& j, const model_role& t, const auto& no) {
  if (const auto why = check(t.model, no)) return why;
  if (t.model.layers > (std::int64_t{1} << 16)) return no("headroom: the layers of a model beside the trained one (objective.teacher, reward, critic) must be at most 2^16", t.model.layers);
  const auto &v = t.model.vision, &of = j.model.vision;
  const bool reads_texts = of.kind == vision_kind::none && v.held == 0 && !j.framework.modules.megatron() && !j.sharding.divides();  // its tower is there, and does nothing
  const bool sees_alike = reads_texts || (v.kind == of.kind && v.patch == of.patch && v.merge == of.merge && v.image == of.image && (j.objective.has_teacher() || j.objective.reward_teaches()));
  if (t.model.head != head_kind::language || t.model.classes > 0 || (v.kind != vision_kind::none && !sees_alike) || t.model.encoder.layers > 0 || t.model.pattern.names_own())
    return no("headroom: teachers, reward models and critics with towers, encoders, layers of one's own or heads of their own are not modelled by this version, but for a teacher that sees as the trained model does: name the language model that they were made of");
  if (t.parameters.quantised()) return no("headroom: a quantised teacher, reward model or critic is not modelled by this version; its parameters must be fp32, bf16 or fp16");
  if (t.stage >= 0 && !j.sharding.by(sharder::deepspeed)) return no("headroom: the stage of a teacher, reward model or critic is ZeRO's; sharding.kind must be zero");
  if (t.micro > 0 && (j.objective.has_teacher() || j.objective.reward_teaches() || wraps_critic(j.objective))) return no("headroom: a teacher, and the models of TRL's PPO, run on as many examples at once as the trained model; leave micro out", t.micro);
  if (t.parameters_at == place::on_nvme) return no("headroom: a model beside the trained one on NVMe is not modelled by this version; parameters_at must be none or cpu");
  const bool gathered = (t.stage >= 0 ? t.stage == 3 : j.sharding.cuts(sharded_state::weights)) && j.sharding.divides();
  if (t.parameters_at != place::on_gpu && !gathered) return no("headroom: a model in host memory needs sharding that gathers its weights; its stage (objective.teacher.stage and the like) must be 3, or parameters_at none");
  return {};
}

/// What scores completions, and what trains beside the policy.
constexpr objection check_reward_and_critic(const job& j, const auto& no) {
  const auto& o = j.objective;
  const bool ppo = o.kind == objective_kind::ppo, groups = o.kind == objective_kind::grpo || o.kind == objective_kind::rloo;
  const bool mixes = o.kind == objective_kind::nash_md, scored = ppo || mixes || o.kind == objective_kind::online_dpo || (groups && (o.code == method_code::unset || of_trl(o.code))) || o.reward_teaches();
  if (o.has_reward() && groups && !scored) return no("headroom: objective.reward beside GRPO and RLOO is modelled as TRL runs them; elsewhere scores are taken to come from functions or a server: objective.trainer must be \"trl\"");
  if (o.has_reward() && !scored) return no("headroom: objective.reward is modelled of PPO, online DPO, Nash-MD, and TRL's GRPO and RLOO; leave it out");
  if (mixes && (!o.has_reward() || o.reference != reference_way::copy || j.adapter.active() || j.sharding.cuts(sharded_state::weights) || !j.rollout.by_module()))
    return no("headroom: Nash-MD is modelled with a reward, a reference that is a copy, whole weights without adapters, and rollout.engine \"trainer\"; objective.kind may be \"online-dpo\"");
  if (o.has_reward() && o.reward_teaches() && (o.frozen.model.vocab != j.model.vocab || (j.rollout.trainer_moves.has(trainer_part::weights) && !j.adapter.active() && o.reference != reference_way::none)))
    return no("headroom: a teacher beside GRPO is modelled with the trained model's vocabulary, and without rollout.trainer_moves of a reference that is a copy, which moves alone; vocabulary", o.frozen.model.vocab);
  if (o.critic.given() && !ppo) return no("headroom: objective.critic is PPO's; objective.kind must be \"ppo\"");
  if (o.reward_adapter && !(ppo && o.code == method_code::llama_factory)) return no("headroom: objective.reward_adapter is LLaMA-Factory's PPO; leave it out");
  if (o.frozen.recompute != choice::unset) return no("headroom: a teacher and a reward model have no backward; recompute is a key of objective.critic");
  if (o.entropies && (o.code != method_code::ms_swift || o.kind != objective_kind::grpo || j.parallel.context > 1)) return no("headroom: objective.entropies is of ms-swift's GRPO, of rows that no GPUs share; elsewhere leave it out");
  if (o.averages && (o.code != method_code::deepspeed_chat || o.reference != reference_way::copy)) return no("headroom: objective.averages is DeepSpeed-Chat's, whose reference is a copy; leave it out");
  if (!ppo) return o.has_reward() ? check_role(j, o.frozen, no) : objection{};
  const bool value_head = o.code == method_code::llama_factory;
  if (value_head && o.critic.given()) return no("headroom: LLaMA-Factory's PPO has a value head on the trained model and no critic of its own; leave objective.critic out");
  if (!value_head && !o.critic.given()) return no("headroom: PPO needs objective.critic, the model that values completions and trains beside the policy: a name, or {\"model\": …}; objective.reference and rollout are asked for, too");
  if (o.reward_adapter && (o.has_reward() || !j.adapter.active())) return no("headroom: objective.reward_adapter is in place of objective.reward, and needs an adapter");
  if (o.critic.given() && o.critic.parameters_at != place::on_gpu) return no("headroom: a critic trains: what of it lies on the host is said by offload and rollout.trainer_moves; leave objective.critic.parameters_at out");
  if (o.critic.given())
    if (const auto why = check_role(j, o.critic, no)) return why;
  return o.has_reward() ? check_role(j, o.frozen, no) : objection{};
}

constexpr objection check_teacher(const job& j, const auto& no) {
  const auto& o = j.objective;
  const auto& t = o.frozen;
  const bool swift = o.code == method_code::ms_swift || o.code == method_code::ms_swift_3_11, over_megatron = o.code == method_code::ms_swift_megatron;
  if (o.texts != 0 && o.kind != objective_kind::embedding && o.kind != objective_kind::rerank) return no("headroom: objective.texts is of embeddings and rerankers; objective.kind must be \"embedding\" or \"rerank\"");
  if (o.texts < 0 || o.texts > 1024) return no("headroom: objective.texts must be from 1 to 1024", o.texts);
  if (o.generative && (o.kind != objective_kind::rerank || !(swift || over_megatron))) return no("headroom: objective.generative is of ms-swift's rerankers; objective.kind must be \"rerank\", and objective.trainer \"ms-swift\" or \"ms-swift-megatron\"");
  if (!traits_of(o.kind).teacher) {
    if (o.divergence != divergence_kind::jensen_shannon || o.top_logits != 0) return no("headroom: objective.divergence and top_logits are of distillations; objective.kind must be \"distill\"");
    return {};
  }
  if (o.code != method_code::unset && o.code != method_code::trl && !swift) return no("headroom: distillation is modelled by this version as TRL's and ms-swift's GKD trainers compute it; objective.trainer must be \"trl\" or \"ms-swift\"");
  if (!swift && (o.divergence != divergence_kind::jensen_shannon || o.top_logits != 0)) return no("headroom: objective.divergence and top_logits are modelled as ms-swift computes them; objective.trainer must be \"ms-swift\"");
  if (o.code == method_code::ms_swift_3_11 && (o.divergence != divergence_kind::jensen_shannon || o.top_logits != 0)) return no("headroom: of ms-swift's distillation up to 3.11 the Jensen-Shannon divergence of all logits is modelled; objective.trainer must be \"ms-swift\", or divergence and top_logits left out");
  if (o.top_logits < 0 || o.top_logits > j.model.vocab) return no("headroom: objective.top_logits must be from 0 to the vocabulary", o.top_logits);
  if (t.given() && o.reference == reference_way::adapter_off) return no("headroom: a distillation has one teacher: objective.teacher, or the model with its adapters switched off (objective.reference)");
  if (!t.given() && (o.reference == reference_way::adapter_off || o.top_logits > 0)) return {};
  if (!t.given()) return no("headroom: a distillation needs objective.teacher, a model");
  if (const auto why = check_role(j, t, no)) return why;
  if (t.model.vocab != j.model.vocab) return no("headroom: the teacher's logits are compared one by one with the student's: objective.teacher.model must have the student's vocabulary; it has", t.model.vocab);
  return {};
}

/// NeMo-RL's second DTensor worker: FSDP2 over transformers' modules, which NeMo-Automodel replaces by its own where it has experts or recurrent layers
/// (nemo_rl/models/automodel/setup.py _maybe_set_force_hf).
constexpr objection check_nemo_units(const job& j, const auto& no) {
  const auto& o = j.objective;
  if (j.framework.label != "hf-trainer" || j.sharding.kind != sharding_kind::fsdp2 || j.sharding.no_sync || j.sharding.stays_gathered())
    return no("headroom: NeMo-RL's DTensor workers run FSDP2, which reduces gradients after every micro-batch and lets go of layers after forward, over transformers' modules, and its Megatron workers Megatron's: framework must be \"hf-trainer\" with sharding.kind \"fsdp2\", or \"megatron\"", j.framework.label);
  if (j.precision.parameters != formats::fp32 || j.precision.compute != formats::bf16 || j.precision.reduce != formats::fp32 || j.precision.autocasts())
    return no("headroom: NeMo-RL's DTensor workers keep weights in fp32, compute in bf16 and reduce in fp32; precision must be {\"parameters\": \"fp32\", \"compute\": \"bf16\", \"gradients\": \"fp32\", \"reduce\": \"fp32\"}");
  if (traits_of(o.kind).reference && o.reference != reference_way::swapped && o.reference != reference_way::none)
    return no("headroom: NeMo-RL's reference is swapped in from the host, or there is none; objective.reference must be \"swapped\" or \"none\"");
  if (j.batch.packed && (j.batch.micro > 1 || j.attention != attention::flash)) return no("headroom: NeMo-RL packs samples into one row, whose attention is flash's; batch.micro must be 1 and attention \"flash\"", j.batch.micro);
  if (j.loss.logits.set() && j.loss.logits != formats::fp32) return no("headroom: units of NeMo-RL's DTensor workers return fp32, logits too; leave loss.logits out");
  if (j.adapter.active() || j.recompute.mode != recompute_mode::none || j.offload != offload{} || j.parallel.tensor > 1 || j.parallel.context > 1 || j.evaluation.given())
    return no("headroom: of NeMo-RL's DTensor workers full training is modelled, without checkpointing, cpu_offload, tensor or context parallelism, and without validation; leave adapter, recompute, offload, parallel and evaluation out");
  if (j.model.sparse() || j.model.scans() || j.model.vision.kind != vision_kind::none) return no("headroom: of NeMo-RL's DTensor workers models of attention and dense MLPs are modelled; model", j.model.label);
  return {};
}

/// Methods of a model whose layers are spread over the GPUs of one process. accelerate brings what the model returns back to the first, where the loss is
/// computed (big_modeling.py dispatch_model, io_same_device): nothing to speak of where it is a score, or lies there already.
constexpr objection check_spread_method(const job& j, const auto& no) {
  const auto& o = j.objective;
  if (!properties_of(j.parallel.schedule).one_process) return no("headroom: methods other than sft are not modelled in stages over GPUs; parallel.pipeline must be 1", j.parallel.pipeline);
  if (generates(o.kind) || j.rollout.given())
    return no("headroom: methods that generate are not modelled with layers spread over GPUs by one process: let it see one GPU (CUDA_VISIBLE_DEVICES=0: parallel.pipeline 1 and hardware.gpus_per_node 1), or start a process for each; parallel.pipeline", j.parallel.pipeline);
  const bool own = traits_of(o.kind).teacher || (traits_of(o.kind).reference && o.reference != reference_way::none && o.reference != reference_way::precomputed && (o.reference == reference_way::copy || !j.adapter.active()));
  if (own) return no("headroom: a reference or teacher with weights of its own is not modelled beside layers that one process spreads over GPUs: parallel.pipeline must be 1, or objective.reference \"adapter-off\", \"precomputed\" or \"none\"; it is", j.parallel.pipeline);
  if (traits_of(o.kind).vocabulary && !j.model.tied)
    return no("headroom: of models whose layers one process spreads over GPUs, methods that read logits are modelled where the head is the embedding's matrix (model.tied), so that logits arise where the loss is: parallel.pipeline must be 1; it is", j.parallel.pipeline);
  if (scores_beside_words(o)) return no("headroom: a score beside a language head is not modelled with layers spread over GPUs; parallel.pipeline must be 1", j.parallel.pipeline);
  return {};
}

/// Methods whose steps are walked.
constexpr objection check_method_step(const job& j, const auto& no) {
  const auto& o = j.objective;
  const auto& f = j.framework;
  if (f.modules.megatron()) return check_divided_method(j, no);
  if (of_swift_megatron(o.code)) return no("headroom: objective.trainer \"ms-swift-megatron\" runs Megatron's layers; framework must be megatron", f.label);
  if (generates(o.kind) && !models_generating(o))
    return no("headroom: of methods that generate completions GRPO and RLOO are modelled as TRL, ms-swift, verl and OpenRLHF run them, PPO as TRL, verl, OpenRLHF, DeepSpeed-Chat and LLaMA-Factory do, online DPO and Nash-MD as TRL does; objective.trainer must be one of these");
  if (generates(o.kind) && o.code == method_code::verl && j.attention != attention::flash)
    return no("headroom: of verl, samples without padding and flash-attn's loss are modelled (use_remove_padding): attention must be \"flash\"");
  if (scores_beside_words(o) && !j.adapter.active() && !j.sharding.by(sharder::deepspeed))
    return no("headroom: LLaMA-Factory's reward model keeps its language head, whose weights get no gradient: what becomes of their states is modelled under DeepSpeed, and with an adapter; sharding.kind must be \"zero\"");
  if (!generates(o.kind) && !models_loss(o))
    return no("headroom: this objective.trainer's code of this method is not modelled by this version; trl is of every kind, trl-0.28 of dpo, trl-0.14 of dpo, orpo, cpo and simpo, ms-swift of all but sft, llama-factory of dpo, kto, orpo, simpo and reward, openrlhf of sft, dpo and reward, verl of sft, nemo-rl of sft, dpo and grpo");
  if (f.runtime != runtime::autograd || f.modules.kind != layer_modules::eager || (f.label != "hf-trainer" && f.label != "deepspeed"))
    return no("headroom: methods other than sft are modelled over transformers' Trainer by this version: framework must be hf-trainer or deepspeed", f.label);
  if (j.parallel.pipeline > 1)
    if (const auto why = check_spread_method(j, no)) return why;
  const bool joined = o.code == method_code::verl && generates(o.kind) && (j.loss.kind == loss_kind::fused_linear || j.loss.kind == loss_kind::cut);
  if (j.loss.kind != loss_kind::unset && j.loss.kind != loss_kind::full && !joined)
    return no("headroom: of methods other than sft only losses of whole logits are modelled by this version; loss.kind must be \"full\"");
  if (j.model.encoder.layers > 0 || j.model.head != head_kind::language || j.model.bidirectional)
    return no("headroom: methods other than sft are modelled for decoders with a language head by this version; model must be another one");
  if (j.compile) return no("headroom: compiled layers are not modelled for methods other than sft by this version; compile must be false");
  if (o.kind == objective_kind::kto && o.code != method_code::llama_factory && o.code != method_code::ms_swift && j.batch.micro < 2) return no("headroom: TRL's KTO compares samples of a micro-batch with each other; batch.micro must be at least 2", j.batch.micro);
  return {};
}

constexpr objection check_objective(const job& j, const auto& no) {
  const auto& o = j.objective;
  if (o.code == method_code::nemo_rl && !j.framework.modules.megatron())
    if (const auto why = check_nemo_units(j, no)) return why;
  if (const auto why = check_reference(j, no)) return why;
  if (const auto why = check_teacher(j, no)) return why;
  if (const auto why = check_reward_and_critic(j, no)) return why;
  if (!has_own_loss(o)) return {};
  return check_method_step(j, no);
}

}  // namespace headroom::detail
