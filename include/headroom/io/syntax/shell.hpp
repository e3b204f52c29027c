// Distributed under the Boost Software License, Version 1.0.
// The commands that a shell script starts, words expanded as far as the script itself says how. Nothing is run, nothing opened: what a
// command or the environment would have filled in stays open, and is refused where it matters.
#pragma once

#include <headroom/io/syntax/shell_directives.hpp>
#include <headroom/io/syntax/shell_run.hpp>

namespace headroom::io {

namespace detail {

class shell_parser {
 public:
  shell_parser(std::string_view text, const std::string& source, shell_state& state, int level = 0, certainty outer = certainty::yes)
      : s_{.cursor = {.text = text, .source = source, .state = &state}}, run_(c_, script_, outer, level > 0, [this](auto... a) { inside(a...); }), level_(level) {}
  shell_parser(const shell_parser&) = delete;
  shell_parser& operator=(const shell_parser&) = delete;

  shell_script parse(int line = 1) {
    c_.line = line;
    check_size(c_.text, c_.source, largest_text);
    do {
      while (c_.at < c_.text.size()) step();
      if (s_.in_array) c_.stop("an array's ( is not closed");
      finish_word();
    } while (c_.at < c_.text.size());  // a loop begins again
    documents();
    end_command(shell_joint::end);
    script_.unset.insert(c_.state->emptied.begin(), c_.state->emptied.end());
    return std::move(script_);
  }

 private:
  void step() {
    const char c = c_.text[c_.at];
    if (c == '\n')
      newline();
    else if (shell_blank(c)) {
      c_.line += c == line_goes_on;
      ++c_.at;
      finish_word();
    } else if (c == '#' && !s_.has_word)
      comment();
    else if (c == '\\')
      s_.escape();
    else if (c == '\'')
      s_.single();
    else if (c == '"')
      s_.twice();
    else if (c == '$' || c == '`')
      s_.unquoted();
    else if (c == open_from)
      s_.opened();
    else if (const auto length = c == '{' ? braces_.length_at(c_.text, c_.at) : 0; length > 0)
      s_.placeholder(length);
    else if (c == '(')
      bracket();
    else if (c == ')')
      closed();
    else if (!s_.in_array && (c == ';' || c == '&' || c == '|'))
      between(c);
    else if (!s_.in_array && (c == '<' || c == '>'))
      less_or_more(c);
    else {
      s_.add(c);
      ++c_.at;
    }
  }

  void less_or_more(char c) {
    if (tests()) return word_of_test(1);
    if (const auto length = c == '<' ? shell_placeholder(c_.text.substr(c_.at)) : 0; length > 0) return s_.placeholder(length);
    redirect();
  }
  /// Within [[ … ]] brackets and signs are words.
  [[nodiscard]] bool tests() const { return !s_.words.empty() && s_.words[0].text == "[[" && s_.words.back().text != "]]"; }
  void word_of_test(std::size_t length) {
    finish_word();
    for (std::size_t i = 0; i < length; ++i) s_.add(c_.text[c_.at++]);
    finish_word();
  }
  void newline() {
    const auto here = c_.at;
    finish_word();
    if (c_.at != here) return;  // a loop begins again
    ++c_.at;
    ++c_.line;
    if (s_.in_array) return;
    documents();
    if (!tests()) end_command(shell_joint::end);
  }
  /// The end of a word, which may say what becomes of the ones that follow.
  void finish_word() {
    const auto before = s_.words.size();
    s_.end_word();
    if (s_.in_array || s_.words.size() == before) return;
    if (redirects_) {
      redirects_ = false;
      if (writes_) line_.target = std::move(s_.words.back());
      s_.words.pop_back();
      return;
    }
    const auto& w = s_.words;
    if (w.size() == 1 && (!pattern_ || w[0].text == "esac") && run_.reserved(w[0].text)) {
      pattern_ = false;
      s_.words.clear();
    } else if (w.size() == 3 && w[0].text == "case" && w[2].text == "in") {
      run_.choose(w[1]);
      pattern_ = true;
      s_.words.clear();
    } else if (w.size() == 3 && w[0].text == "function" && w[2].text == "{") {
      run_.function_named(w[1].text);
      run_.reserved("{");
      s_.words.clear();
    }
  }

  void bracket() {
    if (s_.in_array || pattern_) {
      ++c_.at;
    } else if (tests()) {
      word_of_test(1);
    } else if (s_.has_word && !s_.word.empty() && s_.word.back() == '=' && shell_assigned(s_.word) > 0) {
      ++c_.at;
      s_.array_name = s_.word;
      s_.in_array = true;
      s_.drop_word();
    } else if (const auto next = c_.text.find_first_not_of(" \t", c_.at + 1); next != std::string_view::npos && c_.text[next] == ')' && (s_.has_word || !s_.words.empty())) {
      s_.end_word();
      if (!s_.words.empty()) run_.function_named(s_.words.back().text);
      s_.words.clear();
      c_.at = next + 1;
    } else if (c_.peek(1) == '(' && !s_.has_word && (s_.words.empty() || s_.words[0].text == "for")) {
      const auto end = c_.closing('(', ')');
      s_.words.push_back({"((", c_.line});
      s_.words.push_back({std::string{c_.text.substr(c_.at + 2, end >= c_.at + 3 ? end - c_.at - 3 : 0)}, c_.line});
      c_.skip_to(end + 1);
    } else {
      ++c_.at;
      end_command(shell_joint::end);
      run_.reserved("(");
    }
  }
  void closed() {
    if (tests()) return word_of_test(1);
    ++c_.at;
    if (s_.in_array) {
      s_.end_word();
      s_.in_array = false;
      const auto name = s_.array_name.substr(0, shell_assigned(s_.array_name));
      if (s_.words.empty()) c_.state->lay(name, {shell_cursor::open("$" + name, c_.line)});
      line_.arrays.push_back({s_.array_name, std::move(s_.array)});
      s_.array.clear();
    } else if (pattern_) {
      s_.end_word();
      pattern_ = false;
      run_.patterns(s_.words);
      s_.words.clear();
    } else {
      end_command(shell_joint::end);
      run_.reserved(")");
    }
  }
  /// ; & | between commands, and between patterns.
  void between(char c) {
    const bool twice = c_.peek(1) == c;
    if (tests() && twice && c != ';') return word_of_test(2);
    if (c == '&' && c_.peek(1) == '>') {
      ++c_.at;
      return redirect();
    }
    if (pattern_ && c == '|') {
      ++c_.at;
      return s_.end_word();
    }
    c_.at += twice ? 2 : 1;
    line_.apart = !twice && c != ';';
    end_command(c == ';' || (c == '&' && !twice) ? shell_joint::end : c == '&' ? shell_joint::on_success : twice ? shell_joint::on_failure : shell_joint::pipe);
    if (c != ';' || !(twice || c_.peek() == '&') || !run_.chooses()) return;
    if (c_.peek() == '&') {
      if (run_.runs() != certainty::no) c_.stop("what a choice of case goes on with behind ;& or ;;& is not read; end it with ;; and write its commands out");
      ++c_.at;
    }
    run_.end_choice();
    pattern_ = true;
  }

  void comment() {
    const auto end = std::min(c_.text.find('\n', c_.at), c_.text.size());
    const auto whole = c_.text.substr(c_.at, end - c_.at);
    const auto known = script_.directives.size();
    if (whole.starts_with("#SBATCH") && (c_.at == 0 || c_.text[c_.at - 1] == '\n')) read_directives(whole, c_.line, script_.directives);
    name_slurm_values(script_.directives, known, *c_.state);
    c_.at = end;
  }
  void redirect() {
    const auto r = s_.redirection();
    if (r.document) {
      awaited_.push_back({r.end, r.verbatim});
      return;
    }
    redirects_ = r.file;
    writes_ = r.writes;
    line_.appends = r.appends;
  }
  /// The lines between << and its end, for the command that ends here.
  void documents() {
    for (const auto& [end, verbatim] : std::exchange(awaited_, {})) {
      line_.document_line = c_.line;
      const auto lines = c_.lines_until(end);
      if (run_.runs() == certainty::no) continue;
      c_.spend(lines.size());
      shell_cursor inner{.text = lines, .source = c_.source, .state = c_.state, .line = line_.document_line};
      line_.document = verbatim ? std::string{lines} : inner.one_word(0, shell_cursor::reads::verbatim);
    }
  }
  void end_command(shell_joint then) {
    finish_word();
    redirects_ = false;
    c_.state->lift();
    s_.leading = false;
    line_.words = std::exchange(s_.words, {});
    line_.apart = std::exchange(piped_, then == shell_joint::pipe) || line_.apart;
    if (!awaited_.empty() && !line_.words.empty() && line_.words[0].text == "cat" && then == shell_joint::pipe) {  // cat <<END | tee FILE: the lines are still to come
      line_ = {};
      return;
    }
    run_.command(std::exchange(line_, {}), then);
  }
  void inside(std::string_view text, int line, const std::vector<shell_word>& settings, bool own) {
    if (level_ >= deepest_calls) c_.stop("commands within commands are nested deeper than " + std::to_string(deepest_calls) + " levels");
    c_.spend(text.size());
    const auto mark = c_.state->changes.size();
    shell_parser inner{text, c_.source, *c_.state, level_ + 1, run_.runs()};
    auto said = inner.parse(line);
    if (own) c_.state->undo(mark);
    const auto loops = run_.loops();
    c_.spend(said.commands.size() * (loops.size() + shell_variable{settings}.cost()));
    for (auto& one : said.commands) {
      one.settings.insert(one.settings.begin(), settings.begin(), settings.end());
      one.loops = loops + (loops.empty() || one.loops.empty() ? "" : " ") + one.loops;
      script_.commands.push_back(std::move(one));
    }
    script_.directives.insert(script_.directives.end(), said.directives.begin(), said.directives.end());
    std::move(said.files.begin(), said.files.end(), std::back_inserter(script_.files));
    script_.unset.merge(said.unset);
  }

  shell_words s_;
  shell_cursor& c_{s_.cursor};
  shell_script script_;
  shell_run run_;
  int level_{};      ///< of scripts within scripts
  shell_braces braces_;
  bool pattern_{};   ///< the words are a pattern of a case
  bool redirects_{}; ///< the next word is a file's name
  bool writes_{};    ///< … to which the command writes
  shell_line line_;  ///< what is known of the command beside its words
  struct awaited {
    std::string end;
    bool verbatim;
  };
  bool piped_{};                  ///< the command before writes to the one that is read
  std::vector<awaited> awaited_;  ///< what the lines after << end with
};

}  // namespace detail

/// Throws job_error for quotes and brackets that are not closed, and for what expands without end.
inline shell_script read_shell(std::string_view text, const std::string& source, const shell_values& environment = {}) {
  check_utf8(text, source);
  for (const char c : text)
    if (c == open_from || c == open_to || c == line_goes_on) fail("headroom: " + source + " is not a text file");
  detail::shell_state state{.source = source};
  detail::shell_variable own{{}, true};
  for (const auto& [name, value] : environment) {
    state.variables[name] = {{{value, 0}}, false};
    state.given.insert(name);
  }
  for (int i = 1; i < 100 && state.variables.contains(std::to_string(i)); ++i) own.items.push_back(state.variables[std::to_string(i)].items[0]);
  if (!own.items.empty()) {
    state.variables["#"] = {{{std::to_string(own.items.size()), 0}}};
    state.variables["*"] = own;
    state.variables["@"] = std::move(own);
  }
  auto script = detail::shell_parser{text, source, state}.parse();
  for (const auto& [name, v] : state.variables)
    if (!v.array && v.items.size() == 1 && v.items[0].line > 0) script.settings.push_back({name + "=" + v.items[0].text, v.items[0].line});
  return script;
}

}  // namespace headroom::io
