// Distributed under the Boost Software License, Version 1.0.
// Python as text: its words, statements and calls. Nothing is run, and what is no Python ends in words that nobody asks for.
#pragma once

#include <headroom/io/syntax/limits.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::io {

enum class python_word : std::uint8_t { name, number, text, open_text, mark };  ///< open_text: an f-string with values in it

struct python_token {
  python_word is{};
  std::string text;
  int line{};
  bool operator==(const python_token&) const = default;
};

/// A logical line: brackets hold it together, a colon with lines below ends it.
struct python_statement {
  std::vector<python_token> tokens;
  int line{}, indent{};
  [[nodiscard]] bool begins(std::string_view word) const { return !tokens.empty() && tokens[0].is == python_word::name && tokens[0].text == word; }
};

/// An argument of a call; `name` is empty where it is given by its position, and "**" for a dictionary of them.
struct python_argument {
  std::string name;
  std::span<const python_token> value;
  int line{};
};
struct python_call {
  std::string callee;        ///< as it stands: "a.b.c"
  std::vector<python_argument> arguments;
  std::size_t statement{};   ///< that it stands in
  std::size_t first{}, last{};  ///< tokens of it, the brackets among them
  int line{};
  [[nodiscard]] std::string_view name() const { return std::string_view{callee}.substr(callee.rfind('.') == std::string::npos ? 0 : callee.rfind('.') + 1); }
};

namespace detail {

class python_scanner {
 public:
  /// `lines`: the line of a file that each line of the text is; empty: the same.
  python_scanner(std::string_view text, const std::string& source, std::span<const int> lines) : text_(text), source_(&source), lines_(lines) {}

  std::vector<python_statement> read() {
    while (at_ < text_.size()) {
      if (fresh_ && depth_ == 0) begin_line();
      else next();
    }
    end_statement();
    return std::move(all_);
  }

 private:
  [[nodiscard]] static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
  [[nodiscard]] static bool digit(char c) { return c >= '0' && c <= '9'; }
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  [[nodiscard]] int line() const { return lines_.empty() ? line_ : line_ <= static_cast<int>(lines_.size()) ? lines_[static_cast<std::size_t>(line_ - 1)] : lines_.back(); }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }
  /// A notebook's commands to its shell and to itself are no Python.
  void begin_line() {
    int indent = 0;
    for (; peek() == ' ' || peek() == '\t'; ++at_) indent = peek() == '\t' ? indent / 8 * 8 + 8 : indent + 1;
    if (peek() == '#' || peek() == '%' || peek() == '!' || peek() == '?') skip_line();
    if (at_ >= text_.size()) return;
    if (peek() == '\n' || peek() == '\r') {
      line_ += peek() == '\n';
      ++at_;
      return;
    }
    now_.indent = indent;
    fresh_ = false;
  }
  void end_statement() {
    if (!now_.tokens.empty()) {
      now_.line = now_.tokens[0].line;
      all_.push_back(std::move(now_));
    }
    now_ = {};
    fresh_ = true;
  }
  void add(python_word is, std::string text, int where) {
    check_count(++words_, *source_, most_text_values);
    now_.tokens.push_back({is, std::move(text), where});
  }
  void next() {
    const char c = peek();
    if (c == '\n') {
      ++at_, ++line_;
      if (depth_ == 0) end_statement();
      return;
    }
    if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ += peek(1) == '\n' ? std::size_t{2} : std::size_t{3};
      ++line_;
      return;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') return static_cast<void>(++at_);
    if (c == '#') return skip_line();
    if (c == ';' && depth_ == 0) {
      constexpr const char* headers[] = {"if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class", "async"};
      const bool within = std::any_of(std::begin(headers), std::end(headers), [&](const char* h) { return now_.begins(h); });  // if a: b; c
      const int indent = now_.indent + (within ? 1 : 0);
      ++at_;
      end_statement();
      now_.indent = indent, fresh_ = false;
      return;
    }
    if (c == '"' || c == '\'') return quoted({});
    if (letter(c)) return word();
    if (digit(c) || (c == '.' && digit(peek(1)))) return number();
    mark();
  }
  void word() {
    const auto from = at_;
    while (letter(peek()) || digit(peek())) ++at_;
    const auto said = text_.substr(from, at_ - from);
    if ((peek() == '"' || peek() == '\'') && said.size() <= 2 && said.find_first_not_of("rRbBuUfF") == std::string_view::npos) return quoted(said);
    add(python_word::name, std::string{said}, line());
  }
  void number() {
    std::string said;
    for (bool power = false; letter(peek()) || digit(peek()) || peek() == '.' || (power && (peek() == '-' || peek() == '+')); ++at_) {
      power = (peek() == 'e' || peek() == 'E') && !said.starts_with("0x");
      if (peek() != '_') said += peek();
    }
    add(python_word::number, std::move(said), line());
  }
  void quoted(std::string_view prefix) {
    const bool raw = prefix.find_first_of("rR") != std::string_view::npos, filled = prefix.find_first_of("fF") != std::string_view::npos;
    const int where = line();
    const char quote = peek();
    const bool three = peek(1) == quote && peek(2) == quote;
    at_ += three ? std::size_t{3} : std::size_t{1};
    std::string said;
    bool computed = false;  // by an escape that is no letter's own
    for (;; ++at_) {
      if (at_ >= text_.size() || (!three && peek() == '\n')) break;  // left open
      if (peek() == quote && (!three || (peek(1) == quote && peek(2) == quote))) {
        at_ += three ? std::size_t{3} : std::size_t{1};
        break;
      }
      if (peek() == '\n') ++line_;
      if (peek() == '\\' && at_ + 1 < text_.size()) {
        const char after = text_[++at_];
        if (after == '\n') ++line_;
        if (raw || std::string_view{"\\'\"nt\n"}.find(after) == std::string_view::npos) said += '\\';  // what is no escape stays as it is written
        if (raw || after != '\n') said += raw ? after : after == 'n' ? '\n' : after == 't' ? '\t' : after;
        computed = computed || (!raw && std::string_view{"xuUN01234567abfrv"}.find(after) != std::string_view::npos);
        continue;
      }
      said += peek();
    }
    const auto is = computed || (filled && said.find('{') != std::string::npos) ? python_word::open_text : python_word::text;
    add(is, std::move(said), where);
  }
  void mark() {
    const char c = peek();
    if (c == '(' || c == '[' || c == '{') check_depth(static_cast<std::size_t>(++depth_), *source_);
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    std::string said{c};
    const char after = peek(1);
    const bool twice = after == c && (c == '*' || c == '/' || c == '=' || c == '<' || c == '>');
    if (twice || (after == '=' && std::string_view{"+-*/%&|^:<>!=@"}.find(c) != std::string_view::npos) || (c == '-' && after == '>')) said += after;
    add(python_word::mark, said, line());
    at_ += said.size();
  }

  std::string_view text_;
  const std::string* source_;
  std::span<const int> lines_;
  std::size_t at_{}, words_{};
  int line_{1}, depth_{};
  bool fresh_{true};
  python_statement now_;
  std::vector<python_statement> all_;
};

inline bool is_mark(const python_token& t, std::string_view text) { return t.is == python_word::mark && t.text == text; }
/// Behind the bracket that closes the one at `open`; the end where none does.
inline std::size_t past_bracket(std::span<const python_token> tokens, std::size_t open) {
  int depth = 0;
  for (auto i = open; i < tokens.size(); ++i) {
    if (tokens[i].is != python_word::mark) continue;
    const auto& t = tokens[i].text;
    if (t == "(" || t == "[" || t == "{") ++depth;
    if (t == ")" || t == "]" || t == "}") --depth;
    if (depth == 0) return i + 1;
  }
  return tokens.size();
}
/// The parts of a list of tokens between commas that lie in no bracket.
inline std::vector<std::span<const python_token>> between_commas(std::span<const python_token> tokens) {
  std::vector<std::span<const python_token>> parts;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= tokens.size();) {
    if (i == tokens.size() || is_mark(tokens[i], ",")) {
      if (i > from) parts.push_back(tokens.subspan(from, i - from));
      from = ++i;
    } else if (is_mark(tokens[i], "(") || is_mark(tokens[i], "[") || is_mark(tokens[i], "{")) {
      i = past_bracket(tokens, i);
    } else {
      ++i;
    }
  }
  return parts;
}

}  // namespace detail

/// The statements of a text. Errors: job_error for a text of more words, or brackets in brackets, than any program has.
inline std::vector<python_statement> python_statements(std::string_view text, const std::string& source, std::span<const int> lines = {}) {
  detail::check_size(text, source, largest_text);
  return detail::python_scanner{text, source, lines}.read();
}

/// The calls of a statement, those in others' arguments, too.
inline void add_python_calls(std::vector<python_call>& all, const python_statement& s, std::size_t index) {
  const auto tokens = std::span{s.tokens};
  if (s.begins("def") || s.begins("class")) return;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (!detail::is_mark(tokens[i], "(") || tokens[i - 1].is != python_word::name) continue;
    auto first = i - 1;
    while (first >= 2 && detail::is_mark(tokens[first - 1], ".") && tokens[first - 2].is == python_word::name) first -= 2;
    const auto end = detail::past_bracket(tokens, i);
    python_call c{{}, {}, index, first, end, tokens[first].line};
    for (auto k = first; k < i; ++k) c.callee += tokens[k].text;
    const bool closed = end > i + 1 && detail::is_mark(tokens[end - 1], ")");
    for (const auto part : detail::between_commas(tokens.subspan(i + 1, end - i - (closed ? 2 : 1)))) {
      const bool named = part.size() > 2 && part[0].is == python_word::name && detail::is_mark(part[1], "=");
      const bool spread = detail::is_mark(part[0], "**") || detail::is_mark(part[0], "*");
      c.arguments.push_back({named ? part[0].text : spread ? "**" : "", named ? part.subspan(2) : spread ? part.subspan(1) : part, part[0].line});
    }
    all.push_back(std::move(c));
  }
}
inline std::vector<python_call> python_calls(std::span<const python_statement> all) {
  std::vector<python_call> calls;
  for (std::size_t i = 0; i < all.size(); ++i) add_python_calls(calls, all[i], i);
  return calls;
}

/// Tokens as one writes them, for a sentence.
inline std::string python_shown(std::span<const python_token> tokens) {
  std::string shown;
  for (const auto& t : tokens) {
    const bool word = t.is == python_word::name || t.is == python_word::number;
    if (word && !shown.empty() && (shown.back() == ',' || (shown.back() >= 'a' && shown.back() <= 'z'))) shown += ' ';
    shown += t.is == python_word::text || t.is == python_word::open_text ? '"' + t.text + '"' : t.text;
    if (shown.size() > 60) return shown.substr(0, 57) + "...";
  }
  return shown;
}

}  // namespace headroom::io
