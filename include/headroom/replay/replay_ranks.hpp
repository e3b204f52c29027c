// Distributed under the Boost Software License, Version 1.0.
// What replay() and record() do: each rank's steps, allocation by allocation.
#pragma once

#include <headroom/fragmentation.hpp>
#include <headroom/full_report.hpp>
#include <headroom/replay/lengths.hpp>
#include <headroom/replay/size.hpp>
#include <headroom/replay/stage_run.hpp>
#include <headroom/replay/step_trace.hpp>

#include <memory>

namespace headroom::detail {

constexpr allocator_settings allocator_of(const job& j, bytes capacity) {
  const auto& e = j.environment;
  allocator_settings s{.expandable_segments = expands_segments(j), .capacity = capacity.count()};
  if (e.max_split_size >= bytes{0}) s.max_split_size = e.max_split_size.count();
  if (e.roundup_power2_divisions > 1) s.roundup_power2_divisions = e.roundup_power2_divisions;
  return s;
}

/// Ends of blocks that were too small to be cut off count as allocated; what they are of is not known.
constexpr void add_unused_ends(rank_report& rank, bytes ends) {
  if (ends <= bytes{0}) return;
  rank.allocated += ends;
  rank.at_peak[row::temporaries] += ends;
  const auto peak = static_cast<std::size_t>(rank.peak_phase);
  rank.phases[peak] += ends;
  if (in_every_step(rank.peak_phase)) rank.at_phase[peak][row::temporaries] += ends;
}

constexpr void finish_replayed(rank_report& rank, bytes reserved) {
  rank.active = max(rank.active, rank.allocated);
  rank.reserved = max(rank.active, round_up(reserved, 2 * mib));
  rank.device = rank.reserved + rank.outside.total();
  rank.fragmentation = rank.surplus = bytes{0};
}

/// One rank's first two steps, through an allocator that may take what lies between the GPU's capacity and what others take of it. A listener
/// hears the second.
template <class Layers>
void replay_rank(rank_report& rank, const job& j, std::size_t kind, const replay_watch& watch, const Layers& layers) {
  const auto s = settle(j, kind);
  const auto list = kept_weights(s, layers.weights(s.model));
  const auto st = states(s, list);
  const auto w = windows_of(s, st);
  caching_allocator allocator(allocator_of(j, rank.capacity - rank.outside.total()));
  const auto trace = std::make_unique<step_trace>(s, list, st, w, resident_bytes(s, st, w), allocator, watch, layers, kind);  // too large for the stack
  trace->run();
  if (watch.listener != nullptr) watch.listener->begin();
  trace->run();
  // A quantised matrix is dequantised in several blocks, which the walk has as one: where they find room is not the same.
  const auto asked = s.layer.compares ? max(rank.allocated, trace->peak_asked()) : rank.allocated;  // another model's forward is counted at its tallest
  const bool pooled = j.sharding.by(sharder::deepspeed) && w.gather_pool > bytes{0};
  if (!s.layer.base.quantised() && !pooled) add_unused_ends(rank, bytes{allocator.peak_allocated()} - asked);
  rank.active = max(rank.allocated, bytes{allocator.peak_active()});
  if (watch.listener == nullptr) trace->evaluate(s, st, w, layers);
  finish_replayed(rank, bytes{allocator.peak_reserved()});
}

/// A stage's tensors, one by one; what else stays (workspaces, gathered inputs) is added as it is.
inline void replay_stage(rank_report& rank, const settled_job& s, const inventory& list, const stage_cut& cut, const replay_watch& watch = {}) {
  bytes tensors{};
  const auto run = [&](bytes capacity) {
    caching_allocator a(allocator_of(*s.source, capacity));
    stage_run stage(s, list, cut, rank.pipeline_stage, a, watch);
    stage.run();
    tensors = max(stage.peak_asked(), stage.asked_in_load());
    return a;
  };
  auto real = run(rank.capacity);
  const auto others = rank.allocated - tensors;
  const auto room = rank.capacity - rank.outside.total() - others;  // which is known only now
  if (bytes{real.peak_reserved()} > room && watch.listener == nullptr) real = run(room);
  add_unused_ends(rank, bytes{real.peak_allocated()} - tensors);
  finish_replayed(rank, max(rank.reserved, others + bytes{real.peak_reserved()}));  // more where streams have pools of their own
}

/// Replays every kind of rank of a report; for_rank(i, run) says who watches.
template <class Layers, class ForRank>
void replay_ranks(full_report& r, const job& j, const Layers& layers, const ForRank& for_rank) {
  const auto ranks = static_cast<std::size_t>(r.size);
  if (replays_steps(j)) {
    for (std::size_t kind = 0; kind < ranks; ++kind) for_rank(kind, [&](const replay_watch& w) { replay_rank(r.ranks[kind], j, kind, w, layers); });
    return;
  }
  const auto s = settle(j);
  const auto list = weights_of(s.model);
  const auto cut = cut_into_stages(j, s.model);
  for (std::size_t i = 0; i < ranks; ++i) for_rank(i, [&](const replay_watch& w) { replay_stage(r.ranks[i], s, list, cut, w); });
}

/// Of samples of different lengths: each kind of rank once more, over many micro-batches.
template <class Layers>
void replay_all_lengths(full_report& r, const job& j, const Layers& layers, const deadline& until) {
  const auto data = settle(j).data;
  bool all = true;
  for (std::size_t kind = 0; all && kind < static_cast<std::size_t>(r.size); ++kind) {
    auto& rank = r.ranks[kind];
    all = replay_lengths(rank, j, kind, data, allocator_of(j, rank.capacity), layers, until);
  }
  if (all) {
    r.assumptions.remove(assumption::lengths_not_replayed);
    r.assumptions.add(assumption::lengths_replayed);
    return;
  }
  for (auto& rank : r.ranks) rank.fragmentation = rank.capacity, rank.lengths = {};  // whether it fits is not certain
}

/// From an estimate of every kind of rank, without corrections.
template <class Layers>
full_report replayed_as_walked(full_report r, const job& j, const Layers& layers, const deadline& until) {
  if (!replays(j)) return r;
  if (replay_size_of(j, layers).too_long()) {
    r.assumptions.add(assumption::replay_too_long);
    return r;
  }
  until.check();
  replay_ranks(r, j, layers, [&](std::size_t, const auto& run) { run({nullptr, until}); });
  r.assumptions.remove(assumption::reserved_without_fragmentation);
  r.assumptions.remove(assumption::reserved_by_pools);
  r.assumptions.add(assumption::reserved_replayed);
  if (j.batch.varies()) replay_all_lengths(r, j, layers, until);
  return r;
}

/// From an estimate without corrections; with them.
template <class Layers>
full_report replayed(full_report walked, const job& j, const Layers& layers, const deadline& until = {}) {
  auto r = replayed_as_walked(std::move(walked), j, layers, until);
  if (j.measured.of_memory()) correct(r, j.measured, j.measured.search == fingerprint_of(j), false);
  return r;
}

template <class Layers>
std::vector<recorded_step> recorded(full_report r, const job& j, const Layers& layers, const deadline& until = {}) {
  if (!replays(j))
    refuse("headroom: a step is recorded where it is replayed: eager trainers of methods that do not generate and Megatron's stages of objective.kind sft, on GPUs, without offloaded activations or a backward in two parts, and with encoders and towers where eager parameters stay whole; framework", j.framework.label);
  if (const auto n = replay_size_of(j, layers); n.too_long()) refuse("headroom: a step of so many tensors is not recorded (replay/size.hpp); they are at most", n.tensors);
  std::vector<recorded_step> out;
  replay_ranks(r, j, layers, [&](std::size_t i, const auto& run) {
    const auto& rank = r.ranks[i];
    step_recorder listener;
    const auto at_peak = rank.at_peak;
    run({&listener, until});
    out.push_back({rank.pipeline_stage, rank.count, rank.gpu, {}, listener.take()});
    if (replays_steps(j)) return;
    // Of a stage the replay makes parameters, optimizer state and activations; the rest of the walk's peak lies beside them.
    const auto made = tallest_moment(out.back());
    for (std::size_t k = 0; k < row_count; ++k) out.back().beside.rows[k] = max(bytes{0}, at_peak.rows[k] - made.rows[k]);
  });
  return out;
}

}  // namespace headroom::detail

namespace headroom {

/// replay() and record() (replay.hpp) with layers of one's own (block/own_layer.hpp). Programs that link headroom::compiled include this
/// file to have them.
/// Errors: those of estimate(job, own); out_of_time.
template <own_stack Own>
full_report replay(const job& j, const Own& own, const deadline& until = {}) {
  return detail::replayed(detail::checked_estimate(j, own), j, detail::layers_from(own), until);
}
template <own_stack Own>
std::vector<recorded_step> record(const job& j, const Own& own, const deadline& until = {}) {
  return detail::recorded(detail::checked_estimate(j, own), j, detail::layers_from(own), until);
}

}  // namespace headroom
