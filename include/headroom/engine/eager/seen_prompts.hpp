// Distributed under the Boost Software License, Version 1.0.
// Prompts with images, while TRL's trained module generates: their pixels, the tower that reads them once, and what the language model is given.
// Sources: huggingface/trl f2cd57710 of 2026-07-24 trl/trainer/grpo_trainer.py _generate_single_turn (generate_inputs), _generate_and_score_completions and
// _prepare_inputs (pixel_values of all completions are buffered; since 0.20, 56f4201db of 2025-07-22), rloo_trainer.py alike (3c8d7209f of 2025-09-18); transformers trainer.py
// Trainer._prepare_input (DeepSpeed's format, else the processor's fp32).
#pragma once

#include <headroom/block/tower.hpp>
#include <headroom/engine/eager/graphless.hpp>
#include <headroom/engine/eager/prelude.hpp>
#include <headroom/settle/generation.hpp>

namespace headroom::detail {

constexpr bool sees_images(const settled_job& s) { return s.model.vision.layers > 0 && !s.source->batch.images.none; }

/// Whether pixels lie on the GPU in the model's format: DeepSpeed's Trainer casts what it prepares; ms-swift's GRPO puts them there by itself, as its
/// templates leave them, of Qwen, GLM and Llama in the processor's fp32 (swift/rlhf_trainers/utils.py collate_to_grpo_micro_batch; swift/template/templates).
constexpr bool narrow_pixels(const settled_job& s) {
  const auto k = s.model.vision.kind;
  if (s.source->objective.code != method_code::ms_swift) return s.source->sharding.by(sharder::deepspeed);
  return k == vision_kind::clip || k == vision_kind::siglip || k == vision_kind::pixtral || k == vision_kind::intern_vit || k == vision_kind::intern_vit_6b || k == vision_kind::internvl || k == vision_kind::internvl_6b;
}

/// Pixels of so many samples, as patches or tiles.
constexpr bytes pixels_of(const settled_job& s, std::int64_t samples) {
  const auto& v = s.model.vision;
  const auto each = checked::mul(checked::mul(tiles(v), patches_of_tile(v)), checked::mul(v.channels, v.temporal_patch, checked::mul(v.patch, v.patch)));
  return bytes{checked::mul(checked::mul(samples, each), narrow_pixels(s) ? s.precision.compute.width() : 4)};
}

/// Those of all completions that were generated together, until the last of them was trained on (ms-swift: grpo_trainer.py, _buffered_inputs).
constexpr bytes buffered_pixels(const settled_job& s) {
  const auto& o = s.source->objective;
  const bool groups = o.kind == objective_kind::grpo || o.kind == objective_kind::rloo, buffers = groups && (of_trl(o.code) || o.code == method_code::ms_swift);
  return buffers && sees_images(s) ? pixels_of(s, generated_at_once(*s.source)) : bytes{0};
}

/// A tower's forward without a graph.
struct seen_prompts {
  bytes tallest{};  ///< of its parts
  bytes copies{};   ///< that autocast makes of its weights, beside the layer that runs
  bytes result{};   ///< what the language model is given, of Qwen3-VL for layers too; it stays while prompts are read
};
/// `sc`: of the language model, with so many samples.
constexpr seen_prompts see_prompts(const settled_job& s, const scene& sc) {
  const auto& v = s.model.vision;
  const bool trains = sc.casts_weights && trained_modules(*s.source, -1).has(module::vision);
  const shape tower = tower_shape(v);
  const adapter side = tower_side(*sc.side);
  const scene seen = tower_scene(sc, tower, v, side, trains);
  seen_prompts r;
  const auto look = [&](const program& p) { r.tallest = max(r.tallest, walk_forward(p, recording::off).peak.total); };
  with_made([&] { return patch_embedding(seen, v, false); }, look);
  with_made([&] { return projector(seen, s.model, false, false, false); }, look);
  const auto layer = walk_layer(seen, tower.kind_of(0), all_if(trains), 0, false, true);
  r.tallest = max(r.tallest, layer.forward_off.total);
  if (trains) r.copies = (v.layers - 1) * layer.cached.rows[row::gathered_parameters];
  r.result = bytes{checked::mul(checked::mul(checked::mul(sc.samples, image_tokens(v)), s.model.hidden), checked::mul(1 + v.deep_mergers, sc.residual_width))};
  return r;
}

}  // namespace headroom::detail
