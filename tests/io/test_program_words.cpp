// Distributed under the Boost Software License, Version 1.0.
// Completions and manual pages: what bash makes of them, and that each option of each command is in them.
#if defined(HEADROOM_PROGRAM)

#include "program.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <vector>

namespace test_program_words {

using namespace test_programs;

namespace {

std::vector<std::string> commands(const scratch& at) {
  std::vector<std::string> all;
  std::istringstream help{at.run("--help").out};
  bool below = false;
  for (std::string line; std::getline(help, line);) {
    if (below && line.starts_with("  ")) all.push_back(line.substr(2, line.find(' ', 2) - 2));
    if (line.starts_with("Subcommands:")) below = true;
    if (line.starts_with("Examples:")) break;
  }
  return all;
}

/// What bash offers for a line, whose last word is being typed.
std::string offered(const scratch& at, const std::string& line) {
  const auto script = at.file("headroom.bash", at.run("completion bash").out + "read -ra COMP_WORDS <<< '" + line + "'\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_headroom\necho \"${COMPREPLY[*]}\"\n");
  const auto out = at.file("offered");
  REQUIRE(std::system(("bash " + script + " > " + out).c_str()) == 0);
  return headroom::io::read_file(out);
}

}  // namespace

TEST_CASE("bash completes commands, options and nothing else") {
  const scratch at;
  CHECK(offered(at, "headroom esti") == "estimate\n");
  CHECK(offered(at, "headroom estimate --bri") == "--brief\n");
  CHECK(offered(at, "headroom plan --t") == "--top --threads --tokens\n");
  CHECK(offered(at, "headroom count --brief") == "\n");
}

TEST_CASE("every command has a page, and every option of it is on the page and in the completions") {
  const scratch at;
  const auto all = commands(at);
  CHECK(all.size() >= 15);
  const auto zsh = at.run("completion zsh").out, fish = at.run("completion fish").out, program = at.run("man").out;
  for (const auto& name : all) {
    CAPTURE(name);
    const auto page = at.run("man " + name).out;
    CHECK(page.starts_with(".TH HEADROOM-"));
    CHECK(holds(program, ".TP\n\\fB" + name + "\\fR\n"));
    std::istringstream help{at.run(name + " --help").out};
    for (std::string line; std::getline(help, line) && !line.starts_with("Examples:");) {
      const auto from = line.find("--");
      if (!line.starts_with("  -") || from == std::string::npos) continue;
      const auto option = line.substr(from, line.find_first_of(" ,", from) - from);
      CAPTURE(option);
      CHECK(holds(page, "\\fB\\-\\-" + option.substr(2).substr(0, option.find('-', 2) == std::string::npos ? std::string::npos : option.find('-', 2) - 2)));
      CHECK(holds(zsh, "'" + option + "["));
      CHECK(holds(fish, "__fish_seen_subcommand_from " + name + "' -l " + option.substr(2)));
    }
  }
  CHECK(at.run("completion tcsh").status == 2);
  CHECK(one_sentence(at.run("man no-such-command")));
}

}  // namespace test_program_words

#endif
