// Distributed under the Boost Software License, Version 1.0.
// Methods that contradict themselves, and those that this version does not model.
#pragma once

#include <headroom/job.hpp>
#include <headroom/model/check.hpp>
#include <headroom/recipe/method_loss.hpp>

namespace headroom::detail {

/// The reference: by an adapter that is switched off, or by a copy.
template <class No>
constexpr objection check_reference(const job& j, const No& no) {
  const auto way = j.objective.reference;
  if (!traits_of(j.objective.kind).reference && way != reference_way::unset && way != reference_way::none)
    return no("headroom: this objective.kind has no reference model; leave objective.reference out");
  if (way == reference_way::swapped) return no("headroom: references that are swapped in from the host are not modelled by this version; objective.reference must be copy, adapter-off, precomputed or none");
  if (way == reference_way::adapter_off && !j.adapter.active()) return no("headroom: objective.reference \"adapter-off\" needs an adapter");
  if (way == reference_way::copy && j.adapter.base.quantised()) return no("headroom: a copy of a quantised base as the reference is not modelled by this version; objective.reference must be adapter-off, precomputed or none");
  return {};
}

template <class No>
constexpr objection check_teacher(const job& j, const No& no) {
  const auto& o = j.objective;
  const auto& t = o.teacher;
  if (!traits_of(o.kind).teacher) return t.given() ? no("headroom: objective.teacher is for a distillation; objective.kind must be \"distill\"") : objection{};
  if (!t.given()) return no("headroom: a distillation needs objective.teacher, a model");
  if (o.code != method_code::unset && o.code != method_code::trl) return no("headroom: distillation is modelled by this version as TRL's GKD trainer computes it, on a data set; objective.trainer must be \"trl\"");
  if (const auto why = check(t.model, no)) return why;
  if (t.model.layers > (std::int64_t{1} << 16)) return no("headroom: objective.teacher.model.layers must be at most 2^16", t.model.layers);
  if (t.model.vocab != j.model.vocab) return no("headroom: the teacher's logits are compared one by one with the student's: objective.teacher.model must have the student's vocabulary; it has", t.model.vocab);
  if (t.model.head != head_kind::language || t.model.classes > 0 || t.model.vision.kind != vision_kind::none || t.model.encoder.layers > 0)
    return no("headroom: teachers with towers, encoders or without a language head are not modelled by this version; objective.teacher");
  if (t.parameters.quantised()) return no("headroom: a teacher in a quantised format is not modelled by this version; objective.teacher.parameters must be fp32, bf16 or fp16");
  if (t.stage >= 0 && !j.sharding.by(sharder::deepspeed)) return no("headroom: objective.teacher.stage is ZeRO's; sharding.kind must be zero");
  if (t.parameters_at == place::on_nvme) return no("headroom: a teacher on NVMe is not modelled by this version; objective.teacher.parameters_at must be none or cpu");
  const bool gathered = (t.stage >= 0 ? t.stage == 3 : j.sharding.cuts(sharded_state::weights)) && j.sharding.divides();
  if (t.parameters_at != place::on_gpu && !gathered) return no("headroom: a teacher in host memory needs sharding that gathers its weights; objective.teacher.stage must be 3, or parameters_at none");
  return {};
}

/// Methods whose steps are walked.
template <class No>
constexpr objection check_method_step(const job& j, const No& no) {
  const auto& o = j.objective;
  const auto& f = j.framework;
  if (generates(o.kind) && o.code != method_code::trl && o.code != method_code::ms_swift && o.code != method_code::verl)
    return no("headroom: methods that generate completions are modelled as TRL, ms-swift and verl run them: objective.trainer must be \"trl\", \"ms-swift\" or \"verl\"");
  if (generates(o.kind) && o.code == method_code::verl && j.attention != attention::flash)
    return no("headroom: of verl, samples without padding and flash-attn's loss are modelled (use_remove_padding): attention must be \"flash\"");
  if (o.code == method_code::llama_factory && o.kind == objective_kind::reward)
    return no("headroom: LLaMA-Factory's reward model keeps the language head and makes its logits, which is not modelled by this version; objective.trainer must be trl or ms-swift");
  if (!generates(o.kind) && !models_loss(o))
    return no("headroom: this objective.trainer's code of this method is not modelled by this version; trl is of every kind, trl-0.28 of dpo, trl-0.14 and ms-swift of dpo, orpo, cpo and simpo, llama-factory of dpo, kto, orpo and simpo, openrlhf of dpo");
  if (f.runtime != runtime::autograd || f.modules.kind != layer_modules::eager || (f.label != "hf-trainer" && f.label != "deepspeed"))
    return no("headroom: methods other than sft are modelled over transformers' Trainer by this version: framework must be hf-trainer or deepspeed", f.label);
  if (j.parallel.pipeline > 1) return no("headroom: methods other than sft are not modelled with layers spread over GPUs; parallel.pipeline must be 1", j.parallel.pipeline);
  if (j.loss.kind != loss_kind::unset && j.loss.kind != loss_kind::full)
    return no("headroom: of methods other than sft only losses of whole logits are modelled by this version; loss.kind must be \"full\"");
  if (j.model.encoder.layers > 0 || j.model.head != head_kind::language || j.model.bidirectional)
    return no("headroom: methods other than sft are modelled for decoders with a language head by this version; model");
  if (j.compile) return no("headroom: compiled layers are not modelled for methods other than sft by this version; compile must be false");
  if (o.kind == objective_kind::kto && o.code != method_code::llama_factory && j.batch.micro < 2) return no("headroom: TRL's KTO compares samples of a micro-batch with each other; batch.micro must be at least 2", j.batch.micro);
  return {};
}

template <class No>
constexpr objection check_objective(const job& j, const No& no) {
  const auto& o = j.objective;
  if (const auto why = check_reference(j, no)) return why;
  if (const auto why = check_teacher(j, no)) return why;
  if (o.kind == objective_kind::sft) return {};
  if (!traits_of(o.kind).modelled)
    return no("headroom: PPO and online DPO are not modelled by this version; objective.kind must be sft, dpo, kto, orpo, cpo, simpo, reward, classification, embedding, rerank, distill, grpo or rloo");
  return check_method_step(j, no);
}

}  // namespace headroom::detail
