// Distributed under the Boost Software License, Version 1.0.
// What a command of a shell script does to what is read of it: variables, functions, files. No command is run.
#pragma once

#include <headroom/io/syntax/shell_flow.hpp>
#include <headroom/io/syntax/shell_words.hpp>

#include <functional>

namespace headroom::io::detail {

/// A command as it stands: its words, the file that its output goes to, what stands between << and its end.
struct shell_line {
  std::vector<shell_word> words{};
  std::optional<shell_word> target{};
  bool appends{};
  std::optional<std::string> document{};
  int document_line{};
};

/// A command in a string, with its line: sh -c "…", eval "…". Empty where there is none.
struct shell_string {
  shell_word text{};
  std::size_t at{};  ///< the word that starts it
};
inline shell_string command_in_string(const shell_command& c) {
  for (std::size_t i = 0; i < c.words.size(); ++i) {
    const auto& w = c.words[i].text;
    std::string inside;
    if (w == "eval" && i == 0)
      for (std::size_t k = 1; k < c.words.size(); ++k) inside += c.words[k].text + " ";
    else if (w == "sh" || w == "bash" || w.ends_with("/sh") || w.ends_with("/bash")) {
      auto k = i + 1;
      while (k < c.words.size() && c.words[k].text.starts_with("-") && c.words[k].text.find('c') == std::string::npos) ++k;
      if (k + 1 < c.words.size() && c.words[k].text.starts_with("-")) inside = c.words[k + 1].text;
    }
    if (!inside.empty()) return {{inside, c.words[std::min(i + 1, c.words.size() - 1)].line}, i};
  }
  return {};
}

class shell_commands {
 public:
  /// Reads a text within the script; its variables are the script's, or its own.
  using reader = std::function<void(std::string_view text, int line, const std::vector<shell_word>& settings, bool own)>;

  shell_commands(shell_cursor& cursor, shell_script& script, shell_flow& flow, reader inside) : c_(&cursor), script_(&script), flow_(&flow), inside_(std::move(inside)) {}

  [[nodiscard]] shell_settled settled() const { return {*c_->state, script_->unset, !script_->directives.empty()}; }
  /// What a command that runs does, and whether it succeeds. `alone`: no && or || decides whether it runs.
  certainty execute(const shell_line& line, bool alone) {
    const auto& words = line.words;
    std::size_t first = 0;
    static constexpr std::string_view before[] = {"export", "declare", "local", "readonly", "env", "time", "exec", "nohup", "typeset"};
    while (first < words.size() && std::find(std::begin(before), std::end(before), words[first].text) != std::end(before)) {
      ++first;
      while (first < words.size() && words[first].text.size() > 1 && words[first].text[0] == '-' && shell_assigned(words[first].text) == 0 && words[first].text[1] != '-') ++first;
    }
    shell_command c;
    for (; first < words.size() && shell_assigned(words[first].text) > 0; ++first) c.settings.push_back(words[first]);
    c.words.assign(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
    if (c.words.empty()) {
      for (const auto& w : c.settings) assign(w);
      return c.settings.empty() || c.settings.back().known() ? certainty::yes : certainty::open;
    }
    if (line.document && reads_document(c.words, *line.document, line.document_line)) return certainty::open;
    if (const auto t = builtin(c.words, alone)) return *t;
    if (line.target && writes(line, c)) return certainty::yes;
    return started(line, std::move(c));
  }
  /// A line that surely does not run.
  void pass_over(const shell_line& line) {
    const auto assigns = [](const shell_word& w) { return w.text == "export" || shell_assigned(w.text) > 0; };
    if (flow_->in_function() || !std::all_of(line.words.begin(), line.words.end(), assigns)) return;
    for (const auto& w : line.words) {
      c_->spend(w.text.size());
      if (const auto n = shell_assigned(w.text); n > 0) c_->state->not_taken.emplace(w.text.substr(0, n));
    }
  }
  void assign_array(const std::string& named, std::vector<shell_word> items) {
    if (flow_->runs() == certainty::no) return pass_over({{{named, c_->line}}});
    const auto n = shell_assigned(named);
    const auto name = named.substr(0, n);
    shell_variable v{{}, true};
    if (const auto it = c_->state->variables.find(name); named[n] == '+' && it != c_->state->variables.end()) v.items = it->second.items;
    for (auto& w : items) v.items.push_back(std::move(w));
    c_->spend(v.cost());
    c_->state->set(name, std::move(v), flow_->nested());
  }

 private:
  void assign(const shell_word& word) {
    const auto n = shell_assigned(word.text);
    const auto name = word.text.substr(0, n);
    const bool more = word.text[n] == '+';
    auto value = word.text.substr(n + (more ? 2 : 1));
    if (const auto it = c_->state->variables.find(name); more && it != c_->state->variables.end() && !it->second.items.empty() && !it->second.array) value = it->second.items[0].text + value;
    c_->spend(value.size() + name.size());
    c_->state->set(name, {{{value, word.line}}, false}, flow_->nested());
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
  std::optional<certainty> builtin(const std::vector<shell_word>& w, bool alone) {
    const auto& name = w[0].text;
    const auto inner = [&](std::string_view close) { return std::span{w}.subspan(1, w.size() - 1 - (w.size() > 1 && w.back().text == close)); };
    if (name == "[" || name == "[[") return shell_test{inner(name == "[" ? "]" : "]]"), settled(), name == "[["}.value();
    if (name == "test") return shell_test{inner(""), settled(), false}.value();
    if (name == "((" && w.size() == 2) return arithmetic(w[1]);
    if (name == "let") {
      auto t = certainty::open;
      for (const auto& sum : std::span{w}.subspan(1)) t = arithmetic(sum);
      return t;
    }
    if (name == "true" || name == ":") return certainty::yes;
    if (name == "false") return certainty::no;
    if (name == "read" || name == "getopts" || name == "mapfile" || name == "readarray") {
      for (const auto& one : std::span{w}.subspan(1)) leave_open(one);
      return name == "getopts" && !c_->state->variables.contains("1") ? certainty::no : certainty::open;
    }
    if (name == "source" || name == ".") c_->state->sourced = true;
    if ((name == "exit" || name == "return") && alone && flow_->plain()) c_->at = c_->text.size();
    static constexpr std::string_view succeed[] = {".", "cd", "conda", "exit", "export", "mkdir", "module", "pip", "pip3", "return", "set", "shift", "sleep", "source", "trap", "ulimit", "unset", "wait"};
    if (std::find(std::begin(succeed), std::end(succeed), name) != std::end(succeed)) return certainty::yes;
    return std::nullopt;
  }
  /// Whether an = gives a value, and does not compare.
  static bool gives(std::string_view sum) {
    for (auto at = sum.find('='); at != std::string_view::npos; at = sum.find('=', at + 1)) {
      const bool compares = (at > 0 && std::string_view{"<>!="}.find(sum[at - 1]) != std::string_view::npos) || (at + 1 < sum.size() && sum[at + 1] == '=');
      if (!compares) return true;
    }
    return false;
  }
  /// NAME=SUM, or a sum that is a test.
  certainty arithmetic(shell_word sum) {
    std::erase_if(sum.text, [](char c) { return shell_blank(c); });
    const auto n = shell_assigned(sum.text);
    if (n == 0 || sum.text[n] != '=' || sum.text[n + 1] == '=') {
      if (sum.text.find("++") != std::string::npos || sum.text.find("--") != std::string::npos || gives(sum.text)) leave_open({sum.text.substr(0, sum.text.find_first_of("+-*/=<>! ")), sum.line});
      return shell_arithmetic_test(sum.text, *c_);
    }
    const auto value = c_->arithmetic(std::string_view{sum.text}.substr(n + 1));
    if (value)
      assign({sum.text.substr(0, n + 1) + std::to_string(*value), sum.line});
    else
      leave_open({sum.text.substr(0, n), sum.line});
    return certainty::open;
  }
  /// cat > FILE <<END, tee FILE <<END, echo … > FILE.
  bool writes(const shell_line& line, const shell_command& c) {
    std::string text;
    const auto& name = c.words[0].text;
    if (name == "cat" && line.document)
      text = *line.document;
    else if (name == "echo" || name == "printf")
      for (std::size_t i = 1; i < c.words.size(); ++i) text += (i > 1 ? " " : "") + c.words[i].text;
    else
      return false;
    write(*line.target, std::move(text), line.document ? line.document_line : c.words[0].line, line.appends);
    return true;
  }
  void write(const shell_word& target, std::string text, int line, bool appends) {
    const auto path = target.shown();
    auto it = std::find_if(script_->files.begin(), script_->files.end(), [&](const shell_file& f) { return f.path == path; });
    const bool sure = flow_->runs() == certainty::yes;
    c_->spend(text.size());
    if (it == script_->files.end()) {
      if (script_->files.size() >= most_written_files) c_->stop("the script writes more than " + std::to_string(most_written_files) + " files");
      script_->files.push_back({path, std::move(text), line, sure});
      return;
    }
    it->sure = sure && (it->sure || !appends);
    it->line = line;
    if (appends) it->text.append("\n").append(text);
    else it->text = std::move(text);
  }
  /// A program, a function, or a string of commands.
  certainty started(const shell_line& line, shell_command c) {
    const auto& name = c.words[0].text;
    if (line.document && name == "tee" && c.words.size() > 1) {
      write(c.words.back(), *line.document, line.document_line, false);
      return certainty::yes;
    }
    if (line.document && (name == "sbatch" || name == "bash" || name == "sh")) {  // a script of its own
      inside_(*line.document, line.document_line, c.settings, true);
      return certainty::open;
    }
    if (const auto f = c_->state->functions.find(name); f != c_->state->functions.end()) {
      const auto called = f->second;
      call(called, c);
      return certainty::open;
    }
    if (const auto within = command_in_string(c); !within.text.text.empty()) {
      const auto known = script_->commands.size();
      inside_(within.text.text, within.text.line, c.settings, name != "eval");
      if (name == "srun" || name == "mpirun" || name == "mpiexec") {  // what starts the string starts its commands
        c_->spend((script_->commands.size() - known) * shell_variable{{c.words.begin(), c.words.begin() + static_cast<std::ptrdiff_t>(within.at)}}.cost());
        for (auto i = known; i < script_->commands.size(); ++i) script_->commands[i].words.insert(script_->commands[i].words.begin(), c.words.begin(), c.words.begin() + static_cast<std::ptrdiff_t>(within.at));
      }
      return certainty::open;
    }
    c.loops = flow_->loops();
    c_->spend(c.loops.size() + 64);
    script_->commands.push_back(std::move(c));
    return name == "echo" ? certainty::yes : certainty::open;
  }
  void call(const shell_state::function& f, const shell_command& c) {
    std::vector<std::pair<std::string, std::optional<shell_variable>>> outside;
    const auto set = [&](const std::string& name, shell_variable v) {
      const auto it = c_->state->variables.find(name);
      c_->spend(v.cost() + (it == c_->state->variables.end() ? 0 : it->second.cost()));
      outside.emplace_back(name, it == c_->state->variables.end() ? std::nullopt : std::optional{it->second});
      c_->state->set(name, std::move(v), false);
    };
    std::vector<shell_word> own{c.words.begin() + 1, c.words.end()};
    for (std::size_t i = 0; i < own.size() && i < 99; ++i) set(std::to_string(i + 1), {{own[i]}});
    set("#", {{{std::to_string(own.size()), c.words[0].line}}});
    set("*", {own, true});
    set("@", {std::move(own), true});
    inside_(f.text, f.line, c.settings, false);
    for (auto& [name, before] : outside) {
      if (before)
        c_->state->variables[name] = std::move(*before);
      else
        c_->state->variables.erase(name);
    }
  }

  shell_cursor* c_;
  shell_script* script_;
  shell_flow* flow_;
  reader inside_;
};

}  // namespace headroom::io::detail
