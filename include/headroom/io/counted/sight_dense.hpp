// Distributed under the Boost Software License, Version 1.0.
// Models that answer for each pixel: SuperPoint, EoMT, Sapiens 2, Prompt Depth Anything, Swin2SR; MobileViT v2. Each comment names
// the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/depth.hpp>
#include <headroom/io/counted/staged.hpp>

#include <cmath>

namespace headroom::io::detail {

/// modeling_superpoint.py: pairs of convolutions, and two heads: where points are, and what they look like.
inline void count_superpoint(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"keypoint_threshold", "max_keypoints", "nms_radius", "border_removal_distance"});
  const auto widths = list_of(c, "encoder_hidden_sizes", {64, 64, 128, 128});
  if (widths.size() < 2) complain(c.at("encoder_hidden_sizes") + " must have at least two entries");
  const auto inner = c.size({"decoder_hidden_size"}, 256);
  std::int64_t in = 1;
  for (const auto width : widths) {
    count_conv(t, in, width, 3, true);
    count_conv(t, width, width, 3, true);
    in = width;
  }
  for (const auto out : {c.size({"keypoint_decoder_dim"}, 65), c.size({"descriptor_decoder_dim"}, 256)}) {
    count_conv(t, in, inner, 3, true);
    count_conv(t, inner, out, 1, true);
  }
}

/// modeling_eomt.py and modeling_eomt_dinov3.py: a ViT whose last blocks attend to queries, too; patches brought back to pixels. `turns`: DINOv3's
/// layers, whose positions turn.
inline void count_eomt(const config& c, tally& t, bool turns) {
  auto s = read_tower_sizes(c, {1024, 4096, 24, 16, 640});
  if (const auto heads = c.count({"num_attention_heads"}, 16); s.hidden % heads != 0) complain(c.at("hidden_size") + " must be a multiple of num_attention_heads, " + std::to_string(heads) + ", found " + std::to_string(s.hidden));
  if (!turns) s.ffn = times_ratio(c, "mlp_ratio", 4, s.hidden);
  const char* gated = turns ? "use_gated_mlp" : "use_swiglu_ffn";
  if (c.flag(gated, false)) complain(c.at(gated) + " must be false here, found true");
  c.ignore({"num_blocks", "no_object_weight", "class_weight", "mask_weight", "dice_weight", "train_num_points", "oversample_ratio", "importance_sample_ratio", "drop_path_rate", "pos_embed_shift", "pos_embed_jitter",
            "pos_embed_rescale"});
  t.add(component::embedding, s.hidden, checked::add(checked::add(1, c.number({"num_register_tokens"}, 4, 0)), checked::add(turns ? 0 : s.patches, c.size({"num_queries"}, 200))));
  count_patches(s, t);
  const bool query = !turns || c.flag("query_bias", true), key = !turns || c.flag("key_bias", false), value = !turns || c.flag("value_bias", true);
  tower_layers layers{.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = query, .key_bias = key, .scales = 2};
  layers.out_bias = !turns || c.flag("proj_bias", true);
  layers.mlp_bias = !turns || c.flag("mlp_bias", true);
  if (query != value) complain(c.at("value_bias") + " must be what query_bias says");
  count_layers(layers, t);
  t.layer_norm(s.hidden);
  const auto ups = c.number({"num_upscale_blocks"}, 2, 0, config::most);
  count_conv(t, s.hidden, s.hidden, 2, true, ups);
  t.add(component::other, checked::mul(9, s.hidden), ups);
  t.layer_norm(s.hidden, ups);
  t.linear(component::head, s.hidden, s.hidden, true, 3);
  t.linear(component::head, s.hidden, checked::add(labels_of(c), 1), true);
}

/// modeling_sapiens2.py: a ViT whose positions turn; layers in the middle share keys and values among heads.
inline void count_sapiens2(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {1024, 4096, 24, 16, 224});
  const auto heads = c.count({"num_attention_heads"}, 16), fewer = c.count({"num_key_value_attention_heads"}, 8);
  if (s.hidden % heads != 0) complain(c.at("hidden_size") + " must be a multiple of num_attention_heads, " + std::to_string(heads) + ", found " + std::to_string(s.hidden));
  const auto first = c.number({"num_first_full_attention_layers"}, 8, 0, config::most), last = c.number({"num_last_full_attention_layers"}, 8, 0, config::most), width = s.hidden / heads;
  c.ignore({"pos_embed_shift", "pos_embed_jitter", "pos_embed_rescale", "normalize_backbone_outputs", "flip_pairs", "drop_path_rate"});
  if (c.has("head_config")) ask_all(c.child("head_config"));
  std::vector<std::int64_t> shared;
  for (std::int64_t i = 0; i < s.layers; ++i) shared.push_back(i < first || i >= s.layers - last ? heads : fewer);
  if (c.has("num_key_value_heads_per_layer")) shared = list_of(c, "num_key_value_heads_per_layer", {});
  if (static_cast<std::int64_t>(shared.size()) != s.layers) complain(c.at("num_key_value_heads_per_layer") + " must have an entry for each of " + std::to_string(s.layers) + " layers");
  std::int64_t rows = 0;
  for (const auto one : shared) rows = checked::add(rows, checked::mul(one, width));
  const bool bias = c.flag("mlp_bias", true), gated = c.flag("use_gated_mlp", true);
  t.add(component::embedding, s.hidden, checked::add(c.flag("use_mask_token", false) ? 2 : 1, c.number({"num_register_tokens"}, 8, 0)));
  count_patches(s, t);
  t.linear(component::attention, s.hidden, s.hidden, c.flag("query_bias", true), s.layers);
  t.linear(component::attention, s.hidden, s.hidden, c.flag("proj_bias", true), s.layers);
  t.linear(component::attention, s.hidden, rows, c.flag("key_bias", true));
  t.linear(component::attention, s.hidden, rows, c.flag("value_bias", true));
  if (c.flag("use_qk_norm", true)) t.rms_norm(width, checked::mul(2, s.layers));
  t.linear(component::mlp, s.hidden, s.ffn, bias, checked::mul(gated ? 2 : 1, s.layers));
  t.linear(component::mlp, s.ffn, s.hidden, bias, s.layers);
  t.add(component::other, s.hidden, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
}

/// modeling_prompt_depth_anything.py: Depth Anything, told a few depths at each of its four steps.
inline void count_prompt_depth(const config& c, tally& t) {
  count_depth_anything(c, t);
  const auto width = c.size({"fusion_hidden_size"}, 64), steps = static_cast<std::int64_t>(list_of(c, "neck_hidden_sizes", std::vector<std::int64_t>(4)).size());
  count_conv(t, 1, width, 3, true, steps);
  count_conv(t, width, width, 3, true, checked::mul(2, steps));
}

/// modeling_swin2sr.py: Swin v2's layers in stages of one width, each with a convolution behind it.
inline std::int64_t count_swin2sr(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"img_range", "drop_path_rate", "window_size", "upscale", "upsampler", "num_channels_out"});
  const auto depths = depths_of(c, "depths", {6, 6, 6, 6, 6, 6}), heads = list_of(c, "num_heads", {6, 6, 6, 6, 6, 6}), patch = places_of(c, "patch_size", 1), image = places_of(c, "image_size", 64);
  check_stages(c, depths.size(), {heads.size()});
  for (const char* key : {"num_layers", "num_hidden_layers"}) require_equal(c, key, "depths' length", static_cast<std::int64_t>(depths.size()));
  const auto width = c.size({"embed_dim", "hidden_size"}, 180), channels = c.size({"num_channels"}, 3);
  const auto kind = c.text({"resi_connection"}, "1conv");
  if (kind != "1conv" && kind != "3conv") complain(c.at("resi_connection") + " must be 1conv or 3conv, found " + quoted_word(kind));
  if (c.flag("use_absolute_embeddings", false)) complain(c.at("use_absolute_embeddings") + " must be false here, found true");
  const bool bias = c.flag("qkv_bias", true);
  count_conv(t, channels, width, 3, true);
  t.linear(component::embedding, checked::mul(width, area(patch)), width, true);
  t.layer_norm(width);
  for (std::size_t i = 0; i < depths.size(); ++i) {
    if (width % heads[i] != 0) complain(c.at("embed_dim") + " must be a multiple of each of num_heads, found " + std::to_string(width) + " and " + std::to_string(heads[i]));
    tower_layers layers{.layers = depths[i], .hidden = width, .ffn = times_ratio(c, "mlp_ratio", 2, width), .bias = bias, .key_bias = false};
    count_layers(layers, t);
    t.add(component::attention, checked::add(checked::mul(513, heads[i]), 3 * 512), depths[i]);
    if (kind == "1conv") count_conv(t, width, width, 3, true);
    else count_conv(t, width, width / 4, 3, true), count_conv(t, width / 4, width / 4, 1, true), count_conv(t, width / 4, width, 3, true);
    t.linear(component::embedding, checked::mul(width, area(patch)), width, true);
  }
  t.layer_norm(width);
  count_conv(t, width, width, 3, true);
  return width;
}
inline void count_swin2sr_upscaled(const config& c, tally& t) {
  const auto width = count_swin2sr(c, t), scale = c.count({"upscale"}, 2), channels = c.size({"num_channels"}, 3), out = c.nullable({"num_channels_out"}, channels, channels);
  const auto how = c.text({"upsampler"}, "pixelshuffle");
  const auto shuffled = [&] {
    if (scale == 3) return count_conv(t, 64, 9 * 64, 3, true);
    if ((scale & (scale - 1)) != 0) complain(c.at("upscale") + " must be 3 or a power of 2, found " + std::to_string(scale));
    for (auto rest = scale; rest > 1; rest /= 2) count_conv(t, 64, 4 * 64, 3, true);
  };
  if (how == "pixelshuffledirect") return count_conv(t, width, checked::mul(checked::mul(scale, scale), out), 3, true);
  if (how == "nearest+conv") {
    if (scale != 4) complain(c.at("upscale") + " must be 4 for nearest+conv, found " + std::to_string(scale));
    count_conv(t, width, 64, 3, true), count_conv(t, 64, 64, 3, true, 3);
  } else if (how == "pixelshuffle" || how == "pixelshuffle_aux") {
    count_conv(t, width, 64, 3, true);
    if (how == "pixelshuffle_aux") count_conv(t, channels, 64, 3, true), count_conv(t, 64, channels, 3, true), count_conv(t, 3, 64, 3, true);
    shuffled();
  } else {
    complain(c.at("upsampler") + " must be pixelshuffle, pixelshuffle_aux, pixelshuffledirect or nearest+conv, found " + quoted_word(how));
  }
  count_conv(t, 64, out, 3, true);
}

/// modeling_mobilevitv2.py: channels rounded to eights; attention through one vector of context.
inline std::int64_t in_steps(double value, std::int64_t step, std::int64_t least) {
  auto rounded = static_cast<std::int64_t>(value + static_cast<double>(step) / 2) / step * step;
  if (rounded < least) rounded = least;
  return static_cast<double>(rounded) < 0.9 * value ? rounded + step : rounded;
}
inline std::int64_t count_mobilevit2(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"image_size", "output_stride", "aspp_out_channels", "atrous_rates", "patch_size", "aspp_dropout_prob", "ffn_dropout", "attn_dropout"});
  const auto times = c.real({"width_multiplier"}, 1.0, 1e-3, 1e3), expand = c.real({"expand_ratio"}, 2.0, 0.0, 1e3);
  const auto blocks = depths_of(c, "n_attn_blocks", {2, 4, 3}, 0), dims = list_of(c, "base_attn_unit_dims", {128, 192, 256});
  if (blocks.size() != 3 || dims.size() != 3) complain(c.at("n_attn_blocks") + " and base_attn_unit_dims must have three entries");
  const auto window = c.size({"conv_kernel_size"}, 3), more = c.count({"ffn_multiplier"}, 2);
  const auto inverted = [&](std::int64_t in, std::int64_t out) {
    const auto wide = in_steps(std::nearbyint(static_cast<double>(in) * expand), 8, 8);
    count_conv_norm(t, in, wide, 1);
    t.add(component::other, checked::mul(9, wide)), t.layer_norm(wide);
    count_conv_norm(t, wide, out, 1);
  };
  const double stem = 32 * times < 16 ? 16 : 32 * times > 64 ? 64 : 32 * times;
  auto in = in_steps(stem, 8, 16);
  count_conv_norm(t, c.size({"num_channels"}, 3), in, 3);
  const auto first = in_steps(64 * times, 16, 16), second = in_steps(128 * times, 8, 8);
  inverted(in, first), inverted(first, second), inverted(second, second);
  in = second;
  constexpr double bases[] = {256, 384, 512};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto out = in_steps(bases[i] * times, 8, 8), d = in_steps(static_cast<double>(dims[i]) * times, 8, 8), ffn = checked::mul(more, d) / 16 * 16;
    inverted(in, out);
    t.add(component::other, checked::mul(checked::mul(window, window), out)), t.layer_norm(out);
    count_conv(t, out, d, 1, false);
    t.linear(component::attention, d, checked::add(1, checked::mul(3, d)), true, blocks[i]);  // one score, keys and values, and the output
    count_mlp(t, d, ffn, d, true, blocks[i]);
    t.layer_norm(d, checked::add(1, checked::mul(2, blocks[i])));
    count_conv_norm(t, d, out, 1);
    in = out;
  }
  return in;
}

inline constexpr counted_class counted_sight_dense[] = {
    {"SuperPointForKeypointDetection", "superpoint", count_superpoint},
    {"EomtForUniversalSegmentation", "eomt", [](const config& c, tally& t) { count_eomt(c, t, false); }},
    {"EomtDinov3ForUniversalSegmentation", "eomt_dinov3", [](const config& c, tally& t) { count_eomt(c, t, true); }},
    {"Sapiens2Model", "sapiens2", count_sapiens2},
    {"Sapiens2Backbone", "sapiens2", count_sapiens2},
    {"PromptDepthAnythingForDepthEstimation", "prompt_depth_anything", count_prompt_depth},
    {"Swin2SRModel", "swin2sr", [](const config& c, tally& t) { count_swin2sr(c, t); }},
    {"Swin2SRForImageSuperResolution", "swin2sr", count_swin2sr_upscaled},
    {"MobileViTV2Model", "mobilevitv2", [](const config& c, tally& t) { count_mobilevit2(c, t); }},
    {"MobileViTV2ForImageClassification", "mobilevitv2", [](const config& c, tally& t) { count_classifier(c, t, count_mobilevit2(c, t)); }},
};

}  // namespace headroom::io::detail
