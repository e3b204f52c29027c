// Distributed under the Boost Software License, Version 1.0.
// What headroom says a job of the trainer occupies, in the trainer's own terms.
#pragma once

#include "trainer.hpp"

#include <headroom/headroom.hpp>

namespace trainer {

/// What is alive when a forward is done, beside what was there before: what the graph keeps, logits and loss.
inline headroom::bytes made_by_forward(const headroom::settled_job& s) {
  using namespace headroom;
  const auto& j = *s.source;
  auto sc = s.layer;
  sc.model = &s.model;
  const auto outside = trained_modules(j, -1);
  const auto front = embedding(sc, outside);
  bool flows = front.needs_gradient(front.output()) || j.recompute.mode == recompute_mode::full;
  bytes sum = walk_forward(front).saved;
  detail::run_room<detail::layer_runs::most> room;
  auto runs = room.all();
  detail::cut_layers(runs, s, sc, {0, j.model.layers}, flows);
  for (std::size_t i = 0; i < runs.size; ++i) {
    detail::cost_run(runs.list[i], s, sc, false, false, detail::shipped_layers{});
    sum += runs.list[i].count * runs.list[i].saved.total;
    flows = flows || detail::anything_trains(sc, runs.list[i].trained);
  }
  const auto tail = head_and_loss(sc, outside, flows);
  const auto walk = walk_forward(tail);
  return sum + walk.saved + walk.held + tail.size(tail.output());
}

inline micro_batch predict_micro_batch(const headroom::job& j) {
  using namespace headroom;
  const auto s = settle(j);
  const auto st = states(s, weights_of(s.model));
  const auto w = windows_of(s, st);
  const auto before = detail::resident_bytes(s, st, w).total + w.gradients_before.total;
  const auto rank = estimate(j).ranks[0];
  const auto after = rank[phase::save] + rank.at_phase[static_cast<std::size_t>(phase::step)][row::gradients];
  return {.forward_peak = rank[phase::forward].count(), .loss_peak = rank[phase::loss_forward].count(),
          .after_forward = (before + made_by_forward(s)).count(), .backward_peak = rank[phase::backward].count(), .after_backward = after.count()};
}

/// Two steps.
inline counts predict(const headroom::job& j) {
  using namespace headroom;
  const auto report = estimate(j);
  const auto& rank = report.ranks[0];
  counts c{.parameters = report.parameter_count.total.count(), .built = rank[phase::load].count(), .steps = {}};

  const auto later = predict_micro_batch(j);
  const auto micros = static_cast<std::size_t>(j.batch.accumulation);
  const step steady{.micro_batches = std::vector(micros, later), .update_peak = rank[phase::step].count(), .after_update = later.after_backward};

  // The first step runs without the optimizer's state, which it makes, and its first micro-batch finds no gradients.
  auto unseen = j;
  unseen.framework.gradients.stay = false;
  unseen.batch.accumulation = 1;
  auto first = steady;
  first.micro_batches[0] = predict_micro_batch(unseen);
  const auto state = rank.at_phase[static_cast<std::size_t>(phase::step)][row::optimizer_state].count();
  for (auto& m : first.micro_batches)
    for (auto* b : {&m.forward_peak, &m.loss_peak, &m.after_forward, &m.backward_peak, &m.after_backward}) *b -= state;

  c.steps = {first, steady};
  return c;
}

}  // namespace trainer
