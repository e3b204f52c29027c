// Distributed under the Boost Software License, Version 1.0.
// The walk over one pipeline stage of eager layers under FSDP2.
// Sources: torch distributed/pipelining/stage.py _PipelineStageBase, schedules.py Schedule1F1B, ScheduleInterleaved1F1B; distributed/
// fsdp/_fully_shard/_fsdp_param_group.py post_backward; torchtitan parallelisms/parallelize_llama.py apply_fsdp (pp_enabled).
//  - Parameters stay gathered from their first use to the last backward of their part of the model.
//  - Until then gradients add up whole, in the format of the reduction; then they are reduced, layer by layer.
//  - A stage has a buffer for what it receives of every micro-batch, forward and backward; what it received forward keeps its gradient
//    to the end of the step, and what it sends lies in its cache until the micro-batch comes back.
//  - Between two chunks on one stage nothing is sent: the result of one is the other's input (set_local_fwd_input, set_local_bwd_input).
//  - The last stage collects what the model returns, the logits of every micro-batch, and joins them when the step is over.
#pragma once

#include <headroom/engine/eager/eager_steps.hpp>
#include <headroom/layout/schedule.hpp>

namespace headroom {

namespace detail {

/// Micro-batches that an order of the library's own can go without: once it is under way it repeats, in groups where it has them.
constexpr std::int64_t steps_to_skip(const schedule_properties& order, std::int64_t stages, std::int64_t micros) {
  const auto group = order.in_groups ? stages : 1;
  const auto enough = order.steady(stages, 0, stages);
  return micros <= enough ? 0 : (micros - enough) / group * group;
}

/// The walk of walk_eager_stage(); `chunks`: room for `most`.
template <class Order>
constexpr timeline walk_eager_chunks(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage, const Order& order,
                                     known_eager_chunk& known, eager_chunk* chunks, std::size_t most) {
  const auto& j = *s.source;
  const auto& d = j.parallel;
  const auto& sc = s.layer;
  std::size_t n = 0;
  moment resident{};
  bytes sharded{0}, gather_pool{0}, update{0};
  std::int64_t before = 0;
  cut.for_each(stage, [&](const layer_chunk& c) {
    if (n == most) refuse("headroom: a stage holds at most 64 chunks; parallel.virtual_pipeline", d.virtual_pipeline);
    state_bytes st;
    auto& k = chunks[n++] = eager_chunk_of(s, list, {c.first, c.count, c.index == 0, c.index == cut.chunks() - 1}, st, known);
    k.hands_on = false;
    k.handed = n > 1 && c.index == before + 1;
    if (k.handed) chunks[n - 2].hands_on = true;
    before = c.index;
    resident.rows += st.gpu;
    sharded += k.sharded;
    gather_pool = max(gather_pool, k.gather_pool);
    if (s.optimizer.how == implementation::foreach) update += j.framework.optimizer.foreach_copies * st.trained_copy;
  });
  const bytes stream{checked::round_up(checked::mul(checked::mul(sc.stream_tokens(), s.model.hidden), sc.residual_width), sc.granule)};
  const auto micros = j.batch.accumulation;
  resident.rows[row::gradients] = bytes{0};
  resident.rows[row::workspace] += j.framework.process.cublas_handles * cublas_workspace(s);
  resident.rows[row::activations] += 2 * bytes{checked::mul(checked::mul(sc.tokens, micros), 8)};
  if (j.framework.rotary.caches() && s.model.position == position_kind::rope)
    resident.rows[row::activations] += static_cast<std::int64_t>(n) * (2 * sc.sequence * bytes{checked::mul(s.model.head_width() * s.model.rotary_percent / 100, 4)});
  for (std::size_t c = 0; c < n; ++c)
    resident.rows[row::communication_buffers] += ((chunks[c].first ? 0 : 1) + (chunks[c].last ? 0 : 1)) * (micros * stream);
  resident.total = resident.rows.total();

  timeline t;
  t.watch_pools(gather_pool, sharded);
  t.look(phase::load, -1, moment(row::model_parameters, resident.rows[row::model_parameters]));

  const auto kind = schedule_of(d);
  const auto skipped = Order::repeats ? steps_to_skip(properties_of(kind), d.pipeline, micros) : 0;
  eager_steps steps(chunks, n, properties_of(kind).splits_backward, micros, skipped, stream, resident.total);
  order.run(pipeline_plan{kind, d.pipeline, static_cast<std::int64_t>(n), micros - skipped, 0}, stage, [&](const work& step) { steps(step); });
  moment live;
  steps.tell(t, resident, live);
  t.elsewhere(sharded);
  bytes joined{0};
  for (std::size_t c = 0; c < n; ++c) joined += micros * chunks[c].logits;
  t.look(phase::loss_forward, -1, live, part{row::logits, joined});  // merge_chunks
  t.look(phase::step, -1, live, part{row::temporaries, update});
  t.look(phase::save, -1, resident);
  return t;
}

/// use(chunks): room for so many. A stage seldom has more than a few, and 64 of them take as much as the stack of some threads.
template <std::size_t Room, class Use>
[[gnu::noinline]] constexpr timeline with_chunks(const Use& use) {
  auto chunks = room<eager_chunk, Room>::open();
  return use(&chunks[0], Room);
}

}  // namespace detail

/// Walks the schedule of one stage of a job whose eager layers are cut into a pipeline.
template <class Order>
constexpr timeline walk_eager_stage(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage, const Order& order,
                                    detail::known_eager_chunk& known) {
  const auto walk = [&](detail::eager_chunk* chunks, std::size_t most) { return detail::walk_eager_chunks(s, list, cut, stage, order, known, chunks, most); };
  return s.source->parallel.virtual_pipeline <= 4 ? detail::with_chunks<4>(walk) : detail::with_chunks<degrees::max_chunks>(walk);
}

}  // namespace headroom
