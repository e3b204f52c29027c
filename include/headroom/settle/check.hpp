// Distributed under the Boost Software License, Version 1.0.
// Which jobs are refused, and in which words. Everything after this file may assume a job that makes sense.
#pragma once

#include <headroom/job.hpp>
#include <headroom/model/check.hpp>

namespace headroom {

namespace detail {

constexpr bool within(std::int64_t value, std::int64_t least) { return least <= value && value <= (std::int64_t{1} << 40); }

template <class No>
constexpr objection check_model(const shape& m, const No& no) {
  if (const auto why = check(m, no)) return why;
  if (m.layers < 1 || m.layers > (std::int64_t{1} << 20)) return no("headroom: model.layers must be a whole number from 1 to 2^20", m.layers);
  if (!within(m.vocab_multiple, 1)) return no("headroom: model.vocab_multiple must be a whole number from 1 to 2^40", m.vocab_multiple);
  return {};
}

/// Whether parallel.stage_layers has an entry for each chunk, or none; where it does not say how many it has, none may follow the last chunk's.
constexpr bool entries_match(const degrees& d) {
  const auto chunks = checked::mul(d.pipeline, d.virtual_pipeline);
  return d.chunks > 0 ? d.chunks == chunks : chunks >= degrees::max_entries || d.stage_layers[chunks] == 0;
}

template <class No>
constexpr objection check_layout(const job& j, const No& no) {
  const auto& p = j.parallel;
  if (!within(j.hardware.nodes, 1)) return no("headroom: hardware.nodes must be a whole number from 1 to 2^40", j.hardware.nodes);
  if (!within(j.hardware.gpus_per_node, 1)) return no("headroom: hardware.gpus_per_node must be a whole number from 1 to 2^40", j.hardware.gpus_per_node);
  for (std::size_t i = 0; i < j.hardware.kinds(); ++i)
    if (j.hardware.count(i) < 1)
      return no("headroom: the counts of a mixed cluster's GPUs must be positive and add up to hardware.nodes × gpus_per_node; one is", j.hardware.count(i));
  if (j.hardware.accelerator().memory < bytes{1}) return no("headroom: this GPU's memory is not known; hardware.gpu must be another of the table, or {\"name\", \"memory_gib\"} with a positive number", j.hardware.accelerator().label);
  if (!within(p.data, 0)) return no("headroom: parallel.data must be 0 (what the GPUs leave) or a whole number up to 2^40", p.data);
  if (!within(p.replicate, 1)) return no("headroom: parallel.replicate must be a whole number from 1 to 2^40", p.replicate);
  if (p.data > 0 && checked::mul(p.data, p.context) % p.replicate != 0)
    return no("headroom: parallel.data × context must be a multiple of parallel.replicate; replicate", p.replicate);
  if (p.expert_imbalance_percent < 100 || p.expert_imbalance_percent > 100'000)
    return no("headroom: parallel.expert_imbalance must be from 1 (an even share) to 1000; in percent", p.expert_imbalance_percent);
  if (!within(j.batch.micro, 1)) return no("headroom: batch.micro must be a whole number from 1 to 2^40", j.batch.micro);
  if (!within(j.batch.sequence, 1)) return no("headroom: batch.sequence is required: a whole number from 1 to 2^40", j.batch.sequence);
  if (!within(j.batch.accumulation, 1)) return no("headroom: batch.accumulation must be a whole number from 1 to 2^40", j.batch.accumulation);
  if (j.sharding.stage < 0 || j.sharding.stage > 3) return no("headroom: sharding.stage must be 0, 1, 2 or 3", j.sharding.stage);
  const auto hpz = j.sharding.zero_hpz_partition_size, mics = j.sharding.mics_shard_size;
  if ((hpz > 1 || mics > 0) && !(j.sharding.by(sharder::deepspeed) && j.sharding.cuts(sharded_state::weights)))
    return no("headroom: sharding.zero_hpz_partition_size and mics_shard_size need sharding.kind \"zero\" and stage 3; stage", j.sharding.stage);
  const auto others = checked::mul(checked::mul(p.tensor, p.pipeline), p.context);
  const auto gpus = j.hardware.gpus();
  if (p.data == 0 && gpus % others != 0) return no("headroom: parallel.tensor × pipeline × context must divide the GPUs, hardware.nodes × gpus_per_node; the product", others);
  if (p.chunks < 0 || p.chunks > degrees::max_entries) return no("headroom: parallel.stage_layers must have at most 256 entries; it has", p.chunks);
  if (!entries_match(p)) return no("headroom: parallel.stage_layers must have an entry for each chunk, as many as parallel.pipeline × virtual_pipeline; they are", checked::mul(p.pipeline, p.virtual_pipeline));
  const auto& order = properties_of(p.schedule);
  if (p.pipeline > 1 && order.chunks > 1 && p.virtual_pipeline != order.chunks)
    return no("headroom: parallel.virtual_pipeline must be the number of chunks into which the schedule cuts a stage (zero-bubble-v: 2)", p.virtual_pipeline);
  if (p.pipeline > 1 && j.batch.accumulation < checked::mul(order.least_rounds, p.pipeline))
    return no("headroom: this schedule needs at least as many micro-batches as there are stages, parallel.pipeline; batch.accumulation", j.batch.accumulation);
  if (p.data > 0 && checked::mul(p.data, others) != gpus)
    return no("headroom: parallel.data × tensor × pipeline × context must be the GPUs, hardware.nodes × gpus_per_node; the product", checked::mul(p.data, others));
  return {};
}

/// Whether weights are cast for each matrix multiplication; FSDP gathers them in the format that they are computed in instead.
constexpr bool autocasts(const job& j) {
  const auto& p = j.precision.set() ? j.precision : j.framework.precision;
  if (j.framework.modules.megatron() || j.sharding.properties().shards_are_master) return false;
  return p.autocast || (p.compute.bits >= 16 && p.compute.bits < p.parameters.bits);
}

/// Layers that tensor, sequence and context parallelism divide come out even.
template <class No>
constexpr objection check_division(const job& j, const No& no) {
  const auto& m = j.model;
  const auto& p = j.parallel;
  if (m.heads % p.tensor != 0 || m.kv() % p.tensor != 0)
    return no("headroom: model.heads and kv_heads must be multiples of parallel.tensor; heads", m.heads);
  if (m.ffn % p.tensor != 0) return no("headroom: model.ffn must be a multiple of parallel.tensor; ffn", m.ffn);
  if (j.batch.sequence % p.context != 0) return no("headroom: batch.sequence must be a multiple of parallel.context; sequence", j.batch.sequence);
  if (p.sequence && j.batch.sequence / p.context % p.tensor != 0)
    return no("headroom: with parallel.sequence, batch.sequence / context must be a multiple of parallel.tensor; sequence", j.batch.sequence);
  return {};
}

template <class No>
constexpr objection check_recipe(const job& j, const No& no) {
  if (j.adapter.active()) {
    if (!within(j.adapter.rank, 1)) return no("headroom: adapter.rank must be a whole number from 1 to 2^40", j.adapter.rank);
    if (j.adapter.targets.empty()) return no("headroom: adapter.targets must name modules (q_proj, v_proj, …) or be \"all-linear\"");
  }
  if (j.optimizer.extent == state_extent::low_rank) if (!within(j.optimizer.rank, 1)) return no("headroom: optimizer.rank must be a whole number from 1 to 2^40", j.optimizer.rank);
  if (j.optimizer.blocks < 0) return no("headroom: optimizer.blocks must not be negative", j.optimizer.blocks);
  for (std::int32_t i = 0; i < j.trainable.size; ++i) {
    const auto& s = j.trainable.list[i];
    if (s.last_layer >= 0 && (s.first_layer < 0 || s.first_layer > s.last_layer || s.last_layer >= j.model.layers))
      return no("headroom: trainable.layers must be [first, last] within the model's layers; last", s.last_layer);
  }
  return {};
}

inline constexpr auto megatron_schedules = with_schedules("headroom: for megatron parallel.schedule must be ", [](const schedule_properties& s) { return s.megatron; });
inline constexpr auto torch_schedules = with_schedules("headroom: for this framework parallel.schedule must be ", [](const schedule_properties& s) { return !s.torch.empty(); });

/// Layers spread over the GPUs of one process.
template <class No>
constexpr objection check_spread(const job& j, const No& no) {
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

/// What of Megatron-FSDP is not modelled.
template <class No>
constexpr objection check_megatron_fsdp(const job& j, const No& no) {
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

/// What of Muon's layer-wise distributed optimizer is not modelled, or does not exist.
template <class No>
constexpr objection check_layer_wise(const job& j, const No& no) {
  if (j.parallel.replicate > 1) return no("headroom: Muon's layer-wise optimizer has no instances; parallel.replicate must be 1", j.parallel.replicate);
  if (j.framework.optimizer.precision_aware || j.precision.compute.bits == 8)
    return no("headroom: Muon's layer-wise optimizer with fp8 or a precision-aware optimizer is not modelled by this version; precision.compute must have 16 or 32 bits");
  if (j.model.mtp_layers > 0) return no("headroom: multi-token prediction under Muon's layer-wise optimizer is not modelled by this version; model.mtp_layers must be 0", j.model.mtp_layers);
  return {};
}

/// What of patterns of layer kinds is not modelled.
template <class No>
constexpr objection check_pattern_walk(const job& j, const No& no) {
  const auto& p = j.parallel;
  if (j.framework.modules.megatron() || j.framework.modules.dtensor() || j.framework.runtime == runtime::preallocated)
    return no("headroom: patterns of layer kinds (model.pattern) are not modelled for this framework by this version; states(job) counts their weights", j.framework.label);
  if (p.tensor > 1 || p.context > 1 || p.expert > 1)
    return no("headroom: tensor, context and expert parallelism are not modelled for patterns of layer kinds (model.pattern) by this version; parallel.tensor, context and expert must be 1");
  if (j.compile || j.recompute.mode == recompute_mode::selective)
    return no("headroom: compiled or selectively recomputed layers are not modelled for patterns of layer kinds (model.pattern) by this version; compile must be false, recompute \"none\" or \"full\"");
  if (j.batch.packed && j.model.recurs())
    return no("headroom: packed sequences are not modelled for recurrent mixers by this version; batch.packed must be false");
  return {};
}

}  // namespace detail

/// Refuses a job that contradicts itself, or what `no` does instead. States can be counted for every job that passes.
template <class No = refusing>
constexpr objection check(const job& j, const No& no = {}) {
  if (const auto why = detail::check_model(j.model, no)) return why;
  if (const auto why = detail::check_layout(j, no)) return why;
  if (const auto why = detail::check_recipe(j, no)) return why;
  return {};
}

/// Refuses what can be counted but not yet walked: parallelisms and blocks whose activations this version does not know.
template <class No = refusing>
constexpr objection check_walk(const job& j, const No& no = {}) {
  const auto& m = j.model;
  if (!detail::within(m.ffn, m.sparse() || m.pattern.given() ? 0 : 1)) return no("headroom: model.ffn must be a whole number from 1 to 2^40", m.ffn);
  if (!detail::within(m.vocab, m.head == head_kind::language ? 1 : 0)) return no("headroom: model.vocab must be a whole number from 1 to 2^40", m.vocab);
  const auto& p = j.parallel;
  const auto& order = properties_of(p.schedule);
  const bool divides = j.framework.modules.megatron();
  if (m.sparse() && m.parallel_block) return no("headroom: experts beside a parallel attention block are not modelled by this version; model.parallel_block must be false");
  if (j.framework.runtime == runtime::preallocated && (m.sparse() || m.latent())) return no("headroom: this framework has no experts and no latent attention; framework", j.framework.label);
  const bool divides_eager = j.framework.modules.dtensor();
  if (!divides && m.mtp_layers > 0) return no("headroom: multi-token-prediction modules are not modelled for this framework by this version; model.mtp_layers", m.mtp_layers);
  if (m.fp32_residual && (divides || m.sparse() || j.adapter.active() || m.vision.kind != vision_kind::none))
    return no("headroom: an fp32 residual stream (model.fp32_residual) is modelled for eager dense models without adapters by this version", j.framework.label);
  if (m.pattern.given())
    if (const auto why = detail::check_pattern_walk(j, no)) return why;
  if ((m.gated_attention || m.norm_offset) && (divides || divides_eager || j.framework.runtime == runtime::preallocated || m.fused_qkv || m.latent() ||
                                               j.framework.attention.qkv != qkv_projection::separate))
    return no("headroom: gated attention and norms of 1 + weight (model.gated_attention, norm_offset) are not modelled for this framework, or with one matrix for q, k and v, by this version", j.framework.label);
  const auto& v = m.vision;
  if (v.kind != vision_kind::none) {
    if (divides || divides_eager || j.compile || p.pipeline > 1)
      return no("headroom: activations of vision towers are not modelled for this framework or layout by this version; states(job) counts their weights", j.framework.label);
    if (v.projector == projector_kind::contrastive || v.deep_mergers > 0 || v.attention_pool)
      return no("headroom: contrastive towers, pooling heads and deep mergers are not modelled by this version; states(job) counts their weights");
    if (v.patch < 1 || v.image < v.patch) return no("headroom: model.vision.image and patch must say how large the images are; image", v.image);
    if (v.merge > 1 && v.image / v.patch % v.merge != 0) return no("headroom: model.vision.image / patch must be a multiple of model.vision.merge; image", v.image);
    if (v.layers > 0 && (v.hidden < 1 || v.heads < 1 || v.hidden % v.heads != 0)) return no("headroom: model.vision.hidden must be a multiple of model.vision.heads; hidden", v.hidden);
  }
  if (m.encoder.layers > 0) {
    if (divides || divides_eager || j.compile || p.pipeline > 1 || j.framework.runtime == runtime::preallocated)
      return no("headroom: encoder-decoder models are not modelled for this framework by this version; states(job) counts their weights", j.framework.label);
    if (!m.encoder.cross_attention || m.sparse() || m.parallel_block || v.kind != vision_kind::none)
      return no("headroom: encoders without cross-attention, or beside experts, parallel blocks or towers, are not modelled by this version; model.encoder.layers", m.encoder.layers);
  }
  if ((divides || divides_eager || j.framework.runtime == runtime::preallocated) && (m.bidirectional || m.norm_after || m.head != head_kind::language))
    return no("headroom: encoders and post-norm models are not modelled for this framework by this version; states(job) counts their weights", j.framework.label);
  if (divides || divides_eager)
    if (const auto why = detail::check_division(j, no)) return why;
  const bool plain = !m.sparse() && !m.latent();
  if (divides_eager && !plain) {
    if (j.framework.experts.gemm != expert_gemm::grouped_mm || p.tensor > 1 || p.context > 1 || p.pipeline > 1 || (j.compile && j.framework.compile.layers) || m.experts.every > 1 || m.experts.bias)
      return no("headroom: mixtures of experts and latent attention are modelled for this framework without tensor, context and pipeline parallelism and compiled layers alone, and of plain layers; states(job) counts their weights",
             j.framework.label);
    if (m.sparse() && (m.experts.count % p.expert != 0 || j.hardware.gpus() % p.expert != 0 || p.expert_tensor > 1))
      return no("headroom: model.experts.count and the GPUs must be multiples of parallel.expert, and parallel.expert_tensor 1; expert", p.expert);
    if (p.expert > 1 && !j.sharding.cuts_tensors()) return no("headroom: expert parallelism of eager modules needs sharding.kind \"fsdp2\" in this version");
  }
  if (!divides && !divides_eager && !plain && (j.compile || j.recompute.mode == recompute_mode::selective))
    return no("headroom: compiled or selectively recomputed experts and latent attention are not modelled by this version; compile must be false, recompute \"none\" or \"full\"");
  if (divides) {
    if (m.sparse() && (m.experts.count % p.expert != 0 || m.experts.ffn % p.expert_tensor != 0))
      return no("headroom: model.experts.count must be a multiple of parallel.expert, and experts.ffn of parallel.expert_tensor; experts", m.experts.count);
    if (m.sparse() && j.hardware.gpus() / p.pipeline % checked::mul(p.expert, p.expert_tensor) != 0)
      return no("headroom: data × tensor × context must be a multiple of parallel.expert × expert_tensor; expert", p.expert);
    if (p.pipeline > degrees::max_entries) return no("headroom: parallel.pipeline must be from 1 to 256", p.pipeline);
    if (m.mtp_layers > 4) return no("headroom: for megatron model.mtp_layers must be from 0 to 4", m.mtp_layers);
    if (!order.megatron)
      return no(detail::megatron_schedules.text);  // headroom: parallel.schedule must be one that Megatron-LM runs (layout/schedule_kind.hpp)
    if (!order.plain() && p.virtual_pipeline > 1)
      return no("headroom: the zero-bubble and dualpipe schedules need parallel.virtual_pipeline 1; found", p.virtual_pipeline);
    if (order.both_ways() && (p.pipeline % 2 != 0 || j.batch.accumulation % 2 != 0))
      return no("headroom: the dualpipe schedule needs an even number of stages and of micro-batches; parallel.pipeline", p.pipeline);
    if (order.splits_backward && j.recompute.mode != recompute_mode::none)
      return no("headroom: recomputation is not modelled for the zero-bubble schedule by this version; recompute must be \"none\"");
    if (j.framework.pipeline.microbatch_group > 0 && j.framework.pipeline.microbatch_group < p.pipeline)
      return no("headroom: microbatch-group-size-per-virtual-pipeline-stage must be at least parallel.pipeline; found", j.framework.pipeline.microbatch_group);
    if (order.steady(p.pipeline, 0, p.pipeline) > 65'536 && j.batch.accumulation > 65'536)
      return no("headroom: with the gpipe schedule batch.accumulation must be from 1 to 65536; accumulation", j.batch.accumulation);
    if (p.virtual_pipeline > 1 && j.framework.pipeline.microbatch_group == 0 && j.batch.accumulation % p.pipeline != 0)
      return no("headroom: the interleaved schedule needs batch.accumulation to be a multiple of parallel.pipeline; accumulation", j.batch.accumulation);
    if (j.sharding.divides() && !j.sharding.by(sharder::megatron))
      return no("headroom: for megatron sharding.kind must be none, ddp, megatron-distributed-optimizer or megatron-fsdp");
    if (j.sharding.gathers_units())
      if (const auto why = detail::check_megatron_fsdp(j, no)) return why;
    if (j.precision.compute.bits == 8 && j.framework.modules.local()) return no("headroom: fp8 needs TransformerEngine: framework.options.transformer-impl must not be local");
    if (j.precision.parameters.bits == 8 && j.precision.compute.bits != 8) return no("headroom: fp8 parameters need precision.compute fp8; found bits", j.precision.compute.bits);
    if (j.precision.compute.set() && j.precision.compute.bits != 8 && j.precision.compute.bits < 16) return no("headroom: precision.compute must have 8, 16 or 32 bits", j.precision.compute.bits);
    if (j.optimizer.vector_moments > 0 && j.sharding.distributes_optimizer())
      if (const auto why = detail::check_layer_wise(j, no)) return why;
    if (j.optimizer.extent != state_extent::full || j.optimizer.state.quantised() || j.optimizer.blocks > 0 || j.optimizer.in_backward)
      return no("headroom: for megatron the optimizer must be adamw, sgd, sgd-momentum, lion, adagrad or muon");
    if (j.adapter.active() || !j.trainable.all()) return no("headroom: adapters and partly frozen models are not modelled for megatron by this version");
    if (m.parallel_block || m.post_norms) return no("headroom: parallel blocks and post-norms are not modelled for megatron by this version");
    if (j.framework.graphs.capture != graph_capture::none && j.recompute.mode == recompute_mode::full)
      return no("headroom: CUDA graphs of layers do not go with full recompute; framework.options.cuda-graph-impl must be none", j.framework.label);
    if (j.framework.graphs.modules != 0 && (j.offload.activations != place::on_gpu || !order.plain()))
      return no("headroom: graphs that are captured before the first step are not modelled with offload or for the zero-bubble and dualpipe schedules by this version");
    if (j.offload.optimizer != place::on_gpu || j.offload.parameters != place::on_gpu)
      return no("headroom: offload of optimizer or parameters is not modelled for megatron by this version");
    if (j.offload.activations != place::on_gpu) {
      if (j.framework.checkpointing.offloaded_modules == 0 || j.recompute.mode == recompute_mode::full)
        return no("headroom: for megatron offload.activations needs framework.options.offload-modules (attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, expert_fc1, moe_act), and no full recompute");
      if (j.precision.compute.bits == 8 || !order.plain())
        return no("headroom: offloaded modules are not modelled with fp8 or for the zero-bubble and dualpipe schedules by this version; framework", j.framework.label);
    }
  }
  if (!divides && !divides_eager && (p.tensor > 1 || p.sequence)) return no("headroom: tensor parallelism is not modelled by this version; parallel.tensor must be 1", p.tensor);
  if (divides_eager && (p.pipeline > 1 || p.virtual_pipeline > 1)) {
    if (order.torch.empty())
      return no(detail::torch_schedules.text, j.framework.label);  // headroom: parallel.schedule must be one that torch.distributed.pipelining has
    if (order.splits_backward && (j.recompute.mode != recompute_mode::none || (j.compile && j.framework.compile.layers)))
      return no("headroom: torch runs no schedule that splits the backward with compiled layers, and recomputation is not modelled for one by this version; compile must be false, recompute \"none\"");
    if (properties_of(schedule_of(p)).in_groups && p.virtual_pipeline > 1 && j.batch.accumulation % p.pipeline != 0)
      return no("headroom: the interleaved schedule needs batch.accumulation to be a multiple of parallel.pipeline; accumulation", j.batch.accumulation);
    if (p.pipeline > degrees::max_entries || j.batch.accumulation > 65'536) return no("headroom: parallel.pipeline must be from 1 to 256, and batch.accumulation at most 65536; accumulation", j.batch.accumulation);
    if (j.sharding.kind != sharding_kind::fsdp2 || j.framework.loss.style == loss_style::chunked_head || j.adapter.active() || !j.trainable.all() || j.optimizer.in_backward || m.tied)
      return no("headroom: pipelines of this framework are modelled under sharding.kind fsdp2, with whole logits, every weight trained by an optimizer step and untied embeddings alone");
  } else if (!divides && (p.pipeline > 1 || p.virtual_pipeline > 1)) {
    if (const auto why = detail::check_spread(j, no)) return why;
  }
  if (!divides && !divides_eager && (p.context > 1)) return no("headroom: context parallelism is not modelled by this version; parallel.context must be 1", p.context);
  if (!divides && !divides_eager && (p.expert > 1 || p.expert_tensor > 1)) return no("headroom: expert parallelism is not modelled by this version; parallel.expert must be 1", p.expert);
  if (!divides && j.offload.parameters != place::on_gpu && !j.sharding.divides())
    return no("headroom: offload.parameters needs sharding that gathers them for every layer: sharding.kind \"zero\" with stage 3, \"fsdp1\" or \"fsdp2\"");
  if (p.replicate > 1 && j.sharding.by(sharder::deepspeed))
    return no("headroom: parallel.replicate is FSDP's; DeepSpeed shards within groups by sharding.mics_shard_size; replicate", p.replicate);
  if (divides_eager && !m.sparse() && p.expert > 1) return no("headroom: parallel.expert needs a mixture of experts; it is", p.expert);
  if (divides_eager && (p.tensor > 1 || p.context > 1)) {
    if (!j.sharding.cuts_tensors() && (p.tensor == 1 || !j.sharding.by(sharder::nobody)))
      return no("headroom: tensor and context parallelism of eager modules need sharding.kind \"fsdp2\" in this version");
    if (j.adapter.active()) return no("headroom: adapters under tensor or context parallelism are not modelled for this framework by this version", j.framework.label);
  }
  if (divides_eager && p.context > 1 && p.context_kind == context_kind::ulysses)
    return no("headroom: for this framework parallel.context_kind must be ring or all-gather", j.framework.label);
  if (divides_eager && p.context > 1 && (j.attention == attention::eager || j.attention == attention::math || m.attention_softcap > 0))
    return no("headroom: context parallelism with attention written out is not modelled by this version; attention must be sdpa, flash or flash3");
  if (j.compile && !j.framework.compile.layers && !j.framework.compile.loss)
    return no("headroom: torch.compile is not modelled for this framework by this version; compile must be false", j.framework.label);
  if (j.compile && (j.attention == attention::eager || j.attention == attention::math || m.attention_softcap > 0))
    return no("headroom: compiled layers with attention written out are not modelled by this version; attention must be sdpa, flash or flash3");
  if (!divides && j.precision.compute.bits == 8 && !j.framework.fp8.quantises_in_linear) return no("headroom: fp8 computation is not modelled by this version; precision.compute must have 16 or 32 bits", j.precision.compute.bits);
  if (j.batch.packed && !j.framework.attention.packs_documents)
    return no("headroom: packed sequences are not modelled for this framework by this version; batch.packed must be false", j.framework.label);
  if (!divides && j.sharding.by(sharder::megatron))
    return no("headroom: Megatron's sharding is not modelled by this version; sharding.kind must be none, ddp, zero, fsdp1 or fsdp2");
  const bool selective = j.recompute.mode == recompute_mode::selective && j.framework.runtime == runtime::autograd && !divides;
  if (selective && (j.recompute.policy == recompute_policy::unset || j.recompute.modules != 0))
    return no("headroom: for this framework selective recompute needs recompute.policy (every-other-matmul or attention-only), and no modules", j.framework.label);
  if (j.recompute.mode == recompute_mode::selective && divides && j.recompute.modules == 0)
    return no("headroom: for megatron selective recompute needs recompute.modules: core_attn, mlp, moe, moe_act, layernorm, mla_up_proj, shared_experts");
  const bool from_first = !divides && j.recompute.method == recompute_method::block;
  const bool all = j.recompute.layers == 0 || j.recompute.layers == m.layers || (j.recompute.method == recompute_method::uniform && j.recompute.layers == 1);
  if (j.recompute.mode == recompute_mode::full && !all && !from_first && (!divides || j.recompute.method == recompute_method::unset))
    return no(divides ? "headroom: recompute.layers needs recompute.method: uniform (layers a checkpoint) or block (the first layers of each chunk); layers"
                   : "headroom: recomputing some of the layers is not modelled here by this version; recompute.layers must be 0 (all)",
           j.recompute.layers);
  if (j.compile && detail::autocasts(j))
    return no("headroom: compiled layers under autocast are not modelled by this version; choose bf16 parameters, fsdp1 or fsdp2, or compile false");
  if (detail::autocasts(j) && (selective || (from_first && j.recompute.layers > 0 && j.recompute.layers < m.layers && j.recompute.mode == recompute_mode::full)))
    return no("headroom: recomputing a part of the model under autocast is not modelled by this version; recompute must be \"none\" or \"full\"");
  return {};
}

/// Why estimate(j) refuses a job that contradicts itself or is not modelled, without refusing it: for who asks about many jobs, or builds
/// without exceptions. Empty where nothing is known against it; sizes that overflow are still an overflow_error.
constexpr objection objection_to(const job& j) {
  if (const auto why = check(j, objecting{})) return why;
  return j.framework.runtime == runtime::preallocated ? objection{} : check_walk(j, objecting{});
}

}  // namespace headroom
