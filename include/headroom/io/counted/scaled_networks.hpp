// Distributed under the Boost Software License, Version 1.0.
// Convolutional networks whose widths and depths are scaled: MobileViT, EfficientNet and ALIGN's tower.
#pragma once

#include <headroom/io/counted/small_networks.hpp>

#include <cmath>

namespace headroom::io::detail {

/// transformers, modeling_mobilevit.py: inverted residuals, and layers of attention over patches among convolutions.
inline void count_inverted(tally& t, std::int64_t in, std::int64_t out, double expand) {
  const auto wide = mobile_widths{1.0, 8, 8}.divisible(static_cast<double>(in) * expand);
  count_conv_norm(t, in, wide, 1);
  count_depthwise_norm(t, wide, 3);
  count_conv_norm(t, wide, out, 1);
}
inline std::int64_t count_mobilevit(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"image_size", "patch_size", "output_stride", "classifier_dropout_prob", "aspp_out_channels", "atrous_rates", "aspp_dropout_prob"});
  const auto necks = list_of(c, "neck_hidden_sizes", {16, 32, 64, 96, 128, 160, 640}), widths = list_of(c, "hidden_sizes", {144, 192, 240});
  if (necks.size() != 7 || widths.size() != 3) complain(c.at("neck_hidden_sizes") + " must have seven entries, and hidden_sizes three");
  const auto expand = c.real({"expand_ratio"}, 4.0, 1e-6, 1e6);
  const auto window = c.size({"conv_kernel_size"}, 3);
  const bool bias = c.flag("qkv_bias", true);
  count_conv_norm(t, c.size({"num_channels"}, 3), necks[0], 3);
  count_inverted(t, necks[0], necks[1], expand);
  count_inverted(t, necks[1], necks[2], expand);
  for (int i = 0; i < 2; ++i) count_inverted(t, necks[2], necks[2], expand);
  constexpr std::int64_t layers[] = {2, 4, 3};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto out = necks[i + 3], hidden = widths[i];
    count_inverted(t, necks[i + 2], out, expand);
    count_conv_norm(t, out, out, window);
    count_conv(t, out, hidden, 1, false);
    count_layers({.layers = layers[i], .hidden = hidden, .ffn = times_ratio(c, "mlp_ratio", 2, hidden), .bias = bias, .key_bias = bias}, t);
    t.layer_norm(hidden);
    count_conv_norm(t, hidden, out, 1);
    count_conv_norm(t, checked::mul(2, out), out, window);
  }
  count_conv_norm(t, necks[5], necks[6], 1);
  return necks[6];
}

/// modeling_efficientnet.py, and modeling_align.py after it: widths and depths scaled, channels weighed.
inline std::int64_t count_efficientnet(const config& c, tally& t, bool top) {
  pass_over_vision(c);
  c.ignore({"image_size", "depthwise_padding", "strides", "hidden_dim", "pooling_type", "batch_norm_eps", "batch_norm_momentum", "drop_connect_rate", "num_hidden_layers"});
  const mobile_widths w{c.real({"width_coefficient"}, 2.0, 1e-6, 1e6), c.size({"depth_divisor"}, 8), c.size({"depth_divisor"}, 8)};
  const auto deep = c.real({"depth_coefficient"}, 3.1, 1e-6, 1e6), squeeze = c.real({"squeeze_expansion_ratio"}, 0.25, 0.0, 1e6);
  const auto ins = list_of(c, "in_channels", {32, 16, 24, 40, 80, 112, 192}), outs = list_of(c, "out_channels", {16, 24, 40, 80, 112, 192, 320}), windows = list_of(c, "kernel_sizes", {3, 3, 5, 3, 5, 5, 3}),
             repeats = depths_of(c, "num_block_repeats", {1, 2, 2, 3, 3, 4, 1}), expands = list_of(c, "expand_ratios", {1, 6, 6, 6, 6, 6, 6});
  check_stages(c, ins.size(), {outs.size(), windows.size(), repeats.size(), expands.size()});
  const auto rounded = [&](std::int64_t width) {  // unlike MobileNet's, without rounding first
    const auto value = static_cast<double>(width) * w.scale;
    auto cut = static_cast<std::int64_t>(value + static_cast<double>(w.divisor) / 2) / w.divisor * w.divisor;
    if (cut < w.divisor) cut = w.divisor;
    return static_cast<double>(cut) < 0.9 * value ? cut + w.divisor : cut;
  };
  count_conv_norm(t, c.size({"num_channels"}, 3), rounded(32), 3);
  std::int64_t layers = 0;
  for (std::size_t i = 0; i < ins.size(); ++i) {
    const auto out = rounded(outs[i]), times = static_cast<std::int64_t>(std::ceil(deep * static_cast<double>(repeats[i])));
    check_layers(c, "depth_coefficient", layers = checked::add(layers, times));
    for (std::int64_t j = 0; j < times; ++j) {
      const auto in = j == 0 ? rounded(ins[i]) : out, wide = checked::mul(in, expands[i]);
      auto narrow = static_cast<std::int64_t>(static_cast<double>(in) * squeeze);
      if (narrow < 1) narrow = 1;
      if (expands[i] != 1) count_conv_norm(t, in, wide, 1);
      count_depthwise_norm(t, wide, windows[i]);
      count_conv(t, wide, narrow, 1, true);
      count_conv(t, narrow, wide, 1, true);
      count_conv_norm(t, wide, out, 1);
    }
  }
  const auto hidden = c.size({"hidden_dim"}, 2560);
  if (top) {
    count_conv(t, rounded(outs.back()), rounded(1280), 1, false);
    t.layer_norm(hidden);
  }
  return hidden;
}

inline constexpr counted_class counted_scaled_networks[] = {
    {"MobileViTModel", "mobilevit", [](const config& c, tally& t) { count_mobilevit(c, t); }},
    {"MobileViTForImageClassification", "mobilevit", [](const config& c, tally& t) { count_classifier(c, t, count_mobilevit(c, t)); }},
    {"EfficientNetModel", "efficientnet", [](const config& c, tally& t) { count_efficientnet(c, t, true); }},
    {"EfficientNetForImageClassification", "efficientnet", [](const config& c, tally& t) { count_classifier(c, t, count_efficientnet(c, t, true)); }},
    {"AlignModel", "align", [](const config& c, tally& t) {
       pass_over_vision(c);
       c.ignore({"temperature_init_value"});
       t.linear(component::projector, count_bert_text(c.child("text_config"), t, bert_text, 2, true), c.size({"projection_dim"}, 640), true);
       t.within(component::vision, [&] { count_efficientnet(c.child("vision_config"), t, false); });
       t.add(component::other, 1);
     }},
    {"AlignTextModel", "align_text_model", [](const config& c, tally& t) { count_bert_text(c, t, bert_text, 2, true); }},
    {"AlignVisionModel", "align_vision_model", [](const config& c, tally& t) { count_efficientnet(c, t, false); }},
};

}  // namespace headroom::io::detail
