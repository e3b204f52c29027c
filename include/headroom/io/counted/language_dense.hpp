// Distributed under the Boost Software License, Version 1.0.
// Dense language models. Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language.hpp>

namespace headroom::io::detail {

/// modeling_apertus.py: an MLP of two matrices; xIELU has two trained numbers.
inline language_model count_apertus(const config& c, tally& t) {
  const auto s = read_language(c, {32, 4096, 32, 0, 0, 14336, 131072});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  count_plain_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  const auto activation = c.text({"hidden_act"}, "xielu");
  if (activation == "xielu")
    t.add(component::mlp, 2, s.layers);
  else
    (void)activation_of(c, {"hidden_act"}, "xielu");
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

inline void require_sub_norms(const config& c) {
  if (!c.flag("use_sub_norms", true)) complain(c.at("use_sub_norms") + " must be true or absent: BitNetModel of transformers makes these norms whatever it says, found false");
}
/// modeling_bitnet.py: Llama with a norm before each last projection.
inline language_model count_bitnet(const config& c, tally& t) {
  const auto s = read_language(c, {30, 2560, 20, 5, 0, 6912, 128256});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  require_sub_norms(c);
  t.rms_norm(checked::add(s.hidden, s.ffn), s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_diffllama.py: four vectors of a head's width weigh the two attentions.
inline language_model count_diffllama(const config& c, tally& t) {
  const auto s = read_language(c, {16, 2048, 32, 0, 0, 8192, 32000});
  c.ignore({"lambda_std_dev"});
  if (s.kv % 2 != 0) complain(c.at("num_key_value_heads") + " must be even for diffllama, found " + std::to_string(s.kv));
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  t.add(component::attention, checked::mul(4, s.head_dim), s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}

/// modeling_doge.py: a mask learned from the values, scaled residuals, and an MLP beside which two embeddings may hold experts.
inline language_model count_doge(const config& c, tally& t) {
  const auto s = read_language(c, {32, 1024, 8, 0, 0, 2048, 32768});
  c.ignore({"keep_window_size"});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  t.linear(component::attention, checked::mul(s.kv, s.head_dim), s.kv, bias, s.layers);
  t.add(component::attention, s.kv, s.layers);
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, c.flag("mlp_bias", false), s.layers);
  const auto experts = c.count({"num_experts"}, 16384);
  const auto active = c.count({"num_experts_per_tok"}, 64);
  if (c.flag("is_moe", false)) {
    std::int64_t keys = 0;
    while ((keys + 1) * (keys + 1) <= experts) ++keys;
    t.linear(component::router, s.hidden, checked::mul(2, keys), false, s.layers);
    t.experts(checked::mul(2, s.hidden), experts, active, s.layers);
  }
  t.rms_norm(s.hidden, checked::mul(4, s.layers));  // two norms, two scales of the residual
  return count_frame(c, t, s);
}

/// modeling_nanochat.py: norms have no weights.
inline language_model count_nanochat(const config& c, tally& t) {
  const auto s = read_language(c, {12, 768, 6, 0, 0, 8192, 50304});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  count_plain_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  return count_vocabulary(c, t, s.vocab, s.hidden, false);
}

/// modeling_hrm_text.py: two stacks that run in turns; norms have no weights.
inline language_model count_hrm_text(const config& c, tally& t) {
  auto s = read_language(c, {16, 1536, 12, 0, 128, 4096, 151808});
  c.ignore({"H_cycles", "L_cycles", "L_bp_cycles", "embedding_scale", "prefix_lm"});
  s.kv = s.heads;
  const auto layers = checked::mul(2, c.nullable({"num_layers_per_stack"}, s.layers, s.layers, 0, config::most));
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, layers);
  t.linear(component::attention, s.hidden, checked::mul(s.heads, s.head_dim), bias, layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, c.flag("mlp_bias", false), layers);
  t.frozen(component::other, s.hidden);  // z_L_init
  return count_vocabulary(c, t, s.vocab, s.hidden, false);
}

/// modeling_persimmon.py: LayerNorm throughout, also over each head's q and k; biases everywhere but in the head.
inline language_model count_persimmon(const config& c, tally& t) {
  const auto s = read_language(c, {36, 4096, 64, 0, 0, 16384, 262144});
  if (s.hidden % s.heads != 0) complain(c.at("hidden_size") + " must be a multiple of num_attention_heads, found " + std::to_string(s.hidden) + " and " + std::to_string(s.heads));
  t.linear(component::attention, s.hidden, s.hidden, true, checked::mul(4, s.layers));
  if (c.flag("qk_layernorm", true)) t.layer_norm(s.hidden / s.heads, checked::mul(2, s.layers));
  count_plain_mlp(t, component::mlp, s.hidden, s.ffn, true, s.layers);
  t.layer_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return count_vocabulary(c, t, s.vocab, s.hidden, false);
}

/// modeling_gpt_neox_japanese.py: no biases, but one behind the last layer's attention.
inline language_model count_gpt_neox_japanese(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, 32, 0, config::most);
  const auto hidden = c.size({"hidden_size"}, 2560);
  c.ignore({"num_attention_heads", "max_position_embeddings", "rotary_pct", "rotary_emb_base", "is_decoder", "partial_rotary_factor"});
  t.linear(component::attention, hidden, hidden, false, checked::mul(4, layers));
  if (layers > 0) t.add(component::attention, hidden);
  count_plain_mlp(t, component::mlp, hidden, checked::mul(hidden, c.count({"intermediate_multiple_size"}, 4)), false, layers);
  t.layer_norm(hidden, checked::add(checked::mul(2, layers), 1));
  return count_vocabulary(c, t, c.size({"vocab_size"}, 32000), hidden, true);
}

/// modeling_openai.py: learned positions, LayerNorm behind each block, biases; no norm behind the last layer.
inline language_model count_openai_gpt(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers", "n_layer"}, 12, 0, config::most);
  const auto hidden = c.size({"hidden_size", "n_embd"}, 768);
  c.ignore({"num_attention_heads", "n_head", "afn", "summary_type", "summary_activation", "summary_first_dropout", "summary_last_dropout", "n_ctx", "n_special", "predict_special_tokens"});
  t.linear(component::attention, hidden, hidden, true, checked::mul(4, layers));
  count_plain_mlp(t, component::mlp, hidden, checked::mul(4, hidden), true, layers);
  t.layer_norm(hidden, checked::mul(2, layers));
  t.embedding(c.size({"max_position_embeddings", "n_positions"}, 512), hidden);
  return count_vocabulary(c, t, c.size({"vocab_size"}, 40478), hidden, true);
}
inline void ignore_summary(const config& c) { c.ignore({"summary_use_proj", "summary_proj_to_labels"}); }
/// OpenAIGPTDoubleHeadsModel: one label, whatever num_labels says.
inline void count_openai_double(const config& c, tally& t) {
  count_causal<count_openai_gpt>(c, t);
  const auto hidden = c.size({"hidden_size", "n_embd"}, 768);
  const bool to_labels = c.flag("summary_proj_to_labels", true);
  if (c.flag("summary_use_proj", true)) t.linear(component::head, hidden, to_labels ? 1 : hidden, true);
}

/// modeling_ctrl.py: computed positions, LayerNorm, biases also in the head.
inline language_model count_ctrl(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers", "n_layer"}, 48, 0, config::most);
  const auto hidden = c.size({"hidden_size", "n_embd"}, 1280);
  c.ignore({"num_attention_heads", "n_head", "max_position_embeddings", "n_positions", "n_ctx", "from_tf", "pruned_heads", "is_decoder"});
  t.linear(component::attention, hidden, hidden, true, checked::mul(4, layers));
  count_plain_mlp(t, component::mlp, hidden, c.size({"dff"}, 8192), true, layers);
  t.layer_norm(hidden, checked::add(checked::mul(2, layers), 1));
  return count_vocabulary(c, t, c.size({"vocab_size"}, 246534), hidden, true);
}

/// modeling_cpmant.py: prompts stand in the vocabulary's embedding; one table of relative positions for all layers. The output knows no prompts, and is never
/// tied with the words (since transformers e872ca25, 2026-08-19; before, it was as wide as the embedding, and tied).
inline language_model count_cpmant(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers"}, 48, 0, config::most);
  const auto hidden = c.size({"hidden_size"}, 4096);
  const auto heads = c.count({"num_attention_heads"}, 32);
  const auto segments = c.count({"segment_types"}, 32);
  c.ignore({"dropout_p", "position_bias_max_distance", "eps", "max_position_embeddings"});
  t.linear(component::attention, hidden, checked::mul(heads, c.size({"dim_head"}, 128)), false, checked::mul(4, layers));
  count_gated_mlp(t, component::mlp, hidden, c.size({"dim_ff"}, 10240), false, layers);
  t.rms_norm(hidden, checked::add(checked::mul(2, layers), 1));
  t.add(component::attention, heads, checked::add(checked::mul(segments, segments), c.count({"position_bias_num_buckets"}, 512)));
  t.embedding(segments, hidden);
  const auto prompts = checked::mul(c.count({"prompt_types"}, 32), c.count({"prompt_length"}, 32));
  const auto words = c.size({"vocab_size"}, 30720);
  t.embedding(checked::add(words, prompts), hidden);
  c.ignore({"tie_word_embeddings"});
  return {hidden, words, false};
}

inline constexpr counted_class counted_dense_languages[] = {
    {"ApertusModel", "apertus", count_base<count_apertus>},
    {"ApertusForCausalLM", "apertus", count_causal<count_apertus>},
    {"ApertusForTokenClassification", "apertus", count_token<count_apertus>},
    {"BitNetModel", "bitnet", count_base<count_bitnet>},
    {"BitNetForCausalLM", "bitnet", count_causal<count_bitnet>},
    {"DiffLlamaModel", "diffllama", count_base<count_diffllama>},
    {"DiffLlamaForCausalLM", "diffllama", count_causal<count_diffllama>},
    {"DiffLlamaForSequenceClassification", "diffllama", count_sequence<count_diffllama>},
    {"DiffLlamaForTokenClassification", "diffllama", count_token<count_diffllama>},
    {"DiffLlamaForQuestionAnswering", "diffllama", count_question<count_diffllama>},
    {"DogeModel", "doge", count_base<count_doge>},
    {"DogeForCausalLM", "doge", count_causal<count_doge>},
    {"DogeForSequenceClassification", "doge", count_sequence<count_doge>},
    {"NanoChatModel", "nanochat", count_base<count_nanochat>},
    {"NanoChatForCausalLM", "nanochat", count_causal<count_nanochat>},
    {"HrmTextModel", "hrm_text", count_base<count_hrm_text>},
    {"HrmTextForCausalLM", "hrm_text", count_causal<count_hrm_text>},
    {"PersimmonModel", "persimmon", count_base<count_persimmon>},
    {"PersimmonForCausalLM", "persimmon", count_causal<count_persimmon>},
    {"PersimmonForSequenceClassification", "persimmon", count_sequence<count_persimmon>},
    {"PersimmonForTokenClassification", "persimmon", count_token<count_persimmon>},
    {"GPTNeoXJapaneseModel", "gpt_neox_japanese", count_base<count_gpt_neox_japanese>},
    {"GPTNeoXJapaneseForCausalLM", "gpt_neox_japanese", count_causal<count_gpt_neox_japanese>},
    {"OpenAIGPTModel", "openai-gpt", [](const config& c, tally& t) { ignore_summary(c), count_base<count_openai_gpt>(c, t); }},
    {"OpenAIGPTLMHeadModel", "openai-gpt", [](const config& c, tally& t) { ignore_summary(c), count_causal<count_openai_gpt>(c, t); }},
    {"OpenAIGPTDoubleHeadsModel", "openai-gpt", count_openai_double},
    {"OpenAIGPTForSequenceClassification", "openai-gpt", [](const config& c, tally& t) { ignore_summary(c), count_sequence<count_openai_gpt>(c, t); }},
    {"CTRLModel", "ctrl", count_base<count_ctrl>},
    {"CTRLLMHeadModel", "ctrl", [](const config& c, tally& t) {
       count_causal<count_ctrl>(c, t);
       t.add(component::head, c.size({"vocab_size"}, 246534));
     }},
    {"CTRLForSequenceClassification", "ctrl", count_sequence<count_ctrl>},
    {"CpmAntModel", "cpmant", count_base<count_cpmant>},
    {"CpmAntForCausalLM", "cpmant", count_causal<count_cpmant>},
};

}  // namespace headroom::io::detail
