// Distributed under the Boost Software License, Version 1.0.
// The Python of a notebook (.ipynb, nbformat 4): its cells of code, one behind the other, with the lines that they have in the file.
#pragma once

#include <headroom/io/syntax/json_reader.hpp>
#include <headroom/io/syntax/python_text.hpp>

namespace headroom::io {

struct python_source {
  std::string text;
  std::vector<int> lines{};  ///< of the file, for each line of the text; empty: the same
};

/// Errors: job_error for what is no notebook of version 4.
inline python_source python_of_notebook(std::string_view text, const std::string& source) {
  detail::check_size(text, source, largest_file);
  const auto root = parse_json(std::string{text}, source);
  if (!root.is_object() || !root.contains("cells") || !root["cells"].is_array()) fail("headroom: " + source + " is no notebook: it has no list of cells, as nbformat 4 has");
  python_source r;
  std::size_t at = 0;
  int line = 1;
  bool looks = true;
  detail::work_left work;
  const auto find = [&](const std::string& said) {
    for (const bool ascii : {false, true}) {
      if (!looks) return;
      const auto found = text.find(json_value(said).dump(-1, ' ', ascii, json_value::error_handler_t::replace), at);
      if (found == std::string_view::npos || said.empty()) {
        looks = looks && work.spend(text.size() - at);
        continue;
      }
      line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(found), '\n'));
      at = found;
      return;
    }
  };
  const auto add = [&](std::string said) {
    if (!said.ends_with('\n')) said += '\n';
    r.lines.insert(r.lines.end(), static_cast<std::size_t>(std::count(said.begin(), said.end(), '\n')), line);
    r.text += said;
  };
  for (const auto& cell : root["cells"]) {
    if (!cell.is_object() || cell.value("cell_type", json_value{}) != "code" || !cell.contains("source")) continue;
    const auto& said = cell["source"];
    std::vector<std::string> lines;
    if (said.is_string()) lines.push_back(said.get<std::string>());
    if (said.is_array())
      for (const auto& one : said)
        if (one.is_string()) lines.push_back(one.get<std::string>());
    if (lines.empty()) continue;
    if (lines[0].starts_with("%%") && !lines[0].starts_with("%%capture") && !lines[0].starts_with("%%time")) continue;  // another language's
    for (auto& one : lines) find(one), add(std::move(one));
    if (!r.text.ends_with('\n')) add({});
  }
  return r;
}

}  // namespace headroom::io
