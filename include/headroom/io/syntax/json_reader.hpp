// Distributed under the Boost Software License, Version 1.0.
// A strict layer over nlohmann::json. What it lets through has no duplicate keys, no absurd depth or size and valid UTF-8;
// what it refuses, it refuses in a sentence that names the place, what was found and what is accepted.
#pragma once

#include <headroom/io/syntax/file_base.hpp>
#include <headroom/io/syntax/json_hints.hpp>
#include <headroom/io/syntax/limits.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <istream>
#include <set>
#include <system_error>
#include <vector>

namespace headroom::io {

namespace detail {

/// nlohmann's message, cut down to the place and the cause.
inline std::string cause_of(std::string_view what) {
  std::string text{what};
  if (const auto at = text.find("at line "); at != std::string::npos)
    text.erase(0, at + 3);
  else if (const auto end = text.find("] "); end != std::string::npos)
    text.erase(0, end + 2);
  if (const auto from = text.find(": syntax error while parsing "); from != std::string::npos)
    if (const auto to = text.find(" - ", from); to != std::string::npos) text.replace(from, to + 3 - from, ": ");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '?';
  return text.substr(0, 200);
}

/// What the parser meets, made a value as it comes: each byte is looked at once. Refuses keys that are given twice and deep nesting.
class json_events {
 public:
  json_events(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {}

  json_value root{};

  bool null() { return put(nullptr); }
  bool boolean(bool v) { return put(v); }
  bool number_integer(json_value::number_integer_t v) { return put(v); }
  bool number_unsigned(json_value::number_unsigned_t v) { return put(v); }
  bool number_float(json_value::number_float_t v, const std::string&) { return put(v); }
  bool string(std::string& v) { return put(std::move(v)); }
  bool binary(json_value::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(json_value::object()); }
  bool start_array(std::size_t) { return open(json_value::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& k) {
    check_key(k, source_);
    if (open_.back().at->contains(k)) fail("headroom: " + place() + "key " + in_quotes(k) + " is given twice");
    open_.back().key = std::move(k);
    return true;
  }
  [[noreturn]] bool parse_error(std::size_t byte, const std::string& token, const nlohmann::detail::exception& e) {
    const auto cause = cause_of(e.what());
    constexpr int too_large_a_number = 406;  // json.exception.out_of_range
    if (e.id == too_large_a_number) fail("headroom: " + source_ + " is not valid JSON: " + line_of(text_, token) + ": " + cause);
    const auto hint = json_hint(text_, byte, cause);
    fail("headroom: " + source_ + " is not valid JSON: " + cause + (hint.empty() ? "" : "; " + std::string{hint}));
  }

 private:
  struct level {
    json_value* at;
    std::string key{};
  };
  json_value* add(json_value v) {
    check_count(++values_, source_, most_values);
    if (open_.empty()) return &(root = std::move(v));
    auto& in = open_.back();
    if (in.at->is_array()) {
      in.at->push_back(std::move(v));
      return &in.at->back();
    }
    return &((*in.at)[in.key] = std::move(v));
  }
  bool put(json_value v) { return add(std::move(v)) != nullptr; }
  bool open(json_value v) {
    check_depth(open_.size() + 1, source_);
    open_.push_back({add(std::move(v))});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  [[nodiscard]] std::string place() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i)
      if (open_[i].at->is_object()) path = joined(path, open_[i].key);
    return path.empty() ? source_ + ": " : source_ + ": in " + path + ", ";
  }

  std::string_view text_;
  std::string source_;
  std::vector<level> open_;
  std::size_t values_{};
};

}  // namespace detail

/// Parses strictly. `source` names the text in errors ("job.json", "standard input"). Throws job_error.
inline json_value parse_json(std::string_view text, const std::string& source) {
  detail::check_size(text, source, largest_file);
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) fail("headroom: " + source + " is empty");
  detail::json_events events{text, source};
  json_value::sax_parse(text, &events);
  return std::move(events.root);
}

/// The text with Python's Infinity outside strings as the word "Infinity": json.dump writes it into a config.json (Mamba-2's time_step_limit), and JSON
/// has no such number. Whoever wants a number there still says so.
inline std::string without_infinity(std::string_view text) {
  constexpr std::string_view word = "Infinity";
  std::string out;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '\\' && i + 1 < text.size()) {
      out += c, out += text[++i];
      continue;
    }
    if (c == '"') inside = !inside;
    const bool negative = !inside && c == '-' && text.substr(i + 1, word.size()) == word;
    if (!inside && (negative || text.substr(i, word.size()) == word)) {
      out += negative ? "\"-Infinity\"" : "\"Infinity\"";
      i += word.size() - (negative ? 0 : 1);
      continue;
    }
    out += c;
  }
  return out;
}
/// A model's config.json, as Python writes it.
inline json_value parse_config(std::string_view text, const std::string& source) {
  return text.find("Infinity") == std::string_view::npos ? parse_json(text, source) : parse_json(without_infinity(text), source);
}

/// Everything a stream holds, up to the size limit and one byte more. Throws job_error if it cannot be read.
inline std::string read_text(std::istream& in, const std::string& source) {
  std::string text;
  char block[1 << 14];
  while (in.read(block, sizeof block), in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    detail::check_size(text, source, largest_file);
  }
  if (in.bad()) fail("headroom: " + source + " cannot be read");
  return text;
}

/// Throws job_error for a file that is missing, unreadable or too large, and for what is none: a folder, a pipe, a device. What a shell hands
/// over may be a pipe, as it writes it: standard input by its name, <(command).
inline std::string read_file(const std::filesystem::path& file) {
  std::error_code problem;
  const auto kind = std::filesystem::status(file, problem);
  if (std::filesystem::is_directory(kind)) fail("headroom: " + file.string() + " is a folder, not a file");
  const bool handed_over = file == "/dev/stdin" || file.native().starts_with("/dev/fd/");
  if (std::filesystem::exists(kind) && !std::filesystem::is_regular_file(kind) && !handed_over) fail("headroom: " + file.string() + " is a pipe or a device, not a file; what another program writes is read as -");
  if (const auto size = std::filesystem::file_size(file, problem); !problem && size > largest_file) fail("headroom: " + file.string() + " is larger than 16 MiB");
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  if (!in) fail("headroom: " + (file.empty() ? "a file without a name" : file.string()) + " cannot be opened" + (errno != 0 ? ": " + std::generic_category().message(errno) : ""));
  return read_text(in, file.string());
}

inline json_value parse_json_file(const std::filesystem::path& file) {
  return parse_json(read_file(file), file.filename().string());
}
/// A file that `base` led to: its text, where that came with the job.
inline json_value parse_json_file(const std::filesystem::path& file, const file_base& base) {
  const auto* text = base.text_of(file);
  return text != nullptr ? parse_json(*text, file.generic_string()) : parse_json_file(file);
}
/// A model's config.json that `base` led to.
inline json_value parse_config_file(const std::filesystem::path& file, const file_base& base) {
  const auto* text = base.text_of(file);
  return text != nullptr ? parse_config(*text, file.generic_string()) : parse_config(read_file(file), file.filename().string());
}

}  // namespace headroom::io
