// Distributed under the Boost Software License, Version 1.0.
// A published configuration by name: what the lists of published_*.hpp are made of.
#pragma once

#include <string_view>

namespace headroom::io {

struct published_model {
  std::string_view names;  ///< the last components of Hugging Face ids, in lower case, between bars; the first is what reports call it
  std::string_view shape;  ///< in the words of a job file
};

/// The first of a model's names.
constexpr std::string_view name_of(const published_model& m) { return m.names.substr(0, m.names.find('|')); }

/// visit(name) for each of a model's names.
template <class Visit>
constexpr void each_name(const published_model& m, const Visit& visit) {
  for (auto rest = m.names; !rest.empty();) {
    const auto bar = rest.find('|');
    visit(rest.substr(0, bar));
    rest = bar == rest.npos ? std::string_view{} : rest.substr(bar + 1);
  }
}

}  // namespace headroom::io
