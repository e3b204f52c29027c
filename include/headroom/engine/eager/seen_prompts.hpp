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

/// Pixels of so many samples, as patches or tiles.
constexpr bytes pixels_of(const settled_job& s, std::int64_t samples) {
  const auto& v = s.model.vision;
  const auto each = checked::mul(checked::mul(tiles(v), patches_of_tile(v)), checked::mul(v.channels, v.temporal_patch, checked::mul(v.patch, v.patch)));
  return bytes{checked::mul(checked::mul(samples, each), s.source->sharding.by(sharder::deepspeed) ? s.precision.compute.width() : 4)};
}

/// Those of all completions that were generated together, until the last of them was trained on.
constexpr bytes buffered_pixels(const settled_job& s) {
  const auto& o = s.source->objective;
  const bool buffers = of_trl(o.code) && (o.kind == objective_kind::grpo || o.kind == objective_kind::rloo);
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
