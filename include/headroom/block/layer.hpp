// Distributed under the Boost Software License, Version 1.0.
// An eager layer of any kind: the programs that it runs, and what they cost together.
#pragma once

#include <headroom/block/altup.hpp>
#include <headroom/block/beside_mlp.hpp>
#include <headroom/block/sparse_layer.hpp>

namespace headroom {

namespace detail {

/// A dense half of twice the width. In a frame of its own, as it has a shape there.
[[gnu::noinline]] constexpr void visit_wide(const scene& s, layer_kind kind, const module_set& trained, bool flows, std::int64_t matrices, const auto& visit) {
  const auto model = widened(*s.model);
  auto there = s;
  there.model = &model;
  with_made([&] { return decoder_block(there, layer_part::mlp, kind.mixer, trained, flows, matrices); }, visit);
}

/// The half of a layer behind its mixer, or the whole of a layer without one.
constexpr void visit_feed_forward(const scene& s, layer_kind kind, const module_set& trained, bool flows, std::int64_t matrices, auto&& visit) {
  if (plainly_dense(kind.feeds)) with_made([&] { return decoder_block(s, layer_part::mlp, kind.mixer, trained, flows, matrices); }, visit);
  if (kind.feeds == feed_forward_kind::wide) visit_wide(s, kind, trained, flows, matrices, visit);
  if (!kind.sparse()) return;
  if (s.model->experts.beside_mlp) return with_made([&] { return beside_mlp_block(s, trained, flows, matrices); }, visit);
  with_made([&] {
    if (s.habits->experts.gemm == expert_gemm::grouped_mm) return grouped_experts_block(s, trained, flows, matrices);
    return style_of(*s.model) == expert_style::repeated ? repeated_experts_block(s, trained, flows) : sorted_experts_block(s, trained, flows);
  }, visit);
}

}  // namespace detail

/// Calls visit(program) for each part of a layer, in the order of forward.
constexpr void for_each_block(const scene& s, layer_kind kind, const module_set& trained, bool input_has_gradient, auto&& visit) {
  if (s.model->parallel_block) return with_made([&] { return decoder_block(s, layer_part::parallel, kind.mixer, trained, input_has_gradient); }, visit);
  if (s.model->altup.streams > 0) return with_made([&] { return altup_block(s, kind, trained, input_has_gradient); }, visit);
  bool flows = input_has_gradient;
  std::int64_t matrices = 0;
  if (kind.mixer != mixer_kind::none) {
    with_made([&] { return decoder_block(s, layer_part::attention, kind.mixer, trained, flows); }, [&](const program& mixes) {
      flows = mixes.needs_gradient(mixes.output());
      matrices = mixes.matrices();
      visit(mixes);
    });
  }
  if (s.model->layer_input.width == 0) return detail::visit_feed_forward(s, kind, trained, flows, matrices, visit);
  detail::visit_feed_forward(s, kind, trained, flows, matrices, [&](const program& fed) {
    flows = fed.needs_gradient(fed.output());
    visit(fed);
  });
  with_made([&] { return layer_input_block(s, trained, flows); }, visit);
}

/// The programs of the layers that the library ships, block by block.
struct shipped_blocks {
  constexpr void operator()(const scene& s, layer_kind kind, const module_set& trained, bool input_has_gradient, auto&& visit) const {
    for_each_block(s, kind, trained, input_has_gradient, visit);
  }
};

/// Walks a layer. `trained_experts`: of the routed experts, how many train. `graphless`: also without a graph, as a checkpoint's first
/// forward. `accumulate`: see walk_backward. `blocks`: calls visit(program) for each part of the layer, as for_each_block() does.
template <class Blocks = shipped_blocks>
constexpr layer_walk walk_layer(const scene& s, layer_kind kind, const module_set& trained, std::int64_t trained_experts, bool input_has_gradient,
                                bool graphless = false, bool accumulate = false, const Blocks& blocks = {}) {
  layer_walk r;
  r.output_has_gradient = input_has_gradient;
  bool first = true;
  const auto join = [&](const program& p) {
    detail::join(r, p, first, graphless, accumulate);
    first = false;
  };
  const bool loops = kind.sparse() && !s.habits->experts.at_once();  // over experts, one by one
  auto before = kind;
  if (loops) before.feeds = feed_forward_kind::none;
  blocks(s, before, trained, input_has_gradient, join);
  if (loops) detail::join_sparse_half(r, s, trained, trained_experts, graphless, accumulate);
  return r;
}

/// … a dense layer of a model whose layers all attend.
constexpr layer_walk walk_layer(const scene& s, const module_set& trained, bool input_has_gradient, bool graphless = false, bool accumulate = false) {
  return walk_layer(s, {s.model->attention(), feed_forward_kind::dense}, trained, 0, input_has_gradient, graphless, accumulate);
}

}  // namespace headroom
