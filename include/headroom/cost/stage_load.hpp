// Distributed under the Boost Software License, Version 1.0.
// Layers on pipeline stages: what the slowest takes, and all of them together.
#pragma once

#include <headroom/cost/layer.hpp>
#include <headroom/layout/stages.hpp>

#include <optional>
#include <utility>

namespace headroom::detail {

/// What each kind of layer and both ends take for a micro-batch, wherever they lie.
struct layer_passes {
  both_passes dense, sparse, first, last;
};
constexpr void add_layers(both_passes& t, const settled_job& s, const layer_passes& p, double from, double count) {
  if (!s.model.sparse()) return t.add(p.dense, count);
  for (double i = from; i < from + count; ++i) t.add(s.model.sparse_layer(static_cast<std::int64_t>(i)) ? p.sparse : p.dense);
}
constexpr void add_last(both_passes& t, const settled_job& s, const layer_passes& p) {
  t.add(p.last);
  if (s.model.mtp_layers > 0) t.add(s.model.sparse() ? p.sparse : p.dense, static_cast<double>(s.model.mtp_layers));
}

/// What one stage works, and on how many layers. `cut`: none where layers do not come out even; then the first stages have one more.
struct stage_work {
  both_passes passes{};
  double layers{};
};
constexpr stage_work work_of_stage(const settled_job& s, const layer_passes& p, const stage_cut* cut, std::int64_t stage) {
  const auto& d = s.source->parallel;
  stage_work r;
  if (cut != nullptr) {
    cut->for_each(stage, [&](const layer_chunk& k) {
      if (d.schedule == schedule::dualpipe && r.layers > 0) return;
      add_layers(r.passes, s, p, static_cast<double>(k.first), static_cast<double>(k.count));
      r.layers += static_cast<double>(k.count);
    });
  } else {
    const auto low = s.model.layers / d.pipeline;
    r.layers = static_cast<double>(low + (stage < s.model.layers % d.pipeline ? 1 : 0));
    add_layers(r.passes, s, p, product(stage, low), r.layers);
  }
  if (stage == 0) r.passes.add(p.first);
  if (stage == d.pipeline - 1) add_last(r.passes, s, p);
  return r;
}
/// None where layers do not come out even.
constexpr std::optional<stage_cut> cut_of_layers(const settled_job& s) {
  const auto& d = s.source->parallel;
  const bool given = d.chunks > 0 || d.first_stage_layers > 0 || d.last_stage_layers > 0;
  if (!given && s.model.layers % (d.pipeline * d.virtual_pipeline) != 0) return std::nullopt;
  return std::optional<stage_cut>(std::in_place, d, s.model.layers);
}

/// What the slowest stage takes for a micro-batch, and all of them together.
struct stage_load {
  both_passes slowest{}, sum{};
  double share{1};  ///< of the layers, on the fullest stage
};
constexpr stage_load load_stages(const cost_scene& c, const layer_passes& passes) {
  const auto& s = *c.job;
  const auto& d = s.source->parallel;
  const auto& m = s.model;
  stage_load r;
  add_layers(r.sum, s, passes, 0, static_cast<double>(m.layers));
  r.sum.add(passes.first);
  add_last(r.sum, s, passes);
  if (d.pipeline == 1) {
    r.slowest = r.sum;
    return r;
  }
  double most = 0;
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
  const auto cut = cut_of_layers(s);
  for (std::int64_t stage = 0; stage < d.pipeline; ++stage) {
    if (cut && repeats(*cut, stage)) continue;
    const auto work = work_of_stage(s, passes, cut ? &*cut : nullptr, stage);
    if (work.passes.total() > r.slowest.total()) r.slowest = work.passes;
    if (work.layers > most) most = work.layers;
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
