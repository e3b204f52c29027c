// Distributed under the Boost Software License, Version 1.0.
// The program: headroom estimate | compare | fit | solve | plan | merge | diagnose | import | export | count | list | schema | validate | completion | man. Each command is one file of program/.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <headroom/error.hpp>
#include <headroom/io/syntax/printable.hpp>
#include <headroom/io/syntax/spelling.hpp>
#include <headroom/version.hpp>
#include <iostream>
#include <sstream>

#include "program/judging_commands.hpp"
#include "program/other_commands.hpp"
#include "program/words_commands.hpp"

namespace {

constexpr auto first_steps = R"(Examples:
  headroom list gpus h100
  headroom fit Qwen/Qwen2.5-7B --qlora --gpu rtx-3090
  headroom estimate examples/jobs/llama-3.1-8b-zero3.json
  headroom solve examples/jobs/llama-3.1-8b-zero3.json --for batch.micro
  headroom plan examples/searches/llama-3.1-70b-512-gpus.json --top 5

headroom COMMAND --help says more of each, with examples; examples/jobs has job files to start from.
Exit status: 0 it fits, 1 it does not fit, 2 the input is wrong, 3 not decided within --seconds.)";

/// https://no-color.org: any non-empty NO_COLOR means no colours.
bool wants_colour() {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (refused == nullptr || *refused == '\0');
}

std::string with_guess(std::string sentence, const std::string& found, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  if (const auto meant = headroom::io::closest(found, views); !meant.empty()) sentence += "; did you mean \"" + std::string{meant} + "\"?";
  return sentence + (sentence.back() == '?' ? " accepted: " : "; accepted: ") + headroom::io::listed(views);
}

/// What is wrong with a command line, in one sentence.
std::string sentence_of(const CLI::App& app, const CLI::ParseError& wrong, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  if (app.get_subcommands().empty()) {
    const bool option = !words.empty() && words[0].starts_with("-");
    if (option) return with_guess("headroom: there is no option " + words[0], words[0], {"--help", "--version"});
#if !HEADROOM_HAS_SERVER
    if (!words.empty() && words[0] == "serve") return "headroom: this program was built without serve; sh examples/run.sh serve builds it (it needs OpenSSL; Debian: libssl-dev)";
#endif
    for (const auto* c : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(c->get_name());
    return words.empty() ? with_guess("headroom: a command is required", "", names) : with_guess("headroom: there is no command " + words[0], words[0], names);
  }
  const auto* command = app.get_subcommands().front();
  for (const auto* o : command->get_options())
    if (o->nonpositional()) names.push_back("--" + o->get_lnames().front());
  for (const auto& word : words) {
    const auto flag = word.substr(0, word.find('='));
    if (flag.size() > 1 && flag.starts_with("-") && flag.find_first_not_of("-.0123456789") != std::string::npos && command->get_option_no_throw(flag) == nullptr)
      return with_guess("headroom: " + command->get_name() + " has no option " + flag, flag, names);
  }
  return "headroom: " + std::string{wrong.what()} + "; see headroom " + command->get_name() + " --help";
}

/// The commands, in the order in which --help names them.
constexpr void (*offers[])(CLI::App&, program::session&) = {
    program::offer_estimate,
    program::offer_compare,
    program::offer_fit,
    program::offer_solve,
    program::offer_plan,
    program::offer_merge,
    program::offer_diagnose,
    program::offer_import,
    program::offer_export,
    program::offer_count,
    program::offer_list,
    program::offer_schema,
    program::offer_validate,
#if HEADROOM_HAS_SERVER
    program::offer_serve,
#endif
    program::offer_completion,
    program::offer_man,
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"headroom: the memory of an LLM training job, before it is launched", "headroom"};
  app.footer(first_steps);
  app.set_version_flag("--version", std::to_string(HEADROOM_VERSION_MAJOR) + "." + std::to_string(HEADROOM_VERSION_MINOR) +
                                        "." + std::to_string(HEADROOM_VERSION_PATCH));
  app.require_subcommand(1);
  std::ostringstream answer;
  program::session session{.io = {std::cin, answer, wants_colour()}, .limit = {}};
  for (const auto offer : offers) offer(app, session);

  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") words.erase(words.begin()), words.insert(words.end(), "--help");
  try {
    app.parse(std::vector<std::string>{words.rbegin(), words.rend()});  // CLI11 takes them from the back
    session.limit.claim();
    std::cout << answer.str() << std::flush;
    if (!std::cout) throw headroom::error("headroom: the output could not be written");
    return session.status;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const headroom::out_of_time& late) {
    session.limit.claim();
    std::cerr << late.what() << '\n';
    return program::not_decided;
  } catch (const CLI::ParseError& wrong) {
    std::cerr << headroom::io::printable(sentence_of(app, wrong, words)) << '\n';
  } catch (const headroom::error& wrong) {
    std::cerr << wrong.what() << '\n';
  } catch (const std::exception& wrong) {
    std::cerr << "headroom: " << headroom::io::printable(wrong.what()) << '\n';
  }
  return 2;
}
