// Distributed under the Boost Software License, Version 1.0.
// The commands that a shell script names, words expanded as far as the script itself says how. Nothing is run, nothing opened: what a
// command or the environment would have filled in stays open, and is refused where it matters.
#pragma once

#include <headroom/io/syntax/shell_words.hpp>

namespace headroom::io {

namespace detail {

/// A command in a string, with its line: sh -c "…", eval "…". Empty where there is none.
inline shell_word command_in_string(const shell_command& c) {
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
    if (!inside.empty()) return {inside, c.words[std::min(i + 1, c.words.size() - 1)].line};
  }
  return {};
}

class shell_parser {
 public:
  shell_parser(std::string_view text, const std::string& source, const shell_values& environment) : s_{.cursor = {.text = text, .source = source}} {
    for (const auto& [name, value] : environment) c_.variables[name] = {{{value, 0}}, false};
  }

  shell_script parse() {
    if (c_.text.size() > (std::size_t{1} << 20)) c_.stop("is larger than 1 MiB");
    while (c_.at < c_.text.size()) step();
    end_command();
    for (const auto& [name, v] : c_.variables)
      if (!v.array && !v.items.empty() && v.items[0].line > 0) script_.settings.push_back({name + "=" + v.items[0].text, v.items[0].line});
    return std::move(script_);
  }

 private:
  void step() {
    const char c = c_.text[c_.at];
    if (c == '\n') {
      ++c_.at;
      if (s_.in_array) s_.end_word(); else end_command();
      ++c_.line;
    } else if (shell_blank(c)) {
      ++c_.at;
      s_.end_word();
      c_.line += c == line_goes_on;
    } else if (c == '#' && !s_.has_word) {
      comment();
    } else if (c == '\\') {
      s_.escape();
    } else if (c == '\'') {
      s_.single();
    } else if (c == '"') {
      s_.twice();
    } else if (c == '$' || c == '`') {
      s_.unquoted();
    } else if (c == '(') {
      ++c_.at;
      if (!s_.in_array && s_.has_word && !s_.word.empty() && s_.word.back() == '=' && shell_assigned(s_.word) > 0) {
        s_.array_name = s_.word;
        s_.in_array = true;
        s_.drop_word();
      } else if (!s_.in_array) {
        end_command();
      }
    } else if (c == ')') {
      ++c_.at;
      if (s_.in_array) {
        end_array();
      } else if (pattern_) {  // of a case: what stood before it is no command
        s_.end_word();
        s_.words.clear();
        pattern_ = false;
      } else {
        end_command();
      }
    } else if (c == '|' && pattern_) {
      ++c_.at;
      s_.end_word();
    } else if ((c == ';' || c == '&' || c == '|') && !s_.in_array) {
      ++c_.at;
      end_command();
      if (c == ';' && c_.peek() == ';') {
        ++c_.at;
        pattern_ = cases_ > 0;
      }
    } else if ((c == '<' || c == '>') && !s_.in_array) {
      redirect();
    } else {
      s_.add(c);
      ++c_.at;
    }
  }

  void comment() {
    const auto end = std::min(c_.text.find('\n', c_.at), c_.text.size());
    const auto whole = c_.text.substr(c_.at, end - c_.at);
    const auto known = script_.directives.size();
    if (whole.starts_with("#SBATCH") && (c_.at == 0 || c_.text[c_.at - 1] == '\n'))
      for (std::size_t i = 7; i < whole.size();) {
        while (i < whole.size() && shell_blank(whole[i])) ++i;
        const auto from = i;
        while (i < whole.size() && !shell_blank(whole[i])) ++i;
        if (from == i || whole[from] == '#') break;
        script_.directives.push_back({std::string{whole.substr(from, i - from)}, c_.line});
      }
    name_slurm_values(known);
    c_.at = end;
  }
  /// What sbatch puts into the environment, from its lines (sbatch's manual, output environment variables).
  void name_slurm_values(std::size_t from) {
    for (std::size_t i = from; i < script_.directives.size(); ++i) {
      std::string_view word = script_.directives[i].text;
      const auto equals = word.find('=');
      auto value = equals != std::string_view::npos ? word.substr(equals + 1) : i + 1 < script_.directives.size() ? std::string_view{script_.directives[i + 1].text} : std::string_view{};
      if (const auto colon = value.rfind(':'); colon != std::string_view::npos) value = value.substr(colon + 1);
      if (value.empty() || value.find_first_not_of("0123456789") != std::string_view::npos) continue;
      static constexpr std::pair<std::string_view, std::string_view> names[] = {
          {"--nodes", "SLURM_NNODES"}, {"--nodes", "SLURM_JOB_NUM_NODES"}, {"-N", "SLURM_NNODES"}, {"-N", "SLURM_JOB_NUM_NODES"}, {"--gres", "SLURM_GPUS_ON_NODE"}, {"--gpus-per-node", "SLURM_GPUS_ON_NODE"},
          {"--gpus-per-node", "SLURM_GPUS_PER_NODE"}, {"--ntasks", "SLURM_NTASKS"}, {"-n", "SLURM_NTASKS"}, {"--ntasks-per-node", "SLURM_NTASKS_PER_NODE"}, {"--cpus-per-task", "SLURM_CPUS_PER_TASK"}};
      for (const auto& [option, name] : names)
        if (word.substr(0, equals) == option) c_.variables[std::string{name}] = {{{std::string{value}, 0}}, false};
    }
  }
  void redirect() {
    s_.end_word();
    if (!s_.words.empty() && s_.words.back().text.size() == 1 && s_.words.back().text[0] >= '0' && s_.words.back().text[0] <= '9' && c_.at > 0 && c_.text[c_.at - 1] == s_.words.back().text[0])
      s_.words.pop_back();  // the number of a stream
    const bool document = c_.text.substr(c_.at, 2) == "<<" && c_.peek(2) != '<';
    while (c_.peek() == '<' || c_.peek() == '>' || c_.peek() == '&' || c_.peek() == '|' || (document && c_.peek() == '-')) ++c_.at;
    while (c_.peek() == ' ') ++c_.at;
    const auto from = c_.at;
    while (c_.at < c_.text.size() && !shell_blank(c_.peek()) && c_.peek() != ';' && c_.peek() != '|') ++c_.at;
    if (!document) return;
    std::string end;
    for (const char c : c_.text.substr(from, c_.at - from))
      if (c != '\'' && c != '"') end += c;
    c_.skip_to(std::min(c_.text.find('\n', c_.at), c_.text.size()));
    const auto inside = std::min(c_.at + 1, c_.text.size());
    const int line = c_.line + 1;
    auto until = inside;
    while (c_.at < c_.text.size()) {
      const auto first = c_.at + 1;
      until = std::min(first, c_.text.size());
      const auto last = std::min(c_.text.find('\n', first), c_.text.size());
      auto one = c_.text.substr(std::min(first, c_.text.size()), last - std::min(first, c_.text.size()));
      while (!one.empty() && shell_blank(one.front())) one.remove_prefix(1);
      c_.skip_to(last);
      if (one == end) break;
    }
    // What sbatch reads there is a script of its own.
    if (!s_.words.empty() && s_.words[0].text == "sbatch") parse_inside(c_.text.substr(inside, until - inside), line, {});
  }

  void end_array() {
    s_.end_word();
    const auto n = shell_assigned(s_.array_name);
    auto& v = c_.variables[s_.array_name.substr(0, n)];
    if (s_.array_name[n] != '+') v.items.clear();
    v.array = true;
    for (auto& w : s_.array) v.items.push_back(std::move(w));
    s_.array.clear();
    s_.in_array = false;
  }
  void assign(const shell_word& word) {
    const auto n = shell_assigned(word.text);
    auto& v = c_.variables[word.text.substr(0, n)];
    // In a branch that may not run, what is open does not replace what is known.
    if (depth_ > 0 && !word.known() && v.items.size() == 1 && v.items[0].known()) return;
    const bool more = word.text[n] == '+';
    auto value = word.text.substr(n + (more ? 2 : 1));
    if (more && !v.items.empty() && !v.array) value = v.items[0].text + value;
    c_.spend(value.size());
    v = {{{value, word.line}}, false};
  }
  void end_command() {
    if (s_.in_array && c_.at < c_.text.size()) return s_.end_word();
    if (s_.in_array) c_.stop("an array's ( is not closed");
    s_.end_word();
    auto words = std::move(s_.words);
    s_.words.clear();
    static constexpr std::string_view control[] = {"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "{", "}", "!", "time", "exec", "nohup", "[", "[["};
    std::size_t first = 0;
    while (first < words.size() && std::find(std::begin(control), std::end(control), words[first].text) != std::end(control)) {
      const auto& w = words[first].text;
      if (w == "if" || w == "for" || w == "while" || w == "case") script_.branches = true;
      if (w == "if" || w == "for" || w == "while" || w == "until" || w == "case") ++depth_;
      if (w == "fi" || w == "done" || w == "esac") depth_ -= depth_ > 0;
      if (w == "case") {
        ++cases_;
        pattern_ = true;
      }
      if (w == "esac") {
        cases_ -= cases_ > 0;
        pattern_ = false;
      }
      if (w == "for" || w == "case" || w == "[" || w == "[[") return;  // a list, a pattern, a test: no command
      ++first;
    }
    while (first < words.size() && (words[first].text == "export" || words[first].text == "declare" || words[first].text == "local" || words[first].text == "readonly" || words[first].text == "env")) {
      ++first;
      while (first < words.size() && words[first].text.size() > 1 && words[first].text[0] == '-' && shell_assigned(words[first].text) == 0 && words[first].text[1] != '-') ++first;
    }
    shell_command c;
    for (; first < words.size() && shell_assigned(words[first].text) > 0; ++first) c.settings.push_back(words[first]);
    c.words.assign(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
    if (c.words.empty()) {
      for (const auto& w : c.settings) assign(w);
      return;
    }
    if (const auto inside = command_in_string(c); !inside.text.empty() && parse_inside(inside.text, inside.line, c.settings)) return;
    script_.commands.push_back(std::move(c));
  }
  bool parse_inside(std::string_view inside, int line, const std::vector<shell_word>& settings) {
    if (level_ >= 4) return false;
    c_.spend(inside.size());
    shell_parser inner{inside, c_.source, {}};
    inner.c_.variables = c_.variables;
    inner.c_.line = line;
    inner.level_ = level_ + 1;
    inner.c_.spent = c_.spent;
    auto said = inner.parse();
    c_.spent = inner.c_.spent;
    for (auto& one : said.commands) {
      one.settings.insert(one.settings.begin(), settings.begin(), settings.end());
      script_.commands.push_back(std::move(one));
    }
    script_.directives.insert(script_.directives.end(), said.directives.begin(), said.directives.end());
    return true;
  }

  shell_words s_;
  shell_cursor& c_{s_.cursor};
  int level_{};     ///< of scripts within scripts
  int depth_{};     ///< of branches and loops
  int cases_{};     ///< that are open
  bool pattern_{};  ///< the words are a pattern of one
  shell_script script_;
};

}  // namespace detail

/// Throws job_error for quotes and brackets that are not closed, and for what expands without end.
inline shell_script read_shell(std::string_view text, const std::string& source, const shell_values& environment = {}) {
  check_utf8(text, source);
  for (const char c : text)
    if (c == open_from || c == open_to || c == line_goes_on) fail("headroom: " + source + " is not a text file");
  return detail::shell_parser{text, source, environment}.parse();
}

}  // namespace headroom::io
