// Distributed under the Boost Software License, Version 1.0.
// How long an encoder or a vision tower takes before the main stack: its layers as the main stack's are timed, its ends by their programs and the
// matrices of cost/side_matrices.hpp.
#pragma once

#include <headroom/cost/layer.hpp>

namespace headroom::detail {

/// Layers of a stack beside the main one. Where it does not train and nothing in front of it does, no gradient goes back through it.
[[gnu::noinline]] constexpr both_passes side_stack_seconds(const cost_scene& c, const shape& stack, const scene& its, bool trains, bool flows) {
  settled_job inner = *c.job;
  inner.model = stack;
  auto there = c;
  there.job = &inner;
  there.layer = its;
  there.layer.model = &inner.model;
  there.trained = {};
  if (trains) there.trained.bits = (std::uint32_t{1} << module_count) - 1;  // all roles
  both_passes t;
  for (const auto& k : kinds_of(inner.model)) t.add(layer_seconds(there, weights_of(inner.model), k, shipped_layers{}), static_cast<double>(k.count));
  if (!flows) t.backward = {}, t.again = {};
  return t;
}

/// The encoder of an encoder-decoder model: tokens or a spectrum, layers, a norm.
constexpr both_passes encoder_seconds(const cost_scene& c) {
  const auto& m = c.job->model;
  const bool trains = c.trained.has(module::encoder), table = c.trained.has(module::embedding) && m.encoder.audio_channels == 0 && m.encoder.vocab == 0;
  const shape stack = encoder_stack(m);
  const scene its = encoder_scene(c.layer, stack);
  const bool flows = trains || table || its.side->active();
  auto t = side_stack_seconds(c, stack, its, trains, flows);
  auto there = c;
  there.layer = its;
  add_traffic(t, there, with_made([&] { return encoder_front(its, m.encoder, trains, table); }, traffic_of));
  add_traffic(t, there, with_made([&] { return encoder_back(its, trains, flows); }, traffic_of));
  return t;
}

/// A vision tower and what joins it to the text.
constexpr both_passes tower_seconds(const cost_scene& c) {
  const auto& v = c.job->model.vision;
  const bool trains = c.trained.has(module::vision), joint = c.trained.has(module::projector);
  const shape stack = timed_tower(v);
  const adapter side = tower_side(*c.layer.side);
  const bool flows = trains || passes_tower(*c.job->source, side);
  const scene its = tower_scene(c.layer, stack, v, side, trains);
  auto t = side_stack_seconds(c, stack, its, trains, flows);
  if (!recomputes_tower(*c.job->source))
    t.again = {};
  else if (flows && c.job->source->recompute.mode == recompute_mode::none)
    t.again = t.forward;
  auto there = c;
  there.layer = its;
  add_traffic(t, there, with_made([&] { return patch_embedding(its, v, trains); }, traffic_of));
  for_each_projector_matrix(c.job->model, static_cast<double>(c.layer.samples), [&](const side_matrix& one) { add_side_matrix(t, there, one); });
  add_traffic(t, there, with_made([&] { return projector(its, c.job->model, trains, joint, flows); }, traffic_of));
  return t;
}

/// Everything that stands before the main stack's own embedding.
constexpr both_passes sides_seconds(const cost_scene& c) {
  const auto& m = c.job->model;
  both_passes t;
  if (m.encoder.layers > 0) t.add(encoder_seconds(c));
  const bool sees = !c.job->source->batch.images.none;
  if (m.vision.layers > 0 && sees) t.add(tower_seconds(c));
  if (m.encoder.layers > 0 || (m.vision.kind != vision_kind::none && sees))
    for_each_end_matrix(m, static_cast<double>(c.layer.samples), static_cast<double>(c.layer.sequence), [&](const side_matrix& one) { add_side_matrix(t, c, one); });
  return t;
}

}  // namespace headroom::detail
