// Distributed under the Boost Software License, Version 1.0.
// sed, as scripts fill in templates with it: s/WORD/VALUE/ of words without signs of a pattern.
#pragma once

#include <headroom/io/syntax/shell_script.hpp>

#include <string_view>

namespace headroom::io::detail {

/// What a call of sed changes.
struct shell_sed {
  std::string file{};  ///< empty: what a pipe brings
  std::vector<shell_edit> edits{};
  bool in_place{};
  bool plain{true};    ///< false: expressions that are not read
};

/// Reads one expression, "s/a/b/;s/c/d/g"; false where it says more.
inline bool read_substitutions(std::string_view text, std::vector<shell_edit>& edits) {
  const auto skip = [&] {
    while (!text.empty() && (shell_blank(text.front()) || text.front() == ';')) text.remove_prefix(1);
  };
  for (skip(); !text.empty(); skip()) {
    if (text.size() < 4 || text[0] != 's' || std::string_view{"/|#,:@!_~%+"}.find(text[1]) == std::string_view::npos) return false;
    const char bound = text[1];
    text.remove_prefix(2);
    std::string part[2];
    for (auto& p : part) {
      for (; !text.empty() && text.front() != bound; text.remove_prefix(1)) {
        if (text.front() == '\\' && (text.size() < 2 || text[1] != bound)) return false;
        if (text.front() == '\\') text.remove_prefix(1);
        p += text.front();
      }
      if (text.empty()) return false;
      text.remove_prefix(1);
    }
    const bool all = text.starts_with('g');
    if (all) text.remove_prefix(1);
    if (!text.empty() && text.front() != ';' && !shell_blank(text.front())) return false;
    if (part[0].empty() || part[0].find_first_of(".*[]^$+?(){}|\x01\n") != std::string::npos || part[1].find_first_of("&\n") != std::string::npos) return false;
    edits.push_back({std::move(part[0]), std::move(part[1]), all});
  }
  return true;
}

/// `words`: of a command whose name is sed.
inline shell_sed sed_of(const std::vector<shell_word>& words) {
  shell_sed r;
  bool expressed = false;
  const auto express = [&](std::string_view said) { expressed = true, r.plain = read_substitutions(said, r.edits) && r.plain; };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto& w = words[i].text;
    if (w == "-e" || w == "--expression") {
      if (++i < words.size()) express(words[i].text);
    } else if (w.starts_with("-e") || w.starts_with("--expression=")) {
      express(std::string_view{w}.substr(w[1] == 'e' ? 2 : w.find('=') + 1));
    } else if (w.starts_with("-i") || w == "--in-place" || w.starts_with("--in-place=")) {  // what stands behind it is the end of a copy's name
      r.in_place = true;
    } else if (w.starts_with("-") && w.size() > 1) {
      r.plain = false;
    } else if (!w.empty() && !expressed) {
      express(w);
    } else if (!w.empty()) {
      r.plain = r.plain && r.file.empty();
      r.file = words[i].shown();
    }
  }
  return r;
}

/// A text with these changes, which are made at a place of a script.
/// Errors: job_error where they make more of it than a file may have.
inline std::string edited(std::string text, const std::vector<shell_edit>& edits, const std::string& place) {
  for (const auto& e : edits) {
    std::string made;
    std::size_t from = 0;
    for (std::size_t at = 0; (at = text.find(e.word, at)) != std::string::npos;) {
      made.append(text, from, at - from).append(e.by);
      from = at += e.word.size();
      if (!e.all) at = std::min(text.find('\n', at), text.size());
      if (made.size() > largest_text) fail("headroom: " + place + ": sed makes more than " + std::to_string(largest_text >> 20) + " MiB of a file: give the file as sed leaves it, in a script without that line");
    }
    made.append(text, from);
    text = std::move(made);
  }
  return text;
}

}  // namespace headroom::io::detail
