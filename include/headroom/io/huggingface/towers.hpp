// Distributed under the Boost Software License, Version 1.0.
// Towers that see: their sizes, and models that are nothing else (ViT), or a pair of towers (CLIP, SigLIP).
#pragma once

#include <headroom/io/huggingface/gpt.hpp>

namespace headroom::io::detail {

/// Patches of an image: whole ones along each edge.
inline std::int64_t patches_of(const config& c, std::int64_t image, std::int64_t patch) {
  if (image < patch || image > (std::int64_t{1} << 20))
    complain(c.at("image_size") + " must be a whole number from " + c.at("patch_size") + " (" + std::to_string(patch) +
             ") to 1048576, found " + std::to_string(image));
  return (image / patch) * (image / patch);
}

/// What the sizes of a tower default to.
struct tower_defaults {
  std::int64_t hidden, ffn, layers, heads, patch, image;
};
inline constexpr tower_defaults clip_tower{768, 3072, 12, 12, 32, 224};
inline constexpr tower_defaults siglip_tower{768, 3072, 12, 12, 16, 224};
inline constexpr tower_defaults paligemma_tower{1152, 4096, 27, 16, 14, 224};
inline constexpr tower_defaults llava_tower{1024, 4096, 24, 16, 14, 336};
inline constexpr tower_defaults pixtral_tower{1024, 4096, 24, 16, 16, 1024};
inline constexpr tower_defaults mistral3_tower{1024, 4096, 24, 16, 14, 1540};
inline constexpr tower_defaults idefics3_tower{1152, 3072, 12, 16, 32, 224};
inline constexpr tower_defaults llama4_tower{768, 5632, 34, 16, 14, 448};

/// CLIP's spelling, which SigLIP, ViT and Llama 4 share.
inline vision_shape read_tower(const config& c, vision_kind kind, const tower_defaults& d) {
  vision_shape v;
  v.kind = kind;
  v.layers = c.count({"num_hidden_layers"}, d.layers);
  v.hidden = c.size({"hidden_size"}, d.hidden);
  v.heads = c.count({"num_attention_heads"}, d.heads);
  if (v.hidden % v.heads != 0) complain(c.at("num_attention_heads") + " must divide hidden_size, " + std::to_string(v.hidden) + ", found " + std::to_string(v.heads));
  v.ffn = c.size({"intermediate_size"}, d.ffn);
  v.channels = c.size({"num_channels"}, 3);
  v.patch = c.size({"patch_size"}, d.patch);
  v.image = c.size({"image_size"}, d.image);
  v.positions = patches_of(c, v.image, v.patch) + (kind == vision_kind::siglip || kind == vision_kind::idefics3 ? 0 : 1);
  return v;
}

inline shape read_vit(const config& c, task head) {  // ViTModel, ViTForImageClassification
  shape m = gpt_block();
  const auto v = read_tower(c, vision_kind::vit, {768, 3072, 12, 12, 16, 224});
  m.layers = v.layers;
  m.hidden = v.hidden;
  m.heads = v.heads;
  m.ffn = v.ffn;
  m.position = position_kind::learned;
  m.softmax = softmax_kind::fp32;
  m.max_positions = v.positions;
  m.attention_bias = c.flag("qkv_bias", true);
  m.activation = activation_of(c, {"hidden_act"}, "gelu");
  require_equal(c, "head_dim", "hidden_size / num_attention_heads", m.hidden / m.heads);
  m.bidirectional = m.head_bias = true;
  m.head = head_kind::none;
  m.vision.kind = vision_kind::vit;
  m.vision.patch = v.patch;
  m.vision.image = v.image;
  m.vision.channels = v.channels;
  if (head == task::image)
    m.classes = labels_of(c);
  else if (head == task::base || head == task::unstated)
    require_equal(c, "pooler_output_size", "hidden_size", m.hidden), m.pooler = true;
  else
    complain(c.at("architectures") + " puts a head on ViT that is not known; accepted are ViTModel, ViTForImageClassification");
  return m;
}

/// CLIPModel and SiglipModel: a text tower as the main stack, a vision tower beside it.
inline shape read_contrastive(const config& c, task head, bool siglip) {
  if (head != task::base && head != task::unstated)
    complain(c.at("architectures") + " puts a head on this family that is not known; accepted are CLIPModel, SiglipModel");
  const auto text = c.child("text_config");
  const auto sight = c.child("vision_config");
  shape m = gpt_block();
  m.layers = text.count({"num_hidden_layers"}, 12);
  m.hidden = text.size({"hidden_size"}, siglip ? 768 : 512);
  m.heads = text.count({"num_attention_heads"}, siglip ? 12 : 8);
  m.ffn = text.size({"intermediate_size"}, siglip ? 3072 : 2048);
  m.vocab = text.size({"vocab_size"}, siglip ? 32000 : 49408);
  m.position = position_kind::learned;
  m.max_positions = text.size({"max_position_embeddings"}, siglip ? 64 : 77);
  m.activation = activation_of(text, {"hidden_act"}, siglip ? "gelu_pytorch_tanh" : "quick_gelu");
  m.head = head_kind::none;
  m.vision = read_tower(sight, siglip ? vision_kind::siglip : vision_kind::clip, siglip ? siglip_tower : clip_tower);
  m.vision.projector = projector_kind::contrastive;
  if (siglip) {
    m.bidirectional = m.pooler = true;  // SiglipTextTransformer.head is a dense layer over the last position
    if (text.nullable({"projection_size"}, m.hidden, m.hidden) != m.hidden)
      complain(text.at("projection_size") + " must equal " + text.at("hidden_size") + ", found " + shown(text.find({"projection_size"})));
    m.vision.attention_pool = sight.flag("vision_use_head", true);
  } else {
    m.vision.output = c.size({"projection_dim"}, 512);
  }
  return m;
}

}  // namespace headroom::io::detail
