// Distributed under the Boost Software License, Version 1.0.
// How much of a rank's peak grows with the tokens that are routed to its experts: what an uneven router puts in doubt (uncertainty.hpp).
#pragma once

#include <headroom/engine/tensor_parallel/chunks.hpp>

namespace headroom {

/// Of one sparse layer, what grows as its rank's tokens do: of what it keeps for backward, and of what it needs then.
struct routed_bytes {
  bytes kept{}, needed{};
  std::int64_t layers{};  ///< that are sparse
};

/// The layer's program with twice the tokens, less the one with an even share. Nothing where routing is stated or limited.
constexpr routed_bytes routed_of_layer(const settled_job& s) {
  if (!s.assumptions.has(assumption::balanced_routing)) return {};
  auto sc = s.layer;
  sc.model = &s.model;
  const auto trained = trained_modules(*s.source, -1);
  const auto at = [&](std::int64_t imbalance) {
    sc.expert_imbalance = imbalance;
    return with_made([&] { return megatron::sparse_block(sc, trained, true); },
                     [](const program& p) { return routed_bytes{p.sum((p.saved() | p.sticky()) & ~p.recomputed()), p.sum(p.saved())}; });
  };
  const auto even = at(sc.expert_imbalance), twice = at(200);
  return {twice.kept - even.kept, twice.needed - even.needed, s.model.mtp_layers + s.model.sparse_layers(0, s.model.layers)};
}

/// … of a rank's peak: of the activations that are kept, the same share as of all layers' together, and what the layer that runs needs,
/// without its gradients.
constexpr bytes routed_at_peak(const settled_job& s, const divided_layers& w, const routed_bytes& one, const rank_report& rank) {
  if (one.needed == bytes{0} || rank.peak_phase == phase::step) return bytes{0};
  const auto activations = rank.at_peak[row::activations];
  const auto running = rank.peak_phase == phase::loss_forward ? bytes{0} : one.needed;
  if (s.source->recompute.mode == recompute_mode::full) return min(running, activations);
  const auto sparse = one.layers;
  auto saved = s.model.mtp_layers * w.whole[1].saved.total;
  for (const auto& k : kinds_of(s.model)) saved += k.count * w.whole[megatron::place_of(k.kind)].saved.total;
  if (saved == bytes{0}) return min(running, activations);
  const double share = static_cast<double>((sparse * one.kept).count()) / static_cast<double>(saved.count());
  return bytes{static_cast<std::int64_t>(share * static_cast<double>(activations.count()))} + running;
}

}  // namespace headroom
