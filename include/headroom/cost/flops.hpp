// Distributed under the Boost Software License, Version 1.0.
// Floating-point operations of a step, counted from the model's own weights.
#pragma once

#include <headroom/block/stack_layers.hpp>
#include <headroom/cost/machine.hpp>
#include <headroom/cost/side_matrices.hpp>
#include <headroom/model/mixers.hpp>
#include <headroom/settle/settled_job.hpp>

namespace headroom {

/// How much of causal attention's square counts: all of it (Narayanan et al. 2021; PaLM, appendix B; most published MFU), or what a
/// causal kernel computes.
enum class causal_convention : std::uint8_t { whole_square, half_square };

/// Pairs of query and key positions of a sequence, of a layer on average.
constexpr double attended_pairs(const shape& m, double sequence, causal_convention c) {
  const double all = c == causal_convention::half_square && !m.bidirectional ? sequence * sequence / 2 : sequence * sequence;
  if (m.position == position_kind::disentangled) return all + sequence * static_cast<double>(m.relative_buckets);  // two products with the table beside two with the sequence
  const auto w = static_cast<double>(m.sliding_window);
  if (m.sliding_window <= 0 || w >= sequence) return all;
  const bool half = c == causal_convention::half_square && !m.bidirectional;
  const double chunks = static_cast<double>(static_cast<std::int64_t>(sequence) / m.sliding_window), rest = sequence - chunks * w;  // a square each
  const double near = m.chunked ? (chunks * w * w + rest * rest) / (half ? 2 : 1) : half ? w * sequence - w * w / 2 : w * sequence;
  const auto full = m.pattern.given() ? 0 : m.global_every > 0 ? checked::ceil_div(m.layers, m.global_every) : m.full_layers < m.layers ? m.full_layers : m.layers;
  return full > 0 ? near + (all - near) * static_cast<double>(full) / static_cast<double>(m.layers) : near;
}

/// Features that a pair costs a multiplication and an addition for: those of queries and keys, and those of values.
constexpr double pair_features(const shape& m) {
  if (m.latent()) return product(m.heads, (m.mla.nope_dim + m.mla.rope_dim + m.mla.value_dim));
  return static_cast<double>(checked::add(m.query_width(), m.output_width()));
}

/// What a layer of one's own that attends as the model's shape says may give as its flops(scene).
constexpr layer_flops attention_flops(const scene& s) {
  const auto& m = *s.model;
  const auto samples = static_cast<double>(s.samples), sequence = static_cast<double>(s.sequence);
  const double features = pair_features(m) / static_cast<double>(s.tensor) / static_cast<double>(s.context);
  return {2 * samples * attended_pairs(m, sequence, causal_convention::whole_square) * features,
          2 * samples * attended_pairs(m, sequence, causal_convention::half_square) * features, 0};
}

/// FLOPs of one forward pass.
struct forward_flops {
  double layers{};     ///< matrices of the stack
  double attention{};  ///< scores and what they weigh; what recurrent mixers do with their states
  double head{};
  double embedding{};  ///< 0: a look-up
  [[nodiscard]] constexpr double total() const { return layers + attention + head; }
};

namespace detail {

/// FLOPs of one position in the forward of a recurrent mixer, beside its matrices.
constexpr double recurrence_flops(const shape& m, mixer_kind kind) {
  switch (kind) {
    case mixer_kind::none:
    case mixer_kind::attention:
    case mixer_kind::global_attention:
    case mixer_kind::latent_attention:
    case mixer_kind::sparse_attention:
    case mixer_kind::shared_attention:
    case mixer_kind::shared_global_attention:
    case mixer_kind::own: break;
    case mixer_kind::gated_delta_net: return gated_delta_net_flops(m);
    case mixer_kind::mamba2:
    case mixer_kind::attention_mamba2: return mamba2_flops(m);
    case mixer_kind::mamba1: return mamba1_flops(m);
    case mixer_kind::gated_convolution: return gated_convolution_flops(m);
    case mixer_kind::lightning_attention: return lightning_flops(m);
    case mixer_kind::rg_lru: return rg_lru_flops(m);
    case mixer_kind::kimi_delta: return kimi_delta_flops(m);
  }
  return 0;
}


/// Layers of a stack beside the main one.
constexpr forward_flops side_stack_flops(const shape& stack, double samples, double sequence, causal_convention c) {
  forward_flops r;
  for (const auto& w : weights_of(stack))
    if (w.linear && w.layers.count > 0) r.layers += 2 * samples * sequence * static_cast<double>(w.elements()) * static_cast<double>(w.copies());
  r.attention = 2 * samples * attended_pairs(stack, sequence, c) * pair_features(stack) * static_cast<double>(stack.layers);
  return r;
}

/// An encoder, a vision tower, what joins them to the main stack, and its attention to the encoder.
constexpr void add_side_flops(forward_flops& r, const shape& m, double samples, double sequence, causal_convention c) {
  for_each_side_stack(m, samples, sequence, [&](const shape& stack, double its_samples, double its_sequence) {
    const auto f = side_stack_flops(stack, its_samples, its_sequence, c);
    r.layers += f.layers, r.attention += f.attention;
  });
  for_each_side_matrix(m, samples, sequence, [&](const side_matrix& one) { r.layers += one.flops(); });
  if (m.encoder.cross_attention) r.attention += 2 * samples * sequence * encoder_positions(m, sequence) * pair_features(m) * static_cast<double>(m.layers);
}

}  // namespace detail

namespace detail {

/// FLOPs of a forward's multiplications with a weight of the main stack; of routed experts, those that a token visits.
constexpr double matrix_flops(const shape& m, const weight& w, double samples, double sequence) {
  const double read = w.role == module::head && reads_first_position(m) ? samples : samples * sequence;
  const double each = 2 * read * static_cast<double>(w.elements()) * static_cast<double>(w.copies()) * w.runs;
  return w.expert ? each * (static_cast<double>(m.experts.active) / static_cast<double>(m.experts.count)) : each;
}
/// … with a table that is the head, too.
constexpr double tied_head_flops(const shape& m, double positions) {
  return m.tied && m.head != head_kind::none ? 2 * positions * static_cast<double>(m.vocab) * static_cast<double>(m.embedding_width()) : 0.0;
}

}  // namespace detail

/// Of `samples` sequences. Of routed experts, those that a token visits. What layers of one's own compute beside their matrices is not in it.
template <class Layers = detail::shipped_layers>
constexpr forward_flops forward_flops_of(const shape& m, const inventory& list, double samples, double sequence, causal_convention c, const Layers& = {}) {
  forward_flops r;
  const double positions = samples * sequence;
  for (const auto& w : list) {
    if (!w.linear || w.frozen || detail::beside_main_stack(w.role)) continue;
    (w.role == module::head ? r.head : r.layers) += detail::matrix_flops(m, w, samples, sequence);
  }
  r.head += detail::tied_head_flops(m, positions);
  if (m.mtp_layers > 0) r.head *= static_cast<double>(m.mtp_layers + 1);
  const auto pairs_of = [&](const shape& one) { return 2 * samples * attended_pairs(one, sequence, c) * pair_features(one); };
  const double pairs = pairs_of(m);
  if (m.encoder.layers > 0 || m.vision.kind != vision_kind::none) [[unlikely]] detail::add_side_flops(r, m, samples, sequence, c);
  const auto replaced = [](layer_kind kind) {
    if constexpr (Layers::any_own) return Layers::replaces(kind);
    return kind.mixer == mixer_kind::none;
  };
  if (!m.pattern.given()) {
    if (replaced({})) return r;
    r.attention += pairs * static_cast<double>(m.layers + m.mtp_layers);
    return r;
  }
  for (const auto& k : kinds_of(m))
    if (k.kind.mixer != mixer_kind::none && !replaced(k.kind))
      r.attention += (positions * detail::recurrence_flops(m, k.kind.mixer) + (global(k.kind.mixer) ? pairs_of(globally(m)) : attends(k.kind.mixer) ? pairs : 0.0)) * static_cast<double>(k.count);
  return r;
}

/// Model FLOPs of a step: forward once, backward twice that, nothing for what is computed again.
constexpr flops model_flops(const shape& m, std::int64_t sequences, std::int64_t sequence, causal_convention c = causal_convention::whole_square) {
  return flops{3 * forward_flops_of(m, weights_of(m), static_cast<double>(sequences), static_cast<double>(sequence), c).total()};
}

/// … and, where every layer is computed again, a second forward of the stack (not of the head).
constexpr flops hardware_flops(const shape& m, std::int64_t sequences, std::int64_t sequence, bool recomputes_layers,
                               causal_convention c = causal_convention::whole_square) {
  const auto f = forward_flops_of(m, weights_of(m), static_cast<double>(sequences), static_cast<double>(sequence), c);
  return flops{3 * f.total() + (recomputes_layers ? f.layers + f.attention : 0.0)};
}

}  // namespace headroom
