// Distributed under the Boost Software License, Version 1.0.
// Models that say how far away each pixel is: Depth Anything behind DINOv2.
#pragma once

#include <headroom/io/counted/seeing.hpp>
#include <headroom/io/counted/vit.hpp>

namespace headroom::io::detail {

inline const json depth_backbone = {{"model_type", "dinov2"}, {"image_size", 518}, {"hidden_size", 384}, {"num_attention_heads", 6}};

/// transformers, modeling_depth_anything.py: four layers of the backbone brought to four sizes, and fused from the smallest to the largest.
inline void count_depth_anything(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"patch_size", "head_in_index", "depth_estimation_type", "max_depth", "backbone", "use_timm_backbone", "use_pretrained_backbone", "backbone_kwargs"});
  for (const char* key : {"backbone", "use_timm_backbone", "use_pretrained_backbone"})
    if (const json* value = c.find({key}); value != nullptr && !value->is_null() && *value != false) complain(c.at(key) + " must be absent, found " + shown(*value));
  const auto backbone = child_or(c, "backbone_config", depth_backbone);
  if (const auto type = backbone.text({"model_type"}, ""); type != "dinov2") complain(backbone.at("model_type") + " must be dinov2, found " + quoted_word(type));
  t.within(component::vision, [&] { count_dinov2(backbone, t, 14, false); });
  const auto in = c.size({"reassemble_hidden_size"}, 384), width = c.size({"fusion_hidden_size"}, 64), narrow = c.size({"head_hidden_size"}, 32);
  const auto necks = list_of(c, "neck_hidden_sizes", {48, 96, 192, 384});
  const json* given = c.find({"reassemble_factors"});
  const json usual = json::array({4, 2, 1, 0.5});
  const json& factors = given == nullptr ? usual : *given;
  if (!factors.is_array() || factors.size() != necks.size()) complain(c.at("reassemble_factors") + " must be a list as long as neck_hidden_sizes, found " + shown(factors));
  for (std::size_t i = 0; i < necks.size(); ++i) {
    const auto& factor = factors[i];
    if (!factor.is_number()) complain(c.at("reassemble_factors") + " must be a list of numbers, found " + shown(factors));
    const auto times = factor.get<double>();
    count_conv(t, in, necks[i], 1, true);
    if (times > 1) count_conv(t, necks[i], necks[i], config::whole(factor, c.at("reassemble_factors"), 2, 1024), true);
    if (times < 1) count_conv(t, necks[i], necks[i], 3, true);
    count_conv(t, necks[i], width, 3, false);
    count_conv(t, width, width, 1, true);
    count_conv(t, width, width, 3, true, 4);
  }
  count_conv(t, width, width / 2, 3, true);
  count_conv(t, width / 2, narrow, 3, true);
  count_conv(t, narrow, 1, 1, true);
}

inline constexpr counted_class counted_depth[] = {
    {"DepthAnythingForDepthEstimation", "depth_anything", count_depth_anything},
};

}  // namespace headroom::io::detail
