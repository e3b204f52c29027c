// Distributed under the Boost Software License, Version 1.0.
// Classes whose layers are walked, at sizes that the walk does not take: their own defaults among them.
#pragma once

#include <headroom/io/counted/sight_last.hpp>
#include <headroom/io/counted/vision_language_families.hpp>

namespace headroom::io::detail {

/// transformers, modeling_glm4_moe.py: GLM-4.5V's text; its default head is hidden / heads, rounded down, which the walk does not do.
inline language count_glm4_moe(const config& c, tally& t) {
  auto inner = c.object();
  for (const auto& [key, usual] : std::initializer_list<std::pair<const char*, json>>{{"vocab_size", 151552}, {"attention_bias", false}})
    if (!inner.contains(key)) inner[key] = usual;
  const config read{inner, c.path(), c.asked()};
  const auto l = count_glm4v_moe_text(read, t);
  const auto each = l.hidden / read.count({"num_attention_heads"}, 96);
  if (c.flag("use_qk_norm", false)) t.rms_norm(c.nullable({"head_dim"}, each, each), checked::mul(2, c.number({"num_hidden_layers"}, 46, 0, config::most)));
  c.ignore({"norm_topk_prob", "routed_scaling_factor", "num_nextn_predict_layers", "num_mtp_layers"});
  return l;
}

/// Llama4ForConditionalGeneration where the tower's sizes are such as its forward cannot join.
inline void count_llama4(const config& c, tally& t) {
  pass_over_vision(c);
  std::int64_t sight = 0;
  t.within(component::vision, [&] { sight = count_llama4_sight(c.child("vision_config"), t); });
  const auto text = c.child("text_config");
  const auto l = count_language(text, t, "llama4_text", {5120, 202048, false});
  t.linear(component::projector, sight, l.hidden, false);
  if (!l.tied) t.linear(component::head, l.hidden, l.vocab, false);
}

inline constexpr counted_class counted_unusual_sizes[] = {
    {"Glm4MoeModel", "glm4_moe", count_bare<count_glm4_moe>},
    {"Glm4MoeForCausalLM", "glm4_moe", count_speaking<count_glm4_moe, false>},
    {"Llama4ForConditionalGeneration", "llama4", count_llama4},
};

}  // namespace headroom::io::detail
