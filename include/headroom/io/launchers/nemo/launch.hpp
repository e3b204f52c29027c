// Distributed under the Boost Software License, Version 1.0.
// NeMo-RL's commands: python examples/run_grpo.py --config FILE KEY=VALUE … (NVIDIA-NeMo/RL 7ea279ab of 2026-08-22 examples/run_*.py,
// nemo_rl/utils/config.py parse_hydra_overrides). What they say goes over what the files say together.
#pragma once

#include <headroom/io/launchers/nemo/import.hpp>
#include <headroom/io/syntax/spelling.hpp>

namespace headroom::io::detail {

inline constexpr std::string_view nemo_scripts = "examples/run_grpo.py|examples/run_grpo_math.py|examples/run_dpo.py|examples/run_sft.py|examples/run_rm.py|examples/run_grpo_single_controller.py|run_grpo_math.py";

/// The file that each has where its command names none.
constexpr std::string_view nemo_default(std::string_view script) {
  for (const auto& [end, file] : {std::pair<std::string_view, std::string_view>{"run_dpo.py", "dpo.yaml"}, {"run_sft.py", "sft.yaml"}, {"run_rm.py", "rm.yaml"}, {"single_controller.py", "grpo_math_1B_megatron_single_controller.yaml"}})
    if (script.ends_with(end)) return file;
  return "grpo_math_1B.yaml";
}

/// --config FILE, and KEY=VALUE with + or ++ before what the files do not have, or ~KEY for what is taken out.
/// Errors: job_error for words that are neither, and for values that the script leaves open.
inline void nemo_launch(draft& d, std::span<const shell_word> words, std::string_view script, const std::string& source) {
  const auto at = [&](int line) { return source + ":" + std::to_string(line); };
  const auto begin = words.empty() ? 1 : words[0].line;
  document over{.source = source, .root = json_value::array(), .lines = {}};  // in the order in which they are applied
  const auto say = [&](const std::string& key, json_value value, int line) {
    check_parts(key, at(line));
    over.root.push_back(json_value::array({key, std::move(value)}));
    over.lines[key] = line;
  };
  std::string file;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& w = words[i];
    std::string_view text = w.text;
    const auto equals = text.find('=');
    if (text.starts_with("--config=")) file = w.shown().substr(9);
    else if (text == "--config" && i + 1 < words.size()) file = words[++i].shown();
    else if (text.starts_with('~')) say(std::string{text.substr(0, text.find('='))}, nullptr, w.line);
    else if (text.starts_with('-') || equals == std::string_view::npos || equals == text.find_first_not_of('+')) fail("headroom: " + at(w.line) + ": " + in_quotes(w.shown()) + " is no KEY=VALUE of NeMo-RL's");
    else {
      while (text.starts_with('+')) text.remove_prefix(1);
      const std::string key{text.substr(0, text.find('='))};
      const shell_word value{std::string{text.substr(text.find('=') + 1)}, w.line};
      if (!value.known() && !key.starts_with("logger.") && !key.starts_with("checkpointing.")) fail("headroom: " + at(w.line) + ": " + key + " is " + in_quotes(value.shown()) + ", which the file itself does not say: add --env NAME=VALUE");
      if (value.text.starts_with('{') && !among_words("logger|checkpointing|data", key.substr(0, key.find('.')))) fail("headroom: " + at(w.line) + ": " + key + " = " + in_quotes(value.shown()) + " is a section on a command line: give its keys one by one, as " + key + ".KEY=VALUE");
      say(key, yaml_word(value.shown()), w.line);
    }
  }
  if (file.empty()) file = nemo_default(script);
  d.named.push_back({file_kind::nemo_rl, file, at(begin)});
  d.nemo_command = over;
}

}  // namespace headroom::io::detail
