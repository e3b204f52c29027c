// Distributed under the Boost Software License, Version 1.0.
// Layers of one pipeline stage that run in a row, eager and under FSDP2: what they cost for one micro-batch, and what they hold for all.
#pragma once

#include <headroom/engine/eager/layer_costs.hpp>
#include <headroom/engine/eager/spread.hpp>
#include <headroom/engine/eager/step_parts.hpp>
#include <headroom/states/outside.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom {

namespace detail {

/// Layers of one stage that run in a row: what they cost for one micro-batch, and what they hold for all.
struct eager_chunk {
  moment saved{};                     ///< for backward; what was received is not in it
  moment forward{}, loss{}, backward{}, end{};  ///< peaks; `end`: of the backward of its first layer, when all else is done
  moment adding{};                    ///< … of a backward that adds gradients of weights to those of earlier micro-batches on its way
  std::int64_t forward_layer{-1}, backward_layer{-1}, adding_layer{-1};
  bytes logits{};                     ///< what its head returns
  bytes loss_span{};                  ///< the segment that head and loss need
  bytes gathered{}, gradients{}, sharded{};  ///< parameters, and gradients whole and reduced
  bytes largest{};                    ///< the largest unit's gradients
  bytes gather_pool{};
  bool first{}, last{};

  // Where gradients of weights are work of their own, and its input has a gradient:
  bool splits{};
  moment waiting{};                   ///< gradients of results, between the two
  bytes fresh{};                      ///< gradients of weights as autograd makes them, until the next backward adds them up in another format
  bytes fresh_layer{};                ///< … of a layer

  // What it holds all along, and which others it stands for:
  breakdown states{};
  bytes updating{};                   ///< one copy of what trains, in the state's format
  bytes updating_alone{};             ///< what an optimizer's own code makes of its tensors
  std::int64_t from{}, layers{}, recomputed{};  ///< where its layers begin, how many there are, and of how many the forward runs again

  /// Chunks between the ends with as many layers, of which as many are recomputed, cost the same.
  [[nodiscard]] constexpr bool like(const model_slice& here, std::int64_t again) const {
    return !first && !last && !here.embedding && !here.head && layers == here.count && recomputed == again;
  }
};

/// A chunk on its stage.
struct placed_chunk {
  const eager_chunk* cost{};
  std::int64_t above{};      ///< so many layers behind those that were walked
  bool hands_on{}, handed{}; ///< its result is the next chunk's input, on the same stage; its input the one's before
};

constexpr bool units_apart(const settled_job& s) { return s.source->framework.sharding.splits_root && !s.model.tied; }

/// The backward of a run's layer (or group of them) that leaves the gradients of its weights for later, above what it did not save.
struct inputs_backward {
  moment peak{}, waiting{};
};
constexpr inputs_backward inputs_backward_of(const scene& sc, const layer_run& run) {
  inputs_backward r;
  moment saved{};  // by earlier parts, which run later
  const auto add = [&](const program& p) {
    const auto f = walk_forward(p);
    const auto b = walk_backward(p, false, weight_work::later_in_graph);
    const auto earlier = r.peak;
    r.peak = b.peak + saved;
    r.peak.rise_to(earlier, moment(f.saved, f.saved_rows), b.kept);
    r.waiting += b.kept;
    saved += moment(f.saved, f.saved_rows);
  };
  for (auto i = run.first; i < run.first + run.span; ++i) for_each_block(sc, sc.model->kind_of(i), run.trained, true, add);
  return r;
}

/// The backward of a chunk's inputs (torch distributed/pipelining/_backward.py stage_backward_input): the graph stays whole. Of earlier
/// micro-batches FSDP adds up a layer's gradients of weights when the layer's backward is done (_fsdp_param_group.py post_backward,
/// _fsdp_param.py to_accumulated_grad_if_needed), since autograd.grad() for weights alone runs no hook of it.
constexpr void walk_inputs_backward(eager_chunk& k, const scene& sc, const layer_runs& runs) {
  const auto all_saved = k.saved;
  k.adding = k.backward;
  const moment layer(row::gradients, k.fresh_layer);
  std::int64_t done = 0;
  for (auto i = runs.size; i-- > 0;) {
    const auto& r = runs.list[i];
    const auto one = inputs_backward_of(sc, r);
    for (const auto n : {std::int64_t{0}, r.count - 1}) {  // what waits grows, and what is added up shrinks, from layer to layer
      auto live = all_saved + k.waiting + n * one.waiting;
      live -= r.saved;
      const auto at = r.first + (r.count - n) * r.span - 1;
      if (k.backward.rise_to(live, one.peak)) k.backward_layer = at;
      if (k.adding.rise_to(live, one.peak, multiple{-(done + n * r.span), layer})) k.adding_layer = at;
    }
    k.waiting += multiple{r.count, one.waiting};
    done += r.count * r.span;
  }
}

/// Head and loss of the last chunk. `live`: what its layers have saved.
constexpr void walk_tail(eager_chunk& k, const scene& sc, const program& tail, const moment& live) {
  const auto f = walk_forward(tail);
  k.logits = bytes{checked::mul(checked::mul(sc.tokens, sc.divided(sc.vocabulary)), sc.width)};
  k.loss_span = live.total + tail.size(tail.input()) + span_of(tail);
  k.loss.rise_to(live, f.peak);
  if (!k.splits) k.backward.rise_to(live, walk_backward(tail).peak);
  k.saved += moment(f.saved, f.saved_rows);
  if (!k.splits) return;
  const auto b = walk_backward(tail, false, weight_work::later_in_graph);
  k.backward = k.saved + b.peak;
  k.backward -= moment(f.saved, f.saved_rows);
  k.waiting = b.kept;
}

/// Walks the layers of a chunk up and down; `runs`: room for them.
constexpr void walk_eager_chunk(eager_chunk& k, const settled_job& s, const model_slice& here, layer_runs runs) {
  const auto& j = *s.source;
  scene sc = s.layer;
  sc.model = &s.model;
  sc.compiled = false;  // embedding and head are not
  const auto outside = trained_modules(j, -1);
  moment live{};
  const auto keep = [&](moment& tallest, std::int64_t& layer, const moment& peak, std::int64_t at) {
    if (tallest.rise_to(live, peak)) layer = at;
  };
  bytes input{0};
  with_made([&] { return embedding(sc, outside); }, [&](const program& front) {
    input = front.size(front.output());
    if (!k.first) return;
    const auto f = walk_forward(front);
    keep(k.forward, k.forward_layer, f.peak, -1);
    live += moment(f.saved, f.saved_rows);
  });
  cut_layers(runs, s, sc, here, true);
  sc.compiled = s.layer.compiled;
  for (std::size_t i = 0; i < runs.size; ++i) {
    auto& r = runs.list[i];
    cost_run(r, s, sc, false, false, shipped_layers{});
    live += multiple{r.count - 1, r.saved};
    keep(k.forward, k.forward_layer, r.forward, r.first + r.count * r.span - 1);
    live += r.saved;
  }
  sc.compiled = false;
  k.saved = live;
  if (k.last) with_made([&] { return tail_of(sc, outside, true); }, [&](const program& tail) { walk_tail(k, sc, tail, live); });
  if (k.splits) walk_inputs_backward(k, sc, runs);
  for (auto i = k.splits ? 0 : runs.size; i-- > 0;) {
    const auto& r = runs.list[i];
    live -= r.saved;
    keep(k.backward, k.backward_layer, r.backward, r.first + r.count * r.span - 1);
    live += multiple{1 - r.count, r.saved};
    if (i == 0) k.end = live + r.backward;
  }
  if (k.first || runs.size == 0) return;
  // What the first layer reads lies in a buffer for all micro-batches.
  const bytes received = -input;
  k.forward.add(row::activations, received);
  if (!runs.list[0].keeps_input) return;
  for (auto* m : {&k.saved, &k.loss, &k.backward, &k.adding, &k.end})
    if (m->total > bytes{0}) m->add(row::activations, received);
  k.loss_span += k.last ? received : bytes{0};
}

/// What a chunk holds for all micro-batches.
constexpr void hold_eager_chunk(eager_chunk& k, const settled_job& s, const state_bytes& st, std::int64_t layers) {
  const auto& p = s.precision;
  const auto matrices = share(st.unit, s.source->framework.sharding.gathers_in_fp8 ? 1 : p.compute.width());
  k.gathered = layers * matrices + share(st.root, p.compute.width());
  k.gradients = layers * share(st.unit, p.reduce.width()) + share(st.root, p.reduce.width());
  k.sharded = st.gpu[row::gradients];
  const auto largest = units_apart(s) && st.embedding < st.root ? st.root - st.embedding : st.root;
  k.largest = share(st.unit > largest ? st.unit : largest, p.reduce.width());
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
  with_runs(s, s.layer, here, [&](const layer_runs& room) { walk_eager_chunk(k, s, here, room); });
  hold_eager_chunk(k, s, st, here.count);
  if (!here.embedding && !here.head) known = k;
}

}  // namespace detail

}  // namespace headroom
