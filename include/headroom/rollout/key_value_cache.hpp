// Distributed under the Boost Software License, Version 1.0.
// Keys and values that generation keeps for every position: bytes of a token, blocks of them, and how much fits.
#pragma once

#include <headroom/rollout/engine_weights.hpp>

namespace headroom {

/// Bytes that one layer keeps of a token on one of `tensor` GPUs: a key and a value for each head that is here, or DeepSeek's latent with
/// its rotary part, the same on every GPU (vllm v1/kv_cache_interface.py, FullAttentionSpec and MLAAttentionSpec, real_page_size_bytes).
constexpr bytes token_bytes_of_layer(const shape& m, mixer_kind mixer, std::int64_t tensor, const number_format& format) {
  if (mixer == mixer_kind::none) return bytes{0};
  const auto elements = mixer == mixer_kind::latent_attention ? checked::add(m.mla.kv_rank, m.mla.rope_dim)
                                                              : checked::mul(engine_kv_heads(m, tensor), checked::add(m.head_width(), m.value_head_width()));
  return bytes{checked::mul(elements, format.width())};
}

/// … of all layers.
/// Errors: job_error for a model from which this version does not generate.
constexpr bytes token_bytes(const shape& m, std::int64_t tensor, const number_format& format) {
  if (const auto why = check_generated(m, tensor, objecting{})) refuse(why);
  if (format.quantised() || format.width() < 1) refuse("headroom: rollout.kv_format must be bf16, fp16, fp32 or fp8");
  bytes sum{0};
  for (const auto& k : kinds_of(m)) sum += k.count * token_bytes_of_layer(m, k.kind.mixer, tensor, format);
  return sum;
}

/// What `room` holds. Of a model with a sliding window it is what holds for certain: as many tokens as if every layer attended to all.
struct cache_room {
  std::int64_t blocks{}, tokens{}, sequences{};  ///< sequences of the length asked for, side by side
  bytes used{};                                  ///< by those blocks
  friend constexpr bool operator==(const cache_room&, const cache_room&) = default;
};
constexpr cache_room room_for(bytes room, bytes token, std::int64_t block_tokens, std::int64_t length) {
  const auto block = token * block_tokens;
  if (block <= bytes{0} || length < 1) return {};
  const auto blocks = room > bytes{0} ? room / block : 0;
  return {blocks, checked::mul(blocks, block_tokens), blocks / checked::ceil_div(length, block_tokens), block * blocks};
}

}  // namespace headroom
