// Distributed under the Boost Software License, Version 1.0.
// Keys and values that generation keeps for every position, and states of layers that recur: bytes of a token, blocks, and how much fits.
#pragma once

#include <headroom/rollout/engine_weights.hpp>
#include <headroom/rollout/rollout.hpp>

namespace headroom {

/// Bytes that one layer keeps of a token on one of `tensor` GPUs: a key and a value for each head that is here, or DeepSeek's latent with
/// its rotary part, the same on every GPU (vllm v1/kv_cache_interface.py, FullAttentionSpec and MLAAttentionSpec, real_page_size_bytes).
constexpr bytes token_bytes_of_layer(const shape& m, mixer_kind mixer, std::int64_t tensor, const number_format& format) {
  if (mixer == mixer_kind::none || mixer == mixer_kind::gated_delta_net) return bytes{0};
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
  bool operator==(const cache_room&) const = default;
};

/// How an engine sets its room aside.
struct cache_pages {
  bytes block{};          ///< of the layers that share a block's number
  std::int64_t tokens{};  ///< positions of a block
  std::int64_t states{};  ///< blocks that hold a sequence's states, however long it is
  bool operator==(const cache_pages&) const = default;
};

/// What vLLM keeps of a sequence in one layer of Gated DeltaNet, on one of `tensor` GPUs: the last positions but one of its convolution's input, and the
/// state, which is in fp32 where the configuration says so, as Qwen3.5's does, and else in the model's format (model_executor/layers/mamba/mamba_utils.py
/// gated_delta_net_state_shape; models/config.py Qwen3_5ForConditionalGenerationConfig, whose class sees, as Qwen3-Next's does not).
constexpr bytes engine_state_bytes(const shape& m, std::int64_t tensor, const number_format& format) {
  const auto& s = m.ssm;
  const auto values = checked::mul(s.heads, s.head_dim), features = checked::add(checked::mul(2, checked::mul(s.groups, s.state)), values);
  return bytes{checked::add(checked::mul(features, s.conv - 1, format.width()), checked::mul(values, s.state, m.vision.layers > 0 ? 4 : format.width())) / tensor};
}

/// Where layers recur, vLLM gives a block of attention so many positions, a multiple of 16, that it is no smaller than a state (models/config.py
/// HybridAttentionMambaModelConfig), and both kinds draw on the same blocks: one serves as many layers as the rarer kind has, or as the other where that
/// has less than one and a half times as many, and a sequence holds two blocks of states for each such group of layers, as under cached prefixes
/// (v1/core/kv_cache_utils.py _get_kv_cache_groups_uniform_page_size; v1/kv_cache_interface.py MambaSpec.max_memory_usage_bytes).
/// Errors: job_error for a model from which this version does not generate.
constexpr cache_pages pages_of(const shape& m, const rollout& r) {
  const auto block = properties_of(r.engine).block_tokens;
  const auto token = token_bytes(m, r.tensor, r.cache_format());
  if (!m.recurs()) return {token * block, block, 0};
  std::int64_t attends = 0, recurs = 0;
  for (const auto& k : kinds_of(m)) (k.kind.mixer == mixer_kind::attention ? attends : recurs) += k.count;
  const auto most = attends > recurs ? attends : recurs, least = attends + recurs - most;
  const auto group = least < 1 || 2 * most < 3 * least ? most : least, groups = attends > group ? checked::ceil_div(attends, group) : 1;
  const auto one = token_bytes_of_layer(m, mixer_kind::attention, r.tensor, r.cache_format());
  const auto positions = checked::round_up(checked::ceil_div(engine_state_bytes(m, r.tensor, r.weight_format()).count(), one.count()), block);
  return {one * positions * group * groups, positions, checked::ceil_div(2 * checked::ceil_div(recurs, group), groups)};
}

/// What `room` bytes hold of such blocks, and how many sequences of `length` positions side by side; nothing where not one block fits.
constexpr cache_room room_for(bytes room, const cache_pages& p, std::int64_t length) {
  if (p.block <= bytes{0} || length < 1) return {};
  const auto blocks = room > bytes{0} ? room / p.block : 0;
  return {blocks, checked::mul(blocks, p.tokens), blocks / checked::add(checked::ceil_div(length, p.tokens), p.states), p.block * blocks};
}

}  // namespace headroom
