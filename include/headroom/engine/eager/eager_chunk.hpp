// Distributed under the Boost Software License, Version 1.0.
// Layers of one pipeline stage that run in a row, eager and under FSDP2: what they cost for one micro-batch, and what they hold for all.
#pragma once

#include <headroom/engine/eager/layer_runs.hpp>
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
  std::int64_t forward_layer{-1}, backward_layer{-1};
  bytes logits{};                     ///< what its head returns
  bytes loss_span{};                  ///< the segment that head and loss need
  bytes gathered{}, gradients{}, sharded{};  ///< parameters, and gradients whole and reduced
  bytes largest{};                    ///< the largest unit's gradients
  bytes gather_pool{};
  bool first{}, last{};
};

constexpr bool units_apart(const settled_job& s) { return s.source->framework.sharding.splits_root && !s.model.tied; }

/// Walks the layers of a chunk up and down.
constexpr void walk_eager_chunk(eager_chunk& k, const settled_job& s, const model_slice& here) {
  const auto& j = *s.source;
  scene sc = s.layer;
  sc.model = &s.model;
  sc.compiled = false;  // embedding and head are not
  const auto outside = trained_modules(j, -1);
  moment live{};
  const auto keep = [&](moment& tallest, std::int64_t& layer, const moment& peak, std::int64_t at) {
    if (tallest.rise_to(live, peak)) layer = at;
  };
  std::int64_t none = -1;
  const auto front = embedding(sc, outside);
  const auto front_forward = k.first ? walk_forward(front) : forward_walk{};
  if (k.first) keep(k.forward, k.forward_layer, front_forward.peak, -1);
  const moment front_saved(front_forward.saved, front_forward.saved_rows);
  live += front_saved;
  auto runs = cut_layers(s, sc, here, true);
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
  if (k.last) {
    const auto tail = tail_of(sc, outside, true);
    const auto tail_forward = walk_forward(tail);
    const auto logits = checked::mul(checked::mul(sc.tokens, sc.divided(sc.vocabulary)), sc.width);
    k.logits = bytes{logits};
    k.loss_span = live.total + tail.size(tail.input()) + span_of(tail);
    keep(k.loss, none, tail_forward.peak, -1);
    keep(k.backward, none, walk_backward(tail).peak, -1);
    k.saved += moment(tail_forward.saved, tail_forward.saved_rows);
  }
  for (auto i = runs.size; i-- > 0;) {
    const auto& r = runs.list[i];
    live -= r.saved;
    keep(k.backward, k.backward_layer, r.backward, r.first + r.count * r.span - 1);
    live += multiple{1 - r.count, r.saved};
    if (i == 0) k.end = live + r.backward;
  }
  if (k.first || runs.size == 0) return;
  // What the first layer reads lies in a buffer for all micro-batches.
  const bytes received = -front.size(front.output());
  k.forward.add(row::activations, received);
  if (!runs.list[0].keeps_input) return;
  for (auto* m : {&k.saved, &k.loss, &k.backward, &k.end})
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
}

/// The last chunk between the ends that was looked at. Others with as many layers, of which as many are recomputed, cost the same.
struct known_eager_chunk {
  std::int64_t count{}, recomputed{}, first{};
  eager_chunk cost{};
  state_bytes states{};
};

constexpr eager_chunk eager_chunk_of(const settled_job& s, const inventory& list, const model_slice& here, state_bytes& st, known_eager_chunk& known) {
  const auto again = recomputed_layers(s.source->recompute, s.model.layers) - here.first;
  const auto recomputed = again < 0 ? 0 : smaller(again, here.count);
  const bool between = !here.embedding && !here.head;
  if (between && known.count == here.count && known.recomputed == recomputed) {
    auto k = known.cost;
    if (k.forward_layer >= 0) k.forward_layer += here.first - known.first;
    if (k.backward_layer >= 0) k.backward_layer += here.first - known.first;
    st = known.states;
    return k;
  }
  eager_chunk k{.first = here.embedding, .last = here.head};
  st = states(s, weights_of_slice(list, here));
  walk_eager_chunk(k, s, here);
  hold_eager_chunk(k, s, st, here.count);
  if (between) known = {here.count, recomputed, here.first, k, st};
  return k;
}

}  // namespace detail

}  // namespace headroom
