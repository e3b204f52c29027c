// Distributed under the Boost Software License, Version 1.0.
// The keys of a job file as a page for people: a table for each object, from the schema.
#pragma once

#include <headroom/io/job_schema.hpp>

namespace headroom::io {

namespace detail {

/// Many words are named by where they are listed.
inline std::string words_text(const schema_value& words) {
  if (words.size() > 30) return words.front() == "llama-7b" ? "a name" : "one of " + std::to_string(words.size()) + " names";
  std::string text;
  for (const auto& w : words) text += (text.empty() ? "" : ", ") + (w.is_string() ? w.get<std::string>() : w.dump());
  return text;
}

/// What a key may be, in a few words.
inline std::string type_text(const schema_value& s) {
  if (s.contains("anyOf") && !s.contains("type")) {
    std::string text;
    for (const auto& form : s["anyOf"]) text += (text.empty() ? "" : " · ") + type_text(form);
    return text;
  }
  if (s.contains("enum")) return words_text(s["enum"]);
  const auto type = s.at("type").get<std::string>();
  if (type == "array") return "list of (" + type_text(s["items"]) + ")";
  if (type == "boolean") return "true or false";
  if (type == "string") return "text";
  if (type == "object") return "object";
  std::string text = type == "integer" ? "whole number" : "number";
  if (s.contains("minimum") && s["minimum"] != 0) text += " from " + s["minimum"].dump();
  if (s.contains("maximum") && s["maximum"] <= 1'000'000) text += (s["minimum"] == 0 ? " from 0 to " : " to ") + s["maximum"].dump();
  return text;
}

inline void add_tables(std::string& page, const std::string& path, const schema_value& s) {
  for (const auto* forms : {"anyOf"})
    if (s.contains(forms) && !s.contains("type"))
      for (const auto& form : s[forms]) add_tables(page, path, form);
  if (s.contains("items")) add_tables(page, path, s["items"]);
  if (!s.contains("properties") || (path == "hardware.gpu" && s["properties"].contains("count")) || path == "model.vision.resampler") return;
  const auto required = s.value("required", schema_value::array());
  page += "\n## " + (path.empty() ? std::string{"A job"} : "`" + path + "`") + "\n\n| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const auto& [key, of] : s["properties"].items()) {
    const bool needed = std::find(required.begin(), required.end(), schema_value(key)) != required.end();
    const auto usual = of.contains("default") ? (of["default"].is_string() ? of["default"].get<std::string>() : of["default"].dump()) : "";
    page += "| `" + key + "` | " + type_text(of) + " | " + (needed ? "required" : usual) + " | " + of.value("description", "") + " |\n";
  }
  for (const auto& [key, of] : s["properties"].items()) add_tables(page, joined(path, key), of);
}

}  // namespace detail

/// examples/JOB.md.
inline std::string job_reference() {
  std::string page =
      "# The keys of a job file\n\n"
      "Written by `headroom schema --markdown` from the keys that the reader reads; `headroom schema` prints a JSON Schema of them, by which editors "
      "complete and check job files. Sections with `·` take several forms: a word for the usual case, an object where more is to be said. An unknown key, a "
      "wrong type or an impossible value is refused in a sentence that names the key and what is accepted. [jobs](jobs) has files to start from.\n";
  detail::add_tables(page, "", job_schema());
  return page;
}

}  // namespace headroom::io
