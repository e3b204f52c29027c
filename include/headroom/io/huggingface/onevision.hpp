// Distributed under the Boost Software License, Version 1.0.
// LLaVA-OneVision: SigLIP's tower, and an image in up to 6 × 6 tiles.
// Source: transformers 5.16 models/llava_onevision: configuration_llava_onevision.py, modeling_llava_onevision.py.
#pragma once

#include <headroom/io/huggingface/text_of_sight.hpp>
#include <headroom/io/huggingface/ties.hpp>
#include <headroom/io/huggingface/towers.hpp>

namespace headroom::io::detail {

/// Tiles along an edge that image_grid_pinpoints allows at most: all grids up to that many, one row of the list for each height.
inline std::int64_t grid_of(const config& c, std::int64_t tile) {
  const json* list = c.find({"image_grid_pinpoints"});
  if (list == nullptr || list->is_null()) {
    if (tile != 384) complain(c.at("image_grid_pinpoints") + " must be stated where an image_size is not 384");
    return 6;
  }
  std::int64_t most = 1;
  while (most < 64 && list->is_array() && static_cast<std::size_t>(most * most) < list->size()) ++most;
  json usual = json::array();
  for (std::int64_t high = 1; high <= most; ++high)
    for (std::int64_t wide = 1; wide <= most; ++wide) usual.push_back({high * tile, wide * tile});
  if (*list != usual) complain(c.at("image_grid_pinpoints") + " must list all grids of tiles up to a number along each edge, by height and then by width, as LLaVA-OneVision's do, found " + shown(*list));
  return most;
}

/// LlavaOnevisionForConditionalGeneration. It is tied where its text is, too.
inline shape read_onevision(const config& c) {
  static const json usual = {{"hidden_size", 1152}, {"intermediate_size", 4304}, {"patch_size", 14}, {"image_size", 384}, {"num_hidden_layers", 26}, {"num_attention_heads", 16}, {"vision_use_head", false}};
  shape m = read_text_config(c.child("text_config"), "qwen2", "qwen2, llama and the other decoders");
  const auto sight = c.has("vision_config") ? c.child("vision_config") : config{usual, c.at("vision_config")};
  const auto kind = sight.text({"model_type"}, "siglip_vision_model");
  if (kind != "siglip_vision_model") complain(sight.at("model_type") + " must be siglip_vision_model, found " + quoted_word(kind));
  m.vision = read_tower(sight, vision_kind::siglip, siglip_tower);
  m.vision.attention_pool = sight.flag("vision_use_head", true);
  m.vision.projector = projector_kind::mlp;
  m.vision.unread = unread_layers(c, m.vision.layers, -1);
  if (const auto select = c.text({"vision_feature_select_strategy"}, "full"); select != "full") complain(c.at("vision_feature_select_strategy") + " must be \"full\", found " + quoted_word(select));
  if (!c.flag("multimodal_projector_bias", true)) complain(c.at("multimodal_projector_bias") + " must be true, found false");
  if (const auto act = c.text({"projector_hidden_act"}, "gelu"); act != "gelu") complain(c.at("projector_hidden_act") + " must be gelu, found " + quoted_word(act));
  c.ignore({"vision_aspect_ratio", "use_image_newline_parameter"});
  m.vision.newline = true;
  m.vision.grid = grid_of(c, m.vision.image);
  const bool own = c.flag("tie_word_embeddings", false);
  tie_by_release(c, m, m.tied, m.tied || own);
  return m;
}

}  // namespace headroom::io::detail
