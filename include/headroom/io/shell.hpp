// Distributed under the Boost Software License, Version 1.0.
// The commands that a shell script names, words expanded as far as the script itself says how. Nothing is run, nothing opened: what a
// command or the environment would have filled in stays open, and is refused where it matters.
#pragma once

#include <headroom/io/document.hpp>
#include <headroom/io/shell_arithmetic.hpp>

#include <optional>

namespace headroom::io {

/// What the script does not say stands between the first two ("$NAME"); the third is where a string's line goes on.
inline constexpr char open_from = '\x01', open_to = '\x02', line_goes_on = '\x03';

struct shell_word {
  std::string text;
  int line{};
  [[nodiscard]] bool known() const { return text.find(open_from) == std::string::npos; }
  /// For people: what is open as it stands in the script.
  [[nodiscard]] std::string shown() const {
    std::string r;
    for (const char c : text)
      if (c != open_from && c != open_to && c != line_goes_on) r += c;
    return r;
  }
};

struct shell_command {
  std::vector<shell_word> settings;  ///< NAME=value before it
  std::vector<shell_word> words;
};

struct shell_script {
  std::vector<shell_command> commands;
  std::vector<shell_word> settings;    ///< NAME=value of its own lines, the last of each name
  std::vector<shell_word> directives;  ///< #SBATCH lines
  bool branches{};                     ///< has if, for, case or while: read as if every line ran
};

namespace detail {

class shell_parser {
 public:
  shell_parser(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {}

  shell_script parse() {
    if (text_.size() > (std::size_t{1} << 20)) stop("is larger than 1 MiB");
    while (at_ < text_.size()) step();
    end_command();
    for (const auto& [name, v] : variables_)
      if (!v.array && !v.items.empty()) script_.settings.push_back({name + "=" + v.items[0].text, v.items[0].line});
    return std::move(script_);
  }

 private:
  struct variable {
    std::vector<shell_word> items;
    bool array{};
  };
  static constexpr int deepest = 16;

  [[noreturn]] void stop(const std::string& what) const { fail("headroom: " + source_ + ":" + std::to_string(line_) + ": " + what); }
  void spend(std::size_t n) {
    spent_ += n;
    if (spent_ > (std::size_t{4} << 20)) stop("the script's variables expand to more than 4 MiB");
  }
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == line_goes_on; }

  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      if (in_array_) end_word(); else end_command();
      ++line_;
    } else if (blank(c)) {
      ++at_;
      end_word();
      line_ += c == line_goes_on;
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
      ++at_;
      if (!in_array_ && has_word_ && !word_.empty() && word_.back() == '=' && assigned(word_) > 0) {
        array_name_ = word_;
        in_array_ = true;
        drop_word();
      } else if (!in_array_) {
        end_command();
      }
    } else if (c == ')') {
      ++at_;
      if (in_array_) end_array(); else end_command();
    } else if ((c == ';' || c == '&' || c == '|') && !in_array_) {
      ++at_;
      end_command();
    } else if ((c == '<' || c == '>') && !in_array_) {
      redirect();
    } else {
      add(c);
      ++at_;
    }
  }

  void add(char c) {
    if (!has_word_) start_ = line_;
    has_word_ = true;
    word_ += c;
  }
  void comment() {
    const auto end = std::min(text_.find('\n', at_), text_.size());
    const auto whole = text_.substr(at_, end - at_);
    if (whole.starts_with("#SBATCH") && (at_ == 0 || text_[at_ - 1] == '\n'))
      for (std::size_t i = 7; i < whole.size();) {
        while (i < whole.size() && blank(whole[i])) ++i;
        const auto from = i;
        while (i < whole.size() && !blank(whole[i])) ++i;
        if (from == i || whole[from] == '#') break;
        script_.directives.push_back({std::string{whole.substr(from, i - from)}, line_});
      }
    at_ = end;
  }
  void escape() {
    std::size_t spaces = 1;
    while (peek(spaces) == ' ' || peek(spaces) == '\t' || peek(spaces) == '\r') ++spaces;
    if (peek(spaces) == '\n' || at_ + spaces >= text_.size()) {  // a line that goes on, blanks behind its backslash or not
      if (spaces > 1) end_word();
      at_ = std::min(at_ + spaces + 1, text_.size());
      ++line_;
      return;
    }
    add(text_[at_ + 1]);
    at_ += 2;
  }
  void single() {
    const auto end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) stop("a ' is not closed");
    if (!has_word_) start_ = line_;
    has_word_ = true;
    for (const char c : text_.substr(at_ + 1, end - at_ - 1)) {
      word_ += c;
      line_ += c == '\n';
    }
    at_ = end + 1;
  }
  void twice() {
    if (!has_word_) start_ = line_;
    has_word_ = true;
    const int opened = line_;
    ++at_;
    while (true) {
      if (at_ >= text_.size()) {
        line_ = opened;
        stop("a \" is not closed");
      }
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return;
      }
      if (c == '\\' && at_ + 1 < text_.size()) {
        const char next = text_[at_ + 1];
        if (next == '\n') {
          word_ += line_goes_on;
          ++line_;
        } else {
          if (next != '"' && next != '\\' && next != '$' && next != '`') word_ += c;
          word_ += next;
        }
        at_ += 2;
      } else if (c == '$' || c == '`') {
        const auto value = expansion(0);
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
        line_ += c == '\n';
        ++at_;
      }
    }
  }
  void append(const std::string& text) {
    spend(text.size());
    word_ += text;
  }
  /// A value is not divided into words.
  [[nodiscard]] bool assigns() const { return !in_array_ && words_.empty() && assigned(word_) > 0; }
  void unquoted() {
    const auto value = expansion(0);
    if (assigns()) {
      for (std::size_t i = 0; i < value.items.size(); ++i) append((i > 0 ? " " : "") + value.items[i].text);
      return;
    }
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) end_word();
      int line = value.items[i].line;
      bool between = false;
      const auto& text = value.items[i].text;
      spend(text.size());
      bool open = false;
      for (const char c : text) {
        open = c == open_from || (open && c != open_to);
        if (!open && blank(c)) {
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

  static std::vector<shell_word> open(std::string_view what, int line) { return {{open_from + std::string{what.substr(0, 60)} + open_to, line}}; }

  /// What stands at a `$` or a backquote; moves behind it.
  variable expansion(int depth) {
    const auto from = at_;
    if (depth > deepest) stop("variables are nested deeper than 16 levels");
    if (peek() == '`') {
      const auto end = text_.find('`', at_ + 1);
      if (end == std::string_view::npos) stop("a ` is not closed");
      skip_to(end + 1);
      return {open(text_.substr(from, end + 1 - from), line_)};
    }
    ++at_;
    if (peek() == '(' && peek(1) == '(') {
      const auto end = closing('(', ')');
      const auto inside = text_.substr(at_ + 2, end >= at_ + 3 ? end - at_ - 3 : 0);
      skip_to(end + 1);
      if (const auto n = arithmetic(inside)) return {{{std::to_string(*n), line_}}};
      return {open(text_.substr(from, at_ - from), line_)};
    }
    if (peek() == '(') {
      const auto end = closing('(', ')');
      skip_to(end + 1);
      return {open(text_.substr(from, at_ - from), line_)};
    }
    if (peek() == '{') {
      const auto end = closing('{', '}');
      const auto inside = text_.substr(at_ + 1, end - at_ - 1);
      skip_to(end + 1);
      return braced(inside, depth);
    }
    std::size_t n = 0;
    while (shell_name_char(peek(n))) ++n;
    if (n == 0) {
      if (peek() == '@' || peek() == '*' || peek() == '?' || peek() == '#' || peek() == '!' || peek() == '$') {
        ++at_;
        return {open(text_.substr(from, 2), line_)};
      }
      return {{{"$", line_}}};
    }
    const auto name = std::string{text_.substr(at_, n)};
    at_ += n;
    return value_of(name);
  }
  variable value_of(const std::string& name) const {
    const auto it = variables_.find(name);
    if (it == variables_.end()) return {open("$" + name, line_)};
    variable v = it->second;
    if (v.array) {  // "$NAME" of an array is its first
      v.items.resize(std::min<std::size_t>(v.items.size(), 1));
      v.array = false;
    }
    return v;
  }
  variable braced(std::string_view inside, int depth) {
    std::size_t n = 0;
    while (n < inside.size() && shell_name_char(inside[n])) ++n;
    const auto name = std::string{inside.substr(0, n)};
    const auto rest = inside.substr(n);
    const auto it = variables_.find(name);
    if (!name.empty() && rest.empty()) return value_of(name);
    if (!name.empty() && (rest == "[@]" || rest == "[*]")) return it != variables_.end() ? it->second : variable{open("${" + std::string{inside} + "}", line_)};
    const bool colon = rest.starts_with(":-") || rest.starts_with(":=");
    if (!name.empty() && (colon || rest.starts_with("-") || rest.starts_with("="))) {
      // A value of the environment would win, but a script that is read here has none.
      if (it != variables_.end() && !(colon && it->second.items.empty())) return value_of(name);
      shell_parser inner{rest.substr(colon ? 2 : 1), source_};
      return {{{inner.one_word(variables_, line_, depth + 1), line_}}};
    }
    return {open("${" + std::string{inside} + "}", line_)};
  }
  /// The text as one word between double quotes would be.
  std::string one_word(const std::map<std::string, variable, std::less<>>& known, int line, int depth) {
    variables_ = known;
    line_ = line;
    while (at_ < text_.size()) {
      if (text_[at_] == '$' || text_[at_] == '`') {
        const auto v = expansion(depth);
        if (!v.items.empty()) append(v.items[0].text);
      } else {
        if (text_[at_] != '"' && text_[at_] != '\'') word_ += text_[at_];
        ++at_;
      }
    }
    return word_;
  }

  /// Where the bracket that opens here closes.
  [[nodiscard]] std::size_t closing(char opens, char closes) const {
    int depth = 0;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      if (text_[i] == opens) ++depth;
      if (text_[i] == closes && --depth == 0) return i;
    }
    stop(std::string{"a $"} + opens + " is not closed");
  }
  void skip_to(std::size_t to) {
    for (; at_ < to && at_ < text_.size(); ++at_) line_ += text_[at_] == '\n';
  }

  /// $((…)), where the script says its names.
  [[nodiscard]] std::optional<std::int64_t> arithmetic(std::string_view text) const {
    return shell_sum{text, [this](std::string_view name) -> const std::string* {
                       const auto it = variables_.find(name);
                       return it == variables_.end() || it->second.items.size() != 1 ? nullptr : &it->second.items[0].text;
                     }}.value();
  }

  void redirect() {
    end_word();
    if (!words_.empty() && words_.back().text.size() == 1 && words_.back().text[0] >= '0' && words_.back().text[0] <= '9' && at_ > 0 && text_[at_ - 1] == words_.back().text[0])
      words_.pop_back();  // the number of a stream
    const bool document = text_.substr(at_, 2) == "<<" && peek(2) != '<';
    while (peek() == '<' || peek() == '>' || peek() == '&' || peek() == '|' || (document && peek() == '-')) ++at_;
    while (peek() == ' ') ++at_;
    const auto from = at_;
    while (at_ < text_.size() && !blank(peek()) && peek() != ';' && peek() != '|') ++at_;
    if (!document) return;
    std::string end;
    for (const char c : text_.substr(from, at_ - from))
      if (c != '\'' && c != '"') end += c;
    skip_to(std::min(text_.find('\n', at_), text_.size()));
    const auto inside = std::min(at_ + 1, text_.size());
    const int line = line_ + 1;
    auto until = inside;
    while (at_ < text_.size()) {
      const auto first = at_ + 1;
      until = std::min(first, text_.size());
      const auto last = std::min(text_.find('\n', first), text_.size());
      auto one = text_.substr(std::min(first, text_.size()), last - std::min(first, text_.size()));
      while (!one.empty() && blank(one.front())) one.remove_prefix(1);
      skip_to(last);
      if (one == end) break;
    }
    // What sbatch reads there is a script of its own.
    if (!words_.empty() && words_[0].text == "sbatch") parse_inside(text_.substr(inside, until - inside), line, {});
  }

  void drop_word() {
    word_.clear();
    has_word_ = false;
  }
  void end_word() {
    if (!has_word_) return;
    auto& to = in_array_ ? array_ : words_;
    if (to.size() > 100'000) stop("the script has more than 100,000 words");
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
    auto& v = variables_[array_name_.substr(0, n)];
    if (array_name_[n] != '+') v.items.clear();
    v.array = true;
    for (auto& w : array_) v.items.push_back(std::move(w));
    array_.clear();
    in_array_ = false;
  }
  void assign(const shell_word& word) {
    const auto n = assigned(word.text);
    auto& v = variables_[word.text.substr(0, n)];
    const bool more = word.text[n] == '+';
    auto value = word.text.substr(n + (more ? 2 : 1));
    if (more && !v.items.empty() && !v.array) value = v.items[0].text + value;
    spend(value.size());
    v = {{{value, word.line}}, false};
  }
  void end_command() {
    if (in_array_ && at_ < text_.size()) return end_word();
    if (in_array_) stop("an array's ( is not closed");
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
    spend(inside.size());
    shell_parser inner{inside, source_};
    inner.variables_ = variables_;
    inner.line_ = line;
    inner.level_ = level_ + 1;
    inner.spent_ = spent_;
    auto said = inner.parse();
    spent_ = inner.spent_;
    for (auto& one : said.commands) {
      one.settings.insert(one.settings.begin(), settings.begin(), settings.end());
      script_.commands.push_back(std::move(one));
    }
    script_.directives.insert(script_.directives.end(), said.directives.begin(), said.directives.end());
    return true;
  }

  std::string_view text_;
  std::string source_;
  std::size_t at_{};
  int line_{1};
  int start_{1};
  int level_{};
  std::size_t spent_{};
  std::string word_;
  bool has_word_{};
  bool in_array_{};
  std::string array_name_;
  std::vector<shell_word> array_;
  std::vector<shell_word> words_;
  std::map<std::string, variable, std::less<>> variables_;
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
