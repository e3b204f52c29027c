// Distributed under the Boost Software License, Version 1.0.
// Families of encoders, of encoder and decoder, and models that see.
#pragma once

#include <headroom/model/family_experts.hpp>

/// … of models with towers, encoders or several stacks.
namespace headroom::family {

/// BERT and RoBERTa, as the bare model with its pooler.
constexpr shape bert(name label, n layers, n hidden, n heads, n vocab, n positions = 512, n types = 2) {
  auto s = gpt(label, layers, hidden, heads, vocab, positions);
  s.activation = activation_kind::gelu;
  s.fused_qkv = false;
  s.token_types = types;
  s.head = head_kind::none;
  s.pooler = s.bidirectional = s.norm_after = s.no_final_norm = s.embedding_norm = true;
  return s;
}

/// T5 and Flan-T5: `layers` of each stack, heads of `head_dim`.
constexpr shape t5(name label, n layers, n hidden, n heads, n head_dim, n ffn, bool flan = false) {
  auto s = llama(label, layers, hidden, heads, 0, ffn, 32128, !flan, head_dim);
  s.mlp = flan ? mlp_kind::gated : mlp_kind::plain;
  s.activation = flan ? activation_kind::gelu_new : activation_kind::relu;
  s.position = position_kind::relative;
  s.relative_buckets = 32;
  s.encoder.layers = layers;
  s.encoder.cross_attention = true;
  return s;
}

constexpr shape whisper(name label, n layers, n hidden, n heads, n vocab = 51865, n mel_bins = 80) {
  auto s = gpt(label, layers, hidden, heads, vocab, 448);
  s.activation = activation_kind::gelu;
  s.fused_qkv = false;
  s.no_key_bias = true;
  s.encoder.layers = layers;
  s.encoder.cross_attention = s.encoder.frozen_positions = true;
  s.encoder.sequence = s.encoder.max_positions = 1500;
  s.encoder.audio_channels = mel_bins;
  return s;
}

/// A Vision Transformer that reads patches itself, with ImageNet's classifier.
constexpr shape vit(name label, n layers, n hidden, n heads, n patch = 16, n image = 224) {
  const n patches = (image / patch) * (image / patch);
  auto s = gpt(label, layers, hidden, heads, 0, patches + 1);
  s.activation = activation_kind::gelu;
  s.fused_qkv = false;
  s.head = head_kind::none;
  s.softmax = softmax_kind::fp32;
  s.bidirectional = s.head_bias = true;
  s.classes = 1000;
  s.vision.kind = vision_kind::vit;
  s.vision.patch = patch;
  s.vision.image = image;
  return s;
}

/// The language model `s` with a CLIP, SigLIP or Qwen tower in front.
constexpr shape with_vision(shape s, vision_kind kind, projector_kind projector, n layers, n hidden, n heads, n ffn, n patch, n image) {
  auto& v = s.vision;
  v.kind = kind;
  v.projector = projector;
  v.layers = layers;
  v.hidden = hidden;
  v.heads = heads;
  v.ffn = ffn;
  v.patch = patch;
  v.image = image;
  if (image > 0) v.positions = (image / patch) * (image / patch) + (kind == vision_kind::siglip ? 0 : 1);
  if (kind == vision_kind::qwen2_vl || kind == vision_kind::qwen2_5_vl) v.temporal_patch = v.merge = 2;
  return s;
}

/// CLIP-L/336 (LLaVA), whose last block but one is read.
constexpr shape clip_large(shape s) {
  s = with_vision(s, vision_kind::clip, projector_kind::mlp, 24, 1024, 16, 4096, 14, 336);
  s.vision.unread = 1;
  return s;
}
/// SigLIP so400m (Gemma 3), or with a resampler of so many queries (MiniCPM-V).
constexpr shape siglip_so400m(shape s, n image, n queries = 0) {
  const auto projector = queries > 0 ? projector_kind::resampler : projector_kind::norm_linear;
  s = with_vision(s, vision_kind::siglip, projector, 27, 1152, 16, 4304, 14, image);
  s.vision.resampler = queries;
  return s;
}
constexpr shape qwen2_tower(shape s) {
  return with_vision(s, vision_kind::qwen2_vl, projector_kind::merger, 32, 1280, 16, 5120, 14, 0);
}
constexpr shape qwen2_5_tower(shape s, n ffn) {
  return with_vision(s, vision_kind::qwen2_5_vl, projector_kind::merger, 32, 1280, 16, ffn, 14, 0);
}

/// Qwen3-VL: a tower with learned positions, of which three layers feed the first language layers, too.
constexpr shape qwen3_tower(shape s, n layers = 24, n hidden = 1024, n ffn = 4096) {
  s = with_vision(s, vision_kind::qwen3_vl, projector_kind::merger, layers, hidden, 16, ffn, 16, 0);
  s.vision.temporal_patch = s.vision.merge = 2;
  s.vision.positions = 2304;
  s.vision.deep_mergers = 3;
  return s;
}

/// InternVL over one of its language models, with a vocabulary of `vocab`, behind InternViT of 300M or of 6B (internvl_chat, whose tables are never tied).
constexpr shape internvl(name label, shape s, n vocab, bool large = false) {
  s.label = label;
  s.vocab = vocab;
  s.tied = false;
  s = large ? with_vision(s, vision_kind::intern_vit_6b, projector_kind::norm_mlp, 45, 3200, 25, 12800, 14, 448)
            : with_vision(s, vision_kind::intern_vit, projector_kind::norm_mlp, 24, 1024, 16, 4096, 14, 448);
  s.vision.merge = 2;
  return s;
}

constexpr shape llama4(name label, n experts, n every) {
  auto s = shared(routed(llama(label, 48, 5120, 40, 8, 16384, 202048, false, 128), experts, 1, 8192), 1, 8192);
  s.experts.every = every;
  s.sliding_window = 8192;  // layers without positions see past their chunk
  s.chunked = true;
  s.qk_norm = every == 1;  // Scout's use_qk_norm
  s.full_layers = 12;
  s = with_vision(s, vision_kind::llama4, projector_kind::pixel_mlp, 34, 1408, 16, 5632, 14, 336);
  s.vision.merge = 2;
  s.vision.projector_hidden = s.vision.output = 4096;
  return s;
}

}  // namespace headroom::family
