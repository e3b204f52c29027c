// Distributed under the Boost Software License, Version 1.0.
// A command line's arguments by name: --name value…, --name=value, --flag.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/syntax/shell.hpp>

#include <span>

namespace headroom::io {

struct argument {
  std::string name;  ///< without dashes in front
  std::vector<shell_word> values;
  int line{};
  [[nodiscard]] bool known() const {
    return std::all_of(values.begin(), values.end(), [](const shell_word& w) { return w.known(); });
  }
};

/// What is no argument and belongs to none stands in `others`. `-1` is a value, not a name.
inline std::vector<argument> arguments_of(std::span<const shell_word> words, std::vector<shell_word>* others = nullptr) {
  std::vector<argument> all;
  for (const auto& w : words) {
    const bool dashed = w.text.size() > 1 && w.text[0] == '-' && (w.text[1] < '0' || w.text[1] > '9') && w.text[1] != '.';
    if (!dashed) {
      if (!all.empty())
        all.back().values.push_back(w);
      else if (others != nullptr)
        others->push_back(w);
      continue;
    }
    const auto from = w.text.find_first_not_of('-');
    if (from == std::string::npos) continue;
    const auto equals = w.text.find('=');
    argument a{w.text.substr(from, equals == std::string::npos ? equals : equals - from), {}, w.line};
    if (equals != std::string::npos) a.values.push_back({w.text.substr(equals + 1), w.line});
    all.push_back(std::move(a));
  }
  return all;
}

/// A word as JSON has it: a number where it is one, else a string.
inline json_value typed(const std::string& word) {
  const auto first = word.find_first_not_of('-');
  if (first == std::string::npos || first > 1 || word.find_first_not_of("-+.0123456789eE") != std::string::npos) return word;
  auto n = json_value::parse(word, nullptr, false);
  if (n.is_discarded() && word.starts_with('.')) n = json_value::parse("0" + word, nullptr, false);
  if (n.is_discarded() && word.ends_with('.')) n = json_value::parse(word + "0", nullptr, false);
  return n.is_number() ? n : json_value(word);
}

/// An argument's value: true for a flag, several words joined with blanks.
inline json_value value_of(const argument& a) {
  if (a.values.empty()) return true;
  if (a.values.size() == 1) return typed(a.values[0].shown());
  std::string all;
  for (const auto& v : a.values) all += (all.empty() ? "" : " ") + v.shown();
  return all;
}

/// Throws job_error where the script leaves a value to a command or to the environment.
inline void check_known(const argument& a, const std::string& source) {
  for (const auto& v : a.values)
    if (!v.known())
      fail("headroom: " + source + ":" + std::to_string(a.line) + ": --" + a.name + " is " + in_quotes(v.shown()) + ", which the file itself does not say: add --env NAME=VALUE for what it leaves to its environment");
}

/// Arguments as an object with the lines of its keys, for the readers of files.
inline document document_of(std::span<const argument> all, const std::string& source) {
  document d{.source = source, .root = json_value::object(), .lines = {}};
  for (const auto& a : all) {
    d.root[a.name] = value_of(a);
    d.lines[a.name] = a.line;
  }
  return d;
}

}  // namespace headroom::io
