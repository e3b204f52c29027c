// Distributed under the Boost Software License, Version 1.0.
// A Kubernetes manifest: values by their path, with the lines at which they stand.
#pragma once

#include <headroom/io/syntax/document.hpp>

#include <cctype>
#include <initializer_list>

namespace headroom::io::detail {

inline bool is_kubernetes(const json_value& root) {
  const auto kind = root.find("kind");
  return root.is_object() && root.contains("apiVersion") && kind != root.end() && kind->is_string();
}

/// Keys and indices, one below the other.
using manifest_path = std::vector<std::string>;

inline bool is_index(const std::string& key) { return !key.empty() && key.size() < 7 && key.find_first_not_of("0123456789") == std::string::npos; }
inline manifest_path below(manifest_path p, std::initializer_list<std::string> more) {
  p.insert(p.end(), more);
  return p;
}
/// As places have it: "spec.containers[0].command".
inline std::string shown(const manifest_path& p) {
  std::string text;
  for (const auto& key : p) text = is_index(key) ? joined(text, std::stoul(key)) : joined(text, key);
  return text;
}
/// A number, or the text itself.
inline json_value typed_count(const std::string& text) {
  const auto n = json_value::parse(text, nullptr, false);
  return n.is_number() ? n : json_value(text);
}
inline std::string text_as_said(const json_value& v) { return v.is_string() ? v.get<std::string>() : v.dump(-1, ' ', false, json_value::error_handler_t::replace); }

/// A quantity of bytes in GiB: "512Gi", "500G", "1.5e11" (kubernetes.io, resource units).
inline double gib_of_quantity(const json_value& value, const std::string& place) {
  const auto text = value.is_string() ? value.get<std::string>() : value.dump();
  std::size_t end = 0;
  while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.')) ++end;
  static constexpr std::pair<std::string_view, double> units[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15},
      {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}};
  for (const auto& [unit, size] : units)
    if (end > 0 && end < 16 && unit == std::string_view{text}.substr(end))
      if (const auto n = json_value::parse(text.substr(0, end), nullptr, false); n.is_number()) return n.get<double>() * size / 0x1p30;
  fail("headroom: " + place + " must be a quantity of bytes such as 512Gi, found " + in_quotes(text));
}

struct manifest {
  const document* from;

  [[nodiscard]] const json_value* find(const manifest_path& p) const {
    const auto* v = &from->root;
    for (const auto& key : p) {
      if (v->is_array() && is_index(key) && std::stoul(key) < v->size()) {
        v = &(*v)[std::stoul(key)];
        continue;
      }
      if (!v->is_object()) return nullptr;
      const auto it = v->find(key);
      if (it == v->end()) return nullptr;
      v = &*it;
    }
    return v;
  }
  [[nodiscard]] std::string place(const manifest_path& p) const { return from->place(shown(p)); }
  /// A count that may be a string of digits. Errors: job_error for anything else.
  [[nodiscard]] std::int64_t count(const manifest_path& p, std::int64_t otherwise) const {
    const auto* v = find(p);
    if (v == nullptr || v->is_null()) return otherwise;
    if (v->is_string() && v->get_ref<const std::string&>().starts_with("$")) fail("headroom: " + place(p) + ": " + p.back() + " is " + in_quotes(v->get_ref<const std::string&>()) + ", which the file itself does not say: add --env NAME=VALUE");
    return whole_at(v->is_string() ? typed_count(v->get<std::string>()) : *v, place(p) + ": " + p.back(), 0, 1 << 20);
  }
  [[nodiscard]] int line_of(const manifest_path& p) const {
    const auto at = place(p);
    const auto line = typed_count(at.substr(at.rfind(':') == std::string::npos ? at.size() : at.rfind(':') + 1));
    return line.is_number_unsigned() ? static_cast<int>(std::min<std::uint64_t>(line.get<std::uint64_t>(), 100'000)) : 1;
  }
  /// f(path) for each element of a list; nothing where it is none.
  template <class F>
  void each_of(const manifest_path& p, F f) const {
    const auto* list = find(p);
    if (list == nullptr || !list->is_array()) return;
    for (std::size_t i = 0; i < list->size(); ++i) f(below(p, {std::to_string(i)}));
  }
};

}  // namespace headroom::io::detail
