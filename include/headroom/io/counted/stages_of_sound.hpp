// Distributed under the Boost Software License, Version 1.0.
// CLAP, which compares sound with text, and DPT, which sees depth: Swin over a spectrum, and a ViT whose layers are put together to an image.
#pragma once

#include <headroom/io/counted/text_relatives.hpp>
#include <headroom/io/counted/vision_blocks.hpp>

namespace headroom::io::detail {

/// transformers, modeling_clap.py, ClapAudioModel. Returns its width.
inline std::int64_t count_clap_sound(const config& c, tally& t) {
  pass_over_vision(c);
  const auto patch = places_of(c, "patch_size", 4), depths = depths_of(c, "depths", {2, 2, 6, 2}), heads = list_of(c, "num_attention_heads", {4, 8, 16, 32});
  check_stages(c, depths.size(), {heads.size()});
  auto width = c.size({"patch_embeds_hidden_size"}, 96);
  const auto window = c.size({"window_size"}, 8), spread = checked::mul(2 * window - 1, 2 * window - 1), channels = c.size({"patch_embed_input_channels"}, 1);
  const bool bias = c.flag("qkv_bias", true), joined = c.flag("enable_fusion", false);
  c.ignore({"spec_size", "patch_stride", "num_classes", "flatten_patch_embeds", "num_hidden_layers", "projection_hidden_act", "projection_dim"});
  const bool map = joined && c.text({"fusion_type"}, "") == "channel_map";
  t.linear(component::embedding, checked::mul(checked::mul(channels, map ? 4 : 1), area(patch)), width, true);
  if (c.flag("enable_patch_layer_norm", true)) t.layer_norm(width);
  const auto narrow = width / c.count({"aff_block_r"}, 4);
  if (joined) {  // attentional feature fusion twice, of the place and of the whole, and a convolution over three windows
    count_mlp(t, width, narrow, width, true, 2);
    t.layer_norm(checked::add(width, narrow), 2);
    t.linear(component::embedding, checked::mul(checked::mul(channels, 3), area(patch)), width, true);
  }
  for (std::size_t i = 0; i < depths.size(); ++i) {
    count_layers({.layers = depths[i], .hidden = width, .ffn = times_ratio(c, "mlp_ratio", 4, width), .bias = bias, .key_bias = bias}, t);
    t.add(component::attention, checked::mul(spread, heads[i]), depths[i]);
    if (i + 1 == depths.size()) break;
    t.linear(component::other, checked::mul(4, width), checked::mul(2, width), false);
    t.layer_norm(checked::mul(4, width));
    width = checked::mul(2, width);
  }
  t.layer_norm(c.size({"num_mel_bins"}, 64));
  t.layer_norm(width);
  return width;
}
/// ClapTextModel: RoBERTa with a pooler.
inline std::int64_t count_clap_text(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {50265, 768, 12, 12, 3072, 514, 1});
  c.ignore({"projection_dim", "projection_hidden_act"});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  t.linear(component::other, s.hidden, s.hidden, true);
  return s.hidden;
}
/// ClapProjectionLayer, as wide as its side says.
inline void count_clap_projection(const config& c, tally& t, std::int64_t hidden) {
  const auto out = c.size({"projection_dim"}, 512);
  count_mlp(t, hidden, out, out);
}
template <std::int64_t (*Body)(const config&, tally&)>
void count_clap_side(const config& c, tally& t) {
  Body(c, t);
  c.ignore({"hidden_size"});
}
inline void count_clap(const config& c, tally& t) {
  c.ignore({"projection_hidden_act", "hidden_size", "num_hidden_layers", "projection_dim", "logit_scale_init_value", "tie_word_embeddings", "text_config_dict", "audio_config_dict"});
  for (const char* old : {"text_config_dict", "audio_config_dict"})
    if (c.has(old)) complain(c.at(old) + " is of older releases: say it in text_config and audio_config");
  const auto text = c.child("text_config"), audio = c.child("audio_config");
  if (text.size({"projection_dim"}, 512) != audio.size({"projection_dim"}, 512) || text.size({"projection_dim"}, 512) != c.size({"projection_dim"}, 512))
    complain(c.at("projection_dim") + " must be what text_config and audio_config say, found " + std::to_string(c.size({"projection_dim"}, 512)));
  count_clap_projection(text, t, count_clap_text(text, t));
  const auto width = count_clap_sound(audio, t);
  if (audio.size({"hidden_size"}, 768) != width) complain(audio.at("hidden_size") + " must be the last stage's width, " + std::to_string(width));
  count_clap_projection(audio, t, width);
  t.add(component::other, 2);
}

/// modeling_dpt.py: a ViT; four of its layers become maps of four sizes, which are joined.
inline std::int64_t count_dpt_body(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {768, 3072, 12, 16, 384});
  if (c.flag("is_hybrid", false)) complain(c.at("is_hybrid") + " must be false here, found true");
  if (c.has("backbone_config") || c.has("backbone")) complain(c.at("backbone_config") + " must be absent here");
  const bool bias = c.flag("qkv_bias", true);
  c.ignore({"backbone_out_indices", "head_in_index", "use_auxiliary_head", "auxiliary_loss_weight", "semantic_classifier_dropout", "backbone_featmap_shape", "neck_ignore_stages", "use_pretrained_backbone",
            "use_timm_backbone", "backbone_kwargs", "backbone"});
  t.embedding(checked::add(s.patches, 2), s.hidden);
  count_patches(s, t);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .inner = whole_heads(c, s.hidden, 12), .bias = bias, .key_bias = bias}, t);
  t.layer_norm(s.hidden);
  return s.hidden;
}
inline std::int64_t count_dpt_neck(const config& c, tally& t, std::int64_t hidden) {
  const auto widths = list_of(c, "neck_hidden_sizes", {96, 192, 384, 768});
  const auto fused = c.size({"fusion_hidden_size"}, 256);
  const json usual = json::array({4, 2, 1, 0.5});
  const json* given = c.find({"reassemble_factors"});
  const json& factors = given != nullptr ? *given : usual;
  if (!factors.is_array() || factors.size() < widths.size()) complain(c.at("reassemble_factors") + " must be a list as long as neck_hidden_sizes, found " + shown(factors));
  const auto reading = c.text({"readout_type"}, "project");
  const auto stages = static_cast<std::int64_t>(widths.size());
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (!factors[i].is_number()) complain(c.at("reassemble_factors") + " must be a list of numbers, found " + shown(factors));
    const double factor = factors[i].get<double>();
    count_conv(t, hidden, widths[i], 1, true);
    if (factor > 1) count_conv(t, widths[i], widths[i], config::whole(factors[i], c.at("reassemble_factors"), 1, config::most), true);
    if (factor < 1) count_conv(t, widths[i], widths[i], 3, true);
    if (reading == "project") t.linear(component::other, checked::mul(2, hidden), hidden, true);
    count_conv(t, widths[i], fused, 3, false);
  }
  const bool norm = c.flag("use_batch_norm_in_fusion_residual", false);
  const bool bias = c.has("use_bias_in_fusion_residual") ? c.flag("use_bias_in_fusion_residual", false) : !norm;
  count_conv(t, fused, fused, 1, true, stages);
  count_conv(t, fused, fused, 3, bias, checked::mul(4, stages));
  if (norm) t.layer_norm(fused, checked::mul(4, stages));
  return fused;
}
inline void count_dpt_depth(const config& c, tally& t) {
  const auto fused = count_dpt_neck(c, t, count_dpt_body(c, t));
  c.ignore({"pooler_output_size", "pooler_act"});
  if (c.flag("add_projection", false)) count_conv(t, 256, 256, 3, true);
  count_conv(t, fused, fused / 2, 3, true);
  count_conv(t, fused / 2, 32, 3, true);
  count_conv(t, 32, 1, 1, true);
}
inline void count_dpt(const config& c, tally& t) {
  const auto hidden = count_dpt_body(c, t);
  c.ignore({"readout_type", "reassemble_factors", "neck_hidden_sizes", "fusion_hidden_size", "use_batch_norm_in_fusion_residual", "use_bias_in_fusion_residual", "add_projection"});
  t.linear(component::other, hidden, c.nullable({"pooler_output_size"}, hidden, hidden), true);
}

inline constexpr counted_class counted_stages_of_sound[] = {
    {"ClapModel", "clap", count_clap},
    {"ClapAudioModel", "clap_audio_model", count_clap_side<count_clap_sound>},
    {"ClapTextModel", "clap_text_model", count_clap_side<count_clap_text>},
    {"DPTModel", "dpt", count_dpt},
    {"DPTForDepthEstimation", "dpt", count_dpt_depth},
};

}  // namespace headroom::io::detail
