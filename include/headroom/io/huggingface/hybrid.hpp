// Distributed under the Boost Software License, Version 1.0.
// Decoders whose layers are of several kinds. Class defaults are those of transformers 5.16's configuration_<family>.py.
#pragma once

#include <headroom/io/huggingface/refusals.hpp>
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

/// OlmoHybridForCausalLM: Gated DeltaNet behind its norms, and in every fourth layer attention in front of its own, with norms over the whole of q and k.
inline void read_olmo_hybrid(const config& c, shape& m) {
  m = read_dense(c, dense_defaults("olmo_hybrid"));
  m.qk_norm_full = m.norm_after = m.fp32_norm = true;
  m.sliding_window = 0;
  const auto rope = c.child("rope_parameters");
  if (const json* theta = rope.find({"rope_theta"}); theta != nullptr && theta->is_null()) m.position = position_kind::none;
  auto& s = m.ssm;
  s.groups = c.nullable({"linear_num_key_heads"}, m.heads, m.heads, 1, config::most);
  s.heads = c.nullable({"linear_num_value_heads"}, m.heads, m.heads, 1, config::most);
  const auto usual = checked::mul(3, m.hidden) / checked::mul(4, s.groups);
  s.state = c.nullable({"linear_key_head_dim"}, usual, usual);
  s.head_dim = c.nullable({"linear_value_head_dim"}, checked::mul(2, s.state), checked::mul(2, s.state));
  s.conv = c.count({"linear_conv_kernel_dim"}, 4);
  if (s.heads % s.groups != 0)
    complain(c.at("linear_num_value_heads") + " must be a multiple of linear_num_key_heads, found " + std::to_string(s.heads) + " and " + std::to_string(s.groups));
  constexpr layer_kind linear{mixer_kind::gated_delta_net, feed_forward_kind::unset}, full{};
  if (read_layer_types(c, {"layer_types"}, {{"linear_attention", linear}, {"mamba", linear}, {"full_attention", full}, {"attention", full}}, m)) return;
  for (std::int64_t i = 0; i < m.layers; ++i) m.pattern.add(i % 4 == 3 || (m.layers < 4 && i == m.layers - 1) ? full : linear);
  m.pattern = m.pattern.shortest();
}

/// Mamba-2's sizes, by the words of a family. Its heads share what `expand` makes of the hidden size.
struct mamba2_words {
  const char *heads, *head_dim, *state, *groups, *conv, *chunk, *expand, *bias, *conv_bias;
};
inline void read_mamba2_mixer(const config& c, const mamba2_words& w, const ssm_shape& usual, shape& m) {
  auto& s = m.ssm;
  s.heads = c.count({w.heads}, usual.heads);
  s.groups = c.count({w.groups}, usual.groups);
  s.state = c.size({w.state}, usual.state);
  s.conv = c.size({w.conv}, usual.conv);
  s.chunk = c.size({w.chunk}, usual.chunk);
  s.conv_bias = c.flag(w.conv_bias, true);
  s.bias = c.flag(w.bias, false);
  const json* each = c.find({w.head_dim});
  const bool derived = usual.head_dim == 0 && (each == nullptr || *each == "auto");
  const auto inner = w.expand == nullptr ? 0 : checked::mul(c.size({w.expand}, 2), m.hidden);
  s.head_dim = derived ? inner / s.heads : c.size({w.head_dim}, usual.head_dim);
  if (inner > 0 && checked::mul(s.heads, s.head_dim) != inner)
    complain(c.at(w.heads) + " × " + w.head_dim + " must be " + w.expand + " × hidden_size, " + std::to_string(inner) + "; found " + std::to_string(s.heads) + " and " + std::to_string(s.head_dim));
  if (s.heads % s.groups != 0)
    complain(c.at(w.heads) + " must be a multiple of " + w.groups + ", found " + std::to_string(s.heads) + " and " + std::to_string(s.groups));
  if (activation_of(c, {"hidden_act"}, "silu") != activation_kind::silu) complain(c.at("hidden_act") + " must be silu, as the convolution has it, found " + shown(*c.find({"hidden_act"})));
}

/// Mamba2ForCausalLM: one mixer and one norm a layer, over an fp32 residual stream.
inline void read_mamba2(const config& c, shape& m) {
  m.layers = c.count({"num_hidden_layers"}, 64);
  m.hidden = c.size({"hidden_size"}, 4096);
  m.heads = 1;  // of attention there is none
  m.vocab = c.size({"vocab_size"}, 32768);
  m.tied = c.flag("tie_word_embeddings", false);
  m.position = position_kind::none;
  m.fp32_residual = c.flag("residual_in_fp32", true);
  read_mamba2_mixer(c, {"num_heads", "head_dim", "state_size", "n_groups", "conv_kernel", "chunk_size", "expand", "use_bias", "use_conv_bias"},
                    {.heads = 128, .head_dim = 64, .state = 128, .groups = 8, .conv = 4, .chunk = 256}, m);
  m.pattern.add({mixer_kind::mamba2, feed_forward_kind::none});
}

/// Mamba-1's sizes; `rank`: absent or "auto", a sixteenth of the hidden size.
inline void read_mamba1_mixer(const config& c, const char* rank, shape& m) {
  const json* given = c.find({rank});
  m.ssm.rank = given == nullptr || *given == "auto" ? checked::add(m.hidden, 15) / 16 : config::whole(*given, c.at(rank), 1, config::widest);
  m.ssm.head_dim = m.ssm.groups = 1;
  m.ssm.no_norm = true;
  if (c.flag("use_mambapy", false)) complain(c.at("use_mambapy") + " must be false: mambapy's scan is not known here, found true");
  if (activation_of(c, {"hidden_act"}, "silu") != activation_kind::silu) complain(c.at("hidden_act") + " must be silu, as the convolution has it, found " + shown(*c.find({"hidden_act"})));
}

/// MambaForCausalLM, FalconMambaForCausalLM: one mixer and one norm a layer, over an fp32 residual stream.
inline void read_mamba(const config& c, std::string_view type, shape& m) {
  m.layers = c.count({"num_hidden_layers"}, 32);
  m.hidden = c.size({"hidden_size"}, 768);
  m.heads = 1;  // of attention there is none
  m.vocab = c.size({"vocab_size"}, 50280);
  m.tied = c.flag("tie_word_embeddings", true);
  m.position = position_kind::none;
  m.fp32_residual = c.flag("residual_in_fp32", true);
  m.ssm.heads = c.size({"intermediate_size"}, checked::mul(c.count({"expand"}, 2), m.hidden));
  m.ssm.state = c.size({"state_size"}, 16);
  m.ssm.conv = c.count({"conv_kernel"}, 4);
  m.ssm.bias = c.flag("use_bias", false);
  m.ssm.conv_bias = c.flag("use_conv_bias", true);
  read_mamba1_mixer(c, "time_step_rank", m);
  if (type == "falcon_mamba") m.ssm.step_norm = step_norm_kind::plain;
  if (c.flag("use_falcon_mambapy", false)) complain(c.at("use_falcon_mambapy") + " must be false: mambapy's scan is not known here, found true");
  m.pattern.add({mixer_kind::mamba1, feed_forward_kind::none});
}

/// JambaForCausalLM: Mamba-1 or, every few layers, attention without positions; then an MLP or, every few layers, experts as wide as it.
inline void read_jamba(const config& c, shape& m) {
  m = read_dense(c, dense_defaults("jamba"));
  m.position = position_kind::none;
  m.sliding_window = 0;
  m.ssm.heads = checked::mul(c.count({"mamba_expand"}, 2), m.hidden);
  m.ssm.state = c.size({"mamba_d_state"}, 16);
  m.ssm.conv = c.count({"mamba_d_conv"}, 4);
  m.ssm.bias = c.flag("mamba_proj_bias", false);
  m.ssm.conv_bias = c.flag("mamba_conv_bias", true);
  m.ssm.step_norm = step_norm_kind::weighed;
  read_mamba1_mixer(c, "mamba_dt_rank", m);
  const auto experts = c.count({"num_local_experts", "num_experts"}, 16), active = c.count({"num_experts_per_tok"}, 2);
  const auto expert_period = c.count({"expert_layer_period"}, 2), expert_offset = c.number({"expert_layer_offset"}, 1, 0, config::most);
  const auto period = c.count({"attn_layer_period"}, 8), offset = c.number({"attn_layer_offset"}, 4, 0, config::most);
  bool routes = false;
  for (std::int64_t i = 0; i < m.layers; ++i) {
    const bool sparse = experts > 1 && i % expert_period == expert_offset;
    m.pattern.add({i % period == offset ? mixer_kind::attention : mixer_kind::mamba1, sparse ? feed_forward_kind::experts : feed_forward_kind::dense});
    routes = routes || sparse;
  }
  m.pattern = m.pattern.shortest();
  if (!routes) return;
  m.experts.count = experts;
  m.experts.active = active;
  m.experts.ffn = m.ffn;
  m.experts.raw_weights = true;
}

/// BambaForCausalLM, GraniteMoeHybridForCausalLM: Mamba-2 or attention, then an MLP or, Granite's, experts beside a shared MLP.
inline void read_bamba(const config& c, std::string_view type, shape& m) {
  const bool granite = type == "granitemoehybrid";
  m = read_dense(c, dense_defaults(type));
  m.sliding_window = 0;
  read_mamba2_mixer(c, {"mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv", "mamba_chunk_size", "mamba_expand", "mamba_proj_bias", "mamba_conv_bias"},
                    {.heads = 128, .head_dim = 0, .state = 256, .groups = 1, .conv = 4, .chunk = 256}, m);
  constexpr layer_kind mamba{mixer_kind::mamba2, feed_forward_kind::unset}, full{};
  if (!granite) {
    m.rotary_percent = c.percent({"partial_rotary_factor"}, 50);
    m.mlp_bias = c.flag("mlp_bias", false);
    std::vector<bool> attends(static_cast<std::size_t>(m.layers));
    if (const json* list = c.find({"attn_layer_indices"}); list != nullptr && !list->is_null()) {
      if (!list->is_array()) complain(c.at("attn_layer_indices") + " must be a list of layer numbers, found " + shown(*list));
      for (const auto& one : *list)
        if (const auto i = config::whole(one, c.at("attn_layer_indices"), 0, config::most); i < m.layers) attends[static_cast<std::size_t>(i)] = true;
    }
    if (read_layer_types(c, {"layer_types", "layers_block_type"}, {{"mamba", mamba}, {"linear_attention", mamba}, {"attention", full}, {"full_attention", full}}, m)) return;
    for (std::int64_t i = 0; i < m.layers; ++i) m.pattern.add(attends[static_cast<std::size_t>(i)] ? full : mamba);
    m.pattern = m.pattern.shortest();
    return;
  }
  m.position = c.text({"position_embedding_type"}, "nope") == std::string{"rope"} ? position_kind::rope : position_kind::none;
  m.fused_gate_up = true;
  if (!read_layer_types(c, {"layer_types", "layers_block_type"}, {{"mamba", mamba}, {"linear_attention", mamba}, {"attention", full}, {"full_attention", full}}, m)) m.pattern.add(mamba);
  auto& e = m.experts;
  const auto shared = c.number({"shared_intermediate_size"}, 1024, 0);
  e.count = c.nullable({"num_local_experts"}, 8, 0, 0, config::most);
  if (e.count == 0) {
    m.ffn = shared;
    return;
  }
  e.active = c.count({"num_experts_per_tok"}, 2);
  e.ffn = m.ffn;
  e.shared_ffn = shared;
  e.shared = shared > 0 ? 1 : 0;
}

/// Gemma4ForCausalLM: attention over a window, and in every sixth layer over all positions with heads of another size. Embeddings for each layer, keys
/// and values of earlier layers, and experts beside the MLP are counted, and not walked.
inline void read_gemma4(const config& c, shape& m) {
  m = read_dense(c, dense_defaults("gemma4_text"));
  m.activation = activation_of(c, {"hidden_activation"}, "gelu_pytorch_tanh");
  m.qk_norm = m.value_norm = m.post_norms = m.norm_power = true;
  m.logit_softcap = c.softcap("final_logit_softcapping", 0);
  m.head_dim = c.size({"head_dim"}, 256);
  m.global.head_dim = c.size({"global_head_dim"}, 512);
  m.global.keys_as_values = c.flag("attention_k_eq_v", false);
  const auto wide_kv = c.nullable({"num_global_key_value_heads"}, m.kv(), m.kv(), 1, config::most);
  if (m.global.keys_as_values) m.global.kv_heads = wide_kv;  // which the class reads there alone
  const auto without = [&](const char* key, std::int64_t usual, const char* what) {
    const auto found = c.nullable({key}, usual, 0, 0);
    if (found != 0) complain(c.at(key) + " must be 0: " + what + " are counted, and not walked, by this version; found " + std::to_string(found));
  };
  without("hidden_size_per_layer_input", 256, "embeddings for each layer");
  without("num_kv_shared_layers", 0, "layers that take over keys and values");
  if (says(c, "per_layer_config")) complain(c.at("per_layer_config") + " is not known here: what it says of a layer may shape it, found " + shown(*c.find({"per_layer_config"})));
  if (c.flag("enable_moe_block", false)) complain(c.at("enable_moe_block") + " must be false: experts beside the MLP are counted, and not walked, by this version; found true");
  if (c.text({"use_bidirectional_attention"}, "") == "all") complain(c.at("use_bidirectional_attention") + " must not be \"all\": a decoder sees what came before; found \"all\"");
  constexpr layer_kind local{}, global{mixer_kind::global_attention, feed_forward_kind::unset};
  if (read_layer_types(c, {"layer_types"}, {{"sliding_attention", local}, {"full_attention", global}}, m)) {
    if (m.kind_of(m.layers - 1).mixer != mixer_kind::global_attention) complain(c.at("layer_types") + " must end with full_attention, as the class makes it");
    return;
  }
  for (std::int64_t i = 0; i < m.layers; ++i) m.pattern.add((i + 1) % 6 == 0 || i == m.layers - 1 ? global : local);
  m.pattern = m.pattern.shortest();
}

/// FalconH1ForCausalLM: attention beside Mamba-2 in every layer.
inline void read_falcon_h1(const config& c, shape& m) {
  m = read_dense(c, dense_defaults("falcon_h1"));
  m.sliding_window = 0;
  m.mlp_bias = c.flag("mlp_bias", false);
  auto& s = m.ssm;
  const auto expanded = checked::mul(c.count({"mamba_expand"}, 2), m.hidden);
  const auto inner = c.nullable({"mamba_d_ssm"}, 1024, expanded);
  s.heads = c.count({"mamba_n_heads"}, 128);
  s.groups = c.count({"mamba_n_groups"}, 1);
  s.state = c.size({"mamba_d_state"}, 256);
  s.conv = c.size({"mamba_d_conv"}, 4);
  s.chunk = c.size({"mamba_chunk_size"}, 256);
  s.conv_bias = c.flag("mamba_conv_bias", true);
  s.bias = c.flag("mamba_proj_bias", false);
  s.no_norm = true;
  if (c.flag("mamba_rms_norm", false)) complain(c.at("mamba_rms_norm") + " must be false: a norm by groups behind the scan is counted, and not walked, by this version; found true");
  if (c.flag("projectors_bias", false) != s.bias) complain(c.at("projectors_bias") + " must be as mamba_proj_bias, found " + shown(json(!s.bias)));
  if (inner % s.heads != 0 || s.heads % s.groups != 0)
    complain(c.at("mamba_d_ssm") + " must be a multiple of mamba_n_heads, and that of mamba_n_groups, found " + std::to_string(inner) + ", " + std::to_string(s.heads) + " and " + std::to_string(s.groups));
  s.head_dim = inner / s.heads;
  if (const json* each = c.find({"mamba_d_head"}); each != nullptr && *each != "auto" && c.size({"mamba_d_head"}, 0) != s.head_dim)
    complain(c.at("mamba_d_head") + " must be mamba_d_ssm / mamba_n_heads, " + std::to_string(s.head_dim) + ", found " + shown(*each));
  if (activation_of(c, {"hidden_act"}, "silu") != activation_kind::silu) complain(c.at("hidden_act") + " must be silu, as the convolution has it, found " + shown(*c.find({"hidden_act"})));
  m.pattern.add({mixer_kind::attention_mamba2, feed_forward_kind::unset});
}

/// NemotronHForCausalLM: every layer is one half, a mixer, an MLP or experts, behind one norm; relu² without a gate.
inline void read_nemotron_h(const config& c, shape& m) {
  m = read_dense(c, dense_defaults("nemotron_h"));
  m.mlp = mlp_kind::plain;
  m.activation = activation_of(c, {"mlp_hidden_act"}, "relu2");
  m.mlp_bias = c.flag("mlp_bias", false);
  // Neither biases of attention nor a tie are built, whatever attention_bias, mamba_proj_bias and tie_word_embeddings say.
  m.attention_bias = m.output_bias = m.tied = false;
  m.position = position_kind::none;
  m.sliding_window = 0;
  m.fp32_residual = c.flag("residual_in_fp32", false);
  read_mamba2_mixer(c, {"mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel", "chunk_size", nullptr, "use_bias", "use_conv_bias"},
                    {.heads = 128, .head_dim = 64, .state = 128, .groups = 8, .conv = 4, .chunk = 128}, m);
  if (says(c, "moe_latent_size")) complain(c.at("moe_latent_size") + " must be absent: experts in a latent space are not known here, found " + shown(*c.find({"moe_latent_size"})));
  constexpr layer_kind mamba{mixer_kind::mamba2, feed_forward_kind::none}, full{mixer_kind::attention, feed_forward_kind::none};
  constexpr layer_kind dense{mixer_kind::none, feed_forward_kind::dense}, experts{mixer_kind::none, feed_forward_kind::experts};
  if (const json* letters = c.find({"hybrid_override_pattern"}); letters != nullptr && !letters->is_null() && !c.has("layers_block_type") && !c.has("layer_types")) {
    const auto text = c.text({"hybrid_override_pattern"}, "");
    for (const char letter : text) {
      if (std::string_view{"M*-E"}.find(letter) == std::string_view::npos) complain(c.at("hybrid_override_pattern") + " must be made of M, *, - and E, found " + shown(*letters));
      m.pattern.add(letter == 'M' ? mamba : letter == '*' ? full : letter == '-' ? dense : experts);
    }
    m.layers = static_cast<std::int64_t>(text.size());
  } else {
    const json* list = c.find({"layers_block_type", "layer_types"});
    if (list != nullptr && list->is_array()) m.layers = static_cast<std::int64_t>(list->size());
    if (!read_layer_types(c, {"layers_block_type", "layer_types"},
                          {{"mamba", mamba}, {"linear_attention", mamba}, {"attention", full}, {"full_attention", full}, {"mlp", dense}, {"moe", experts}}, m))
      complain(c.at("hybrid_override_pattern") + " is missing; it says which layers are of which kind");
  }
  bool routes = false;
  for (std::int64_t i = 0; i < m.pattern.period; ++i) routes = routes || m.pattern.at(i).sparse();
  m.pattern = m.pattern.shortest();
  if (!routes) return;
  auto& e = m.experts;
  e.count = c.count({"n_routed_experts"}, 8);
  e.active = c.count({"num_experts_per_tok"}, 2);
  e.ffn = c.size({"moe_intermediate_size"}, 7688);
  e.shared = 1;  // NemotronHMoE builds one MLP, whatever n_shared_experts says
  e.shared_ffn = c.size({"moe_shared_expert_intermediate_size"}, 7688);
}

/// Lfm2MLP: two thirds of the width, times a factor, up to the next multiple. Each step is cut to a whole number, as Python's int() does.
inline std::int64_t lfm2_width(const config& c, std::int64_t stated) {
  if (!c.flag("block_auto_adjust_ff_dim", true)) return stated;
  const auto two_thirds = static_cast<std::int64_t>(static_cast<double>(checked::mul(2, stated)) / 3.0);
  const json* factor = c.find({"block_ffn_dim_multiplier"});
  if (factor != nullptr && factor->is_null()) return two_thirds;
  const auto scaled = static_cast<std::int64_t>(c.real({"block_ffn_dim_multiplier"}, 1.0, 1e-6, 1e6) * static_cast<double>(two_thirds));
  const auto multiple = c.size({"block_multiple_of"}, 256);
  return checked::mul(checked::ceil_div(scaled, multiple), multiple);
}

/// Lfm2ForCausalLM, Lfm2MoeForCausalLM: short convolutions between gates, and attention with norms over q and k in some layers.
inline void read_lfm2(const config& c, std::string_view type, shape& m) {
  const bool sparse = type == "lfm2_moe";
  m = read_dense(c, dense_defaults(type));
  m.activation = activation_kind::silu;
  m.tied = c.flag("tie_embedding", m.tied);
  m.qk_norm = true;
  m.sliding_window = 0;
  m.ssm.conv = c.size({"conv_L_cache"}, 3);
  m.ssm.bias = m.ssm.conv_bias = c.flag("conv_bias", false);
  if (!sparse) m.ffn = lfm2_width(c, c.size({"block_ff_dim", "intermediate_size"}, m.ffn));
  constexpr layer_kind convolution{mixer_kind::gated_convolution, feed_forward_kind::unset}, full{};
  if (!read_layer_types(c, {"layer_types"}, {{"conv", convolution}, {"linear_attention", convolution}, {"full_attention", full}}, m)) {
    if (sparse) complain(c.at("layer_types") + " is missing; it says which layers are conv and which are full_attention");
    std::vector<bool> attends(static_cast<std::size_t>(m.layers), !c.has("full_attn_idxs"));
    if (const json* list = c.find({"full_attn_idxs"}); list != nullptr && !list->is_null()) {
      if (!list->is_array()) complain(c.at("full_attn_idxs") + " must be a list of layer numbers, found " + shown(*list));
      for (const auto& one : *list)
        if (const auto i = config::whole(one, c.at("full_attn_idxs"), 0, config::most); i < m.layers) attends[static_cast<std::size_t>(i)] = true;
    }
    for (const bool attention : attends) m.pattern.add(attention ? full : convolution);
    m.pattern = m.pattern.shortest();
  }
  if (!sparse) return;
  auto& e = m.experts;
  e.count = c.count({"num_experts"}, 32);
  e.active = c.count({"num_experts_per_tok"}, 4);
  e.ffn = c.size({"moe_intermediate_size"}, 1792);
  e.first_dense_layers = c.number({"num_dense_layers"}, 2, 0, config::most);
}

/// The families with several kinds of layer. Returns false where the family is not one of them.
inline bool read_hybrid_decoder(const config& c, std::string_view type, shape& m) {
  if (type == "qwen3_next" || type == "qwen3_5_text" || type == "qwen3_5_moe_text") return read_qwen3_next(c, type, m), true;
  if (type == "gemma4_text") return read_gemma4(c, m), true;
  if (type == "olmo_hybrid") return read_olmo_hybrid(c, m), true;
  if (type == "falcon_h1") return read_falcon_h1(c, m), true;
  if (type == "mamba2") return read_mamba2(c, m), true;
  if (type == "mamba" || type == "falcon_mamba") return read_mamba(c, type, m), true;
  if (type == "jamba") return read_jamba(c, m), true;
  if (type == "bamba" || type == "granitemoehybrid") return read_bamba(c, type, m), true;
  if (type == "lfm2" || type == "lfm2_moe") return read_lfm2(c, type, m), true;
  if (type == "nemotron_h") return read_nemotron_h(c, m), true;
  return false;
}

}  // namespace headroom::io::detail
