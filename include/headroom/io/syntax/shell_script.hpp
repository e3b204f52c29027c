// Distributed under the Boost Software License, Version 1.0.
// What a shell script says, as far as it is read: its commands, its variables, the files that it writes itself.
#pragma once

#include <headroom/io/syntax/document.hpp>

#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace headroom::io {

/// What the script does not say stands between the first two ("$NAME"); the third is where a string's line goes on.
inline constexpr char open_from = '\x01', open_to = '\x02', line_goes_on = '\x03';

struct shell_word {
  std::string text;
  int line{};
  bool quoted{}, bare{};  ///< some of it stands in quotes, some does not
  bool sealed{};          ///< in quotes stand signs that are a pattern's outside of them
  [[nodiscard]] bool known() const { return text.find(open_from) == std::string::npos; }
  /// For people: what is open as it stands in the script.
  [[nodiscard]] std::string shown() const {
    std::string r;
    for (const char c : text)
      if (c != open_from && c != open_to && c != line_goes_on) r += c;
    return r;
  }
  friend bool operator==(const shell_word& a, const shell_word& b) { return a.text == b.text && a.line == b.line; }
};

struct shell_command {
  std::vector<shell_word> settings;  ///< NAME=value before it
  std::vector<shell_word> words;
  std::string loops{};               ///< the values that the loops around it have here: "LR=1e-4 SEED=1"
};

/// What sed puts in the place of a word, once in each line or as often as it stands there.
struct shell_edit {
  std::string word, by;
  bool all{};
};

/// A file that the script writes from its own text: cat > FILE <<END, echo … > FILE; or from another file: sed s/…/…/ OTHER > FILE.
struct shell_file {
  std::string path{}, text{};
  int line{};
  bool sure{};  ///< false: in a branch of which the script does not say whether it runs
  std::string from{};               ///< the other file; its own path where it is changed in place
  std::vector<shell_edit> edits{};
  bool plain{true};                 ///< false: changed by what is not read
};

struct shell_script {
  std::vector<shell_command> commands;
  std::vector<std::pair<std::size_t, shell_command>> installs;  ///< pip …, and before which of the commands
  std::vector<shell_word> settings;    ///< NAME=value of its own lines, the last of each name
  std::vector<shell_word> directives;  ///< #SBATCH lines
  std::vector<shell_file> files;
  std::set<std::string> unset;         ///< names that were asked for and nobody set: read as empty
};

/// Values of the environment that a script is read in, by name; "1" and so on are its own arguments.
using shell_values = std::vector<std::pair<std::string, std::string>>;

namespace detail {

inline bool shell_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == line_goes_on; }

struct shell_variable {
  std::vector<shell_word> items;
  bool array{};
  bool whole{};  ///< a default between quotes: "${NAME:-"a b"}" is one word outside of quotes, too
  bool operator==(const shell_variable& o) const {  // wherever it was said
    return array == o.array && std::equal(items.begin(), items.end(), o.items.begin(), o.items.end(), [](const auto& a, const auto& b) { return a.text == b.text; });
  }
  /// What a copy takes.
  [[nodiscard]] std::size_t cost() const {
    return std::accumulate(items.begin(), items.end(), items.size(), [](std::size_t sum, const auto& w) { return sum + w.text.size(); });
  }
  [[nodiscard]] bool known() const {
    return std::all_of(items.begin(), items.end(), [](const auto& w) { return w.known(); });
  }
};

/// What a script and the strings of commands within it share.
struct shell_state {
  std::map<std::string, shell_variable, std::less<>> variables{};
  std::set<std::string, std::less<>> given{};  ///< by the environment
  std::map<std::string, shell_variable, std::less<>> defaults{};  ///< that ${NAME:=…} gives in the command that is being read
  std::set<std::string, std::less<>> not_taken{};  ///< names that a branch sets which surely does not run
  std::set<std::string> emptied{};                 ///< … that were asked for, and read as empty
  struct function {
    std::string text;
    int line{};
  };
  std::map<std::string, function, std::less<>> functions{};
  struct change {
    std::string name;
    std::optional<shell_variable> before;
  };
  std::vector<change> changes{};  ///< since the first branch that is open
  std::vector<change> laid{};     ///< by the NAME=value before the word that is being read
  std::vector<change> locals{};   ///< names that the functions which are being called have for themselves, and their values outside
  int calls{};                    ///< of functions, one within another
  bool sourced{};                 ///< another script's variables are not known
  bool ended{};                   ///< the shell that runs what is read
  bool guessed{};                 ///< a test was decided by what nobody sets: who starts the script may have meant to
  std::string source{};
  work_left work{};

  void spend(std::size_t steps, int line = 0) {
    if (!work.spend(steps)) fail("headroom: " + source + (line > 0 ? ":" + std::to_string(line) : "") + ": the script's variables and branches expand to more than " + std::to_string(most_work >> 20) + " MiB");
  }
  void set(const std::string& name, shell_variable value, bool watched) {
    const auto it = variables.find(name);
    if (watched && it != variables.end()) spend(it->second.cost());
    if (watched) changes.push_back({name, it == variables.end() ? std::nullopt : std::optional{it->second}});
    if (it == variables.end())
      variables.emplace(name, std::move(value));
    else
      it->second = std::move(value);
  }
  /// What a variable is after NAME=value or NAME+=value: of a list the first becomes another.
  [[nodiscard]] shell_variable after(const shell_word& said, std::size_t name_length) {
    const bool more = said.text[name_length] == '+';
    const auto it = variables.find(std::string_view{said.text}.substr(0, name_length));
    spend(said.text.size() + (it == variables.end() ? 0 : it->second.cost()), said.line);
    shell_variable v = it != variables.end() && it->second.array ? it->second : shell_variable{};
    auto value = said.text.substr(name_length + (more ? 2 : 1));
    if (more && it != variables.end() && !it->second.items.empty()) value = it->second.items[0].text + value;
    if (v.items.empty()) v.items.emplace_back();
    v.items[0] = {std::move(value), said.line};
    return v;
  }
  /// A value that holds for the values behind it on the line, until lift().
  void lay(const std::string& name, shell_variable value) {
    const auto it = variables.find(name);
    spend(it == variables.end() ? 1 : it->second.cost());
    laid.push_back({name, it == variables.end() ? std::nullopt : std::optional{it->second}});
    variables[name] = std::move(value);
  }
  void lift() { restore(laid, 0); }
  void undo(std::size_t down_to) { restore(changes, down_to); }
  /// A name is the function's own until its call ends.
  void keep(const std::string& name) {
    const auto it = variables.find(name);
    spend(it == variables.end() ? 1 : it->second.cost());
    locals.push_back({name, it == variables.end() ? std::nullopt : std::optional{it->second}});
  }
  void end_call(std::size_t locals_before) { restore(locals, locals_before); }
  /// $1 and so on, $#, $@ and $*. Those that were there before and are no more are empty.
  void place(std::vector<shell_word> own, int line, bool watched) {
    const auto before = variables.find("@");
    const auto had = before == variables.end() ? 0 : before->second.items.size();
    for (std::size_t i = 0; i < std::min<std::size_t>(std::max(own.size(), had), 99); ++i) {
      const auto name = std::to_string(i + 1);
      if (calls > 0 && i >= had) keep(name);
      set(name, i < own.size() ? shell_variable{{own[i]}} : shell_variable{}, watched);
    }
    set("#", {{{std::to_string(own.size()), line}}}, watched);
    set("*", {own, true}, watched);
    set("@", {std::move(own), true}, watched);
  }

 private:
  void restore(std::vector<change>& from, std::size_t down_to) {
    for (; from.size() > down_to; from.pop_back()) {
      auto& c = from.back();
      if (c.before)
        variables[c.name] = std::move(*c.before);
      else
        variables.erase(c.name);
    }
  }
};

}  // namespace detail

}  // namespace headroom::io
