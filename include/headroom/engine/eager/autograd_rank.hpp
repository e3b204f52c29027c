// Distributed under the Boost Software License, Version 1.0.
// A rank of a trainer that allocates as it goes: what it holds all along, and its step from load to save.
#pragma once

#include <headroom/engine/eager/evaluation_phase.hpp>
#include <headroom/engine/eager/other_model.hpp>
#include <headroom/engine/eager/rollout_phases.hpp>
#include <headroom/engine/eager/walk_step.hpp>
#include <headroom/states/fake_scales.hpp>
#include <headroom/states/outside.hpp>

namespace headroom {

namespace detail {

/// Positions and masks that are buffers of the model.
constexpr bytes position_buffers(const settled_job& s) {
  const auto& habits = s.source->framework;
  const auto& m = s.model;
  const bool rotary = m.position == position_kind::rope;
  bytes sum{checked::mul(buffers_of(m), s.precision.parameters.width())};
  if (habits.rotary.tables == rope_tables::buffers_beside_mask && (rotary || m.position == position_kind::learned)) {
    const auto row_bytes = rotary ? checked::mul(2 * m.rotary_width(), s.layer.residual_width) : 8;
    sum += bytes{checked::mul(m.max_positions, checked::add(m.max_positions, row_bytes))};
  }
  if (habits.rotary.caches() && rotary) {
    const auto row_bytes = bytes{checked::mul(m.head_width() * m.rotary_percent / 100, 4)};  // of half the features, or of all
    sum += habits.rotary.tables == rope_tables::cached_whole ? m.max_positions * row_bytes : 2 * s.layer.sequence * row_bytes;
  }
  return sum;
}

/// What a rank holds from the first step on: states, buffers, workspaces.
constexpr moment resident_bytes(const settled_job& s, const state_bytes& st, const windows& w) {
  const auto& j = *s.source;
  moment r{};
  r.rows = st.gpu;
  r.rows[row::gradients] = bytes{0};
  if (j.offload.optimizer != place::on_gpu || (j.sharding.fully_sharded() && j.offload.parameters != place::on_gpu)) {
    r.rows[row::optimizer_state] = bytes{0};
    r.rows[row::master_parameters] = bytes{0};
  }
  if (place_of_parameters(j) != place::on_gpu) {
    r.rows[row::model_parameters] = st.frozen_extra;  // quantisation statistics are no parameters
    r.rows[row::adapters] = bytes{0};
  }
  r.rows[row::workspace] += j.framework.process.cublas_handles * cublas_workspace(s);
  r.rows[row::workspace] += unsloth_buffers(s);
  // Token numbers and labels, int64.
  r.rows[row::activations] += 2 * bytes{checked::mul(s.layer.tokens, 8)};
  r.rows[row::activations] += position_buffers(s) + fake_scales(s);
  if (j.framework.rotary.tables == rope_tables::in_each_layer) [[unlikely]] r.rows[row::activations] += s.model.layers * rotary_caches(s);
  w.always.add_to(r.rows);
  r.total = r.rows.total();
  return r;
}

/// The tallest moment of loading: parameters and adapters that stay, and what passes through. Sharded parameters pass one tensor
/// at a time, whole; where units are wrapped on the GPU, the root comes last: its tensors, and their concatenation.
constexpr moment load_moment(const settled_job& s, const state_bytes& st, const moment& resident) {
  const auto& j = *s.source;
  const auto width = s.precision.parameters.width();
  if (wraps_on_gpu(s)) {
    const bool leaves = j.offload.parameters != place::on_gpu;
    const auto passing = 2 * share(st.root, width) - (leaves ? bytes{0} : share(st.root, width, s.shards.parameters));
    return moment(row::model_parameters, resident.rows[row::model_parameters]) + moment(row::adapters, resident.rows[row::adapters]) +
           moment(row::gathered_parameters, passing);
  }
  const bool here = place_of_parameters(j) == place::on_gpu;
  const bytes stays = here ? st.gpu[row::model_parameters] : bytes{0};
  const bool whole = j.framework.loading.whole_on_gpu;  // of which the first tensor is cut
  const bytes passing = s.shards.parameters <= 1 ? bytes{0} : whole ? share(st.total, width) + share(st.largest, width, s.shards.parameters) - stays : share(st.largest, width);
  return moment(row::model_parameters, stays) +
         moment(row::adapters, here ? st.gpu[row::adapters] : bytes{0}) + moment(row::gathered_parameters, passing) +
         moment(row::activations, position_buffers(s));
}

/// What is there once the trainer is built, before the first step: parameters, master copies, and buffers that stay, DDP's buckets among them
/// (torch csrc/distributed/c10d/reducer.cpp initialize_buckets; DeepSpeed runtime/zero/stage3.py _setup_for_real_optimizer).
constexpr moment built_moment(const settled_job& s, const windows& w, const moment& resident) {
  moment r = w.always;
  for (const auto of : {row::model_parameters, row::adapters, row::other_models, row::master_parameters}) r.add(of, resident.rows[of]);
  if (w.gradients_at_load) r += w.gradients_before;
  r.add(row::activations, position_buffers(s));
  return r;
}
/// While ZeRO's optimizer is built, before its buffers are: gradients of zeros in the master copy's format, of a partition or of stage 3's largest
/// sub-group (initialize_optimizer_states). A step with them used to make the optimizer's state.
constexpr moment zero_moment(const settled_job& s, const state_bytes& st, const moment& resident) {
  const auto& j = *s.source;
  const auto& z = j.sharding;
  moment r{};
  if (!z.by(sharder::deepspeed) || !z.cuts(sharded_state::optimizer) || j.offload.optimizer != place::on_gpu || !s.precision.master.present()) return r;
  for (const auto of : {row::model_parameters, row::adapters, row::other_models, row::master_parameters}) r.add(of, resident.rows[of]);
  if (j.framework.loading.steps_at_once) {
    r.add(row::optimizer_state, resident.rows[row::optimizer_state]);
    r.add(row::temporaries, update_of_all(s, st));
  }
  const auto group = z.cuts(sharded_state::weights) ? zero_sizes_of(j.sharding).sub_group : 0;
  const auto mine = checked::ceil_div(st.trained.count(), s.shards.optimizer);
  r.add(row::temporaries, share(parameters{group > 0 ? smaller(group, mine) : mine}, s.precision.master.width()));
  return r;
}

/// Gradients of an encoder's or a tower's layers that stay once they are reduced: shards, under paths that shrink them.
constexpr bytes kept_beside(const settled_job& s, const state_bytes& st, const windows& w) {
  const bool reduced = w.path == gradient_path::unit ? !gradients_leave(*s.source) && !s.optimizer.in_backward : w.path == gradient_path::leaves && w.kept_per_unit > bytes{0};
  if (!reduced || w.gradients_at_load) return bytes{0};
  return share(min(st.trained - st.adapters, st.side), s.precision.gradients.width(), s.shards.gradients);
}
/// What micro-batches add up of them under no_sync. Flat, or in another format than they are made in, those of the tower's ends lie in the root's unit.
constexpr bytes summed_beside(const settled_job& s, const state_bytes& st, bytes made) {
  const auto computed = s.precision.compute.width(), reduced = s.precision.reduce.width();
  return made == bytes{0} || (!s.flat && computed == reduced) ? made : share(min(st.trained - st.adapters, st.side), s.flat ? computed : reduced);
}

/// Actor and critic in one module: the critic runs forward first and its graph stays until the policy's backward is done; one update is of both.
/// Gradients of either are there while the other computes.
constexpr void add_wrapped_critic(timeline& t, const critic_step& c) {
  const auto own = t.at(phase::save);
  const auto before = t.at(phase::forward).rows[row::gradients], after = t.at(phase::step).rows[row::gradients];
  for (const auto p : {phase::forward, phase::loss_forward, phase::backward, phase::reduce}) t.add(p, row::other_models, c.graph + c.gradients);
  t.look(phase::forward, -1, own + moment(row::gradients, before) + moment(row::other_models, c.forward));
  t.look(phase::backward, -1, own + moment(row::gradients, after) + moment(row::other_models, c.backward));
  t.add(phase::step, row::other_models, c.update);
}

/// Whether pictures pass a tower before the main stack.
constexpr bool sees(const settled_job& s) { return s.model.vision.layers > 0 && !s.source->batch.images.none; }
/// What runs before the main stack: nothing in most models. In a frame of its own, which is gone when the step is walked.
[[gnu::noinline]] constexpr prelude before_stack(const settled_job& s, const state_bytes& st, const windows& w) {
  auto before = sees(s) ? walk_tower(s, w, kept_beside(s, st, w)) : s.model.encoder.layers > 0 ? walk_encoder(s, w, kept_beside(s, st, w)) : prelude{};
  before.summed = summed_beside(s, st, before.summed);
  return before;
}
constexpr bool has_prelude(const settled_job& s) { return sees(s) || s.model.encoder.layers > 0; }

/// The step of a trainer that allocates as it goes. `other`: models that run beside this one, or none.
constexpr timeline walk_autograd(const settled_job& s, const inventory& list, const state_bytes& st, const model_slice& here, bytes& checkpoints, const auto& layers,
                                 const other_models* other = nullptr) {
  const auto w = windows_of(s, st);
  auto resident = resident_bytes(s, st, w);
  if (other != nullptr) [[unlikely]] resident.add(row::other_models, other->resident());
  if (s.source->rollout.given()) [[unlikely]] resident += rollout_all_along(s, list, st);
  const auto before = before_stack(s, st, w);
  const bool in_front = has_prelude(s) && here.embedding;  // of layers spread over GPUs, on the first
  auto t = walk_step(s, list, st, w, resident, here, checkpoints, layers, in_front ? &before : nullptr, other != nullptr ? other->in_step(s.source->objective.kind) : bytes{0});
  if (in_front) checkpoints += before.checkpoints;
  t.look(phase::load, -1, load_moment(s, st, resident));
  t.look(phase::load, -1, built_moment(s, w, resident));
  t.look(phase::load, -1, zero_moment(s, st, resident));
  t.look(phase::save, -1, resident);
  if (s.source->rollout.given()) [[unlikely]] look_at_rollout(t, s, list, st, w, other, layers);
  else look_at_swapped(t, s, st, w, resident, layers);
  if (s.source->evaluation.given() && (!s.source->rollout.given() || !generates(s.source->objective.kind))) [[unlikely]] look_at_evaluation(t, s, st, w, other != nullptr ? other->in_step(s.source->objective.kind) : bytes{0}, layers);
  if (other != nullptr && wraps_critic(s.source->objective)) [[unlikely]] add_wrapped_critic(t, other->training);
  return t;
}

}  // namespace detail

}  // namespace headroom
