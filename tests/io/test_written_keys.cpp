// Distributed under the Boost Software License, Version 1.0.
// What each key of a job writes into the files of other programs, or why it cannot be written: tests/data/launchers/written.jsonl.
#include "written_keys.hpp"

namespace test_written_keys {

TEST_CASE("a key of a job is written where its target has it") {
  std::map<std::string, written_keys::file> plain;
  for (const auto& b : written_keys::jobs) plain.emplace(b.name, written_keys::file_of(b, {}));
  std::ifstream in{HEADROOM_TEST_DATA "/launchers/written.jsonl"};
  int cases = 0;
  for (std::string line; std::getline(in, line); ++cases) {
    INFO(line);
    const auto c = written_keys::json_value::parse(line);
    const auto* b = std::find_if(std::begin(written_keys::jobs), std::end(written_keys::jobs), [&](const auto& one) { return c["job"] == one.name; });
    REQUIRE(b != std::end(written_keys::jobs));
    CHECK(written_keys::difference(plain.at(b->name), written_keys::file_of(*b, c["says"])) == c["file"]);
  }
  CHECK(cases > 200);
}

}  // namespace test_written_keys
