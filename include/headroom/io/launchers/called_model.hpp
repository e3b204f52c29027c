// Distributed under the Boost Software License, Version 1.0.
// The model that is trained, by the name that another program gives it.
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io {

namespace detail {

/// OpenAI stores gpt-oss in MXFP4; copies in bf16 have other names.
inline bool is_in_mxfp4(std::string_view model) { return model.starts_with("openai/gpt-oss"); }
/// transformers ends where bitsandbytes is to load it (quantizers/auto.py, merge_quantization_configs).
inline void refuse_mxfp4_by_bitsandbytes(const std::string& model, const std::string& place) {
  if (is_in_mxfp4(model)) fail("headroom: " + place + ": " + model + " is stored in MXFP4, and transformers ends where it is to be loaded by bitsandbytes: name a copy in bf16 (unsloth/gpt-oss-20b-BF16)");
}

/// Unsloth's copies of Phi have Llama's or Mistral's layers, q_proj, k_proj and v_proj apart, where Microsoft's have joined ones: unslothai/notebooks bdda2efc
/// nb/Phi_4-, Phi_3.5_Mini- and Phi_3_Medium-Conversational.ipynb ("Fast Llama patching", "Fast Mistral patching" in what they print). Of other copies of
/// its own of models with joined layers its config.json says which they have: false.
inline bool takes_unsloth_apart(std::string_view name, shape& m) {
  if (!name.starts_with("unsloth/") || !(m.fused_qkv || m.fused_gate_up)) return true;
  auto last = std::string{without_quantisation(name.substr(8))};
  for (auto& c : last) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (!among_words("phi-4|phi-3.5-mini-instruct|phi-3-medium-4k-instruct|phi-3-mini-4k-instruct", last)) return false;
  m.fused_qkv = m.fused_gate_up = false;
  return true;
}

}  // namespace detail

/// A model of the library's own by the name that another program gives it: fine-tuned ones have the shape of what they were made of.
struct called_model {
  std::optional<shape> known;  ///< nothing: the library has none
  std::string base;            ///< the name of what it was made of
};
inline called_model model_called(const std::string& name) {
  auto base = name;
  auto known = shape_named(base);
  const auto last = std::string_view{name}.substr(name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1);
  for (const auto& made : models::descendants)
    if (known && last == made.name) base = made.of;
  if (const auto of = descended_from(name); !of.empty()) base = of;
  for (bool shorter = true; !known && shorter;) {
    shorter = false;
    for (const std::string_view end : {"-2507", "-Instruct", "-instruct", "-Chat", "-chat", "-hf", "-it", "-Base"})
      if (base.ends_with(end) && base.size() > end.size()) {
        base.resize(base.size() - end.size());
        shorter = true;
      }
    known = shape_named(base);
  }
  if (known && !detail::takes_unsloth_apart(name, *known)) known.reset();
  return {known, base};
}

/// How an owner stores its checkpoints that end so: Qwen's are of groups of 128 (qwen.readthedocs.io, quantization/awq and gptq: w_bit 4, q_group_size 128;
/// bits 4 or 8, group_size 128). Empty: not known.
inline std::string stored_by_owner(std::string_view name) {
  if (!name.starts_with("Qwen/") && !name.starts_with("qwen/")) return {};
  for (const auto& [end, format] : {std::pair<std::string_view, std::string_view>{"-AWQ", "awq-int4"}, {"-GPTQ-Int4", "gptq-int4"}, {"-GPTQ-Int8", "gptq-int8"}})
    if (name.ends_with(end)) return std::string{format};
  return {};
}

/// The model that is trained, by such a name. Files are not looked for.
inline void say_model(draft& d, const std::string& name, const std::string& place) {
  const auto* before = d.find({"model"});
  const auto stored = name.substr(without_quantisation(name).size());
  if (!stored.empty() && !headroom::detail::equal_ignoring_case(stored, "-fp8")) d.stored_quantised = draft::said{name, place};  // blocks of fp8 are dequantised as they are loaded
  if (before != nullptr && !d.has_read(file_kind::adapter)) return;
  const auto [known, base] = model_called(stored_by_owner(name).empty() ? name : std::string{without_quantisation(name)});
  if (!known) {
    if (before == nullptr) d.awaits_model = draft::said{name, place};
    return;
  }
  if (before != nullptr) {  // the adapter's
    if (d.place_of("model") != "--model" && *before != model_to_json(*known)) fail("headroom: " + place + ": " + in_quotes(name) + " is another model than the one that the adapter is for (" + d.place_of("model") + ")");
    return;
  }
  if (base != name) d.notes.push_back(place + ": " + in_quotes(name) + " is taken to have the shape of " + std::string{known->label.view()});
  d.replace("model", model_to_json(*known), place);
}

}  // namespace headroom::io
