// Distributed under the Boost Software License, Version 1.0.
// Towers by themselves that larger models have (Llama 4, HunYuan-VL, Phi-4, Voxtral Realtime), ViTPose, SAM 2's encoder and decoder, DPT, and
// models of two towers: CLAP, ModernVBERT, ShieldGemma 2.
#pragma once

#include <headroom/io/counted/audio.hpp>
#include <headroom/io/counted/audio_last.hpp>
#include <headroom/io/counted/captions.hpp>
#include <headroom/io/counted/seeing.hpp>
#include <headroom/io/counted/text_relatives.hpp>
#include <headroom/io/counted/vision_language_towers.hpp>

namespace headroom::io::detail {

/// transformers, modeling_llama4.py, Llama4VisionModel: a class vector, and two matrices behind the tower.
inline std::int64_t count_llama4_sight(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {768, 5632, 34, 14, 448});
  check_heads(c, s.hidden, c.count({"num_attention_heads"}, 16));
  c.ignore({"pixel_shuffle_ratio", "multi_modal_projector_bias", "projector_dropout", "vision_feature_layer"});
  t.embedding(checked::add(s.patches, 2), s.hidden);
  count_patches(s, t, false);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn}, t);
  t.layer_norm(s.hidden, 2);
  const auto out = c.size({"projector_output_dim"}, 4096);
  t.linear(component::projector, s.ffn, c.size({"projector_input_dim"}, 4096), false);
  t.linear(component::projector, out, out, false);
  return c.size({"vision_output_dim"}, 7680);
}

/// modeling_hunyuan_vl.py, HunYuanVLVisionTransformer: neighbours merged by a convolution.
inline void count_hunyuan_sight(const config& c, tally& t) {
  pass_over_vision(c);
  const auto hidden = c.size({"hidden_size"}, 1152), patch = c.size({"patch_size"}, 16), side = c.size({"max_image_size"}, 2048) / patch, merge = c.size({"spatial_merge_size"}, 2);
  const auto text = c.size({"text_hidden_size"}, 3072), heads = c.count({"num_attention_heads"}, 16);
  check_heads(c, hidden, heads);
  if (c.nullable({"num_key_value_heads"}, heads, heads) != heads) complain(c.at("num_key_value_heads") + " must be num_attention_heads, " + std::to_string(heads));
  c.ignore({"interpolate_mode", "img_max_token_num", "min_image_size", "max_vit_seq_len", "out_hidden_size", "temporal_patch_size", "cat_extra_token", "image_size", "video_max_image_size"});
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), checked::mul(patch, patch)), hidden, true);
  t.embedding(checked::add(checked::mul(side, side), 1), hidden);
  count_layers({.layers = c.number({"num_hidden_layers"}, 27, 0, config::most), .hidden = hidden, .ffn = c.size({"intermediate_size"}, 4304)}, t);
  count_conv(t, hidden, checked::mul(2, hidden), merge, true);
  t.linear(component::projector, checked::mul(2, hidden), checked::mul(4, hidden), true);
  t.linear(component::projector, checked::mul(4, hidden), text, true);
  t.add(component::projector, checked::add(checked::mul(4, hidden), checked::mul(3, text)));
  t.rms_norm(checked::add(hidden, text));
}

/// modeling_phi4_multimodal.py, Phi4MultimodalVisionModel: SigLIP with its head.
inline void count_phi4_sight(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {1152, 4304, 27, 14, 448});
  check_heads(c, s.hidden, c.count({"num_attention_heads"}, 16));
  c.ignore({"crop_size", "feature_layer"});
  count_patches(s, t);
  t.embedding(s.patches, s.hidden);
  count_layers({.layers = checked::add(s.layers, 1), .hidden = s.hidden, .ffn = s.ffn}, t);  // one of them pools: its second norm is the stack's
  t.add(component::other, s.hidden);                                                       // the probe
}

/// modeling_vitpose_backbone.py: ViT; with num_experts > 1 the MLP's second matrix ends in part_features of each expert.
inline std::int64_t count_vitpose_backbone(const config& c, tally& t) {
  pass_over_vision(c);
  const auto hidden = c.size({"hidden_size"}, 768), layers = c.number({"num_hidden_layers"}, 12, 0, config::most);
  const auto image = list_of(c, "image_size", {256, 192}), patch = list_of(c, "patch_size", {16, 16});
  if (image.size() != 2 || patch.size() != 2) complain(c.at("image_size") + " and patch_size must be lists of two numbers");
  const auto ffn = times_ratio(c, "mlp_ratio", 4, hidden);
  check_heads(c, hidden, c.count({"num_attention_heads"}, 12));
  if (c.count({"num_experts"}, 1) != 1) complain(c.at("num_experts") + " must be 1 here, found " + shown(c.find({"num_experts"})));
  c.ignore({"part_features"});
  const bool bias = c.flag("qkv_bias", true);
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), area(patch)), hidden, true);
  t.embedding(checked::add(checked::mul(image[0] / patch[0], image[1] / patch[1]), 1), hidden);
  count_layers({.layers = layers, .hidden = hidden, .ffn = ffn, .bias = bias, .key_bias = bias}, t);
  t.layer_norm(hidden);
  return hidden;
}
/// modeling_vitpose.py: the simple head, or two transposed convolutions.
inline void count_vitpose(const config& c, tally& t) {
  const auto hidden = count_vitpose_backbone(c.child("backbone_config"), t);
  c.ignore({"scale_factor", "use_pretrained_backbone", "use_timm_backbone", "backbone", "backbone_kwargs", "tie_word_embeddings"});
  if (c.has("backbone")) complain(c.at("backbone") + " must be absent: backbone_config says it");
  const auto labels = labels_of(c);
  if (c.flag("use_simple_decoder", true)) return count_conv(t, hidden, labels, 3, true);
  count_conv(t, hidden, 256, 4, false);
  count_conv(t, 256, 256, 4, false);
  t.layer_norm(256, 2);
  count_conv(t, 256, labels, 1, true);
}

/// modeling_sam2.py, Sam2HieraDetModel: stages, each as wide as it says; a matrix where the width changes.
inline void count_hiera_det(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 96);
  const auto blocks = depths_of(c, "blocks_per_stage", {1, 2, 7, 2}), widths = list_of(c, "embed_dim_per_stage", {96, 192, 384, 768}), windows = list_of(c, "window_size_per_stage", {8, 4, 14, 7});
  const auto background = list_of(c, "window_positional_embedding_background_size", {7, 7});
  check_stages(c, blocks.size(), {widths.size(), windows.size()});
  pass_over_vision(c);
  c.ignore({"patch_stride", "patch_padding", "query_stride", "num_query_pool_stages", "num_attention_heads_per_stage", "global_attention_blocks", "image_size", "num_attention_heads"});
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), area(places_of(c, "patch_kernel_size", 7))), hidden, true);
  t.embedding(checked::add(area(background), checked::mul(windows[0], windows[0])), hidden);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (std::int64_t k = 0; k < blocks[i]; ++k) {
      const auto in = k == 0 && i > 0 ? widths[i - 1] : widths[i], out = widths[i], ffn = times_ratio(c, "mlp_ratio", 4, out);
      t.layer_norm(in), t.layer_norm(out);
      t.linear(component::attention, in, checked::mul(3, out), true);
      t.linear(component::attention, out, out, true);
      count_mlp(t, out, ffn, out);
      if (in != out) t.linear(component::other, in, out, true);
    }
}
/// Sam2VisionModel: the stages' outputs, each through a convolution. Returns its width.
inline std::int64_t count_sam2_sight(const config& c, tally& t) {
  const auto backbone = c.child("backbone_config");
  if (const auto type = backbone.text({"model_type"}, "sam2_hiera_det_model"); type != "sam2_hiera_det_model")
    complain(backbone.at("model_type") + " must be sam2_hiera_det_model, found " + quoted_word(type));
  count_hiera_det(backbone, t);
  pass_over_vision(c);
  c.ignore({"backbone_feature_sizes", "fpn_stride", "fpn_padding", "fpn_top_down_levels", "num_feature_levels"});
  const auto width = c.size({"fpn_hidden_size"}, 256), window = c.size({"fpn_kernel_size"}, 1);
  for (const auto in : list_of(c, "backbone_channel_list", {768, 384, 192, 96})) count_conv(t, in, width, window, true);
  return width;
}
/// Sam2PromptEncoder: points, and masks through three convolutions.
inline void count_sam2_prompts(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 256), mask = c.size({"mask_input_channels"}, 16);
  c.ignore({"image_size", "patch_size", "scale"});
  if (mask % 4 != 0) complain(c.at("mask_input_channels") + " must be a multiple of 4, found " + std::to_string(mask));
  t.embedding(checked::add(c.count({"num_point_embeddings"}, 4), 2), hidden);
  count_conv(t, 1, mask / 4, 2, true);
  count_conv(t, mask / 4, mask, 2, true);
  count_conv(t, mask, hidden, 1, true);
  t.layer_norm(checked::add(mask / 4, mask));
}
/// An MLP of `depth` matrices.
inline void count_deep_mlp(tally& t, std::int64_t in, std::int64_t inner, std::int64_t out, std::int64_t depth, std::int64_t times = 1) {
  t.linear(component::head, in, inner, true, times);
  t.linear(component::head, inner, inner, true, checked::mul(depth - 2, times));
  t.linear(component::head, inner, out, true, times);
}
/// Sam2MaskDecoder: tokens and image attend to each other, in narrower vectors.
inline void count_sam2_decoder(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 256), layers = c.number({"num_hidden_layers"}, 2, 0, config::most), narrow = hidden / c.count({"attention_downsample_rate"}, 2);
  const auto masks = checked::add(c.count({"num_multimask_outputs"}, 3), 1), between = checked::add(checked::mul(2, layers), 1), depth = c.number({"iou_head_depth"}, 3, 2, config::most);
  c.ignore({"num_attention_heads", "dynamic_multimask_via_stability", "dynamic_multimask_stability_delta", "dynamic_multimask_stability_thresh"});
  t.embedding(checked::add(masks, 2), hidden);
  count_attention(t, hidden, layers);
  t.linear(component::attention, hidden, narrow, true, checked::mul(3, between));
  t.linear(component::attention, narrow, hidden, true, between);
  count_deep_mlp(t, hidden, c.size({"mlp_dim"}, 2048), hidden, layers > 2 ? layers : 2, layers);  // as deep as the stack (Sam2TwoWayAttentionBlock)
  t.layer_norm(hidden, checked::add(checked::mul(4, layers), 1));
  count_conv(t, hidden, hidden / 4, 2, true);
  count_conv(t, hidden / 4, hidden / 8, 2, true);
  t.layer_norm(hidden / 4);
  count_deep_mlp(t, hidden, hidden, hidden / 8, 3, masks);
  count_deep_mlp(t, hidden, c.size({"iou_head_hidden_dim"}, 256), masks, depth);
  t.linear(component::other, hidden, checked::add(hidden / 8, hidden / 4), true);
  count_deep_mlp(t, hidden, hidden, 1, 3);
}
inline void count_sam2(const config& c, tally& t) {
  std::int64_t width = 0;
  t.within(component::vision, [&] { width = count_sam2_sight(c.child("vision_config"), t); });
  t.add(component::embedding, width);
  count_sam2_prompts(c.child("prompt_encoder_config"), t);
  count_sam2_decoder(c.child("mask_decoder_config"), t);
}

/// modeling_modernvbert.py: SigLIP, whose neighbours are joined to vectors of the text's width, before ModernBERT.
inline std::int64_t count_modernvbert(const config& c, tally& t) {
  const auto text = c.child("text_config");
  const auto width = count_tower(c.child("vision_config"), t, "siglip_vision_model"), side = c.count({"pixel_shuffle_factor"}, 4);
  t.model(count_inner(text, "modernbert"));
  const auto hidden = text.size({"hidden_size"}, 768);
  t.linear(component::projector, checked::mul(width, checked::mul(side, side)), hidden, false);
  c.ignore({"tie_word_embeddings", "vocab_size", "initializer_cutoff_factor", "classifier_pooling", "classifier_bias", "classifier_activation", "num_labels", "id2label"});
  return hidden;
}

/// modeling_shieldgemma2.py: Gemma 3 as it stands, which answers with a word.
inline void count_shieldgemma2(const config& c, tally& t) {
  auto inner = c.object();
  inner["model_type"] = "gemma3";
  if (!c.flag("tie_word_embeddings", true)) complain(c.at("tie_word_embeddings") + " must be true for ShieldGemma 2, found false");
  const auto whole = walked_inner(config{inner, c.path(), c.asked()}, "gemma3");
  t.model(count(*whole));
}

inline constexpr counted_class counted_sight_last[] = {
    {"Llama4VisionModel", "llama4_vision_model", [](const config& c, tally& t) { count_llama4_sight(c, t); }},
    {"HunYuanVLVisionTransformer", "hunyuan_vl_vision", count_hunyuan_sight},
    {"Phi4MultimodalVisionModel", "phi4_multimodal_vision", count_phi4_sight},
    {"VitPoseBackbone", "vitpose_backbone", [](const config& c, tally& t) { count_vitpose_backbone(c, t); }},
    {"VitPoseForPoseEstimation", "vitpose", count_vitpose},
    {"Sam2HieraDetModel", "sam2_hiera_det_model", count_hiera_det},
    {"Sam2VisionModel", "sam2_vision_model", [](const config& c, tally& t) { count_sam2_sight(c, t); }},
    {"Sam2Model", "sam2", count_sam2},
    {"ModernVBertModel", "modernvbert", [](const config& c, tally& t) { count_modernvbert(c, t); }},
    {"ShieldGemma2ForImageClassification", "shieldgemma2", count_shieldgemma2},
    {"Gemma3ForConditionalGeneration", "shieldgemma2", count_shieldgemma2},
    {"InstructBlipVideoVisionModel", "instructblipvideo_vision_model", [](const config& c, tally& t) { count_blip_vision(c, t, blip2_sight); }},
    {"Qwen3ASREncoder", "qwen3_asr_encoder", [](const config& c, tally& t) { count_qwen3_asr_encoder(c, t); }},
    {"GraniteSpeechCTCEncoder", "granite_speech_encoder", count_granite_conformer},
    {"GraniteSpeechPlusCTCEncoder", "granite_speech_plus_encoder", count_granite_conformer},
    {"GraniteSpeechPlusModel", "granite_speech_plus", count_granite_speech<false>},
    {"GraniteSpeechPlusForConditionalGeneration", "granite_speech_plus", count_granite_speech<true>},
};

}  // namespace headroom::io::detail
