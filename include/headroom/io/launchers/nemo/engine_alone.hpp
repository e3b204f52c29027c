// Distributed under the Boost Software License, Version 1.0.
// NeMo-RL's engine on GPUs of its own (policy.generation.colocated.enabled false): what its keys say is of those GPUs, and weights are sent to it in bf16 whatever
// it makes of them (NVIDIA-NeMo/RL 7ea279ab of 2026-08-22 nemo_rl/algorithms/grpo.py refit_policy_generation, nemo_rl/models/generation/vllm/quantization/fp8.py
// load_weights).
#pragma once

#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/nested_values.hpp>

namespace headroom::io::detail {

/// Takes out of a section of the engine's what is neither read nor harmless; the paths, one behind the other.
inline void take_open_keys(json_value& section, const std::string& path, const key_lists& lists, std::string& open) {
  for (auto it = section.begin(); it != section.end();) {
    const auto name = path + "." + it.key();
    if (lists.opens(name) && it->is_object()) {
      take_open_keys(*it, name, lists, open);
      ++it;
    } else if (lists.reads(name) || lists.rule(section, name, *it) == key_rule::passed) {
      ++it;
    } else {
      open += (open.empty() ? "" : ", ") + name;
      it = section.erase(it);
    }
  }
}

/// Of an engine on other GPUs, keys that are not modelled leave open whether it starts there, and how fast it is, but not what trains here.
/// Whether there are any.
inline bool leave_engine_open(draft& d, const document& from, json_value& root, const key_lists& lists) {
  const auto* shares = value_at(root, "policy.generation.colocated.enabled");
  if (!root.contains("grpo") || shares == nullptr || shares->is_null() || truth(*shares, "policy.generation.colocated.enabled")) return false;
  std::string open;
  auto& generation = root["policy"]["generation"];
  if (const auto engine = generation.find("backend"); engine != generation.end() && *engine == "trtllm") open = "policy.generation.backend", generation.erase(engine);
  for (const auto* section : {"vllm_cfg", "vllm_kwargs"})
    if (generation.contains(section) && generation[section].is_object()) take_open_keys(generation[section], std::string{"policy.generation."} + section, lists, open);
  if (open.empty()) return false;
  const std::string what = "the engine's GPUs are not judged, as " + open + " is not modelled";
  d.notes.push_back(from.place("policy.generation.colocated.enabled") + ": " + what + "; no step time is predicted");
  d.assumed.push_back(what);
  return true;
}

}  // namespace headroom::io::detail
