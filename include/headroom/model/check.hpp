// Distributed under the Boost Software License, Version 1.0.
// Shapes that contradict themselves are refused here, once, before anything is counted.
#pragma once

#include <headroom/model/shape.hpp>

namespace headroom {

namespace detail {

/// Sizes and counts of a job: from `least` to 2^40.
constexpr bool within(std::int64_t value, std::int64_t least) { return least <= value && value <= (std::int64_t{1} << 40); }

constexpr objection check_numbers(const shape& m, const auto& no) {
  const auto& e = m.experts;
  const auto& v = m.vision;
  // One test for all sizes: their union has the sign bit where one of them has it.
  const std::int64_t any = m.layers | m.hidden | m.heads | m.kv_heads | m.head_dim | m.ffn | m.max_positions | m.vocab |
                           m.mtp_layers | m.classes | m.distinct_layers | m.full_layers | m.global_every | m.embedding_dim | m.position_offset | m.token_types |
                           m.relative_buckets | e.count | e.active | e.ffn | e.shared_ffn | e.first_dense_layers | e.every |
                           m.mla.q_rank | m.mla.kv_rank | m.mla.nope_dim | m.mla.rope_dim | m.mla.value_dim | m.mla.index_heads | m.mla.index_dim | m.mla.index_keys | m.global.head_dim | m.global.kv_heads | m.layer_input.width | m.layer_input.vocab | m.altup.streams | m.altup.laurel | m.value_dim | e.latent |
                           m.encoder.layers | m.encoder.heads | m.encoder.ffn | m.encoder.max_positions |
                           m.encoder.audio_channels | m.encoder.vocab | v.layers | v.hidden | v.heads | v.ffn | v.patch | v.temporal_patch |
                           m.ssm.heads | m.ssm.head_dim | m.ssm.state | m.ssm.groups | m.ssm.conv | m.ssm.chunk | m.ssm.rank | v.channels | v.positions | v.merge | v.output | v.projector_hidden | v.deep_mergers | v.tokens | v.resampler | v.image | v.image_height | v.slices | v.grid | v.held | v.words;
  if (any < 0) return no("headroom: model: every size of a shape must be zero or more; one is negative", m.label);
  return {};
}

/// Whether a layer of the kind that makes what layer i shares stands in front of it.
constexpr bool follows(const shape& m, std::int64_t i) {
  const auto makes = global(m.pattern.at(i).mixer) ? mixer_kind::global_attention : mixer_kind::attention;
  for (std::int64_t k = 0; k < i; ++k)
    if (m.pattern.at(k).mixer == makes) return true;
  return false;
}

constexpr objection check_pattern(const shape& m, const auto& no) {
  if (m.parallel_block || m.encoder.layers > 0 || m.mtp_layers > 0 || (m.norm_after && (m.norm != norm_kind::rmsnorm || m.sparse())))
    return no("headroom: model.pattern does not go with parallel_block, an encoder or multi-token prediction, nor norm_after with LayerNorm or experts");
  const auto& s = m.ssm;
  for (std::int64_t i = 0; i < m.pattern.period; ++i) {
    const auto k = m.pattern.at(i);
    if (k.sparse() && !m.sparse()) return no("headroom: model.pattern names layers with experts, and model.experts.count is", m.experts.count);
    if (k.mixer == mixer_kind::none && (k.feeds == feed_forward_kind::none || k.feeds == feed_forward_kind::unset))
      return no("headroom: model.pattern: a layer without a mixer must be dense or have experts; layer", i);
    if (k.mixer == mixer_kind::sparse_attention && (m.mla.q_rank < 1 || m.mla.index_heads < 1 || m.mla.index_dim < m.mla.rope_dim || m.mla.index_keys < 1))
      return no("headroom: model.pattern: sparse-attention needs model.mla with q_rank, index_heads and index_keys of at least 1, and index_dim of at least rope_dim; layer", i);
    if (shares_keys(k.mixer) && (m.latent() || m.gated_attention || m.fused_qkv || !follows(m, i)))
      return no("headroom: model.pattern: a layer that shares keys and values needs one of its own kind in front of it, without model.mla, gated_attention and fused_qkv; layer", i);
    if (global(k.mixer) && (m.latent() || m.heads % globally(m).kv() != 0))
      return no("headroom: model.heads must be a multiple of model.global.kv_heads, without model.mla; kv_heads", m.global.kv_heads);
    if (!recurrent(k.mixer)) continue;
    if (k.mixer == mixer_kind::lightning_attention) {
      if (s.chunk < 1) return no("headroom: model.ssm.chunk must be at least 1 for lightning-attention; it is", s.chunk);
      continue;
    }
    if (s.conv < 1) return no("headroom: model.ssm.conv must be at least 1", s.conv);
    if (k.mixer == mixer_kind::gated_convolution) continue;
    if (k.mixer == mixer_kind::rg_lru && s.heads > 0 && s.head_dim > 0) continue;
    if (s.heads < 1 || s.head_dim < 1 || s.state < 1) return no("headroom: model.ssm must have heads, head_dim and state, of at least 1");
    if (k.mixer == mixer_kind::mamba1 && (s.rank < 1 || s.head_dim != 1)) return no("headroom: model.ssm.rank must be at least 1 for mamba1, and head_dim 1; rank", s.rank);
    if (k.mixer == mixer_kind::kimi_delta && (s.state != s.head_dim || s.groups != s.heads || s.bias || s.conv_bias || s.no_norm))
      return no("headroom: model.ssm for kimi-delta has state as large as head_dim, as many groups as heads, no biases and a norm; state", s.state);
    if (s.groups < 1 || s.heads % s.groups != 0) return no("headroom: model.ssm.heads must be a multiple of model.ssm.groups; groups", s.groups);
  }
  return {};
}

/// Several residual streams, as Gemma 3n has them.
constexpr objection check_altup(const shape& m, const auto& no) {
  const auto& a = m.altup;
  bool cuts = false;
  for (std::int64_t i = 0; i < m.pattern.period; ++i) {
    const auto k = m.pattern.at(i);
    cuts = cuts || k.feeds == feed_forward_kind::cut;
    if (a.streams > 0 && (recurrent(k.mixer) || k.mixer == mixer_kind::none || k.mixer == mixer_kind::sparse_attention || is_own(k.mixer) || !plainly_dense(k.feeds == feed_forward_kind::unset ? feed_forward_kind::dense : k.feeds)))
      return no("headroom: model.altup: every layer has attention of its own or shared keys, and a dense MLP; layer", i);
  }
  if (a.streams == 0) return a.laurel == 0 && !cuts ? objection{} : no("headroom: model.altup.laurel, and layers of the kind +cut, need model.altup.streams; laurel", a.laurel);
  if (a.streams < 2 || a.laurel < 1) return no("headroom: model.altup.streams must be at least 2, and laurel at least 1; streams", a.streams);
  if (m.layer_input.width < 1 || !m.post_norms || !m.norm_power || m.sparse() || m.latent() || m.norm_after || m.normed_residual || m.fp32_residual || m.classes > 0 || m.pooler || m.head != head_kind::language)
    return no("headroom: model.altup needs model.layer_input, post_norms and norm_power, a dense model and a head over words; streams", a.streams);
  return {};
}

/// A tower has every size that its blocks are made of.
constexpr objection check_tower(const vision_shape& v, const auto& no) {
  if (v.kind == vision_kind::none) {
    const bool sized = (v.layers | v.hidden | v.heads | v.ffn | v.patch | v.image | v.resampler | v.projector_hidden) > 0 || v.projector != projector_kind::none;
    return sized ? no("headroom: model.vision has sizes, and model.vision.kind must say how the tower is built") : objection{};
  }
  if (v.held > 0) return no("headroom: model.vision.held is of a model whose towers have no program here: model.vision.kind must be left out; parameters", v.held);
  if (v.channels < 1 || v.temporal_patch < 1 || v.merge < 1) return no("headroom: model.vision.channels, temporal_patch and merge must be at least 1; merge", v.merge);
  if (v.layers == 0) return {};  // the main stack itself reads the patches
  if (v.hidden < 1) return no("headroom: model.vision.hidden must be at least 1", v.hidden);
  if (v.heads < 1) return no("headroom: model.vision.heads must be at least 1", v.heads);
  if (v.unread < 0 || v.unread >= v.layers) return no("headroom: model.vision.unread must leave a block of the tower that is read: from 0 to model.vision.layers - 1", v.unread);
  if (v.ffn < 1) return no("headroom: model.vision.ffn must be at least 1", v.ffn);
  if (v.patch < 1) return no("headroom: model.vision.patch must be at least 1", v.patch);
  if (v.projector == projector_kind::resampler && v.resampler < 1) return no("headroom: model.vision.resampler must say how many queries the resampler has", v.resampler);
  if (v.projector == projector_kind::glm_merger && v.projector_hidden < 1) return no("headroom: model.vision.projector_hidden must be at least 1 for a glm-merger", v.projector_hidden);
  if (v.newline && (v.image < v.patch || v.kind == vision_kind::qwen2_vl || v.kind == vision_kind::qwen2_5_vl || v.kind == vision_kind::qwen3_vl || is_glm(v.kind) || v.kind == vision_kind::pixtral || v.kind == vision_kind::gemma4))
    return no("headroom: model.vision.newline is of towers that read tiles of one size, model.vision.image (LLaVA-NeXT's); image", v.image);
  if (v.projector == projector_kind::pixel_mlp && (v.projector_hidden < 1 || v.output < 1)) return no("headroom: model.vision.projector_hidden and output must be at least 1 for a pixel-mlp; output", v.output);
  return {};
}

/// What only calls that are given the layer can answer.
constexpr objection object_to_own(const shape& m, mixer_kind kind, const auto& no) {
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
  if (m.distinct_layers > 0 && (m.layers % m.distinct_layers != 0 || m.pattern.given() || m.sparse() || m.encoder.layers > 0))
    return no("headroom: model.distinct_layers must divide model.layers, of a dense model without a pattern and an encoder; it is", m.distinct_layers);
  if (m.scored_tokens && (m.classes != 1 || m.pooler || m.head != head_kind::none)) return no("headroom: model.scored_tokens needs model.classes 1, no pooler and head \"none\"; classes", m.classes);
  if (m.head_dim == 0 && !m.latent() && m.hidden % m.heads != 0)
    return no("headroom: model.hidden must be a multiple of model.heads, or model.head_dim be given", m.hidden);
  if (m.layer_input.width > 0 && (m.layer_input.vocab < 1 || !m.pattern.given() || m.parallel_block)) return no("headroom: model.layer_input needs its vocab, and a model.pattern without parallel_block; vocab", m.layer_input.vocab);
  if (m.pattern.given())
    if (const auto why = detail::check_pattern(m, no)) return why;
  if (const auto why = detail::check_altup(m, no)) return why;
  if ((m.fixed_sinks || m.value_dim > 0) && (!m.fixed_sinks || m.sinks_scale || m.latent() || m.fused_qkv || m.gated_attention || m.qk_norm || m.value_norm || !m.pattern.given()))
    return no("headroom: model.fixed_sinks, which model.value_dim needs, goes with a model.pattern, and without model.mla, sinks_scale, fused_qkv, gated_attention, qk_norm and value_norm; value_dim", m.value_dim);
  if (const auto why = detail::check_tower(m.vision, no)) return why;
  if (m.encoder.cross_attention && m.encoder.layers < 1) return no("headroom: model.encoder.cross_attention needs an encoder: model.encoder.layers must be at least 1", m.encoder.layers);
  if (m.latent() && m.mla.nope_dim < 1) return no("headroom: model.mla.nope_dim must be at least 1", m.mla.nope_dim);
  if (m.mla.index_heads > 0 && !m.pattern.given()) return no("headroom: model.mla.index_heads needs a model.pattern that says which layers are sparse-attention; it is", m.mla.index_heads);
  if (m.latent() && m.mla.value_dim < 1) return no("headroom: model.mla.value_dim must be at least 1", m.mla.value_dim);
  if (!m.sparse()) return {};
  if (m.experts.active < 1 || m.experts.active > m.experts.count)
    return no("headroom: model.experts.active must be from 1 to model.experts.count", m.experts.active);
  if (m.experts.ffn < 1) return no("headroom: model.experts.ffn must be at least 1", m.experts.ffn);
  if (const auto& e = m.experts; e.beside_mlp && (!m.post_norms || m.ffn < 1 || e.shared_ffn > 0 || e.bias || e.router_bias || e.raw_weights || e.narrow_scores || m.norm != norm_kind::rmsnorm))
    return no("headroom: model.experts.beside_mlp needs post_norms with RMSNorm and model.ffn, and goes with no shared experts, biases, raw_weights or narrow_scores; model.ffn", m.ffn);
  return {};
}

}  // namespace headroom
