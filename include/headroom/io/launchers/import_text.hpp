// Distributed under the Boost Software License, Version 1.0.
// A job's start from a shell script, a command line or NAME=value lines.
#pragma once

#include <headroom/io/launchers/import_launch.hpp>
#include <headroom/io/launchers/installed_releases.hpp>

namespace headroom::io {

/// What the reader of a script is told besides.
struct script_settings {
  shell_values environment{};  ///< NAME and value: --env, .env files
  int line{};                  ///< of the launch that is meant; 0: there is one
  const detail::training_program* program{};  ///< that scripts of unknown names are
  std::string path{};  ///< of the script: its folder may say what it is
};

namespace detail {

/// Refuses a script that starts a program of which the name is known, and nothing else.
inline void refuse_others(const draft& d, const std::vector<shell_command>& all, const std::vector<const shell_command*>& starts, std::string_view text, const std::string& source) {
  const auto check = [&](const shell_command& c) {
    const auto ours = [](const shell_word& w) { return is_verl(w.text) || w.text.ends_with("verl/trainer/main_ppo.py") || w.text.ends_with(verl_detached_script) || w.text.ends_with(verl_tuning_script) || !path_end(w.text, "openrlhf/cli/train_sft.py|openrlhf/cli/train_rm.py|openrlhf/cli/train_dpo.py|openrlhf/cli/train_ppo_ray.py").empty() || (is_openrlhf(w.text) && program_of(w.text, {}) != nullptr); };
    if (std::any_of(c.words.begin(), c.words.end(), ours)) return;
    if (std::any_of(c.words.begin(), c.words.end(), [](const shell_word& w) { return !path_end(w.text, pai_scripts).empty() || !path_end(w.text, nemo_scripts).empty() || !path_end(w.text, bridge_scripts).empty(); })) return;
    if (const auto* other = other_program_of(c.words, d.ignores)) refuse_other_program(*other, source + ":" + std::to_string(c.words[0].line));
  };
  for (const auto* c : starts) check(*c);
  if (!starts.empty()) return;
  for (const auto& c : all)
    if (!c.words.empty()) check(c);
  if (const auto* other = other_program_in(text)) refuse_other_program(*other, source);
}
/// Commands behind a launch that are its last arguments alone, as one: the line before each has no backslash, or is a comment, which ends a command. Without
/// words where there are none.
inline shell_command cut_from(const std::vector<shell_command>& all, const std::vector<const shell_command*>& starts, const shell_command*& launch) {
  const auto arguments_alone = [&](std::size_t i) { return i < all.size() && !all[i].words.empty() && all[i].words[0].text.starts_with("--") && all[i].words[0].text.size() > 2; };
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (!arguments_alone(i) || all[i - 1].words.empty()) continue;
    launch = &all[i - 1];
    if (std::none_of(starts.begin(), starts.end(), [&](const auto* c) { return c == launch || c == &all[i]; })) continue;
    auto cut = all[i];
    while (arguments_alone(++i)) cut.words.insert(cut.words.end(), all[i].words.begin(), all[i].words.end());
    return cut;
  }
  return {};
}
/// What a draft's job is, and what is asked for: what follows from arguments, not they themselves.
inline draft said_by(const draft& d) {
  auto r = d;
  r.accelerate.reset();
  r.torchtitan.reset();
  r.trainer.reset();
  return r;
}
/// Errors: job_error where what was cut off a launch would make it another job. `assigned`: the rest may be the shell's own assignment, which the program cannot read.
inline void check_cut(draft& d, launch& reader, const shell_command& c, const shell_command& rest, const std::string& source, bool assigned = false) {
  auto before = d;
  const bool gathers = before.refused.gathers;
  before.refused.gathers = d.refused.gathers = false;  // a key that is not known decides here
  bool same = false;
  auto whole = c;
  whole.words.insert(whole.words.end(), rest.words.begin(), rest.words.end());
  try {
    reader.read(whole);
    const auto meant = said_by(d);
    d = before;
    reader.read(c);
    same = said_by(d) == meant;
  } catch (const headroom::error&) {
    same = assigned;
  }
  d = before;
  d.refused.gathers = gathers;
  if (!same)
    fail("headroom: " + source + ":" + std::to_string(rest.words[0].line) + ": " + in_quotes(rest.words[0].shown()) + " begins a command of its own, and is no argument of the launch in line " + std::to_string(c.words[0].line) +
         ": the line before it ends without a backslash, or is a comment; join them, or take the rest out");
}
/// The same of key=value behind a launch: to the shell a name with dots is a command, and one without them, as no variable of its own has in capitals, an assignment.
inline void check_pairs(draft& d, launch& reader, const shell_script& script, const shell_command& c, const std::string& source) {
  const auto dotted = [](const shell_word& w) {
    const auto key = std::string_view{w.text}.substr(0, w.text.find('='));
    return key.size() < w.text.size() && key.find_first_of(".+") != key.npos && key.find_first_of("/ -$") == key.npos;
  };
  const int last = c.words.back().line;
  std::optional<int> end;
  shell_command rest;
  for (const auto& one : script.commands) {
    if (one.words.empty() || one.words[0].line <= last || end) continue;
    if (dotted(one.words[0]))
      rest.words.insert(rest.words.end(), one.words.begin(), one.words.end());
    else
      end = one.words[0].line;
  }
  if (!rest.words.empty()) check_cut(d, reader, c, rest, source);
  for (const auto& w : script.settings) {
    if (w.line <= last || (end && w.line >= *end) || w.text[0] < 'a' || w.text[0] > 'z') continue;
    rest.words = {w};
    check_cut(d, reader, c, rest, source, true);
  }
}
/// Several trainings that start in one file, of which one is meant. Those of a loop whose values change nothing of the job are one.
[[noreturn]] inline void ask_which(std::span<const shell_command* const> starts, const std::string& source) {
  std::string lines;
  int last = 0;
  for (const auto* c : starts.first(std::min<std::size_t>(starts.size(), 32)))
    if (const auto line = c->words[0].line; line != last) {
      lines += (lines.empty() ? "" : ", ") + std::to_string(line);
      last = line;
    }
  const bool one_line = starts[0]->words[0].line == last, looped = one_line && !starts[0]->loops.empty();
  const auto begin = "headroom: " + source + ":" + std::to_string(starts[0]->words[0].line) + ": " + std::to_string(starts.size()) + " trainings start ";
  if (looped) {
    fail(begin + "here, of a loop, which are not the same job: say which with --env, as in --env " + starts[0]->loops.substr(0, starts[0]->loops.find(' ')));
  }
  if (one_line) fail(begin + "in this one line, and are not the same job: put each in a line of its own, and say which with --line N");
  fail(begin + "in this file (lines " + lines + (starts.size() > 32 ? ", …" : "") + "): say which with --line N");
}
inline void read_same(draft& d, launch& reader, std::span<const shell_command* const> starts, const std::string& source) {
  const bool one_line = std::all_of(starts.begin(), starts.end(), [&](const shell_command* c) { return c->words[0].line == starts[0]->words[0].line && !c->loops.empty(); });
  if (!one_line || starts.size() > 256) ask_which(starts, source);
  const auto before = d;
  reader.read(*starts[0]);
  const auto first = said_by(d);
  for (const auto* c : starts.subspan(1)) {
    d = before;
    reader.read(*c);
    if (said_by(d) != first) ask_which(starts, source);
  }
  d.notes.push_back(source + ":" + std::to_string(starts[0]->words[0].line) + ": " + std::to_string(starts.size()) + " trainings start here, of a loop, and are one job in memory and time");
}

}  // namespace detail

/// Adds what a shell script, a command line or NAME=value lines say.
inline void import_text(draft& d, std::string_view text, const std::string& source, const script_settings& with = {}) {
  if (detail::lists_packages(source)) return detail::import_packages(d, text, source);
  const auto script = read_shell(text, source, with.environment);
  d.script = with.path;
  detail::launch launch{d, source, with.program};
  launch.directives(script.directives);
  std::vector<const shell_command*> starts;
  for (const auto& c : script.commands) {
    if (launch.starts(c)) starts.push_back(&c);
    if (const auto* turns = detail::turns_of_server(c)) d.server_turns = draft::said{turns->text, source + ":" + std::to_string(turns->line)};
  }
  if (with.line > 0) std::erase_if(starts, [&](const shell_command* c) { return c->words[0].line != with.line; });
  if (with.line > 0 && starts.empty()) fail("headroom: " + source + ": no training starts in line " + std::to_string(with.line));
  if (with.program == nullptr && !d.has_read(file_kind::job)) detail::refuse_others(d, script.commands, starts, text, source);
  bool set = false;
  for (const auto& w : script.settings) {
    set = detail::import_setting(d, w, source) || set;
    if (const auto backend = w.text.starts_with("PYTHONPATH=") ? detail::pai_backend(w.text) : std::string{}; !backend.empty()) d.megatron_backend = draft::said{backend, source + ":" + std::to_string(w.line)};
    set = detail::import_count(d, w, source) || set;
  }
  if (starts.empty()) {
    if (script.commands.empty() && (set || source.ends_with(".env"))) return;  // NAME=value lines
    fail("headroom: " + source + " starts no training that is known here" + detail::likely_program(script.commands));
  }
  detail::say_installed(d, script, starts.front(), source);
  const shell_command* cut = nullptr;
  const auto rest = detail::cut_from(script.commands, starts, cut);
  const auto with_it = [&](const shell_command* c) { return c->words[0].line == cut->words[0].line || c->words[0].line == rest.words[0].line; };  // of several launches the line is asked for first
  if (!rest.words.empty() && std::all_of(starts.begin(), starts.end(), with_it)) detail::check_cut(d, launch, *cut, rest, source);
  if (rest.words.empty() && starts.size() == 1) detail::check_pairs(d, launch, script, *starts[0], source);
  if (starts.size() == 1)
    launch.read(*starts[0]);
  else
    detail::read_same(d, launch, starts, source);
  if (!script.unset.empty()) {
    std::string names;
    for (const auto& n : script.unset) names += (names.empty() ? "" : ", ") + n;
    d.notes.push_back(source + ": nothing sets " + names + ", which it asks for: they are read as if empty (--env NAME=VALUE)");
  }
}

}  // namespace headroom::io
