// Distributed under the Boost Software License, Version 1.0.
// The walk over one pipeline stage's schedule, where layers are divided.
// Source: Megatron-LM core/pipeline_parallel/schedules.py; the orders are generated in layout/schedule.hpp.
#pragma once

#include <headroom/engine/tensor_parallel/fsdp_chunk.hpp>
#include <headroom/engine/tensor_parallel/layer_wise.hpp>
#include <headroom/engine/tensor_parallel/stage_order.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom {

namespace detail {

/// What of a micro-batch lies beside the residual stream of a chunk: a dropout's mask behind the embedding, and an attention mask that the
/// loader makes.
struct chunk_masks {
  bytes embedding, attention;
};
constexpr chunk_masks masks_of(const settled_job& s, bool has_embedding, bool has_head) {
  const auto& j = *s.source;
  const auto& sc = s.layer;
  const bool masks = j.framework.attention.masks_in_loader && (has_embedding || has_head);
  return {bytes{has_embedding && j.dropout.embedding.positive() ? checked::mul(sc.stream_tokens(), s.model.hidden) : 0},
          bytes{masks ? checked::mul(checked::mul(sc.samples, sc.sequence), sc.sequence / sc.context) : 0}};
}

/// What a stage holds all the time: states, buffers, tokens and labels.
constexpr moment resident_of_stage(const settled_job& s, const breakdown& states, stage_parts parts) {
  moment r{};
  r.rows = states + buffers_of_stage(s, parts);
  r.rows[row::activations] += 2 * bytes{checked::mul(s.layer.tokens, 8)};
  r.total = r.rows.total();
  return r;
}

/// Each chunk's last input stays an attribute of its layers (TransformerBlock.input_tensor), its gradient with it. `given`: chunks that
/// have theirs from another stage.
constexpr bytes inputs_left(const degrees& d, std::int64_t given, bytes input) { return d.pipeline > 1 ? 2 * given * input : bytes{0}; }

}  // namespace detail

/// Walks the schedule of one stage. Only totals are added up on the way; what the tallest moments are made of is put together at
/// the end.
template <class Order = detail::shipped_order>
constexpr timeline walk_stage(const settled_job& s, const detail::rank_weights& weights, const stage_cut& cut, const divided_layers& w, std::int64_t stage,
                              const Order& order = {}, bytes* on_host = nullptr, const detail::fsdp_layout* fsdp = nullptr) {
  const auto& j = *s.source;
  const auto& d = j.parallel;

  auto chunks = room<detail::chunk_cost, degrees::max_chunks>::open();
  std::size_t n = 0;
  detail::stage_parts parts;
  std::int64_t inputs = 0;  // chunks that are given theirs by another stage
  bytes gathered{0};
  cut.for_each(stage, [&](const layer_chunk& c) {
    if (n == degrees::max_chunks) refuse("headroom: a stage holds at most 64 chunks; parallel.virtual_pipeline", d.virtual_pipeline);
    auto& k = chunks.put(n++, detail::cut_chunk(j, s.model, c, parts), c.index == cut.chunks() - 1);
    if (c.index > 0) ++inputs;
    detail::add_ends(parts, s.model, c.index == 0, k.has_head);
    const auto [embedding_mask, mask] = detail::masks_of(s, c.index == 0, k.has_head);
    if (fsdp == nullptr)
      detail::walk_chunk(k, j, s.model, w, embedding_mask, mask);
    else [[unlikely]]
      gathered = detail::walk_fsdp_chunk(k, s, w, *fsdp, embedding_mask, mask);
  });

  const auto held_weights = weights.of_stage(cut, stage);
  const bool whole = detail::layer_wise(s);
  const auto resident = detail::resident_of_stage(s,
                                                  fsdp != nullptr ? detail::fsdp_states(s, *fsdp)
                                                  : whole         ? detail::layer_wise_states(s, weights.list(), cut, stage)
                                                                  : detail::states_of_stage(s, held_weights),
                                                  parts);
  const auto plan = detail::plan_of_stage<Order>(j, stage, static_cast<std::int64_t>(n));
  detail::offloaded_layers offloaded(chunks, n, plan, j.framework.pipeline.overlaps_experts);
  detail::tallest_of_stage tallest(&chunks[0], n, w.input, properties_of(d.schedule).splits_backward, offloaded);
  detail::follow_order(order, plan, stage, detail::boundary_tensors(d, j.framework.pipeline, parts), [&](std::int64_t c) { return chunks[static_cast<std::size_t>(c)].has_head; }, tallest);

  if (on_host != nullptr) *on_host = max(*on_host, offloaded.on_host());
  timeline t;
  t.look(phase::load, -1, moment(row::model_parameters, resident.rows[row::model_parameters]));
  const part inputs_left{row::communication_buffers, detail::inputs_left(d, inputs, w.input)};
  t.look(phase::reduce, -1, resident, inputs_left);
  t.look(phase::step, -1, resident, inputs_left, part{row::temporaries, detail::update_temporaries(s, held_weights) + (whole ? detail::layer_wise_temporaries(s, held_weights) : bytes{0})});
  t.look(phase::save, -1, resident, inputs_left);
  constexpr std::array phases{phase::forward, phase::loss_forward, phase::backward};
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const auto& b = tallest.best()[i];
    if (b.total < bytes{0}) continue;
    const auto& k = chunks[b.chunk];
    auto all = resident;
    for (std::size_t c = 0; c < n; ++c) all += multiple{b.held[c], chunks[c].saved};
    all += multiple{b.waiting, chunks[0].kept};
    all.add(row::communication_buffers, b.boundary * w.input);
    all.add(row::activations, b.ahead);
    t.look(phases[i], i == 0 ? k.forward_layer : i == 1 ? -1 : k.backward_layer, all, i == 0 ? k.forward : i == 1 ? k.loss : k.backward);
  }
  if (fsdp != nullptr) [[unlikely]] {
    t.look(phase::load, -1, detail::fsdp_load(*fsdp));
    t.watch_pools(resident.rows[row::gathered_parameters] + gathered, bytes{0});
    for (const auto p : {phase::forward, phase::loss_forward, phase::backward, phase::step})
      t.reach(t.at(p).total - t.at(p).rows[row::gathered_parameters]);
  }
  return t;
}

}  // namespace headroom
