// Distributed under the Boost Software License, Version 1.0.
// What must hold within every report: rows add up, phases lie below the peak, nothing is negative.
#pragma once

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace headroom {

/// Every range holds what is predicted, is not negative, and grows with the confidence; what fits surely fits less surely, too.
constexpr bool bounds_are_sane(const report& r) {
  bool sane = true;
  for (const auto& rank : r)
    for (const auto m : {reading::allocated, reading::active, reading::reserved, reading::device}) {
      byte_range inner{value_of(rank, m), value_of(rank, m)};
      for (const double sure : {0.5, 0.72, 0.95, 0.999}) {
        const auto outer = bounds(r, rank, m, sure);
        sane = sane && bytes{0} <= outer.low && outer.low <= inner.low && inner.high <= outer.high;
        inner = outer;
      }
    }
  for (const double sure : {0.5, 0.72, 0.95, 0.999}) sane = sane && (r.fits() || !fits(r, sure)) && (fits(r, 0.5) || !fits(r, sure));
  return sane && bounds(r) == bounds(r, r.tightest(), reading::device, 0.95);
}

inline void parts_add_up(const job& j, const report& r) {
  std::int64_t gpus = 0;
  for (const auto& rank : r) {
    gpus += rank.count;
    if (in_every_step(rank.peak_phase)) REQUIRE(rank.at_phase[static_cast<std::size_t>(rank.peak_phase)] == rank.at_peak);
    bool sane = rank.at_peak.total() == rank.allocated;  // one assertion for all rows: there are millions
    for (std::size_t p = 0; p < rank.phases.size(); ++p) {
      sane = sane && rank.phases[p] <= rank.allocated;
      if (p >= rank.at_phase.size()) continue;
      sane = sane && rank.at_phase[p].total() == rank.phases[p];
      for (const auto b : rank.at_phase[p].rows) sane = sane && b >= bytes{0} && b <= rank.phases[p];
    }
    REQUIRE(sane);
    REQUIRE(rank.allocated <= rank.active);
    REQUIRE(rank.active <= rank.reserved);
    REQUIRE(rank.reserved <= rank.device);
    REQUIRE(rank.peak_layer < j.model.layers);
    REQUIRE(rank.headroom() >= r.headroom());
  }
  REQUIRE(gpus == j.hardware.gpus());
  REQUIRE(bounds_are_sane(r));
  REQUIRE(r.host.per_node >= r.host.pinned_per_node);
  REQUIRE(r.parameter_count.trainable <= r.parameter_count.total);
}

}  // namespace headroom
