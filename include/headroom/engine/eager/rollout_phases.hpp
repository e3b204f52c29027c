// Distributed under the Boost Software License, Version 1.0.
// A trainer's GPU while completions are generated: what the trainer keeps there, and what generates. Phases exclude each other.
// Sources, by program: TRL generation/vllm_generation.py VLLMGeneration.sync_weights and generate, models/utils.py
// unwrap_model_for_generation, experimental/ppo/ppo_trainer.py train, trainer/utils.py batch_generation and get_reward; ms-swift rlhf_trainers/rollout_mixin.py _fast_infer, _move_full_model_to_vllm, offload_model and
// offload_optimizer; verl workers/fsdp_workers.py rollout_mode, workers/rollout/vllm_rollout/vllm_rollout.py update_weights.
#pragma once

#include <headroom/engine/eager/scores_alone.hpp>
#include <headroom/engine/eager/seen_prompts.hpp>
#include <headroom/rollout/engine_memory.hpp>
#include <headroom/rollout/hybrid_engine.hpp>
#include <headroom/rollout/weight_sync.hpp>
#include <headroom/settle/generation.hpp>
#include <headroom/sharding/windows.hpp>
#include <headroom/states/outside.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom::detail {

/// Parameters that ZeRO keeps in flat buffers of each rank, its third stage a part of them, whatever becomes of the tensors that look into them
/// (DeepSpeed runtime/zero/stage3.py, _create_fp16_partitions_with_defragmentation; stage_1_and_2.py, bit16_groups_flat).
constexpr bytes flat_partitions(const settled_job& s, const state_bytes& st) {
  if (!s.source->sharding.by(sharder::deepspeed) || place_of_parameters(*s.source) != place::on_gpu) return bytes{0};
  return share(st.trained, s.precision.parameters.width(), s.shards.parameters);
}

/// ms-swift moves those tensors to the host and back, where they then lie a second time until the optimizer's step lets them look into the buffers
/// again (stage3.py, _unflatten_partitioned_parameters; stage_1_and_2.py, _update_model_bit16_weights).
constexpr bytes second_partitions(const settled_job& s, const state_bytes& st) {
  const auto& r = s.source->rollout;
  return r.shares_gpus() && r.trainer_moves.has(trainer_part::weights) ? flat_partitions(s, st) : bytes{0};
}

/// What leaves the GPU, of what outlives a step. Of ms-swift a copy for reference, too, but no teacher (grpo_trainer.py and gkd_trainer.py offload_context).
constexpr moment moved_away(const settled_job& s, const state_bytes& st, const moment& stays, bool parameters, bool optimizer) {
  moment m{};
  const bool zero = s.source->sharding.by(sharder::deepspeed);
  if (optimizer) m.add(row::optimizer_state, stays.rows[row::optimizer_state]);  // of DeepSpeed not the master copies, which are no state
  if (optimizer && s.source->objective.code == method_code::openrlhf) m.add(row::master_parameters, stays.rows[row::master_parameters]);  // openrlhf/utils/deepspeed/deepspeed_utils.py offload_deepspeed_states
  if (!parameters) return m;
  if (s.source->objective.code == method_code::ms_swift && !s.source->objective.frozen.given()) m.add(row::other_models, stays.rows[row::other_models]);
  m.add(row::adapters, zero ? bytes{0} : stays.rows[row::adapters]);
  m.add(row::model_parameters, zero ? max(stays.rows[row::model_parameters] + stays.rows[row::adapters] - flat_partitions(s, st), bytes{0}) : stays.rows[row::model_parameters]);
  return m;
}

/// The engine on this rank's GPU. `held`: what its trainer has there when the engine starts.
constexpr engine_memory engine_here(const settled_job& s, const inventory& list, const state_bytes& st) {
  const auto& r = s.source->rollout;
  const auto& moves = r.trainer_moves;
  auto held = s.source->hardware.taken;
  if (s.source->objective.code != method_code::nemo_rl) held += context_of(*s.source, *s.on, s.source->framework.process.loads_all_kernels);  // whose engine starts before the trainer (grpo.py setup)
  if (!moves.has(trainer_part::weights) && place_of_parameters(*s.source) == place::on_gpu) held += st.gpu[row::model_parameters] + st.gpu[row::adapters];
  const auto e = engine_memory_of(s.model, list, r, s.on->memory, held);
  if (const auto why = check_start(s.model, r, e)) refuse(why);
  return e;
}

constexpr moment engine_moment(const engine_memory& e) { return moment(row::rollout_engine, e.weights + e.forward) + moment(row::kv_cache, e.cache); }

/// What a rollout adds to every moment: scores that are kept, an engine that never sleeps, partitions that lie there twice.
constexpr moment rollout_all_along(const settled_job& s, const inventory& list, const state_bytes& st) {
  const auto& r = s.source->rollout;
  const auto engine = r.shares_gpus() && !r.sleeps() ? engine_moment(engine_here(s, list, st)) : moment{};
  const auto module = r.engine == engine_kind::hybrid ? moment(row::kv_cache, hybrid_workspace(s.model, generated_at_once(*s.source), r.prompt + r.completion, s.precision.parameters)) +
                                                        moment(row::temporaries, hybrid_joined(s.model, s.precision.parameters))
                                                  : moment{};
  return engine + module + moment(row::activations, buffered_pixels(s)) + moment(row::model_parameters, second_partitions(s, st)) + moment(row::logits, kept_scores(*s.source, s.model.vocab, trained_at_once(*s.source)));
}

constexpr sync_kind sync_of(const job& j) {
  const bool adapts = j.adapter.active(), whole = !j.sharding.cuts(sharded_state::weights);
  switch (j.objective.code) {
    case method_code::verl:
      if (j.rollout.engine == engine_kind::sglang && !adapts) return sync_kind::clones;  // verl/workers/rollout/sglang_rollout/utils.py get_named_tensor_buckets
      return adapts ? sync_kind::groups : j.rollout.sync_bucket_mib == 0 ? sync_kind::tensor : sync_kind::bucket;
    case method_code::ms_swift: return whole ? sync_kind::in_place : sync_kind::groups;
    default: break;
  }
  if (j.sharding.kind == sharding_kind::fsdp1) return sync_kind::unit;
  if (j.sharding.kind == sharding_kind::fsdp2) return sync_kind::tensor;
  return whole ? sync_kind::in_place : adapts ? sync_kind::all : sync_kind::tensor;
}

/// What adding an adapter to the weights makes for a moment: the product of its matrices, and that scaled (PEFT tuners/lora/layer.py get_delta_weight).
constexpr bytes merged_adapter(const settled_job& s, const inventory& list) {
  parameters most{0};
  for (const auto& w : list)
    if (w.linear && !w.vector() && s.layer.adapts(w.role)) most = max(most, parameters{checked::mul(adapted_rows(s, w), w.columns)});
  return 2 * share(most, s.layer.adapter_width);
}

/// verl collects adapters by FSDP1's summon_full_params (verl/utils/fsdp_utils.py collect_lora_params, layered_summon_lora_params), which gathers the model whole
/// before the adapters of it are copied to the host. One rank has nothing to gather: its units are not sharded (torch distributed/fsdp/_init_utils.py
/// _init_core_state, NO_SHARD; _flat_param.py needs_unshard). FSDP2's modules have no such units, and each adapter is gathered by itself (full_tensor): less than a unit is.
constexpr bool gathers_to_sync(const settled_job& s) {
  const auto& j = *s.source;
  return j.objective.code != method_code::verl || !j.adapter.active() || (s.flat && s.shards.parameters > 1);
}

/// The weights go to the engine: `stays` is what outlives a step. verl collects them with the optimizer on the host, under FSDP1 in copies of
/// the shards, and moves its own away before the engine's weights are back.
constexpr void look_at_sync(timeline& t, const settled_job& s, const inventory& list, const state_bytes& st, const engine_memory& e, const moment& stays) {
  const auto& j = *s.source;
  const auto& r = j.rollout;
  const auto kind = sync_of(j);
  const auto sizes = sync_sizes_of(s.model, list, r.sync_groups);
  // Adapters are gathered with the layers that they are in, to be merged.
  const auto layers = kind == sync_kind::all ? s.model.layers : kind == sync_kind::groups ? checked::ceil_div(s.model.layers, r.sync_groups) : 0;
  const auto beside = share(ceil_div(st.adapters * layers, s.model.layers), s.layer.adapter_kept);
  const bool verl = j.objective.code == method_code::verl;
  const moment passing(row::gathered_parameters, gathers_to_sync(s) ? sync_bytes(kind, sizes, s.precision.parameters, r.weight_format(), r.bucket(), beside) : bytes{0});
  const moment weights = r.sleeps() ? moment(row::rollout_engine, e.weights) : moment{};
  auto here = stays;
  if (j.objective.code == method_code::nemo_rl) {  // a tensor whole, as it is sent, and packed (dtensor_policy_worker_v2.py dtensor_params_generator); the optimizer waits on the host
    here -= moved_away(s, st, stays, false, r.trainer_moves.has(trainer_part::optimizer));
    here += weights;
    const auto sent = sizes.tensor * r.weight_format().density();
    const auto free = s.on->memory - j.hardware.taken - outside_of(s).total() - here.total;
    return t.look_beside(phase::sync, -1, here + passing + moment(row::gathered_parameters, sent + packing_buffers(r, sent, free, s.on->memory)));
  }
  // ms-swift sends weights after a step, or what a deep sleep threw away (rollout_mixin.py, _fast_infer).
  const bool unstepped = r.sleep == 2 && r.steps_per_generation > 0 && r.steps_per_generation < j.batch.accumulation;
  if (!unstepped) here -= moment(row::model_parameters, second_partitions(s, st));
  if (!verl) return t.look_beside(phase::sync, -1, here + weights + passing + moment(row::temporaries, merged_adapter(s, list)));
  here -= moved_away(s, st, stays, false, r.trainer_moves.has(trainer_part::optimizer));
  const bool copies = s.flat && !j.adapter.active();
  const moment copy(row::gathered_parameters, copies ? stays.rows[row::model_parameters] : bytes{0});
  const moment unit(row::gathered_parameters, copies ? sync_bytes(sync_kind::unit, sizes, s.precision.parameters, r.weight_format(), r.bucket()) : bytes{0});
  t.look_beside(phase::sync, -1, here + copy + (j.adapter.active() ? passing : unit));
  const bool leaves = r.trainer_moves.has(trainer_part::weights) && (copies || j.adapter.active());
  if (leaves) here -= moved_away(s, st, stays, true, false);
  t.look_beside(phase::sync, -1, here + copy + weights + (j.adapter.active() ? moment{} : passing));
}

/// Layers that read so much while the trained module generates.
constexpr scene generating(const settled_job& s, std::int64_t sequences, std::int64_t length) {
  auto sc = with_model(s);
  sc.samples = sequences;
  sc.sequence = length;
  sc.tokens = checked::mul(sequences, length);
  if (generates_in_autocast(s)) return sc;
  sc.width = sc.residual_width = s.precision.parameters.width();
  sc.autocast = sc.casts_weights = false;
  return sc;
}

/// Generation by the trained module of so many `sequences` at once, of `completions` in all: ZeRO's third stage gathers the model whole beside its partitions, or as a
/// forward does.
constexpr void look_at_own_generation(timeline& t, const settled_job& s, const state_bytes& st, const moment& stays, std::int64_t sequences, std::int64_t completions, const auto& layers) {
  const auto& j = *s.source;
  const auto& r = j.rollout;
  const auto made = generated_by_module(s.model, sequences, r.prompt, r.completion, s.precision.parameters, widths_of_generation(s));
  const auto length = checked::add(r.prompt, r.completion);
  const auto sc = generating(s, sequences, generates_uncached(j) ? length : r.prompt);
  const auto walked = walk_graphless(s, sc, layers);
  const auto at_head = copies_at_head(s, sc, walked);
  auto model = stays;
  if (j.sharding.cuts(sharded_state::weights) && s.shards.parameters > 1)
    model.add(row::gathered_parameters, chosen(r.gathers, true) ? share(st.total, s.precision.parameters.width()) + share(st.adapters, s.layer.adapter_kept)
                                                                : t.at(phase::forward).rows[row::gathered_parameters]);
  if (r.engine == engine_kind::hybrid) {  // what its kernels need is there all along; the module makes logits of all of the prompt
    const auto stream = 2 * bytes{checked::mul(sequences, r.prompt, checked::mul(s.model.hidden, s.precision.parameters.width()))};
    const auto logits = bytes{checked::mul(sequences, r.prompt, checked::mul(s.model.vocab, s.precision.parameters.width()))};
    const auto fused = j.adapter.active() ? 2 * bytes{checked::mul(s.model.hidden, s.model.ffn, s.precision.parameters.width())} : bytes{0};
    t.look_beside(phase::generate, -1, model + moment(row::temporaries, fused));  // an adapter's product, and the product scaled
    return t.look_beside(phase::generate, -1, model + moment(row::activations, stream) + moment(row::logits, logits + made.logits));
  }
  const auto logits = moment(row::logits, made.logits);
  moment images{};  // while prompts are read
  if (sees_images(s)) {
    const auto seen = see_prompts(s, sc);
    model.add(row::activations, pixels_of(s, sequences));
    t.look_beside(phase::generate, -1, model + moment(row::activations, seen.tallest) + moment(row::gathered_parameters, seen.copies));
    images = moment(row::activations, seen.result) + moment(row::gathered_parameters, seen.copies);
  }
  if (generates_uncached(j)) {
    t.look_beside(phase::generate, -1, model + images + walked.tallest + walked.beside() + logits);
    return t.look_beside(phase::generate, -1, model + at_head + logits);
  }
  // The prompts are read at once, when keys and values are those of the prompts alone; then the completions grow.
  const auto reading = made.cache / length * r.prompt;
  const auto all_keys = moment(row::kv_cache, made.cache + made.states);
  t.look_beside(phase::generate, -1, model + images + walked.tallest + walked.beside() + moment(row::kv_cache, reading + made.states) + logits);
  t.look_beside(phase::generate, -1, model + moment(row::gathered_parameters, walked.copies) + all_keys + moment(row::temporaries, made.growing) + logits);
  t.look_beside(phase::generate, -1, model + at_head + all_keys + logits);
  // Scores of those before and of these, step by step, and stacked, with the cache that came with them; then all of them, padded.
  const auto all = kept_scores(j, s.model.vocab, completions), here = kept_scores(j, s.model.vocab, sequences);
  if (all == bytes{0}) return;
  t.look_beside(phase::generate, -1, model + all_keys + moment(row::logits, all + here));
  t.look_beside(phase::generate, -1, stays + moment(row::logits, 2 * all));
}

/// … by a distillation's teacher, gathered beside its partitions and the student's states (ms-swift swift/trainers/rlhf_trainer/gkd_trainer.py training_step, from
/// 85c16d44e of 2025-06-17 to 46f03e977 of 2026-06-29).
[[gnu::noinline]] constexpr void look_at_teacher_generation(timeline& t, const settled_job& s, const moment& stays, const auto& layers) {
  job standing = standing_of_other(*s.source, s.source->objective.frozen);
  standing.rollout = s.source->rollout;
  const settled_job teacher = settle_checked(standing);
  look_at_own_generation(t, teacher, states_of_other(teacher, layers), stays, generated_at_once(*s.source), 0, layers);
}

/// Completions are scored, without a graph: by the model, where it does or evaluates, by a reference, a reward
/// model and a critic. verl's optimizer, and NeMo-RL's, is still on the host. Log-probabilities of one sample are made at a time; verl's are flash-attn's, and its
/// entropy is compiled into one kernel.
constexpr void look_at_scores(timeline& t, const settled_job& s, const state_bytes& st, const windows& w, const other_models* other, const moment& stays, const auto& layers) {
  const auto& j = *s.source;
  auto here = stays;
  if (j.objective.code == method_code::verl || j.objective.code == method_code::nemo_rl) here -= moved_away(s, st, stays, false, j.rollout.trainer_moves.has(trainer_part::optimizer));
  const auto samples = scores_itself(j) ? scored_at_once(j) : evaluated_at_once(j);
  scene sc = s.layer;
  sc.samples = samples;
  sc.tokens = checked::ceil_div(checked::mul(samples, sc.sequence), sc.context);
  const auto left = left_logits(s, sc);
  if (samples > 0) {
    look_at_forward_alone(t, phase::score, s, st, w, here, samples, layers);
    if (left > bytes{0}) t.look_beside(phase::score, -1, here + moment(row::logits, 2 * left + score_temporaries(s, sc)));
  }
  look_at_swapped(t, s, st, w, here, layers);
  if (other == nullptr) return;
  const auto beside = [&](phase p, bytes forward, std::int64_t logits) {
    if (forward > bytes{0}) t.look_beside(p, -1, here + moment(row::other_models, forward) + moment(row::logits, logits * left));
  };
  beside(phase::reference, other->compared.forward, 1);
  // Up to TRL 0.14 a copy of the slice that is read, and its log-probabilities, of all samples.
  if (keeps_generated_scores(j.objective) && s.layer.scoring.scores == label_scores::whole)
    t.look_beside(phase::reference, -1, here + moment(row::other_models, other->compared.forward) + moment(row::logits, 2 * kept_scores(j, s.model.vocab, scored_at_once(j))));
  if (const auto shown = kept_scores(j, s.model.vocab, sampled_at_once(j)); shown > bytes{0} && other->reward.forward > bytes{0}) t.look_beside(phase::reward, -1, here + moment(row::other_models, other->reward.forward) + moment(row::logits, shown));
  if (j.objective.reward_teaches() && j.objective.frozen.given()) t.look_beside(phase::reward, -1, here + moment(row::other_models, other->reward.at_head) + moment(row::logits, score_temporaries(s, sc)));
  beside(phase::reward, other->reward.forward, 2);
  beside(phase::value, other->critic.forward, 2);
}

/// A critic with an engine of its own trains while the policy does nothing. DeepSpeed-Chat still names the policy's logits.
constexpr void look_at_critic(timeline& t, const settled_job& s, const state_bytes& st, const critic_step& c, const moment& stays) {
  const auto& r = s.source->rollout;
  auto here = stays;
  here -= moved_away(s, st, stays, r.trainer_moves.has(trainer_part::weights), r.trainer_moves.has(trainer_part::optimizer));
  t.look_beside(phase::critic, -1, here + moment(row::other_models, c.tallest) + moment(row::logits, left_logits(s, s.layer)));
}

/// Nash-MD: the policy and the reference write a second completion together, without keys and values, and from logits of all of a text: both models',
/// each times its weight, and their sum, before the products go; then a reward model reads either completion (TRL
/// trl/experimental/nash_md/nash_md_trainer.py GeometricMixtureWrapper.forward, whose arguments do not name logits_to_keep; training_step).
constexpr void look_at_mixture(timeline& t, const settled_job& s, const other_models& other, const moment& stays) {
  const auto& j = *s.source;
  const auto read = j.rollout.prompt + j.rollout.completion - 1;
  const bytes logits{checked::mul(j.batch.micro, read, s.model.vocab, s.layer.loss.logits.width())};
  t.look_beside(phase::generate, -1, stays + moment(row::other_models, other.compared.forward) + moment(row::logits, logits));
  t.look_beside(phase::generate, -1, stays + moment(row::logits, 5 * logits));
  t.look_beside(phase::reward, -1, stays + moment(row::other_models, other.reward.forward));
}

/// The phases that a rollout adds to a step's, which `t` has already.
constexpr void look_at_rollout(timeline& t, const settled_job& s, const inventory& list, const state_bytes& st, const windows& w, const other_models* other, const auto& layers) {
  const auto& r = s.source->rollout;
  const auto stays = t.at(phase::save);
  if (scores_first(s.source->objective.kind)) look_at_scores(t, s, st, w, other, stays, layers);
  if (s.source->objective.kind == objective_kind::nash_md) look_at_mixture(t, s, *other, stays);
  if (s.source->objective.critic.given() && !wraps_critic(s.source->objective)) look_at_critic(t, s, st, other->training, stays);
  if (r.by_module()) {
    if (r.by != completion_writer::unset) look_at_teacher_generation(t, s, stays, layers);
    if (r.by == completion_writer::teacher) return;
    look_at_own_generation(t, s, st, stays, generated_at_once(*s.source), trained_at_once(*s.source), layers);
    if (const auto shown = sampled_at_once(*s.source); shown > 0) look_at_own_generation(t, s, st, stays, shown, shown, layers);
    return;
  }
  if (!r.shares_gpus()) {
    // verl's detached workers send each parameter from a second tensor of its size (one_step_off_policy/fsdp_workers.py sync_rollout_weights); others
    // gather weights, and merge adapters, as for an engine here (TRL trl/generation/vllm_generation.py sync_weights).
    if (s.source->objective.code != method_code::verl) return look_at_sync(t, s, list, st, {}, stays);
    return t.look_beside(phase::sync, -1, stays + moment(row::gathered_parameters, 2 * (sync_sizes_of(s.model, list).tensor * s.precision.parameters.density())));
  }
  const auto e = engine_here(s, list, st);
  look_at_sync(t, s, list, st, e, stays);
  auto m = stays;
  m -= moved_away(s, st, stays, r.trainer_moves.has(trainer_part::weights), r.trainer_moves.has(trainer_part::optimizer));
  if (r.sleeps()) m += engine_moment(e);
  t.look_beside(phase::generate, -1, m);
}

}  // namespace headroom::detail
