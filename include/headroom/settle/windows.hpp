// Distributed under the Boost Software License, Version 1.0.
// Which layers of a model see past its window, where those behind it are walked another way.
#pragma once

#include <headroom/block/given_heads.hpp>
#include <headroom/settle/settled_job.hpp>

namespace headroom::detail {

/// Layers behind a window and layers that see all positions, in turn, as a pattern. A shape says how many of either there are, or that every so-manyth
/// sees all, from the first on. Where they stand moves no sum; every so-manyth from the last of the first group on is the common order (Gemma 3, OLMo 3).
constexpr layer_pattern alternating(const shape& m) {
  constexpr layer_kind near{}, far{mixer_kind::global_attention, feed_forward_kind::unset};
  layer_pattern r;
  if (m.global_every > 0) {
    for (std::int64_t i = 0; i < m.global_every && i < m.layers; ++i) r.add(i == 0 ? far : near);
    return r;
  }
  const auto every = m.layers / m.full_layers, common = checked::gcd(m.layers, m.full_layers);
  const bool even = m.layers / every == m.full_layers;
  const auto listed = even ? every : m.layers / common, seen = m.full_layers / common;
  for (std::int64_t i = 0; i < listed; ++i) {
    const bool sees_all = even ? i + 1 == every : checked::mul(i + 1, seen) / listed > checked::mul(i, seen) / listed;
    r.add(sees_all ? far : near);
  }
  return r;
}

/// Where torch's own attention reads a mask in the layers behind a window alone, layers differ; so they do where those make another one, and where those alone normalise queries and keys. The counts of
/// layers stay in the shape: they tell this pattern, whose layers are alike but for the mask, from one that the model has. Before masks were boolean, one
/// that reaches behind a window was read by all layers (models/qwen2/modeling_qwen2.py _update_causal_mask).
constexpr void settle_windows(settled_job& r) {
  auto& m = r.model;
  auto& s = r.layer;
  if (s.kernel == attention::sdpa && s.habits->attention.masks == sdpa_masks::added) s.masked = ops::masks_window(s, m) || ops::masks_always(m);
  if (m.full_layers >= m.layers && m.layers > 0 && m.global_every == 0) {
    m.sliding_window = 0;
    m.qk_norm = m.qk_norm && !m.chunked;
    return;
  }
  if (m.pattern.given() || m.latent() || (m.full_layers == 0 && m.global_every == 0)) return;
  if (!ops::norms_turned(s, m) && !ops::masks_itself(s, m) && (ops::masks_all(s, m) || !ops::masks_window(s, m))) return;
  m.pattern = alternating(m);
}

}  // namespace headroom::detail
