// Distributed under the Boost Software License, Version 1.0.
// Vision transformers over patches, with the heads that people train: ViT and its kin.
#pragma once

#include <headroom/io/counted/vision_blocks.hpp>

namespace headroom::io::detail {

struct vit_style {
  std::int64_t tokens{1};   ///< tokens before the patches: [CLS], and DeiT's of distillation
  bool pooler{}, mask{}, frozen_positions{};
};

/// transformers, modeling_vit.py, modeling_deit.py, modeling_vit_mae.py, modeling_vit_msn.py, modeling_ijepa.py: one body.
inline tower_sizes count_vit(const config& c, tally& t, const vit_style& style) {
  const auto s = read_tower_sizes(c, {768, 3072, 12, 16, 224});
  c.ignore({"encoder_stride", "pooler_output_size"});
  t.add(component::embedding, s.hidden, checked::add(style.tokens, style.mask ? 1 : 0));
  const auto positions = checked::mul(checked::add(s.patches, style.tokens), s.hidden);
  style.frozen_positions ? t.frozen(component::embedding, positions) : t.add(component::embedding, positions);
  count_patches(s, t);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .inner = whole_heads(c, s.hidden, 12), .bias = bias, .key_bias = bias}, t);
  t.layer_norm(s.hidden);
  if (style.pooler) t.linear(component::head, s.hidden, c.nullable({"pooler_output_size"}, s.hidden, s.hidden), true);
  return s;
}
inline void count_vit_classifier(const config& c, tally& t, const vit_style& style, std::int64_t heads = 1) {
  const auto s = count_vit(c, t, style);
  for (std::int64_t i = 0; i < heads; ++i) count_classifier(c, t, s.hidden);
}
/// The decoder of masked images: a 1 × 1 convolution to the pixels of a stride.
inline void count_vit_masked(const config& c, tally& t, const vit_style& style) {
  const auto s = count_vit(c, t, style);
  const auto stride = c.size({"encoder_stride"}, 16);
  t.linear(component::head, s.hidden, checked::mul(checked::mul(stride, stride), s.channels), true);
}

/// transformers, modeling_vit_mae.py: an encoder whose positions are computed, and a decoder of its own.
inline tower_sizes count_vit_mae(const config& c, tally& t) {
  c.ignore({"decoder_num_attention_heads", "decoder_hidden_size", "decoder_num_hidden_layers", "decoder_intermediate_size", "mask_ratio", "norm_pix_loss"});
  return count_vit(c, t, {.frozen_positions = true});
}
inline void count_vit_mae_decoder(const config& c, tally& t) {
  const auto s = count_vit_mae(c, t);
  const auto hidden = c.size({"decoder_hidden_size"}, 512);
  t.linear(component::other, s.hidden, hidden, true);
  t.add(component::embedding, hidden);
  t.frozen(component::embedding, checked::mul(checked::add(s.patches, 1), hidden));
  const bool bias = c.flag("qkv_bias", true);
  const auto heads = c.count({"decoder_num_attention_heads"}, 16);
  count_layers({.layers = c.number({"decoder_num_hidden_layers"}, 8, 0, config::most), .hidden = hidden, .ffn = c.size({"decoder_intermediate_size"}, 2048), .inner = hidden / heads * heads, .bias = bias, .key_bias = bias}, t);
  t.layer_norm(hidden);
  t.linear(component::head, hidden, checked::mul(s.patch, s.channels), true);
}

/// transformers, modeling_beit.py, modeling_data2vec_vision.py. Positions are learned, relative and shared, or relative in each layer.
inline tower_sizes count_beit(const config& c, tally& t, bool pooler) {
  const auto s = read_tower_sizes(c, {768, 3072, 12, 16, 224});
  c.ignore({"vocab_size", "pool_scales", "use_auxiliary_head", "auxiliary_loss_weight", "auxiliary_channels", "auxiliary_num_convs", "auxiliary_concat_input", "add_fpn", "use_mean_pooling"});
  t.add(component::embedding, s.hidden, c.flag("use_mask_token", false) ? 2 : 1);
  if (c.flag("use_absolute_position_embeddings", false)) t.add(component::embedding, s.hidden, checked::add(s.patches, 1));
  count_patches(s, t);
  const auto heads = c.count({"num_attention_heads"}, 12);
  const auto image = places_of(c, "image_size", 224), patch = places_of(c, "patch_size", 16);
  const auto distances = checked::add(checked::mul(2 * (image[0] / patch[0]) - 1, 2 * (image[1] / patch[1]) - 1), 3);
  std::int64_t tables = c.flag("use_shared_relative_position_bias", false) ? 1 : 0;
  if (c.flag("use_relative_position_bias", false)) tables += s.layers;
  t.add(component::attention, checked::mul(distances, heads), tables);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .inner = whole_heads(c, s.hidden, 12), .key_bias = false, .scales = c.real({"layer_scale_init_value"}, 0.1, -1e6, 1e6) > 0 ? 2 : 0}, t);
  const bool mean = c.flag("use_mean_pooling", true);
  if (!mean || pooler) t.layer_norm(s.hidden);
  return s;
}

/// transformers, modeling_dinov2.py, modeling_dinov2_with_registers.py.
inline tower_sizes count_dinov2(const config& c, tally& t, std::int64_t patch, bool registers) {
  auto s = read_tower_sizes(c, {768, 0, 12, patch, 224});
  s.ffn = times_ratio(c, "mlp_ratio", 4, s.hidden);
  const bool gated = c.flag("use_swiglu_ffn", false);
  if (gated) s.ffn = (s.ffn * 2 / 3 + 7) / 8 * 8;
  std::int64_t tokens = registers || c.flag("use_mask_token", true) ? 2 : 1;
  if (registers) tokens += c.number({"num_register_tokens"}, 4, 0);
  t.add(component::embedding, s.hidden, checked::add(checked::add(s.patches, 1), tokens));
  count_patches(s, t);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias, .gated = gated, .scales = 2}, t);
  t.layer_norm(s.hidden);
  return s;
}

/// transformers, modeling_dinov3_vit.py: rotary positions.
inline tower_sizes count_dinov3(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {384, 1536, 12, 16, 224});
  c.ignore({"pos_embed_shift", "pos_embed_jitter", "pos_embed_rescale"});
  t.add(component::embedding, s.hidden, checked::add(2, c.number({"num_register_tokens"}, 0, 0)));
  count_patches(s, t);
  const bool query = c.flag("query_bias", true), value = c.flag("value_bias", true);
  tower_layers l{.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = query && value, .key_bias = c.flag("key_bias", false), .out_bias = c.flag("proj_bias", true), .mlp_bias = c.flag("mlp_bias", true),
                 .gated = c.flag("use_gated_mlp", false), .scales = 2};
  count_layers(l, t);
  if (value != query) t.add(component::attention, s.hidden, s.layers);
  t.layer_norm(s.hidden);
  return s;
}

/// transformers, modeling_vjepa2.py: an encoder of clips and a predictor.
inline std::int64_t count_vjepa2(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"crop_size", "frames_per_clip", "num_pooler_layers", "pred_num_attention_heads", "pred_zero_init_mask_tokens"});
  const auto hidden = c.size({"hidden_size"}, 1024), patch = c.size({"patch_size"}, 16), narrow = c.size({"pred_hidden_size"}, 384);
  const bool bias = c.flag("qkv_bias", true);
  t.linear(component::embedding, checked::mul(checked::mul(c.size({"in_chans"}, 3), c.size({"tubelet_size"}, 2)), checked::mul(patch, patch)), hidden, true);
  count_layers({.layers = c.number({"num_hidden_layers"}, 24, 0, config::most), .hidden = hidden, .ffn = times_ratio(c, "mlp_ratio", 4, hidden), .bias = bias, .key_bias = bias}, t);
  t.layer_norm(hidden);
  t.linear(component::other, hidden, narrow, true);
  t.add(component::embedding, narrow, c.number({"pred_num_mask_tokens"}, 10, 0));
  count_layers({.layers = c.number({"pred_num_hidden_layers"}, 12, 0, config::most), .hidden = narrow, .ffn = times_ratio(c, "pred_mlp_ratio", 4, narrow), .bias = bias, .key_bias = bias}, t);
  t.layer_norm(narrow);
  t.linear(component::other, narrow, hidden, true);
  return hidden;
}
inline void count_vjepa2_classifier(const config& c, tally& t) {
  const auto hidden = count_vjepa2(c, t), ffn = times_ratio(c, "mlp_ratio", 4, hidden);
  t.add(component::embedding, hidden);
  count_layers({.layers = c.number({"num_pooler_layers"}, 3, 0, config::most), .hidden = hidden, .ffn = ffn}, t);
  t.linear(component::attention, hidden, hidden, true, 3);  // the cross-attention has no output matrix
  count_mlp(t, hidden, ffn, hidden);
  t.layer_norm(hidden, 2);
  count_classifier(c, t, hidden);
}

inline constexpr counted_class counted_vit[] = {
    {"ViTModel", "vit", [](const config& c, tally& t) { count_vit(c, t, {.pooler = true}); }},
    {"ViTForImageClassification", "vit", [](const config& c, tally& t) { count_vit_classifier(c, t, {}); }},
    {"ViTForMaskedImageModeling", "vit", [](const config& c, tally& t) { count_vit_masked(c, t, {.mask = true}); }},
    {"DeiTModel", "deit", [](const config& c, tally& t) { count_vit(c, t, {.tokens = 2, .pooler = true}); }},
    {"DeiTForImageClassification", "deit", [](const config& c, tally& t) { count_vit_classifier(c, t, {.tokens = 2}); }},
    {"DeiTForImageClassificationWithTeacher", "deit", [](const config& c, tally& t) { count_vit_classifier(c, t, {.tokens = 2}, 2); }},
    {"DeiTForMaskedImageModeling", "deit", [](const config& c, tally& t) { count_vit_masked(c, t, {.tokens = 2, .mask = true}); }},
    {"ViTMSNModel", "vit_msn", [](const config& c, tally& t) { count_vit(c, t, {}); }},
    {"ViTMSNForImageClassification", "vit_msn", [](const config& c, tally& t) { count_vit_classifier(c, t, {}); }},
    {"IJepaModel", "ijepa", [](const config& c, tally& t) { count_vit(c, t, {.tokens = 0}); }},
    {"IJepaForImageClassification", "ijepa", [](const config& c, tally& t) { count_vit_classifier(c, t, {.tokens = 0}); }},
    {"ViTMAEModel", "vit_mae", [](const config& c, tally& t) { count_vit_mae(c, t); }},
    {"ViTMAEForPreTraining", "vit_mae", count_vit_mae_decoder},
    {"BeitModel", "beit", [](const config& c, tally& t) { count_beit(c, t, true); }},
    {"BeitForImageClassification", "beit", [](const config& c, tally& t) { count_classifier(c, t, count_beit(c, t, true).hidden); }},
    {"BeitForMaskedImageModeling", "beit", [](const config& c, tally& t) {
       const auto s = count_beit(c, t, false);
       t.layer_norm(s.hidden);
       t.linear(component::head, s.hidden, c.size({"vocab_size"}, 8192), true);
     }},
    {"BeitBackbone", "beit", [](const config& c, tally& t) { if (!c.flag("add_fpn", false)) count_beit(c, t, false); else complain(c.at("add_fpn") + " must be false, found true"); }},
    {"Data2VecVisionModel", "data2vec-vision", [](const config& c, tally& t) { count_beit(c, t, false); }},
    {"Data2VecVisionForImageClassification", "data2vec-vision", [](const config& c, tally& t) { count_classifier(c, t, count_beit(c, t, true).hidden); }},
    {"Dinov2Model", "dinov2", [](const config& c, tally& t) { count_dinov2(c, t, 14, false); }},
    {"Dinov2Backbone", "dinov2", [](const config& c, tally& t) { count_dinov2(c, t, 14, false); }},
    {"Dinov2ForImageClassification", "dinov2", [](const config& c, tally& t) { count_classifier(c, t, checked::mul(2, count_dinov2(c, t, 14, false).hidden)); }},
    {"Dinov2WithRegistersModel", "dinov2_with_registers", [](const config& c, tally& t) { count_dinov2(c, t, 16, true); }},
    {"Dinov2WithRegistersBackbone", "dinov2_with_registers", [](const config& c, tally& t) { count_dinov2(c, t, 16, true); }},
    {"Dinov2WithRegistersForImageClassification", "dinov2_with_registers", [](const config& c, tally& t) { count_classifier(c, t, checked::mul(2, count_dinov2(c, t, 16, true).hidden)); }},
    {"DINOv3ViTModel", "dinov3_vit", [](const config& c, tally& t) { count_dinov3(c, t); }},
    {"DINOv3ViTBackbone", "dinov3_vit", [](const config& c, tally& t) { count_dinov3(c, t); }},
    {"VJEPA2Model", "vjepa2", [](const config& c, tally& t) { count_vjepa2(c, t); }},
    {"VJEPA2ForVideoClassification", "vjepa2", count_vjepa2_classifier},
};

}  // namespace headroom::io::detail
