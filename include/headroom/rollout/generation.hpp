// Distributed under the Boost Software License, Version 1.0.
// Generation by the trained module itself, in the trainer's process: transformers' generate() with a cache that grows by concatenation.
#pragma once

#include <headroom/rollout/key_value_cache.hpp>

namespace headroom {

/// What generating `sequences` of `prompt` + `completion` positions side by side keeps, weights apart, when they are longest.
struct generated {
  bytes cache{};    ///< keys and values of all layers
  bytes growing{};  ///< the layer at hand: its keys, or its values, in the old tensor and in the new one
  bytes logits{};   ///< of the last position, in the model's format and in fp32
  [[nodiscard]] constexpr bytes total() const { return cache + growing + logits; }
  friend constexpr bool operator==(const generated&, const generated&) = default;
};

/// Sources: transformers cache_utils.py DynamicLayer.update (torch.cat of the old keys and the new, then of the values);
/// generation/utils.py _sample (`outputs.logits[:, -1, :].to(copy=True, dtype=torch.float32)`), softmax of them, in fp32 as they are.
/// Errors: job_error for a sliding window shorter than the sequence, whose layers forget what releases before 4.56 keep.
constexpr generated generated_by_module(const shape& m, std::int64_t sequences, std::int64_t prompt, std::int64_t completion, const number_format& format) {
  if (const auto why = check_generated(m, 1, objecting{})) refuse(why);
  const auto length = checked::add(prompt, completion);
  if (m.sliding_window > 0 && m.sliding_window < length)
    refuse("headroom: rollout.engine \"trainer\": whether the cache keeps more than a layer's sliding window depends on the release of transformers, and is not modelled; the window", m.sliding_window);
  const auto positions = checked::mul(sequences, length);
  generated r;
  r.cache = token_bytes(m, 1, format) * positions;
  bytes widest{0};
  for (const auto& k : kinds_of(m)) widest = max(widest, token_bytes_of_layer(m, k.kind.mixer, 1, format));
  r.growing = widest * positions / 2;
  const auto scores = checked::mul(sequences, m.vocab);
  r.logits = bytes{checked::mul(scores, format.width() + 4 + 4)};
  return r;
}

}  // namespace headroom
