// Distributed under the Boost Software License, Version 1.0.
// The commands that a shell script names, words expanded as far as the script itself says how. Nothing is run, nothing opened: what a
// command or the environment would have filled in stays open, and is refused where it matters.
#pragma once

#include <headroom/io/syntax/shell_cursor.hpp>

namespace headroom::io {

namespace detail {

class shell_parser {
 public:
  shell_parser(std::string_view text, const std::string& source) : c_{.text = text, .source = source} {}

  shell_script parse() {
    if (c_.text.size() > (std::size_t{1} << 20)) c_.stop("is larger than 1 MiB");
    while (c_.at < c_.text.size()) step();
    end_command();
    for (const auto& [name, v] : c_.variables)
      if (!v.array && !v.items.empty()) script_.settings.push_back({name + "=" + v.items[0].text, v.items[0].line});
    return std::move(script_);
  }

 private:
  void step() {
    const char c = c_.text[c_.at];
    if (c == '\n') {
      ++c_.at;
      if (in_array_) end_word(); else end_command();
      ++c_.line;
    } else if (shell_blank(c)) {
      ++c_.at;
      end_word();
      c_.line += c == line_goes_on;
    } else if (c == '#' && !has_word_) {
      comment();
    } else if (c == '\\') {
      escape();
    } else if (c == '\'') {
      single();
    } else if (c == '"') {
      twice();
    } else if (c == '$' || c == '`') {
      unquoted();
    } else if (c == '(') {
      ++c_.at;
      if (!in_array_ && has_word_ && !word_.empty() && word_.back() == '=' && assigned(word_) > 0) {
        array_name_ = word_;
        in_array_ = true;
        drop_word();
      } else if (!in_array_) {
        end_command();
      }
    } else if (c == ')') {
      ++c_.at;
      if (in_array_) end_array(); else end_command();
    } else if ((c == ';' || c == '&' || c == '|') && !in_array_) {
      ++c_.at;
      end_command();
    } else if ((c == '<' || c == '>') && !in_array_) {
      redirect();
    } else {
      add(c);
      ++c_.at;
    }
  }

  void add(char c) {
    if (!has_word_) start_ = c_.line;
    has_word_ = true;
    word_ += c;
  }
  void comment() {
    const auto end = std::min(c_.text.find('\n', c_.at), c_.text.size());
    const auto whole = c_.text.substr(c_.at, end - c_.at);
    if (whole.starts_with("#SBATCH") && (c_.at == 0 || c_.text[c_.at - 1] == '\n'))
      for (std::size_t i = 7; i < whole.size();) {
        while (i < whole.size() && shell_blank(whole[i])) ++i;
        const auto from = i;
        while (i < whole.size() && !shell_blank(whole[i])) ++i;
        if (from == i || whole[from] == '#') break;
        script_.directives.push_back({std::string{whole.substr(from, i - from)}, c_.line});
      }
    c_.at = end;
  }
  void escape() {
    std::size_t spaces = 1;
    while (c_.peek(spaces) == ' ' || c_.peek(spaces) == '\t' || c_.peek(spaces) == '\r') ++spaces;
    if (c_.peek(spaces) == '\n' || c_.at + spaces >= c_.text.size()) {  // a line that goes on, blanks behind its backslash or not
      if (spaces > 1) end_word();
      c_.at = std::min(c_.at + spaces + 1, c_.text.size());
      ++c_.line;
      return;
    }
    add(c_.text[c_.at + 1]);
    c_.at += 2;
  }
  void single() {
    const auto end = c_.text.find('\'', c_.at + 1);
    if (end == std::string_view::npos) c_.stop("a ' is not closed");
    if (!has_word_) start_ = c_.line;
    has_word_ = true;
    for (const char c : c_.text.substr(c_.at + 1, end - c_.at - 1)) {
      word_ += c;
      c_.line += c == '\n';
    }
    c_.at = end + 1;
  }
  void twice() {
    if (!has_word_) start_ = c_.line;
    has_word_ = true;
    const int opened = c_.line;
    ++c_.at;
    while (true) {
      if (c_.at >= c_.text.size()) {
        c_.line = opened;
        c_.stop("a \" is not closed");
      }
      const char c = c_.text[c_.at];
      if (c == '"') {
        ++c_.at;
        return;
      }
      if (c == '\\' && c_.at + 1 < c_.text.size()) {
        const char next = c_.text[c_.at + 1];
        if (next == '\n') {
          word_ += line_goes_on;
          ++c_.line;
        } else {
          if (next != '"' && next != '\\' && next != '$' && next != '`') word_ += c;
          word_ += next;
        }
        c_.at += 2;
      } else if (c == '$' || c == '`') {
        const auto value = c_.expansion(0);
        if (value.array) {
          for (std::size_t i = 0; i < value.items.size(); ++i) {
            if (i > 0 && assigns())
              word_ += ' ';
            else if (i > 0)
              end_word();
            if (!has_word_) start_ = value.items[i].line;
            has_word_ = true;
            append(value.items[i].text);
          }
        } else if (!value.items.empty()) {
          append(value.items[0].text);
        }
      } else {
        word_ += c;
        c_.line += c == '\n';
        ++c_.at;
      }
    }
  }
  void append(const std::string& text) {
    c_.spend(text.size());
    word_ += text;
  }
  /// A value is not divided into words.
  [[nodiscard]] bool assigns() const { return !in_array_ && words_.empty() && assigned(word_) > 0; }
  void unquoted() {
    const auto value = c_.expansion(0);
    if (assigns()) {
      for (std::size_t i = 0; i < value.items.size(); ++i) append((i > 0 ? " " : "") + value.items[i].text);
      return;
    }
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) end_word();
      int line = value.items[i].line;
      bool between = false;
      const auto& text = value.items[i].text;
      c_.spend(text.size());
      bool open = false;
      for (const char c : text) {
        open = c == open_from || (open && c != open_to);
        if (!open && shell_blank(c)) {
          line += c == '\n' || c == line_goes_on;
          between = true;
          continue;
        }
        if (between) end_word();
        between = false;
        if (!has_word_) start_ = line;
        has_word_ = true;
        word_ += c;
      }
      if (between) end_word();
    }
  }

  void redirect() {
    end_word();
    if (!words_.empty() && words_.back().text.size() == 1 && words_.back().text[0] >= '0' && words_.back().text[0] <= '9' && c_.at > 0 && c_.text[c_.at - 1] == words_.back().text[0])
      words_.pop_back();  // the number of a stream
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
    if (!words_.empty() && words_[0].text == "sbatch") parse_inside(c_.text.substr(inside, until - inside), line, {});
  }

  void drop_word() {
    word_.clear();
    has_word_ = false;
  }
  void end_word() {
    if (!has_word_) return;
    auto& to = in_array_ ? array_ : words_;
    if (to.size() > 100'000) c_.stop("the script has more than 100,000 words");
    if (word_ != "\\") to.push_back({word_, start_});
    drop_word();
  }
  /// Length of a NAME in NAME=value or NAME+=value; 0 for any other word.
  static std::size_t assigned(std::string_view word) {
    std::size_t n = 0;
    while (n < word.size() && shell_name_char(word[n])) ++n;
    if (n == 0 || (word[0] >= '0' && word[0] <= '9')) return 0;
    return n < word.size() && (word[n] == '=' || word.substr(n, 2) == "+=") ? n : 0;
  }
  void end_array() {
    end_word();
    const auto n = assigned(array_name_);
    auto& v = c_.variables[array_name_.substr(0, n)];
    if (array_name_[n] != '+') v.items.clear();
    v.array = true;
    for (auto& w : array_) v.items.push_back(std::move(w));
    array_.clear();
    in_array_ = false;
  }
  void assign(const shell_word& word) {
    const auto n = assigned(word.text);
    auto& v = c_.variables[word.text.substr(0, n)];
    const bool more = word.text[n] == '+';
    auto value = word.text.substr(n + (more ? 2 : 1));
    if (more && !v.items.empty() && !v.array) value = v.items[0].text + value;
    c_.spend(value.size());
    v = {{{value, word.line}}, false};
  }
  void end_command() {
    if (in_array_ && c_.at < c_.text.size()) return end_word();
    if (in_array_) c_.stop("an array's ( is not closed");
    end_word();
    auto words = std::move(words_);
    words_.clear();
    static constexpr std::string_view control[] = {"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "{", "}", "!", "time", "exec", "nohup", "[", "[["};
    std::size_t first = 0;
    while (first < words.size() && std::find(std::begin(control), std::end(control), words[first].text) != std::end(control)) {
      const auto& w = words[first].text;
      if (w == "if" || w == "for" || w == "while" || w == "case") script_.branches = true;
      if (w == "for" || w == "case" || w == "[" || w == "[[") return;  // a list, a pattern, a test: no command
      ++first;
    }
    while (first < words.size() && (words[first].text == "export" || words[first].text == "declare" || words[first].text == "local" || words[first].text == "readonly" || words[first].text == "env")) {
      ++first;
      while (first < words.size() && words[first].text.size() > 1 && words[first].text[0] == '-' && assigned(words[first].text) == 0 && words[first].text[1] != '-') ++first;
    }
    shell_command c;
    for (; first < words.size() && assigned(words[first].text) > 0; ++first) c.settings.push_back(words[first]);
    c.words.assign(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
    if (c.words.empty()) {
      for (const auto& w : c.settings) assign(w);
      return;
    }
    if (again(c)) return;
    script_.commands.push_back(std::move(c));
  }
  /// A command in a string: sh -c "…", eval "…".
  bool again(const shell_command& c) {
    std::string inside;
    int line = 0;
    for (std::size_t i = 0; i < c.words.size(); ++i) {
      const auto& w = c.words[i].text;
      if (w == "eval" && i == 0)
        for (std::size_t k = 1; k < c.words.size(); ++k) inside += c.words[k].text + " ";
      else if (w == "sh" || w == "bash" || w.ends_with("/sh") || w.ends_with("/bash")) {
        auto k = i + 1;
        while (k < c.words.size() && c.words[k].text.starts_with("-") && c.words[k].text.find('c') == std::string::npos) ++k;
        if (k + 1 < c.words.size() && c.words[k].text.starts_with("-")) inside = c.words[k + 1].text;
      }
      if (!inside.empty()) {
        line = c.words[std::min(i + 1, c.words.size() - 1)].line;
        break;
      }
    }
    return !inside.empty() && parse_inside(inside, line, c.settings);
  }
  bool parse_inside(std::string_view inside, int line, const std::vector<shell_word>& settings) {
    if (level_ >= 4) return false;
    c_.spend(inside.size());
    shell_parser inner{inside, c_.source};
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

  shell_cursor c_;
  int start_{1};
  int level_{};
  std::string word_;
  bool has_word_{};
  bool in_array_{};
  std::string array_name_;
  std::vector<shell_word> array_;
  std::vector<shell_word> words_;
  shell_script script_;
};

}  // namespace detail

/// Throws job_error for quotes and brackets that are not closed, and for what expands without end.
inline shell_script read_shell(std::string_view text, const std::string& source) {
  check_utf8(text, source);
  for (const char c : text)
    if (c == open_from || c == open_to || c == line_goes_on) fail("headroom: " + source + " is not a text file");
  return detail::shell_parser{text, source}.parse();
}

}  // namespace headroom::io
