// Distributed under the Boost Software License, Version 1.0.
// Language models with experts over ordinary attention. Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language.hpp>

#include <utility>

namespace headroom::io::detail {

/// Dense MLPs in `s.layers - sparse` layers, experts in `sparse`.
inline void count_mixture(tally& t, const language_sizes& s, const routed_sizes& e, std::int64_t sparse) {
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers - sparse);
  count_routed(t, s.hidden, e, sparse);
}

/// modeling_afmoe.py: gated attention, norms on both sides, and a correction bias that never trains.
inline language_model count_afmoe(const config& c, tally& t) {
  const auto s = read_language(c, {32, 2048, 16, 0, 128, 6144, 200192});
  c.ignore({"route_scale", "global_attn_every_n_layers", "mup_enabled"});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  t.linear(component::attention, s.hidden, checked::mul(s.heads, s.head_dim), false, s.layers);
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  const auto dense = c.number({"num_dense_layers"}, 1, 0, config::most);
  const auto sparse = dense < s.layers ? s.layers - dense : 0;
  routed_sizes e{c.count({"num_experts"}, 64), c.count({"num_experts_per_tok"}, 6), c.size({"moe_intermediate_size"}, 1408)};
  e.shared = checked::mul(e.ffn, c.number({"num_shared_experts"}, 2, 0, config::most));
  count_mixture(t, s, e, sparse);
  t.frozen(component::router, checked::mul(e.experts, sparse));
  t.rms_norm(s.hidden, checked::mul(4, s.layers));
  return count_frame(c, t, s);
}

/// modeling_cohere2_moe.py: one norm for attention and MLP side by side.
inline language_model count_cohere2_moe(const config& c, tally& t) {
  auto s = read_language(c, {40, 8192, 64, 0, 128, 22528, 256000});
  c.ignore({"logit_scale", "shared_expert_combination_strategy", "expert_selection_fn", "prefix_dense_sliding_window_pattern", "sliding_window_pattern"});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  routed_sizes e{c.count({"num_experts"}, 8), c.count({"num_experts_per_tok"}, 2), s.ffn};
  e.shared = checked::mul(e.ffn, c.number({"num_shared_experts"}, 0, 0, config::most));
  s.ffn = c.nullable({"prefix_dense_intermediate_size"}, s.ffn, s.ffn);
  count_mixture(t, s, e, read_sparse_layers(c, s.layers, c.number({"first_k_dense_replace"}, 0, 0, config::most)));
  t.rms_norm(s.hidden, s.layers);
  return count_frame(c, t, s, true);
}

/// The width of a gate over attention's output: one number for each head, or one for each of its channels.
inline std::int64_t read_attention_gate(const config& c, std::int64_t head_dim) {
  const json* gating = c.find({"gating"});
  if (gating != nullptr && !gating->is_boolean() && *gating != "per-head" && *gating != "per-channel") complain(c.at("gating") + " must be true, false, \"per-head\" or \"per-channel\", found " + shown(*gating));
  return gating == nullptr || *gating == true || *gating == "per-head" ? 1 : head_dim;
}

/// modeling_laguna.py: heads layer by layer, a gate over attention's output, a correction bias that never trains.
inline language_model count_laguna(const config& c, tally& t) {
  auto s = read_language(c, {40, 2048, 48, 8, 128, 8192, 100352});
  c.ignore({"moe_routed_scaling_factor", "moe_apply_router_weight_on_input", "moe_router_logit_softcapping"});
  const bool bias = c.flag("attention_bias", false);
  const auto gate = read_attention_gate(c, s.head_dim);
  const auto layer = [&](std::int64_t heads, std::int64_t times) {
    s.heads = heads;
    count_attention(t, s, bias, bias, times);
    t.linear(component::attention, s.hidden, checked::mul(heads, gate), false, times);
  };
  const json* each = c.find({"num_attention_heads_per_layer"});
  if (each == nullptr || each->is_null()) {
    layer(s.heads, s.layers);
  } else {
    if (!each->is_array() || static_cast<std::int64_t>(each->size()) != s.layers)
      complain(c.at("num_attention_heads_per_layer") + " must be a list of " + std::to_string(s.layers) + " numbers, one for each layer, found " + shown(*each));
    for (const auto& heads : *each) layer(config::whole(heads, c.at("num_attention_heads_per_layer"), 1, config::most), 1);
  }
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  const auto sparse = read_sparse_layers(c, s.layers, 1);
  const routed_sizes e{c.count({"num_experts"}, 256), c.count({"num_experts_per_tok"}, 8), c.size({"moe_intermediate_size"}, 512), c.number({"shared_expert_intermediate_size"}, 512, 0)};
  count_mixture(t, s, e, sparse);
  t.frozen(component::router, checked::mul(e.experts, sparse));
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_mimo_v2_flash.py: heads wider in q and k than in v; layers with a window have twice the key-value heads, and sinks.
inline language_model count_mimo_v2_flash(const config& c, tally& t) {
  const auto s = read_language(c, {48, 4096, 64, 4, 192, 16384, 152576});
  c.ignore({"attention_value_scale", "sliding_window_size", "layernorm_epsilon", "swa_rope_theta"});
  const auto value = c.size({"v_head_dim"}, 128);
  const bool bias = c.flag("attention_bias", false);
  auto words = read_words(c, "layer_types", s.layers, {"full_attention", "sliding_attention"});
  for (std::int64_t i = 0; static_cast<std::int64_t>(words.size()) < s.layers; ++i) words.emplace_back(i == 0 || (i + 1) % 6 == 0 ? "full_attention" : "sliding_attention");
  const auto sparse_words = read_words(c, "mlp_layer_types", s.layers, {"sparse", "dense"});
  json windows = json::array(), routes = json::array();
  for (std::size_t i = 0; i < words.size(); ++i) {
    windows.push_back(words[i] == "sliding_attention" ? 1 : 0);
    routes.push_back((sparse_words.empty() ? i > 0 : sparse_words[i] == "sparse") ? 1 : 0);
  }
  check_mimo_v2_file(c, s.heads, s.kv, s.head_dim, value, windows, routes);
  const auto local = count_of(words, "sliding_attention");
  const auto key_heads = checked::add(checked::mul(s.kv, s.layers), checked::mul(s.kv, local));
  t.linear(component::attention, s.hidden, checked::mul(s.heads, s.head_dim), bias, s.layers);
  t.linear(component::attention, s.hidden, checked::add(s.head_dim, value), bias, key_heads);
  t.linear(component::attention, checked::mul(s.heads, value), s.hidden, false, s.layers);
  t.add(component::attention, s.heads, local);
  count_mixture(t, s, {c.count({"num_local_experts", "n_routed_experts"}, 256), c.count({"num_experts_per_tok"}, 8), c.size({"moe_intermediate_size"}, 2048)}, read_sparse_layers(c, s.layers, 1));
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_minimax.py: MiniMax-Text-01 and M1, lightning attention in every second layer.
inline language_model count_minimax(const config& c, tally& t) {
  const auto s = read_language(c, {32, 4096, 32, 8, 0, 14336, 32000});
  c.ignore({"router_jitter_noise", "block_size", "full_attn_alpha_factor", "full_attn_beta_factor", "linear_attn_alpha_factor", "linear_attn_beta_factor", "mlp_alpha_factor",
            "mlp_beta_factor"});
  const auto words = read_words(c, "layer_types", s.layers, {"full_attention", "linear_attention"});
  const auto linear = words.empty() ? s.layers / 2 : count_of(words, "linear_attention");
  const auto width = checked::mul(s.heads, s.head_dim);
  count_attention(t, s, false, false, s.layers - linear);
  t.linear(component::attention, s.hidden, width, false, checked::mul(5, linear));  // q, k, v, the gate and the way out
  t.rms_norm(width, linear);
  count_mixture(t, s, {c.count({"num_experts", "num_local_experts"}, 8), c.count({"num_experts_per_tok"}, 2), s.ffn}, s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_openai_privacy_filter.py: gpt-oss' layers with sinks, biased experts and a biased router, all positions of a window seen by each other.
inline language_model count_privacy_filter(const config& c, tally& t) {
  const auto s = read_language(c, {8, 640, 14, 2, 64, 640, 200064});
  const auto e = c.count({"num_local_experts", "num_experts"}, 128), active = c.count({"num_experts_per_tok"}, 4);
  const bool bias = c.flag("attention_bias", true);
  count_attention(t, s, bias, bias, s.layers);
  t.add(component::attention, s.heads, s.layers);
  t.linear(component::router, s.hidden, e, true, s.layers);
  const auto both = checked::mul(2, s.ffn);
  t.experts(checked::add(checked::mul(checked::add(s.hidden, 1), both), checked::mul(checked::add(s.ffn, 1), s.hidden)), e, active, s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_jetmoe.py: experts of queries and outputs around shared keys and values; no weights but theirs and two vectors.
inline language_model count_jetmoe(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, 12, 0, config::most);
  const auto hidden = c.size({"hidden_size"}, 2048);
  const auto width = checked::mul(c.count({"num_key_value_heads"}, 16), c.size({"head_dim", "kv_channels"}, 128));
  const auto ffn = c.size({"intermediate_size"}, 5632);
  const auto experts = c.count({"num_local_experts"}, 8);
  const auto active = c.count({"num_experts_per_tok"}, 2);
  c.ignore({"max_position_embeddings", "aux_loss_coef", "num_attention_heads"});
  t.linear(component::attention, hidden, checked::mul(2, width), false, layers);
  t.linear(component::router, hidden, experts, false, checked::mul(2, layers));
  t.experts(checked::mul(2, checked::mul(hidden, width)), experts, active, layers);
  t.experts(checked::mul(3, checked::mul(hidden, ffn)), experts, active, layers);
  t.add(component::attention, hidden, layers);
  t.add(component::mlp, hidden, layers);
  t.rms_norm(hidden, checked::add(checked::mul(2, layers), 1));
  return count_vocabulary(c, t, c.size({"vocab_size"}, 32000), hidden, true);
}

/// modeling_zaya.py: attention over compressed and convolved projections, a router that is an MLP with one class more, scaled residuals.
inline language_model count_zaya(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, 40, 0, config::most);
  const auto hidden = c.size({"hidden_size"}, 2048);
  const auto head_dim = c.size({"head_dim"}, 128);
  const auto heads = c.count({"num_attention_heads"}, 8);
  const auto kv_heads = c.count({"num_key_value_heads"}, 2);
  const auto q = checked::mul(heads, head_dim);
  const auto kv = checked::mul(kv_heads, head_dim);
  const auto mixed = checked::add(q, kv);
  const bool bias = c.flag("attention_bias", false);
  c.ignore({"max_position_embeddings", "layer_types", "partial_rotary_factor", "lm_head_bias"});
  t.linear(component::attention, hidden, mixed, bias, layers);
  t.linear(component::attention, hidden, kv / 2, bias, checked::mul(2, layers));
  t.linear(component::attention, q, hidden, bias, layers);
  t.linear(component::attention, c.count({"cca_time0"}, 2), mixed, true, layers);  // a convolution of each channel
  t.linear(component::attention, checked::mul(head_dim, c.count({"cca_time1"}, 2)), mixed, true, layers);
  t.add(component::attention, kv_heads, layers);
  const auto experts = c.count({"num_experts"}, 16);
  const auto router = c.size({"router_hidden_size"}, 256);
  t.linear(component::router, hidden, router, true, layers);
  if (layers > 0) t.add(component::router, router, layers - 1);
  t.linear(component::router, router, router, true, checked::mul(2, layers));
  t.add(component::router, router, layers);  // its norm
  t.linear(component::router, router, checked::add(experts, 1), false, layers);
  t.experts(checked::mul(checked::mul(3, hidden), c.size({"moe_intermediate_size"}, 2048)), experts, c.count({"num_experts_per_tok"}, 1), layers);
  t.rms_norm(hidden, checked::add(checked::mul(10, layers), 3));  // two norms and eight vectors of residuals a layer; norm, scale and bias of the model
  return count_vocabulary(c, t, c.size({"vocab_size"}, 262272), hidden, true);
}

inline constexpr counted_class counted_sparse_languages[] = {
    {"AfmoeModel", "afmoe", count_base<count_afmoe>},
    {"AfmoeForCausalLM", "afmoe", count_causal<count_afmoe>},
    {"Cohere2MoeModel", "cohere2_moe", count_base<count_cohere2_moe>},
    {"Cohere2MoeForCausalLM", "cohere2_moe", count_causal<count_cohere2_moe>},
    {"LagunaModel", "laguna", count_base<count_laguna>},
    {"LagunaForCausalLM", "laguna", count_causal<count_laguna>},
    {"MiMoV2FlashModel", "mimo_v2_flash", count_base<count_mimo_v2_flash>},
    {"MiMoV2FlashForCausalLM", "mimo_v2_flash", count_causal<count_mimo_v2_flash>},
    {"MiniMaxModel", "minimax", count_base<count_minimax>},
    {"MiniMaxForCausalLM", "minimax", count_causal<count_minimax>},
    {"MiniMaxForSequenceClassification", "minimax", count_sequence<count_minimax>},
    {"MiniMaxForTokenClassification", "minimax", count_token<count_minimax>},
    {"MiniMaxForQuestionAnswering", "minimax", count_question<count_minimax>},
    {"OpenAIPrivacyFilterModel", "openai_privacy_filter", count_base<count_privacy_filter>},
    {"OpenAIPrivacyFilterForTokenClassification", "openai_privacy_filter", [](const config& c, tally& t) {
       t.linear(component::head, count_privacy_filter(c, t).hidden, labels_of(c, 33), true);
       ignore_labels(c);
     }},
    {"JetMoeModel", "jetmoe", count_base<count_jetmoe>},
    {"JetMoeForCausalLM", "jetmoe", count_causal<count_jetmoe>},
    {"JetMoeForSequenceClassification", "jetmoe", count_sequence<count_jetmoe>},
    {"ZayaModel", "zaya", count_base<count_zaya>},
    {"ZayaForCausalLM", "zaya", [](const config& c, tally& t) {
       count_causal<count_zaya>(c, t);
       if (c.flag("lm_head_bias", false)) t.add(component::head, c.size({"vocab_size"}, 262272));
     }},
};

}  // namespace headroom::io::detail
