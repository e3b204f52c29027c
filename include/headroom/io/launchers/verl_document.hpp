// Distributed under the Boost Software License, Version 1.0.
// The overrides of a command of verl's (Hydra's: KEY=VALUE), as a document.
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/verl_keys.hpp>

#include <algorithm>
#include <span>

namespace headroom::io::detail {

/// KEY=VALUE, with + or ++ before what a configuration does not have.
inline document verl_document(std::span<const shell_word> words, const std::string& source) {
  document from{.source = source, .root = json_value::object(), .lines = {}};
  bool named = false;
  for (const auto& w : words) {
    std::string_view text = w.text;
    while (text.starts_with('+')) text.remove_prefix(1);
    const auto equals = text.find('=');
    const bool option = text.starts_with("--");
    const bool names = text.starts_with("--config-name") || named;
    named = text == "--config-name";  // its value is the next word
    if (names && !named && text.find("megatron") != std::string_view::npos) from.root["--megatron"] = true;
    if (names && !named && text.find("ppo_trainer") == std::string_view::npos && text.find("ppo_megatron_trainer") == std::string_view::npos)
      fail("headroom: " + source + ":" + std::to_string(w.line) + ": " + in_quotes(w.shown()) + " is a configuration that is not read by this version: overrides of verl's own ppo_trainer are");
    if (option || equals == std::string_view::npos) continue;
    const std::string key{text.substr(0, equals)};
    const shell_word said{std::string{text.substr(equals + 1)}, w.line};
    const bool matters = std::none_of(verl_passed.begin(), verl_passed.end(), [&](const passed_key& k) { return k.name == key && k.off == "*"; }) && !key.starts_with("hydra.") && !key.ends_with(".dist_checkpointing_path") && key != "actor_rollout_ref.model.path";
    if (matters && !said.known()) fail("headroom: " + source + ":" + std::to_string(w.line) + ": " + key + " is " + in_quotes(said.shown()) + ", which the file itself does not say: add --env NAME=VALUE");
    auto value = typed(said.shown());
    if (value == "True" || value == "true") value = true;
    if (value == "False" || value == "false") value = false;
    if (value == "null" || value == "None") value = nullptr;
    from.root[key] = value;
    from.lines[key] = w.line;
  }
  return from;
}

}  // namespace headroom::io::detail
