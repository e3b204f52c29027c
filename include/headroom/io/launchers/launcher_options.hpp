// Distributed under the Boost Software License, Version 1.0.
// The options of torchrun and of the deepspeed launcher, and how a launcher's options are told from the program they start.
#pragma once

#include <headroom/io/launchers/import_environment.hpp>
#include <headroom/io/syntax/json_value.hpp>

namespace headroom::io::detail {

/// torchrun's own (torch/distributed/run.py), and those of torch.distributed.launch before it.
inline constexpr auto torchrun_flags = std::to_array<std::string_view>({"standalone", "no-python", "m", "module", "run-path", "use-env", "virtual-local-rank"});
inline constexpr auto torchrun_options = std::to_array<std::string_view>(
    {"nnodes", "nproc-per-node", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "max-restarts", "monitor-interval", "start-method", "event-log-handler", "role",
     "log-dir", "r", "redirects", "t", "tee", "local-ranks-filter", "node-rank", "master-addr", "master-port", "local-addr", "logs-specs", "numa-binding", "signals-to-handle",
     "shutdown-timeout", "duplicate-stdout-filters", "duplicate-stderr-filters", "logdir"});
/// The deepspeed launcher's (deepspeed/launcher/runner.py).
inline constexpr auto deepspeed_flags = std::to_array<std::string_view>({"no-python", "module", "no-local-rank", "save-pid", "elastic-training", "no-ssh", "no-ssh-check", "force-multi", "bind-cores-to-rank", "q", "quiet"});
inline constexpr auto deepspeed_options = std::to_array<std::string_view>(
    {"num-gpus", "num-accelerators", "num-nodes", "hostfile", "H", "i", "include", "e", "exclude", "master-addr", "master-port", "node-rank", "launcher", "launcher-args", "autotuning", "enable-each-rank-log", "ssh-port",
     "bind-core-list", "min-elastic-nodes", "max-elastic-nodes", "venv-script", "log-level"});

/// HOST:0,1@HOST:2,3: nodes, and GPUs of each, 0 where they are not said. Throws job_error for nodes that are not alike.
struct chosen_hosts {
  std::int64_t nodes{}, gpus{};
};
inline chosen_hosts hosts_of(std::string_view text, const std::string& place) {
  chosen_hosts r;
  for (bool more = true; more;) {
    const auto one = text.substr(0, text.find('@'));
    more = one.size() < text.size();
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const auto colon = one.find(':');
    const auto gpus = colon == std::string_view::npos ? 0 : 1 + std::count(one.begin() + static_cast<std::ptrdiff_t>(colon), one.end(), ',');
    if (r.nodes > 0 && gpus != r.gpus) fail("headroom: " + place + ": --include has nodes with different numbers of GPUs, which is not modelled by this version");
    r = {r.nodes + 1, gpus};
  }
  return r;
}

template <class Names>
bool among(const Names& names, std::string_view word) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

[[noreturn]] inline void unknown_option(const argument& a, const std::string& source, std::span<const std::string_view> accepted) {
  const auto meant = closest(a.name, accepted);
  fail("headroom: " + source + ":" + std::to_string(a.line) + ": the launcher has no option --" + a.name + (meant.empty() ? "" : "; did you mean --" + std::string{meant} + "?"));
}

/// A launcher's options up to the program; `counts` is told each. Where the program begins.
template <class Flags, class Options, class Counts>
std::size_t skip_options(const std::vector<shell_word>& w, std::size_t i, const std::string& source, const Flags& flags, const Options& options, Counts counts) {
  while (i < w.size() && w[i].text.starts_with("-")) {
    auto one = arguments_of(std::span{&w[i], 1});
    if (one.empty()) break;
    one[0].name = dashed(one[0].name);
    const auto& name = one[0].name;
    ++i;
    if (among(flags, name)) {
      counts(one[0]);
      continue;
    }
    if (!among(options, name)) {
      std::vector<std::string_view> all(options.begin(), options.end());
      all.insert(all.end(), flags.begin(), flags.end());
      unknown_option(one[0], source, all);
    }
    if (one[0].values.empty() && i < w.size()) one[0].values.push_back(w[i++]);
    counts(one[0]);
  }
  return i;
}

}  // namespace headroom::io::detail
