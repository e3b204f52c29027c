// Distributed under the Boost Software License, Version 1.0.
// A model's shape by its name: of the zoo, or of the published configurations beside it.
#pragma once

#include <headroom/io/job/model_keys.hpp>
#include <headroom/io/job/published_descendants.hpp>
#include <headroom/io/job/published_models.hpp>
#include <headroom/io/syntax/json_reader.hpp>
#include <headroom/io/syntax/keys.hpp>

#include <optional>
#include <string>
#include <vector>

namespace headroom::io {

/// The model of that name; nothing for a name that is not known.
inline std::optional<shape> shape_named(std::string_view name) {
  if (const shape* known = models::find(name)) return *known;
  if (const auto of = descended_from(name); !of.empty()) return shape_named(of);
  const auto* published = find_published(name);
  if (published == nullptr) return std::nullopt;
  shape m;
  const auto said = parse_json(std::string{published->shape}, std::string{name_of(*published)});
  key_reader keys{said, "model"};
  describe(keys, m);
  keys.finish();
  m.label = headroom::name{name_of(*published)};
  return m;
}

/// Every name that a model answers to.
inline std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (const auto& e : models::table)
    for (const auto name : e.names)
      if (!name.empty()) names.push_back(name);
  for (const auto& m : published_models) each_name(m, [&](std::string_view one) { names.push_back(one); });
  return names;
}

}  // namespace headroom::io
