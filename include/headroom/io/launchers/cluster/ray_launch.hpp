// Distributed under the Boost Software License, Version 1.0.
// What Ray starts: the options of `ray job submit` in front of a command, and the environment that its processes have on every machine.
// Sources: ray-project/ray python/ray/dashboard/modules/job/cli.py (2026-08), runtime_env/runtime_env.py RuntimeEnv.known_fields.
#pragma once

#include <headroom/io/launchers/import_environment.hpp>
#include <headroom/io/syntax/passed_keys.hpp>

namespace headroom::io::detail {

inline constexpr std::string_view ray_environment_keys =
    "py_modules|py_executable|java_jars|working_dir|conda|pip|uv|container|image_uri|excludes|env_vars|config|worker_process_setup_hook|nsight|_nsight|rocprof_sys|mpi|eager_install|setup_timeout_seconds";

/// Whether an object is a runtime environment of Ray's.
inline bool is_ray_environment(const json_value& root) {
  if (!root.is_object() || root.empty() || (!root.contains("env_vars") && !root.contains("working_dir"))) return false;
  for (const auto& [key, value] : root.items())
    if (!among_words(ray_environment_keys, key)) return false;
  return true;
}

/// What its env_vars say to PyTorch, cuBLAS and NCCL.
/// Errors: job_error for a value that is not modelled.
inline void import_ray_environment(draft& d, const document& from) {
  const auto all = from.root.find("env_vars");
  if (all == from.root.end() || all->is_null()) return;
  if (!all->is_object()) wrong_value(from.place("env_vars") + ": env_vars", "an object of names and values", *all);
  for (const auto& [name, value] : all->items()) {
    const auto place = from.place("env_vars." + name);
    const auto line = typed(place.substr(place.rfind(':') == std::string::npos ? place.size() : place.rfind(':') + 1));
    const shell_word set{name + "=" + (value.is_string() ? value.get<std::string>() : value.dump()), line.is_number_unsigned() ? static_cast<int>(std::min<std::uint64_t>(line.get<std::uint64_t>(), 100'000)) : 1};
    import_setting(d, set, from.source);
  }
}

/// `ray job submit`'s options, which stand before "--" or the command: an environment that was not given may set PyTorch's allocator.
/// Errors: job_error for an environment that is no JSON, and for a file of one that is not among those given.
inline void read_ray_submit(draft& d, std::span<const shell_word> words, const std::string& source) {
  std::size_t i = 0;
  while (i + 2 < words.size() && !(file_part(words[i].text) == "ray" && words[i + 1].text == "job" && words[i + 2].text == "submit")) ++i;
  for (i += 3; i < words.size() && words[i].text != "--"; ++i) {
    auto said = arguments_of(words.subspan(i, 1));
    if (said.empty() || !among_words("runtime-env-json|runtime-env", said[0].name)) continue;
    auto& a = said[0];
    if (a.values.empty() && i + 1 < words.size()) a.values.push_back(words[++i]);
    if (a.values.empty()) continue;
    const auto place = source + ":" + std::to_string(a.line);
    if (a.name == "runtime-env") {
      if (!d.has_read(file_kind::ray_environment)) d.unmodelled_key(a.name, a.values[0].shown(), place, "whose env_vars may say how PyTorch allocates: give that file, too");
      continue;
    }
    check_known(a, source);
    const auto root = parse_json(a.values[0].text, place + ": --runtime-env-json");
    if (!root.is_object()) wrong_value(place + ": --runtime-env-json", "an object", root);
    document from{.source = source, .root = root, .lines = {}};
    for (const auto& [key, value] : root.items()) from.lines[key] = a.line;
    import_ray_environment(d, from);
  }
}

}  // namespace headroom::io::detail
