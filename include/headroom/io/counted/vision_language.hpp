// Distributed under the Boost Software License, Version 1.0.
// Models that see and speak: a tower, a projector and a language model of any family that is walked or counted.
#pragma once

#include <headroom/io/counted/vision_language_towers.hpp>

namespace headroom::io::detail {

inline const json llava_sight = {{"model_type", "clip_vision_model"}, {"intermediate_size", 4096}, {"hidden_size", 1024}, {"patch_size", 14}, {"image_size", 336}, {"num_hidden_layers", 24}};
inline const json video_llava_sight = {{"model_type", "clip_vision_model"}, {"intermediate_size", 4096}, {"hidden_size", 1024}, {"patch_size", 14}, {"image_size", 224}, {"num_hidden_layers", 24}};
inline const json onevision_sight = {{"model_type", "siglip_vision_model"}, {"intermediate_size", 4304}, {"hidden_size", 1152}, {"patch_size", 14}, {"image_size", 384}, {"num_hidden_layers", 26}, {"vision_use_head", false}};
inline const json cohere_sight = {{"model_type", "siglip_vision_model"}, {"intermediate_size", 3072}, {"hidden_size", 1152}, {"image_size", 512}, {"num_hidden_layers", 27}};
inline const json lighton_sight = {{"model_type", "pixtral"}, {"hidden_size", 1024}, {"intermediate_size", 4096}, {"num_hidden_layers", 24}, {"patch_size", 14}, {"image_size", 1540}};
inline const json lighton_text = {{"model_type", "qwen3"}, {"head_dim", 128}, {"hidden_size", 1024}, {"intermediate_size", 3072}, {"num_attention_heads", 16}, {"num_hidden_layers", 28}, {"num_key_value_heads", 8}, {"vocab_size", 151936}};
inline const json mistral3_text = {{"model_type", "mistral"}, {"hidden_size", 5120}, {"num_hidden_layers", 40}, {"intermediate_size", 32768}, {"num_attention_heads", 32}, {"num_key_value_heads", 8}, {"head_dim", 128}, {"vocab_size", 131072}, {"sliding_window", nullptr}};

/// transformers, modeling_llava.py, modeling_llava_next.py, modeling_llava_next_video.py, modeling_llava_onevision.py, modeling_video_llava.py.
struct llava_style {
  const json* sight;
  const char* tower;
  const char* text;
  bool newline;             ///< a vector that ends a row of tiles
  std::int64_t towers{1};   ///< Video-LLaVA has one for images and one for videos
};
inline language count_llava_like(const config& c, tally& t, const llava_style& style) {
  c.ignore({"vocab_size", "use_image_newline_parameter", "image_grid_pinpoints", "video_seq_length", "spatial_pool_mode", "spatial_pool_stride", "vision_aspect_ratio"});
  std::int64_t width = 0;
  for (std::int64_t i = 0; i < style.towers; ++i) width = count_tower(child_or(c, "vision_config", *style.sight), t, style.tower);
  const auto l = count_language(c.child("text_config"), t, style.text);
  count_projector(t, checked::mul(width, feature_layers(c)), l.hidden, c.flag("multimodal_projector_bias", true));
  if (style.newline) t.add(component::other, l.hidden);
  return l;
}
inline language count_llava(const config& c, tally& t) { return count_llava_like(c, t, {&llava_sight, "clip_vision_model", "llama", false}); }
inline language count_llava_next(const config& c, tally& t) { return count_llava_like(c, t, {&llava_sight, "clip_vision_model", "llama", true}); }
inline language count_onevision(const config& c, tally& t) { return count_llava_like(c, t, {&onevision_sight, "siglip_vision_model", "qwen2", true}); }
inline language count_video_llava(const config& c, tally& t) { return count_llava_like(c, t, {&video_llava_sight, "clip_vision_model", "llama", false, 2}); }

/// modeling_vipllava.py: features of several layers, behind a norm.
inline language count_vipllava(const config& c, tally& t) {
  const auto layers = c.find({"vision_feature_layers"}) == nullptr ? 5 : feature_layers(c, "vision_feature_layers");
  const auto width = checked::mul(count_tower(child_or(c, "vision_config", llava_sight), t, "clip_vision_model"), layers);
  const auto l = count_language(c.child("text_config"), t, "llama");
  c.ignore({"projector_layernorm_eps"});
  t.layer_norm(width);
  count_projector(t, width, l.hidden);
  return l;
}

/// modeling_internvl.py: several patches joined to one, a norm, two matrices.
inline language count_internvl_pair(const config& c, tally& t, bool biased, const char* usual) {
  std::int64_t width = 0;
  t.within(component::vision, [&] { width = count_internvl_vision(c.child("vision_config"), t, biased); });
  const auto l = count_language(c.child("text_config"), t, usual);
  const auto side = static_cast<std::int64_t>(1.0 / c.real({"downsample_ratio"}, 0.5, 1e-3, 1.0));
  const auto joined = checked::mul(width, checked::mul(side, side));
  t.layer_norm(joined);
  count_projector(t, joined, l.hidden);
  return l;
}
inline language count_internvl(const config& c, tally& t) { return count_internvl_pair(c, t, false, "qwen2"); }
/// modeling_qianfan_ocr.py: InternVL's modules with other defaults.
inline language count_qianfan(const config& c, tally& t) { return count_internvl_pair(c, t, true, "qwen3"); }

/// modeling_idefics3.py, modeling_smolvlm.py: patches joined, one matrix without a bias.
inline language count_idefics3(const config& c, tally& t) {
  std::int64_t width = 0;
  t.within(component::vision, [&] { width = count_idefics_vision(c.child("vision_config"), t, 1152); });
  if (!c.has("text_config")) complain(c.at("text_config") + " is missing; the class's own default cannot be built");
  const auto l = count_language(c.child("text_config"), t, "llama");
  const auto scale = c.size({"scale_factor"}, 2);
  t.linear(component::projector, checked::mul(width, checked::mul(scale, scale)), l.hidden, false);
  return l;
}

/// modeling_idefics2.py: a gated MLP, and a perceiver of the text's width.
inline language count_idefics2(const config& c, tally& t) {
  std::int64_t width = 0;
  t.within(component::vision, [&] { width = count_idefics_vision(c.child("vision_config"), t, 768); });
  const auto text = c.child("text_config");
  const auto l = count_language(text, t, "mistral");
  const auto walked = walked_inner(text, text.text({"model_type"}, "mistral"));
  if (!walked) complain(text.at("model_type") + " must be a family that is walked");
  const auto p = c.child("perceiver_config");
  p.ignore({"hidden_size"});
  const auto depth = p.number({"resampler_depth"}, 3, 0, config::most), head = p.size({"resampler_head_dim"}, 96);
  const auto wide = checked::mul(p.count({"resampler_n_heads"}, 16), head), narrow = checked::mul(p.count({"num_key_value_heads"}, 4), head), inside = checked::mul(4, l.hidden);
  t.linear(component::projector, width, walked->ffn, false, 2);
  t.linear(component::projector, walked->ffn, l.hidden, false);
  t.add(component::projector, l.hidden, p.size({"resampler_n_latents"}, 64));
  t.linear(component::projector, l.hidden, checked::mul(2, checked::add(wide, narrow)), false, depth);
  t.linear(component::projector, l.hidden, checked::mul(3, inside), false, depth);
  t.rms_norm(l.hidden, checked::add(checked::mul(3, depth), 1));
  return l;
}

/// modeling_aya_vision.py, modeling_cohere2_vision.py: the first matrix has a gate.
inline language count_aya(const config& c, tally& t) {
  const auto width = count_tower(child_or(c, "vision_config", onevision_sight), t, "siglip_vision_model");
  const auto l = count_language(c.child("text_config"), t, "cohere2");
  c.ignore({"adapter_layer_norm_eps"});
  const auto side = c.size({"downsample_factor"}, 2), inside = c.size({"alignment_intermediate_size"}, l.hidden), joined = checked::mul(width, checked::mul(side, side));
  t.layer_norm(joined);
  t.linear(component::projector, joined, inside, true);
  t.linear(component::projector, inside / 2, l.hidden, true);
  return l;
}
inline language count_cohere2_vision(const config& c, tally& t) {
  const auto width = count_tower(child_or(c, "vision_config", cohere_sight), t, "siglip_vision_model");
  const auto l = count_language(c.child("text_config"), t, "cohere2");
  const auto side = c.size({"downsample_factor"}, 2), inside = c.size({"alignment_intermediate_size"}, 36864);
  t.linear(component::projector, checked::mul(width, checked::mul(side, side)), inside, true);
  t.linear(component::projector, inside / 2, l.hidden, true);
  return l;
}

/// What its processor reads of the file, and the network does not.
inline void pass_over_tiles(const config& c) {
  c.ignore({"image_token_id", "image_token_index", "do_image_splitting", "encoder_patch_size", "max_image_tokens", "max_num_patches", "max_pixels_tolerance", "max_tiles", "min_image_tokens", "min_tiles", "tile_size",
            "use_image_special_tokens", "use_thumbnail", "vision_feature_layer"});
}

/// modeling_lfm2_vl.py.
inline language count_lfm2_vl(const config& c, tally& t) {
  pass_over_tiles(c);
  const auto width = count_tower(c.child("vision_config"), t, "siglip2_vision_model");
  const auto l = count_language(c.child("text_config"), t, "lfm2");
  const auto side = c.size({"downsample_factor"}, 2), inside = c.size({"projector_hidden_size"}, 2560), joined = checked::mul(width, checked::mul(side, side));
  const bool bias = c.flag("projector_bias", true);
  if (c.flag("projector_use_layernorm", true)) t.layer_norm(joined);
  t.linear(component::projector, joined, inside, bias);
  t.linear(component::projector, inside, l.hidden, bias);
  return l;
}

/// modeling_mistral3.py, modeling_lighton_ocr.py: a norm, neighbours merged, two matrices.
inline language count_merging(const config& c, tally& t, const json& sight, const json& text, const char* usual, bool bias) {
  const auto width = count_tower(child_or(c, "vision_config", sight), t, "pixtral");
  const auto l = count_language(child_or(c, "text_config", text), t, usual);
  const auto side = c.size({"spatial_merge_size"}, 2);
  t.rms_norm(width);
  t.linear(component::projector, checked::mul(width, checked::mul(side, side)), width, false);
  count_projector(t, checked::mul(width, feature_layers(c)), l.hidden, bias);
  return l;
}
inline language count_mistral3(const config& c, tally& t) { return count_merging(c, t, lighton_sight, mistral3_text, "mistral", c.flag("multimodal_projector_bias", false)); }
inline language count_lighton(const config& c, tally& t) { return count_merging(c, t, lighton_sight, lighton_text, "qwen3", false); }

/// modeling_deepseek_vl.py.
inline language count_deepseek_vl(const config& c, tally& t) {
  const auto width = count_tower(c.child("vision_config"), t, "siglip_vision_model");
  const auto l = count_language(c.child("text_config"), t, "llama");
  count_projector(t, width, l.hidden);
  return l;
}

inline constexpr counted_class counted_vision_language[] = {
    {"LlavaModel", "llava", count_bare<count_llava>},
    {"LlavaForConditionalGeneration", "llava", [](const config& c, tally& t) {
       if (c.flag("tie_word_embeddings", false) && !c.child("text_config").has("tie_word_embeddings"))
         complain(c.at("text_config.tie_word_embeddings") + " must be stated, too: releases of transformers read either; found nothing there and true at " + c.at("tie_word_embeddings"));
       count_speaking<count_llava, false, true>(c, t);
     }},
    {"LlavaNextModel", "llava_next", count_bare<count_llava_next>},
    {"LlavaNextForConditionalGeneration", "llava_next", count_speaking<count_llava_next, false>},
    {"LlavaNextVideoModel", "llava_next_video", count_bare<count_llava_next>},
    {"LlavaNextVideoForConditionalGeneration", "llava_next_video", count_speaking<count_llava_next, false, true>},
    {"LlavaOnevisionModel", "llava_onevision", count_bare<count_onevision>},
    {"LlavaOnevisionForConditionalGeneration", "llava_onevision", count_speaking<count_onevision, false, true>},
    {"VideoLlavaModel", "video_llava", count_bare<count_video_llava>},
    {"VideoLlavaForConditionalGeneration", "video_llava", count_speaking<count_video_llava, false>},
    {"VipLlavaModel", "vipllava", count_bare<count_vipllava>},
    {"VipLlavaForConditionalGeneration", "vipllava", count_speaking<count_vipllava, false>},
    {"InternVLModel", "internvl", count_bare<count_internvl>},
    {"InternVLForConditionalGeneration", "internvl", count_speaking<count_internvl, true>},
    {"QianfanOCRVisionModel", "qianfan_ocr_vision", [](const config& c, tally& t) { count_internvl_vision(c, t, true); }},
    {"QianfanOCRModel", "qianfan_ocr", count_bare<count_qianfan>},
    {"QianfanOCRForConditionalGeneration", "qianfan_ocr", count_speaking<count_qianfan, false>},
    {"Idefics2Model", "idefics2", count_bare<count_idefics2>},
    {"Idefics2ForConditionalGeneration", "idefics2", count_speaking<count_idefics2, false>},
    {"Idefics3Model", "idefics3", count_bare<count_idefics3>},
    {"Idefics3ForConditionalGeneration", "idefics3", count_speaking<count_idefics3, false>},
    {"SmolVLMModel", "smolvlm", count_bare<count_idefics3>},
    {"SmolVLMForConditionalGeneration", "smolvlm", count_speaking<count_idefics3, false>},
    {"AyaVisionModel", "aya_vision", count_bare<count_aya>},
    {"AyaVisionForConditionalGeneration", "aya_vision", count_speaking<count_aya, true>},
    {"Cohere2VisionModel", "cohere2_vision", count_bare<count_cohere2_vision>},
    {"Cohere2VisionForConditionalGeneration", "cohere2_vision", count_speaking<count_cohere2_vision, true>},
    {"Lfm2VlModel", "lfm2_vl", count_bare<count_lfm2_vl>},
    {"Lfm2VlForConditionalGeneration", "lfm2_vl", count_speaking<count_lfm2_vl, true>},
    {"Mistral3Model", "mistral3", count_bare<count_mistral3>},
    {"Mistral3ForConditionalGeneration", "mistral3", count_speaking<count_mistral3, true>},
    {"LightOnOcrModel", "lighton_ocr", count_bare<count_lighton>},
    {"LightOnOcrForConditionalGeneration", "lighton_ocr", count_speaking<count_lighton, true>},
    {"DeepseekVLModel", "deepseek_vl", count_bare<count_deepseek_vl>},
    {"DeepseekVLForConditionalGeneration", "deepseek_vl", count_speaking<count_deepseek_vl, true>},
};

}  // namespace headroom::io::detail
