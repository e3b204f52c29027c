// Distributed under the Boost Software License, Version 1.0.
// A place in a shell script, the variables set so far, and what stands there for a `$`.
#pragma once

#include <headroom/io/syntax/document.hpp>
#include <headroom/io/syntax/shell_arithmetic.hpp>

#include <map>

namespace headroom::io {

/// What the script does not say stands between the first two ("$NAME"); the third is where a string's line goes on.
inline constexpr char open_from = '\x01', open_to = '\x02', line_goes_on = '\x03';

struct shell_word {
  std::string text;
  int line{};
  [[nodiscard]] bool known() const { return text.find(open_from) == std::string::npos; }
  /// For people: what is open as it stands in the script.
  [[nodiscard]] std::string shown() const {
    std::string r;
    for (const char c : text)
      if (c != open_from && c != open_to && c != line_goes_on) r += c;
    return r;
  }
};

struct shell_command {
  std::vector<shell_word> settings;  ///< NAME=value before it
  std::vector<shell_word> words;
};

struct shell_script {
  std::vector<shell_command> commands;
  std::vector<shell_word> settings;    ///< NAME=value of its own lines, the last of each name
  std::vector<shell_word> directives;  ///< #SBATCH lines
  bool branches{};                     ///< has if, for, case or while: read as if every line ran
};

/// Values of the environment that a script is read in, by name; "1" and so on are its own arguments.
using shell_values = std::vector<std::pair<std::string, std::string>>;

namespace detail {

inline bool shell_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == line_goes_on; }

struct shell_variable {
  std::vector<shell_word> items;
  bool array{};
};
using shell_variables = std::map<std::string, shell_variable, std::less<>>;

struct shell_cursor {
  static constexpr int deepest = 16;

  std::string_view text;
  std::string source;
  std::size_t at{};
  int line{1};
  std::size_t spent{};
  shell_variables variables{};

  [[noreturn]] void stop(const std::string& what) const { fail("headroom: " + source + ":" + std::to_string(line) + ": " + what); }
  void spend(std::size_t n) {
    spent += n;
    if (spent > (std::size_t{4} << 20)) stop("the script's variables expand to more than 4 MiB");
  }
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  static std::vector<shell_word> open(std::string_view what, int line) { return {{open_from + std::string{what.substr(0, 60)} + open_to, line}}; }

  /// What stands at a `$` or a backquote; moves behind it.
  shell_variable expansion(int depth) {
    const auto from = at;
    if (depth > deepest) stop("variables are nested deeper than 16 levels");
    if (peek() == '`') {
      const auto end = text.find('`', at + 1);
      if (end == std::string_view::npos) stop("a ` is not closed");
      skip_to(end + 1);
      return {open(text.substr(from, end + 1 - from), line)};
    }
    ++at;
    if (peek() == '(' && peek(1) == '(') {
      const auto end = closing('(', ')');
      const auto inside = text.substr(at + 2, end >= at + 3 ? end - at - 3 : 0);
      skip_to(end + 1);
      if (const auto n = arithmetic(inside)) return {{{std::to_string(*n), line}}};
      return {open(text.substr(from, at - from), line)};
    }
    if (peek() == '(') {
      const auto end = closing('(', ')');
      const auto sum = sum_of_expr(text.substr(at + 1, end - at - 1));
      skip_to(end + 1);
      if (const auto n = arithmetic(sum)) return {{{std::to_string(*n), line}}};
      return {open(text.substr(from, at - from), line)};
    }
    if (peek() == '{') {
      const auto end = closing('{', '}');
      const auto inside = text.substr(at + 1, end - at - 1);
      skip_to(end + 1);
      return braced(inside, depth);
    }
    std::size_t n = 0;
    while (shell_name_char(peek(n))) ++n;
    if (n == 0) {
      if (peek() == '@' || peek() == '*' || peek() == '?' || peek() == '#' || peek() == '!' || peek() == '$') {
        ++at;
        return {open(text.substr(from, 2), line)};
      }
      return {{{"$", line}}};
    }
    const auto name = std::string{text.substr(at, n)};
    at += n;
    return value_of(name);
  }
  shell_variable value_of(const std::string& name) const {
    const auto it = variables.find(name);
    if (it == variables.end()) return {open("$" + name, line)};
    shell_variable v = it->second;
    if (v.array) {  // "$NAME" of an array is its first
      v.items.resize(std::min<std::size_t>(v.items.size(), 1));
      v.array = false;
    }
    return v;
  }
  shell_variable braced(std::string_view inside, int depth) {
    std::size_t n = 0;
    while (n < inside.size() && shell_name_char(inside[n])) ++n;
    const auto name = std::string{inside.substr(0, n)};
    const auto rest = inside.substr(n);
    const auto it = variables.find(name);
    if (!name.empty() && rest.empty()) return value_of(name);
    if (!name.empty() && (rest == "[@]" || rest == "[*]")) return it != variables.end() ? it->second : shell_variable{open("${" + std::string{inside} + "}", line)};
    const bool colon = rest.starts_with(":-") || rest.starts_with(":=");
    if (!name.empty() && (colon || rest.starts_with("-") || rest.starts_with("="))) {
      // A value of the environment would win, but a script that is read here has none.
      if (it != variables.end() && !(colon && it->second.items.empty())) return value_of(name);
      shell_cursor inner{.text = rest.substr(colon ? 2 : 1), .source = source, .line = line, .variables = variables};
      return {{{inner.one_word(depth + 1), line}}};
    }
    return {open("${" + std::string{inside} + "}", line)};
  }
  /// The text as one word between double quotes would be.
  std::string one_word(int depth) {
    std::string word;
    while (at < text.size()) {
      if (text[at] == '$' || text[at] == '`') {
        const auto v = expansion(depth);
        if (v.items.empty()) continue;
        spend(v.items[0].text.size());
        word += v.items[0].text;
      } else {
        if (text[at] != '"' && text[at] != '\'') word += text[at];
        ++at;
      }
    }
    return word;
  }

  /// Where the bracket that opens here closes.
  [[nodiscard]] std::size_t closing(char opens, char closes) const {
    int depth = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
      if (text[i] == opens) ++depth;
      if (text[i] == closes && --depth == 0) return i;
    }
    stop(std::string{"a $"} + opens + " is not closed");
  }
  void skip_to(std::size_t to) {
    for (; at < to && at < text.size(); ++at) line += text[at] == '\n';
  }

  /// The sum of `expr A / B`, whose stars are kept from the shell by a backslash; empty for any other command.
  [[nodiscard]] static std::string sum_of_expr(std::string_view command) {
    constexpr std::string_view name = "expr ";
    const auto from = command.find_first_not_of(" \t");
    if (from == std::string_view::npos || !command.substr(from).starts_with(name)) return {};
    std::string sum{command.substr(from + name.size())};
    std::erase(sum, '\\');
    return sum;
  }
  /// $((…)), where the script says its names.
  [[nodiscard]] std::optional<std::int64_t> arithmetic(std::string_view sum) const {
    return shell_sum{sum, [this](std::string_view name) -> const std::string* {
                       const auto it = variables.find(name);
                       return it == variables.end() || it->second.items.size() != 1 ? nullptr : &it->second.items[0].text;
                     }}.value();
  }
};

}  // namespace detail

}  // namespace headroom::io
