// Distributed under the Boost Software License, Version 1.0.
// ms-swift's trainings under Ray: on which GPUs its one group of workers trains (modelscope/ms-swift 3602360a of 2026-08-22: swift/ray_utils/resource_manager.py).
#pragma once

#include <headroom/io/launchers/named_values.hpp>

#include <algorithm>
#include <vector>

namespace headroom::io::detail {

/// Numbers of a group's GPUs over all nodes: so many, a list of them, or list(range(first, end)). Empty: said otherwise, or more than there may be.
inline std::vector<std::int64_t> swift_ranks(const json_value& said) {
  constexpr std::int64_t most = 1 << 16;
  const auto from_to = [](std::int64_t first, std::int64_t end) {
    std::vector<std::int64_t> r;
    if (first < 0 || end > most) return r;
    for (auto n = first; n < end; ++n) r.push_back(n);
    return r;
  };
  if (said.is_number_integer()) return from_to(0, said.get<std::int64_t>());
  if (said.is_array()) {
    std::vector<std::int64_t> r;
    for (const auto& one : said) {
      if (!one.is_number_integer() || one < 0 || one >= most) return {};
      r.push_back(one.get<std::int64_t>());
    }
    return r;
  }
  if (!said.is_string()) return {};
  std::string text;
  for (const auto c : said.get<std::string>())
    if (c != ' ') text += c;
  if (!text.starts_with("list(range(") || !text.ends_with("))")) return {};
  text = text.substr(11, text.size() - 13);
  const auto comma = text.find(',');
  const auto whole = [](const std::string& digits) { return digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != digits.npos ? std::int64_t{-1} : std::int64_t{std::stoll(digits)}; };
  return from_to(comma == text.npos ? 0 : whole(text.substr(0, comma)), whole(comma == text.npos ? text : text.substr(comma + 1)));
}

/// Whether those GPUs are as many on each of the first nodes, which are all that ms-swift asks Ray for (ResourceManager.__init__).
inline bool fills_nodes(std::vector<std::int64_t> ranks, std::int64_t each) {
  const auto all = static_cast<std::int64_t>(ranks.size()), nodes = checked::ceil_div(all, each);
  std::sort(ranks.begin(), ranks.end());
  if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end() || ranks.back() >= checked::mul(nodes, each)) return false;
  return nodes == 1 || all == checked::mul(nodes, each);
}

/// use_ray with one group, "default", which does all: a launch of as many processes.
inline void swift_workers(draft& d, named_values& v) {
  if (!v.on("use_ray")) return;
  const auto* groups = v.take("device_groups");
  const auto place = v.place("device_groups");
  const auto no = [&] { fail("headroom: " + v.place("use_ray") + ": use_ray is read with device_groups of nproc_per_node and of one group of GPUs, whose workers are \"default\" and whose ranks are a number, a list, or list(range(first, end)), of at most 65536"); };
  if (groups == nullptr || !groups->is_object()) no();
  std::int64_t each = 0;
  std::vector<std::int64_t> ranks;
  for (const auto& [name, group] : groups->items()) {
    if (name == "nproc_per_node") {
      each = count_at(group, "device_groups.nproc_per_node", 1, 1024);
      continue;
    }
    const bool one = group.is_object() && group.size() == 3 && group.contains("ranks") && group.value("device", json_value{}) == "GPU" && group.value("workers", json_value{}) == json_value::array({"default"});
    if (!one || !ranks.empty()) no();
    ranks = swift_ranks(group["ranks"]);
  }
  if (ranks.empty() || each < 1) no();
  if (!fills_nodes(ranks, each)) fail("headroom: " + place + ": device_groups: ms-swift numbers GPUs over as many nodes of nproc_per_node, " + std::to_string(each) + ", as the ranks need; ranks must differ, lie on those nodes, and be as many on each");
  const auto all = static_cast<std::int64_t>(ranks.size());
  d.know(d.gpus, "GPUs", all, place);
  d.say({"hardware", "nodes"}, all > each ? all / each : 1, place);
  d.say({"hardware", "gpus_per_node"}, all > each ? each : all, place);
}

}  // namespace headroom::io::detail
