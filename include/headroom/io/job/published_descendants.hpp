// Distributed under the Boost Software License, Version 1.0.
// Checkpoints with a name of their own over a shape that has a name (of the zoo, or of published_models.hpp), beside those of model/zoo_descendants.hpp:
// a new one is a line.
#pragma once

#include <headroom/io/job/descendants_by_total.hpp>
#include <headroom/model/zoo.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom::io {

/// The same shape, vocabulary and all (their model cards).
inline constexpr auto descendants_by_card = std::to_array<models::made_of>({
    {"gpt-oss-120b-dequantized", "gpt-oss-120b"},
    {"vicuna-v1-3-7b", "llama-7b"},  // as haotian-liu/LLaVA's scripts call it
    {"vicuna-v1-3-13b", "llama-13b"},
    {"skywork-reward-llama-3.1-8b-v0.2", "llama-3.1-8b"},
    {"gme-qwen2-vl-2b-instruct", "qwen2-vl-2b"},
    {"plano-orchestrator-4b", "qwen3-4b"},
    {"bge-base-en", "bert-base-uncased"},
    {"bge-base-en-v1.5", "bert-base-uncased"},
    {"bge-large-en", "bert-large-uncased"},
    {"bge-large-en-v1.5", "bert-large-uncased"},
    {"mxbai-embed-large-v1", "bert-large-uncased"},
    {"bge-base-zh", "bert-base-chinese"},
    {"bge-base-zh-v1.5", "bert-base-chinese"},
    {"qwen3-vl-2b-thinking", "qwen3-vl-2b"},
    {"qwen3-vl-4b-thinking", "qwen3-vl-4b"},
    {"qwen3-vl-8b-thinking", "qwen3-vl-8b"},
    {"qwen3-vl-32b-thinking", "qwen3-vl-32b"},
    {"qwen3-vl-30b-a3b-thinking", "qwen3-vl-30b-a3b"},
    {"qwen3-vl-235b-a22b-thinking", "qwen3-vl-235b-a22b"},
    {"qwen3-coder-next", "qwen3-next-80b-a3b"},
    {"qwen3-next-80b-a3b-thinking", "qwen3-next-80b-a3b"},
    {"deepseek-coder-v2", "deepseek-v2"},
    {"deepseek-coder-v2-lite", "deepseek-v2-lite"},
    {"deepseek-coder-7b-base-v1.5", "deepseek-llm-7b"},
    {"deepseek-coder-7b-instruct-v1.5", "deepseek-llm-7b"},
    {"deepseek-math-7b", "deepseek-llm-7b"},
    {"deepseek-math-7b-rl", "deepseek-llm-7b"},
    {"gemma-1.1-2b", "gemma-2b"},
    {"gemma-1.1-7b", "gemma-7b"},
    {"medgemma-4b", "gemma-3-4b"},
    {"llama-guard-3-8b", "llama-3.1-8b"},
    {"hermes-3-llama-3.1-8b", "llama-3.1-8b"},
    {"intellect-3", "glm-4.5-air"},
    {"kimi-k2-instruct-0905", "kimi-k2"},
    {"minimax-m2.5", "minimax-m2"},
    {"olmo-3-1025-7b", "olmo-3-7b"},
    {"olmo-3-1125-32b", "olmo-3-32b"},
    {"llama-3-8b-sft-mixture", "llama-3-8b"},
    {"llama-3-8b-rm-mixture", "llama-3-8b"},
    {"llama-3-8b-rm-700k", "llama-3-8b"},
    {"fsfairx-llama3-rm-v0.1", "llama-3-8b"},
    {"sky-t1-32b-preview", "qwen2.5-32b"},
    {"deepscaler-1.5b-preview", "deepseek-r1-distill-qwen-1.5b"},
    {"bloomz-560m", "bloom-560m"},
    {"bloomz-1b1", "bloom-1b1"},
    {"bloomz-1b7", "bloom-1b7"},
    {"bloomz-3b", "bloom-3b"},
    {"bloomz-7b1", "bloom-7b1"},
    {"internlm2-chat-1_8b-sft", "internlm2-1.8b"},
    {"zephyr-7b-alpha", "mistral-7b"},
    {"zephyr-7b-sft-full", "mistral-7b"},
    {"zephyr-7b-sft-qlora", "mistral-7b"},
    {"mistral-7b-sft-beta", "mistral-7b"},
    {"meta-llama-3.2-1b", "llama-3.2-1b"},
    {"meta-llama-3.2-3b", "llama-3.2-3b"},
    {"llama-3-70b-fp16", "llama-3-70b"},
    {"tinyllama_v1.1", "tinyllama-1.1b"},
    {"tinyllama-1.1b-intermediate-step-1431k-3t", "tinyllama-1.1b"},
    {"tiny-llama-1.1b", "tinyllama-1.1b"},
    {"smollm-135m", "smollm2-135m"},
    {"smollm-360m", "smollm2-360m"},
    {"deepseek-v2.5", "deepseek-v2"},
    {"skywork-reward-v2-qwen3-8b", "qwen3-8b"},
    {"qwen1.5-1.8b-sft", "qwen1.5-1.8b"},
    {"deepcoder-14b-preview", "deepseek-r1-distill-qwen-14b"},
    {"magistral-small-2506", "mistral-small-24b"},
    {"magistral-small-2507", "mistral-small-24b"},
    {"devstral-small-2505", "mistral-small-24b"},
    {"devstral-small-2507", "mistral-small-24b"},
    {"cogito-v1-preview-llama-3b", "llama-3.2-3b"},
    {"cogito-v1-preview-llama-8b", "llama-3.1-8b"},
    {"cogito-v1-preview-qwen-14b", "qwen2.5-14b"},
    {"smollm3-3b-checkpoints", "smollm3-3b"},
    {"olmo-3-7b-instruct-sft", "olmo-3-7b"},
    {"gpt-oss-safeguard-20b", "gpt-oss-20b"},
    {"gpt-oss-safeguard-120b", "gpt-oss-120b"},
    {"internvl3-2b-pretrained", "internvl3-2b"},
    {"qwen2-math-1.5b", "qwen2-1.5b"},
    {"qwen2-math-7b", "qwen2-7b"},
    {"qwen2-math-72b", "qwen2-72b"},
    {"codegemma-1.1-2b", "gemma-2b"},
    {"codegemma-7b", "gemma-7b"},
    {"codegemma-1.1-7b", "gemma-7b"},
    {"functiongemma-270m", "gemma-3-270m"},
    {"medgemma-27b", "gemma-3-27b"},
    {"translategemma-4b", "gemma-3-4b"},
    {"translategemma-12b", "gemma-3-12b"},
    {"translategemma-27b", "gemma-3-27b"},
    {"e5-base-v2", "bert-base-uncased"},
    {"e5-base", "bert-base-uncased"},
    {"e5-large-v2", "bert-large-uncased"},
    {"e5-large", "bert-large-uncased"},
    {"paraphrase-multilingual-minilm-l12-v2", "multilingual-e5-small"},
    {"aya-23-8b", "aya-expanse-8b"},
    {"aya-23-35b", "command-r"},
    {"yi-34b-200k", "yi-34b"},
    {"nous-hermes-2-yi-34b", "yi-34b"},
    {"deepseek-v2.5-1210", "deepseek-v2"},
    {"deepseek-v2-chat-0628", "deepseek-v2"},
    {"deepseek-coder-v2-instruct-0724", "deepseek-v2"},
    {"deepseek-r1-zero", "deepseek-r1"},
    {"deepseek-prover-v2-671b", "deepseek-v3"},
    {"deepseek-v3.2-speciale", "deepseek-v3.2"},
    {"kimi-dev-72b", "qwen2.5-72b"},
    {"granite-3.2-8b", "granite-3.1-8b"},
    {"olmo-1.7-7b-hf", "olmo-7b"},
    {"olmo-7b-0724-hf", "olmo-7b"},
    {"olmo-1b-0724-hf", "olmo-1b"},
    {"olmo-2-1124-7b-sft", "olmo-2-7b"},
    {"olmo-2-1124-7b-dpo", "olmo-2-7b"},
    {"olmo-2-1124-13b-sft", "olmo-2-13b"},
    {"olmo-2-1124-13b-dpo", "olmo-2-13b"},
    {"olmoe-1b-7b-0924-sft", "olmoe-1b-7b"},
    {"olmoe-1b-7b-0125-sft", "olmoe-1b-7b"},
    {"t5-v1_1-small", "flan-t5-small"},
    {"t5-v1_1-base", "flan-t5-base"},
    {"t5-v1_1-large", "flan-t5-large"},
    {"t5-v1_1-xl", "flan-t5-xl"},
    {"t5-v1_1-xxl", "flan-t5-xxl"},
    {"dialogpt-small", "gpt2"},
    {"dialogpt-medium", "gpt2-medium"},
    {"dialogpt-large", "gpt2-large"},
    {"mpt-7b-8k-chat", "mpt-7b"},
    {"mpt-7b-storywriter", "mpt-7b"},
    {"mistral-small-instruct-2409", "codestral-22b"},
    {"gritlm-7b", "mistral-7b"},
    {"pixtral-12b-2409", "pixtral-12b"},
    {"pixtral-12b-base-2409", "pixtral-12b"},
    {"phi-1", "phi-1.5"},
    {"hermes-3-llama-3.1-70b", "llama-3.1-70b"},
    {"skywork-reward-llama-3.1-8b", "llama-3.1-8b"},
    {"internvl2-8b-mpo", "internvl2-8b"},
    {"internvl2_5-1b-mpo", "internvl2.5-1b"},
    {"internvl2_5-2b-mpo", "internvl2-2b"},
    {"internvl2_5-26b-mpo", "internvl2-26b"},
    {"internvl2_5-38b-mpo", "internvl2.5-38b"},
    {"internvl2_5-78b-mpo", "internvl2.5-78b"},
    {"glm-4.6v", "glm-4.5v"},
    {"llava-onevision-qwen2-7b-ov", "llava-onevision-qwen2-7b"},
    {"llava-onevision-qwen2-0.5b-ov", "llava-onevision-qwen2-0.5b"},
    {"ministral-3-14b-reasoning-2512", "ministral-3-14b"},
    {"ministral-3-14b-instruct-2512-bf16", "ministral-3-14b"},
    {"ministral-3-3b-instruct-2512-bf16", "ministral-3-3b"},
    {"deepseek-v3-0324-bf16", "deepseek-v3"},
    {"starcoderbase", "starcoder"},
    {"olmo-3-7b-think-dpo", "olmo-3-7b"},
    {"deepseek-v3-bf16", "deepseek-v3"},
});

/// All of them.
inline constexpr auto published_descendants = [] {
  std::array<models::made_of, descendants_by_card.size() + descendants_by_total.size()> all{};
  std::copy(descendants_by_total.begin(), descendants_by_total.end(), std::copy(descendants_by_card.begin(), descendants_by_card.end(), all.data()));
  return all;
}();

/// The named model that a checkpoint of that name was made of; empty: none of these. Case, the organisation and what tells how a model was tuned do not matter.
constexpr std::string_view descended_from(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  for (const auto& d : published_descendants)
    if (headroom::detail::equal_ignoring_case(name, d.name)) return d.of;
  for (const auto& end : models::endings)
    if (name.size() > end.size() && headroom::detail::equal_ignoring_case(name.substr(name.size() - end.size()), end)) return descended_from(name.substr(0, name.size() - end.size()));
  return {};
}

}  // namespace headroom::io
