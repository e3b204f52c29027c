// Distributed under the Boost Software License, Version 1.0.
// Configurations of which one key is wrong: each is refused in the sentence that names it, and counted without the change.
#include "counted_rows.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace test_refused_configs {

using nlohmann::json;

namespace {

/// Where something else stands on the way to a key, an object takes its place.
json changed(json config, const json& row, const char* by) {
  if (row.contains(by))
    for (const auto& [path, value] : row.at(by).items()) {
      const json::json_pointer to(path);
      if (const auto above = to.parent_pointer(); !above.empty() && config.contains(above) && !config[above].is_object()) config[above] = json::object();
      config[to] = value;
    }
  return config;
}
/// `walk`: read as a model whose layers are walked, not as one that is counted.
std::string sentence(const json& config, bool walk) {
  try {
    return "counted: " + std::to_string((walk ? count(headroom::io::model_from_config(config)) : headroom::io::count_config(config)).total.count());
  } catch (const headroom::error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a configuration with one wrong key is refused by its name, and without it counted") {
  std::ifstream in(std::string{HEADROOM_TEST_DATA} + "/refused_configs.jsonl");
  int rows = 0;
  for (std::string line; std::getline(in, line); ++rows) {
    const auto row = json::parse(line);
    CAPTURE(line);
    const auto config = changed(row.at("config"), row, "with");
    const bool walk = row.contains("walk");
    CHECK(sentence(config, walk).starts_with("counted: "));
    CHECK(sentence(changed(config, row, "change"), walk) == row.at("says").get<std::string>());
  }
  CHECK(rows > 750);
}

// Keys that are left out, null, or beside others than the configurations of the other tables have: what is counted then is kept, and each is counted without them, too. A change of
// a number is meant, or it is none.
TEST_CASE("a configuration that says some keys otherwise is counted as it was") {
  std::ifstream in(std::string{HEADROOM_TEST_DATA} + "/changed_configs.jsonl");
  int rows = 0;
  for (std::string line; std::getline(in, line); ++rows) {
    const auto row = json::parse(line);
    CAPTURE(line);
    const bool walk = row.contains("walk");
    CHECK(sentence(row.at("config"), walk).starts_with("counted: "));
    CHECK(sentence(changed(row.at("config"), row, "change"), walk) == "counted: " + std::to_string(row.at("counts").get<std::int64_t>()));
  }
  CHECK(rows > 70);
}

}  // namespace test_refused_configs
