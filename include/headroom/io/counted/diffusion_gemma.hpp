// Distributed under the Boost Software License, Version 1.0.
// DiffusionGemma of transformers 5.17, modeling_diffusion_gemma.py: Gemma 4's text with experts, once as an encoder and once as a decoder of the same
// weights; the decoder takes what it wrote before through an MLP of its own.
#pragma once

#include <headroom/io/counted/gemma.hpp>

namespace headroom::io::detail {

inline language_model count_diffusion_gemma(const config& c, tally& t) {
  c.ignore({"canvas_length"});
  const auto text = c.child("text_config");
  if (text.flag("attention_bias", false)) complain(text.at("attention_bias") + " must be false for diffusion_gemma, whose halves do not share biases, found true");
  auto keys = text.object();
  keys.update({{"enable_moe_block", true}, {"attention_k_eq_v", true}, {"hidden_size_per_layer_input", 0}, {"num_kv_shared_layers", 0}, {"use_double_wide_mlp", false}});
  const config as_gemma{keys, text.path(), text.asked()};
  ignore_labels(text);
  const bool tied = c.flag("tie_word_embeddings", true);
  auto l = count_gemma4_text(as_gemma, t);
  if (!tied) l = count_gemma4_text(as_gemma, t);
  count_gated_mlp(t, component::mlp, l.hidden, text.size({"intermediate_size"}, 9216), false, 1);
  t.rms_norm(l.hidden);
  if (!c.has("vision_config")) complain(c.at("vision_config") + " is missing, without which the class cannot be built");
  const auto sight = c.child("vision_config");
  if (const auto type = sight.text({"model_type"}, "gemma4_vision"); type != "gemma4_vision") complain(sight.at("model_type") + " must be gemma4_vision, found " + quoted_word(type));
  count_gemma4_vision(sight, t);
  t.linear(component::projector, sight.size({"output_proj_dims"}, sight.size({"hidden_size"}, 768)), l.hidden, false);
  l.tied = tied;
  return l;
}

inline constexpr counted_class counted_diffusion_gemmas[] = {
    {"DiffusionGemmaModel", "diffusion_gemma", count_base<count_diffusion_gemma>},
    {"DiffusionGemmaForBlockDiffusion", "diffusion_gemma", count_causal<count_diffusion_gemma>},
};

}  // namespace headroom::io::detail
