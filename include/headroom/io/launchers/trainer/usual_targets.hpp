// Distributed under the Boost Software License, Version 1.0.
// Which layers PEFT gives adapters where nobody names any.
#pragma once

#include <string_view>

namespace headroom::io::detail {

/// The layers that PEFT itself chooses where none are named, by the model's type (peft/utils/constants.py,
/// TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING, 2023-03 to 2026-08): types whose choice never changed.
struct usual_target {
  std::string_view models;  ///< how the names of the zoo's models begin
  std::string_view targets;
};
inline constexpr usual_target usual_target_table[] = {
    {"llama-4-|qwen3-vl-|qwen3-next-|qwen1.5-moe-|qwen2-57b|qwen2-vl-|qwen2.5-vl-|qwen3-30b|qwen3-235b|qwen3-coder-|gemma-3-4b|gemma-3-12b|gemma-3-27b", ""},  // of other types
    {"llama-|open-llama-|codellama-|tinyllama-|smollm2-|yi-|deepseek-llm-|solar-|falcon3-|deepseek-r1-distill-llama-|mistral-|mixtral-|codestral-|ministral-", "q_proj|v_proj"},
    {"qwen1.5-|qwen2-|qwen2.5-|deepseek-r1-distill-qwen-|qwen3-|gemma-|stablelm-|opt-|gpt-neo-|gpt-j-", "q_proj|v_proj"},
    {"gpt2|distilgpt2", "c_attn"},
    {"bloom-|falcon-|gpt-neox-|pythia-", "query_key_value"},
    {"mpt-", "Wqkv"},
};
constexpr std::string_view usual_targets(std::string_view model) {
  for (const auto& row : usual_target_table)
    for (auto rest = row.models; !rest.empty();) {
      const auto bar = rest.find('|');
      if (model.starts_with(rest.substr(0, bar))) return row.targets;
      if (bar == std::string_view::npos) break;
      rest.remove_prefix(bar + 1);
    }
  return {};
}

}  // namespace headroom::io::detail
