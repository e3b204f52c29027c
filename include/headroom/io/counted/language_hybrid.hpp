// Distributed under the Boost Software License, Version 1.0.
// Language models whose layers are of several kinds. Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language_latent.hpp>
#include <headroom/io/counted/language_recurrent.hpp>

namespace headroom::io::detail {

/// modeling_zamba.py: Mamba-1 in every layer; some also run one block of attention and MLP that they share, tied as the embeddings are.
inline language_model count_zamba(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, 76, 0, config::most);
  const auto hidden = c.size({"hidden_size"}, 3712);
  const auto heads = c.count({"num_attention_heads"}, 16);
  const auto twice = checked::mul(2, hidden);
  const auto width = c.nullable({"attention_hidden_size"}, twice, twice);
  const language_sizes s{layers, hidden, heads, c.nullable({"num_key_value_heads"}, 16, heads, 1, config::most), c.nullable({"head_dim", "attention_head_dim"}, twice / heads, twice / heads),
                         c.size({"intermediate_size"}, 14848), c.size({"vocab_size"}, 32000)};
  const auto mamba_heads = c.count({"n_mamba_heads"}, 2);
  const mamba1_sizes m{checked::mul(c.count({"mamba_expand"}, 2), hidden), c.size({"mamba_d_state"}, 16),  read_rank(c, "mamba_dt_rank", hidden),
                       c.count({"mamba_d_conv"}, 4),                       c.flag("mamba_proj_bias", false), c.flag("mamba_conv_bias", true)};
  if (m.inner % mamba_heads != 0) complain(c.at("n_mamba_heads") + " must divide mamba_expand × hidden_size, " + std::to_string(m.inner) + ", found " + std::to_string(mamba_heads));
  const auto period = c.count({"attn_layer_period"}, 6), offset = c.number({"attn_layer_offset"}, 4, 0, config::most);
  c.ignore({"hidden_mamba_act", "num_logits_to_keep", "use_mamba_kernels", "time_step_min", "time_step_max", "time_step_floor", "max_position_embeddings"});
  const auto words = read_words(c, c.has("layer_types") ? "layer_types" : "layers_block_type", layers, {"linear_attention", "mamba", "hybrid"});
  std::int64_t hybrid = count_of(words, "hybrid");
  if (words.empty()) {
    if (layers < 3) complain(c.at("num_hidden_layers") + " must be at least 3 without layers_block_type, found " + std::to_string(layers));
    hybrid = 1;
    for (std::int64_t i = 0; i < layers - 3; ++i) hybrid += i % period == offset ? 1 : 0;
  }
  count_mamba1(t, hidden, m, layers);
  // Each of its heads has steps of its own: the middle projections hold as many numbers as without heads.
  t.linear(component::attention, hidden, hidden, false, hybrid);
  const bool tied = c.flag("tie_word_embeddings", true);
  const auto blocks = tied && hybrid > 0 ? 1 : hybrid;
  const auto q = checked::mul(s.heads, s.head_dim);
  t.linear(component::attention, width, checked::add(q, checked::mul(2, checked::mul(s.kv, s.head_dim))), false, blocks);
  t.linear(component::attention, q, hidden, false, blocks);
  count_gated_mlp(t, component::mlp, hidden, s.ffn, false, blocks);
  t.rms_norm(checked::add(width, hidden), blocks);
  t.rms_norm(hidden, checked::add(layers, 1));
  return count_vocabulary(c, t, s.vocab, hidden, true);
}

/// modeling_zamba2.py: Mamba-2 in every layer; num_mem_blocks blocks of attention and MLP take turns in some, with adapters for each turn.
inline language_model count_zamba2(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 2560);
  const auto heads = c.count({"num_attention_heads"}, 32);
  const auto kv = c.nullable({"num_key_value_heads"}, heads, heads, 1, config::most);
  const auto width = checked::mul(2, hidden);
  const auto four = checked::mul(4, hidden);
  const auto ffn = c.nullable({"intermediate_size"}, four, four);
  const auto head_dim = c.nullable({"head_dim", "attention_head_dim"}, width / heads, width / heads);
  if (head_dim != width / heads) complain(c.at("attention_head_dim") + " must be 2 × hidden_size / num_attention_heads, as the class builds it, found " + std::to_string(head_dim));
  expect(c, "attention_hidden_size", width);
  const auto inner = checked::mul(c.count({"mamba_expand"}, 2), hidden);
  mamba2_sizes m{c.count({"n_mamba_heads"}, 8), inner, c.count({"mamba_ngroups"}, 1), c.size({"mamba_d_state"}, 64), c.count({"mamba_d_conv"}, 4)};
  m.bias = m.output_bias = c.flag("add_bias_linear", false);
  c.ignore({"chunk_size", "use_conv_bias", "use_mem_eff_path", "use_mem_rope", "use_long_context", "use_mamba_kernels", "num_logits_to_keep", "time_step_min", "time_step_max", "time_step_floor",
            "max_position_embeddings", "num_query_groups", "mamba_headdim", "kv_channels", "time_step_limit", "num_hidden_layers", "ffn_hidden_size",
            "rope_theta", "use_shared_mlp_adapter", "use_shared_block_adapter"});
  // Without a list the class takes that of the published model, whatever num_hidden_layers says.
  const char* key = c.has("layer_types") ? "layer_types" : "layers_block_type";
  const json* list = c.find({key});
  std::vector<std::string> words;
  if (list != nullptr && list->is_array()) words = read_words(c, key, static_cast<std::int64_t>(list->size()), {"linear_attention", "mamba", "hybrid"});
  if (list == nullptr || list->is_null())
    for (std::int64_t i = 0; i < 54; ++i) words.emplace_back((i % 6 == 0 && i > 0 && i <= 42) || i == 47 || i == 51 ? "hybrid" : "mamba");
  if (words.empty()) complain(c.at(key) + " must be a list of words, one for each layer, found " + shown(*list));
  const auto layers = static_cast<std::int64_t>(words.size());
  if (c.has("num_hidden_layers") && c.number({"num_hidden_layers"}, layers, 0, config::most) != layers)
    complain(c.at("num_hidden_layers") + " must be " + std::to_string(layers) + ", the length of layers_block_type, found " + shown(c.find({"num_hidden_layers"})));
  std::vector<std::int64_t> at;
  for (std::int64_t i = 0; i < layers; ++i)
    if (words[static_cast<std::size_t>(i)] == "hybrid") at.push_back(i);
  expect(c, "hybrid_layer_ids", at);
  const auto hybrid = static_cast<std::int64_t>(at.size());
  const auto blocks = c.count({"num_mem_blocks"}, 1);
  bool shifted = false;
  for (std::int64_t i = 0; i < hybrid; ++i) shifted = shifted || at[static_cast<std::size_t>(i)] % blocks != i % blocks;
  const bool by_turn = since_5_17(c, shifted, "counts a shared block's turns by the layers that have one");  // Zamba2Model.get_layers: before 5.17 by all layers
  const auto turns = [&](std::int64_t index) {  // how many of the hybrid layers have an adapter in the block of that one
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < hybrid; ++i) n += i % blocks == (by_turn ? index : at[static_cast<std::size_t>(index)]) % blocks ? 1 : 0;
    return n;
  };
  const bool tied = c.flag("tie_word_embeddings", true);
  const auto rank = c.size({"adapter_rank"}, 128);
  const bool adapts = c.flag("use_shared_attention_adapter", false);
  for (std::int64_t i = 0; i < hybrid; ++i) {
    if (tied && i >= blocks) {
      if (turns(i) != turns(i % blocks)) complain(c.at(key) + " puts blocks of unlike adapters on one another; no count of them is known here");
      continue;
    }
    const auto q = checked::mul(heads, head_dim);
    t.linear(component::attention, width, checked::add(q, checked::mul(2, checked::mul(kv, head_dim))), false);
    t.linear(component::attention, q, hidden, false);
    count_gated_mlp(t, component::mlp, hidden, ffn, m.bias, 1);
    if (adapts) t.linear(component::attention, width, checked::mul(2, rank), false, checked::mul(3, turns(i)));
    t.linear(component::mlp, rank, checked::add(hidden, checked::mul(2, ffn)), false, turns(i));
    t.rms_norm(checked::add(width, hidden));
  }
  t.linear(component::attention, hidden, hidden, false, hybrid);
  count_mamba2(t, hidden, m, layers);
  t.rms_norm(hidden, checked::add(layers, 1));
  return count_vocabulary(c, t, c.size({"vocab_size"}, 32000), hidden, true);
}

/// modeling_nemotron_h.py: each layer is a mixer, an MLP or experts, which may work on a narrower latent. The head is never tied.
inline language_model count_nemotron_h(const config& c, tally& t) {
  auto s = read_language(c, {52, 4096, 32, 8, 128, 21504, 131072});
  const auto heads = c.count({"mamba_num_heads"}, 128);
  mamba2_sizes m{heads, checked::mul(heads, c.size({"mamba_head_dim"}, 64)), c.count({"mamba_n_groups", "n_groups"}, 8), c.size({"ssm_state_size"}, 128), c.count({"mamba_d_conv", "conv_kernel"}, 4)};
  m.bias = m.output_bias = c.flag("use_bias", false);
  m.conv_bias = c.flag(c.has("mamba_conv_bias") ? "mamba_conv_bias" : "use_conv_bias", true);
  c.ignore({"use_conv_bias", "num_logits_to_keep", "attention_bias", "use_mamba_kernels", "mamba_hidden_act", "mlp_hidden_act", "expand", "mamba_expand", "time_step_min", "time_step_max",
            "time_step_floor", "mamba_dt_min", "mamba_dt_max", "mamba_dt_init_floor", "time_step_limit", "chunk_size", "mamba_chunk_size", "mamba_proj_bias", "mamba_ssm_cache_dtype",
            "moe_shared_expert_overlap", "num_nextn_predict_layers", "mtp_layers_block_type", "mtp_hybrid_override_pattern", "residual_in_fp32", "rescale_prenorm_residual",
            "n_shared_experts", "hidden_dropout", "tie_word_embeddings", "attention_head_dim", "sliding_window", "hybrid_override_pattern", "time_step_rank"});
  std::int64_t mamba = 0, attends = 0, dense = 0, sparse = 0;
  const char* key = c.has("layer_types") ? "layer_types" : "layers_block_type";
  const json* list = c.find({key});
  if (list != nullptr && !list->is_null()) {
    if (!list->is_array()) complain(c.at(key) + " must be a list of words, one for each layer, found " + shown(*list));
    const auto words = read_words(c, key, static_cast<std::int64_t>(list->size()), {"mamba", "linear_attention", "attention", "full_attention", "mlp", "moe"});
    mamba = count_of(words, "mamba") + count_of(words, "linear_attention");
    attends = count_of(words, "attention") + count_of(words, "full_attention");
    dense = count_of(words, "mlp"), sparse = count_of(words, "moe");
  } else if (c.has("hybrid_override_pattern")) {
    for (const char letter : c.text({"hybrid_override_pattern"}, "")) {
      if (std::string_view{"M*-E"}.find(letter) == std::string_view::npos) complain(c.at("hybrid_override_pattern") + " must be made of M, *, - and E, found " + shown(c.find({"hybrid_override_pattern"})));
      (letter == 'M' ? mamba : letter == '*' ? attends : letter == '-' ? dense : sparse) += 1;
    }
  } else {
    mamba = attends = dense = sparse = 1;
  }
  const bool bias = c.flag("mlp_bias", false);
  count_mamba2(t, s.hidden, m, mamba);
  count_attention(t, s, false, false, attends);
  count_plain_mlp(t, component::mlp, s.hidden, s.ffn, bias, dense);
  const auto latent = c.nullable({"moe_latent_size"}, 0, 0);
  const auto experts = c.count({"num_local_experts", "n_routed_experts"}, 8);
  t.linear(component::router, s.hidden, experts, false, sparse);
  t.experts(checked::mul(checked::mul(2, latent > 0 ? latent : s.hidden), c.size({"moe_intermediate_size"}, 7688)), experts, c.count({"num_experts_per_tok"}, 2), sparse);
  count_plain_mlp(t, component::shared_experts, s.hidden, c.size({"moe_shared_expert_intermediate_size"}, 7688), bias, sparse);
  if (latent > 0) count_plain_mlp(t, component::mlp, s.hidden, latent, bias, sparse);
  t.rms_norm(s.hidden, mamba + attends + dense + sparse);
  const auto frame = count_frame(c, t, s);
  return {frame.hidden, frame.vocab, false};
}

/// modeling_olmo_hybrid.py: Gated DeltaNet, and attention with norms over the whole of q and k in every fourth layer.
inline language_model count_olmo_hybrid(const config& c, tally& t) {
  const auto s = read_language(c, {32, 3840, 30, 0, 0, 11008, 100352});
  const auto key_heads = c.nullable({"linear_num_key_heads"}, s.heads, s.heads, 1, config::most);
  const auto value_heads = c.nullable({"linear_num_value_heads"}, s.heads, s.heads, 1, config::most);
  const auto usual = checked::mul(3, s.hidden) / checked::mul(4, key_heads);
  const auto key_dim = c.nullable({"linear_key_head_dim"}, usual, usual);
  const auto value_dim = c.nullable({"linear_value_head_dim"}, checked::mul(2, key_dim), checked::mul(2, key_dim));
  c.ignore({"linear_a_log_min", "linear_a_log_max", "linear_dt_min", "linear_dt_max", "linear_dt_init_floor", "linear_allow_neg_eigval", "linear_use_gate"});
  const auto words = read_words(c, "layer_types", s.layers, {"linear_attention", "mamba", "full_attention", "attention", "sliding_attention"});
  auto linear = count_of(words, "linear_attention") + count_of(words, "mamba");
  if (words.empty() && s.layers > 0) linear = s.layers - (s.layers < 4 ? 1 : s.layers / 4);
  const auto attends = s.layers - linear;
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, attends);
  t.rms_norm(checked::mul(checked::add(s.heads, s.kv), s.head_dim), attends);
  const auto keys = checked::mul(key_heads, key_dim), values = checked::mul(value_heads, value_dim);
  t.linear(component::attention, s.hidden, checked::mul(2, checked::add(checked::add(keys, values), value_heads)), false, linear);  // q, k; v, gate; a, b
  t.linear(component::attention, values, s.hidden, false, linear);
  t.linear(component::attention, c.count({"linear_conv_kernel_dim"}, 4), checked::add(checked::mul(2, keys), values), false, linear);
  t.add(component::attention, checked::mul(2, value_heads), linear);
  t.rms_norm(value_dim, linear);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// Kimi Delta Attention: queries, keys and values behind convolutions, a gate that forgets and one over the output, both of the rank of a head.
inline void count_kimi_delta(tally& t, std::int64_t hidden, std::int64_t heads, std::int64_t width, std::int64_t conv, std::int64_t times) {
  const auto inner = checked::mul(heads, width);
  t.linear(component::attention, hidden, inner, false, checked::mul(4, times));
  t.linear(component::attention, conv, inner, false, checked::mul(3, times));
  t.linear(component::attention, hidden, checked::add(checked::mul(2, width), heads), false, times);
  t.linear(component::attention, width, inner, false, checked::mul(2, times));
  t.add(component::attention, checked::add(inner, heads), times);
  t.rms_norm(width, times);
}

/// moonshotai's modeling_kimi.py: Kimi Delta Attention (KimiDeltaAttention) and, in some layers, latent attention; experts, whose correction bias is
/// not counted, as it is not in the published total. Code beside the checkpoint: sizes must be stated.
inline language_model count_kimi_linear(const config& c, tally& t) {
  constexpr auto needed = config::required;
  const auto s = read_language(c, {needed, needed, needed, 0, 0, needed, needed});
  const auto m = read_latent(c, {0, needed, needed, needed, needed});
  c.ignore({"mla_use_nope", "model_max_length", "num_expert_group", "topk_group", "moe_router_activation_func", "moe_renormalize", "use_grouped_topk", "num_nextn_predict_layers", "head_dim"});
  const auto linear = c.child("linear_attn_config");
  const auto heads = linear.count({"num_heads"}, needed);
  const auto width = linear.size({"head_dim"}, needed);
  const auto conv = linear.count({"short_conv_kernel_size"}, needed);
  const json* kda = linear.find({"kda_layers"});
  const json* full = linear.find({"full_attn_layers"});
  if (kda == nullptr || full == nullptr || !kda->is_array() || !full->is_array() || static_cast<std::int64_t>(kda->size() + full->size()) != s.layers)
    complain(linear.at("kda_layers") + " and full_attn_layers must be lists that name each of the " + std::to_string(s.layers) + " layers once");
  std::vector<bool> named(static_cast<std::size_t>(s.layers));
  for (const json* one : {kda, full})
    for (const auto& layer : *one) {
      const auto i = static_cast<std::size_t>(config::whole(layer, linear.at("kda_layers"), 1, s.layers) - 1);
      if (named[i]) complain(linear.at("kda_layers") + " and full_attn_layers name layer " + shown(layer) + " twice");
      named[i] = true;
    }
  const auto deltas = static_cast<std::int64_t>(kda->size());
  count_kimi_delta(t, s.hidden, heads, width, conv, deltas);
  count_latent(t, s, m, false, s.layers - deltas);
  expect(c, "moe_layer_freq", 1);
  const auto dense = c.number({"first_k_dense_replace"}, needed, 0, config::most);
  const auto sparse = dense < s.layers ? s.layers - dense : 0;
  routed_sizes e{c.count({"num_experts"}, needed), c.count({"num_experts_per_token"}, needed), c.size({"moe_intermediate_size"}, needed)};
  e.shared = checked::mul(e.ffn, c.number({"num_shared_experts"}, needed, 0, config::most));
  count_mixture(t, s, e, sparse);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

inline constexpr counted_class counted_hybrid_languages[] = {
    {"ZambaModel", "zamba", count_base<count_zamba>},
    {"ZambaForCausalLM", "zamba", count_causal<count_zamba>},
    {"ZambaForSequenceClassification", "zamba", count_sequence<count_zamba>},
    {"Zamba2Model", "zamba2", count_base<count_zamba2>},
    {"Zamba2ForCausalLM", "zamba2", count_causal<count_zamba2>},
    {"Zamba2ForSequenceClassification", "zamba2", count_sequence<count_zamba2>},
    {"NemotronHModel", "nemotron_h", count_base<count_nemotron_h>},
    {"NemotronHForCausalLM", "nemotron_h", count_causal<count_nemotron_h>},
    {"OlmoHybridModel", "olmo_hybrid", count_base<count_olmo_hybrid>},
    {"OlmoHybridForCausalLM", "olmo_hybrid", count_causal<count_olmo_hybrid>},
    {"KimiLinearModel", "kimi_linear", count_base<count_kimi_linear>},
    {"KimiLinearForCausalLM", "kimi_linear", count_causal<count_kimi_linear>},
};

}  // namespace headroom::io::detail
