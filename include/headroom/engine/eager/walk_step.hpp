// Distributed under the Boost Software License, Version 1.0.
// The walk over a step of a trainer that allocates as it goes: step.hpp, added up.
#pragma once

#include <headroom/engine/eager/counted_blocks.hpp>
#include <headroom/engine/eager/fsdp1_units.hpp>
#include <headroom/engine/eager/fsdp2_units.hpp>
#include <headroom/engine/eager/whole_parameters.hpp>
#include <headroom/block/span.hpp>

namespace headroom {

constexpr void step_count::count_blocks(const step_facts& f, bool accumulate, bool grows, bool meets, const auto& layers) {
  const auto& s = *f.job;
  const auto& j = *s.source;
  states_ = f.states;
  scene sc = s.layer;
  sc.model = &s.model;
  sc.memory_has_gradient = f.before != nullptr && f.before->has_gradient;
  sc.compiled = false;  // embedding and head are not
  accumulates_ = accumulate;
  sums_out_of_place_ = detail::sums_tied_apart(sc);
  first_layer_ = f.here.first;
  if (f.before != nullptr && sc.autocast && f.before->caches) cached_beside_ = f.before->saved.rows[row::gathered_parameters];
  const auto outside = trained_modules(j, -1);
  bool flows = sc.memory_has_gradient && s.model.encoder.layers == 0;  // cross-attention brings an encoder's
  bytes leaf{0};
  const bool patches = s.model.vision.kind != vision_kind::none && s.model.vision.layers == 0;
  with_made([&] { return patches ? patch_embedding(sc, outside) : embedding(sc, outside); }, [&](const program& front) {
    const auto out = front.output();
    const bool is_leaf = detail::embedding_is_leaf(s, front);
    flows = flows || is_leaf || front.needs_gradient(out);
    if (f.here.embedding) {
      front_forward_ = walk_forward(front);
      front_backward_ = walk_backward(front, accumulate);
      front_output_ = ((front.saved() | front.sticky()) & front.storages(out.bit())) != 0 ? bytes{0} : front.size(out);
      if (is_leaf) leaf = front.size(out);
    }
  });
  for (std::int64_t i = 0; i < f.here.first && !flows; ++i) flows = detail::anything_trains(sc, trained_modules(j, i), s.model.kind_of(i).mixer);
  detail::cut_layers(runs_, s, sc, f.here, flows);
  sc.compiled = s.layer.compiled;
  for (std::size_t i = 0; i < runs_.size; ++i) {
    auto& r = runs_.list[i];
    detail::cost_run(r, s, sc, accumulate, grows, layers);
    flows = flows || r.back;
    if (r.recomputes && sc.host) {
      r.backward.add(row::activations, detail::cpu_generator_state);
      if (s.reentrant) r.sticky += detail::cpu_generator_state;
    }
    if (!sc.autocast) r.cached = bytes{0};
    sticky_ += r.count * r.sticky;
  }
  sc.compiled = false;
  leaf_ = leaf;
  if (f.here.head) count_head(f, sc, outside, flows, accumulate, meets);
}

/// What stands behind the layers, and the loss.
constexpr void step_count::count_head(const step_facts& f, const scene& sc, const module_set& outside, bool flows, bool accumulate, bool meets) {
  with_made([&] { return detail::tail_of(sc, outside, flows); }, [&](const program& tail) {
    tail_forward_ = walk_forward(tail, recording::on, meets || keeps_graph() ? &returns_ : nullptr);
    tail_backward_ = walk_backward(tail, accumulate, weight_work::with_inputs, meets ? &enters_ : nullptr);
    scalar_ = tail.size(tail.output());
    tail_flow_ = tail.needs_gradient(tail.input()) ? tail.size(tail.input()) : bytes{0};
    if (pools_) [[unlikely]] tail_span_ = tail.size(tail.input()) + span_of(tail);
  });
  if (f.other_forward > bytes{0}) [[unlikely]] {
    with_made([&] {
      auto tail = detail::tail_of(sc, outside, flows);
      tail.return_at_other();
      return tail;
    }, [&](const program& tail) {
      handover there;
      (void)walk_forward(tail, recording::on, &there);
      other_ = there.there;
      other_.add(row::other_models, f.other_forward);
    });
  }
  tied_ = tail_backward_.waits;
  if (tied_ > bytes{0} && front_backward_.made > bytes{0}) second_ = f.tied;
  sticky_ += tail_forward_.sticky;
}

/// Temporaries of the update. On a CPU the scalars of a tensor-by-tensor update are tensors, too (ATen/ScalarOps.h
/// wrapped_scalar_tensor: one double at a time).
constexpr void step_count::update() {
  const auto& s = *job_;
  const auto& j = *s.source;
  auto most = detail::update_of_all(s, *states_);
  if (s.layer.host && s.optimizer.how == implementation::loop) most += bytes{8 + (j.adapter.active() ? s.layer.adapter_width : s.optimizer.state.width())};
  auto temporaries = make(most, row::temporaries);
  free(temporaries);
}

namespace detail {

/// The last micro-batch of a step, like all but the first, and its update. Where those before it leave whole gradients, they are counted first: the
/// first, which casts what it leaves, and one that finds these.
template <class Units, class Layers>
[[gnu::noinline]] constexpr timeline count_step(const step_facts& f, const inventory& list, const moment& resident, const Layers& layers, const scene& sc) {
  const auto& s = *f.job;
  const auto& w = *f.around;
  const bool exist = s.source->batch.accumulation > 1 || s.source->framework.gradients.stay || w.gradients_at_load;
  return with_runs(s, sc, f.here, [&](const layer_runs& room) {
    step_count to(s, resident, w, room);
    Units units(f, list, to);
    to.count_blocks(f, units.momentary(exist), units.grows(exist), Units::gathers, layers);
    const bool whole = sums_whole_gradients(*s.source);
    const bool casts = whole && units.momentary(false) == units.momentary(true);  // else gradients lie where autograd makes them: the first has no more than another
    if (exist && !casts) {
      units.start();
      if (f.before != nullptr) to.start_with(f.before->summed > bytes{0} ? f.before->summed : f.before->gradients, row::gradients);
    }
    to.start_with_graph();
    eager_step step(f, units, to);
    if (casts) step.run_micro_batch(false, false);
    if (whole && (!casts || s.source->batch.accumulation > 2)) step.run_micro_batch(true, false);
    step.run_micro_batch(exist, true);
    step.update();
    to.settle();
    return to.counted();
  });
}

}  // namespace detail

/// Walks a step of one rank, which runs a slice of the model. `resident`: what is there before forward and stays. Static parts of
/// the walk (states, windows) come in, moments go out; nothing here depends on how many ranks there are.
template <class Layers = detail::shipped_layers>
constexpr timeline walk_step(const settled_job& s, const inventory& list, const state_bytes& st, const windows& w, const moment& resident,
                             const model_slice& here, bytes& checkpoints_on_host, const Layers& layers = {}, const prelude* before = nullptr, bytes other_forward = bytes{0}) {
  const auto& j = *s.source;
  scene sc = s.layer;
  sc.model = &s.model;
  step_facts f(s, sc, st, w, here, before);
  f.other_forward = other_forward;
  if (j.recompute.mode == recompute_mode::full && j.offload.activations != place::on_gpu)
    checkpoints_on_host = bytes{checked::mul(detail::recomputed_layers(j.recompute, s.model.layers), checked::mul(sc.tokens, s.model.stream_width(), sc.residual_width))};
  if (j.sharding.cuts_tensors()) return detail::count_step<fsdp2_units<step_count>>(f, list, resident, layers, sc);
  if (j.sharding.gathers_units() && j.sharding.flat() && j.sharding.cuts(sharded_state::weights)) return detail::count_step<fsdp1_units<step_count>>(f, list, resident, layers, sc);
  return detail::count_step<whole_parameters<step_count>>(f, list, resident, layers, sc);
}

}  // namespace headroom
