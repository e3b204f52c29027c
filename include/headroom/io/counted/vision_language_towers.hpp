// Distributed under the Boost Software License, Version 1.0.
// Towers of models that see and speak, each by itself: Pixtral, InternVL, Idefics, Qwen-VL, GLM-V.
#pragma once

#include <headroom/io/counted/contrastive.hpp>
#include <headroom/io/counted/seeing.hpp>

namespace headroom::io::detail {

/// transformers, modeling_pixtral.py: gated MLPs, RMSNorm, no biases, rotary positions. The class derives head_dim.
inline void count_pixtral(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {1024, 4096, 24, 16, 1024});
  c.ignore({"head_dim", "vocab_size", "projection_dim"});
  count_patches(s, t, false);
  t.rms_norm(s.hidden);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = false, .key_bias = false, .out_bias = false, .mlp_bias = false, .gated = true, .rms = true}, t);
}

/// modeling_internvl.py, InternVLVisionModel.
inline std::int64_t count_internvl_vision(const config& c, tally& t, bool biased = false) {
  const auto s = read_tower_sizes(c, {1024, 4096, 24, 14, 448});
  t.add(component::embedding, s.hidden, c.flag("use_mask_token", false) ? 2 : 1);
  if (c.flag("use_absolute_position_embeddings", true)) t.add(component::embedding, s.hidden, checked::add(s.patches, 1));
  count_patches(s, t);
  const auto norm = c.text({"norm_type"}, "layer_norm");
  if (norm != "layer_norm" && norm != "rms_norm") complain(c.at("norm_type") + " must be layer_norm or rms_norm, found " + quoted_word(norm));
  const bool bias = c.flag("attention_bias", biased);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias, .rms = norm == "rms_norm", .scales = 2}, t);
  if (c.flag("use_qk_norm", false)) t.rms_norm(s.hidden, checked::mul(2, s.layers));
  if (!c.flag("use_mean_pooling", true)) t.layer_norm(s.hidden);
  return s.hidden;
}

/// modeling_idefics2.py, modeling_idefics3.py, modeling_smolvlm.py: SigLIP's tower without a head.
inline std::int64_t count_idefics_vision(const config& c, tally& t, std::int64_t hidden) {
  const auto s = read_tower_sizes(c, {hidden, 3072, 12, 32, 224});
  count_patches(s, t);
  t.add(component::embedding, s.hidden, s.patches);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn}, t);
  t.layer_norm(s.hidden);
  return s.hidden;
}

/// The keys of Qwen's towers.
struct qwen_sight {
  std::int64_t depth{}, hidden{}, ffn{}, out{}, merged{};
};
inline qwen_sight read_qwen_sight(const config& c, tally& t, std::int64_t depth, std::int64_t hidden, std::int64_t ffn, std::int64_t patch, bool bias, const char* width = "hidden_size") {
  pass_over_vision(c);
  c.ignore({"window_size", "fullatt_block_indexes", "tokens_per_second"});
  qwen_sight q{c.number({"depth"}, depth, 0, config::most), c.size({width}, hidden), ffn == 0 ? 0 : c.size({"intermediate_size"}, ffn), 0, 0};
  const auto window = places_of(c, "patch_size", patch);
  const auto merge = c.size({"spatial_merge_size"}, 2);
  q.merged = checked::mul(q.hidden, checked::mul(merge, merge));
  t.linear(component::embedding, checked::mul(checked::mul(c.size({"in_channels", "in_chans"}, 3), c.size({"temporal_patch_size"}, 2)), area(window)), q.hidden, bias);
  return q;
}
/// transformers, modeling_qwen2_vl.py, Qwen2VisionTransformerPretrainedModel.
inline void count_qwen2_vision(const config& c, tally& t) {
  auto q = read_qwen_sight(c, t, 32, 1280, 0, 14, false, "embed_dim");
  q.ffn = times_ratio(c, "mlp_ratio", 4, q.hidden);
  count_layers({.layers = q.depth, .hidden = q.hidden, .ffn = q.ffn}, t);
  t.layer_norm(q.hidden);
  count_mlp(t, q.merged, q.merged, c.size({"hidden_size"}, 3584));
}
/// modeling_qwen2_5_vl.py and Qwen2.5-Omni's: gated MLPs and RMSNorm.
inline void count_qwen2_5_vision(const config& c, tally& t) {
  const auto q = read_qwen_sight(c, t, 32, 3584, 3420, 14, false);
  count_layers({.layers = q.depth, .hidden = q.hidden, .ffn = q.ffn, .gated = true, .rms = true}, t);
  t.rms_norm(q.hidden);
  count_mlp(t, q.merged, q.merged, c.size({"out_hidden_size"}, 3584));
}
/// modeling_qwen3_vl.py, modeling_qwen3_5.py: learned positions, and a merger for each layer that feeds the language model early.
inline void count_qwen3_vision(const config& c, tally& t, std::size_t deep) {
  const auto q = read_qwen_sight(c, t, 27, 1152, 4304, 16, true);
  t.add(component::embedding, q.hidden, c.size({"num_position_embeddings"}, 2304));
  count_layers({.layers = q.depth, .hidden = q.hidden, .ffn = q.ffn}, t);
  const auto out = c.size({"out_hidden_size"}, 3584);
  t.layer_norm(q.hidden);
  count_mlp(t, q.merged, q.merged, out);
  if (deep == 0) return;
  const auto mergers = static_cast<std::int64_t>(list_of(c, "deepstack_visual_indexes", std::vector<std::int64_t>(deep, 8), 0).size());
  t.layer_norm(q.merged, mergers);
  count_mlp(t, q.merged, q.merged, out, true, mergers);
}

/// modeling_glm4v.py, Glm4vVisionModel: the layers' MLP is as wide as the output, the merger's as intermediate_size.
inline void count_glm4v_vision(const config& c, tally& t) {
  const auto q = read_qwen_sight(c, t, 24, 1536, 13696, 14, true);
  const auto image = c.size({"image_size"}, 336), patch = c.size({"patch_size"}, 14), out = c.size({"out_hidden_size"}, 4096);
  t.add(component::embedding, q.hidden, checked::mul(image / patch, image / patch));
  const bool bias = c.flag("attention_bias", false);
  count_layers({.layers = q.depth, .hidden = q.hidden, .ffn = out, .bias = bias, .key_bias = bias, .out_bias = false, .mlp_bias = false, .gated = true, .rms = true}, t);
  t.rms_norm(q.hidden, 2);
  t.linear(component::projector, q.merged, out, true);
  t.linear(component::projector, out, out, false);
  t.layer_norm(out);
  t.linear(component::projector, out, q.ffn, false, 2);
  t.linear(component::projector, q.ffn, out, false);
}
/// GlmOcrVisionModel and Glm5NextVisionModel: norms of queries and keys; `inside`, the merger's MLP.
inline void count_glm_sight(const config& c, tally& t, std::int64_t inside) {
  const auto q = read_qwen_sight(c, t, 24, 1024, 4096, 14, true);
  c.ignore({"image_size"});
  const auto out = c.size({"out_hidden_size"}, 1536), heads = c.count({"num_attention_heads", "num_heads"}, 16);
  const bool bias = c.flag("attention_bias", true);
  count_layers({.layers = q.depth, .hidden = q.hidden, .ffn = q.ffn, .bias = bias, .key_bias = bias, .out_bias = bias, .mlp_bias = bias, .gated = true, .rms = true}, t);
  t.rms_norm(q.hidden / heads, checked::mul(2, q.depth));
  t.rms_norm(q.hidden);
  t.linear(component::projector, q.merged, out, true);
  t.linear(component::projector, out, out, false);
  t.layer_norm(out);
  t.linear(component::projector, out, inside, false, 2);
  t.linear(component::projector, inside, out, false);
}
/// modeling_glm_ocr.py: the merger is three times as wide inside as outside.
inline void count_glm_ocr_vision(const config& c, tally& t) { count_glm_sight(c, t, checked::mul(c.size({"out_hidden_size"}, 1536), c.size({"in_channels"}, 3))); }

/// modeling_sam.py, SamVisionEncoder: positions in a plane, relative positions in each layer, windows in most; and a neck of convolutions.
struct sam_usual {
  std::int64_t hidden, layers, heads, image, patch, window, ffn, channels;
  std::vector<std::int64_t> global;
};
inline void count_sam_vision(const config& c, tally& t, const sam_usual& d) {
  pass_over_vision(c);
  c.ignore({"num_pos_feats", "mlp_ratio", "scale"});
  const auto hidden = c.size({"hidden_size"}, d.hidden), layers = c.number({"num_hidden_layers"}, d.layers, 0, config::most), heads = c.count({"num_attention_heads"}, d.heads);
  const auto grid = c.size({"image_size"}, d.image) / c.size({"patch_size"}, d.patch), window = c.number({"window_size"}, d.window, 0), patch = c.size({"patch_size"}, d.patch);
  const auto channels = c.size({"output_channels"}, d.channels);
  t.linear(component::embedding, checked::mul(c.size({"num_channels"}, 3), checked::mul(patch, patch)), hidden, true);
  if (c.flag("use_abs_pos", true)) t.add(component::embedding, hidden, checked::mul(grid, grid));
  const bool bias = c.flag("qkv_bias", true);
  auto ffn = d.ffn;
  if (c.find({"mlp_dim"}) != nullptr && c.has("mlp_dim")) ffn = c.size({"mlp_dim"}, d.ffn);
  else if (ffn == 0) ffn = times_ratio(c, "mlp_ratio", 4, hidden);
  count_layers({.layers = layers, .hidden = hidden, .ffn = ffn, .bias = bias, .key_bias = bias}, t);
  if (c.flag("use_rel_pos", true)) {
    const auto global = list_of(c, "global_attn_indexes", d.global, 0);
    for (std::int64_t i = 0; i < layers; ++i) {
      bool whole = window == 0;
      for (const auto g : global) whole = whole || g == i;
      t.add(component::attention, hidden / heads, 2 * (2 * (whole ? grid : window) - 1));
    }
  } else {
    c.ignore({"global_attn_indexes"});
  }
  count_conv(t, hidden, channels, 1, false);
  count_conv(t, channels, channels, 3, false);
  t.layer_norm(channels, 2);
}

inline const sam_usual sam_sight{768, 12, 12, 1024, 16, 14, 0, 256, {2, 5, 8, 11}};

inline constexpr counted_class counted_sight[] = {
    {"PixtralVisionModel", "pixtral", count_pixtral},
    {"InternVLVisionModel", "internvl_vision", [](const config& c, tally& t) { count_internvl_vision(c, t); }},
    {"Idefics2VisionTransformer", "idefics2_vision", [](const config& c, tally& t) { count_idefics_vision(c, t, 768); }},
    {"Idefics3VisionTransformer", "idefics3_vision", [](const config& c, tally& t) { count_idefics_vision(c, t, 1152); }},
    {"SmolVLMVisionTransformer", "smolvlm_vision", [](const config& c, tally& t) { count_idefics_vision(c, t, 1152); }},
    {"Qwen2VisionTransformerPretrainedModel", "qwen2_vl_vision", count_qwen2_vision},
    {"Qwen2_5_VisionTransformerPretrainedModel", "qwen2_5_vl_vision", count_qwen2_5_vision},
    {"Qwen2_5OmniVisionEncoder", "qwen2_5_omni_vision_encoder", count_qwen2_5_vision},
    {"Qwen3VLVisionModel", "qwen3_vl_vision", [](const config& c, tally& t) { count_qwen3_vision(c, t, 3); }},
    {"Qwen3VLMoeVisionModel", "qwen3_vl_moe_vision", [](const config& c, tally& t) { count_qwen3_vision(c, t, 3); }},
    {"Qwen3OmniMoeVisionEncoder", "qwen3_omni_moe_vision_encoder", [](const config& c, tally& t) { count_qwen3_vision(c, t, 3); }},
    {"Qwen3_5VisionModel", "qwen3_5_vision", [](const config& c, tally& t) { count_qwen3_vision(c, t, 0); }},
    {"Qwen3_5MoeVisionModel", "qwen3_5_moe_vision", [](const config& c, tally& t) { count_qwen3_vision(c, t, 0); }},
    {"CohereCompassVisionModel", "cohere_compass_vision", [](const config& c, tally& t) { count_qwen3_vision(c, t, 3); }},
    {"Glm4vVisionModel", "glm4v_vision", count_glm4v_vision},
    {"Glm4vMoeVisionModel", "glm4v_moe_vision", count_glm4v_vision},
    {"GlmOcrVisionModel", "glm_ocr_vision", count_glm_ocr_vision},
    {"SamVisionModel", "sam_vision_model", [](const config& c, tally& t) { count_sam_vision(c, t, sam_sight); }},
    {"SamHQVisionModel", "sam_hq_vision_model", [](const config& c, tally& t) { count_sam_vision(c, t, sam_sight); }},
};

}  // namespace headroom::io::detail
