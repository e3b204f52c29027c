// Distributed under the Boost Software License, Version 1.0.
// Models that see, speak and act: PI0.
#pragma once

#include <headroom/io/counted/captions.hpp>
#include <headroom/io/counted/vision_language_towers.hpp>

namespace headroom::io::detail {

inline const json pi0_model = {{"model_type", "paligemma"},
                               {"text_config", {{"model_type", "gemma"}, {"hidden_size", 2048}, {"num_hidden_layers", 18}, {"intermediate_size", 16384}, {"num_attention_heads", 8}, {"num_key_value_heads", 1}, {"vocab_size", 257152}}},
                               {"vision_config", {{"model_type", "siglip_vision_model"}, {"intermediate_size", 4304}, {"hidden_size", 1152}, {"patch_size", 14}, {"image_size", 224}, {"num_hidden_layers", 27}, {"num_attention_heads", 16}, {"vision_use_head", false}}},
                               {"projection_dim", 2048}};
/// transformers, modeling_pi0.py: PaliGemma beside a second, narrower Gemma. Returns the second's width.
inline std::int64_t count_pi0(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"chunk_size", "max_state_dim", "max_action_dim", "num_inference_steps", "time_sampling_beta_alpha", "time_sampling_beta_beta", "time_sampling_scale", "time_sampling_offset", "min_period", "max_period", "loss_reduction"});
  const auto model = child_or(c, "vlm_config", pi0_model);
  const auto walked = walked_inner(model, model.text({"model_type"}, "paligemma"));
  if (!walked) complain(model.at("model_type") + " must be a family that is walked, found " + shown(model.find({"model_type"})));
  t.model(count_inner(model, "paligemma"));
  const json usual = {{"model_type", "gemma"}, {"hidden_size", 1024}, {"num_hidden_layers", 18}, {"intermediate_size", 4096}, {"num_attention_heads", 8}, {"num_key_value_heads", 1}, {"head_dim", 256}, {"vocab_size", walked->vocab}};
  const auto said = child_or(c, "dit_config", usual);
  said.ignore({"is_causal", "use_bidirectional_attention"});  // what sees what: no weights
  auto actor = said.object();
  actor.erase("is_causal"), actor.erase("use_bidirectional_attention");
  return count_language(config{actor, said.path(), c.asked()}, t, "gemma").hidden;
}
inline void count_pi0_actions(const config& c, tally& t) {
  const auto hidden = count_pi0(c, t), actions = c.size({"max_action_dim"}, 32);
  t.linear(component::head, actions, hidden, true);
  t.linear(component::head, c.size({"max_state_dim"}, 32), hidden, true);
  t.linear(component::head, checked::mul(2, hidden), hidden, true);
  t.linear(component::head, hidden, hidden, true);
  t.linear(component::head, hidden, actions, true);
}

inline constexpr counted_class counted_actors[] = {
    {"PI0Model", "pi0", [](const config& c, tally& t) { count_pi0(c, t); }},
    {"PI0ForConditionalGeneration", "pi0", count_pi0_actions},
};

}  // namespace headroom::io::detail
