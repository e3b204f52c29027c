// Distributed under the Boost Software License, Version 1.0.
// What a command of a shell script does to what is read of it: variables, functions, files. No command is run.
#pragma once

#include <headroom/io/syntax/shell_line.hpp>

#include <charconv>
#include <functional>

namespace headroom::io::detail {

class shell_commands {
 public:
  /// Reads a text within the script; its variables are the script's, or its own.
  using reader = std::function<void(std::string_view text, int line, const std::vector<shell_word>& settings, bool own)>;

  shell_commands(shell_cursor& cursor, shell_script& script, shell_flow& flow, reader inside) : c_(&cursor), script_(&script), flow_(&flow), files_(cursor, script, flow), inside_(std::move(inside)) {}

  [[nodiscard]] shell_settled settled() const { return {*c_->state, script_->unset, !script_->directives.empty()}; }
  /// What a command that runs does, and whether it succeeds. `surely`: nothing open decides whether it runs.
  certainty execute(const shell_line& line, bool surely) {
    const auto& words = line.words;
    surely_ = surely && !line.apart;
    for (const auto& a : line.arrays) assign_array(a, words);
    if (words.empty()) return certainty::yes;
    if (shell_declares(words[0].text)) return declared(words);
    std::size_t first = words_before_command(words);
    const bool replaces = std::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first), [](const shell_word& w) { return w.text == "exec"; });
    shell_command c;
    for (; first < words.size() && shell_assigned(words[first].text) > 0; ++first) c.settings.push_back(words[first]);
    c.words.assign(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
    if (c.words.empty()) {
      for (const auto& w : c.settings) assign(w);
      return c.settings.empty() || c.settings.back().known() ? certainty::yes : certainty::open;
    }
    if (const auto name = listed_in(c.words[0].text); !name.empty()) return leave_open({name, c.words[0].line}), certainty::yes;
    if (line.document && reads_document(c.words, *line.document, line.document_line)) return certainty::open;
    if (const auto t = builtin(c.words)) {
      if (c.words[0].text == "pip" || c.words[0].text == "pip3") c_->spend(64), script_->installs.emplace_back(script_->commands.size(), std::move(c));
      return *t;
    }
    if (files_.changes(line, c) || (line.target && files_.writes(line, c))) return certainty::yes;
    const auto t = started(line, std::move(c));
    if (replaces) end_shell();
    return t;
  }
  /// A line that surely does not run.
  void pass_over(const shell_line& line) {
    const auto assigns = [](const shell_word& w) { return w.text == "export" || shell_assigned(w.text) > 0; };
    if (flow_->in_function() || !std::all_of(line.words.begin(), line.words.end(), assigns)) return;
    for (const auto& a : line.arrays) c_->state->not_taken.emplace(a.named.substr(0, shell_assigned(a.named)));
    for (const auto& w : line.words) {
      c_->spend(w.text.size());
      if (const auto n = shell_assigned(w.text); n > 0) c_->state->not_taken.emplace(w.text.substr(0, n));
    }
  }
 private:
  /// Reads a text that a shell of its own runs, or this one, which may end there.
  void read_inside(std::string_view text, int line, const std::vector<shell_word>& settings, bool own) {
    inside_(text, line, settings, own);
    if (std::exchange(c_->state->ended, false) && !own) end_shell();
  }
  /// exit, and exec of a program.
  void end_shell() {
    if (!surely_ || !flow_->ends_all()) return;
    c_->state->ended = true;
    c_->at = c_->text.size();
  }
  [[nodiscard]] static bool has_flag(const std::vector<shell_word>& words, char flag) {
    for (std::size_t i = 1; i < words.size() && words[i].text.starts_with('-'); ++i)
      if (words[i].text.find(flag) != std::string::npos) return true;
    return false;
  }
  /// Whether what is declared is a function's own: local, declare and typeset without -g.
  [[nodiscard]] bool in_call(const std::vector<shell_word>& words) const {
    return c_->state->calls > 0 && !words.empty() && (words[0].text == "local" || words[0].text == "declare" || words[0].text == "typeset") && !has_flag(words, 'g');
  }
  /// export NAME=value NAME …
  certainty declared(const std::vector<shell_word>& words) {
    const bool own = in_call(words), whole = has_flag(words, 'i');
    auto t = certainty::yes;
    for (const auto& w : std::span{words}.subspan(1)) {
      const auto n = shell_assigned(w.text);
      const auto name = w.text.substr(0, n > 0 ? n : std::string::npos);
      if (name.empty() || !std::all_of(name.begin(), name.end(), shell_name_char)) continue;
      if (own) c_->state->keep(name);
      if (own && n > 0 && w.text[n] != '+') c_->state->set(name, {}, flow_->nested());  // no list that the name is outside
      if (n > 0 && whole)
        sum_of(name, w.text.substr(w.text.find('=') + 1), w.line);
      else if (n > 0)
        assign(w);
      else if (own)
        c_->state->set(name, {}, flow_->nested());
      if (n > 0) t = w.known() ? certainty::yes : certainty::open;
    }
    return t;
  }
  /// `in`: the words before it.
  void assign_array(const shell_line::array& a, const std::vector<shell_word>& in) {
    const auto n = shell_assigned(a.named);
    const auto name = a.named.substr(0, n);
    if (in_call(in)) c_->state->keep(name);
    shell_variable v{{}, true};
    if (const auto it = c_->state->variables.find(name); a.named[n] == '+' && it != c_->state->variables.end()) v.items = it->second.items;
    v.items.insert(v.items.end(), a.items.begin(), a.items.end());
    const auto placed = [](const shell_word& w) { return w.text.starts_with('[') && w.text.find("]=") != std::string::npos; };
    if (std::any_of(a.items.begin(), a.items.end(), placed)) return leave_open({name, a.items[0].line});  // ([2]=x [key]=y)
    c_->spend(v.cost());
    c_->state->set(name, std::move(v), flow_->nested());
  }
  /// NAME=SUM
  void sum_of(const std::string& name, std::string_view sum, int line) {
    if (const auto value = c_->arithmetic(sum))
      assign({name + "=" + std::to_string(*value), line});
    else
      leave_open({name, line});
  }
  /// A value that is given says what the script leaves to a command: GPUS=$(nvidia-smi -L | wc -l).
  void assign(const shell_word& word) {
    const auto n = shell_assigned(word.text);
    auto name = word.text.substr(0, n);
    auto value = c_->state->after(word, n);
    if (c_->state->given.contains(name) && !value.known()) return;
    c_->state->set(name, std::move(value), flow_->nested());
  }
  void leave_open(const shell_word& name) {
    if (!name.text.empty() && std::all_of(name.text.begin(), name.text.end(), shell_name_char)) c_->state->set(name.text, {shell_cursor::open("$" + name.text, name.line)}, flow_->nested());
  }

  /// read -d '' NAME <<END: all lines are the variable's.
  bool reads_document(const std::vector<shell_word>& w, std::string text, int line) {
    if (w.size() < 3 || w[0].text != "read" || !std::all_of(w.back().text.begin(), w.back().text.end(), shell_name_char)) return false;
    bool whole = false;  // -d '' and -d $'\0', without which one line is read
    for (std::size_t i = 1; i + 1 < w.size(); ++i) whole = whole || ((w[i].text == "-d" || w[i].text == "-rd") && (w[i + 1].text.empty() || i + 2 == w.size()));
    if (!whole) return false;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    assign({w.back().text + "=" + text, line});
    return true;
  }

  /// Commands of the shell itself.
  std::optional<certainty> builtin(const std::vector<shell_word>& w) {
    const auto& name = w[0].text;
    if (name == "[" || name == "[[") {
      const bool closed = w.size() > 1 && w.back().text == (name == "[" ? "]" : "]]");
      return shell_test{std::span{w}.subspan(1, w.size() - 1 - (closed ? 1 : 0)), settled(), name == "[["}.value();
    }
    if (name == "test") return shell_test{std::span{w}.subspan(1), settled(), false}.value();
    if (name == "((" && w.size() == 2) return arithmetic(w[1]);
    if (name == "let") {
      auto t = certainty::open;
      for (const auto& sum : std::span{w}.subspan(1)) t = arithmetic(sum);
      return t;
    }
    if (name == "true" || name == ":") return certainty::yes;
    if (name == "false") return certainty::no;
    if (name == "read" || name == "getopts" || name == "mapfile" || name == "readarray") {
      for (const auto& one : std::span{w}.subspan(1))
        if (!c_->state->given.contains(one.text)) leave_open(one);
      return name == "getopts" && !c_->state->variables.contains("1") ? certainty::no : certainty::open;
    }
    if (name == "source" || name == ".") c_->state->sourced = true;
    if (name == "unset" && !has_flag(w, 'f')) unset(w);
    if (name == "shift") shift(w);
    if (name == "set" && w.size() > 1 && w[1].text == "--") c_->state->place({w.begin() + 2, w.end()}, w[0].line, flow_->nested());
    // A status that is not 0, behind a test or in a function, is of a script that was not started as it should be: what that would run is read.
    const bool fails = name == "exit" && w.size() > 1 && w[1].text != "0";
    if (name == "exit" && !fails) end_shell();
    if (fails && surely_ && flow_->plain()) c_->at = c_->text.size();
    if ((name == "continue" || name == "break") && surely_ && !c_->state->guessed && w.size() == 1) return flow_->skip(name == "break"), certainty::yes;
    if (name == "return" && surely_ && flow_->ends_all()) c_->at = c_->text.size();
    static constexpr std::string_view succeed[] = {".", "cd", "conda", "exit", "export", "mkdir", "module", "pip", "pip3", "return", "set", "shift", "sleep", "source", "trap", "ulimit", "unset", "wait"};
    if (std::find(std::begin(succeed), std::end(succeed), name) != std::end(succeed)) return certainty::yes;
    return std::nullopt;
  }
  void unset(const std::vector<shell_word>& w) {
    for (const auto& one : std::span{w}.subspan(1))
      if (!one.text.empty() && std::all_of(one.text.begin(), one.text.end(), shell_name_char)) c_->state->set(one.text, {}, flow_->nested());
  }
  /// Where nobody says what $@ is, it stays so.
  void shift(const std::vector<shell_word>& w) {
    const auto it = c_->state->variables.find("@");
    if (it == c_->state->variables.end()) return;
    auto own = it->second.items;
    std::size_t n = 1;
    if (w.size() > 1 && std::from_chars(w[1].text.data(), w[1].text.data() + w[1].text.size(), n).ec != std::errc{}) return leave_open({"@", w[0].line});
    if (n > own.size()) return;
    own.erase(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(n));
    c_->state->place(std::move(own), w[0].line, flow_->nested());
  }
  /// NAME=SUM, or a sum that is a test.
  certainty arithmetic(shell_word sum) {
    std::erase_if(sum.text, [](char c) { return shell_blank(c); });
    const auto n = shell_assigned(sum.text);
    const bool gives = n > 0 && sum.text[n] == '=' && sum.text[n + 1] != '=';
    const auto rest = std::string_view{sum.text}.substr(gives ? n + 1 : 0);
    for (const auto& name : shell_changed_names(rest)) leave_open({name, sum.line});
    if (!gives) return shell_arithmetic_test(rest, *c_);
    sum_of(sum.text.substr(0, n), rest, sum.line);
    return certainty::open;
  }
  /// A program, a function, or a string of commands.
  certainty started(const shell_line& line, shell_command c) {
    const auto& name = c.words[0].text;
    if (line.document && name == "tee" && c.words.size() > 1) {
      files_.write(c.words.back(), *line.document, line.document_line, false);
      return certainty::yes;
    }
    if (line.document && (name == "sbatch" || name == "bash" || name == "sh")) {  // a script of its own
      read_inside(*line.document, line.document_line, c.settings, true);
      return certainty::open;
    }
    if (const auto f = c_->state->functions.find(name); f != c_->state->functions.end()) {
      const auto called = f->second;
      call(called, c);
      return certainty::open;
    }
    if (const auto within = command_in_string(c); !within.text.text.empty()) {
      const auto known = script_->commands.size();
      read_inside(within.text.text, within.text.line, c.settings, name != "eval");
      if (name == "srun" || name == "mpirun" || name == "mpiexec") {  // what starts the string starts its commands
        c_->spend((script_->commands.size() - known) * shell_variable{{c.words.begin(), c.words.begin() + static_cast<std::ptrdiff_t>(within.at)}}.cost());
        for (auto i = known; i < script_->commands.size(); ++i) script_->commands[i].words.insert(script_->commands[i].words.begin(), c.words.begin(), c.words.begin() + static_cast<std::ptrdiff_t>(within.at));
      }
      return certainty::open;
    }
    for (auto& w : c.words) std::erase(w.text, line_goes_on);
    c.loops = flow_->loops();
    c_->spend(c.loops.size() + 64);
    script_->commands.push_back(std::move(c));
    return name == "echo" ? certainty::yes : certainty::open;
  }
  void call(const shell_state::function& f, const shell_command& c) {
    auto& state = *c_->state;
    const auto before = state.locals.size();
    const auto outside = state.variables.find("@");
    const auto had = outside == state.variables.end() ? 0 : outside->second.items.size();
    std::vector<shell_word> own{c.words.begin() + 1, c.words.end()};
    for (std::size_t i = 0; i < std::min<std::size_t>(std::max(own.size(), had), 99); ++i) state.keep(std::to_string(i + 1));
    for (const auto* name : {"#", "*", "@"}) state.keep(name);
    state.place(std::move(own), c.words[0].line, flow_->nested());
    ++state.calls;
    read_inside(f.text, f.line, c.settings, false);
    --state.calls;
    state.end_call(before);
  }

  shell_cursor* c_;
  shell_script* script_;
  shell_flow* flow_;
  shell_written_files files_;
  reader inside_;
  bool surely_{};  ///< nothing open decides whether what is executed runs, in this shell
};

}  // namespace headroom::io::detail
