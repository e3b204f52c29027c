// Distributed under the Boost Software License, Version 1.0.
// Each key of other programs' files that is read changes the fields of the job that it is about, and no others, or is refused by name:
// tests/data/launchers/changes.jsonl.
#include "key_changes.hpp"

#if HEADROOM_HAS_YAML

namespace test_key_changes {

using namespace headroom;

TEST_CASE("a key that is read changes what it says") {
  std::map<std::string, std::string> means;
  std::map<std::string, io::json_value> plain;
  for (const auto& r : key_changes::readers) means.emplace(r.reader, r.means);
  std::ifstream in{HEADROOM_TEST_DATA "/launchers/changes.jsonl"};
  int cases = 0;
  for (std::string line; std::getline(in, line); ++cases) {
    INFO(line);
    const auto c = io::json_value::parse(line);
    const auto reader = c["reader"].get<std::string>();
    REQUIRE(means.contains(reader));
    const auto without = c.value("beside", c["says"].is_string() ? io::json_value("") : io::json_value::object());
    auto with = c["says"];
    if (with.is_string()) with = without.get<std::string>() + " " + with.get<std::string>();
    else with.update(without);
    const auto key = reader + without.dump();
    if (!plain.contains(key)) plain[key] = key_changes::job_with(reader, means[reader], without);
    if (c.contains("refused")) {  // with a sentence in which these words stand
      std::string sentence;
      try {
        key_changes::job_with(reader, means[reader], with);
      } catch (const headroom::error& e) {
        sentence = e.what();
      }
      INFO(sentence);
      CHECK(sentence.find(c["refused"].get<std::string>()) != std::string::npos);
      continue;
    }
    const auto found = key_changes::changes_between(plain[key], key_changes::job_with(reader, means[reader], with));
    CHECK(found == c["changes"]);
  }
  CHECK(cases > 1550);
}

}  // namespace test_key_changes

#endif
