// Distributed under the Boost Software License, Version 1.0.
// Convolutional networks for small machines, and towers of the newest models: MobileNet, RegNet, SwiftFormer, VideoPrism, SAM 3, Cosmos.
#pragma once

#include <headroom/io/counted/staged.hpp>
#include <headroom/io/counted/vision_language_families.hpp>

#include <cmath>

namespace headroom::io::detail {

/// A depthwise convolution of square windows, and a BatchNorm.
inline void count_depthwise_norm(tally& t, std::int64_t width, std::int64_t window, std::int64_t times = 1) {
  count_conv(t, 1, width, window, false, times);
  t.layer_norm(width, times);
}

/// transformers, modeling_mobilenet_v1.py. Returns the last width.
inline std::int64_t count_mobilenet1(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"image_size", "tf_padding", "classifier_dropout_prob"});
  const auto scale = c.real({"depth_multiplier"}, 1.0, 1e-6, 1e6);
  const auto least = c.size({"min_depth"}, 8);
  const auto scaled = [&](std::int64_t depth) {
    const auto width = static_cast<std::int64_t>(static_cast<double>(depth) * scale);
    return width > least ? width : least;
  };
  std::int64_t depth = 32, out = scaled(depth);
  count_conv_norm(t, c.size({"num_channels"}, 3), out, 3);
  for (const bool wider : {true, true, false, true, false, true, false, false, false, false, false, true, false}) {
    const auto in = out;
    if (wider) depth *= 2, out = scaled(depth);
    count_depthwise_norm(t, in, 3);
    count_conv_norm(t, in, out, 1);
  }
  return out;
}

/// modeling_mobilenet_v2.py: widths are multiples of depth_divisible_by.
struct mobile_widths {
  double scale;
  std::int64_t divisor, least;
  [[nodiscard]] std::int64_t divisible(double width) const {
    const auto value = static_cast<std::int64_t>(std::nearbyint(width));
    auto cut = static_cast<std::int64_t>(static_cast<double>(value) + static_cast<double>(divisor) / 2) / divisor * divisor;
    if (cut < least) cut = least;
    return static_cast<double>(cut) < 0.9 * static_cast<double>(value) ? cut + divisor : cut;
  }
  [[nodiscard]] std::int64_t of(std::int64_t width) const { return divisible(static_cast<double>(width) * scale); }
};
struct mobile_outputs {
  std::int64_t last, before;
};
inline mobile_outputs count_mobilenet2(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"image_size", "tf_padding", "classifier_dropout_prob", "output_stride"});
  const mobile_widths w{c.real({"depth_multiplier"}, 1.0, 1e-6, 1e6), c.size({"depth_divisible_by"}, 8), c.size({"min_depth"}, 8)};
  const auto expand = c.real({"expand_ratio"}, 6.0, 1e-6, 1e6);
  const auto stem = w.of(32);
  auto in = w.of(16);
  count_conv_norm(t, c.size({"num_channels"}, 3), stem, 3);
  if (!c.flag("first_layer_is_expansion", true)) count_conv_norm(t, stem, stem, 1);
  count_depthwise_norm(t, stem, 3);
  count_conv_norm(t, stem, in, 1);
  for (const std::int64_t width : {24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320}) {
    const auto out = w.of(width), wide = w.divisible(static_cast<double>(in) * expand);
    count_conv_norm(t, in, wide, 1);
    count_depthwise_norm(t, wide, 3);
    count_conv_norm(t, wide, out, 1);
    in = out;
  }
  const auto last = c.flag("finegrained_output", true) && w.scale < 1.0 ? 1280 : w.of(1280);
  count_conv_norm(t, in, last, 1);
  return {last, in};
}
inline void count_mobilenet2_segmentation(const config& c, tally& t) {
  const auto m = count_mobilenet2(c, t);
  count_conv_norm(t, m.before, 256, 1, 2);
  count_conv_norm(t, 512, 256, 1);
  t.linear(component::head, 256, labels_of(c), true);
}

/// modeling_regnet.py: grouped convolutions; layers of type y weigh their channels.
inline std::int64_t count_regnet(const config& c, tally& t) {
  pass_over_vision(c);
  const auto widths = list_of(c, "hidden_sizes", {128, 192, 512, 1088}), depths = depths_of(c, "depths", {2, 6, 12, 2});
  check_stages(c, widths.size(), {depths.size()});
  const auto type = c.text({"layer_type"}, "y");
  if (type != "x" && type != "y") complain(c.at("layer_type") + " must be x or y, found " + quoted_word(type));
  const auto group = c.size({"groups_width"}, 64);
  const bool early = c.flag("downsample_in_first_stage", true);
  auto in = c.size({"embedding_size"}, 32);
  count_conv_norm(t, c.size({"num_channels"}, 3), in, 3);
  for (std::size_t i = 0; i < widths.size(); ++i)
    for (std::int64_t layer = 0; layer < depths[i]; ++layer) {
      const auto out = widths[i], groups = out / group > 1 ? out / group : 1;
      if (out % groups != 0) complain(c.at("hidden_sizes") + " must be multiples of groups_width, found " + std::to_string(out));
      if (in != out || (layer == 0 && (i > 0 || early))) count_conv_norm(t, in, out, 1);
      count_conv_norm(t, in, out, 1);
      count_conv(t, out / groups, out, 3, false);
      t.layer_norm(out);
      if (type == "y") {
        const auto narrow = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(in) / 4.0));
        count_conv(t, out, narrow, 1, true);
        count_conv(t, narrow, out, 1, true);
      }
      count_conv_norm(t, out, out, 1);
      in = out;
    }
  return in;
}

/// modeling_swiftformer.py: convolutions, and additive attention in the last layer of a stage.
inline std::int64_t count_swiftformer(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"image_size", "down_stride", "down_pad", "drop_mlp_rate", "drop_conv_encoder_rate", "batch_norm_eps"});
  const auto depths = depths_of(c, "depths", {3, 3, 6, 4}), widths = list_of(c, "embed_dims", {48, 56, 112, 220});
  check_stages(c, depths.size(), {widths.size()});
  const json* down = c.find({"downsamples"});
  if (down != nullptr && *down != json::array({true, true, true, true})) complain(c.at("downsamples") + " must be four times true, found " + shown(*down));
  const bool scaled = c.flag("use_layer_scale", true);
  count_conv(t, c.size({"num_channels"}, 3), widths[0] / 2, 3, true);
  t.layer_norm(widths[0] / 2);
  count_conv(t, widths[0] / 2, widths[0], 3, true);
  t.layer_norm(widths[0]);
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const auto w = widths[i], wide = times_ratio(c, "mlp_ratio", 4, w);
    count_conv(t, 1, w, 3, true, depths[i]);
    t.layer_norm(w, checked::add(depths[i], 1));
    count_mlp(t, w, wide, w, true, depths[i]);
    t.add(component::other, w, checked::add(depths[i], scaled ? 2 : 0));
    count_mlp(t, w, w, w);
    t.add(component::attention, w);
    count_attention(t, w);
    if (i + 1 == depths.size()) break;
    count_conv(t, w, widths[i + 1], c.size({"down_patch_size"}, 3), true);
    t.layer_norm(widths[i + 1]);
  }
  return widths.back();
}

/// modeling_videoprism.py: space, then time.
inline void count_prism_layers(const config& c, tally& t, std::int64_t hidden, std::int64_t layers) {
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = layers, .hidden = hidden, .ffn = c.size({"intermediate_size"}, 3072), .inner = whole_heads(c, hidden, 12), .bias = bias, .key_bias = bias}, t);
}
inline std::int64_t count_prism_vision(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"num_auxiliary_layers", "apply_l2norm"});
  const auto hidden = c.size({"hidden_size"}, 768);
  const json* given = c.find({"tubelet_size"});
  const auto tube = given == nullptr ? std::vector<std::int64_t>{1, 18, 18} : places_of(c, "tubelet_size", 1, 3), image = places_of(c, "image_size", 288);
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), area(tube)), hidden, true);
  t.add(component::embedding, hidden, checked::add(checked::mul(image[0] / tube[1], image[1] / tube[2]), c.size({"num_frames"}, 16)));
  count_prism_layers(c, t, hidden, checked::add(c.number({"num_spatial_layers"}, 12, 0, config::most), c.number({"num_temporal_layers"}, 4, 0, config::most)));
  t.layer_norm(hidden, 2);
  return hidden;
}
inline std::int64_t count_prism_pool(const config& c, tally& t) {
  const auto hidden = count_prism_vision(c, t), heads = c.count({"num_attention_heads"}, 12), head = c.size({"intermediate_size"}, 3072) / heads, inner = checked::mul(heads, head);
  const bool bias = c.flag("qkv_bias", true);
  t.linear(component::attention, hidden, inner, bias, 3);
  t.linear(component::attention, inner, hidden, true);
  t.add(component::head, checked::add(head, hidden));
  t.layer_norm(hidden);
  return hidden;
}
inline void count_prism_video(const config& c, tally& t) { count_prism_layers(c, t, count_prism_pool(c, t), c.number({"num_auxiliary_layers"}, 2, 0, config::most)); }
inline void count_prism_text(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"max_position_embeddings", "apply_l2norm"});
  const auto hidden = c.size({"hidden_size"}, 768);
  t.embedding(c.size({"vocab_size"}, 32000), hidden);
  t.add(component::embedding, hidden);
  count_prism_layers(c, t, hidden, c.number({"num_hidden_layers"}, 12, 0, config::most));
  t.layer_norm(hidden);
}

/// modeling_sam3.py, Sam3ViTModel.
inline void count_sam3_vit(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {1024, 4736, 32, 14, 1008});
  c.ignore({"window_size", "global_attn_indexes", "rope_theta"});
  if (c.has("layer_scale_init_value")) complain(c.at("layer_scale_init_value") + " must be null, found " + shown(c.find({"layer_scale_init_value"})));
  const auto side = c.size({"pretrain_image_size"}, 336) / places_of(c, "patch_size", 14)[0];
  count_patches(s, t, false);
  t.add(component::embedding, s.hidden, checked::mul(side, side));
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn}, t);
  t.layer_norm(s.hidden);
}

inline constexpr counted_class counted_small_networks[] = {
    {"MobileNetV1Model", "mobilenet_v1", [](const config& c, tally& t) { count_mobilenet1(c, t); }},
    {"MobileNetV1ForImageClassification", "mobilenet_v1", [](const config& c, tally& t) { count_classifier(c, t, count_mobilenet1(c, t)); }},
    {"MobileNetV2Model", "mobilenet_v2", [](const config& c, tally& t) { count_mobilenet2(c, t); }},
    {"MobileNetV2ForImageClassification", "mobilenet_v2", [](const config& c, tally& t) { count_classifier(c, t, count_mobilenet2(c, t).last); }},
    {"MobileNetV2ForSemanticSegmentation", "mobilenet_v2", count_mobilenet2_segmentation},
    {"RegNetModel", "regnet", [](const config& c, tally& t) { count_regnet(c, t); }},
    {"RegNetForImageClassification", "regnet", [](const config& c, tally& t) { count_classifier(c, t, count_regnet(c, t)); }},
    {"SwiftFormerModel", "swiftformer", [](const config& c, tally& t) { count_swiftformer(c, t); }},
    {"SwiftFormerForImageClassification", "swiftformer", [](const config& c, tally& t) {
       const auto hidden = count_swiftformer(c, t);
       t.layer_norm(hidden);
       count_classifier(c, t, hidden);
       count_classifier(c, t, hidden);
     }},
    {"VideoPrismVisionModel", "videoprism_vision_model", [](const config& c, tally& t) { count_prism_vision(c, t); }},
    {"VideoPrismVideoModel", "videoprism_vision_model", count_prism_video},
    {"VideoPrismForVideoClassification", "videoprism_vision_model", [](const config& c, tally& t) { count_classifier(c, t, count_prism_pool(c, t)); }},
    {"VideoPrismTextModel", "videoprism_text_model", count_prism_text},
    {"VideoPrismClipModel", "videoprism", [](const config& c, tally& t) {
       t.within(component::vision, [&] { count_prism_video(c.child("vision_config"), t); });
       count_prism_text(c.child("text_config"), t);
     }},
    {"Sam3ViTModel", "sam3_vit_model", count_sam3_vit},
    {"Cosmos3OmniModel", "cosmos3_omni", count_bare<count_merged<&qwen3_vl_text, count_deep_vision>>},
    {"Cosmos3OmniForConditionalGeneration", "cosmos3_omni", count_speaking<count_merged<&qwen3_vl_text, count_deep_vision>, false>},
};

}  // namespace headroom::io::detail
