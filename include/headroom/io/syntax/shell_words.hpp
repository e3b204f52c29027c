// Distributed under the Boost Software License, Version 1.0.
// The words of a shell command as they are read: quotes and backslashes gone, what stands for a `$` in its place.
#pragma once

#include <headroom/io/syntax/shell_cursor.hpp>
#include <headroom/io/syntax/shell_signs.hpp>

#include <algorithm>

namespace headroom::io::detail {

/// The words of the command, or of the array NAME=(…), that is being read.
struct shell_words {
  shell_cursor cursor;
  std::vector<shell_word> words{};  ///< of the command
  bool in_array{};
  std::string array_name{};         ///< with its = or +=
  std::vector<shell_word> array{};
  std::string word{};               ///< that has not ended yet
  bool has_word{};                  ///< also where it is empty: ''
  bool leading{};                   ///< all words so far are NAME=value
  bool quoted{}, bare{}, sealed{};  ///< of a shell_word
  int start{1};                     ///< its line

  void add(char c) {
    add_none();
    bare = true;
    word += c;
  }
  /// A word, of which nothing is known to be in it yet.
  void add_none() {
    if (!has_word) start = cursor.line;
    has_word = true;
  }
  /// What stays open: in a string of commands it was open before, and is read no second time.
  void opened() {
    if (!has_word) start = cursor.line;
    has_word = bare = true;
    word += cursor.opened();
  }
  /// <PATH TO FILE>
  void placeholder(std::size_t length) {
    if (!has_word) start = cursor.line;
    has_word = bare = true;
    word += shell_cursor::open(cursor.text.substr(cursor.at, length), cursor.line)[0].text;
    cursor.at += length;
  }
  /// What stands in quotes since the word was so long.
  void quote(std::size_t from) {
    quoted = true;
    sealed = sealed || word.find_first_of("*?[(", std::min(from, word.size())) != std::string::npos;
  }
  /// A backslash and what it takes the meaning of.
  void escape() {
    std::size_t spaces = 1;
    while (cursor.peek(spaces) == ' ' || cursor.peek(spaces) == '\t' || cursor.peek(spaces) == '\r') ++spaces;
    const bool returns = spaces == 1 || (spaces == 2 && cursor.peek(1) == '\r');
    if (cursor.peek(spaces) == '\n' || cursor.at + spaces >= cursor.text.size()) {
      if (!returns) cursor.stop("blanks stand between the last \\ and the line's end, where the shell ends the command, and takes the next line for another one: take the blanks out");
      if (spaces > 1) end_word();
      cursor.at = std::min(cursor.at + spaces + 1, cursor.text.size());
      ++cursor.line;
      return;
    }
    add_none();
    word += cursor.text[cursor.at + 1];
    quote(word.size() - 1);
    cursor.at += 2;
  }
  /// '…'
  void single() {
    const auto end = cursor.text.find('\'', cursor.at + 1);
    if (end == std::string_view::npos) cursor.stop("a ' is not closed");
    if (!has_word) start = cursor.line;
    has_word = true;
    const auto from = word.size();
    for (const char c : cursor.text.substr(cursor.at + 1, end - cursor.at - 1)) {
      word += c;
      cursor.line += c == '\n';
    }
    quote(from);
    cursor.at = end + 1;
  }
  /// "…"
  void twice() {
    const bool alone = !has_word;
    if (!has_word) start = cursor.line;
    has_word = quoted = true;
    const int opened = cursor.line;
    const auto from = word.size();
    bool emptied = false;
    ++cursor.at;
    while (true) {
      if (cursor.at >= cursor.text.size()) {
        cursor.line = opened;
        cursor.stop("a \" is not closed");
      }
      const char c = cursor.text[cursor.at];
      if (c == '"') {
        ++cursor.at;
        if (!alone || !emptied || !word.empty()) return quote(from);
        return drop_word();  // "${NAME[@]}" of an empty list is no word
      }
      if (c == '\\' && cursor.at + 1 < cursor.text.size()) {
        const char next = cursor.text[cursor.at + 1];
        if (next == '\n') {
          word += line_goes_on;
          ++cursor.line;
        } else {
          if (next != '"' && next != '\\' && next != '$' && next != '`') word += c;
          word += next;
        }
        cursor.at += 2;
      } else if (c == '$' || c == '`') {
        const auto value = expansion(true);
        if (value.array) {
          emptied = emptied || value.items.empty();
          for (std::size_t i = 0; i < value.items.size(); ++i) {
            if (i > 0 && assigns())
              word += ' ';
            else if (i > 0)
              end_word();
            if (!has_word) start = value.items[i].line;
            has_word = quoted = true;
            word += value.items[i].text;
          }
        } else if (!value.items.empty()) {
          word += value.items[0].text;
        }
      } else if (c == open_from) {
        word += cursor.opened();
      } else {
        word += c;
        cursor.line += c == '\n';
        ++cursor.at;
      }
    }
  }
  /// What stands for a `$`. NAME=value before it on the line holds there where it is a value of a name, too: A=1 B=$A.
  shell_variable expansion(bool within_quotes) {
    if (!assigns()) cursor.state->lift();
    return cursor.expansion(0, within_quotes);
  }
  /// A value is not divided into words.
  [[nodiscard]] bool assigns() const { return !in_array && (words.empty() || shell_declares(words[0].text) || leading) && shell_assigned(word) > 0; }
  /// Nor between case and in, nor in [[ … ]], where an empty one is a word too: if ! [[ -n $NAME ]].
  [[nodiscard]] bool tests() const {
    if (words.size() == 1 && words[0].text == "case") return !in_array;
    for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), 3); ++i)
      if (words[i].text == "[[") return !in_array && words.back().text != "]]";
    return false;
  }
  /// $'…', with the escapes that stand for a character; what others make stays open.
  void escaped() {
    const auto from = cursor.at;
    add_none();
    std::string said;
    bool known = true;
    for (cursor.at += 2; cursor.peek() != '\''; ++cursor.at) {
      if (cursor.at >= cursor.text.size()) cursor.stop("a ' is not closed");
      char c = cursor.peek();
      if (c == '\\') {
        constexpr std::string_view names = "ntr\\'\"?", are = "\n\t\r\\'\"?";
        const auto which = names.find(cursor.peek(1));
        known = known && which != std::string_view::npos;
        if (which != std::string_view::npos) c = are[which];
        ++cursor.at;
      }
      cursor.line += c == '\n' && cursor.peek() == '\n';
      said += c;
    }
    ++cursor.at;
    const auto before = word.size();
    word += known ? said : shell_cursor::open(cursor.text.substr(from, cursor.at - from), cursor.line)[0].text;
    quote(before);
  }
  /// Words that are divided no further.
  void whole(const shell_variable& value) {
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) end_word();
      add_none();
      bare = true;
      word += value.items[i].text;
    }
  }
  /// A `$` or a backquote outside of quotes.
  void unquoted() {
    if (cursor.peek() == '$' && cursor.peek(1) == '\'') return escaped();
    const auto value = expansion(false);
    if (tests()) add_none();
    if (value.whole && !assigns() && !tests()) return whole(value);
    if (assigns() || tests()) {
      add_none();
      bare = true;
      for (std::size_t i = 0; i < value.items.size(); ++i) word += (i > 0 ? " " : "") + value.items[i].text;
      return;
    }
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) end_word();
      int line = value.items[i].line;
      bool between = false;
      const auto& text = value.items[i].text;
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
        if (!has_word) start = line;
        has_word = bare = true;
        word += c;
      }
      if (between) end_word();
    }
  }

  void drop_word() {
    word.clear();
    has_word = quoted = bare = sealed = false;
  }
  void end_word() {
    if (!has_word) return;
    auto& to = in_array ? array : words;
    if (to.size() > most_text_values) cursor.stop("a command has more than " + std::to_string(most_text_values) + " words");
    if (word != "\\") to.push_back({word, start, quoted, bare, sealed});
    if (!in_array && !words.empty()) {
      leading = (leading || words.size() == 1) && shell_assigned(words.back().text) > 0;
      if (const auto n = shell_assigned(words.back().text); leading)
        cursor.state->lay(words.back().text.substr(0, n), cursor.state->after(words.back(), n));
      else
        cursor.state->lift();
    }
    drop_word();
  }

  /// What stands at < > >> &> 2>&1 <<END; moves to the file's name, or behind END.
  struct redirection_read {
    bool document{}, file{}, writes{}, appends{}, verbatim{};
    std::string end{};
  };
  redirection_read redirection() {
    end_word();
    auto& c = cursor;
    const char before = c.at > 0 ? c.text[c.at - 1] : '\0';
    if (!words.empty() && words.back().text.size() == 1 && before >= '0' && before <= '9' && words.back().text[0] == before) words.pop_back();  // the number of a stream
    redirection_read r{.document = c.text.substr(c.at, 2) == "<<" && c.peek(2) != '<', .writes = c.peek() == '>' && before != '2', .appends = c.text.substr(c.at, 2) == ">>"};
    const auto from = c.at;
    while (c.peek() == '<' || c.peek() == '>' || c.peek() == '&' || (c.peek() == '|' && c.at > from) || (r.document && c.peek() == '-')) ++c.at;
    while (c.peek() == ' ' || c.peek() == '\t') ++c.at;
    if (c.peek() == '(')  // a command's output as a file
      c.skip_to(c.closing('(', ')') + 1);
    else
      r.file = !r.document;
    if (!r.document) return r;
    const auto start_of_end = c.at;
    for (char quote = '\0'; c.at < c.text.size() && c.peek() != '\n'; ++c.at) {
      const char one = c.peek();
      if (quote == '\0' && (shell_blank(one) || std::string_view{";|>&)"}.find(one) != std::string_view::npos)) break;
      if (quote == '\0' ? one == '\'' || one == '"' : one == quote)
        quote = quote == '\0' ? one : '\0';
      else if (quote == '\0' && one == '\\' && c.peek(1) != '\0' && c.peek(1) != '\n')
        r.end += c.text[++c.at];
      else
        r.end += one;
    }
    r.verbatim = r.end.size() < c.at - start_of_end;
    return r;
  }
};

}  // namespace headroom::io::detail
