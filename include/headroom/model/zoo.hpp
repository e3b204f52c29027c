// Distributed under the Boost Software License, Version 1.0.
// Models by name: headroom::models::llama_3_1_8b, or find("llama-3.1-8b").
#pragma once

#include <headroom/model/zoo_models.hpp>

#include <string_view>

namespace headroom {

namespace models {

/// A model and the names it answers to: its own, and last components of Hugging Face ids, in lower case.
struct entry {
  const shape* model;
  std::string_view names[5];
};

inline constexpr entry table[] = {
    {&llama_7b, {"llama-7b", "open_llama_7b"}},
    {&llama_13b, {"llama-13b", "open_llama_13b"}},
    {&llama_30b, {"llama-30b"}},
    {&llama_65b, {"llama-65b"}},
    {&llama_2_7b, {"llama-2-7b", "llama-2-7b-hf", "llama-2-7b-chat-hf"}},
    {&llama_2_13b, {"llama-2-13b", "llama-2-13b-hf", "llama-2-13b-chat-hf"}},
    {&llama_2_70b, {"llama-2-70b", "llama-2-70b-hf", "llama-2-70b-chat-hf"}},
    {&codellama_7b, {"codellama-7b", "codellama-7b-hf"}},
    {&codellama_13b, {"codellama-13b", "codellama-13b-hf"}},
    {&codellama_34b, {"codellama-34b", "codellama-34b-hf"}},
    {&llama_3_8b, {"llama-3-8b", "meta-llama-3-8b", "meta-llama-3-8b-instruct"}},
    {&llama_3_70b, {"llama-3-70b", "meta-llama-3-70b", "meta-llama-3-70b-instruct"}},
    {&llama_3_1_8b, {"llama-3.1-8b", "llama-3.1-8b-instruct", "meta-llama-3.1-8b", "deepseek-r1-distill-llama-8b"}},
    {&llama_3_1_70b, {"llama-3.1-70b", "llama-3.1-70b-instruct", "meta-llama-3.1-70b"}},
    {&llama_3_1_405b, {"llama-3.1-405b", "llama-3.1-405b-instruct", "meta-llama-3.1-405b"}},
    {&llama_3_2_1b, {"llama-3.2-1b", "llama-3.2-1b-instruct"}},
    {&llama_3_2_3b, {"llama-3.2-3b", "llama-3.2-3b-instruct"}},
    {&llama_3_3_70b, {"llama-3.3-70b", "llama-3.3-70b-instruct", "deepseek-r1-distill-llama-70b"}},
    {&tinyllama_1_1b, {"tinyllama-1.1b", "tinyllama-1.1b-chat-v1.0"}},
    {&smollm2_135m, {"smollm2-135m"}},
    {&smollm2_360m, {"smollm2-360m"}},
    {&smollm2_1_7b, {"smollm2-1.7b"}},
    {&yi_6b, {"yi-6b", "yi-1.5-6b"}},
    {&yi_34b, {"yi-34b", "yi-1.5-34b"}},
    {&deepseek_llm_7b, {"deepseek-llm-7b", "deepseek-llm-7b-base"}},
    {&deepseek_llm_67b, {"deepseek-llm-67b", "deepseek-llm-67b-base"}},
    {&internlm2_7b, {"internlm2-7b", "internlm2-chat-7b", "internlm2_5-7b"}},
    {&solar_10_7b, {"solar-10.7b", "solar-10.7b-v1.0", "solar-10.7b-instruct-v1.0"}},
    {&yi_9b, {"yi-9b", "yi-1.5-9b"}},
    {&falcon3_1b, {"falcon3-1b"}},
    {&falcon3_3b, {"falcon3-3b"}},
    {&falcon3_7b, {"falcon3-7b"}},
    {&falcon3_10b, {"falcon3-10b"}},
    {&smollm3_3b, {"smollm3-3b"}},
    {&granite_3_8b, {"granite-3.0-8b", "granite-3.1-8b"}},
    {&internlm2_1_8b, {"internlm2-1.8b", "internlm2-chat-1_8b", "internlm2_5-1_8b"}},
    {&internlm2_20b, {"internlm2-20b", "internlm2-chat-20b", "internlm2_5-20b"}},
    {&baichuan2_7b, {"baichuan2-7b", "baichuan2-7b-base"}},
    {&baichuan2_13b, {"baichuan2-13b", "baichuan2-13b-base"}},
    {&minicpm_2b, {"minicpm-2b", "minicpm-2b-sft-bf16"}},
    {&mistral_7b, {"mistral-7b", "mistral-7b-v0.1", "mistral-7b-v0.2", "mistral-7b-instruct-v0.1", "mistral-7b-instruct-v0.2"}},
    {&mistral_7b_v0_3, {"mistral-7b-v0.3", "mistral-7b-instruct-v0.3", "mathstral-7b-v0.1"}},
    {&mistral_nemo_12b, {"mistral-nemo-12b", "mistral-nemo-base-2407", "mistral-nemo-instruct-2407"}},
    {&mistral_large_2, {"mistral-large-2", "mistral-large-instruct-2407", "mistral-large-instruct-2411"}},
    {&mistral_small_24b, {"mistral-small-24b", "mistral-small-24b-base-2501", "mistral-small-24b-instruct-2501"}},
    {&ministral_8b, {"ministral-8b", "ministral-8b-instruct-2410"}},
    {&codestral_22b, {"codestral-22b", "codestral-22b-v0.1"}},
    {&mixtral_8x7b, {"mixtral-8x7b", "mixtral-8x7b-v0.1", "mixtral-8x7b-instruct-v0.1"}},
    {&mixtral_8x22b, {"mixtral-8x22b", "mixtral-8x22b-v0.1"}},
    {&mixtral_8x22b_instruct, {"mixtral-8x22b-instruct", "mixtral-8x22b-instruct-v0.1"}},
    {&qwen_7b, {"qwen-7b"}},
    {&qwen_14b, {"qwen-14b"}},
    {&qwen1_5_0_5b, {"qwen1.5-0.5b"}},
    {&qwen1_5_1_8b, {"qwen1.5-1.8b"}},
    {&qwen1_5_4b, {"qwen1.5-4b"}},
    {&qwen1_5_7b, {"qwen1.5-7b"}},
    {&qwen1_5_14b, {"qwen1.5-14b"}},
    {&qwen1_5_32b, {"qwen1.5-32b"}},
    {&qwen1_5_72b, {"qwen1.5-72b"}},
    {&qwen2_0_5b, {"qwen2-0.5b"}},
    {&qwen2_1_5b, {"qwen2-1.5b"}},
    {&qwen2_7b, {"qwen2-7b"}},
    {&qwen2_72b, {"qwen2-72b"}},
    {&qwen2_5_0_5b, {"qwen2.5-0.5b", "qwen2.5-coder-0.5b"}},
    {&qwen2_5_1_5b, {"qwen2.5-1.5b", "qwen2.5-coder-1.5b", "qwen2.5-math-1.5b"}},
    {&qwen2_5_3b, {"qwen2.5-3b", "qwen2.5-coder-3b"}},
    {&deepseek_r1_distill_qwen_1_5b, {"deepseek-r1-distill-qwen-1.5b"}},
    {&seed_oss_36b, {"seed-oss-36b"}},
    {&qwen2_5_7b, {"qwen2.5-7b", "qwen2.5-coder-7b", "qwen2.5-math-7b", "deepseek-r1-distill-qwen-7b"}},
    {&qwen2_5_14b, {"qwen2.5-14b", "qwen2.5-coder-14b", "deepseek-r1-distill-qwen-14b"}},
    {&qwen2_5_32b, {"qwen2.5-32b", "qwen2.5-coder-32b", "qwq-32b", "qwq-32b-preview", "deepseek-r1-distill-qwen-32b"}},
    {&qwen2_5_72b, {"qwen2.5-72b", "qwen2.5-math-72b"}},
    {&qwen1_5_moe_a2_7b, {"qwen1.5-moe-a2.7b"}},
    {&qwen2_57b_a14b, {"qwen2-57b-a14b"}},
    {&qwen3_0_6b, {"qwen3-0.6b"}},
    {&qwen3_1_7b, {"qwen3-1.7b"}},
    {&qwen3_4b, {"qwen3-4b", "qwen3-4b-instruct-2507", "qwen3-4b-thinking-2507"}},
    {&qwen3_8b, {"qwen3-8b"}},
    {&qwen3_14b, {"qwen3-14b"}},
    {&qwen3_32b, {"qwen3-32b"}},
    {&qwen3_30b_a3b, {"qwen3-30b-a3b", "qwen3-30b-a3b-instruct-2507", "qwen3-30b-a3b-thinking-2507", "qwen3-coder-30b-a3b"}},
    {&qwen3_235b_a22b, {"qwen3-235b-a22b", "qwen3-235b-a22b-instruct-2507", "qwen3-235b-a22b-thinking-2507"}},
    {&qwen3_coder_480b_a35b, {"qwen3-coder-480b-a35b", "qwen3-coder-480b-a35b-instruct"}},
    {&gemma_2b, {"gemma-2b"}},
    {&gemma_7b, {"gemma-7b"}},
    {&gemma_2_2b, {"gemma-2-2b"}},
    {&gemma_2_9b, {"gemma-2-9b"}},
    {&gemma_2_27b, {"gemma-2-27b"}},
    {&gemma_3_270m, {"gemma-3-270m"}},
    {&gemma_3_1b, {"gemma-3-1b", "gemma-3-1b-pt", "gemma-3-1b-it"}},
    {&gemma_3_4b, {"gemma-3-4b", "gemma-3-4b-pt", "gemma-3-4b-it"}},
    {&gemma_3_12b, {"gemma-3-12b", "gemma-3-12b-pt", "gemma-3-12b-it"}},
    {&gemma_3_27b, {"gemma-3-27b", "gemma-3-27b-pt", "gemma-3-27b-it"}},
    {&gpt2, {"gpt2"}},
    {&distilgpt2, {"distilgpt2"}},
    {&gpt2_medium, {"gpt2-medium"}},
    {&gpt2_large, {"gpt2-large"}},
    {&gpt2_xl, {"gpt2-xl"}},
    {&gpt_3_175b, {"gpt-3-175b"}},
    {&gpt_j_6b, {"gpt-j-6b"}},
    {&gpt_neo_1_3b, {"gpt-neo-1.3b"}},
    {&gpt_neo_125m, {"gpt-neo-125m"}},
    {&gpt_neo_2_7b, {"gpt-neo-2.7b"}},
    {&gpt_neox_20b, {"gpt-neox-20b"}},
    {&pythia_70m, {"pythia-70m"}},
    {&pythia_160m, {"pythia-160m"}},
    {&pythia_410m, {"pythia-410m"}},
    {&pythia_1b, {"pythia-1b"}},
    {&pythia_1_4b, {"pythia-1.4b"}},
    {&pythia_2_8b, {"pythia-2.8b"}},
    {&pythia_6_9b, {"pythia-6.9b"}},
    {&pythia_12b, {"pythia-12b"}},
    {&opt_125m, {"opt-125m"}},
    {&opt_1_3b, {"opt-1.3b"}},
    {&opt_2_7b, {"opt-2.7b"}},
    {&opt_6_7b, {"opt-6.7b"}},
    {&opt_13b, {"opt-13b"}},
    {&opt_30b, {"opt-30b"}},
    {&opt_66b, {"opt-66b"}},
    {&bloom_560m, {"bloom-560m"}},
    {&bloom_1b1, {"bloom-1b1"}},
    {&bloom_1b7, {"bloom-1b7"}},
    {&bloom_3b, {"bloom-3b"}},
    {&bloom_7b1, {"bloom-7b1"}},
    {&bloom_176b, {"bloom-176b", "bloom"}},
    {&falcon_7b, {"falcon-7b"}},
    {&falcon_40b, {"falcon-40b"}},
    {&falcon_180b, {"falcon-180b"}},
    {&mpt_7b, {"mpt-7b"}},
    {&mpt_30b, {"mpt-30b"}},
    {&phi_1_5, {"phi-1.5", "phi-1_5"}},
    {&phi_2, {"phi-2"}},
    {&starcoder2_3b, {"starcoder2-3b"}},
    {&starcoder2_7b, {"starcoder2-7b"}},
    {&starcoder2_15b, {"starcoder2-15b"}},
    {&phi_3_mini, {"phi-3-mini", "phi-3-mini-4k-instruct", "phi-3-mini-128k-instruct", "phi-3.5-mini-instruct"}},
    {&phi_3_medium, {"phi-3-medium", "phi-3-medium-4k-instruct", "phi-3-medium-128k-instruct"}},
    {&phi_4, {"phi-4", "phi-4-reasoning", "phi-4-reasoning-plus"}},
    {&phi_4_mini, {"phi-4-mini", "phi-4-mini-instruct", "phi-4-mini-reasoning"}},
    {&olmo_1b, {"olmo-1b", "olmo-1b-hf"}},
    {&olmo_7b, {"olmo-7b", "olmo-7b-hf"}},
    {&olmo_2_7b, {"olmo-2-7b", "olmo-2-1124-7b"}},
    {&olmo_2_1b, {"olmo-2-1b", "olmo-2-0425-1b"}},
    {&olmo_2_13b, {"olmo-2-13b", "olmo-2-1124-13b"}},
    {&olmo_2_32b, {"olmo-2-32b", "olmo-2-0325-32b"}},
    {&olmo_3_7b, {"olmo-3-7b"}},
    {&olmo_3_32b, {"olmo-3-32b"}},
    {&stablelm_3b, {"stablelm-3b", "stablelm-3b-4e1t"}},
    {&stablelm_2_1_6b, {"stablelm-2-1.6b", "stablelm-2-1_6b"}},
    {&stablelm_2_12b, {"stablelm-2-12b"}},
    {&command_r, {"command-r", "c4ai-command-r-v01"}},
    {&command_r_plus, {"command-r-plus", "c4ai-command-r-plus"}},
    {&aya_expanse_8b, {"aya-expanse-8b"}},
    {&aya_expanse_32b, {"aya-expanse-32b"}},
    {&deepseek_v2_lite, {"deepseek-v2-lite"}},
    {&deepseek_v2, {"deepseek-v2"}},
    {&deepseek_v3, {"deepseek-v3"}},
    {&deepseek_r1, {"deepseek-r1"}},
    {&moonlight_16b_a3b, {"moonlight-16b-a3b"}},
    {&kimi_k2, {"kimi-k2", "kimi-k2-base", "kimi-k2-instruct"}},
    {&deepseek_moe_16b, {"deepseek-moe-16b", "deepseek-moe-16b-base"}},
    {&glm_4_5_air, {"glm-4.5-air"}},
    {&dbrx, {"dbrx", "dbrx-base"}},
    {&phi_3_5_moe, {"phi-3.5-moe", "phi-3.5-moe-instruct"}},
    {&minimax_m2, {"minimax-m2", "minimax-m2.7"}},
    {&gpt_oss_20b, {"gpt-oss-20b"}},
    {&gpt_oss_120b, {"gpt-oss-120b"}},
    {&llama_4_scout, {"llama-4-scout", "llama-4-scout-17b-16e", "llama-4-scout-17b-16e-instruct"}},
    {&llama_4_maverick, {"llama-4-maverick", "llama-4-maverick-17b-128e", "llama-4-maverick-17b-128e-instruct"}},
    {&bert_base_uncased, {"bert-base-uncased", "bert-base"}},
    {&bert_large_uncased, {"bert-large-uncased", "bert-large"}},
    {&bert_base_cased, {"bert-base-cased"}},
    {&roberta_base, {"roberta-base"}},
    {&roberta_large, {"roberta-large"}},
    {&xlm_roberta_base, {"xlm-roberta-base"}},
    {&xlm_roberta_large, {"xlm-roberta-large"}},
    {&t5_small, {"t5-small"}},
    {&t5_base, {"t5-base"}},
    {&t5_large, {"t5-large"}},
    {&t5_3b, {"t5-3b"}},
    {&t5_11b, {"t5-11b"}},
    {&flan_t5_small, {"flan-t5-small"}},
    {&flan_t5_base, {"flan-t5-base"}},
    {&flan_t5_xl, {"flan-t5-xl"}},
    {&flan_t5_large, {"flan-t5-large"}},
    {&flan_t5_xxl, {"flan-t5-xxl"}},
    {&whisper_tiny, {"whisper-tiny"}},
    {&whisper_base, {"whisper-base"}},
    {&whisper_small, {"whisper-small"}},
    {&whisper_medium, {"whisper-medium"}},
    {&whisper_large_v2, {"whisper-large-v2"}},
    {&whisper_large_v3, {"whisper-large-v3"}},
    {&vit_base_patch16_224, {"vit-base-patch16-224"}},
    {&vit_large_patch16_224, {"vit-large-patch16-224"}},
    {&llava_1_5_7b, {"llava-1.5-7b", "llava-1.5-7b-hf"}},
    {&llava_1_5_13b, {"llava-1.5-13b", "llava-1.5-13b-hf"}},
    {&qwen2_vl_2b, {"qwen2-vl-2b", "qwen2-vl-2b-instruct"}},
    {&qwen2_vl_7b, {"qwen2-vl-7b"}},
    {&qwen2_5_vl_3b, {"qwen2.5-vl-3b"}},
    {&qwen2_5_vl_7b, {"qwen2.5-vl-7b", "qwen2.5-vl-7b-instruct"}},
    {&qwen2_5_vl_32b, {"qwen2.5-vl-32b", "qwen2.5-vl-32b-instruct"}},
    {&qwen2_5_vl_72b, {"qwen2.5-vl-72b", "qwen2.5-vl-72b-instruct"}},
    {&minicpm_v_2_6, {"minicpm-v-2.6", "minicpm-v-2_6"}},
};

}  // namespace models

namespace detail {
/// Equal but for the case of ASCII letters; `b` is in lower case.
constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char c = a[i] >= 'A' && a[i] <= 'Z' ? static_cast<char>(a[i] - 'A' + 'a') : a[i];
    if (c != b[i]) return false;
  }
  return true;
}
}  // namespace detail

namespace models {

/// Every model of the zoo, as a range of shapes.
struct model_range {
  struct iterator {
    const entry* at;
    constexpr const shape& operator*() const { return *at->model; }
    constexpr iterator& operator++() { ++at; return *this; }
    friend constexpr bool operator==(iterator, iterator) = default;
  };
  [[nodiscard]] constexpr iterator begin() const { return {table}; }
  [[nodiscard]] constexpr iterator end() const { return {table + size()}; }
  [[nodiscard]] constexpr std::size_t size() const { return sizeof table / sizeof *table; }
};
constexpr model_range all() { return {}; }

/// Endings of names that tell how a model was tuned or stored, never its shape. A checkpoint of another shape has an entry of its own.
inline constexpr std::string_view endings[] = {"-instruct", "-chat", "-base", "-it", "-pt", "-hf", "-deduped"};

/// The model of that name, or null. Case does not matter, "meta-llama/Llama-3.1-8B" finds "llama-3.1-8b", and so does "llama-3.1-8b-instruct".
constexpr const shape* find(std::string_view name) {
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  if (name.empty()) return nullptr;
  for (const auto& e : table)
    for (const auto& n : e.names)
      if (detail::equal_ignoring_case(name, n)) return e.model;
  for (const auto& end : endings)
    if (name.size() > end.size() && detail::equal_ignoring_case(name.substr(name.size() - end.size()), end))
      return find(name.substr(0, name.size() - end.size()));
  return nullptr;
}

}  // namespace models
}  // namespace headroom
