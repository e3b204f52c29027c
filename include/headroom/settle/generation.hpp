// Distributed under the Boost Software License, Version 1.0.
// In which formats the trained module generates: transformers' generate() in the trainer's process.
#pragma once

#include <headroom/block/given_heads.hpp>
#include <headroom/rollout/generation.hpp>
#include <headroom/settle/settle.hpp>

namespace headroom::detail {

/// Whether the trained module generates under accelerate's autocast. What accelerate prepared keeps its wrapped forward (huggingface/accelerate 332326c8 of
/// 2023-01-30, utils/other.py extract_model_from_parallel: keep_fp32_wrapper; TRL models/utils.py unwrap_model_for_generation). But PEFT's generate() calls the
/// model below that (peft_model.py PeftModelForCausalLM.generate: base_model.generate), and PPO's policy is a part of what was prepared (TRL
/// ppo_trainer.py PolicyAndValueWrapper; up to 0.11 models/modeling_value_head.py). Beside DeepSpeed there is no such wrapper (accelerator.py: native_amp).
constexpr bool generates_in_autocast(const settled_job& s) {
  return s.precision.autocasts() && !s.source->adapter.active() && s.source->objective.kind != objective_kind::ppo;
}

/// Widths of keys, values and logits. Under autocast over wider weights keys are turned by cosines in the stream's format (transformers since 4.46: the model
/// makes them of its hidden states, LlamaRotaryEmbedding.forward) or normalised in it, values come out of a product; accelerate makes logits fp32.
constexpr generated_widths widths_of_generation(const settled_job& s) {
  const auto& m = s.model;
  auto w = generated_in(s.precision.parameters);
  if (generates_in_autocast(s)) {
    const auto& sc = s.layer;
    const bool returns = m.rotary == rotary_kind::fp32_halves || m.rotary == rotary_kind::fp32_pairs;  // to the keys' own format
    const bool turned = m.position == position_kind::rope && !returns && s.source->framework.date >= 202410;
    const bool normed = (m.qk_norm || m.qk_norm_full) && !m.fp32_norm;
    w = generated_in(s.precision.compute);
    if (turned || normed) w.key = sc.residual_width;
    w.score = 4 + 4 + 4;
  }
  scene sc = s.layer;
  sc.model = &m;
  const bool expands = ops::writes_scores(sc) || ops::repeats_heads(sc, ops::masks_all(sc, m));
  if (expands && !m.latent() && m.heads > m.kv()) w.copies = m.heads / m.kv();
  if (generates_in_autocast(s) && w.key > s.precision.compute.width()) w.narrowed = s.precision.compute.width();
  return w;
}

}  // namespace headroom::detail
