// Distributed under the Boost Software License, Version 1.0.
// By how much a measured value lies below or above a predicted one: what an assumption (report/assumption.hpp) costs in certainty.
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
  turnover,       ///< `reserved` without weights, gradients and optimizer states: what passes through the cache
  nccl,
  orders,         ///< reserved_orders: from its tenth to its ninetieth percentile
  cached,         ///< what a micro-batch passes through the cache: as turnover, of forward, loss and backward alone
  holes,          ///< `reserved` beyond `active`: what the allocator has and could not use
  device,
};
inline constexpr int error_base_count = static_cast<int>(error_base::device) + 1;

/// What stays in the cache until the GPU is full and is then given back: it is in what is reserved, but a job fits without it.
constexpr bool given_back(error_base b) { return b == error_base::orders || b == error_base::cached; }

/// One reason why a measured value differs from a predicted one, independent of the others. `below` and `above`: by how much it
/// typically (one standard deviation) lies below or above, in thousandths of what it is proportional to.
struct spread {
  std::string_view from{};  ///< what it is called in the report file; empty: none
  reading first{};          ///< the first number that it is in
  error_base of{};
  std::int32_t below{}, above{};
};

/// Why an assumption has no spread of its own.
enum class without_spread : std::uint8_t {
  fills_in,          ///< it fills in what a job leaves open: the report is of the job with that
  decides,           ///< … and another choice takes several times as much: said before the numbers
  left_out,          ///< it says what is no part of these numbers
  in_other_spreads,  ///< its errors are in the records that others are calibrated on: tensors, compiler, recipe
};

/// Its name in a report.
constexpr std::string_view text(reading m) {
  constexpr std::string_view names[reading_count]{"allocated", "active", "reserved", "device"};
  return names[static_cast<std::size_t>(m)];
}

}  // namespace headroom
