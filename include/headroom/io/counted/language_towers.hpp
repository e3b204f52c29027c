// Distributed under the Boost Software License, Version 1.0.
// Language models that come with towers of their own. Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language_sparse.hpp>

namespace headroom::io::detail {

/// MllamaTextModel: which layers attend to the picture alone.
inline std::vector<bool> mllama_crosses(const config& c, std::int64_t layers) {
  std::vector<bool> crosses(static_cast<std::size_t>(layers));
  static const json usual{3, 8, 13, 18, 23, 28, 33, 38};
  const json* list = c.find({"cross_attention_layers"});
  if (list == nullptr || list->is_null()) list = &usual;
  if (!list->is_array()) complain(c.at("cross_attention_layers") + " must be a list of layer numbers, found " + shown(*list));
  for (const auto& one : *list)
    if (const auto i = config::whole(one, c.at("cross_attention_layers"), 0, config::most); i < layers) crosses[static_cast<std::size_t>(i)] = true;
  return crosses;
}
/// modeling_mllama.py, MllamaTextModel: some layers attend to the picture alone. The embedding has eight rows more than the head, which is never tied.
inline language_model count_mllama_text(const config& c, tally& t) {
  auto s = read_language(c, {40, 4096, 32, 8, 0, 14336, 128256});
  s.head_dim = s.hidden / s.heads;
  const auto crosses = mllama_crosses(c, s.layers);
  std::int64_t cross = 0;
  for (const bool one : crosses) cross += one ? 1 : 0;
  count_attention(t, s, false, false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.head_dim, checked::mul(2, cross));
  t.add(component::other, 2, cross);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  auto frame = count_frame(c, t, s);
  t.embedding(8, s.hidden);
  frame.tied = false;
  return frame;
}

/// MllamaVisionModel: tiles with embeddings of their place and of the picture's proportions.
inline void count_mllama_vision(const config& c, tally& t) {
  const auto h = c.size({"hidden_size"}, 1280), ffn = c.size({"intermediate_size"}, 5120);
  const auto layers = c.number({"num_hidden_layers"}, 32, 0, config::most), global = c.number({"num_global_layers"}, 8, 0, config::most);
  const auto heads = c.count({"num_attention_heads", "attention_heads"}, 16);
  const auto patch = c.count({"patch_size"}, 14), side = c.count({"image_size"}, 448) / patch;
  const auto places = checked::add(checked::mul(side, side), 1);
  const json* ratios = c.find({"supported_aspect_ratios"});
  const auto pair = [](const json& v) { return v.is_array() && v.size() == 2 && v[0].is_number_unsigned() && v[1].is_number_unsigned(); };
  if (ratios != nullptr && !ratios->is_null() && !(ratios->is_array() && !ratios->empty() && std::all_of(ratios->begin(), ratios->end(), pair)))
    complain(c.at("supported_aspect_ratios") + " must be a list of pairs of whole numbers, found " + shown(*ratios));
  const auto kinds = ratios == nullptr || ratios->is_null() ? 9 : static_cast<std::int64_t>(ratios->size()) + 1;
  const auto tiles = checked::mul(c.count({"max_num_tiles"}, 4), h);
  c.ignore({"vision_output_dim", "intermediate_layers_indices", "max_position_embeddings"});
  t.within(component::vision, [&] {
    t.linear(component::vision, checked::mul(c.count({"num_channels"}, 3), checked::mul(patch, patch)), h, false);
    t.add(component::vision, checked::add(h, 3));  // the class, three gates
    t.embedding(places, h);
    t.embedding(kinds, checked::mul(tiles, checked::add(places, 2)));
    const auto all = checked::add(layers, global);
    t.linear(component::vision, h, checked::mul(h / heads, heads), false, checked::mul(4, all));
    count_plain_mlp(t, component::vision, h, ffn, true, all);
    t.layer_norm(h, checked::add(checked::mul(2, all), 2));
    t.add(component::vision, 2, global);
  });
}
inline language_model count_mllama(const config& c, tally& t) {
  const auto text = count_mllama_text(c.child("text_config"), t);
  const auto vision = c.child("vision_config");
  count_mllama_vision(vision, t);
  t.linear(component::projector, vision.size({"vision_output_dim"}, 7680), text.hidden, true);
  c.ignore({"tie_word_embeddings"});
  return text;
}

/// Words for each layer, and beyond them for modules of multi-token prediction, which are not built.
inline std::vector<std::string> read_padded_words(const config& c, const char* key, std::int64_t layers, std::int64_t beyond, std::initializer_list<std::string_view> accepted) {
  const json* list = c.find({key});
  const bool padded = list != nullptr && list->is_array() && beyond > 0 && static_cast<std::int64_t>(list->size()) == layers + beyond;
  auto words = read_words(c, key, padded ? layers + beyond : layers, accepted);
  if (padded) words.resize(static_cast<std::size_t>(layers));
  return words;
}

/// modeling_step3p7.py, Step3p7TextModel: gated attention, whose heads are of another number where it has a window.
inline language_model count_step3p7_text(const config& c, tally& t) {
  language_sizes s;
  s.layers = c.number({"num_hidden_layers"}, 45, 0, config::most);
  s.hidden = c.size({"hidden_size"}, 4096);
  const auto heads = c.count({"num_attention_heads"}, 64);
  s.kv = c.count({"num_attention_groups", "num_key_value_heads"}, 8);
  s.head_dim = c.size({"head_dim"}, 128);
  s.ffn = c.size({"intermediate_size"}, 11264);
  s.vocab = c.size({"vocab_size"}, 128815);
  const auto beyond = c.nullable({"num_nextn_predict_layers"}, 0, 0, 0, config::most);
  const auto other = c.child("attention_other_setting").count({"num_attention_heads"}, heads);
  expect(c, "per_layer_config", json::object());  // an empty one leaves all layers alike
  const auto said = c.nullable({"num_sliding_attention_heads"}, other, other, 1, config::most);
  const auto window_heads = c.has("per_layer_config") ? heads : said;
  c.ignore({"max_position_embeddings", "use_bidirectional_attention", "moe_router_scaling_factor", "swiglu_limits", "swiglu_limits_shared", "mtp_layer_types", "mtp_mlp_layer_types",
            "num_local_experts", "partial_rotary_factors", "partial_rotary_factor", "num_mtp_layers"});
  const auto local = count_of(read_padded_words(c, "layer_types", s.layers, beyond, {"full_attention", "sliding_attention"}), "sliding_attention");
  const bool bias = c.flag("attention_bias", false), mlp_bias = c.flag("mlp_bias", false);
  const auto gate = read_attention_gate(c, s.head_dim);
  for (const bool windowed : {false, true}) {
    s.heads = windowed ? window_heads : heads;
    const auto times = windowed ? local : s.layers - local;
    count_attention(t, s, bias, bias, times);
    t.linear(component::attention, s.hidden, checked::mul(s.heads, gate), false, times);
  }
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  const auto words = read_padded_words(c, "mlp_layer_types", s.layers, beyond, {"sparse", "dense"});
  auto sparse = words.empty() ? (s.layers > 3 ? s.layers - 3 : 0) : count_of(words, "sparse");
  if (words.empty() && c.has("moe_layers_enum")) complain(c.at("moe_layers_enum") + " is not read here; say the same with mlp_layer_types, found " + shown(c.find({"moe_layers_enum"})));
  const auto experts = c.count({"moe_num_experts", "n_routed_experts"}, 288);
  t.linear(component::router, s.hidden, experts, false, sparse);
  t.experts(checked::mul(checked::mul(3, s.hidden), c.size({"moe_intermediate_size"}, 1280)), experts, c.count({"moe_top_k", "num_experts_per_tok"}, 8), sparse);
  count_gated_mlp(t, component::shared_experts, s.hidden, c.size({"share_expert_dims", "share_expert_dim"}, 1280), mlp_bias, sparse);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, mlp_bias, s.layers - sparse);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// Step3p7VisionModel: scaled residuals, and two convolutions that halve the picture.
inline void count_step3p7_vision(const config& c, tally& t) {
  const auto h = c.size({"width", "hidden_size"}, 1536);
  const auto layers = c.number({"layers", "num_hidden_layers"}, 47, 0, config::most);
  const auto ffn = static_cast<std::int64_t>(static_cast<double>(h) * c.real({"mlp_ratio"}, 8960.0 / 1536.0, 0.0, 1e6));
  const auto patch = c.count({"patch_size"}, 14), side = c.count({"image_size"}, 728) / patch;
  c.ignore({"heads", "num_attention_heads", "intermediate_size", "layer_scale_init_value", "ls_init_value", "max_position_embeddings"});
  t.within(component::vision, [&] {
    t.linear(component::vision, checked::mul(c.count({"num_channels"}, 3), checked::mul(patch, patch)), h, false);
    t.embedding(checked::mul(side, side), h);
    count_encoder({layers, h, ffn}, t);
    t.add(component::vision, checked::mul(2, h), layers);
    t.layer_norm(h);
    t.linear(component::vision, checked::mul(9, h), checked::mul(2, h), true);
    t.linear(component::vision, checked::mul(18, h), checked::mul(4, h), true);
  });
}
inline language_model count_step3p7(const config& c, tally& t) {
  const auto text = count_step3p7_text(c.child("text_config"), t);
  const auto vision = c.child("vision_config");
  count_step3p7_vision(vision, t);
  t.linear(component::projector, checked::mul(4, vision.size({"width", "hidden_size"}, 1536)), text.hidden, c.flag("projector_bias", false));
  return {text.hidden, text.vocab, c.flag("tie_word_embeddings", false)};
}

/// modeling_muse_glimmer.py, MuseGlimmerTextModel: gated attention, norms on both sides, none over q and k that has weights.
inline language_model count_muse_glimmer_text(const config& c, tally& t) {
  const auto s = read_language(c, {52, 6656, 32, 2, 128, 19968, 202048});
  c.ignore({"qk_scale_factor", "output_multiplier", "post_norm_eps", "layer_rope_theta"});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  t.linear(component::attention, s.hidden, checked::mul(s.heads, s.head_dim), false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::mul(4, s.layers));
  return count_frame(c, t, s);
}
inline void count_muse_glimmer_vision(const config& c, tally& t) {
  const auto h = c.size({"hidden_size"}, 1536);
  const auto patch = c.count({"patch_size"}, 14);
  c.ignore({"num_attention_heads", "merge_size", "layer_types", "max_position_embeddings", "interpolation_mode", "interpolation_align_corners", "interpolation_padding"});
  t.within(component::vision, [&] {
    t.linear(component::vision, checked::mul(checked::mul(3, c.count({"patch_temporal"}, 2)), checked::mul(patch, patch)), h, false);
    t.embedding(checked::mul(c.count({"pos_emb_height"}, 32), c.count({"pos_emb_width"}, 32)), h);
    count_encoder({c.number({"num_hidden_layers"}, 50, 0, config::most), h, c.size({"intermediate_size"}, 8960)}, t);
    t.layer_norm(h, 2);
  });
}
inline language_model count_muse_glimmer(const config& c, tally& t) {
  const auto text = count_muse_glimmer_text(c.child("text_config"), t);
  count_muse_glimmer_vision(c.child("vision_config"), t);
  const auto width = c.size({"projector_hidden_size"}, 4096);
  t.linear(component::projector, c.size({"out_hidden_size"}, 6144), width, false);
  t.linear(component::projector, width, checked::add(width, text.hidden), false);
  c.ignore({"projector_hidden_act"});
  return {text.hidden, text.vocab, c.flag("tie_word_embeddings", false)};
}
/// modeling_muse_glimmer_assistant.py: layers that draft over the states of some of the model's layers; no embedding.
inline void count_muse_glimmer_assistant(const config& c, tally& t) {
  const auto s = read_language(c, {5, 6656, 32, 8, 128, 19968, 1});
  c.ignore({"block_size", "mask_token_id", "tie_word_embeddings"});
  ignore_labels(c);
  count_attention(t, s, false, false, s.layers);
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  const json* targets = c.find({"target_layer_ids"});
  if (targets != nullptr && !targets->is_null() && !targets->is_array()) complain(c.at("target_layer_ids") + " must be a list of layer numbers, found " + shown(*targets));
  const auto states = targets == nullptr || targets->is_null() ? 5 : static_cast<std::int64_t>(targets->size());
  t.linear(component::projector, checked::mul(states, s.hidden), s.hidden, false);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 2));
}

inline constexpr counted_class counted_towered_languages[] = {
    {"MllamaTextModel", "mllama_text_model", count_base<count_mllama_text>},
    {"MllamaForCausalLM", "mllama_text_model", count_causal<count_mllama_text>},
    {"MllamaVisionModel", "mllama_vision_model", [](const config& c, tally& t) { count_mllama_vision(c, t), ignore_labels(c); }},
    {"MllamaModel", "mllama", count_base<count_mllama>},
    {"MllamaForConditionalGeneration", "mllama", count_causal<count_mllama>},
    {"MllamaForCausalLM", "mllama", [](const config& c, tally& t) {  // of the whole model's configuration, the text's part
       ask_all(c.child("vision_config"));
       count_causal<count_mllama_text>(c.child("text_config"), t);
       c.ignore({"tie_word_embeddings"});
     }},
    {"Step3p7TextModel", "step3p5", count_base<count_step3p7_text>},
    {"Step3p7VisionModel", "step3p5_vision", [](const config& c, tally& t) { count_step3p7_vision(c, t), ignore_labels(c); }},
    {"Step3p7Model", "step3p7", count_base<count_step3p7>},
    {"Step3p7ForConditionalGeneration", "step3p7", count_causal<count_step3p7>},
    {"MuseGlimmerTextModel", "muse_glimmer_text", count_base<count_muse_glimmer_text>},
    {"MuseGlimmerVisionModel", "muse_glimmer_vision", [](const config& c, tally& t) { count_muse_glimmer_vision(c, t), ignore_labels(c); }},
    {"MuseGlimmerModel", "muse_glimmer", count_base<count_muse_glimmer>},
    {"MuseGlimmerForConditionalGeneration", "muse_glimmer", count_causal<count_muse_glimmer>},
    {"MuseGlimmerAssistantModel", "muse_glimmer_assistant", count_muse_glimmer_assistant},
};

}  // namespace headroom::io::detail
