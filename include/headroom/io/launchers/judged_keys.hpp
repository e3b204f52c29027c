// Distributed under the Boost Software License, Version 1.0.
// The rule for a file's keys: each is read, or harmless, or stops the import with a sentence that names it.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/syntax/passed_keys.hpp>

#include <span>

namespace headroom::io::detail {

/// What is known of a program's keys, each by its path: "section.key". What neither list has is unknown.
struct key_lists {
  std::span<const std::string_view> read;
  std::span<const passed_key> passed;

  [[nodiscard]] bool reads(std::string_view name) const { return std::find(read.begin(), read.end(), name) != read.end(); }
  /// Whether the keys of this section are listed one by one.
  [[nodiscard]] bool opens(std::string_view name) const {
    const auto inside = [&](std::string_view other) { return other.size() > name.size() && other[name.size()] == '.' && other.starts_with(name); };
    return std::any_of(read.begin(), read.end(), inside) || std::any_of(passed.begin(), passed.end(), [&](const passed_key& k) { return inside(k.name); });
  }
  [[nodiscard]] key_rule rule(const json_value& /*section*/, std::string_view name, const json_value& value) const { return rule_of(passed, name, value); }
  /// The key of a section that a misspelt one probably is.
  [[nodiscard]] std::string meant(std::string_view path, std::string_view key) const {
    std::vector<std::string_view> all;
    const auto add = [&](std::string_view name) {
      if (!path.empty()) {
        if (!name.starts_with(path) || name.size() <= path.size() || name[path.size()] != '.') return;
        name.remove_prefix(path.size() + 1);
      }
      all.push_back(name.substr(0, name.find('.')));
    };
    for (const auto name : read) add(name);
    for (const auto& k : passed) add(k.name);
    return std::string{closest(key, all)};
  }
};

/// Takes out of a section what is harmless, what is to be ignored, and comments in a format that has none: what is left is read. Throws
/// job_error for every other key.
template <class Lists>
void judge_keys(draft& d, const document& from, json_value& section, const std::string& path, const Lists& lists) {
  for (auto it = section.begin(); it != section.end();) {
    const auto key = it.key();
    const auto name = joined(path, key);
    const bool opened = lists.opens(name);
    if (opened && it->is_object()) judge_keys(d, from, *it, name, lists);
    if (lists.reads(name) || (opened && (it->is_object() || it->is_null()))) {
      ++it;
      continue;
    }
    if (opened && lists.rule(section, name, *it) != key_rule::passed) {
      d.unmodelled_key(name, *it, from.place(name), "a section of keys stands there");
      it = section.erase(it);
      continue;
    }
    const auto rule = key.starts_with('_') ? key_rule::passed : lists.rule(section, name, *it);
    if (rule == key_rule::refused) d.unmodelled_key(name, *it, from.place(name));
    if (rule == key_rule::unknown) d.unknown_key(name, from.place(name), lists.meant(path, key));
    it = section.erase(it);
  }
}

}  // namespace headroom::io::detail
