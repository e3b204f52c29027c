// Distributed under the Boost Software License, Version 1.0.
// A vision tower before Megatron's first stage, as ms-swift has it: transformers' module, whole on every rank, frozen, without a graph.
// Source: modelscope/mcore-bridge f020e47 (2026-05-04) src/mcore_bridge/model/mm_gpt_model.py MultimodalGPTModel, mm_gpts/utils.py HuggingFaceVit,
// mm_gpts/qwen3_vl.py Qwen3VLTransformerBlock.
#pragma once

#include <headroom/engine/eager/prelude.hpp>

namespace headroom::detail {

/// The tallest moment of its forward. Not inlined: few jobs have one.
[[gnu::noinline]] constexpr moment frozen_tower(const settled_job& s) {
  settled_job whole = s;
  auto& sc = whole.layer;
  sc.tensor = sc.sequence_split = sc.context = sc.expert = 1;
  sc.tokens = checked::mul(sc.samples, sc.sequence);
  sc.fp8 = false;
  if (sc.width < 2) sc.width = 2;
  return walk_tower(whole, windows{}, bytes{0}).forward;
}

/// Features of deeper layers of the tower, which the first layers of the stack add: checkpoints keep them until backward.
constexpr bytes deep_features(const settled_job& s) {
  const auto& v = s.model.vision;
  if (v.layers == 0 || v.deep_mergers == 0) return bytes{0};
  const auto tokens = checked::mul(s.layer.samples, image_tokens(v));
  return v.deep_mergers * bytes{checked::mul(tokens, s.model.hidden, s.layer.width)};
}

}  // namespace headroom::detail
