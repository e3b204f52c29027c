// Distributed under the Boost Software License, Version 1.0.
// Pipelines over one kind of GPU whose stages are cut by what their layers take: where layers differ (Mamba beside attention, experts behind dense
// layers), or embedding and head weigh as much as several of them, even stages are not equally slow.
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/solve/balance.hpp>

#include <algorithm>

namespace headroom {

namespace detail {

/// Deeper stacks, ten times as deep as any model that is trained, are cut evenly: a cut looks at every layer.
inline constexpr std::int64_t most_moved_layers = 1024;

/// Frameworks that take any cut: Megatron-LM's pipeline-model-parallel-layout, torchtitan's module_fqns_per_model_part.
constexpr bool takes_any_cut(const profile& f) { return f.modules.dtensor() || (f.modules.megatron() && !f.modules.deepspeed() && !f.modules.nanotron()); }

/// Whether a pipeline of `j` may be cut into stages of any length, and what the search was given says nothing of it.
constexpr bool may_cut(const job& given, const job& j) {
  const auto &d = j.parallel, &said = given.parallel;
  const auto& order = properties_of(d.schedule);
  return d.pipeline > 1 && d.pipeline <= degrees::max_chunks && d.pipeline * d.virtual_pipeline <= j.model.layers && j.model.layers <= most_moved_layers && !order.one_process && !order.both_ways() && chunks_given(said) == 0 &&
         said.first_stage_layers == 0 && said.last_stage_layers == 0;
}

/// What layers take for a micro-batch on a chunk of the pipeline, by cost()'s own parts. What stages send is alike for all and left out.
class chunk_seconds {
 public:
  explicit chunk_seconds(const job& j) : settled_(settle(j)), last_(j.parallel.pipeline * j.parallel.virtual_pipeline - 1) {
    const auto list = weights_of(settled_.model);
    const auto c = cost_scene_of(settled_, rates_of(*settled_.on));
    passes_ = recomputed(passes_of(c, list), settled_);
  }
  chunk_seconds(const chunk_seconds&) = delete;
  chunk_seconds& operator=(const chunk_seconds&) = delete;
  [[nodiscard]] const shape& model() const { return settled_.model; }
  [[nodiscard]] stage_layers empty(std::int64_t chunk) const { return {.first = chunk == 0, .last = chunk == last_}; }
  [[nodiscard]] double of(const stage_layers& layers) const { return work_of(settled_.model, passes_, layers).total(); }
  [[nodiscard]] double of(std::int64_t chunk, std::int64_t first, std::int64_t count) const {
    auto here = empty(chunk);
    here.add(settled_.model, first, count);
    return of(here);
  }
  [[nodiscard]] double whole() const {
    stage_layers all{.first = true, .last = true};
    all.add(settled_.model, 0, settled_.model.layers);
    return of(all);
  }
  [[nodiscard]] std::int64_t last() const { return last_; }

 private:
  settled_job settled_;
  layer_passes passes_{};
  std::int64_t last_;
};

/// Cuts the stack so that no chunk takes longer than `limit` or has more layers than `most`, if it can be. The last ones get as many layers as may be: they
/// keep the fewest micro-batches.
inline bool cut_within(job& j, const chunk_seconds& times, double limit, std::int64_t most) {
  auto end = j.model.layers;
  for (auto chunk = times.last(); chunk >= 0; --chunk) {
    auto here = times.empty(chunk);
    std::int64_t count = 0;
    for (; count < end - chunk && count < most; ++count) {
      auto more = here;
      more.add(times.model(), end - count - 1, 1);
      if (times.of(more) > limit) break;
      here = more;
    }
    if (count == 0 || (chunk == 0 && count < end)) return false;
    j.parallel.stage_layers[chunk] = count;
    end -= count;
  }
  return true;
}

/// The smallest limit for which cut(limit) says yes, to a share of `exact` of the largest, which it says yes to.
template <class Cut>
double least_limit(double high, double exact, const Cut& cut) {
  for (double low = 0; high - low > exact * high;) {
    const double middle = low + (high - low) / 2;
    (cut(middle) ? high : low) = middle;
  }
  return high;
}

/// The most layers that a chunk has.
constexpr std::int64_t fullest(const job& j) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < j.parallel.chunks; ++i)
    if (const std::int64_t n = std::int32_t{j.parallel.stage_layers[i]}; n > most) most = n;
  return most;
}

/// As many layers on each chunk, the first ones with one more.
constexpr job with_even_chunks(job j) {
  auto& d = j.parallel;
  const auto chunks = d.pipeline * d.virtual_pipeline;
  d.first_stage_layers = d.last_stage_layers = 0;
  d.chunks = static_cast<std::int32_t>(chunks);
  for (std::int64_t i = 0; i < degrees::max_entries; ++i) d.stage_layers[i] = i < chunks ? j.model.layers / chunks + (i < j.model.layers % chunks ? 1 : 0) : 0;
  return j;
}

}  // namespace detail

/// The job whose stages are cut so that a step is the shortest: how long it takes hangs on the slowest stage, and, as gradients and states are counted by
/// layers, on the fullest one. Where no such cut fits, the slowest stage of all cuts that fit takes as little as can be. Interleaved stages are cut chunk by
/// chunk, and not for their memory.
/// Errors: those of estimate() and cost(), and of a stack with fewer layers than chunks.
[[gnu::noinline]] inline job divide_by_time(const job& given) {
  auto j = detail::with_even_chunks(given);
  const detail::chunk_seconds times(j);
  const auto whole = times.whole();
  const auto layers = j.model.layers;
  if (layers <= times.last()) refuse("headroom: every chunk of a pipeline needs a layer; model.layers", layers);
  const auto fastest = [&](std::int64_t most) {
    (void)detail::cut_within(j, times, detail::least_limit(whole, 1e-12, [&](double limit) { return detail::cut_within(j, times, limit, most); }), most);
  };
  const bool moves = j.parallel.virtual_pipeline > 1;
  auto best = j;
  double shortest = 0;
  const auto even = detail::fullest(j);
  fastest(layers);
  for (auto most = detail::fullest(j);;) {
    const bool fits = moves || estimate(j).may_fit();
    if (const auto t = cost(j).step.value; fits && (shortest == 0 || t < shortest)) best = j, shortest = t;
    if (most <= even) break;
    fastest(most - 1);
    most = std::min(most - 1, detail::fullest(j));
  }
  if (shortest > 0) return best;
  detail::differing_layers stages(best);
  const auto cut = [&](double limit) {
    return stages.cut_where([&](std::int64_t stage, std::int64_t first, std::int64_t count) { return times.of(stage, first, count) <= limit && stages.headroom(stage, first, count) >= bytes{0}; });
  };
  if (!cut(whole)) return j;
  (void)cut(detail::least_limit(whole, 1e-3, cut));
  return best;
}

}  // namespace headroom
