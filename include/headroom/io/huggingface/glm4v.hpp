// Distributed under the Boost Software License, Version 1.0.
// GLM-4.1V, 4.5V, 4.6V and GLM-OCR: GLM-4 or its mixture of experts behind a tower that reads images of any size.
// Source: transformers 5.16 models/glm4v, glm4v_moe, glm46v, glm_ocr: configuration_*.py, modeling_*.py.
#pragma once

#include <headroom/io/huggingface/text_of_sight.hpp>
#include <headroom/io/huggingface/ties.hpp>

namespace headroom::io::detail {

/// Glm4vVisionModel: a layer's MLP is as wide as what the tower delivers, the merger's as intermediate_size says.
inline vision_shape read_glm4v_tower(const config& c) {
  const auto type = c.text({"model_type"}, "glm4v_vision");
  if (type != "glm4v_vision" && type != "glm4v_moe_vision" && type != "glm4v" && type != "glm4v_moe") complain(c.at("model_type") + " must be glm4v_vision or glm4v_moe_vision, found " + quoted_word(type));
  if (c.flag("attention_bias", false)) complain(c.at("attention_bias") + " must be false: a tower with biases is counted alone, found true");
  if (const auto act = c.text({"hidden_act"}, "silu"); act != "silu") complain(c.at("hidden_act") + " must be silu, found " + quoted_word(act));
  vision_shape v;
  v.kind = vision_kind::glm4v;
  v.projector = projector_kind::glm_merger;
  v.layers = c.count({"depth"}, 24);
  v.hidden = c.size({"hidden_size"}, 1536);
  v.heads = c.count({"num_heads"}, 12);
  v.output = v.ffn = c.size({"out_hidden_size"}, 4096);
  v.projector_hidden = c.size({"intermediate_size"}, 13696);
  v.channels = c.size({"in_channels"}, 3);
  v.patch = c.number({"patch_size"}, 14, 1, 1024);
  v.merge = c.number({"spatial_merge_size"}, 2, 1, 1024);
  v.temporal_patch = c.number({"temporal_patch_size"}, 2, 1, 1024);
  const auto side = c.number({"image_size"}, 336, v.patch, std::int64_t{1} << 20) / v.patch;
  v.positions = checked::mul(side, side);
  return v;
}

/// GlmOcrVisionModel: its merger is in_channels times as wide inside as what it delivers.
inline vision_shape read_glm_ocr_tower(const config& c) {
  if (const auto type = c.text({"model_type"}, "glm_ocr_vision"); type != "glm_ocr_vision" && type != "glm_ocr") complain(c.at("model_type") + " must be glm_ocr_vision, found " + quoted_word(type));
  if (!c.flag("attention_bias", true)) complain(c.at("attention_bias") + " must be true: a tower without biases is counted alone, found false");
  if (const auto act = c.text({"hidden_act"}, "silu"); act != "silu") complain(c.at("hidden_act") + " must be silu, found " + quoted_word(act));
  c.ignore({"image_size"});
  vision_shape v;
  v.kind = vision_kind::glm_ocr;
  v.projector = projector_kind::glm_merger;
  v.layers = c.count({"depth"}, 24);
  v.hidden = c.size({"hidden_size"}, 1024);
  v.heads = c.count({"num_attention_heads", "num_heads"}, 16);
  v.ffn = c.size({"intermediate_size"}, 4096);
  v.output = c.size({"out_hidden_size"}, 1536);
  v.channels = c.size({"in_channels"}, 3);
  v.projector_hidden = checked::mul(v.output, v.channels);
  v.patch = c.number({"patch_size"}, 14, 1, 1024);
  v.merge = c.number({"spatial_merge_size"}, 2, 1, 1024);
  v.temporal_patch = c.number({"temporal_patch_size"}, 2, 1, 1024);
  return v;
}

/// Glm4vForConditionalGeneration, Glm4vMoeForConditionalGeneration, Glm46VForConditionalGeneration, GlmOcrForConditionalGeneration.
inline shape read_glm4v(const config& c, std::string_view type) {
  const auto text = c.child("text_config");
  const bool ocr = type == "glm_ocr";
  const auto of = text.text({"model_type"}, ocr ? "glm_ocr_text" : type == "glm4v_moe" ? "glm4v_moe_text" : "glm4v_text");
  if (ocr && of != "glm_ocr_text") complain(text.at("model_type") + " must be glm_ocr_text, found " + quoted_word(of));
  if (!ocr && of != "glm4v_text" && of != "glm4v_moe_text") complain(text.at("model_type") + " must be glm4v_text or glm4v_moe_text, found " + quoted_word(of));
  shape m;
  read_decoder(text, of, m);
  read_weight_sums(text, of, m);
  check_foreign(text, m, of);
  m.vision = ocr ? read_glm_ocr_tower(c.child("vision_config")) : read_glm4v_tower(c.child("vision_config"));
  if (m.vision.output != m.hidden) complain(c.child("vision_config").at("out_hidden_size") + " must equal the text's hidden_size, " + std::to_string(m.hidden) + ", found " + std::to_string(m.vision.output));
  if (type == "glm46v") tie_around_text(c, m, false);
  else tie_around_or_in_text(c, m);
  return m;
}

}  // namespace headroom::io::detail
