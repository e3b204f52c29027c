// Distributed under the Boost Software License, Version 1.0.
// Pipelines over several kinds of GPU: how long a step takes where stages run at their own speeds, and which layers each stage gets.
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/solve/balance.hpp>

#include <vector>

namespace headroom {

namespace detail {

/// The job on as many GPUs of one of its kinds.
constexpr job on_kind(const job& j, std::size_t kind) {
  auto alone = j;
  alone.hardware.gpu = j.hardware.accelerator(kind);
  alone.hardware.others = {};
  return alone;
}
/// What a GPU of a kind works on its stage's layers.
constexpr double work_seconds(const job& j, std::size_t kind) {
  const auto c = cost(on_kind(j, kind));
  return (c.matmul + c.attention + c.memory + c.communication + c.launch).value;
}
/// How long stages take, in layers of the slowest kind of GPU.
struct stage_speeds {
  std::array<double, 1 + gpu_groups::capacity> time{};     ///< of a layer on each kind
  std::array<std::size_t, degrees::max_chunks> kind{};     ///< of each stage: the slowest in it. Ranks of a stage lie in a row
  double ends{};                                           ///< embedding, head and loss, in layers; they are counted to the last stage
  std::size_t slowest{};

  constexpr explicit stage_speeds(const job& j) {
    for (std::size_t k = 0; k < j.hardware.kinds(); ++k) {
      time[k] = work_seconds(j, k);
      if (time[k] > time[slowest]) slowest = k;
    }
    auto one = on_kind(j, slowest);
    one.parallel.pipeline = one.parallel.virtual_pipeline = 1;
    one.parallel.schedule = schedule::one_forward_one_backward;
    one.parallel.chunks = 0;
    one.parallel.data = one.parallel.first_stage_layers = one.parallel.last_stage_layers = 0;
    auto two = one;
    two.model.layers *= 2;
    const double once = work_seconds(one, 0), layers = work_seconds(two, 0) - once;
    ends = static_cast<double>(j.model.layers) * (once / layers - 1);
    const auto most = time[slowest];
    for (auto& t : time) t /= most;
    const auto ranks = j.hardware.gpus() / j.parallel.pipeline;
    for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage) {
      std::int64_t first = 0;
      auto& slow = kind[static_cast<std::size_t>(stage)];
      bool any = false;
      for (std::size_t k = 0; k < j.hardware.kinds(); ++k) {
        const auto end = first + j.hardware.count(k);
        if (first < (stage + 1) * ranks && end > stage * ranks && (!any || time[k] > time[slow])) slow = k, any = true;
        first = end;
      }
    }
  }
  [[nodiscard]] constexpr double of(const degrees& d, std::size_t stage, std::int32_t layers) const {
    return (layers + (stage + 1 == static_cast<std::size_t>(d.pipeline) ? ends : 0.0)) * time[kind[stage]];
  }
};

/// Even stages, the first ones with a layer more.
constexpr job with_even_stages(job j) {
  auto& d = j.parallel;
  d.chunks = static_cast<std::int32_t>(d.pipeline);
  for (std::int64_t i = 0; i < d.pipeline; ++i) d.stage_layers[i] = static_cast<std::int32_t>(j.model.layers / d.pipeline + (i < j.model.layers % d.pipeline ? 1 : 0));
  return j;
}
/// Whether stages of the search's job are to be cut for their GPUs.
constexpr bool cuts_stages(const job& given, const job& j) {
  const auto &d = j.parallel, &said = given.parallel;
  return j.hardware.kinds() > 1 && d.pipeline > 1 && d.pipeline <= degrees::max_chunks && d.virtual_pipeline == 1 && d.pipeline <= j.model.layers && d.schedule != schedule::naive &&
         d.schedule != schedule::dualpipe && said.chunks == 0 && said.first_stage_layers == 0 && said.last_stage_layers == 0;
}

}  // namespace detail

/// The time of a step on several kinds of GPU. Without a pipeline the slowest kind sets the pace; else the stage that takes longest does,
/// and stages of other kinds count as stages of more or fewer layers on its own kind, to the next whole layer.
/// Errors: those of cost() on each kind.
constexpr double step_seconds(const job& j) {
  if (j.hardware.kinds() == 1) return cost(j).step.value;
  const auto& d = j.parallel;
  const bool cut = d.pipeline > 1 && d.pipeline <= degrees::max_chunks && d.virtual_pipeline == 1 && d.first_stage_layers == 0 && d.last_stage_layers == 0;
  if (!cut) {
    double most = 0;
    for (std::size_t k = 0; k < j.hardware.kinds(); ++k) {
      const auto t = cost(detail::on_kind(j, k)).step.value;
      most = t > most ? t : most;
    }
    return most;
  }
  const auto whole = d.chunks > 0 ? j : detail::with_even_stages(j);
  const auto& n = whole.parallel.stage_layers;
  const detail::stage_speeds speeds(whole);
  const auto stages = static_cast<std::size_t>(d.pipeline);
  std::size_t longest = 0;
  for (std::size_t i = 1; i < stages; ++i)
    if (speeds.of(d, i, n[i]) > speeds.of(d, longest, n[longest])) longest = i;
  auto same = detail::on_kind(whole, speeds.kind[longest]);
  std::int64_t layers = 0;
  for (std::size_t i = 0; i < stages; ++i) {
    const auto as_longest = static_cast<std::int32_t>(n[i] * speeds.time[speeds.kind[i]] / speeds.time[speeds.kind[longest]] + 0.5);
    same.parallel.stage_layers[i] = as_longest < 1 ? 1 : as_longest;
    layers += same.parallel.stage_layers[i];
  }
  same.model.layers = layers;
  return cost(same).step.value;
}

/// Layers for each stage by the speed of its GPUs; where that does not fit, moved one by one off the tightest stage to the one that
/// takes least time with it, as long as any has room.
/// Errors: those of estimate() and cost().
constexpr job divide_by_speed(const job& given) {
  auto j = detail::with_even_stages(given);
  const detail::stage_speeds speeds(j);
  auto& d = j.parallel;
  const auto stages = static_cast<std::size_t>(d.pipeline);
  for (std::size_t i = 0; i < stages; ++i) d.stage_layers[i] = 1;
  const auto longer = [&](std::size_t i) { return speeds.of(d, i, d.stage_layers[i] + 1); };
  for (auto left = j.model.layers - d.pipeline; left > 0; --left) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < stages; ++i)
      if (longer(i) < longer(best)) best = i;
    ++d.stage_layers[best];
  }
  for (auto moves = j.model.layers; moves > 0; --moves) {
    const detail::stage_headroom now(estimate(j));
    const auto from = now.tightest(stages);
    if (now.of[from] >= bytes{0} || d.stage_layers[from] < 2) break;
    std::size_t best = stages;
    for (std::size_t i = 0; i < stages; ++i) {
      if (i == from || (best < stages && longer(i) >= longer(best))) continue;
      auto next = j;
      --next.parallel.stage_layers[from];
      ++next.parallel.stage_layers[i];
      if (detail::stage_headroom(estimate(next)).of[i] >= bytes{0}) best = i;
    }
    if (best == stages) break;
    --d.stage_layers[from];
    ++d.stage_layers[best];
  }
  return j;
}

/// Ways to cut a pipeline over several kinds of GPU: by speed, and as balance_stages() does, which fits if any division does.
inline std::vector<job> stage_divisions(const job& j) {
  std::vector<job> ways{divide_by_speed(j), balance_stages(j)};
  if (ways[0] == ways[1]) ways.pop_back();
  return ways;
}

}  // namespace headroom
