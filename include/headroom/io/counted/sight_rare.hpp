// Distributed under the Boost Software License, Version 1.0.
// BridgeTower, GroupViT, BiT, TextNet, LeViT, and the Decision Transformer. Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/captions.hpp>
#include <headroom/io/counted/staged.hpp>

namespace headroom::io::detail {

/// modeling_bridgetower.py, BridgeTowerVisionModel: CLIP's tower; a norm for each layer that hands on, unless they share one.
inline std::int64_t count_bridge_sight(const config& c, tally& t) {
  c.ignore({"stop_gradient", "init_layernorm_from_vision_encoder", "initializer_factor"});
  auto s = read_tower_sizes(c, {768, 0, 12, 16, 288});
  const auto layers = c.flag("remove_last_layer", false) ? s.layers - 1 : s.layers;
  t.add(component::embedding, s.hidden, checked::add(s.patches, 2));
  count_patches(s, t, false);
  count_layers({.layers = layers, .hidden = s.hidden, .ffn = checked::mul(4, s.hidden)}, t);
  t.layer_norm(s.hidden, checked::add(2, c.flag("share_layernorm", true) ? 0 : s.layers));
  return s.hidden;
}
/// BridgeTowerModel: RoBERTa and CLIP, and layers in which each attends to the other. Returns the width of their words and of what both join to.
struct bridge {
  std::int64_t hidden{}, vocab{};
};
inline bridge count_bridgetower(const config& c, tally& t) {
  c.ignore({"initializer_factor", "is_encoder_decoder", "init_layernorm_from_vision_encoder", "share_layernorm", "text_config_dict", "vision_config_dict"});
  pass_over_vision(c);
  const auto text = c.child("text_config");
  const auto hidden = c.size({"hidden_size"}, 768), layers = c.number({"num_hidden_layers"}, 6, 1, config::most), each = c.flag("share_cross_modal_transformer_layers", true) ? 1 : layers;
  std::int64_t sight = 0;
  t.within(component::vision, [&] { sight = count_bridge_sight(c.child("vision_config"), t); });
  if (text.flag("add_cross_attention", false)) complain(text.at("add_cross_attention") + " must be false here, found true");
  const auto words = count_bert_text(text, t, {50265, 768, 3072, 12, 514}, 1, true);
  text.ignore({"initializer_factor"});
  t.linear(component::projector, words, hidden, true, each);
  t.linear(component::projector, sight, hidden, true, each);
  t.embedding(2, hidden);
  count_encoder({checked::mul(2, layers), words, text.size({"intermediate_size"}, 3072)}, t);
  count_cross_attention(t, words, words, checked::mul(2, layers));
  t.linear(component::head, hidden, hidden, true, 2);
  const auto kind = c.text({"link_tower_type"}, "add");
  if (kind != "add" && kind != "scaled_add" && kind != "interpolate") complain(c.at("link_tower_type") + " must be add, scaled_add or interpolate, found " + quoted_word(kind));
  const auto links = c.flag("share_link_tower_layers", false) ? 1 : layers - 1;
  t.layer_norm(hidden, checked::add(2, checked::mul(2, links)));
  if (kind != "add") t.add(component::other, 1, checked::mul(2, links));
  return {hidden, text.size({"vocab_size"}, 50265)};
}

/// modeling_groupvit.py, GroupViTVisionModel: stages whose patches gather into fewer and fewer groups.
inline void count_token_assignment(const config& c, tally& t, std::int64_t hidden, std::int64_t ffn, std::int64_t tokens, std::int64_t groups) {
  const json usual = json::array({0.5, 4});
  const json* given = c.find({"assign_mlp_ratio"});
  const json& ratios = given == nullptr ? usual : *given;
  if (!ratios.is_array() || ratios.size() != 2 || !ratios[0].is_number() || !ratios[1].is_number()) complain(c.at("assign_mlp_ratio") + " must be a list of two numbers, found " + shown(ratios));
  const auto times = [&](const json& ratio) { return static_cast<std::int64_t>(ratio.get<double>() * static_cast<double>(hidden)); };
  count_mlp(t, tokens, times(ratios[0]), groups);
  count_attention(t, hidden, 2);
  count_mlp(t, hidden, ffn, hidden);
  count_mlp(t, hidden, times(ratios[1]), hidden);
  t.layer_norm(hidden, 6);
}
inline std::int64_t count_group_sight(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {384, 1536, 12, 16, 224});
  c.ignore({"assign_eps", "initializer_factor"});
  const auto depths = depths_of(c, "depths", {6, 3, 3}), tokens = list_of(c, "num_group_tokens", {64, 8, 0}, 0), groups = list_of(c, "num_output_groups", {64, 8, 8}, 0);
  check_stages(c, depths.size(), {tokens.size(), groups.size()});
  t.add(component::embedding, s.hidden, s.patches);
  count_patches(s, t);
  t.layer_norm(s.hidden, 2);
  for (std::size_t i = 0; i < depths.size(); ++i) {
    count_layers({.layers = depths[i], .hidden = s.hidden, .ffn = s.ffn}, t);
    if (tokens[i] == 0) continue;
    t.add(component::embedding, s.hidden, tokens[i]);
    count_token_assignment(c, t, s.hidden, s.ffn, tokens[i], groups[i]);
    const auto before = i > 0 ? groups[i - 1] : 0;
    if (before == 0) continue;
    t.layer_norm(s.hidden);
    count_mlp(t, before, s.hidden / 2, tokens[i]);
  }
  return s.hidden;
}
inline constexpr text_usual group_text{49408, 256, 1024, 12, 77};
inline void count_groupvit(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"output_segmentation", "initializer_factor"});
  const auto text = c.child("text_config");
  text.ignore({"initializer_factor"});
  const auto inner = c.size({"projection_intermediate_dim"}, 4096), out = c.size({"projection_dim"}, 256);
  std::int64_t sight = 0;
  t.within(component::vision, [&] { sight = count_group_sight(c.child("vision_config"), t); });
  const auto words = count_clip_text(text, t, group_text);
  for (const auto width : {sight, words}) {
    t.linear(component::projector, width, inner, true);
    t.layer_norm(inner);
    t.linear(component::projector, inner, out, true);
  }
  t.add(component::other, 1);
}

/// modeling_bit.py: ResNet whose channels are rounded to eights.
inline std::int64_t in_eights(double value) {
  auto rounded = static_cast<std::int64_t>(value + 4.0) / 8 * 8;
  if (rounded < 8) rounded = 8;
  return static_cast<double>(rounded) < 0.9 * value ? rounded + 8 : rounded;
}
inline std::int64_t count_bit(const config& c, tally& t) {
  pass_over_vision(c);
  const auto widths = list_of(c, "hidden_sizes", {256, 512, 1024, 2048}), depths = depths_of(c, "depths", {3, 4, 6, 3});
  check_stages(c, widths.size(), {depths.size()}), check_stages(c, depths.size(), {widths.size()});
  const auto type = c.text({"layer_type"}, "preactivation");
  if (type != "preactivation" && type != "bottleneck") complain(c.at("layer_type") + " must be preactivation or bottleneck, found " + quoted_word(type));
  const bool early = type == "preactivation";
  c.ignore({"global_padding", "num_groups", "embedding_dynamic_padding", "output_stride", "drop_path_rate"});
  const auto factor = c.count({"width_factor"}, 1);
  auto in = c.size({"embedding_size"}, 64);
  count_conv(t, c.size({"num_channels"}, 3), in, 7, false);
  t.layer_norm(early ? widths.back() : in);  // before the stages, or behind them
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto out = in_eights(static_cast<double>(checked::mul(widths[i], factor))), narrow = in_eights(static_cast<double>(out) * 0.25);
    for (std::int64_t layer = 0; layer < depths[i]; ++layer) {
      if (layer == 0) {
        count_conv(t, in, out, 1, false);
        if (!early) t.layer_norm(out);
      }
      count_conv(t, in, narrow, 1, false);
      count_conv(t, narrow, narrow, 3, false);
      count_conv(t, narrow, out, 1, false);
      t.layer_norm(checked::add(early ? in : out, checked::mul(2, narrow)));
      in = out;
    }
  }
  return widths.back();
}

/// modeling_textnet.py: convolutions of a window, of its height and of its width side by side, each with a BatchNorm.
inline std::int64_t count_textnet(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"stem_stride", "stem_act_func", "image_size", "batch_norm_eps", "depths"});
  static const json usual_windows = json::parse("[[[3,3],[3,3],[3,3]],[[3,3],[1,3],[3,3],[3,1]],[[3,3],[3,3],[3,1],[1,3]],[[3,3],[3,1],[1,3],[3,3]]]");
  static const json usual_steps = json::parse("[[1,2,1],[2,1,1,1],[2,1,1,1],[2,1,1,1]]");
  const auto read = [&](const char* key, const json& usual) -> const json& {
    const json* found = c.find({key});
    const json& list = found == nullptr || found->is_null() ? usual : *found;
    if (!list.is_array()) complain(c.at(key) + " must be a list of lists, found " + shown(list));
    return list;
  };
  const auto& windows = read("conv_layer_kernel_sizes", usual_windows);
  const auto& steps = read("conv_layer_strides", usual_steps);
  const auto widths = list_of(c, "hidden_sizes", {64, 64, 128, 256, 512});
  if (steps.size() != windows.size() || widths.size() != windows.size() + 1) complain(c.at("hidden_sizes") + " must have one entry more than conv_layer_kernel_sizes and conv_layer_strides");
  const auto stem = c.size({"stem_out_channels"}, 64);
  count_conv_norm(t, c.size({"stem_num_channels"}, 3), stem, c.size({"stem_kernel_size"}, 3));
  for (std::size_t i = 0; i < windows.size(); ++i) {
    auto in = widths[i];
    const auto out = widths[i + 1];
    if (!windows[i].is_array() || !steps[i].is_array() || steps[i].size() != windows[i].size()) complain(c.at("conv_layer_strides") + " must be as long as conv_layer_kernel_sizes in each stage");
    for (std::size_t k = 0; k < windows[i].size(); ++k) {
      const auto& window = windows[i][k];
      if (!window.is_array() || window.size() != 2) complain(c.at("conv_layer_kernel_sizes") + " must hold pairs of whole numbers, found " + shown(window));
      const auto high = config::whole(window[0], c.at("conv_layer_kernel_sizes"), 1, config::most), wide = config::whole(window[1], c.at("conv_layer_kernel_sizes"), 1, config::most);
      const auto branch = [&](std::int64_t places) {
        t.linear(component::other, checked::mul(in, places), out, false);
        t.layer_norm(out);
      };
      branch(checked::mul(high, wide));
      if (wide != 1) branch(high);
      if (high != 1) branch(wide);
      if (in == out && config::whole(steps[i][k], c.at("conv_layer_strides"), 1, config::most) == 1) t.layer_norm(in);
      in = out;
    }
  }
  return widths.back();
}

/// modeling_levit.py: matrices with BatchNorms and no biases; heads learn a number for each distance. Between stages attention halves the picture.
inline std::int64_t count_levit(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"stride", "padding", "drop_path_rate"});
  const auto widths = list_of(c, "hidden_sizes", {128, 256, 384}), heads = list_of(c, "num_attention_heads", {4, 8, 12}), depths = depths_of(c, "depths", {4, 4, 4}, 0), keys = list_of(c, "key_dim", {16, 16, 16}),
             wide = list_of(c, "mlp_ratio", {2, 2, 2}, 0), ratios = list_of(c, "attention_ratio", {2, 2, 2});
  for (const auto length : {widths.size(), heads.size(), depths.size(), keys.size(), wide.size(), ratios.size()})
    if (length != 3) complain(c.path() + " must have three stages, found a list of " + std::to_string(length));
  const auto window = c.size({"kernel_size"}, 3);
  if (const json* given = c.find({"down_ops"}); given != nullptr) {  // as the class saves it
    json derived = json::array();
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) derived.push_back({"Subsample", keys[0], widths[i] / keys[0], 4, 2, 2});
    const auto said = given->is_array() && given->size() == 3 && given->back() == json::array({""}) ? json(given->begin(), given->end() - 1) : *given;
    if (said != derived) complain(c.at("down_ops") + " must be " + derived.dump() + ", as hidden_sizes and key_dim say, or be absent; found " + shown(*given));
  }
  const auto matrix = [&](std::int64_t in, std::int64_t out, std::int64_t times = 1) {
    t.linear(component::other, in, out, false, times);
    t.layer_norm(out, times);
  };
  const auto mlp = [&](std::int64_t width, std::int64_t ratio, std::int64_t times) { matrix(width, checked::mul(width, ratio), times), matrix(checked::mul(width, ratio), width, times); };
  auto channels = c.size({"num_channels"}, 3);
  for (const std::int64_t part : {8, 4, 2, 1}) count_conv_norm(t, channels, widths[0] / part, window), channels = widths[0] / part;
  auto side = c.size({"image_size"}, 224) / c.size({"patch_size"}, 16);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto inner = checked::mul(keys[i], heads[i]), values = checked::mul(ratios[i], inner);
    matrix(widths[i], checked::add(values, checked::mul(2, inner)), depths[i]);
    matrix(values, widths[i], depths[i]);
    t.add(component::attention, checked::mul(heads[i], checked::mul(side, side)), depths[i]);
    if (wide[i] > 0) mlp(widths[i], wide[i], depths[i]);
    if (i == 2) break;
    const auto more = widths[i] / keys[0], narrow = checked::mul(keys[0], more);
    matrix(widths[i], checked::mul(5, narrow));
    matrix(widths[i], narrow);
    matrix(checked::mul(4, narrow), widths[i + 1]);
    t.add(component::attention, checked::mul(more, checked::mul(side, side)));
    mlp(widths[i + 1], 2, 1);
    side = (side - 1) / 2 + 1;
  }
  return widths.back();
}
inline void count_levit_classes(const config& c, tally& t, std::int64_t heads) {
  const auto hidden = count_levit(c, t);
  t.layer_norm(hidden, heads);
  t.linear(component::head, hidden, labels_of(c), true, heads);
}

/// modeling_decision_transformer.py: GPT-2 over returns, states and actions.
inline std::int64_t count_decision_layers(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 128), layers = c.number({"n_layer", "num_hidden_layers"}, 3, 0, config::most);
  if (hidden % c.count({"n_head", "num_attention_heads"}, 1) != 0) complain(c.at("hidden_size") + " must be a multiple of n_head, found " + std::to_string(hidden));
  if (c.flag("add_cross_attention", false)) complain(c.at("add_cross_attention") + " must be false here, found true");
  c.ignore({"activation_function", "resid_pdrop", "embd_pdrop", "attn_pdrop", "layer_norm_epsilon", "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "action_tanh", "state_dim", "act_dim",
            "max_ep_len", "tie_word_embeddings", "num_labels", "id2label", "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels", "summary_first_dropout"});
  const auto ffn = c.nullable({"n_inner"}, checked::mul(4, hidden), checked::mul(4, hidden));
  t.embedding(checked::add(c.size({"vocab_size"}, 1), c.size({"n_positions", "max_position_embeddings"}, 1024)), hidden);
  count_encoder({layers, hidden, ffn}, t);
  t.layer_norm(hidden);
  return hidden;
}
inline void count_decision(const config& c, tally& t) {
  const auto hidden = count_decision_layers(c, t), state = c.size({"state_dim"}, 17), act = c.size({"act_dim"}, 4);
  t.embedding(c.size({"max_ep_len"}, 4096), hidden);
  t.linear(component::projector, checked::add(1, checked::add(state, act)), hidden, false);
  t.add(component::projector, checked::mul(3, hidden));
  t.layer_norm(hidden);
  t.linear(component::head, hidden, checked::add(1, checked::add(state, act)), true);
}

inline constexpr counted_class counted_sight_rare[] = {
    {"BridgeTowerModel", "bridgetower", [](const config& c, tally& t) { count_bridgetower(c, t), c.ignore({"tie_word_embeddings"}); }},
    {"BridgeTowerForImageAndTextRetrieval", "bridgetower", [](const config& c, tally& t) { t.linear(component::head, checked::mul(2, count_bridgetower(c, t).hidden), 2, true); }},
    {"BridgeTowerForMaskedLM", "bridgetower", [](const config& c, tally& t) {
       const auto b = count_bridgetower(c, t);
       count_masked_head(t, b.hidden, b.vocab, true);
       if (!c.flag("tie_word_embeddings", false)) t.linear(component::head, b.hidden, b.vocab, false);
     }},
    {"GroupViTModel", "groupvit", count_groupvit},
    {"GroupViTTextModel", "groupvit_text_model", [](const config& c, tally& t) { count_clip_text(c, t, group_text), c.ignore({"initializer_factor"}); }},
    {"GroupViTVisionModel", "groupvit_vision_model", [](const config& c, tally& t) { count_group_sight(c, t); }},
    {"BitModel", "bit", [](const config& c, tally& t) { count_bit(c, t); }},
    {"BitBackbone", "bit", [](const config& c, tally& t) { count_bit(c, t); }},
    {"BitForImageClassification", "bit", [](const config& c, tally& t) { count_classifier(c, t, count_bit(c, t)); }},
    {"TextNetModel", "textnet", [](const config& c, tally& t) { count_textnet(c, t); }},
    {"TextNetBackbone", "textnet", [](const config& c, tally& t) { count_textnet(c, t); }},
    {"TextNetForImageClassification", "textnet", [](const config& c, tally& t) { count_classifier(c, t, count_textnet(c, t)); }},
    {"LevitModel", "levit", [](const config& c, tally& t) { count_levit(c, t); }},
    {"LevitForImageClassification", "levit", [](const config& c, tally& t) { count_levit_classes(c, t, 1); }},
    {"LevitForImageClassificationWithTeacher", "levit", [](const config& c, tally& t) { count_levit_classes(c, t, 2); }},
    {"DecisionTransformerModel", "decision_transformer", count_decision},
    {"DecisionTransformerGPT2Model", "decision_transformer", [](const config& c, tally& t) { count_decision_layers(c, t); }},
};

}  // namespace headroom::io::detail
