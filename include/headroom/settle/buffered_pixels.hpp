// Distributed under the Boost Software License, Version 1.0.
// Pixels of completions that were generated together, which a trainer keeps on the GPU until it has trained on them.
// Sources: huggingface/trl f2cd57710 of 2026-07-24 trl/trainer/grpo_trainer.py _prepare_inputs (since 0.20, 56f4201db of 2025-07-22); modelscope/ms-swift
// 3602360a of 2026-08-22 swift/rlhf_trainers/grpo_trainer.py and swift/megatron/trainers/grpo_trainer.py (collate_to_grpo_micro_batch).
#pragma once

#include <headroom/model/images.hpp>
#include <headroom/settle/objective.hpp>
#include <headroom/settle/settled_job.hpp>

namespace headroom::detail {

constexpr bool sees_images(const settled_job& s) { return s.model.vision.layers > 0 && !s.source->batch.images.none; }

/// Whether pixels lie on the GPU in the model's format: DeepSpeed's Trainer casts what it prepares; ms-swift's GRPO puts them there by itself, as its
/// templates leave them, of Qwen, GLM and Llama in the processor's fp32 (swift/rlhf_trainers/utils.py collate_to_grpo_micro_batch; swift/template/templates).
constexpr bool narrow_pixels(const settled_job& s) {
  const auto k = s.model.vision.kind;
  if (s.source->objective.code != method_code::ms_swift && s.source->objective.code != method_code::ms_swift_megatron) return s.source->sharding.by(sharder::deepspeed);
  return k == vision_kind::clip || k == vision_kind::siglip || k == vision_kind::pixtral || k == vision_kind::intern_vit || k == vision_kind::intern_vit_6b || k == vision_kind::internvl || k == vision_kind::internvl_6b;
}

/// Pixels of so many samples, as patches or tiles.
constexpr bytes pixels_of(const settled_job& s, std::int64_t samples) {
  const auto& v = s.model.vision;
  const auto each = checked::mul(tiles(v), patches_of_tile(v), checked::mul(v.channels, v.temporal_patch, checked::mul(v.patch, v.patch)));
  return bytes{checked::mul(samples, each, narrow_pixels(s) ? s.precision.compute.width() : 4)};
}

/// Those of all completions that were generated together, until the last of them was trained on (ms-swift: grpo_trainer.py, _buffered_inputs; over
/// Megatron-Core swift/megatron/trainers/rollout_mixin.py, _replace_data_iterator, on every stage).
constexpr bytes buffered_pixels(const settled_job& s) {
  const auto& o = s.source->objective;
  const bool groups = o.kind == objective_kind::grpo || o.kind == objective_kind::rloo, buffers = groups && (of_trl(o.code) || o.code == method_code::ms_swift || o.code == method_code::ms_swift_megatron);
  return buffers && sees_images(s) ? pixels_of(s, generated_at_once(*s.source)) : bytes{0};
}

}  // namespace headroom::detail
