// Distributed under the Boost Software License, Version 1.0.
// Shapes that contradict themselves are refused here, once, before anything is counted.
#pragma once

#include <headroom/model/shape.hpp>

namespace headroom {

namespace detail {

/// Sizes and counts of a job: from `least` to 2^40.
constexpr bool within(std::int64_t value, std::int64_t least) { return least <= value && value <= (std::int64_t{1} << 40); }

template <class No>
constexpr objection check_numbers(const shape& m, const No& no) {
  const auto& e = m.experts;
  const auto& v = m.vision;
  // One test for all sizes: their union has the sign bit where one of them has it.
  const std::int64_t any = m.layers | m.hidden | m.heads | m.kv_heads | m.head_dim | m.ffn | m.max_positions | m.vocab |
                           m.mtp_layers | m.classes | m.embedding_dim | m.position_offset | m.token_types |
                           m.relative_buckets | e.count | e.active | e.ffn | e.shared_ffn | e.first_dense_layers | e.every |
                           m.mla.q_rank | m.mla.kv_rank | m.mla.nope_dim | m.mla.rope_dim | m.mla.value_dim |
                           m.encoder.layers | m.encoder.heads | m.encoder.ffn | m.encoder.max_positions |
                           m.encoder.audio_channels | v.layers | v.hidden | v.heads | v.ffn | v.patch | v.temporal_patch |
                           m.ssm.heads | m.ssm.head_dim | m.ssm.state | m.ssm.groups | m.ssm.conv | m.ssm.chunk | v.channels | v.positions | v.merge | v.output | v.projector_hidden | v.deep_mergers | v.resampler;
  if (any < 0) return no("headroom: model: every size of a shape must be zero or more; one is negative", m.label);
  return {};
}

template <class No>
constexpr objection check_pattern(const shape& m, const No& no) {
  if (m.parallel_block || m.norm_after || m.post_norms || m.encoder.layers > 0 || m.mtp_layers > 0)
    return no("headroom: model.pattern does not go with parallel_block, norm_after, post_norms, an encoder or multi-token prediction");
  const auto& s = m.ssm;
  for (std::int64_t i = 0; i < m.pattern.period; ++i) {
    const auto k = m.pattern.at(i);
    if (k.sparse() && !m.sparse()) return no("headroom: model.pattern names layers with experts, and model.experts.count is", m.experts.count);
    if (k.mixer == mixer_kind::none && (k.feeds == feed_forward_kind::none || k.feeds == feed_forward_kind::unset))
      return no("headroom: model.pattern: a layer without a mixer must be dense or have experts; layer", i);
    if (!recurrent(k.mixer)) continue;
    if (s.heads < 1 || s.head_dim < 1 || s.state < 1 || s.conv < 1) return no("headroom: model.ssm must have heads, head_dim, state and conv, of at least 1");
    if (s.groups < 1 || s.heads % s.groups != 0) return no("headroom: model.ssm.heads must be a multiple of model.ssm.groups; groups", s.groups);
  }
  return {};
}

/// What only calls that are given the layer can answer.
template <class No>
constexpr objection object_to_own(const shape& m, mixer_kind kind, const No& no) {
  return no("headroom: model.pattern names a layer of one's own, which this call is not given: write estimate(job, own_layers{layer}), and replay(), cost(), decide(), solve() and plan() alike; label", m.pattern.label_of(kind));
}

}  // namespace detail

/// Refuses a shape that no network has. Sizes so large that a count overflows are caught where they are multiplied.
template <class No = refusing>
constexpr objection check(const shape& m, const No& no = {}) {
  if (const auto why = detail::check_numbers(m, no)) return why;
  if (m.hidden < 1) return no("headroom: model.hidden must be at least 1", m.hidden);
  if (m.heads < 1) return no("headroom: model.heads must be at least 1", m.heads);
  if (m.heads % m.kv() != 0) return no("headroom: model.heads must be a multiple of model.kv_heads", m.kv());
  if (m.head_dim == 0 && !m.latent() && m.hidden % m.heads != 0)
    return no("headroom: model.hidden must be a multiple of model.heads, or model.head_dim be given", m.hidden);
  if (m.pattern.given())
    if (const auto why = detail::check_pattern(m, no)) return why;
  if (!m.sparse()) return {};
  if (m.experts.active < 1 || m.experts.active > m.experts.count)
    return no("headroom: model.experts.active must be from 1 to model.experts.count", m.experts.active);
  if (m.experts.ffn < 1) return no("headroom: model.experts.ffn must be at least 1", m.experts.ffn);
  return {};
}

}  // namespace headroom
