// Distributed under the Boost Software License, Version 1.0.
// A tower that reads images, and what joins it to the language model.
#pragma once

#include <cstdint>

namespace headroom {

/// How a tower's blocks and its patch embedding are built (Hugging Face's class in the comment).
enum class vision_kind : std::uint8_t {
  none,
  vit,         ///< ViTModel: class token, biased patches
  clip,        ///< CLIPVisionModel: class token, bias-free patches, a norm in front
  siglip,      ///< SiglipVisionModel: biased patches, no class token
  qwen2_vl,    ///< Qwen2VisionTransformer: bias-free 3-d patches, rotary positions
  qwen2_5_vl,  ///< …with RMSNorm and a gated MLP
  qwen3_vl,    ///< …with biased 3-d patches and learned positions
  llama4,      ///< Llama4VisionModel
  pixtral,     ///< PixtralVisionModel: no bias anywhere, RMSNorm, a gated MLP, rotary positions
  intern_vit,     ///< InternVL's InternVisionModel: class token, biased patches, one matrix for q, k and v, each branch times a trained vector
  intern_vit_6b,  ///< …of 6B: RMSNorm, no bias on q, k and v, norms over all heads of q and of k
  megatron_clip,  ///< Megatron-LM's CLIPViTModel: clip without the norm at its end
  internvl,       ///< InternVLVisionModel of transformers: intern_vit, whose q, k and v have matrices of their own
  internvl_6b,    ///< …of 6B
  gemma4,         ///< Gemma4VisionModel: bias-free patches, four norms in a layer, norms over each head's q, k and v, a gated MLP, rotary positions
  idefics3,       ///< Idefics3VisionTransformer, SmolVLM's: siglip whose positions are looked up for each patch of each tile
  glm4v,          ///< Glm4vVisionModel: biased 3-d patches, a norm behind them, then positions sampled from a table in fp32; RMSNorm, a gated MLP, no other bias, rotary positions
  glm_ocr,        ///< GlmOcrVisionModel: glm4v without that norm and that table, with all biases and norms over each head's q and k
};

/// Towers of GLM-4V's classes.
constexpr bool is_glm(vision_kind k) { return k == vision_kind::glm4v || k == vision_kind::glm_ocr; }

/// What joins a tower to the language model.
enum class projector_kind : std::uint8_t {
  none,
  mlp,          ///< LLaVA: two biased layers
  norm_linear,  ///< Gemma3: norm, then a bias-free matrix
  merger,       ///< Qwen-VL: norm, then an MLP over merge² patches side by side
  pixel_mlp,    ///< Llama 4: a two-layer bias-free MLP over merged patches, then a bias-free matrix
  resampler,    ///< MiniCPM-V: `queries` learned queries attend to the patches
  contrastive,  ///< CLIP, SigLIP: both towers project into one space and are compared
  linear,       ///< PaliGemma: one biased layer
  norm_mlp,     ///< InternVL: norm over merge² patches side by side, then two biased layers
  patch_merger,  ///< Mistral 3: norm, a bias-free matrix over merge² patches side by side, then two bias-free layers
  pooled_linear,  ///< Gemma 4: the mean of merge² patches, a norm without weights, then a bias-free matrix
  shuffled_linear,  ///< Idefics 3, SmolVLM: a bias-free matrix over merge² patches side by side
  glm_merger,       ///< GLM-4V: a convolution over merge² patches, which is the tower's, a matrix and a norm, then a gated MLP of projector_hidden
};

/// A vision tower. `kind` none: no images. `layers` 0 with a kind: the main stack itself reads the patches (ViT).
struct vision_shape {
  vision_kind kind{vision_kind::none};
  projector_kind projector{projector_kind::none};
  bool attention_pool{};         ///< SigLIP's pooling head
  bool no_patch_bias{};          ///< the patch layer has no bias although its kind's has one
  std::int64_t layers{};
  std::int64_t hidden{};
  std::int64_t heads{};
  std::int64_t ffn{};
  std::int64_t patch{};
  std::int64_t temporal_patch{1};
  std::int64_t channels{3};
  std::int64_t image{};            ///< edge of the image in pixels; its width, where image_height is given
  std::int64_t image_height{};     ///< 0: as high as wide
  std::int64_t positions{};        ///< rows of the position table; 0: none (rotary)
  std::int64_t merge{1};           ///< patches merged along each edge before the projector
  std::int64_t output{};           ///< width that the projector or the projections deliver; 0: hidden of the shape
  std::int64_t projector_hidden{};  ///< width inside the projector: Llama 4's pixel-shuffle MLP, Megatron-LM's two layers
  std::int64_t deep_mergers{};      ///< Qwen3-VL: further mergers that feed earlier language layers
  std::int64_t slices{};            ///< images or tiles of one sample; 0: one
  std::int64_t tokens{};            ///< Gemma 4: of an image at most; the tower reads merge² patches for each, however small the image. Megatron-LM: that reach the projector
  std::int64_t resampler{};         ///< learned queries of the resampler
  bool newline{};                   ///< LLaVA-NeXT: a learned vector that ends each row of tiles
  std::int64_t grid{};              ///< LLaVA-OneVision: an image alone is cut into at most grid × grid tiles; 0: LLaVA-NeXT's five grids. InternVL: tiles of an image at most; 0: twelve
  std::int64_t unread{};            ///< blocks behind the one whose result the projector reads: they run, keep nothing, and have no gradients (LLaVA's: one)
  std::int64_t held{};              ///< parameters of towers for which there is no program (Gemma 4 E2B's, that see and hear), beside no other: they are held frozen, and never run
  std::int64_t words{};             ///< rows of the table of words that the head does not have (Llama 3.2 Vision: eight)
  bool operator==(const vision_shape&) const = default;
};

}  // namespace headroom
