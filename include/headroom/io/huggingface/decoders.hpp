// Distributed under the Boost Software License, Version 1.0.
// Dense decoders built like Llama: their class defaults as a table, and one reader. Defaults are those of transformers
// 4.56's configuration_<family>.py; `kv` 0 there means None (as many as heads), `head_dim` 0 means hidden / heads.
#pragma once

#include <headroom/io/huggingface/task.hpp>

namespace headroom::io::detail {

/// Which projections `attention_bias` (or use_qkv_bias, use_bias, bias, …) puts a bias on.
enum class bias_rule : std::uint8_t { none, key_all, key_qkv, always_qkv };

struct dense_family {
  const char* type;
  std::int64_t vocab, hidden, ffn, layers, heads, kv, head_dim, positions;
  bool tied{};
  bias_rule bias{bias_rule::none};
  const char* bias_key{"attention_bias"};
  bool bias_default{};
  const char* activation{"silu"};
  std::int64_t window{};
};

inline constexpr std::int64_t ask = config::required;  // remote code: no class default is known

inline constexpr dense_family dense_families[] = {
    {"llama", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    {"mistral", 32000, 4096, 14336, 32, 32, 8, 0, 131072, false, bias_rule::none, "", false, "silu", 4096},
    {"mixtral", 32000, 4096, 14336, 32, 32, 8, 0, 131072},
    {"qwen2", 151936, 4096, 22016, 32, 32, 32, 0, 32768, false, bias_rule::always_qkv},
    {"qwen2_moe", 151936, 2048, 5632, 24, 16, 16, 0, 32768, false, bias_rule::key_qkv, "qkv_bias", true},
    {"qwen3", 151936, 4096, 22016, 32, 32, 32, 128, 32768, false, bias_rule::key_all},
    {"qwen3_moe", 151936, 2048, 6144, 24, 32, 4, 0, 32768, false, bias_rule::key_all},
    {"gemma", 256000, 3072, 24576, 28, 16, 16, 256, 8192, true, bias_rule::key_all, "attention_bias", false, "gelu_pytorch_tanh"},
    {"gemma2", 256000, 2304, 9216, 26, 8, 4, 256, 8192, true, bias_rule::key_all, "attention_bias", false, "gelu_pytorch_tanh", 4096},
    {"gemma3_text", 262208, 2304, 9216, 26, 8, 4, 256, 131072, true, bias_rule::key_all, "attention_bias", false, "gelu_pytorch_tanh", 4096},
    {"phi3", 32064, 3072, 8192, 32, 32, 0, 0, 4096},
    {"phimoe", 32064, 4096, 6400, 32, 32, 8, 0, 131072, false, bias_rule::key_all},
    {"olmo", 50304, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    {"olmo2", 50304, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    {"olmo3", 50304, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all, "attention_bias", false, "silu", 4096},
    {"olmoe", 50304, 2048, 2048, 16, 16, 0, 0, 4096, false, bias_rule::key_all},
    {"stablelm", 50304, 2560, 6912, 32, 32, 32, 0, 4096, false, bias_rule::key_qkv, "use_qkv_bias"},
    {"starcoder2", 49152, 3072, 12288, 30, 24, 2, 0, 4096, true, bias_rule::key_all, "use_bias", true, "gelu_pytorch_tanh"},
    {"cohere", 256000, 8192, 22528, 40, 64, 0, 0, 8192, true, bias_rule::key_all},
    {"cohere2", 256000, 8192, 22528, 40, 64, 0, 0, 8192, true, bias_rule::key_all, "attention_bias", false, "silu", 4096},
    {"glm", 151552, 4096, 13696, 40, 32, 2, 128, 131072, false, bias_rule::key_qkv, "attention_bias", true},
    {"glm4", 151552, 4096, 13696, 40, 32, 2, 128, 131072, false, bias_rule::key_qkv, "attention_bias", true},
    {"glm4_moe", 151552, 4096, 10944, 46, 96, 8, 0, 131072, false, bias_rule::key_qkv},
    {"gpt_oss", 201088, 2880, 2880, 36, 64, 8, 64, 131072, false, bias_rule::key_all, "attention_bias", true, "silu", 128},
    {"llama4_text", 202048, 5120, 8192, 48, 40, 8, 128, 131072, false, bias_rule::key_all},
    {"nemotron", 256000, 6144, 24576, 32, 48, 0, 0, 4096, false, bias_rule::key_all, "attention_bias", false, "relu2"},
    {"granite", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    {"granitemoe", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    {"smollm3", 128256, 2048, 11008, 36, 16, 4, 0, 32768, true, bias_rule::key_all},
    {"qwen3_next", 151936, 2048, 5632, 48, 16, 2, 256, 32768, false, bias_rule::key_all},
    {"qwen3_5_text", 248320, 4096, 12288, 32, 16, 4, 256, 32768, false, bias_rule::key_all},
    {"qwen3_5_moe_text", 248320, 2048, 5632, 40, 16, 2, 256, 32768, false, bias_rule::key_all},
    {"bamba", 128000, 4096, 14336, 32, 32, 8, 0, 262144, false, bias_rule::key_all},
    {"granitemoehybrid", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    {"nemotron_h", 131072, 4096, 21504, 52, 32, 8, 128, 4096, false, bias_rule::key_all},
    {"deepseek_v2", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    {"deepseek_v3", 129280, 7168, 18432, 61, 128, 0, 0, 4096, false, bias_rule::key_all},
    {"minimax_m2", 200064, 3072, 1536, 62, 48, 8, 128, 196608},
    {"phi", 51200, 2048, 8192, 24, 32, 0, 0, 2048, false, bias_rule::none, "", false, "gelu_new"},
    {"qwen2_vl_text", 152064, 8192, 29568, 80, 64, 8, 0, 32768, false, bias_rule::always_qkv},
    {"qwen3_vl_text", 151936, 4096, 22016, 32, 32, 32, 128, 128000, false, bias_rule::key_all},
    {"qwen3_vl_moe_text", 151936, 2048, 5632, 24, 16, 16, 128, 128000, false, bias_rule::key_all},
    {"seed_oss", 155136, 4096, 27648, 64, 80, 8, 128, 524288, false, bias_rule::key_qkv, "attention_bias", true},
    {"ernie4_5", 103424, 1024, 3072, 18, 16, 2, 128, 131072, true, bias_rule::key_all, "use_bias"},
    {"ernie4_5_moe", 103424, 2560, 12288, 28, 20, 4, 0, 131072, true, bias_rule::key_all, "use_bias"},
    {"hunyuan_v1_dense", 290943, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    {"hunyuan_v1_moe", 290943, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    {"exaone4", 102400, 4096, 16384, 32, 32, 32, 0, 2048, false, bias_rule::none, "", false, "silu", 4096},
    {"arcee", 32000, 2560, 18432, 32, 32, 0, 0, 4096, false, bias_rule::key_all, "attention_bias", false, "relu2"},
    {"helium", 48000, 2560, 7040, 24, 20, 20, 128, 4096, false, bias_rule::key_qkv},
    {"dots1", 152064, 4608, 10944, 62, 32, 32, 0, 2048, false, bias_rule::key_all},
    {"granitemoeshared", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    // Code beside the checkpoint: sizes must be stated.
    {"exaone", ask, ask, ask, ask, ask, 0, 0, 2048, true},
    {"internlm", ask, ask, ask, ask, ask, 0, 0, 2048, false, bias_rule::key_all, "bias", true},
    {"internlm2", ask, ask, ask, ask, ask, 0, 0, 2048, false, bias_rule::key_all, "bias", true},
    {"internlm3", ask, ask, ask, ask, ask, 0, 0, 32768, false, bias_rule::key_qkv, "qkv_bias"},
    {"baichuan", ask, ask, ask, ask, ask, 0, 0, 4096},
    {"minicpm", ask, ask, ask, ask, ask, 0, 0, 2048, true, bias_rule::key_all},
    {"deepseek", ask, ask, ask, ask, ask, 0, 0, 2048, false, bias_rule::key_all},
};

inline const dense_family& dense_defaults(std::string_view type) {
  for (const auto& f : dense_families)
    if (type == f.type) return f;
  complain("no class defaults are known for model_type " + quoted_word(std::string(type)));
}

/// Sizes, ties and biases that all of them spell alike.
inline shape read_dense(const config& c, const dense_family& f) {
  shape m;
  m.layers = f.layers == ask ? c.count({"num_hidden_layers", "num_layers"}, ask) : c.count({"num_hidden_layers"}, f.layers);
  m.hidden = c.size({"hidden_size"}, f.hidden);
  m.heads = c.count({"num_attention_heads"}, f.heads);
  m.kv_heads = c.nullable({"num_key_value_heads"}, f.kv, 0, 1, config::most);
  m.head_dim = c.nullable({"head_dim"}, f.head_dim, 0);
  m.ffn = c.size({"intermediate_size"}, f.ffn);
  m.vocab = c.size({"vocab_size"}, f.vocab);
  m.max_positions = c.size({"max_position_embeddings"}, f.positions);
  m.tied = c.flag("tie_word_embeddings", f.tied);
  m.activation = activation_of(c, {"hidden_act"}, f.activation);
  m.rotary_percent = c.percent({"partial_rotary_factor"}, 100);
  if (c.flag("use_sliding_window", true)) m.sliding_window = c.nullable({"sliding_window"}, f.window, 0, 0);
  if (f.bias == bias_rule::always_qkv) m.attention_bias = true;
  if (f.bias == bias_rule::key_all || f.bias == bias_rule::key_qkv) m.attention_bias = c.flag(f.bias_key, f.bias_default);
  m.output_bias = f.bias == bias_rule::key_all && m.attention_bias;
  return m;
}

/// What each dense family adds. Returns false where the family is not one of them.
inline bool read_dense_decoder(const config& c, std::string_view type, shape& m) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    for (const auto n : names)
      if (type == n) return true;
    return false;
  };
  if (!is({"llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "phi", "olmo", "olmo2", "olmo3", "stablelm",
           "starcoder2", "cohere", "cohere2", "glm", "glm4", "nemotron", "granite", "smollm3", "internlm2", "baichuan", "minicpm",
           "qwen2_vl_text", "qwen3_vl_text", "seed_oss", "ernie4_5", "hunyuan_v1_dense", "exaone", "exaone4", "arcee", "helium", "internlm",
           "internlm3"}))
    return false;
  m = read_dense(c, dense_defaults(type));
  if (is({"llama", "granite", "smollm3", "seed_oss", "arcee", "helium"})) m.mlp_bias = c.flag("mlp_bias", false);
  if (is({"qwen2", "qwen2_vl_text", "smollm3"}) && !c.flag("use_sliding_window", false)) m.sliding_window = 0;
  if (is({"qwen3", "qwen3_vl_text"})) {
    m.qk_norm = true;
    if (!c.flag("use_sliding_window", false)) m.sliding_window = 0;
  }
  if (is({"gemma", "gemma2", "gemma3_text"})) m.activation = activation_of(c, {"hidden_activation"}, "gelu_pytorch_tanh");
  if (is({"gemma2", "gemma3_text"})) {  // Gemma2DecoderLayer: a norm before and after both sub-blocks
    m.post_norms = true;
    m.attention_softcap = c.softcap("attn_logit_softcapping", type == "gemma2" ? 50 : 0);
    m.logit_softcap = c.softcap("final_logit_softcapping", type == "gemma2" ? 30 : 0);
    m.qk_norm = type == "gemma3_text";
  }
  if (is({"phi3"})) m.fused_qkv = m.fused_gate_up = true;
  if (is({"phi"})) {  // PhiDecoderLayer: one norm for both sub-blocks, biases everywhere, the head too
    m.mlp = mlp_kind::plain;
    m.norm = norm_kind::layernorm;
    m.norm_bias = m.attention_bias = m.output_bias = m.mlp_bias = m.head_bias = true;
    m.parallel_block = m.shared_attention_norm = true;
    m.rotary_percent = c.percent({"partial_rotary_factor"}, 50);
    m.qk_norm = c.flag("qk_layernorm", false);
  }
  if (is({"olmo"})) m.norm = norm_kind::layernorm, m.norm_weight = false;
  if (is({"olmo2", "olmo3"})) m.qk_norm_full = m.norm_after = true;
  if (is({"stablelm"})) {
    m.norm = norm_kind::layernorm;
    m.norm_bias = true;
    m.parallel_block = m.shared_attention_norm = c.flag("use_parallel_residual", false);
    m.qk_norm_full = c.flag("qk_layernorm", false);
    m.rotary_percent = c.percent({"partial_rotary_factor"}, 25);
  }
  if (is({"starcoder2"})) {
    m.mlp = mlp_kind::plain;
    m.norm = norm_kind::layernorm;
    m.norm_bias = true;
    m.mlp_bias = m.attention_bias;  // use_bias covers every linear layer
  }
  if (is({"cohere", "cohere2"})) {  // CohereLayerNorm has a weight and no bias
    m.norm = norm_kind::layernorm;
    m.parallel_block = m.shared_attention_norm = true;
    m.qk_norm_full = type == "cohere" && c.flag("use_qk_norm", false);
  }
  if (is({"glm", "glm4"})) {
    m.rotary_percent = c.percent({"partial_rotary_factor"}, 50);
    m.fused_gate_up = true;
    m.post_norms = type == "glm4";
  }
  if (is({"nemotron"})) {  // NemotronLayerNorm1P; MLP without a gate
    m.mlp = mlp_kind::plain;
    m.norm = norm_kind::layernorm;
    m.norm_bias = true;
    m.mlp_bias = c.flag("mlp_bias", false);
    m.rotary_percent = c.percent({"partial_rotary_factor"}, 50);
  }
  if (is({"seed_oss"})) m.output_bias = c.flag("attention_out_bias", false);
  if (is({"ernie4_5"})) m.mlp_bias = m.attention_bias;          // Ernie4_5MLP reads use_bias too
  if (is({"hunyuan_v1_dense", "exaone4"})) m.qk_norm = true;    // HunYuanDenseV1Attention, Exaone4Attention
  if (is({"exaone4"})) m.norm_after = true;                     // Exaone4DecoderLayer: norms follow both sub-blocks
  if (is({"exaone"})) m.activation = activation_of(c, {"activation_function", "hidden_act"}, "silu");
  if (is({"arcee"})) m.mlp = mlp_kind::plain;                   // ArceeMLP has no gate
  if (is({"internlm3"})) m.output_bias = m.mlp_bias = c.flag("bias", false);
  if (is({"internlm2", "baichuan"})) m.fused_qkv = true;
  if (is({"baichuan"})) m.normalised_head = m.vocab == 125696;  // Baichuan2's NormHead; Baichuan 1 has 64000
  return true;
}

}  // namespace headroom::io::detail
