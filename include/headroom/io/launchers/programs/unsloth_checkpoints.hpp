// Distributed under the Boost Software License, Version 1.0.
// Which checkpoint Unsloth loads for a model's name in 4 bits (unslothai/unsloth 015bdef0 of 2026-08-22, models/mapper.py, loader_utils.py get_model_name).
#pragma once

#include <headroom/io/syntax/spelling.hpp>

#include <string>
#include <string_view>

namespace headroom::io::detail {

/// Names whose checkpoint of 4 bits is NAME-bnb-4bit, of which all linear layers but the head have 4: decoders of Llama's kind among them.
inline constexpr std::string_view unsloth_all_in_4_bits =
    "01-ai/yi-6b|akjindal53244/llama-3.1-storm-8b|allenai/llama-3.1-tulu-3-70b|allenai/llama-3.1-tulu-3-8b|alpindale/mistral-7b-v0.2-hf|codellama/codellama-13b-hf|codellama/codellama-34b-hf|"
    "codellama/codellama-7b-hf|deepseek-ai/deepseek-r1-distill-llama-70b|deepseek-ai/deepseek-r1-distill-qwen-32b|huggingfaceh4/mistral-7b-sft-beta|huggingfacetb/smollm-1.7b|"
    "huggingfacetb/smollm-1.7b-instruct|huggingfacetb/smollm-135m|huggingfacetb/smollm-135m-instruct|huggingfacetb/smollm-360m|huggingfacetb/smollm-360m-instruct|meta-llama/llama-2-13b-hf|"
    "meta-llama/llama-2-7b-chat-hf|meta-llama/llama-2-7b-hf|meta-llama/meta-llama-3-70b|meta-llama/meta-llama-3-70b-instruct|meta-llama/meta-llama-3-8b|meta-llama/meta-llama-3-8b-instruct|"
    "meta-llama/meta-llama-3.1-405b|meta-llama/meta-llama-3.1-405b-instruct|meta-llama/meta-llama-3.1-70b|meta-llama/meta-llama-3.1-70b-instruct|microsoft/phi-3-medium-4k-instruct|"
    "microsoft/phi-3-mini-4k-instruct|microsoft/phi-3.5-mini-instruct|mistralai/mistral-7b-instruct-v0.1|mistralai/mistral-7b-instruct-v0.2|mistralai/mistral-7b-instruct-v0.3|mistralai/mistral-7b-v0.1|"
    "mistralai/mistral-7b-v0.3|mistralai/mistral-large-instruct-2407|mistralai/mistral-nemo-base-2407|mistralai/mistral-nemo-instruct-2407|mistralai/mistral-small-instruct-2409|"
    "nousresearch/hermes-2-pro-mistral-7b|nousresearch/hermes-3-llama-3.1-405b|nousresearch/hermes-3-llama-3.1-70b|nousresearch/hermes-3-llama-3.1-8b|nvidia/llama-3.1-nemotron-70b-instruct-hf|"
    "qwen/qwen2-0.5b|qwen/qwen2-0.5b-instruct|qwen/qwen2-1.5b|qwen/qwen2-1.5b-instruct|qwen/qwen2-70b|qwen/qwen2-70b-instruct|qwen/qwen2-7b|qwen/qwen2-7b-instruct|qwen/qwen2.5-32b|qwen/qwen2.5-32b-instruct|"
    "qwen/qwen2.5-72b|qwen/qwen2.5-72b-instruct|qwen/qwen2.5-coder-0.5b|qwen/qwen2.5-coder-0.5b-instruct|qwen/qwen2.5-coder-1.5b|qwen/qwen2.5-coder-1.5b-instruct|qwen/qwen2.5-coder-14b|"
    "qwen/qwen2.5-coder-14b-instruct|qwen/qwen2.5-coder-32b|qwen/qwen2.5-coder-32b-instruct|qwen/qwen2.5-coder-3b|qwen/qwen2.5-coder-3b-instruct|qwen/qwen2.5-coder-7b|qwen/qwen2.5-coder-7b-instruct|"
    "qwen/qwen2.5-math-1.5b|qwen/qwen2.5-math-1.5b-instruct|qwen/qwen2.5-math-72b|qwen/qwen2.5-math-72b-instruct|qwen/qwen2.5-math-7b|qwen/qwen2.5-math-7b-instruct|qwen/qwq-32b-preview|"
    "teknium/openhermes-2.5-mistral-7b|tinyllama/tinyllama-1.1b-chat-v1.0|tinyllama/tinyllama-1.1b-intermediate-step-1431k-3t|unsloth/codellama-7b|unsloth/deepseek-r1-distill-llama-70b|"
    "unsloth/deepseek-r1-distill-qwen-32b|unsloth/hermes-2-pro-mistral-7b|unsloth/hermes-3-llama-3.1-70b|unsloth/hermes-3-llama-3.1-8b|unsloth/llama-2-13b|unsloth/llama-2-7b|unsloth/llama-2-7b-chat|"
    "unsloth/llama-3-8b|unsloth/llama-3-8b-instruct|unsloth/llama-3.1-nemotron-70b-instruct|unsloth/llama-3.1-storm-8b|unsloth/llama-3.1-tulu-3-70b|unsloth/llama-3.1-tulu-3-8b|unsloth/meta-llama-3.1-70b|"
    "unsloth/meta-llama-3.1-70b-instruct|unsloth/mistral-7b|unsloth/mistral-7b-instruct-v0.1|unsloth/mistral-7b-instruct-v0.2|unsloth/mistral-7b-instruct-v0.3|unsloth/mistral-7b-v0.2|unsloth/mistral-7b-v0.3|"
    "unsloth/mistral-nemo-base-2407|unsloth/mistral-nemo-instruct-2407|unsloth/mistral-small-instruct-2409|unsloth/openhermes-2.5-mistral-7b|unsloth/phi-3-medium-4k-instruct|unsloth/phi-3-mini-4k-instruct|"
    "unsloth/phi-3.5-mini-instruct|unsloth/qwen2-0.5b|unsloth/qwen2-0.5b-instruct|unsloth/qwen2-1.5b|unsloth/qwen2-1.5b-instruct|unsloth/qwen2-7b|unsloth/qwen2-7b-instruct|unsloth/qwen2.5-32b|"
    "unsloth/qwen2.5-32b-instruct|unsloth/qwen2.5-72b|unsloth/qwen2.5-72b-instruct|unsloth/qwen2.5-coder-0.5b|unsloth/qwen2.5-coder-0.5b-instruct|unsloth/qwen2.5-coder-1.5b|"
    "unsloth/qwen2.5-coder-1.5b-instruct|unsloth/qwen2.5-coder-14b|unsloth/qwen2.5-coder-14b-instruct|unsloth/qwen2.5-coder-32b|unsloth/qwen2.5-coder-32b-instruct|unsloth/qwen2.5-coder-3b|"
    "unsloth/qwen2.5-coder-3b-instruct|unsloth/qwen2.5-coder-7b|unsloth/qwen2.5-coder-7b-instruct|unsloth/qwen2.5-math-1.5b|unsloth/qwen2.5-math-1.5b-instruct|unsloth/qwen2.5-math-72b|"
    "unsloth/qwen2.5-math-72b-instruct|unsloth/qwen2.5-math-7b|unsloth/qwen2.5-math-7b-instruct|unsloth/qwq-32b-preview|unsloth/smollm-1.7b|unsloth/smollm-1.7b-instruct|unsloth/smollm-135m|"
    "unsloth/smollm-135m-instruct|unsloth/smollm-360m|unsloth/smollm-360m-instruct|unsloth/tinyllama|unsloth/tinyllama-chat|unsloth/yi-6b|unsloth/zephyr-sft";

/// Owners of models of which some are loaded as NAME-unsloth-bnb-4bit, which keeps layers in 16 bits that its config.json alone lists.
inline constexpr std::string_view unsloth_mixes_models_of =
    "agentica-org|allenai|canopylabs|cohereforai|deepseek-ai|google|ibm-granite|liquidai|meta-llama|meta-models|microsoft|mistralai|open-thoughts|openai|qwen|redhatai|rekaai|swiss-ai|unsloth";

enum class unsloth_checkpoint : std::uint8_t { all_in_4_bits, mixed };

/// What `load_in_4bit` loads for a name that says no quantisation. Of an owner whom Unsloth does not know it quantises as it loads: every linear
/// layer but the head (models/llama.py, BitsAndBytesConfig with nf4 twice).
inline unsloth_checkpoint unsloth_checkpoint_of(std::string name) {
  for (auto& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (among_words(unsloth_all_in_4_bits, name)) return unsloth_checkpoint::all_in_4_bits;
  const auto slash = name.find('/');
  return slash == std::string::npos || !among_words(unsloth_mixes_models_of, std::string_view{name}.substr(0, slash)) ? unsloth_checkpoint::all_in_4_bits : unsloth_checkpoint::mixed;
}

}  // namespace headroom::io::detail
