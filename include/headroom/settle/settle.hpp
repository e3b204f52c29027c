// Distributed under the Boost Software License, Version 1.0.
// A job with every open key filled in. What was filled in is noted as an assumption; the steps after this one read a settled
// job and never ask again.
#pragma once

#include <headroom/block/tower_gradients.hpp>
#include <headroom/settle/check.hpp>
#include <headroom/settle/layer.hpp>
#include <headroom/settle/loss.hpp>
#include <headroom/settle/objective.hpp>
#include <headroom/settle/windows.hpp>

namespace headroom {

namespace detail {

constexpr void settle_precision(settled_job& r) {
  const auto& j = *r.source;
  auto& p = r.precision;
  if (!j.precision.set()) {
    r.assumptions.add(assumption::framework_precision);
    if (j.sharding.by(sharder::megatron) && j.sharding.gathers_units()) p.gradients = p.reduce = p.parameters;  // megatron-fsdp-main-grads-dtype auto
  }
  fill_open_formats(p);
  const bool master_in_shards = j.sharding.properties().shards_are_master;
  if (master_in_shards && p.master.present() && p.parameters.bits < p.master.bits) {
    // The shards are the master copy; the short format exists only while a layer is gathered.
    p.parameters = p.master;
    p.gradients = p.master;
    p.master = formats::none;
    r.assumptions.add(assumption::fsdp_keeps_fp32_shards);
  }
  if (!master_in_shards && p.compute.bits < p.parameters.bits && p.compute.bits >= 16) p.autocast = choice::yes;
  if (j.framework.autocast.over_16bit && !j.sharding.by(sharder::deepspeed) && p.compute.bits == 16 && p.autocast == choice::unset) p.autocast = choice::yes;
  if (master_in_shards) p.autocast = choice::no;
  r.multiplies = p.compute;
  if (p.compute.bits <= 8 && j.framework.fp8.quantises_in_linear) {
    p.compute = formats::bf16;
    r.assumptions.add(assumption::fp8_in_linear);
  }
}

constexpr void settle_optimizer(settled_job& r) {
  const auto& j = *r.source;
  if (!j.optimizer.set()) {
    r.optimizer.how = j.optimizer.how;
    r.assumptions.add(assumption::optimizer_adamw);
  }
  if (!r.optimizer.state.set()) r.optimizer.state = r.precision.state;
  if (j.framework.optimizer.registers_embeddings && r.optimizer.by_tensor == &updates::one_kernel && r.optimizer.state.quantised() && !j.sharding.flat()) r.optimizer.plain_embedding = true;
  if (j.framework.optimizer.torchao_block > 0 && r.optimizer.plain_as_weight) r.optimizer.state.block = static_cast<std::int32_t>(j.framework.optimizer.torchao_block);
  if (r.optimizer.by_tensor != nullptr && !j.framework.modules.megatron()) {  // code of its own, which nobody chooses
    r.optimizer.how = r.optimizer.by_tensor->makes_nothing() ? implementation::fused : implementation::loop;
  } else if (r.optimizer.how == implementation::unset && r.optimizer.usually != implementation::unset) {
    r.optimizer.how = r.optimizer.usually;
  } else if (r.optimizer.how == implementation::unset) {
    r.optimizer.how = j.framework.optimizer.how;
    if (!r.optimizer.updates_in_place) r.assumptions.add(assumption::optimizer_implementation);
  }
  if (r.optimizer.updates_in_place) r.optimizer.how = implementation::fused;
  if (r.optimizer.how == implementation::foreach && j.framework.optimizer.foreach_copies == 0) r.assumptions.add(assumption::update_without_copies);
  if (j.framework.optimizer.int8_copies > 0 && r.optimizer.state.quantised() && r.optimizer.paged_from == 0) r.assumptions.add(assumption::int8_update_copies);
}

constexpr void settle_shards(settled_job& r) {
  const auto& j = *r.source;
  const auto others = checked::mul(j.parallel.tensor, j.parallel.pipeline, j.parallel.context);
  r.data = j.parallel.data;
  if (r.data == 0) {
    r.data = j.hardware.gpus() / others;
    if (r.data > 1) r.assumptions.add(assumption::data_parallel_from_gpus);
  }
  auto d = checked::mul(r.data, j.parallel.context) / j.parallel.replicate;
  const auto& z = j.sharding;
  if (z.by(sharder::nobody) && r.data > 1 && j.framework.runtime == runtime::autograd && j.framework.modules.eager()) r.assumptions.add(assumption::ddp_assumed);
  if (z.by(sharder::deepspeed)) {
    if (z.mics_shard_size > 0) d = z.mics_shard_size;  // deepspeed runtime/zero/mics.py: every state is divided within a group, and groups are replicas
    if (z.zero_hpz_partition_size > 1) r.shards.secondary = z.zero_hpz_partition_size;
    if (z.cuts(sharded_state::weights)) r.assumptions.add(assumption::deepspeed_stage3_trace);
    if (z.cuts(sharded_state::optimizer) && z.leaves_buckets_open() && j.framework.modules.eager()) r.assumptions.add(assumption::zero_buckets_default);
  }
  r.flat = z.flat();
  r.shards.parameters = z.cuts(sharded_state::weights) ? d : 1;
  r.shards.gradients = z.cuts(sharded_state::gradients) ? d : 1;
  r.shards.optimizer = z.cuts(sharded_state::optimizer) ? d : 1;
}

/// What lies outside the allocator, and cuBLAS's workspaces (states/outside.hpp): constants of a kind of GPU and a release.
constexpr void settle_gpu(settled_job& r) {
  const auto& j = *r.source;
  const auto& g = *r.on;
  if (!j.hardware.names_gpu()) r.assumptions.add(assumption::gpu_assumed);
  if (g.maker == vendor::cpu) return;
  r.assumptions.add(assumption::context_calibrated);
  if (g.maker != vendor::nvidia) r.assumptions.add(assumption::other_maker);
  if (j.environment.cublas_workspace >= bytes{0}) return;
  r.assumptions.add(assumption::cublas_workspace_by_capability);
  if (g.maker == vendor::nvidia && g.compute_capability >= 100 && j.environment.torch == 0 && j.framework.date < 202602) r.assumptions.add(assumption::cublas_workspace_before_2026);
}

/// Whether a job that does not say how long its samples are is probably one that pads each micro-batch to its longest.
constexpr bool lengths_probably_vary(const job& j) {
  const bool tunes = j.framework.lengths == micro_batch_lengths::of_longest_sample || (j.framework.lengths == micro_batch_lengths::of_longest_sample_with_adapters && j.adapter.active());
  return tunes && !j.batch.packed && !j.rollout.given() && (j.model.vision.kind == vision_kind::none || j.batch.images.none);
}

/// What is assumed of every step, and of what a whole job asks for.
constexpr void settle_step(settled_job& r) {
  const auto& j = *r.source;
  auto& a = r.assumptions;
  a.add(assumption::steady_state);
  a.add(assumption::host_runtime_not_counted);
  if (j.rollout.given()) a.add(assumption::generation_of_full_length);
  if (!j.rollout.given() && !j.evaluation.given()) a.add(assumption::no_eval_no_generation);
  if (j.objective.kind != objective_kind::sft) a.add(assumption::methods_on_few_runs);
  if (j.objective.kind == objective_kind::dpo && j.objective.code == method_code::openrlhf) a.add(assumption::openrlhf_dpo_unexplained);
  if (j.rollout.shares_gpus() && chosen(j.rollout.graphs, true)) a.add(assumption::engine_graphs);
  if (j.framework.recipes_change) a.add(assumption::recipe_of_one_date);
  if (j.ignored_keys > 0) a.add(assumption::keys_ignored);
  if (j.assumed_defaults > 0) a.add(assumption::open_defaults);
  if (j.undated) a.add(assumption::newest_framework);
  if (r.model.vision.layers > 0 && !j.batch.images.none) a.add(assumption::towers_on_few_runs);
  if (r.model.vision.held > 0) a.add(assumption::towers_held);
  if (j.framework.modules.megatron() && (r.model.recurs() || r.model.bidirectional || r.model.encoder.layers > 0)) a.add(assumption::megatron_kinds_on_few_runs);
  if (j.framework.adapters.parallel) a.add(r.model.sparse() ? assumption::swift_experts_over_megatron : assumption::swift_over_megatron);
  if (j.framework.kernels.adapted()) a.add(assumption::unsloth_by_source);
  if (j.framework.modules.deepspeed()) a.add(assumption::megatron_under_deepspeed);
  if (j.framework.modules.nanotron() && r.layer.sequence_split > 1) a.add(assumption::host_ahead_of_collectives);
  if (j.framework.modules.nanotron() && j.parallel.pipeline > 1) a.add(assumption::head_with_loss);
  if (j.offload.parameters != place_of_parameters(j)) a.add(assumption::parameters_stay_on_gpu);
  if (j.offload.activations != place::on_gpu) a.add(assumption::activations_offload_overlap);
  if (j.batch.varies())
    a.add(assumption::lengths_not_replayed);
  else if (j.batch.lengths.unknown && !j.batch.packed)
    a.add(assumption::lengths_unknown);
  else if (lengths_probably_vary(j) || (j.batch.lengths != sample_lengths{} && !j.batch.packed))
    a.add(assumption::lengths_not_given);
  if (j.adapter.kind != adapter_kind::none && j.batch.accumulation > 1 && !j.batch.packed && r.shards.parameters > 1) a.add(assumption::samples_of_one_length);
}

/// What a shape leaves open and Megatron-LM does not.
constexpr void as_megatron_builds(shape& m) {
  m.experts.bias = m.mlp_bias;  // one switch, add_bias_linear
  if (m.pattern.given() && !m.kind_of(0).whole()) m.ssm.conv_bias = true;       // core/ssm/mamba_mixer.py
  if (m.encoder.layers > 0) m.encoder.shared_positions = true, m.head_bias = m.tied;  // core/models/T5/t5_model.py T5Model, T5LMHead
  if (m.bidirectional && m.pooler) m.classes = 2;                               // the binary head (core/models/bert/bert_model.py)
}

/// settle() of a job that check() has nothing against.
constexpr settled_job settle_checked(const job& j, std::size_t kind = 0) {
  settled_job r(j, j.hardware.accelerator(kind));
  r.model.vision = seen(r.model.vision, j.batch.images);
  r.model.vocab = checked::round_up(r.model.vocab, checked::mul(r.model.vocab_multiple, j.parallel.tensor));
  if (j.framework.loading.unties_embeddings || copies_tied_head(j)) r.model.tied = false;
  if (j.framework.modules.megatron() && !j.framework.modules.nanotron()) as_megatron_builds(r.model);
  settle_precision(r);
  settle_optimizer(r);
  settle_shards(r);
  settle_head(r);
  if (loss_of_method(j))
    settle_method_loss(r);
  else
    settle_loss(r);
  settle_layer(r);
  settle_windows(r);
  if (ops::attends_by_math(r.layer, r.model)) {
    r.assumptions.remove(assumption::attention_sdpa);
    r.assumptions.add(assumption::attention_by_math);
  }
  r.reentrant = chosen(j.recompute.reentrant, j.framework.checkpointing.reentrant);
  r.layer.nested_backward = r.reentrant && j.recompute.mode == recompute_mode::full && j.recompute.method != recompute_method::block;
  if (j.recompute.mode == recompute_mode::full && j.recompute.reentrant == choice::unset) r.assumptions.add(assumption::recompute_reentrant_default);
  if (r.model.vision.layers > 0 && !j.batch.images.none && j.recompute.frozen_towers == choice::unset && asks_tower(j) && !trained_modules(j, -1).has(module::vision) && !j.adapter.targets.has(module::vision))
    r.assumptions.add(assumption::frozen_tower_asked);
  if (j.framework.modules.megatron()) {
    if (j.framework.optimizer.precision_aware && j.framework.optimizer.unscales_moments && r.optimizer.state.width() < 4) r.assumptions.add(assumption::moments_copied_for_step);
    if (j.framework.graphs.capture != graph_capture::none && j.framework.graphs.modules == 0) r.assumptions.add(assumption::graphs_as_eager);
    if (r.precision.compute == formats::nvfp4) r.assumptions.add(assumption::nvfp4_by_source);
    if (j.framework.fp8.ends_in_bf16 && r.layer.fp8) r.assumptions.add(assumption::fp8_in_all_layers);
    if (j.framework.pipeline.overlaps_experts) r.assumptions.add(assumption::experts_overlap_in_turn);
    if (properties_of(j.parallel.schedule).splits_backward) r.assumptions.add(assumption::zero_bubble_defers_all);
    if (r.optimizer.vector_moments > 0 && j.sharding.distributes_optimizer()) r.assumptions.add(assumption::rank_with_most_weights);
  }
  settle_gpu(r);
  settle_step(r);
  return r;
}

}  // namespace detail

/// Fills in what a job leaves open, on a GPU of the given kind (0 where all are alike; see cluster).
/// Errors: job_error for a job that contradicts itself (settle/check.hpp). The result refers to `j`, which must outlive it.
constexpr settled_job settle(const job& j, std::size_t kind = 0) {
  check(j);
  return detail::settle_checked(j, kind);
}

}  // namespace headroom
