// Distributed under the Boost Software License, Version 1.0.
// Layers on pipeline stages: what the slowest takes, and all of them together.
#pragma once

#include <headroom/cost/layer.hpp>
#include <headroom/layout/stages.hpp>

#include <optional>
#include <utility>

namespace headroom::detail {

/// What the slowest stage takes for a micro-batch, and all of them together.
struct stage_load {
  both_passes slowest{}, sum{};
  double share{1};  ///< of the layers, on the fullest stage
};
constexpr stage_load load_stages(const cost_scene& c, const both_passes& dense, const both_passes& sparse, const both_passes& first, const both_passes& last) {
  const auto& s = *c.job;
  const auto& d = s.source->parallel;
  const auto& m = s.model;
  stage_load r;
  const auto layers = [&](both_passes& t, double from, double count) {
    if (!m.sparse()) return t.add(dense, count);
    for (double i = from; i < from + count; ++i) t.add(m.sparse_layer(static_cast<std::int64_t>(i)) ? sparse : dense);
  };
  layers(r.sum, 0, static_cast<double>(m.layers));
  r.sum.add(first);
  r.sum.add(last);
  if (m.mtp_layers > 0) r.sum.add(m.sparse() ? sparse : dense, static_cast<double>(m.mtp_layers));
  if (d.pipeline == 1) {
    r.slowest = r.sum;
    return r;
  }
  const auto chunks = d.pipeline * d.virtual_pipeline;
  const bool given = d.chunks > 0 || d.first_stage_layers > 0 || d.last_stage_layers > 0;
  const bool even = given || m.layers % chunks == 0;
  double most = 0;
  const auto consider = [&](const both_passes& t, double count) {
    if (t.total() > r.slowest.total()) r.slowest = t;
    if (count > most) most = count;
  };
  // Stages between the ends that hold as many layers of one kind take as long: the first of them stands for all. Chunks of the stage
  // before are kept for that.
  std::array<std::int64_t, degrees::max_chunks> before{};
  bool before_alike = false;
  const auto repeats = [&](const stage_cut& cut, std::int64_t stage) {
    bool alike = stage > 0 && stage < d.pipeline - 1 && m.experts.every <= 1 && !m.experts.masked_dense(), same = true;
    std::size_t n = 0;
    cut.for_each(stage, [&](const layer_chunk& k) {
      if (n == before.size()) return;
      alike = alike && (!m.sparse() || k.first >= m.experts.first_dense_layers);
      same = same && before[n] == k.count;
      before[n++] = k.count;
    });
    alike = alike && n < before.size();
    return std::exchange(before_alike, alike) && alike && same;
  };
  const std::optional<stage_cut> cut = even ? std::optional<stage_cut>(std::in_place, d, m.layers) : std::nullopt;
  for (std::int64_t stage = 0; stage < d.pipeline; ++stage) {
    if (even && repeats(*cut, stage)) continue;
    both_passes t;
    double count = 0;
    if (even) {
      cut->for_each(stage, [&](const layer_chunk& k) {
        if (d.schedule == schedule::dualpipe && count > 0) return;
        layers(t, static_cast<double>(k.first), static_cast<double>(k.count));
        count += static_cast<double>(k.count);
      });
    } else {  // as many more on the first stages
      const auto low = m.layers / d.pipeline;
      count = static_cast<double>(low + (stage < m.layers % d.pipeline ? 1 : 0));
      layers(t, product(stage, low), count);
    }
    if (stage == 0) t.add(first);
    if (stage == d.pipeline - 1) {
      t.add(last);
      if (m.mtp_layers > 0) t.add(m.sparse() ? sparse : dense, static_cast<double>(m.mtp_layers));
    }
    consider(t, count);
  }
  r.share = most / static_cast<double>(m.layers);
  return r;
}

/// Layers that are computed again, of those that could be.
constexpr double recomputed_share(const settled_job& s) {
  const auto& r = s.source->recompute;
  if (r.mode != recompute_mode::full) return 1.0;
  const auto& d = s.source->parallel;
  const auto each = s.source->framework.layers == layer_modules::megatron ? s.model.layers / (d.pipeline * d.virtual_pipeline) : s.model.layers;
  if (r.method != recompute_method::block || r.layers <= 0 || r.layers >= each) return 1.0;
  return static_cast<double>(r.layers) / static_cast<double>(each);
}

}  // namespace headroom::detail
