// Distributed under the Boost Software License, Version 1.0.
// The texts of files, parsed as far as their syntax goes, and manifests as the scripts that they start.
#pragma once

#include <headroom/io/launchers/file_kinds.hpp>
#include <headroom/io/launchers/other_programs.hpp>

namespace headroom::io {

/// How a text is written.
enum class syntax : std::uint8_t { json, yaml, toml, shell, python };

/// How a text is written: by the end of its file's name, else by how it begins.
/// Errors: job_error for an empty text.
inline syntax syntax_of(std::string_view text, const std::filesystem::path& file, file_kind kind) {
  const auto end = file.extension().string();
  if (detail::lists_packages(file.filename().string())) return syntax::shell;
  if (kind == file_kind::launch || end == ".sh" || end == ".env" || end == ".sbatch" || end == ".slurm") return syntax::shell;
  if (kind == file_kind::python || end == ".py" || end == ".ipynb") return syntax::python;
  if (end == ".json") return syntax::json;
  if (end == ".yaml" || end == ".yml") return syntax::yaml;
  if (end == ".toml") return syntax::toml;
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) fail("headroom: " + file.filename().string() + " is empty");
  text.remove_prefix(first);
  if (text[0] == '{') return syntax::json;
  if (text[0] == '[') return syntax::toml;
  if (text.starts_with("#!") || text.starts_with("--")) return syntax::shell;
  const auto line = text.substr(0, text.find('\n'));
  return line.find(": ") != std::string_view::npos || line.ends_with(':') ? syntax::yaml : syntax::shell;
}

/// A text of a file, parsed as far as its syntax goes.
struct import_input {
  std::string text;
  std::filesystem::path file;
  document parsed{};                     ///< what is no script
  file_kind kind{file_kind::unknown};
  std::optional<hosted_launch> host{};   ///< who starts a script, and on what
  std::vector<std::pair<std::string, std::string>> beside{};  ///< files that a manifest has beside its workload: name and text
  std::string broken{};                  ///< why it does not parse: a script beside it may fill it in
};
/// A manifest's workload, of all objects that stand in it.
/// Errors: job_error for several workloads.
inline void read_manifest(import_input& in, const import_settings& with) {
  const auto source = in.file.filename().string();
  for (const auto& part : detail::manifest_parts(detail::filled_in(in.text, with.script.environment, source))) {
    auto one = with.yaml(part, source);
    if (detail::starts_nothing(one.root)) {
      detail::add_config_map(one.root, in.beside);
      continue;
    }
    if (!in.parsed.root.is_null()) fail("headroom: " + one.place("kind") + ": a second workload, after the one at " + in.parsed.place("kind") + ": give the one that trains, in a file of its own");
    in.parsed = std::move(one);
  }
  if (in.parsed.root.is_null()) fail("headroom: " + source + " has no workload that trains: a Pod, a Job, a PyTorchJob");
}
/// A text of a file, parsed as far as its syntax goes.
/// Errors: job_error with the line for YAML and TOML that do not parse, and for a syntax whose reader was not built.
inline import_input input_of(std::string text, const std::filesystem::path& file, file_kind kind, const import_settings& with) {
  const auto source = file.filename().string();
  import_input in{std::move(text), file, {}, kind};
  switch (syntax_of(in.text, file, kind)) {
    case syntax::json:
      try {
        in.parsed = parse_json_document(in.text, source);
      } catch (const job_error& e) {
        return in.broken = e.what(), in;
      }
      break;
    case syntax::yaml:
      if (with.yaml == nullptr) fail("headroom: " + source + " is YAML, which this program was built without: it needs yaml-cpp (Debian: libyaml-cpp-dev)");
      if (in.text.find("apiVersion:") != std::string::npos) read_manifest(in, with);
      else in.parsed = with.yaml(in.text, source);
      break;
    case syntax::toml:
      if (with.toml == nullptr) fail("headroom: " + source + " is TOML, which this program was built without: it needs toml++ (Debian: libtomlplusplus-dev)");
      in.parsed = with.toml(in.text, source);
      break;
    case syntax::shell: in.kind = file_kind::launch; return in;
    case syntax::python: in.kind = file_kind::python; return in;
  }
  if (in.kind != file_kind::unknown) return in;
  if (const auto* other = with.program != nullptr || in.parsed.root.contains("model_type") || is_axolotl(in.parsed.root) || detail::is_verl_file(in.parsed.root) ? nullptr : detail::other_program_of(in.parsed.root)) detail::refuse_other_program(*other, source);
  in.kind = kind_of(in.parsed.root);
  return in;
}
/// A manifest's or a task's command, as the script that it is.
inline void take_command(draft& d, import_input& in, const import_settings& with) {
  if (in.host) return;
  if (in.kind == file_kind::kubernetes) in.host = detail::kubernetes_workload{in.parsed}.read();
  else if (in.kind == file_kind::skypilot) in.host = detail::skypilot_task{d, in.parsed}.read();
  else return;
  if (const auto spec = in.parsed.root.find("spec"); spec != in.parsed.root.end() && spec->is_object() && spec->contains("runtimeEnvYAML") && (*spec)["runtimeEnvYAML"].is_string()) {  // a RayJob's
    const auto place = in.parsed.place("spec.runtimeEnvYAML");
    if (with.yaml == nullptr) fail("headroom: " + place + ": runtimeEnvYAML is YAML, which this program was built without: it needs yaml-cpp (Debian: libyaml-cpp-dev)");
    detail::import_ray_environment(d, with.yaml((*spec)["runtimeEnvYAML"].get<std::string>(), place));
  }
  in.text = in.host->text;
  in.kind = file_kind::launch;
}
/// A script that a cluster's manager starts on machines that it says.
inline void import_hosted(draft& d, const import_input& in, import_settings with) {
  const auto source = in.file.filename().string();
  detail::say_host(d, *in.host);
  const auto line = in.host->place.rfind(':') == std::string::npos ? std::string{"1"} : in.host->place.substr(in.host->place.rfind(':') + 1);
  const auto at = json_value::parse(line, nullptr, false);
  for (const auto& [name, value] : in.host->environment) {
    const shell_word set{name + "=" + value, at.is_number_unsigned() ? static_cast<int>(std::min<std::uint64_t>(at.get<std::uint64_t>(), 100'000)) : 1};
    detail::import_setting(d, set, source);
    detail::import_count(d, set, source);
  }
  auto& known = with.script.environment;  // --env wins
  known.insert(known.begin(), in.host->environment.begin(), in.host->environment.end());
  import_text(d, in.text, source, with.script);
  detail::check_host(d, *in.host);
}
/// Manifests as the scripts that they start. A script that such a command names, and that was given, runs where the manifest says; so do files of
/// its ConfigMaps that it names.
inline void take_commands(draft& d, std::vector<import_input>& all, const import_settings& with) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    take_command(d, all[i], with);
    if (!all[i].host) continue;
    for (const auto& file : std::exchange(all[i].beside, {})) {
      const auto end = std::filesystem::path{file.first}.extension().string();
      const bool given = std::any_of(all.begin(), all.end(), [&](const import_input& other) { return other.file.filename() == file.first; });
      if (!given && all[i].text.find(file.first) != std::string::npos && (end == ".sh" || end == ".json" || end == ".yaml" || end == ".yml" || end == ".toml")) {
        auto made = input_of(file.second, file.first, file_kind::unknown, with);
        all.push_back(std::move(made));
      }
    }
    for (auto& other : all) {
      if (other.kind != file_kind::launch || other.host || other.file.extension() == ".env") continue;
      auto host = *all[i].host;
      if (!detail::starts_script(host, other.file.filename().string(), all[i].file.filename().string(), host.environment)) continue;
      other.host = std::move(host);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i--));
      break;
    }
  }
}

}  // namespace headroom::io
