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
    {"smollm-1.7b", "smollm2-1.7b"},
    {"deepseek-v3-0324", "deepseek-v3"},
    {"deepseek-v3.1", "deepseek-v3"},
    {"deepseek-r1-0528", "deepseek-r1"},
    {"deepseek-r1-0528-qwen3-8b", "qwen3-8b"},
};

}  // namespace headroom::models
