// Distributed under the Boost Software License, Version 1.0.
// Models that find objects: RT-DETR and RT-DETR v2 with their ResNet.
#pragma once

#include <headroom/io/counted/staged.hpp>

namespace headroom::io::detail {

/// transformers, modeling_rt_detr_resnet.py: ResNet behind three convolutions. `frozen`: its BatchNorms are buffers. Returns the widths of the stem and of
/// each stage.
inline size_list count_rt_resnet(const config& c, tally& t, bool frozen) {
  pass_over_vision(c);
  const auto widths = list_of(c, "hidden_sizes", {256, 512, 1024, 2048}), depths = depths_of(c, "depths", {3, 4, 6, 3});
  check_stages(c, widths.size(), {depths.size()}), check_stages(c, depths.size(), {widths.size()});
  const auto type = c.text({"layer_type"}, "bottleneck");
  if (type != "bottleneck" && type != "basic") complain(c.at("layer_type") + " must be bottleneck or basic, found " + quoted_word(type));
  const bool early = c.flag("downsample_in_first_stage", false);
  c.ignore({"downsample_in_bottleneck", "freeze_batch_norms"});
  const auto conv = [&](std::int64_t in, std::int64_t out, std::int64_t window) { frozen ? count_conv(t, in, out, window, false) : count_conv_norm(t, in, out, window); };
  auto in = c.size({"embedding_size"}, 64);
  size_list all{in};
  conv(c.size({"num_channels"}, 3), in / 2, 3), conv(in / 2, in / 2, 3), conv(in / 2, in, 3);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto out = widths[i];
    for (std::int64_t layer = 0; layer < depths[i]; ++layer) {
      const bool shortcut = type == "basic" ? layer == 0 : in != out || (layer == 0 && (i > 0 || early));
      if (shortcut) conv(in, out, 1);
      if (type == "basic") conv(in, out, 3), conv(out, out, 3);
      else conv(in, out / 4, 1), conv(out / 4, out / 4, 3), conv(out / 4, out, 1);
      in = out;
    }
    all.push_back(out);
  }
  return all;
}
/// The widths that a detector's backbone hands to it: of stages 2, 3 and 4 where its configuration says nothing.
inline size_list count_rt_backbone(const config& c, tally& t, bool frozen) {
  static const json usual = {{"out_indices", {2, 3, 4}}};
  const auto backbone = c.has("backbone_config") ? c.child("backbone_config") : config{usual, c.at("backbone_config")};
  if (const auto type = backbone.text({"model_type"}, "rt_detr_resnet"); type != "rt_detr_resnet") complain(backbone.at("model_type") + " must be rt_detr_resnet, found " + quoted_word(type));
  const auto all = count_rt_resnet(backbone, t, frozen);
  size_list handed;
  for (const auto stage : stages_handed_on(backbone, static_cast<std::int64_t>(all.size()) - 1)) handed.push_back(all[static_cast<std::size_t>(stage)]);
  if (handed.size() != 3) complain(backbone.at("out_features") + " must name three stages, found " + std::to_string(handed.size()));
  return handed;
}
/// RTDetrCSPRepLayer.
inline void count_rt_block(const config& c, tally& t, std::int64_t width, std::int64_t times) {
  const auto inner = times_ratio(c, "hidden_expansion", 1.0, width);
  count_conv_norm(t, checked::mul(2, width), inner, 1, checked::mul(2, times));
  count_conv_norm(t, inner, inner, 3, checked::mul(3, times));
  count_conv_norm(t, inner, inner, 1, checked::mul(3, times));
  if (inner != width) count_conv_norm(t, inner, width, 1, times);
}
/// Layers of boxes: `layers` matrices from `in` over `hidden` to `out`.
inline void count_box_head(tally& t, std::int64_t in, std::int64_t hidden, std::int64_t out, std::int64_t layers, std::int64_t times = 1) {
  t.linear(component::head, in, hidden, true, times);
  t.linear(component::head, hidden, hidden, true, checked::mul(layers - 2, times));
  t.linear(component::head, hidden, out, true, times);
}

/// modeling_rt_detr.py, RTDetrModel.
inline std::int64_t count_rt_detr(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"initializer_bias_prior_prob", "batch_norm_eps", "feat_strides", "encoder_attention_heads", "positional_encoding_temperature", "encoder_activation_function", "eval_size", "normalize_before",
            "decoder_activation_function", "label_noise_ratio", "box_noise_scale", "anchor_image_size", "disable_custom_kernels", "with_box_refine", "matcher_alpha", "matcher_gamma", "matcher_class_cost",
            "matcher_bbox_cost", "matcher_giou_cost", "use_focal_loss", "auxiliary_loss", "focal_loss_alpha", "focal_loss_gamma", "weight_loss_vfl", "weight_loss_bbox", "weight_loss_giou", "eos_coefficient",
            "num_queries", "tie_word_embeddings"});
  for (const char* key : {"backbone", "use_timm_backbone", "use_pretrained_backbone", "backbone_kwargs"})
    if (const json* value = c.find({key}); value != nullptr && !value->is_null() && *value != false) complain(c.at(key) + " must be absent, found " + shown(*value));
  const auto wide = c.size({"encoder_hidden_dim"}, 256), d = c.size({"d_model"}, 256), labels = labels_of(c);
  const auto ins = list_of(c, "encoder_in_channels", {512, 1024, 2048}), decoded = list_of(c, "decoder_in_channels", {256, 256, 256});
  const auto attended = static_cast<std::int64_t>(list_of(c, "encode_proj_layers", {2}, 0).size()), steps = static_cast<std::int64_t>(ins.size()) - 1;
  if (ins.size() != 3 || decoded.empty()) complain(c.at("encoder_in_channels") + " must have three entries, and decoder_in_channels at least one");
  size_list seen;
  t.within(component::vision, [&] { seen = count_rt_backbone(c, t, c.flag("freeze_backbone_batch_norms", true)); });
  for (const auto in : seen) count_conv_norm(t, in, wide, 1);
  count_encoder({checked::mul(attended, c.number({"encoder_layers"}, 1, 0, config::most)), wide, c.size({"encoder_ffn_dim"}, 1024)}, t);
  count_conv_norm(t, wide, wide, 1, steps);
  count_conv_norm(t, wide, wide, 3, steps);
  count_rt_block(c, t, wide, checked::mul(2, steps));
  if (c.number({"num_denoising"}, 100, 0) > 0) t.embedding(checked::add(labels, 1), d);
  if (c.flag("learn_initial_query", false)) t.embedding(c.size({"num_queries"}, 300), d);
  t.linear(component::head, d, d, true);
  t.layer_norm(d);
  t.linear(component::head, d, labels, true);
  count_box_head(t, d, d, 4, 3);
  const auto levels = c.size({"num_feature_levels"}, 3);
  for (const auto in : decoded) count_conv_norm(t, in, d, 1);
  for (std::int64_t i = static_cast<std::int64_t>(decoded.size()); i < levels; ++i) count_conv_norm(t, i == static_cast<std::int64_t>(decoded.size()) ? decoded.back() : d, d, 3);
  const auto layers = c.number({"decoder_layers"}, 6, 0, config::most), points = checked::mul(checked::mul(c.count({"decoder_attention_heads"}, 8), levels), c.count({"decoder_n_points"}, 4));
  count_encoder({layers, d, c.size({"decoder_ffn_dim"}, 1024)}, t);
  t.layer_norm(d, layers);
  t.linear(component::attention, d, checked::mul(3, points), true, layers);
  t.linear(component::attention, d, d, true, checked::mul(2, layers));
  t.linear(component::head, 4, checked::mul(2, d), true);
  t.linear(component::head, checked::mul(2, d), d, true);
  return d;
}

/// modeling_rt_detr_v2.py, RTDetrV2Model: the same modules; how many levels the decoder looks at is a key of its own.
inline void count_rt_detr2(const config& c, tally& t) {
  c.ignore({"decoder_method", "decoder_offset_scale"});
  if (const auto levels = c.size({"num_feature_levels"}, 3); c.size({"decoder_n_levels"}, 3) != levels)
    complain(c.at("decoder_n_levels") + " must equal num_feature_levels, " + std::to_string(levels) + ", found " + std::to_string(c.size({"decoder_n_levels"}, 3)));
  count_rt_detr(c, t);
}

inline constexpr counted_class counted_detection[] = {
    {"RTDetrResNetBackbone", "rt_detr_resnet", [](const config& c, tally& t) { count_rt_resnet(c, t, false); }},
    {"RTDetrV2Model", "rt_detr_v2", count_rt_detr2},
    {"RTDetrV2ForObjectDetection", "rt_detr_v2", [](const config& c, tally& t) {  // a head for each layer of the decoder
       count_rt_detr2(c, t);
       const auto d = c.size({"d_model"}, 256), layers = c.number({"decoder_layers"}, 6, 0, config::most);
       t.linear(component::head, d, labels_of(c), true, layers);
       count_box_head(t, d, d, 4, 3, layers);
     }},
    {"RTDetrModel", "rt_detr", [](const config& c, tally& t) { count_rt_detr(c, t); }},
    {"RTDetrForObjectDetection", "rt_detr", [](const config& c, tally& t) {  // the decoder's heads are the class's own
       const auto d = count_rt_detr(c, t), layers = c.number({"decoder_layers"}, 6, 0, config::most);
       t.linear(component::head, d, labels_of(c), true, layers);
       count_box_head(t, d, d, 4, 3, layers);
     }},
};

}  // namespace headroom::io::detail
