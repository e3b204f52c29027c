// Distributed under the Boost Software License, Version 1.0.
// The kinds of layer that a model has, each once.
#pragma once

#include <headroom/model/shape.hpp>

#include <array>

namespace headroom {

/// The kinds of layer of a model, each with its first layer and how many there are.
struct layer_kinds {
  static constexpr std::size_t capacity = 8;
  struct entry {
    layer_kind kind{};
    std::int64_t first{};  ///< the first layer of the kind
    std::int64_t count{};
  };
  std::array<entry, capacity> of{};
  std::size_t size{};

  constexpr void add(layer_kind k, std::int64_t first, std::int64_t count = 1) {
    for (std::size_t i = 0; i < size; ++i) {
      if (of[i].kind != k) continue;
      of[i].count += count;
      return;
    }
    if (size == capacity) refuse("headroom: model.pattern: a model has at most 8 kinds of layer", static_cast<std::int64_t>(size));
    of[size++] = {k, first, count};
  }
  [[nodiscard]] constexpr std::size_t index(layer_kind k) const {
    std::size_t i = 0;
    while (i + 1 < size && of[i].kind != k) ++i;
    return i;
  }
  [[nodiscard]] constexpr const entry* begin() const { return of.data(); }
  [[nodiscard]] constexpr const entry* end() const { return of.data() + size; }
};

/// In the order of their first layers, then a kind that only modules of multi-token prediction have (count 0).
constexpr layer_kinds kinds_of(const shape& m) {
  layer_kinds r;
  if (m.layers < 1) return r;
  if (m.pattern.given()) {
    for (std::int64_t i = 0; i < m.layers; ++i) r.add(m.kind_of(i), i);
    return r;
  }
  const auto first = m.kind_of(0);
  const auto sparse = m.sparse_layers(0, m.layers), dense = m.layers - sparse;
  r.add(first, 0, first.sparse() ? sparse : dense);
  if (sparse == 0 && m.sparse() && m.mtp_layers > 0) r.add({first.mixer, feed_forward_kind::experts}, 0, 0);
  if (sparse == 0 || dense == 0) return r;
  std::int64_t i = 1;
  while (m.kind_of(i) == first) ++i;
  r.add(m.kind_of(i), i, first.sparse() ? dense : sparse);
  return r;
}

}  // namespace headroom
