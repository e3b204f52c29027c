// Distributed under the Boost Software License, Version 1.0.
// What people write that is not JSON, and what JSON has instead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace headroom::io::detail {

/// A sentence to end an error with, or nothing. `text` was refused after its byte `read` (from 1), for `cause` in the parser's words.
inline std::string_view json_hint(std::string_view text, std::size_t read, std::string_view cause) {
  constexpr std::string_view blank = " \t\r\n";
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || (text.size() > 3 && (text[0] == '\0') != (text[1] == '\0')))
    return "the file is UTF-16: save it as UTF-8";
  const auto first = text.find_first_not_of(blank);
  if (read == 0 || first == std::string_view::npos) return {};
  const auto at = std::min(read, text.size()) - 1;
  auto from = at;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  while (from > 0 && letter(text[from]) && letter(text[from - 1])) --from;
  const auto rest = text.substr(from);
  const auto begins = [&](auto... words) { return (rest.starts_with(std::string_view{words}) || ...); };
  if (begins("True", "False", "None")) return "JSON writes true, false and null";
  if (begins("NaN", "nan", "Inf", "inf")) return "JSON has neither NaN nor infinity";
  if (begins("//", "/*", "#") || (at > 0 && text.substr(at - 1).starts_with("/*"))) return "JSON has no comments";
  if (begins("'")) return "JSON's strings have double quotes";
  const auto before = text.substr(0, at).find_last_not_of(blank);
  if (begins("}", "]") && before != std::string_view::npos && text[before] == ',') return "there is no comma before a closing bracket";
  // Typographic quotes: U+201C, U+201D, U+2018, U+2019; the parser stops at their first byte or later.
  for (const auto start : {at, at > 0 ? at - 1 : at, at > 1 ? at - 2 : at})
    if (const auto c = text.substr(start, 3); c == "\xe2\x80\x9c" || c == "\xe2\x80\x9d" || c == "\xe2\x80\x98" || c == "\xe2\x80\x99") return "a plain \" is needed, not a typographic quote";
  if (cause.find("ill-formed UTF-8") != std::string_view::npos) return "save the file as UTF-8";
  if (cause.find("number literal; expected string") != std::string_view::npos) return "a number has no comma in it";
  const auto not_digit = before == std::string_view::npos ? before : text.find_last_not_of("0123456789", at);
  if (not_digit != std::string_view::npos && not_digit + 1 < at && text[not_digit + 1] == '0') return "a number does not begin with 0";
  if (cause.find(" literal; expected '}'") != std::string_view::npos || cause.find(" literal; expected ']'") != std::string_view::npos) return "is a comma missing?";
  if (at == first && text[first] != '{' && text[first] != '[') return "JSON begins with {";
  return {};
}

/// Where `part` stands: "line 3".
inline std::string line_of(std::string_view text, std::string_view part) {
  const auto at = text.find(part);
  return "line " + std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at == std::string_view::npos ? 0 : at), '\n'));
}

}  // namespace headroom::io::detail
