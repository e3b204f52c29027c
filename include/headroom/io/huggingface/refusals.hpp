// Distributed under the Boost Software License, Version 1.0.
// What a configuration says that no family here builds. A key that shapes the network is never passed over: it is refused by name.
#pragma once

#include <headroom/io/huggingface/task.hpp>
#include <headroom/model/shape.hpp>

namespace headroom::io::detail {

/// Families whose layers this library has no closed form for.
struct refused_family {
  const char* type;
  const char* reason;
};
inline constexpr refused_family refused_families[] = {
    {"kimi_linear", "experts whose published code does not train (its layers are model.pattern's kimi-delta and attention with model.mla, position none)"},
    {"kimi_vl", "its tower (MoonViT) and the experts of its own code"},
    {"minimax_text_01", "its linear-attention layers"},
    {"minimax_m1", "its linear-attention layers"},
    {"zamba", "its state-space layers"},
    {"zamba2", "its state-space layers"},
    {"rwkv", "its recurrent layers"},
    {"gemma3n", "its towers for pictures and sound"},
    {"nemotron-nas", "its layers, each of a shape of its own,"},
    {"openelm", "its layers, each of a shape of its own,"},
    {"longcat_flash", "its two attentions and zero experts in each layer"},
    {"deberta", "its disentangled attention"},
    {"phi3small", "its block-sparse attention"},
};

/// Whether a key is there and says something.
inline bool says(const config& c, const char* key) {
  const json* v = c.find({key});
  return v != nullptr && !v->is_null() && *v != false && *v != 0 && !((v->is_object() || v->is_array() || v->is_string()) && (v->empty() || *v == ""));
}

/// Keys whose weights or layers are counted for the family that has them, and for no other.
struct foreign_key {
  const char* key;
  const char* what;
};
inline constexpr foreign_key seen_keys[] = {
    {"vision_config", "a vision tower"}, {"visual", "a vision tower"}, {"vision_tower", "a vision tower"}, {"mm_vision_tower", "a vision tower"},
    {"text_config", "a language model of its own"}, {"llm_config", "a language model of its own"},
};
inline constexpr foreign_key foreign_keys[] = {
    {"audio_config", "an audio tower"},
    {"audio", "an audio tower"},
    {"mm_audio_tower", "an audio tower"},
    {"talker_config", "a model that speaks"},
    {"add_cross_attention", "cross-attention in every layer"},
    {"block_configs", "a shape for each layer"},
    {"num_key_value_heads_per_layer", "key-value heads for each layer"},
    {"num_kv_shared_layers", "layers that share keys and values"},
    {"linear_attn_config", "linear-attention layers"},
    {"ssm_cfg", "state-space layers"},
    {"mamba_d_state", "state-space layers"},
    {"index_topk", "a sparse-attention indexer"},
};
inline constexpr const char* expert_keys[] = {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts"};

/// Refuses what `m`, read as a model of `type`, left out.
inline void check_foreign(const config& c, const shape& m, const std::string& type) {
  const auto refuse = [&](const char* key, const std::string& what) {
    complain(c.at(key) + " describes " + what + ", which model_type " + quoted_word(type) +
             " does not have here. Give the model as a shape object, or take the key away if the model is without it");
  };
  if (m.vision.kind == vision_kind::none && m.vision.held == 0)
    for (const auto& f : seen_keys)
      if (says(c, f.key)) refuse(f.key, f.what);
  for (const auto& f : foreign_keys)
    if (says(c, f.key) && !(m.vision.held > 0 && (std::string_view{f.key} == "audio_config" || std::string_view{f.key} == "talker_config")) && !(m.ssm.state > 0 && std::string_view{f.key} == "mamba_d_state") && !(m.mla.index_keys > 0 && std::string_view{f.key} == "index_topk") && !(m.norm_power && std::string_view{f.key} == "num_kv_shared_layers")) refuse(f.key, f.what);
  if (!m.sparse())
    for (const char* key : expert_keys)
      if (const json* v = c.find({key}); v != nullptr && v->is_number() && *v > 1) refuse(key, shown(*v) + " experts");
  for (const char* key : {"layer_types", "layers_block_type"})
    if (const json* list = c.find({key}); list != nullptr && !list->is_null() && !list->is_array()) complain(c.at(key) + " must be a list of words, one for each layer, found " + shown(*list));
    else if (list != nullptr && list->is_array() && !m.pattern.given())
      for (const auto& layer : *list)
        if (!layer.is_string() || layer.get_ref<const std::string&>().find("attention") == std::string::npos || layer == "linear_attention")
          refuse(key, "layers of the kind " + shown(layer));
}

}  // namespace headroom::io::detail
