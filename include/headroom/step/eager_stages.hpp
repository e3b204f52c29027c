// Distributed under the Boost Software License, Version 1.0.
// The walk over one pipeline stage of eager layers under FSDP2.
// Sources: torch distributed/pipelining/stage.py _PipelineStageBase, schedules.py Schedule1F1B, ScheduleInterleaved1F1B; distributed/
// fsdp/_fully_shard/_fsdp_param_group.py post_backward; torchtitan parallelisms/parallelize_llama.py apply_fsdp (pp_enabled).
//  - Parameters stay gathered from their first use to the last backward of their part of the model.
//  - Until then gradients add up whole, in the format of the reduction; then they are reduced, layer by layer.
//  - A stage has a buffer for what it receives of every micro-batch, forward and backward; what it received forward keeps its gradient
//    to the end of the step, and what it sends lies in its cache until the micro-batch comes back.
//  - The last stage collects what the model returns, the logits of every micro-batch, and joins them when the step is over.
#pragma once

#include <headroom/layout/schedule.hpp>
#include <headroom/step/outside.hpp>
#include <headroom/step/spread.hpp>
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

constexpr bool units_apart(const settled_job& s) { return s.source->framework.splits_root && !s.model.tied; }

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
  const auto matrices = share(st.unit, s.source->framework.gathers_in_fp8 ? 1 : p.compute.width());
  k.gathered = layers * matrices + share(st.root, p.compute.width());
  k.gradients = layers * share(st.unit, p.reduce.width()) + share(st.root, p.reduce.width());
  k.sharded = st.gpu[row::gradients];
  const auto largest = units_apart(s) && st.embedding < st.root ? st.root - st.embedding : st.root;
  k.largest = share(st.unit > largest ? st.unit : largest, p.reduce.width());
  k.gather_pool = windows_of(s, st).gather_pool;
}

}  // namespace detail

/// Walks the schedule of one stage of a job whose eager layers are cut into a pipeline.
template <class Order>
constexpr timeline walk_eager_stage(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage, const Order& order) {
  const auto& j = *s.source;
  const auto& d = j.parallel;
  const auto& sc = s.layer;
  std::array<detail::eager_chunk, degrees::max_chunks> chunks;
  if (std::is_constant_evaluated()) chunks = {};
  std::size_t n = 0;
  moment resident{};
  bytes sharded{0}, gather_pool{0}, update{0};
  cut.for_each(stage, [&](const layer_chunk& c) {
    if (n == chunks.size()) refuse("headroom: a stage holds at most 64 chunks; parallel.virtual_pipeline", d.virtual_pipeline);
    auto& k = chunks[n++];
    k = {};
    k.first = c.index == 0;
    k.last = c.index == cut.chunks() - 1;
    const model_slice here{c.first, c.count, k.first, k.last};
    const auto st = states(s, detail::weights_of_slice(list, here));
    detail::walk_eager_chunk(k, s, here);
    detail::hold_eager_chunk(k, s, st, c.count);
    resident.rows += st.gpu;
    sharded += k.sharded;
    gather_pool = max(gather_pool, k.gather_pool);
    if (s.optimizer.how == implementation::foreach) update += j.framework.foreach_copies * st.trained_copy;
  });
  const bytes stream{checked::round_up(checked::mul(checked::mul(sc.stream_tokens(), s.model.hidden), sc.residual_width), sc.granule)};
  const auto micros = j.batch.accumulation;
  resident.rows[row::gradients] = bytes{0};
  resident.rows[row::workspace] += j.framework.cublas_handles * cublas_workspace(s);
  resident.rows[row::activations] += 2 * bytes{checked::mul(checked::mul(sc.tokens, micros), 8)};
  if (j.framework.rotary_cache && s.model.position == position_kind::rope)
    resident.rows[row::activations] += static_cast<std::int64_t>(n) * (2 * sc.sequence * bytes{checked::mul(s.model.head_width() * s.model.rotary_percent / 100, 4)});
  for (std::size_t c = 0; c < n; ++c)
    resident.rows[row::communication_buffers] += ((chunks[c].first ? 0 : 1) + (chunks[c].last ? 0 : 1)) * (micros * stream);
  resident.total = resident.rows.total();

  timeline t;
  t.watch_pools(gather_pool, sharded);
  t.look(phase::load, -1, moment(row::model_parameters, resident.rows[row::model_parameters]));

  // What is alive of all chunks, step by step.
  moment live = resident;
  bytes reduced{0};
  std::array<std::int64_t, degrees::max_chunks> forwards, backwards;
  for (std::size_t c = 0; c < n; ++c) forwards[c] = backwards[c] = 0;
  if (std::is_constant_evaluated()) forwards = backwards = {};
  const auto kind = d.virtual_pipeline > 1 ? schedule::interleaved : d.schedule;
  order.run(pipeline_plan{kind, d.pipeline, static_cast<std::int64_t>(n), micros, 0}, stage, [&](const work& step) {
    const auto c = static_cast<std::size_t>(step.chunk);
    const auto& k = chunks[c];
    t.elsewhere(reduced);
    if (step.kind == work_kind::forward) {
      if (forwards[c]++ == 0) live.add(row::gathered_parameters, k.gathered);
      t.look(phase::forward, k.forward_layer, live, k.forward);
      if (k.last) {
        t.look(phase::loss_forward, -1, live, k.loss);
        t.reach(live.total + k.loss_span);
      }
      live += k.saved;
      if (k.last) live.add(row::logits, k.logits);
      else live.add(row::activations, stream);  // what it sends
      return;
    }
    live -= k.saved;
    if (backwards[c] == 0) {
      t.look(phase::backward, k.backward_layer, live, k.backward);
      live.add(row::gradients, k.gradients);
      t.look(phase::backward, -1, live, k.end);
    } else {
      t.look(phase::backward, k.backward_layer, live, k.backward);
    }
    if (!k.last) live.add(row::activations, -stream);
    if (!k.first) live.add(row::communication_buffers, stream);  // the gradient of what it received
    if (++backwards[c] < micros) return;
    t.look(phase::reduce, -1, live, part{row::communication_buffers, k.largest});
    live.add(row::gathered_parameters, -k.gathered);
    live.add(row::gradients, k.sharded - k.gradients);
    reduced += k.sharded;
  });
  t.elsewhere(sharded);
  bytes joined{0};
  for (std::size_t c = 0; c < n; ++c) joined += micros * chunks[c].logits;
  t.look(phase::loss_forward, -1, live, part{row::logits, joined});  // merge_chunks
  t.look(phase::step, -1, live, part{row::temporaries, update});
  t.look(phase::save, -1, resident);
  return t;
}

}  // namespace headroom
