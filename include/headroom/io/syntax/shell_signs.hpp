// Distributed under the Boost Software License, Version 1.0.
// What a word of a shell script is by its signs: NAME=value, <PLACE TO FILL IN>, {a,b}.
#pragma once

#include <headroom/io/syntax/shell_arithmetic.hpp>
#include <headroom/io/syntax/shell_script.hpp>

namespace headroom::io::detail {

/// Length of a NAME in NAME=value or NAME+=value; 0 for any other word.
inline std::size_t shell_assigned(std::string_view word) {
  std::size_t n = 0;
  while (n < word.size() && shell_name_char(word[n])) ++n;
  if (n == 0 || (word[0] >= '0' && word[0] <= '9')) return 0;
  return n < word.size() && (word[n] == '=' || word.substr(n, 2) == "+=") ? n : 0;
}

/// Commands whose words are assignments, as a line's own are.
inline bool shell_declares(std::string_view command) { return command == "export" || command == "declare" || command == "local" || command == "readonly" || command == "typeset"; }

/// Length of a place that people are to fill in, <PATH TO FILE>; 0: what stands there redirects.
inline std::size_t shell_placeholder(std::string_view text) {
  if (text.size() < 3 || !shell_name_char(text[1]) || (text[1] >= '0' && text[1] <= '9')) return 0;
  const auto end = text.find_first_of("<>|&;\n\"'$`(){}", 1);
  if (end == std::string_view::npos || text[end] != '>') return 0;
  const auto last = text[end - 1], before = text[end - 2];
  if (shell_blank(last) || (last >= '0' && last <= '9' && shell_blank(before))) return 0;  // <FILE > OTHER, <FILE 2> OTHER
  return end + 1 >= text.size() || shell_blank(text[end + 1]) ? end + 1 : 0;
}

/// {a,b} and {1..8}, of which the shell makes several words, and which stay open.
class shell_braces {
 public:
  /// The length of those that begin at a brace; 0: no such thing.
  [[nodiscard]] std::size_t length_at(std::string_view text, std::size_t at) {
    if (at < none_before_) return 0;
    const auto end = std::min(text.find_first_of(" \t\n;'\"`}", at + 1), text.size());
    const auto inside = text.substr(at + 1, end - at - 1);
    if (end < text.size() && text[end] == '}' && (inside.find(',') != std::string_view::npos || inside.find("..") != std::string_view::npos)) return end + 1 - at;
    none_before_ = end;
    return 0;
  }

 private:
  std::size_t none_before_ = 0;  ///< what does not end here ends nowhere within
};

}  // namespace headroom::io::detail
