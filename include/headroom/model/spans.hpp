// Distributed under the Boost Software License, Version 1.0.
// Which layers of the main stack have a kind of mixer, or of feed-forward.
#pragma once

#include <headroom/model/layer_kinds.hpp>
#include <headroom/model/weight.hpp>

#include <array>

namespace headroom::detail {

/// Layers of the main stack that are alike, as few spans as the rule allows.
struct layer_spans {
  static constexpr int capacity = 16;
  std::array<layer_span, capacity> of{};
  int size{};

  constexpr void add(layer_span s) {
    if (s.count <= 0) return;
    if (size == capacity)
      refuse("headroom: model: kinds of layer alternate too irregularly; at most 16 runs of one kind are accepted", size);
    of[static_cast<std::size_t>(size++)] = s;
  }
  [[nodiscard]] constexpr const layer_span* begin() const { return of.data(); }
  [[nodiscard]] constexpr const layer_span* end() const { return of.data() + size; }
};

/// Layers that `chosen(layer)` picks, as few spans as come out of taking the longest from the first layer not yet covered.
template <class Chosen>
constexpr layer_spans spans_where(const shape& m, const Chosen& chosen) {
  layer_spans r;
  const auto covered = [&](std::int64_t i) {
    for (const auto& s : r)
      if (s.has(i)) return true;
    return false;
  };
  const auto furthest = m.layers < layer_pattern::capacity ? m.layers : layer_pattern::capacity;
  for (std::int64_t i = 0; i < m.layers; ++i) {
    if (!chosen(i) || covered(i)) continue;
    layer_span best{i, 1, 1};
    for (std::int64_t stride = 1; stride < furthest && i + stride * best.count < m.layers; ++stride) {
      layer_span s{i, 1, stride};
      while (i + s.count * stride < m.layers && chosen(i + s.count * stride) && !covered(i + s.count * stride)) ++s.count;
      if (s.count > best.count) best = s;
    }
    r.add(best);
  }
  return r;
}

/// Layers that are sparse (or, with `sparse` false, dense), of a model without a pattern.
constexpr layer_spans spans_by_rule(const shape& m, bool sparse) {
  layer_spans r;
  if (!m.sparse()) {
    if (!sparse) r.add({0, m.layers, 1});
    return r;
  }
  const auto& e = m.experts;
  const std::int64_t every = e.every > 1 ? e.every : 1;
  const std::int64_t dense = e.first_dense_layers < m.layers ? e.first_dense_layers : m.layers;
  // Sparse layers are i = every - 1 (mod every) from `dense` on; first: the smallest such i.
  const std::int64_t first = checked::add(checked::mul(dense / every, every), every - 1);
  if (sparse) {
    if (first < m.layers) r.add({first, (m.layers - 1 - first) / every + 1, every});
    return r;
  }
  r.add({0, first < m.layers ? first : m.layers, 1});
  if (every <= m.layers / every) {  // one span for each place between two sparse layers
    for (std::int64_t k = 1; k < every && first + k < m.layers; ++k)
      r.add({first + k, (m.layers - 1 - first - k) / every + 1, every});
  } else {  // few sparse layers: one span for each gap
    for (std::int64_t i = first; i < m.layers; i += every) r.add({i + 1, (m.layers - 1 - i < every ? m.layers - i : every) - 1, 1});
  }
  return r;
}

/// Layers with such a feed-forward.
constexpr layer_spans spans_of(const shape& m, feed_forward_kind feeds) {
  if (m.layers <= 0) return {};
  if (!m.pattern.given() && !m.experts.masked_dense()) return spans_by_rule(m, feeds == feed_forward_kind::experts);
  return spans_where(m, [&](std::int64_t i) { return m.kind_of(i).feeds == feeds; });
}

/// Layers with such a mixer.
constexpr layer_spans spans_of(const shape& m, mixer_kind mixer) {
  layer_spans r;
  if (m.layers > 0 && !m.pattern.given() && mixer == m.attention()) r.add({0, m.layers, 1});
  if (!m.pattern.given()) return r;
  return spans_where(m, [&](std::int64_t i) { return m.kind_of(i).mixer == mixer; });
}

}  // namespace headroom::detail
