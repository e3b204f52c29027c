// Distributed under the Boost Software License, Version 1.0.
// The options of `accelerate launch` as keys of its configuration.
#pragma once

#include <headroom/io/launchers/accelerate/options.hpp>
#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/launcher_options.hpp>

namespace headroom::io::detail {

/// What a command says goes over what a file says, key by key.
inline void merge(document& whole, const document& over) {
  const auto place_of_over = [&](const std::string& key) { return over.lines.contains(key) ? over.lines.at(key) : 1; };
  for (const auto& [key, value] : over.root.items()) {
    if (value.is_object() && whole.root.contains(key) && whole.root[key].is_object())
      for (const auto& [inner, v] : value.items()) whole.root[key][inner] = v;
    else
      whole.root[key] = value;
    if (whole.source == over.source) whole.lines[key] = place_of_over(key);
  }
  if (whole.source == over.source) whole.lines.insert(over.lines.begin(), over.lines.end());
}

inline void accelerate_option_said(draft& d, document& over, const accelerate_option& option, const argument& one) {
  const auto value = value_of(one);
  if (option.section.empty()) {
    if (!passes({option.name, option.off}, value)) d.unmodelled_key(one.name, value, over.source + ":" + std::to_string(one.line));
    return;
  }
  if (one.name == "config_file") {
    if (!one.values.empty()) d.named.push_back({file_kind::accelerate, one.values[0].shown(), over.source + ":" + std::to_string(one.line)});
    return;
  }
  if (one.name == "use_deepspeed" || one.name == "use_fsdp" || one.name == "multi_gpu") {
    auto& type = over.root["distributed_type"];  // DeepSpeed before FSDP before DDP
    const auto* theirs = one.name == "use_deepspeed" ? "DEEPSPEED" : one.name == "use_fsdp" ? "FSDP" : "MULTI_GPU";
    if (type.is_null() || type == "MULTI_GPU" || type == "NO") type = theirs;
    over.lines["distributed_type"] = one.line;
    return;
  }
  if (!one.known() && (one.name == "num_processes" || one.name == "num_machines"))
    return draft::leave_open(one.name == "num_machines" ? d.open_nodes : d.open_gpus, "--" + one.name, one.values[0].shown(), over.source + ":" + std::to_string(one.line));
  const bool path = one.name == "deepspeed_config_file";
  if (!path) check_known(one, over.source);
  auto& section = option.section == "." ? over.root : over.root[std::string{option.section}];
  const auto key = one.name == "fp16" ? "mixed_precision" : one.name;
  section[key] = one.name == "fp16" ? json_value("fp16") : path ? json_value(one.values.empty() ? "" : one.values[0].shown()) : value;
  over.lines[option.section == "." ? key : std::string{option.section} + "." + key] = one.line;
}

/// The options from word `i` on, which is then the program's.
inline document accelerate_options_said(draft& d, const shell_command& c, std::size_t& i, const std::string& source) {
  document over{.source = source, .root = json_value::object(), .lines = {}};
  while (i < c.words.size() && c.words[i].text.starts_with("-")) {
    auto said = arguments_of(std::span{&c.words[i++], 1});
    if (said.empty()) break;
    auto& one = said[0];
    std::replace(one.name.begin(), one.name.end(), '-', '_');
    const auto* option = std::find_if(accelerate_options.begin(), accelerate_options.end(), [&](const auto& o) { return o.name == one.name; });
    if (option == accelerate_options.end()) unknown_option(one, source, texts(accelerate_options, [](const auto& o) { return o.name; }));
    if (option->kind == option_kind::valued && one.values.empty() && i < c.words.size()) one.values.push_back(c.words[i++]);
    accelerate_option_said(d, over, *option, one);
  }
  return over;
}

}  // namespace headroom::io::detail
