// Distributed under the Boost Software License, Version 1.0.
// What a method has beside the steps of a stage of Megatron's layers: a reference, and what a rank holds while an engine generates, gets its
// weights, or waits. Phases exclude each other.
// Sources: ms-swift swift/megatron/trainers/rlhf_mixin.py prepare_model (the reference is a model of its own without DDP since 1b184f296 of
// 2025-09-30) and dpo_trainer.py forward_step (its forward ends before the policy's begins); verl verl/workers/megatron_workers.py rollout_mode,
// compute_log_prob, compute_ref_log_prob and update_actor, verl/utils/megatron_utils.py offload_megatron_model_to_cpu (parameters, and the gradients'
// buffer is given back) and offload_megatron_optimizer (the master copies and the moments); ms-swift swift/megatron/trainers/rollout_mixin.py
// _generate_completions and offload_context (the reference goes with the parameters, and all is back when completions are scored), grpo_trainer.py
// _maybe_compute_logps, utils.py offload_megatron_model_to_cpu; NeMo-RL nemo_rl/algorithms/grpo.py refit_policy_generation and
// nemo_rl/models/policy/workers/megatron_policy_worker.py prepare_for_lp_inference, offload_before_refit, offload_after_refit, use_reference_model (the
// reference's weights are written over the policy's, of which a copy waits on the host).
#pragma once

#include <headroom/engine/tensor_parallel/divided_layers.hpp>
#include <headroom/engine/tensor_parallel/stage_states.hpp>
#include <headroom/rollout/engine_memory.hpp>
#include <headroom/rollout/weight_sync.hpp>
#include <headroom/settle/buffered_pixels.hpp>
#include <headroom/sharding/host.hpp>
#include <headroom/states/outside.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom::detail {

/// The weights of a reference that is a copy: as the stage's. Before 1b184f296 Megatron's DDP wrapped it, and with it came a buffer of gradients.
struct stage_reference {
  bytes weights{}, gradients{};
  bool waits{};  ///< on the host, but for its own forward
  [[nodiscard]] constexpr bytes resident() const { return waits ? bytes{0} : weights + gradients; }
};
constexpr stage_reference reference_of_stage(const settled_job& s, const stage_weights& all, parameters frozen) {
  const auto& o = s.source->objective;
  if (other_model_of(*s.source) != other_weights::own) return {};
  const auto n = all.dense + all.experts + frozen;
  return {share(n, s.precision.parameters.width()), o.code == method_code::ms_swift_megatron_3_8 ? share(n, s.precision.gradients.width()) : bytes{0}, o.reference_at != place::on_gpu};
}

/// What leaves the GPU while the engine generates. Where parameters leave, so do gradients: their storage is given back, not copied.
struct moved_states {
  moment parameters{}, gradients{}, optimizer{}, others{};
  [[nodiscard]] constexpr moment all() const { return parameters + gradients + optimizer + others; }
};
constexpr moved_states moved_of_stage(const settled_job& s, const moment& resident) {
  const auto& moves = s.source->rollout.trainer_moves;
  const auto row_of = [&](row r) { return moment(r, resident.rows[r]); };
  moved_states m;
  if (moves.has(trainer_part::weights)) m.parameters = row_of(row::model_parameters) + row_of(row::adapters);
  if (moves.has(trainer_part::weights) && s.source->objective.code != method_code::verl) m.others = row_of(row::other_models);
  if (moves.has(trainer_part::weights) || moves.has(trainer_part::gradients)) m.gradients = row_of(row::gradients);
  if (moves.has(trainer_part::optimizer)) m.optimizer = row_of(row::master_parameters) + row_of(row::optimizer_state);
  return m;
}

/// An engine that starts while so much of the GPU is held.
constexpr engine_memory started_engine(const settled_job& s, const inventory& list, bytes held) {
  const auto& r = s.source->rollout;
  const auto e = engine_memory_of(s.model, list, r, s.on->memory, held);
  if (const auto why = check_start(s.model, r, e)) refuse(why);
  return e;
}

/// The engine on this rank's GPU, which is started while the trainer has its parameters there; ms-swift's has all that it does not move by then, but the
/// moments, which the first step makes.
constexpr engine_memory engine_beside_stage(const settled_job& s, const inventory& list, const moment& resident) {
  const auto moved = moved_of_stage(s, resident);
  const auto stays = [&](row what, const moment& gone) { return resident.rows[what] - gone.rows[what]; };
  if (trains_by_nemo(s.source->objective)) return started_engine(s, list, s.source->hardware.taken);  // before the trainer (grpo.py setup)
  auto there = stays(row::model_parameters, moved.parameters);
  if (s.source->objective.code != method_code::verl)
    there += stays(row::adapters, moved.parameters) + stays(row::gradients, moved.gradients) + stays(row::master_parameters, moved.optimizer) + stays(row::other_models, moved.others);
  return started_engine(s, list, s.source->hardware.taken + context_of(*s.source, *s.on) + there);
}
constexpr moment moment_of_engine(const engine_memory& e) { return moment(row::rollout_engine, e.weights + e.forward) + moment(row::kv_cache, e.cache); }

/// An engine that never sleeps, and pixels that wait.
constexpr moment engine_all_along(const settled_job& s, const inventory& list, const moment& resident) {
  const auto& r = s.source->rollout;
  const moment waits(row::activations, buffered_pixels(s));
  return r.shares_gpus() && !r.sleeps() ? moment_of_engine(engine_beside_stage(s, list, resident)) + waits : waits;
}

/// A forward without a graph over so many completions, at its tallest: one layer, or head and scores. Entropies are made of a copy of the logits
/// where the policy scores (megatron_actor.py logits_processor: logits, the copy, and their fp32 form), of none where the reference does.
constexpr bytes scoring_of_stage(const settled_job& s, std::int64_t samples, bool last, bool entropy) {
  scene sc = s.layer;
  sc.model = &s.model;
  sc.samples = samples;
  sc.tokens = checked::mul(samples, sc.sequence) / sc.context;
  bytes most{0};
  for (const auto& k : kinds_of(s.model)) most = max(most, walk_divided_layer(sc, trained_modules(*s.source, -1), k.kind, true).forward_off.total);
  if (!last) return most;
  if (entropy && sc.loss_program == loss_style::fused_scores) {  // the reference's configuration has no such key (verl/workers/config/actor.py McoreActorConfig)
    const program p(sc.granule);
    return max(most, p.rounded(checked::mul(sc.tokens, s.model.hidden), sc.width) + ops::kernel_forward(p, sc.tokens, s.model.vocab / sc.tensor));
  }
  const bytes logits{checked::mul(checked::mul(sc.tokens, s.model.vocab) / sc.tensor, sc.width)};
  if (trains_by_nemo(s.source->objective)) return max(most, megatron::probabilities_alone(logits, sc.width, sc.loss.logits.bits == 16));
  if (scores_returned_logits(s.source->objective)) return max(most, megatron::scores_alone(logits, sc.tensor));
  return max(most, logits + (entropy ? logits : bytes{0}) + 4 * logits / sc.width);
}

/// Weights go to the engine one tensor after the other: what tensor-parallel ranks hold of it, the whole, and a bucket that is sent
/// (verl/utils/megatron_utils.py per_tensor_generator, default_tp_concat_fn; workers/rollout/vllm_rollout/vllm_rollout.py update_weights).
/// mcore-bridge hands over a whole layer of a checkpoint, all of its experts, while it still names the one before; or such a layer and a table, of which
/// a rank's part is copied first (src/mcore_bridge/bridge/gpt_bridge.py _convert, _get_weight). For a server tensors wait in a bucket of 512 MiB, which
/// is joined to one (rollout_mixin.py _load_weights_to_server_in_buckets).
constexpr bytes passing_weights(const settled_job& s, const inventory& list) {
  const auto& r = s.source->rollout;
  if (s.source->objective.code != method_code::verl) {
    const auto sizes = sync_sizes_of(s.model, list);
    parameters layer{0};
    for (std::int64_t i = 0; i < s.model.layers; ++i) layer = max(layer, in_layers(list, i, i + 1));
    const auto one = layer * s.precision.parameters.density(), table = sizes.tensor * s.precision.parameters.density();
    return max(2 * one, one + table + (s.layer.tensor > 1 ? table / s.layer.tensor : bytes{0})) + (r.shares_gpus() ? bytes{0} : 2 * 512 * mib);
  }
  const auto whole = sync_sizes_of(s.model, list).tensor * s.precision.parameters.density();
  const auto sent = r.engine == engine_kind::sglang ? 2 * max(r.bucket(), whole) : r.sync_bucket_mib == 0 ? bytes{0} : r.bucket();  // two buckets of clones
  return sent + (s.layer.tensor > 1 ? 2 : 1) * whole;
}

/// A tensor that NeMo-RL sends, as ranks hold it and whole, and what it is packed into.
constexpr bytes packing_weights(const settled_job& s, const inventory& list, bytes used) {
  const auto whole = sync_sizes_of(s.model, list).tensor * s.precision.parameters.density();
  return (s.layer.tensor > 1 ? 2 : 1) * whole + packing_buffers(s.source->rollout, whole, s.on->memory - s.source->hardware.taken - outside_of(s).total() - used, s.on->memory);
}

/// The phases that a method adds to those of a stage's step. `resident`: what the stage holds all the time, a reference and an engine that never
/// sleeps included.
constexpr void look_at_method(timeline& t, const settled_job& s, const inventory& list, const stage_reference& other, const moment& resident, bool last) {
  const auto& j = *s.source;
  const auto& r = j.rollout;
  const auto moved = moved_of_stage(s, resident);
  const auto compares = other_model_of(j);
  const bool generates_first = generates(j.objective.kind);
  const auto samples = generates_first && r.batch > 0 ? r.batch : s.layer.samples;
  const bool nemo = trains_by_nemo(j.objective);
  const bool back = j.objective.code != method_code::verl && !nemo;  // all is on the GPU while completions are scored and weights passed
  auto scores = resident;
  if (!back) scores -= moved.gradients + moved.optimizer;
  if (nemo && !r.shares_gpus()) scores -= moment(row::gradients, resident.rows[row::gradients]);  // whose buffers are given back
  if (generates_first) t.look_beside(phase::score, -1, scores + moment(row::logits, scoring_of_stage(s, samples, last, true)));
  if (compares != other_weights::none) {
    auto here = generates_first || nemo ? scores : resident;
    if (generates_first && !back && compares == other_weights::own) here -= moved.parameters;
    t.look_beside(phase::reference, -1, here + moment(row::other_models, other.waits ? other.weights : bytes{0}) + moment(row::logits, scoring_of_stage(s, samples, last, false)));
  }
  if (!r.shares_gpus()) {
    if (r.given() && nemo) t.look_beside(phase::sync, -1, resident + moment(row::gathered_parameters, packing_weights(s, list, resident.total)));
    if (r.given() && back) t.look_beside(phase::sync, -1, resident + moment(row::gathered_parameters, passing_weights(s, list)));
    return;
  }
  const auto e = engine_beside_stage(s, list, resident);
  const auto weights = r.sleeps() ? moment(row::rollout_engine, e.weights) : moment{};
  const auto passing = nemo ? packing_weights(s, list, (scores + weights).total) : passing_weights(s, list);
  t.look_beside(phase::sync, -1, scores + weights + moment(row::gathered_parameters, passing));
  auto waits = resident;
  waits -= moved.all();
  t.look_beside(phase::generate, -1, waits + (r.sleeps() ? moment_of_engine(e) : moment{}));
}

/// What an optimizer on the host has there: masters and gradients in fp32, each tensor pinned by itself, so that it is rounded up to a power of
/// two, and moments as they are (core/optimizer/cpu_offloading/hybrid_optimizer.py). Tensors of a rank are taken to be rounded as those of the
/// whole model are.
constexpr void add_optimizer_host(host_bytes& h, const settled_job& s, const inventory& list, const stage_weights& of_all) {
  const auto& o = s.source->offload;
  const auto w = trained_of(s, of_all);
  if (o.optimizer == place::on_gpu) return;
  bytes all{0}, rounded{0};
  for (const auto& x : list) {
    const auto one = share(parameters{x.split == split_axis::none || x.expert ? x.elements() : x.elements() / s.layer.tensor}, 4);
    all += x.copies() * one;
    rounded += x.copies() * pinned(one);
  }
  const auto over = degrees_of_states(s);
  const auto part = [&](std::int64_t width) {
    const auto here = share(w.dense, width, over.dense) + share(w.experts, width, over.experts);
    return bytes{checked::mul(here.count(), o.optimizer_fraction) / 1'000'000};
  };
  const auto masters = part(4);
  const auto pinned_each = bytes{static_cast<std::int64_t>(static_cast<double>(masters.count()) * static_cast<double>(rounded.count()) / static_cast<double>(all.count()))};
  h.pinned += 2 * pinned_each;
  h.plain += part(s.optimizer.state.width() * s.optimizer.moments);
}

/// Host memory of a rank: an optimizer that updates there, a reference that waits there, the engine's weights while it sleeps, and what the trainer moves: parameters into pinned
/// memory, buffer by buffer, the optimizer's states as they are.
constexpr void add_stage_host(host_bytes& h, const settled_job& s, const inventory& list, const stage_weights& w, const stage_reference& other, const moment& resident) {
  const auto& r = s.source->rollout;
  add_optimizer_host(h, s, list, w);
  if (other.waits) h.plain += other.weights;
  if (reference_of(*s.source) == reference_way::swapped) h.plain += 2 * share(w.dense + w.experts, s.precision.parameters.width());  // and the policy's, for its time
  if (r.shares_gpus()) {
    const auto moved = moved_of_stage(s, resident);
    // ms-swift pins what its buffers hold, and moves frozen weights and the reference as they are.
    const bool frozen = s.source->adapter.active() && s.source->objective.code != method_code::verl;
    h.pinned += pinned(frozen ? moved.parameters.rows[row::adapters] : moved.parameters.total) + (r.sleep == 1 ? engine_backup(s.model, list, r) : bytes{0});
    h.plain += moved.optimizer.total + moved.others.total + (frozen ? moved.parameters.rows[row::model_parameters] : bytes{0});
  }
}

}  // namespace headroom::detail
