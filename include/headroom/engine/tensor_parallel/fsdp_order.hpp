// Distributed under the Boost Software License, Version 1.0.
// The order in which Megatron-FSDP gathers and reduces the weights of a stack.
// Source: Megatron-LM core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py, AllGatherPipeline and GradReducePipeline.
#pragma once

#include <headroom/engine/tensor_parallel/fsdp_units.hpp>

namespace headroom::detail {

/// The groups of a stack in the order in which a pass needs them: in each layer of a forward the dense weights, then the experts.
class fsdp_order {
 public:
  constexpr fsdp_order(const shape& m, const fsdp_layout& l) : shape_(&m) {
    for (std::size_t kind = 0; kind < 2; ++kind) {
      const bool pooled = l.pooled == static_cast<int>(kind);
      const auto& u = l.layer[kind];
      const auto part_of = [&](const fsdp_group& g) { return group_size{g.elements(), pooled ? bytes{0} : l.gathered(g), pooled ? bytes{0} : l.gradients(g)}; };
      sizes_[kind] = {part_of(u.dense), part_of(u.experts)};
      transposes_[kind] = l.transposes(u);
    }
  }
  /// Groups are two a layer, numbered from the first layer's dense one.
  [[nodiscard]] constexpr std::int64_t elements(std::int64_t i) const { return size(i).elements; }
  /// What a group takes for a while: nothing where it has a place in the pool.
  [[nodiscard]] constexpr bytes gathered(std::int64_t i) const { return size(i).gathered; }
  [[nodiscard]] constexpr bytes gradients(std::int64_t i) const { return size(i).gradients; }
  /// What a layer's fp8 weights take more while it runs.
  [[nodiscard]] constexpr bytes transposes(std::int64_t layer) const { return transposes_[kind(layer)]; }
  /// The first of the layers around `layer` that are of its kind one after the other, and the last: itself where kinds alternate.
  [[nodiscard]] constexpr std::int64_t first_alike(std::int64_t layer) const {
    const auto dense = shape_->sparse() ? shape_->experts.first_dense_layers : 0;
    return alternates() ? layer : layer < dense ? 0 : dense;
  }
  [[nodiscard]] constexpr std::int64_t last_alike(std::int64_t layer) const {
    const auto dense = shape_->sparse() ? shape_->experts.first_dense_layers : 0;
    return alternates() ? layer : (layer < dense && dense < shape_->layers ? dense : shape_->layers) - 1;
  }

 private:
  struct group_size {
    std::int64_t elements{};
    bytes gathered{}, gradients{};
  };
  [[nodiscard]] constexpr std::size_t kind(std::int64_t layer) const { return static_cast<std::size_t>(shape_->sparse_layer(layer)); }
  [[nodiscard]] constexpr const group_size& size(std::int64_t i) const { return sizes_[kind(i / 2)][static_cast<std::size_t>(i % 2)]; }
  [[nodiscard]] constexpr bool alternates() const { return shape_->sparse() && (shape_->experts.every > 1 || shape_->experts.masked_dense()); }

  const shape* shape_;
  std::array<std::array<group_size, 2>, 2> sizes_{};  // of a dense layer and of a sparse one
  std::array<bytes, 2> transposes_{};
};

/// What the final norm gathers ahead in the first micro-batch of a run: layers from the first one on. Modules outside the layers do so no
/// more once a backward has run (their state stays PRE_BACKWARD; before 2026-04 they did each time).
constexpr bytes gathered_by_final_norm(const fsdp_order& order, const fsdp_layout& l, std::int64_t layers) {
  if (!l.gathers || l.pooled >= 0) return bytes{0};
  bytes sum{0};
  std::int64_t ahead = 0;
  for (std::int64_t i = 0; i < 2 * layers && ahead < l.prefetch; ++i) {
    sum += order.gathered(i);
    ahead += order.elements(i);
  }
  return sum;
}

}  // namespace headroom::detail
