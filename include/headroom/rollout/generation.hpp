// Distributed under the Boost Software License, Version 1.0.
// Generation by the trained module itself, in the trainer's process: transformers' generate() with a cache that grows by concatenation.
#pragma once

#include <headroom/rollout/key_value_cache.hpp>

namespace headroom {

/// What generating `sequences` of `prompt` + `completion` positions side by side keeps, weights apart, when they are longest.
struct generated {
  bytes cache{};    ///< keys and values of all layers
  bytes growing{};  ///< the layer at hand: its keys, or its values, in the old tensor and in the new one, or what its attention reads of them, copied
  bytes logits{};   ///< of the last position, in the model's format and in fp32
  bytes states{};   ///< of layers that recur, which do not grow
  [[nodiscard]] constexpr bytes total() const { return cache + states + growing + logits; }
  bool operator==(const generated&) const = default;
};

/// What a layer of Gated DeltaNet keeps of a sequence: the last positions of its convolution's input, of queries, keys and values, and its state in
/// fp32 (transformers models/qwen3_next/modeling_qwen3_next.py Qwen3NextGatedDeltaNet.forward; fla ops/gated_delta_rule/chunk.py, final_state).
constexpr bytes state_bytes_of_layer(const shape& m, const number_format& format) {
  const auto& s = m.ssm;
  const auto features = checked::add(checked::mul(2, checked::mul(s.groups, s.state)), checked::mul(s.heads, s.head_dim));
  return bytes{checked::add(checked::mul(features, s.conv, format.width()), checked::mul(s.heads, s.head_dim, s.state, 4))};
}

/// Bytes of a number that the module keeps while it generates.
struct generated_widths {
  std::int64_t key{}, value{}, score{};  ///< in the cache; in the logits of a last position, with their copies
  std::int64_t copies{};                 ///< of its keys, and of its values, that a layer makes for its own attention: one for each group of query heads (repeat_kv)
  std::int64_t narrowed{};               ///< … of the keys once more in this width, where autocast multiplies narrower ones
  bool operator==(const generated_widths&) const = default;
};
/// … where everything is in one format, and attention takes keys and values as they are. Logits are copied into fp32, and softmax makes as much of that
/// (generation/utils.py _sample).
constexpr generated_widths generated_in(const number_format& format) { return {format.width(), format.width(), format.width() + 4 + 4}; }

/// Numbers in the keys, and in the values, of one position of a layer. Latent attention's are kept as heads read them (models/deepseek_v3/
/// modeling_deepseek_v3.py DeepseekV3Attention.forward: past_key_values.update(key_states, value_states), behind kv_b_proj).
struct cached_heads {
  std::int64_t keys{}, values{};
};
constexpr cached_heads heads_in_cache(const shape& m, mixer_kind mixer) {
  if (mixer == mixer_kind::none) return {};
  if (mixer == mixer_kind::latent_attention) return {checked::mul(m.heads, checked::add(m.mla.nope_dim, m.mla.rope_dim)), checked::mul(m.heads, m.mla.value_dim)};
  return {m.kv_width(), m.value_width()};
}

/// Keys and values of one position, of the layers that attend. Bytes.
constexpr bytes module_token_bytes(const shape& m, const generated_widths& w) {
  bytes sum{0};
  for (const auto& k : kinds_of(m)) {
    if (k.kind.mixer == mixer_kind::gated_delta_net) continue;
    const auto n = heads_in_cache(m, k.kind.mixer);
    sum += k.count * bytes{checked::add(checked::mul(n.keys, w.key), checked::mul(n.values, w.value))};
  }
  return sum;
}

/// Sources: transformers cache_utils.py DynamicLayer.update (torch.cat of the old keys and the new, then of the values); integrations/sdpa_attention.py
/// sdpa_attention_forward (repeat_kv);
/// generation/utils.py _sample (`outputs.logits[:, -1, :].to(copy=True, dtype=torch.float32)`), softmax of them, in fp32 as they are.
/// `format`: of what recurs.
/// Errors: job_error for a sliding window shorter than the sequence, whose layers forget what releases before 4.56 keep.
constexpr generated generated_by_module(const shape& m, std::int64_t sequences, std::int64_t prompt, std::int64_t completion, const number_format& format, const generated_widths& w) {
  if (const auto why = check_generated(m, 1, objecting{})) refuse(why);
  const auto length = checked::add(prompt, completion);
  if (m.sliding_window > 0 && m.sliding_window < length)
    refuse("headroom: rollout.engine \"trainer\": whether the cache keeps more than a layer's sliding window depends on the release of transformers, and is not modelled; the window", m.sliding_window);
  const auto positions = checked::mul(sequences, length);
  generated r;
  r.cache = module_token_bytes(m, w) * positions;
  for (const auto& k : kinds_of(m)) {
    if (k.kind.mixer == mixer_kind::gated_delta_net) {
      const auto state = sequences * state_bytes_of_layer(m, format);
      r.states += k.count * state;
      r.growing = max(r.growing, state);  // each step makes a new one
      continue;
    }
    const auto n = heads_in_cache(m, k.kind.mixer);
    const auto keys = positions * bytes{checked::mul(n.keys, w.key)}, values = positions * bytes{checked::mul(n.values, w.value)};
    const auto heads = w.copies > 0 ? w.copies : 1;
    r.growing = max(r.growing, max(max(keys, values), w.copies * (keys + values) + heads * positions * bytes{checked::mul(n.keys, w.narrowed)}));
  }
  r.logits = bytes{checked::mul(sequences, m.vocab, w.score)};
  return r;
}
constexpr generated generated_by_module(const shape& m, std::int64_t sequences, std::int64_t prompt, std::int64_t completion, const number_format& format) {
  return generated_by_module(m, sequences, prompt, completion, format, generated_in(format));
}

}  // namespace headroom
