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
  bytes states{};   ///< of layers that recur, which do not grow
  [[nodiscard]] constexpr bytes total() const { return cache + states + growing + logits; }
  friend constexpr bool operator==(const generated&, const generated&) = default;
};

/// What a layer of Gated DeltaNet keeps of a sequence: the last positions of its convolution's input, of queries, keys and values, and its state in
/// fp32 (transformers models/qwen3_next/modeling_qwen3_next.py Qwen3NextGatedDeltaNet.forward; fla ops/gated_delta_rule/chunk.py, final_state).
constexpr bytes state_bytes_of_layer(const shape& m, const number_format& format) {
  const auto& s = m.ssm;
  const auto features = checked::add(checked::mul(2, checked::mul(s.groups, s.state)), checked::mul(s.heads, s.head_dim));
  return bytes{checked::add(checked::mul(checked::mul(features, s.conv), format.width()), checked::mul(checked::mul(checked::mul(s.heads, s.head_dim), s.state), 4))};
}

/// Keys and values of one position, of the layers that attend. Bytes.
constexpr bytes module_token_bytes(const shape& m, const number_format& format) {
  bytes sum{0};
  for (const auto& k : kinds_of(m))
    if (k.kind.mixer != mixer_kind::gated_delta_net) sum += k.count * token_bytes_of_layer(m, k.kind.mixer, 1, format);
  return sum;
}

/// Sources: transformers cache_utils.py DynamicLayer.update (torch.cat of the old keys and the new, then of the values);
/// generation/utils.py _sample (`outputs.logits[:, -1, :].to(copy=True, dtype=torch.float32)`), softmax of them, in fp32 as they are.
/// Errors: job_error for a sliding window shorter than the sequence, whose layers forget what releases before 4.56 keep.
constexpr generated generated_by_module(const shape& m, std::int64_t sequences, std::int64_t prompt, std::int64_t completion, const number_format& format) {
  if (const auto why = check_generated_by_module(m, objecting{})) refuse(why);
  const auto length = checked::add(prompt, completion);
  if (m.sliding_window > 0 && m.sliding_window < length)
    refuse("headroom: rollout.engine \"trainer\": whether the cache keeps more than a layer's sliding window depends on the release of transformers, and is not modelled; the window", m.sliding_window);
  const auto positions = checked::mul(sequences, length);
  generated r;
  r.cache = module_token_bytes(m, format) * positions;
  bytes widest{0};
  for (const auto& k : kinds_of(m)) {
    if (k.kind.mixer != mixer_kind::gated_delta_net) {
      widest = max(widest, token_bytes_of_layer(m, k.kind.mixer, 1, format));
      continue;
    }
    const auto state = sequences * state_bytes_of_layer(m, format);
    r.states += k.count * state;
    r.growing = max(r.growing, state);  // each step makes a new one
  }
  r.growing = max(r.growing, widest * positions / 2);
  const auto scores = checked::mul(sequences, m.vocab);
  r.logits = bytes{checked::mul(scores, format.width() + 4 + 4)};
  return r;
}

}  // namespace headroom
