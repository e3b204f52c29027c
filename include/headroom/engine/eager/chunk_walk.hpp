// Distributed under the Boost Software License, Version 1.0.
// The walk over a chunk of eager layers: up, down, and its reduction.
// Sources: torch distributed/fsdp/_fully_shard/_fsdp_param_group.py post_backward, _fsdp_state.py _lazy_init (the order of the units).
#pragma once

#include <headroom/engine/eager/chunk_backward.hpp>

namespace headroom {

namespace detail {

/// Head and loss of the last chunk. `live`: what its layers have saved.
constexpr void walk_tail(eager_chunk& k, const scene& sc, const program& tail, const moment& live) {
  const auto f = walk_forward(tail);
  k.logits = bytes{checked::mul(sc.tokens, sc.divided(sc.vocabulary), sc.width)};
  k.loss_span = live.total + tail.size(tail.input()) + span_of(tail);
  k.loss.rise_to(live, f.peak);
  k.saved += moment(f.saved, f.saved_rows);
  if (!k.splits) {
    const auto b = walk_backward(tail);
    k.backward.rise_to(live, b.peak);
    k.beginning = k.backward;
    return;
  }
  const auto b = walk_backward(tail, false, weight_work::later_in_graph);
  k.backward = k.saved + b.peak;
  k.backward -= moment(f.saved, f.saved_rows);
  k.waiting = b.kept;
}

/// Walks the layers of a chunk up and down; `runs`: room for them.
constexpr void walk_eager_chunk(eager_chunk& k, const settled_job& s, const model_slice& here, layer_runs runs, const chunk_gradients& gradients) {
  const auto& j = *s.source;
  scene sc = s.layer;
  sc.model = &s.model;
  sc.compiled = false;  // embedding and head are not
  const auto outside = trained_modules(j, -1);
  moment live{};
  bytes input{0};
  forward_walk front_forward{};
  with_made([&] { return embedding(sc, outside); }, [&](const program& front) {
    input = front.size(front.output());
    if (!k.first) return;
    front_forward = walk_forward(front);
    k.forward = front_forward.peak;
    live += moment(front_forward.saved, front_forward.saved_rows);
  });
  cut_layers(runs, s, sc, here, true);
  sc.compiled = s.layer.compiled;
  // What the first layer reads lies in a buffer for all micro-batches.
  const auto received = k.first ? bytes{0} : input;
  for (std::size_t i = 0; i < runs.size; ++i) {
    auto& r = runs.list[i];
    cost_run(r, s, sc, false, false, shipped_layers{});
    live += multiple{r.count - 1, r.saved};
    const bool begins = i == 0 && r.count == 1;
    if (i == 0 && !begins && r.keeps_input) live.add(row::activations, -received);
    if (k.forward.rise_to(live, r.forward, part{row::activations, begins ? -received : bytes{0}})) k.forward_layer = r.first + r.count * r.span - 1;
    live += r.saved;
    if (begins && r.keeps_input) live.add(row::activations, -received);
  }
  sc.compiled = false;
  k.saved = live;
  if (k.last) with_made([&] { return tail_of(sc, outside, true); }, [&](const program& tail) { walk_tail(k, sc, tail, live); });
  if (k.splits) return walk_inputs_backward(k, sc, runs);
  chunk_backward back(k, gradients, input, received, units_apart(s), live);
  for (auto i = runs.size; i-- > 0;) back.run(runs.list[i], i == 0);
  if (k.first) with_made([&] { return embedding(sc, outside); }, [&](const program& front) { back.front(front, front_forward); });
  back.end();
}

/// The tallest moment of a chunk's reduction. Its units come in the order of its modules: the root first where it has parameters, which are the
/// embedding's or norm's and head's; else the embedding, the layers, and norm with head. A unit's parameters go, its gradients are copied into the
/// reduction's input, and go. Layers are alike: of them the first is the tallest.
constexpr reduction_moment reduction_of(const eager_chunk& k, const settled_job& s, const state_bytes& st, std::int64_t layers, bytes layer_gathered) {
  const auto& p = s.precision;
  const auto root_gathered = share(st.root, p.compute.width()), root = share(st.root, p.reduce.width()), layer = share(st.unit, p.reduce.width());
  const auto root_shard = share(st.root, p.gradients.width(), s.shards.gradients);
  const bool root_last = k.last && units_apart(s);
  const bool before = !root_last && st.root > parameters{0};
  if (k.splits) return {max(layer, root), bytes{0}, bytes{0}};  // what is left of gradients differs: no less than this
  reduction_moment most{};
  const auto look = [&](const reduction_moment& m) { most = m.total() > most.total() ? m : most; };
  if (before) look({root, root_gathered, bytes{0}});
  if (layers > 0) look({layer, layer_gathered + (before ? root_gathered : bytes{0}), before ? root - root_shard : bytes{0}});
  if (root_last) look({root, k.gathered, layers * layer - (k.sharded - root_shard)});
  return most;
}

/// What a chunk holds for all micro-batches.
constexpr void hold_eager_chunk(eager_chunk& k, const settled_job& s, const state_bytes& st, std::int64_t layers) {
  const auto& p = s.precision;
  const auto matrices = share(st.unit, s.source->framework.sharding.gathers_in_fp8 ? 1 : p.compute.width());
  k.gathered = layers * matrices + share(st.root, p.compute.width());
  k.gradients = layers * share(st.unit, p.reduce.width()) + share(st.root, p.reduce.width());
  k.sharded = st.gpu[row::gradients];
  k.reducing = reduction_of(k, s, st, layers, matrices);
  k.gather_pool = windows_of(s, st).gather_pool;
  k.states = st.gpu;
  k.updating = st.trained_copy;
  k.updating_alone = st.own_update;
}

/// `known`: the last chunk between the ends that was walked, on any stage.
[[gnu::noinline]] constexpr void make_eager_chunk(eager_chunk& k, const settled_job& s, const inventory& list, const model_slice& here, eager_chunk& known) {
  const auto recomputed = recomputed_of(s, here);
  if (known.like(here, recomputed)) {
    k = known;
    return;
  }
  k = {.first = here.embedding, .last = here.head};
  k.from = here.first, k.layers = here.count, k.recomputed = recomputed;
  const auto st = states_of_slice(s, list, here);
  if (properties_of(s.source->parallel.schedule).splits_backward && !k.first) {
    k.splits = true;
    k.fresh_layer = share(st.unit, s.layer.weight_width);
    if (s.layer.weight_width != s.precision.reduce.width()) k.fresh = here.count * k.fresh_layer + share(st.root, s.layer.weight_width);
  }
  const auto largest = [&](const model_slice& of) { return states_of_slice(s, list, of).largest; };
  const chunk_gradients gradients{here.count > 0 ? gradients_of(s, st.unit, largest({here.first, 1, false, false})) : unit_gradients{},
                                  st.root > parameters{0} ? gradients_of(s, st.root, largest({here.first, 0, here.embedding, here.head})) : unit_gradients{}};
  with_runs(s, s.layer, here, [&](const layer_runs& room) { walk_eager_chunk(k, s, here, room, gradients); });
  hold_eager_chunk(k, s, st, here.count);
  if (!here.embedding && !here.head) known = k;
}

}  // namespace detail

}  // namespace headroom
