// Distributed under the Boost Software License, Version 1.0.
// Each key of other programs' files that is read changes the fields of the job that it is about, and no others, or is refused by name:
// tests/data/launchers/changes.jsonl, and beside.jsonl, whose keys stand beside others that decide what they do. Two of them together change what both do and say what both say, or what pairs.jsonl has beside them, which
// detects changes and is no source. Where a change was meant, or two changes meet in the file, it is written anew by
//   HEADROOM_KEEP_KEYS=1 build/tests/test_io --test-case="two keys change*"
#include "key_changes.hpp"

#if HEADROOM_HAS_YAML

#include "../estimate/dice.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace test_key_changes {

using namespace headroom;
using io::json_value;

namespace {

/// What keys change of a small job and what is said of them, or why they are refused.
struct outcome {
  json_value changes = json_value::object(), notes = json_value::array();
  std::string refused{};
};
json_value nothing_of(const json_value& says) { return says.is_string() ? json_value("") : json_value::object(); }

/// Beside `beside`, each once.
const outcome& outcome_of(const std::string& reader, const json_value& beside, const json_value& says) {
  static const auto means = [] {
    std::map<std::string, std::string> all;
    for (const auto& r : key_changes::readers) all.emplace(r.reader, r.means);
    return all;
  }();
  static std::map<std::string, key_changes::reading> bare;
  static std::map<std::string, outcome> known;
  REQUIRE(means.contains(reader));
  const auto without = reader + beside.dump();
  if (const auto found = known.find(without + says.dump()); found != known.end()) return found->second;
  if (!bare.contains(without)) bare[without] = key_changes::read_with(reader, means.at(reader), beside);
  outcome r;
  try {
    const auto is = key_changes::read_with(reader, means.at(reader), key_changes::both(beside, says));
    r.changes = key_changes::changes_between(bare[without].job, is.job);
    r.notes = key_changes::notes_between(bare[without].notes, is.notes);
  } catch (const headroom::error& e) {
    r.refused = e.what();
  }
  return known[without + says.dump()] = r;
}

/// What both make by themselves, where no field and no note is another for each.
outcome together(const outcome& a, const outcome& b) {
  auto r = a;
  for (const auto& [path, value] : b.changes.items()) r.changes[path] = value;
  for (const auto& n : b.notes)
    if (std::find(r.notes.begin(), r.notes.end(), n) == r.notes.end()) r.notes.push_back(n);
  std::sort(r.notes.begin(), r.notes.end());
  return r;
}

std::vector<nlohmann::ordered_json> rows_of(const char* file) {
  std::vector<nlohmann::ordered_json> all;
  std::ifstream in{std::string{HEADROOM_TEST_DATA "/launchers/"} + file};
  for (std::string line; std::getline(in, line);) all.push_back(nlohmann::ordered_json::parse(line));
  return all;
}
void write(const char* file, const std::vector<nlohmann::ordered_json>& rows) {
  std::ofstream out{std::string{HEADROOM_TEST_DATA "/launchers/"} + file};
  for (const auto& r : rows) out << r.dump() << '\n';
}
json_value plain(const nlohmann::ordered_json& of) { return json_value::parse(of.dump()); }
bool keeps() { return std::getenv("HEADROOM_KEEP_KEYS") != nullptr; }

/// Pairs of keys that are read alone, each of one reader.
std::vector<nlohmann::ordered_json> drawn_pairs() {
  const auto rows = rows_of("changes.jsonl");
  std::vector<nlohmann::ordered_json> all;
  std::set<std::string> seen;
  draw::dice dice{20261128};
  const auto within = [](const json_value& one, const json_value& other) {  // a key of the one stands below one of the other
    for (const auto& [path, value] : one.items())
      for (const auto& [above, whole] : other.items())
        if (path.starts_with(above + ".")) return true;
    return false;
  };
  const auto key = [](const json_value& says) { return says.is_string() ? says.get<std::string>().substr(0, says.get<std::string>().find_first_of(" =")) : says.begin().key(); };
  for (int tries = 0; tries < 200'000 && all.size() < 1200; ++tries) {
    const auto &a = rows[dice.index(rows.size())], &b = rows[dice.index(rows.size())];
    if (a["reader"] != b["reader"] || a.contains("refused") || b.contains("refused") || a.value("beside", nlohmann::ordered_json{}) != b.value("beside", nlohmann::ordered_json{})) continue;
    const auto first = plain(a["says"]), second = plain(b["says"]);
    if (first.type() != second.type() || key(first) == key(second) || within(first, second) || within(second, first) || !seen.insert(a["reader"].dump() + (first < second ? first.dump() + second.dump() : second.dump() + first.dump())).second) continue;
    nlohmann::ordered_json pair{{"reader", a["reader"]}};
    if (a.contains("beside")) pair["beside"] = a["beside"];
    pair["says"] = {a["says"], b["says"]};
    all.push_back(pair);
  }
  return all;
}

}  // namespace

TEST_CASE("a key that is read changes what it says") {
  auto rows = rows_of("changes.jsonl");
  for (auto& row : rows_of("beside.jsonl")) rows.push_back(std::move(row));
  for (const auto& row : rows) {
    const auto c = plain(row);
    INFO(row.dump());
    const auto& found = outcome_of(c["reader"], c.value("beside", nothing_of(c["says"])), c["says"]);
    INFO(found.refused);
    if (c.contains("refused")) {  // with a sentence in which these words stand
      CHECK(found.refused.find(c["refused"].get<std::string>()) != std::string::npos);
      continue;
    }
    CHECK(found.refused.empty());
    CHECK(found.changes == c["changes"]);
  }
  CHECK(rows.size() > 2100);
}

TEST_CASE("two keys change what both change, or what is said of the two") {
  auto rows = keeps() ? drawn_pairs() : rows_of("pairs.jsonl");
  int apart = 0;
  for (auto& row : rows) {
    const auto c = plain(row);
    INFO(row.dump(), "\nwhere a change is meant: HEADROOM_KEEP_KEYS=1 build/tests/test_io --test-case=\"two keys change*\"");
    const auto reader = c["reader"].get<std::string>();
    const auto beside = c.value("beside", nothing_of(c["says"][0]));
    auto found = outcome_of(reader, beside, key_changes::both(c["says"][0], c["says"][1]));
    std::sort(found.notes.begin(), found.notes.end());
    auto expected = together(outcome_of(reader, beside, c["says"][0]), outcome_of(reader, beside, c["says"][1]));
    if (keeps()) {
      if (!found.refused.empty()) row["refused"] = found.refused;
      else if (found.changes != expected.changes) row["changes"] = found.changes;
      if (found.refused.empty() && found.notes != expected.notes) row["notes"] = found.notes;
      continue;
    }
    CHECK(found.refused == c.value("refused", std::string{}));
    if (c.contains("refused")) continue;
    CHECK(found.changes == c.value("changes", expected.changes));
    CHECK(found.notes == c.value("notes", expected.notes));
    apart += c.contains("changes") || c.contains("notes") ? 0 : 1;
  }
  if (keeps()) return write("pairs.jsonl", rows);
  CHECK(rows.size() > 1000);
  CHECK(apart > 500);
}

}  // namespace test_key_changes

#endif
