// Distributed under the Boost Software License, Version 1.0.
// The layers of a chunk as runs of one kind: a pipeline stage has one chunk of the model, or several in turn.
// Source: Megatron-LM core/transformer/transformer_block.py (which layers a checkpoint holds).
#pragma once

#include <headroom/block/megatron_layer.hpp>
#include <headroom/engine/tensor_parallel/stage_buffers.hpp>
#include <headroom/layout/stages.hpp>

namespace headroom::detail {

/// Layers of one kind in a row, within a chunk. `each` of them run as a unit: more than one where they share a checkpoint.
struct chunk_run {
  std::int64_t first;
  std::int64_t count;  // units
  std::int64_t each;
  std::uint8_t place;  // of the first layer's kind, megatron::place_of(); a unit of several may mix them
  bool recomputes;
};

/// The layers of a chunk, in the order of forward. Of a pattern each layer is a run of its own, which is told when it is asked for.
struct chunk_runs {
  static constexpr int capacity = 8;
  std::array<chunk_run, capacity> runs;
  std::int32_t size;
  bool of_pattern;
  std::int64_t first, again;  ///< of a pattern: its first layer, and how many are computed again
  [[nodiscard]] constexpr chunk_run at(std::int32_t i, const shape& m) const {
    if (!of_pattern) return runs[static_cast<std::size_t>(i)];
    return {first + i, 1, 1, static_cast<std::uint8_t>(megatron::place_of(m.kind_of(first + i))), i < again};
  }
};

constexpr void add_kind(stage_parts& parts, layer_kind k) {
  parts.attention = parts.attention || k.mixer == mixer_kind::attention || k.mixer == mixer_kind::latent_attention;
  parts.recurs = parts.recurs || recurrent(k.mixer);
  parts.dense = parts.dense || k.feeds == feed_forward_kind::dense;
  parts.sparse = parts.sparse || k.sparse();
}

/// How many layers from `i` on, up to `end`, are of its kind.
constexpr std::int64_t layers_alike(const shape& m, std::int64_t i, std::int64_t end) {
  if (!m.sparse()) return end - i;
  const bool sparse = m.sparse_layer(i);
  auto next = i + 1;
  while (next < end && m.sparse_layer(next) == sparse) ++next;
  return next - i;
}

/// The layers of a chunk as runs of one kind. Full recomputation may take the first layers of each chunk (method block), or put
/// several layers in a checkpoint (method uniform).
constexpr chunk_runs cut_chunk(const job& j, const shape& m, const layer_chunk& c, stage_parts& kinds) {
  chunk_runs k{};
  const bool full = j.recompute.mode == recompute_mode::full;
  const auto n = j.recompute.layers;
  const bool block = full && j.recompute.method == recompute_method::block && n > 0;
  const auto each = full && j.recompute.method == recompute_method::uniform && n > 1 ? n : 1;
  const auto end = c.first + c.count;
  if (m.pattern.given()) {
    k = {{}, static_cast<std::int32_t>(c.count), true, c.first, !full ? 0 : block && n < c.count ? n : c.count};
    for (auto i = c.first; i < end; ++i) add_kind(kinds, m.kind_of(i));
    return k;
  }
  kinds.attention = kinds.attention || c.count > 0;
  const auto add = [&](const chunk_run& r) {
    if (k.size == chunk_runs::capacity) refuse("headroom: a pipeline chunk holds at most 8 runs of dense and sparse layers; use more stages", k.size);
    k.runs[static_cast<std::size_t>(k.size++)] = r;
  };
  for (auto i = c.first; i < end;) {
    const bool sparse = m.sparse_layer(i), recomputes = full && (!block || i - c.first < n);
    (sparse ? kinds.sparse : kinds.dense) = true;
    const auto alike = layers_alike(m, i, block && recomputes && c.first + n < end ? c.first + n : end);
    if (alike >= each || alike == end - i) {
      const auto size = alike >= each ? each : alike;
      add({i, alike / size, size, sparse, recomputes});
      i += alike / size * size;
      continue;
    }
    // A checkpoint over layers of both kinds.
    kinds.dense = kinds.sparse = true;
    const auto size = each < end - i ? each : end - i;
    add({i, 1, size, sparse, recomputes});
    i += size;
  }
  return k;
}

}  // namespace headroom::detail
