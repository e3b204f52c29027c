// Distributed under the Boost Software License, Version 1.0.
// Checkpoints with a name of their own over a shape of the zoo, beside those of model/zoo_descendants.hpp: a new one is a line.
#pragma once

#include <headroom/model/zoo.hpp>

#include <array>
#include <string_view>

namespace headroom::io {

/// The same shape, vocabulary and all (their model cards).
inline constexpr auto published_descendants = std::to_array<models::made_of>({
    {"gpt-oss-120b-dequantized", "gpt-oss-120b"},
    {"skywork-reward-llama-3.1-8b-v0.2", "llama-3.1-8b"},
    {"gme-qwen2-vl-2b-instruct", "qwen2-vl-2b"},
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
    // trl-lib's and cleanrl's (vwxyzjn/summarize_from_feedback_details): a padding token, and no row for it.
    {"pythia-1b-deduped-tldr-sft", "pythia-1b"},
    {"pythia-1b-deduped-tldr-rm", "pythia-1b"},
    {"eleutherai_pythia-1b-deduped__sft__tldr", "pythia-1b"},
    {"eleutherai_pythia-1b-deduped__reward__tldr", "pythia-1b"},
    {"pythia-2.8b-deduped-tldr-sft", "pythia-2.8b"},
    {"pythia-2.8b-deduped-tldr-rm", "pythia-2.8b"},
    {"eleutherai_pythia-2.8b-deduped__sft__tldr", "pythia-2.8b"},
    {"eleutherai_pythia-2.8b-deduped__reward__tldr", "pythia-2.8b"},
    {"pythia-6.9b-deduped-tldr-sft", "pythia-6.9b"},
    {"pythia-6.9b-deduped-tldr-rm", "pythia-6.9b"},
    {"eleutherai_pythia-6.9b-deduped__sft__tldr", "pythia-6.9b"},
    {"eleutherai_pythia-6.9b-deduped__reward__tldr", "pythia-6.9b"},
    // Made by commands of TRL's and alignment-handbook's own, which name what they start from.
    {"qwen2-0.5b-reward", "qwen2-0.5b"},
    {"qwen2.5-math-7b-rope-300k", "qwen2.5-7b"},
    {"mistral-7b-sft-constitutional-ai", "mistral-7b"},
    {"zephyr-7b-gemma-sft-v0.1", "gemma-7b"},
    {"smollm2-1.7b-sft", "smollm2-1.7b"},
    {"smollm2-360m-sft", "smollm2-360m"},
    {"qwen3-vl-embedding-8b", "qwen3-vl-8b"},
    {"qwen3-vl-reranker-8b", "qwen3-vl-8b"},
});

/// The model of the zoo that a checkpoint of that name was made of; empty: none of these. Case, the organisation and what tells how a model was tuned do not matter.
constexpr std::string_view descended_from(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  for (const auto& d : published_descendants)
    if (headroom::detail::equal_ignoring_case(name, d.name)) return d.of;
  for (const auto& end : models::endings)
    if (name.size() > end.size() && headroom::detail::equal_ignoring_case(name.substr(name.size() - end.size()), end)) return descended_from(name.substr(0, name.size() - end.size()));
  return {};
}

}  // namespace headroom::io
