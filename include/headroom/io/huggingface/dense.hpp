// Distributed under the Boost Software License, Version 1.0.
// Dense decoders built like Llama: what each family has beyond its sizes.
#pragma once

#include <headroom/io/huggingface/decoders.hpp>

namespace headroom::io::detail {

inline void layer_norms(shape& m, bool bias) {
  m.norm = norm_kind::layernorm;
  m.norm_bias = bias;
}

inline void read_mlp_bias(const config& c, shape& m) { m.mlp_bias = c.flag("mlp_bias", false); }

/// A window that is stated counts only where use_sliding_window says so.
inline void read_window_switch(const config& c, shape& m) {
  if (!c.flag("use_sliding_window", false)) m.sliding_window = m.full_layers = 0;
}

inline void finish_qwen3(const config& c, shape& m) {
  m.qk_norm = true;
  read_window_switch(c, m);
}

inline void finish_gemma(const config& c, shape& m) {  // GemmaRMSNorm
  m.activation = activation_of(c, {"hidden_activation"}, "gelu_pytorch_tanh");
  m.norm_offset = true;
}

inline void finish_gemma2(const config& c, shape& m, std::int64_t attention_cap, std::int64_t logit_cap) {  // Gemma2DecoderLayer: a norm before and after both sub-blocks
  finish_gemma(c, m);
  m.post_norms = true;
  m.attention_softcap = c.softcap("attn_logit_softcapping", attention_cap);
  m.logit_softcap = c.softcap("final_logit_softcapping", logit_cap);
}

inline void finish_phi(const config& c, shape& m) {  // PhiDecoderLayer: one norm for both sub-blocks, biases everywhere, the head too
  m.mlp = mlp_kind::plain;
  layer_norms(m, true);
  m.attention_bias = m.output_bias = m.mlp_bias = m.head_bias = true;
  m.parallel_block = m.shared_attention_norm = true;
  m.rotary_percent = c.percent({"partial_rotary_factor"}, 50);
  m.qk_norm = c.flag("qk_layernorm", false);
  if (m.qk_norm) require_plain_heads(c, m, "the norm of PhiAttention");
}

inline void finish_stablelm(const config& c, shape& m) {  // StableLmAttention does not read head_dim
  m.head_dim = 0;
  layer_norms(m, true);
  m.parallel_block = m.shared_attention_norm = c.flag("use_parallel_residual", false);
  m.qk_norm_full = c.flag("qk_layernorm", false);
  m.rotary_percent = c.percent({"partial_rotary_factor"}, 25);
}

inline void finish_olmo2(const config&, shape& m) { m.qk_norm_full = m.norm_after = m.fp32_norm = true, m.rotary = rotary_kind::fp32_halves; }  // Olmo2RMSNorm, Olmo2RotaryEmbedding

inline void finish_cohere2(const config&, shape& m) {  // CohereLayerNorm has a weight and no bias
  layer_norms(m, false);
  m.parallel_block = m.shared_attention_norm = m.fp32_norm = true;
}

/// Of a head's features those that positions turn: as rope_parameters has it since transformers 5, or a key of its own; else `usual` percent.
inline std::int64_t rotary_percent_of(const config& c, std::int64_t usual) {
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (const auto rope = c.child(key); rope.has("partial_rotary_factor")) usual = rope.percent({"partial_rotary_factor"}, usual);
  return c.percent({"partial_rotary_factor"}, usual);
}

inline void finish_glm(const config& c, shape& m, std::int64_t usual_percent = 50) {
  m.rotary_percent = rotary_percent_of(c, usual_percent);
  m.rotary = rotary_kind::pairs;
  m.fused_gate_up = true;
}

inline void finish_nemotron(const config& c, shape& m) {  // NemotronLayerNorm1P; MLP without a gate
  m.mlp = mlp_kind::plain;
  layer_norms(m, true);
  read_mlp_bias(c, m);
  m.rotary_percent = c.percent({"partial_rotary_factor"}, 50);
}

inline constexpr decoder_family dense_decoders[] = {
    {"llama", read_mlp_bias},
    {"granite", read_mlp_bias},
    {"helium", [](const config& c, shape& m) { m.fp32_norm = true, m.rotary = rotary_kind::pairs, read_mlp_bias(c, m), require_plain_heads(c, m, "the output projection of HeliumAttention"); }},
    {"mistral", nullptr},
    {"minicpm", nullptr},
    {"internlm", nullptr},
    {"qwen2", read_window_switch},
    {"qwen2_vl_text", [](const config& c, shape& m) { read_window_switch(c, m), m.head_dim = 0; }},  // Qwen2VLAttention does not read head_dim
    {"qwen3", finish_qwen3},
    {"qwen3_vl_text", finish_qwen3},
    {"gemma", finish_gemma},
    {"gemma2", [](const config& c, shape& m) { finish_gemma2(c, m, 50, 30); }},
    {"gemma3_text", [](const config& c, shape& m) { finish_gemma2(c, m, 0, 0), m.qk_norm = true; }},
    {"phi", finish_phi},
    {"phi3", [](const config&, shape& m) { m.fused_qkv = m.fused_gate_up = true; }},
    {"olmo", [](const config&, shape& m) { m.norm = norm_kind::layernorm, m.norm_weight = false, m.fp32_norm = true, m.rotary = rotary_kind::fp32_halves; }},
    {"olmo2", finish_olmo2},
    {"olmo3", finish_olmo2},
    {"stablelm", finish_stablelm},
    {"starcoder2", [](const config&, shape& m) { m.mlp = mlp_kind::plain, layer_norms(m, true), m.mlp_bias = m.attention_bias; }},  // use_bias covers every linear layer
    {"cohere", [](const config& c, shape& m) { finish_cohere2(c, m), m.qk_norm_full = c.flag("use_qk_norm", false); }},
    {"cohere2", finish_cohere2},
    {"glm", [](const config& c, shape& m) { finish_glm(c, m); }},
    {"glm4", [](const config& c, shape& m) { finish_glm(c, m), m.post_norms = true; }},
    {"glm4v_text", [](const config& c, shape& m) {  // Glm4vTextAttention reads neither attention_bias nor head_dim
       finish_glm(c, m, 100);
       c.ignore({"attention_bias"});
       m.post_norms = m.attention_bias = true;
       m.head_dim = m.hidden / m.heads;
     }},
    {"glm_ocr_text", [](const config& c, shape& m) {  // GlmOcrTextAttention never has biases
       finish_glm(c, m, 100);
       c.ignore({"attention_bias"});
       m.post_norms = true;
       if (m.head_dim == 0) m.head_dim = m.hidden / m.heads;
     }},
    {"nemotron", finish_nemotron},
    {"smollm3", [](const config& c, shape& m) { read_mlp_bias(c, m), read_window_switch(c, m); }},
    {"seed_oss", [](const config& c, shape& m) { read_mlp_bias(c, m), m.output_bias = c.flag("attention_out_bias", false); }},
    {"ernie4_5", [](const config&, shape& m) { m.mlp_bias = m.attention_bias, m.rotary = rotary_kind::fp32_pairs; }},  // Ernie4_5MLP reads use_bias too
    {"hunyuan_v1_dense", [](const config&, shape& m) { m.qk_norm = true; }},       // HunYuanDenseV1Attention
    {"exaone", [](const config& c, shape& m) { m.activation = activation_of(c, {"activation_function", "hidden_act"}, "silu"); }},
    {"exaone4", [](const config&, shape& m) { m.qk_norm = m.norm_after = true; }},  // Exaone4DecoderLayer: norms follow both sub-blocks
    {"arcee", [](const config& c, shape& m) { read_mlp_bias(c, m), m.mlp = mlp_kind::plain; }},  // ArceeMLP has no gate
    {"internlm2", [](const config&, shape& m) { m.fused_qkv = true; }},
    {"internlm3", [](const config& c, shape& m) { m.output_bias = m.mlp_bias = c.flag("bias", false); }},
    {"baichuan", [](const config&, shape& m) { m.fused_qkv = true, m.normalised_head = m.vocab == 125696; }},  // Baichuan2's NormHead; Baichuan 1 has 64000
};

}  // namespace headroom::io::detail
