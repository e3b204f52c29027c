// Distributed under the Boost Software License, Version 1.0.
// Methods over Megatron's layers: which of them are modelled, and what they are not modelled with.
#pragma once

#include <headroom/job.hpp>
#include <headroom/recipe/method_loss.hpp>

namespace headroom::detail {

/// Heads of ms-swift's over Megatron's layers that make no logits of all words.
constexpr bool pools_over_megatron(const objective& o) {
  using enum objective_kind;
  return o.code == method_code::ms_swift_megatron && (o.kind == reward || o.kind == classification || o.kind == embedding || (o.kind == rerank && o.generative));
}

/// Whether a trainer's code of a method over Megatron's layers is modelled. Sources: ms-swift swift/megatron/trainers/{dpo,kto,grpo,reward,embedding,reranker}_trainer.py;
/// verl verl/workers/megatron_workers.py and verl/workers/actor/megatron_actor.py; NeMo-RL nemo_rl/models/policy/workers/megatron_policy_worker.py.
constexpr bool models_divided(const objective& o) {
  using enum objective_kind;
  if (pools_over_megatron(o)) return true;
  if (of_swift_megatron(o.code)) return o.kind == dpo || o.kind == kto || scores_returned_logits(o);
  return trains_by_nemo(o) || (o.code == method_code::verl && (o.kind == grpo || o.kind == rloo));
}

constexpr objection check_divided_method(const job& j, const auto& no) {
  const auto& o = j.objective;
  const auto& m = j.model;
  const auto& modules = j.framework.modules;
  if (!models_divided(o))
    return no("headroom: over Megatron's layers DPO, KTO, reward, classification, embedding and generative rerank are modelled as ms-swift runs them (objective.trainer \"ms-swift-megatron\"), GRPO as its present release and verl do, RLOO as verl does (\"verl\"), and GRPO, DPO and SFT as NeMo-RL does (\"nemo-rl\"); objective.kind or objective.trainer must be another one");
  if (modules.nanotron() || modules.deepspeed()) return no("headroom: methods other than sft are modelled over Megatron-LM's own trainer alone; framework", j.framework.label);
  // A stage hands on what the reference made beside what the policy made (dpo_trainer.py forward_step).
  if (!generates(o.kind) && !pools_over_megatron(o) && !trains_by_nemo(o) && j.parallel.pipeline > 1) return no("headroom: DPO and KTO over Megatron's layers are not modelled with pipeline stages by this version; parallel.pipeline must be 1", j.parallel.pipeline);
  if (m.encoder.layers > 0 || m.head != head_kind::language || m.bidirectional || m.mtp_layers > 0 || (m.classes > 0 && o.kind != objective_kind::classification) || (m.pattern.given() && pools_over_megatron(o)))
    return no("headroom: methods over Megatron's layers are modelled for decoders with a language head and without multi-token prediction by this version; model must be another one");
  if (j.sharding.gathers_units() || j.precision.compute.bits == 8 || j.framework.graphs.capture != graph_capture::none)
    return no("headroom: methods over Megatron's layers are not modelled with Megatron-FSDP, fp8 or CUDA graphs by this version");
  if (pools_over_megatron(o) && j.offload.activations != place::on_gpu)
    return no("headroom: heads that score or embed over Megatron's layers are not modelled with offloaded activations by this version; offload.activations must be \"gpu\"");
  if (o.has_reward() || o.critic.given()) return no("headroom: reward models and critics over Megatron's layers are not modelled by this version; leave objective.reward and critic out");
  if ((o.code == method_code::verl || o.code == method_code::nemo_rl) && j.adapter.active()) return no("headroom: adapters over Megatron's layers beside an engine are not modelled by this version; leave adapter out");
  if (trains_by_nemo(o) && traits_of(o.kind).reference && o.reference != reference_way::swapped && o.reference != reference_way::none)
    return no("headroom: NeMo-RL's reference is swapped in from the host: objective.reference must be \"swapped\" or \"none\"");
  if (of_swift_megatron(o.code) && o.reference_at != place::on_gpu) return no("headroom: a reference that waits on the host is verl's (ref.megatron.param_offload); leave objective.reference_parameters_at out");
  if (o.reference == reference_way::precomputed || o.reference_format.set()) return no("headroom: over Megatron's layers objective.reference must be copy, adapter-off or none, in the job's format");
  return {};
}

/// What a rollout beside them is not modelled with.
constexpr objection check_divided_rollout(const job& j, const auto& no) {
  const auto& r = j.rollout;
  if (r.engine == engine_kind::trainer) return no("headroom: rollout: Megatron's layers do not generate; rollout.engine must be \"vllm\" or \"sglang\"");
  if (r.sync_groups > 1 || r.gathers != choice::unset) return no("headroom: rollout.sync_groups and gathers have no effect over Megatron's layers; leave them out", r.sync_groups);
  const bool nemo = trains_by_nemo(j.objective);
  if (j.objective.code != method_code::verl && !(nemo && r.shares_gpus() && r.sync_bucket_mib != 0) && r.sync_bucket_mib >= 0) return no("headroom: rollout.sync_bucket_mib is verl's, and NeMo-RL's beside an engine on the same GPUs; leave it out");
  if (nemo && r.shares_gpus() && (r.sleep != 1 || !r.trainer_moves.has(trainer_part::weights) || !r.trainer_moves.has(trainer_part::optimizer)))
    return no("headroom: rollout: beside an engine on the same GPUs NeMo-RL's trainer moves all that it has, and the engine's weights sleep on the host: trainer_moves must be [\"parameters\", \"gradients\", \"optimizer\"], and sleep 1");
  if (j.objective.code != method_code::verl && r.trainer_moves.has(trainer_part::gradients) && !r.trainer_moves.has(trainer_part::weights)) return no("headroom: rollout.trainer_moves: ms-swift's gradients go with the parameters; write \"parameters\", too, or leave \"gradients\" out");
  return {};
}

}  // namespace headroom::detail
