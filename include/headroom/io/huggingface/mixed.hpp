// Distributed under the Boost Software License, Version 1.0.
// Decoders with parts of their own: MiMo-V2's heads of two sizes, RecurrentGemma's recurrence, Gemma 3n's residual streams. Class defaults are those of
// transformers 5.16's configuration_<family>.py.
#pragma once

#include <headroom/io/huggingface/hybrid.hpp>

#include <utility>
#include <vector>

namespace headroom::io::detail {

/// What MiMo-V2's published files say beside, which the class does not read. Code beside the checkpoint does: there it must be what the class builds.
/// `windows`, `routes`: a 1 for each layer behind a window, and for each with experts.
inline void check_mimo_v2_file(const config& c, std::int64_t heads, std::int64_t kv, std::int64_t width, std::int64_t value, const json& windows, const json& routes) {
  const std::pair<const char*, json> built[] = {{"swa_num_attention_heads", heads}, {"swa_head_dim", width}, {"swa_v_head_dim", value}, {"swa_num_key_value_heads", checked::mul(2, kv)},
                                                {"add_swa_attention_sink_bias", true}, {"add_full_attention_sink_bias", false}, {"n_shared_experts", 0}, {"hybrid_layer_pattern", windows},
                                                {"moe_layer_freq", routes}};
  for (const auto& [key, says] : built) {
    c.ignore({key});
    const json* found = c.find({key});
    if (c.has("auto_map") && found != nullptr && !found->is_null() && *found != says) complain(c.at(key) + " must be " + shown(says) + ", as the class builds it, found " + shown(*found));
  }
}

/// MiMoV2FlashForCausalLM: heads wider in q and k than in v; layers behind a window have twice the key-value heads, and sinks.
inline void read_mimo_v2(const config& c, shape& m) {
  m = read_dense(c, dense_defaults("mimo_v2_flash"));
  c.ignore({"attention_value_scale", "sliding_window_size", "layernorm_epsilon", "swa_rope_theta"});
  m.output_bias = false;
  m.value_dim = c.size({"v_head_dim"}, 128);
  m.rotary_percent = c.percent({"partial_rotary_factor"}, 33);
  m.attention_sinks = m.fixed_sinks = true;
  auto& e = m.experts;
  e.count = c.count({"num_local_experts", "n_routed_experts"}, 256);
  e.active = c.count({"num_experts_per_tok"}, 8);
  e.ffn = c.size({"moe_intermediate_size"}, 2048);
  e.fp32_router = true;
  e.raw_weights = !c.flag("norm_topk_prob", true);
  constexpr layer_kind local{}, global{mixer_kind::global_attention, feed_forward_kind::unset};
  layer_pattern mixers;
  if (read_layer_types(c, {"layer_types"}, {{"sliding_attention", local}, {"full_attention", global}}, m)) {
    mixers = m.pattern;
  } else {
    for (std::int64_t i = 0; i < m.layers; ++i) mixers.add(i == 0 || (i + 1) % 6 == 0 ? global : local);
  }
  m.pattern = {};
  layer_pattern feeds;
  if (read_layer_types(c, {"mlp_layer_types"}, {{"sparse", {mixer_kind::none, feed_forward_kind::experts}}, {"dense", {mixer_kind::none, feed_forward_kind::dense}}}, m)) feeds = m.pattern;
  m.pattern = {};
  json windows = json::array(), routes = json::array();
  for (std::int64_t i = 0; i < m.layers; ++i) {
    const auto fed = feeds.given() ? feeds.at(i).feeds : i > 0 ? feed_forward_kind::experts : feed_forward_kind::dense;
    m.pattern.add({mixers.at(i).mixer, fed});
    windows.push_back(global != layer_kind{mixers.at(i).mixer, feed_forward_kind::unset} ? 1 : 0);
    routes.push_back(fed == feed_forward_kind::experts ? 1 : 0);
  }
  check_mimo_v2_file(c, m.heads, m.kv(), m.head_width(), m.value_dim, windows, routes);
  m.pattern = m.pattern.shortest(m.layers);
  m.global.kv_heads = m.kv();
  m.kv_heads = checked::mul(2, m.kv());
}

/// RecurrentGemmaForCausalLM: RG-LRU behind a convolution, and attention over a window in every third layer; the MLP is half as wide as intermediate_size says.
inline void read_recurrent_gemma(const config& c, shape& m) {
  m = read_dense(c, dense_defaults("recurrent_gemma"));
  c.ignore({"w_init_variance_scale", "final_w_init_variance_scale", "embeddings_scale_by_sqrt_dim"});
  m.activation = activation_of(c, {"hidden_activation"}, "gelu_pytorch_tanh");
  m.norm_offset = m.output_bias = m.mlp_bias = true;
  m.ffn /= 2;
  m.rotary_percent = c.percent({"partial_rotary_factor"}, 50);
  m.sliding_window = c.size({"attention_window_size"}, 2048);
  m.logit_softcap = c.softcap("logits_soft_cap", 30);
  const auto width = c.nullable({"lru_width"}, m.hidden, m.hidden);
  auto& s = m.ssm;
  s.heads = m.heads;
  s.conv = c.count({"conv1d_width"}, 4);
  if (width % s.heads != 0) complain(c.at("lru_width") + " must be a multiple of num_attention_heads, found " + std::to_string(width) + " and " + std::to_string(s.heads));
  s.head_dim = width / s.heads;
  constexpr layer_kind recurrent{mixer_kind::rg_lru, feed_forward_kind::unset}, full{};
  const json* types = c.find({"block_types", "_block_types"});
  if (types == nullptr) {
    for (const auto& kind : {recurrent, recurrent, full}) m.pattern.add(kind);
    return;
  }
  if (!types->is_array() || types->empty()) complain(c.at("block_types") + " must be a list of recurrent and attention, found " + shown(*types));
  for (std::int64_t i = 0; i < m.layers; ++i) {
    const auto& word = (*types)[static_cast<std::size_t>(i) % types->size()];
    if (word != "recurrent" && word != "attention") complain(c.at("block_types") + " must hold recurrent and attention alone, found " + shown(word));
    m.pattern.add(word == "recurrent" ? recurrent : full);
  }
  m.pattern = m.pattern.shortest(m.layers);
}

/// Which of Gemma 3n's layers cut their gates: those whose activation_sparsity_pattern is above 0, the first ten where it is absent.
inline std::vector<bool> read_cut_layers(const config& c, std::int64_t layers) {
  std::vector<bool> cuts;
  const json* list = c.find({"activation_sparsity_pattern"});
  const bool given = list != nullptr && !list->is_null();
  if (given && (!list->is_array() || static_cast<std::int64_t>(list->size()) != layers))
    complain(c.at("activation_sparsity_pattern") + " must be a list of " + std::to_string(layers) + " numbers, one for each layer, found " + shown(*list));
  for (std::int64_t i = 0; i < layers; ++i) {
    const json* one = given ? &(*list)[static_cast<std::size_t>(i)] : nullptr;
    if (one != nullptr && (!one->is_number() || one->get<double>() < 0 || one->get<double>() >= 1)) complain(c.at("activation_sparsity_pattern") + " must hold numbers from 0 to below 1, found " + shown(*one));
    cuts.push_back(one != nullptr ? one->get<double>() > 0 : layers > 10 && i < 10);
  }
  return cuts;
}

/// Gemma3nForCausalLM: four residual streams, a way of low rank beside attention, embeddings for each layer, last layers that share keys and values, and first
/// ones whose gates are mostly zero.
inline void read_gemma3n(const config& c, shape& m) {
  auto plain = c.object();
  if (const json* widths = c.find({"intermediate_size"}); widths != nullptr && widths->is_array()) {
    for (const auto& one : *widths)
      if (one != widths->front()) complain(c.at("intermediate_size") + " must be one for all layers: others are counted, and not walked, by this version; found " + shown(*widths));
    if (widths->empty()) complain(c.at("intermediate_size") + " must be a number, or a list of one for each layer, found []");
    plain["intermediate_size"] = widths->front();
  }
  m = read_dense({plain, c.path(), c.asked()}, dense_defaults("gemma3n_text"));
  if (const json* widths = c.find({"intermediate_size"}); widths != nullptr && widths->is_array() && static_cast<std::int64_t>(widths->size()) != m.layers)
    complain(c.at("intermediate_size") + " must be a number, or a list of " + std::to_string(m.layers) + ", found " + shown(*widths));
  m.activation = activation_of(c, {"hidden_activation"}, "gelu_pytorch_tanh");
  m.qk_norm = m.value_norm = m.post_norms = m.norm_power = true;
  m.logit_softcap = c.softcap("final_logit_softcapping", 30);
  m.layer_input = {c.size({"hidden_size_per_layer_input"}, 256), c.size({"vocab_size_per_layer_input"}, 262144)};
  m.altup = {c.count({"altup_num_inputs"}, 4), c.size({"laurel_rank"}, 64)};
  c.ignore({"altup_active_idx"});
  if (!c.flag("altup_correct_scale", true)) complain(c.at("altup_correct_scale") + " must be true: what is not scaled is counted, and not walked, by this version; found false");
  if (const json* clip = c.find({"altup_coef_clip"}); clip != nullptr && !clip->is_number()) complain(c.at("altup_coef_clip") + " must be a number: coefficients that are not cut are counted, and not walked, by this version; found " + shown(*clip));
  constexpr layer_kind local{}, global{mixer_kind::global_attention, feed_forward_kind::unset};
  if (!read_layer_types(c, {"layer_types"}, {{"sliding_attention", local}, {"full_attention", global}}, m))
    for (std::int64_t i = 0; i < m.layers; ++i) m.pattern.add((i + 1) % 5 == 0 ? global : local);
  const auto cuts = read_cut_layers(c, m.layers);
  const auto before = m.pattern;
  m.pattern = {};
  for (std::int64_t i = 0; i < m.layers; ++i) m.pattern.add({before.at(i).mixer, cuts[static_cast<std::size_t>(i)] ? feed_forward_kind::cut : feed_forward_kind::dense});
  share_last_keys(c, m, c.number({"num_kv_shared_layers"}, 15, 0, config::most), false);
  m.pattern = m.pattern.shortest(m.layers);
}

/// The families with such parts. Returns false where the family is not one of them.
inline bool read_mixed_decoder(const config& c, std::string_view type, shape& m) {
  if (type == "mimo_v2_flash") return read_mimo_v2(c, m), true;
  if (type == "recurrent_gemma") return read_recurrent_gemma(c, m), true;
  if (type == "gemma3n_text") return read_gemma3n(c, m), true;
  return false;
}

}  // namespace headroom::io::detail
