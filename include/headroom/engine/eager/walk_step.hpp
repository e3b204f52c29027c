// Distributed under the Boost Software License, Version 1.0.
// The walk over a step of a trainer that allocates as it goes.
#pragma once

#include <headroom/engine/eager/layer_runs.hpp>
#include <headroom/engine/eager/step_parts.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom {

/// Walks a step of one rank, which runs a slice of the model. `resident`: what is there before forward and stays. Static parts of
/// the walk (states, windows) come in, moments go out; nothing here depends on how many ranks there are.
template <class Layers = detail::shipped_layers>
constexpr timeline walk_step(const settled_job& s, const state_bytes& st, const windows& w, const moment& resident, const model_slice& here,
                             bytes& checkpoints_on_host, const Layers& layers = {}, const prelude* before = nullptr) {
  const auto& j = *s.source;
  scene sc = s.layer;
  sc.model = &s.model;
  sc.memory_has_gradient = before != nullptr && before->has_gradient;
  sc.compiled = false;  // embedding and head are not
  const auto& habits = *sc.habits;
  timeline t;
  if (w.pools) [[unlikely]] t.watch_pools(w.gather_pool, w.reduce_pool);

  const bool momentary = momentary_gradients(s, w);
  const bool keeps = !momentary && w.path == gradient_path::grows;

  const auto outside = trained_modules(j, -1);
  const bool patches = s.model.vision.kind != vision_kind::none && s.model.vision.layers == 0;
  const auto emb = with_made([&] { return patches ? patch_embedding(sc, outside) : embedding(sc, outside); },
                             [&](const program& p) { return detail::walk_end(p, here.embedding, momentary); });
  const auto& emb_forward = emb.forward;
  const auto& emb_backward = emb.backward;
  const bool recomputes = j.recompute.mode == recompute_mode::full;
  const bool leaf = !emb.flows && j.adapter.active() &&
                    (habits.adapters.embeddings_need_gradient == input_gradient::always ||
                     (habits.adapters.embeddings_need_gradient == input_gradient::if_checkpointed && (recomputes || sc.base.quantised())));
  bool flows = leaf || emb.flows || (before != nullptr && before->has_gradient);
  for (std::int64_t i = 0; i < here.first && !flows; ++i) flows = detail::anything_trains(sc, trained_modules(j, i));
  auto runs = detail::cut_layers(s, sc, here, flows);
  sc.compiled = s.layer.compiled;
  for (std::size_t i = 0; i < runs.size; ++i) {
    auto& r = runs.list[i];
    detail::cost_run(r, s, sc, momentary, keeps, layers);
    flows = flows || detail::anything_trains(sc, r.trained);
  }
  sc.compiled = false;
  bytes tail_span{0};  // what its segment holds, where that is asked for
  const auto tail = with_made([&] { return detail::tail_of(sc, outside, flows); }, [&](const program& p) {
    if (w.pools) [[unlikely]] tail_span = p.size(p.input()) + span_of(p);
    return detail::walk_end(p, here.head, momentary);
  });
  const auto& tail_forward = tail.forward;
  const auto& tail_backward = tail.backward;
  const part tail_held{row::logits, tail_forward.held};

  bytes sticky = tail_forward.sticky;
  for (std::size_t i = 0; i < runs.size; ++i) sticky += runs.list[i].count * runs.list[i].sticky;

  auto begin = resident;
  begin += w.gradients_before;
  const auto sharded_before = j.sharding.no_sync ? bytes{0} : w.gradients_before.total;  // where pools are watched: in the reduction's
  t.elsewhere(w.gathering + sharded_before);
  // What the previous micro-batch leaves behind until this one's forward has returned.
  const part previous_graph{row::activations, habits.loss.keeps_graph() ? sticky : bytes{0}};
  const part previous_outputs{row::logits, habits.loss.keeps_graph() ? tail_forward.held : bytes{0}};

  // Forward.
  t.look(phase::forward, -1, begin, w.forward, previous_graph, previous_outputs, emb_forward.peak);
  if (before != nullptr) t.look(phase::forward, -1, begin, w.forward, previous_graph, previous_outputs, before->forward);
  // What is alive from forward to the end of backward whatever the layer.
  const moment emb_saved(emb_forward.saved, emb_forward.saved_rows);
  auto live = begin;
  live += emb_saved;
  if (before != nullptr) live += before->saved;
  if (leaf && here.embedding && !(runs.size > 0 && runs.list[0].keeps_input)) live.add(row::activations, emb.output);
  if (s.model.position == position_kind::rope && !habits.rotary.caches() && habits.rotary.tables != rope_tables::buffers_beside_mask)  // cos and sin, in the compute format, for every sample
    live.add(row::activations, bytes{checked::mul(checked::mul(2 * sc.tokens, s.model.latent() ? s.model.mla.rope_dim : s.model.head_width()), sc.width)});
  live += previous_graph;
  const auto bias = detail::relative_positions(sc);
  live += bias;
  for (std::size_t i = 0; i < runs.size; ++i) {
    const auto& r = runs.list[i];
    live += multiple{r.count - 1, r.saved};
    t.look(phase::forward, r.first + r.count * r.span - 1, live, w.forward, previous_outputs, r.forward);
    live += r.saved;
  }
  if (here.embedding && !here.head) {  // accelerate hands the logits back on the device that the tokens were on
    const auto width = sc.loss_program == loss_style::upcast_in_loss ? sc.width : sc.loss.logits.width();
    t.look(phase::loss_forward, -1, live, part{row::logits, bytes{checked::mul(checked::mul(sc.tokens, sc.vocabulary), width)}});
  }
  if (recomputes && j.offload.activations != place::on_gpu)
    checkpoints_on_host = bytes{checked::mul(detail::recomputed_layers(j.recompute, s.model.layers), checked::mul(checked::mul(sc.tokens, s.model.hidden), sc.residual_width))};

  live -= bias;

  // Loss, and the way back to the last layer.
  t.elsewhere(sharded_before);
  t.look(phase::loss_forward, -1, live, previous_outputs, w.loss, tail_forward.before_return);
  t.look(phase::loss_forward, -1, live, w.loss, tail_forward.peak);
  if (w.pools) [[unlikely]] t.reach(live.total + w.loss.total + tail_span);
  live.add(row::activations, -previous_graph.total);
  // The caller names the loss, and backward the gradient that it begins with.
  const auto loss_and_gradient = here.head ? 2 * tail.output : bytes{0};
  live.add(row::activations, loss_and_gradient);
  // Autocast's cache is dropped when the forward's context closes.
  const bool drops_cache = recomputes && sc.autocast;
  if (drops_cache) live.add(row::gathered_parameters, -live.rows[row::gathered_parameters]);
  t.look(phase::backward, -1, live, w.turn, tail_backward.peak);
  live += tail_held;
  const bool shards_grow = w.path != gradient_path::grows && w.gradients_before.total == bytes{0};
  const auto kept_head = shards_grow ? w.kept_root - w.kept_embedding : bytes{0};
  const auto waiting = w.root_waits ? tail_backward.weight_gradients : bytes{0};
  live.add(row::gradients, waiting + kept_head + (keeps ? tail_backward.weight_gradients : bytes{0}));
  auto sharded = sharded_before + kept_head;
  auto pending = w.pending_first;
  live.add(row::activations, tail_forward.sticky);
  const auto tied = here.head && here.embedding ? detail::tied_gradient(s, sc) : bytes{0};
  if (momentary) live.add(row::gradients, tied);
  const bool updates_here = s.optimizer.in_backward;
  if (updates_here && tied == bytes{0} && outside.has(module::head)) [[unlikely]]
    t.look(phase::backward, -1, live, w.turn, part{row::gradients, detail::table_gradient(s, sc)}, part{row::temporaries, detail::update_of_one(s, st)});

  if (before != nullptr) live.add(row::temporaries, before->output_gradient);
  live += bias;  // its gradient, to which every layer adds

  // Backward, from the last layer down: a layer's saved tensors go, its gradients and what is sticky of it stay.
  for (auto i = runs.size; i-- > 0;) {
    const auto& r = runs.list[i];
    const part recomputing{row::activations, r.recomputes && sc.host ? detail::cpu_generator_state : bytes{0}};
    auto own = r.saved;
    if (drops_cache) own.add(row::gathered_parameters, -own.rows[row::gathered_parameters]);
    const auto gradients = shards_grow ? r.span * w.kept_per_unit : keeps ? r.gradients : bytes{0};
    const auto sticky_here = r.recomputes && s.reentrant && sc.host ? r.sticky + detail::cpu_generator_state : r.sticky;
    live -= own;  // in the layer's own peak
    if (r.input_has_gradient || detail::anything_trains(sc, r.trained)) {
      const part input_gradient{row::temporaries, r.input_gradient};
      const part unit_gradients{row::gradients, w.path == gradient_path::unit ? r.gradients : bytes{0}};
      const auto visit = [&](std::int64_t done) {
        const auto layer = r.first + (r.count - done) * r.span - 1;
        const multiple gone{-done, own};
        const part stuck{row::activations, done * sticky_here};
        const part made{row::gradients, done * gradients};
        const part reduced{row::gradients, s.model.layers - 1 - layer >= w.partition_after ? w.partition : bytes{0}};
        t.elsewhere(w.gathering + sharded + done * gradients);
        t.look(phase::backward, layer, live, gone, stuck, made, reduced, w.backward, part{row::communication_buffers, pending}, recomputing, r.backward);
        pending = w.pending;
        t.look(phase::reduce, layer, live, gone, stuck, made, reduced, w.reduce, input_gradient, unit_gradients);
      };
      const bool first_alone = pending < w.pending;  // the next one finds its gradients on their way
      visit(0);
      if (first_alone && r.count > 2) [[unlikely]] visit(1);
      if (w.partition > bytes{0}) [[unlikely]] {  // the layer that first runs beside it
        const auto at = (w.partition_after - (s.model.layers - r.first - r.count * r.span) + r.span - 1) / r.span;
        if (at > 0 && at < r.count - 1) visit(at);
      }
      if (r.count > 1) visit(r.count - 1);
    }
    live += multiple{1 - r.count, own};
    live.add(row::activations, r.count * sticky_here);
    live.add(row::gradients, r.count * gradients);
    if (shards_grow) sharded += r.count * gradients;
  }
  live -= bias;
  // The embedding, with every gradient made.
  live -= emb_saved;
  t.elsewhere(sharded);
  const part partition{row::gradients, w.partition};
  t.look(phase::backward, -1, live, s.model.layers >= w.partition_after ? partition : part{}, w.ends_apart ? w.end : w.backward, emb_backward.peak);
  if (tied > bytes{0} && habits.autograd.sums_out_of_place)
    t.look(phase::backward, -1, live, w.backward, part{row::gradients, (keeps ? emb_backward.weight_gradients : tied) + tied});
  if (w.ends_apart) t.look(phase::reduce, -1, live, w.last_reduce, part{row::gradients, emb_backward.weight_gradients});
  if (updates_here && outside.has(module::embedding)) [[unlikely]]
    t.look(phase::backward, -1, live, w.backward, part{row::gradients, tied > bytes{0} ? bytes{0} : detail::table_gradient(s, sc)},
           part{row::temporaries, detail::update_of_one(s, st)});
  if (momentary) live.add(row::gradients, -tied);
  live.add(row::gradients, keeps ? emb_backward.weight_gradients - tied : (shards_grow ? w.kept_embedding : bytes{0}) - waiting);
  if (before != nullptr) {
    auto own = before->saved;
    if (drops_cache) own.add(row::gathered_parameters, -own.rows[row::gathered_parameters]);
    live -= own;
    live.add(row::temporaries, -before->output_gradient);
    t.look(phase::backward, -1, live, w.backward, before->backward);
    live.add(row::gradients, before->gradients);
  }
  t.look(phase::reduce, -1, begin, part{row::gradients, live.rows[row::gradients] - begin.rows[row::gradients]}, partition,
         w.partition > bytes{0} ? w.turn : moment{});

  // Optimizer step: activations are gone, the loss is not. On a CPU the scalars of a tensor-by-tensor update are tensors, too
  // (ATen/ScalarOps.h wrapped_scalar_tensor: one double at a time).
  const bool on_gpu = j.offload.optimizer == place::on_gpu && !s.optimizer.in_backward;
  const part loss{row::activations, here.head && habits.loss.lives != loss_lifetime::through_backward ? tail.output : bytes{0}};
  const part gradients{row::gradients, on_gpu ? st.gpu[row::gradients] : bytes{0}};
  t.elsewhere(gradients.total);
  const part outlives{row::logits, habits.loss.keeps_graph() ? tail_forward.held : bytes{0}};
  const part inputs{row::activations, habits.loss.keeps_graph() ? sticky : bytes{0}};
  t.look(phase::step, -1, resident, loss, gradients, outlives, inputs, w.step);
  if (on_gpu) {
    bytes update{0};
    if (s.optimizer.state.quantised() && habits.optimizer.int8_copies > 0)
      update = detail::update_of_one(s, st);
    else if (s.optimizer.how == implementation::foreach)
      update = detail::foreach_temporaries(habits.optimizer.foreach_copies, st);
    else if (s.optimizer.how == implementation::loop)
      update = habits.optimizer.loop_keeps_previous ? st.loop_temporary : 2 * st.largest_trained;
    if (sc.host && s.optimizer.how == implementation::loop) update += bytes{8 + (j.adapter.active() ? sc.adapter_width : s.optimizer.state.width())};
    t.look(phase::step, -1, resident, loss, gradients, outlives, inputs, part{row::temporaries, update});
  }
  return t;
}

}  // namespace headroom
