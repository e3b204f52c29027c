// Distributed under the Boost Software License, Version 1.0.
// Each key of each type of model by itself, and some together: what becomes of the total when its value is another, by the classes' own modules.
#include "counted_rows.hpp"

#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_counted_keys {

using nlohmann::json;

namespace {

/// A configuration with other values; objects on the way to a key are made, with the model_type that the file gives them.
json changed(json config, const json& values) {
  for (const auto& [path, value] : values.items()) config[json::json_pointer(path)] = value;
  return config;
}
std::int64_t total(const json& config) { return headroom::io::count_config(config).total.count(); }

}  // namespace

TEST_CASE("each key that changes how many parameters there are, by itself and with others, and those that change nothing") {
  int rows = 0, values = 0;
  for (const auto& entry : counted_rows::data("counted_keys.json")) {
    const auto config = counted_rows::config_of(entry);
    CAPTURE(config.dump());
    CHECK(total(config) == entry.at("params_total").get<std::int64_t>());
    ++rows;
    for (const auto& one : entry.at("changed")) {
      CAPTURE(one.dump());
      CHECK(total(changed(config, one.at(0))) == one.at(1).get<std::int64_t>());
      ++values;
    }
  }
  CHECK(rows == 1264);
  CHECK(values == 9279);
}

}  // namespace test_counted_keys
