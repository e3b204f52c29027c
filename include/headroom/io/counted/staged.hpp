// Distributed under the Boost Software License, Version 1.0.
// Towers that shrink the image stage by stage, and convolutional networks: Swin, ConvNeXt, ResNet, SegFormer, PVT, PoolFormer, FocalNet, CvT.
#pragma once

#include <headroom/io/counted/vision_blocks.hpp>

namespace headroom::io::detail {

using size_list = std::vector<std::int64_t>;

/// A convolution of square windows without a bias, and a BatchNorm.
inline void count_conv_norm(tally& t, std::int64_t in, std::int64_t out, std::int64_t window, std::int64_t times = 1) {
  count_conv(t, in, out, window, false, times);
  t.layer_norm(out, times);
}

struct swin_style {
  bool last_norm{true}, mask{};
  std::int64_t position{1};  ///< 1: a table of relative positions; 2: a small network (Swin v2)
  std::int64_t extra{};      ///< learned positions besides those of patches
};
/// transformers, modeling_swin.py, modeling_donut_swin.py, modeling_maskformer_swin.py, modeling_swinv2.py. Returns the last stage's width.
inline std::int64_t count_swin(const config& c, tally& t, const swin_style& style) {
  pass_over_vision(c);
  c.ignore({"encoder_stride", "hidden_size", "pretrained_window_sizes", "path_norm"});
  const auto image = places_of(c, "image_size", 224), patch = places_of(c, "patch_size", 4);
  const auto depths = depths_of(c, "depths", {2, 2, 6, 2}), heads = list_of(c, "num_heads", {3, 6, 12, 24});
  check_stages(c, depths.size(), {heads.size()});
  if (list_of(c, "num_attention_heads", heads) != heads) complain(c.at("num_attention_heads") + " is another name of num_heads, and must say the same");
  for (const char* key : {"num_layers", "num_hidden_layers"}) require_equal(c, key, "depths' length", static_cast<std::int64_t>(depths.size()));
  auto width = c.size({"embed_dim"}, 96);
  const auto window = c.size({"window_size"}, 7);
  const bool bias = c.flag("qkv_bias", true);
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), area(patch)), width, true);
  t.layer_norm(width);
  if (style.mask) t.add(component::embedding, width);
  if (c.flag("use_absolute_embeddings", false)) t.add(component::embedding, width, checked::add(checked::mul(image[0] / patch[0], image[1] / patch[1]), style.extra));
  for (std::size_t i = 0; i < depths.size(); ++i) {
    count_layers({.layers = depths[i], .hidden = width, .ffn = times_ratio(c, "mlp_ratio", 4, width), .bias = bias, .key_bias = bias && style.position == 1}, t);
    if (style.position == 1)
      t.add(component::attention, checked::mul(checked::mul(2 * window - 1, 2 * window - 1), heads[i]), depths[i]);
    else
      t.add(component::attention, checked::add(checked::mul(513, heads[i]), 3 * 512), depths[i]);
    if (i + 1 == depths.size()) break;
    t.linear(component::other, checked::mul(4, width), checked::mul(2, width), false);
    t.layer_norm(checked::mul(style.position == 1 ? 4 : 2, width));
    width = checked::mul(2, width);
  }
  if (style.last_norm) t.layer_norm(width);
  return width;
}
inline void count_swin_masked(const config& c, tally& t, std::int64_t position) {
  const auto width = count_swin(c, t, {.mask = true, .position = position, .extra = position - 1}), stride = c.size({"encoder_stride"}, 32);
  t.linear(component::head, width, checked::mul(checked::mul(stride, stride), c.size({"num_channels"}, 3)), true);
}

/// modeling_convnext.py, modeling_convnextv2.py, modeling_dinov3_convnext.py.
struct convnext_style {
  bool scale{}, response{};
};
inline std::int64_t count_convnext(const config& c, tally& t, const convnext_style& style, bool last_norm = true) {
  pass_over_vision(c);
  c.ignore({"image_size"});
  const json* none = c.find({"hidden_sizes"});
  const auto widths = none != nullptr && none->is_null() ? size_list{96, 192, 384, 768} : list_of(c, "hidden_sizes", {96, 192, 384, 768});
  const json* no_depths = c.find({"depths"});
  const auto depths = no_depths != nullptr && no_depths->is_null() ? size_list{3, 3, 9, 3} : depths_of(c, "depths", {3, 3, 9, 3});
  const auto stages = static_cast<std::size_t>(c.number({"num_stages"}, style.scale && c.find({"num_stages"}) == nullptr ? static_cast<std::int64_t>(widths.size()) : 4, 1, 64));
  check_stages(c, stages, {widths.size(), depths.size()});
  const auto patch = c.size({"patch_size"}, 4);
  const bool scaled = style.scale && c.real({"layer_scale_init_value"}, 1e-6, -1e6, 1e6) > 0;
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), checked::mul(patch, patch)), widths[0], true);
  t.layer_norm(widths[0]);
  for (std::size_t i = 0; i < stages; ++i) {
    const auto w = widths[i];
    if (i > 0) {
      t.layer_norm(widths[i - 1]);
      count_conv(t, widths[i - 1], w, 2, true);
    }
    count_conv(t, 1, w, 7, true, depths[i]);
    t.layer_norm(w, depths[i]);
    count_mlp(t, w, checked::mul(4, w), w, true, depths[i]);
    if (scaled) t.add(component::other, w, depths[i]);
    if (style.response) t.add(component::norm, checked::mul(8, w), depths[i]);
  }
  if (last_norm) t.layer_norm(widths.back());
  return widths.back();
}

/// modeling_resnet.py. The narrow part of a bottleneck is a quarter as wide.
inline std::int64_t count_resnet(const config& c, tally& t) {
  pass_over_vision(c);
  const auto widths = list_of(c, "hidden_sizes", {256, 512, 1024, 2048}), depths = depths_of(c, "depths", {3, 4, 6, 3});
  check_stages(c, depths.size(), {widths.size()});
  check_stages(c, widths.size(), {depths.size()});
  const auto type = c.text({"layer_type"}, "bottleneck");
  if (type != "bottleneck" && type != "basic") complain(c.at("layer_type") + " must be bottleneck or basic, found " + quoted_word(type));
  c.ignore({"downsample_in_bottleneck"});
  const bool early = c.flag("downsample_in_first_stage", false);
  auto in = c.size({"embedding_size"}, 64);
  count_conv_norm(t, c.size({"num_channels"}, 3), in, 7);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto out = widths[i];
    for (std::int64_t layer = 0; layer < depths[i]; ++layer) {
      const bool strided = layer == 0 && (i > 0 || early);
      if (in != out || strided) count_conv_norm(t, in, out, 1);
      if (type == "basic") {
        count_conv_norm(t, in, out, 3);
        count_conv_norm(t, out, out, 3);
      } else {
        count_conv_norm(t, in, out / 4, 1);
        count_conv_norm(t, out / 4, out / 4, 3);
        count_conv_norm(t, out / 4, out, 1);
      }
      in = out;
    }
  }
  return in;
}

/// What SegFormer, GLPN, PVT and PVT v2 say in the same words.
struct pyramid {
  size_list depths, widths, patches, heads, ratios, reductions;
  std::size_t stages{};
};
inline pyramid read_pyramid(const config& c, const pyramid& d, const char* reductions) {
  pass_over_vision(c);
  c.ignore({"strides", "reshape_last_stage", "downsampling_rates", "image_size", "classifier_dropout_prob", "decoder_hidden_size", "max_depth", "head_in_index"});
  pyramid p{depths_of(c, "depths", d.depths), list_of(c, "hidden_sizes", d.widths), list_of(c, "patch_sizes", d.patches), list_of(c, "num_attention_heads", d.heads), list_of(c, "mlp_ratios", d.ratios),
            list_of(c, reductions, d.reductions), static_cast<std::size_t>(c.number({"num_encoder_blocks"}, 4, 1, 64))};
  check_stages(c, p.stages, {p.depths.size(), p.widths.size(), p.patches.size(), p.heads.size(), p.ratios.size(), p.reductions.size()});
  for (std::size_t i = 0; i < p.stages; ++i)
    if (p.widths[i] % p.heads[i] != 0) complain(c.at("hidden_sizes") + " must be multiples of num_attention_heads, found " + std::to_string(p.widths[i]) + " and " + std::to_string(p.heads[i]));
  return p;
}
inline const pyramid segformer_pyramid{{2, 2, 2, 2}, {32, 64, 160, 256}, {7, 3, 3, 3}, {1, 2, 5, 8}, {4, 4, 4, 4}, {8, 4, 2, 1}, 4};
inline const pyramid pvt_pyramid{{2, 2, 2, 2}, {64, 128, 320, 512}, {4, 2, 2, 2}, {1, 2, 5, 8}, {8, 8, 4, 4}, {8, 4, 2, 1}, 4};
inline const pyramid pvt2_pyramid{{2, 2, 2, 2}, {32, 64, 160, 256}, {7, 3, 3, 3}, {1, 2, 5, 8}, {8, 8, 4, 4}, {8, 4, 2, 1}, 4};

struct pyramid_style {
  bool bias{true}, mixed{};  ///< mixed: a depthwise convolution inside the MLP
  bool reduced_always{};     ///< PVT v2's linear attention: a 1 × 1 convolution instead of a strided one
};
inline void count_pyramid_stage(const pyramid& p, std::size_t i, std::int64_t channels, tally& t, const pyramid_style& style) {
  const auto w = p.widths[i], ffn = checked::mul(w, p.ratios[i]);
  count_conv(t, i == 0 ? channels : p.widths[i - 1], w, p.patches[i], true);
  t.layer_norm(w);
  count_layers({.layers = p.depths[i], .hidden = w, .ffn = ffn, .bias = style.bias, .key_bias = style.bias}, t);
  if (style.reduced_always || p.reductions[i] > 1) {
    count_conv(t, w, w, style.reduced_always ? 1 : p.reductions[i], true, p.depths[i]);
    t.layer_norm(w, p.depths[i]);
  }
  if (style.mixed) count_conv(t, 1, ffn, 3, true, p.depths[i]);
}
/// modeling_segformer.py, modeling_glpn.py.
inline pyramid count_segformer(const config& c, tally& t) {
  const auto p = read_pyramid(c, segformer_pyramid, "sr_ratios");
  for (std::size_t i = 0; i < p.stages; ++i) {
    count_pyramid_stage(p, i, c.size({"num_channels"}, 3), t, {.mixed = true});
    t.layer_norm(p.widths[i]);
  }
  return p;
}
inline void count_segformer_segmentation(const config& c, tally& t) {
  const auto p = count_segformer(c, t);
  const auto hidden = c.size({"decoder_hidden_size"}, 256);
  for (std::size_t i = 0; i < p.stages; ++i) t.linear(component::head, p.widths[i], hidden, true);
  count_conv_norm(t, checked::mul(hidden, static_cast<std::int64_t>(p.stages)), hidden, 1);
  count_classifier(c, t, hidden);
}
/// modeling_pvt.py: positions in each stage, [CLS] in the last. A convolution's window is as wide as `strides` says, its step as patch_sizes.
inline std::int64_t count_pvt(const config& c, tally& t) {
  auto p = read_pyramid(c, pvt_pyramid, "sequence_reduction_ratios");
  const auto steps = p.patches;
  p.patches = list_of(c, "strides", {4, 2, 2, 2});
  check_stages(c, p.stages, {p.patches.size()});
  const auto image = c.size({"image_size"}, 224);
  for (std::size_t i = 0; i < p.stages; ++i) {
    count_pyramid_stage(p, i, c.size({"num_channels"}, 3), t, {.bias = c.flag("qkv_bias", true)});
    const auto side = (i == 0 ? image : image >> (i + 1)) / steps[i];
    const std::int64_t extra = i + 1 == p.stages ? 2 : 0;
    t.add(component::embedding, p.widths[i], checked::add(checked::mul(side, side), extra));
  }
  t.layer_norm(p.widths.back());
  return p.widths.back();
}
inline std::int64_t count_pvt_v2(const config& c, tally& t) {
  const auto p = read_pyramid(c, pvt2_pyramid, "sr_ratios");
  c.ignore({"image_size"});
  for (std::size_t i = 0; i < p.stages; ++i) {
    count_pyramid_stage(p, i, c.size({"num_channels"}, 3), t, {.bias = c.flag("qkv_bias", true), .mixed = true, .reduced_always = c.flag("linear_attention", false)});
    t.layer_norm(p.widths[i]);
  }
  return p.widths.back();
}
/// modeling_poolformer.py: pooling instead of attention.
inline std::int64_t count_poolformer(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"patch_size", "stride", "strides", "padding", "pool_size"});
  const auto depths = depths_of(c, "depths", {2, 2, 6, 2}), widths = list_of(c, "hidden_sizes", {64, 128, 320, 512}), patches = list_of(c, "patch_sizes", {7, 3, 3, 3});
  const auto stages = static_cast<std::size_t>(c.number({"num_encoder_blocks"}, 4, 1, 64));
  check_stages(c, stages, {depths.size(), widths.size(), patches.size()});
  const bool scaled = c.flag("use_layer_scale", true);
  for (std::size_t i = 0; i < stages; ++i) {
    const auto w = widths[i];
    count_conv(t, i == 0 ? c.size({"num_channels"}, 3) : widths[i - 1], w, patches[i], true);
    count_mlp(t, w, times_ratio(c, "mlp_ratio", 4, w), w, true, depths[i]);
    t.layer_norm(w, checked::mul(2, depths[i]));
    if (scaled) t.add(component::other, w, checked::mul(2, depths[i]));
  }
  return widths.back();
}

inline constexpr counted_class counted_staged[] = {
    {"SwinModel", "swin", [](const config& c, tally& t) { count_swin(c, t, {}); }},
    {"SwinForImageClassification", "swin", [](const config& c, tally& t) { count_classifier(c, t, count_swin(c, t, {})); }},
    {"SwinForMaskedImageModeling", "swin", [](const config& c, tally& t) { count_swin_masked(c, t, 1); }},
    {"Swinv2Model", "swinv2", [](const config& c, tally& t) { count_swin(c, t, {.position = 2, .extra = 1}); }},
    {"Swinv2ForImageClassification", "swinv2", [](const config& c, tally& t) { count_classifier(c, t, count_swin(c, t, {.position = 2, .extra = 1})); }},
    {"Swinv2ForMaskedImageModeling", "swinv2", [](const config& c, tally& t) { count_swin_masked(c, t, 2); }},
    {"DonutSwinModel", "donut-swin", [](const config& c, tally& t) { count_swin(c, t, {.last_norm = false, .extra = 1}); }},
    {"DonutSwinForImageClassification", "donut-swin", [](const config& c, tally& t) { count_classifier(c, t, count_swin(c, t, {.last_norm = false, .extra = 1})); }},
    {"MaskFormerSwinModel", "maskformer-swin", [](const config& c, tally& t) { count_swin(c, t, {.extra = 1}); }},
    {"ConvNextModel", "convnext", [](const config& c, tally& t) { count_convnext(c, t, {.scale = true}); }},
    {"ConvNextForImageClassification", "convnext", [](const config& c, tally& t) { count_classifier(c, t, count_convnext(c, t, {.scale = true})); }},
    {"ConvNextV2Model", "convnextv2", [](const config& c, tally& t) { count_convnext(c, t, {.response = true}); }},
    {"ConvNextV2ForImageClassification", "convnextv2", [](const config& c, tally& t) { count_classifier(c, t, count_convnext(c, t, {.response = true})); }},
    {"DINOv3ConvNextModel", "dinov3_convnext", [](const config& c, tally& t) { count_convnext(c, t, {.scale = true}); }},
    {"ResNetModel", "resnet", [](const config& c, tally& t) { count_resnet(c, t); }},
    {"ResNetBackbone", "resnet", [](const config& c, tally& t) { count_resnet(c, t); }},
    {"ResNetForImageClassification", "resnet", [](const config& c, tally& t) { count_classifier(c, t, count_resnet(c, t)); }},
    {"SegformerModel", "segformer", [](const config& c, tally& t) { count_segformer(c, t); }},
    {"SegformerForImageClassification", "segformer", [](const config& c, tally& t) { const auto p = count_segformer(c, t); count_classifier(c, t, p.widths.back()); }},
    {"SegformerForSemanticSegmentation", "segformer", count_segformer_segmentation},
    {"GLPNModel", "glpn", [](const config& c, tally& t) { count_segformer(c, t); }},
    {"PvtModel", "pvt", [](const config& c, tally& t) { count_pvt(c, t); }},
    {"PvtForImageClassification", "pvt", [](const config& c, tally& t) {
       const auto hidden = count_pvt(c, t);
       const json* labels = c.find({"id2label"});
       t.linear(component::head, hidden, c.has("num_labels") || (labels != nullptr && !labels->empty()) ? labels_of(c) : 1000, true);
     }},
    {"PvtV2Model", "pvt_v2", [](const config& c, tally& t) { count_pvt_v2(c, t); }},
    {"PvtV2Backbone", "pvt_v2", [](const config& c, tally& t) { count_pvt_v2(c, t); }},
    {"PvtV2ForImageClassification", "pvt_v2", [](const config& c, tally& t) { count_classifier(c, t, count_pvt_v2(c, t)); }},
    {"PoolFormerModel", "poolformer", [](const config& c, tally& t) { count_poolformer(c, t); }},
    {"PoolFormerForImageClassification", "poolformer", [](const config& c, tally& t) {
       const auto hidden = count_poolformer(c, t);
       t.layer_norm(hidden);
       count_classifier(c, t, hidden);
     }},
};

}  // namespace headroom::io::detail
