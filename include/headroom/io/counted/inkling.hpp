// Distributed under the Boost Software License, Version 1.0.
// Inkling of transformers 5.16 and 5.17, modeling_inkling.py: a language model, a table of sounds, and a vision tower that folds a patch step by step.
#pragma once

#include <headroom/io/counted/language_sparse.hpp>
#include <headroom/io/huggingface/ties.hpp>

#include <cmath>

namespace headroom::io::detail {

/// InklingTextModel: convolutions over keys, values and both blocks' outputs, positions as logits, a trained correction bias.
/// The head is never tied. `whole` is the file, which says of which release it is.
inline language_model count_inkling_words(const config& c, tally& t, const config& whole) {
  auto s = read_language(c, {66, 6144, 64, 8, 128, 24576, 201024});
  c.ignore({"unpadded_vocab_size", "log_scaling_n_floor", "log_scaling_alpha", "shared_expert_sink", "route_scale", "logits_mup_width_multiplier", "embedding_multiplier",
            "rms_norm_eps_moe_gate", "num_mtp_layers", "chain_hidden_post_norm", "mtp_hidden_states_first", "mtp_local_layer_ids", "number_of_conv_states", "model_max_length"});
  const auto kernel = c.count({"sconv_kernel_size", "conv_kernel_size"}, 4), relative = c.count({"d_rel"}, 16);
  const auto words = read_words(c, "layer_types", s.layers, {"hybrid", "hybrid_sliding"});
  auto local = count_of(words, "hybrid_sliding");
  const json* ids = c.find({"local_layer_ids"});
  if (words.empty() && ids != nullptr && !ids->is_null()) {
    std::vector<bool> named(static_cast<std::size_t>(s.layers));
    if (!ids->is_array()) complain(c.at("local_layer_ids") + " must be a list of layer numbers, found " + shown(*ids));
    for (const auto& one : *ids)
      if (const auto i = config::whole(one, c.at("local_layer_ids"), 0, config::most); i < s.layers) named[static_cast<std::size_t>(i)] = true;
    for (const bool one : named) local += one ? 1 : 0;
  } else if (words.empty()) {
    local = s.layers - s.layers / 6;
  }
  const auto window = c.size({"sliding_window", "sliding_window_size"}, 512), extent = c.size({"rel_extent"}, 1024);
  const auto layer = [&](std::int64_t reach, std::int64_t times) {
    count_attention(t, s, false, false, times);
    t.linear(component::attention, s.hidden, checked::mul(s.heads, relative), false, times);
    t.linear(component::attention, relative, reach, false, times);
    t.linear(component::attention, kernel, checked::mul(2, checked::mul(s.kv, s.head_dim)), false, times);
    t.rms_norm(s.head_dim, checked::mul(2, times));
  };
  layer(extent, s.layers - local);
  s.heads = c.count({"swa_num_attention_heads"}, 64), s.kv = c.count({"swa_num_key_value_heads"}, 16), s.head_dim = c.size({"swa_head_dim"}, 128);
  layer(window, local);
  t.linear(component::attention, kernel, s.hidden, false, checked::mul(2, s.layers));
  if (c.has("dense_intermediate_size")) s.ffn = c.size({"dense_intermediate_size"}, s.ffn);
  const auto dense = c.number({"dense_mlp_idx"}, 0, 0, config::most);
  const auto routes = read_words(c, "mlp_layer_types", s.layers, {"sparse", "dense"});
  const auto sparse = routes.empty() ? (dense < s.layers ? s.layers - dense : 0) : count_of(routes, "sparse");
  const auto shared = c.number({"n_shared_experts"}, 2, 0, config::most);
  routed_sizes e{c.count({"num_local_experts", "n_routed_experts"}, 256), c.count({"num_experts_per_tok"}, 6), c.size({"moe_intermediate_size"}, 3072)};
  e.shared = checked::mul(shared, e.ffn);
  count_mixture(t, s, e, sparse);
  t.add(component::mlp, 1, s.layers - sparse);
  const bool buffers = since_5_17(whole, sparse > 0, "keeps the correction of a router's choice as a buffer");
  t.add(component::router, checked::add(checked::add(checked::mul(shared, s.hidden), buffers ? 0 : e.experts), 1), sparse);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  auto frame = count_frame(c, t, s);
  frame.tied = false;
  return frame;
}

inline language_model count_inkling_text(const config& c, tally& t) { return count_inkling_words(c, t, c); }

/// One step of folding a patch: how many frames, rows and columns make one of `channels`.
struct inkling_scale {
  std::int64_t frames{1}, side{1}, channels{};
};

/// plan_out_scales: the scales that a patch can have, and of them one for each boundary between layers, spaced evenly by the logarithm of the
/// places that they take together. Fewer layers than scales are assigned otherwise, and refused.
inline std::vector<inkling_scale> plan_inkling_scales(const config& c, std::int64_t layers) {
  const auto frames = c.count({"temporal_patch_size"}, 2), side = c.number({"patch_size"}, 40, 2, config::most), channels = c.count({"num_channels"}, 3);
  const auto steps = [](std::int64_t n) {  // products of prime factors, the largest first
    std::vector<std::int64_t> factors, products;
    for (std::int64_t p = 2; n > 1; ++p)
      for (; n % p == 0; n /= p) factors.insert(factors.begin(), p);
    for (const auto f : factors) products.push_back(products.empty() ? f : checked::mul(products.back(), f));
    return products;
  };
  std::vector<inkling_scale> all{{1, 1, channels}};
  for (const auto h : steps(side)) all.push_back({1, h, checked::mul(checked::add(checked::mul(checked::mul(h, h), channels), 63) / 64, 64)});
  for (const auto t : steps(frames)) all.push_back({t, side, checked::mul(checked::mul(checked::mul(side, side), checked::mul(channels, t)), 64)});
  if (layers < static_cast<std::int64_t>(all.size()))
    complain(c.at("num_hidden_layers") + " must be at least " + std::to_string(all.size()) + ", as many as a patch has scales, found " + std::to_string(layers));
  const auto places = [](const inkling_scale& s) { return std::log(static_cast<double>(s.frames) * static_cast<double>(s.side) * static_cast<double>(s.side)); };
  const double whole = std::log(static_cast<double>(frames) * static_cast<double>(side) * static_cast<double>(side) * static_cast<double>(channels));
  std::vector<inkling_scale> plan;
  for (std::int64_t i = 0; i <= layers; ++i) {
    const double ideal = whole * static_cast<double>(i) / static_cast<double>(layers);
    const inkling_scale* best = &all.front();
    for (const auto& one : all) {
      const double gain = std::abs(ideal - places(*best)) - std::abs(ideal - places(one));
      if (&one != best && std::abs(gain) < 1e-4 && i > 0 && i < layers) complain(c.at("patch_size") + " has two scales as near to one layer; which of them the class takes is not known here");
      if (gain > 0) best = &one;
    }
    plan.push_back(i == layers ? all.back() : i == 0 ? all.front() : *best);
  }
  return plan;
}

/// InklingVisionModel.
inline void count_inkling_vision(const config& c, tally& t, std::int64_t text) {
  const auto layers = c.count({"n_layers", "num_hidden_layers"}, 24);
  c.ignore({"text_hidden_size", "hidden_size", "num_attention_heads", "max_position_embeddings", "intermediate_size"});
  const auto plan = plan_inkling_scales(c, layers);
  t.within(component::vision, [&] {
    for (std::size_t i = 0; i + 1 < plan.size(); ++i) {
      const auto &from = plan[i], &to = plan[i + 1];
      const auto side = to.side / from.side;
      const bool last = i + 2 == plan.size();
      const auto out = last ? text : to.channels;
      t.linear(component::vision, checked::mul(from.channels, checked::mul(to.frames / from.frames, checked::mul(side, side))), out, false);
      if (!last) t.rms_norm(out);
    }
    t.rms_norm(text);
  });
}

/// InklingModel.
inline language_model count_inkling(const config& c, tally& t) {
  const auto text = count_inkling_words(c.child("text_config"), t, c);
  const auto audio = c.child("audio_config");
  audio.ignore({"text_hidden_size", "hidden_size", "max_position_embeddings"});
  t.within(component::encoder, [&] {
    t.embedding(checked::mul(audio.count({"num_codebooks", "n_mel_bins"}, 80), audio.count({"codebook_size", "mel_vocab_size"}, 256)), text.hidden);
    t.rms_norm(text.hidden);
  });
  count_inkling_vision(c.child("vision_config"), t, text.hidden);
  c.ignore({"tie_word_embeddings", "max_position_embeddings"});
  c.child("mtp_config").ignore({"num_nextn_predict_layers", "chain_hidden_post_norm", "local_layer_ids"});  // multi-token prediction is not built
  return text;
}

inline constexpr counted_class counted_inklings[] = {
    {"InklingTextModel", "inkling_text", count_base<count_inkling_text>},
    {"InklingForCausalLM", "inkling_text", count_causal<count_inkling_text>},
    {"InklingModel", "inkling_mm_model", count_base<count_inkling>},
    {"InklingForConditionalGeneration", "inkling_mm_model", count_causal<count_inkling>},
};

}  // namespace headroom::io::detail
