// Distributed under the Boost Software License, Version 1.0.
// What FSDP2 gathers and reduces at once (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py): each parameter whole and as this
// rank's shard, in the formats in which it is computed with, reduced and kept.
#pragma once

#include <headroom/states/states.hpp>

#include <utility>

namespace headroom {

/// Parameters that are gathered and reduced together, in bytes of one GPU.
template <class Tensors>
struct sharded_unit {
  Tensors whole{};           ///< each parameter as it is computed with
  bytes gathered{};          ///< all of them, as they arrive
  bytes shard{};             ///< this rank's part of that, where it is made for the gather
  bytes reduced{};           ///< gradients in the format of the reduction
  bytes sum{};               ///< this rank's part of them, on the way
  bytes gradient{};          ///< … and in the parameters' format, where that is another
};

namespace detail {

/// Makes the units of a job from its list of weights.
template <class Tensors>
struct unit_sizes {
  const settled_job& job;
  const inventory& list;

  /// Adds a weight, as it is in one layer (-1: outside them), to a unit.
  constexpr void add(sharded_unit<Tensors>& u, weight w, std::int64_t layer) const {
    const auto& s = job;
    const auto& j = *s.source;
    if (j.framework.modules.dtensor()) w = detail::divided(w, j.parallel.tensor);
    w = detail::joined(w, s);
    const bool linear = w.linear && !w.vector();
    const bool packed = linear && s.layer.quantised.has(w.role);
    const bool narrow = j.framework.sharding.gathers_in_fp8 && linear && w.role != module::head;
    const auto bits = packed ? s.layer.base.bits : narrow ? 8 : s.precision.compute.bits;
    const bool trains = !packed && !w.frozen && trained_modules(j, layer).has(w.role);
    const bool scaled = packed && j.framework.quantised.divides_statistics;
    add(u, w.rows, w.columns, w.per_layer, trains, bits, scaled ? s.layer.base.metadata(w.rows, w.columns) : bytes{0});
    const auto rows = linear && s.layer.adapts(w.role) ? detail::adapted_rows(s, w) : 0;
    if (rows == 0) return;
    const auto width = s.layer.adapter_width * 8;
    add(u, j.adapter.rank, w.columns, 1, true, width);
    add(u, rows, j.adapter.rank, 1, true, width);
    if (j.adapter.kind == adapter_kind::dora) add(u, rows, 1, 1, true, width);
  }
  /// So many of rows × columns, gathered in elements of `bits`, with scales beside each.
  constexpr void add(sharded_unit<Tensors>& u, std::int64_t rows, std::int64_t columns, std::int64_t copies, bool trains, std::int64_t bits, bytes scales = bytes{0}) const {
    const auto& p = job.precision;
    const auto d = job.shards.parameters;
    const auto here = checked::mul(checked::ceil_div(rows, d), columns), all = checked::mul(here, d);
    const auto whole = bytes{checked::ceil_div(checked::mul(all, bits), 8)} + scales;
    u.whole.add(whole, copies);
    u.gathered += copies * whole;
    if (bits != (trains ? p.parameters : p.untrained()).bits) u.shard += copies * (bytes{checked::ceil_div(checked::mul(here, bits), 8)} + ceil_div(scales, d));
    if (!trains) return;
    u.reduced += copies * bytes{checked::mul(all, p.reduce.width())};
    u.sum += copies * bytes{checked::mul(here, p.reduce.width())};
    if (p.reduce.bits != p.gradients.bits) u.gradient += copies * bytes{checked::mul(here, p.gradients.width())};
  }
  /// The unit of a layer; of several that are visited as one, the largest, with the gradients that all of them keep.
  [[nodiscard]] constexpr sharded_unit<Tensors> unit_of(std::int64_t first, std::int64_t span, bool stays_whole) const {
    sharded_unit<Tensors> r{}, all{};
    for (auto layer = first; layer < first + span; ++layer) {
      sharded_unit<Tensors> u{};
      for (const auto& w : list) {
        if (!w.layers.has(layer)) continue;
        add(u, w, layer);
        if (span > 1) [[unlikely]] add(all, w, layer);
      }
      if (layer == first || u.gathered > r.gathered) r = std::move(u);
    }
    if (span > 1) [[unlikely]] {
      r.sum = all.sum, r.gradient = all.gradient;
      if (stays_whole) r.whole = std::move(all.whole);
    }
    return r;
  }
};

}  // namespace detail

}  // namespace headroom
