// Distributed under the Boost Software License, Version 1.0.
// What the engine of eager modules does not run: parallelism where nothing divides a layer, and what DTensor is not modelled with.
#pragma once

#include <headroom/block/limits.hpp>
#include <headroom/engine/eager/unsloth_limits.hpp>
#include <headroom/layout/stages.hpp>
#include <headroom/settle/check_loss.hpp>
#include <headroom/settle/layer.hpp>

namespace headroom::detail {

inline constexpr auto torch_schedules = with_schedules("headroom: for this framework parallel.schedule must be ", [](const schedule_properties& s) { return !s.torch.empty(); });

/// Whether weights are cast for each matrix multiplication; FSDP gathers them in the format that they are computed in instead.
constexpr bool autocasts(const job& j) {
  const auto& p = j.precision.set() ? j.precision : j.framework.precision;
  if (j.sharding.properties().shards_are_master) return false;
  return p.autocasts() || (p.compute.bits >= 16 && p.compute.bits < p.parameters.bits);
}

/// Layers spread over the GPUs of one process.
constexpr objection check_spread(const job& j, const auto& no) {
  const auto& p = j.parallel;
  if (!properties_of(p.schedule).one_process || p.virtual_pipeline > 1)
    return no("headroom: for this framework parallel.schedule must be \"naive\" (device_map=\"auto\") or parallel.pipeline 1; pipeline", p.pipeline);
  if (p.pipeline > degrees::max_entries) return no("headroom: parallel.pipeline must be from 1 to 256", p.pipeline);
  if (j.hardware.gpus() != p.pipeline)
    return no("headroom: the naive schedule spreads one process over all GPUs; parallel.pipeline must be hardware.nodes × gpus_per_node", p.pipeline);
  if (j.sharding.divides()) return no("headroom: the naive schedule goes without sharding; sharding.kind must be none");
  std::int64_t given = 0;
  for (std::int64_t i = 0; i < chunks_given(p); ++i) given = checked::add(given, p.stage_layers[i]);
  if (chunks_given(p) > 0 && (chunks_given(p) != p.pipeline || given != j.model.layers))
    return no("headroom: parallel.stage_layers must have parallel.pipeline entries that add up to model.layers; they add up to", given);
  return {};
}

/// verl's, which patches the function that calls flash attention (verl/models/transformers/monkey_patch.py apply_monkey_patch, whose assertions
/// these are), and ms-swift's, which goes round in a ring where heads of keys do not suffice (swift/sequence_parallel/sequence_parallel.py
/// _init_device_mesh). Samples lie without padding in one row, which is cut into equal pieces.
constexpr objection check_ulysses(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& o = j.objective;
  const auto ranks = j.parallel.context;
  const bool swift = o.code == method_code::ms_swift && (o.kind == objective_kind::sft || o.kind == objective_kind::grpo || (!traits_of(o.kind).vocabulary && o.kind != objective_kind::reward)) && !j.sharding.gathers_units();
  if (swift && shares_rows(j))
    if ((!j.sharding.by(sharder::deepspeed) && j.sharding.kind != sharding_kind::ddp) || (j.loss.kind != loss_kind::full && (j.loss.kind != loss_kind::chunked || j.loss.chunk_tokens < 1)) || j.loss.balances_experts || j.loss.logits.set() || m.logit_softcap > 0 || m.fused_qkv || j.adapter.targets.has(module::head))
      return no("headroom: ms-swift's fine-tuning with parallel.context_kind \"ulysses\" is modelled over DDP and DeepSpeed, by its own loss: sharding.kind must be ddp or zero, loss.kind full, or chunked with chunk_tokens, without loss.logits, capped logits and adapters in the head", j.framework.label);
  // A critic stands as a classifier (settle/objective.hpp standing_of_critic).
  const bool online = o.kind == objective_kind::grpo || o.kind == objective_kind::rloo || o.kind == objective_kind::ppo || o.kind == objective_kind::classification;
  if (!swift && (o.code != method_code::verl || (!online && o.kind != objective_kind::sft) || !j.sharding.gathers_units()))
    return no("headroom: for this framework parallel.context_kind \"ulysses\" is modelled of verl's GRPO, RLOO, PPO and SFT over FSDP, and ms-swift's GRPO, classifiers, embeddings and rerankers over DDP and DeepSpeed by this version; otherwise it must be ring or all-gather", j.framework.label);
  if (j.attention != attention::flash || (swift ? !j.batch.packed : j.batch.padded)) return no("headroom: heads are exchanged for positions around flash attention of samples without padding: attention must be flash, and batch.padded false, of ms-swift batch.packed true");
  if (m.heads % ranks != 0 || (m.kv() % ranks != 0 && (swift || ranks % m.kv() != 0)))
    return no("headroom: under parallel.context_kind \"ulysses\" parallel.context must divide model.heads, and divide kv_heads or, of verl, be a multiple of them; it is", ranks);
  if (m.sparse() || m.latent() || m.sliding_window > 0 || m.encoder.layers > 0 || m.vision.kind != vision_kind::none || m.pattern.period > 0 || m.attention_softcap > 0 || m.gated_attention || m.attention_sinks || j.compile)
    return no("headroom: parallel.context_kind \"ulysses\" is modelled for decoders of plain layers and attention by this version, not compiled; model", m.label);
  return {};
}

/// Context parallelism of modules that know nothing of it: accelerate's over torch's (accelerator.py _prepare_cp, since 2025-08; big_modeling.py
/// _attach_context_parallel_hooks takes masks away from every layer). It runs in torch's own attention and needs FSDP2.
constexpr objection check_torch_context(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& p = j.parallel;
  if (p.context_kind == context_kind::ulysses) return check_ulysses(j, no);
  if (!j.sharding.cuts_tensors()) return no("headroom: context parallelism is modelled for this framework under sharding.kind \"fsdp2\" alone by this version; parallel.context must be 1", p.context);
  if ((j.attention != attention::unset && j.attention != attention::sdpa) || m.attention_softcap > 0)
    return no("headroom: torch's context parallelism runs in its own attention alone; attention must be sdpa");
  if (j.batch.padded || j.batch.packed || m.sliding_window > 0 || m.bidirectional || m.encoder.layers > 0 || m.vision.kind != vision_kind::none || m.latent() || m.position == position_kind::relative)
    return no("headroom: context parallelism is modelled for decoders of plain causal attention by this version: without masks (batch.padded, packed), windows, latent attention, encoders and towers");
  if (j.batch.sequence % (2 * p.context) != 0) return no("headroom: torch's context parallelism gives each rank two pieces of the sequence; batch.sequence must be a multiple of 2 × parallel.context; sequence", j.batch.sequence);
  if (j.adapter.active() || j.objective.kind != objective_kind::sft || j.rollout.given())
    return no("headroom: context parallelism is modelled for sft of all parameters by this version; adapter must be none and objective.kind sft");
  return {};
}

/// Modules that are not divided.
constexpr objection check_undivided(const job& j, const auto& no) {
  const auto& p = j.parallel;
  if ((j.model.sparse() || j.model.latent()) && (j.compile || j.recompute.mode == recompute_mode::selective))
    return no("headroom: compiled or selectively recomputed experts and latent attention are not modelled by this version; compile must be false, recompute \"none\" or \"full\"");
  if (p.tensor > 1 || p.sequence) return no("headroom: tensor parallelism is not modelled by this version; parallel.tensor must be 1", p.tensor);
  if (p.pipeline > 1 || p.virtual_pipeline > 1)
    if (const auto why = check_spread(j, no)) return why;
  if (p.context > 1)
    if (const auto why = check_torch_context(j, no)) return why;
  if (p.expert > 1 || p.expert_tensor > 1) return no("headroom: expert parallelism is not modelled by this version; parallel.expert and expert_tensor must be 1; the larger is", p.expert > p.expert_tensor ? p.expert : p.expert_tensor);
  return {};
}

/// Experts and latent attention in modules that DTensor divides.
constexpr objection check_dtensor_experts(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& p = j.parallel;
  if (j.framework.experts.gemm != expert_gemm::grouped_mm || p.tensor > 1 || p.context > 1 || p.pipeline > 1 || m.experts.every > 1 || m.experts.bias)
    return no("headroom: mixtures of experts and latent attention are modelled for this framework without tensor, context and pipeline parallelism alone, and of plain layers; states(job) counts their weights",
              j.framework.label);
  if (m.sparse() && (m.experts.count % p.expert != 0 || j.hardware.gpus() % p.expert != 0 || p.expert_tensor > 1))
    return no("headroom: model.experts.count and the GPUs must be multiples of parallel.expert, and parallel.expert_tensor 1; expert", p.expert);
  if (p.expert > 1 && !j.sharding.cuts_tensors()) return no("headroom: expert parallelism of eager modules needs sharding.kind \"fsdp2\" in this version");
  return {};
}

/// Pipelines by torch.distributed.pipelining.
constexpr objection check_torch_pipeline(const job& j, const auto& no) {
  const auto& p = j.parallel;
  const auto& order = properties_of(p.schedule);
  if (order.torch.empty()) return no(torch_schedules.text, j.framework.label);  // headroom: parallel.schedule must be one that torch.distributed.pipelining has
  if (order.splits_backward && (j.recompute.mode != recompute_mode::none || (j.compile && j.framework.compile.layers)))
    return no("headroom: torch runs no schedule that splits the backward with compiled layers, and recomputation is not modelled for one by this version; compile must be false, recompute \"none\"");
  if (properties_of(schedule_of(p)).in_groups && p.virtual_pipeline > 1 && j.batch.accumulation % p.pipeline != 0)
    return no("headroom: the interleaved schedule needs batch.accumulation to be a multiple of parallel.pipeline; accumulation", j.batch.accumulation);
  if (p.pipeline > degrees::max_entries || j.batch.accumulation > 65'536)
    return no("headroom: parallel.pipeline must be from 1 to 256, and batch.accumulation at most 65536; accumulation", j.batch.accumulation);
  if (j.sharding.kind != sharding_kind::fsdp2 || j.framework.loss.style == loss_style::chunked_head || j.adapter.active() || !j.trainable.all() || j.optimizer.in_backward || j.model.tied)
    return no("headroom: pipelines of this framework are modelled under sharding.kind fsdp2, with whole logits, every weight trained by an optimizer step and untied embeddings alone");
  return {};
}

/// Modules that DTensor divides.
constexpr objection check_dtensor(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& p = j.parallel;
  if (const auto why = check_division(j, no)) return why;
  if (m.sparse() || m.latent())
    if (const auto why = check_dtensor_experts(j, no)) return why;
  if (p.pipeline > 1 || p.virtual_pipeline > 1)
    if (const auto why = check_torch_pipeline(j, no)) return why;
  if (!m.sparse() && p.expert > 1) return no("headroom: parallel.expert needs a mixture of experts; it is", p.expert);
  if (p.tensor > 1 || p.context > 1) {
    if (!j.sharding.cuts_tensors() && (p.tensor == 1 || !j.sharding.by(sharder::nobody)))
      return no("headroom: tensor and context parallelism of eager modules need sharding.kind \"fsdp2\" in this version");
    if (j.adapter.active()) return no("headroom: adapters under tensor or context parallelism are not modelled for this framework by this version", j.framework.label);
  }
  if (p.context > 1 && p.context_kind == context_kind::ulysses)
    return no("headroom: for this framework parallel.context_kind must be ring or all-gather", j.framework.label);
  if (p.context > 1 && writes_scores(j))
    return no("headroom: context parallelism with attention written out is not modelled by this version; attention must be sdpa, flash or flash3");
  return {};
}

/// What is recomputed, and under which casts.
constexpr objection check_eager_recompute(const job& j, const auto& no) {
  const auto& r = j.recompute;
  const bool selective = r.mode == recompute_mode::selective;
  const bool full = r.mode == recompute_mode::full;
  const bool from_first = r.method == recompute_method::block;
  const bool all = r.layers == 0 || r.layers == j.model.layers || (r.method == recompute_method::uniform && r.layers == 1);
  if (selective && (r.policy == recompute_policy::unset || r.modules != 0))
    return no("headroom: for this framework selective recompute needs recompute.policy (every-other-matmul or attention-only), and no modules", j.framework.label);
  if (full && !all && !from_first) return no("headroom: recomputing some of the layers is not modelled here by this version; recompute.layers must be 0 (all)", r.layers);
  if (!autocasts(j)) return {};
  if (j.compile) return no("headroom: compiled layers under autocast are not modelled by this version; choose bf16 parameters, fsdp1 or fsdp2, or compile false");
  if (selective || (full && from_first && r.layers > 0 && r.layers < j.model.layers))
    return no("headroom: recomputing a part of the model under autocast is not modelled by this version; recompute must be \"none\" or \"full\"");
  return {};
}

/// Which matrices of each layer a tower (module::vision) has, or what joins it to the text (module::projector).
constexpr module_set parts_in(const shape& m, module role) {
  auto list = inventory::blank();
  detail::add_vision(list, m);
  module_set r;
  for (const auto& w : list)
    if (w.role == role) r.bits |= std::uint32_t{w.parts} << static_cast<int>(module::q_proj);
  return r;
}

/// Adapters in a tower.
constexpr objection check_tower_adapters(const job& j, const auto& no) {
  using enum vision_kind;
  const auto& a = j.adapter;
  const auto& v = j.model.vision;
  if ((!a.vision_targets.empty() && !a.targets.has(module::vision)) || (!a.projector_targets.empty() && !a.targets.has(module::projector)))
    return no("headroom: adapter.vision_targets needs vision in adapter.targets, and adapter.projector_targets needs projector; rank", a.rank);
  if (!a.active() || (!a.targets.has(module::vision) && !a.targets.has(module::projector))) return {};
  if (v.layers == 0) return no("headroom: adapter.targets has vision or projector, and the model has no tower beside its text: leave them out; model", j.model.label);
  if (j.batch.images.none && j.sharding.kind != sharding_kind::none)
    return no("headroom: adapters in a tower that never runs are modelled on one GPU, without sharding, by this version: sharding.kind must be none, or adapter.targets be without vision and projector; sharding.stage", j.sharding.stage);
  if (j.framework.kernels.adapted() && !j.batch.images.none) return no("headroom: adapters in a tower are not modelled for this framework by this version: adapter.targets must be without vision and projector; framework", j.framework.label);
  if (a.kind != adapter_kind::lora) return no("headroom: adapters in a tower are modelled as LoRA alone by this version: adapter.kind must be lora, or adapter.targets be without vision and projector; rank", a.rank);
  if (j.sharding.gathers_units()) return no("headroom: adapters in a tower are not modelled under FSDP by this version: sharding.kind must be none, ddp or zero, or adapter.targets be without vision and projector; sharding.stage", j.sharding.stage);
  if (v.attention_pool || v.kind == llama4 || v.kind == gemma4 || v.projector == projector_kind::resampler)
    return no("headroom: adapters in this model's tower are not modelled by this version: adapter.targets must be without vision and projector; model", j.model.label);
  if (v.projector == projector_kind::norm_linear && a.targets.has(module::projector)) return no("headroom: this model's projector is a parameter and no linear layer, which PEFT does not find: adapter.targets must be without projector; model", j.model.label);
  if ((a.vision_targets.bits & ~parts_in(j.model, module::vision).bits) != 0 || (a.projector_targets.bits & ~parts_in(j.model, module::projector).bits) != 0)
    return no("headroom: adapter.vision_targets and adapter.projector_targets may name what the model's tower and projector have; model", j.model.label);
  return {};
}

/// A tower beside samples of text alone, and matrices quantised beside the language model's layers.
constexpr objection check_beside_text(const job& j, const auto& no) {
  constexpr module_set tower{module::vision, module::projector};
  const auto& a = j.adapter;
  const auto also = a.base_also.bits;
  if (also != 0 && !(a.active() && a.base.quantised())) return no("headroom: adapter.base_also needs adapter.base to be a quantised format; its bits", a.base.bits);
  constexpr module_set known{module::head, module::vision, module::projector, module::experts_gate, module::experts_up, module::experts_down};
  if ((also & ~known.bits) != 0) return no("headroom: adapter.base_also may have lm_head, vision, projector and experts; as bits it is", static_cast<std::int64_t>(also));
  const auto rooted = j.sharding.towers_in_root;
  if (rooted && !(j.sharding.cuts_tensors() && j.sharding.fully_sharded() && j.batch.images.none))
    return no("headroom: sharding.towers_in_root is modelled where sharding.kind is fsdp2 and the tower does not run (batch.images.none); sharding.stage", j.sharding.stage);
  if ((also & tower.bits) != 0 && j.sharding.divides() && !rooted) return no("headroom: a quantised tower is not modelled under sharding by this version; sharding.stage", j.sharding.stage);
  if (copies_tied_head(j) && (j.sharding.fully_sharded() || j.sharding.cuts(sharded_state::weights)))
    return no("headroom: a copy of a head that is the embedding's matrix is not modelled where weights are sharded by this version: adapter.modules_to_save must be without lm_head, or sharding.stage at most 2", j.sharding.stage);
  if (adapts_tied_head(j) && (j.sharding.fully_sharded() || j.sharding.cuts(sharded_state::weights)))
    return no("headroom: an adapter of a head that is the embedding's matrix is not modelled under FSDP or ZeRO's stage 3 by this version: adapter.targets must be without lm_head");
  if (adapts_tied_head(j) && j.parallel.pipeline > 1)
    return no("headroom: an adapter of a head that is the embedding's matrix is not modelled with layers spread over GPUs by this version: adapter.targets must be without lm_head, or parallel.pipeline 1; pipeline", j.parallel.pipeline);
  if (const auto why = check_tower_adapters(j, no)) return why;
  if (!j.batch.images.none) return {};
  if (j.model.vision.held > 0) return {};  // block/tower_limits.hpp
  if ((trained_modules(j, -1).bits & tower.bits) != 0)
    return no("headroom: a tower that never runs has no gradients, which is modelled where it does not train: batch.images.none needs trainable.modules, or adapters, without vision and projector; layers", j.model.vision.layers);
  if (j.sharding.fully_sharded() && !rooted) return no("headroom: a tower that never runs is not modelled beside weights that are sharded by this version; sharding.stage", j.sharding.stage);
  return {};
}

/// A job of eager modules.
constexpr objection check_eager(const job& j, const auto& no) {
  if (j.framework.kernels.adapted())
    if (const auto why = check_unsloth(j, no)) return why;
  if (const auto why = check_layers(j, no)) return why;
  if (const auto why = check_beside_text(j, no)) return why;
  if (const auto why = j.framework.modules.dtensor() ? check_dtensor(j, no) : check_undivided(j, no)) return why;
  if (j.offload.parameters != place::on_gpu && !j.sharding.divides())
    return no("headroom: offload.parameters needs sharding that gathers them for every layer: sharding.kind \"zero\" with stage 3, \"fsdp1\" or \"fsdp2\"");
  if (j.parallel.replicate > 1 && j.sharding.by(sharder::deepspeed))
    return no("headroom: parallel.replicate is FSDP's; DeepSpeed shards within groups by sharding.mics_shard_size; replicate", j.parallel.replicate);
  if (const auto why = check_running(j, no)) return why;
  if (j.sharding.by(sharder::megatron))
    return no("headroom: Megatron's sharding is not modelled by this version; sharding.kind must be none, ddp, zero, fsdp1 or fsdp2");
  return check_eager_recompute(j, no);
}

}  // namespace headroom::detail
