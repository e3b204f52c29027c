// Distributed under the Boost Software License, Version 1.0.
// What a pipeline stage does at once, and a pipeline as its schedule sees it.
#pragma once

#include <headroom/layout/degrees.hpp>

#include <cstdint>

namespace headroom {

/// Backward is of the inputs, and of the weights too unless the schedule splits that off as work of its own.
enum class work_kind : std::uint8_t { forward, backward, weight_gradient };

/// What a stage does at once: one chunk's forward or backward of one micro-batch.
struct work {
  work_kind kind{};
  std::int64_t chunk{};  ///< of this stage, 0 the first that a micro-batch passes
  std::int64_t micro{};  ///< the micro-batch
  bool operator==(const work&) const = default;
};

/// A pipeline as its schedule sees it.
struct pipeline_plan {
  headroom::schedule kind{};
  std::int64_t stages{1};
  std::int64_t chunks{1};  ///< of each stage (virtual pipeline); DualPipe: 2
  std::int64_t micros{1};  ///< micro-batches of a step
  std::int64_t group{};    ///< micro-batches that pass a chunk of the interleaved schedule in a row; 0: as many as stages
};

namespace detail {

constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

}  // namespace detail

}  // namespace headroom
