// Distributed under the Boost Software License, Version 1.0.
// Backbones by themselves, which hand the features of some stages on (transformers 5.16, ...Backbone of each family's file).
#pragma once

#include <headroom/io/counted/objects.hpp>
#include <headroom/io/counted/sight.hpp>
#include <headroom/io/counted/staged.hpp>

namespace headroom::io::detail {

/// SwinBackbone: the whole model, and a norm for each stage that it hands on.
inline void count_swin_backbone(const config& c, tally& t) {
  const auto first = c.size({"embed_dim"}, 96);
  count_swin(c, t, {});
  for (const auto stage : stages_handed_on(c, static_cast<std::int64_t>(depths_of(c, "depths", {2, 2, 6, 2}).size()))) t.layer_norm(checked::mul(first, std::int64_t{1} << (stage > 0 ? stage - 1 : 0)));
}
/// HieraBackbone: no norm behind the last stage, and one for each stage that it hands on.
inline void count_hiera_backbone(const config& c, tally& t) {
  const auto first = c.size({"embed_dim"}, 96);
  count_hiera(c, t, false);
  for (const auto stage : stages_handed_on(c, static_cast<std::int64_t>(depths_of(c, "depths", {2, 3, 16, 3}).size()))) t.layer_norm(checked::mul(first, std::int64_t{1} << (stage > 0 ? stage - 1 : 0)));
}

inline constexpr counted_class counted_backbones[] = {
    {"DINOv3ConvNextBackbone", "dinov3_convnext", [](const config& c, tally& t) { count_convnext(c, t, {.scale = true}, false); }},
    {"SwinBackbone", "swin", count_swin_backbone},
    {"Swinv2Backbone", "swinv2", [](const config& c, tally& t) { count_swin(c, t, {.last_norm = false, .position = 2, .extra = 1}); }},
    {"MaskFormerSwinBackbone", "maskformer-swin", [](const config& c, tally& t) {
       auto width = c.size({"embed_dim"}, 96);
       count_swin(c, t, {.extra = 1});
       for (std::size_t i = 0; i < depths_of(c, "depths", {2, 2, 6, 2}).size(); ++i) t.layer_norm(width), width = checked::mul(2, width);
     }},
    {"HieraBackbone", "hiera", count_hiera_backbone},
    {"PixioBackbone", "pixio", [](const config& c, tally& t) { count_pixio(c, t), t.layer_norm(c.size({"hidden_size"}, 1280)); }},
};

}  // namespace headroom::io::detail
