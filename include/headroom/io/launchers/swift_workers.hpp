// Distributed under the Boost Software License, Version 1.0.
// ms-swift's trainings under Ray: on which GPUs its one group of workers trains (modelscope/ms-swift 3602360a of 2026-08-22: swift/ray_utils/resource_manager.py).
#pragma once

#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

/// How many GPUs a group has: so many, a list of their numbers, or list(range(first, end)). 0: said otherwise.
inline std::int64_t swift_ranks(const json_value& said) {
  if (said.is_number_integer()) return said.get<std::int64_t>();
  if (said.is_array()) return static_cast<std::int64_t>(said.size());
  if (!said.is_string()) return 0;
  std::string text;
  for (const auto c : said.get<std::string>())
    if (c != ' ') text += c;
  if (!text.starts_with("list(range(") || !text.ends_with("))")) return 0;
  text = text.substr(11, text.size() - 13);
  const auto comma = text.find(',');
  const auto whole = [](const std::string& digits) { return digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != digits.npos ? std::int64_t{-1} : std::int64_t{std::stoll(digits)}; };
  const auto first = comma == text.npos ? 0 : whole(text.substr(0, comma)), end = whole(comma == text.npos ? text : text.substr(comma + 1));
  return first < 0 || end <= first ? 0 : end - first;
}

/// use_ray with one group, "default", which does all: a launch of as many processes.
inline void swift_workers(draft& d, named_values& v) {
  if (!v.on("use_ray")) return;
  const auto* groups = v.take("device_groups");
  const auto place = v.place("device_groups");
  const auto no = [&] { fail("headroom: " + v.place("use_ray") + ": use_ray is read with device_groups of nproc_per_node and of one group of GPUs, whose workers are \"default\" and whose ranks are a number, a list, or list(range(first, end))"); };
  if (groups == nullptr || !groups->is_object()) no();
  std::int64_t each = 0, all = 0;
  for (const auto& [name, group] : groups->items()) {
    if (name == "nproc_per_node") {
      each = whole_at(group, "device_groups.nproc_per_node", 1, 1024);
      continue;
    }
    const bool one = group.is_object() && group.size() == 3 && group.contains("ranks") && group.value("device", json_value{}) == "GPU" && group.value("workers", json_value{}) == json_value::array({"default"});
    if (!one || all > 0) no();
    all = swift_ranks(group["ranks"]);
  }
  if (all < 1 || each < 1 || (all > each && all % each != 0)) no();
  d.know(d.gpus, "GPUs", all, place);
  d.say({"hardware", "nodes"}, all > each ? all / each : 1, place);
  d.say({"hardware", "gpus_per_node"}, all > each ? each : all, place);
}

}  // namespace headroom::io::detail
