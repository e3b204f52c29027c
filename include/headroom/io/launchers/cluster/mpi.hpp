// Distributed under the Boost Software License, Version 1.0.
// What mpirun says of nodes and GPUs: each process that it starts is a rank with a GPU of its own (openpmix/prrte
// src/mca/schizo/ompi/schizo_ompi.c; Hydra's -ppn, -genv).
#pragma once

#include <headroom/io/launchers/import_environment.hpp>

namespace headroom::io::detail {

/// Options without a value; every other takes one, and some two.
inline constexpr auto mpi_flags = std::to_array<std::string_view>(
    {"allow-run-as-root", "uniform-nodes", "v", "verbose", "q", "quiet", "V", "version", "h", "help", "p", "parseable", "parsable", "report-bindings", "tag-output", "timestamp-output",
     "display-map", "display-allocation", "display-devel-map", "display-devel-allocation", "oversubscribe", "nooversubscribe", "nolocal", "use-hwthread-cpus", "bynode", "bycore", "byslot",
     "bind-to-core", "hetero-nodes", "enable-recovery", "disable-recovery", "continuous", "debug", "debug-daemons", "debug-daemons-file", "leave-session-attached", "noprefix", "no-app-prefix",
     "stop-on-exec", "stop-in-init", "report-state-on-timeout", "get-stack-traces", "no-aggregate-help", "preload-binary", "s", "do-not-launch", "show-progress", "xml", "soft",
     "report-child-jobs-separately", "merge-stderr-to-stdout", "pernode", "display-comm", "display-comm-finalize"});

/// Reads options from `i` on, and says what they add up to.
inline void read_mpirun(draft& d, std::span<const shell_word> w, const std::string& source) {
  draft::fact all, each;
  const auto number = [&](const argument& a, draft::fact& of) {
    const auto place = source + ":" + std::to_string(a.line);
    if (!a.known()) return draft::leave_open(d.open_gpus, a.name, a.values[0].shown(), place);
    of = {count_at(typed(a.values[0].text), place + ": " + a.name, 1, 1 << 20), place};
  };
  for (std::size_t i = 0; i < w.size() && w[i].text.starts_with("-");) {
    auto read = arguments_of(w.subspan(i, 1));
    if (read.empty()) return;
    ++i;
    auto& a = read[0];
    if (a.name == "pernode") each = {1, source + ":" + std::to_string(a.line)};
    if (std::find(mpi_flags.begin(), mpi_flags.end(), a.name) != mpi_flags.end()) continue;
    if (a.values.empty() && i < w.size()) a.values.push_back(w[i++]);
    const bool two = a.name == "mca" || a.name == "gmca" || a.name == "prtemca" || a.name == "pmixmca" || a.name == "genv" || a.name == "env";
    if (two && i < w.size()) a.values.push_back(w[i++]);
    if (a.values.empty()) continue;
    const auto& text = a.values[0].text;
    if (a.name == "np" || a.name == "n" || a.name == "c") number(a, all);
    if (a.name == "N" || a.name == "npernode" || a.name == "ppn" || a.name == "perhost") number(a, each);
    if ((a.name == "map-by" || a.name == "ppr") && text.find("ppr:") == 0 && text.find(":node") != std::string::npos) {
      a.values[0].text = text.substr(4, text.find(":node") - 4);
      number(a, each);
    }
    if (a.name == "x" && text.find('=') != std::string::npos) import_setting(d, a.values[0], source);
    if ((a.name == "genv" || a.name == "env") && a.values.size() == 2) import_setting(d, {text + "=" + a.values[1].text, a.line}, source);
    if ((a.name == "H" || a.name == "host" || a.name == "hosts") && a.known())
      d.say({"hardware", "nodes"}, 1 + std::count(text.begin(), text.end(), ','), source + ":" + std::to_string(a.line));
  }
  if (each.value > 0) d.say({"hardware", "gpus_per_node"}, each.value, each.place);
  if (all.value > 0) d.know(d.gpus, "GPUs", all.value, all.place);
}

}  // namespace headroom::io::detail
