// Distributed under the Boost Software License, Version 1.0.
// What a text may cost its reader: size, depth and work. All of the readers' limits are here; a sentence says which was reached.
#pragma once

#include <headroom/io/syntax/json_value.hpp>

#include <algorithm>

namespace headroom::io {

inline constexpr std::size_t largest_file = std::size_t{16} << 20;   ///< JSON, records and logs
inline constexpr std::size_t largest_text = std::size_t{1} << 20;    ///< YAML, TOML and shell, which people write
inline constexpr int deepest_nesting = 64;                           ///< of objects, lists and a script's blocks
inline constexpr int deepest_calls = 16;                             ///< of a script's strings of commands and of its variables' defaults
inline constexpr std::size_t longest_key = 256;
inline constexpr std::size_t most_values = 1'000'000;                ///< of a JSON file
inline constexpr std::size_t most_text_values = 100'000;             ///< of YAML; words of a script's command
inline constexpr std::size_t most_written_files = 256;               ///< by a script
inline constexpr std::size_t most_work = std::size_t{4} << 20;       ///< steps: bytes and values that a text makes another time than when it is read

namespace detail {

inline void check_size(std::string_view text, const std::string& source, std::size_t most) {
  if (text.size() > most) fail("headroom: " + source + " is larger than " + std::to_string(most >> 20) + " MiB");
}
inline void check_depth(std::size_t depth, const std::string& source) {
  if (depth > static_cast<std::size_t>(deepest_nesting)) fail("headroom: " + source + " is nested deeper than " + std::to_string(deepest_nesting) + " levels");
}
/// Keys stand in the paths of all that lies below them: without a limit a short file would take gigabytes.
inline void check_key(std::string_view key, const std::string& source) {
  if (key.size() > longest_key) fail("headroom: " + source + ": a key is longer than " + std::to_string(longest_key) + " bytes: " + in_quotes(key.substr(0, 40)));
}
/// A key with dots is a section in a section for each.
inline void check_parts(std::string_view key, const std::string& source) {
  if (std::count(key.begin(), key.end(), '.') >= deepest_nesting) fail("headroom: " + source + ": a key has more than " + std::to_string(deepest_nesting) + " parts: " + in_quotes(key, 40));
}
inline void check_count(std::size_t values, const std::string& source, std::size_t most) {
  if (values > most) fail("headroom: " + source + " holds more than " + std::to_string(most) + " values");
}

/// What is left of the work for one text: of copies, searches, and what is read again, which may grow faster than the text.
class work_left {
 public:
  /// False: there was not so much left.
  [[nodiscard]] bool spend(std::size_t steps) {
    const bool enough = steps <= left_;
    left_ = enough ? left_ - steps : 0;
    return enough;
  }
  bool operator==(const work_left&) const { return true; }  // no part of what the text says

 private:
  std::size_t left_{most_work};
};

}  // namespace detail

}  // namespace headroom::io
