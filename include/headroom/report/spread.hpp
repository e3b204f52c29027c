// Distributed under the Boost Software License, Version 1.0.
// What is measured of a rank, and what an error in its prediction is proportional to: the words of uncertainty.hpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace headroom {

/// What can be measured of a rank, each with all that the ones before it hold.
enum class reading : std::uint8_t { allocated, active, reserved, device };
inline constexpr int reading_count = static_cast<int>(reading::device) + 1;

/// What an error is proportional to.
enum class error_base : std::uint8_t {
  mebibyte,       ///< nothing: so many thousandths of a MiB
  step_tensors,   ///< `allocated` at the peak without weights, gradients and optimizer states
  activations,
  routed,         ///< rank_report::routed
  samples,        ///< activations and logits: what grows with a sample's length
  gathered,       ///< gathered parameters and communication buffers
  over_next,      ///< by how much the peak is taller than the tallest moment of another phase
  logits_again,   ///< by how much the peak grows where each phase has its logits twice
  temporaries,
  allocated,
  turnover,       ///< `reserved` without weights, gradients and optimizer states, at the peak or where a micro-batch has the most: what passes through the cache
  nccl,
  orders,         ///< reserved_orders: from its tenth to its ninetieth percentile
  cached,         ///< what a micro-batch passes through the cache: as turnover, of forward, loss and backward alone
  holes,          ///< `reserved` beyond `active`: what the allocator has and could not use
  device,
};
inline constexpr int error_base_count = static_cast<int>(error_base::device) + 1;

/// What stays in the cache until the GPU is full and is then given back: it is in what is reserved, but a job fits without it.
constexpr bool given_back(error_base b) { return b == error_base::orders || b == error_base::cached; }

/// Its name in a report.
constexpr std::string_view text(reading m) {
  constexpr std::string_view names[reading_count]{"allocated", "active", "reserved", "device"};
  return names[static_cast<std::size_t>(m)];
}

}  // namespace headroom
