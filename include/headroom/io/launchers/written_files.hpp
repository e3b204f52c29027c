// Distributed under the Boost Software License, Version 1.0.
// Configurations that scripts write themselves, of their own text or of another file, and then name in a command.
#pragma once

#include <headroom/io/launchers/import_inputs.hpp>

#include <algorithm>

namespace headroom::io {

namespace detail {

/// Whether a command of the script names a file.
inline bool names_file(const shell_script& script, const std::string& path) {
  const auto named = [&](const shell_word& w) { return w.shown().ends_with(path); };
  return path.size() > 2 && std::any_of(script.commands.begin(), script.commands.end(), [&](const auto& c) { return std::any_of(c.words.begin(), c.words.end(), named); });
}

/// The files that one script makes.
class written_files {
 public:
  written_files(draft& d, std::vector<import_input>& all, const import_settings& with) : d_(&d), all_(&all), with_(&with) {}

  void add(const shell_script& script, const std::string& source) {
    std::vector<std::filesystem::path> templates;  // no configurations of a run, unless a command names them, too
    for (const auto& f : script.files) {
      const auto end = std::filesystem::path{f.path}.extension().string();
      const bool configures = end == ".json" || end == ".yaml" || end == ".yml" || end == ".toml", in_place = !f.from.empty() && name_of(f.from) == name_of(f.path);
      if (!configures || (!in_place && given(f.path) != nullptr) || !names_file(script, in_place ? name_of(f.path).string() : f.path)) continue;
      auto text = f.text;
      if (!f.from.empty()) {
        const auto* other = given(f.from);
        if (other == nullptr) {
          d_->made_from.emplace_back(f.path, f.from);
          continue;
        }
        text = other->text;
      }
      const auto place = "headroom: " + source + ":" + std::to_string(f.line) + ": ";
      if (!f.sure) fail(place + in_quotes(f.path) + " is written in a branch of which the script does not say whether it runs: give the file, too");
      if (!f.plain) fail(place + in_quotes(f.path) + " is made by sed with what is no word but a pattern, which is not read: give the file as sed leaves it, in a script without that line");
      text = edited(std::move(text), f.from.empty() ? std::vector<shell_edit>{} : f.edits, source + ":" + std::to_string(f.line));
      if (text.find(open_from) != std::string::npos) fail(place + in_quotes(f.path) + " holds a value that the script does not say, " + in_quotes(shell_word{text.substr(text.find(open_from), text.find(open_to) - text.find(open_from))}.shown()) + ": add --env NAME=VALUE");
      if (in_place) take_out(name_of(f.from));
      else if (!f.from.empty() && !names_file(script, f.from)) templates.push_back(name_of(f.from));
      all_->push_back(input_of(std::move(text), f.path, file_kind::unknown, *with_));
    }
    for (const auto& name : templates) take_out(name);
  }

 private:
  static std::filesystem::path name_of(const std::string& path) { return std::filesystem::path{path}.filename(); }
  [[nodiscard]] const import_input* given(const std::string& path) const {
    const auto it = std::find_if(all_->begin(), all_->end(), [&](const import_input& in) { return in.file.filename() == name_of(path); });
    return it == all_->end() ? nullptr : &*it;
  }

  void take_out(const std::filesystem::path& name) {
    std::erase_if(*all_, [&](const import_input& in) { return in.kind != file_kind::launch && in.file.filename() == name; });
  }

  draft* d_;
  std::vector<import_input>* all_;
  const import_settings* with_;
};

}  // namespace detail

/// Adds the configurations that the scripts among `all` write and name.
/// Errors: job_error for a file of which the script leaves open whether it is written, or with what.
inline void add_written_files(draft& d, std::vector<import_input>& all, const import_settings& with) {
  std::vector<std::pair<shell_script, std::string>> scripts;
  for (const auto& in : all)
    if (const auto source = in.file.filename().string(); in.kind == file_kind::launch && in.file.extension() != ".env" && !detail::lists_packages(source)) scripts.emplace_back(read_shell(in.text, source, with.script.environment), source);
  for (const auto& [script, source] : scripts) detail::written_files{d, all, with}.add(script, source);
}

}  // namespace headroom::io
