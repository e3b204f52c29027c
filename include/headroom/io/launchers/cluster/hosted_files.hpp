// Distributed under the Boost Software License, Version 1.0.
// Files of a cluster's manager: which are, the workload among several objects of one manifest, and the script that its command starts.
#pragma once

#include <headroom/io/launchers/cluster/kubernetes_workload.hpp>
#include <headroom/io/launchers/cluster/skypilot_task.hpp>
#include <headroom/io/launchers/import_environment.hpp>
#include <headroom/io/syntax/shell.hpp>

namespace headroom::io::detail {

/// Objects of a manifest, which lines of "---" part; each has the lines that it has in the whole.
inline std::vector<std::string> manifest_parts(std::string_view text) {
  std::vector<std::string> parts(1);
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const auto line = text.substr(at, end - at);
    ++lines;
    if (line.starts_with("---") && line.find_first_not_of(" \r\n", 3) == std::string_view::npos) parts.emplace_back(lines, '\n');
    else parts.back() += line;
    if (parts.size() > 256 || lines > 65'536) return {std::string{text}};  // no manifest that people write
    at = end;
  }
  std::erase_if(parts, [](const std::string& p) {
    for (std::size_t at = 0; (at = p.find_first_not_of(" \r\n\t", at)) != std::string::npos; at = p.find('\n', at))
      if (p[at] != '#') return false;
    return true;
  });
  return parts.empty() ? std::vector<std::string>{std::string{text}} : parts;
}

/// Kinds of objects beside a workload, which start nothing that trains.
inline bool starts_nothing(const json_value& root) {
  static constexpr std::string_view kinds =
      "ConfigMap|Secret|PersistentVolumeClaim|PersistentVolume|StorageClass|Service|ServiceAccount|Role|RoleBinding|ClusterRole|ClusterRoleBinding|Namespace|PodGroup|PriorityClass|LocalQueue|ClusterQueue|ResourceFlavor|Queue|NetworkPolicy|ResourceQuota|LimitRange|ComputeDomain|ResourceClaimTemplate|Deployment|StatefulSet|DaemonSet";
  const auto kind = root.find("kind");
  return is_kubernetes(root) && among_words(kinds, kind->get_ref<const std::string&>());
}

/// A manifest that is a template, with $NAME and ${NAME} of --env filled in as envsubst does (GNU gettext).
/// Errors: job_error where that makes more of it than a file may have.
inline std::string filled_in(std::string_view text, const shell_values& environment, const std::string& source) {
  std::map<std::string_view, std::string_view> known;
  for (const auto& [name, value] : environment) known[name] = value;
  std::string made;
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t i = 0; i < text.size();) {
    const bool brace = text.compare(i, 2, "${") == 0;
    std::size_t from = i + (brace ? 2 : 1), to = from;
    while (text[i] == '$' && to < text.size() && letter(text[to])) ++to;
    const auto it = text[i] != '$' || (brace && (to >= text.size() || text[to] != '}')) ? known.end() : known.find(text.substr(from, to - from));
    if (it == known.end()) {
      made += text[i++];
      continue;
    }
    made += it->second;
    i = to + (brace ? 1 : 0);
    if (made.size() > largest_text) fail("headroom: " + source + ": with --env filled in it takes more than " + std::to_string(largest_text >> 20) + " MiB");
  }
  return made;
}

/// Files of its ConfigMaps, by name.
inline void add_config_map(const json_value& root, std::vector<std::pair<std::string, std::string>>& files) {
  if (root["kind"] != "ConfigMap") return;
  if (const auto data = root.find("data"); data != root.end() && data->is_object())
    for (const auto& [name, text] : data->items())
      if (text.is_string()) files.emplace_back(name, text.get<std::string>());
}

/// Where a command starts a script of this name: the words after it are the script's own arguments.
inline bool starts_script(const hosted_launch& h, std::string_view name, const std::string& source, shell_values& arguments) {
  for (const auto& c : read_shell(h.text, source, h.environment).commands)
    for (std::size_t i = 0; i < std::min<std::size_t>(c.words.size(), 64); ++i) {
      if (file_part(c.words[i].text) != name) continue;
      for (std::size_t n = i + 1; n < c.words.size() && c.words[n].known(); ++n) arguments.emplace_back(std::to_string(n - i), c.words[n].text);
      return true;
    }
  return false;
}

}  // namespace headroom::io::detail
