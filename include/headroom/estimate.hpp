// Distributed under the Boost Software License, Version 1.0.
// estimate(job): the one function that most users need.
#pragma once

#include <headroom/engine/eager/autograd_rank.hpp>
#include <headroom/engine/eager/eager_stages.hpp>
#include <headroom/engine/eager/pools.hpp>
#include <headroom/engine/eager/spread.hpp>
#include <headroom/engine/preallocated/preallocated.hpp>
#include <headroom/engine/tensor_parallel/capture.hpp>
#include <headroom/engine/tensor_parallel/routing.hpp>
#include <headroom/engine/tensor_parallel/stages.hpp>
#include <headroom/sharding/host.hpp>
#include <headroom/states/outside.hpp>
#include <headroom/step/timeline.hpp>

#include <concepts>

namespace headroom {

namespace detail {

constexpr void finish_rank(rank_report& r, const settled_job& s, const timeline& t, std::int64_t count, std::int64_t stage = 0) {
  r.pipeline_stage = stage;
  r.count = count;
  r.gpu = s.on->label;
  r.capacity = s.on->memory;
  r.peak_phase = t.peak();
  r.peak_layer = t.layer(r.peak_phase);
  r.at_peak = t.at(r.peak_phase).rows;
  r.allocated = t.at(r.peak_phase).total;
  for (std::size_t i = 0; i < r.phases.size(); ++i) {
    const auto& m = t.at(static_cast<phase>(i));
    r.phases[i] = m.total;
    r.at_phase[i] = m.rows;
    if (m.total == bytes{0}) r.absent |= static_cast<std::uint8_t>(1U << i);  // a rank holds something at every moment that it has
  }
  r.active = r.allocated;
  r.reserved = s.layer.host ? r.active : round_up(r.active, 2 * mib);
  if (t.watches_pools()) [[unlikely]]
    r.reserved = max(r.reserved, round_up(t.default_pool(), 2 * mib) + round_up(t.gather_pool(), 2 * mib) + round_up(t.reduce_pool(), 2 * mib));
  r.outside = outside_of(s);
  r.device = r.reserved + r.outside.context + r.outside.nccl;
}

/// `reserved` as a sum over pools, where wrapping has left some. Where that is more than the GPU has, the allocator gives cached
/// segments back and tries again (CUDACachingAllocator.cpp, release_cached_blocks), so that what is in use at once is what counts.
constexpr void reserve_after_wrapping(rank_report& r, const settled_job& s, const state_bytes& st, const timeline& t) {
  const auto sum = round_up(default_pool_after_wrapping(s, st, t), 2 * mib) + round_up(t.gather_pool(), 2 * mib) + round_up(t.reduce_pool(), 2 * mib);
  const auto usable = r.capacity - r.outside.context - r.outside.nccl;
  r.reserved = max(round_up(r.active, 2 * mib), min(sum, usable));
  r.device = r.reserved + r.outside.context + r.outside.nccl;
}

template <class Ranks>
constexpr void finish_host(basic_report<Ranks>& r, const settled_job& s, const state_bytes& st, bytes checkpoints) {
  const auto& j = *s.source;
  const auto h = host_of(s, st, checkpoints);
  const bool spread = j.parallel.pipeline > 1 && properties_of(j.parallel.schedule).one_process;
  const auto ranks = spread ? 1 : j.hardware.gpus_per_node;
  const auto running = ranks * (h.pinned + h.plain);
  const auto loading = ranks * h.load;
  r.host.per_node = max(running, loading);
  r.host.at = loading > running ? phase::load : phase::step;
  r.host.pinned_per_node = ranks * h.pinned;
  r.host.capacity = j.hardware.host_memory;
  r.nvme_per_node = ranks * h.nvme;
  r.nvme_capacity = j.hardware.nvme;
}

/// What the whole job shares, beside its ranks: made in place, since it is large.
struct walked_kind {
  settled_job job;
  inventory list;
  state_bytes states;
  bytes checkpoints{0};  ///< on the host

  template <class Layers>
  constexpr walked_kind(const headroom::job& j, std::size_t kind, const Layers& layers)
      : job(settle(j, kind)), list(layers.weights(job.model)), states(states_of(job, list)) {}

 private:
  static constexpr state_bytes states_of(settled_job& s, const inventory& list) {
    if (s.source->framework.runtime == runtime::preallocated) settle_preallocated(s, list);
    return headroom::states(s, list);
  }
};

/// Fills in `add()`, a new rank_report, for each pipeline stage that has ranks on GPUs of a kind.
template <class Add, class Layers, class Order>
constexpr walked_kind add_ranks(const Add& add, const job& j, std::size_t kind, const Layers& layers, const Order& order) {
  walked_kind k(j, kind, layers);
  auto& s = k.job;
  const auto& list = k.list;
  // Stages lie on ranks in a row, and so do kinds of GPU.
  const auto stage_size = j.hardware.gpus() / j.parallel.pipeline;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < kind; ++i) first += j.hardware.count(i);
  const auto end = first + j.hardware.count(kind);
  const auto ranks_of = [&](std::int64_t stage) { return smaller(end, (stage + 1) * stage_size) - (first > stage * stage_size ? first : stage * stage_size); };
  if (j.framework.runtime == runtime::preallocated) {
    finish_rank(add(), s, walk_preallocated(s, k.states), ranks_of(0));
    return k;
  }
  check_walk(j);
  if (j.framework.modules.kind == layer_modules::megatron) {
    const auto divided = walk_divided_layers(s);
    const rank_weights weights(s, list);
    const stage_cut cut(j.parallel, s.model.layers);
    const auto routed = routed_of_layer(s);
    const auto add_stage = [&](const timeline& t, std::int64_t stage) {
      auto& rank = add();
      finish_rank(rank, s, t, ranks_of(stage), stage);
      rank.routed = routed_at_peak(s, divided, routed, rank);
    };
    if (captures_first(j)) [[unlikely]] {
      const auto captured = walk_captured_layers(s);
      for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage)
        if (ranks_of(stage) > 0) add_stage(walk_captured_stage(s, weights, cut, captured, stage, order), stage);
      return k;
    }
    if (j.sharding.kind == sharding_kind::megatron_fsdp) [[unlikely]] {
      const auto buffers = fsdp_layout_of(s, list);
      add_stage(walk_stage(s, weights, cut, divided, 0, order, nullptr, &buffers), 0);
      s.assumptions.add(assumption::reserved_by_pools);
      if (j.sharding.stage == 3) s.assumptions.add(assumption::first_micro_batch_gathers);
      return k;
    }
    for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage)
      if (ranks_of(stage) > 0) add_stage(walk_stage(s, weights, cut, divided, stage, order, &k.checkpoints), stage);
  } else if (j.parallel.pipeline > 1 && j.framework.modules.dtensor) {
    const stage_cut cut(j.parallel, s.model.layers);
    known_eager_chunk known;
    for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage)
      if (ranks_of(stage) > 0) finish_rank(add(), s, walk_eager_stage(s, list, cut, stage, order, known), ranks_of(stage), stage);
    s.assumptions.add(assumption::reserved_by_pools);
    s.assumptions.add(assumption::eager_stages_on_two_runs);
  } else if (j.parallel.pipeline > 1) {
    const auto d = spread_layers(s, list);
    for (std::int64_t device = 0; device < d.pipeline; ++device) {
      const auto here = slice_of(d, s.model.tied, device);
      if (ranks_of(device) > 0) finish_rank(add(), s, walk_autograd(s, states(s, weights_of_slice(list, here)), here, k.checkpoints, layers), ranks_of(device), device);
    }
  } else {
    const auto t = walk_autograd(s, k.states, {0, s.model.layers}, k.checkpoints, layers);
    auto& rank = add();
    finish_rank(rank, s, t, ranks_of(0));
    if (s.model.sparse()) [[unlikely]] rank.routed = rank.at_peak[row::temporaries];  // every expert is here: only one's moment depends on its share
    if (t.watches_pools()) s.assumptions.add(assumption::reserved_by_pools);
    if (wraps_on_gpu(s)) [[unlikely]] {
      reserve_after_wrapping(rank, s, k.states, t);
      s.assumptions.add(assumption::reserved_by_pools);
    }
  }
  return k;
}

/// estimate(job), with the layers and the schedule that it is given, of which `add()` makes place for each kind of rank in `r`.
template <class Ranks, class Add, class Layers, class Order>
constexpr void estimate_into(basic_report<Ranks>& r, const Add& add, const job& j, const Layers& layers, const Order& order) {
  auto k = add_ranks(add, j, 0, layers, order);
  for (std::size_t kind = 1; kind < j.hardware.kinds(); ++kind) k.job.assumptions |= add_ranks(add, j, kind, layers, order).job.assumptions;
  const auto& st = k.states;
  finish_host(r, k.job, st, k.checkpoints);
  auto& a = k.job.assumptions;
  if (r.ranks[0].outside.nccl > bytes{0}) a.add(assumption::nccl_derived);
  if (k.job.on->maker != vendor::cpu && j.framework.runtime == runtime::autograd && !a.has(assumption::reserved_by_pools)) a.add(assumption::reserved_without_fragmentation);
  r.parameter_count = {st.total + st.adapters, st.trained, st.active + st.adapters};
  r.assumptions = a;
}

template <class Layers, class Order>
constexpr report estimate_with(const job& j, const Layers& layers, const Order& order) {
  report r;
  estimate_into(r, [&]() -> rank_report& { return r.add(); }, j, layers, order);
  return r;
}

}  // namespace detail

#ifdef HEADROOM_COMPILED
namespace compiled {
report estimate(const job& j);  ///< in the library headroom::compiled
}
#endif

/// What a job occupies on every GPU, in host memory and on NVMe, at every moment of a step. One function at compile time and
/// at run time; about two microseconds for a dense model, and no heap. Of more than eight kinds of rank the report holds those that decide:
/// for_each_rank() shows all, estimate_all() (full_report.hpp) keeps them.
/// Errors: job_error for a job that contradicts itself or that this version does not model; overflow_error where a size does
/// not fit in 63 bits.
constexpr report estimate(const job& j) {
#ifdef HEADROOM_COMPILED
  // The operator itself, and in this order: g++ then generates no code for what is in the headers.
  if (__builtin_is_constant_evaluated())
    return detail::estimate_with(j, detail::shipped_layers{}, detail::shipped_order{});
  else
    return compiled::estimate(j);
#else
  return detail::estimate_with(j, detail::shipped_layers{}, detail::shipped_order{});
#endif
}

/// The same; `visit(rank)` is called for every kind of rank, stage by stage, of each kind of GPU.
template <std::invocable<const rank_report&> Visit>
constexpr report for_each_rank(const job& j, Visit&& visit) {
  report r;
  const auto add = [&]() -> rank_report& {
    if (r.size > 0) visit(r.last());
    return r.add();
  };
  detail::estimate_into(r, add, j, detail::shipped_layers{}, detail::shipped_order{});
  visit(r.last());
  return r;
}

/// estimate() with a part of one's own: a layer (own_layer, block/own_layer.hpp) that the stack is made of, or a pipeline's order
/// (own_schedule, layout/schedule.hpp).
template <class Own>
constexpr report estimate(const job& j, const Own& own) {
  static_assert(own_layer<Own> || own_schedule<Own>,
                "headroom: estimate(job, x) takes a layer or a schedule of your own: a layer has add_weights(list, shape, where), parts() and "
                "part(i, scene, trained, flows) that returns a program; a schedule has run(plan, stage, visit)");
  if constexpr (own_layer<Own>) {
    const detail::given_layers<Own> layers{own};
    layers.check(j);
    return detail::estimate_with(j, layers, detail::shipped_order{});
  } else if constexpr (own_schedule<Own>) {
    if (j.framework.modules.kind != layer_modules::megatron) refuse("headroom: a schedule of one's own is walked for megatron alone by this version; framework", j.framework.label);
    if (!properties_of(j.parallel.schedule).plain())
      refuse("headroom: with a schedule of one's own parallel.schedule must be 1f1b, gpipe or interleaved-1f1b: chunks lie as these lay them");
    if (j.batch.accumulation > 65'536) refuse("headroom: with a schedule of one's own batch.accumulation must be from 1 to 65536; accumulation", j.batch.accumulation);
    return detail::estimate_with(j, detail::shipped_layers{}, detail::given_order<Own>{own});
  } else {
    return {};
  }
}

}  // namespace headroom
