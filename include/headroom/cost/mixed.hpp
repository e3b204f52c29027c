// Distributed under the Boost Software License, Version 1.0.
// Stages on several kinds of GPU: each runs at the speed of the GPUs that it lies on.
#pragma once

#include <headroom/cost/step.hpp>

#include <utility>

namespace headroom::detail {

/// The slower of two ways in everything.
constexpr fabric slower(const fabric& a, const fabric& b) {
  return {.link = a.link < b.link ? a.link : b.link,
          .network = a.network < b.network ? a.network : b.network,
          .latency = a.latency > b.latency ? a.latency : b.latency,
          .hop = a.hop > b.hop ? a.hop : b.hop,
          .round = a.round > b.round ? a.round : b.round,
          .domain = a.domain < b.domain ? a.domain : b.domain};
}

/// Kinds of GPU that a stage's ranks lie on: stages lie on ranks in a row, and so do kinds.
struct kind_range {
  std::size_t first{}, last{};
  bool operator==(const kind_range&) const = default;
};
constexpr kind_range kinds_of_stage(const job& j, std::int64_t stage) {
  const auto ranks = j.hardware.gpus() / j.parallel.pipeline;
  kind_range r;
  std::int64_t end = j.hardware.count(0);
  const auto pass = [&](std::size_t& kind, std::int64_t rank) {
    for (; end <= rank && kind + 1 < j.hardware.kinds(); end += j.hardware.count(kind)) ++kind;
  };
  pass(r.first, stage * ranks);
  r.last = r.first;
  pass(r.last, (stage + 1) * ranks - 1);
  return r;
}

/// Stages in a row that lie on the same kinds, on one of these.
struct placed_stages {
  std::int64_t from{}, to{};  ///< the first, and the one after the last
  std::size_t kind{};
  cost_scene scene{};
  layer_passes passes{};
  double layers{};            ///< of the fullest of them
};

/// A job's stages on its kinds of GPU. Where a stage lies on several, the slowest sets its pace, and its collectives run at the slower
/// link. Refers to the job and the rates, which must outlive it.
class mixed_stages {
 public:
  /// `rates_for(gpu)`: a reference to its rates.
  template <class Rates, class Layers = shipped_layers>
  constexpr mixed_stages(const job& j, const Rates& rates_for, const Layers& layers = {}) : job_(&j) {
    settle_all(j, layers);
    kind_range before{1, 0};
    for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage) {
      const auto kinds = kinds_of_stage(j, stage);
      const auto group = size_ - (before.last + 1 - before.first) * (size_ > 0 ? 1U : 0U);
      if (kinds == before) {
        for (auto i = group; i < size_; ++i) placed_[i].to = stage + 1;
        continue;
      }
      before = kinds;
      const auto first = size_;
      for (auto k = kinds.first; k <= kinds.last; ++k) placed_[size_++] = {stage, stage + 1, k, cost_scene_of(settled_[k], rates_for(*settled_[k].on)), {}, 0};
      auto links = placed_[first].scene.on.links;
      for (auto i = first; i < size_; ++i) links = slower(links, placed_[i].scene.on.links);
      for (auto i = first; i < size_; ++i) {
        auto& p = placed_[i];
        p.scene.on.links = links;
        p.passes = recomputed(passes_of(p.scene, list_, layers), settled_[p.kind]);
      }
    }
  }
  mixed_stages(const mixed_stages&) = delete;
  mixed_stages& operator=(const mixed_stages&) = delete;

  [[nodiscard]] constexpr const settled_job& settled() const { return settled_[0]; }
  [[nodiscard]] constexpr const inventory& list() const { return list_; }

  /// What a micro-batch takes on the stage that sets the pace, and on all of them.
  constexpr stage_load load() {
    if (job_->parallel.pipeline == 1) return load_of(nullptr);
    return with_cut_of_layers(settled(), [this](const stage_cut* cut) { return load_of(cut); });
  }

  /// The step: of all stages, the one whose gradients, update and offloaded states take longest ends it.
  constexpr step_cost step(const stage_load& load) {
    const auto ends = slower(links_of(0), links_of(job_->parallel.pipeline - 1));
    step_cost r;
    double peak = 0;
    std::array<bool, 1 + gpu_groups::capacity> counted{};
    time_assumption_set assumed;
    for (std::size_t i = 0; i < size_; ++i) {
      const auto& p = placed_[i];
      const auto& s = settled_[p.kind];
      const auto one = step_of(p.scene, load, parameters_of(p.scene, list_, p.layers / static_cast<double>(s.model.layers)), ends);
      if (one.step > r.step) r = one;
      assumed.bits |= assumed_of(p.scene, load.slowest).bits;
      if (!std::exchange(counted[p.kind], true)) peak += static_cast<double>(job_->hardware.count(p.kind)) * p.scene.on.peak;
    }
    r.peak = peak / r.gpus;
    r.assumptions = assumed;
    r.assumptions.add(time_assumption::mixed_kinds);
    return r;
  }

  /// What a layer takes on a stage, and what stands beside its layers there, of a micro-batch.
  struct pace {
    double layer{}, ends{};
  };
  [[nodiscard]] constexpr pace pace_of(std::int64_t stage) const {
    pace r;
    for (std::size_t i = 0; i < size_; ++i) {
      const auto& p = placed_[i];
      if (stage < p.from || stage >= p.to) continue;
      const auto& m = settled().model;
      stage_layers layers;
      layers.add(m, 0, m.layers);
      const auto all = work_of(m, p.passes, layers), beside = work_of(m, p.passes, {.first = stage == 0, .last = stage == job_->parallel.pipeline - 1});
      const double layer = all.total() / static_cast<double>(m.layers);
      if (layer > r.layer) r = {layer, beside.total()};
    }
    return r;
  }

 private:
  /// … of stages that are cut so; null: as even as they come.
  constexpr stage_load load_of(const stage_cut* cut) {
    stage_load r;
    for (std::int64_t stage = 0; stage < job_->parallel.pipeline; ++stage) {
      both_passes longest;
      auto links = links_of(stage);
      if (stage > 0) links = slower(links, links_of(stage - 1));
      if (stage + 1 < job_->parallel.pipeline) links = slower(links, links_of(stage + 1));
      for (std::size_t i = 0; i < size_; ++i) {
        auto& p = placed_[i];
        if (stage < p.from || stage >= p.to) continue;
        const auto here = layers_of_stage(settled_[p.kind], cut, stage);
        auto work = work_of(settled().model, p.passes, here);
        add_sends(work, between_stages(p.scene, links));
        if (here.all() > p.layers) p.layers = here.all();
        if (work.total() > longest.total()) longest = work;
      }
      r.sum.add(longest);
      if (longest.total() > r.slowest.total()) r.slowest = longest;
    }
    return r;
  }
  [[gnu::noinline]] constexpr void settle_all(const job& j, const auto& layers) {
    for (std::size_t k = 0; k < j.hardware.kinds(); ++k) settled_[k] = settle(j, k);
    list_ = layers.weights(settled_[0].model);
  }
  [[nodiscard]] constexpr const fabric& links_of(std::int64_t stage) const {
    std::size_t i = 0;
    while (i + 1 < size_ && stage >= placed_[i].to) ++i;
    return placed_[i].scene.on.links;
  }

  static constexpr std::size_t most_kinds = 1 + gpu_groups::capacity;
  static constexpr std::size_t most_placed = 2 * most_kinds + (most_kinds - 1);  // a stage over each border between two, and those of one kind
  const job* job_;
  std::array<settled_job, most_kinds> settled_{};
  inventory list_{};
  std::array<placed_stages, most_placed> placed_{};
  std::size_t size_ = 0;
};

}  // namespace headroom::detail
