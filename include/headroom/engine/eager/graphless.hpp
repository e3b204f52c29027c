// Distributed under the Boost Software License, Version 1.0.
// Layers that run forward without a graph, and what autocast copies of their weights.
#pragma once

#include <headroom/engine/eager/layer_runs.hpp>

namespace headroom::detail {

constexpr scene with_model(const settled_job& s) {
  scene sc = s.layer;
  sc.model = &s.model;
  sc.compiled = false;
  return sc;
}

/// Layers that run forward without a graph. Copies that autocast makes of weights that train stay until the forward is through (torch
/// ATen/autocast_mode.cpp cached_cast, asks for requires_grad, and not for a graph).
struct graphless_layers {
  moment tallest{};  ///< of one, its input and its own copies included
  bytes copies{};    ///< of all layers
  bytes largest{};   ///< of one
  /// … beside the one that runs.
  [[nodiscard]] constexpr moment beside() const { return {row::gathered_parameters, copies - largest}; }
};
/// `sc`: of the layers.
constexpr graphless_layers walk_graphless(const settled_job& s, const scene& sc, const auto& layers) {
  graphless_layers r;
  const auto& j = *s.source;
  const auto last = s.model.layers - 1;
  const auto trained = sc.casts_weights ? trained_modules(j, last) : module_set{};
  for (const auto& k : kinds_of(s.model)) {
    const auto w = layers.walk(sc, layer_run{.trained = trained, .recomputes = true, .kind = k.kind, .experts = sc.casts_weights ? trained_experts(j, last) : 0}, false);
    r.tallest.rise_to(w.forward_off);
    if (!sc.casts_weights) continue;
    const auto own = w.cached.rows[row::gathered_parameters];
    r.copies += k.count * own;
    r.largest = max(r.largest, own);
  }
  return r;
}
/// … and of the head, where it trains.
constexpr moment copies_at_head(const settled_job& s, const scene& sc, const graphless_layers& layers) {
  const bool head = sc.casts_weights && trained_modules(*s.source, -1).has(s.model.tied ? module::embedding : module::head);
  return {row::gathered_parameters, layers.copies + (head ? bytes{checked::mul(s.model.vocab, s.model.hidden, sc.width)} : bytes{0})};
}

}  // namespace headroom::detail
