// Distributed under the Boost Software License, Version 1.0.
// Prompts with images, while TRL's trained module generates: their pixels, the tower that reads them once, and what the language model is given.
// Sources: huggingface/trl f2cd57710 of 2026-07-24 trl/trainer/grpo_trainer.py _generate_single_turn (generate_inputs), _generate_and_score_completions and
// _prepare_inputs (pixel_values of all completions are buffered; since 0.20, 56f4201db of 2025-07-22), rloo_trainer.py alike (3c8d7209f of 2025-09-18); transformers trainer.py
// Trainer._prepare_input (DeepSpeed's format, else the processor's fp32).
#pragma once

#include <headroom/block/tower.hpp>
#include <headroom/engine/eager/graphless.hpp>
#include <headroom/engine/eager/prelude.hpp>
#include <headroom/settle/buffered_pixels.hpp>
#include <headroom/settle/generation.hpp>

namespace headroom::detail {

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
  r.result = bytes{checked::mul(sc.samples, image_tokens(v), s.model.hidden, checked::mul(1 + v.deep_mergers, sc.residual_width))};
  return r;
}

}  // namespace headroom::detail
