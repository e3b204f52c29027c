// Distributed under the Boost Software License, Version 1.0.
// What one layer, the embedding and the head take for a micro-batch, on one rank, in both directions: matrices from the inventory, the
// rest from the same programs that memory is counted by.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/embedding.hpp>
#include <headroom/block/encoder.hpp>
#include <headroom/block/grouped_experts.hpp>
#include <headroom/block/loss.hpp>
#include <headroom/block/megatron_layer.hpp>
#include <headroom/block/sorted_experts.hpp>
#include <headroom/cost/adapters.hpp>
#include <headroom/cost/cross.hpp>
#include <headroom/cost/exchanges.hpp>

namespace headroom::detail {

/// (token, expert) pairs that this rank's experts compute.
constexpr double routed_pairs(const scene& s) {
  if (s.habits->modules.megatron()) return static_cast<double>(megatron::route(s).computed);
  return product(s.tokens, s.model->experts.active);
}

/// Whether routed experts of which a share trains are multiplied in fp32, as they lie there or are made: autocast leaves grouped products alone
/// (transformers integrations/moe.py _grouped_mm of 2026-08; torch issue 174763).
constexpr bool wide_experts(const scene& s, double trains) {
  return s.habits->experts.joins_gate() && s.expert_width > s.width && style_of(*s.model) != expert_style::repeated && (trains > 0 || !s.narrow_frozen || s.base.quantised());
}

/// The linear layers that `choose(weight)` picks, of one layer of the stack or outside it.
constexpr void add_linears(both_passes& t, const cost_scene& c, const inventory& list, const auto& choose) {
  const auto& l = c.layer;
  for (const auto& w : list) {
    if (!w.linear || !choose(w)) continue;
    auto rows = static_cast<double>(w.rows), columns = static_cast<double>(w.columns);
    const auto degree = static_cast<double>(w.expert ? l.expert_tensor : l.tensor);
    if (w.split == split_axis::rows || w.split == split_axis::vocabulary) rows /= degree;
    if (w.split == split_axis::columns) columns /= degree;
    const double share = trained_share(*c.job->source, c.trained, w);
    const double trains = w.layers.count > 0 && share > 0 ? share / c.flow : share;  // of the layers that backward comes by: see layer_seconds
    const bool fits_tensor_cores = aligned(static_cast<std::int64_t>(rows), l.width) && aligned(static_cast<std::int64_t>(columns), l.width);
    double rate = w.role == module::head || w.role == module::router ? c.on.matmul_16 : c.on.matmul;
    const bool wide = w.expert && wide_experts(l, trains);
    if (wide) rate = rate_of_32_bits(*c.job->on, c.on, left_by_base(*c.job->source, c.job->precision, true));
    if (!fits_tensor_cores && rows > 64) rate = c.on.unaligned;
    const double copies = static_cast<double>(w.per_layer) / static_cast<double>(w.expert ? l.expert : 1);
    const double tokens = w.expert ? routed_pairs(l) / copies : static_cast<double>(w.split == split_axis::none ? l.stream_tokens() : l.tokens);
    if (wide) [[unlikely]] {
      auto uncast = c;
      uncast.layer.width = l.expert_width;
      uncast.layer.casts_weights = false;
      add_linear(t, uncast, tokens, rows, columns, copies, trains, l.quantised.has(w.role), rate);
    } else {
      add_linear(t, c, tokens, rows, columns, copies, trains, l.quantised.has(w.role), rate);
    }
    if (const auto beside = l.adapts(w.role) ? adapted_rows(*c.job, w) : 0; beside > 0) [[unlikely]] add_adapter(t, c, tokens, rows * static_cast<double>(beside) / static_cast<double>(w.rows), columns, copies);
  }
}

/// What a layer computes again before its backward.
constexpr void settle_recompute(both_passes& t, const cost_scene& c, bool sparse) {
  const auto& r = c.job->source->recompute;
  if (r.mode == recompute_mode::none) return;
  if (r.mode == recompute_mode::full) {
    t.again = t.forward;
    return;
  }
  const auto& l = c.layer;
  if (c.job->source->framework.modules.eager()) {
    if (l.policy == recompute_policy::attention_only) {
      t.again.attention = t.forward.attention;
      return;
    }
    // Every other multiplication, and all that is no multiplication; fused attention and reductions are kept (torchtitan
    // models/common/activation_checkpoint, _get_custom_policy).
    t.again.matmul = t.forward.matmul / 2;
    t.again.memory = t.forward.memory;
    t.again.gaps = t.forward.gaps;
    t.again.host = t.forward.host;
    return;
  }
  if (l.recomputes(recompute_module::core_attn)) {
    t.again.attention = t.forward.attention;
    if (l.kernel == attention::eager || l.kernel == attention::math) t.again.memory += t.forward.memory / 2;
  }
  if (l.recomputes(recompute_module::mlp) || (sparse && l.recomputes(recompute_module::moe))) {
    t.again.matmul += t.forward.matmul / 2;
    t.again.memory += t.forward.memory / 2;
    t.again.communication += t.forward.communication / 2;
  }
  const bool pointwise = l.recomputes(recompute_module::layernorm) || l.recomputes(recompute_module::moe_act) || l.recomputes(recompute_module::gelu);
  if (pointwise) t.again.memory += t.forward.memory / 8;
  t.again.gaps = t.forward.gaps / 4;
  t.again.host = t.forward.host / 4;
}

/// Megatron drops out and adds to the residual stream in one kernel (core/fusions/fused_bias_dropout.py): the dropped tensor is not
/// written and read.
constexpr traffic fused_dropout(const cost_scene& c, traffic t) {
  const auto& l = c.layer;
  if (!l.drops.hidden.positive()) return t;
  return {t.bytes - 2 * product(l.stream_tokens(), c.job->model.hidden, l.width), t.operations - 1, t.away};
}
constexpr traffic mixer_traffic(const cost_scene& c, layer_kind kind) {
  const auto& l = c.layer;
  if (kind.mixer == mixer_kind::none) return {};
  if (c.job->model.altup.streams > 0) return with_made([&] { return altup_block(l, kind, c.trained, true); }, traffic_of);
  if (c.job->source->framework.modules.megatron())
    return fused_dropout(c, with_made([&] { return megatron::mixer_block(l, kind, c.trained); }, traffic_of));
  return with_made([&] { return decoder_block(l, c.job->model.parallel_block ? layer_part::parallel : layer_part::attention, kind.mixer, c.trained, true); }, traffic_of);
}
constexpr traffic feed_forward_traffic(const cost_scene& c, layer_kind kind) {
  const auto& l = c.layer;
  const auto& m = c.job->model;
  if (kind.feeds == feed_forward_kind::none || megatron::in_one_program(l) || m.altup.streams > 0) return {};
  if (c.job->source->framework.modules.megatron())
    return fused_dropout(c, with_made([&] { return megatron::feed_forward_block(l, kind, c.trained); }, traffic_of));
  if (m.parallel_block) return {};
  if (kind.feeds == feed_forward_kind::wide) {
    const auto wide = widened(m);
    auto there = l;
    there.model = &wide;
    return with_made([&] { return decoder_block(there, layer_part::mlp, c.trained, true); }, traffic_of);
  }
  if (!kind.sparse()) return with_made([&] { return decoder_block(l, layer_part::mlp, c.trained, true); }, traffic_of);
  if (m.experts.beside_mlp) return with_made([&] { return beside_mlp_block(l, c.trained, true, 0); }, traffic_of);
  if (l.habits->experts.joins_gate() && style_of(m) != expert_style::repeated) return with_made([&] { return sorted_experts_block(l, c.trained, true); }, traffic_of);
  if (l.habits->experts.gemm == expert_gemm::grouped_mm) return with_made([&] { return grouped_experts_block(l, c.trained, true, 0); }, traffic_of);
  // Routed tokens are gathered, go through an MLP each and are added back; the loop over experts runs the MLP's operations for each.
  const double each = static_cast<double>(4 * m.hidden + 6 * m.experts.ffn) * static_cast<double>(l.width);
  return {product(l.tokens, m.experts.active) * each + 10.0 * product(l.tokens, m.hidden, l.width), 10.0 + 8.0 * static_cast<double>(m.experts.count)};
}

/// A layer of one's own: its programs, and what it says that it computes beside its matrices. Gives what of the library's stands behind it.
constexpr layer_kind add_own_layer(both_passes& t, const cost_scene& c, layer_kind kind, const auto& layers) {
  const auto f = layers.flops(c.layer, kind);
  t.forward.attention += f.attention / c.on.attention + f.multiplied / c.on.matmul_16;
  t.backward.attention += 2.5 * f.attention / c.on.attention + 2 * f.multiplied / c.on.matmul_16;
  layers.for_each_part(c.layer, kind, c.trained, true, [&](const program& p) { add_traffic(t, c, traffic_of(p)); });
  if (!c.layer.quantised.empty()) [[unlikely]] layers.for_each_part(c.layer, kind, c.trained, true, [&](const program& p) { add_dequantised(t, c, p); });
  return layers.behind(kind);
}

/// One layer of a kind.
template <class Layers>
constexpr both_passes layer_seconds(const cost_scene& c, const inventory& list, const layer_kinds::entry& of, const Layers& layers) {
  both_passes t;
  auto kind = of.kind;
  if constexpr (Layers::any_own)
    if (layers.replaces(kind)) kind = add_own_layer(t, c, kind, layers);
  // The first layer is dense where only a module of multi-token prediction has experts.
  add_linears(t, c, list, [&](const weight& w) { return w.layers.has(of.first) && w.role != module::cross_attention && !(kind.sparse() && of.count == 0 && component_of(w.role) == component::mlp); });
  add_mixer(t, c, kind.mixer);
  if (c.job->model.encoder.cross_attention) [[unlikely]] add_cross_attention(t, c);
  add_traffic(t, c, mixer_traffic(c, kind));
  add_traffic(t, c, feed_forward_traffic(c, kind));
  if (c.job->model.layer_input.width > 0 && c.job->model.altup.streams == 0) add_traffic(t, c, with_made([&] { return layer_input_block(c.layer, c.trained, true); }, traffic_of));
  if (!c.layer.quantised.empty() || (recurrent(kind.mixer) && c.layer.recurrence == recurrence::eager)) [[unlikely]] {
    const bool parallel = c.job->model.parallel_block;
    const auto add = [&](const program& p) { add_dequantised(t, c, p); };
    if (kind.mixer != mixer_kind::none)
      with_made([&] { return decoder_block(c.layer, parallel ? layer_part::parallel : layer_part::attention, kind.mixer, c.trained, true); }, add);
    if (!parallel && (kind.feeds == feed_forward_kind::dense || kind.feeds == feed_forward_kind::wide)) with_made([&] { return decoder_block(c.layer, layer_part::mlp, c.trained, true); }, add);
  }
  if (c.layer.habits->modules.nanotron()) add_started_beside(t, c);
  const bool experts_apart = kind.sparse() && c.layer.sequence_split > 1;  // tokens travel to experts as they lie
  add_tensor_parallel(t, c, !kind.whole() ? (experts_apart ? 0 : 1) : c.job->model.parallel_block || experts_apart ? 1 : 2);
  add_context_parallel(t, c);
  if (kind.sparse()) add_expert_parallel(t, c);
  settle_recompute(t, c, kind.sparse());
  // Of layers that are computed again, their input goes; of modules that are named, what they save (traffic_of).
  if (c.job->source->offload.activations != place::on_gpu && c.layer.offloaded_modules == 0) t.forward.away = product(c.layer.stream_tokens(), c.job->model.hidden, c.layer.width);
  if (c.flow < 1) [[unlikely]] {  // a layer is the mean of all
    t.backward.scale(c.flow);
    t.again.scale(c.flow);
  }
  return t;
}

/// Final norm, head and loss.
constexpr both_passes head_seconds(const cost_scene& c, const inventory& list) {
  both_passes t;
  const auto& m = c.job->model;
  const auto& l = c.layer;
  if (l.scoring.of_two_words && !c.job->source->framework.modules.megatron()) {
    add_traffic(t, c, with_made([&] { return two_words_head(l, c.trained, true); }, traffic_of));
    return t;
  }
  const double heads = static_cast<double>(1 + m.mtp_layers);
  if (l.kept > 0 && l.kept < l.sequence) [[unlikely]] {  // the head reads the last positions alone
    auto last = c;
    last.layer.sequence = l.kept;
    last.layer.tokens = checked::mul(l.samples, l.kept);
    last.layer.kept = 0;
    return head_seconds(last, list);
  }
  if (reads_first_position(m)) {
    auto first = c;
    first.layer.tokens = l.samples;
    first.layer.sequence = 1;
    add_linears(t, first, list, [](const weight& w) { return w.layers.count == 0 && w.role == module::head; });
  } else {
    add_linears(t, c, list, [](const weight& w) { return w.layers.count == 0 && w.role == module::head; });
  }
  const double vocabulary = static_cast<double>(l.vocabulary) / static_cast<double>(l.tensor);
  if (m.tied && m.head != head_kind::none)
    add_linear(t, c, static_cast<double>(l.tokens), vocabulary, static_cast<double>(m.embedding_width()), 1, c.trained.has(module::embedding) ? 1 : 0, false,
               c.on.matmul_16);
  const bool divided = c.job->source->framework.modules.megatron();
  const bool speaks = m.head == head_kind::language && m.classes == 0;
  add_traffic(t, c, with_made([&] { return divided ? megatron::last_block(l, c.trained) : speaks ? head_and_loss(l, c.trained, true) : encoder_head(l, c.trained, true); }, traffic_of));
  if (heads > 1) {
    const auto one = t;
    t.add(one, heads - 1);
  }
  if (l.tensor > 1) {
    const double whole = static_cast<double>(l.tokens) * static_cast<double>(m.hidden) * static_cast<double>(l.width);
    const double seconds = reduce_seconds(c.on.links, {l.tensor, 1}, whole) + 3 * c.on.links.latency;
    t.forward.communication += seconds / 2;
    t.backward.communication += seconds;
  }
  return t;
}

/// Token embedding: a look-up, and the gradient of the whole table.
constexpr both_passes embedding_seconds(const cost_scene& c, const inventory& list) {
  both_passes t;
  add_linears(t, c, list, [](const weight& w) { return w.layers.count == 0 && w.role == module::layer_input; });
  const bool patches = c.job->model.vision.kind != vision_kind::none && c.job->model.vision.layers == 0;  // the main stack reads them itself
  add_traffic(t, c, with_made([&] { return patches ? patch_embedding(c.layer, c.trained) : embedding(c.layer, c.trained); }, traffic_of));
  if (c.layer.tensor > 1) {
    const double whole = static_cast<double>(c.layer.tokens) * static_cast<double>(c.job->model.hidden) * static_cast<double>(c.layer.width);
    t.forward.communication += reduce_seconds(c.on.links, {c.layer.tensor, 1}, whole);
  }
  if (c.trained.has(module::embedding))
    t.backward.memory += 2 * product(c.layer.vocabulary, c.job->model.embedding_width(), c.layer.weight_width) / static_cast<double>(c.layer.tensor) / c.on.memory;
  return t;
}

}  // namespace headroom::detail
