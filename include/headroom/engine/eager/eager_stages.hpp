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

#include <headroom/engine/eager/chunk_walk.hpp>
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

/// The chunks of a stage, and what those cost that are not alike.
struct chunk_list {
  eager_chunk* costs;
  std::size_t capacity, different{0}, size{0};
  room<placed_chunk, degrees::max_chunks> placed = room<placed_chunk, degrees::max_chunks>::open();
};
constexpr void place_chunks(chunk_list& to, const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage, eager_chunk& known) {
  std::int64_t before = 0;
  cut.for_each(stage, [&](const layer_chunk& c) {
    const model_slice here{c.first, c.count, c.index == 0, c.index == cut.chunks() - 1};
    const auto recomputed = recomputed_of(s, here);
    std::size_t i = 0;
    while (i < to.different && !to.costs[i].like(here, recomputed)) ++i;
    if (to.size == degrees::max_chunks || i == to.capacity) refuse("headroom: a stage holds at most 64 chunks; parallel.virtual_pipeline", s.source->parallel.virtual_pipeline);
    if (i == to.different) make_eager_chunk(to.costs[to.different++], s, list, here, known);
    const bool handed = to.size > 0 && c.index == before + 1;
    if (handed) to.placed[to.size - 1].hands_on = true;
    to.placed[to.size++] = {&to.costs[i], here.first - to.costs[i].from, false, handed};
    before = c.index;
  });
}

/// The walk of walk_eager_stage(); `costs`: room for those of `most` chunks that are not alike.
template <class Order>
constexpr timeline walk_eager_chunks(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage, const Order& order,
                                     eager_chunk& known, eager_chunk* costs, std::size_t most) {
  const auto& j = *s.source;
  const auto& d = j.parallel;
  const auto& sc = s.layer;
  chunk_list all{.costs = costs, .capacity = most};
  place_chunks(all, s, list, cut, stage, known);
  const auto n = all.size;
  moment resident{};
  bytes sharded{0}, gather_pool{0}, update{0};
  for (std::size_t c = 0; c < n; ++c) {
    const auto& k = *all.placed[c].cost;
    resident.rows += k.states;
    sharded += k.sharded;
    gather_pool = max(gather_pool, k.gather_pool);
    if (s.optimizer.how == implementation::foreach) update += detail::foreach_copies(s) * k.updating;
    if (s.optimizer.by_tensor != nullptr) update = max(update, k.updating_alone);
  }
  const bytes stream{checked::round_up(checked::mul(sc.stream_tokens(), s.model.hidden, sc.residual_width), sc.granule)};
  const auto micros = j.batch.accumulation;
  resident.rows[row::gradients] = bytes{0};
  resident.rows[row::workspace] += j.framework.process.cublas_handles * cublas_workspace(s);
  resident.rows[row::activations] += 2 * bytes{checked::mul(sc.tokens, micros, 8)};
  if (j.framework.rotary.caches() && s.model.position == position_kind::rope)
    resident.rows[row::activations] += static_cast<std::int64_t>(n) * (2 * sc.sequence * bytes{checked::mul(s.model.head_width() * s.model.rotary_percent / 100, 4)});
  for (std::size_t c = 0; c < n; ++c)
    resident.rows[row::communication_buffers] += ((all.placed[c].cost->first ? 0 : 1) + (all.placed[c].cost->last ? 0 : 1)) * (micros * stream);
  resident.total = resident.rows.total();

  timeline t;
  t.watch_pools(gather_pool, sharded);
  t.look(phase::load, -1, moment(row::model_parameters, resident.rows[row::model_parameters]));

  const auto kind = schedule_of(d);
  const auto skipped = Order::repeats ? steps_to_skip(properties_of(kind), d.pipeline, micros) : 0;
  eager_steps steps(&all.placed[0], n, properties_of(kind).splits_backward, micros, skipped, stream, resident.total);
  order.run(pipeline_plan{kind, d.pipeline, static_cast<std::int64_t>(n), micros - skipped, 0}, stage, [&](const work& step) { steps(step); });
  moment live;
  steps.tell(t, resident, live);
  t.elsewhere(sharded);
  bytes joined{0};
  for (std::size_t c = 0; c < n; ++c) joined += micros * all.placed[c].cost->logits;
  t.look(phase::loss_forward, -1, live, part{row::logits, joined});  // merge_chunks
  t.look(phase::step, -1, live, part{row::temporaries, update});
  t.look(phase::save, -1, resident);
  return t;
}

/// How many chunks of a stage are not alike.
constexpr std::size_t different_chunks(const settled_job& s, const stage_cut& cut, std::int64_t stage) {
  std::size_t n = 0;
  cut.for_each(stage, [&](const layer_chunk& c) {
    const auto again = [&](const layer_chunk& of) { return recomputed_of(s, {of.first, of.count, false, false}); };
    const auto end = [&](const layer_chunk& of) { return of.index == 0 || of.index == cut.chunks() - 1; };
    bool seen = false;
    cut.for_each(stage, [&](const layer_chunk& b) { seen = seen || (b.index < c.index && !end(b) && !end(c) && b.count == c.count && again(b) == again(c)); });
    n += seen ? 0 : 1;
  });
  return n;
}

/// use(costs): room for so many.
template <std::size_t Room, class Use>
[[gnu::noinline]] constexpr timeline with_costs(const Use& use) {
  auto costs = room<eager_chunk, Room>::open();
  return use(&costs[0], Room);
}

}  // namespace detail

/// Walks the schedule of one stage of a job whose eager layers are cut into a pipeline. Chunks seldom differ but for the first, the last
/// and one that recomputation ends in; 64 of them take as much as the stack of some threads.
constexpr timeline walk_eager_stage(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage, const auto& order,
                                    detail::eager_chunk& known) {
  const auto walk = [&](detail::eager_chunk* costs, std::size_t most) { return detail::walk_eager_chunks(s, list, cut, stage, order, known, costs, most); };
  const bool few = s.source->parallel.virtual_pipeline <= 4 || detail::different_chunks(s, cut, stage) <= 4;
  return few ? detail::with_costs<4>(walk) : detail::with_costs<degrees::max_chunks>(walk);
}

}  // namespace headroom
