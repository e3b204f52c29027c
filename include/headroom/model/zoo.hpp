// Distributed under the Boost Software License, Version 1.0.
// Models by name: headroom::models::llama_3_1_8b, or find("llama-3.1-8b").
#pragma once

#include <headroom/model/zoo_descendants.hpp>
#include <headroom/model/zoo_names.hpp>

#include <string_view>

namespace headroom {

namespace detail {
/// Equal but for the case of ASCII letters; `b` is in lower case.
constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char c = a[i] >= 'A' && a[i] <= 'Z' ? static_cast<char>(a[i] - 'A' + 'a') : a[i];
    if (c != b[i]) return false;
  }
  return true;
}
}  // namespace detail

namespace models {

/// Every model of the zoo, as a range of shapes.
struct model_range {
  struct iterator {
    const entry* at;
    constexpr const shape& operator*() const { return *at->model; }
    constexpr iterator& operator++() { ++at; return *this; }
    friend constexpr bool operator==(iterator, iterator) = default;
  };
  [[nodiscard]] constexpr iterator begin() const { return {table}; }
  [[nodiscard]] constexpr iterator end() const { return {table + size()}; }
  [[nodiscard]] constexpr std::size_t size() const { return sizeof table / sizeof *table; }
};
constexpr model_range all() { return {}; }

/// Endings of names that tell how a model was tuned or stored, never its shape. A checkpoint of another shape has an entry of its own.
inline constexpr std::string_view endings[] = {"-instruct", "-chat", "-base", "-it", "-pt", "-hf", "-deduped"};

/// The model of that name, or null. Case does not matter, "meta-llama/Llama-3.1-8B" finds "llama-3.1-8b", and so does "llama-3.1-8b-instruct".
constexpr const shape* find(std::string_view name) {
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  if (name.empty()) return nullptr;
  for (const auto& e : table)
    for (const auto& n : e.names)
      if (detail::equal_ignoring_case(name, n)) return e.model;
  for (const auto& d : descendants)
    if (detail::equal_ignoring_case(name, d.name)) return find(d.of);
  for (const auto& end : endings)
    if (name.size() > end.size() && detail::equal_ignoring_case(name.substr(name.size() - end.size()), end))
      return find(name.substr(0, name.size() - end.size()));
  return nullptr;
}

}  // namespace models
}  // namespace headroom
