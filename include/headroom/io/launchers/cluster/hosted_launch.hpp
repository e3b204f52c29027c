// Distributed under the Boost Software License, Version 1.0.
// A command that the manager of a cluster starts, with the machines that it gives it: what a Kubernetes manifest or a SkyPilot task holds.
#pragma once

#include <headroom/io/launchers/cluster/gpu_labels.hpp>
#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/syntax/shell_script.hpp>

namespace headroom::io {

struct hosted_launch {
  static constexpr std::int64_t as_many_as_gpus = -1;

  std::string text{};            ///< of the script; empty lines before it, so that it has the manifest's lines
  std::string place{};           ///< "job.yaml:12"
  shell_values environment{};    ///< that the manager sets
  std::int64_t machines{1};      ///< pods or nodes, on each of which the command is started
  bool all{true};                ///< the command trains on all of them; false: Ray gives it as many as it asks for
  std::int64_t gpus{};           ///< of each; 0: none are asked for
  std::int64_t processes{};      ///< that torchrun starts on each where its options leave it open; 0: one; as_many_as_gpus: of which nothing is said
  bool numbers_ranks{};          ///< the manager tells torchrun and a program of its own how many machines there are
  std::string gpu{};             ///< a name of the table; empty where no label says it
  double host_gib{};             ///< memory of each machine that the command may take; 0: no limit
};

namespace detail {

/// A word that a shell leaves in one piece. What a template leaves open, "${NODES}", stays open.
inline std::string shell_quoted(std::string_view word) {
  std::string quoted = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\' || c == '`') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}
/// A command in words as a script, in the lines that it has in its file: the string after `sh -c` is a script already.
inline std::string script_of(std::span<const shell_word> words) {
  const auto lines_before = [](const shell_word& w) { return std::string(static_cast<std::size_t>(std::max(0, w.line - (w.text.find('\n') == std::string::npos ? 1 : 0))), '\n'); };
  const auto first = words.empty() ? std::string_view{} : std::string_view{words[0].text};
  const auto name = first.substr(first.rfind('/') == std::string_view::npos ? 0 : first.rfind('/') + 1);
  const bool shell = name == "sh" || name == "bash" || name == "dash" || name == "zsh" || name == "ash";
  for (std::size_t i = 1; shell && i + 1 < words.size() && words[i].text.starts_with("-"); ++i)
    if (!words[i].text.starts_with("--") && words[i].text.find('c') != std::string::npos) return lines_before(words[i + 1]) + words[i + 1].text + "\n";
  auto text = words.empty() ? std::string{} : lines_before(words[0]);
  for (const auto& w : words) text += shell_quoted(w.text) + " ";
  return text + "\n";
}

/// What its machines are, before the command is read.
inline void say_host(draft& d, const hosted_launch& h) {
  if (h.gpus > 0) d.visible = draft::fact{h.gpus, h.place};
  if (!h.gpu.empty()) d.say({"hardware", "gpu"}, h.gpu, h.place);
  if (h.host_gib > 0) d.say({"hardware", "host_memory_gib"}, h.host_gib, h.place);
  if (h.numbers_ranks) d.torchrun_nodes = draft::fact{h.machines, h.place};
  if (h.processes == hosted_launch::as_many_as_gpus) d.open_gpus = draft::said{"a process starts for each GPU of a machine, but there is no limit of GPUs (resources.limits)", h.place};
  if (h.processes > 0) d.torchrun_processes = draft::fact{h.processes, h.place};
}
/// After the command was read: it trains on these machines, all of them, with GPUs that they have.
/// Errors: job_error where it is for more or fewer machines, or for more GPUs than each has.
inline void check_host(draft& d, const hosted_launch& h) {
  const auto number = [&](const char* key) {
    const auto* n = d.find({"hardware", key});
    return n != nullptr && n->is_number_integer() ? n->get<std::int64_t>() : 0;
  };
  const auto nodes = number("nodes"), each = number("gpus_per_node");
  const auto differ = [&](const std::string& asked, std::int64_t trains, const char* what, const std::string& place) {
    fail("headroom: " + h.place + ": " + asked + ", and its command trains on " + std::to_string(trains) + what + (place.empty() ? "" : " (" + place + ")") + ": one of the two must change");
  };
  const auto machines = std::to_string(h.machines) + (h.machines == 1 ? " machine" : " machines"), gpus = std::to_string(h.gpus) + (h.gpus == 1 ? " GPU" : " GPUs");
  if (nodes > 0 && (h.all ? nodes != h.machines : nodes > h.machines)) differ(machines + (h.machines == 1 ? " is" : " are") + " asked for", nodes, nodes == 1 ? " node" : " nodes", d.place_of("hardware.nodes"));
  if (h.gpus > 0 && each > h.gpus) differ(gpus + (h.gpus == 1 ? " of each machine is" : " of each machine are") + " asked for", each, " of each", d.place_of("hardware.gpus_per_node"));
  if (h.gpus > 0 && d.gpus && d.gpus->value > checked::mul(h.gpus, h.machines)) differ(machines + " with " + gpus + (h.machines == 1 ? " is" : " are") + " asked for", d.gpus->value, " GPUs", d.gpus->place);
  if (nodes > 0) return;
  if (h.machines == 1) return d.say({"hardware", "nodes"}, 1, h.place);
  if (h.numbers_ranks && h.gpus == 1 && !d.takes_all_gpus) {  // a process on each, which WORLD_SIZE counts
    d.alone.reset();
    d.say({"hardware", "nodes"}, h.machines, h.place);
    return d.say({"hardware", "gpus_per_node"}, 1, h.place);
  }
  d.open_nodes = draft::said{"the command must tell how many of its " + machines + " train together (torchrun --nnodes)", h.place};
}

}  // namespace detail

}  // namespace headroom::io
