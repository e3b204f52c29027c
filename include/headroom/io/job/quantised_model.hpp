// Distributed under the Boost Software License, Version 1.0.
// The `quantization_config` of a model's config.json: what its weights are stored in, and so what an adapter's base is.
#pragma once

#include <headroom/io/job/model.hpp>
#include <headroom/job.hpp>

namespace headroom::io {

namespace detail {

/// The configuration that a job's `model` names or is; nothing for names of the zoo and shapes.
inline json_value config_of(const json_value& model, const file_base& base) {
  if (model.is_object()) return model;
  if (!model.is_string()) return {};
  const auto& text = model.get_ref<const std::string&>();
  if (shape_named(text) && text.find('/') == std::string::npos) return {};  // as read_model_named() takes it
  const auto file = config_at(text, base);
  return file ? parse_config_file(*file, base) : json_value{};
}

/// Layers that are stored as they were: of a list, those that are neither the head nor a router, nor a tower that the model does not have (transformers
/// quantizers/base.py get_modules_to_not_convert; Unsloth's dynamic quantisation lists layers). Throws job_error for them, since a base is counted as quantised
/// in all layers alike, and for a list without the head, which is quantised then.
inline void refuse_mixed_layers(const json_value& said, const std::string& path, bool sees) {
  const auto mixed = [&](const std::string& what) {
    fail("headroom: " + path + ": " + what + ", and a base with layers of several formats is not modelled by this version: name a checkpoint whose layers are quantised alike (Unsloth's NAME-bnb-4bit), or one that is quantised as it is loaded");
  };
  for (const auto* key : {"llm_int8_skip_modules", "modules_to_not_convert"}) {
    const auto listed = said.find(key);
    if (listed == said.end() || !listed->is_array() || listed->empty()) continue;
    bool head = false;
    for (const auto& one : *listed) {
      const auto name = one.is_string() ? one.get<std::string>() : one.dump();
      const bool tower = among_words("multi_modal_projector|merger|modality_projection|visual|vision_tower|vision_model|mm_projector", name), is_head = name == "lm_head" || name.ends_with(".lm_head");
      head = head || is_head;
      if (!is_head && !(tower && !sees) && !among_words("router|gate|mlp.gate", name)) mixed(std::string{key} + " keeps " + in_quotes(name) + " as it was");
    }
    if (!head && key == std::string_view{"llm_int8_skip_modules"}) mixed(std::string{key} + " does not name lm_head, which is quantised then");
  }
  for (const auto* key : {"modules_in_block_to_quantize", "dynamic"})
    if (const auto part = said.find(key); part != said.end() && !part->is_null() && !part->empty()) mixed(std::string{key} + " quantises a part of the layers");
}

/// Its format (transformers utils/quantization_config.py): none where the trainers dequantise it as they load (FineGrainedFP8Config,
/// Mxfp4Config: LLaMA-Factory model_utils/quantization.py), since those do not train as they are. Throws job_error for one that is not modelled.
inline number_format stored_format(const json_value& said, const std::string& path, bool sees) {
  const auto on = [&](const char* key) {
    const auto it = said.find(key);
    return it != said.end() && *it == true;
  };
  const auto named = said.find("quant_method");
  const auto method = named != said.end() && named->is_string() ? named->template get<std::string>() : std::string{on("load_in_4bit") || on("load_in_8bit") ? "bitsandbytes" : ""};
  const auto number = [&](const char* key, const char* older, std::int64_t otherwise) {
    for (const auto* name : {key, older})
      if (const auto it = said.find(name); it != said.end() && it->is_number_integer()) return it->template get<std::int64_t>();
    return otherwise;
  };
  if (method == "fp8" || method == "mxfp4") return {};
  refuse_mixed_layers(said, path, sees);
  if (method == "bitsandbytes") {
    if (on("load_in_8bit")) return formats::int8;
    const auto code = said.find("bnb_4bit_quant_type");
    const bool normal = code != said.end() && *code == "nf4";  // BitsAndBytesConfig: "fp4" where nothing is said
    if (on("bnb_4bit_use_double_quant")) return normal ? formats::nf4_double : formats::fp4_double;
    return normal ? formats::nf4 : formats::fp4;
  }
  const auto bits = number("bits", "w_bit", 0), group = number("group_size", "q_group_size", 128);
  if (method == "gptq" && group == 128 && (bits == 4 || bits == 8)) return bits == 4 ? formats::gptq_int4 : formats::gptq_int8;
  if (method == "awq" && group == 128 && bits == 4) return formats::awq_int4;
  fail("headroom: " + path + ": quant_method " + in_quotes(method) + (bits > 0 ? " with " + std::to_string(bits) + " bits in groups of " + std::to_string(group) : std::string{}) +
       " is not modelled by this version; accepted: bitsandbytes; gptq with 4 or 8 bits and awq with 4 bits, in groups of 128; fp8 and mxfp4, which are dequantised as they are loaded");
}

/// Whether a configuration has a tower.
inline bool has_tower(const json_value& config) { return config.contains("vision_config") || config.contains("visual") || config.contains("mm_vision_tower"); }

/// A configuration's own quantization_config; null where it has none, or null itself. Throws job_error for what is no object.
inline const json_value* quantised_by(const json_value& config, const std::string& path) {
  const auto it = config.is_object() ? config.find("quantization_config") : config.end();
  if (!config.is_object() || it == config.end() || it->is_null()) return nullptr;
  if (!it->is_object()) wrong_value(path, "an object", *it);
  return &*it;
}

}  // namespace detail

/// What a quantised model asks of the job. Its weights do not train by themselves (transformers trainer_utils.py validate_quantization_for_training:
/// "You cannot perform fine-tuning on purely quantized models").
inline void read_stored_format(job& j, const json_value& model, const file_base& base) {
  const auto config = detail::config_of(model, base);
  const auto* said = detail::quantised_by(config, "model.quantization_config");
  if (said == nullptr) return;
  const auto stored = detail::stored_format(*said, "model.quantization_config", detail::has_tower(config));
  if (!stored.set()) return;
  if (!j.adapter.active())
    fail("headroom: model.quantization_config: weights in " + std::string{stored.label.view()} + " do not train by themselves: add an adapter, or take quantization_config away");
  if (j.adapter.base.set() && j.adapter.base != stored)
    fail("headroom: adapter.base " + in_quotes(j.adapter.base.label.view()) + " contradicts model.quantization_config, which says " + in_quotes(stored.label.view()) + "; leave it out");
  j.adapter.base = stored;
}

}  // namespace headroom::io
