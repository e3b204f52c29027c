// Distributed under the Boost Software License, Version 1.0.
// Pairs of towers, one that reads and one that sees, and each of them alone: CLIP, SigLIP and their kin.
#pragma once

#include <headroom/io/counted/vision_blocks.hpp>

namespace headroom::io::detail {

struct text_usual {
  std::int64_t vocab, hidden, ffn, layers, positions;
};
inline constexpr text_usual clip_text{49408, 512, 2048, 12, 77};
inline constexpr text_usual siglip_text{32000, 768, 3072, 12, 64};
inline constexpr text_usual owl_text{49408, 512, 2048, 12, 16};
inline constexpr tower_usual clip_sight{768, 3072, 12, 32, 224};
inline constexpr tower_usual siglip_sight{768, 3072, 12, 16, 224};
inline constexpr tower_usual owl_sight{768, 3072, 12, 32, 768};

/// transformers, modeling_clip.py, CLIPTextModel: tokens and positions, layers, a norm. Returns its width.
inline std::int64_t count_clip_text(const config& c, tally& t, const text_usual& d) {
  pass_over_vision(c);
  c.ignore({"projection_dim", "k"});
  const auto hidden = c.size({"hidden_size"}, d.hidden);
  t.embedding(c.size({"vocab_size"}, d.vocab), hidden);
  t.embedding(c.size({"max_position_embeddings"}, d.positions), hidden);
  count_layers({.layers = c.number({"num_hidden_layers"}, d.layers, 0, config::most), .hidden = hidden, .ffn = c.size({"intermediate_size"}, d.ffn)}, t);
  t.layer_norm(hidden);
  return hidden;
}
/// modeling_siglip.py, SiglipTextModel: a matrix over the last position.
inline void count_siglip_text(const config& c, tally& t) {
  const auto hidden = count_clip_text(c, t, siglip_text);
  t.linear(component::head, hidden, c.nullable({"projection_size"}, hidden, hidden), true);
}
/// CLIPVisionModel: patches without a bias, [CLS], norms before and behind.
inline std::int64_t count_clip_vision(const config& c, tally& t, const tower_usual& d) {
  const auto s = read_tower_sizes(c, d);
  c.ignore({"projection_dim", "vocab_size"});
  t.add(component::embedding, s.hidden, checked::add(s.patches, 2));
  count_patches(s, t, false);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn}, t);
  t.layer_norm(s.hidden, 2);
  return s.hidden;
}
/// Attention of one learned query over all positions, and an MLP.
inline void count_attention_pool(tally& t, std::int64_t hidden, std::int64_t ffn) {
  t.add(component::head, hidden);
  count_attention(t, hidden);
  t.layer_norm(hidden);
  count_mlp(t, hidden, ffn, hidden);
}
/// SiglipVisionModel, Siglip2VisionModel: the second takes patches of any image as vectors.
inline std::int64_t count_siglip_vision(const config& c, tally& t, bool second) {
  auto s = read_tower_sizes(c, siglip_sight);
  c.ignore({"projection_dim", "vocab_size"});
  if (second) s.patches = c.size({"num_patches"}, 256);
  count_patches(s, t);
  t.add(component::embedding, s.hidden, s.patches);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn}, t);
  t.layer_norm(s.hidden);
  if (c.flag("vision_use_head", true)) count_attention_pool(t, s.hidden, s.ffn);
  return s.hidden;
}
inline void count_siglip(const config& c, tally& t, bool second) {
  pass_over_vision(c);
  count_siglip_text(c.child("text_config"), t);
  t.within(component::vision, [&] { count_siglip_vision(c.child("vision_config"), t, second); });
  t.add(component::other, 2);
}

/// CLIPModel and those built as it is: a matrix behind each tower, and a temperature.
inline void count_clip(const config& c, tally& t, const text_usual& text, const tower_usual& sight, std::int64_t projection = 512) {
  pass_over_vision(c);
  const auto out = c.size({"projection_dim"}, projection);
  t.linear(component::projector, count_clip_text(c.child("text_config"), t, text), out, false);
  t.within(component::vision, [&] { t.linear(component::projector, count_clip_vision(c.child("vision_config"), t, sight), out, false); });
  t.add(component::other, 1);
}

/// The tower that sees of a pair, where a class leaves the other away.
inline config sight_alone(const config& c) {
  pass_over_vision(c);
  c.ignore({"projection_dim"});
  ask_all(c.child("text_config"));
  return c.child("vision_config");
}

/// An encoder of text as BERT has it, with or without a pooler. Returns its width.
inline std::int64_t count_bert_text(const config& c, tally& t, const text_usual& d, std::int64_t types, bool pooler) {
  pass_over_vision(c);
  c.ignore({"position_embedding_type", "project_dim", "pooler_fn", "qkv_bias"});
  const auto hidden = c.size({"hidden_size"}, d.hidden);
  t.embedding(c.size({"vocab_size"}, d.vocab), hidden);
  t.embedding(c.size({"max_position_embeddings"}, d.positions), hidden);
  t.embedding(c.size({"type_vocab_size"}, types), hidden);
  t.layer_norm(hidden);
  count_encoder({c.number({"num_hidden_layers"}, d.layers, 0, config::most), hidden, c.size({"intermediate_size"}, d.ffn)}, t);
  if (pooler) t.linear(component::head, hidden, hidden, true);
  return hidden;
}
inline constexpr text_usual bert_text{30522, 768, 3072, 12, 512};
inline constexpr text_usual alt_text{250002, 1024, 4096, 24, 514};

/// modeling_chinese_clip.py, ChineseCLIPModel: BERT without a pooler beside CLIP's vision tower.
inline void count_chinese_clip(const config& c, tally& t) {
  pass_over_vision(c);
  const auto out = c.size({"projection_dim"}, 512);
  t.linear(component::projector, count_bert_text(c.child("text_config"), t, bert_text, 2, false), out, false);
  t.within(component::vision, [&] { t.linear(component::projector, count_clip_vision(c.child("vision_config"), t, clip_sight), out, false); });
  t.add(component::other, 1);
}
/// modeling_altclip.py, AltCLIPTextModel: XLM-RoBERTa, a norm and a matrix. Returns the width behind it.
inline std::int64_t count_alt_text(const config& c, tally& t) {
  const auto hidden = count_bert_text(c, t, alt_text, 1, false), out = c.size({"project_dim"}, 768);
  t.linear(component::projector, hidden, out, true);
  t.layer_norm(hidden);
  return out;
}
inline void count_altclip(const config& c, tally& t) {
  pass_over_vision(c);
  const auto out = c.size({"projection_dim"}, 768);
  t.linear(component::projector, count_alt_text(c.child("text_config"), t), out, false);
  t.within(component::vision, [&] { t.linear(component::projector, count_clip_vision(c.child("vision_config"), t, clip_sight), out, false); });
  t.add(component::other, 1);
}

/// modeling_clipseg.py, CLIPSegForImageSegmentation: CLIP and a decoder over some of its layers.
inline void count_clipseg(const config& c, tally& t) {
  count_clip(c, t, clip_text, clip_sight);
  c.ignore({"decoder_num_attention_heads", "conditional_layer", "decoder_hidden_act", "decoder_attention_dropout", "use_complex_transposed_convolution"});
  const auto sight = c.child("vision_config");
  const auto narrow = c.size({"reduce_dim"}, 64), patch = sight.size({"patch_size"}, 32);
  const auto layers = static_cast<std::int64_t>(list_of(c, "extract_layers", {3, 6, 9}, -1000).size());
  t.linear(component::head, c.size({"projection_dim"}, 512), narrow, true, 2);
  t.linear(component::head, sight.size({"hidden_size"}, 768), narrow, true, layers);
  count_layers({.layers = layers, .hidden = narrow, .ffn = c.size({"decoder_intermediate_size"}, 2048)}, t);
  if (!c.flag("use_complex_transposed_convolution", false)) {
    t.linear(component::head, checked::mul(narrow, checked::mul(patch, patch)), 1, true);
    return;
  }
  const auto window = patch / 4;
  count_conv(t, narrow, narrow, 3, true);
  t.linear(component::head, checked::mul(narrow, checked::mul(window, window)), narrow / 2, true);
  t.linear(component::head, checked::mul(narrow / 2, checked::mul(window, window)), 1, true);
}

/// modeling_owlvit.py, modeling_owlv2.py: detection over CLIP's patches; the second also says whether there is an object.
inline void count_owl_detection(const config& c, tally& t, const tower_usual& sight, bool second) {
  count_clip(c, t, owl_text, sight);
  const auto hidden = c.child("vision_config").size({"hidden_size"}, sight.hidden), query = c.child("text_config").size({"hidden_size"}, owl_text.hidden);
  t.linear(component::head, hidden, query, true);
  t.linear(component::head, hidden, 1, true, 2);
  for (const std::int64_t out : {std::int64_t{4}, std::int64_t{1}}) {
    if (out == 1 && !second) break;
    t.linear(component::head, hidden, hidden, true, 2);
    t.linear(component::head, hidden, out, true);
  }
  t.layer_norm(hidden);
}
inline constexpr tower_usual owl2_sight{768, 3072, 12, 16, 768};

/// modeling_aimv2.py: RMSNorm and gated MLPs. Without `use_head` there is no attention over the patches at the end.
inline std::int64_t count_aimv2_vision(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {1024, 2816, 24, 14, 224});
  count_patches(s, t);
  t.rms_norm(s.hidden, 2);
  if (!c.flag("is_native", false)) t.add(component::embedding, s.hidden, s.patches);
  const bool bias = c.flag("qkv_bias", false), mlp = c.flag("mlp_bias", false);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias, .out_bias = bias, .mlp_bias = mlp, .gated = true, .rms = true}, t);
  if (c.flag("use_head", true)) {
    t.add(component::head, s.hidden);
    t.linear(component::attention, s.hidden, s.hidden, bias, 2);
    t.linear(component::attention, s.hidden, s.hidden, true);
  }
  return s.hidden;
}
inline std::int64_t count_aimv2_text(const config& c, tally& t) {
  pass_over_vision(c);
  const auto hidden = c.size({"hidden_size"}, 768);
  t.embedding(c.size({"vocab_size"}, 49408), hidden);
  t.embedding(c.size({"max_position_embeddings"}, 77), hidden);
  const bool bias = c.flag("qkv_bias", false), mlp = c.flag("mlp_bias", false);
  count_layers({.layers = c.number({"num_hidden_layers"}, 12, 0, config::most), .hidden = hidden, .ffn = c.size({"intermediate_size"}, 2048), .bias = bias, .key_bias = bias, .out_bias = bias, .mlp_bias = mlp, .gated = true, .rms = true}, t);
  t.rms_norm(hidden);
  return hidden;
}
inline void count_aimv2(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"max_logit_scale"});
  const auto out = c.size({"projection_dim"}, 512);
  t.linear(component::projector, count_aimv2_text(c.child("text_config"), t), out, false);
  t.within(component::vision, [&] { t.linear(component::projector, count_aimv2_vision(c.child("vision_config"), t), out, false); });
  t.add(component::other, 1);
}

inline constexpr counted_class counted_contrastive[] = {
    {"CLIPModel", "clip", [](const config& c, tally& t) { count_clip(c, t, clip_text, clip_sight); }},
    {"CLIPForImageClassification", "clip", [](const config& c, tally& t) { count_classifier(c, t, count_clip_vision(sight_alone(c), t, clip_sight)); }},
    {"CLIPTextModel", "clip_text_model", [](const config& c, tally& t) { count_clip_text(c, t, clip_text); }},
    {"CLIPTextModelWithProjection", "clip_text_model", [](const config& c, tally& t) { t.linear(component::projector, count_clip_text(c, t, clip_text), c.size({"projection_dim"}, 512), false); }},
    {"CLIPVisionModel", "clip_vision_model", [](const config& c, tally& t) { count_clip_vision(c, t, clip_sight); }},
    {"CLIPVisionModelWithProjection", "clip_vision_model", [](const config& c, tally& t) { t.linear(component::projector, count_clip_vision(c, t, clip_sight), c.size({"projection_dim"}, 512), false); }},
    {"MetaClip2Model", "metaclip_2", [](const config& c, tally& t) { count_clip(c, t, clip_text, clip_sight); }},
    {"MetaClip2ForImageClassification", "metaclip_2", [](const config& c, tally& t) { count_classifier(c, t, count_clip_vision(sight_alone(c), t, clip_sight)); }},
    {"MetaClip2TextModel", "metaclip_2_text_model", [](const config& c, tally& t) { count_clip_text(c, t, clip_text); }},
    {"MetaClip2TextModelWithProjection", "metaclip_2_text_model", [](const config& c, tally& t) { t.linear(component::projector, count_clip_text(c, t, clip_text), c.size({"projection_dim"}, 512), false); }},
    {"MetaClip2VisionModel", "metaclip_2_vision_model", [](const config& c, tally& t) { count_clip_vision(c, t, clip_sight); }},
    {"MetaClip2VisionModelWithProjection", "metaclip_2_vision_model", [](const config& c, tally& t) { t.linear(component::projector, count_clip_vision(c, t, clip_sight), c.size({"projection_dim"}, 512), false); }},
    {"CLIPSegModel", "clipseg", [](const config& c, tally& t) {
       c.ignore({"extract_layers", "reduce_dim", "decoder_num_attention_heads", "conditional_layer", "decoder_intermediate_size", "decoder_hidden_act",
                 "decoder_attention_dropout", "use_complex_transposed_convolution"});
       count_clip(c, t, clip_text, clip_sight);
     }},
    {"CLIPSegForImageSegmentation", "clipseg", count_clipseg},
    {"CLIPSegTextModel", "clipseg_text_model", [](const config& c, tally& t) { count_clip_text(c, t, clip_text); }},
    {"CLIPSegVisionModel", "clipseg_vision_model", [](const config& c, tally& t) { count_clip_vision(c, t, clip_sight); }},
    {"ChineseCLIPModel", "chinese_clip", count_chinese_clip},
    {"ChineseCLIPTextModel", "chinese_clip_text_model", [](const config& c, tally& t) { count_bert_text(c, t, bert_text, 2, true); }},
    {"ChineseCLIPVisionModel", "chinese_clip_vision_model", [](const config& c, tally& t) { count_clip_vision(c, t, clip_sight); }},
    {"AltCLIPModel", "altclip", count_altclip},
    {"AltCLIPTextModel", "altclip_text_model", [](const config& c, tally& t) { count_alt_text(c, t); }},
    {"AltCLIPVisionModel", "altclip_vision_model", [](const config& c, tally& t) { count_clip_vision(c, t, clip_sight); }},
    {"SiglipModel", "siglip", [](const config& c, tally& t) { count_siglip(c, t, false); }},
    {"SiglipForImageClassification", "siglip", [](const config& c, tally& t) { count_classifier(c, t, count_siglip_vision(sight_alone(c), t, false)); }},
    {"SiglipTextModel", "siglip_text_model", count_siglip_text},
    {"SiglipVisionModel", "siglip_vision_model", [](const config& c, tally& t) { count_siglip_vision(c, t, false); }},
    {"Siglip2Model", "siglip2", [](const config& c, tally& t) { count_siglip(c, t, true); }},
    {"Siglip2ForImageClassification", "siglip2", [](const config& c, tally& t) { count_classifier(c, t, count_siglip_vision(sight_alone(c), t, true)); }},
    {"Siglip2TextModel", "siglip2_text_model", count_siglip_text},
    {"Siglip2VisionModel", "siglip2_vision_model", [](const config& c, tally& t) { count_siglip_vision(c, t, true); }},
    {"OwlViTModel", "owlvit", [](const config& c, tally& t) { count_clip(c, t, owl_text, owl_sight); }},
    {"OwlViTForObjectDetection", "owlvit", [](const config& c, tally& t) { count_owl_detection(c, t, owl_sight, false); }},
    {"OwlViTTextModel", "owlvit_text_model", [](const config& c, tally& t) { count_clip_text(c, t, owl_text); }},
    {"OwlViTVisionModel", "owlvit_vision_model", [](const config& c, tally& t) { count_clip_vision(c, t, owl_sight); }},
    {"Owlv2Model", "owlv2", [](const config& c, tally& t) { count_clip(c, t, owl_text, owl2_sight); }},
    {"Owlv2ForObjectDetection", "owlv2", [](const config& c, tally& t) { count_owl_detection(c, t, owl2_sight, true); }},
    {"Owlv2TextModel", "owlv2_text_model", [](const config& c, tally& t) { count_clip_text(c, t, owl_text); }},
    {"Owlv2VisionModel", "owlv2_vision_model", [](const config& c, tally& t) { count_clip_vision(c, t, owl2_sight); }},
    {"Aimv2Model", "aimv2", count_aimv2},
    {"Aimv2TextModel", "aimv2_text_model", [](const config& c, tally& t) { count_aimv2_text(c, t); }},
    {"Aimv2VisionModel", "aimv2_vision_model", [](const config& c, tally& t) { count_aimv2_vision(c, t); }},
};

}  // namespace headroom::io::detail
