// Distributed under the Boost Software License, Version 1.0.
// How many nodes and GPUs a draft's job has: what several files say of it together, or what is asked for.
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io {
namespace detail {

/// A whole number of the job, 0 where it is not known.
inline std::int64_t draft_number(const draft& d, std::initializer_list<std::string_view> path, const std::string& shown) {
  const auto* v = d.find(path);
  return v == nullptr ? 0 : whole_at(*v, shown, 1, std::int64_t{1} << 31);
}
inline std::int64_t draft_nodes(const draft& d) { return draft_number(d, {"hardware", "nodes"}, "hardware.nodes"); }
inline std::int64_t draft_gpus_per_node(const draft& d) { return draft_number(d, {"hardware", "gpus_per_node"}, "hardware.gpus_per_node"); }

/// Layers that a process spreads over the GPUs it has for itself (ms-swift swift/utils/env.py, is_mp; swift/model/utils.py,
/// get_default_device_map).
inline void settle_spread(draft& d) {
  if (!d.spread || d.gpus) return;
  const auto each = draft_gpus_per_node(d), processes = d.spread->value == 0 ? each : d.spread->value;
  const bool set = d.place_of("hardware.gpus_per_node").starts_with("--set");
  const auto seen = set || !d.visible ? each : d.visible->value;
  if (processes == 0 || seen <= processes) return;
  if (seen % processes != 0) fail("headroom: " + d.spread->place + ": " + std::to_string(seen) + " GPUs do not divide among " + std::to_string(processes) + " processes, which ms-swift asks for");
  if (d.framework_is("deepspeed") || d.has({"sharding"}))
    fail("headroom: " + d.spread->place + ": ms-swift spreads layers over the " + std::to_string(seen / processes) + " GPUs of a process, and refuses to shard them, too: set NPROC_PER_NODE, or --env NPROC_PER_NODE=" + std::to_string(seen));
  if (d.liger) fail("headroom: " + d.liger->place + ": ms-swift spreads layers over the " + std::to_string(seen / processes) + " GPUs of a process, and stops there beside " + d.liger_key + ": set NPROC_PER_NODE, or --env NPROC_PER_NODE=" + std::to_string(seen));
  d.job["hardware"]["gpus_per_node"] = seen;
  d.say({"parallel", "pipeline"}, seen / processes, d.spread->place);
  d.say({"parallel", "schedule"}, "naive", d.spread->place);
}

/// Degrees that one GPU cannot have: how many there are is asked for.
inline void ask_for_degrees(const draft& d) {
  const auto degree = [&](std::string_view key) { return std::max<std::int64_t>(1, draft_number(d, {"parallel", key}, "parallel." + std::string{key})); };
  const auto ranks = checked::mul(degree("tensor"), degree("context")), experts = checked::mul(degree("expert"), degree("expert_tensor"));
  const auto least = checked::mul(degree("pipeline"), std::max(ranks, experts));
  if (least > 1) fail("headroom: no file says how many GPUs there are, and the degrees need at least " + std::to_string(least) + ": add --set hardware.gpus_per_node=N");
}

/// Nodes and GPUs of each, from what says either or all GPUs. What --set says wins over a launcher.
inline void settle_gpus(draft& d) {
  auto nodes = draft_nodes(d), each = draft_gpus_per_node(d);
  const bool set = d.place_of("hardware.nodes").starts_with("--set") || d.place_of("hardware.gpus_per_node").starts_with("--set");
  if (d.gpus && set && nodes > 0 && each > 0) d.gpus.reset();
  const auto open = [&](const std::optional<draft::said>& what, const char* key) {
    if (what) fail("headroom: " + what->place + ": " + what->word + ", which the file itself does not say: add --env NAME=VALUE or --set hardware." + key + "=N");
  };
  if (d.gpus) {
    if (nodes == 0 && each == 0) open(d.open_nodes, "nodes");
    const auto all = d.gpus->value;
    const bool counts_alone = d.has_read(file_kind::nanotron) || d.has_read(file_kind::torchtitan);  // files that have no word of machines
    if (nodes == 0 && each == 0 && counts_alone && all > 8 && all % 8 == 0) {
      each = 8;
      d.notes.push_back(d.gpus->place + ": " + std::to_string(all) + " GPUs are taken to be nodes of 8 (--set hardware.gpus_per_node=N)");
    }
    if (nodes == 0) nodes = each > 0 && all % each == 0 ? all / each : 1;
    if (each == 0 && all % nodes == 0) each = all / nodes;
    if (each == 0 || checked::mul(nodes, each) != all)
      fail("headroom: " + d.gpus->place + ": " + std::to_string(all) + " GPUs contradict " + (each == 0 ? std::to_string(nodes) + " nodes" : std::to_string(nodes) + " nodes of " + std::to_string(each)) + " (" +
           d.place_of(each == 0 || d.place_of("hardware.gpus_per_node").empty() ? "hardware.nodes" : "hardware.gpus_per_node") + ")");
  }
  if (nodes == 0) open(d.open_nodes, "nodes");
  if (each == 0) open(d.open_gpus, "gpus_per_node");
  if (each == 0 && d.visible && d.visible->value > 1 && d.alone)
    fail("headroom: " + d.alone->place + ": " + d.alone->word + " is one process, and sees " + std::to_string(d.visible->value) + " GPUs (" + d.visible->place +
         "): torch's DataParallel, which the Trainer uses then, is not modelled by this version: start it by torchrun --nproc_per_node " + std::to_string(d.visible->value) + ", or with one GPU");
  if (each == 0 && d.visible) {
    each = d.visible->value;
    d.say({"hardware", "gpus_per_node"}, each, d.visible->place);
  }
  if (each == 0 && d.takes_all_gpus)
    fail("headroom: " + d.takes_all_gpus->place + ": " + d.takes_all_gpus->word + " takes every GPU of its machine, and no file says how many that are: add --set hardware.gpus_per_node=N");
  if (nodes == 0 && each == 0 && d.workers) each = d.workers->value;
  if (nodes == 0 && each == 0 && d.has_read(file_kind::megatron)) ask_for_degrees(d);
  if (nodes == 0 && each == 0) {
    d.notes.emplace_back("no file says how many GPUs there are: one is assumed (--set hardware.nodes=N, --set hardware.gpus_per_node=N)");
    return;
  }
  if (const auto said_at = d.place_of("hardware.nodes"); each == 0 && nodes > 1 && !said_at.empty() && !said_at.starts_with("--set") && !d.has_read(file_kind::job))
    fail("headroom: " + said_at + ": there are " + std::to_string(nodes) + " nodes, and no file says how many GPUs each has: add --set hardware.gpus_per_node=N");
  if (each == 0) d.notes.emplace_back("no file says how many GPUs a node has: one is assumed (--set hardware.gpus_per_node=N)");
  if (nodes > 0) d.job["hardware"]["nodes"] = nodes;
  if (each > 0) d.job["hardware"]["gpus_per_node"] = each;
}

inline void settle_placement(draft& d) {
  if (!d.placement || draft_nodes(d) < 2) return;
  const auto what = d.placement->word + " lets other ranks share a node than a predicted step's time has them: memory is as it would be without it";
  d.notes.push_back(d.placement->place + ": " + what);
  d.assumed.push_back(what);
}

}  // namespace detail
}  // namespace headroom::io
