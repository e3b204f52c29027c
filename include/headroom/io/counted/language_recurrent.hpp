// Distributed under the Boost Software License, Version 1.0.
// Language models that carry a state from token to token: Mamba, RWKV, xLSTM, RG-LRU. Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language.hpp>

#include <cmath>

namespace headroom::io::detail {

/// Mamba-1: `inner` channels, each with `state` numbers, and steps of rank `rank`.
struct mamba1_sizes {
  std::int64_t inner{}, state{}, rank{}, conv{};
  bool bias{}, conv_bias{true};
};
inline void count_mamba1(tally& t, std::int64_t hidden, const mamba1_sizes& m, std::int64_t times) {
  t.linear(component::attention, hidden, checked::mul(2, m.inner), m.bias, times);
  t.linear(component::attention, m.conv, m.inner, m.conv_bias, times);
  t.linear(component::attention, m.inner, checked::add(m.rank, checked::mul(2, m.state)), false, times);
  t.linear(component::attention, m.rank, m.inner, true, times);
  t.add(component::attention, checked::mul(m.inner, checked::add(m.state, 1)), times);
  t.linear(component::attention, m.inner, hidden, m.bias, times);
}
/// The rank of the steps: absent or "auto", a sixteenth of the hidden size.
inline std::int64_t read_rank(const config& c, const char* key, std::int64_t hidden) {
  const json* rank = c.find({key});
  return rank == nullptr || *rank == "auto" ? checked::add(hidden, 15) / 16 : config::whole(*rank, c.at(key), 1, config::widest);
}

/// Mamba-2: heads that share what `groups` groups of B and C say.
struct mamba2_sizes {
  std::int64_t heads{}, inner{}, groups{}, state{}, conv{};
  bool bias{}, output_bias{}, conv_bias{true}, norm{true};
};
inline void count_mamba2(tally& t, std::int64_t hidden, const mamba2_sizes& m, std::int64_t times) {
  const auto channels = checked::add(m.inner, checked::mul(2, checked::mul(m.groups, m.state)));
  t.linear(component::attention, hidden, checked::add(checked::add(m.inner, channels), m.heads), m.bias, times);
  t.linear(component::attention, m.conv, channels, m.conv_bias, times);
  t.add(component::attention, checked::mul(3, m.heads), times);
  if (m.norm) t.rms_norm(m.inner, times);
  t.linear(component::attention, m.inner, hidden, m.output_bias, times);
}

/// modeling_mamba.py and modeling_falcon_mamba.py, whose further norms have no weights.
inline language_model count_mamba(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, 32, 0, config::most);
  const auto hidden = c.size({"hidden_size"}, 768);
  const auto expanded = checked::mul(c.count({"expand"}, 2), hidden);
  const mamba1_sizes m{c.size({"intermediate_size"}, expanded), c.size({"state_size"}, 16),  read_rank(c, "time_step_rank", hidden),
                       c.count({"conv_kernel"}, 4),             c.flag("use_bias", false), c.flag("use_conv_bias", true)};
  c.ignore({"residual_in_fp32", "time_step_scale", "time_step_min", "time_step_max", "time_step_init_scheme", "time_step_floor", "rescale_prenorm_residual", "use_mambapy",
            "use_associative_scan", "mixer_rms_eps", "use_falcon_mambapy", "d_inner", "d_model", "n_layer", "ssm_cfg", "rms_norm", "fused_add_norm", "pad_vocab_size_multiple",
            "max_position_embeddings"});
  count_mamba1(t, hidden, m, layers);
  t.rms_norm(hidden, checked::add(layers, 1));
  return count_vocabulary(c, t, c.size({"vocab_size"}, 50280), hidden, true);
}

/// modeling_jamba.py: Mamba-1 with norms over its steps, attention every few layers, experts every few layers.
inline language_model count_jamba(const config& c, tally& t) {
  const auto s = read_language(c, {32, 4096, 32, 8, 0, 14336, 65536});
  const auto experts = c.count({"num_local_experts", "num_experts"}, 16);
  const auto active = c.count({"num_experts_per_tok"}, 2);
  const auto expert_period = c.count({"expert_layer_period"}, 2), expert_offset = c.number({"expert_layer_offset"}, 1, 0, config::most);
  const auto period = c.count({"attn_layer_period"}, 8), offset = c.number({"attn_layer_offset"}, 4, 0, config::most);
  c.ignore({"use_mamba_kernels", "use_mambapy", "use_associative_scan", "layers_block_type", "num_logits_to_keep", "calc_logits_for_entire_prompt", "mamba_inner_layernorms"});
  std::int64_t attends = 0, sparse = 0;
  for (std::int64_t i = 0; i < s.layers; ++i) {
    attends += i % period == offset ? 1 : 0;
    sparse += experts > 1 && i % expert_period == expert_offset ? 1 : 0;
  }
  const auto mambas = s.layers - attends;
  const mamba1_sizes m{checked::mul(c.count({"mamba_expand"}, 2), s.hidden), c.size({"mamba_d_state"}, 16),  read_rank(c, "mamba_dt_rank", s.hidden),
                       c.count({"mamba_d_conv"}, 4),                         c.flag("mamba_proj_bias", false), c.flag("mamba_conv_bias", true)};
  count_attention(t, s, false, false, attends);
  count_mamba1(t, s.hidden, m, mambas);
  t.rms_norm(checked::add(m.rank, checked::mul(2, m.state)), mambas);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers - sparse);
  count_routed(t, s.hidden, {experts, active, s.ffn}, sparse);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_falcon_h1.py: attention and Mamba-2 side by side in every layer.
inline language_model count_falcon_h1(const config& c, tally& t) {
  const auto s = read_language(c, {32, 4096, 32, 8, 0, 14336, 128000});
  const auto expanded = checked::mul(c.count({"mamba_expand"}, 2), s.hidden);
  mamba2_sizes m{c.count({"mamba_n_heads"}, 128), c.nullable({"mamba_d_ssm"}, 1024, expanded), c.count({"mamba_n_groups"}, 1), c.size({"mamba_d_state"}, 256), c.count({"mamba_d_conv"}, 4)};
  m.bias = c.flag("mamba_proj_bias", false);
  m.output_bias = c.flag("projectors_bias", false);
  m.conv_bias = c.flag("mamba_conv_bias", true);
  m.norm = c.flag("mamba_rms_norm", false);
  c.ignore({"num_logits_to_keep", "mamba_d_head", "mamba_chunk_size", "mamba_norm_before_gate", "time_step_limit", "time_step_min", "time_step_max", "time_step_floor", "lm_head_multiplier",
            "mlp_multipliers", "key_multiplier", "attention_out_multiplier", "attention_in_multiplier", "ssm_multipliers", "ssm_in_multiplier", "ssm_out_multiplier", "mlp_expansion_factor",
            "mamba_use_mlp", "use_mamba_kernels", "attn_layer_indices"});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  count_mamba2(t, s.hidden, m, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, c.flag("mlp_bias", false), s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_recurrent_gemma.py: RG-LRU behind a convolution, attention in every third layer; the MLP is half as wide as intermediate_size says.
inline language_model count_recurrent_gemma(const config& c, tally& t) {
  auto s = read_language(c, {26, 2560, 10, 0, 0, 7680, 256000});
  c.ignore({"attention_window_size", "logits_soft_cap", "w_init_variance_scale", "final_w_init_variance_scale", "embeddings_scale_by_sqrt_dim"});
  const auto width = c.nullable({"lru_width"}, s.hidden, s.hidden);
  std::int64_t recurrent = s.layers - s.layers / 3;
  if (const json* types = c.find({"block_types", "_block_types"}); types != nullptr) {
    if (!types->is_array() || types->empty()) complain(c.at("block_types") + " must be a list of recurrent and attention, found " + shown(*types));
    recurrent = 0;
    for (std::int64_t i = 0; i < s.layers; ++i) {
      const auto& word = (*types)[static_cast<std::size_t>(i) % types->size()];
      if (word != "recurrent" && word != "attention") complain(c.at("block_types") + " must hold recurrent and attention alone, found " + shown(word));
      recurrent += word == "recurrent" ? 1 : 0;
    }
  }
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, true, s.layers - recurrent);
  t.linear(component::attention, s.hidden, width, true, checked::mul(2, recurrent));
  t.linear(component::attention, width, s.hidden, true, recurrent);
  t.linear(component::attention, c.count({"conv1d_width"}, 4), width, true, recurrent);
  const auto block = width / s.heads;
  t.linear(component::attention, block, checked::mul(block, s.heads), true, checked::mul(2, recurrent));  // gates, head by head
  t.add(component::attention, width, recurrent);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn / 2, true, s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s, true);
}

/// modeling_rwkv.py: RWKV-4.
inline language_model count_rwkv(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, 32, 0, config::most);
  const auto hidden = c.size({"hidden_size"}, 4096);
  const auto width = c.nullable({"attention_hidden_size"}, hidden, hidden);
  const auto four = checked::mul(4, hidden);
  const auto ffn = c.nullable({"intermediate_size"}, four, four);
  c.ignore({"context_length", "max_position_embeddings", "rescale_every"});
  t.linear(component::attention, hidden, width, false, checked::mul(4, layers));
  t.add(component::attention, checked::add(checked::mul(2, width), checked::mul(3, hidden)), layers);
  count_plain_mlp(t, component::mlp, hidden, ffn, false, layers);
  t.linear(component::mlp, hidden, hidden, false, layers);
  t.add(component::mlp, checked::mul(2, hidden), layers);
  t.layer_norm(hidden, checked::add(checked::mul(2, layers), layers > 0 ? 2 : 1));  // the first layer has one before it, too
  return count_vocabulary(c, t, c.size({"vocab_size"}, 50277), hidden, false);
}

/// flash-linear-attention, rwkv7: RWKV7Attention and RWKV7FeedForward. Code beside the checkpoint: sizes must be stated.
inline language_model count_rwkv7(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, config::required, 1, config::most);
  const auto h = c.size({"hidden_size"}, config::required);
  const auto ffn = c.size({"intermediate_size"}, config::required);
  c.ignore({"head_dim", "num_heads", "attn_mode", "max_position_embeddings", "fuse_norm", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp", "hidden_ratio", "use_cache", "norm_first"});
  expect(c, "norm_bias", true);
  expect(c, "attn", nullptr);
  expect(c, "hidden_act", "sqrelu");
  if (const json* widths = c.find({"value_dim"}); widths != nullptr && !widths->is_null())
    for (const auto& one : widths->is_array() ? *widths : json::array({*widths}))
      if (one != h) complain(c.at("value_dim") + " must be hidden_size, " + std::to_string(h) + ", in all layers, found " + shown(one));
  const auto low_rank = [&](const char* key, bool bias, std::int64_t times) {
    const auto rank = c.size({key}, config::required);
    t.linear(component::attention, h, rank, false, times);
    t.linear(component::attention, rank, h, bias, times);
  };
  low_rank("decay_low_rank_dim", true, layers);
  low_rank("a_low_rank_dim", true, layers);
  low_rank("v_low_rank_dim", true, layers - 1);
  low_rank("gate_low_rank_dim", false, layers);
  t.linear(component::attention, h, h, false, checked::mul(4, layers));
  t.add(component::attention, checked::mul(9, h), layers);  // six shifts, and what scales keys and the bonus
  t.layer_norm(h, layers);
  count_plain_mlp(t, component::mlp, h, ffn, false, layers);
  t.add(component::mlp, h, layers);
  t.layer_norm(h, checked::add(checked::mul(2, layers), 2));
  return count_vocabulary(c, t, c.size({"vocab_size"}, config::required), h, false);
}

/// What xLSTM makes of a factor: as Python's x // m on numbers that are not whole.
inline std::int64_t round_up_to(double x, std::int64_t m) {
  const auto step = static_cast<double>(m), v = x + step - 1.0;
  return checked::mul(static_cast<std::int64_t>(std::floor((v - std::fmod(v, step)) / step + 0.5)), m);
}

/// modeling_xlstm.py: mLSTM blocks. The head is never tied.
inline language_model count_xlstm(const config& c, tally& t) {
  const auto blocks = c.number({"num_hidden_layers"}, 32, 0, config::most);
  const auto layers = c.nullable({"num_blocks"}, blocks, blocks, 0, config::most);
  const auto hidden = c.size({"hidden_size"}, 4096);
  const auto heads = c.count({"num_heads"}, 8);
  const auto scaled = [&](const char* key, double usual) { return static_cast<std::int64_t>(static_cast<double>(hidden) * c.real({key}, usual, 0.0, 1e6)); };
  const auto qk = scaled("qk_dim_factor", 0.5), v = scaled("v_dim_factor", 1.0);
  const auto ffn = round_up_to(static_cast<double>(hidden) * c.real({"ffn_proj_factor"}, 2.667, 0.0, 1e6), c.count({"ffn_round_up_to_multiple_of"}, 64));
  const bool bias = c.flag("use_bias", false);
  c.ignore({"norm_reduction_force_float32", "add_out_norm", "chunkwise_kernel", "sequence_kernel", "step_kernel", "mode", "chunk_size", "return_last_states", "autocast_kernel_dtype", "eps",
            "inference_state_dtype", "gate_soft_cap", "output_logit_soft_cap", "weight_mode", "max_inference_chunksize", "tie_word_embeddings", "max_position_embeddings",
            "add_embedding_dropout", "add_forward_backend_padding", "add_post_blocks_norm", "add_post_norm", "add_qk_norm", "cell_norm_eps", "force_bos_token_insert", "gate_linear_bias",
            "head_dim", "igate_bias_init_range", "mlstm_round_up_to_multiple_of"});
  t.linear(component::attention, hidden, qk, bias, checked::mul(2, layers));
  t.linear(component::attention, hidden, v, bias, checked::mul(2, layers));
  t.linear(component::attention, hidden, checked::mul(2, heads), true, layers);
  t.linear(component::attention, v, hidden, bias, layers);
  count_gated_mlp(t, component::mlp, hidden, ffn, bias, layers);
  const auto norms = checked::mul(layers, bias ? 2 : 1);
  t.rms_norm(checked::mul(heads, v / heads), norms);
  t.rms_norm(hidden, checked::add(checked::mul(2, norms), 1));
  const auto vocab = c.size({"vocab_size"}, 50304);
  t.embedding(vocab, c.nullable({"embedding_dim"}, hidden, hidden));
  return {hidden, vocab, false};
}

inline constexpr counted_class counted_recurrent_languages[] = {
    {"MambaModel", "mamba", count_base<count_mamba>},
    {"MambaForCausalLM", "mamba", count_causal<count_mamba>},
    {"FalconMambaModel", "falcon_mamba", count_base<count_mamba>},
    {"FalconMambaForCausalLM", "falcon_mamba", count_causal<count_mamba>},
    {"JambaModel", "jamba", count_base<count_jamba>},
    {"JambaForCausalLM", "jamba", count_causal<count_jamba>},
    {"JambaForSequenceClassification", "jamba", count_sequence<count_jamba>},
    {"FalconH1Model", "falcon_h1", count_base<count_falcon_h1>},
    {"FalconH1ForCausalLM", "falcon_h1", count_causal<count_falcon_h1>},
    {"RecurrentGemmaModel", "recurrent_gemma", count_base<count_recurrent_gemma>},
    {"RecurrentGemmaForCausalLM", "recurrent_gemma", count_causal<count_recurrent_gemma>},
    {"RwkvModel", "rwkv", count_base<count_rwkv>},
    {"RwkvForCausalLM", "rwkv", count_causal<count_rwkv>},
    {"RWKV7Model", "rwkv7", count_base<count_rwkv7>},
    {"RWKV7ForCausalLM", "rwkv7", count_causal<count_rwkv7>},
    {"xLSTMModel", "xlstm", count_base<count_xlstm>},
    {"xLSTMForCausalLM", "xlstm", count_causal<count_xlstm>},
};

}  // namespace headroom::io::detail
