// Distributed under the Boost Software License, Version 1.0.
// A job's start from a shell script, a command line or NAME=value lines.
#pragma once

#include <headroom/io/launchers/import_launch.hpp>

namespace headroom::io {

/// Adds what a shell script, a command line or NAME=value lines say.
inline void import_text(draft& d, std::string_view text, const std::string& source) {
  const auto script = read_shell(text, source);
  detail::launch launch{d, source};
  launch.directives(script.directives);
  bool started = false, set = false;
  for (const auto& w : script.settings) {
    set = detail::import_setting(d, w, source) || set;
    set = detail::import_count(d, w, source) || set;
  }
  for (const auto& c : script.commands) {
    if (c.words[0].text.starts_with("--")) {
      launch.bare(c.words);
      started = true;
    } else if (launch.read(c)) {
      started = true;
    }
  }
  if (started && script.branches) d.notes.push_back(source + ": if, for and case are read as if every line ran");
  if (!started && script.directives.empty() && !set) fail("headroom: " + source + " is not a file that is known here, and starts no training that is");
}

}  // namespace headroom::io
