// Distributed under the Boost Software License, Version 1.0.
// State-space models, alone and among attention. Class defaults are those of transformers 5.16's configuration_<family>.py.
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
  m.pattern = m.pattern.shortest(m.layers);
  return true;
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
  if (activation_of(c, {"hidden_act"}, "silu") != activation_kind::silu) complain(c.at("hidden_act") + " must be silu, as the convolution has it, found " + shown(c.find({"hidden_act"})));
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
  if (activation_of(c, {"hidden_act"}, "silu") != activation_kind::silu) complain(c.at("hidden_act") + " must be silu, as the convolution has it, found " + shown(c.find({"hidden_act"})));
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
  m.pattern = m.pattern.shortest(m.layers);
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
    m.pattern = m.pattern.shortest(m.layers);
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
  e.parameters = e.chosen_logits = true;  // GraniteMoeHybridParallelExperts
  e.shared_ffn = shared;
  e.shared = shared > 0 ? 1 : 0;
  e.plain_router = shared > 0;  // GraniteMoeHybridTopKRouter: a linear layer in the model's format
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
  if (activation_of(c, {"hidden_act"}, "silu") != activation_kind::silu) complain(c.at("hidden_act") + " must be silu, as the convolution has it, found " + shown(c.find({"hidden_act"})));
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
  m.pattern = m.pattern.shortest(m.layers);
  if (!routes) return;
  auto& e = m.experts;
  e.count = c.count({"n_routed_experts"}, 8);
  e.active = c.count({"num_experts_per_tok"}, 2);
  e.ffn = c.size({"moe_intermediate_size"}, 7688);
  e.shared = 1;  // NemotronHMoE builds one MLP, whatever n_shared_experts says
  e.shared_ffn = c.size({"moe_shared_expert_intermediate_size"}, 7688);
  e.latent = c.nullable({"moe_latent_size"}, 0, 0);
}

}  // namespace headroom::io::detail
