// Distributed under the Boost Software License, Version 1.0.
// TOML, with the lines of its keys. Needs toml++.
#pragma once

#include <headroom/io/syntax/document.hpp>

// What toml++ 3.3 asserts, hostile text can break ("[|x]"); it goes on to refuse that text.
#ifndef TOML_ASSERT
#define TOML_ASSERT(expr) static_cast<void>(0)
#endif
#include <toml++/toml.h>

#include <sstream>

namespace headroom::io {

namespace detail {

inline json_value toml_value(const toml::node& node, const std::string& path, document& d, int depth) {
  check_depth(static_cast<std::size_t>(depth), d.source);
  d.spend(path.size());
  if (const auto* table = node.as_table()) {
    auto object = json_value::object();
    for (const auto& [key, inner] : *table) {
      check_key(key.str(), d.source);
      const auto at = joined(path, key.str());
      d.keep_line(at, static_cast<int>(inner.source().begin.line));
      object[std::string{key.str()}] = toml_value(inner, at, d, depth + 1);
    }
    return object;
  }
  if (const auto* array = node.as_array()) {
    auto list = json_value::array();
    for (const auto& inner : *array) list.push_back(toml_value(inner, joined(path, list.size()), d, depth + 1));
    return list;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* real = node.as_floating_point()) return std::isfinite(real->get()) ? json_value(real->get()) : json_value("nan");
  if (const auto* flag = node.as_boolean()) return flag->get();
  return "a date";
}

/// Throws job_error for a.a.a.… of more parts than tables may be nested: toml++ takes them apart by a call in a call.
inline void check_dotted(std::string_view text, const std::string& source) {
  int dots = 0, line = 1;
  bool part = false;  // what stands before is part of a key
  char quote = 0;
  for (const char c : text) {
    line += c == '\n';
    if (quote != 0) {
      if (c == quote || c == '\n') quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
      part = true;
    } else if (c == '.' && part) {
      if (++dots > deepest_nesting) fail("headroom: " + source + ":" + std::to_string(line) + ": a key has more than " + std::to_string(deepest_nesting) + " parts");
      part = false;
    } else if (c == ' ' || c == '\t') {
      continue;
    } else {
      part = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
      if (!part) dots = 0;
    }
  }
}

}  // namespace detail

inline document parse_toml(std::string_view text, const std::string& source) {
  detail::check_size(text, source, largest_text);
  check_utf8(text, source);
  detail::check_dotted(text, source);
  document d{.source = source, .root = nullptr, .lines = {}};
  std::string sentence;
  try {
    const auto table = toml::parse(text);
    d.root = detail::toml_value(table, "", d, 0);
  } catch (const toml::parse_error& e) {
    sentence = "headroom: " + source + ":" + std::to_string(e.source().begin.line) + ": not valid TOML: " + detail::cause_of(e.description());
  }
  if (!sentence.empty()) fail(sentence);
  return d;
}

}  // namespace headroom::io
