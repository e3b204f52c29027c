// Distributed under the Boost Software License, Version 1.0.
// The releases that a job runs over, where a script installs them before it trains (pip install trl==0.9.6), or a list of packages beside a
// configuration pins them: requirements.txt, setup.py, pyproject.toml. They are environment.PROGRAM of a draft, as --set says them.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/syntax/shell_script.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace headroom::io::detail {

/// Whether a file lists packages, by its name.
inline bool lists_packages(std::string_view name) {
  return name == "setup.py" || name == "pyproject.toml" || ((name.starts_with("requirements") || name.starts_with("constraints")) && name.ends_with(".txt"));
}

/// Says the releases of the programs whose defaults a release decides that `text` pins, NAME[EXTRAS]==X.Y… (PEP 440; ~= of three numbers keeps the
/// first two, too). How many there were. A least or a most release pins nothing, nor does a commit.
inline int say_releases(draft& d, std::string_view text, const std::string& place) {
  constexpr std::string_view programs[] = {"transformers", "trl", "accelerate", "verl", "ms-swift", "openrlhf"};
  const auto within = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/'; };
  int found = 0;
  for (const auto program : programs) {
    for (auto at = text.find(program); at != std::string_view::npos; at = text.find(program, at + 1)) {
      if (at > 0 && within(text[at - 1])) continue;  // sentence-transformers
      auto rest = text.substr(at + program.size());
      if (rest.starts_with("[")) rest.remove_prefix(std::min(rest.size(), rest.find(']') == std::string_view::npos ? rest.size() : rest.find(']') + 1));
      while (rest.starts_with(" ")) rest.remove_prefix(1);
      const bool compatible = rest.starts_with("~=");
      if (!rest.starts_with("==") && !compatible) continue;
      rest.remove_prefix(2);
      while (rest.starts_with(" ") || rest.starts_with("=")) rest.remove_prefix(1);
      const auto release = rest.substr(0, std::min(rest.size(), rest.find_first_not_of("0123456789.")));
      const auto dot = release.find('.');
      if (dot == 0 || dot > 2 || dot + 1 >= release.size() || release[dot + 1] == '.' || (compatible && release.find('.', dot + 1) == std::string_view::npos)) continue;
      const auto number = release.substr(0, std::min(release.size(), release.find('.', dot + 1)));
      if (number.size() - dot > 3) continue;
      d.say({"environment", program}, std::string{number}, place);
      d.notes.push_back(place + ": " + std::string{program} + " " + std::string{number} + " is the release, as it is pinned there");
      ++found;
    }
    const auto home = "github.com/huggingface/" + std::string{program};  // from its source, at whatever commit
    const auto at = text.find(home);
    if (at == std::string_view::npos || text.substr(at + home.size()).starts_with("-") || d.has({"environment", program})) continue;
    const auto what = std::string{program} + " is installed from its source, and which release that is no file says";
    d.notes.push_back(place + ": " + what + ": --set environment." + std::string{program} + "=VERSION");
    d.assumed.push_back(what);
  }
  return found;
}

/// pip install …, uv pip install …, python -m pip install …, git clone ….
inline void say_installed(draft& d, const shell_command& c, const std::string& source) {
  for (std::size_t i = 1; i < c.words.size(); ++i) {
    const auto& before = c.words[i - 1].text;
    const auto name = std::string_view{before}.substr(before.rfind('/') == std::string::npos ? 0 : before.rfind('/') + 1);
    if (!(c.words[i].text == "install" && name.starts_with("pip")) && !(c.words[i].text == "clone" && name == "git")) continue;
    for (const auto& w : std::span{c.words}.subspan(i + 1))
      if (w.known()) say_releases(d, w.text, source + ":" + std::to_string(w.line));
  }
}
/// … before the script's command `first`.
inline void say_installed(draft& d, const shell_script& script, const shell_command* first, const std::string& source) {
  auto next = script.installs.begin();
  for (std::size_t i = 0; i < script.commands.size(); ++i) {
    for (; next != script.installs.end() && next->first <= i; ++next) say_installed(d, next->second, source);
    if (&script.commands[i] == first) return;
    say_installed(d, script.commands[i], source);
  }
}

/// What a text's lines pin, `place` and a line each; `with`: of lines that have this in them.
inline int say_releases_of_lines(draft& d, std::string_view text, const std::string& place, std::string_view with = {}) {
  int found = 0, line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    auto one = text.substr(at, end - at);
    ++line;
    if (one.find(with) != std::string_view::npos) found += say_releases(d, one.substr(0, one.find('#')), with.empty() ? place + ":" + std::to_string(line) : place);
    at = end + 1;
  }
  return found;
}
/// A list of packages that is given beside the files of a job.
inline void import_packages(draft& d, std::string_view text, const std::string& source) {
  if (say_releases_of_lines(d, text, source) == 0) d.notes.push_back(source + ": no release of transformers, trl, accelerate, verl, ms-swift or openrlhf is pinned there");
}

}  // namespace headroom::io::detail
