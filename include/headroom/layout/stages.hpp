// Distributed under the Boost Software License, Version 1.0.
// Which layers lie on which pipeline stage.
#pragma once

#include <headroom/error.hpp>
#include <headroom/layout/degrees.hpp>

namespace headroom {

/// Layers in a row that run as one: chunk `index` of pipeline × virtual_pipeline, on stage index mod pipeline.
struct layer_chunk {
  std::int64_t index{};
  std::int64_t first{};
  std::int64_t count{};
};

/// What one device runs of a model: layers in a row, and which of its ends.
struct model_slice {
  std::int64_t first{};
  std::int64_t count{};
  bool embedding{true};
  bool head{true};
  [[nodiscard]] constexpr std::int64_t end() const { return first + count; }
};

/// Layers of chunk `index`: given one by one, or first and last given and the others even, or all even.
/// Errors: job_error where the layers do not come out even.
constexpr std::int64_t layers_of_chunk(const degrees& d, std::int64_t layers, std::int64_t index) {
  const auto chunks = checked::mul(d.pipeline, d.virtual_pipeline);
  if (d.chunks > 0) return index < d.chunks ? d.stage_layers[index] : 0;
  auto rest = layers;
  auto even = chunks;
  if (d.first_stage_layers > 0) {
    if (index == 0) return d.first_stage_layers;
    rest -= d.first_stage_layers;
    --even;
  }
  if (d.last_stage_layers > 0) {
    if (index == chunks - 1) return d.last_stage_layers;
    rest -= d.last_stage_layers;
    --even;
  }
  if (even < 1 || rest < 0 || rest % even != 0)
    refuse("headroom: model.layers must divide evenly over parallel.pipeline × virtual_pipeline, or parallel.stage_layers be given; layers", layers);
  return rest / even;
}

/// Calls visit(layer_chunk) for each chunk of a stage, in the order in which a micro-batch passes them.
template <class Visit>
constexpr void for_each_chunk(const degrees& d, std::int64_t layers, std::int64_t stage, Visit&& visit) {
  const auto chunks = checked::mul(d.pipeline, d.virtual_pipeline);
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < chunks; ++i) {
    const auto count = layers_of_chunk(d, layers, i);
    if (i % d.pipeline == stage) visit(layer_chunk{i, first, count});
    first = checked::add(first, count);
  }
  if (first != layers) refuse("headroom: parallel.stage_layers must add up to model.layers; they add up to", first);
}

}  // namespace headroom
