// Distributed under the Boost Software License, Version 1.0.
// The walk through what stands before the main stack: an embedding of its own, layers, and what hands their result on.
#pragma once

#include <headroom/block/tower.hpp>
#include <headroom/engine/eager/layer_costs.hpp>
#include <headroom/engine/eager/step_parts.hpp>

namespace headroom {

namespace detail {

/// A mask of such a stack, saved by every layer that has a backward, or what positions its biases are of.
constexpr bytes side_mask(const scene& sc, std::int64_t layers, bool flows, bool recomputes) {
  if (!sc.block_mask) return flows ? position_buckets(sc) : bytes{0};
  return sc.masks_each_layer && flows && !recomputes ? layers * ops::model_masks(sc) : ops::model_masks(sc);
}

/// Walks front, layers and back of a stack beside the main one.
constexpr prelude walk_side(const settled_job& s, const scene& sc, const windows& w, const end_walk& front, layer_run run, const end_walk& back, bytes shard) {
  const bool momentary = momentary_gradients(s, w);
  const bool grows = !momentary && w.path == gradient_path::grows, exist = w.gradients_before.total > bytes{0};
  const bool recomputes = run.recomputes;
  cost_layer(run, s, sc, momentary, shipped_layers{});
  const bool layers_flow = run.back;
  prelude r;
  if (recomputes && layers_flow && s.source->offload.activations != place::on_gpu) r.checkpoints = run.count * run.input_gradient;
  const auto n = run.count;
  const auto &f = front.forward, &b = back.forward;
  moment front_saved(f.saved, f.saved_rows);
  if (run.input_has_gradient && !front.flows && !run.keeps_input) front_saved.add(row::activations, run.stream);  // a leaf of the graph, which holds it
  const moment back_saved(b.saved, b.saved_rows);

  r.forward = f.peak;
  const auto bias = relative_positions(sc);
  const auto mask = side_mask(sc, run.count, layers_flow, recomputes);
  auto live = front_saved;
  live += bias;
  live.add(row::activations, mask);
  live += multiple{n - 1, run.saved};
  r.forward.rise_to(run.forward, live);
  live += run.saved;
  r.forward.rise_to(b.peak, live);
  live -= bias;
  if (!layers_flow) live.add(row::activations, -mask);
  live += back_saved;
  r.saved = live;
  r.has_gradient = back.flows;
  if (!r.has_gradient) return r;

  const auto &front_back = front.backward, &back_back = back.backward;
  const auto whole = front_back.made + back_back.made + (layers_flow ? n * run.made : bytes{0});
  r.caches = whole > bytes{0};
  auto own = run.saved;
  if (recomputes && sc.autocast && r.caches) {
    own.add(row::gathered_parameters, -own.rows[row::gathered_parameters]);
    live.add(row::gathered_parameters, -live.rows[row::gathered_parameters]);
  } else {
    live -= back_saved;
  }
  r.backward.rise_to(back_back.peak, live);
  live.add(row::gradients, grows ? back_back.weight_gradients : bytes{0});
  live += bias;
  if (layers_flow) {
    const auto made = grows ? run.gradients : exist ? bytes{0} : ceil_div(shard, n);
    live -= own;
    r.backward.rise_to(run.backward, live);
    live += multiple{1 - n, own};
    live.add(row::gradients, (n - 1) * made);
    r.backward.rise_to(run.backward, live);
    live.add(row::gradients, made);
    live -= front_saved;
    live -= bias;
    live.add(row::activations, -mask);
    r.backward.rise_to(front_back.peak, live);
    live.add(row::gradients, grows ? front_back.weight_gradients : bytes{0});
  }
  r.gradients = w.gradients_at_load || s.optimizer.in_backward ? bytes{0} : w.path == gradient_path::grows ? whole : layers_flow ? shard : bytes{0};
  if (w.path == gradient_path::unit && sums_whole_gradients(*s.source)) r.summed = whole;
  return r;
}

constexpr module_set all_if(bool trains) {
  module_set r;
  r.bits = trains ? (std::uint32_t{1} << module_count) - 1 : 0;
  return r;
}

/// A vision tower and what joins it to the text: use(scene, layers, front, back), the last two of which make programs; `back` is told whether the layers have a gradient.
/// `graph`: of a pass that has one.
constexpr decltype(auto) with_tower(const settled_job& s, const auto& use, bool graph = true) {
  const auto& v = s.model.vision;
  const auto outside = trained_modules(*s.source, -1);
  const bool tower_trains = outside.has(module::vision), joint_trains = outside.has(module::projector);
  const shape tower = tower_shape(v);
  const adapter side = tower_side(*s.layer.side);
  const bool flows = tower_trains || (graph ? passes_tower(*s.source, side) : adapts_blocks(side)), recomputes = recomputes_tower(*s.source);
  scene sc = tower_scene(s.layer, tower, v, side, tower_trains);
  if (s.source->recompute.towers != choice::unset) sc.nested_backward = s.reentrant && recomputes;
  // Not const, here and below: g++ 12 then changes its members' members in no constant expression.
  layer_run run{.first = 0, .count = v.layers - v.unread, .trained = all_if(tower_trains), .input_has_gradient = flows,
                      .recomputes = recomputes, .kind = tower.kind_of(0)};
  return use(sc, run, [&] { return patch_embedding(sc, v, tower_trains); }, [&] { return projector(sc, s.model, tower_trains, joint_trains, flows); });
}

/// … the encoder of an encoder-decoder model.
constexpr decltype(auto) with_encoder(const settled_job& s, const auto& use) {
  const auto outside = trained_modules(*s.source, -1);
  const bool trains = outside.has(module::encoder), table = outside.has(module::embedding) && s.model.encoder.audio_channels == 0 && s.model.encoder.vocab == 0;
  const shape stack = encoder_stack(s.model);
  const scene sc = encoder_scene(s.layer, stack);
  const auto front = [&] { return encoder_front(sc, s.model.encoder, trains, table); };
  const bool flows = with_made(front, [&](const program& p) { return p.needs_gradient(p.output()) || embedding_is_leaf(s, p); });
  const bool back_flows = flows || trains || anything_trains(sc, {});
  layer_run run{.first = 0, .count = stack.layers, .trained = all_if(trains), .input_has_gradient = flows,
                      .recomputes = s.source->recompute.mode == recompute_mode::full, .kind = stack.kind_of(0)};
  return use(sc, run, front, [&] { return encoder_back(sc, trains, back_flows); });
}

}  // namespace detail

/// A vision tower and what joins it to the text. `kept`: bytes of its gradients that stay once they are reduced.
constexpr prelude walk_tower(const settled_job& s, const windows& w, bytes kept, bool graph = true) {
  return detail::with_tower(s, [&](const scene& sc, const detail::layer_run& run, const auto& front, const auto& back) {
    const auto walked = [&](const program& p) { return detail::walk_end(p, true, momentary_gradients(s, w)); };
    return detail::walk_side(s, sc, w, with_made(front, walked), run, with_made(back, walked), kept);
  }, graph);
}

/// The encoder of an encoder-decoder model. Its result is read by every layer of the decoder, and gathers a gradient from each.
constexpr prelude walk_encoder(const settled_job& s, const windows& w, bytes kept) {
  return detail::with_encoder(s, [&](const scene& sc, const detail::layer_run& run, const auto& front, const auto& back) {
    const auto walked = [&](const program& p) { return detail::walk_end(p, true, momentary_gradients(s, w)); };
    const auto behind = with_made(back, walked);
    auto r = detail::walk_side(s, sc, w, with_made(front, walked), run, behind, kept);
    if (!behind.keeps_output) r.saved.add(row::activations, behind.output);
    if (r.has_gradient) r.output_gradient = behind.output;
    return r;
  });
}

}  // namespace headroom
