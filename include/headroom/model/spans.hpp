// Distributed under the Boost Software License, Version 1.0.
// Which layers of the main stack have a kind of mixer, or of feed-forward, in as few spans as the rule allows: each goes to `visit(span)`.
#pragma once

#include <headroom/model/layer_kinds.hpp>
#include <headroom/model/weight.hpp>

namespace headroom::detail {

/// The layers that `chosen(layer)` picks, of a stack of at most layer_span::most_irregular.
constexpr layer_span span_where(const shape& m, const auto& chosen) {
  layer_span r;
  std::int64_t last = -1, stride = 1;
  bool even = true;
  for (std::int64_t i = 0; i < m.layers; ++i) {
    if (!chosen(i)) continue;
    if (r.count == 1) stride = i - last;
    even = even && (r.count < 2 || i - last == stride);
    r.add_irregular(i);
    last = i;
  }
  return even ? layer_span{r.first, r.count, stride} : r;
}

/// … of a deeper one: the longest even span from the first layer that is not yet covered, and so on.
constexpr void each_even_span(const shape& m, const auto& chosen, const auto& visit) {
  constexpr int most = 16;
  layer_span found[most];
  int size = 0;
  const auto open = [&](std::int64_t i) {
    for (int k = 0; k < size; ++k)
      if (found[k].has(i)) return false;
    return chosen(i);
  };
  for (std::int64_t i = 0; i < m.layers; ++i) {
    if (!open(i)) continue;
    layer_span best{i, 1, 1};
    for (std::int64_t stride = 1; stride < layer_pattern::capacity && i + stride * best.count < m.layers; ++stride) {
      layer_span s{i, 1, stride};
      while (i + s.count * stride < m.layers && open(i + s.count * stride)) ++s.count;
      if (s.count > best.count) best = s;
    }
    if (size == most) refuse("headroom: model: kinds of layer alternate too irregularly; of more than 128 layers at most 16 runs of one kind are accepted", size);
    found[size++] = best;
    visit(best);
  }
}

constexpr void each_span_where(const shape& m, const auto& chosen, const auto& visit) {
  if (m.layers > layer_span::most_irregular) return each_even_span(m, chosen, visit);
  if (const auto span = span_where(m, chosen); span.count > 0) visit(span);
}

/// Layers that are sparse (or, with `sparse` false, dense), of a model without a pattern.
constexpr void each_span_by_rule(const shape& m, bool sparse, const auto& visit) {
  const auto add = [&](std::int64_t first, std::int64_t count, std::int64_t stride) {
    if (count > 0) visit(layer_span{first, count, stride});
  };
  if (!m.sparse()) {
    if (!sparse) add(0, m.layers, 1);
    return;
  }
  const auto& e = m.experts;
  const std::int64_t every = e.every > 1 ? e.every : 1;
  const std::int64_t dense = e.first_dense_layers < m.layers ? e.first_dense_layers : m.layers;
  // Sparse layers are i = every - 1 (mod every) from `dense` on; first: the smallest such i.
  const std::int64_t first = checked::add(checked::mul(dense / every, every), every - 1);
  if (sparse) {
    if (first < m.layers) add(first, (m.layers - 1 - first) / every + 1, every);
    return;
  }
  add(0, first < m.layers ? first : m.layers, 1);
  if (every <= m.layers / every) {  // one span for each place between two sparse layers
    for (std::int64_t k = 1; k < every && first + k < m.layers; ++k) add(first + k, (m.layers - 1 - first - k) / every + 1, every);
  } else {  // few sparse layers: one span for each gap
    for (std::int64_t i = first; i < m.layers; i += every) add(i + 1, (m.layers - 1 - i < every ? m.layers - i : every) - 1, 1);
  }
}

/// Layers with such a feed-forward.
constexpr void each_span(const shape& m, feed_forward_kind feeds, const auto& visit) {
  if (m.layers <= 0) return;
  if (!m.pattern.given() && !m.experts.masked_dense()) return each_span_by_rule(m, feeds == feed_forward_kind::experts, visit);
  each_span_where(m, [&](std::int64_t i) { return m.kind_of(i).feeds == feeds; }, visit);
}

/// Layers with such a mixer.
constexpr void each_span(const shape& m, mixer_kind mixer, const auto& visit) {
  if (m.pattern.given())
    each_span_where(m, [&](std::int64_t i) { return m.kind_of(i).mixer == mixer; }, visit);
  else if (m.layers > 0 && mixer == m.attention())
    visit(layer_span{0, m.layers, 1});
}

}  // namespace headroom::detail
