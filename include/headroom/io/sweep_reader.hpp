// Distributed under the Boost Software License, Version 1.0.
// Several searches from one file:
//   {"sweep": {"model": [A, B], "hardware.gpu": [X, Y]}, …}    every combination: four searches
//   {"sweep": [{"model": A, "batch.global": 512}, {…}], …}     one search for each entry
// Keys of a sweep are those of a search, dotted where they lie in a section; what else the file says holds for all.
#pragma once

#include <headroom/io/search_reader.hpp>

#include <utility>
#include <vector>

namespace headroom::io {

/// One search of a sweep.
struct swept_search {
  json_value values;   ///< {"model": A, …}: what sets it apart; null where the file has no sweep
  headroom::search search;
};

namespace detail {

inline constexpr std::size_t most_searches = 1'000;

/// Sets `value[a][b]` for "a.b". What lies on the way must be an object.
inline void set_at(json_value& value, const std::string& key, const json_value& to, const std::string& path) {
  auto* at = &value;
  std::size_t from = 0;
  for (auto dot = key.find('.'); dot != std::string::npos; from = dot + 1, dot = key.find('.', from)) {
    auto& section = (*at)[key.substr(from, dot - from)];
    if (section.is_null()) section = json_value::object();
    if (!section.is_object()) fail("headroom: " + path + " sets a key of " + key.substr(0, dot) + ", which is " + described(section) + ", not an object");
    at = &section;
  }
  (*at)[key.substr(from)] = to;
}

/// The values of each search: of a product in the order of its keys' names, the last turning fastest.
inline std::vector<json_value> sweep_values(const json_value& sweep) {
  std::vector<json_value> all;
  if (sweep.is_array()) {
    each_at(sweep, "sweep", "a list of objects", [&](const json_value& v, const std::string& path) {
      if (!v.is_object() || v.empty()) wrong_value(path, "an object of keys and their values", v);
      all.push_back(v);
    });
  } else if (sweep.is_object()) {
    all.push_back(json_value::object());
    for (const auto& [key, list] : sweep.items()) {
      const auto path = joined("sweep", key);
      if (!list.is_array() || list.empty()) wrong_value(path, "a list of values", list);
      std::vector<json_value> next;
      for (const auto& base : all)
        for (const auto& v : list) {
          next.push_back(base);
          next.back()[key] = v;
          if (next.size() > most_searches) fail("headroom: sweep has more than " + std::to_string(most_searches) + " combinations");
        }
      all = std::move(next);
    }
  } else {
    wrong_value("sweep", "an object of lists, or a list of objects", sweep);
  }
  if (all.empty() || all.front().empty()) wrong_value("sweep", "an object of lists, or a list of objects", sweep);
  if (all.size() > most_searches) fail("headroom: sweep has more than " + std::to_string(most_searches) + " entries");
  return all;
}

}  // namespace detail

/// The searches of a file; one where it has no "sweep". Errors: those of read_search(), with the place in the sweep.
inline std::vector<swept_search> read_sweep(json_value value, const file_base& base = ".") {
  std::vector<swept_search> all;
  if (!value.is_object() || !value.contains("sweep")) {
    all.push_back({nullptr, read_search(std::move(value), base)});
    return all;
  }
  const auto sweep = value.at("sweep");
  value.erase("sweep");
  const auto entries = detail::sweep_values(sweep);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto one = value;
    for (const auto& [key, v] : entries[i].items()) {
      const auto path = sweep.is_array() ? joined(joined("sweep", i), key) : joined("sweep", key);
      if (key == "sweep") fail("headroom: " + path + ": a sweep cannot hold another");
      detail::set_at(one, key, v, path);
    }
    try {
      all.push_back({entries[i], read_search(std::move(one), base)});
    } catch (const job_error& e) {
      fail(std::string{e.what()} + "; in the search of sweep with " + entries[i].dump());
    }
  }
  return all;
}

}  // namespace headroom::io
