// Distributed under the Boost Software License, Version 1.0.
// The overrides of a command of verl's (Hydra's: KEY=VALUE), as a document, over a configuration of one's own where the command names one.
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/nemo/files.hpp>
#include <headroom/io/launchers/verl/keys.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace headroom::io::detail {

/// Whether an object is a configuration that inherits from verl's own (verl/trainer/config/ppo_trainer.yaml, ppo_megatron_trainer.yaml).
inline bool is_verl_file(const json_value& root) {
  const auto from = root.is_object() ? root.find("defaults") : root.end();
  if (!root.is_object() || from == root.end() || !from->is_array()) return false;
  return std::any_of(from->begin(), from->end(), [](const json_value& v) { return v == "ppo_trainer" || v == "ppo_megatron_trainer"; });
}

/// Whether a key may decide something: not harmless whatever it says, nor a path.
inline bool verl_key_matters(std::string_view key) {
  return std::none_of(verl_passed.begin(), verl_passed.end(), [&](const passed_key& k) { return k.name == key && k.off == "*"; }) && !key.starts_with("hydra.") && !key.ends_with(".dist_checkpointing_path") && key != "actor_rollout_ref.model.path";
}

/// Sections as dotted keys. A value that refers to another is not worked out.
inline void flatten_verl(const document& file, const json_value& section, const std::string& at, document& into) {
  for (const auto& [name, value] : section.items()) {
    if (at.empty() && (name == "defaults" || name == "hydra")) continue;
    const auto key = at.empty() ? name : at + "." + name;
    if (value.is_object()) {
      flatten_verl(file, value, key, into);
      continue;
    }
    if (verl_key_matters(key) && value.is_string() && (value == "???" || value.get_ref<const std::string&>().find("${") != std::string::npos))
      fail("headroom: " + file.place(key) + ": " + key + " is " + in_quotes(value.get_ref<const std::string&>()) + ", which this file does not say: write what it stands for");
    into.spend(copied(value) + key.size());
    into.root[key] = value;
    into.elsewhere[key] = file.place(key);
  }
}

/// What a configuration of one's own says, over one of verl's: Hydra reads what stands last over what stands before.
/// Errors: job_error for other parts that it is made of.
inline void say_verl_file(const document& file, document& into) {
  const auto& parts = file.root["defaults"];
  if (parts.size() != 2 || parts[1] != "_self_")
    fail("headroom: " + file.place("defaults") + ": defaults must be one of verl's own, ppo_trainer or ppo_megatron_trainer, and then _self_: other parts of a configuration are not read by this version");
  if (parts[0] == "ppo_megatron_trainer") into.root["--megatron"] = true;
  flatten_verl(file, file.root, "", into);
}

/// The configuration that a command names: a word, with its line.
inline shell_word verl_config_of(std::span<const shell_word> words) {
  shell_word said;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].text.starts_with("--config-name=")) said = {words[i].text.substr(14), words[i].line};
    if ((words[i].text == "--config-name" || words[i].text == "-cn") && i + 1 < words.size()) said = words[++i];
  }
  if (said.text.ends_with(".yaml")) said.text.resize(said.text.size() - 5);
  return said;
}

/// The one of `files` that a command names, said into `into`; verl's own has nothing to say but which workers it is of.
/// Errors: job_error for one that was not given.
inline void say_verl_config(std::span<const shell_word> words, std::span<const document> files, bool detached, document& into) {
  const auto name = verl_config_of(words);
  const auto unnamed = [&] {
    if (!files.empty()) fail("headroom: " + files.front().source + " is a configuration of verl's that the command in " + into.source + " does not name (--config-name): take it out, or have the command name it");
  };
  if (name.text.empty()) return unnamed();
  const bool own = name.text == "ppo_trainer" || name.text == "ppo_megatron_trainer" || (detached && (name.text == "one_step_off_ppo_trainer" || name.text == "one_step_off_ppo_megatron_trainer"));
  if (own) {
    if (name.text.find("megatron") != std::string::npos) into.root["--megatron"] = true;
    return unnamed();
  }
  const auto place = "headroom: " + into.source + ":" + std::to_string(name.line);
  if (!name.known()) fail(place + ": --config-name is " + in_quotes(name.shown()) + ", which the file itself does not say: add --env NAME=VALUE");
  const auto path = name.text + ".yaml";
  const auto file = std::find_if(files.begin(), files.end(), [&](const document& f) { return f.source == file_part(path); });
  if (file == files.end()) fail(place + ": names " + in_quotes(path) + ", which no file here is: give it, too");
  say_verl_file(*file, into);
}

/// Whether a word that begins with - is one of Hydra's own options (hydra/_internal/utils.py get_args_parser), which argparse takes cut short, too.
inline bool option_of_hydra(std::string_view text) {
  constexpr std::string_view longer[] = {"--help", "--hydra-help", "--version", "--cfg", "--resolve", "--package", "--run", "--multirun", "--shell-completion", "--config-path", "--config-name", "--config-dir", "--experimental-rerun", "--info"};
  constexpr std::string_view shorter[] = {"-h", "-c", "-p", "-r", "-m", "-sc", "-cp", "-cn", "-cd", "-i"};
  const auto name = text.substr(0, text.find('='));
  if (name.starts_with("--")) return name.size() > 2 && std::any_of(std::begin(longer), std::end(longer), [&](std::string_view o) { return o.starts_with(name); });
  return std::any_of(std::begin(shorter), std::end(shorter), [&](std::string_view o) { return name == o; });
}

/// KEY=VALUE, with + or ++ before what a configuration does not have, over `from`. Hydra takes a key out of its configuration for ~KEY
/// (hydra/_internal/config_loader_impl.py _apply_overrides_to_config), and stops at a word that is neither.
/// Errors: job_error for such words, and for a value that the script leaves open, of a key that may decide something.
template <class Matters>
document verl_overrides_of(std::span<const shell_word> words, const std::string& source, document from, const Matters& matters) {
  bool names_option = false;  // the word before: --config-name, whose value this one may be
  for (const auto& w : words) {
    std::string_view text = w.text;
    const bool option = text.starts_with('-'), value_of_option = std::exchange(names_option, option && text.find('=') == std::string_view::npos);
    if (option && w.known() && !value_of_option && !option_of_hydra(text)) fail("headroom: " + source + ":" + std::to_string(w.line) + ": " + in_quotes(text) + " is no KEY=VALUE, nor an option of Hydra's");
    if (text.starts_with('~')) {
      const auto taken = text.substr(1, text.find('=') - 1);
      if (!matters(taken)) continue;
      fail("headroom: " + source + ":" + std::to_string(w.line) + ": " + in_quotes(text) + " takes a key out of the configuration, which is not read by this version: say what the key is to be");
    }
    while (text.starts_with('+')) text.remove_prefix(1);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos && !option && !value_of_option && w.known() && !text.empty()) fail("headroom: " + source + ":" + std::to_string(w.line) + ": " + in_quotes(text) + " is no KEY=VALUE");
    if (option || equals == std::string_view::npos) continue;
    const std::string key{text.substr(0, equals)};
    const shell_word said{std::string{text.substr(equals + 1)}, w.line};
    if (matters(key) && !said.known()) fail("headroom: " + source + ":" + std::to_string(w.line) + ": " + key + " is " + in_quotes(said.shown()) + ", which the file itself does not say: add --env NAME=VALUE");
    auto value = typed(said.shown());
    if (value == "True" || value == "true") value = true;
    if (value == "False" || value == "false") value = false;
    if (value == "null" || value == "None") value = nullptr;
    from.root[key] = value;
    from.lines[key] = w.line;
    from.elsewhere.erase(key);
  }
  return from;
}

/// What a command says of verl's trainer of online methods.
inline document verl_document(std::span<const shell_word> words, const std::string& source, std::span<const document> files, bool detached) {
  document from{.source = source, .root = json_value::object(), .lines = {}};
  say_verl_config(words, files, detached, from);
  return verl_overrides_of(words, source, std::move(from), verl_key_matters);
}

}  // namespace headroom::io::detail
