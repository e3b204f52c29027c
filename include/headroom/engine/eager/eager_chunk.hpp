// Distributed under the Boost Software License, Version 1.0.
// Layers of one pipeline stage that run in a row, eager and under FSDP2: what they cost for one micro-batch, and what they hold for all.
#pragma once

#include <headroom/engine/eager/layer_costs.hpp>
#include <headroom/engine/eager/spread.hpp>
#include <headroom/engine/eager/step_parts.hpp>
#include <headroom/states/outside.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom {

namespace detail {

/// A moment of a chunk's reduction, unit by unit: its input, and what has left until then of what the chunk held.
struct reduction_moment {
  bytes input{}, gathered{}, gradients{};
  [[nodiscard]] constexpr bytes total() const { return input - gathered - gradients; }
};

/// Layers of one stage that run in a row: what they cost for one micro-batch, and what they hold for all.
struct eager_chunk {
  moment saved{};                     ///< for backward; what was received is not in it
  moment forward{}, loss{}, backward{};  ///< peaks
  moment beginning{};                 ///< … of its first backward: gradients, added up in the reduction's format, grow from layer to layer
  moment adding{};                    ///< … of a backward that adds gradients of weights to those of earlier micro-batches on its way
  std::int64_t forward_layer{-1}, backward_layer{-1}, beginning_layer{-1}, adding_layer{-1};
  bytes logits{};                     ///< what its head returns
  bytes loss_span{};                  ///< the segment that head and loss need
  bytes gathered{}, gradients{}, sharded{};  ///< parameters, and gradients whole and reduced
  reduction_moment reducing{};        ///< of the tallest moment of its reduction
  bytes gather_pool{};
  bool first{}, last{};

  // Where gradients of weights are work of their own, and its input has a gradient:
  bool splits{};
  moment waiting{};                   ///< gradients of results, between the two
  bytes fresh{};                      ///< gradients of weights as autograd makes them, until the next backward adds them up in another format
  bytes fresh_layer{};                ///< … of a layer

  // What it holds all along, and which others it stands for:
  breakdown states{};
  bytes updating{};                   ///< one copy of what trains, in the state's format
  bytes updating_alone{};             ///< what an optimizer's own code makes of its tensors
  std::int64_t from{}, layers{}, recomputed{};  ///< where its layers begin, how many there are, and of how many the forward runs again

  /// Chunks between the ends with as many layers, of which as many are recomputed, cost the same.
  [[nodiscard]] constexpr bool like(const model_slice& here, std::int64_t again) const {
    return !first && !last && !here.embedding && !here.head && layers == here.count && recomputed == again;
  }
};

/// A chunk on its stage.
struct placed_chunk {
  const eager_chunk* cost{};
  std::int64_t above{};      ///< so many layers behind those that were walked
  bool hands_on{}, handed{}; ///< its result is the next chunk's input, on the same stage; its input the one's before
};

constexpr bool units_apart(const settled_job& s) { return root_of(*s.source) == root_units::split && !s.model.tied; }

}  // namespace detail

}  // namespace headroom
