// Distributed under the Boost Software License, Version 1.0.
// Quantisation-aware training under axolotl, by the torchao that it pins, 0.17 (axolotl-ai-cloud/axolotl 067b021c, 2026-07: utils/quantization.py
// get_quantization_config, _make_qat_config, prepare_model_for_qat; utils/schemas/quantization.py; utils/callbacks/qat.py).
#pragma once

#include <headroom/io/launchers/axolotl/arguments.hpp>

namespace headroom::io::detail {

/// What `qat` makes of linear layers, the head among them where the loss calls it.
inline void read_axolotl_quantised(axolotl_arguments& a) {
  const auto* said = a.v.take("qat");
  if (said == nullptr || said->empty()) return;
  if (!said->is_object()) wrong_value("qat", "an object", *said);
  const auto place = a.v.place("qat");
  const auto word = [&](const char* key, const char* otherwise) { return said->contains(key) && !(*said)[key].is_null() ? string_at((*said)[key], std::string{"qat."} + key) : std::string{otherwise}; };
  for (const auto& [key, value] : said->items())
    if (!among_words("activation_dtype|weight_dtype|group_size|quantize_embedding|fake_quant_after_n_steps", key)) a.d->unknown_key("qat." + key, place);
  const auto weights = word("weight_dtype", "int8"), activations = word("activation_dtype", "");
  if (a.adapter) a.refused("adapter", "adapters beside qat are not modelled by this version: axolotl itself refuses its key peft there");
  if (weights == "nvfp4") a.refused("qat", "torchao 0.17, which axolotl pins, has no fake quantisation for its NVFP4WeightOnlyConfig, and the run ends there (quantization/qat/fake_quantize_config.py, \"Unexpected base config\"): weight_dtype int4 with activation_dtype int8 is modelled");
  if (weights != "int4" || (activations != "int8" && !activations.empty()))
    a.refused("qat", "weight_dtype " + weights + " with activation_dtype " + (activations.empty() ? "none" : activations) + " is not modelled by this version: int4 with int8, or int4 alone, is");
  if (said->contains("quantize_embedding") && truth((*said)["quantize_embedding"], "qat.quantize_embedding")) a.refused("qat", "a fake-quantised embedding (quantize_embedding) is not modelled by this version");
  const auto group = said->contains("group_size") && !(*said)["group_size"].is_null() ? whole_at((*said)["group_size"], "qat.group_size", 1, 1 << 20) : said->contains("group_size") ? 128 : 32;
  a.d->replace("fake_quantization", {{"weights", "int4"}, {"group", group}, {"activations", !activations.empty()}}, place);
  if (said->contains("fake_quant_after_n_steps") && !(*said)["fake_quant_after_n_steps"].is_null())
    a.d->notes.push_back(place + ": the job is that of the steps in which fake quantisation is on; those before it take less memory");
}

}  // namespace headroom::io::detail
