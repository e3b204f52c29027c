// Distributed under the Boost Software License, Version 1.0.
// Checkpoints of a vision tower, and gradients that go through one that does not train.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/settle/releases.hpp>

namespace headroom::io::detail {

/// ms-swift's tower (modelscope/ms-swift 3602360a of 2026-08-22: swift/trainers/mixin.py _prepare_gradient_checkpointing). Where its layers are checkpointed, what it
/// makes of patches is asked for a gradient, whether it trains or not: loaders of models name the module (swift/model/patcher.py patch_get_input_embeddings).
/// Where they are not and the language model's are, transformers 5 asks all the same (modeling_utils.py enable_input_require_grads, of all modules since
/// huggingface/transformers 41993). A tower of which nothing trains runs without a graph since modelscope/ms-swift 10214 of 2026-09-21.
inline constexpr std::int32_t swift_without_graph = 407;

inline void frozen_tower_of_swift(draft& d, const std::string& place, bool checkpoints, bool towers) {
  if (towers)
    d.releases.push_back({.program = "ms-swift", .since = swift_without_graph, .place = place, .what = "a frozen tower's checkpoints are kept, and gradients go back through it, before ms-swift's change of 2026-09-21 (4.7), and not since",
                          .older = [](draft& of, const std::string& where) { of.frozen_towers = draft::said{"ms-swift", where}; }, .bounds = true});
  else if (checkpoints)
    d.releases.push_back({.program = "transformers", .since = 500, .place = place, .what = "a frozen tower that is not checkpointed keeps all that it computes over transformers 5 and ms-swift before its change of 2026-09-21 (4.7), and nothing otherwise",
                          .newer = [](draft& of, const std::string& where) {
                            const auto* swift = of.find({"environment", "ms-swift"});
                            if (swift != nullptr && release_of(*swift, "environment.ms-swift") >= swift_without_graph) return;
                            of.frozen_towers = draft::said{"ms-swift", where};
                          },
                          .assumed = 500, .bounds = true});
}

/// Once the releases are known.
inline void settle_towers(draft& d) {
  if (!d.frozen_towers && !d.checkpoints_towers) return;
  if (!d.has({"recompute"}) || d.place_of("recompute").starts_with("--set")) return;
  auto& r = d.job["recompute"];
  if (r.is_string()) r = json_value{{"mode", r}};
  if (d.checkpoints_towers && !r.contains("towers")) r["towers"] = *d.checkpoints_towers;
  if (d.frozen_towers && !r.contains("frozen_towers")) r["frozen_towers"] = true;
}

}  // namespace headroom::io::detail
