// Distributed under the Boost Software License, Version 1.0.
// torchtitan's keys that only matter beside a switch, and what its command line says.
#pragma once

#include <headroom/io/launchers/nested_values.hpp>
#include <headroom/io/launchers/torchtitan/keys.hpp>

namespace headroom::io::detail {

/// Takes out what only matters beside a switch that is off: converters' sections, compile's backend and the like.
inline void drop_without_effect(json_value& root) {
  const auto is_on = [&](std::string_view path) {
    const auto* v = value_at(root, path);
    return v != nullptr && *v == true;
  };
  const auto drop = [&](std::string_view prefix) {
    for (const auto& k : torchtitan_passed)
      if (k.name.starts_with(prefix) && value_at(root, k.name) != nullptr) {
        auto pointer = "/" + std::string{k.name};
        std::replace(pointer.begin(), pointer.end(), '.', '/');
        root[json_value::json_pointer(pointer.substr(0, pointer.rfind('/')))].erase(pointer.substr(pointer.rfind('/') + 1));
      }
  };
  const auto* converters = value_at(root, "model.converters");
  if ((converters == nullptr || converters->is_null() || converters->empty()) && !is_on("float8.enable_float8_linear"))
    for (const auto* section : {"float8.", "mx.", "quantize."}) drop(section);
  if (!is_on("compile.enable") && !is_on("training.compile")) drop("compile.backend");
  const auto* context = value_at(root, "parallelism.context_parallel_degree");
  if (context == nullptr || *context == 1) drop("parallelism.context_parallel_load_balancer");
  const auto* mode = value_at(root, "activation_checkpoint.mode");
  const auto* option = value_at(root, "activation_checkpoint.selective_ac_option");
  if ((mode != nullptr && *mode != "selective") || option == nullptr || *option != "op") drop("activation_checkpoint.per_op_sac");
}

/// Sections of which no key is left.
inline void drop_empty(json_value& root, const std::string& within = {}) {
  for (auto it = root.begin(); it != root.end();) {
    const auto path = within + it.key();
    if (it->is_object()) drop_empty(*it, path + ".");
    const bool key = std::find(torchtitan_read.begin(), torchtitan_read.end(), path) != torchtitan_read.end();
    it = it->is_object() && it->empty() && !key ? root.erase(it) : std::next(it);
  }
}

/// --section.key VALUE, with - or _; --section.key and --section.no-key alone are true and false (tyro). Throws job_error for what the file
/// leaves to its environment, and where a Python function makes the configuration.
inline document torchtitan_arguments(draft& d, std::span<const argument> all, const std::string& source) {
  document from{.source = source, .root = json_value::object(), .lines = {}};
  for (const auto& a : all) {
    const auto place = source + ":" + std::to_string(a.line);
    check_parts(a.name, place);
    auto name = a.name;
    std::replace(name.begin(), name.end(), '-', '_');
    if (name == "module" || name == "config")
      fail("headroom: " + place + ": --" + a.name + " names a Python function that makes the configuration (torchtitan since 2026-02-23), which no file here is: give a job file");
    const auto dot = name.rfind('.');
    if (dot == std::string::npos) {
      d.unknown_key(a.name, place);
      continue;
    }
    if (!never_matters(torchtitan_passed, name)) check_known(a, source);
    auto value = value_of(a);
    if (value == "True" || value == "true") value = true;
    if (value == "False" || value == "false") value = false;
    if (name.compare(dot + 1, 3, "no_") == 0 && a.values.empty()) {
      name.erase(dot + 1, 3);
      value = false;
    }
    if (value.is_string() && (name == "model.converters" || name == "compile.components" || name.find("fqns") != std::string::npos || name.ends_with("split_points"))) {
      auto list = json_value::array();
      std::string one;
      for (const char c : value.get<std::string>() + ",") {
        if (c != ',' && c != ' ') one += c;
        else if (!one.empty()) list.push_back(std::exchange(one, {}));
      }
      value = std::move(list);
    }
    auto pointer = "/" + name;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    from.root[json_value::json_pointer(pointer)] = value;
    from.lines[name] = a.line;
  }
  return from;
}

}  // namespace headroom::io::detail
