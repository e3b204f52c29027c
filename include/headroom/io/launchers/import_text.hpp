// Distributed under the Boost Software License, Version 1.0.
// A job's start from a shell script, a command line or NAME=value lines.
#pragma once

#include <headroom/io/launchers/import_launch.hpp>

namespace headroom::io {

/// What the reader of a script is told besides.
struct script_settings {
  shell_values environment{};  ///< NAME and value: --env, .env files
  int line{};                  ///< of the launch that is meant; 0: there is one
  const detail::training_program* program{};  ///< that scripts of unknown names are
};

namespace detail {

/// Refuses a script that starts a program of which the name is known, and nothing else.
inline void refuse_others(const draft& d, const std::vector<shell_command>& all, const std::vector<const shell_command*>& starts, std::string_view text, const std::string& source) {
  const auto check = [&](const shell_command& c) {
    if (const auto* other = other_program_of(c.words, d.ignores)) refuse_other_program(*other, source + ":" + std::to_string(c.words[0].line));
  };
  for (const auto* c : starts) check(*c);
  if (!starts.empty()) return;
  for (const auto& c : all)
    if (!c.words.empty()) check(c);
  if (const auto* other = other_program_in(text)) refuse_other_program(*other, source);
}

}  // namespace detail

/// Adds what a shell script, a command line or NAME=value lines say.
inline void import_text(draft& d, std::string_view text, const std::string& source, const script_settings& with = {}) {
  const auto script = read_shell(text, source, with.environment);
  detail::launch launch{d, source, with.program};
  launch.directives(script.directives);
  std::vector<const shell_command*> starts;
  for (const auto& c : script.commands)
    if (launch.starts(c)) starts.push_back(&c);
  if (with.line > 0) std::erase_if(starts, [&](const shell_command* c) { return c->words[0].line != with.line; });
  if (with.line > 0 && starts.empty()) fail("headroom: " + source + ": no training starts in line " + std::to_string(with.line));
  if (starts.size() > 1) {
    std::string lines;
    for (const auto* c : std::span{starts}.first(std::min<std::size_t>(starts.size(), 8))) lines += (lines.empty() ? "" : ", ") + std::to_string(c->words[0].line);
    fail("headroom: " + source + ":" + std::to_string(starts[0]->words[0].line) + ": " + std::to_string(starts.size()) + " trainings start in this file (lines " + lines + (starts.size() > 8 ? ", …" : "") +
         "): say which with --line N");
  }
  if (with.program == nullptr && !d.has_read(file_kind::job)) detail::refuse_others(d, script.commands, starts, text, source);
  bool set = false;
  for (const auto& w : script.settings) {
    set = detail::import_setting(d, w, source) || set;
    set = detail::import_count(d, w, source) || set;
  }
  if (starts.empty()) {
    if (script.commands.empty() && set) return;  // NAME=value lines
    fail("headroom: " + source + " starts no training that is known here" + detail::likely_program(script.commands));
  }
  launch.read(*starts[0]);
  if (script.branches) d.notes.push_back(source + ": if, for and case are read as if every line ran");
}

}  // namespace headroom::io
