// Distributed under the Boost Software License, Version 1.0.
// What the writer of a file probably meant: the accepted name that is fewest edits away.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::io {

/// Edits between two words: insert, delete, replace, swap neighbours (optimal string alignment). Words are cut at 64
/// characters, so that a hostile file cannot make this slow.
inline std::size_t edits(std::string_view a, std::string_view b) {
  a = a.substr(0, 64);
  b = b.substr(0, 64);
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

/// The words of a name, sorted: "comm_overlap" and "overlap_comm" agree.
inline std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name.substr(0, 64)) {
    if (c == '_' || c == '-' || c == ' ' || c == '.')
      words.emplace_back();
    else
      words.back() += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  std::sort(words.begin(), words.end());
  return words;
}

/// The name that `found` is probably a misspelling of, or an empty view where none is close.
inline std::string_view closest(std::string_view found, std::span<const std::string_view> names) {
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(1, found.size() / 3) + 1;
  for (const auto name : names) {
    if (words_of(name) == words_of(found)) return name;
    const auto n = edits(found, name);
    if (n < fewest) {
      fewest = n;
      best = name;
    }
  }
  return best;
}

/// The name that is probably meant by what is refused anyway: a misspelt one, one of which `found` is the beginning, or one that shares its
/// words: "fp16" for "fp16-mixed", "micro_batch_size" for "micro", "memory" for "host_memory_gib".
inline std::string_view likely(std::string_view found, std::span<const std::string_view> names) {
  for (const auto name : names)  // "layer" is "layers" rather than "layer_input"
    if ((name.size() == found.size() + 1 && name.starts_with(found) && name.back() == 's') || (found.size() == name.size() + 1 && found.starts_with(name) && found.back() == 's')) return name;
  const auto separates = [](char c) { return c == '-' || c == '_' || c == '.'; };
  if (found.size() > 1)
    for (const auto name : names)
      if (name.size() > found.size() && name.starts_with(found) && separates(name[found.size()])) return name;
  if (const auto name = closest(found, names); !name.empty()) return name;
  const auto said = words_of(found);
  std::string_view best;
  for (const auto name : names) {
    const auto words = words_of(name);
    const bool within = std::includes(said.begin(), said.end(), words.begin(), words.end()) || std::includes(words.begin(), words.end(), said.begin(), said.end());
    if (name.size() > 2 && found.size() > 2 && within && name.size() > best.size()) best = name;
  }
  return best;
}

/// "a, b, c", cut with an ellipsis after about `room` characters.
inline std::string listed(std::span<const std::string_view> names, std::size_t room = 180) {
  std::string text;
  for (const auto name : names) {
    if (!text.empty()) text += ", ";
    if (text.size() + name.size() > room) return text + "…";
    text += name;
  }
  return text;
}

/// Whether `word` is one of those between bars.
inline bool among_words(std::string_view words, std::string_view word) {
  while (true) {
    const auto bar = words.find('|');
    if (words.substr(0, bar) == word) return true;
    if (bar == std::string_view::npos) return false;
    words.remove_prefix(bar + 1);
  }
}

/// The words between bars, one by one.
inline std::vector<std::string_view> words_between_bars(std::string_view words) {
  std::vector<std::string_view> all;
  while (true) {
    const auto bar = words.find('|');
    all.push_back(words.substr(0, bar));
    if (bar == std::string_view::npos) return all;
    words.remove_prefix(bar + 1);
  }
}

}  // namespace headroom::io
