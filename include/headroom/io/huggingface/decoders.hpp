// Distributed under the Boost Software License, Version 1.0.
// Decoders that spell their sizes as Llama does: their class defaults as a table, and one reader. Defaults are those of transformers
// 4.56's configuration_<family>.py; `kv` 0 there means None (as many as heads), `head_dim` 0 means hidden / heads.
#pragma once

#include <headroom/io/huggingface/sizes.hpp>
#include <headroom/io/huggingface/windows.hpp>

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
    {"glm4v_text", 151552, 4096, 13696, 40, 32, 2, 0, 32768, false},
    {"glm_ocr_text", 59392, 1024, 4096, 16, 16, 8, 0, 131072, false},
    {"glm4v_moe_text", 151424, 4096, 10944, 46, 96, 8, 0, 65536, false, bias_rule::key_qkv, "attention_bias", true},
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
    {"jamba", 65536, 4096, 14336, 32, 32, 8, 0, 262144},
    {"olmo_hybrid", 100352, 3840, 11008, 32, 30, 0, 0, 65536, false, bias_rule::key_all},
    {"falcon_h1", 128000, 4096, 14336, 32, 32, 8, 0, 8192, false, bias_rule::key_all},
    {"gemma4_text", 262144, 2304, 9216, 30, 8, 4, 256, 131072, true, bias_rule::key_all, "attention_bias", false, "gelu_pytorch_tanh", 512},
    {"gemma3n_text", 262400, 2048, 16384, 35, 8, 2, 256, 32768, true, bias_rule::key_all, "attention_bias", false, "gelu_pytorch_tanh", 512},
    {"recurrent_gemma", 256000, 2560, 7680, 26, 10, 0, 0, 8192, true, bias_rule::key_qkv},
    {"mimo_v2_flash", 152576, 4096, 16384, 48, 64, 4, 192, 262144, false, bias_rule::key_qkv, "attention_bias", false, "silu", 128},
    {"nemotron_h", 131072, 4096, 21504, 52, 32, 8, 128, 4096, false, bias_rule::key_all},
    {"lfm2", 65536, 2560, 12288, 32, 32, 8, 0, 128000, true},
    {"lfm2_moe", 65536, 2048, 7168, 32, 32, 8, 0, 128000, true},
    {"deepseek_v2", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    {"deepseek_v3", 129280, 7168, 18432, 61, 128, 0, 0, 4096, false, bias_rule::key_all},
    {"deepseek_v32", 129280, 7168, 18432, 61, 128, 0, 0, 4096, false, bias_rule::key_all},
    {"glm_moe_dsa", 154880, 6144, 12288, 78, 64, 0, 0, 202752, false, bias_rule::key_all},
    {"minimax_m2", 200064, 3072, 1536, 62, 48, 8, 128, 196608},
    {"phi", 51200, 2048, 8192, 24, 32, 0, 0, 2048, false, bias_rule::none, "", false, "gelu_new"},
    {"qwen2_vl_text", 152064, 8192, 29568, 80, 64, 8, 0, 32768, false, bias_rule::always_qkv},
    {"qwen3_vl_text", 151936, 4096, 22016, 32, 32, 32, 128, 128000, false, bias_rule::key_all},
    {"qwen3_vl_moe_text", 151936, 2048, 5632, 24, 16, 16, 0, 128000, false, bias_rule::key_all},
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
    // Of 2025 and 2026: transformers 5.16.
    {"cwm", 128256, 6144, 21504, 64, 48, 8, 128, 131072, false, bias_rule::none, "", false, "silu", 8192},
    {"ministral3", 131072, 4096, 14336, 34, 32, 8, 128, 262144},
    {"jais2", 150272, 3328, 26624, 32, 26, 0, 0, 8192, false, bias_rule::key_all, "attention_bias", true, "relu2"},
    {"vaultgemma", 256000, 2304, 9216, 26, 8, 4, 256, 8192, true, bias_rule::key_all, "attention_bias", false, "gelu_pytorch_tanh", 4096},
    {"granite_swa", 100352, 2560, 8192, 24, 20, 4, 0, 8192, true, bias_rule::key_all, "attention_bias", false, "silu", 128},
    {"granitemoe_swa", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all, "attention_bias", false, "silu", 128},
    {"apertus", 131072, 4096, 14336, 32, 32, 0, 0, 65536, false, bias_rule::key_all, "attention_bias", false, "xielu"},
    {"bitnet", 128256, 2560, 6912, 30, 20, 5, 0, 2048, false, bias_rule::key_all, "attention_bias", false, "relu2"},
    {"nanochat", 50304, 768, 8192, 12, 6, 0, 0, 2048, false, bias_rule::key_all, "attention_bias", false, "relu2"},
    {"flex_olmo", 100352, 4096, 11008, 32, 32, 0, 0, 4096, false, bias_rule::key_all},
    {"exaone_moe", 102400, 4096, 16384, 32, 32, 32, 0, 2048, false, bias_rule::none, "", false, "silu", 4096},
    {"solar_open", 196608, 4096, 10240, 48, 64, 8, 128, 131072, false, bias_rule::key_qkv},
    {"hy_v3", 120832, 4096, 13312, 80, 64, 8, 128, 131072, false, bias_rule::key_all},
    {"mistral4", 131072, 4096, 12288, 36, 32, 32, 0, 1048576, false, bias_rule::key_all},
    {"glm4_moe_lite", 154880, 2048, 10240, 47, 20, 20, 0, 202752, false, bias_rule::key_all},
    {"youtu", 128256, 2048, 6144, 32, 16, 16, 0, 131072, true, bias_rule::key_all},
    {"minicpm3", 73448, 2560, 6400, 62, 40, 40, 0, 32768, true, bias_rule::key_all},
    {"ministral", 32000, 4096, 14336, 32, 32, 8, 0, 131072, false, bias_rule::none, "", false, "silu", 4096},
    {"minimax", 32000, 4096, 14336, 32, 32, 8, 0, 131072},
    {"afmoe", 200192, 2048, 6144, 32, 16, 0, 128, 16384, false, bias_rule::key_all, "attention_bias", false, "silu", 1024},
    {"mellum", 98304, 2304, 7168, 28, 32, 4, 128, 131072, false, bias_rule::key_all, "attention_bias", false, "silu", 1024},
    {"hyperclovax", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false, bias_rule::key_all},
    // Code beside the checkpoint: sizes must be stated.
    {"mimo", ask, ask, ask, ask, ask, 0, 0, 32768, false, bias_rule::key_qkv, "attention_bias", true},
    {"bailing_moe", ask, ask, ask, ask, ask, 0, 0, 32768, false, bias_rule::key_qkv, "use_qkv_bias"},
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
  m.max_positions = c.nullable({"max_position_embeddings"}, f.positions, f.positions == ask ? 0 : f.positions, 0);  // of turned heads, which have no table
  m.tied = c.flag("tie_word_embeddings", f.tied);
  m.activation = activation_of(c, {"hidden_act"}, f.activation);
  m.rotary_percent = c.percent({"partial_rotary_factor"}, 100);
  if (c.flag("use_sliding_window", true)) m.sliding_window = c.nullable({"sliding_window"}, f.window, 0, 0);
  if (m.sliding_window > 0) m.full_layers = full_layers_of(c, f.type, m.layers);
  if (f.bias == bias_rule::always_qkv) m.attention_bias = true;
  if (f.bias == bias_rule::key_all || f.bias == bias_rule::key_qkv) m.attention_bias = c.flag(f.bias_key, f.bias_default);
  m.output_bias = f.bias == bias_rule::key_all && m.attention_bias;
  return m;
}

/// For classes of which a part is as wide as the heads, and a part as wide as the hidden size.
inline void require_plain_heads(const config& c, const shape& m, const char* part) {
  if (m.head_dim != 0 && checked::mul(m.head_dim, m.heads) != m.hidden)
    complain(c.at("head_dim") + " must be hidden_size / num_attention_heads, as " + part + " is as wide as the hidden size; found " + std::to_string(m.head_dim));
}

/// A family of decoders: what it has beyond its table of defaults.
struct decoder_family {
  std::string_view type;
  void (*finish)(const config&, shape&);  ///< nullptr: nothing
};

template <std::size_t Count>
const decoder_family* find_family(const decoder_family (&list)[Count], std::string_view type) {
  for (const auto& f : list)
    if (f.type == type) return &f;
  return nullptr;
}

/// A decoder whose sizes stand in dense_families, if it is in the list.
template <std::size_t Count>
bool read_listed(const decoder_family (&list)[Count], const config& c, std::string_view type, shape& m) {
  const auto* f = find_family(list, type);
  if (f == nullptr) return false;
  m = read_dense(c, dense_defaults(type));
  if (f->finish != nullptr) f->finish(c, m);
  return true;
}

}  // namespace headroom::io::detail
