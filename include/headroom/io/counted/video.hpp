// Distributed under the Boost Software License, Version 1.0.
// Vision transformers over clips, over windows, and with tokens for objects and characters.
#pragma once

#include <headroom/io/counted/vit.hpp>

namespace headroom::io::detail {

/// transformers, modeling_timesformer.py: attention over time beside that over space, unless attention_type says otherwise.
inline std::int64_t count_timesformer(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {768, 3072, 12, 16, 224});
  const auto type = c.text({"attention_type"}, "divided_space_time");
  if (type != "divided_space_time" && type != "space_only" && type != "joint_space_time")
    complain(c.at("attention_type") + " must be divided_space_time, space_only or joint_space_time, found " + quoted_word(type));
  const bool bias = c.flag("qkv_bias", true);
  const auto frames = c.size({"num_frames"}, 8);
  t.add(component::embedding, s.hidden, checked::add(s.patches, 2));
  if (type != "space_only") t.add(component::embedding, s.hidden, frames);
  count_patches(s, t);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias}, t);
  if (type == "divided_space_time") {
    t.linear(component::attention, s.hidden, checked::mul(3, s.hidden), bias, s.layers);
    t.linear(component::attention, s.hidden, s.hidden, true, checked::mul(2, s.layers));
    t.layer_norm(s.hidden, s.layers);
  }
  t.layer_norm(s.hidden);
  return s.hidden;
}

/// modeling_videomae.py: positions are computed; patches span `tubelet_size` frames. Without mean pooling the encoder ends in a norm.
inline tower_sizes read_videomae(const config& c, tally& t) {
  auto s = read_tower_sizes(c, {768, 3072, 12, 16, 224});
  c.ignore({"num_frames", "decoder_num_attention_heads", "decoder_hidden_size", "decoder_num_hidden_layers", "decoder_intermediate_size", "norm_pix_loss", "use_mean_pooling"});
  const auto tube = c.size({"tubelet_size"}, 2);
  s.patch = checked::mul(s.patch, tube);
  count_patches(s, t);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias}, t);
  if (!c.flag("use_mean_pooling", true)) t.layer_norm(s.hidden);
  return s;
}
inline void count_videomae_classifier(const config& c, tally& t) {
  const auto s = read_videomae(c, t);
  if (c.flag("use_mean_pooling", true)) t.layer_norm(s.hidden);
  count_classifier(c, t, s.hidden);
}
inline void count_videomae_decoder(const config& c, tally& t) {
  const auto s = read_videomae(c, t);
  const auto hidden = c.size({"decoder_hidden_size"}, 384);
  const bool bias = c.flag("qkv_bias", true);
  t.linear(component::other, s.hidden, hidden, false);
  t.add(component::embedding, hidden);
  count_layers({.layers = c.number({"decoder_num_hidden_layers"}, 4, 0, config::most), .hidden = hidden, .ffn = c.size({"decoder_intermediate_size"}, 1536), .bias = bias, .key_bias = bias}, t);
  t.layer_norm(hidden);
  t.linear(component::head, hidden, checked::mul(s.patch, s.channels), true);
}

/// modeling_vivit.py: ViT over tubes.
inline std::int64_t count_vivit(const config& c, tally& t, bool pooler) {
  pass_over_vision(c);
  c.ignore({"pooler_output_size"});
  const auto hidden = c.size({"hidden_size"}, 768);
  const json* given = c.find({"tubelet_size"});
  const auto tube = given == nullptr ? std::vector<std::int64_t>{2, 16, 16} : places_of(c, "tubelet_size", 2, 3);
  const auto image = places_of(c, "image_size", 224);
  const auto patches = checked::mul(checked::mul(image[0] / tube[1], image[1] / tube[2]), c.size({"num_frames"}, 32) / tube[0]);
  t.add(component::embedding, hidden, checked::add(patches, 2));
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), area(tube)), hidden, true);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = c.number({"num_hidden_layers"}, 12, 0, config::most), .hidden = hidden, .ffn = c.size({"intermediate_size"}, 3072), .inner = whole_heads(c, hidden, 12), .bias = bias, .key_bias = bias}, t);
  t.layer_norm(hidden);
  if (pooler) t.linear(component::head, hidden, c.nullable({"pooler_output_size"}, hidden, hidden), true);
  return hidden;
}

/// modeling_yolos.py: tokens for detections, and positions of their own in each layer but the last.
inline std::int64_t count_yolos(const config& c, tally& t, bool pooler) {
  auto s = read_tower_sizes(c, {768, 3072, 12, 16, 512});
  if (c.find({"image_size"}) == nullptr) s.patches = (512 / places_of(c, "patch_size", 16)[0]) * (864 / places_of(c, "patch_size", 16)[1]);
  c.ignore({"auxiliary_loss", "class_cost", "bbox_cost", "giou_cost", "bbox_loss_coefficient", "giou_loss_coefficient", "eos_coefficient"});
  const auto tokens = c.size({"num_detection_tokens"}, 100), positions = checked::mul(checked::add(checked::add(s.patches, tokens), 1), s.hidden);
  t.add(component::embedding, s.hidden, checked::add(tokens, 1));
  t.add(component::embedding, positions);
  const auto image = c.find({"image_size"}) == nullptr ? std::vector<std::int64_t>{512, 864} : places_of(c, "image_size", 512);
  const auto patch = places_of(c, "patch_size", 16);
  if (image[0] % patch[0] != 0 || image[1] % patch[1] != 0)  // the first table holds whole patches, those of later layers the area's
    complain(c.at("image_size") + " must be a multiple of patch_size on either side");
  if (c.flag("use_mid_position_embeddings", true) && s.layers > 1) t.add(component::embedding, positions, s.layers - 1);
  count_patches(s, t);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias}, t);
  t.layer_norm(s.hidden);
  if (pooler) t.linear(component::head, s.hidden, s.hidden, true);
  return s.hidden;
}
inline void count_yolos_detection(const config& c, tally& t) {
  const auto hidden = count_yolos(c, t, false);
  t.linear(component::head, hidden, hidden, true, 4);
  t.linear(component::head, hidden, checked::add(labels_of(c), 1), true);
  t.linear(component::head, hidden, 4, true);
}

/// modeling_vitdet.py: relative positions in a window's size, or in the image's.
inline void count_vitdet(const config& c, tally& t) {
  auto s = read_tower_sizes(c, {768, 0, 12, 16, 224});
  c.ignore({"dropout_prob", "window_block_indices", "residual_block_indices", "use_relative_position_embeddings"});
  s.ffn = times_ratio(c, "mlp_ratio", 4, s.hidden);
  for (const char* key : {"residual_block_indices", "window_block_indices"})
    if (!list_of(c, key, {}, 0).empty()) complain(c.at(key) + " must be empty, found " + shown(c.find({key})));
  if (c.flag("use_relative_position_embeddings", false)) complain(c.at("use_relative_position_embeddings") + " must be false, found true");
  c.ignore({"window_size"});
  count_patches(s, t);
  const auto side = c.size({"pretrain_image_size"}, 224) / places_of(c, "patch_size", 16)[0];
  if (c.flag("use_absolute_position_embeddings", true)) t.add(component::embedding, s.hidden, checked::add(checked::mul(side, side), 1));
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias}, t);
}

/// modeling_mgp_str.py: characters and pieces of words read off the patches.
inline std::int64_t count_mgp(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"drop_rate", "attn_drop_rate", "output_a3_attentions", "max_token_length", "num_character_labels", "num_bpe_labels", "num_wordpiece_labels", "distilled"});
  const auto hidden = c.size({"hidden_size"}, 768);
  const json* given = c.find({"image_size"});
  const auto image = given == nullptr ? std::vector<std::int64_t>{32, 128} : places_of(c, "image_size", 32), patch = places_of(c, "patch_size", 4);
  const std::int64_t tokens = c.flag("distilled", false) ? 2 : 1;
  t.add(component::embedding, hidden, checked::add(checked::add(checked::mul(image[0] / patch[0], image[1] / patch[1]), tokens), 1));
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), area(patch)), hidden, true);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = c.number({"num_hidden_layers"}, 12, 0, config::most), .hidden = hidden, .ffn = times_ratio(c, "mlp_ratio", 4, hidden), .bias = bias, .key_bias = bias}, t);
  return hidden;
}
inline void count_mgp_recognition(const config& c, tally& t) {
  const auto hidden = count_mgp(c, t), tokens = c.size({"max_token_length"}, 27);
  if (hidden % 8 != 0) complain(c.at("hidden_size") + " must be a multiple of 8, found " + std::to_string(hidden));
  for (const auto labels : {c.size({"num_character_labels"}, 38), c.size({"num_bpe_labels"}, 50257), c.size({"num_wordpiece_labels"}, 30522)}) {
    t.layer_norm(hidden, 2);
    t.add(component::head, checked::mul(hidden, hidden / 8), 2);  // two grouped convolutions of 8 groups
    t.add(component::head, hidden, tokens);
    t.linear(component::head, hidden, labels, true);
  }
}

inline constexpr counted_class counted_video[] = {
    {"TimesformerModel", "timesformer", [](const config& c, tally& t) { count_timesformer(c, t); }},
    {"TimesformerForVideoClassification", "timesformer", [](const config& c, tally& t) { count_classifier(c, t, count_timesformer(c, t)); }},
    {"VideoMAEModel", "videomae", [](const config& c, tally& t) { read_videomae(c, t); }},
    {"VideoMAEForPreTraining", "videomae", count_videomae_decoder},
    {"VideoMAEForVideoClassification", "videomae", count_videomae_classifier},
    {"VivitModel", "vivit", [](const config& c, tally& t) { count_vivit(c, t, true); }},
    {"VivitForVideoClassification", "vivit", [](const config& c, tally& t) { count_classifier(c, t, count_vivit(c, t, false)); }},
    {"YolosModel", "yolos", [](const config& c, tally& t) { count_yolos(c, t, true); }},
    {"YolosForObjectDetection", "yolos", count_yolos_detection},
    {"VitDetModel", "vitdet", count_vitdet},
    {"VitDetBackbone", "vitdet", count_vitdet},
    {"MgpstrModel", "mgp-str", [](const config& c, tally& t) { count_mgp(c, t); }},
    {"MgpstrForSceneTextRecognition", "mgp-str", count_mgp_recognition},
};

}  // namespace headroom::io::detail
