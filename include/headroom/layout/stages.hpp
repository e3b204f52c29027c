// Distributed under the Boost Software License, Version 1.0.
// Which layers lie on which pipeline stage.
#pragma once

#include <headroom/error.hpp>
#include <headroom/layout/degrees.hpp>

#include <array>
#include <type_traits>

namespace headroom {

/// Consecutive layers that run together: the index-th chunk of the model.
struct layer_chunk {
  std::int64_t index{};
  std::int64_t first{};
  std::int64_t count{};
};

/// What a layer and the head cost, in any unit: what layer_split::by_cost deals out.
struct block_costs {
  std::int64_t layer{1};
  std::int64_t head{};
};

/// What one device runs of a model: consecutive layers, and whether the embedding and the head are there.
struct model_slice {
  std::int64_t first{};
  std::int64_t count{};
  bool embedding{true};
  bool head{true};
  [[nodiscard]] constexpr std::int64_t end() const { return first + count; }
};

/// The stack cut into chunks: pipeline × virtual_pipeline of them, which lie on stages as the schedule says (chunk_place).
/// Layers of each are given one by one, or first and last given and the others even, or all even.
class stage_cut {
 public:
  /// Errors: job_error where the layers do not come out even, or do not add up.
  constexpr stage_cut(const degrees& d, std::int64_t layers, layer_split split, const block_costs& costs = {})
      : d_(&d), chunks_(checked::mul(d.pipeline, d.virtual_pipeline)), given_(chunks_given(d)), layers_(layers), last_(layers - d.last_stage_layers), split_(split) {
    if (std::is_constant_evaluated()) first_ = {};
    if (given_ > 0) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < chunks_ && i < given_; ++i) {
        if (i < degrees::max_entries) first_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(sum);  // at most 256 × 65,535
        sum = checked::add(sum, d.stage_layers[i]);
      }
      if (sum != layers) refuse("headroom: parallel.stage_layers must add up to model.layers; they add up to", sum);
      return;
    }
    if (chunks_ == 1 && d.last_stage_layers > 0 && d.last_stage_layers != layers)
      refuse("headroom: with one stage parallel.last_stage_layers must be model.layers or left out; it is", d.last_stage_layers);
    if (d.first_stage_layers > 0 || d.last_stage_layers > 0) split_ = layer_split::even;
    if (split_ == layer_split::by_cost) {
      deal(costs);
      return;
    }
    if (split_ != layer_split::even) {
      const auto counted = layers + (split_ == layer_split::ends_count_layers ? 2 : 0);
      each_ = counted / chunks_;
      more_ = counted % chunks_;
      if (each_ == 0) refuse("headroom: a pipeline must not have more stages than the model has layers; stages", chunks_);
      return;
    }
    auto rest = layers - d.first_stage_layers;
    auto even = chunks_ - (d.first_stage_layers > 0 ? 1 : 0);
    if (d.last_stage_layers > 0 && chunks_ > 1) {
      rest -= d.last_stage_layers;
      --even;
    }
    const bool out = rest < 0 || (even == 0 ? rest != 0 : rest % even != 0);
    if (out) refuse("headroom: model.layers must divide evenly over parallel.pipeline × virtual_pipeline, or parallel.stage_layers be given; layers", layers);
    each_ = even == 0 ? 0 : rest / even;
  }

  [[nodiscard]] constexpr std::int64_t chunks() const { return chunks_; }
  [[nodiscard]] constexpr layer_chunk at(std::int64_t index) const {
    if (given_ > 0) {
      if (index >= given_ || index >= degrees::max_entries) return {index, layers_, 0};
      const auto first = first_[static_cast<std::size_t>(index)];
      const bool last = index + 1 >= given_ || index + 1 >= degrees::max_entries;
      return {index, first, (last ? layers_ : first_[static_cast<std::size_t>(index + 1)]) - first};
    }
    if (split_ != layer_split::even) return {index, first_of(index), first_of(index + 1) - first_of(index)};
    const auto& d = *d_;
    if (index == 0) return {0, 0, d.first_stage_layers > 0 ? d.first_stage_layers : each_};
    if (index == chunks_ - 1 && d.last_stage_layers > 0) return {index, last_, d.last_stage_layers};
    const auto before = d.first_stage_layers > 0 ? d.first_stage_layers - each_ : 0;
    return {index, index * each_ + before, each_};
  }

  /// Calls visit(layer_chunk) for each chunk of a stage, in the order in which a micro-batch passes them.
  constexpr void for_each(std::int64_t stage, auto&& visit) const {
    switch (properties_of(d_->schedule).place) {
      case chunk_place::in_turn:
        for (auto i = stage; i < chunks_; i += d_->pipeline) visit(at(i));
        break;
      case chunk_place::in_a_v:
      case chunk_place::both_ways:
        visit(at(stage));
        visit(at(chunks_ - 1 - stage));
    }
  }

 private:
  /// nanotron's models/base.py build_model, in its own floating-point arithmetic: where costs come out even a stage takes one more.
  constexpr void deal(const block_costs& costs) {
    if (chunks_ > degrees::max_entries) refuse("headroom: parallel.pipeline × virtual_pipeline must be from 1 to 256; chunks", chunks_);
    given_ = chunks_;
    const auto all = static_cast<double>(checked::add(checked::mul(layers_, costs.layer), costs.head));
    std::int64_t chunk = 0;
    first_[0] = 0;
    for (std::int64_t i = 0; i < layers_; ++i) {
      const auto share = all * (static_cast<double>(chunk + 1) / static_cast<double>(chunks_));
      if (static_cast<double>(checked::mul(i + 1, costs.layer)) > share) first_[static_cast<std::size_t>(++chunk)] = static_cast<std::int32_t>(i + 1);
    }
    for (++chunk; chunk < chunks_; ++chunk) first_[static_cast<std::size_t>(chunk)] = static_cast<std::int32_t>(layers_);
  }
  /// The first layer of a chunk of an uneven split; that behind the last chunk is the number of layers.
  [[nodiscard]] constexpr std::int64_t first_of(std::int64_t index) const {
    if (index == 0) return 0;
    if (index == chunks_) return layers_;
    const auto longer = split_ == layer_split::ends_least ? index - 1 : index;
    return index * each_ + (longer < more_ ? longer : more_) - (split_ == layer_split::ends_count_layers ? 1 : 0);
  }

  const degrees* d_;
  std::int64_t chunks_, given_, layers_;
  std::int64_t last_;    // first layer of the last chunk, where its layers are given
  std::int64_t each_{}, more_{};
  layer_split split_;
  std::array<std::int32_t, degrees::max_entries> first_;  // layer of each chunk, where those of each are given
};

}  // namespace headroom
