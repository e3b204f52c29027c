// Distributed under the Boost Software License, Version 1.0.
// Every kind of rank of a job, however many: on the heap, at run time.
#pragma once

#include <headroom/estimate.hpp>

#include <vector>

namespace headroom {

/// A report that holds all kinds of rank. It converts to a `report`, and that to one of these with the ranks that it holds.
using full_report = basic_report<std::vector<rank_report>>;

namespace detail {

template <class Layers = shipped_layers>
full_report estimate_of_all(const job& j, const Layers& layers = {}) {
  full_report r;
  estimate_into(r, [&]() -> rank_report& { return r.add(); }, j, layers, shipped_order{});
  return r;
}

}  // namespace detail

/// estimate(job) with every kind of rank.
/// Errors: those of estimate().
full_report estimate_all(const job& j);

namespace detail {
/// … without what a measured run says.
full_report uncorrected_estimate(const job& j);
}  // namespace detail

#ifndef HEADROOM_COMPILED
inline full_report detail::uncorrected_estimate(const job& j) { return estimate_of_all(j); }
inline full_report estimate_all(const job& j) {
  auto r = detail::estimate_of_all(j);
  detail::correct_estimate(r, j);
  return r;
}
#endif

namespace detail {
template <own_stack Own>
full_report checked_estimate(const job& j, const Own& own) {
  const auto layers = layers_from(own);
  layers.check(j, refusing{});
  return estimate_of_all(j, layers);
}
}  // namespace detail

/// … with layers of one's own (block/own_layer.hpp).
template <own_stack Own>
full_report estimate_all(const job& j, const Own& own) {
  auto r = detail::checked_estimate(j, own);
  detail::correct_estimate(r, j);
  return r;
}

}  // namespace headroom
