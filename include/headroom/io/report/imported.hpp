// Distributed under the Boost Software License, Version 1.0.
// What the import of a job wrote beside it, in its own sentences: what its files leave open, and which of their keys were ignored.
#pragma once

#include <headroom/io/syntax/json_value.hpp>
#include <headroom/io/syntax/printable.hpp>

#include <string>
#include <vector>

namespace headroom::io {

/// Of a job's document, "assumed_defaults" and "ignored_keys" where they are lists of sentences; a job in memory has their numbers alone.
struct imported_words {
  std::vector<std::string> assumed{};
  std::vector<std::string> ignored{};

  bool empty() const { return assumed.empty() && ignored.empty(); }
};

/// Of a job's document, which may be of any type; each fit for a terminal, at most `most` of a list, and one more that says how many follow.
inline imported_words imported_words_of(const json_value& job, std::size_t most = 20) {
  const auto list = [&](const char* key) {
    std::vector<std::string> words;
    if (!job.is_object() || !job.contains(key) || !job[key].is_array()) return words;
    for (const auto& one : job[key]) {
      if (!one.is_string()) continue;
      if (words.size() == most) {
        words.push_back("… and " + std::to_string(job[key].size() - most) + " more");
        break;
      }
      words.push_back(printable(cut_to(one.get_ref<const std::string&>(), 500)));
    }
    return words;
  };
  return {.assumed = list("assumed_defaults"), .ignored = list("ignored_keys")};
}

}  // namespace headroom::io
