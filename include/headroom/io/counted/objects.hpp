// Distributed under the Boost Software License, Version 1.0.
// Segments, clips with words, actions, and other models that see: SAM, X-CLIP, Aria, TrOCR, PI0, Qwen3-Omni's thinker, Pixio, MLCD, CvT.
#pragma once

#include <headroom/io/counted/captions.hpp>
#include <headroom/io/counted/small_networks.hpp>

namespace headroom::io::detail {

/// transformers, modeling_sam.py: attention whose inner width is a fraction of the outer one.
inline void count_narrow_attention(tally& t, std::int64_t hidden, std::int64_t inner, std::int64_t times) {
  t.linear(component::attention, hidden, inner, true, checked::mul(3, times));
  t.linear(component::attention, inner, hidden, true, times);
}
inline void count_sam_decoder(const config& c, tally& t) {
  pass_over_vision(c);
  const auto h = c.size({"hidden_size"}, 256), layers = c.number({"num_hidden_layers"}, 2, 0, config::most), masks = checked::add(c.number({"num_multimask_outputs"}, 3, 0), 1);
  const auto inner = h / c.size({"attention_downsample_rate"}, 2), iou = c.size({"iou_head_hidden_dim"}, 256), depth = c.number({"iou_head_depth"}, 3, 2, config::most);
  t.embedding(checked::add(masks, 1), h);
  count_attention(t, h, layers);
  count_narrow_attention(t, h, h / 2, checked::mul(2, layers));  // the layers' own fraction, whatever the configuration says
  count_narrow_attention(t, h, inner, 1);
  count_mlp(t, h, c.size({"mlp_dim"}, 2048), h, true, layers);
  t.layer_norm(h, checked::add(checked::mul(4, layers), 1));
  count_conv(t, checked::mul(4, h), h / 4, 1, true);
  count_conv(t, h, h / 8, 1, true);
  t.layer_norm(h / 4);
  t.linear(component::head, h, h, true, checked::mul(2, masks));
  t.linear(component::head, h, h / 8, true, masks);
  t.linear(component::head, h, iou, true);
  t.linear(component::head, iou, iou, true, depth - 2);
  t.linear(component::head, iou, masks, true);
}
inline void count_sam(const config& c, tally& t) {
  const auto sight = c.child("vision_config"), prompt = c.child("prompt_encoder_config");
  t.within(component::vision, [&] { count_sam_vision(sight, t, sam_sight); });
  count_sam_decoder(c.child("mask_decoder_config"), t);
  pass_over_vision(prompt);
  prompt.ignore({"image_size", "patch_size", "image_embedding_size"});
  sight.ignore({"num_pos_feats"});
  const auto h = prompt.size({"hidden_size"}, 256), mask = prompt.size({"mask_input_channels"}, 16), features = sight.size({"num_pos_feats"}, 128);
  if (mask % 4 != 0) complain(prompt.at("mask_input_channels") + " must be a multiple of 4, found " + std::to_string(mask));
  t.linear(component::other, 4, mask / 4, true);
  t.linear(component::other, checked::mul(4, mask / 4), mask, true);
  t.linear(component::other, mask, h, true);
  t.layer_norm(mask / 4);
  t.layer_norm(mask);
  t.embedding(checked::add(prompt.size({"num_point_embeddings"}, 4), 2), h);
  t.add(component::embedding, checked::mul(2, features), c.flag("tie_word_embeddings", true) ? 1 : 2);
}

/// modeling_sam_hq.py: a token more, which reads the tower's early features, too.
inline void count_sam_hq(const config& c, tally& t) {
  count_sam(c, t);
  const auto decoder = c.child("mask_decoder_config");
  const auto h = decoder.size({"hidden_size"}, 256);
  t.embedding(1, h);
  t.linear(component::head, h, checked::add(checked::mul(2, h), h / 8), true);
  count_conv(t, decoder.size({"vit_dim"}, 768), h, 2, true);
  count_conv(t, h, h / 8, 2, true);
  count_conv(t, h, h / 4, 2, true);
  count_conv(t, h / 4, h / 8, 2, true);
  count_conv(t, h / 8, h / 4, 3, true);
  count_conv(t, h / 4, h / 8, 3, true);
  t.layer_norm(checked::add(h, checked::mul(2, h / 4)));
}

/// modeling_pixio.py, modeling_mlcd.py.
inline void count_pixio(const config& c, tally& t) {
  auto s = read_tower_sizes(c, {1280, 0, 32, 16, 256});
  s.ffn = times_ratio(c, "mlp_ratio", 4, s.hidden);
  if (const auto heads = c.count({"num_attention_heads"}, 16); s.hidden % heads != 0) complain(c.at("hidden_size") + " must be a multiple of num_attention_heads, " + std::to_string(heads) + ", found " + std::to_string(s.hidden));
  t.add(component::embedding, s.hidden, checked::add(s.patches, checked::mul(2, c.size({"n_cls_tokens"}, 8))));
  count_patches(s, t);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias}, t);
  t.layer_norm(s.hidden);
}
inline void count_mlcd(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {1664, 8192, 48, 14, 336});
  c.ignore({"num_key_value_groups", "projection_dim"});
  const auto heads = c.count({"num_attention_heads"}, 16);
  t.add(component::embedding, s.hidden);
  t.add(component::embedding, s.hidden / heads / 2);
  count_patches(s, t, false);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn}, t);
  t.layer_norm(s.hidden, 2);
}

/// modeling_x_clip.py: frames send each other messages; prompts are made of words and frames.
inline std::int64_t count_xclip_vision(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, clip_sight);
  c.ignore({"mit_hidden_size", "mit_intermediate_size", "mit_num_hidden_layers", "mit_num_attention_heads", "num_frames", "projection_dim"});
  t.add(component::embedding, s.hidden, checked::add(s.patches, 2));
  count_patches(s, t, false);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .norms = 3}, t);
  t.linear(component::attention, s.hidden, s.hidden, true, checked::mul(5, s.layers));
  t.layer_norm(s.hidden, 2);
  return s.hidden;
}
inline void count_xclip(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"prompt_alpha", "prompt_hidden_act", "prompt_num_attention_heads", "prompt_attention_dropout", "prompt_projection_dropout"});
  const auto sight = c.child("vision_config");
  const auto out = c.size({"projection_dim"}, 512), prompts = c.number({"prompt_layers"}, 2, 0, config::most), narrow = sight.size({"mit_hidden_size"}, 512);
  t.linear(component::projector, count_clip_text(c.child("text_config"), t, clip_text), out, false);
  std::int64_t width = 0;
  t.within(component::vision, [&] { width = count_xclip_vision(sight, t); });
  t.linear(component::projector, width, out, false, 2);
  t.layer_norm(width);
  t.add(component::embedding, narrow, sight.size({"num_frames"}, 8));
  count_layers({.layers = sight.number({"mit_num_hidden_layers"}, 1, 0, config::most), .hidden = narrow, .ffn = sight.size({"mit_intermediate_size"}, 2048)}, t);
  count_layers({.layers = prompts, .hidden = out, .ffn = checked::mul(4, out), .bias = false, .key_bias = false}, t);
  t.layer_norm(out);
  t.add(component::other, checked::add(out, 1));
}

/// modeling_aria.py: pictures through one layer of cross-attention.
inline language count_aria(const config& c, tally& t) {
  const auto width = count_tower(c.child("vision_config"), t, "idefics3_vision");
  const auto l = count_language(c.child("text_config"), t, "aria_text", {4096, 32000, false});
  std::int64_t queries = c.has("projector_patch_to_query_dict") ? 0 : 256;
  if (queries == 0) {
    const auto& table = *c.find({"projector_patch_to_query_dict"});
    if (!table.is_object() || table.empty()) complain(c.at("projector_patch_to_query_dict") + " must be a table of whole numbers, found " + shown(table));
    for (const auto& [key, value] : table.items())
      if (const auto n = config::whole(value, c.at("projector_patch_to_query_dict"), 1, config::widest); n > queries) queries = n;
  }
  require_equal(c, "max_value_projector_patch_to_query_dict", "projector_patch_to_query_dict's largest", queries);
  t.within(component::projector, [&] {
    t.add(component::projector, width, queries);
    t.linear(component::projector, width, width, false, 3);
    count_attention(t, width);
    t.linear(component::projector, width, width, true);
    t.layer_norm(width, 3);
    t.linear(component::projector, width, l.hidden, false);
    t.linear(component::projector, l.hidden, l.hidden, false);
  });
  return l;
}

/// modeling_trocr.py: a decoder that reads what an encoder saw.
inline void count_trocr(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"decoder_attention_heads", "max_position_embeddings"});
  const auto hidden = c.size({"d_model", "hidden_size"}, 1024), vocab = c.size({"vocab_size"}, 50265), layers = c.number({"decoder_layers", "num_hidden_layers"}, 12, 0, config::most);
  t.embedding(vocab, hidden);
  if (c.flag("use_learned_position_embeddings", true)) t.embedding(checked::add(c.size({"max_position_embeddings"}, 512), 2), hidden);
  if (c.flag("layernorm_embedding", true)) t.layer_norm(hidden);
  count_encoder({layers, hidden, c.size({"decoder_ffn_dim"}, 4096)}, t);
  count_cross_attention(t, hidden, c.nullable({"cross_attention_hidden_size"}, hidden, hidden), layers);
  if (!c.flag("tie_word_embeddings", true)) t.linear(component::head, hidden, vocab, false);
}

/// modeling_qwen3_omni_moe.py, the thinker.
inline void count_omni3_audio(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"encoder_attention_heads", "max_source_positions", "n_window", "n_window_infer", "conv_chunksize"});
  const auto width = c.size({"d_model"}, 1280), channels = c.size({"downsample_hidden_size"}, 480), mels = c.size({"num_mel_bins"}, 128);
  count_conv(t, 1, channels, 3, true);
  count_conv(t, channels, channels, 3, true, 2);
  t.linear(component::encoder, checked::mul(channels, (((mels + 1) / 2 + 1) / 2 + 1) / 2), width, false);
  count_layers({.layers = c.number({"encoder_layers"}, 32, 0, config::most), .hidden = width, .ffn = c.size({"encoder_ffn_dim"}, 5120)}, t);
  t.layer_norm(width);
  t.linear(component::encoder, width, width, true);
  t.linear(component::encoder, width, c.size({"output_dim"}, 3584), true);
}
inline language count_omni3_text(const config& c, tally& t) {
  const auto s = read_language(c, {28, 2048, 28, 4, 0, 18944, 3584});
  c.ignore({"tie_word_embeddings"});
  expect(c, "decoder_sparse_step", 1);
  expect(c, "mlp_only_layers", json::array());
  const bool bias = c.flag("attention_bias", false);
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, bias, bias, s.layers);
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  count_routed(t, s.hidden, {c.count({"num_experts"}, 128), c.count({"num_experts_per_tok"}, 8), c.size({"moe_intermediate_size"}, 768), 0}, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return {s.hidden, s.vocab, false};
}
inline language count_omni3_thinker(const config& c, tally& t) {
  c.ignore({"position_id_per_seconds", "audio_start_token_id", "user_token_id"});
  t.within(component::encoder, [&] { count_omni3_audio(c.child("audio_config"), t); });
  t.within(component::vision, [&] { count_qwen3_vision(c.child("vision_config"), t, 3); });
  return count_omni3_text(c.child("text_config"), t);
}

/// modeling_cvt.py: queries, keys and values behind depthwise convolutions.
inline std::int64_t count_cvt(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"patch_stride", "patch_padding", "num_heads", "attention_drop_rate", "drop_rate", "drop_path_rate", "padding_kv", "stride_kv", "padding_q", "stride_q"});
  const auto widths = list_of(c, "embed_dim", {64, 192, 384}), depths = depths_of(c, "depth", {1, 2, 10}), patches = list_of(c, "patch_sizes", {7, 3, 3}), windows = list_of(c, "kernel_qkv", {3, 3, 3});
  check_stages(c, widths.size(), {depths.size(), patches.size(), windows.size()});
  const auto word = [&](const char* key, std::size_t i, const json& usual) {
    const json* list = c.find({key});
    if (list == nullptr) return usual;
    if (!list->is_array() || list->size() < widths.size()) complain(c.at(key) + " must be a list with an entry for each stage, found " + shown(*list));
    return list->at(i);
  };
  auto in = c.size({"num_channels"}, 3);
  for (std::size_t i = 0; i < depths.size(); ++i) {
    if (i >= widths.size()) complain(c.at("depth") + " must be as long as embed_dim, found " + std::to_string(depths.size()));
    const auto w = widths[i];
    if (word("qkv_projection_method", i, "dw_bn") != "dw_bn") complain(c.at("qkv_projection_method") + " must be dw_bn throughout");
    const bool bias = word("qkv_bias", i, true) == true;
    const auto ratio = word("mlp_ratio", i, 4.0);
    if (!ratio.is_number()) complain(c.at("mlp_ratio") + " must be a list of numbers");
    count_conv(t, in, w, patches[i], true);
    t.layer_norm(w);
    count_depthwise_norm(t, w, windows[i], checked::mul(3, depths[i]));
    count_layers({.layers = depths[i], .hidden = w, .ffn = static_cast<std::int64_t>(static_cast<double>(w) * ratio.get<double>()), .bias = bias, .key_bias = bias}, t);
    if (word("cls_token", i, i == 2) == true) t.add(component::embedding, widths.back());  // as wide as the last stage, wherever it stands
    in = w;
  }
  return widths.back();
}

inline constexpr counted_class counted_objects[] = {
    {"SamModel", "sam", count_sam},
    {"SamHQModel", "sam_hq", count_sam_hq},
    {"PixioModel", "pixio", count_pixio},
    {"MLCDVisionModel", "mlcd_vision_model", count_mlcd},
    {"XCLIPModel", "xclip", count_xclip},
    {"XCLIPTextModel", "xclip_text_model", [](const config& c, tally& t) { count_clip_text(c, t, clip_text); }},
    {"XCLIPVisionModel", "xclip_vision_model", [](const config& c, tally& t) { count_xclip_vision(c, t); }},
    {"AriaModel", "aria", count_bare<count_aria>},
    {"AriaForConditionalGeneration", "aria", count_speaking<count_aria, false>},
    {"TrOCRForCausalLM", "trocr", count_trocr},
    {"Qwen3OmniMoeThinkerForConditionalGeneration", "qwen3_omni_moe_thinker", count_speaking<count_omni3_thinker, false>},
    {"Qwen3OmniMoeThinkerTextModel", "qwen3_omni_moe_text", count_bare<count_omni3_text>},
    {"Qwen3OmniMoeAudioEncoder", "qwen3_omni_moe_audio_encoder", count_omni3_audio},
    {"CvtModel", "cvt", [](const config& c, tally& t) { count_cvt(c, t); }},
    {"CvtForImageClassification", "cvt", [](const config& c, tally& t) {
       const auto hidden = count_cvt(c, t);
       t.layer_norm(hidden);
       count_classifier(c, t, hidden);
     }},
};

}  // namespace headroom::io::detail
