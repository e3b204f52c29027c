// Distributed under the Boost Software License, Version 1.0.
// Models of the zoo since the autumn of 2025, one line each: as zoo_models.hpp, whose remarks hold here, too.
#pragma once

#include <headroom/model/family_towers.hpp>

/// … what their families share.
namespace headroom::family {

/// Qwen3-Next and the text of Qwen3.5: three layers of gated delta rule with 16 heads of keys, then one of gated attention with heads of 256
/// (transformers models/qwen3_next/modeling_qwen3_next.py, models/qwen3_5/modeling_qwen3_5.py).
constexpr shape delta(name label, n layers, n hidden, n heads, n kv, n ffn, n value_heads, n vocab, bool tied = false) {
  auto s = llama(label, layers, hidden, heads, kv, ffn, vocab, tied, 256);
  s.qk_norm = s.norm_offset = s.gated_attention = true;
  s.rotary_percent = 25;
  s.ssm = {.heads = value_heads, .head_dim = 128, .state = 128, .groups = 16, .conv = 4};
  for (int i = 0; i < 3; ++i) s.pattern.add({mixer_kind::gated_delta_net});
  s.pattern.add({mixer_kind::attention});
  return s;
}
/// … with experts, and a shared one as wide as they are.
constexpr shape delta_routed(shape s, n count, n active, n width) { return shared_with_gate(routed(s, count, active, width), width); }
/// Qwen3.5's tower is Qwen3-VL's without deep mergers.
constexpr shape qwen3_5_tower(shape s, n layers = 27, n hidden = 1152, n ffn = 4304) {
  s = qwen3_tower(s, layers, hidden, ffn);
  s.vision.deep_mergers = 0;
  return s;
}
/// A Qwen3 of another vocabulary: its embeddings and rerankers have as many words as their tokenizer.
constexpr shape qwen3_of(name label, shape s, n vocab) {
  s.label = label;
  s.vocab = vocab;
  return s;
}
/// GLM-4-0414: norms behind both halves, gate and up in one matrix, half of each head rotated in pairs (models/glm4/modeling_glm4.py).
constexpr shape glm4(name label, n layers, n hidden, n heads, n kv, n ffn) {
  auto s = half_rotary(qwen2(label, layers, hidden, heads, kv, ffn, 151552));
  s.head_dim = 128;
  s.post_norms = s.fused_gate_up = true;
  s.rotary = rotary_kind::pairs;
  return s;
}

}  // namespace headroom::family

/// … those of the last year.
namespace headroom::models {

// Layers, hidden, heads, key-value heads, MLP, heads of the recurrence, vocabulary; experts, of which so many are active, and their width; the tower's layers, hidden and MLP.
inline constexpr shape qwen3_next_80b_a3b = family::delta_routed(family::delta("qwen3-next-80b-a3b", 48, 2048, 16, 2, 5120, 32, 151936), 512, 10, 512);
inline constexpr shape qwen3_5_2b = family::qwen3_5_tower(family::delta("qwen3.5-2b", 24, 2048, 8, 2, 6144, 16, 248320, true), 24, 1024, 4096);
inline constexpr shape qwen3_5_4b = family::qwen3_5_tower(family::delta("qwen3.5-4b", 32, 2560, 16, 4, 9216, 32, 248320, true), 24, 1024, 4096);
inline constexpr shape qwen3_5_9b = family::qwen3_5_tower(family::delta("qwen3.5-9b", 32, 4096, 16, 4, 12288, 32, 248320));
inline constexpr shape qwen3_5_27b = family::qwen3_5_tower(family::delta("qwen3.5-27b", 64, 5120, 24, 4, 17408, 48, 248320));
inline constexpr shape qwen3_5_35b_a3b = family::qwen3_5_tower(family::delta_routed(family::delta("qwen3.5-35b-a3b", 40, 2048, 16, 2, 5632, 32, 248320), 256, 8, 512));
inline constexpr shape qwen3_5_122b_a10b = family::qwen3_5_tower(family::delta_routed(family::delta("qwen3.5-122b-a10b", 48, 3072, 32, 2, 5632, 64, 248320), 256, 8, 1024));
inline constexpr shape qwen3_5_397b_a17b = family::qwen3_5_tower(family::delta_routed(family::delta("qwen3.5-397b-a17b", 60, 4096, 32, 2, 5632, 64, 248320), 512, 10, 1024));
inline constexpr shape qwen3_vl_32b = family::qwen3_tower(family::qwen3("qwen3-vl-32b", 64, 5120, 64, 8, 25600), 27, 1152, 4304);
inline constexpr shape qwen3_vl_30b_a3b = family::qwen3_tower(family::parameters(family::routed(family::qwen3("qwen3-vl-30b-a3b", 48, 2048, 32, 4, 6144), 128, 8, 768)), 27, 1152, 4304);
inline constexpr shape qwen3_vl_235b_a22b = family::qwen3_tower(family::parameters(family::routed(family::qwen3("qwen3-vl-235b-a22b", 94, 4096, 64, 4, 12288), 128, 8, 1536)), 27, 1152, 4304);
inline constexpr shape qwen3_embedding_0_6b = family::qwen3_of("qwen3-embedding-0.6b", family::qwen3("", 28, 1024, 16, 8, 3072, true), 151669);
inline constexpr shape qwen3_embedding_4b = family::qwen3_of("qwen3-embedding-4b", family::qwen3("", 36, 2560, 32, 8, 9728, true), 151665);
inline constexpr shape qwen3_embedding_8b = family::qwen3_of("qwen3-embedding-8b", family::qwen3("", 36, 4096, 32, 8, 12288), 151665);
inline constexpr shape qwen3_reranker_4b = family::qwen3_of("qwen3-reranker-4b", family::qwen3("", 36, 2560, 32, 8, 9728, true), 151669);
inline constexpr shape qwen3_reranker_8b = family::qwen3_of("qwen3-reranker-8b", family::qwen3("", 36, 4096, 32, 8, 12288), 151669);
inline constexpr shape glm_4_9b_0414 = family::glm4("glm-4-9b-0414", 40, 4096, 32, 2, 13696);
inline constexpr shape bert_base_chinese = family::bert("bert-base-chinese", 12, 768, 12, 21128);

}  // namespace headroom::models
