// Distributed under the Boost Software License, Version 1.0.
// What the dense models of a family share, so that a model is one line of numbers. Arguments stand in the order layers,
// hidden, heads, key-value heads, MLP width, vocabulary. Where the numbers come from is said at the readers,
// io/huggingface/; tests/model/test_counts.cpp holds both to the same totals.
#pragma once

#include <headroom/model/shape.hpp>

/// A function for each family of models: what sets one size apart from another makes a shape.
namespace headroom::family {

using n = std::int64_t;

/// Llama 1 to 3, Mistral, Yi, SmolLM, InternLM2, Baichuan: RMSNorm, gated SiLU, rotary positions, no biases.
constexpr shape llama(name label, n layers, n hidden, n heads, n kv, n ffn, n vocab, bool tied = false, n head_dim = 0) {
  shape s;
  s.label = label;
  s.layers = layers;
  s.hidden = hidden;
  s.heads = heads;
  s.kv_heads = kv;
  s.head_dim = head_dim;
  s.ffn = ffn;
  s.vocab = vocab;
  s.tied = tied;
  return s;
}

/// Llama with a bias on q, k and v.
constexpr shape qwen2(name label, n layers, n hidden, n heads, n kv, n ffn, n vocab, bool tied = false) {
  auto s = llama(label, layers, hidden, heads, kv, ffn, vocab, tied);
  s.attention_bias = true;
  return s;
}

/// Llama with heads of 128 and a norm over each head's q and k.
constexpr shape qwen3(name label, n layers, n hidden, n heads, n kv, n ffn, bool tied = false) {
  auto s = llama(label, layers, hidden, heads, kv, ffn, 151936, tied, 128);
  s.qk_norm = true;
  return s;
}

constexpr shape gemma(name label, n layers, n hidden, n heads, n kv, n ffn, n head_dim = 256) {
  auto s = llama(label, layers, hidden, heads, kv, ffn, 256000, true, head_dim);
  s.activation = activation_kind::gelu_pytorch_tanh;
  s.norm_offset = true;
  return s;
}
constexpr shape gemma2(name label, n layers, n hidden, n heads, n kv, n ffn, n head_dim = 256) {
  auto s = gemma(label, layers, hidden, heads, kv, ffn, head_dim);
  s.post_norms = true;
  s.attention_softcap = 50;
  s.logit_softcap = 30;
  s.sliding_window = 4096;
  s.full_layers = layers / 2;
  return s;
}
constexpr shape gemma3(name label, n layers, n hidden, n heads, n kv, n ffn, n vocab = 262144, n head_dim = 256, n window = 1024) {
  auto s = gemma(label, layers, hidden, heads, kv, ffn, head_dim);
  s.vocab = vocab;
  s.post_norms = true;
  s.qk_norm = true;
  s.sliding_window = window;
  s.full_layers = layers / 6;
  return s;
}

/// GPT-2, GPT-3, Megatron's GPT: LayerNorm, biases everywhere, learned positions, MLP of 4 × hidden.
constexpr shape gpt(name label, n layers, n hidden, n heads, n vocab, n positions, bool tied = true) {
  auto s = llama(label, layers, hidden, heads, 0, 4 * hidden, vocab, tied);
  s.mlp = mlp_kind::plain;
  s.activation = activation_kind::gelu_new;
  s.norm = norm_kind::layernorm;
  s.norm_bias = s.attention_bias = s.output_bias = s.mlp_bias = true;
  s.position = position_kind::learned;
  s.max_positions = positions;
  s.fused_qkv = true;
  return s;
}

/// GPT-NeoX and Pythia: the GPT block in parallel, a quarter of each head rotated, no tie.
constexpr shape neox(name label, n layers, n hidden, n heads, n vocab) {
  auto s = gpt(label, layers, hidden, heads, vocab, 2048, false);
  s.activation = activation_kind::gelu;
  s.position = position_kind::rope;
  s.rotary_percent = 25;
  s.parallel_block = true;
  return s;
}

constexpr shape opt(name label, n layers, n hidden, n heads) {
  auto s = gpt(label, layers, hidden, heads, 50272, 2048);
  s.activation = activation_kind::relu;
  s.position_offset = 2;
  s.fused_qkv = false;
  s.softmax = softmax_kind::fp32;
  return s;
}

constexpr shape bloom(name label, n layers, n hidden, n heads) {
  auto s = gpt(label, layers, hidden, heads, 250880, 2048);
  s.activation = activation_kind::gelu_pytorch_tanh;
  s.position = position_kind::alibi;
  s.embedding_norm = true;
  s.unfused_attention = true;
  return s;
}

/// Falcon 40B and 180B (two norms in parallel); 7B shares one norm and has one key-value head.
constexpr shape falcon(name label, n layers, n hidden, n heads, n kv, bool shared_norm = false) {
  auto s = gpt(label, layers, hidden, heads, 65024, 2048);
  s.kv_heads = kv;
  s.activation = activation_kind::gelu;
  s.attention_bias = s.output_bias = s.mlp_bias = false;
  s.position = position_kind::rope;
  s.parallel_block = true;
  s.shared_attention_norm = shared_norm;
  s.softmax = softmax_kind::compute;
  return s;
}

/// GPT-J: one norm, bias-free attention, a head with bias.
constexpr shape gptj(name label, n layers, n hidden, n heads, n vocab) {
  auto s = gpt(label, layers, hidden, heads, vocab, 2048, false);
  s.attention_bias = s.output_bias = s.fused_qkv = false;
  s.position = position_kind::rope;
  s.rotary_percent = 25;
  s.parallel_block = s.shared_attention_norm = s.head_bias = true;
  s.rotary = rotary_kind::own_pairs;
  s.unfused_attention = true;
  s.softmax = softmax_kind::fp32_scores;
  return s;
}
constexpr shape gpt_neo(name label, n layers, n hidden, n heads) {
  auto s = gpt(label, layers, hidden, heads, 50257, 2048);
  s.attention_bias = s.fused_qkv = false;
  s.softmax = softmax_kind::fp32_scores;
  s.unfused_attention = true;
  return s;
}

/// MPT: no bias anywhere, ALiBi.
constexpr shape mpt(name label, n layers, n hidden, n heads, n vocab) {
  auto s = gpt(label, layers, hidden, heads, vocab, 2048);
  s.activation = activation_kind::gelu;
  s.norm_bias = s.attention_bias = s.output_bias = s.mlp_bias = false;
  s.position = position_kind::alibi;
  s.unfused_attention = true;
  return s;
}

constexpr shape phi(name label, n layers, n hidden, n heads, n rotary_percent) {
  auto s = gpt(label, layers, hidden, heads, 51200, 2048, false);
  s.position = position_kind::rope;
  s.rotary_percent = rotary_percent;
  s.parallel_block = s.shared_attention_norm = s.head_bias = true;
  s.fused_qkv = false;
  return s;
}

/// Phi-3 and Phi-4: Llama with fused matrices.
constexpr shape phi3(name label, n layers, n hidden, n heads, n kv, n ffn, n vocab, bool tied = false) {
  auto s = llama(label, layers, hidden, heads, kv, ffn, vocab, tied);
  s.fused_qkv = s.fused_gate_up = true;
  return s;
}

constexpr shape olmo2(name label, n layers, n hidden, n heads, n kv, n ffn, n vocab, n window = 0) {
  auto s = llama(label, layers, hidden, heads, kv, ffn, vocab);
  s.sliding_window = window;
  if (window > 0) s.full_layers = layers / 4;  // OLMo 3
  s.qk_norm_full = s.norm_after = s.fp32_norm = true;
  s.rotary = rotary_kind::fp32_halves;
  return s;
}

constexpr shape stablelm(name label, n layers, n hidden, n heads, n kv, n ffn, n vocab, bool bias, bool parallel = false) {
  auto s = llama(label, layers, hidden, heads, kv, ffn, vocab);
  s.norm = norm_kind::layernorm;
  s.norm_bias = true;
  s.attention_bias = bias;
  s.rotary_percent = 25;
  s.parallel_block = s.shared_attention_norm = s.qk_norm_full = parallel;  // the 12B
  return s;
}

/// Every layer sees so many positions back.
constexpr shape behind_window(shape s, n window) {
  s.sliding_window = window;
  return s;
}

constexpr shape starcoder2(name label, n layers, n hidden, n heads, n kv, bool tied) {
  auto s = behind_window(gpt(label, layers, hidden, heads, 49152, 16384, tied), 4096);
  s.kv_heads = kv;
  s.activation = activation_kind::gelu_pytorch_tanh;
  s.position = position_kind::rope;
  s.fused_qkv = false;
  return s;
}

/// Command-R: attention and MLP in parallel behind one bias-free LayerNorm.
constexpr shape cohere(name label, n layers, n hidden, n heads, n kv, n ffn, bool qk_norm) {
  auto s = llama(label, layers, hidden, heads, kv, ffn, 256000, true);
  s.norm = norm_kind::layernorm;
  s.parallel_block = s.shared_attention_norm = s.fp32_norm = true;
  s.qk_norm_full = qk_norm;
  return s;
}

// What single models change.

constexpr shape wide_heads(shape s, n head_dim) {
  s.head_dim = head_dim;
  return s;
}
/// q, k and v in one matrix (InternLM2, Baichuan).
constexpr shape fused(shape s) {
  s.fused_qkv = true;
  return s;
}
/// Baichuan 2: the head's rows are normalised at every step.
constexpr shape baichuan2(name label, n layers, n hidden, n heads, n ffn) {
  auto s = fused(llama(label, layers, hidden, heads, heads, ffn, 125696));
  s.normalised_head = true;
  return s;
}
constexpr shape half_rotary(shape s) {
  s.rotary_percent = 50;
  return s;
}
/// OLMo 1: norms without weights.
constexpr shape weightless(shape s) {
  s.norm = norm_kind::layernorm;
  s.norm_weight = false;
  s.fp32_norm = true;
  s.rotary = rotary_kind::fp32_halves;
  return s;
}

}  // namespace headroom::family
