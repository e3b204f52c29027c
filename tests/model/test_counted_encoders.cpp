// Distributed under the Boost Software License, Version 1.0.
// Encoders of text and sound, and models of an encoder and a decoder, that are counted and not walked: random configurations against the classes' own totals.
#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace test_counted_encoders {

TEST_CASE("random configurations of encoders and of models with a decoder count exactly") {
  std::ifstream in(std::string(HEADROOM_TEST_DATA) + "/counted_encoders.json");
  REQUIRE(in.good());
  for (const auto& entry : nlohmann::json::parse(in)) {
    auto config = entry.at("config");
    config["architectures"] = entry.at("architectures");
    CAPTURE(config.dump());
    CHECK(headroom::io::count_config(config).total.count() == entry.at("params_total").get<std::int64_t>());
  }
}

}  // namespace test_counted_encoders
