// Distributed under the Boost Software License, Version 1.0.
// The walk over one pipeline stage's schedule, where layers are divided.
// Source: Megatron-LM core/pipeline_parallel/schedules.py; the orders are generated in layout/schedule.hpp.
#pragma once

#include <headroom/engine/tensor_parallel/frozen_tower.hpp>
#include <headroom/engine/tensor_parallel/layer_wise.hpp>
#include <headroom/engine/tensor_parallel/method_phases.hpp>
#include <headroom/engine/tensor_parallel/stage_chunks.hpp>
#include <headroom/engine/tensor_parallel/stage_order.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom {

namespace detail {

/// What a stage holds all the time: states, buffers, tokens and labels.
constexpr moment resident_of_stage(const settled_job& s, const breakdown& states, stage_parts parts) {
  moment r{};
  r.rows = states + buffers_of_stage(s, parts);
  r.rows[row::activations] += 2 * bytes{checked::mul(s.layer.tokens, 8)};
  r.total = r.rows.total();
  return r;
}

/// Each chunk's last input stays an attribute of its layers (TransformerBlock.input_tensor), its gradient with it. `given`: chunks that
/// have theirs from another stage.
constexpr bytes inputs_left(const job& j, std::int64_t given, bytes input) { return j.parallel.pipeline > 1 && j.framework.pipeline.keeps_tensors ? 2 * given * input : bytes{0}; }

// What few jobs have. Not inlined, so that no frame has room for it in others.

/// A frozen tower's forward, beside what is there all along.
[[gnu::noinline]] constexpr void look_at_tower(timeline& t, const settled_job& s, const moment& resident) { t.look(phase::forward, -1, resident + frozen_tower(s)); }
/// Another model and an engine, all along.
[[gnu::noinline]] constexpr void add_others(moment& resident, const settled_job& s, const rank_weights& weights, const stage_reference& reference) {
  resident.add(row::other_models, reference.resident());
  resident += engine_all_along(s, weights.list(), resident);
}

/// What the tallest moments of a stage are made of.
[[gnu::noinline]] constexpr void look_at_phases(timeline& t, const tallest_of_stage& tallest, const stage_chunks& chunks, const moment& resident, bytes input) {
  constexpr std::array phases{phase::forward, phase::loss_forward, phase::backward};
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const auto& b = tallest.best()[i];
    if (b.total < bytes{0}) continue;
    auto all = resident;
    for (std::size_t c = 0; c < chunks.size(); ++c)
      if (b.held[c] != 0) chunks.with(c, [&](const chunk_cost& k) { all += multiple{b.held[c], k.saved}; });
    for (std::size_t c = 0; c < b.waiting.size(); ++c)
      if (b.waiting[c] != 0) chunks.with(c, [&](const chunk_cost& k) { all += multiple{b.waiting[c], k.kept}; });
    all.add(row::communication_buffers, b.boundary * input);
    all.add(row::activations, b.ahead);
    chunks.with(b.chunk, [&](const chunk_cost& k) {
      t.look(phases[i], i == 0 ? k.forward_layer : i == 1 ? -1 : k.backward_layer, all, i == 0 ? k.forward : i == 1 ? k.loss : k.backward);
    });
  }
}

}  // namespace detail

/// Walks the schedule of one stage. Only totals are added up on the way; what the tallest moments are made of is put together at
/// the end. `states`: what the stage holds of them, where that is known.
template <class Order = detail::shipped_order>
constexpr timeline walk_stage(const settled_job& s, const detail::rank_weights& weights, const stage_cut& cut, const divided_layers& w, std::int64_t stage,
                              const Order& order = {}, bytes* on_host = nullptr, const detail::fsdp_layout* fsdp = nullptr, const breakdown* states = nullptr,
                              host_bytes* host = nullptr) {
  const auto& j = *s.source;
  const auto& d = j.parallel;

  const detail::stage_chunks chunks(s, cut, w, stage, fsdp);
  const auto n = chunks.size();

  const auto held_weights = weights.of_stage(cut, stage);
  const auto frozen = weights.frozen(stage);
  const bool whole = detail::layer_wise(s);
  auto resident = detail::resident_of_stage(s,
                                                  states != nullptr ? *states
                                                  : fsdp != nullptr ? detail::fsdp_states(s, *fsdp)
                                                  : whole         ? detail::layer_wise_states(s, weights.list(), cut, stage)
                                                                  : detail::states_of_stage(s, held_weights, frozen),
                                                  chunks.parts());
  const auto reference = has_own_loss(j.objective) ? detail::reference_of_stage(s, held_weights, frozen) : detail::stage_reference{};
  if (has_own_loss(j.objective)) [[unlikely]] detail::add_others(resident, s, weights, reference);
  const bool sees = s.model.vision.layers > 0 && s.model.vision.kind != vision_kind::megatron_clip && stage == 0;  // frozen
  if (sees) [[unlikely]] resident.add(row::activations, detail::deep_features(s));
  const auto plan = detail::plan_of_stage<Order>(j, stage, static_cast<std::int64_t>(n));
  detail::offloaded_layers offloaded(chunks, n, plan, j.framework.pipeline.overlaps_experts);
  detail::tallest_of_stage tallest(chunks.totals(), n, w.input, properties_of(d.schedule).splits_backward, offloaded);
  detail::follow_order(order, plan, stage, detail::boundary_tensors(d, j.framework.pipeline, chunks.parts()), tallest);

  if (on_host != nullptr) *on_host = max(*on_host, offloaded.on_host());
  timeline t;
  t.look(phase::load, -1, fsdp != nullptr ? detail::fsdp_load(*fsdp) : detail::load_of_stage(s, weights, cut, stage, resident.rows));
  const part inputs_left{row::communication_buffers, detail::inputs_left(j, chunks.inputs(), w.input)};
  t.look(phase::reduce, -1, resident, inputs_left, part{row::communication_buffers, detail::under_deepspeed(s) ? detail::deepspeed_bucket(s, held_weights.dense) : bytes{0}});
  t.look(phase::step, -1, resident, inputs_left, part{row::temporaries, detail::update_temporaries(s, held_weights) + (whole ? detail::layer_wise_temporaries(s, held_weights) : bytes{0})});
  t.look(phase::save, -1, resident, inputs_left);
  if (sees) [[unlikely]] detail::look_at_tower(t, s, resident);
  detail::look_at_phases(t, tallest, chunks, resident, w.input);
  if (has_own_loss(j.objective)) [[unlikely]] {
    detail::look_at_method(t, s, weights.list(), reference, resident, chunks.parts().last);
  }
  if (host != nullptr && (has_own_loss(j.objective) || j.offload.optimizer != place::on_gpu)) [[unlikely]]
    detail::add_stage_host(*host, s, weights.list(), held_weights, reference, resident);
  if (fsdp != nullptr) [[unlikely]] {
    t.watch_pools(resident.rows[row::gathered_parameters] + chunks.gathered(), bytes{0});
    for (const auto p : {phase::forward, phase::loss_forward, phase::backward, phase::step})
      t.reach(t.at(p).total - t.at(p).rows[row::gathered_parameters]);
  }
  return t;
}

}  // namespace headroom
