// Distributed under the Boost Software License, Version 1.0.
// Models by name beside those of the zoo (model/zoo.hpp): published configurations, as shapes in the words of a job file. A new one is a line.
#pragma once

#include <headroom/io/job/published_encoders.hpp>
#include <headroom/io/job/published_sight.hpp>
#include <headroom/io/job/published_text.hpp>
#include <headroom/model/zoo.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom::io {

// clang-format off
inline constexpr auto published_others = std::to_array<published_model>({
    {"exaone-4.0-1.2b",
     R"({"ffn":4096,"head_dim":64,"heads":32,"hidden":2048,"kv_heads":8,"layers":30,"norm_after":true,"qk_norm":true,"tied":true,"vocab":102400})"},
    {"k-exaone-236b-a23b",
     R"({"experts":{"active":8,"count":128,"ffn":2048,"first_dense_layers":1,"shared":1,"shared_ffn":2048},"ffn":18432,"head_dim":128,"heads":64,"hidden":6144,"kv_heads":8,"layers":48,"qk_norm":true,"full_layers":12,"sliding_window":128,"vocab":153600})"},
    {"lfm2-350m",
     R"({"ffn":4608,"heads":16,"hidden":1024,"kv_heads":8,"layers":16,"pattern":["gated-convolution","gated-convolution","attention","gated-convolution","gated-convolution","attention","gated-convolution","gated-convolution","attention","gated-convolution","attention","gated-convolution","attention","gated-convolution","attention"],"qk_norm":true,"ssm":{"conv":3},"tied":true,"vocab":65536})"},
    {"lfm2-700m",
     R"({"ffn":6912,"heads":24,"hidden":1536,"kv_heads":8,"layers":16,"pattern":["gated-convolution","gated-convolution","attention","gated-convolution","gated-convolution","attention","gated-convolution","gated-convolution","attention","gated-convolution","attention","gated-convolution","attention","gated-convolution","attention"],"qk_norm":true,"ssm":{"conv":3},"tied":true,"vocab":65536})"},
    {"lfm2-24b-a2b",
     R"({"experts":{"active":4,"count":64,"ffn":1536,"first_dense_layers":2,"narrow_scores":true},"ffn":11776,"heads":32,"hidden":2048,"kv_heads":8,"layers":40,"pattern":["gated-convolution","gated-convolution","attention","gated-convolution","gated-convolution","gated-convolution","attention","gated-convolution"],"qk_norm":true,"ssm":{"conv":3},"tied":true,"vocab":65536})"},
    {"mimo-7b|mimo-7b-sft|mimo-7b-rl",
     R"({"attention_bias":true,"ffn":11008,"head_dim":128,"heads":32,"hidden":4096,"kv_heads":8,"layers":36,"max_positions":32768,"mtp_layers":1,"vocab":151680})"},
    {"gemma-4-26b-a4b",
     R"({"activation":"gelu_pytorch_tanh","experts":{"active":8,"beside_mlp":true,"count":128,"ffn":704},"ffn":2112,"global":{"head_dim":512,"keys_as_values":true,"kv_heads":2},"head_dim":256,"heads":16,"hidden":2816,"kv_heads":8,"layers":30,"logit_softcap":30,"max_positions":262144,"norm_power":true,"pattern":["attention","attention","attention","attention","attention","global-attention"],"post_norms":true,"qk_norm":true,"sliding_window":1024,"tied":true,"value_norm":true,"vision":{"ffn":4304,"heads":16,"hidden":1152,"image":960,"image_height":672,"kind":"gemma4","layers":27,"merge":3,"patch":16,"positions":20480,"projector":"pooled-linear","tokens":280},"vocab":262144})"},
    {"gemma-4-31b",
     R"({"activation":"gelu_pytorch_tanh","ffn":21504,"global":{"head_dim":512,"keys_as_values":true,"kv_heads":4},"head_dim":256,"heads":32,"hidden":5376,"kv_heads":16,"layers":60,"logit_softcap":30,"max_positions":262144,"norm_power":true,"pattern":["attention","attention","attention","attention","attention","global-attention"],"post_norms":true,"qk_norm":true,"sliding_window":1024,"tied":true,"value_norm":true,"vision":{"ffn":4304,"heads":16,"hidden":1152,"image":960,"image_height":672,"kind":"gemma4","layers":27,"merge":3,"patch":16,"positions":20480,"projector":"pooled-linear","tokens":280},"vocab":262144})"},
    {"paligemma-3b-mix-224|paligemma-3b-pt-224",
     R"({"activation":"gelu_pytorch_tanh","ffn":16384,"head_dim":256,"heads":8,"hidden":2048,"kv_heads":1,"layers":18,"norm_offset":true,"tied":true,"vision":{"ffn":4304,"heads":16,"hidden":1152,"image":224,"kind":"siglip","layers":27,"patch":14,"projector":"linear"},"vocab":257216})"},
    {"granite-4.0-350m",
     R"({"ffn":2048,"fused_gate_up":true,"heads":16,"hidden":1024,"kv_heads":4,"layers":28,"pattern":["attention"],"position":"none","ssm":{"chunk":256,"conv":4,"conv_bias":true,"groups":1,"head_dim":64,"heads":32,"state":128},"tied":true,"vocab":100352})"},
    {"mamba-370m|mamba-370m-hf",
     R"({"fp32_residual":true,"heads":1,"hidden":1024,"layers":48,"pattern":["mamba1+none"],"position":"none","ssm":{"conv":4,"conv_bias":true,"groups":1,"head_dim":1,"heads":2048,"no_norm":true,"rank":64,"state":16},"tied":true,"vocab":50280})"},
    {"mamba-2.8b|mamba-2.8b-hf",
     R"({"fp32_residual":true,"heads":1,"hidden":2560,"layers":64,"pattern":["mamba1+none"],"position":"none","ssm":{"conv":4,"conv_bias":true,"groups":1,"head_dim":1,"heads":5120,"no_norm":true,"rank":160,"state":16},"tied":true,"vocab":50280})"},
    {"mamba-codestral-7b|mamba-codestral-7b-v0.1",
     R"({"fp32_residual":true,"heads":1,"hidden":4096,"layers":64,"pattern":["mamba2+none"],"position":"none","ssm":{"chunk":256,"conv":4,"conv_bias":true,"groups":8,"head_dim":64,"heads":128,"state":128},"vocab":32768})"},
    {"apertus-8b|apertus-8b-2509|apertus-8b-instruct-2509",
     R"({"activation":"xielu","ffn":21504,"heads":32,"hidden":4096,"kv_heads":8,"layers":32,"mlp":"plain","qk_norm":true,"vocab":131072})"},
    {"hy3-preview",
     R"({"experts":{"active":8,"count":192,"ffn":1536,"first_dense_layers":1,"shared":1,"shared_ffn":1536},"ffn":13312,"head_dim":128,"heads":64,"hidden":4096,"kv_heads":8,"layers":80,"max_positions":131072,"qk_norm":true,"vocab":120832})"},
    {"glm-5|glm-5.1",
     R"({"experts":{"active":8,"count":256,"ffn":2048,"first_dense_layers":3,"shared":1,"shared_ffn":2048},"ffn":12288,"heads":64,"hidden":6144,"layers":78,"max_positions":202752,"mla":{"index_dim":128,"index_handed_on":true,"index_heads":32,"index_keys":2048,"kv_rank":512,"nope_dim":192,"q_rank":2048,"rope_dim":64,"value_dim":256},"pattern":["sparse-attention"],"vocab":154880})"},
    {"deepseek-v3.2|deepseek-v3.2-exp",
     R"({"experts":{"active":8,"count":256,"ffn":2048,"first_dense_layers":3,"shared":1,"shared_ffn":2048},"ffn":18432,"heads":128,"hidden":7168,"layers":61,"max_positions":163840,"mla":{"index_dim":128,"index_heads":64,"index_keys":2048,"kv_rank":512,"nope_dim":128,"q_rank":1536,"rope_dim":64,"value_dim":128},"pattern":["sparse-attention"],"vocab":129280})"},
    {"nemotron-3-nano-30b-a3b|nvidia-nemotron-3-nano-30b-a3b|nvidia-nemotron-3-nano-30b-a3b-bf16|nvidia-nemotron-3-nano-30b-a3b-base-bf16",
     R"({"activation":"relu2","experts":{"active":6,"count":128,"ffn":1856,"shared":1,"shared_ffn":3712},"ffn":1856,"head_dim":128,"heads":32,"hidden":2688,"kv_heads":2,"layers":52,"max_positions":262144,"mlp":"plain","pattern":"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEME","position":"none","ssm":{"chunk":128,"conv":4,"conv_bias":true,"groups":8,"head_dim":64,"heads":64,"state":128},"vocab":131072})"},
    {"nemotron-3-super-120b-a12b|nvidia-nemotron-3-super-120b-a12b|nvidia-nemotron-3-super-120b-a12b-bf16|nvidia-nemotron-3-super-120b-a12b-base-bf16",
     R"({"activation":"relu2","experts":{"active":22,"count":512,"ffn":2688,"latent":1024,"shared":1,"shared_ffn":5376},"ffn":2688,"head_dim":128,"heads":32,"hidden":4096,"kv_heads":2,"layers":88,"max_positions":262144,"mlp":"plain","pattern":"MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME","position":"none","ssm":{"chunk":128,"conv":4,"conv_bias":true,"groups":8,"head_dim":64,"heads":128,"state":128},"vocab":131072})"},
    {"nemotron-3-ultra-550b-a55b|nvidia-nemotron-3-ultra-550b-a55b|nvidia-nemotron-3-ultra-550b-a55b-bf16",
     R"({"activation":"relu2","experts":{"active":22,"count":512,"ffn":5120,"latent":2048,"shared":1,"shared_ffn":10240},"ffn":5120,"head_dim":128,"heads":64,"hidden":8192,"kv_heads":2,"layers":108,"max_positions":262144,"mlp":"plain","pattern":"MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME","position":"none","ssm":{"chunk":128,"conv":4,"conv_bias":true,"groups":8,"head_dim":64,"heads":256,"state":128},"vocab":131072})"},
    {"modernbert-base",
     R"({"activation":"gelu","bidirectional":true,"ffn":1152,"fused_gate_up":true,"fused_qkv":true,"global_every":3,"head":"masked-language","heads":12,"hidden":768,"layers":22,"norm":"layernorm","sliding_window":128,"tied":true,"transformed_classes":true,"vocab":50368})"},
    {"whisper-large-v3-turbo",
     R"({"activation":"gelu","attention_bias":true,"encoder":{"audio_channels":128,"cross_attention":true,"ffn":5120,"frozen_positions":true,"heads":20,"layers":32,"max_positions":1500,"sequence":1500},"ffn":5120,"heads":20,"hidden":1280,"layers":4,"max_positions":448,"mlp":"plain","mlp_bias":true,"no_key_bias":true,"norm":"layernorm","norm_bias":true,"output_bias":true,"position":"learned","tied":true,"vocab":51866})"},
    {"bart-large-cnn",
     R"({"activation":"gelu","attention_bias":true,"embedding_norm":true,"encoder":{"cross_attention":true,"ffn":4096,"heads":16,"layers":12},"ffn":4096,"heads":16,"hidden":1024,"layers":12,"max_positions":1024,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"position":"learned","position_offset":2,"tied":true,"vocab":50264})"},
    {"deberta-v3-large",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":4096,"head":"none","heads":16,"hidden":1024,"layers":24,"max_positions":512,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"position":"disentangled","relative_buckets":512,"tied":true,"vocab":128100})"},
    {"multilingual-e5-large",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":4096,"head":"none","heads":16,"hidden":1024,"layers":24,"max_positions":514,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","tied":true,"token_types":1,"vocab":250002})"},
    // bigcode/starcoder2-15b and mistralai/Mistral-7B-v0.1 with ChatML's two words: huggingface/alignment-handbook ba7e0e4 scripts/run_sft.py and its recipe
    // starchat2-15b/sft (setup_chat_format makes a row for each word); teknium/OpenHermes-2.5-Mistral-7B config.json, as huggingface/candle has it
    // (candle-transformers/src/models/mistral.rs config_chat_ml).
    {"starchat2-15b|starchat2-15b-sft-v0.1|starchat2-15b-v0.1", 
     R"({"activation":"gelu_pytorch_tanh","attention_bias":true,"ffn":24576,"heads":48,"hidden":6144,"kv_heads":4,"layers":40,"max_positions":16384,"mlp":"plain","mlp_bias":true,"norm":"layernorm","norm_bias":true,"output_bias":true,"sliding_window":4096,"vocab":49154})"},
    {"openhermes-2.5-mistral-7b", R"({"ffn":14336,"heads":32,"hidden":4096,"kv_heads":8,"layers":32,"sliding_window":4096,"vocab":32002})"},
    {"ministral-3-14b|ministral-3-14b-instruct-2512|ministral-3-14b-base-2512",
     R"({"ffn":16384,"head_dim":128,"heads":32,"hidden":5120,"kv_heads":8,"layers":40,"scaled_queries":true,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":1540,"kind":"pixtral","layers":24,"merge":2,"patch":14,"projector":"patch-merger"},"vocab":131072})"},
});
// clang-format on

/// All of them.
inline constexpr auto published_models = [] {
  std::array<published_model, published_text.size() + published_sight.size() + published_encoders.size() + published_others.size()> all{};
  auto* to = std::copy(published_text.begin(), published_text.end(), all.data());
  to = std::copy(published_sight.begin(), published_sight.end(), to);
  to = std::copy(published_encoders.begin(), published_encoders.end(), to);
  std::copy(published_others.begin(), published_others.end(), to);
  return all;
}();

static_assert([] {
  for (const auto& m : published_models)
    if (name_of(m).size() > name::capacity) return false;
  return true;
}(), "headroom: the first name of a published model is its label, of at most 47 characters");

/// The model of that name, or null: as models::find() takes names, without regard to case, to the organisation and to what tells how a model was tuned.
constexpr const published_model* find_published(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  const published_model* found = nullptr;
  for (const auto& m : published_models)
    each_name(m, [&](std::string_view one) {
      if (headroom::detail::equal_ignoring_case(name, one)) found = &m;
    });
  if (found != nullptr) return found;
  for (const auto& end : models::endings)
    if (name.size() > end.size() && headroom::detail::equal_ignoring_case(name.substr(name.size() - end.size()), end)) return find_published(name.substr(0, name.size() - end.size()));
  return nullptr;
}

}  // namespace headroom::io
