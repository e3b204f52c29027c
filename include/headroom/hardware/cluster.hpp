// Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <headroom/error.hpp>
#include <headroom/hardware/accelerator.hpp>

#include <initializer_list>

namespace headroom {

/// So many GPUs of a kind.
struct gpu_group {
  headroom::gpu gpu{};
  std::int64_t count{};
  bool operator==(const gpu_group&) const = default;
};

/// The kinds of GPU that a mixed cluster has beside its first.
struct gpu_groups {
  static constexpr std::size_t capacity = 3;
  gpu_group list[capacity]{};
  std::size_t size{};

  constexpr gpu_groups() = default;
  constexpr gpu_groups(std::initializer_list<gpu_group> groups) {
    for (const auto& g : groups) add(g);
  }
  constexpr void add(const gpu_group& g) {
    if (size == capacity) refuse("headroom: a cluster holds at most 4 kinds of GPU", capacity + 1);
    list[size++] = g;
  }
  bool operator==(const gpu_groups&) const = default;
};

/// Nodes of GPUs. Host memory and NVMe are per node; 0: not stated, so not judged.
struct cluster {
  headroom::gpu gpu{};
  std::int64_t nodes{1};
  std::int64_t gpus_per_node{1};
  bytes host_memory{};
  bytes nvme{};
  std::int64_t network_gbit{};   ///< 10^9 bits a second that a node sends to other nodes; 0: what nodes of its GPU usually have
  /// GPUs of other kinds, in the order of ranks: the first ranks are on `gpu`, as many as these leave, the last on the last of
  /// these. Launchers number pipeline stages outermost, so a stage lies on ranks in a row.
  gpu_groups others{};
  bytes taken{};                 ///< of each GPU, what others hold: a desktop, a second process

  /// The GPU of the job, or the one that is assumed where a job names none.
  [[nodiscard]] constexpr bool names_gpu() const { return !gpu.label.empty() || gpu.memory != bytes{0}; }
  [[nodiscard]] constexpr const headroom::gpu& accelerator() const { return names_gpu() ? gpu : headroom::gpus::h100_sxm_80gb; }
  [[nodiscard]] constexpr std::int64_t gpus() const { return checked::mul(nodes, gpus_per_node); }
  [[nodiscard]] constexpr std::size_t kinds() const { return 1 + others.size; }
  /// How many of the GPUs are of kind 0 (`gpu`), 1 (the first of `others`), …
  [[nodiscard]] constexpr std::int64_t count(std::size_t kind) const {
    if (kind > 0) return others.list[kind - 1].count;
    auto rest = gpus();
    for (std::size_t i = 0; i < others.size; ++i) rest -= others.list[i].count;
    return rest;
  }
  [[nodiscard]] constexpr const headroom::gpu& accelerator(std::size_t kind) const { return kind == 0 ? accelerator() : others.list[kind - 1].gpu; }
  /// The first kind of which is(gpu) holds; null where there is none.
  [[nodiscard]] constexpr const headroom::gpu* kind_that(const auto& is) const {
    for (std::size_t kind = 0; kind < kinds(); ++kind)
      if (is(accelerator(kind))) return &accelerator(kind);
    return nullptr;
  }
  /// What a process can use of a GPU; 0 where others hold all of it.
  [[nodiscard]] constexpr bytes left_of(const headroom::gpu& g) const { return taken < g.memory ? g.memory - taken : bytes{0}; }
  bool operator==(const cluster&) const = default;
};

}  // namespace headroom
