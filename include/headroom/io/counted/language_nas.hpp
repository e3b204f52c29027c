// Distributed under the Boost Software License, Version 1.0.
// Llama-Nemotron Super and Ultra: Llamas whose layers a search has thinned out one by one (model_type nemotron-nas, class DeciLMForCausalLM).
// Source: the layers as vllm and sglang build them for the published checkpoints (sgl-project/sglang python/sglang/srt/models/nemotron_nas.py, and
// before it vllm model_executor/models/nemotron_nas.py). Held to the checkpoint's own sum: Llama-3_3-Nemotron-Super-49B-v1 has 49,867,145,216 weights.
#pragma once

#include <headroom/io/counted/language.hpp>

#include <cmath>

namespace headroom::io::detail {

/// _ffn_mult_to_intermediate_size: two thirds of the hidden size times the multiplier, cut to a whole number, then up to a multiple of 256.
inline std::int64_t nas_width(const config& c, std::int64_t hidden) {
  const double multiplier = c.real({"ffn_mult"}, -1.0, -1.0, 1024.0);
  if (!(multiplier > 0)) complain(c.at("ffn_mult") + " must be a number above 0 where no_op is false");
  return checked::round_up(static_cast<std::int64_t>(std::floor(2 * multiplier * static_cast<double>(hidden) / 3)), 256);
}

/// A layer of block_configs. What a half has instead of itself has weights of its own, and is refused.
inline void count_nas_layer(const config& block, tally& t, std::int64_t hidden, std::int64_t heads) {
  const auto attention = block.child("attention"), ffn = block.child("ffn");
  for (const auto* half : {&attention, &ffn})
    for (const char* other : {"replace_with_linear", "sparsify"})
      if (half->has(other) && *half->find({other}) != json(false)) complain(half->at(other) + " must be false or null: what stands in its place is not counted by this version; found " + shown(*half->find({other})));
  attention.ignore({"num_sink_tokens", "unshifted_sink", "use_prefill_window_in_sink_attention", "window_length", "n_heads_in_group"});
  ffn.ignore({"ffn_mult"});
  if (!attention.flag("no_op", false)) {
    const auto group = attention.count({"n_heads_in_group"}, 0);
    if (group < 1 || heads % group != 0) complain(attention.at("n_heads_in_group") + " must divide num_attention_heads, " + std::to_string(heads) + "; found " + std::to_string(group));
    language_sizes s{.layers = 1, .hidden = hidden, .heads = heads, .kv = heads / group, .head_dim = hidden / heads};
    count_attention(t, s, false, false, 1);
    t.rms_norm(hidden);
  }
  if (ffn.flag("no_op", false)) return;
  count_gated_mlp(t, component::mlp, hidden, nas_width(ffn, hidden), false, 1);
  t.rms_norm(hidden);
}

inline language_model count_nas(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, 32, 0, config::most);
  const auto hidden = c.size({"hidden_size"}, 4096), heads = c.count({"num_attention_heads"}, 32);
  if (hidden % heads != 0) complain(c.at("hidden_size") + " must be a multiple of num_attention_heads, found " + std::to_string(hidden) + " and " + std::to_string(heads));
  for (const char* sized : {"intermediate_size", "num_key_value_heads"})  // block_configs says them layer by layer
    if (c.has(sized)) complain(c.at(sized) + " must be null or absent beside block_configs, found " + shown(*c.find({sized})));
  for (const char* bias : {"attention_bias", "mlp_bias"})
    if (c.flag(bias, false)) complain(c.at(bias) + " must be false: which layers of this class have biases is not known here; found true");
  c.ignore({"max_position_embeddings", "pretraining_tp"});
  const json* blocks = c.find({"block_configs"});
  if (blocks == nullptr || !blocks->is_array() || static_cast<std::int64_t>(blocks->size()) != layers)
    complain(c.at("block_configs") + " must be a list of " + std::to_string(layers) + ", one for each layer, found " + (blocks == nullptr ? std::string{"none"} : shown(*blocks)));
  std::size_t i = 0;
  for (const auto& one : *blocks) {
    const auto where = c.at("block_configs") + "[" + std::to_string(i++) + "]";
    if (!one.is_object()) complain(where + " must be an object, found " + shown(one));
    const config block{one, where, c.asked()};
    count_nas_layer(block, t, hidden, heads);
    if (c.asked() == nullptr) continue;
    for (const auto& part : {block, block.child("attention"), block.child("ffn")}) check_asked(part.object(), part.path(), *c.asked(), {"a layer of DeciLMForCausalLM", {}});
  }
  t.rms_norm(hidden);
  return count_vocabulary(c, t, c.size({"vocab_size"}, 32000), hidden, false);
}

inline constexpr counted_class counted_nas[] = {
    {"DeciLMForCausalLM", "nemotron-nas", count_causal<count_nas>},
    {"DeciLMModel", "nemotron-nas", count_base<count_nas>},
};

}  // namespace headroom::io::detail
