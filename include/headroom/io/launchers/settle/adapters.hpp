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

/// … and of what joins it to the text (LlavaMultiModalProjector, Qwen3VLVisionPatchMerger, Mistral3MultiModalProjector and its patch_merger, Glm4vVisionPatchMerger,
/// InternVLMultiModalProjector, PaliGemmaMultiModalProjector, Idefics3SimpleMLP). Qwen2-VL's and 2.5-VL's merger numbers its layers.
constexpr std::string_view projector_layer_names(const vision_shape& v) {
  switch (v.projector) {
    case projector_kind::mlp: return "linear_1|linear_2";
    case projector_kind::norm_mlp: return v.kind == vision_kind::internvl || v.kind == vision_kind::internvl_6b ? "linear_1|linear_2" : "";
    case projector_kind::merger: return v.kind == vision_kind::qwen3_vl ? "linear_fc1|linear_fc2" : "";
    case projector_kind::patch_merger: return "merging_layer|linear_1|linear_2";
    case projector_kind::glm_merger: return "proj|gate_proj|up_proj|down_proj";
    case projector_kind::linear: return "linear";
    case projector_kind::shuffled_linear: return "proj";
    default: return "";
  }
}

/// A job's word for a layer of a tower, of what joins it to the text, or of a language model beside one.
constexpr std::string_view part_word(std::string_view name) {
  constexpr std::string_view words[][2] = {{"qkv|query", "q_proj"}, {"key", "k_proj"}, {"value", "v_proj"}, {"out_proj|proj|projection_layer", "o_proj"}, {"merging_layer", "gate_proj"},
                                           {"fc1|linear_fc1|linear_1|linear", "up_proj"}, {"fc2|linear_fc2|linear_2", "down_proj"}};
  for (const auto& w : words)
    if (among_words(w[0], name)) return w[1];
  return name;
}

/// Names of adapted layers, by where a model that sees has layers of them.
struct reached_layers {
  json_value language = json_value::array(), vision = json_value::array(), projector = json_value::array();
  bool convolution{};  ///< a name is the patches' convolution's, too
};
/// A layer gets an adapter where its path ends with one of the names (peft/tuners/tuners_utils.py, check_target_module_exists), in the tower, too.
inline reached_layers layers_reached(const shape& m, const json_value& names) {
  const auto& v = m.vision;
  const auto put = [](json_value& list, std::string_view word) {
    if (std::find(list.begin(), list.end(), json_value(word)) == list.end()) list.push_back(word);
  };
  reached_layers r;
  for (const auto& one : names) {
    const auto name = one.is_string() ? std::string_view{one.get_ref<const std::string&>()} : std::string_view{};
    const bool sees = among_words(tower_layer_names(v.kind), name), joins = among_words(projector_layer_names(v), name);
    if (sees) put(r.vision, part_word(name));
    if (joins) put(r.projector, v.projector == projector_kind::shuffled_linear ? "up_proj" : part_word(name));
    // Language models beside a tower call these seven so, where one layer is not both gate and up (Glm4vTextMLP's gate_up_proj); recurrent ones have an out_proj.
    const bool missing = m.fused_gate_up && (name == "gate_proj" || name == "up_proj");
    if (!(sees || joins) || (among_words("q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj", name) && !missing) || (name == "out_proj" && m.pattern.given())) r.language.push_back(one);
    r.convolution = r.convolution || (name == "proj" && (headroom::detail::resizes_by_pixels(v.kind) || is_glm(v.kind)));
  }
  return r;
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

/// Adapters by names that layers of the tower and of what joins it to the text may have, too.
inline void name_layers(draft& d, const shape& m, const json_value& names) {
  const auto reached = layers_reached(m, names);
  if (reached.vision.empty() && reached.projector.empty()) return;
  const auto& by = *d.names_everywhere;
  if (reached.convolution) fail("headroom: " + by.place + ": " + by.word + " \"proj\" gives an adapter to the convolution that makes patches, too, which is not modelled by this version: leave it out");
  auto targets = reached.language;
  const auto part = [&](const char* word, const char* key, const json_value& list) {
    if (list.empty()) return;
    targets.push_back(word);
    d.job["adapter"][key] = list;
  };
  part("vision", "vision_targets", reached.vision);
  part("projector", "projector_targets", reached.projector);
  d.job["adapter"]["targets"] = targets;
  const auto what = by.word + " " + names.dump() + " gives adapters to layers of the same names in the vision tower, too, as PEFT looks at every module's last name";
  d.notes.push_back(by.place + ": " + what);
}

/// "all-linear" is all of them but the head. bitsandbytes replaces the tower's, as well (transformers quantizers/base.py, get_modules_to_not_convert).
inline void settle_adapters(draft& d) {
  check_listed_targets(d);
  if (!d.names_everywhere || !d.has({"adapter"}) || d.place_of("adapter.targets").starts_with("--set")) return;
  const auto m = model_of(d);
  if (m.vision.held > 0)
    fail("headroom: " + d.names_everywhere->place + ": " + d.names_everywhere->word + " finds layers in this model's towers that see and hear, too, which is not modelled by this version: say with --set adapter.targets=[…] that the language model alone has adapters");
  if (m.vision.layers == 0) return;
  auto tower = tower_parts(m);
  if (d.has({"adapter", "base"}) && !d.has({"adapter", "base_also"})) d.say({"adapter", "base_also"}, tower, d.names_everywhere->place);
  const auto* targets = d.find({"adapter", "targets"});
  if (targets == nullptr) return;
  if (targets->is_string()) {  // peft/tuners/tuners_utils.py _maybe_include_all_linear_layers: by whole names, so that no convolution is meant (a21750710 of 2024-12-13)
    tower.insert(tower.begin(), *targets);
    d.job["adapter"]["targets"] = tower;
  } else {
    name_layers(d, m, *targets);
  }
}

}  // namespace headroom::io::detail
