// Distributed under the Boost Software License, Version 1.0.
// Families whose tower is their own: Qwen-VL, GLM-V, ERNIE-VL, Kimi, EXAONE and others.
#pragma once

#include <headroom/io/counted/language.hpp>
#include <headroom/io/counted/vision_language_towers.hpp>

namespace headroom::io::detail {

/// transformers, modeling_glm4v.py, modeling_glm_ocr.py, modeling_glm_image.py: four norms in a layer, no biases but those of queries, keys and values.
struct glm_text_style {
  language_sizes sizes;
  int bias;  ///< 1: always, 0: never, -1: as attention_bias says
};
inline language count_glm_text(const config& c, tally& t, const glm_text_style& d) {
  const auto s = read_language(c, d.sizes);
  c.ignore({"attention_bias"});
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, d.bias < 0 ? c.flag("attention_bias", true) : d.bias == 1, false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(4, s.layers), 1));
  return {s.hidden, s.vocab, c.flag("tie_word_embeddings", false)};
}
inline constexpr glm_text_style glm4v_text{{40, 4096, 32, 2, 0, 13696, 151552}, 1};
inline constexpr glm_text_style glm_ocr_text{{16, 1024, 16, 8, 0, 4096, 59392}, 0};
inline constexpr glm_text_style glm_image_text{{40, 4096, 32, 2, 0, 13696, 168064}, -1};

/// modeling_glm4v_moe.py, Glm4vMoeTextModel.
inline language count_glm4v_moe_text(const config& c, tally& t) {
  const auto s = read_language(c, {46, 4096, 96, 8, 0, 10944, 151424});
  c.ignore({"n_group", "topk_group"});
  const auto sparse = read_sparse_layers(c, s.layers, c.number({"first_k_dense_replace"}, 1, 0, config::most));
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, c.flag("attention_bias", true), false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers - sparse);
  routed_sizes e{c.count({"n_routed_experts"}, 128), c.count({"num_experts_per_tok"}, 8), c.size({"moe_intermediate_size"}, 1408)};
  e.shared = checked::mul(e.ffn, c.number({"n_shared_experts"}, 1, 0, config::most));
  count_routed(t, s.hidden, e, sparse);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return {s.hidden, s.vocab, c.flag("tie_word_embeddings", false)};
}

/// A tower of the family's own, whose merger is the projector, and a language model.
template <const char* const* Text, void (*Tower)(const config&, tally&), std::int64_t Hidden = 0, std::int64_t Vocab = 0>
inline language count_merged(const config& c, tally& t) {
  const auto sight = c.child("vision_config");
  if (const auto type = sight.text({"model_type"}, ""); tower_width_of(type) != 0) complain(sight.at("model_type") + " must be the family's own tower, found " + quoted_word(type));
  t.within(component::vision, [&] { Tower(sight, t); });
  return count_language(c.child("text_config"), t, *Text, {Hidden, Vocab, false});
}
inline constexpr const char* qwen2_vl_text = "qwen2_vl_text";
inline constexpr const char* qwen2_5_vl_text = "qwen2_5_vl_text";
inline constexpr const char* qwen3_vl_text = "qwen3_vl_text";
inline constexpr const char* qwen3_vl_moe_text = "qwen3_vl_moe_text";
inline constexpr const char* qwen3_5_text = "qwen3_5_text";
inline constexpr const char* qwen3_5_moe_text = "qwen3_5_moe_text";
inline constexpr const char* glm4v_name = "glm4v_text";
inline constexpr const char* glm4v_moe_name = "glm4v_moe_text";
inline constexpr const char* glm_ocr_name = "glm_ocr_text";
inline constexpr const char* exaone_name = "exaone4";
inline void count_deep_vision(const config& c, tally& t) { count_qwen3_vision(c, t, 3); }
inline void count_flat_vision(const config& c, tally& t) { count_qwen3_vision(c, t, 0); }

/// modeling_exaone4_5.py: Qwen2.5-VL's tower with fewer keys and values than queries.
inline void count_exaone_vision(const config& c, tally& t) {
  const auto q = read_qwen_sight(c, t, 32, 3584, 3420, 14, false);
  const auto heads = c.count({"num_heads", "num_attention_heads"}, 16), kv = c.count({"num_key_value_heads"}, 8), width = q.hidden / heads;
  t.linear(component::attention, q.hidden, checked::mul(checked::add(heads, checked::mul(2, kv)), width), true, q.depth);
  t.linear(component::attention, q.hidden, q.hidden, true, q.depth);
  count_gated_mlp(t, component::mlp, q.hidden, q.ffn, true, q.depth);
  t.rms_norm(q.hidden, checked::add(checked::mul(2, q.depth), 1));
  count_mlp(t, q.merged, q.merged, c.size({"out_hidden_size"}, 3584));
}

/// modeling_glm_image.py: a tower, a code book, and a head over the image's own vocabulary.
inline void count_glm_image_vision(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"spatial_merge_size"});
  const auto hidden = c.size({"hidden_size"}, 1536), patch = c.size({"patch_size"}, 16), side = c.size({"image_size"}, 2048) / patch;
  t.linear(component::embedding, checked::mul(c.size({"in_channels"}, 3), checked::mul(patch, patch)), hidden, true);
  t.add(component::embedding, hidden, checked::mul(side, side));
  const bool bias = c.flag("attention_bias", true);
  count_layers({.layers = c.number({"depth"}, 40, 0, config::most), .hidden = hidden, .ffn = c.size({"intermediate_size"}, 6144), .bias = bias, .key_bias = bias, .out_bias = bias}, t);
}
inline void count_glm_image_codes(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"in_channels"});
  const auto width = c.size({"embed_dim"}, 2048), latent = c.size({"latent_channels"}, 1536);
  t.add(component::vision, width, c.size({"num_embeddings"}, 16384));
  t.linear(component::vision, latent, width, true);
  t.linear(component::vision, width, latent, true);
}
inline language count_glm_image(const config& c, tally& t) {
  c.ignore({"image_start_token_id", "image_end_token_id"});
  t.within(component::vision, [&] {
    count_glm_image_vision(c.child("vision_config"), t);
    count_glm_image_codes(c.child("vq_config"), t);
  });
  const auto text = c.child("text_config");
  auto l = count_glm_text(text, t, glm_image_text);
  l.vocab = text.size({"vision_vocab_size"}, 16512);
  return l;
}
inline void count_glm_image_speaking(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"tie_word_embeddings"});
  const auto l = count_glm_image(c, t);
  t.linear(component::head, l.hidden, l.vocab, false);
}

/// modeling_ernie4_5_vl_moe.py: experts for words and experts for patches, of two widths, and a resampler.
inline language count_ernie_vl_text(const config& c, tally& t) {
  const auto s = read_language(c, {28, 2560, 20, 4, 0, 12288, 103424});
  const bool bias = c.flag("use_bias", false);
  c.ignore({"moe_norm_min"});
  const auto sparse = read_sparse_layers(c, s.layers, 1), experts = c.count({"moe_num_experts"}, 64), active = c.count({"moe_k"}, 6);
  const json* given = c.find({"moe_intermediate_size"});
  const auto widths = given != nullptr && given->is_null() ? std::vector<std::int64_t>{1536, 512} : list_of(c, "moe_intermediate_size", {1536, 512});
  if (widths.size() != 2) complain(c.at("moe_intermediate_size") + " must be a list of two whole numbers, found " + shown(*given));
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, bias, bias, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, bias, s.layers - sparse);
  for (const auto width : widths) {
    t.linear(component::router, s.hidden, experts, false, sparse);
    t.frozen(component::router, checked::mul(experts, sparse));
    t.experts(checked::mul(checked::mul(3, s.hidden), width), experts, active, sparse);
  }
  const auto shared = checked::mul(widths[0], c.number({"moe_num_shared_experts"}, 2, 0, config::most));
  if (shared > 0) count_gated_mlp(t, component::shared_experts, s.hidden, shared, bias, sparse);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return {s.hidden, s.vocab, c.flag("tie_word_embeddings", true)};
}
inline void count_ernie_vl_vision(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"spatial_merge_size", "temporal_merge_size"});
  const auto hidden = c.size({"hidden_size"}, 1280), patch = c.size({"patch_size"}, 14);
  t.linear(component::embedding, checked::mul(c.size({"in_channels"}, 3), checked::mul(patch, patch)), hidden, false);
  count_layers({.layers = c.number({"depth"}, 32, 0, config::most), .hidden = hidden, .ffn = c.size({"intermediate_size"}, 5120)}, t);
  t.layer_norm(hidden);
}
inline language count_ernie_vl(const config& c, tally& t) {
  c.ignore({"image_start_token_id", "image_end_token_id", "video_start_token_id", "video_end_token_id"});
  const auto sight = c.child("vision_config");
  t.within(component::vision, [&] { count_ernie_vl_vision(sight, t); });
  const auto l = count_ernie_vl_text(c.child("text_config"), t);
  const auto side = sight.size({"spatial_merge_size"}, 2), frames = sight.size({"temporal_merge_size"}, 2), wide = checked::mul(sight.size({"hidden_size"}, 1280), checked::mul(side, side));
  t.within(component::projector, [&] {
    count_mlp(t, wide, wide, wide);
    count_mlp(t, checked::mul(wide, frames), wide, wide);
    t.layer_norm(wide, 2);
    t.linear(component::projector, wide, l.hidden, true);
    t.rms_norm(l.hidden);
  });
  return l;
}

/// modeling_paddleocr_vl.py.
inline void count_paddle_vision(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {1152, 4304, 27, 14, 384});
  c.ignore({"spatial_merge_size"});
  count_patches(s, t);
  t.add(component::embedding, s.hidden, s.patches);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn}, t);
  t.layer_norm(s.hidden);
}
inline language count_paddle_text(const config& c, tally& t) {
  const auto s = read_language(c, {18, 1024, 16, 2, 128, 3072, 103424});
  const bool bias = c.flag("use_bias", false);
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, bias, bias, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, bias, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return {s.hidden, s.vocab, c.flag("tie_word_embeddings", true)};
}
inline language count_paddle(const config& c, tally& t) {
  const auto sight = c.child("vision_config");
  t.within(component::vision, [&] { count_paddle_vision(sight, t); });
  const auto l = count_paddle_text(c.child("text_config"), t);
  const auto hidden = sight.size({"hidden_size"}, 1152), side = sight.size({"spatial_merge_size"}, 2), wide = checked::mul(hidden, checked::mul(side, side));
  t.layer_norm(hidden);
  t.linear(component::projector, wide, wide, true);
  t.linear(component::projector, wide, l.hidden, true);
  return l;
}

/// modeling_kimi_k25.py: DeepSeek-V3 behind a tower whose positions are a plane. The second names are of the code beside the checkpoints
/// (configuration_kimi_k25.py of moonshotai/Kimi-K2.5), whose classes transformers' were made of.
inline void count_kimi_vision(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"pos_emb_time", "merge_kernel_size", "max_position_embeddings", "init_pos_emb_time", "pos_emb_type", "merge_type", "video_attn_type", "vt_num_attention_heads", "projector_ln_eps", "text_hidden_size", "mm_hidden_size"});
  if (const json* joins = c.find({"mm_projector_type"}); joins != nullptr && *joins != "patchmerger") complain(c.at("mm_projector_type") + " must be \"patchmerger\", found " + shown(*joins));
  const auto hidden = c.size({"hidden_size", "vt_hidden_size"}, 1152), patch = c.size({"patch_size"}, 14);
  t.linear(component::embedding, checked::mul(3, checked::mul(patch, patch)), hidden, true);
  t.add(component::embedding, hidden, checked::mul(c.size({"pos_emb_height", "init_pos_emb_height"}, 64), c.size({"pos_emb_width", "init_pos_emb_width"}, 64)));
  count_layers({.layers = c.number({"num_hidden_layers", "vt_num_hidden_layers"}, 27, 0, config::most), .hidden = hidden, .ffn = c.size({"intermediate_size", "vt_intermediate_size"}, 4304)}, t);
  t.layer_norm(hidden);
}
inline language count_kimi(const config& c, tally& t) {
  const auto sight = c.child("vision_config");
  t.within(component::vision, [&] { count_kimi_vision(sight, t); });
  auto text = c.child("text_config").object();
  if (text.contains("model_type") && text["model_type"] == "kimi_k2") text["model_type"] = "deepseek_v3";
  const auto l = count_language(config{text, c.at("text_config"), c.asked()}, t, "deepseek_v3");
  c.ignore({"projection_ln_eps", "projection_layer_norm_eps", "use_unified_vision_chunk", "video_placeholder"});
  const auto own = sight.size({"hidden_size", "vt_hidden_size"}, 1152);
  const auto in = c.size({"projection_hidden_size"}, sight.size({"mm_hidden_size"}, 1152)), wide = checked::mul(own, area(places_of(sight, "merge_kernel_size", 2)));
  t.layer_norm(in);
  t.linear(component::projector, wide, wide, true);
  t.linear(component::projector, wide, l.hidden, true);
  return l;
}

/// moonshotai/Kimi-VL-A3B-Instruct's modeling_kimi_vl.py: KimiVLMultiModalProjector and MoonViT are what Kimi K2.5's were made of; DeepSeek-V3 has its routers' corrections as parameters.
inline language count_kimi_vl(const config& c, tally& t) {
  const auto sight = c.child("vision_config"), text = c.child("text_config");
  if (const auto type = sight.text({"model_type"}, "moonvit"); type != "moonvit") complain(sight.at("model_type") + " must be moonvit, found " + quoted_word(type));
  if (const auto type = text.text({"model_type"}, "deepseek_v3"); type != "deepseek_v3") complain(text.at("model_type") + " must be deepseek_v3, found " + quoted_word(type));
  for (const char* key : {"hidden_size", "num_hidden_layers", "intermediate_size", "vocab_size", "n_routed_experts", "first_k_dense_replace", "moe_intermediate_size", "kv_lora_rank", "q_lora_rank", "n_shared_experts"})
    if (!text.has(key) && std::string_view{key} != "q_lora_rank") complain(text.at(key) + " is missing; this family has no default for it");
  c.ignore({"vocab_size"});
  const auto l = count_kimi(c, t);
  const auto layers = text.count({"num_hidden_layers"}, 0), dense = text.number({"first_k_dense_replace"}, 0, 0, config::most);
  if (text.text({"topk_method"}, "noaux_tc") == "noaux_tc") t.add(component::router, text.number({"n_routed_experts"}, 0, 0, config::most), layers > dense ? layers - dense : 0);
  return l;
}

/// modeling_video_llama_3.py: no learned positions.
inline void count_video_llama3_vision(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {768, 3072, 12, 16, 224});
  count_patches(s, t);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn}, t);
  t.layer_norm(s.hidden);
}
inline language count_video_llama3(const config& c, tally& t) {
  const auto sight = c.child("vision_config");
  t.within(component::vision, [&] { count_video_llama3_vision(sight, t); });
  const auto l = count_language(c.child("text_config"), t, "qwen2");
  count_projector(t, sight.size({"hidden_size"}, 768), l.hidden);
  return l;
}

inline constexpr counted_class counted_vision_language_families[] = {
    {"Qwen2VLModel", "qwen2_vl", count_bare<count_merged<&qwen2_vl_text, count_qwen2_vision>>},
    {"Qwen2_5_VLModel", "qwen2_5_vl", count_bare<count_merged<&qwen2_5_vl_text, count_qwen2_5_vision>>},
    {"Qwen3VLModel", "qwen3_vl", count_bare<count_merged<&qwen3_vl_text, count_deep_vision>>},
    {"Qwen3VLMoeModel", "qwen3_vl_moe", count_bare<count_merged<&qwen3_vl_moe_text, count_deep_vision>>},
    {"Qwen3_5Model", "qwen3_5", count_bare<count_merged<&qwen3_5_text, count_flat_vision>>},
    {"Qwen3_5MoeModel", "qwen3_5_moe", count_bare<count_merged<&qwen3_5_moe_text, count_flat_vision>>},
    {"Qwen2VLTextModel", "qwen2_vl_text", [](const config& c, tally& t) { t.model(count(*walked_inner(c, "qwen2_vl_text"))); }},
    {"Qwen2_5_VLTextModel", "qwen2_5_vl_text", [](const config& c, tally& t) { t.model(count(*walked_inner(c, "qwen2_5_vl_text"))); }},
    {"Qwen3VLTextModel", "qwen3_vl_text", [](const config& c, tally& t) { t.model(count(*walked_inner(c, "qwen3_vl_text"))); }},
    {"Qwen3VLMoeTextModel", "qwen3_vl_moe_text", [](const config& c, tally& t) { t.model(count(*walked_inner(c, "qwen3_vl_moe_text"))); }},
    {"Exaone4_5_VisionModel", "exaone4_5_vision", count_exaone_vision},
    {"Exaone4_5_Model", "exaone4_5", count_bare<count_merged<&exaone_name, count_exaone_vision>>},
    {"Exaone4_5_ForConditionalGeneration", "exaone4_5", count_speaking<count_merged<&exaone_name, count_exaone_vision>, false>},
    {"Glm4vTextModel", "glm4v_text", [](const config& c, tally& t) { count_glm_text(c, t, glm4v_text); }},
    {"Glm4vModel", "glm4v", count_bare<count_merged<&glm4v_name, count_glm4v_vision, 4096, 151552>>},
    {"Glm4vForConditionalGeneration", "glm4v", count_speaking<count_merged<&glm4v_name, count_glm4v_vision, 4096, 151552>, false, true>},
    {"Glm46VModel", "glm46v", count_bare<count_merged<&glm4v_name, count_glm4v_vision, 4096, 151552>>},
    {"Glm46VForConditionalGeneration", "glm46v", count_speaking<count_merged<&glm4v_name, count_glm4v_vision, 4096, 151552>, false>},
    {"Glm46VForConditionalGeneration", "glmga", count_speaking<count_merged<&glm4v_name, count_glm4v_vision, 4096, 151552>, false>},
    {"Glm4vMoeTextModel", "glm4v_moe_text", [](const config& c, tally& t) { count_glm4v_moe_text(c, t); }},
    {"Glm4vMoeModel", "glm4v_moe", count_bare<count_merged<&glm4v_moe_name, count_glm4v_vision, 4096, 151424>>},
    {"Glm4vMoeForConditionalGeneration", "glm4v_moe", count_speaking<count_merged<&glm4v_moe_name, count_glm4v_vision, 4096, 151424>, false, true>},
    {"GlmOcrTextModel", "glm_ocr_text", [](const config& c, tally& t) { count_glm_text(c, t, glm_ocr_text); }},
    {"GlmOcrModel", "glm_ocr", count_bare<count_merged<&glm_ocr_name, count_glm_ocr_vision, 1024, 59392>>},
    {"GlmOcrForConditionalGeneration", "glm_ocr", count_speaking<count_merged<&glm_ocr_name, count_glm_ocr_vision, 1024, 59392>, false, true>},
    {"GlmImageTextModel", "glm_image_text", [](const config& c, tally& t) { c.ignore({"vision_vocab_size"}); count_glm_text(c, t, glm_image_text); }},
    {"GlmImageVisionModel", "glm_image_vision", count_glm_image_vision},
    {"GlmImageVQVAE", "glm_image_vqmodel", count_glm_image_codes},
    {"GlmImageModel", "glm_image", count_bare<count_glm_image>},
    {"GlmImageForConditionalGeneration", "glm_image", count_glm_image_speaking},
    {"Ernie4_5_VLMoeTextModel", "ernie4_5_vl_moe_text", [](const config& c, tally& t) { count_ernie_vl_text(c, t); }},
    {"Ernie4_5_VLMoeModel", "ernie4_5_vl_moe", count_bare<count_ernie_vl>},
    {"Ernie4_5_VLMoeForConditionalGeneration", "ernie4_5_vl_moe", count_speaking<count_ernie_vl, true>},
    {"Ernie4_5_VL_MoeTextModel", "ernie4_5_vl_moe_text", [](const config& c, tally& t) { count_ernie_vl_text(c, t); }},  // the names of earlier releases
    {"Ernie4_5_VL_MoeModel", "ernie4_5_vl_moe", count_bare<count_ernie_vl>},
    {"Ernie4_5_VL_MoeForConditionalGeneration", "ernie4_5_vl_moe", count_speaking<count_ernie_vl, true>},
    {"PaddleOCRVisionModel", "paddleocr_vl_vision", count_paddle_vision},
    {"PaddleOCRVisionTransformer", "paddleocr_vl_vision", count_paddle_vision},
    {"PaddleOCRTextModel", "paddleocr_vl_text", [](const config& c, tally& t) { count_paddle_text(c, t), ignore_labels(c); }},
    {"PaddleOCRVLModel", "paddleocr_vl", count_bare<count_paddle>},
    {"PaddleOCRVLForConditionalGeneration", "paddleocr_vl", count_speaking<count_paddle, true, true>},
    {"KimiVLForConditionalGeneration", "kimi_vl", count_speaking<count_kimi_vl, false>},
    {"Kimi_K25VisionModel", "kimi_k25_vision", count_kimi_vision},
    {"Kimi_K25Model", "kimi_k25", count_bare<count_kimi>},
    {"Kimi_K25ForConditionalGeneration", "kimi_k25", count_speaking<count_kimi, true>},
    {"KimiK25ForConditionalGeneration", "kimi_k25", count_speaking<count_kimi, true>},  // as moonshotai/Kimi-K2.5's own code is called
    {"VideoLlama3VisionModel", "video_llama_3_vision", count_video_llama3_vision},
    {"VideoLlama3Model", "video_llama_3", count_bare<count_video_llama3>},
    {"VideoLlama3ForConditionalGeneration", "video_llama_3", count_speaking<count_video_llama3, false, true>},
};

}  // namespace headroom::io::detail
