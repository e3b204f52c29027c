// Distributed under the Boost Software License, Version 1.0.
// A place in a shell script, the variables set so far, and what stands there for a `$`.
#pragma once

#include <headroom/io/syntax/shell_arithmetic.hpp>
#include <headroom/io/syntax/shell_script.hpp>

namespace headroom::io {

namespace detail {

struct shell_cursor {
  std::string_view text;
  std::string source;
  shell_state* state{};
  std::size_t at{};
  int line{1};

  [[noreturn]] void stop(const std::string& what) const { fail("headroom: " + source + ":" + std::to_string(line) + ": " + what); }
  void spend(std::size_t steps) const { state->spend(steps, line); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  static std::vector<shell_word> open(std::string_view what, int line) { return {{open_from + std::string{what.substr(0, 60)} + open_to, line}}; }

  /// What is open already, up to its end; moves behind it.
  std::string_view opened() {
    const auto from = at;
    skip_to(std::min(text.find(open_to, at), text.size() - 1) + 1);
    return text.substr(from, at - from);
  }
  /// What stands at a `$` or a backquote; moves behind it. `quoted`: between double quotes.
  shell_variable expansion(int depth, bool quoted = false) {
    const auto from = at;
    if (depth > deepest_calls) stop("variables are nested deeper than " + std::to_string(deepest_calls) + " levels");
    if (peek() == '`') {
      const auto end = text.find('`', at + 1);
      if (end == std::string_view::npos) stop("a ` is not closed");
      const auto inside = text.substr(at + 1, end - at - 1), said = inside.substr(std::min(inside.find_first_not_of(" \t"), inside.size()));
      skip_to(end + 1);
      if (said.starts_with('#') && said.find('\n') == std::string_view::npos) return {};  // a comment, and nothing else
      return {open(text.substr(from, end + 1 - from), line)};
    }
    ++at;
    if (peek() == '(' && peek(1) == '(') {
      const auto end = closing('(', ')');
      const auto inside = text.substr(at + 2, end >= at + 3 ? end - at - 3 : 0);
      skip_to(end + 1);
      if (const auto n = arithmetic(inside)) return {{{std::to_string(*n), line}}};
      open_what_changes(inside);
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
      return braced(inside, depth, quoted);
    }
    std::size_t n = 0;
    while (shell_name_char(peek(n))) ++n;
    if (n > 1 && peek() >= '0' && peek() <= '9') n = 1;  // $10 is ${1}0
    if (n == 0) {
      if (const auto own = state->variables.find(text.substr(at, 1)); own != state->variables.end() && (peek() == '@' || peek() == '*' || peek() == '#')) {
        const bool one = peek() == '*';
        ++at;
        spend(own->second.cost());
        return one ? joined(own->second) : own->second;
      }
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
  /// "${NAME[*]}" and "$*" are one word.
  [[nodiscard]] shell_variable joined(const shell_variable& list) const {
    shell_word one{"", list.items.empty() ? line : list.items[0].line};
    for (std::size_t i = 0; i < list.items.size(); ++i) one.text += (i > 0 ? " " : "") + list.items[i].text;
    return {{one}, false, false};
  }
  shell_variable value_of(std::string_view name) const {
    if (const auto here = state->defaults.find(name); here != state->defaults.end()) return here->second;
    const auto it = state->variables.find(name);
    if (it == state->variables.end() && state->not_taken.contains(name) && !state->sourced) {  // as the shell does where nobody has set it
      state->emptied.emplace(name);
      return {};
    }
    const bool argument = name.find_first_not_of("0123456789") == std::string_view::npos && state->variables.contains("@");
    if (it == state->variables.end() && argument) return {};  // behind the last one
    if (it == state->variables.end()) return {open("$" + std::string{name}, line)};
    if (it->second.items.empty()) return {};
    spend(it->second.items[0].text.size());
    return {{it->second.items[0]}};  // "$NAME" of an array is its first
  }
  /// ${…}
  shell_variable braced(std::string_view inside, int depth, bool quoted) {
    const bool counts = inside.size() > 1 && inside[0] == '#';
    std::size_t n = counts;
    while (n < inside.size() && shell_name_char(inside[n])) ++n;
    const auto name = inside.substr(counts, n - counts), rest = inside.substr(n);
    const auto it = state->variables.find(name);
    const bool known = it != state->variables.end();
    const auto as_it_stands = [&] { return shell_variable{open("${" + std::string{inside} + "}", line)}; };
    const bool all = rest == "[@]" || rest == "[*]";
    if (counts && known) spend(it->second.items.size());
    if (name.empty() || (counts && (!known || !it->second.known()))) return as_it_stands();
    if (counts && all) return {{{std::to_string(it->second.items.size()), line}}};
    if (counts && rest.empty() && it->second.items.empty()) return {{{"0", line}}};
    if (counts) return rest.empty() && it->second.items.size() == 1 ? shell_variable{{{std::to_string(it->second.items[0].text.size()), line}}} : as_it_stands();
    if (rest.empty()) return value_of(name);
    if (all && known) {
      spend(it->second.cost());
      return rest == "[*]" ? joined(it->second) : shell_variable{it->second.items, true};
    }
    if (rest.front() == '[' && rest.back() == ']' && known) {
      const auto which = rest.substr(1, rest.size() - 2);
      const auto index = arithmetic(which);
      if (index && *index >= 0 && static_cast<std::size_t>(*index) < it->second.items.size()) {
        const auto& item = it->second.items[static_cast<std::size_t>(*index)];
        spend(item.text.size());
        return {{item}};
      }
      if (!index) open_what_changes(which);
    }
    // A value of the environment would win, but a script that is read here has those that it is given, and no others.
    const bool colon = rest.size() > 1 && rest[0] == ':';
    const char sign = rest[colon];
    const bool there = known && !it->second.items.empty() && !(colon && it->second.items[0].text.empty());
    if (sign != '-' && sign != '=' && sign != '+') return sign == '?' && there ? value_of(name) : as_it_stands();
    if (sign == '+' && !there) return {};
    if (sign != '+' && there) return value_of(name);
    const auto v = inner_word(rest.substr(colon + 1U), depth, quoted);
    if (sign == '=') state->defaults[std::string{name}] = {v ? v->items : as_it_stands().items};
    return v ? *v : as_it_stands();
  }
  /// Where a part of a word ends, at one of `ends`: what stands in $(…), ${…} and backquotes has quotes of its own.
  [[nodiscard]] std::size_t part_end(std::string_view inside, std::size_t from, std::string_view ends) const {
    shell_cursor p{.text = inside, .source = source, .state = state, .line = line};
    for (p.at = from; p.at < inside.size() && ends.find(inside[p.at]) == std::string_view::npos; ++p.at) {
      const char next = p.peek(1);
      if (inside[p.at] == '`') p.at = std::min(inside.find('`', p.at + 1), inside.size() - 1);
      if (inside[p.at] != '$' || (next != '(' && next != '{')) continue;
      ++p.at;
      p.at = p.closing(next, next == '(' ? ')' : '}');
    }
    return p.at;
  }
  /// WORD of ${NAME:-WORD}. Nothing where it is divided into words but for parts of it that stand in quotes.
  [[nodiscard]] std::optional<shell_variable> inner_word(std::string_view inside, int depth, bool quoted) const {
    const auto part = [&](std::string_view of) { return shell_cursor{.text = of, .source = source, .state = state, .line = line}; };
    const auto items = [&](std::string_view of, bool array) -> std::optional<shell_variable> {  // "${NAME[@]}": its words
      auto p = part(of);
      if (!of.starts_with('$') || of.size() < 2) return std::nullopt;
      const auto v = p.expansion(depth + 1, true);
      return v.array && p.at == of.size() ? std::optional{shell_variable{v.items, array && !v.items.empty(), !array}} : std::nullopt;
    };
    const bool in_quotes = inside.size() > 1 && inside.front() == '"' && part_end(inside, 1, "\"") == inside.size() - 1;
    if (quoted || in_quotes)
      if (const auto v = items(in_quotes ? inside.substr(1, inside.size() - 2) : inside, quoted)) return v;
    if (quoted || inside.find_first_of("'\"\\") == std::string_view::npos) return shell_variable{{{part(inside).one_word(depth + 1, reads::quoted), line}}};
    std::string all;
    for (std::size_t at_part = 0; at_part < inside.size();) {
      const char c = inside[at_part];
      const bool quotes = c == '"' || c == '\'';
      const auto end = c == '\'' ? std::min(inside.find(c, at_part + 1), inside.size()) : quotes ? part_end(inside, at_part + 1, "\"") : part_end(inside, at_part, "'\"\\");
      if ((quotes && end == inside.size()) || c == '\\') return std::nullopt;
      const auto said = inside.substr(at_part + quotes, end - at_part - quotes);
      if (c == '"' && said.find('\\') != std::string_view::npos) return std::nullopt;
      const bool whole = quotes && at_part == 0 && end + 1 == inside.size();
      const auto word = c == '\'' ? std::string{said} : part(said).one_word(depth + 1, reads::quoted);
      if (whole) return shell_variable{{{word, line}}, false, true};
      if (quotes && (word.empty() || std::any_of(word.begin(), word.end(), shell_blank))) return std::nullopt;
      all += word;
      at_part = end + quotes;
    }
    return shell_variable{{{all, line}}};
  }
  /// How a text is read: as between double quotes, which are taken away, or with its quotes, as between << and its end.
  enum class reads : std::uint8_t { quoted, verbatim };
  /// The text as one word.
  std::string one_word(int depth, reads as) {
    std::string word;
    while (at < text.size()) {
      const bool escapes = text[at] == '\\' && (peek(1) == '$' || peek(1) == '`' || peek(1) == '\\' || (as == reads::quoted && peek(1) == '"'));
      if (escapes) {
        word += peek(1);
        at += 2;
      } else if (text[at] == '$' || text[at] == '`') {
        const auto v = expansion(depth, true);
        for (std::size_t i = 0; i < v.items.size(); ++i) word += (i > 0 ? " " : "") + v.items[i].text;
      } else if (text[at] == open_from) {
        word += opened();
      } else {
        if (as == reads::verbatim || text[at] != '"') word += text[at];
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
  /// The lines up to one that is `end`, blanks aside; moves behind it.
  std::string_view lines_until(std::string_view end) {
    const auto from = at;
    auto until = text.size();
    while (at < text.size()) {
      const auto last = std::min(text.find('\n', at), text.size());
      auto one = text.substr(at, last - at);
      while (!one.empty() && shell_blank(one.front())) one.remove_prefix(1);
      while (!one.empty() && one.back() == '\r') one.remove_suffix(1);
      if (one == end) until = at;
      skip_to(last + 1);
      if (one == end) break;
    }
    return from < until ? text.substr(from, until - from) : std::string_view{};
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
  /// Names that a sum changes which is not worked out: open from here on, where the command runs.
  void open_what_changes(std::string_view sum) const {
    for (const auto& name : shell_changed_names(sum)) state->defaults[name] = {open("$" + name, line)};
  }
  /// $((…)), where the script says its names.
  [[nodiscard]] std::optional<std::int64_t> arithmetic(std::string_view sum) const {
    return shell_sum{sum, [this](std::string_view name) -> const std::string* {
                       if (const auto here = state->defaults.find(name); here != state->defaults.end()) return here->second.items.size() == 1 ? &here->second.items[0].text : nullptr;
                       const auto it = state->variables.find(name);
                       if (it == state->variables.end() || it->second.items.size() != 1) return nullptr;
                       spend(it->second.items[0].text.size());
                       return &it->second.items[0].text;
                     }}.value();
  }
};

}  // namespace detail

}  // namespace headroom::io
