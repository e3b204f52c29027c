// Distributed under the Boost Software License, Version 1.0.
// Which processes hold the weights on the host while transformers loads them for FSDP.
#pragma once

#include <headroom/io/launchers/settle/releases.hpp>

namespace headroom::io::detail {

/// Where FSDP_CPU_RAM_EFFICIENT_LOADING is set, from_pretrained of the first process of each node alone fills its weights, of transformers 4.45 to 5.5: until
/// 4.45 all did (b3909989d3, 2024-09-04), and since 5.6 the others write zeros into as much memory (ff49f7c4cb, 2026-04-13, modeling_utils.py
/// _move_missing_keys_from_meta_to_device). Weights that are quantised all processes load. It decides where the node's memory is judged; a release that
/// nobody says is taken to be one whose processes all load. Before settle_releases(), which takes the release away.
inline void settle_loading(draft& d) {
  if (!d.loads_once || d.has_read(file_kind::job) || d.has({"sharding", "loads_once"}) || d.has({"adapter", "base"})) return;
  const auto* kind = d.find({"sharding", "kind"});
  if (kind == nullptr || (*kind != "fsdp1" && *kind != "fsdp2")) return;
  const auto& place = d.loads_once->place;
  if (const auto* said = d.find({"environment", "transformers"})) {
    const auto release = release_of(*said, "environment.transformers");
    if (release >= 445 && release < 506) d.say({"sharding", "loads_once"}, true, place);
  } else if (d.has({"hardware", "host_memory_gib"})) {
    const std::string what = "transformers 4.45 to 5.5 load FSDP's weights into host memory once a node (cpu_ram_efficient_loading), other releases once a process: that is assumed";
    d.notes.push_back(place + ": " + what + ": say it, or --set environment.transformers=VERSION");
    d.assumed.push_back(what);
  }
}

}  // namespace headroom::io::detail
