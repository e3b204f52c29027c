// Distributed under the Boost Software License, Version 1.0.
// Names of layers that a model does not have, because it joins them in one.
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/frameworks.hpp>
#include <headroom/io/launchers/largest_images.hpp>

namespace headroom::io::detail {

/// PEFT finds no q_proj in Phi-3, whose qkv_proj is one layer, and passes over a name that no layer has as long as another name is found
/// (peft/tuners/tuners_utils.py inject_adapter). In a job's own words the three of them mean that layer.
inline void settle_joined_names(draft& d) {
  const auto* targets = d.find({"adapter", "targets"});
  const auto place = d.place_of("adapter.targets").empty() ? d.place_of("adapter") : d.place_of("adapter.targets");
  if (targets == nullptr || !targets->is_array() || *targets == d.own_targets || place.empty() || place.starts_with("--set") || !d.has({"model"}) || !d.has({"framework"}) || d.has_read(file_kind::job)) return;
  const auto m = model_of(d);
  const auto framework = read_framework(*d.find({"framework"}), "framework").chosen;
  if (!(m.fused_qkv || m.fused_gate_up) || framework.attention.qkv != qkv_projection::separate || framework.adapters.by_target || framework.adapters.parallel) return;
  auto left = json_value::array();
  std::string lost;
  for (const auto& one : *targets) {
    const auto name = one.is_string() ? one.get<std::string>() : std::string{};
    const bool joined = (m.fused_qkv && among_words("q_proj|k_proj|v_proj", name)) || (m.fused_gate_up && among_words("gate_proj|up_proj", name));
    if (joined)
      lost += (lost.empty() ? "" : ", ") + name;
    else
      left.push_back(one);
  }
  if (lost.empty()) return;
  const auto what = "no layer of this model is called " + lost + ": one layer makes what elsewhere these make";
  if (left.empty()) fail("headroom: " + place + ": " + what + ", and PEFT ends where it finds no layer: name the layers as the model does, or all-linear");
  d.say({"adapter", "targets"}, left, place);
  d.notes.push_back(place + ": " + what + ", and " + left.dump() + " alone have adapters");
}

}  // namespace headroom::io::detail
