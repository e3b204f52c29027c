// Distributed under the Boost Software License, Version 1.0.
// Towers that see in ways of their own: FLAVA, TIPS, RADIO, SegGPT, Hiera, FocalNet.
#pragma once

#include <headroom/io/counted/captions.hpp>
#include <headroom/io/counted/staged.hpp>
#include <headroom/io/counted/vit.hpp>

namespace headroom::io::detail {

/// transformers, modeling_flava.py: an encoder of pictures, one of words and one of both, each with a pooler.
inline std::int64_t count_flava_layers(const config& c, tally& t, std::int64_t layers) {
  pass_over_vision(c);
  const auto hidden = c.size({"hidden_size"}, 768);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = c.number({"num_hidden_layers"}, layers, 0, config::most), .hidden = hidden, .ffn = c.size({"intermediate_size"}, 3072), .bias = bias, .key_bias = bias}, t);
  t.layer_norm(hidden);
  t.linear(component::head, hidden, hidden, true);
  return hidden;
}
inline std::int64_t count_flava_image(const config& c, tally& t) {
  c.ignore({"vocab_size"});
  const auto s = read_tower_sizes(c, {768, 3072, 12, 16, 224});
  t.add(component::embedding, s.hidden, checked::add(s.patches, c.flag("mask_token", true) ? 3 : 2));
  count_patches(s, t);
  return count_flava_layers(c, t, 12);
}
inline std::int64_t count_flava_text(const config& c, tally& t) {
  c.ignore({"position_embedding_type"});
  const auto hidden = c.size({"hidden_size"}, 768);
  t.embedding(c.size({"vocab_size"}, 30522), hidden);
  t.embedding(c.size({"max_position_embeddings"}, 512), hidden);
  t.embedding(c.size({"type_vocab_size"}, 2), hidden);
  t.layer_norm(hidden);
  return count_flava_layers(c, t, 12);
}
inline std::int64_t count_flava_both(const config& c, tally& t) {
  if (c.flag("use_cls_token", true)) t.add(component::embedding, c.size({"hidden_size"}, 768));
  return count_flava_layers(c, t, 6);
}
inline void count_flava(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"hidden_size", "init_codebook", "ce_ignore_index", "mim_weight", "mlm_weight", "global_contrastive_weight", "itm_weight", "mmm_image_weight", "mmm_text_weight", "global_backprop_contrastive",
            "skip_unmasked_multimodal_encoder", "image_codebook_config", "tie_word_embeddings"});
  ask_all(c.child("image_codebook_config"));
  const auto out = c.size({"projection_dim"}, 768);
  std::int64_t sight = 0;
  t.within(component::vision, [&] { sight = count_flava_image(c.child("image_config"), t); });
  const auto text = count_flava_text(c.child("text_config"), t), both = count_flava_both(c.child("multimodal_config"), t);
  t.linear(component::projector, checked::add(sight, text), out, false);
  t.add(component::projector, out, 2);
  t.linear(component::projector, checked::add(sight, text), both, false);
  t.add(component::projector, both, 2);
  t.add(component::other, 1);
}

/// modeling_tipsv2.py: DINOv2 with registers, and CLIP's text tower without positions.
inline tower_sizes count_tips_vision(const config& c, tally& t) {
  auto s = read_tower_sizes(c, {768, 0, 12, 14, 448});
  s.ffn = times_ratio(c, "mlp_ratio", 4, s.hidden);
  const bool gated = c.flag("use_swiglu_ffn", false);
  if (gated) s.ffn = (s.ffn * 2 / 3 + 7) / 8 * 8;
  t.add(component::embedding, s.hidden, checked::add(checked::add(s.patches, 3), c.number({"num_register_tokens"}, 1, 0)));
  count_patches(s, t);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias, .gated = gated, .scales = 2}, t);
  t.layer_norm(s.hidden);
  return s;
}
inline void count_tips_text(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"scale_sqrt_depth", "pooling_epsilon", "max_position_embeddings"});
  const auto hidden = c.size({"hidden_size"}, 768);
  t.embedding(c.size({"vocab_size"}, 32000), hidden);
  count_layers({.layers = c.number({"num_hidden_layers"}, 12, 0, config::most), .hidden = hidden, .ffn = c.size({"intermediate_size"}, 3072)}, t);
  t.layer_norm(hidden);
}

/// modeling_radio.py: patches as vectors, positions for the largest image, several [CLS].
inline void count_radio(const config& c, tally& t) {
  auto s = read_tower_sizes(c, {1280, 0, 32, 16, 224});
  c.ignore({"summary_idxs", "norm_mean", "norm_std", "adaptor_configs"});
  if (c.flag("use_swiglu_ffn", false)) complain(c.at("use_swiglu_ffn") + " must be false, found true");
  s.ffn = times_ratio(c, "mlp_ratio", 4, s.hidden);
  const auto side = c.size({"max_img_size"}, 2048) / places_of(c, "patch_size", 16)[0];
  t.add(component::embedding, s.hidden, checked::add(checked::mul(side, side), checked::add(c.number({"num_cls_tokens"}, 3, 0), c.number({"num_registers"}, 7, 0))));
  count_patches(s, t, false);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias, .scales = 2}, t);
}

/// modeling_seggpt.py: a prompt above the image, relative positions in each layer.
inline std::int64_t count_seggpt(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"merge_index", "intermediate_hidden_state_indices", "beta", "decoder_hidden_size"});
  const json* given = c.find({"image_size"});
  const auto image = given == nullptr ? std::vector<std::int64_t>{896, 448} : places_of(c, "image_size", 896);
  const auto hidden = c.size({"hidden_size"}, 1024), patch = c.size({"patch_size"}, 16), layers = c.number({"num_hidden_layers"}, 24, 0, config::most), heads = c.count({"num_attention_heads"}, 16);
  const auto side = c.size({"pretrain_image_size"}, 224) / patch;
  t.add(component::embedding, hidden, checked::add(checked::mul(side, side), 6));
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), checked::mul(patch, patch)), hidden, true);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = layers, .hidden = hidden, .ffn = c.nullable({"mlp_dim"}, checked::mul(4, hidden), checked::mul(4, hidden)), .bias = bias, .key_bias = bias}, t);
  if (c.flag("use_relative_position_embeddings", true)) t.add(component::attention, checked::mul(hidden / heads, 2 * (image[0] / patch + image[1] / patch) - 2), layers);
  t.layer_norm(hidden);
  return hidden;
}
inline void count_seggpt_segmentation(const config& c, tally& t) {
  const auto hidden = count_seggpt(c, t), patch = c.size({"patch_size"}, 16), narrow = c.size({"decoder_hidden_size"}, 64);
  const auto joined = static_cast<std::int64_t>(list_of(c, "intermediate_hidden_state_indices", {5, 11, 17, 23}, 0).size());
  t.linear(component::head, checked::mul(hidden, joined), checked::mul(checked::mul(patch, patch), narrow), true);
  count_conv(t, narrow, narrow, 3, true);
  t.layer_norm(narrow);
  count_conv(t, narrow, 3, 1, true);
}

/// modeling_focalnet.py: focal modulation instead of attention.
struct focal_sizes {
  std::int64_t width, channels;
};
inline focal_sizes count_focalnet(const config& c, tally& t, bool mask) {
  pass_over_vision(c);
  c.ignore({"image_size", "hidden_sizes", "patch_size", "use_post_layernorm", "normalize_modulator", "encoder_stride"});
  const auto depths = depths_of(c, "depths", {2, 2, 6, 2}), levels = list_of(c, "focal_levels", {2, 2, 2, 2}, 0), windows = list_of(c, "focal_windows", {3, 3, 3, 3});
  check_stages(c, depths.size(), {levels.size(), windows.size()});
  const bool conv = c.flag("use_conv_embed", false), scaled = c.flag("use_layerscale", false), inner = c.flag("use_post_layernorm_in_modulation", false);
  auto width = c.size({"embed_dim"}, 96);
  const auto channels = c.size({"num_channels"}, 3);
  t.linear(component::embedding, checked::mul(channels, conv ? 49 : area(places_of(c, "patch_size", 4))), width, true);
  t.layer_norm(width);
  if (mask) t.add(component::embedding, width);
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const auto times = depths[i];
    t.layer_norm(width, checked::mul(2, times));
    t.linear(component::attention, width, checked::add(checked::mul(2, width), levels[i] + 1), true, times);
    t.linear(component::attention, width, width, true, checked::mul(2, times));
    for (std::int64_t k = 0; k < levels[i]; ++k) count_conv(t, 1, width, windows[i] + 2 * k, false, times);
    if (inner) t.layer_norm(width, times);
    count_mlp(t, width, times_ratio(c, "mlp_ratio", 4, width), width, true, times);
    if (scaled) t.add(component::other, width, checked::mul(2, times));
    if (i + 1 == depths.size()) break;
    count_conv(t, width, checked::mul(2, width), conv ? 3 : 2, true);
    width = checked::mul(2, width);
    t.layer_norm(width);
  }
  t.layer_norm(width);
  return {width, channels};
}
inline void count_focalnet_masked(const config& c, tally& t) {
  const auto s = count_focalnet(c, t, true);
  const auto stride = c.size({"encoder_stride"}, 32);
  t.linear(component::head, s.width, checked::mul(checked::mul(stride, stride), s.channels), true);
}

/// modeling_hiera.py: a stage begins with a layer that doubles the width.
inline std::int64_t count_hiera(const config& c, tally& t, bool pooler) {
  pass_over_vision(c);
  c.ignore({"patch_padding", "query_stride", "num_query_pool", "masked_unit_size", "masked_unit_attention", "layer_norm_init", "decoder_hidden_size", "decoder_depth", "decoder_num_heads", "normalize_pixel_loss",
            "mask_ratio", "hidden_size"});
  const auto depths = depths_of(c, "depths", {2, 3, 16, 3}), image = places_of(c, "image_size", 224), patch = places_of(c, "patch_size", 7), stride = places_of(c, "patch_stride", 4);
  if (c.real({"embed_dim_multiplier"}, 2.0, 0.0, 1e6) != 2.0) complain(c.at("embed_dim_multiplier") + " must be 2, found " + shown(c.find({"embed_dim_multiplier"})));
  auto width = c.size({"embed_dim"}, 96);
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), area(patch)), width, true);
  t.add(component::embedding, width, checked::mul(image[0] / stride[0], image[1] / stride[1]));
  for (std::size_t i = 0; i < depths.size(); ++i)
    for (std::int64_t layer = 0; layer < depths[i]; ++layer) {
      const auto in = width, out = i > 0 && layer == 0 ? checked::mul(2, in) : in;
      t.layer_norm(in);
      t.linear(component::attention, in, checked::mul(3, out), true);
      t.linear(component::attention, out, out, true);
      t.layer_norm(out);
      count_mlp(t, out, times_ratio(c, "mlp_ratio", 4, out), out);
      if (in != out) t.linear(component::other, in, out, true);
      width = out;
    }
  if (pooler) t.layer_norm(width);
  return width;
}

inline constexpr counted_class counted_sight_alone[] = {
    {"FlavaModel", "flava", count_flava},
    {"FlavaImageModel", "flava_image_model", [](const config& c, tally& t) { count_flava_image(c, t); }},
    {"FlavaTextModel", "flava_text_model", [](const config& c, tally& t) { count_flava_text(c, t); }},
    {"FlavaMultimodalModel", "flava_multimodal_model", [](const config& c, tally& t) { count_flava_both(c, t); }},
    {"Tipsv2Model", "tipsv2", [](const config& c, tally& t) {
       c.ignore({"temperature_init_value"});
       count_tips_text(c.child("text_config"), t);
       t.within(component::vision, [&] { count_tips_vision(c.child("vision_config"), t); });
       t.add(component::other, 1);
     }},
    {"Tipsv2VisionModel", "tipsv2_vision_model", [](const config& c, tally& t) { count_tips_vision(c, t); }},
    {"Tipsv2VisionBackbone", "tipsv2_vision_model", [](const config& c, tally& t) { count_tips_vision(c, t); }},
    {"Tipsv2TextModel", "tipsv2_text_model", count_tips_text},
    {"RadioModel", "radio", count_radio},
    {"SegGptModel", "seggpt", [](const config& c, tally& t) { count_seggpt(c, t); }},
    {"SegGptForImageSegmentation", "seggpt", count_seggpt_segmentation},
    {"FocalNetModel", "focalnet", [](const config& c, tally& t) { count_focalnet(c, t, false); }},
    {"FocalNetForImageClassification", "focalnet", [](const config& c, tally& t) { count_classifier(c, t, count_focalnet(c, t, false).width); }},
    {"FocalNetForMaskedImageModeling", "focalnet", count_focalnet_masked},
    {"HieraModel", "hiera", [](const config& c, tally& t) { count_hiera(c, t, true); }},
    {"HieraForImageClassification", "hiera", [](const config& c, tally& t) { count_classifier(c, t, count_hiera(c, t, true)); }},
};

}  // namespace headroom::io::detail
