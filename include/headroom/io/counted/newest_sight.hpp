// Distributed under the Boost Software License, Version 1.0.
// Models that see, of 2026: Cohere Compass, HunyuanOCR, Granite 4 Vision. Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/captions.hpp>
#include <headroom/io/counted/language_more.hpp>
#include <headroom/io/counted/language_others.hpp>
#include <headroom/io/counted/sight_last.hpp>

namespace headroom::io::detail {

/// A class's text as a part of another: the head that stands on it.
inline language beneath(const language_model& m) { return {m.hidden, m.vocab, m.tied}; }

/// modeling_cohere_compass.py: Qwen3-VL's tower.
inline language count_compass(const config& c, tally& t) {
  t.within(component::vision, [&] { count_qwen3_vision(c.child("vision_config"), t, 3); });
  const auto text = c.child("text_config");
  ignore_labels(text);
  return beneath(count_cohere_compass_text(text, t));
}

/// modeling_hunyuan_vl.py. Keys of the text that stand at the top count before its own, as the class folds them in; the tower delivers the text's width.
inline language count_hunyuan_vl(const config& c, tally& t) {
  auto inside = c.child("text_config").object();
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "attention_bias", "head_dim", "org_vocab_size"})
    if (const json* flat = c.find({key}); flat != nullptr) inside[key] = *flat;
  const config text{inside, c.at("text_config"), c.asked()};
  for (const auto& part : {c, text}) part.ignore({"sep_token_id", "eod_token_id", "pad_id", "im_start_id", "im_end_id", "im_newline_id", "max_position_embeddings"}), ignore_labels(part);
  c.ignore({"org_vocab_size"});
  const auto l = count_hunyuan_vl_text(text, t);
  auto sight = c.child("vision_config").object();
  c.child("vision_config").ignore({"text_hidden_size"});
  sight["text_hidden_size"] = l.hidden;
  t.within(component::vision, [&] { count_hunyuan_sight(config{sight, c.at("vision_config"), c.asked()}, t); });
  if (c.flag("tie_word_embeddings", true) != l.tied) complain(c.at("tie_word_embeddings") + " must say what text_config.tie_word_embeddings says, which the class takes instead");
  return beneath(l);
}

/// modeling_granite4_vision.py: Granite behind a tower, and one Q-Former with its queries for each layer that feeds the text, and four more.
inline language count_granite_vision(const config& c, tally& t) {
  if (!c.has("text_config")) complain(c.at("text_config") + " is missing; the class's own default cannot be built");
  const auto text = c.child("text_config");
  if (const auto type = text.text({"model_type"}, "granite4_vision_text"); type != "granite4_vision_text" && type != "granite") complain(text.at("model_type") + " must be granite4_vision_text or granite, found " + quoted_word(type));
  ignore_labels(text);
  const auto l = beneath(count_granite4_vision_text(text, t));
  const auto width = count_tower(c.child("vision_config"), t, c.has("vision_config") ? "clip_vision_model" : "siglip_vision_model");
  const auto rate = c.text({"downsample_rate"}, "");
  const auto slash = rate.find('/');
  const auto whole = [&](const std::string& digits) -> std::int64_t { return digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string::npos ? 0 : std::stoll(digits); };
  const auto queries = slash == std::string::npos ? 0 : whole(rate.substr(0, slash)), window = slash == std::string::npos ? 0 : whole(rate.substr(slash + 1));
  if (queries < 1 || window < 1) complain(c.at("downsample_rate") + " must be two whole numbers, as \"4/8\", found " + quoted_word(rate));
  const json* layers = c.find({"deepstack_layer_map"});
  const auto pair = [](const json& v) { return v.is_array() && v.size() == 2 && v[0].is_number_integer() && v[1].is_number_integer(); };
  if (layers == nullptr || !layers->is_array() || !std::all_of(layers->begin(), layers->end(), pair)) complain(c.at("deepstack_layer_map") + " must be a list of pairs, found " + shown(layers));
  const json usual{{"num_hidden_layers", 1}, {"cross_attention_frequency", 1}, {"hidden_size", width}, {"encoder_hidden_size", width}};
  const auto asks = child_or(c, "qformer_config", usual);
  if (const auto named = asks.text({"model_type"}, "blip_2_qformer"); named != "blip_2_qformer") complain(asks.at("model_type") + " must be blip_2_qformer, found " + quoted_word(named));
  const auto ways = checked::add(static_cast<std::int64_t>(layers->size()), 4);
  for (std::int64_t i = 0; i < ways; ++i) {
    t.within(component::projector, [&] { (void)count_qformer(asks, t, false); });
    t.within(component::projector, [&] { t.layer_norm(width); });
    t.add(component::projector, checked::mul(width, checked::add(checked::mul(queries, queries), checked::mul(window, window))));
    t.linear(component::projector, width, l.hidden, true);
  }
  t.add(component::projector, l.hidden);
  c.ignore({"image_grid_pinpoints", "spatial_vision_layer", "spatial_target_layers", "projector_dropout", "vision_feature_layer", "vision_feature_select_strategy", "image_seq_length", "use_image_newline_parameter"});
  return l;
}

inline constexpr counted_class counted_newest_sight[] = {
    {"CohereCompassModel", "cohere_compass", count_bare<count_compass>},
    {"CohereCompassForConditionalGeneration", "cohere_compass", count_speaking<count_compass, false>},
    {"HunYuanVLModel", "hunyuan_vl", count_bare<count_hunyuan_vl>},
    {"HunYuanVLForConditionalGeneration", "hunyuan_vl", count_speaking<count_hunyuan_vl, true>},
    {"Granite4VisionModel", "granite4_vision", count_bare<count_granite_vision>},
    {"Granite4VisionForConditionalGeneration", "granite4_vision", count_speaking<count_granite_vision, false>},
};

}  // namespace headroom::io::detail
