// Distributed under the Boost Software License, Version 1.0.
// Layers on pipeline stages: what the slowest takes, and all of them together.
#pragma once

#include <headroom/cost/layer.hpp>
#include <headroom/settle/stages.hpp>


namespace headroom::detail {

/// What each kind of layer and both ends take for a micro-batch, wherever they lie.
struct layer_passes {
  both_passes dense, sparse, first, last;
  both_passes plain{}, scans{};  ///< of stacks of halves, whose dense layers are attention alone and sparse ones experts alone: MLPs, and Mamba-2
};

/// What lies on a stage.
struct stage_layers {
  std::int64_t dense{}, sparse{};
  bool first{}, last{};
  std::int64_t plain{}, scans{};
  constexpr void add(const shape& m, std::int64_t from, std::int64_t count) {
    if (m.pattern.given()) [[unlikely]] {
      std::int64_t* const places[] = {&dense, &sparse, &plain, &scans};
      for (auto i = from; i < from + count; ++i) ++*places[megatron::place_of(m.kind_of(i))];
      return;
    }
    const auto of = m.sparse_layers(from, count);
    dense += count - of;
    sparse += of;
  }
  [[nodiscard]] constexpr double all() const { return static_cast<double>(dense + sparse + plain + scans); }
  bool operator==(const stage_layers&) const = default;
};
/// `cut`: none where layers do not come out even; then the first stages have one more.
constexpr stage_layers layers_of_stage(const settled_job& s, const stage_cut* cut, std::int64_t stage) {
  const auto& d = s.source->parallel;
  const auto& order = properties_of(d.schedule);
  stage_layers r{.first = stage == 0, .last = stage == (order.place == chunk_place::in_a_v ? 0 : d.pipeline - 1)};
  if (cut != nullptr) {
    cut->for_each(stage, [&](const layer_chunk& k) {
      if (order.both_ways() && r.all() > 0) return;  // a micro-batch passes one of the two
      r.add(s.model, k.first, k.count);
    });
  } else {
    const auto low = s.model.layers / d.pipeline, more = s.model.layers % d.pipeline;
    r.add(s.model, stage * low + (stage < more ? stage : more), low + (stage < more ? 1 : 0));
  }
  return r;
}

/// use(the cut of the layers into stages), or use(null) where they do not come out even.
constexpr auto with_cut_of_layers(const settled_job& s, const auto& use) {
  const auto& d = s.source->parallel;
  const auto split = s.source->framework.pipeline.split;
  const bool given = chunks_given(d) > 0 || d.first_stage_layers > 0 || d.last_stage_layers > 0;
  if (!given && split == layer_split::even && s.model.layers % (d.pipeline * d.virtual_pipeline) != 0) return use(static_cast<const stage_cut*>(nullptr));
  const auto cut = cut_into_stages(*s.source, s.model);
  return use(&cut);
}

/// What such a stage works.
constexpr both_passes work_of(const shape& m, const layer_passes& p, const stage_layers& on) {
  both_passes t;
  if (on.dense > 0) t.add(p.dense, static_cast<double>(on.dense));
  if (on.sparse > 0) t.add(p.sparse, static_cast<double>(on.sparse));
  if (on.plain > 0) [[unlikely]] t.add(p.plain, static_cast<double>(on.plain));
  if (on.scans > 0) [[unlikely]] t.add(p.scans, static_cast<double>(on.scans));
  if (on.first) t.add(p.first);
  if (!on.last) return t;
  t.add(p.last);
  if (m.mtp_layers > 0) t.add(m.sparse() ? p.sparse : p.dense, static_cast<double>(m.mtp_layers));
  return t;
}

/// What lies on each stage, but for stages like the one before: visit(stage_layers).
constexpr void for_each_kind_of_stage(const settled_job& s, auto&& visit) {
  with_cut_of_layers(s, [&](const stage_cut* cut) {
    stage_layers before;
    for (std::int64_t stage = 0; stage < s.source->parallel.pipeline; ++stage) {
      const auto here = layers_of_stage(s, cut, stage);
      if (stage == 0 || here != before) visit(before = here);
    }
  });
}

/// What the slowest stage takes for a micro-batch, and all of them together.
struct stage_load {
  both_passes slowest{}, sum{};
  double share{1};  ///< of the layers, on the fullest stage
};
/// `kinds(visit)`: for_each_kind_of_stage().
constexpr stage_load load_stages(const settled_job& s, const layer_passes& passes, const auto& kinds) {
  const auto& m = s.model;
  stage_layers whole{.first = true, .last = true};
  whole.add(m, 0, m.layers);
  stage_load r{.sum = work_of(m, passes, whole)};
  if (s.source->parallel.pipeline == 1) {
    r.slowest = r.sum;
    return r;
  }
  double most = 0;
  kinds([&](const stage_layers& here) {
    const auto work = work_of(m, passes, here);
    if (work.total() > r.slowest.total()) r.slowest = work;
    if (here.all() > most) most = here.all();
  });
  r.share = most / static_cast<double>(m.layers);
  return r;
}

/// Layers that are computed again, of those that could be.
constexpr double recomputed_share(const settled_job& s) {
  const auto& r = s.source->recompute;
  if (r.mode != recompute_mode::full) return 1.0;
  const auto& d = s.source->parallel;
  const auto each = s.source->framework.modules.megatron() ? s.model.layers / (d.pipeline * d.virtual_pipeline) : s.model.layers;
  if (r.method != recompute_method::block || r.layers <= 0 || r.layers >= each) return 1.0;
  return static_cast<double>(r.layers) / static_cast<double>(each);
}

}  // namespace headroom::detail
