// Distributed under the Boost Software License, Version 1.0.
// How long samples are, where a program that fine-tunes lets each keep its length: the data decide that, which no file here shows.
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io::detail {

/// batch.lengths.unknown, where a program pads to the longest sample of each micro-batch and nobody says how long samples are. Rows that are packed are of
/// one length, and of completions that are generated the job says how long they are at most. `--set batch.lengths.unknown=false` says that all samples are
/// as long as batch.sequence.
inline void settle_lengths(draft& d) {
  const auto* said = d.find({"batch", "lengths"});
  if (said != nullptr && !said->is_object()) return;
  const auto by_hand = [&](const std::string& key) { return d.place_of("batch.lengths." + key).starts_with("--set"); };
  bool given = false, replaced = false;
  for (const auto* key : {"mean", "deviation", "histogram", "list", "file"})
    if (said != nullptr && said->contains(key)) given = true, replaced = replaced || by_hand(key);
  if (said != nullptr && said->contains("unknown")) {
    auto& lengths = d.job["batch"]["lengths"];
    if (lengths["unknown"] == false || (replaced && !by_hand("unknown"))) lengths.erase("unknown");
    if (lengths.empty()) d.job["batch"].erase("lengths");
    return;
  }
  const auto* packed = d.find({"batch", "packed"});
  if (d.keeps_lengths.empty() || given || (packed != nullptr && *packed != false) || d.has({"rollout"})) return;
  d.say({"batch", "lengths", "unknown"}, true, d.keeps_lengths);
  d.notes.push_back(d.keeps_lengths + ": how long samples are, up to this, is not known here: --set batch.lengths.file=FILE or batch.lengths.mean, deviation and longer say it, batch.lengths.unknown=false that all are this long");
}

}  // namespace headroom::io::detail
