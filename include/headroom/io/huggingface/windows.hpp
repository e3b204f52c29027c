// Distributed under the Boost Software License, Version 1.0.
// How many layers of a decoder with a sliding window see all positions: `layer_types` says it, or the class's own rule does
// (transformers 5.16, models/<family>/configuration_<family>.py).
#pragma once

#include <headroom/io/huggingface/config.hpp>
#include <headroom/model/shape.hpp>

#include <algorithm>

namespace headroom::io::detail {

/// Of so many layers one sees all positions: the last, or the first.
struct window_rule {
  std::string_view type;
  std::int64_t every;
  bool first{};
  const char* key{"sliding_window_pattern"};
};
inline constexpr window_rule window_rules[] = {
    {"gemma2", 2}, {"gemma3_text", 6}, {"vaultgemma", 2}, {"gpt_oss", 2}, {"cohere2", 4}, {"olmo3", 4}, {"exaone4", 4}, {"exaone_moe", 4},
    {"afmoe", 4, false, "global_attn_every_n_layers"}, {"cwm", 4, true}, {"granite_swa", 4, true}, {"granitemoe_swa", 4, true},
    {"mellum", 1},
};

/// Families whose first layers see all positions, so many of them (max_window_layers).
inline constexpr std::string_view windowed_behind[] = {"qwen2", "qwen3"};

/// Of `layers` layers behind a window those that see all positions all the same.
inline std::int64_t full_layers_of(const config& c, std::string_view type, std::int64_t layers) {
  const auto* rule = std::find_if(std::begin(window_rules), std::end(window_rules), [&](const window_rule& r) { return r.type == type; });
  const bool behind = std::find(std::begin(windowed_behind), std::end(windowed_behind), type) != std::end(windowed_behind);
  if (rule == std::end(window_rules) && !behind) return 0;  // all of them are windowed, or kinds of layer in a pattern
  const auto* listed = c.find({"layer_types"});
  if (listed != nullptr && listed->is_array() && static_cast<std::int64_t>(listed->size()) == layers) return std::count(listed->begin(), listed->end(), json("full_attention"));
  if (behind) return std::min(layers, c.number({"max_window_layers"}, 28, 0, config::most));
  const auto* said = c.find({rule->key});
  if (said != nullptr && said->is_string()) {  // EXAONE's "LLLG", over and over
    const auto& word = said->get_ref<const std::string&>();
    std::int64_t full = 0;
    for (std::int64_t i = 0; i < layers && !word.empty(); ++i) full += word[static_cast<std::size_t>(i) % word.size()] == 'G' ? 1 : 0;
    return full;
  }
  const auto every = said != nullptr && said->is_null() ? 0 : c.number({rule->key, "_sliding_window_pattern"}, rule->every, 0, config::most);
  if (every < 1) return 0;
  return rule->first ? checked::ceil_div(layers, every) : layers / every;
}

}  // namespace headroom::io::detail
