// Distributed under the Boost Software License, Version 1.0.
// A report's numbers of one kind of rank, from the timeline of its step; a node's host memory.
#pragma once

#include <headroom/engine/eager/pools.hpp>
#include <headroom/sharding/host.hpp>
#include <headroom/states/outside.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom::detail {

constexpr void finish_rank(rank_report& r, const settled_job& s, const timeline& t, std::int64_t count, std::int64_t stage = 0) {
  r.pipeline_stage = stage;
  r.count = count;
  r.gpu = s.on->label;
  r.capacity = s.source->hardware.left_of(*s.on);
  r.taken = s.source->hardware.taken;
  r.peak_phase = t.peak();
  r.peak_layer = t.layer(r.peak_phase);
  r.at_peak = t.at(r.peak_phase).rows;
  r.allocated = t.at(r.peak_phase).total;
  for (std::size_t i = 0; i < r.phases.size(); ++i) {
    r.phases[i] = t.total(static_cast<phase>(i));
    if (i >= r.at_phase.size()) continue;
    r.at_phase[i] = t.at(static_cast<phase>(i)).rows;
    if (r.phases[i] == bytes{0}) r.absent |= static_cast<std::uint8_t>(1U << i);  // a rank holds something at every moment that it has
  }
  r.active = r.allocated;
  r.reserved = s.layer.host ? r.active : round_up(r.active, 2 * mib);
  if (t.watches_pools()) [[unlikely]]
    r.reserved = max(r.reserved, round_up(t.default_pool(), 2 * mib) + round_up(t.gather_pool(), 2 * mib) + round_up(t.reduce_pool(), 2 * mib));
  r.outside = outside_of(s);
  r.device = r.reserved + r.outside.total();
}

/// `reserved` as a sum over pools, where wrapping has left some. Where that is more than the GPU has, the allocator gives cached
/// segments back and tries again (CUDACachingAllocator.cpp, release_cached_blocks), so that what is in use at once is what counts.
constexpr void reserve_after_wrapping(rank_report& r, const settled_job& s, const state_bytes& st, const timeline& t) {
  const auto sum = round_up(default_pool_after_wrapping(s, st, t), 2 * mib) + round_up(t.gather_pool(), 2 * mib) + round_up(t.reduce_pool(), 2 * mib);
  const auto usable = r.capacity - r.outside.total();
  r.reserved = max(round_up(r.active, 2 * mib), min(sum, usable));
  r.device = r.reserved + r.outside.total();
}

template <class Ranks>
constexpr void finish_host(basic_report<Ranks>& r, const cluster& c, const host_bytes& node) {
  const auto running = node.pinned + node.plain;
  r.host = {max(running, node.load), node.pinned, node.load > running ? phase::load : phase::step, c.host_memory};
  r.nvme_per_node = node.nvme;
  r.nvme_capacity = c.nvme;
}

}  // namespace headroom::detail
