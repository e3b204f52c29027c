// Distributed under the Boost Software License, Version 1.0.
// What of a vision tower is computed again, and whether gradients go back through one that does not train.
#pragma once

#include <headroom/job.hpp>

namespace headroom {

/// Whether a tower's layers are computed again in backward.
constexpr bool recomputes_tower(const job& j) { return chosen(j.recompute.towers, j.recompute.mode == recompute_mode::full); }

/// Whether a tower's class says which module reads its patches, get_input_embeddings() of transformers 5.17 and of checkpoints' own code: those of
/// Qwen3-VL, Gemma 4 and GLM-4V have neither that nor a module of the name that it falls back on (embed_tokens).
constexpr bool names_patches(vision_kind k) { return k != vision_kind::none && k != vision_kind::megatron_clip && k != vision_kind::qwen3_vl && k != vision_kind::gemma4 && !is_glm(k); }

/// Whether what a tower makes of its patches is asked for a gradient: by transformers 5 wherever layers are recomputed, of all models within a model whose classes
/// name that module (modeling_utils.py gradient_checkpointing_enable, enable_input_require_grads).
constexpr bool asks_tower(const job& j) {
  return chosen(j.recompute.frozen_towers, j.framework.checkpointing.asks_towers && j.recompute.mode == recompute_mode::full && names_patches(j.model.vision.kind));
}

}  // namespace headroom
