// Distributed under the Boost Software License, Version 1.0.
// What one layer of each kind costs on a rank that divides layers with others, and what head and loss do: walked once for all stages.
// Source: Megatron-LM core/models/gpt/gpt_model.py.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/megatron_layer.hpp>
#include <headroom/block/megatron_mtp.hpp>
#include <headroom/block/megatron_tower.hpp>
#include <headroom/engine/tensor_parallel/stage_buffers.hpp>
#include <headroom/settle/settle.hpp>

#include <array>

namespace headroom {

namespace detail {

/// One unit as the step sees it: kept, or its input kept and the rest computed again. In moments, or in heights alone.
template <class Moment>
struct basic_layer_cost {
  Moment saved{};
  Moment forward{};
  Moment backward{};
  Moment backward_first{};  ///< where the caller holds the gradient of the chunk's output: the first unit to run backward
  Moment kept{};            ///< after a backward that leaves the gradients of weights for later
  bytes offloaded{};        ///< of what it saves, in host memory
  bytes doubled{};          ///< … which comes back in so many bytes more
  bytes gradients{};        ///< of its weights, where they stay until the micro-batch's backward is done
};
using layer_cost = basic_layer_cost<moment>;

constexpr layer_cost cost_of(const layer_walk& w, bool recomputes) {
  if (!recomputes) return {w.saved, w.forward, w.backward, w.backward, {}, w.offloaded, w.doubled, w.weight_gradients};
  const moment input(row::activations, w.input);
  auto backward = w.backward;
  if (!w.input_saved) backward += input;
  backward = taller(backward, w.forward + moment(row::temporaries, w.input));
  return {input, w.forward_off, backward, backward, {}, {}, {}, w.weight_gradients};
}

/// One layer walked, or a module of multi-token prediction: its front, a layer and a norm.
struct divided_walk : layer_walk {
  moment backward_first{};
  moment kept{};
};

/// What of a layer is walked: all of it or, where graphs are captured before the first step, what is in them, or the rest.
struct walked_parts {
  bool attention{true}, dense{true}, sparse{true}, outside{true};  ///< `outside`: embedding, head, what surrounds the layers
};

constexpr divided_walk walk_divided_layer(const scene& sc, const module_set& trained, layer_kind kind, bool graphless, bool later = false, bool mtp = false,
                                          walked_parts parts = {}) {
  divided_walk r;
  bool first = true;
  const auto add = [&](const program& p) {
    join(r, p, first, graphless, !sc.habits->gradients.stay_in_micro_batch);
    if (later) r.kept += walk_backward(p, true, weight_work::later).kept;
    first = false;
  };
  if (mtp && parts.outside) {
    with_made([&] { return megatron::mtp_front(sc, trained); }, add);
    r.cached.add(row::activations, megatron::mtp_embedding(sc));  // stays while the rest of a checkpoint runs without a graph
  }
  if (parts.attention && kind.mixer != mixer_kind::none) with_made([&] { return megatron::mixer_block(sc, kind, trained); }, add);
  if (parts.attention && sc.memory > 0) [[unlikely]] with_made([&] { return megatron::cross_block(sc, trained); }, add);
  // The caller's reference to the output's gradient outlives the last part's backward.
  auto before = r.backward;
  const auto back = r.offloaded + r.doubled;
  if (kind.feeds != feed_forward_kind::none && !megatron::in_one_program(sc) && (kind.sparse() ? parts.sparse : parts.dense)) with_made([&] { return megatron::feed_forward_block(sc, kind, trained); }, add);
  r.backward_first = r.backward;
  if (r.offloaded + r.doubled > back) [[unlikely]] before.add(row::activations, r.offloaded + r.doubled - back);
  r.backward_first.rise_to(before, part{row::communication_buffers, r.input});
  if (mtp && parts.outside) with_made([&] { return megatron::norm_block(sc); }, add);
  return r;
}

}  // namespace detail

/// What all stages of a job share: its kinds of layer and its head, walked once.
template <class Moment>
struct basic_divided_layers {
  using layer = detail::basic_layer_cost<Moment>;
  std::array<layer, megatron::kind_places> whole{};       ///< by place_of(): kept for backward
  std::array<layer, megatron::kind_places> checkpoint{};  ///< … computed again
  std::array<Moment, megatron::kind_places> graphless{};  ///< forward of one without a graph
  layer norm{}, mtp{};                ///< the last norm and a module of multi-token prediction
  layer encoder{}, encoder_norm{};    ///< a layer of an encoder, and the norm at its end; of a tower that trains, and what is around its layers
  Moment head_saved{}, head_forward{}, head_backward{}, head_kept{};
  bytes head_gradients{};             ///< of its weights, where they stay
  bytes input{};                      ///< a tensor of the residual stream
  bytes memory{};                     ///< what an encoder has made
};
using divided_layers = basic_divided_layers<moment>;

namespace detail {

/// An encoder's layer and its last norm.
constexpr void walk_encoder(divided_layers& r, const settled_job& s, const scene& sc, const module_set& trained) {
  const auto stack = encoder_stack(s.model);
  const auto own = megatron::encoder_scene(sc, stack);
  r.memory = memory_of(s);
  r.encoder = cost_of(walk_divided_layer(own, trained, {mixer_kind::attention, feed_forward_kind::dense}, false), false);
  divided_walk norm;
  with_made([&] { return megatron::norm_block(own); }, [&](const program& p) { join(norm, p, true, false, true); });
  r.encoder_norm = cost_of(norm, false);
}

/// A tower's layer, and its ends: patches in front, the projector behind.
constexpr void walk_tower_layers(divided_layers& r, const settled_job& s, const scene& sc, const module_set& trained) {
  const auto stack = megatron::tower_stack(s.model);
  const auto own = megatron::tower_scene(sc, stack, s.model.vision);
  r.encoder = cost_of(walk_divided_layer(own, trained, {mixer_kind::attention, feed_forward_kind::dense}, false), false);
  divided_walk ends;
  bool first = true;
  const auto add = [&](const program& p) {
    join(ends, p, first, false, true);
    first = false;
  };
  with_made([&] { return megatron::tower_front(own, s.model.vision); }, add);
  with_made([&] { return megatron::tower_back(own, s.model, s.layer); }, add);
  r.encoder_norm = cost_of(ends, false);
}

}  // namespace detail

/// Each kind of layer walked once, as tensor, context and expert parallelism divide it.
constexpr divided_layers walk_divided_layers(const settled_job& s, detail::walked_parts parts = {}) {
  const auto& j = *s.source;
  scene sc = s.layer;
  sc.model = &s.model;
  const auto trained = trained_modules(j, -1);
  const bool full = j.recompute.mode == recompute_mode::full;
  const bool later = properties_of(j.parallel.schedule).splits_backward;
  divided_layers r;
  r.input = detail::residual_tensor(s);
  for (const auto& k : kinds_of(s.model)) {
    const auto i = megatron::place_of(k.kind);
    const auto w = detail::walk_divided_layer(sc, trained, k.kind, full, later, false, parts);
    r.whole[i] = detail::cost_of(w, false);
    r.whole[i].backward_first = w.backward_first;
    r.whole[i].kept = w.kept;
    if (!full) continue;
    r.checkpoint[i] = detail::cost_of(w, true);
    r.checkpoint[i].saved = moment(row::activations, detail::kept_input(s));
    r.checkpoint[i].kept = w.kept;
    r.graphless[i] = w.forward_off;
  }
  if (s.model.mtp_layers > 0) {
    detail::divided_walk norm;
    if (parts.outside) with_made([&] { return megatron::norm_block(sc); }, [&](const program& p) { detail::join(norm, p, true, false, true); });
    r.norm = detail::cost_of(norm, false);
    // A module is a checkpoint of its own, but for method block (MultiTokenPredictionLayer._checkpointed_forward, since NVIDIA/Megatron-LM 08abeedb of 2025-08-11).
    const bool recomputes = full && j.recompute.method != recompute_method::block && j.framework.date >= 202508;
    const auto w = detail::walk_divided_layer(sc, trained, {s.model.attention(), s.model.sparse() ? feed_forward_kind::experts : feed_forward_kind::dense}, recomputes, later, true, parts);
    r.mtp = detail::cost_of(w, recomputes);
    r.mtp.kept = w.kept;
    if (recomputes) r.mtp.saved += moment(row::activations, megatron::mtp_embedding(sc));
  }
  if (s.model.encoder.layers > 0) [[unlikely]] detail::walk_encoder(r, s, sc, trained);
  if (s.model.vision.kind == vision_kind::megatron_clip) [[unlikely]] detail::walk_tower_layers(r, s, sc, trained);
  if (!parts.outside) return r;
  with_made([&] { return megatron::last_block(sc, trained); }, [&](const program& head) {
    const auto forward = walk_forward(head);
    r.head_saved = moment(forward.saved, forward.saved_rows);
    r.head_forward = forward.peak;
    const auto backward = walk_backward(head, !j.framework.gradients.stay_in_micro_batch);
    r.head_backward = backward.peak;
    r.head_gradients = backward.weight_gradients;
    if (later) r.head_kept = walk_backward(head, true, weight_work::later).kept;
  });
  return r;
}

}  // namespace headroom
