// Distributed under the Boost Software License, Version 1.0.
// What the engine of Megatron's layers and stages does not run.
#pragma once

#include <headroom/block/limits.hpp>
#include <headroom/block/megatron_layer.hpp>
#include <headroom/engine/tensor_parallel/stack_limits.hpp>
#include <headroom/engine/tensor_parallel/tower_limits.hpp>
#include <headroom/settle/layer.hpp>

namespace headroom::detail {

inline constexpr auto megatron_schedules = with_schedules("headroom: for megatron parallel.schedule must be ", [](const schedule_properties& s) { return s.megatron; });

/// Megatron-FSDP.
constexpr objection check_megatron_fsdp(const job& j, const auto& no) {
  if (j.parallel.pipeline > 1 || j.parallel.virtual_pipeline > 1 || j.parallel.schedule != usual_schedule(1))
    return no("headroom: Megatron-FSDP over pipeline stages is not modelled by this version; parallel.pipeline must be 1, without a schedule; pipeline", j.parallel.pipeline);
  if (j.model.mtp_layers > 0) return no("headroom: multi-token prediction under Megatron-FSDP is not modelled by this version; model.mtp_layers must be 0", j.model.mtp_layers);
  if (j.recompute.mode == recompute_mode::full && j.recompute.method == recompute_method::uniform && j.recompute.layers > 1)
    return no("headroom: several layers in a checkpoint under Megatron-FSDP are not modelled by this version; recompute.layers must be 1", j.recompute.layers);
  if (j.optimizer.vector_moments > 0) return no("headroom: Megatron-FSDP has no Muon; optimizer must be adamw or sgd");
  const auto& p = j.precision.set() ? j.precision : j.framework.precision;
  if (p.parameters.bits == 8 && j.framework.fp8.scaling == fp8_scaling::block)
    return no("headroom: block-scaled fp8 parameters under Megatron-FSDP are not modelled by this version; framework.options.fp8-recipe must be tensorwise or delayed");
  return {};
}

/// Muon's layer-wise distributed optimizer.
constexpr objection check_layer_wise(const job& j, const auto& no) {
  if (j.parallel.replicate > 1) return no("headroom: Muon's layer-wise optimizer has no instances; parallel.replicate must be 1", j.parallel.replicate);
  if (j.framework.optimizer.precision_aware || multiplies_narrow(j.precision))
    return no("headroom: Muon's layer-wise optimizer with fp8 or a precision-aware optimizer is not modelled by this version; precision.compute must have 16 or 32 bits");
  if (j.model.mtp_layers > 0) return no("headroom: multi-token prediction under Muon's layer-wise optimizer is not modelled by this version; model.mtp_layers must be 0", j.model.mtp_layers);
  return {};
}

/// Two chunks a stage in a V, as what is built on Megatron-LM runs them (AMD-AGI/Primus backends/megatron/core/pipeline_parallel, sail-sg's zero-bubble): the
/// first stage has the embedding and the head.
constexpr objection check_v_stages(const job& j, const auto& no) {
  if (j.model.tied || j.model.mtp_layers > 0 || j.optimizer.vector_moments > 0 || has_own_loss(j.objective))
    return no("headroom: schedules in a V (zero-bubble-v, v-half, v-min) are modelled for megatron with sft alone, without tied embeddings, multi-token prediction and Muon by this version; parallel.schedule must be another");
  if (!j.framework.modules.megatron() || j.framework.modules.deepspeed() || j.framework.modules.nanotron()) return no("headroom: schedules in a V (zero-bubble-v, v-half, v-min) are Primus', over Megatron's layers; framework", j.framework.label);
  return {};
}

/// Stages and the order of their micro-batches.
constexpr objection check_megatron_stages(const job& j, const auto& no) {
  const auto& p = j.parallel;
  const auto& order = properties_of(p.schedule);
  const auto group = j.framework.pipeline.microbatch_group;
  if (p.pipeline > degrees::max_entries) return no("headroom: parallel.pipeline must be from 1 to 256", p.pipeline);
  if (j.model.mtp_layers > 4) return no("headroom: for megatron model.mtp_layers must be from 0 to 4", j.model.mtp_layers);
  if (j.model.mtp_layers > 0 && j.recompute.mode == recompute_mode::full && j.recompute.method == recompute_method::uniform && j.recompute.layers > 1 && j.framework.date >= 202508)
    return no("headroom: beside multi-token prediction Megatron-LM stops unless a checkpoint has one layer: with recompute.method \"uniform\" recompute.layers must be 1", j.recompute.layers);
  if (!order.megatron) return no(megatron_schedules.text);  // headroom: parallel.schedule must be one that Megatron-LM runs (layout/schedule_kind.hpp)
  if (order.place == chunk_place::in_a_v)
    if (const auto why = check_v_stages(j, no)) return why;
  if (!order.plain() && order.chunks == 1 && p.virtual_pipeline > 1)
    return no("headroom: the zero-bubble and dualpipe schedules need parallel.virtual_pipeline 1; found", p.virtual_pipeline);
  if (order.both_ways() && (p.pipeline % 2 != 0 || j.batch.accumulation % 2 != 0))
    return no("headroom: the dualpipe schedule needs an even number of stages and of micro-batches; parallel.pipeline", p.pipeline);
  if (order.splits_backward && j.recompute.mode != recompute_mode::none)
    return no("headroom: recomputation is not modelled for the zero-bubble schedule by this version; recompute must be \"none\"");
  if (group > 0 && group < p.pipeline)
    return no("headroom: microbatch-group-size-per-virtual-pipeline-stage must be at least parallel.pipeline; found", group);
  if (order.steady(p.pipeline, 0, p.pipeline) > 65'536 && j.batch.accumulation > 65'536)
    return no("headroom: with the gpipe schedule batch.accumulation must be from 1 to 65536; accumulation", j.batch.accumulation);
  if (p.virtual_pipeline > 1 && order.plain() && group == 0 && j.batch.accumulation % p.pipeline != 0)
    return no("headroom: the interleaved schedule needs batch.accumulation to be a multiple of parallel.pipeline; accumulation", j.batch.accumulation);
  return {};
}

/// LoRA beside Megatron's layers.
constexpr objection check_megatron_adapters(const job& j, const auto& no) {
  const auto& a = j.adapter;
  const auto& m = j.model;
  if (!j.framework.adapters.parallel) return no("headroom: adapters under megatron are modelled as ms-swift adds them: framework.version must be \"Megatron-SWIFT\"; adapter.rank", a.rank);
  if (adapts_tied_head(j)) return no("headroom: over Megatron's layers an adapter of a head that is the embedding's matrix is not modelled by this version: adapter.targets must be without lm_head; adapter.rank", a.rank);
  if (a.kind != adapter_kind::lora) return no("headroom: over Megatron's layers ms-swift has no DoRA; adapter.kind must be \"lora\"");
  constexpr module_set ends{module::embedding, module::head};
  if (a.base.quantised() || (a.modules_to_save.bits & ~ends.bits) != 0 || (!a.modules_to_save.empty() && (m.tied || j.parallel.pipeline > 1)))
    return no("headroom: of modules that train whole beside adapters an embedding and a head of its own are modelled for megatron, without pipeline stages, and no quantised base, by this version; leave adapter.base and modules_to_save out");
  if (a.format.set() && a.format.bits != (j.precision.parameters.set() ? j.precision : j.framework.precision).parameters.bits)
    return no("headroom: over Megatron's layers adapters have the parameters' format; leave adapter.format out; its bits", a.format.bits);
  const auto together = [&](module first, module second, module third) { return a.targets.has(first) == a.targets.has(second) && a.targets.has(second) == a.targets.has(third); };
  const bool gated = m.mlp == mlp_kind::gated;
  if (!together(module::q_proj, module::k_proj, module::v_proj) || (gated && (!together(module::gate_proj, module::up_proj, module::up_proj) || !together(module::experts_gate, module::experts_up, module::experts_up) ||
                                                                              !together(module::shared_gate, module::shared_up, module::shared_up))))
    return no("headroom: Megatron's q, k and v are one layer, and gate and up are; adapter.targets must have all or none of each");
  if (m.latent() || (m.pattern.given() && !m.kind_of(0).whole()) || m.bidirectional || m.encoder.layers > 0 || m.mtp_layers > 0 || (m.classes > 0 && traits_of(j.objective.kind).vocabulary))
    return no("headroom: adapters under megatron are modelled for decoders with ordinary attention and without multi-token prediction by this version", m.label);
  if (multiplies_narrow(j.precision) || j.sharding.gathers_units() || j.optimizer.vector_moments > 0 || j.framework.graphs.capture != graph_capture::none || j.offload.activations != place::on_gpu ||
      properties_of(j.parallel.schedule).splits_backward)
    return no("headroom: adapters under megatron are not modelled with fp8, Megatron-FSDP, Muon, CUDA graphs, offloaded activations or schedules that split backward by this version; adapter.rank", a.rank);
  return {};
}

/// Whether a tower is frozen, and all else trains or has adapters.
constexpr bool sees_over_megatron(const job& j) {
  constexpr module_set tower{module::vision, module::projector};
  const auto modules = j.trainable.size == 1 && j.trainable.list[0].last_layer < 0 && j.trainable.list[0].experts < 0 ? j.trainable.list[0].modules : module_set{};
  module_set rest;
  rest.bits = ((std::uint32_t{1} << module_count) - 1) & ~tower.bits;
  const bool frozen = j.adapter.active() ? j.trainable.all() && (j.adapter.targets.bits & tower.bits) == 0 : modules == rest;
  return frozen && !j.sharding.gathers_units() && j.optimizer.vector_moments == 0 && (j.model.vision.deep_mergers == 0 || j.parallel.pipeline == 1);
}

/// States: how they are sharded, their formats, the optimizer.
constexpr objection check_megatron_states(const job& j, const auto& no) {
  const auto& compute = j.precision.compute;
  if (j.sharding.divides() && !j.sharding.by(sharder::megatron) && !j.framework.modules.deepspeed())
    return no("headroom: for megatron sharding.kind must be none, ddp, megatron-distributed-optimizer or megatron-fsdp");
  if (j.sharding.gathers_units())
    if (const auto why = check_megatron_fsdp(j, no)) return why;
  if (multiplies_narrow(j.precision) && j.framework.modules.local()) return no("headroom: fp8 needs TransformerEngine: framework.options.transformer-impl must not be local");
  if (j.precision.parameters.bits == 8 && compute.bits != 8) return no("headroom: fp8 parameters need precision.compute fp8; found bits", compute.bits);
  // TransformerEngine pytorch/quantization.py check_nvfp4_support: compute capability 10.0.
  if (const auto* old = compute == formats::nvfp4 ? j.hardware.kind_that([](const gpu& g) { return g.compute_capability < 100; }) : nullptr)
    return no("headroom: nvfp4 needs Blackwell's tensor cores: hardware.gpu must be of compute capability 10.0 or higher", old->label);
  if (compute == formats::nvfp4 && j.sharding.gathers_units()) return no("headroom: nvfp4 under Megatron-FSDP is not modelled by this version; sharding.kind must be none, ddp or megatron-distributed-optimizer");
  if (j.optimizer.vector_moments > 0 && j.sharding.distributes_optimizer())
    if (const auto why = check_layer_wise(j, no)) return why;
  const bool own_code = j.optimizer.by_tensor != nullptr && j.optimizer.by_tensor != &updates::one_kernel && j.optimizer.vector_moments == 0;
  if (own_code || j.optimizer.extent != state_extent::full || j.optimizer.state.quantised() || j.optimizer.paged_from > 0 || j.optimizer.blocks > 0 || j.optimizer.in_backward || j.optimizer.usually != implementation::unset ||
      j.optimizer.compensates || j.optimizer.moments > 2)
    return no("headroom: for megatron the optimizer must be adamw, sgd, sgd-momentum, lion, adagrad or muon");
  const bool sees = j.model.vision.layers > 0;
  if (j.batch.images.none) return no("headroom: a tower that never runs is not modelled over Megatron's layers by this version; leave batch.images.none out");
  if (j.model.vision.kind == vision_kind::megatron_clip) {
    if (const auto why = check_megatron_tower(j, no)) return why;
  } else if (sees && !sees_over_megatron(j))
    return no("headroom: over Megatron's layers towers are modelled that do not train, without Megatron-FSDP and Muon, and without deep mergers over pipeline stages: trainable must be all modules but vision and projector, or leave them to adapters beside them; model", j.model.label);
  if (!j.trainable.all() && !sees) return no("headroom: partly frozen models are not modelled for megatron by this version; leave trainable out");
  return j.adapter.active() ? check_megatron_adapters(j, no) : objection{};
}

/// An optimizer that updates on the host.
constexpr objection check_megatron_offload(const job& j, const auto& no) {
  const auto& o = j.offload;
  if (o.parameters != place::on_gpu || o.optimizer == place::on_nvme) return no("headroom: for megatron offload.parameters must be none, and offload.optimizer none or cpu");
  if (o.optimizer == place::on_gpu) return {};
  if (!j.sharding.distributes_optimizer() || j.framework.modules.deepspeed() || j.framework.modules.nanotron() || j.optimizer.vector_moments > 0 || j.precision.compute.bits == 8)
    return no("headroom: for megatron offload.optimizer cpu needs the distributed optimizer (sharding.kind \"megatron-distributed-optimizer\"), and is not modelled with Muon or fp8 by this version");
  if (o.optimizer_fraction < 0 || o.optimizer_fraction > 1'000'000) return no("headroom: offload.optimizer_fraction must be from 0 to 1; in millionths", o.optimizer_fraction);
  if (j.precision.set() && (j.precision.gradients != formats::fp32 || j.precision.state != formats::fp32 || j.precision.master != formats::fp32))
    return no("headroom: for megatron offload.optimizer cpu is modelled with gradients, master copies and moments in fp32; precision must say so");
  return {};
}

/// CUDA graphs, and what is kept off the GPU.
constexpr objection check_megatron_graphs(const job& j, const auto& no) {
  const auto& f = j.framework;
  const auto& o = j.offload;
  const bool plain = properties_of(j.parallel.schedule).plain();
  const bool full = j.recompute.mode == recompute_mode::full;
  if (f.graphs.capture != graph_capture::none && full)
    return no("headroom: CUDA graphs of layers do not go with full recompute; framework.options.cuda-graph-impl must be none", f.label);
  if (f.graphs.modules != 0 && (o.activations != place::on_gpu || !plain))
    return no("headroom: graphs that are captured before the first step are not modelled with offload or for the zero-bubble and dualpipe schedules by this version");
  if (const auto why = check_megatron_offload(j, no)) return why;
  if (o.activations == place::on_gpu) return {};
  if (f.checkpointing.offloaded_modules == 0 || full)
    return no("headroom: for megatron offload.activations needs framework.options.offload-modules (attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, expert_fc1, moe_act), and no full recompute");
  if (multiplies_narrow(j.precision) || !plain)
    return no("headroom: offloaded modules are not modelled with fp8 or for the zero-bubble and dualpipe schedules by this version; framework", f.label);
  return {};
}

/// What is recomputed.
constexpr objection check_megatron_recompute(const job& j, const auto& no) {
  const auto& r = j.recompute;
  if (r.mode == recompute_mode::selective && r.modules == 0)
    return no("headroom: for megatron selective recompute needs recompute.modules: core_attn, mlp, moe, moe_act, layernorm, mla_up_proj, shared_experts");
  if (r.mode == recompute_mode::full && r.method == recompute_method::unset && r.layers != 0 && r.layers != j.model.layers)
    return no("headroom: recompute.layers needs recompute.method: uniform (layers a checkpoint) or block (the first layers of each chunk); layers", r.layers);
  return {};
}

/// Context parallelism has kernels alone: TransformerEngine 2 attention/dot_product_attention/utils.py get_attention_backend takes
/// UnfusedDotProductAttention away there, and FlashAttention 2 and cuDNN's where heads are no multiple of 8 wide. FlashAttention 3 stays.
constexpr objection check_ring(const job& j, const auto& no) {
  const auto& m = j.model;
  if (j.parallel.context > 1 && j.framework.modules.kind == layer_modules::megatron && !m.latent() && m.head_width() % 8 != 0)
    return no("headroom: context parallelism over heads whose width is no multiple of 8, for which FlashAttention 2 and cuDNN have no kernel, is not modelled by this version; parallel.context must be 1, or "
              "model.head_dim such a multiple; it is", m.head_width());
  return {};
}

/// A job of Megatron's modules.
constexpr objection check_megatron(const job& j, const auto& no) {
  if (const auto why = check_layers(j, no)) return why;
  if (const auto why = check_division(j, no)) return why;
  if (const auto why = check_ring(j, no)) return why;
  if (j.model.sparse())
    if (const auto why = check_megatron_experts(j, no)) return why;
  if (j.model.bidirectional)
    if (const auto why = check_megatron_encoder(j, no)) return why;
  if (j.model.encoder.layers > 0)
    if (const auto why = check_megatron_decoder(j, no)) return why;
  if (j.model.pattern.given())
    if (const auto why = check_megatron_pattern(j, no)) return why;
  if (const auto why = check_megatron_stages(j, no)) return why;
  if (const auto why = check_megatron_states(j, no)) return why;
  if ((j.model.parallel_block && !j.framework.modules.neox()) || j.model.post_norms) return no("headroom: parallel blocks and post-norms are not modelled for megatron by this version");
  if (const auto why = check_megatron_graphs(j, no)) return why;
  if (const auto why = check_running(j, no)) return why;
  return check_megatron_recompute(j, no);
}

}  // namespace headroom::detail
