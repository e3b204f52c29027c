// Distributed under the Boost Software License, Version 1.0.
// A file of another program, read into values whose lines are known: what a reader refuses, it refuses with file, line and key.
#pragma once

#include <headroom/io/syntax/json_reader.hpp>

#include <map>

namespace headroom::io {

/// `lines` has the line of each key, by its path ("a.b[0].c").
struct document {
  std::string source;
  json_value root;
  std::map<std::string, int, std::less<>> lines;
  std::vector<std::string> notes{};  ///< for people: what the parser decided
  detail::work_left work{};          ///< for the paths of keys, which deep files repeat
  std::map<std::string, std::string, std::less<>> elsewhere{};  ///< places of keys that stand in other files, which this one is joined with
  bool operator==(const document&) const = default;

  void keep_line(const std::string& path, int line) {
    spend(path.size());
    lines[path] = line;
  }
  /// Throws job_error where there is no work left.
  void spend(std::size_t steps) {
    if (!work.spend(steps)) fail("headroom: " + source + ": what its keys and aliases stand for takes more than " + std::to_string(most_work >> 20) + " MiB");
  }

  /// "run.yaml:12": the line of the key, or of what it lies in.
  [[nodiscard]] std::string place(std::string path) const {
    while (true) {
      if (const auto it = elsewhere.find(path); it != elsewhere.end()) return it->second;
      if (const auto it = lines.find(path); it != lines.end()) return source + ":" + std::to_string(it->second);
      const auto cut = path.find_last_of(".[");
      if (cut == std::string::npos) return source;
      path.resize(cut);
    }
  }
};

/// Throws job_error for bytes that are not UTF-8, and for the NUL that no text file has.
inline void check_utf8(std::string_view text, const std::string& source) {
  int line = 1;
  while (!text.empty()) {
    const auto c = character_at(text);
    if (c.size == 0 || c.code == 0) fail("headroom: " + source + ":" + std::to_string(line) + ": not valid UTF-8 text");
    line += c.code == '\n';
    text.remove_prefix(c.size);
  }
}

namespace detail {

/// The lines of the keys of a text that has been parsed as JSON already.
class json_lines {
 public:
  json_lines(std::string_view text, document& d) : text_(text), d_(&d) { value(""); }

 private:
  void blank() {
    for (; at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'); ++at_) line_ += text_[at_] == '\n';
  }
  std::string string() {
    const auto from = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2U : 1U;
    at_ = std::min(at_ + 1, text_.size());
    const auto raw = text_.substr(from, at_ - from);
    return raw.find('\\') == std::string_view::npos ? std::string{raw.substr(1, raw.size() - 2)} : json_value::parse(raw).get<std::string>();
  }
  void value(const std::string& path) {  // as deep as the parser let through
    blank();
    if (at_ >= text_.size()) return;
    const char c = text_[at_];
    if (c == '"') return void(string());
    if (c != '{' && c != '[') {
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ']' && text_[at_] != '}' && text_[at_] != '\n') ++at_;
      return;
    }
    ++at_;
    for (std::size_t index = 0; at_ < text_.size(); ++index) {
      blank();
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        blank();
      }
      if (at_ >= text_.size() || text_[at_] == '}' || text_[at_] == ']') break;
      const int line = line_;
      d_->spend(path.size());
      const auto inner = c == '{' ? joined(path, string()) : joined(path, index);
      if (c == '{') {
        blank();
        ++at_;  // the colon
        d_->keep_line(inner, line);
      }
      value(inner);
      blank();
    }
    ++at_;
  }

  std::string_view text_;
  document* d_;
  std::size_t at_{};
  int line_{1};
};

/// The place of a sentence's key before the sentence: "headroom: key must …" becomes "headroom: file:12: key must …".
inline std::string with_place(const std::string& sentence, const document& from) {
  constexpr std::string_view us = "headroom: ";
  if (!sentence.starts_with(us) || sentence.starts_with("headroom: " + from.source)) return sentence;
  const auto said = sentence.substr(us.size());
  if (std::any_of(from.elsewhere.begin(), from.elsewhere.end(), [&](const auto& key) { return said.starts_with(key.second + ": "); })) return sentence;
  constexpr std::string_view unknown = "unknown key \"";
  std::string path;
  if (said.starts_with(unknown)) {
    const auto end = said.find('"', unknown.size());
    const auto key = said.substr(unknown.size(), end == std::string::npos ? end : end - unknown.size());
    const auto in = end == std::string::npos ? end : said.find(" in ", end);
    const auto stop = in == end + 1 ? said.find_first_of("; ", in + 4) : std::string::npos;
    path = stop != std::string::npos ? joined(said.substr(in + 4, stop - in - 4), key) : key;
  } else {
    path = said.substr(0, said.find(' '));
  }
  return std::string{us} + from.place(path) + ": " + said;
}

}  // namespace detail

/// Whatever `read` refuses is refused with its place in `from`.
template <class Read>
auto with_places(const document& from, Read&& read) {
  std::string sentence;
  try {
    return read();
  } catch (const job_error& e) {
    sentence = e.what();
  }
  fail(detail::with_place(sentence, from));
}

inline document parse_json_document(std::string_view text, const std::string& source) {
  if (source == "config.json" || source.ends_with("/config.json"))
    if (const auto written = without_infinity(text); written != text) return parse_json_document(written, source);
  document d{.source = source, .root = parse_json(text, source), .lines = {}};
  if (text.size() <= largest_text) detail::json_lines{text, d};
  return d;
}

}  // namespace headroom::io
