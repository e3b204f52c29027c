// Distributed under the Boost Software License, Version 1.0.
// What the fuzzer gives texts to. Any bytes are read, or refused with a headroom::error; nothing else may leave a reader.
#pragma once

#include <string_view>

namespace fuzzed {

// jobs.cpp
void read_job(std::string_view text);
void read_search(std::string_view text);
void read_config(std::string_view text);
void read_review(std::string_view text);
void read_log(std::string_view text);

// imports.cpp: files of other programs
void read_json(std::string_view text);
void read_yaml(std::string_view text);
void read_toml(std::string_view text);
void read_shell(std::string_view text);
void read_settings(std::string_view text);

/// How a text is changed: as a tree of values, or by its lines and words.
enum class kind { json, text };

struct reader {
  std::string_view name;
  kind is;
  void (*read)(std::string_view text);
};
inline constexpr reader readers[] = {
    {"job", kind::json, read_job},   {"search", kind::json, read_search}, {"config", kind::json, read_config}, {"review", kind::json, read_review}, {"json", kind::json, read_json},
    {"yaml", kind::text, read_yaml}, {"toml", kind::text, read_toml},     {"shell", kind::text, read_shell},   {"env", kind::text, read_settings},  {"log", kind::text, read_log},
};

}  // namespace fuzzed
