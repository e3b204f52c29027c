// Distributed under the Boost Software License, Version 1.0.
// What outlives a step on one GPU: parameters, master copies, gradients, optimizer state, adapters. Exact: read off the
// inventory tensor by tensor, for any model that can be counted.
// Source: Rajbhandari et al. 2020 (ZeRO), section 3 and 5.
#pragma once

#include <headroom/block/experts.hpp>
#include <headroom/model/inventory.hpp>
#include <headroom/states/accumulated_on_host.hpp>
#include <headroom/states/adapted_weight.hpp>
#include <headroom/states/kept_weights.hpp>
#include <headroom/states/state_sum.hpp>

namespace headroom {

namespace detail {

/// How many of a weight's copies, `all` together, train. `outside`: the modules that train outside the stack.
constexpr std::int64_t trained_copies(const job& j, const module_set& outside, const weight& w, std::int64_t all) {
  if (w.frozen) return 0;
  // Blocks of a tower whose result nobody reads have no gradients, and so no states, unless those are divided with others'.
  const auto& v = j.model.vision;
  if (w.role == module::vision && v.unread > 0 && j.sharding.kind == sharding_kind::none) [[unlikely]] return outside.has(w.role) ? all - all / v.layers * v.unread : 0;
  if (j.trainable.all() || w.layers.count == 0) return outside.has(w.role) ? all : 0;
  std::int64_t copies = 0;
  for (std::int64_t i = 0; i < w.layers.count; ++i) {
    const auto layer = w.layers.at(i);
    std::int64_t here = j.adapter.modules_to_save.has(w.role) ? w.per_layer : 0;
    for (std::int32_t k = 0; k < j.trainable.size; ++k) {
      const auto& s = j.trainable.list[k];
      if (s.last_layer >= 0 && (layer < s.first_layer || layer > s.last_layer)) continue;
      if (!s.modules.empty() && !s.modules.has(w.role)) continue;
      const auto n = w.expert && s.experts >= 0 && s.experts < w.per_layer ? s.experts : w.per_layer;
      if (n > here) here = n;
    }
    copies = checked::add(copies, here);
  }
  return copies;
}

/// One rank's share of a weight.
constexpr weight divided(weight w, std::int64_t tensor) {
  if (w.split == split_axis::columns)
    w.columns = checked::ceil_div(w.columns, tensor);
  else if (w.split != split_axis::none)
    w.rows = checked::ceil_div(w.rows, tensor);
  return w;
}

/// One tensor of all experts of a layer, where they are computed at once.
constexpr weight joined(weight w, const settled_job& s) {
  const bool layers = s.layer.quantised.has(w.role) && !s.source->framework.experts.joins_gate();
  if (!w.expert || s.layer.adapts(w.role) || layers || !experts_at_once(s.model, s.source->framework.experts)) return w;
  w.rows = checked::mul(w.rows, w.per_layer);
  w.per_layer = 1;
  return w;
}

/// What one layer of each kind holds beside what all layers do.
struct kind_units {
  layer_kinds kinds{};
  std::array<parameters, layer_kinds::capacity> of{};

  constexpr explicit kind_units(const shape& m) {
    if (m.sparse() || m.pattern.given()) kinds = kinds_of(m);
  }
  [[nodiscard]] constexpr parameters largest() const {
    parameters r{};
    for (const auto& p : of) r = max(r, p);
    return r;
  }
};

/// Adds a layer's weight to what all layers hold, or to what those of its kinds do. Experts that are divided over ranks are gathered
/// and reduced as a rank's share of them.
constexpr void add_to_unit(const shape& m, const weight& w, std::int64_t expert, parameters& every, kind_units& units) {
  const auto all = parameters{w.elements()} * (w.expert ? checked::ceil_div(w.per_layer, expert) : w.per_layer);
  if (units.kinds.size < 2 || w.layers.count == m.layers) {
    every += all;
    return;
  }
  for (std::size_t k = 0; k < units.kinds.size; ++k)
    if (w.layers.has(units.kinds.of[k].first)) units.of[k] += all;
}

}  // namespace detail

/// States of one rank of a settled job. `list` is the inventory of its model as it is kept: kept_weights().
constexpr state_bytes states(const settled_job& s, const inventory& list) {
  const auto& j = *s.source;
  detail::state_sum sum(s);
  const auto threshold = j.sharding.stage3_param_persistence_threshold >= 0 ? j.sharding.stage3_param_persistence_threshold : 100'000;
  const auto outside = trained_modules(j, -1);
  const bool divided = j.parallel.tensor > 1 && j.framework.modules.dtensor();
  const bool fused = s.model.fused_qkv || j.framework.attention.qkv != qkv_projection::separate;
  const auto adapt = [&](const weight& w, std::int64_t copies) {
    const bool runs = !j.batch.images.none || (w.role != module::vision && w.role != module::projector);
    detail::for_each_adapter(s, w, [&](std::int64_t rows, std::int64_t columns) {
      runs ? sum.trained(rows, columns, copies, detail::table_kind::none, true) : sum.idle(rows, columns, copies);
    });
  };
  detail::kind_units units(s.model);
  for (const auto& w : list) {
    sum.enter(w.layers.count > 0, s.model.layers > 1);
    const auto all = w.copies();
    const auto train = detail::trained_copies(j, outside, w, all);
    const bool linear = w.linear && !w.vector();
    sum.join_next((fused && (w.role == module::q_proj || w.role == module::k_proj)) || (s.model.fused_gate_up && w.role == module::gate_proj));
    if (divided && w.split != split_axis::none) [[unlikely]] {
      const auto here = detail::divided(w, j.parallel.tensor);
      sum.trained(here.rows, here.columns, train, detail::table_of(w.role), false);
      sum.frozen(here, all - train, false);
      sum.count_whole(w, here, all, train);
      continue;
    }
    sum.trained(w.rows, w.columns, train, detail::table_of(w.role), false);
    sum.frozen(w, all - train, linear && s.layer.quantised.has(w.role));
    const bool second = w.role == module::head && copies_tied_head(s);  // of a matrix that is listed as the embedding
    if (j.adapter.active() && j.adapter.modules_to_save.has(w.role) && !second) sum.frozen(w, train, false);  // the original stays beside the trained copy
    if (const auto beside = linear ? s.layer.side->beside(w, all) : 0; beside > 0) adapt(w, beside);
    auto& r = sum.r;
    const parameters one{w.elements()};
    const auto total = one * (second ? 0 : all);
    r.total += total;
    r.active += w.expert ? total / s.model.experts.count * s.model.experts.active : total;
    if (w.layers.count > 0) {
      detail::add_to_unit(s.model, w, j.parallel.expert, r.unit, units);
      if (linear && s.layer.quantised.has(w.role)) r.packed += one * w.per_layer;
    } else if (w.role == module::encoder || w.role == module::vision) {
      r.side += total;
    } else {
      r.root += total;
    }
    if (w.role == module::embedding) r.embedding += total;
    if (one.count() <= threshold) r.small += total;
    r.largest = max(r.largest, one);
  }
  if (adapts_tied_head(s)) adapt(detail::tied_head(s), 1);
  sum.finish();
  if (detail::accumulates_on_host(j)) [[unlikely]]
    sum.r.accumulated = detail::accumulated_by_rank(s, list, sum.r.trained, [&](const weight& w) { return detail::trained_copies(j, outside, w, w.copies()); });
  sum.r.unit += units.largest();
  if (const auto side_layers = s.model.encoder.layers + s.model.vision.layers; side_layers > 0 && sum.r.side / side_layers > sum.r.unit)
    sum.r.unit = sum.r.side / side_layers;
  return sum.r;
}

/// States of one rank of a job, for every model that can be counted (mixture of experts, encoders and towers included).
/// Errors: job_error for a job that contradicts itself.
constexpr state_bytes states(const job& j) {
  const auto s = settle(j);
  return states(s, kept_weights(s, weights_of(s.model)));
}

}  // namespace headroom
