// Distributed under the Boost Software License, Version 1.0.
// nanotron's command line: the configuration that run_train.py is given says everything (huggingface/nanotron run_train.py, get_args).
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/launcher_options.hpp>

namespace headroom::io::detail {

inline void nanotron_launch(draft& d, std::span<const shell_word> words, const std::string& source) {
  for (const auto& a : arguments_of(words)) {
    const auto name = dashed(a.name), place = source + ":" + std::to_string(a.line);
    if (name == "sanity-check-dataloader-interval") continue;  // it prints samples
    if (name != "config-file") {
      d.unknown_key(a.name, place, "config-file");
      continue;
    }
    if (a.values.size() != 1) fail("headroom: " + place + ": --config-file must have one value, the path of nanotron's configuration");
    if (a.values[0].text.ends_with(".py")) fail("headroom: " + place + ": " + in_quotes(a.values[0].shown()) + " is a program that makes nanotron's configuration, which is not read by this version: give the YAML that it writes");
    d.named.push_back({file_kind::nanotron, a.values[0].shown(), place});
  }
}

}  // namespace headroom::io::detail
