// Distributed under the Boost Software License, Version 1.0.
// Models that see and speak with parts like no other's: Ovis, GOT-OCR, Kosmos-2, Idefics, Qwen2.5-Omni's thinker, MiniCPM-V 4.6.
#pragma once

#include <headroom/io/counted/language.hpp>
#include <headroom/io/counted/vision_language_towers.hpp>

namespace headroom::io::detail {

/// transformers, modeling_ovis2.py: pictures as a distribution over visual words, whose table is `hidden_size` wide.
inline std::int64_t count_ovis2_vision(const config& c, tally& t, std::int64_t indicators) {
  const auto s = read_tower_sizes(c, {1024, 2816, 24, 14, 224});
  c.ignore({"tokenize_function"});
  const auto words = c.size({"vocab_size"}, 16384), stride = c.size({"hidden_stride"}, 1), out = words - c.number({"num_visual_indicator_tokens"}, indicators, 0, words - 1);
  const bool bias = c.flag("qkv_bias", false), mlp = c.flag("mlp_bias", false);
  count_patches(s, t);
  t.add(component::embedding, s.hidden, s.patches);
  t.rms_norm(s.hidden, 2);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias, .out_bias = bias, .mlp_bias = mlp, .gated = true, .rms = true}, t);
  t.linear(component::projector, checked::mul(s.hidden, checked::mul(stride, stride)), out, false);
  t.layer_norm(out);
  return words;
}
inline language count_ovis2(const config& c, tally& t) {
  const auto indicators = c.has("vision_config") ? 5 : static_cast<std::int64_t>(list_of(c, "visual_indicator_token_ids", std::vector<std::int64_t>(5), 0).size());
  c.ignore({"visual_indicator_token_ids"});
  std::int64_t words = 0;
  t.within(component::vision, [&] { words = count_ovis2_vision(c.child("vision_config"), t, indicators); });
  auto l = count_language(c.child("text_config"), t, "qwen2");
  l.hidden = c.size({"hidden_size"}, 1536);  // of the head, too
  l.vocab = c.size({"vocab_size"}, 151643);
  t.embedding(words, l.hidden);
  return l;
}

/// modeling_got_ocr2.py: SAM's tower, two convolutions, one matrix.
inline const json got_text = {{"model_type", "qwen2"}, {"vocab_size", 151860}, {"hidden_size", 1024}, {"intermediate_size", 2816}, {"num_hidden_layers", 24}, {"num_attention_heads", 16}, {"num_key_value_heads", 16}};
inline const sam_usual got_sight{768, 12, 12, 1024, 16, 14, 3072, 256, {2, 5, 8, 11}};
inline language count_got(const config& c, tally& t) {
  const auto sight = c.child("vision_config");
  t.within(component::vision, [&] { count_sam_vision(sight, t, got_sight); });
  const auto l = count_language(child_or(c, "text_config", got_text), t, "qwen2");
  const auto channels = sight.size({"output_channels"}, 256);
  t.within(component::projector, [&] {
    count_conv(t, channels, checked::mul(2, channels), 3, false);
    count_conv(t, checked::mul(2, channels), l.hidden, 3, false);
    t.linear(component::projector, l.hidden, l.hidden, true);
  });
  return l;
}

/// modeling_deepseek_vl_hybrid.py: SigLIP and SAM side by side.
inline language count_deepseek_hybrid(const config& c, tally& t) {
  const auto width = count_tower(c.child("vision_config"), t, "siglip_vision_model");
  const auto high = c.child("high_res_vision_config");
  t.within(component::vision, [&] { t.model(count_inner(high, "sam_vision_model")); });
  const auto l = count_language(c.child("text_config"), t, "llama");
  const auto hidden = high.size({"hidden_size"}, 768), channels = high.size({"output_channels"}, 256);
  t.within(component::projector, [&] {
    count_conv(t, hidden, channels, 1, false);
    count_conv(t, channels, channels, 3, false);
    t.layer_norm(channels, 2);
    count_conv(t, channels, checked::mul(2, channels), 3, false);
    count_conv(t, checked::mul(2, channels), checked::mul(4, channels), 3, false);
    t.linear(component::projector, width, l.hidden / 2, true);
    t.linear(component::projector, checked::mul(4, channels), l.hidden / 2, true);
    t.linear(component::projector, l.hidden, l.hidden, true);
    t.add(component::other, 1);
  });
  return l;
}

/// modeling_kosmos2.py: norms inside attention and MLP; positions are computed.
inline language count_kosmos2_text(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"max_position_embeddings", "attention_heads", "tie_word_embeddings"});
  const auto hidden = c.size({"embed_dim"}, 2048), ffn = c.size({"ffn_dim"}, 8192), layers = c.number({"layers"}, 24, 0, config::most), vocab = c.size({"vocab_size"}, 65037);
  if (c.flag("add_cross_attention", false)) complain(c.at("add_cross_attention") + " must be false, found true");
  t.embedding(vocab, hidden);
  count_layers({.layers = layers, .hidden = hidden, .ffn = ffn, .norms = 3}, t);
  t.layer_norm(ffn, layers);
  t.layer_norm(hidden);
  return {hidden, vocab, true};
}
inline language count_kosmos2(const config& c, tally& t) {
  c.ignore({"latent_query_num"});
  std::int64_t width = 0;
  t.within(component::vision, [&] { width = count_clip_vision(c.child("vision_config"), t, {1024, 4096, 24, 14, 224}); });
  const auto l = count_kosmos2_text(c.child("text_config"), t);
  t.linear(component::projector, width, l.hidden, true);
  t.add(component::projector, l.hidden, c.size({"latent_query_num"}, 64));
  t.within(component::projector, [&] { count_attention(t, l.hidden); });
  return l;
}

/// modeling_qwen2_5_omni.py, Qwen2_5OmniAudioEncoder, and Qwen2's decoder.
inline void count_omni_audio(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"encoder_attention_heads", "max_source_positions", "n_window"});
  const auto width = c.size({"d_model"}, 1280), out = c.size({"output_dim"}, 3584), mels = c.size({"num_mel_bins"}, 128);
  t.linear(component::encoder, checked::mul(3, mels), width, true);
  t.linear(component::encoder, checked::mul(3, width), width, true);
  t.add(component::encoder, out, 2);
  count_layers({.layers = c.number({"encoder_layers"}, 32, 0, config::most), .hidden = width, .ffn = c.size({"encoder_ffn_dim"}, 5120), .key_bias = false}, t);
  t.layer_norm(width);
  t.linear(component::encoder, width, out, true);
}
inline language count_omni_text(const config& c, tally& t) {
  const auto s = read_language(c, {28, 3584, 28, 4, 0, 18944, 152064});
  c.ignore({"tie_word_embeddings"});
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, true, false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return {s.hidden, s.vocab, false};
}
inline language count_omni_thinker(const config& c, tally& t) {
  c.ignore({"position_id_per_seconds", "seconds_per_chunk", "audio_start_token_id", "audio_end_token_id", "user_token_id"});
  t.within(component::encoder, [&] { count_omni_audio(c.child("audio_config"), t); });
  t.within(component::vision, [&] { count_qwen2_5_vision(c.child("vision_config"), t); });
  return count_omni_text(c.child("text_config"), t);
}

/// modeling_minicpmv4_6.py: a merger among the tower's layers, and one behind it.
inline language count_minicpm_4_6(const config& c, tally& t) {
  c.ignore({"insert_layer_id", "image_size", "drop_vision_last_layer", "downsample_mode", "merge_kernel_size", "patch_size", "vision_batch_size", "query_num", "batch_vision_input", "slice_mode"});
  const auto sight = c.child("vision_config");
  sight.ignore({"insert_layer_id"});
  const auto s = read_tower_sizes(sight, {768, 3072, 12, 16, 224});
  const auto window = area(places_of(sight, "window_kernel_size", 2));
  if (window != 4) complain(sight.at("window_kernel_size") + " must be [2, 2], found " + shown(sight.find({"window_kernel_size"})));
  const auto wide = checked::mul(4, s.hidden), inside = checked::mul(4, s.ffn);
  t.within(component::vision, [&] {
    count_patches(s, t);
    t.add(component::embedding, s.hidden, s.patches);
    count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn}, t);
    count_attention(t, s.hidden);
    t.layer_norm(s.hidden, 2);
    t.layer_norm(wide);
    count_mlp(t, wide, inside, s.hidden);
  });
  const auto l = count_language(c.child("text_config"), t, "qwen3_5_text");
  const auto times = c.size({"merger_times"}, 1);
  t.within(component::projector, [&] {
    t.layer_norm(wide, times);
    t.linear(component::projector, wide, wide, true, times);
    t.linear(component::projector, wide, s.hidden, true, times - 1);
    t.linear(component::projector, wide, l.hidden, true);
  });
  return l;
}

/// modeling_idefics.py: gated layers that attend to the image, every few layers of a Llama.
inline language count_idefics(const config& c, tally& t) {
  const auto s = read_language(c, {32, 4096, 32, 0, 0, 11008, 32000});
  c.ignore({"alpha_initializer", "alphas_initializer_range", "freeze_text_layers", "freeze_text_module_exceptions", "freeze_lm_head", "freeze_vision_layers", "freeze_vision_module_exceptions", "perceiver_config.resampler_depth"});
  const auto sight = c.child("vision_config");
  const auto p = c.child("perceiver_config");
  p.ignore({"resampler_n_latents", "resampler_depth", "resampler_n_heads", "resampler_head_dim", "qk_layer_norms_perceiver"});
  for (const char* key : {"use_resampler"})
    if (c.flag(key, false) || p.flag(key, false)) complain(c.at(key) + " must be false, found true");
  for (const char* key : {"qk_layer_norms"})
    if (c.flag(key, false)) complain(c.at(key) + " must be false, found true");
  const auto extra = c.number({"additional_vocab_size"}, 0, 0), every = c.size({"cross_layer_interval"}, 1), gated = s.layers / every;
  const auto width = sight.size({"embed_dim"}, 768);
  const auto type = c.text({"alpha_type", "alphas_type"}, "float");
  if (type != "float" && type != "vector") complain(c.at("alpha_type") + " must be float or vector, found " + quoted_word(type));
  pass_over_vision(sight);
  const auto patch = sight.size({"patch_size"}, 14), side = sight.size({"image_size"}, 224) / patch;
  t.within(component::vision, [&] {
    t.linear(component::embedding, checked::mul(sight.size({"num_channels"}, 3), checked::mul(patch, patch)), width, false);
    t.add(component::embedding, width, checked::add(checked::mul(side, side), 2));
    count_layers({.layers = sight.number({"num_hidden_layers"}, 32, 0, config::most), .hidden = width, .ffn = sight.size({"intermediate_size"}, 5120)}, t);
    t.layer_norm(width, 2);
  });
  t.embedding(checked::add(s.vocab, extra), s.hidden);
  const auto all = checked::add(s.layers, gated);
  t.linear(component::attention, s.hidden, s.hidden, false, checked::mul(4, s.layers));
  t.linear(component::attention, s.hidden, s.hidden, false, checked::mul(2, gated));
  t.linear(component::attention, width, s.hidden, false, checked::mul(2, gated));
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, all);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, all), 1));
  t.add(component::other, type == "float" ? 1 : s.hidden, checked::mul(2, gated));
  return {s.hidden, checked::add(s.vocab, extra), false};
}

inline constexpr counted_class counted_vision_language_others[] = {
    {"Ovis2Model", "ovis2", count_bare<count_ovis2>},
    {"Ovis2ForConditionalGeneration", "ovis2", count_speaking<count_ovis2, true>},
    {"GotOcr2Model", "got_ocr2", count_bare<count_got>},
    {"GotOcr2ForConditionalGeneration", "got_ocr2", count_speaking<count_got, true>},
    {"GotOcr2ForConditionalGeneration", "pp_chart2table", count_speaking<count_got, true>},
    {"DeepseekVLHybridModel", "deepseek_vl_hybrid", count_bare<count_deepseek_hybrid>},
    {"DeepseekVLHybridForConditionalGeneration", "deepseek_vl_hybrid", count_speaking<count_deepseek_hybrid, true>},
    {"Kosmos2Model", "kosmos-2", count_bare<count_kosmos2>},
    {"Kosmos2ForConditionalGeneration", "kosmos-2", [](const config& c, tally& t) {
       pass_over_vision(c);
       const auto l = count_kosmos2(c, t);
       if (!c.flag("tie_word_embeddings", true) && !c.child("text_config").flag("tie_word_embeddings", true)) t.linear(component::head, l.hidden, l.vocab, false);
     }},
    {"Qwen2_5OmniThinkerForConditionalGeneration", "qwen2_5_omni_thinker", count_speaking<count_omni_thinker, false>},
    {"Qwen2_5OmniAudioEncoder", "qwen2_5_omni_audio_encoder", count_omni_audio},
    {"Qwen2_5OmniThinkerTextModel", "qwen2_5_omni_text", count_bare<count_omni_text>},
    {"MiniCPMV4_6Model", "minicpmv4_6", count_bare<count_minicpm_4_6>},
    {"MiniCPMV4_6ForConditionalGeneration", "minicpmv4_6", count_speaking<count_minicpm_4_6, false>},
    {"IdeficsModel", "idefics", count_bare<count_idefics>},
    {"IdeficsForVisionText2Text", "idefics", count_speaking<count_idefics, false>},
};

}  // namespace headroom::io::detail
