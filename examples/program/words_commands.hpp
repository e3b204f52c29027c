// Distributed under the Boost Software License, Version 1.0.
// What the command line offers of commands that describe the command line itself.
#pragma once

#include <headroom/error.hpp>

#include <ostream>

#include "session.hpp"
#include "shell_words.hpp"

namespace program {

inline void offer_completion(CLI::App& app, session& s) {
  const auto shell = std::make_shared<std::string>();
  auto* command = app.add_subcommand("completion", "What makes a shell complete commands, options and files: for bash, zsh or fish");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(use(R"(  headroom completion bash > /etc/bash_completion.d/headroom
  headroom completion fish > ~/.config/fish/completions/headroom.fish
)", written_status));
  command->callback([shell, &app, &s] { s.io.out << (*shell == "bash" ? bash_completion(app) : *shell == "zsh" ? zsh_completion(app) : fish_completion(app)); });
}

inline void offer_man(CLI::App& app, session& s) {
  const auto name = std::make_shared<std::string>();
  auto* command = app.add_subcommand("man", "The manual page of the program, or of one of its commands, as man reads it");
  command->add_option("COMMAND", *name, "One of the commands; nothing: the program");
  command->footer(use(R"(  headroom man plan | man -l -
  headroom man > headroom.1
)", written_status));
  command->callback([name, &app, &s] {
    const auto page = man_page(app, *name, app.get_version_ptr() == nullptr ? std::string{} : app.version());
    if (page.empty()) throw headroom::error("headroom: there is no command " + *name + "; see headroom --help");
    s.io.out << page;
  });
}

}  // namespace program
