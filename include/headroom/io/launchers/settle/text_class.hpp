// Distributed under the Boost Software License, Version 1.0.
// What transformers' AutoModelForCausalLM makes of a model that sees: its text model alone, all of it, or nothing.
#pragma once

#include <headroom/io/launchers/largest_images.hpp>

namespace headroom::io::detail {

enum class text_class : std::uint8_t {
  whole,  ///< the class has the tower
  alone,  ///< a class of the text model, which the tower's weights are no part of
  none,   ///< the program ends where it loads the model
  own,    ///< code of the checkpoint's own, which decides
};

/// transformers models/auto/modeling_auto.py, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES (2024-06 to 2026-08), and auto_factory.py from_pretrained, which takes the text's
/// configuration where the class is the text's: Llama4ForCausalLM, Qwen3_5ForCausalLM and Qwen3_5MoeForCausalLM.
inline text_class text_class_of(const shape& m) {
  const auto& v = m.vision;
  switch (v.kind) {
    case vision_kind::llama4: return text_class::alone;
    case vision_kind::qwen3_vl: return m.recurs() ? text_class::alone : text_class::none;  // Qwen3.5 has Qwen3-VL's tower
    case vision_kind::gemma4: return text_class::whole;
    case vision_kind::none: return m.value_norm ? text_class::whole : text_class::none;  // towers that are held: Gemma 4 E2B's, and those of models that hear
    case vision_kind::siglip: return v.projector == projector_kind::norm_linear ? text_class::whole : v.projector == projector_kind::linear ? text_class::none : text_class::own;
    case vision_kind::qwen2_vl:
    case vision_kind::qwen2_5_vl:
    case vision_kind::pixtral:
    case vision_kind::internvl:
    case vision_kind::internvl_6b:
    case vision_kind::idefics3:
    case vision_kind::glm4v:
    case vision_kind::glm_ocr: return text_class::none;
    case vision_kind::clip: return v.projector == projector_kind::mlp ? text_class::none : text_class::own;
    default: return text_class::own;
  }
}

/// The model that a program of texts trains, which loads it by AutoModelForCausalLM.
inline void settle_text_class(draft& d) {
  if (d.reads_texts && d.has({"model"}) && !d.has({"batch", "images"}) && model_of(d).vision.kind != vision_kind::none) d.say({"batch", "images", "none"}, true, d.reads_texts->place);
  if (!d.causal || !d.has({"model"}) || d.has_read(file_kind::job)) return;
  auto m = model_of(d);
  if (m.vision.kind == vision_kind::none && m.vision.held == 0) return;
  const auto is = text_class_of(m);
  const auto name = std::string{m.label.view().empty() ? "the model" : m.label.view()};
  if (is == text_class::none) fail("headroom: " + d.causal->place + ": " + d.causal->word + " loads its model by transformers' AutoModelForCausalLM, which has no class for " + name + ", which has a tower for images or sound: its run ends there");
  if (is == text_class::whole && !d.has({"batch", "images"})) d.say({"batch", "images", "none"}, true, d.causal->place);  // these programs read texts alone
  if (is != text_class::alone) return;
  if (const auto* images = d.find({"batch", "images"}); images != nullptr) {
    if (!images->is_object() || !images->contains("none"))
      fail("headroom: " + d.place_of("batch.images") + ": batch.images are given, and " + d.causal->word + " loads the text model of " + name + " alone (transformers' AutoModelForCausalLM)");
    d.job["batch"].erase("images");
  }
  m.vision = {};
  d.job["model"] = model_to_json(m);
  d.notes.push_back(d.causal->place + ": " + d.causal->word + " loads the text model of " + name + " alone: its tower is no part of the class that transformers' AutoModelForCausalLM makes");
}

}  // namespace headroom::io::detail
