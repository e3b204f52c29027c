// Distributed under the Boost Software License, Version 1.0.
// Collectives by volume, topology and size of group: ring volumes (Thakur, Rabenseifner & Gropp 2005; NCCL's performance notes,
// "bus bandwidth"): all-gather and reduce-scatter move (n-1)/n of the whole through each rank, all-reduce twice that, all-to-all
// (n-1)/n of what a rank holds.
#pragma once

#include <headroom/cost/machine.hpp>
#include <headroom/units/quantity.hpp>

namespace headroom {

/// Ranks that take part: so many, each `stride` GPUs from the next.
struct rank_group {
  std::int64_t size{1};
  std::int64_t stride{1};
};

/// Share of a volume that each rank sends (and receives) in an all-gather, a reduce-scatter or an all-to-all.
constexpr double ring_share(std::int64_t ranks) { return ranks > 1 ? static_cast<double>(ranks - 1) / static_cast<double>(ranks) : 0.0; }

/// Bytes that one rank sends in a ring, of a tensor of `whole` bytes.
constexpr double all_gather_volume(double whole, std::int64_t ranks) { return whole * ring_share(ranks); }
constexpr double reduce_scatter_volume(double whole, std::int64_t ranks) { return whole * ring_share(ranks); }
constexpr double all_reduce_volume(double whole, std::int64_t ranks) { return 2 * whole * ring_share(ranks); }

/// Members of a group that lie in one link domain.
constexpr std::int64_t local_members(const fabric& f, const rank_group& g) {
  const auto room = f.domain / g.stride;
  return room < 1 ? 1 : room < g.size ? room : g.size;
}

/// Bytes a second through each rank of a ring: the links' within a node; where it leaves the node, the network shares of its
/// members there, which the rings of a node divide among themselves.
constexpr double ring_rate(const fabric& f, const rank_group& g) {
  const auto local = local_members(f, g);
  if (local == g.size) return f.link;
  const double out = f.network * static_cast<double>(local);
  return out < f.link ? out : f.link;
}

/// Seconds of a start-up: one inside a node, one more for each doubling of the nodes.
constexpr double start_up(const fabric& f, const rank_group& g) {
  if (g.size <= 1) return 0.0;
  double r = f.latency;
  for (auto nodes = (g.size + local_members(f, g) - 1) / local_members(f, g); nodes > 1; nodes = (nodes + 1) / 2) r += f.hop;
  return r;
}

/// Seconds of the rounds of a ring: in each of them every member sends to the next, and all wait for the slowest pair, which the network joins where the
/// ring leaves a node (Thakur, Rabenseifner & Gropp 2005, section 4.1). Within a node they are in the collective's own latency.
constexpr double ring_rounds(const fabric& f, const rank_group& g) {
  return local_members(f, g) == g.size ? 0.0 : static_cast<double>(g.size - 1) * f.round;
}

/// Of `whole` bytes, the sum of all ranks' parts: by a ring, which is all that NCCL has for a gather or a scatter.
constexpr double gather_seconds(const fabric& f, const rank_group& g, double whole) {
  return g.size <= 1 ? 0.0 : start_up(f, g) + ring_rounds(f, g) + all_gather_volume(whole, g.size) / ring_rate(f, g);
}
/// … by a tree, whose rounds grow as the doublings of the nodes do (NCCL 2.4 on), and which sustains less of the network once inner nodes have two
/// children.
constexpr double reduce_seconds(const fabric& f, const rank_group& g, double whole) {
  if (g.size <= 1) return 0.0;
  const auto local = local_members(f, g);
  auto rate = ring_rate(f, g);
  if (g.size > 2 * local && f.tree * f.network * static_cast<double>(local) < rate) rate = f.tree * f.network * static_cast<double>(local);
  return 2 * start_up(f, g) + all_reduce_volume(whole, g.size) / rate;
}
/// Each rank sends the other ranks' shares of `held` bytes directly: within the domain through links, the rest, or a `part` of it, through
/// the network.
constexpr double exchange_seconds(const fabric& f, const rank_group& g, double held, double part = 1.0) {
  if (g.size <= 1) return 0.0;
  const auto local = local_members(f, g);
  const double each = held / static_cast<double>(g.size);
  const double near = each * static_cast<double>(local - 1) / f.link;
  const double far = part * each * static_cast<double>(g.size - local) / f.network;
  return start_up(f, g) + (near > far ? near : far);
}
/// To the rank `stride` GPUs on.
constexpr double send_seconds(const fabric& f, std::int64_t stride, double volume) {
  return f.latency + volume / (stride < f.domain ? f.link : f.network);
}

}  // namespace headroom
