// Distributed under the Boost Software License, Version 1.0.
// Language models with DeepSeek's latent attention and what came of it. Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language_sparse.hpp>

namespace headroom::io::detail {

/// DeepseekV3Attention: `q_rank` 0 stands for queries without compression.
struct latent_sizes {
  std::int64_t q_rank{}, kv_rank{}, nope{}, rope{}, value{};
  std::int64_t qk{};  ///< of a head's queries
};
inline latent_sizes read_latent(const config& c, const latent_sizes& usual, bool own_width = false) {
  latent_sizes m;
  m.q_rank = c.nullable({"q_lora_rank"}, usual.q_rank, 0);
  m.kv_rank = c.size({"kv_lora_rank"}, usual.kv_rank);
  m.nope = c.number({"qk_nope_head_dim"}, usual.nope, 0);
  m.rope = c.number({"qk_rope_head_dim"}, usual.rope, 0);
  m.value = c.size({"v_head_dim"}, usual.value);
  m.qk = checked::add(m.nope, m.rope);
  if (own_width)
    m.qk = c.nullable({"qk_head_dim"}, m.qk, m.qk);
  else
    expect(c, "qk_head_dim", m.qk);
  c.ignore({"rope_interleave", "indexer_rope_interleave", "ep_size"});
  return m;
}
inline void count_latent_keys(tally& t, const language_sizes& s, const latent_sizes& m, bool bias, std::int64_t times) {
  t.linear(component::attention, s.hidden, checked::add(m.kv_rank, m.rope), bias, times);
  t.rms_norm(m.kv_rank, times);
  t.linear(component::attention, m.kv_rank, checked::mul(s.heads, checked::add(m.nope, m.value)), false, times);
  t.linear(component::attention, checked::mul(s.heads, m.value), s.hidden, bias, times);
}
inline void count_latent(tally& t, const language_sizes& s, const latent_sizes& m, bool bias, std::int64_t times) {
  const auto q = checked::mul(s.heads, m.qk);
  if (m.q_rank == 0) {
    t.linear(component::attention, s.hidden, q, false, times);
  } else {
    t.linear(component::attention, s.hidden, m.q_rank, bias, times);
    t.rms_norm(m.q_rank, times);
    t.linear(component::attention, m.q_rank, q, false, times);
  }
  count_latent_keys(t, s, m, bias, times);
}

/// DeepseekV32Indexer: which keys a query attends to.
inline void count_indexer(const config& c, tally& t, const language_sizes& s, const latent_sizes& m, std::int64_t heads, std::int64_t times) {
  const auto n = c.count({"index_n_heads"}, heads);
  const auto width = c.size({"index_head_dim"}, 128);
  c.ignore({"index_topk"});
  if (times > 0 && m.q_rank == 0) complain(c.at("q_lora_rank") + " must be a number where layers have an indexer, found null");
  t.linear(component::attention, m.q_rank, checked::mul(n, width), false, times);
  t.linear(component::attention, s.hidden, checked::add(width, n), false, times);
  t.layer_norm(width, times);
}

/// Routed experts by DeepSeek's words; shared experts as wide as they.
inline routed_sizes read_deepseek_routed(const config& c, std::int64_t experts, std::int64_t active, std::int64_t width) {
  routed_sizes e{c.count({"num_local_experts", "n_routed_experts"}, experts), c.count({"num_experts_per_tok"}, active), c.size({"moe_intermediate_size"}, width)};
  e.shared = checked::mul(e.ffn, c.number({"n_shared_experts"}, 1, 0, config::most));
  return e;
}

/// modeling_axk1.py: DeepSeek-V3 with a norm behind the experts.
inline language_model count_axk1(const config& c, tally& t) {
  const auto s = read_language(c, {61, 7168, 64, 64, 0, 18432, 163840});
  count_latent(t, s, read_latent(c, {1536, 512, 128, 64, 128}), c.flag("attention_bias", false), s.layers);
  const auto dense = c.number({"first_k_dense_replace"}, 1, 0, config::most);
  const auto sparse = dense < s.layers ? s.layers - dense : 0;
  count_mixture(t, s, read_deepseek_routed(c, 192, 8, 2048), sparse);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), sparse));
  return count_frame(c, t, s);
}

/// modeling_axk2.py: gated queries over two compressions, an indexer, norms behind a gate of low rank.
inline language_model count_axk2(const config& c, tally& t) {
  const auto s = read_language(c, {48, 2048, 32, 32, 0, 5120, 163840});
  const auto m = read_latent(c, {384, 128, 64, 32, 64});
  if (m.q_rank == 0) complain(c.at("q_lora_rank") + " must be a whole number for axk2, found null");
  const bool bias = c.flag("attention_bias", false);
  t.linear(component::attention, s.hidden, m.q_rank, bias, s.layers);
  t.rms_norm(m.q_rank, s.layers);
  t.linear(component::attention, checked::mul(2, m.q_rank), checked::mul(s.heads, checked::add(m.qk, m.value)), false, s.layers);
  count_latent_keys(t, s, m, bias, s.layers);
  count_indexer(c, t, s, m, 16, s.layers);
  const auto words = read_words(c, "mlp_layer_types", s.layers, {"sparse", "dense"});
  const auto dense = c.number({"first_k_dense_replace"}, 1, 0, config::most);
  const auto step = c.count({"moe_layer_freq"}, 1);
  std::int64_t sparse = count_of(words, "sparse");
  for (std::int64_t i = dense; words.empty() && i < s.layers; ++i) sparse += i % step == 0 ? 1 : 0;
  count_mixture(t, s, read_deepseek_routed(c, 128, 8, 512), sparse);
  const auto gated = checked::add(s.layers, sparse);
  t.linear(component::norm, s.hidden, checked::mul(2, c.size({"gated_norm_rank"}, 16)), false, gated);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_deepseek_v32.py and modeling_glm_moe_dsa.py: DeepSeek-V3 with an indexer in all or some layers.
inline language_model count_sparse_attention(const config& c, tally& t, const language_sizes& usual, const latent_sizes& latent, std::int64_t index_heads, bool shares) {
  const auto s = read_language(c, usual);
  const auto m = read_latent(c, latent);
  count_latent(t, s, m, c.flag("attention_bias", false), s.layers);
  auto indexed = s.layers;
  if (shares) {
    const auto words = read_words(c, "indexer_types", s.layers, {"full", "shared"});
    const json* pattern = c.find({"index_topk_pattern"});
    if (words.empty() && pattern != nullptr && !pattern->is_null()) complain(c.at("index_topk_pattern") + " is not read here; say the same with indexer_types, found " + shown(*pattern));
    const auto step = c.number({"index_topk_freq"}, 1, 0, config::most);
    const auto offset = c.number({"index_skip_topk_offset"}, 2, 0, config::most);
    if (!words.empty()) indexed = count_of(words, "full");
    for (std::int64_t i = 0; words.empty() && step > 1 && i < s.layers; ++i)
      if (i >= offset && (i - offset + 1) % step != 0) --indexed;
  }
  count_indexer(c, t, s, m, index_heads, indexed);
  auto e = read_deepseek_routed(c, 256, 8, 2048);
  if (c.has("num_experts") && !c.has("num_local_experts")) e.experts = c.count({"num_experts"}, e.experts);
  count_mixture(t, s, e, read_sparse_layers(c, s.layers, c.number({"first_k_dense_replace"}, 3, 0, config::most)));
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  expect(c, "moe_layer_freq", 1);
  c.ignore({"mlp_bias", "num_nextn_predict_layers", "index_share_for_mtp_iteration", "moe_router_dtype"});  // modules of multi-token prediction are not built
  return count_frame(c, t, s);
}
inline language_model count_deepseek_v32(const config& c, tally& t) {
  return count_sparse_attention(c, t, {61, 7168, 128, 128, 0, 18432, 129280}, {1536, 512, 128, 64, 128}, 64, false);
}
inline language_model count_glm_moe_dsa(const config& c, tally& t) {
  return count_sparse_attention(c, t, {78, 6144, 64, 64, 0, 12288, 154880}, {2048, 512, 192, 64, 256}, 32, true);
}

/// modeling_longcat_flash.py: two attentions and two MLPs a layer beside the experts. The class makes the first matrix of experts that do nothing, too.
inline language_model count_longcat_flash(const config& c, tally& t) {
  language_sizes s;
  s.layers = c.number({"num_layers"}, 28, 0, config::most);
  s.hidden = c.size({"hidden_size"}, 6144);
  s.heads = c.count({"num_attention_heads"}, 64);
  s.ffn = c.size({"intermediate_size", "ffn_hidden_size"}, 12288);
  s.vocab = c.size({"vocab_size"}, 131072);
  c.ignore({"num_hidden_layers", "num_key_value_heads", "head_dim", "max_position_embeddings", "partial_rotary_factor", "attention_method", "mla_scale_q_lora", "mla_scale_kv_lora", "zero_expert_type"});
  const auto m = read_latent(c, {1536, 512, 128, 64, 128}, true);
  if (m.q_rank == 0) complain(c.at("q_lora_rank") + " must be a whole number for longcat_flash, found null");
  count_latent(t, s, m, c.flag("attention_bias", false), checked::mul(2, s.layers));
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, checked::mul(2, s.layers));
  const auto routed = c.count({"num_local_experts", "n_routed_experts"}, 512);
  const auto idle = c.nullable({"zero_expert_num"}, 256, 0, 0, config::most);
  const auto matrix = checked::mul(s.hidden, c.size({"expert_ffn_hidden_size"}, 2048));
  t.linear(component::router, s.hidden, checked::add(routed, idle), c.flag("router_bias", false), s.layers);
  t.experts(checked::mul(3, matrix), routed, c.count({"num_experts_per_tok", "moe_topk"}, 12), s.layers);
  t.experts(checked::mul(2, matrix), idle, 0, s.layers);
  t.rms_norm(s.hidden, checked::mul(4, s.layers));
  return count_frame(c, t, s);
}

/// Layers of DeepSeek-V4 by what they compress: 128 tokens, 4 tokens, none. Without a list the first two compress 128, then 128 and 4 take turns.
struct compressing_layers {
  std::int64_t many{}, few{};
};
inline compressing_layers read_compressing_layers(const config& c, std::int64_t layers) {
  compressing_layers n;
  const json* ratios = c.find({"compress_ratios"});
  const json* words = c.find({"layer_types"});
  const bool named = words != nullptr && !words->is_null();
  const json* list = named ? words : ratios;
  if (list != nullptr && !list->is_null()) {
    const char* key = named ? "layer_types" : "compress_ratios";
    if (!list->is_array() || static_cast<std::int64_t>(list->size()) < layers) complain(c.at(key) + " must be a list of at least " + std::to_string(layers) + ", one for each layer, found " + shown(*list));
    for (std::int64_t i = 0; i < layers; ++i) {
      const auto& one = (*list)[static_cast<std::size_t>(i)];
      const bool wide = one == 128 || one == "heavily_compressed_attention", narrow = one == 4 || one == "compressed_sparse_attention";
      if (!wide && !narrow && one != 0 && one != "sliding_attention") complain(c.at(key) + " must hold heavily_compressed_attention, compressed_sparse_attention, sliding_attention (128, 4, 0), found " + shown(one));
      n.many += wide ? 1 : 0;
      n.few += narrow ? 1 : 0;
    }
  } else {
    n.few = layers > 2 ? (layers - 2) / 2 : 0;
    n.many = layers - n.few;
  }
  return n;
}

/// modeling_deepseek_v4.py: one key that is the value, compressed over 128 or 4 tokens, the latter with an indexer; several residual streams.
inline language_model count_deepseek_v4(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, 43, 0, config::most);
  const auto h = c.size({"hidden_size"}, 4096);
  const auto heads = c.count({"num_attention_heads"}, 64);
  const auto width = c.size({"head_dim"}, 512);
  const auto rank = c.size({"q_lora_rank"}, 1024);
  const auto groups = c.count({"o_groups"}, 8);
  const auto out = checked::mul(groups, c.size({"o_lora_rank"}, 1024));
  c.ignore({"num_key_value_heads", "max_position_embeddings", "hc_sinkhorn_iters", "hc_eps", "swiglu_limit", "compress_rope_theta", "qk_rope_head_dim", "partial_rotary_factor",
            "num_hash_layers", "attention_bias", "num_nextn_predict_layers", "expert_dtype", "router_jitter_noise", "index_topk", "compress_rates", "compress_ratios"});
  t.linear(component::attention, h, rank, false, layers);
  t.linear(component::attention, rank, checked::mul(heads, width), false, layers);
  t.linear(component::attention, h, width, false, layers);
  t.rms_norm(checked::add(rank, width), layers);
  t.linear(component::attention, checked::mul(heads, width) / groups, out, false, layers);
  t.linear(component::attention, out, h, false, layers);
  t.add(component::attention, heads, layers);
  const auto [many, few] = read_compressing_layers(c, layers);
  std::int64_t rate_many = 128, rate_few = 4;
  if (c.has("compress_rates")) {
    const auto rates = c.child("compress_rates");
    rate_few = rates.count({"compressed_sparse_attention"}, config::required);
    rate_many = rates.count({"heavily_compressed_attention"}, config::required);
  }
  rate_few = c.nullable({"compress_rate_csa"}, rate_few, rate_few, 1, config::most);
  rate_many = c.nullable({"compress_rate_hca"}, rate_many, rate_many, 1, config::most);
  const auto compress = [&](std::int64_t channels, std::int64_t norm, std::int64_t rate, std::int64_t times) {
    t.linear(component::attention, h, channels, false, checked::mul(2, times));
    t.add(component::attention, checked::mul(rate, channels), times);
    t.rms_norm(norm, times);
  };
  const auto index_heads = c.count({"index_n_heads"}, 64);
  const auto index = c.size({"index_head_dim"}, 128);
  compress(width, width, rate_many, many);
  compress(checked::mul(2, width), width, rate_few, few);
  compress(checked::mul(2, index), index, rate_few, few);
  t.linear(component::attention, rank, checked::mul(index_heads, index), false, few);
  t.linear(component::attention, h, index_heads, false, few);
  // Experts: the shared one is an MLP as wide as a routed one, whatever n_shared_experts says.
  routed_sizes e{c.count({"num_local_experts", "n_routed_experts"}, 256), c.count({"num_experts_per_tok"}, 6), c.size({"intermediate_size", "moe_intermediate_size"}, 2048)};
  c.ignore({"n_shared_experts"});
  count_routed(t, h, e, layers);
  count_gated_mlp(t, component::shared_experts, h, e.ffn, c.flag("mlp_bias", false), layers);
  (void)read_words(c, "mlp_layer_types", layers, {"hash_moe", "moe"});
  const auto n = c.count({"hc_mult"}, 4);
  const auto mix = checked::mul(checked::add(2, n), n);
  t.add(component::other, checked::add(checked::mul(mix, checked::add(checked::mul(n, h), 1)), 3), checked::mul(2, layers));
  t.add(component::other, checked::add(checked::mul(n, checked::add(checked::mul(n, h), 1)), 1));
  t.rms_norm(h, checked::add(checked::mul(2, layers), 1));
  return count_vocabulary(c, t, c.size({"vocab_size"}, 129280), h, false);
}

inline constexpr counted_class counted_latent_languages[] = {
    {"AXK1Model", "axk1", count_base<count_axk1>},
    {"AXK1ForCausalLM", "axk1", count_causal<count_axk1>},
    {"AXK1ForSequenceClassification", "axk1", count_sequence<count_axk1>},
    {"AXK1ForTokenClassification", "axk1", count_token<count_axk1>},
    {"AXK2Model", "axk2", count_base<count_axk2>},
    {"AXK2ForCausalLM", "axk2", count_causal<count_axk2>},
    {"AXK2ForSequenceClassification", "axk2", count_sequence<count_axk2>},
    {"AXK2ForTokenClassification", "axk2", count_token<count_axk2>},
    {"DeepseekV32Model", "deepseek_v32", count_base<count_deepseek_v32>},
    {"DeepseekV32ForCausalLM", "deepseek_v32", count_causal<count_deepseek_v32>},
    {"GlmMoeDsaModel", "glm_moe_dsa", count_base<count_glm_moe_dsa>},
    {"GlmMoeDsaForCausalLM", "glm_moe_dsa", count_causal<count_glm_moe_dsa>},
    {"LongcatFlashModel", "longcat_flash", count_base<count_longcat_flash>},
    {"LongcatFlashForCausalLM", "longcat_flash", count_causal<count_longcat_flash>},
    {"DeepseekV4Model", "deepseek_v4", count_base<count_deepseek_v4>},
    {"DeepseekV4ForCausalLM", "deepseek_v4", count_causal<count_deepseek_v4>},
};

}  // namespace headroom::io::detail
