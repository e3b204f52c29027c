// Distributed under the Boost Software License, Version 1.0.
// Language models of late 2026, and those of them that see: Hy4, Qwen4-Exp, GLM-5.3-Flash. Each comment names the file of transformers 5.17 that is
// counted.
#pragma once

#include <headroom/io/counted/language_hybrid.hpp>
#include <headroom/io/counted/newest_sight.hpp>
#include <headroom/io/counted/vision_language_towers.hpp>

#include <set>

namespace headroom::io::detail {

/// Layers that choose for themselves which keys a query sees: those that indexer_types calls full, of the layers that `attends` names.
template <class Attends, class Usual>
std::int64_t read_indexed(const config& c, std::int64_t layers, const Attends& attends, const Usual& usual) {
  const auto words = read_words(c, "indexer_types", layers, {"full", "shared"});
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < layers; ++i)
    if (attends(i) && (words.empty() ? usual(i) : words[static_cast<std::size_t>(i)] == "full")) ++n;
  return n;
}

/// What mixes `streams` residual streams around each half of a layer: `outputs` numbers of all streams, as many biases, `scales` factors.
inline void count_streams(tally& t, std::int64_t hidden, std::int64_t streams, std::int64_t outputs, std::int64_t scales, std::int64_t times) {
  t.add(component::other, checked::add(checked::mul(outputs, checked::add(checked::mul(streams, hidden), 1)), scales), times);
}

/// modeling_hy_v4.py: latent attention with sinks and a gate, an indexer in some layers, several residual streams.
inline language_model count_hy_v4(const config& c, tally& t) {
  const auto s = read_language(c, {34, 2816, 32, 32, 256, 6912, 120832});
  const auto m = read_latent(c, {1536, 512, 192, 64, 256});
  c.ignore({"hc_magnitude", "hc_eps", "learnable_sink_init", "swiglu_limit"});
  count_latent(t, s, m, c.flag("attention_bias", false), s.layers);
  t.linear(component::attention, s.hidden, checked::mul(s.heads, m.value), false, s.layers);
  t.add(component::attention, s.heads, s.layers);
  count_indexer(c, t, s, m, 16, read_indexed(c, s.layers, [](std::int64_t) { return true; }, [](std::int64_t i) { return i == 0 || (i - 1) % 4 == 0; }));
  count_mixture(t, s, read_deepseek_routed(c, 256, 8, 768), read_sparse_layers(c, s.layers, 1));
  const auto n = c.count({"hc_mult"}, 4);
  count_streams(t, s.hidden, n, checked::mul(2, n), 2, checked::mul(2, s.layers));
  count_streams(t, s.hidden, n, n, 1, 1);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

constexpr bool is_prime(std::int64_t n) {
  if (n < 2 || n % 2 == 0) return n == 2;
  for (std::int64_t d = 3; d * d <= n; d += 2)
    if (n % d == 0) return false;
  return true;
}

/// Qwen4ExpTextPLELayer: tables of hashed runs of words, each head's as long as a prime of its own; keys for each stream, a value, a convolution.
inline void count_ngrams(const config& c, tally& t, const language_sizes& s, std::int64_t streams) {
  std::set<std::int64_t> places;
  if (const json* ids = c.find({"ple_layer_ids"}); ids != nullptr && !ids->is_null()) {
    if (!ids->is_array()) complain(c.at("ple_layer_ids") + " must be a list of layer numbers, found " + shown(*ids));
    for (const auto& one : *ids) places.insert(config::whole(one, c.at("ple_layer_ids"), 1, s.layers));
  }
  const auto width = c.nullable({"ple_embed_dim"}, s.hidden, s.hidden), kernel = c.count({"ple_conv_kernel_size"}, 4);
  const auto heads = checked::mul(c.number({"ngram_size"}, 3, 2, 64) - 1, c.number({"heads_per_ngram"}, 8, 1, 64));
  const auto base = c.number({"ngram_vocab_size_base"}, 20'000'000, 1, 1'000'000'000), part = c.number({"make_ngram_vocab_size_divisible_by"}, 128, 1, config::most);
  c.ignore({"seed", "split_ngram_parts"});
  if (places.empty()) return;
  if (width % heads != 0) complain(c.at("ple_embed_dim") + " must be a multiple of the " + std::to_string(heads) + " heads of n-grams, found " + std::to_string(width));
  if (!c.has("eos_token_id")) complain(c.at("eos_token_id") + " must be a number where layers have embeddings of n-grams");
  auto prime = base - 1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::int64_t rows = 0;
    for (std::int64_t head = 0; head < heads; ++head) {
      while (!is_prime(++prime)) {
      }
      rows = checked::add(rows, prime);
    }
    t.embedding(checked::mul((rows + part - 1) / part, part), width / heads);
  }
  const auto layers = static_cast<std::int64_t>(places.size()), inside = checked::mul(streams, s.hidden);
  t.linear(component::other, width, checked::add(inside, s.hidden), false, layers);
  t.rms_norm(inside, checked::mul(3, layers));
  t.linear(component::other, kernel, inside, false, layers);
}

/// modeling_qwen4_exp.py, Qwen4ExpTextModel: Gated DeltaNet and gated attention with an indexer, experts in every layer, streams mixed by a low rank.
inline language_model count_qwen4_exp_text(const config& c, tally& t) {
  const auto s = read_language(c, {40, 2048, 16, 2, 256, 1, 248320});
  c.ignore({"indexer_budget", "indexer_compress_ratio", "output_gate_type", "mamba_ssm_dtype", "mtp_num_hidden_layers"});
  const auto words = read_words(c, "layer_types", s.layers, {"linear_attention", "qwen_sparse_attention", "full_attention"});
  const auto period = c.count({"full_attention_interval"}, 4);
  const auto linear = words.empty() ? s.layers - s.layers / period : count_of(words, "linear_attention"), attends = s.layers - linear;
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, attends);
  t.linear(component::attention, s.hidden, checked::mul(s.heads, s.head_dim), bias, attends);  // the gate
  t.rms_norm(s.head_dim, checked::mul(2, attends));
  if (attends > 0) {
    const auto index = c.size({"indexer_head_dim"}, config::required);
    t.linear(component::attention, s.hidden, checked::mul(checked::add(c.count({"indexer_n_heads"}, config::required), c.count({"indexer_kv_heads"}, config::required)), index), false, attends);
    t.rms_norm(index, checked::mul(2, attends));
  } else {
    c.ignore({"indexer_head_dim", "indexer_n_heads", "indexer_kv_heads"});
  }
  const auto heads = c.count({"linear_num_value_heads"}, 32), value = c.size({"linear_value_head_dim"}, 128), values = checked::mul(heads, value);
  const auto keys = checked::mul(2, checked::mul(c.count({"linear_num_key_heads"}, 16), c.size({"linear_key_head_dim"}, 128)));
  t.linear(component::attention, s.hidden, checked::add(keys, checked::mul(2, checked::add(values, heads))), false, linear);
  t.linear(component::attention, c.count({"linear_conv_kernel_dim"}, 4), checked::add(keys, values), false, linear);
  t.add(component::attention, checked::mul(2, heads), linear);
  t.rms_norm(value, linear);
  t.linear(component::attention, values, s.hidden, false, linear);
  count_routed(t, s.hidden, {c.count({"num_experts"}, 512), c.count({"num_experts_per_tok"}, 10), c.size({"moe_intermediate_size"}, 512), c.size({"shared_expert_intermediate_size"}, 512)}, s.layers);
  t.linear(component::shared_experts, s.hidden, 1, false, s.layers);
  const auto n = c.number({"hc_count"}, 4, 2, config::most), inside = checked::mul(n, s.hidden), mixers = checked::mul(2, s.layers);
  t.rms_norm(inside, checked::add(mixers, 1));
  t.linear(component::other, inside, checked::mul(2, c.size({"hc_lowrank"}, 320)), false, checked::add(mixers, 1));
  t.linear(component::other, inside, n, false, mixers);
  count_ngrams(c, t, s, n);
  return count_vocabulary(c, t, s.vocab, s.hidden, false);
}

/// Whether an indexer stands in a layer of GLM-5.3 that indexer_types says nothing of.
inline auto usual_indexer(const config& c) {
  const json* pattern = c.find({"index_topk_pattern"});
  if (pattern != nullptr && !pattern->is_null()) complain(c.at("index_topk_pattern") + " is not read here; say the same with indexer_types, found " + shown(*pattern));
  const auto step = std::max<std::int64_t>(c.number({"index_topk_freq"}, 1, 0, config::most), 1), offset = c.number({"index_skip_topk_offset"}, 2, 0, config::most);
  return [step, offset](std::int64_t i) { return std::max<std::int64_t>(i - offset + 1, 0) % step == 0; };
}

/// modeling_glm5_next.py, Glm5NextTextModel: Kimi Delta Attention, latent attention with an indexer over pooled keys, streams as DeepSeek-V4's.
inline language_model count_glm5_next_text(const config& whole, tally& t) {
  auto keys = whole.object();
  keys.erase("head_dim");  // the class puts qk_rope_head_dim there
  whole.ignore({"head_dim", "hc_sinkhorn_iters", "hc_eps", "swiglu_limit", "linear_lower_bound", "index_kpool_always_select_tail"});
  const config c{keys, whole.path(), whole.asked()};
  const auto s = read_language(c, {45, 4096, 64, 64, 0, 12288, 154880});
  if (s.kv != s.heads) complain(c.at("num_key_value_heads") + " must be num_attention_heads, as the class wants it, found " + std::to_string(s.kv));
  const auto m = read_latent(c, {1536, 512, 256, 0, 256});
  if (m.rope != 0) complain(c.at("qk_rope_head_dim") + " must be 0 for glm5_next_text, found " + std::to_string(m.rope));
  const auto words = read_words(c, "layer_types", s.layers, {"linear_attention", "deepseek_sparse_attention", "full_attention"});
  const auto attends = [&](std::int64_t i) { return words.empty() ? i % 4 == 3 : words[static_cast<std::size_t>(i)] != "linear_attention"; };
  std::int64_t latent = 0;
  for (std::int64_t i = 0; i < s.layers; ++i) latent += attends(i) ? 1 : 0;
  auto heads = c.count({"linear_num_heads"}, 64), width = c.size({"linear_head_dim"}, 128), conv = c.count({"linear_conv_kernel_dim"}, 4);
  if (c.has("linear_attn_config")) {
    const auto own = c.child("linear_attn_config");
    heads = own.count({"num_heads"}, heads), width = own.size({"head_dim"}, width), conv = own.count({"short_conv_kernel_size"}, conv);
    own.ignore({"gate_lower_bound", "safe_gate"});
  }
  count_kimi_delta(t, s.hidden, heads, width, conv, s.layers - latent);
  count_latent(t, s, m, c.flag("attention_bias", false), latent);
  const auto indexed = read_indexed(c, s.layers, attends, usual_indexer(c));
  count_indexer(c, t, s, m, 32, indexed);
  t.linear(component::attention, checked::add(s.hidden, c.count({"index_kpool"}, 16)), c.size({"index_head_dim"}, 128), false, indexed);
  count_mixture(t, s, read_deepseek_routed(c, 288, 8, 2048), read_sparse_layers(c, s.layers, 3));
  const auto n = c.count({"hc_mult"}, 4);
  count_streams(t, s.hidden, n, checked::mul(checked::add(2, n), n), 3, checked::mul(2, s.layers));
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// A class that sees through a tower of its own, and whose text is always of one class.
template <language_model (*Text)(const config&, tally&), void (*Tower)(const config&, tally&)>
inline language count_own_parts(const config& c, tally& t) {
  t.within(component::vision, [&] { Tower(c.child("vision_config"), t); });
  const auto text = c.child("text_config");
  ignore_labels(text);
  return beneath(Text(text, t));
}
inline void count_glm5_vision(const config& c, tally& t) {
  c.ignore({"swiglu_limit"});
  count_glm_sight(c, t, c.size({"projection_intermediate_size"}, 10240));
}
inline void count_qwen4_vision(const config& c, tally& t) { count_qwen3_vision(c, t, 0); }
inline language count_qwen4_exp(const config& c, tally& t) { return count_own_parts<count_qwen4_exp_text, count_qwen4_vision>(c, t); }
inline language count_glm5_next(const config& c, tally& t) { return count_own_parts<count_glm5_next_text, count_glm5_vision>(c, t); }

inline constexpr counted_class counted_newest_languages[] = {
    {"HYV4Model", "hy_v4", count_base<count_hy_v4>},
    {"HYV4ForCausalLM", "hy_v4", count_causal<count_hy_v4>},
    {"Qwen4ExpTextModel", "qwen4_exp_text", count_base<count_qwen4_exp_text>},
    {"Qwen4ExpForCausalLM", "qwen4_exp_text", count_causal<count_qwen4_exp_text>},
    {"Qwen4ExpModel", "qwen4_exp", count_bare<count_qwen4_exp>},
    {"Qwen4ExpForConditionalGeneration", "qwen4_exp", count_speaking<count_qwen4_exp, false>},
    {"Qwen4ExpVisionModel", "qwen4_exp_vision", count_qwen4_vision},
    {"Glm5NextTextModel", "glm5_next_text", count_base<count_glm5_next_text>},
    {"Glm5NextModel", "glm5_next", count_bare<count_glm5_next>},
    {"Glm5NextForConditionalGeneration", "glm5_next", count_speaking<count_glm5_next, false>},
    {"Glm5NextVisionModel", "glm5_next_vision", count_glm5_vision},
};

}  // namespace headroom::io::detail
