// Distributed under the Boost Software License, Version 1.0.
// InternVL: of OpenGVLab's own code, and of transformers, whose tower has three matrices for queries, keys and values.
#pragma once

#include <headroom/io/huggingface/vision.hpp>
#include <headroom/model/image_edges.hpp>

namespace headroom::io::detail {

/// InternVLChatModel of OpenGVLab's own code (InternVL 2410d1db internvl_chat/internvl/model/internvl_chat/configuration_internvl_chat.py,
/// configuration_intern_vit.py), whose tables are never tied.
inline shape read_internvl_chat(const config& c) {
  for (const char* key : {"use_backbone_lora", "use_llm_lora"})
    if (c.nullable({key}, 0, 0, 0) != 0) complain(c.at(key) + " must be 0: give the configuration without adapters, found " + shown(c.find({key})));
  if (const json* layer = c.find({"select_layer"}); layer != nullptr && *layer != -1) complain(c.at("select_layer") + " must be -1, the tower's last, found " + shown(*layer));
  if (const json* ratio = c.find({"downsample_ratio"}); ratio != nullptr && *ratio != 0.5) complain(c.at("downsample_ratio") + " must be 0.5, found " + shown(*ratio));
  if (!c.has("llm_config")) complain(c.at("llm_config") + " is missing: the language model of InternVL");
  shape m = read_text_config(c.child("llm_config"), "llama", "llama, internlm2, qwen2, phi3 and the other decoders");
  m.tied = false;
  const auto sight = c.child("vision_config");
  const auto norm = sight.text({"norm_type"}, "rms_norm");
  const bool bias = sight.flag("qkv_bias", false), norms = sight.flag("qk_normalization", true), large = norm == "rms_norm" && !bias && norms;
  if (!large && !(norm == "layer_norm" && bias && !norms))
    complain(sight.at("norm_type") + ", qkv_bias and qk_normalization must be \"rms_norm\", false and true (6B) or \"layer_norm\", true and false (300M), found " + quoted_word(norm));
  if (const auto act = sight.text({"hidden_act"}, "gelu"); act != "gelu") complain(sight.at("hidden_act") + " must be gelu, found " + quoted_word(act));
  m.vision = read_tower(sight, large ? vision_kind::intern_vit_6b : vision_kind::intern_vit, {3200, 12800, 48, 25, 14, 224});
  if (const auto edge = c.nullable({"force_image_size"}, m.vision.image, m.vision.image); edge != m.vision.image) complain(c.at("force_image_size") + " must equal " + sight.at("image_size") + ", " + std::to_string(m.vision.image) + ", found " + std::to_string(edge));
  m.vision.projector = projector_kind::norm_mlp;
  m.vision.merge = 2;
  const auto most = c.flag("dynamic_image_size", true) ? c.nullable({"max_dynamic_patch"}, headroom::detail::usual_tiles, headroom::detail::usual_tiles, 1, 64) : 1;  // conversation.py and dataset.py dynamic_preprocess
  if (most != headroom::detail::usual_tiles) m.vision.grid = most;
  return m;
}

/// A pair of edges, each as long as the other, as one number.
inline void square_edge(const config& c, json& plain, const char* key) {
  const json* said = c.find({key});
  if (said == nullptr || !said->is_array()) return;
  if (said->size() != 2 || (*said)[0] != (*said)[1]) complain(c.at(key) + " must be a number, or two that are equal, found " + shown(*said));
  plain[key] = (*said)[0];
}

/// InternVLForConditionalGeneration (transformers 5.16 models/internvl/modeling_internvl.py, configuration_internvl.py).
inline shape read_internvl(const config& c) {
  if (const json* layer = c.find({"vision_feature_layer"}); layer != nullptr && *layer != -1) complain(c.at("vision_feature_layer") + " must be -1, the tower's last, found " + shown(*layer));
  if (const auto select = c.text({"vision_feature_select_strategy"}, "default"); select != "default") complain(c.at("vision_feature_select_strategy") + " must be \"default\", found " + quoted_word(select));
  if (const json* ratio = c.find({"downsample_ratio"}); ratio != nullptr && *ratio != 0.5) complain(c.at("downsample_ratio") + " must be 0.5, found " + shown(*ratio));
  if (const auto act = c.text({"projector_hidden_act"}, "gelu"); act != "gelu") complain(c.at("projector_hidden_act") + " must be gelu, found " + quoted_word(act));
  c.ignore({"image_seq_length"});
  shape m = read_text_config(c.child("text_config"), "qwen2", "qwen2, llama, qwen3 and the other decoders");
  const auto said = c.child("vision_config");
  auto plain = said.object();
  for (const char* edge : {"image_size", "patch_size"}) square_edge(said, plain, edge);
  const config sight{plain, said.path(), said.asked()};
  const auto norm = sight.text({"norm_type"}, "layer_norm");
  const bool bias = sight.flag("attention_bias", false), norms = sight.flag("use_qk_norm", false), large = norm == "rms_norm" && !bias && norms;
  if (!large && !(norm == "layer_norm" && bias && !norms))
    complain(said.at("norm_type") + ", attention_bias and use_qk_norm must be \"rms_norm\", false and true (6B) or \"layer_norm\", true and false (300M), found " + quoted_word(norm));
  if (const auto act = sight.text({"hidden_act"}, "gelu"); act != "gelu") complain(said.at("hidden_act") + " must be gelu, found " + quoted_word(act));
  if (sight.flag("use_mask_token", false) || !sight.flag("use_absolute_position_embeddings", true) || !sight.flag("use_mean_pooling", true))
    complain(said.path() + ": use_mask_token must be false, use_absolute_position_embeddings and use_mean_pooling true: others are counted, and not walked, by this version");
  sight.ignore({"layer_scale_init_value"});
  m.vision = read_tower(sight, large ? vision_kind::internvl_6b : vision_kind::internvl, {1024, 4096, 24, 16, 14, 448});
  m.vision.projector = projector_kind::norm_mlp;
  m.vision.merge = 2;
  tie_around_text(c, m, true);
  return m;
}

}  // namespace headroom::io::detail
