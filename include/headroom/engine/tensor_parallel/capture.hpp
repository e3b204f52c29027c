// Distributed under the Boost Software License, Version 1.0.
// CUDA graphs that are captured before the first step (Megatron-LM cuda-graph-warmup-steps 0). TransformerEngine captures the layers'
// forwards and backwards in the schedule's order (pytorch/graph.py _make_graphed_callables): while it does, what a forward saves is
// there until its backward, as in a step. After that nothing names what lies in the graphs' pool, and steps allocate only the rest.
// Where steps run without graphs first, they hold all of it at once, and are the highest (engine/tensor_parallel/stages.hpp).
#pragma once

#include <headroom/engine/tensor_parallel/stages.hpp>

namespace headroom {

/// The layers of a job as they are captured, and as what is left of them runs.
struct captured_layers {
  divided_layers in_graphs;
  divided_layers outside;
};

/// Whether CUDA graphs are captured before the first step.
constexpr bool captures_first(const job& j) { return j.framework.graphs.modules != 0; }

/// Layers as their graphs hold them, and what stays outside.
[[gnu::noinline]] constexpr captured_layers walk_captured_layers(const settled_job& s) {
  const auto has = [&](graph_module m) { return (s.source->framework.graphs.modules >> static_cast<int>(m) & 1U) != 0; };
  const bool attention = has(graph_module::attn), dense = has(graph_module::mlp), sparse = has(graph_module::moe);
  return {walk_divided_layers(s, {attention, dense, sparse, false}), walk_divided_layers(s, {!attention, !dense, !sparse, true})};
}

/// The tallest moment of a capture. Not inlined, so that its phases do not lie on the stack beside those of the steps.
[[gnu::noinline]] constexpr moment tallest_captured(const settled_job& s, const detail::rank_weights& weights, const stage_cut& cut, const captured_layers& w, std::int64_t stage, const auto& order) {
  const auto capture = walk_stage(s, weights, cut, w.in_graphs, stage, order);
  return capture.at(phase::forward).total < capture.at(phase::backward).total ? capture.at(phase::backward) : capture.at(phase::forward);
}

/// One stage: steps, and the capture before them. A resumed run has its optimizer states by then. The pool of the graphs keeps what
/// they needed, beside that of the steps.
template <class Order>
constexpr timeline walk_captured_stage(const settled_job& s, const detail::rank_weights& weights, const stage_cut& cut, const captured_layers& w, std::int64_t stage,
                                       const Order& order) {
  const auto tallest = tallest_captured(s, weights, cut, w, stage, order);
  auto t = walk_stage(s, weights, cut, w.outside, stage, order);
  const auto steps = t.at(t.peak()).total;
  t.look(phase::load, -1, tallest);
  t.watch_pools(max(tallest.total - t.at(phase::save).total, bytes{0}), bytes{0});
  t.reach(steps);
  return t;
}

}  // namespace headroom
