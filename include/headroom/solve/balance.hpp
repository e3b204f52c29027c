// Distributed under the Boost Software License, Version 1.0.
// Uneven pipeline stages that leave the tightest GPU as much headroom as there is to have.
#pragma once

#include <headroom/estimate.hpp>

namespace headroom {

namespace detail {

/// The least headroom of each stage's kinds of GPU.
struct stage_headroom {
  std::array<bytes, degrees::max_entries> of{};
  std::array<bool, degrees::max_entries> seen{};

  [[gnu::noinline]] constexpr explicit stage_headroom(const job& j) {
    visit_ranks(j, [&](const rank_report& rank) {
      const auto stage = static_cast<std::size_t>(rank.pipeline_stage);
      if (!seen[stage] || rank.headroom() < of[stage]) of[stage] = rank.headroom();
      seen[stage] = true;
    });
  }
  /// The tightest of all.
  [[nodiscard]] constexpr std::size_t tightest(std::size_t stages) const {
    std::size_t worst = 0;
    for (std::size_t i = 1; i < stages; ++i)
      if (of[i] < of[worst]) worst = i;
    return worst;
  }
};

/// A stack whose layers differ, cut so that the tightest stage has the most headroom. What a stage occupies grows with every layer at either end of it, so that a
/// headroom can be had on all stages if each takes as many layers as leave it that much, one after the other; the largest such headroom is halved in on.
class differing_layers {
 public:
  constexpr explicit differing_layers(job& j) : job_(&j), stages_(j.parallel.pipeline), layers_(j.model.layers) {}
  /// From the cut that the job has.
  [[gnu::noinline]] constexpr void balance() {
    bytes low = least(), high = low;
    cut_kept(true);
    for (std::int64_t i = 0; i < stages_; ++i) high = max(high, headroom(i, i + 1 < stages_ ? i : layers_ - 1, 1));  // of the emptiest stage
    while (low < high) {
      const auto middle = low + bytes{(high.count() - low.count() + 1) / 2};
      if (cut_where([&](std::int64_t stage, std::int64_t first, std::int64_t count) { return headroom(stage, first, count) >= middle; })) {
        low = max(middle, least());
        cut_kept(true);
      } else {
        high = middle - bytes{1};
      }
    }
    cut_kept(false);
  }

  /// What a stage leaves that runs `count` layers from `first` on, wherever the others lie.
  [[nodiscard]] constexpr bytes headroom(std::int64_t stage, std::int64_t first, std::int64_t count) {
    const auto behind = stages_ - 1 - stage, rest = layers_ - first - count;
    for (std::int64_t i = 0; i < stage; ++i) put(i, i == 0 ? first - (stage - 1) : 1);
    put(stage, count);
    for (std::int64_t i = 0; i < behind; ++i) put(stage + 1 + i, i + 1 == behind ? rest - (behind - 1) : 1);
    return stage_headroom(*job_).of[static_cast<std::size_t>(stage)];
  }
  /// Cuts the stack so that may(stage, first, count) says yes to the layers of every stage, if it can be. Where it says yes to layers in a row, it must say
  /// yes to each part of them.
  constexpr bool cut_where(const auto& may) {
    std::array<std::int32_t, degrees::max_entries> found{};
    std::int64_t first = 0;
    for (std::int64_t stage = 0; stage < stages_; ++stage) {
      const auto behind = stages_ - 1 - stage;
      std::int64_t fits = 0, most = layers_ - first - behind;
      if (behind == 0) {
        if (!may(stage, first, most)) return false;
        fits = most;
      }
      for (auto low = fits + 1; behind > 0 && low <= most;) {
        const auto middle = low + (most - low) / 2;
        if (may(stage, first, middle))
          fits = middle, low = middle + 1;
        else
          most = middle - 1;
      }
      if (fits == 0) return false;
      found[static_cast<std::size_t>(stage)] = static_cast<std::int32_t>(fits);
      first += fits;
    }
    for (std::int64_t i = 0; i < stages_; ++i) put(i, found[static_cast<std::size_t>(i)]);
    return true;
  }

 private:
  constexpr void put(std::int64_t stage, std::int64_t count) { job_->parallel.stage_layers[static_cast<std::size_t>(stage)] = static_cast<std::int32_t>(count); }
  [[nodiscard]] constexpr bytes least() const {
    const stage_headroom now(*job_);
    return now.of[now.tightest(static_cast<std::size_t>(stages_))];
  }
  /// Keeps the cut that the job has, or gives it back.
  constexpr void cut_kept(bool keep) {
    auto& layers = job_->parallel.stage_layers;
    for (std::size_t i = 0; i < static_cast<std::size_t>(stages_); ++i) {
      if (keep)
        kept_[i] = layers[i];
      else
        layers[i] = kept_[i];
    }
  }
  job* job_;
  std::int64_t stages_, layers_;
  std::array<std::int32_t, degrees::max_entries> kept_{};
};

constexpr void balance(job& j) {
  auto& d = j.parallel;
  if (d.pipeline < 2 || d.pipeline > degrees::max_entries) refuse("headroom: balance_stages() needs parallel.pipeline from 2 to 256", d.pipeline);
  if (d.virtual_pipeline > 1) refuse("headroom: balance_stages() divides whole stages; parallel.virtual_pipeline must be 1", d.virtual_pipeline);
  if (j.model.layers < d.pipeline) refuse("headroom: every pipeline stage needs a layer; model.layers", j.model.layers);
  const auto stages = static_cast<std::size_t>(d.pipeline);
  d.first_stage_layers = d.last_stage_layers = 0;
  d.chunks = static_cast<std::int32_t>(d.pipeline);
  for (std::size_t i = 0; i < stages; ++i)
    d.stage_layers[i] = static_cast<std::int32_t>(j.model.layers / d.pipeline + (static_cast<std::int64_t>(i) < j.model.layers % d.pipeline ? 1 : 0));
  if (kinds_of(j.model).size > 1) return differing_layers(j).balance();
  stage_headroom now(j);
  for (bool moved = true; moved;) {
    moved = false;
    const auto from = now.tightest(stages);
    if (d.stage_layers[from] < 2) break;
    std::size_t best = stages;
    bytes best_left{};
    const auto try_move = [&](std::size_t to) {
      --d.stage_layers[from], ++d.stage_layers[to];
      const stage_headroom then(j);
      ++d.stage_layers[from], --d.stage_layers[to];
      const auto left = min(then.of[to], then.of[from]);
      if (left > now.of[from] && (best == stages || left > best_left)) {
        best = to;
        best_left = left;
      }
    };
    for (std::size_t to = 0; to < stages; ++to)
      if (to != from) try_move(to);
    if (best == stages) break;
    --d.stage_layers[from];
    ++d.stage_layers[best];
    now = stage_headroom(j);
    moved = true;
  }
}

}  // namespace detail

/// The job with `parallel.stage_layers` chosen so that its tightest GPU has the most headroom: on a mixed cluster the small GPUs
/// get fewer layers, and so does a stage that also holds the embedding or the logits. What a stage occupies grows with its own
/// layers alone, so moving one layer at a time off the tightest stage ends only where no division is better. Where layers differ, ranges of
/// them are compared instead.
/// Errors: job_error without pipeline stages, with virtual ones, and with fewer layers than stages; those of estimate().
constexpr job balance_stages(const job& from) {
  job j = from;
  detail::balance(j);
  return j;
}

}  // namespace headroom
