// Distributed under the Boost Software License, Version 1.0.
// The walk through what stands before the main stack: an embedding of its own, layers, and what hands their result on.
#pragma once

#include <headroom/block/tower.hpp>
#include <headroom/engine/eager/layer_costs.hpp>
#include <headroom/engine/eager/step_parts.hpp>

namespace headroom {

namespace detail {

/// Walks front, layers and back of a stack beside the main one.
constexpr prelude walk_side(const settled_job& s, const scene& sc, const windows& w, const end_walk& front, layer_run run, const end_walk& back, bytes shard) {
  const bool momentary = momentary_gradients(s, w);
  const bool grows = !momentary && w.path == gradient_path::grows, exist = w.gradients_before.total > bytes{0};
  const bool recomputes = s.source->recompute.mode == recompute_mode::full;
  cost_layer(run, s, sc, momentary, shipped_layers{});
  const bool layers_flow = run.back;
  prelude r;
  if (recomputes && layers_flow && s.source->offload.activations != place::on_gpu) r.checkpoints = run.count * run.input_gradient;
  const auto n = run.count;
  const auto &f = front.forward, &b = back.forward;
  const moment front_saved(f.saved, f.saved_rows), back_saved(b.saved, b.saved_rows);

  r.forward = f.peak;
  const auto bias = relative_positions(sc);
  const auto mask = !sc.block_mask ? layers_flow ? position_buckets(sc) : bytes{0} : sc.masks_each_layer && layers_flow && !recomputes ? run.count * ops::model_masks(sc) : ops::model_masks(sc);  // saved by every layer that has a backward
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
  auto own = run.saved;
  if (recomputes && sc.autocast) {
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
  const auto whole = front_back.made + back_back.made + (layers_flow ? n * run.made : bytes{0});
  r.gradients = w.gradients_at_load || s.optimizer.in_backward ? bytes{0} : w.path == gradient_path::grows ? whole : layers_flow ? shard : bytes{0};
  if (w.path == gradient_path::unit && sums_whole_gradients(*s.source)) r.summed = whole;
  return r;
}

constexpr module_set all_if(bool trains) {
  module_set r;
  r.bits = trains ? (std::uint32_t{1} << module_count) - 1 : 0;
  return r;
}

}  // namespace detail

/// A vision tower and what joins it to the text. `kept`: bytes of its gradients that stay once they are reduced.
constexpr prelude walk_tower(const settled_job& s, const windows& w, bytes kept) {
  const auto& v = s.model.vision;
  const auto outside = trained_modules(*s.source, -1);
  const bool tower_trains = outside.has(module::vision), joint_trains = outside.has(module::projector);
  const shape tower = tower_shape(v);
  const adapter side = tower_side(*s.layer.side);
  const bool flows = tower_trains || adapts_blocks(side);  // patches' result is asked for a gradient (transformers modeling_utils.py enable_input_require_grads)
  const scene sc = tower_scene(s.layer, tower, v, side, tower_trains);
  detail::layer_run run{.first = 0, .count = v.layers - v.unread, .trained = detail::all_if(tower_trains), .input_has_gradient = flows,
                              .recomputes = s.source->recompute.mode == recompute_mode::full, .kind = tower.kind_of(0)};
  const bool momentary = momentary_gradients(s, w);
  const auto walked = [&](const program& p) { return detail::walk_end(p, true, momentary); };
  const auto front = with_made([&] { return patch_embedding(sc, v, tower_trains); }, walked);
  const auto back = with_made([&] { return projector(sc, s.model, tower_trains, joint_trains, flows); }, walked);
  return detail::walk_side(s, sc, w, front, run, back, kept);
}

/// The encoder of an encoder-decoder model. Its result is read by every layer of the decoder, and gathers a gradient from each.
constexpr prelude walk_encoder(const settled_job& s, const windows& w, bytes kept) {
  const auto outside = trained_modules(*s.source, -1);
  const bool trains = outside.has(module::encoder), table = outside.has(module::embedding) && s.model.encoder.audio_channels == 0 && s.model.encoder.vocab == 0;
  const shape stack = encoder_stack(s.model);
  const adapter none{};
  const scene sc = encoder_scene(s.layer, stack, none);
  const bool momentary = momentary_gradients(s, w);
  const auto walked = [&](const program& p) { return detail::walk_end(p, true, momentary); };
  const auto front = with_made([&] { return encoder_front(sc, s.model.encoder, trains, table); }, walked);
  const bool flows = front.flows;
  detail::layer_run run{.first = 0, .count = stack.layers, .trained = detail::all_if(trains), .input_has_gradient = flows,
                              .recomputes = s.source->recompute.mode == recompute_mode::full, .kind = stack.kind_of(0)};
  const auto back = with_made([&] { return encoder_back(sc, trains, flows || trains); }, walked);
  auto r = detail::walk_side(s, sc, w, front, run, back, kept);
  const auto result = back.output;
  if (!back.keeps_output) r.saved.add(row::activations, result);
  if (r.has_gradient) r.output_gradient = result;
  return r;
}

}  // namespace headroom
