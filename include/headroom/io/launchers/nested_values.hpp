// Distributed under the Boost Software License, Version 1.0.
// Values of a document by their paths, "section.inner.key", and arguments of a command line put into it.
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

/// The value at "section.key"; null where there is none.
inline const json_value* value_at(const json_value& root, std::string_view path) {
  const auto* at = &root;
  for (auto rest = path; !rest.empty();) {
    const auto key = rest.substr(0, rest.find('.'));
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &(*at)[std::string{key}];
    rest.remove_prefix(std::min(rest.size(), key.size() + 1));
  }
  return at;
}

/// Puts a value at a path. A word that stands where a section is wanted, or the other way round, is the name of its class, at `class_key`.
inline void put_at(json_value& root, std::string_view path, json_value value, std::string_view class_key) {
  auto* at = &root;
  for (auto rest = path; !rest.empty();) {
    const auto key = rest.substr(0, rest.find('.'));
    if (!at->is_object()) *at = at->is_string() ? json_value{{std::string{class_key}, *at}} : json_value::object();
    at = &(*at)[std::string{key}];
    rest.remove_prefix(std::min(rest.size(), key.size() + 1));
  }
  if (value.is_string() && at->is_object() && at->contains(class_key))
    (*at)[std::string{class_key}] = std::move(value);
  else
    *at = std::move(value);
}

/// A word of a command line as YAML has it: null, true, false, numbers, [a, list].
inline json_value yaml_word(const std::string& word) {
  if (word.empty() || word == "null" || word == "None" || word == "none" || word == "~") return nullptr;
  if (word == "true" || word == "True") return true;
  if (word == "false" || word == "False") return false;
  if (word.size() < 2 || word.front() != '[' || word.back() != ']') return typed(word);
  auto list = json_value::array();
  std::string one;
  for (const char c : word.substr(1, word.size() - 2) + ",") {
    if (c == ',') list.push_back(typed(std::exchange(one, {})));
    else if (c != ' ' && c != '\'' && c != '"') one += c;
  }
  if (word == "[]") list.clear();
  return list;
}

/// A document's values; what says nothing (null) is as if it were not there.
class nested_values {
 public:
  explicit nested_values(const document& from) : from_(&from) {}

  [[nodiscard]] const json_value* find(std::string_view path) const {
    const auto* v = value_at(from_->root, path);
    return v == nullptr || v->is_null() ? nullptr : v;
  }
  /// Whether the document has the key, be it null.
  [[nodiscard]] bool has(std::string_view path) const { return value_at(from_->root, path) != nullptr; }
  [[nodiscard]] bool on(const std::string& path, bool otherwise = false) const {
    const auto* v = find(path);
    return v == nullptr ? otherwise : truth(*v, path);
  }
  [[nodiscard]] std::int64_t number(const std::string& path, std::int64_t otherwise, std::int64_t low = 1) const {
    const auto* v = find(path);
    return v == nullptr ? otherwise : count_at(*v, path, low, std::int64_t{1} << 31);
  }
  [[nodiscard]] double share(const std::string& path, double otherwise) const {
    const auto* v = find(path);
    return v == nullptr ? otherwise : number_at(*v, path, 0.0, 1.0);
  }
  [[nodiscard]] std::string word(const std::string& path, std::string_view otherwise = {}) const {
    const auto* v = find(path);
    return v == nullptr ? std::string{otherwise} : string_at(*v, path);
  }
  [[nodiscard]] std::string place(const std::string& path) const { return from_->place(path); }
  [[nodiscard]] const std::string& source() const { return from_->source; }

 private:
  const document* from_;
};

}  // namespace headroom::io::detail
