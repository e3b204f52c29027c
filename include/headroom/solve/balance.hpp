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
/// layers alone, so moving one layer at a time off the tightest stage ends only where no division is better.
/// Errors: job_error without pipeline stages, with virtual ones, and with fewer layers than stages; those of estimate().
constexpr job balance_stages(const job& from) {
  job j = from;
  detail::balance(j);
  return j;
}

}  // namespace headroom
