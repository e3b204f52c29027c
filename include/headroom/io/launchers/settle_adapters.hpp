// Distributed under the Boost Software License, Version 1.0.
// Adapters beside a tower, where PEFT looks for layers by their names alone.
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/listed_modules.hpp>

namespace headroom::io::detail {

/// The linear layers of a tower's modules, by their last names (transformers modeling_clip.py, modeling_siglip.py, modeling_qwen2_vl.py,
/// modeling_qwen2_5_vl.py, modeling_qwen3_vl.py, modeling_llama4.py, modeling_pixtral.py, modeling_gemma4.py, modeling_idefics3.py, modeling_glm4v.py, modeling_vit.py, modeling_internvl.py; OpenGVLab's
/// modeling_intern_vit.py; 2026-07).
constexpr std::string_view tower_layer_names(vision_kind kind) {
  switch (kind) {
    case vision_kind::none:
    case vision_kind::megatron_clip: return "";  // nothing of PEFT's
    case vision_kind::vit: return "query|key|value|dense";
    case vision_kind::clip:
    case vision_kind::siglip:
    case vision_kind::idefics3: return "q_proj|k_proj|v_proj|out_proj|fc1|fc2";
    case vision_kind::qwen2_vl: return "qkv|proj|fc1|fc2";
    case vision_kind::qwen2_5_vl: return "qkv|proj|gate_proj|up_proj|down_proj";
    case vision_kind::qwen3_vl: return "qkv|proj|linear_fc1|linear_fc2";
    case vision_kind::glm4v:
    case vision_kind::glm_ocr: return "qkv|proj|gate_proj|up_proj|down_proj";
    case vision_kind::llama4: return "q_proj|k_proj|v_proj|o_proj|fc1|fc2";
    case vision_kind::pixtral:
    case vision_kind::gemma4: return "q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj";
    case vision_kind::internvl:
    case vision_kind::internvl_6b: return "q_proj|k_proj|v_proj|projection_layer|fc1|fc2";
    case vision_kind::intern_vit:
    case vision_kind::intern_vit_6b: return "qkv|proj|fc1|fc2";
  }
  return "";
}

/// What of a model that sees has linear layers of its own: Gemma 3's projector is a parameter (modeling_gemma3.py Gemma3MultiModalProjector).
inline json_value tower_parts(const shape& m) {
  auto parts = json_value::array({"vision"});
  if (m.vision.projector != projector_kind::norm_linear) parts.push_back("projector");
  return parts;
}

/// The word for all linear layers stands in a list in jobs alone, beside a tower's: programs hand their lists on to PEFT.
inline void check_listed_targets(const draft& d) {
  const auto* said = d.find({"adapter", "targets"});
  const auto place = d.place_of("adapter.targets");
  if (said != nullptr && *said != d.own_targets && !place.empty() && !place.starts_with("--set")) refuse_listed_all_linear(*said, "the list of adapted layers", place);
}

/// A layer gets an adapter where its path ends with one of the names (peft/tuners/tuners_utils.py, check_target_module_exists), in the tower, too;
/// "all-linear" is all of them but the head. bitsandbytes replaces the tower's, as well (transformers quantizers/base.py, get_modules_to_not_convert).
inline void settle_adapters(draft& d) {
  check_listed_targets(d);
  if (!d.names_everywhere || !d.has({"adapter"}) || d.place_of("adapter.targets").starts_with("--set")) return;
  const auto m = model_of(d);
  if (m.vision.layers == 0) return;
  auto tower = tower_parts(m);
  if (d.has({"adapter", "base"}) && !d.has({"adapter", "base_also"})) d.say({"adapter", "base_also"}, tower, d.names_everywhere->place);
  const auto* targets = d.find({"adapter", "targets"});
  if (targets == nullptr) return;
  const auto layers = tower_layer_names(m.vision.kind);
  std::string found;
  if (targets->is_string()) {  // peft/tuners/tuners_utils.py _maybe_include_all_linear_layers: by whole names, so that no convolution is meant (a21750710 of 2024-12-13)
    tower.insert(tower.begin(), *targets);
    d.job["adapter"]["targets"] = tower;
  } else {
    for (const auto& t : *targets)
      if (found.empty() && t.is_string() && among_words(layers, t.get_ref<const std::string&>())) found = t.get<std::string>();
  }
  if (!found.empty())
    fail("headroom: " + d.names_everywhere->place + ": " + d.names_everywhere->word + " " + in_quotes(found) + " gives adapters to layers of the vision tower, too, which is not modelled by this version: name layers that the tower has not (it has " +
         listed(words_between_bars(layers)) + "), or say with --set adapter.targets=[…] that the language model alone has them");
}

}  // namespace headroom::io::detail
