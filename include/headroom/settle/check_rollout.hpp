// Distributed under the Boost Software License, Version 1.0.
// Rollouts that contradict themselves, leave open what decides, or are not modelled.
#pragma once

#include <headroom/job.hpp>
#include <headroom/recipe/method_loss.hpp>
#include <headroom/settle/check_divided_method.hpp>
#include <headroom/rollout/engine_memory.hpp>
#include <headroom/rollout/weight_sync.hpp>

namespace headroom::detail {

constexpr std::int64_t largest_length = std::int64_t{1} << 40;

/// What an engine of its own keeps of texts.
constexpr objection check_kept(const job& j, const auto& no) {
  if (j.model.recurs() && j.rollout.engine != engine_kind::vllm) return no("headroom: rollout: of recurrent layers vLLM's states are modelled, since 0.9, not those of other engines; rollout.engine must be \"vllm\"; model", j.model.label);
  return check_generated(j.model, j.rollout.tensor, no);
}

/// On GPUs of its own, of the kind that trains, where it is said how much of them it takes: whether it starts there.
constexpr objection check_engine_alone(const job& j, const auto& no) {
  const auto& r = j.rollout;
  if (const auto why = check_kept(j, no)) return why;
  if (const auto why = check_divided(j.model, weights_of(j.model), r.tensor, r.weight_format(), no)) return why;
  if (r.cache_format().quantised() || r.cache_format().width() < 1) return no("headroom: rollout.kv_format must be bf16, fp16, fp32 or fp8");
  for (std::size_t kind = 0; kind < j.hardware.kinds(); ++kind)
    if (const auto why = check_start(j.model, r, engine_memory_of(j.model, weights_of(j.model), r, j.hardware.accelerator(kind).memory, j.hardware.taken))) return no(why.sentence, why.found);
  return {};
}

/// Generation by a trained module that sees.
constexpr objection check_generated_sight(const job& j, const auto& no) {
  if (j.model.vision.kind == vision_kind::none) return {};
  const auto kind = j.objective.kind;
  const bool trl = of_trl(j.objective.code) && (kind == objective_kind::grpo || kind == objective_kind::rloo || kind == objective_kind::online_dpo);
  if (!trl || j.model.vision.layers == 0) return no("headroom: generation by a trained module with a tower is modelled of TRL's GRPO, RLOO and online DPO alone; model", j.model.label);
  const auto tokens = j.batch.images.none ? 0 : image_tokens(seen(j.model.vision, j.batch.images));
  if (tokens > j.rollout.prompt) return no("headroom: rollout.prompt must hold the tokens of a sample's images; they are", tokens);
  return {};
}

/// What decides how much an engine takes, and has no default that all programs share.
constexpr objection check_engine(const job& j, const auto& no) {
  const auto& r = j.rollout;
  if (r.engine == engine_kind::hybrid && j.objective.code != method_code::deepspeed_chat)
    return no("headroom: rollout.engine \"hybrid\" is DeepSpeed-Chat's; objective.trainer must be \"deepspeed-chat\"");
  if (r.by_module()) {
    if (r.placement == rollout_place::separate || r.share.set() || r.tensor != 1 || r.sleep >= 0 || r.format.set() || r.kv_format.set() || !r.trainer_moves.empty())
      return no("headroom: rollout.engine \"trainer\" generates with the trained module itself: placement, share, tensor, sleep, format, kv_format and trainer_moves are for an engine of its own");
    if (const auto why = check_generated_sight(j, no)) return why;
    return check_generated(j.model, 1, no);
  }
  if (r.gathers != choice::unset) return no("headroom: rollout.gathers is for rollout.engine \"trainer\"");
  if (r.placement == rollout_place::unset) return no("headroom: rollout.placement is required: \"colocated\" where the engine is on the GPUs that train, \"separate\" where it has others");
  if (r.gpus > 0 && (r.placement != rollout_place::separate || r.gpus % r.tensor != 0)) return no("headroom: rollout.gpus is for an engine that is \"separate\", and must be a multiple of rollout.tensor", r.gpus);
  if (r.placement == rollout_place::separate) {
    if (r.sleep > 0 || !r.trainer_moves.empty()) return no("headroom: rollout.sleep and trainer_moves are for an engine on the GPUs that train; rollout.placement must be \"colocated\"");
    return r.share.set() ? check_engine_alone(j, no) : objection{};
  }
  if (!r.share.set()) return no("headroom: rollout.share is required: the part of a GPU's memory that the engine may take (gpu_memory_utilization, mem_fraction_static)");
  if (r.sleep < 0) return no("headroom: rollout.sleep is required: 0 where the engine keeps its memory while the trainer works, 1 where its weights go to the host, 2 where they are thrown away");
  if (r.sleep == 0 && !r.trainer_moves.empty()) return no("headroom: rollout.trainer_moves beside an engine that never sleeps is not modelled; rollout.sleep must be 1 or 2");
  // It frees keys, values and weights, and has its cache emptied (sglang srt/managers/scheduler_update_weights_mixin.py release_memory_occupation); verl writes all
  // weights anew (verl/workers/rollout/sglang_rollout/async_sglang_server.py enable_weights_cpu_backup).
  if (r.engine == engine_kind::sglang && r.sleep != 0 && !(j.objective.code == method_code::verl && r.sleep == 2))
    return no("headroom: what SGLang gives back between steps is modelled beside verl alone, which throws its weights away (rollout.sleep 2); rollout.sleep must be 0, or the engine \"separate\"");
  if (const auto why = check_kept(j, no)) return why;
  if (const auto why = check_divided(j.model, weights_of(j.model), r.tensor, r.weight_format(), no)) return why;
  if (r.cache_format().quantised() || r.cache_format().width() < 1) return no("headroom: rollout.kv_format must be bf16, fp16, fp32 or fp8");
  if (j.objective.code == method_code::verl && !j.adapter.active() && r.engine != engine_kind::sglang && r.sync_bucket_mib != 0 &&
      sync_sizes_of(j.model, weights_of(j.model)).tensor * r.weight_format().density() > r.bucket())
    return no("headroom: rollout.sync_bucket_mib must hold the largest tensor of the model in the engine's format; verl stops there", r.bucket() / mib);
  if (j.hardware.gpus() % r.tensor != 0) return no("headroom: rollout.tensor must divide the GPUs, hardware.nodes × gpus_per_node", r.tensor);
  if (j.hardware.kind_that([](const gpu& g) { return g.maker != vendor::nvidia; }) != nullptr) return no("headroom: rollout: an engine on the GPUs that train is modelled for NVIDIA's alone; leave rollout out, or place the engine separately");
  // Where what the trainer holds counts, engine_here() asks once more.
  for (std::size_t kind = 0; kind < j.hardware.kinds(); ++kind)
    if (const auto why = check_start(j.model, r, engine_memory_of(j.model, weights_of(j.model), r, j.hardware.accelerator(kind).memory, j.hardware.taken))) return no(why.sentence, why.found);
  return {};
}

/// … of PPO, and whatever OpenRLHF runs.
constexpr objection check_generating_ppo(const job& j, const auto& no) {
  const auto& r = j.rollout;
  const auto code = j.objective.code;
  const bool ppo = j.objective.kind == objective_kind::ppo;
  if (!ppo && code != method_code::openrlhf) return {};
  if (code == method_code::openrlhf && !ppo && (r.engine == engine_kind::trainer || j.adapter.active())) return no("headroom: rollout: of OpenRLHF's GRPO and RLOO an engine of its own and full training are modelled; rollout.engine must be \"vllm\", and adapter left out");
  const bool own = code == method_code::trl || code == method_code::deepspeed_chat || code == method_code::llama_factory;
  if (own && !r.by_module()) return no("headroom: PPO of TRL, DeepSpeed-Chat and LLaMA-Factory generates with the trained module: rollout.engine must be \"trainer\"");
  if ((code == method_code::deepspeed_chat || code == method_code::openrlhf) && !j.sharding.by(sharder::deepspeed)) return no("headroom: DeepSpeed-Chat and OpenRLHF run DeepSpeed's engines; sharding.kind must be \"zero\"");
  if (code == method_code::openrlhf && r.trainer_moves.has(trainer_part::weights)) return no("headroom: rollout.trainer_moves: OpenRLHF's ds.enable_sleep moves the optimizer's states and leaves the parameters; write \"optimizer\" alone");
  if (code == method_code::llama_factory && j.sharding.gathers_units()) return no("headroom: rollout: of LLaMA-Factory's PPO, one process, DDP and DeepSpeed are modelled; sharding.kind must be \"none\", \"ddp\" or \"zero\"");
  return {};
}

/// What each trainer does around an engine.
constexpr objection check_generating_trainer(const job& j, const auto& no) {
  const auto& r = j.rollout;
  const auto code = j.objective.code;
  const bool zero = j.sharding.by(sharder::deepspeed), units = j.sharding.gathers_units();
  if (generates(j.objective.kind) && !models_generating(j.objective))
    return no("headroom: rollout is modelled for objective.trainer \"trl\", \"ms-swift\", \"verl\" and \"openrlhf\" (PPO: \"trl\", \"verl\", \"openrlhf\", \"deepspeed-chat\", \"llama-factory\"); another program moves weights and models in its own way");
  if (j.framework.modules.megatron()) return check_divided_rollout(j, no);
  if (r.trainer_moves.has(trainer_part::gradients)) return no("headroom: rollout.trainer_moves: only Megatron's buffers of gradients outlive a step; leave \"gradients\" out");
  if (j.framework.runtime != runtime::autograd || j.parallel.pipeline > 1 || j.parallel.tensor > 1)
    return no("headroom: rollout is modelled beside trainers that run transformers' modules (Trainer, DeepSpeed, FSDP), not beside tensor or pipeline parallelism");
  if (const auto why = check_generating_ppo(j, no)) return why;
  if (code == method_code::verl && (r.engine == engine_kind::trainer || !units)) return no("headroom: rollout: of verl, FSDP with an engine of its own is modelled; sharding.kind must be \"fsdp1\" or \"fsdp2\", and rollout.engine \"vllm\"");
  if (code == method_code::ms_swift_3_11 && r.placement != rollout_place::separate && r.by != completion_writer::teacher) return no("headroom: rollout: of ms-swift's distillation up to 3.11 an engine on other GPUs is modelled; rollout.placement must be \"separate\", or objective.trainer \"ms-swift\"");
  if (code == method_code::ms_swift && units) return no("headroom: rollout: of ms-swift, one process, DDP and DeepSpeed are modelled; sharding.kind must be \"none\", \"ddp\" or \"zero\"");
  // Its bf16 optimizer lets nothing look into its flat buffers again (DeepSpeed runtime/bf16_optimizer.py, update_lp_params).
  if (code == method_code::ms_swift && zero && j.sharding.stage == 0 && !j.adapter.active() && r.trainer_moves.has(trainer_part::weights))
    return no("headroom: rollout.trainer_moves: what becomes of parameters that train under DeepSpeed's stage 0 once ms-swift has moved them is not modelled; leave \"parameters\" out, or write sharding.stage 1, 2 or 3");
  if (of_trl(code) && units && (r.engine == engine_kind::trainer || j.adapter.active()))
    return no("headroom: rollout: of TRL under FSDP, full training with an engine of its own is modelled; adapters and generation by the module are not");
  if (r.by != completion_writer::unset && (!j.objective.has_teacher() || r.engine != engine_kind::trainer || !distils_by_swift(j.objective) || j.objective.frozen.model.vision.layers > 0))
    return no("headroom: rollout.model \"teacher\" or \"both\" is of ms-swift's distillation from a teacher of text whose modules generate (seq_kd): objective.trainer must be \"ms-swift\", objective.teacher a model and rollout.engine \"trainer\", or leave it out");
  if (of_trl(code) && !r.trainer_moves.empty()) return no("headroom: rollout.trainer_moves: TRL's trainer puts nothing on the host; leave it out");
  const bool nemo = code == method_code::nemo_rl;
  if (code != method_code::verl && !(nemo && r.shares_gpus() && r.sync_bucket_mib != 0) && r.sync_bucket_mib >= 0) return no("headroom: rollout.sync_bucket_mib is verl's, and NeMo-RL's beside an engine on the same GPUs; leave it out");
  if (nemo && r.by_module()) return no("headroom: rollout: NeMo-RL's workers do not generate; rollout.engine must be \"vllm\"");
  if (nemo && r.shares_gpus() && (r.sleep != 1 || !r.trainer_moves.has(trainer_part::weights) || !r.trainer_moves.has(trainer_part::optimizer)))
    return no("headroom: rollout: beside an engine on the same GPUs NeMo-RL's DTensor workers move all that they have, and the engine's weights sleep on the host: trainer_moves must be [\"parameters\", \"optimizer\"], and sleep 1");
  if (r.sync_groups > 1 && (of_trl(code) || nemo)) return no("headroom: rollout.sync_groups is ms-swift's move_model_batches, or verl's layered_summon; TRL and NeMo-RL have none", r.sync_groups);
  if (!zero && r.gathers != choice::unset) return no("headroom: rollout.gathers is for ZeRO's third stage; leave it out");
  return {};
}

/// How long what is trained on is. verl lays samples without padding behind each other: their mean length, where so many are a micro-batch; and
/// rows of a number of tokens, which hold the longest sample (verl/utils/seqlen_balancing.py rearrange_micro_batches; OpenRLHF
/// openrlhf/trainer/ppo_utils/replay_buffer.py setup_dynamic_batch).
constexpr objection check_generated_lengths(const job& j, const auto& no) {
  const auto& r = j.rollout;
  const auto length = j.batch.longest();
  const bool large = r.prompt > largest_length || r.completion > largest_length;
  const auto longest = large ? 0 : r.prompt + r.completion;
  if (length == longest) return {};
  const bool rows = j.objective.code == method_code::verl || (j.batch.packed && (trains_by_nemo(j.objective) || j.objective.code == method_code::openrlhf));
  if (large || !rows) return no("headroom: batch.sequence must be rollout.prompt + rollout.completion; it is", length);
  if (j.batch.packed) return length > longest ? objection{} : no("headroom: a packed row (batch.packed) must hold the longest sample: batch.sequence must be at least rollout.prompt + rollout.completion; it is", length);
  if (length > longest || j.batch.padded) return no("headroom: batch.sequence must be rollout.prompt + rollout.completion, or less where samples are shorter and lie without padding (batch.padded false); it is", length);
  return {};
}

/// How GRPO and RLOO draw completions. TRL's RLOO up to 0.21 draws rloo_k of each prompt on one GPU, for num_ppo_epochs updates.
constexpr objection check_drawn(const job& j, const auto& no) {
  const auto& r = j.rollout;
  const auto& o = j.objective;
  const bool drawn = (o.kind == objective_kind::grpo || o.kind == objective_kind::rloo) && of_trl(o.code), old = rolls_out_as_ppo(o);
  const bool together = drawn || (o.kind == objective_kind::grpo && (o.code == method_code::ms_swift || (o.code == method_code::ms_swift_megatron && r.iterations == 0)));  // swift/rlhf_trainers/grpo_trainer.py, _prepare_inputs
  if (!together && r.steps_per_generation != 0) return no("headroom: rollout.steps_per_generation is for GRPO and RLOO of TRL, and GRPO of ms-swift; leave it out");
  if (!together && r.iterations != 0 && !keeps_generated_scores(o)) return no("headroom: rollout.iterations is for GRPO, RLOO and PPO of TRL, and GRPO of ms-swift; leave it out");
  if (r.corrects != choice::unset && (!drawn || o.kind == objective_kind::rloo || r.by_module())) return no("headroom: rollout.corrects is for TRL's GRPO with vLLM; leave it out");
  if (r.corrects != choice::unset && (o.code == method_code::trl_0_22 || o.code == method_code::trl_0_19)) return no("headroom: rollout.corrects came with TRL 0.23; leave it out, or objective.trainer must be \"trl-0.29\" or \"trl\"");
  if (!old) return {};
  if (!r.by_module() || j.adapter.active() || o.reference != reference_way::copy) return no("headroom: TRL's RLOO up to 0.21 is modelled with a reference that is a copy, without adapters, and generates with the trained module: objective.reference must be \"copy\", rollout.engine \"trainer\"");
  if (r.generations > 0 && checked::mul(j.batch.micro, r.micro_batches(j.batch.accumulation)) % r.generations != 0) return no("headroom: rollout.generations must divide batch.micro × accumulation (or rollout.steps_per_generation) in TRL's RLOO up to 0.21 (rloo_k)", r.generations);
  return {};
}

constexpr objection check_rollout(const job& j, const auto& no) {
  const auto& r = j.rollout;
  if (!r.given() && generates(j.objective.kind)) return no("headroom: this objective.kind trains on what the model generates: rollout is required; rollout.engine says who generates");
  if (!r.given()) return r == rollout{} ? objection{} : no("headroom: rollout.engine is required: who generates, \"trainer\", \"vllm\", \"vllm-0.8\" or \"sglang\"");
  if (!may_generate(j.objective)) return no("headroom: rollout is for methods that train on what the model generates; objective.kind must be \"grpo\", \"rloo\", \"ppo\", \"online-dpo\", \"nash-md\", or \"distill\" of TRL and ms-swift");
  if (distils_by_trl(j.objective) && r.engine != engine_kind::trainer) return no("headroom: rollout: TRL's distillation generates with the trained module; rollout.engine must be \"trainer\"");
  if (r.data_answers < 0 || r.data_answers > j.batch.sequence || (r.data_answers > 0 && generates(j.objective.kind)))
    return no("headroom: rollout.data_answers is of a distillation whose student answers a part of the batches, and at most batch.sequence", r.data_answers);
  if (generates(j.objective.kind) && j.objective.reference == reference_way::unset)
    return no("headroom: objective.reference is required where completions are generated, as programs differ: none where the KL term's weight is 0 (TRL's default), else copy, or adapter-off with an adapter");
  if (r.prompt < 1 || r.completion < 1) return no("headroom: rollout.prompt and rollout.completion are required: tokens of the longest prompt and of the longest completion");
  if (const auto why = check_generated_lengths(j, no)) return why;
  // Over Megatron's layers ms-swift draws as many completions as several steps train on (steps_per_generation).
  const bool rows = j.objective.code == method_code::openrlhf && j.batch.packed;
  if (r.generations > 0 && j.objective.code != method_code::verl && !rows && !trains_by_nemo(j.objective) && !of_swift_megatron(j.objective.code) && checked::mul(j.batch.micro, r.micro_batches(j.batch.accumulation), j.hardware.gpus() / j.parallel.context) % r.generations != 0)
    return no("headroom: rollout.generations must divide batch.micro × accumulation (or rollout.steps_per_generation) × the GPUs (over parallel.context), the completions of a step", r.generations);
  if (const auto why = check_drawn(j, no)) return why;
  if (const auto why = check_generating_trainer(j, no)) return why;
  return check_engine(j, no);
}

}  // namespace headroom::detail
