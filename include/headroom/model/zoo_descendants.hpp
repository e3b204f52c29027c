// Distributed under the Boost Software License, Version 1.0.
// Checkpoints with a name of their own over a shape of the zoo.
#pragma once

#include <string_view>

namespace headroom::models {

/// Checkpoints with a name of their own, and the model that they were made of: the same shape, vocabulary and all (their model cards).
struct made_of {
  std::string_view name, of;
};
inline constexpr made_of descendants[] = {
    {"vicuna-7b-v1.5", "llama-2-7b"},
    {"vicuna-13b-v1.5", "llama-2-13b"},
    {"vicuna-7b-v1.5-16k", "llama-2-7b"},
    {"vicuna-13b-v1.5-16k", "llama-2-13b"},
    {"vicuna-7b-v1.3", "llama-7b"},
    {"vicuna-13b-v1.3", "llama-13b"},
    {"vicuna-7b-v1.1", "llama-7b"},
    {"vicuna-13b-v1.1", "llama-13b"},
    {"zephyr-7b-beta", "mistral-7b"},
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
    {"smollm-1.7b", "smollm2-1.7b"},
    {"deepseek-v2.5", "deepseek-v2"},
    {"deepseek-v3-0324", "deepseek-v3"},
    {"deepseek-v3.1", "deepseek-v3"},
    {"deepseek-r1-0528", "deepseek-r1"},
    {"deepseek-r1-0528-qwen3-8b", "qwen3-8b"},
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
};

}  // namespace headroom::models
