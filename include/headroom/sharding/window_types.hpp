// Distributed under the Boost Software License, Version 1.0.
// What sharded data parallelism adds around a layer: parameters gathered for a moment, gradients on their way to their owners,
// buffers that stay. Sizes in bytes of one GPU. Which they are is in windows_*.hpp.
#pragma once

#include <headroom/block/moment.hpp>
#include <headroom/states/states.hpp>

namespace headroom {

/// What becomes of a weight gradient when autograd has made it.
enum class gradient_path : std::uint8_t {
  grows,   ///< stays whole until the optimizer step
  leaves,  ///< goes at once: into a bucket, a partition, or the update itself
  unit,    ///< stays whole until its layer is done, then shrinks to a shard
};

/// What is there beside a layer while it is gathered and its gradients are reduced.
struct windows {
  gradient_path path{gradient_path::grows};
  moment always{};            ///< buffers from the first step on
  moment forward{};           ///< while a layer runs forward
  moment loss{};              ///< at the end of forward and in the loss
  moment turn{};              ///< in the backward of loss and head
  moment backward{};          ///< while a layer runs backward
  moment reduce{};            ///< when a layer's gradients are reduced, on top of those gradients
  moment step{};              ///< in the optimizer step
  moment gradients_before{};  ///< gradients that exist already when a step's last forward begins
  bool gradients_at_load{};   ///< … and are made when the trainer starts, for good
  bool ends_apart{};          ///< `end` and `last_reduce` hold, else `backward` to the end
  moment end{};               ///< in the embedding's backward
  moment last_reduce{};       ///< when the last gradients of a step are reduced, beside them
  bytes pending{};            ///< what of the layer before is still being reduced while a layer runs backward
  bytes pending_first{};      ///< … of the head, while the last layer does
  bool root_waits{};          ///< the head's gradients stay whole until the root is reduced
  bool flat_pieces{};         ///< gradients of a unit's weights stay until all have come and are concatenated, even if others exist already
  bytes kept_per_unit{};      ///< of a layer's gradients, after they are reduced (paths `leaves` and `unit`)
  bytes kept_root{};
  bytes kept_embedding{};     ///< of kept_root, what is reduced at the end

  // ZeRO stages 1 and 2, for a replay: what `backward` and `step` consist of.
  std::int32_t buckets{};          ///< equal parts of `backward`
  bytes partition{};          ///< a flat copy of this rank's reduced gradients, made in each backward
  std::int64_t partition_after{};  ///< … with its first full bucket, when so many layers have run, or else at the end
  bool partition_apart{};     ///< … on the stream that reduces
  bytes flat_gradients{};     ///< then in the step, once more, beside their cast to the master copy's format
  bytes wide_gradients{};

  // Blocks of the caching allocator belong to the stream that they were made on. Where communication streams make their own, memory is
  // reserved in pools that never lend to each other: as much as the tallest moment of each.
  bool pools{};
  bytes gathering{};          ///< while a layer runs, what of it lies in the pool of the all-gather
  bytes gather_pool{};
  bytes reduce_pool{};
};

namespace detail {

constexpr bytes share(parameters p, std::int64_t width, std::int64_t d = 1) {
  return bytes{checked::ceil_div(checked::mul(p.count(), width), d)};
}
constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

}  // namespace detail

}  // namespace headroom
