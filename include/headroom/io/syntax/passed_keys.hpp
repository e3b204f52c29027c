// Distributed under the Boost Software License, Version 1.0.
// The rule for the keys of other programs: a key is read, or it is harmless, or it stops the import. What a reader takes is read; the rest is
// listed with each program, from its source.
#pragma once

#include <headroom/io/syntax/json_value.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom::io::detail {

/// A key that no reader takes. `off`: the values, between bars, with which it changes no memory, no time and no shape. "*" is any value,
/// "-" a section that is switched off.
struct passed_key {
  std::string_view name;
  std::string_view off;
};

/// A value as `passed_key::off` writes it: words and numbers as they stand, null and "" as "none", false as "false".
inline std::string off_word(const json_value& v) {
  if (v.is_null() || (v.is_string() && v.get_ref<const std::string&>().empty()) || ((v.is_object() || v.is_array()) && v.empty())) return "none";
  if (v.is_string()) {
    auto word = v.get<std::string>();
    if (word == "False" || word == "FALSE" || word == "no" || word == "No") return "false";
    if (word == "True" || word == "TRUE" || word == "yes" || word == "Yes") return "true";
    if (word == "None" || word == "null") return "none";
    return word;
  }
  if (v.is_number_float() && v.get<double>() == 0.0) return "0";
  if (v.is_number_float() && v.get<double>() == 1.0) return "1";
  return v.dump();
}

/// Whether a section does nothing: "enabled" is false, or nothing in it switches anything on.
inline bool switched_off(const json_value& v) {
  if (!v.is_object()) return v.is_null() || v == false || v.empty();
  if (const auto said = v.find("enabled"); said != v.end()) return *said == false || *said == "auto";
  for (const auto& [key, value] : v.items()) {
    if (value.is_object() && !switched_off(value)) return false;
    if (key == "deepcompile" && value != false) return false;
    if ((key == "autotp_size" || key == "autoep_size" || key == "tp_size") && value != 0 && value != 1) return false;
  }
  return true;
}

inline bool passes(const passed_key& k, const json_value& v) {
  if (k.off == "*") return true;
  if (k.off == "-") return switched_off(v);
  const auto word = off_word(v);
  const std::string_view same = word == "1" ? "true" : word == "0" ? "false" : word == "true" ? "1" : word == "false" ? "0" : "";
  return word == "none" || among_words(k.off, word) || (!same.empty() && among_words(k.off, same)) || (word == "false" && k.off.empty());
}

enum class key_rule : std::uint8_t { unknown, passed, refused };

/// Whether the list passes over a key whatever its value is: a folder, a name.
template <class List>
bool never_matters(const List& list, std::string_view key) {
  for (const auto& k : list)
    if (k.name == key) return k.off == "*";
  return false;
}
/// What the list says of a key that has this value.
template <class List>
key_rule rule_of(const List& list, std::string_view key, const json_value& value) {
  for (const auto& k : list)
    if (k.name == key) return passes(k, value) ? key_rule::passed : key_rule::refused;
  return key_rule::unknown;
}

}  // namespace headroom::io::detail
