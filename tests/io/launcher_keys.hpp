// Distributed under the Boost Software License, Version 1.0.
// Lists of a launcher's keys, each with what an import makes of it: lines of KEY VERDICT VALUE in tests/data/launchers.
#pragma once

#include <doctest/doctest.h>

#include "imported.hpp"

#include <fstream>

namespace launcher_keys {

struct line {
  std::string key, verdict;
  headroom::io::json_value value;
};

inline std::vector<line> list_of(const std::string& name) {
  std::ifstream in{std::string{HEADROOM_TEST_DATA} + "/launchers/" + name};
  std::vector<line> all;
  for (std::string text; std::getline(in, text);) {
    if (text.empty() || text[0] == '#') continue;
    const auto first = text.find(' '), second = text.find(' ', first + 1);
    all.push_back({text.substr(0, first), text.substr(first + 1, second - first - 1), headroom::io::json_value::parse(text.substr(second + 1))});
  }
  REQUIRE(!all.empty());
  return all;
}

/// Puts a value at "section.inner.key".
inline void put(headroom::io::json_value& root, const std::string& path, const headroom::io::json_value& value) {
  auto* at = &root;
  std::size_t begin = 0;
  for (auto dot = path.find('.'); dot != std::string::npos; begin = dot + 1, dot = path.find('.', begin)) at = &(*at)[path.substr(begin, dot - begin)];
  (*at)[path.substr(begin)] = value;
}

/// Whether the import of a file with the key is what the list says, beside that of one without it.
template <class Import>
void judge(const line& l, const headroom::io::json_value& without, const headroom::io::json_value& with, Import import) {
  INFO(l.key << " = " << l.value.dump() << ": " << l.verdict);
  std::string sentence;
  headroom::job said;
  try {
    said = import(with);
  } catch (const headroom::error& e) {
    sentence = e.what();
  }
  INFO(sentence);
  const auto bare = l.key.substr(l.key.rfind('.') + 1);
  if (l.verdict == "refused") {
    CHECK(sentence.find(bare) != std::string::npos);
    return;
  }
  CHECK(sentence.empty());
  if (!sentence.empty()) return;
  const bool same = headroom::io::job_to_json(said) == headroom::io::job_to_json(import(without));
  CHECK(same == (l.verdict == "passed"));
}

}  // namespace launcher_keys
