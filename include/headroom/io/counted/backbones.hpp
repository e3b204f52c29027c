// Distributed under the Boost Software License, Version 1.0.
// Backbones by themselves, which hand the features of some stages on (transformers 5.16, ...Backbone of each family's file).
#pragma once

#include <headroom/io/counted/objects.hpp>
#include <headroom/io/counted/sight.hpp>
#include <headroom/io/counted/staged.hpp>

namespace headroom::io::detail {

/// The stages whose features a backbone hands on, counted from 0: out_features by their names ("stem" comes before "stage1"), or out_indices; without
/// both the last. The stem counts as 0, stage1 as 1.
inline size_list stages_handed_on(const config& c, std::int64_t stages) {
  size_list found;
  const json *names = c.find({"out_features", "_out_features"}), *places = c.find({"out_indices", "_out_indices"});
  const auto refuse_at = [&](const char* key, const json& value) { complain(c.at(key) + " must be a list of stages, found " + shown(value)); };
  if (names != nullptr && !names->is_null()) {
    if (!names->is_array()) refuse_at("out_features", *names);
    for (const auto& one : *names)
      for (std::int64_t i = 0; i <= stages; ++i)
        if (one == (i == 0 ? std::string{"stem"} : "stage" + std::to_string(i))) found.push_back(i);
    if (found.size() != names->size()) refuse_at("out_features", *names);
  }
  if (places != nullptr && !places->is_null()) {
    if (!places->is_array()) refuse_at("out_indices", *places);
    size_list listed;
    for (const auto& one : *places) {
      const auto i = config::whole(one, c.at("out_indices"), -stages - 1, stages);
      listed.push_back(i < 0 ? i + stages + 1 : i);
    }
    if (names != nullptr && !names->is_null() && listed != found) refuse_at("out_indices", *places);
    found = listed;
  }
  if ((names == nullptr || names->is_null()) && (places == nullptr || places->is_null())) found.push_back(stages);
  return found;
}

/// SwinBackbone: the whole model, and a norm for each stage that it hands on.
inline void count_swin_backbone(const config& c, tally& t) {
  const auto first = c.size({"embed_dim"}, 96);
  count_swin(c, t, {});
  for (const auto stage : stages_handed_on(c, static_cast<std::int64_t>(list_of(c, "depths", {2, 2, 6, 2}).size()))) t.layer_norm(checked::mul(first, std::int64_t{1} << (stage > 0 ? stage - 1 : 0)));
}
/// HieraBackbone: no norm behind the last stage, and one for each stage that it hands on.
inline void count_hiera_backbone(const config& c, tally& t) {
  const auto first = c.size({"embed_dim"}, 96);
  count_hiera(c, t, false);
  for (const auto stage : stages_handed_on(c, static_cast<std::int64_t>(list_of(c, "depths", {2, 3, 16, 3}).size()))) t.layer_norm(checked::mul(first, std::int64_t{1} << (stage > 0 ? stage - 1 : 0)));
}

inline constexpr counted_class counted_backbones[] = {
    {"DINOv3ConvNextBackbone", "dinov3_convnext", [](const config& c, tally& t) { count_convnext(c, t, {.scale = true}, false); }},
    {"SwinBackbone", "swin", count_swin_backbone},
    {"Swinv2Backbone", "swinv2", [](const config& c, tally& t) { count_swin(c, t, {.last_norm = false, .position = 2, .extra = 1}); }},
    {"MaskFormerSwinBackbone", "maskformer-swin", [](const config& c, tally& t) {
       auto width = c.size({"embed_dim"}, 96);
       count_swin(c, t, {.extra = 1});
       for (std::size_t i = 0; i < list_of(c, "depths", {2, 2, 6, 2}).size(); ++i) t.layer_norm(width), width = checked::mul(2, width);
     }},
    {"HieraBackbone", "hiera", count_hiera_backbone},
    {"PixioBackbone", "pixio", [](const config& c, tally& t) { count_pixio(c, t), t.layer_norm(c.size({"hidden_size"}, 1280)); }},
};

}  // namespace headroom::io::detail
