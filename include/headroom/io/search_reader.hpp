// Distributed under the Boost Software License, Version 1.0.
// A search from a job file in which keys are "auto".
#pragma once

#include <headroom/io/job_reader.hpp>
#include <headroom/plan/axes.hpp>

namespace headroom::io {

namespace detail {

/// What may be "auto", as a list for people.
inline std::string open_keys() {
  std::string all;
  for (const auto& a : axes::all) all += std::string{a.key} + ", ";
  return all + "parallel.stage_layers, batch.micro with batch.accumulation; parallel and offload stand for all of theirs";
}

/// hardware.nodes and gpus_per_node: "auto" up to hardware.max_nodes and max_gpus_per_node.
inline void open_hardware(json_value& value, search& s) {
  if (!value.is_object() || !value.contains("hardware") || !value.at("hardware").is_object()) return;
  auto& hardware = value.at("hardware");
  for (const auto& [axis, most] : {std::pair{&axes::nodes, "max_nodes"}, std::pair{&axes::gpus_per_node, "max_gpus_per_node"}}) {
    const std::string name{axis->key.substr(axis->key.find('.') + 1)};
    const bool open = hardware.contains(name) && is_auto(hardware.at(name));
    if (!hardware.contains(most)) {
      if (open) fail("headroom: hardware." + std::string{most} + " is required where " + std::string{axis->key} + " is \"auto\": the most there can be");
      continue;
    }
    if (!open) fail("headroom: hardware." + std::string{most} + " goes with " + std::string{axis->key} + " \"auto\"");
    if (hardware.contains("gpu") && hardware.at("gpu").is_array()) fail("headroom: " + std::string{axis->key} + " cannot be \"auto\" for several kinds of GPU: which would go is not said");
    hardware[name] = whole_at(hardware.at(most), "hardware." + std::string{most}, 1, 1 << 20);
    hardware.erase(most);
    s.open |= axes::bit(*axis);
  }
}

/// The first "auto" that is left, by its path; options of a framework have theirs.
inline std::string left_open(const json_value& v, const std::string& path) {
  if (is_auto(v)) return path;
  if (v.is_object())
    for (auto it = v.begin(); it != v.end(); ++it) {
      const auto at = joined(path, it.key());
      if (at == "framework.options") continue;
      if (const auto found = left_open(*it, at); !found.empty()) return found;
    }
  return {};
}

}  // namespace detail

/// Reads a job whose values may be "auto": parallel degrees, sharding, recompute, offload, how stages are cut (parallel.stage_layers), and batch.micro with batch.accumulation, for
/// which batch.global says how many sequences a step has (with one of the two given the other follows); hardware.nodes and gpus_per_node up to a maximum. Errors: those of read_job(),
/// and for an "auto" elsewhere.
inline search read_search(json_value value, const job_reading& how) {
  search s;
  detail::open_hardware(value, s);
  const auto whole = [&](const char* section) {
    if (!value.is_object() || !value.contains(section) || !detail::is_auto(value.at(section))) return;
    value.erase(section);
    for (std::size_t i = 0; i < axes::all.size(); ++i)
      if (axes::all[i].key.substr(0, axes::all[i].key.find('.')) == section) s.open |= 1U << i;
  };
  for (const auto* section : {"parallel", "sharding", "recompute", "offload"}) whole(section);
  for (std::size_t i = 0; i < axes::all.size(); ++i) {
    const auto key = axes::all[i].key;
    const auto dot = key.find('.');
    if (dot == std::string_view::npos || !value.is_object()) continue;
    const std::string section{key.substr(0, dot)}, name{key.substr(dot + 1)};
    if (!value.contains(section) || !value.at(section).is_object() || !value.at(section).contains(name) || !detail::is_auto(value.at(section).at(name))) continue;
    value.at(section).erase(name);
    if (key == axes::engine_place.key) value.at(section)[name] = "colocated";
    s.open |= 1U << i;
  }
  if (value.is_object() && value.contains("parallel") && value.at("parallel").is_object())
    if (auto& parallel = value.at("parallel"); parallel.contains("stage_layers") && detail::is_auto(parallel.at("stage_layers"))) {
      parallel.erase("stage_layers");
      s.open_cut = true;
    }
  if (value.is_object() && value.contains("batch") && value.at("batch").is_object()) {
    auto& batch = value.at("batch");
    for (const auto* key : {"micro", "accumulation"})
      if (batch.contains(key) && detail::is_auto(batch.at(key))) {
        batch.erase(key);
        s.open_micro = true;
      }
    if (s.open_micro && (batch.contains("micro") || batch.contains("accumulation")))
      fail("headroom: batch.micro and batch.accumulation are open together or not at all; give batch.global and leave the other out");
    if (batch.contains("global")) {
      s.global_batch = whole_at(batch.at("global"), "batch.global", 1, 1 << 24);
      batch.erase("global");
      if (!s.open_micro) s.keeps_micro = batch.contains("micro"), s.keeps_accumulation = batch.contains("accumulation");
      s.open_micro = true;
    }
    if (s.open_micro && s.global_batch == 0) fail("headroom: batch.global is required where batch.micro is \"auto\": sequences of a step, of all data-parallel ranks");
  }
  if ((s.open & (axes::bit(axes::nodes) | axes::bit(axes::gpus_per_node))) != 0 && !s.open_micro)
    fail("headroom: batch.global is required where the number of GPUs is open: sequences of a step, of all data-parallel ranks; with it batch.micro is open, too");
  if (const auto where = detail::left_open(value, ""); !where.empty())
    fail("headroom: " + where + " cannot be \"auto\"; what can: " + detail::open_keys());
  s.job = read_job(value, how);
  return s;
}
inline search read_search(const json_value& value, const file_base& base = ".") { return read_search(value, job_reading{.base = base}); }

}  // namespace headroom::io
