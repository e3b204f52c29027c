// Distributed under the Boost Software License, Version 1.0.
// Families with routed experts.
#pragma once

#include <headroom/model/family.hpp>

/// … of mixtures of experts.
namespace headroom::family {

/// Routed experts instead of the MLP in every layer.
constexpr shape routed(shape s, n count, n active, n ffn) {
  s.experts.count = count;
  s.experts.active = active;
  s.experts.ffn = ffn;
  return s;
}
constexpr shape shared(shape s, n experts, n width) {
  s.experts.shared = experts;
  s.experts.shared_ffn = width;
  return s;
}

/// Mixtral: routing weights stay in fp32.
constexpr shape mixtral(name label, n layers, n hidden, n heads, n ffn, n vocab) {
  auto s = routed(llama(label, layers, hidden, heads, 8, ffn, vocab), 8, 2, ffn);
  s.experts.fp32_weights = true;
  return s;
}

/// Qwen2-MoE: one shared expert behind a gate.
constexpr shape shared_with_gate(shape s, n width) {
  s = shared(s, 1, width);
  s.experts.shared_gate = true;
  return s;
}
constexpr shape dense_first(shape s, n layers) {
  s.experts.first_dense_layers = layers;
  return s;
}

/// Multi-head latent attention with DeepSeek's head sizes.
constexpr shape latent(shape s, n q_rank) {
  s.mla = {q_rank, 512, 128, 64, 128};
  return s;
}

/// DeepSeek-V2 and V3, Kimi-K2, Moonlight. The width of a shared expert is that of a routed one.
constexpr shape deepseek(name label, n layers, n hidden, n heads, n ffn, n vocab, n q_rank, n experts, n active, n width,
                         n shared_experts, n dense) {
  auto s = latent(routed(llama(label, layers, hidden, heads, heads, ffn, vocab), experts, active, width), q_rank);
  s = shared(s, shared_experts, shared_experts * width);
  s.experts.first_dense_layers = dense;
  return s;
}

/// Weights of the chosen experts as the softmax over all gave them, not divided by their sum: norm_topk_prob false.
constexpr shape undivided(shape s) {
  s.experts.raw_weights = true;
  return s;
}

/// Experts that are parameters in every release of transformers.
constexpr shape parameters(shape s) {
  s.experts.parameters = true;
  return s;
}

/// DBRX: bias-free LayerNorm.
constexpr shape dbrx(name label, n layers, n hidden, n heads, n kv, n ffn, n vocab, n experts, n active) {
  auto s = fused(routed(llama(label, layers, hidden, heads, kv, ffn, vocab), experts, active, ffn));
  s.norm = norm_kind::layernorm;
  s.experts.parameters = true;  // DbrxExpertGLU.w1, v1 and w2
  return s;
}

/// Phi-3.5-MoE: LayerNorm with bias, biases on attention and head.
constexpr shape phimoe(name label, n layers, n hidden, n heads, n kv, n ffn, n vocab, n experts, n active) {
  auto s = routed(llama(label, layers, hidden, heads, kv, ffn, vocab), experts, active, ffn);
  s.norm = norm_kind::layernorm;
  s.norm_bias = s.attention_bias = s.output_bias = s.head_bias = true;
  return s;
}

/// MiniMax-M2: norms over the whole q and k, routing weights in fp32.
constexpr shape minimax(name label, n layers, n hidden, n heads, n kv, n ffn, n vocab, n experts, n active) {
  auto s = routed(llama(label, layers, hidden, heads, kv, ffn, vocab, false, 128), experts, active, ffn);
  s.qk_norm_full = s.experts.fp32_weights = true;
  return s;
}

/// MiMo-V2: the first layer, which is dense, and every sixth see all positions, with half the key-value heads and without sinks.
constexpr shape mimo_v2(name label, n layers, n hidden, n heads, n kv, n ffn, n vocab, n experts, n active, n width) {
  auto s = routed(llama(label, layers, hidden, heads, 2 * kv, ffn, vocab, false, 192), experts, active, width);
  s.value_dim = s.sliding_window = 128;
  s.rotary_percent = 33;
  s.attention_sinks = s.fixed_sinks = s.experts.fp32_router = true;
  s.global.kv_heads = kv;
  for (n i = 0; i < layers; ++i)
    s.pattern.add({i == 0 || (i + 1) % 6 == 0 ? mixer_kind::global_attention : mixer_kind::attention, i == 0 ? feed_forward_kind::dense : feed_forward_kind::experts});
  return s;
}

constexpr shape gpt_oss(name label, n layers, n experts) {
  auto s = routed(llama(label, layers, 2880, 64, 8, 2880, 201088, false, 64), experts, 4, 2880);
  s.attention_bias = s.output_bias = s.attention_sinks = s.fp32_norm = true;
  s.experts.bias = s.experts.router_bias = true;
  s.rotary = rotary_kind::split_halves;
  s.sliding_window = 128;
  s.full_layers = layers / 2;
  return s;
}

}  // namespace headroom::family
