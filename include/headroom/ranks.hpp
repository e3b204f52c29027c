// Distributed under the Boost Software License, Version 1.0.
// What each kind of rank of a job occupies: its engine walks a step, and a report is filled in with the result.
#pragma once

#include <headroom/engine/eager/critic.hpp>
#include <headroom/engine/eager/eager_stages.hpp>
#include <headroom/engine/eager/rollout_host.hpp>
#include <headroom/engine/eager/spread.hpp>
#include <headroom/engine/preallocated/preallocated.hpp>
#include <headroom/engine/tensor_parallel/capture.hpp>
#include <headroom/engine/tensor_parallel/routing.hpp>
#include <headroom/engine/tensor_parallel/stages.hpp>
#include <headroom/finished_rank.hpp>
#include <headroom/fragmentation.hpp>
#include <headroom/measured/correct.hpp>
#include <headroom/objection.hpp>

namespace headroom {

namespace detail {

/// A job on one kind of GPU, with what all its ranks share: made in place, since it is large.
struct walked_kind {
  settled_job job;
  inventory list;
  state_bytes states;
  bytes checkpoints{0};  ///< on the host
  host_bytes other{};    ///< of the models that run beside
  const other_models* beside{};  ///< them, or none
  node_hosts* nodes{};
  std::size_t kind;      ///< of GPU

  constexpr walked_kind(const headroom::job& j, std::size_t of, const auto& layers)
      : job(settle(j, of)), list(list_of(job, layers)), states(states_of(job, list)), kind(of) {
    for (std::size_t i = 0; i < kind; ++i) first_ += j.hardware.count(i);
    end_ = first_ + j.hardware.count(kind);
  }
  /// GPUs of this kind on a stage: stages lie on ranks in a row, and so do kinds of GPU.
  [[nodiscard]] constexpr std::int64_t ranks_of(std::int64_t stage) const {
    const auto size = job.source->hardware.gpus() / job.source->parallel.pipeline;
    return smaller(end_, (stage + 1) * size) - (first_ > stage * size ? first_ : stage * size);
  }

 private:
  static constexpr state_bytes states_of(settled_job& s, const inventory& list) {
    if (s.source->framework.runtime == runtime::preallocated) settle_preallocated(s, list);
    return headroom::states(s, list);
  }
  std::int64_t first_{0}, end_{0};  // of this kind's ranks
};

/// One process runs all GPUs of the job.
constexpr bool one_process(const job& j) { return j.parallel.pipeline > 1 && properties_of(j.parallel.schedule).one_process; }

/// Host memory of the ranks that were walked last.
[[gnu::noinline]] constexpr void add_to_nodes(walked_kind& k, std::int64_t ranks) {
  auto h = host_of(k.job, k.states, k.checkpoints);
  add_host(h, k.other);
  k.nodes->add(ranks, h);
  k.checkpoints = bytes{0};
  k.other = {};
}

// Each of the following fills in `add()`, a new rank_report, for every pipeline stage that has ranks on a kind of GPU. They are not inlined,
// so that their frames do not lie in one.

[[gnu::noinline]] constexpr void add_preallocated(const auto& add, walked_kind& k) {
  finish_rank(add(), k.job, walk_preallocated(k.job, k.states), k.ranks_of(0));
}

/// A stage of Megatron's layers.
constexpr void add_stage(const auto& add, walked_kind& k, const divided_layers& layers, const routed_bytes& routed, const timeline& t, std::int64_t stage) {
  auto& rank = add();
  finish_rank(rank, k.job, t, k.ranks_of(stage), stage);
  rank.routed = routed_at_peak(k.job, layers, routed, rank);
  if (replays(*k.job.source)) rank.fragmentation = most_fragmentation(*k.job.source, k.list, rank);
  add_to_nodes(k, k.ranks_of(stage));
}
/// All of them, by a walk of one's own: walk(stage) -> timeline.
constexpr void add_stages(const auto& add, walked_kind& k, const divided_layers& layers, std::int64_t stages, const auto& walk) {
  const auto routed = routed_of_layer(k.job);
  for (std::int64_t stage = 0; stage < stages; ++stage)
    if (k.ranks_of(stage) > 0) add_stage(add, k, layers, routed, walk(stage), stage);
}

[[gnu::noinline]] constexpr void add_captured(const auto& add, walked_kind& k, const divided_layers& layers, const rank_weights& weights, const stage_cut& cut, const auto& order) {
  const auto captured = walk_captured_layers(k.job);
  add_stages(add, k, layers, k.job.source->parallel.pipeline, [&](std::int64_t stage) { return walk_captured_stage(k.job, weights, cut, captured, stage, order); });
}

/// Under Megatron-FSDP, which has one stage.
[[gnu::noinline]] constexpr void add_gathered(const auto& add, walked_kind& k, const divided_layers& layers, const rank_weights& weights, const stage_cut& cut, const auto& order) {
  const auto buffers = fsdp_layout_of(k.job, k.list);
  add_stages(add, k, layers, 1, [&](std::int64_t stage) { return walk_stage(k.job, weights, cut, layers, stage, order, nullptr, &buffers); });
}

/// Under Megatron's layer-wise optimizer.
[[gnu::noinline]] constexpr void add_layer_wise_stage(const auto& add, walked_kind& k, const stage_cut& cut, const auto& order, std::int64_t stage, const breakdown& states) {
  const auto layers = walk_divided_layers(k.job);
  const auto t = walk_stage(k.job, rank_weights(k.job, k.list), cut, layers, stage, order, &k.checkpoints, nullptr, &states, &k.other);
  add_stage(add, k, layers, routed_of_layer(k.job), t, stage);
}
/// The states of a stage are laid out before its layers are walked, for each stage again: neither lies on the stack beside the other.
[[gnu::noinline]] constexpr void add_layer_wise(const auto& add, walked_kind& k, const stage_cut& cut, const auto& order) {
  for (std::int64_t stage = 0; stage < k.job.source->parallel.pipeline; ++stage)
    if (k.ranks_of(stage) > 0) add_layer_wise_stage(add, k, cut, order, stage, layer_wise_states(k.job, k.list, cut, stage));
}

[[gnu::noinline]] constexpr void add_by_weights(const auto& add, walked_kind& k, const divided_layers& layers, const stage_cut& cut, const auto& order) {
  auto& s = k.job;
  const auto& j = *s.source;
  const rank_weights weights(s, k.list);
  if (captures_first(j)) [[unlikely]] return add_captured(add, k, layers, weights, cut, order);
  if (j.sharding.gathers_units()) [[unlikely]] {
    add_gathered(add, k, layers, weights, cut, order);
    s.assumptions.add(assumption::reserved_by_pools);
    if (j.sharding.stage == 3) s.assumptions.add(assumption::first_micro_batch_gathers);
    return;
  }
  add_stages(add, k, layers, j.parallel.pipeline, [&](std::int64_t stage) { return walk_stage(s, weights, cut, layers, stage, order, &k.checkpoints, nullptr, nullptr, &k.other); });
}

[[gnu::noinline]] constexpr void add_walked(const auto& add, walked_kind& k, const stage_cut& cut, const auto& order) {
  add_by_weights(add, k, walk_divided_layers(k.job), cut, order);
}
[[gnu::noinline]] constexpr void add_divided(const auto& add, walked_kind& k, const auto& order) {
  const auto& j = *k.job.source;
  const auto cut = cut_into_stages(j, k.job.model);
  const bool by_layers = layer_wise(k.job) && !captures_first(j) && !j.sharding.gathers_units();
  by_layers ? add_layer_wise(add, k, cut, order) : add_walked(add, k, cut, order);
}

[[gnu::noinline]] constexpr void add_eager_stages(const auto& add, walked_kind& k, const auto& order) {
  const auto& d = k.job.source->parallel;
  const stage_cut cut(d, k.job.model.layers, k.job.source->framework.pipeline.split);
  eager_chunk known;
  for (std::int64_t stage = 0; stage < d.pipeline; ++stage)
    if (k.ranks_of(stage) > 0) finish_rank(add(), k.job, walk_eager_stage(k.job, k.list, cut, stage, order, known), k.ranks_of(stage), stage);
  k.job.assumptions.add(assumption::reserved_by_pools);
  k.job.assumptions.add(assumption::eager_stages_on_two_runs);
}

/// A model whose layers are spread over the GPUs of one process.
[[gnu::noinline]] constexpr void add_spread(const auto& add, walked_kind& k, const auto& layers) {
  const auto d = spread_layers(k.job, k.list);
  for (std::int64_t device = 0; device < d.pipeline; ++device) {
    if (k.ranks_of(device) <= 0) continue;
    const auto here = slice_of(d, k.job.model.tied, device);
    const auto* beside = here.head ? k.beside : nullptr;  // with the trained model's weights: elsewhere its layers take no more than that model's own
    finish_rank(add(), k.job, walk_autograd(k.job, k.list, states_of_slice(k.job, k.list, here), here, k.checkpoints, layers, beside), k.ranks_of(device), device);
  }
}

[[gnu::noinline]] constexpr void add_whole(const auto& add, walked_kind& k, const auto& layers) {
  auto& s = k.job;
  if (k.beside != nullptr) [[unlikely]] add_hosts(k.other, *k.beside);
  add_swapped(k.other, s, k.list);
  if (s.source->rollout.given()) [[unlikely]] add_rollout(k.other, s, k.list, k.states);
  const auto t = walk_autograd(s, k.list, k.states, {0, s.model.layers}, k.checkpoints, layers, k.beside);
  auto& rank = add();
  finish_rank(rank, s, t, k.ranks_of(0));
  if (s.assumptions.has(assumption::balanced_routing)) [[unlikely]] rank.routed = rank.at_peak[row::temporaries];  // every expert is here: only one's moment depends on its share
  if (t.watches_pools()) s.assumptions.add(assumption::reserved_by_pools);
  if (wraps_on_gpu(s)) [[unlikely]] {
    reserve_after_wrapping(rank, s, k.states, t);
    s.assumptions.add(assumption::reserved_by_pools);
  }
  if (!replays(*s.source)) return;
  rank.fragmentation = most_fragmentation(*s.source, k.list, rank);
  rank.surplus = rank.reserved - round_up(rank.active, 2 * mib);
}

constexpr void add_ranks(const auto& add, walked_kind& k, const auto& layers, const auto& order) {
  const auto& j = *k.job.source;
  check_walk(j);
  if (j.framework.runtime == runtime::preallocated) return add_preallocated(add, k);
  if (j.framework.modules.megatron()) return add_divided(add, k, order);
  if (j.parallel.pipeline == 1) return add_whole(add, k, layers);
  return j.framework.modules.dtensor() ? add_eager_stages(add, k, order) : add_spread(add, k, layers);
}

/// The ranks on one kind of GPU. Not inlined, so that its list of weights is not there yet while other models are walked.
template <class Ranks, class Add, class Layers, class Order>
[[gnu::noinline]] constexpr void add_kind(basic_report<Ranks>& r, const Add& add, const job& j, std::size_t kind, const other_models* beside, node_hosts& nodes, const Layers& layers, const Order& order) {
  walked_kind k(j, kind, layers);
  k.beside = beside;
  k.nodes = &nodes;
  add_ranks(add, k, layers, order);
  if (!j.framework.modules.megatron()) add_to_nodes(k, one_process(j) ? 1 : j.hardware.count(kind));  // whose stages have told
  r.assumptions |= k.job.assumptions;
  if (kind > 0) return;
  const auto& st = k.states;
  r.parameter_count = {st.total + st.adapters, st.trained, st.active + st.adapters};
}
template <class Ranks, class Add, class Layers, class Order>
[[gnu::noinline]] constexpr void add_kind_with_others(basic_report<Ranks>& r, const Add& add, const job& j, std::size_t kind, node_hosts& nodes, const Layers& layers, const Order& order) {
  check_walk(j);
  const auto beside = walk_others(j, kind, layers);
  add_kind(r, add, j, kind, &beside, nodes, layers, order);
}

/// estimate(job), with the layers and the schedule that it is given, of which `add()` makes place for each kind of rank in `r`.
template <class Ranks, class Add, class Layers, class Order>
constexpr void estimate_into(basic_report<Ranks>& r, const Add& add, const job& j, const Layers& layers, const Order& order) {
  auto& a = r.assumptions;
  node_hosts nodes(one_process(j) ? 1 : j.hardware.gpus_per_node);
  for (std::size_t kind = 0; kind < j.hardware.kinds(); ++kind) {
    if (has_other_models(j) && !j.framework.modules.megatron()) [[unlikely]] {  // Megatron's stages have theirs beside them
      add_kind_with_others(r, add, j, kind, nodes, layers, order);
      continue;
    }
    add_kind(r, add, j, kind, nullptr, nodes, layers, order);
  }
  finish_host(r, j.hardware, nodes.most());
  if (r.ranks[0].outside.nccl > bytes{0}) a.add(assumption::nccl_derived);
  for (std::size_t kind = 0; kind < j.hardware.kinds(); ++kind)
    if (j.hardware.accelerator(kind).unified && j.hardware.taken == bytes{0}) a.add(assumption::unified_memory);
  const bool on_gpu = j.hardware.accelerator().maker != vendor::cpu && j.framework.runtime == runtime::autograd;
  if (on_gpu && !a.has(assumption::reserved_by_pools)) a.add(assumption::reserved_without_fragmentation);
}

/// By the run that the job says was measured. Not inlined: few jobs have one.
template <class Ranks>
[[gnu::noinline]] constexpr void correct_measured(basic_report<Ranks>& r, const job& j) { correct(r, j.measured, j.measured.search == fingerprint_of(j), replays(j)); }
template <class Ranks>
constexpr void correct_estimate(basic_report<Ranks>& r, const job& j) {
  if (j.measured.of_memory()) [[unlikely]] correct_measured(r, j);
}

/// Calls visit(rank) for every kind of rank, in the order of stages, of each kind of GPU; gives what else there is to say of the job.
constexpr basic_report<std::array<rank_report, 1>> visit_ranks(const job& j, const auto& visit) {
  basic_report<std::array<rank_report, 1>> r;
  auto& rank = r.ranks[0];
  const auto add = [&]() -> rank_report& {
    if (r.kinds++ > 0) visit(rank);
    rank = rank_report{};
    rank.peak_layer = -1;
    return rank;
  };
  estimate_into(r, add, j, shipped_layers{}, shipped_order{});
  visit(rank);
  return r;
}

constexpr report estimate_with(const job& j, const auto& layers, const auto& order) {
  report r;
  estimate_into(r, [&]() -> rank_report& { return r.add(); }, j, layers, order);
  correct_estimate(r, j);
  return r;
}

}  // namespace detail

}  // namespace headroom
