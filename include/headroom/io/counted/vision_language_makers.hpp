// Distributed under the Boost Software License, Version 1.0.
// Models that see, speak and draw or search: Janus, Florence-2, Kosmos-2.5, Qwen3-Omni's thinker, ColPali.
#pragma once

#include <headroom/io/counted/language.hpp>
#include <headroom/io/counted/vision_language_towers.hpp>

namespace headroom::io::detail {

/// transformers, modeling_janus.py, JanusVQVAEResnetBlock: two convolutions behind GroupNorms, and a third where widths differ.
inline void count_resnet_block(tally& t, std::int64_t in, std::int64_t out) {
  t.layer_norm(in);
  count_conv(t, in, out, 3, true);
  t.layer_norm(out);
  count_conv(t, out, out, 3, true);
  if (in != out) count_conv(t, in, out, 1, true);
}
inline void count_pixel_attention(tally& t, std::int64_t width) {
  t.layer_norm(width);
  count_conv(t, width, width, 1, true, 4);
}
inline void count_middle(tally& t, std::int64_t width) {
  count_resnet_block(t, width, width);
  count_pixel_attention(t, width);
  count_resnet_block(t, width, width);
}
/// JanusVQVAE: pictures to codes and back. Attention stands in the last level alone.
inline void count_janus_codes(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"num_patches", "projection_dim", "num_hidden_layers", "image_token_embed_dim"});
  const auto width = c.size({"embed_dim"}, 8), latent = c.size({"latent_channels"}, 256), base = c.size({"base_channels"}, 128), blocks = c.number({"num_res_blocks"}, 2, 0, config::most);
  const auto levels = list_of(c, "channel_multiplier", {1, 1, 2, 2, 4});
  check_layers(c, "num_res_blocks", checked::mul(blocks, static_cast<std::int64_t>(levels.size())));
  auto in = base;
  count_conv(t, c.size({"in_channels"}, 3), base, 3, true);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    in = checked::mul(base, i == 0 ? 1 : levels[i - 1]);
    for (std::int64_t b = 0; b < blocks; ++b) {
      count_resnet_block(t, in, checked::mul(base, levels[i]));
      in = checked::mul(base, levels[i]);
      if (i + 1 == levels.size()) count_pixel_attention(t, in);
    }
    if (i + 1 != levels.size()) count_conv(t, in, in, 3, true);
  }
  count_middle(t, in);
  t.layer_norm(in);
  count_conv(t, in, c.flag("double_latent", false) ? checked::mul(2, latent) : latent, 3, true);
  t.add(component::embedding, width, c.size({"num_embeddings"}, 16384));
  count_conv(t, latent, width, 1, true);
  count_conv(t, width, latent, 1, true);
  in = checked::mul(base, levels.back());
  count_conv(t, latent, in, 3, true);
  count_middle(t, in);
  for (std::size_t i = levels.size(); i-- > 0;) {
    for (std::int64_t b = 0; b <= blocks; ++b) {
      count_resnet_block(t, in, checked::mul(base, levels[i]));
      in = checked::mul(base, levels[i]);
      if (i + 1 == levels.size()) count_pixel_attention(t, in);
    }
    if (i != 0) count_conv(t, in, in, 3, true);
  }
  t.layer_norm(in);
  count_conv(t, in, c.size({"out_channels"}, 3), 3, true);
}
/// modeling_chameleon.py, ChameleonVQVAE: the same way in, without a way back to pixels. It never trains.
inline void count_chameleon_codes(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"resolution", "initializer_range", "dropout"});
  if (c.has("attn_resolutions")) complain(c.at("attn_resolutions") + " must be null, found " + shown(c.find({"attn_resolutions"})));
  const auto base = c.size({"base_channels"}, 128), blocks = c.number({"num_res_blocks"}, 2, 0, config::most), latent = c.size({"latent_channels"}, 256), width = c.size({"embed_dim"}, 256);
  const auto levels = list_of(c, "channel_multiplier", {1, 1, 2, 2, 4});
  check_layers(c, "num_res_blocks", checked::mul(blocks, static_cast<std::int64_t>(levels.size())));
  auto in = base;
  count_conv(t, c.size({"in_channels"}, 3), base, 3, true);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    in = checked::mul(base, i == 0 ? 1 : levels[i - 1]);
    for (std::int64_t b = 0; b < blocks; ++b) count_resnet_block(t, in, checked::mul(base, levels[i])), in = checked::mul(base, levels[i]);
    if (i + 1 != levels.size()) count_conv(t, in, in, 3, true);
  }
  count_resnet_block(t, in, in);
  if (c.text({"attn_type"}, "vanilla") == "vanilla") count_pixel_attention(t, in);
  count_resnet_block(t, in, in);
  t.layer_norm(in);
  count_conv(t, in, c.flag("double_latent", false) ? checked::mul(2, latent) : latent, 3, true);
  t.add(component::embedding, width, c.size({"num_embeddings"}, 8192));
  count_conv(t, latent, width, 1, true);
  count_conv(t, width, latent, 1, true);
}
/// ChameleonModel: Llama with norms over all of q and of k, and pictures as words.
inline language count_chameleon(const config& c, tally& t) {
  const auto s = read_language(c, {32, 4096, 32, 32, 0, 11008, 65536});
  if (s.hidden % s.heads != 0) complain(c.at("hidden_size") + " must be a multiple of num_attention_heads, " + std::to_string(s.heads) + ", found " + std::to_string(s.hidden));
  if (s.head_dim != s.hidden / s.heads) complain(c.at("head_dim") + " must be absent: the class derives it");
  c.ignore({"swin_norm", "vocabulary_map", "model_parallel_size"});
  const bool bias = c.flag("attention_bias", false);
  t.within(component::vision, [&] { count_chameleon_codes(c.child("vq_config"), t); });
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, bias, bias, s.layers);
  t.layer_norm(checked::add(s.hidden, checked::mul(s.kv, s.head_dim)), s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, c.flag("mlp_bias", false), s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return {s.hidden, s.vocab, false};
}
inline void count_janus_vision(const config& c, tally& t) {
  const auto s = read_tower_sizes(c, {1024, 0, 24, 16, 384});
  c.ignore({"projection_dim", "depth", "num_image_tokens", "use_vision_head", "intermediate_size"});
  const bool bias = c.flag("attention_bias", true);
  count_patches(s, t);
  t.add(component::embedding, s.hidden, s.patches);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = times_ratio(c, "mlp_ratio", 4, s.hidden), .bias = bias, .key_bias = bias}, t);
  if (c.flag("use_qk_norm", false)) t.layer_norm(s.hidden, checked::mul(2, s.layers));
  t.layer_norm(s.hidden);
}
inline language count_janus(const config& c, tally& t) {
  const auto sight = c.child("vision_config"), codes = c.child("vq_config");
  t.within(component::vision, [&] {
    count_janus_vision(sight, t);
    count_janus_codes(codes, t);
  });
  const auto l = count_language(c.child("text_config"), t, "llama");
  const auto out = sight.size({"projection_dim"}, 2048), words = codes.size({"num_embeddings"}, 16384), width = codes.size({"embed_dim"}, 8), drawn = codes.size({"projection_dim"}, 2048);
  t.linear(component::projector, sight.size({"hidden_size"}, 1024), out, true);
  t.linear(component::projector, out, out, true, sight.size({"depth"}, 2) - 1);
  t.add(component::embedding, words, width);
  t.linear(component::projector, width, drawn, true);
  t.linear(component::projector, drawn, drawn, true, codes.size({"num_hidden_layers"}, 2) - 1);
  t.linear(component::head, codes.size({"image_token_embed_dim"}, 2048), drawn, true);
  t.linear(component::head, drawn, words, true);
  return l;
}

/// modeling_florence2.py, Florence2VisionBackbone: each block attends over windows, then over channels.
inline std::int64_t count_florence_vision(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"patch_stride", "patch_padding", "num_groups", "window_size", "projection_dim", "max_temporal_embeddings", "max_position_embeddings", "drop_path_rate"});
  const auto depths = depths_of(c, "depths", {1, 1, 9, 1}), widths = list_of(c, "embed_dim", {128, 256, 512, 1024}), patches = list_of(c, "patch_size", {7, 3, 3, 3});
  check_stages(c, widths.size(), {depths.size(), patches.size()});
  const json* before = c.find({"patch_prenorm"});
  const auto flag = [](const json& v) { return v.is_boolean(); };
  if (before != nullptr && (!before->is_array() || before->size() < widths.size() || !std::all_of(before->begin(), before->end(), flag))) complain(c.at("patch_prenorm") + " must be a list of true and false, one for each stage, found " + shown(*before));
  const bool bias = c.flag("qkv_bias", true);
  auto in = c.size({"in_channels"}, 3);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto w = widths[i], times = checked::mul(2, depths[i]);
    const bool first = before == nullptr ? i != 0 : before->at(i) == true;
    count_conv(t, in, w, patches[i], true);
    t.layer_norm(first ? in : w);
    count_conv(t, 1, w, 3, true, checked::mul(2, times));
    count_layers({.layers = times, .hidden = w, .ffn = times_ratio(c, "mlp_ratio", 4, w), .bias = bias, .key_bias = bias}, t);
    in = w;
  }
  return in;
}
inline language count_florence(const config& c, tally& t) {
  const auto sight = c.child("vision_config");
  std::int64_t width = 0;
  t.within(component::vision, [&] { width = count_florence_vision(sight, t); });
  const auto l = count_language(c.child("text_config"), t, "bart", {1024, 50265, true});
  const auto out = sight.size({"projection_dim"}, 1024);
  t.linear(component::projector, width, out, false);
  t.layer_norm(out);
  t.add(component::projector, width, sight.size({"max_position_embeddings"}, 50));
  return l;
}

/// modeling_kosmos2_5.py.
inline language count_kosmos2_5(const config& c, tally& t) {
  c.ignore({"latent_query_num"});
  const auto sight = c.child("vision_config"), text = c.child("text_config");
  pass_over_vision(sight);
  pass_over_vision(text);
  sight.ignore({"dense_act_fn"});
  text.ignore({"max_position_embeddings", "attention_heads", "tie_word_embeddings"});
  if (text.flag("add_cross_attention", false)) complain(text.at("add_cross_attention") + " must be false, found true");
  const auto width = sight.size({"hidden_size"}, 1536), hidden = text.size({"embed_dim"}, 1536), vocab = text.size({"vocab_size"}, 108481), ffn = text.size({"ffn_dim"}, 6144), layers = text.number({"layers"}, 24, 0, config::most);
  t.within(component::vision, [&] {
    t.linear(component::embedding, sight.size({"patch_embed_hidden_size"}, 768), width, true);
    t.add(component::embedding, width, checked::mul(2, sight.size({"max_num_patches"}, 4096)));
    count_layers({.layers = sight.number({"num_hidden_layers"}, 18, 0, config::most), .hidden = width, .ffn = sight.size({"intermediate_size"}, 3968), .inner = checked::mul(sight.count({"num_attention_heads"}, 24), sight.size({"head_dim"}, 64)),
                  .bias = false, .key_bias = false, .out_bias = false, .mlp_bias = false, .gated = true, .rms = true}, t);
    t.rms_norm(width);
  });
  t.embedding(vocab, hidden);
  t.embedding(2, hidden);
  count_layers({.layers = layers, .hidden = hidden, .ffn = ffn}, t);
  t.layer_norm(ffn, layers);
  t.layer_norm(hidden);
  t.linear(component::projector, width, hidden, true);
  t.add(component::projector, hidden, c.size({"latent_query_num"}, 2048));
  t.within(component::projector, [&] { count_attention(t, hidden); });
  return {hidden, vocab, text.flag("tie_word_embeddings", true)};
}

/// modeling_colpali.py, modeling_colqwen2.py: a model that sees and speaks, and one matrix instead of its head.
inline void count_retrieval(const config& c, tally& t, const char* usual) {
  const json defaults = {{"model_type", usual}};
  if (c.has("vlm_config") && !c.child("vlm_config").has("model_type")) complain(c.at("vlm_config") + " must be the configuration of a model, with its model_type");
  const auto model = c.has("vlm_config") ? c.child("vlm_config") : config{defaults, c.at("vlm_config")};
  c.ignore({"text_config", "tie_word_embeddings"});
  if (c.has("text_config")) {  // as the class saves it: a copy
    const auto* inner = model.find({"text_config"});
    if (inner == nullptr || *inner != *c.find({"text_config"})) complain(c.at("text_config") + " must be what vlm_config says, or be absent");
    ask_all(c.child("text_config"));
  }
  t.model(count_inner(model, usual));
  const auto walked = walked_inner(model, model.text({"model_type"}, usual));
  if (!walked) complain(model.at("model_type") + " must be a family that is walked, found " + shown(model.find({"model_type"})));
  t.linear(component::head, walked->hidden, c.size({"embedding_dim"}, 128), true);
}

inline constexpr counted_class counted_makers[] = {
    {"JanusModel", "janus", count_bare<count_janus>},
    {"JanusForConditionalGeneration", "janus", count_speaking<count_janus, true>},
    {"JanusVisionModel", "janus_vision_model", count_janus_vision},
    {"JanusVQVAE", "janus_vqgan", count_janus_codes},
    {"ChameleonVQVAE", "chameleon_vqgan", count_chameleon_codes},
    {"ChameleonModel", "chameleon", count_bare<count_chameleon>},
    {"ChameleonForConditionalGeneration", "chameleon", count_speaking<count_chameleon, false>},
    {"Florence2Model", "florence2", count_bare<count_florence>},
    {"Florence2ForConditionalGeneration", "florence2", count_speaking<count_florence, true>},
    {"Florence2VisionBackbone", "florence_vision", [](const config& c, tally& t) { count_florence_vision(c, t); }},
    {"Kosmos2_5Model", "kosmos-2.5", count_bare<count_kosmos2_5>},
    {"Kosmos2_5ForConditionalGeneration", "kosmos-2.5", [](const config& c, tally& t) {
       pass_over_vision(c);
       c.ignore({"tie_word_embeddings"});
       if (const auto l = count_kosmos2_5(c, t); !l.tied) t.linear(component::head, l.hidden, l.vocab, false);
     }},
    {"ColPaliForRetrieval", "colpali", [](const config& c, tally& t) { count_retrieval(c, t, "paligemma"); }},
    {"ColQwen2ForRetrieval", "colqwen2", [](const config& c, tally& t) { count_retrieval(c, t, "qwen2_vl"); }},
};

}  // namespace headroom::io::detail
