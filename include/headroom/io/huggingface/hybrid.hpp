// Distributed under the Boost Software License, Version 1.0.
// Decoders whose layers are of several kinds. Class defaults are those of transformers 5.16's configuration_<family>.py.
#pragma once

#include <headroom/io/huggingface/sparse.hpp>

namespace headroom::io::detail {

/// What a word of layer_types or layers_block_type stands for in a family.
struct layer_word {
  std::string_view text;
  layer_kind kind;
};

/// The list of a config, one word a layer, as a pattern. False where it has none.
inline bool read_layer_types(const config& c, std::initializer_list<const char*> keys, std::initializer_list<layer_word> words, shape& m) {
  const json* list = c.find(keys);
  if (list == nullptr || list->is_null()) return false;
  const auto path = c.at(*keys.begin());
  if (!list->is_array() || static_cast<std::int64_t>(list->size()) != m.layers)
    complain(path + " must be a list of " + std::to_string(m.layers) + " words, one for each layer, found " + shown(*list));
  for (const auto& word : *list) {
    const layer_word* found = nullptr;
    for (const auto& w : words)
      if (word.is_string() && word.get_ref<const std::string&>() == w.text) found = &w;
    if (found == nullptr) {
      std::string accepted;
      for (const auto& w : words) accepted += (accepted.empty() ? "" : ", ") + std::string{w.text};
      complain(path + " must hold " + accepted + " alone, found " + shown(word));
    }
    m.pattern.add(found->kind);
  }
  m.pattern = m.pattern.shortest();
  return true;
}

/// Qwen3NextForCausalLM, Qwen3_5ForCausalLM, Qwen3_5MoeForCausalLM: Gated DeltaNet, and attention with a gated output in every fourth layer.
inline void read_qwen3_next(const config& c, std::string_view type, shape& m) {
  m = read_dense(c, dense_defaults(type));
  m.qk_norm = m.gated_attention = m.norm_offset = true;
  m.rotary_percent = c.percent({"partial_rotary_factor"}, 25);
  m.sliding_window = 0;
  if (!c.flag("attn_output_gate", true)) complain(c.at("attn_output_gate") + " must be true for " + std::string(type) + ", found false");
  m.ssm.heads = c.count({"linear_num_value_heads"}, 32);
  m.ssm.head_dim = c.size({"linear_value_head_dim"}, 128);
  m.ssm.state = c.size({"linear_key_head_dim"}, 128);
  m.ssm.groups = c.count({"linear_num_key_heads"}, 16);
  m.ssm.conv = c.size({"linear_conv_kernel_dim"}, 4);
  if (m.ssm.heads % m.ssm.groups != 0)
    complain(c.at("linear_num_value_heads") + " must be a multiple of linear_num_key_heads, found " + std::to_string(m.ssm.heads) + " and " + std::to_string(m.ssm.groups));
  constexpr layer_kind linear{mixer_kind::gated_delta_net, feed_forward_kind::unset}, full{};
  if (!read_layer_types(c, {"layer_types"}, {{"linear_attention", linear}, {"full_attention", full}}, m)) {
    const auto interval = c.number({"full_attention_interval"}, 4, 1, layer_pattern::capacity);
    for (std::int64_t i = 1; i < interval; ++i) m.pattern.add(linear);
    m.pattern.add(full);
  }
  if (type == "qwen3_5_text") return;
  const bool next = type == "qwen3_next";
  read_qwen_experts(c, m, next ? 512 : 256, next ? 10 : 8, 512);
  m.experts.shared = 1;
  m.experts.shared_ffn = c.size({"shared_expert_intermediate_size"}, 512);
  m.experts.shared_gate = true;
}

/// The families with several kinds of layer. Returns false where the family is not one of them.
inline bool read_hybrid_decoder(const config& c, std::string_view type, shape& m) {
  if (type == "qwen3_next" || type == "qwen3_5_text" || type == "qwen3_5_moe_text") return read_qwen3_next(c, type, m), true;
  return false;
}

}  // namespace headroom::io::detail
