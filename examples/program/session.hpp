// Distributed under the Boost Software License, Version 1.0.
// What the commands of one run share: where they read and write, how long they may take, and what the program returns.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <memory>
#include <string>

#include "program.hpp"
#include "time_limit.hpp"

namespace program {

struct session {
  streams io;
  time_limit limit;
  int status{};
};

/// Offers --seconds.
inline void may_take(CLI::App* command, session& s) {
  command->add_option_function<double>("--seconds", [&s](const double& wait) { s.io.until = s.limit.start(wait); },
                                       "Answer within so many seconds, or that it is not decided: exit status 3")
      ->check(CLI::Range(0.0, 1e9))->type_name("S");
}

/// A share of the CLI's, refused in the library's words.
inline const CLI::Validator a_confidence(
    [](const std::string& text) {
      char* end = nullptr;
      const double share = std::strtod(text.c_str(), &end);
      return end != text.c_str() && *end == '\0' && share >= 0.5 && share <= 0.999 ? std::string{} : "a confidence must be a share from 0.5 to 0.999 (0.95 is 95 %), found \"" + text + "\"";
    },
    "");

/// What the help of a command says below its options.
inline std::string use(const std::string& examples, const std::string& status) { return "Examples:\n" + examples + "\n" + status; }

inline constexpr auto verdict_status = "Exit status: 0 it fits (with --confidence: at the upper end of its range), 1 it does not fit, 2 the input is wrong.";
inline constexpr auto written_status = "Exit status: 0 it was written, 2 the input is wrong.";

}  // namespace program
