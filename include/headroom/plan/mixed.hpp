// Distributed under the Boost Software License, Version 1.0.
// Pipelines over several kinds of GPU: which layers each stage gets.
#pragma once

#include <headroom/plan/axes.hpp>
#include <headroom/plan/uneven.hpp>

#include <algorithm>
#include <vector>

namespace headroom {

namespace detail {

/// How long each stage takes for so many layers, by cost()'s own parts.
struct stage_speeds {
  std::array<mixed_stages::pace, degrees::max_chunks> of_stage{};
  [[gnu::noinline]] constexpr explicit stage_speeds(const job& j) {
    const mixed_stages stages(j, rates_of);
    for (std::int64_t i = 0; i < j.parallel.pipeline; ++i) of_stage[static_cast<std::size_t>(i)] = stages.pace_of(i);
  }
  [[nodiscard]] constexpr double of(std::size_t stage, std::int32_t layers) const { return layers * of_stage[stage].layer + of_stage[stage].ends; }
};

/// Even stages, the first ones with a layer more.
constexpr job with_even_stages(job j) {
  auto& d = j.parallel;
  d.chunks = static_cast<std::int32_t>(d.pipeline);
  for (std::int64_t i = 0; i < d.pipeline; ++i) d.stage_layers[i] = static_cast<std::int32_t>(j.model.layers / d.pipeline + (i < j.model.layers % d.pipeline ? 1 : 0));
  return j;
}

/// Whether stages of the search's job are to be cut for their GPUs.
constexpr bool cuts_stages(const job& given, const job& j) { return j.hardware.kinds() > 1 && j.parallel.virtual_pipeline == 1 && may_cut(given, j); }

/// Whether stages over one kind of GPU are to be cut for what their layers take: where the search says so, and in stacks of several kinds of layer.
constexpr bool cuts_by_time(const search& s, const job& j) {
  return j.hardware.kinds() == 1 && (s.open_cut || j.model.pattern.given()) && takes_any_cut(j.framework) && may_cut(s.job, j) && properties_of(j.parallel.schedule).place == chunk_place::in_turn &&
         (s.open_cut || kinds_of(j.model).size > 1) && !check_cost(j, objecting{});
}

}  // namespace detail

/// Layers for each stage by the speed of its GPUs; where that does not fit, moved one by one off the tightest stage to the one that
/// takes least time with it, as long as any has room.
/// Errors: those of estimate() and cost().
constexpr job divide_by_speed(const job& given) {
  auto j = detail::with_even_stages(given);
  const detail::stage_speeds speeds(j);
  auto& d = j.parallel;
  const auto stages = static_cast<std::size_t>(d.pipeline);
  for (std::size_t i = 0; i < stages; ++i) d.stage_layers[i] = 1;
  const auto longer = [&](std::size_t i) { return speeds.of(i, d.stage_layers[i] + 1); };
  for (auto left = j.model.layers - d.pipeline; left > 0; --left) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < stages; ++i)
      if (longer(i) < longer(best)) best = i;
    ++d.stage_layers[best];
  }
  for (auto moves = j.model.layers; moves > 0; --moves) {
    const detail::stage_headroom now(j);
    const auto from = now.tightest(stages);
    if (now.of[from] >= bytes{0} || d.stage_layers[from] < 2) break;
    std::size_t best = stages;
    for (std::size_t i = 0; i < stages; ++i) {
      if (i == from || (best < stages && longer(i) >= longer(best))) continue;
      --d.stage_layers[from], ++d.stage_layers[i];
      if (detail::stage_headroom(j).of[i] >= bytes{0}) best = i;
      ++d.stage_layers[from], --d.stage_layers[i];
    }
    if (best == stages) break;
    --d.stage_layers[from];
    ++d.stage_layers[best];
  }
  return j;
}

/// Ways to cut a pipeline. Over several kinds of GPU: by speed, and as balance_stages() does, which fits if any division does. Over one: as the job has
/// it, where its layers come out even, and by what they take.
inline std::vector<job> stage_divisions(const job& j) {
  if (j.hardware.kinds() == 1) {
    std::vector<job> ways{j, divide_by_time(j)};
    const auto& d = j.parallel;
    const bool even = chunks_given(d) == 0, comes_out = j.model.layers % (d.pipeline * d.virtual_pipeline) == 0;
    const auto same = [](const degrees& a, const degrees& b) { return std::equal(a.stage_layers, a.stage_layers + degrees::max_entries, b.stage_layers); };
    if (even && !comes_out) ways.erase(ways.begin());
    else if (same((even ? detail::with_even_chunks(j) : j).parallel, ways[1].parallel)) ways.pop_back();
    return ways;
  }
  std::vector<job> ways{divide_by_speed(j), balance_stages(j)};
  if (ways[0] == ways[1]) ways.pop_back();
  return ways;
}

}  // namespace headroom
