// Distributed under the Boost Software License, Version 1.0.
// Checkpoints of a vision tower, and gradients that go through one that does not train.
#pragma once

#include <headroom/block/tower_gradients.hpp>
#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/settle/releases.hpp>

namespace headroom::io::detail {

/// ms-swift's tower (modelscope/ms-swift 3602360a of 2026-08-22: swift/trainers/mixin.py _prepare_gradient_checkpointing). Where its layers are checkpointed, what it
/// makes of patches is asked for a gradient, whether it trains or not: loaders of models name the module (swift/model/patcher.py patch_get_input_embeddings).
/// Where they are not and the language model's are, transformers 5 asks all the same (modeling_utils.py enable_input_require_grads, of all modules since
/// huggingface/transformers 41993). A tower of which nothing trains runs without a graph since modelscope/ms-swift 10214 of 2026-09-21.
inline constexpr std::int32_t swift_without_graph = 407;

inline void frozen_tower_of_swift(draft& d, const std::string& place, bool checkpoints, bool towers) {
  d.asks_towers = draft::said{"never", place};
  constexpr auto asks = [](draft& of, const std::string& where) { of.asks_towers = draft::said{"ms-swift", where}; };
  if (towers)
    d.releases.push_back({.program = "ms-swift", .since = swift_without_graph, .place = place, .what = "a frozen tower's checkpoints are kept, and gradients go back through it, before ms-swift's change of 2026-09-21 (4.7), and not since",
                          .older = asks, .bounds = true});
  else if (checkpoints)
    d.releases.push_back({.program = "transformers", .since = 500, .place = place, .what = "a frozen tower that is not checkpointed keeps all that it computes over transformers 5 and ms-swift before its change of 2026-09-21 (4.7), and nothing otherwise",
                          .newer = [](draft& of, const std::string& where) {
                            const auto* swift = of.find({"environment", "ms-swift"});
                            if (swift != nullptr && release_of(*swift, "environment.ms-swift") >= swift_without_graph) return;
                            of.asks_towers = draft::said{"ms-swift", where};
                          },
                          .assumed = 500, .bounds = true});
}

/// Whether the model's tower is there for images, does not train and has no adapters.
inline bool frozen_tower(const draft& d) {
  const auto m = model_said(d);
  const auto *adapter = d.find({"adapter"}), *trains = d.find({"trainable"});
  const auto* tower = adapter != nullptr ? adapter : trains;
  return m && m->vision.layers > 0 && !d.has({"batch", "images", "none"}) && tower != nullptr && tower->dump().find("\"vision\"") == std::string::npos;
}

/// axolotl asks models with adapters for gradients, whether layers are recomputed or not (axolotl-ai-cloud/axolotl 067b021c: src/axolotl/loaders/adapter.py,
/// load_adapter), which reaches towers since transformers 5.
inline void frozen_tower_of_axolotl(draft& d, const std::string& place) {
  constexpr auto matters = [](const draft& of) {
    const auto* r = of.find({"recompute"});
    return of.has({"adapter"}) && frozen_tower(of) && names_patches(model_said(of)->vision.kind) && (r == nullptr || *r == "none");
  };
  d.releases.push_back({.program = "transformers", .since = 500, .place = place, .what = "axolotl asks a frozen tower for gradients beside adapters, so that it keeps all that it computes, over transformers 5, and not before",
                        .newer = [](draft& of, const std::string& where) { of.asks_towers = draft::said{"axolotl", where}; },
                        .matters = matters, .assumed = 500, .bounds = true});
}

/// Who asks a frozen tower for gradients other than by the Trainer's gradient_checkpointing_enable. LLaMA-Factory has put a method of its own in its place, which asks for
/// none, and checkpoints what trains alone; PEFT asks where a base that is not quantised gets adapters (hiyouga/LLaMA-Factory ff6d4d12e:
/// model/model_utils/checkpointing.py get_custom_gradient_checkpointing_func; peft peft_model.py _prepare_model_for_gradient_checkpointing).
inline void settle_asked_tower(draft& d, json_value& r) {
  if (r.contains("frozen_towers") || !frozen_tower(d)) return;
  const auto& by = d.asks_towers->word;
  if (by == "ms-swift" || by == "axolotl") r["frozen_towers"] = true;
  if ((by != "LLaMA-Factory" && by != "never") || r.value("mode", json_value{}) != "full" || !names_patches(model_said(d)->vision.kind)) return;
  const bool peft = by != "never" && d.has({"adapter"}) && !d.has({"adapter", "base"});
  r[peft ? "towers" : "frozen_towers"] = false;
}

/// Once the releases are known.
inline void settle_towers(draft& d) {
  if (!d.asks_towers && !d.checkpoints_towers) return;
  if (!d.has({"recompute"}) || d.place_of("recompute").starts_with("--set")) return;
  auto r = d.job["recompute"];
  if (r.is_string()) r = json_value{{"mode", r}};
  if (d.checkpoints_towers && !r.contains("towers")) r["towers"] = *d.checkpoints_towers;
  if (d.asks_towers) settle_asked_tower(d, r);
  if (r.size() > 1) d.job["recompute"] = r;
}

}  // namespace headroom::io::detail
