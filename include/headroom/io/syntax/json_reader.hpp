// Distributed under the Boost Software License, Version 1.0.
// A strict layer over nlohmann::json. What it lets through has no duplicate keys, no absurd depth or size and valid UTF-8;
// what it refuses, it refuses in a sentence that names the place, what was found and what is accepted.
#pragma once

#include <headroom/io/syntax/json_hints.hpp>
#include <headroom/io/syntax/json_value.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <istream>
#include <set>
#include <system_error>
#include <vector>

namespace headroom::io {

inline constexpr std::size_t largest_file = std::size_t{16} << 20;
inline constexpr int deepest_nesting = 64;

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

/// Watches the parser: keys seen twice and nesting.
class watch {
 public:
  explicit watch(std::string source) : source_(std::move(source)) {}

  bool operator()(int depth, json_value::parse_event_t event, json_value& parsed) {
    switch (event) {
      case json_value::parse_event_t::array_start:
      case json_value::parse_event_t::object_start:
        if (depth >= deepest_nesting)
          fail("headroom: " + source_ + " is nested deeper than " + std::to_string(deepest_nesting) + " levels");
        if (event == json_value::parse_event_t::object_start) open_.emplace_back();
        break;
      case json_value::parse_event_t::object_end:
        open_.pop_back();
        break;
      case json_value::parse_event_t::key: {
        const auto& key = *parsed.get_ptr<const json_value::string_t*>();
        if (!open_.back().keys.insert(key).second)
          fail("headroom: " + place() + "key " + in_quotes(key) + " is given twice");
        open_.back().current = key;
        break;
      }
      default:
        break;
    }
    return true;
  }

 private:
  struct level {
    std::set<std::string, std::less<>> keys;
    std::string current;
  };
  [[nodiscard]] std::string place() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) path = joined(path, open_[i].current);
    return path.empty() ? source_ + ": " : source_ + ": in " + path + ", ";
  }
  std::string source_;
  std::vector<level> open_;
};

}  // namespace detail

/// Parses strictly. `source` names the text in errors ("job.json", "standard input"). Throws job_error.
inline json_value parse_json(std::string_view text, const std::string& source) {
  if (text.size() > largest_file) fail("headroom: " + source + " is larger than 16 MiB");
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) fail("headroom: " + source + " is empty");
  detail::watch watch{source};
  try {
    return json_value::parse(text, [&watch](int depth, json_value::parse_event_t event, json_value& parsed) {
      return watch(depth, event, parsed);
    });
  } catch (const json_value::parse_error& e) {
    const auto cause = detail::cause_of(e.what());
    const auto hint = detail::json_hint(text, e.byte, cause);
    fail("headroom: " + source + " is not valid JSON: " + cause + (hint.empty() ? "" : "; " + std::string{hint}));
  } catch (const json_value::exception& e) {  // a number beyond a double's range
    const auto cause = detail::cause_of(e.what());
    const auto from = cause.find('\''), to = cause.rfind('\'');
    const auto place = from < to ? detail::line_of(text, cause.substr(from + 1, to - from - 1)) + ": " : std::string{};
    fail("headroom: " + source + " is not valid JSON: " + place + cause);
  }
}

/// Everything a stream holds, up to the size limit and one byte more. Throws job_error if it cannot be read.
inline std::string read_text(std::istream& in, const std::string& source) {
  std::string text;
  char block[1 << 14];
  while (in.read(block, sizeof block), in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > largest_file) fail("headroom: " + source + " is larger than 16 MiB");
  }
  if (in.bad()) fail("headroom: " + source + " cannot be read");
  return text;
}

/// Throws job_error for a file that is missing, unreadable, a folder, or too large.
inline std::string read_file(const std::filesystem::path& file) {
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem)) fail("headroom: " + file.string() + " is a folder, not a file");
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  if (!in) fail("headroom: " + (file.empty() ? "a file without a name" : file.string()) + " cannot be opened" + (errno != 0 ? ": " + std::generic_category().message(errno) : ""));
  return read_text(in, file.string());
}

inline json_value parse_json_file(const std::filesystem::path& file) {
  return parse_json(read_file(file), file.filename().string());
}

}  // namespace headroom::io
