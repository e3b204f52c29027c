// Distributed under the Boost Software License, Version 1.0.
// The walk over one pipeline stage's schedule, where layers are divided.
// Source: Megatron-LM core/pipeline_parallel/schedules.py; the orders are generated in layout/schedule.hpp.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/megatron_experts.hpp>
#include <headroom/layout/schedule.hpp>
#include <headroom/step/stage_states.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom {

namespace detail {

/// Layers of one kind in a row, within a chunk.
struct chunk_run {
  std::int64_t first;
  std::int64_t count;
  bool sparse;
};

/// One chunk of layers, for one micro-batch: what it leaves for backward, and its tallest moments above what the stage holds
/// for other micro-batches.
struct chunk_cost {
  static constexpr int capacity = 8;
  std::array<chunk_run, capacity> runs;  // in the order of forward
  std::int32_t size;
  bool has_head;
  moment saved;
  moment forward, loss, backward;
  std::int64_t forward_layer, backward_layer;
};

/// One layer as the step sees it: kept, or its input kept and the rest computed again.
struct layer_cost {
  moment saved{};
  moment forward{};
  moment backward{};
};

constexpr layer_cost cost_of(const layer_walk& w, bool recomputes) {
  if (!recomputes) return {w.saved, w.forward, w.backward};
  const moment input(row::activations, w.input);
  auto backward = w.backward;
  if (!w.input_saved) backward += input;
  return {input, w.forward_off, taller(backward, w.forward + moment(row::temporaries, w.input))};
}

constexpr layer_walk walk_divided_layer(const scene& sc, const module_set& trained, bool sparse, bool graphless) {
  layer_walk r;
  if (sc.model->mla.kv_rank > 0)
    join(r, megatron::latent_block(sc, true), true, graphless, true);
  else
    join(r, megatron::dense_block(sc, true, trained, true), true, graphless, true);
  if (sparse)
    join(r, megatron::sparse_block(sc, trained, true), false, graphless, true);
  else
    join(r, megatron::dense_block(sc, false, trained, true), false, graphless, true);
  return r;
}

}  // namespace detail

/// What all stages of a job share: its kinds of layer and its head, walked once.
struct divided_layers {
  detail::layer_cost dense{};
  detail::layer_cost sparse{};
  forward_walk head_forward{};
  backward_walk head_backward{};
};

constexpr divided_layers walk_divided_layers(const settled_job& s) {
  scene sc = s.layer;
  sc.model = &s.model;
  const auto trained = trained_modules(*s.source, -1);
  const bool recomputes = s.source->recompute.mode == recompute_mode::full;
  divided_layers r;
  bool dense = false;
  for (std::int64_t i = 0; i < s.model.layers && !dense; ++i) dense = !s.model.sparse_layer(i);
  if (dense) r.dense = detail::cost_of(detail::walk_divided_layer(sc, trained, false, recomputes), recomputes);
  if (s.model.sparse()) r.sparse = detail::cost_of(detail::walk_divided_layer(sc, trained, true, recomputes), recomputes);
  const auto head = megatron::head_and_loss(sc, trained);
  r.head_forward = walk_forward(head);
  r.head_backward = walk_backward(head, true);
  return r;
}

namespace detail {

/// The layers of a chunk as runs of one kind.
constexpr chunk_cost cut_chunk(const shape& m, const layer_chunk& c, layer_kinds& kinds) {
  chunk_cost k{};
  for (std::int64_t i = c.first; i < c.first + c.count; ++i) {
    const bool sparse = m.sparse_layer(i);
    (sparse ? kinds.sparse : kinds.dense) = true;
    if (k.size > 0 && k.runs[static_cast<std::size_t>(k.size - 1)].sparse == sparse) {
      ++k.runs[static_cast<std::size_t>(k.size - 1)].count;
      continue;
    }
    if (k.size == chunk_cost::capacity) refuse("headroom: a pipeline chunk holds at most 8 runs of dense and sparse layers; use more stages", k.size);
    k.runs[static_cast<std::size_t>(k.size++)] = {i, 1, sparse};
  }
  return k;
}

/// Fills in what a chunk costs: up through its layers to the loss, and down again.
constexpr void walk_chunk(chunk_cost& k, const divided_layers& w, bytes embedding_mask) {
  const auto cost = [&](const chunk_run& r) -> const layer_cost& { return r.sparse ? w.sparse : w.dense; };
  const auto keep = [](moment& tallest, std::int64_t& layer, const moment& live, const moment& peak, std::int64_t at) {
    if (live.total + peak.total <= tallest.total) return;
    tallest = live + peak;
    layer = at;
  };
  moment live(row::activations, embedding_mask);
  std::int64_t none = -1;
  for (std::int32_t i = 0; i < k.size; ++i) {
    const auto& r = k.runs[static_cast<std::size_t>(i)];
    live += (r.count - 1) * cost(r).saved;
    keep(k.forward, k.forward_layer, live, cost(r).forward, r.first + r.count - 1);
    live += cost(r).saved;
  }
  k.saved = live;
  if (k.has_head) {
    keep(k.loss, none, live, w.head_forward.peak, -1);
    k.saved += moment(w.head_forward.saved, w.head_forward.saved_rows);
    keep(k.backward, k.backward_layer, live, w.head_backward.peak, -1);
  }
  for (std::int32_t i = k.size; i-- > 0;) {
    const auto& r = k.runs[static_cast<std::size_t>(i)];
    live -= cost(r).saved;
    keep(k.backward, k.backward_layer, live, cost(r).backward, r.first + r.count - 1);
    live -= (r.count - 1) * cost(r).saved;
  }
}

}  // namespace detail

/// Walks the schedule of one stage. Only totals are added up on the way; what the tallest moments are made of is put together at
/// the end.
constexpr timeline walk_stage(const settled_job& s, const inventory& list, const divided_layers& w, std::int64_t stage) {
  const auto& j = *s.source;
  const auto& d = j.parallel;
  const auto& sc = s.layer;
  const bool first = stage == 0, last = stage == d.pipeline - 1;

  std::array<detail::chunk_cost, degrees::max_chunks> chunks;
  if (std::is_constant_evaluated()) chunks = {};
  std::size_t n = 0;
  detail::layer_kinds kinds;
  for_each_chunk(d, s.model.layers, stage, [&](const layer_chunk& c) {
    if (n == chunks.size()) refuse("headroom: a stage holds at most 64 chunks; parallel.virtual_pipeline", d.virtual_pipeline);
    auto& k = chunks[n++];
    k = detail::cut_chunk(s.model, c, kinds);
    k.has_head = last && c.index == d.pipeline * d.virtual_pipeline - 1;
    const bool masks = c.index == 0 && j.dropout.embedding.positive();
    detail::walk_chunk(k, w, masks ? bytes{checked::mul(sc.stream_tokens(), s.model.hidden)} : bytes{0});
  });

  moment resident{};
  resident.rows = detail::states_of_stage(s, detail::weights_of_stage(s, list, stage)) + detail::buffers_of_stage(s, first, last, kinds);
  resident.rows[row::activations] += 2 * bytes{checked::mul(sc.tokens, 8)};
  resident.total = resident.rows.total();

  // The tallest moment of each phase: which chunk, and how many micro-batches of each chunk are held then.
  using held_counts = std::array<std::int32_t, degrees::max_chunks>;
  struct tallest {
    bytes total;
    std::size_t chunk;
    held_counts held;
  };
  std::array<tallest, 3> best;
  for (auto& b : best) b = tallest{bytes{-1}, 0, {}};
  held_counts held{};
  bytes live{0};
  const auto look = [&](std::size_t which, std::size_t chunk, bytes peak) {
    if (live + peak > best[which].total) best[which] = {live + peak, chunk, held};
  };
  // A steady state repeats, so a few rounds of micro-batches show every moment.
  const auto rounds = checked::mul(3, d.pipeline);
  const pipeline_plan plan{d.virtual_pipeline > 1 ? schedule::interleaved : d.schedule, d.pipeline, d.virtual_pipeline,
                           j.batch.accumulation < rounds || d.schedule == schedule::gpipe ? j.batch.accumulation : rounds};
  run_schedule(plan, stage, [&](const work& step) {
    const auto c = static_cast<std::size_t>(step.chunk);
    const auto& k = chunks[c];
    if (step.kind == work_kind::forward) {
      look(0, c, k.forward.total);
      if (k.has_head) look(1, c, k.loss.total);
      live += k.saved.total;
      ++held[c];
    } else {
      live -= k.saved.total;
      --held[c];
      look(2, c, k.backward.total);
    }
  });

  timeline t;
  t.look(phase::load, -1, moment(row::model_parameters, resident.rows[row::model_parameters]));
  t.look(phase::reduce, -1, resident);
  t.look(phase::step, -1, resident);
  t.look(phase::save, -1, resident);
  constexpr std::array phases{phase::forward, phase::loss_forward, phase::backward};
  for (std::size_t i = 0; i < best.size(); ++i) {
    if (best[i].total < bytes{0}) continue;
    const auto& k = chunks[best[i].chunk];
    auto all = resident;
    for (std::size_t c = 0; c < n; ++c) all += best[i].held[c] * chunks[c].saved;
    t.look(phases[i], i == 0 ? k.forward_layer : i == 1 ? -1 : k.backward_layer, all, i == 0 ? k.forward : i == 1 ? k.loss : k.backward);
  }
  return t;
}

}  // namespace headroom
