// Distributed under the Boost Software License, Version 1.0.
// Files of configurations and the totals of their classes' own modules (tests/data/README.md).
#pragma once

#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace counted_rows {

using nlohmann::json;

inline json data(const char* file) {
  std::ifstream in(std::string(HEADROOM_TEST_DATA) + "/" + file);
  REQUIRE_MESSAGE(in.good(), file);
  return json::parse(in);
}

/// What a reader of the entry sees: see tests/data/README.md.
inline json config_of(const json& entry) {
  json config = entry.at("config");
  config["architectures"] = entry.at("architectures");
  if (entry.contains("tie_word_embeddings")) config["tie_word_embeddings"] = entry.at("tie_word_embeddings");
  return config;
}

struct outcome {
  int exact{}, refused{};
};
/// Checks every total that is given; how many were, and how many configurations were refused.
inline outcome count_all(const char* file) {
  outcome seen;
  for (const auto& entry : data(file)) {
    const auto config = config_of(entry);
    CAPTURE(config.dump());
    headroom::parameter_count counted;
    try {
      counted = headroom::io::count_config(config);
    } catch (const headroom::job_error&) {
      ++seen.refused;
      continue;
    }
    CHECK(counted.total.count() == entry.at("params_total").get<std::int64_t>());
    ++seen.exact;
  }
  return seen;
}

}  // namespace counted_rows
