// Distributed under the Boost Software License, Version 1.0.
// FLOPs that a backward does not have: of what does not train, and of what no gradient comes by.
#pragma once

#include <headroom/cost/flops.hpp>
#include <headroom/cost/layer_parts.hpp>

namespace headroom::detail {

/// What backward does not compute: gradients of weights that do not train (Lightning-AI/litgpt, litgpt/utils.py estimate_flops, counts two passes of
/// frozen parameters where it counts three of others), and all of the layers that it does not come by.
constexpr double spared_flops(const settled_job& s, const inventory& list, const forward_flops& f, double sequences) {
  const auto& j = *s.source;
  const auto& m = s.model;
  const auto outside = trained_modules(j, -1);
  const double sequence = static_cast<double>(s.layer.sequence), heads = static_cast<double>(m.mtp_layers + 1), flow = share_with_backward(j);
  double r = 2 * (1 - flow) * f.attention;
  for (const auto& w : list) {
    if (!w.linear || w.frozen || beside_main_stack(w.role)) continue;
    const double once = (w.role == module::head ? heads : 1.0) * matrix_flops(m, w, sequences, sequence);
    r += once * (1 - trained_share(j, outside, w) + (w.layers.count > 0 ? 1 - flow : 0.0));
  }
  return outside.has(module::embedding) ? r : r + heads * tied_head_flops(m, sequences * sequence);
}

/// … of an encoder and of a tower, as sides_seconds() has their passes: a gradient comes by what trains, and by what lies above it.
constexpr double spared_beside(const settled_job& s, const shape& m, double samples) {
  if (m.encoder.layers == 0 && m.vision.kind == vision_kind::none) return 0;
  const auto trained = trained_modules(*s.source, -1);
  const auto sequence = static_cast<double>(s.layer.sequence);
  const bool encodes = m.encoder.layers > 0, reads = trained.has(module::embedding) && m.encoder.audio_channels == 0 && m.encoder.vocab == 0;
  const bool adapts = passes_tower(*s.source, tower_side(*s.layer.side)), comes_by = trained.has(module::vision) || adapts;
  double r = 0;
  bool encoder = encodes;
  for_each_side_stack(m, samples, sequence, [&](const shape& stack, double its_samples, double its_sequence) {
    const bool trains = trained.has(encoder ? module::encoder : module::vision), flows = trains || (encoder ? reads : adapts);
    const auto f = side_stack_flops(stack, its_samples, its_sequence, causal_convention::whole_square);
    r += (trains ? 0 : flows ? 1 : 2) * f.layers + (flows ? 0 : 2) * f.attention;
    encoder = false;
  });
  for_each_side_matrix(m, samples, sequence, [&](const side_matrix& one) {
    const bool above = one.role == module::cross_attention || (one.role == module::projector && comes_by);
    if (!trained.has(one.role)) r += (above ? 1 : 2) * one.flops();
  });
  return r;
}

}  // namespace headroom::detail
