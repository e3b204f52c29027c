// Distributed under the Boost Software License, Version 1.0.
// What the command line offers, written for shells and for man: completions of bash, zsh and fish, and man pages. Everything comes from CLI11's
// own description of the commands, so that nothing is said twice.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace program {

/// One option as the shells want it.
struct offered_option {
  std::string name;   ///< "--json"
  std::string value;  ///< "FILE"; empty: a flag
  std::string says;
};

inline std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

inline std::vector<offered_option> options_of(const CLI::App& command) {
  std::vector<offered_option> all;
  for (const auto* o : command.get_options())
    if (o->nonpositional()) all.push_back({"--" + o->get_lnames().front(), o->get_items_expected_max() > 0 ? o->get_type_name() : std::string{}, o->get_description()});
  return all;
}

inline std::string joined_words(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& w : words) text += (text.empty() ? "" : " ") + w;
  return text;
}

/// `sign`, wherever it stands, becomes `by`.
inline std::string replaced(std::string text, const std::string& sign, const std::string& by) {
  for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at + by.size())) text.replace(at, sign.size(), by);
  return text;
}

inline std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const auto* c : commands_of(app)) {
    std::vector<std::string> options;
    for (const auto& o : options_of(*c)) options.push_back(o.name);
    names.push_back(c->get_name());
    cases += "    " + c->get_name() + ") words=\"" + joined_words(options) + "\" ;;\n";
  }
  return "# bash completion of headroom\n_headroom() {\n  local word=${COMP_WORDS[COMP_CWORD]} words=\n  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    mapfile -t COMPREPLY < <(compgen -W \"" + joined_words(names) + " --help --version\" -- \"$word\")\n    return\n  fi\n"
         "  case ${COMP_WORDS[1]} in\n" + cases + "  esac\n"
         "  if [[ $word == -* ]]; then\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n  else\n    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n  fi\n}\n"
         "complete -o filenames -F _headroom headroom\n";
}

inline std::string zsh_completion(const CLI::App& app) {
  const auto quoted = [](const std::string& text) { return replaced(replaced(replaced(text, "'", "'\\''"), "[", "\\["), "]", "\\]"); };
  std::string names, cases;
  for (const auto* c : commands_of(app)) {
    names += "    '" + c->get_name() + ":" + replaced(quoted(c->get_description()), ":", "\\:") + "'\n";
    cases += "    " + c->get_name() + ")\n      _arguments";
    for (const auto& o : options_of(*c)) cases += " \\\n        '" + o.name + "[" + replaced(quoted(o.says), ":", "\\:") + "]" + (o.value.empty() ? "" : ":" + o.value + ":_files") + "'";
    cases += " \\\n        '*:file:_files' ;;\n";
  }
  return "#compdef headroom\n# zsh completion of headroom\n_headroom() {\n  local -a commands\n  commands=(\n" + names + "  )\n"
         "  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n  local command=${words[2]}\n  shift words\n  (( CURRENT-- ))\n  case $command in\n" + cases + "  esac\n}\n_headroom \"$@\"\n";
}

inline std::string fish_completion(const CLI::App& app) {
  const auto quoted = [](const std::string& text) { return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'"; };
  std::string text = "# fish completion of headroom\n";
  for (const auto* c : commands_of(app)) {
    text += "complete -c headroom -n __fish_use_subcommand -f -a " + c->get_name() + " -d " + quoted(c->get_description()) + "\n";
    for (const auto& o : options_of(*c))
      text += "complete -c headroom -n '__fish_seen_subcommand_from " + c->get_name() + "' -l " + o.name.substr(2) + (o.value.empty() ? "" : " -r") + " -d " + quoted(o.says) + "\n";
  }
  return text;
}

/// A page for man, in its own macros: of one command, or of the program.
inline std::string man_page(const CLI::App& app, const std::string& name, const std::string& version) {
  const auto plain = [](const std::string& text) { return replaced(replaced(replaced(text, "\\", "\\e"), "-", "\\-"), "\n.", "\n\\&."); };
  const auto section = [](const std::string& title) { return ".SH " + title + "\n"; };
  const auto page = [&](const CLI::App& c, const std::string& title) {
    return ".TH " + title + " 1 \"\" \"headroom " + version + "\" \"User Commands\"\n" + section("NAME") + plain(name.empty() ? "headroom" : "headroom-" + name) + " \\- " + plain(c.get_description()) + "\n";
  };
  if (name.empty()) {
    std::string text = page(app, "HEADROOM") + section("SYNOPSIS") + ".B headroom\n.I COMMAND\n[\\fIOPTION\\fR ...]\n" + section("COMMANDS");
    for (const auto* c : commands_of(app)) text += ".TP\n\\fB" + plain(c->get_name()) + "\\fR\n" + plain(c->get_description()) + "\n";
    return text + section("EXAMPLES AND STATUS") + ".nf\n" + plain(app.get_footer()) + "\n.fi\n";
  }
  const CLI::App* c = nullptr;
  for (const auto* one : commands_of(app))
    if (one->get_name() == name) c = one;
  if (c == nullptr) return {};
  std::string upper = "HEADROOM-" + name;
  for (auto& letter : upper) letter = static_cast<char>(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter);
  std::string text = page(*c, upper) + section("SYNOPSIS") + ".B headroom " + plain(name) + "\n[\\fIOPTION\\fR ...]";
  for (const auto* o : c->get_options())
    if (!o->nonpositional()) text += " \\fI" + plain(o->get_name(true)) + "\\fR";
  text += "\n" + section("OPTIONS");
  for (const auto* o : c->get_options())
    if (!o->nonpositional()) text += ".TP\n\\fI" + plain(o->get_name(true)) + "\\fR\n" + plain(o->get_description()) + "\n";
  for (const auto& o : options_of(*c)) text += ".TP\n\\fB" + plain(o.name) + "\\fR" + (o.value.empty() ? "" : " \\fI" + plain(o.value) + "\\fR") + "\n" + plain(o.says) + "\n";
  return text + section("EXAMPLES AND STATUS") + ".nf\n" + plain(c->get_footer()) + "\n.fi\n";
}

}  // namespace program
