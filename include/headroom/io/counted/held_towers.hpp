// Distributed under the Boost Software License, Version 1.0.
// Models that see or hear whose language model is walked over samples of text alone: what their class has beside it is the class's count
// without the language model's, and is held. Where no picture and no sound is given, each of these classes reads its table of words and runs
// its language model, and nothing else (the forward of <type>Model in transformers 5.17 models/<type>/modeling_<type>.py).
#pragma once

#include <headroom/io/counted/classes.hpp>

namespace headroom::io::detail {

/// The language model that runs, without a head, and the head that its class puts on it.
struct held_class {
  const char* type;
  const char* text;                         ///< the language model's type where text_config does not say it
  shape (*read)(const config& c) {nullptr};  ///< how it is read, where it is not a family's as its text_config has it
};

/// MllamaTextModel.forward leaves out the layers that attend to a picture where there is none: what runs is Llama, whose table of words has eight
/// rows more than the head.
inline shape read_mllama_words(const config& c) {
  const auto text = c.text({"model_type"}, "") == "mllama_text_model" ? c : c.child("text_config");
  auto llama = text.object();
  for (const auto& [key, usual] : {std::pair{"num_hidden_layers", 40}, {"hidden_size", 4096}, {"num_attention_heads", 32}, {"num_key_value_heads", 8}, {"intermediate_size", 14336}, {"vocab_size", 128256}})
    if (!text.has(key)) llama[key] = usual;
  const auto layers = text.number({"num_hidden_layers"}, 40, 1, config::most);
  std::int64_t crosses = 0;
  for (const bool one : mllama_crosses(text, layers)) crosses += one ? 1 : 0;
  if (crosses == layers) complain(text.at("cross_attention_layers") + " must leave a layer that runs without pictures, found " + shown(text.find({"cross_attention_layers"})));
  llama["num_hidden_layers"] = layers - crosses;
  llama["model_type"] = "llama";
  for (const char* key : {"cross_attention_layers", "architectures"}) llama.erase(key);
  auto m = walked_inner(config{llama, text.path()}, "llama").value();
  m.vision.words = 8;
  return m;
}
/// A text_config of a class of its own whose layers are those of another family. Their defaults are not the same: sizes have to be there.
template <const char* const* Family>
inline shape read_words_as(const config& c) {
  const auto text = c.child("text_config");
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"})
    if (!text.has(key)) complain(text.at(key) + " is missing; what is walked of this class has no default for it");
  auto other = text.object();
  other["model_type"] = *Family;
  return walked_inner(config{other, text.path()}, *Family).value();
}
inline constexpr const char* granite_layers = "granite";           ///< Granite4VisionTextModel, but for what pictures put between its layers
inline constexpr const char* hunyuan_layers = "hunyuan_v1_dense";  ///< HunYuanVLTextModel

/// Phi4MultimodalModel: Phi-3's layers, beside the towers in one configuration.
inline shape read_phi4_words(const config& c) {
  json phi3;
  for (const auto& [key, usual] : {std::pair{"vocab_size", 200064}, {"hidden_size", 3072}, {"intermediate_size", 8192}, {"num_hidden_layers", 32}, {"num_attention_heads", 32}, {"num_key_value_heads", 8}, {"max_position_embeddings", 131072}})
    phi3[key] = c.object().value(key, json(usual));
  for (const char* key : {"hidden_act", "sliding_window"})
    if (c.has(key)) phi3[key] = *c.find({key});
  return walked_inner(config{phi3, c.path()}, "phi3").value();
}

inline constexpr held_class held_classes[] = {
    {"aya_vision", "cohere2"},      {"cohere2_vision", "cohere2"},    {"deepseek_vl", "llama"},         {"deepseek_vl_hybrid", "llama"},
    {"llava_next_video", "llama"},  {"video_llava", "llama"},         {"vipllava", "llama"},            {"qianfan_ocr", "qwen3"},
    {"idefics2", "mistral"},        {"got_ocr2", "qwen2"},            {"ovis2", "qwen2"},
    {"exaone4_5", "exaone4"},       {"video_llama_3", "qwen2"},       {"minicpmv4_6", "qwen3_5_text"},  {"granite4_vision", "granite", read_words_as<&granite_layers>},
    {"audioflamingo3", "qwen2"},    {"musicflamingo", "qwen2"},       {"glmasr", "llama"},              {"granite_speech", "granite"},
    {"granite_speech_plus", "granite"}, {"qwen3_asr", "qwen3"},       {"vibevoice_asr", "qwen2"},       {"mllama", "llama", read_mllama_words},
    {"mllama_text_model", "llama", read_mllama_words}, {"lfm2_vl", "lfm2"},             {"hunyuan_vl", "hunyuan_v1_dense", read_words_as<&hunyuan_layers>},
    {"phi4_multimodal", "phi3", read_phi4_words},
};

inline const held_class* find_held(std::string_view type) {
  for (const auto& h : held_classes)
    if (type == h.type) return &h;
  return nullptr;
}

/// The class that a configuration of `type` names; where it names none, the one that speaks.
inline std::string held_name(const config& c, std::string_view type) {
  if (const auto* list = c.find({"architectures"}); list != nullptr && list->is_array() && !list->empty() && list->front().is_string()) return list->front().get<std::string>();
  for (const auto& list : counted_classes)
    for (const auto& one : list)
      if (type == one.type && (std::string_view{one.name}.ends_with("ForConditionalGeneration") || std::string_view{one.name}.ends_with("ForCausalLM"))) return one.name;
  return {};
}

inline shape read_held_words(const config& c, const held_class& of) {
  if (of.read != nullptr) return of.read(c);
  if (!c.has("text_config")) complain(c.at("text_config") + " is missing; without it the language model that is walked over text alone is unknown");
  const auto text = c.child("text_config");
  const auto type = text.text({"model_type"}, of.text);
  if (auto m = walked_inner(config{text.object(), text.path()}, type)) return *m;
  complain(text.at("model_type") + " is " + quoted_word(type) + ", which no language model here has; `headroom count` may know its parameters all the same");
}

inline shape held_config(const json& object, const std::string& path, const held_class& of) {
  const config c{object, path};
  const auto name = held_name(c, of.type);
  auto whole = object;
  whole["architectures"] = json::array({name});
  const auto counted = count_config(whole, path);
  shape m = read_held_words(c, of);
  if (name.ends_with("ForConditionalGeneration") || name.ends_with("ForCausalLM")) {
    m.head = head_kind::language;
    m.tied = counted.of(component::head) == parameters{0};
  } else if (!name.ends_with("Model")) {
    complain(c.at("architectures") + " puts a head on this family that is not known; accepted are ...ForConditionalGeneration, ...Model");
  }
  const auto words = count(m);
  if (words.of(component::head) != counted.of(component::head) || counted.total < words.total)
    complain(c.path() + ": what " + name + " has beside its language model is not told apart by this version; `headroom count` knows its parameters");
  m.vision.held = (counted.total - words.total).count();
  const auto origin = c.text({"_name_or_path"}, "");
  m.label = name_from(std::string_view{origin}.substr(origin.find_last_of('/') + 1));
  return m;
}

}  // namespace headroom::io::detail
