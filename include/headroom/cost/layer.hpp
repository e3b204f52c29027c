// Distributed under the Boost Software License, Version 1.0.
// What one layer, and one rank's share of it, takes of each resource for a micro-batch: matrices from the inventory, data moved and
// kernels started from the layer's program, collectives from how it is divided.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/embedding.hpp>
#include <headroom/block/loss.hpp>
#include <headroom/block/megatron_experts.hpp>
#include <headroom/cost/collectives.hpp>
#include <headroom/cost/flops.hpp>
#include <headroom/cost/matmul.hpp>
#include <headroom/step/settle.hpp>

namespace headroom::detail {

/// Seconds of one direction.
struct pass_seconds {
  double matmul{};
  double weights{};        ///< of it, gradients of weights
  double attention{};
  double memory{};
  double communication{};  ///< that the direction waits for: tensor, expert and context parallelism
  double gaps{};           ///< of the device between kernels: they start and drain one after the other
  double host{};           ///< of a processor core that starts all of it
  [[nodiscard]] constexpr double device() const { return matmul + attention + memory + communication + gaps; }
  [[nodiscard]] constexpr double total() const { return device() > host ? device() : host; }
  constexpr void add(const pass_seconds& o, double times = 1) {
    matmul += times * o.matmul, weights += times * o.weights, attention += times * o.attention, memory += times * o.memory;
    communication += times * o.communication, gaps += times * o.gaps, host += times * o.host;
  }
};
struct both_passes {
  pass_seconds forward{}, backward{};
  pass_seconds again{};    ///< what recomputation repeats of forward
  constexpr void add(const both_passes& o, double times = 1) {
    forward.add(o.forward, times), backward.add(o.backward, times), again.add(o.again, times);
  }
};

/// The parts that all parts of a job share.
struct cost_scene {
  const settled_job* job{};
  scene layer{};
  machine on{};
  rates share{};
  module_set trained{};
  double host_operation{};
};

/// What a program's operations read and write, beside weights, and how many there are. A matrix multiplication's operands count: its
/// tiles' first loads and last stores are not hidden.
struct traffic {
  double bytes{};
  double operations{};
};
constexpr traffic traffic_of(const program& p) {
  traffic t;
  for (std::size_t i = 0; i < p.operations(); ++i) {
    const auto& o = p[i];
    t.bytes += static_cast<double>(p.sum(p.storages(o.reads)).count() + p.sum(p.storages(o.makes)).count());
    t.operations += 1;
  }
  return t;
}
constexpr void add_traffic(both_passes& t, const cost_scene& c, const traffic& moved) {
  const double once = moved.bytes / c.on.memory;
  t.forward.memory += once;
  t.backward.memory += c.share.backward_traffic * once;
  t.forward.gaps += moved.operations * c.share.gap;
  t.backward.gaps += 2 * moved.operations * c.share.gap;
  t.forward.host += moved.operations * c.host_operation;
  t.backward.host += moved.operations * c.host_operation;
}

/// A linear layer of this rank: rows (tokens) × in → out, `copies` of it side by side.
constexpr void add_linear(both_passes& t, const cost_scene& c, double tokens, double out, double in, double copies, bool trains, bool quantised, double rate) {
  const auto& s = *c.job;
  const auto one = seconds_of({.rows = tokens, .columns = out, .inner = in, .batch = copies}, rate);
  t.forward.matmul += one;
  t.backward.matmul += seconds_of({.rows = tokens, .columns = in, .inner = out, .batch = copies}, rate);
  const double elements = out * in * copies;
  const auto width = static_cast<double>(c.layer.width);
  const double stored = quantised ? 0.5 : static_cast<double>(c.layer.weight_width);
  // Read as they are stored; cast or dequantised copies are written and read.
  const double reads = elements * (quantised || c.layer.autocast ? stored + 2 * width : width) / c.on.memory;
  t.forward.memory += reads;
  t.backward.memory += reads;
  if (!trains) return;
  const auto gradient = seconds_of({.rows = out, .columns = in, .inner = tokens, .batch = copies}, rate);
  t.backward.matmul += gradient;
  t.backward.weights += gradient;
  // Written by the multiplication, and added to what there is: by itself, or by a kernel of its own.
  const double kept = static_cast<double>(s.precision.gradients.width());
  t.backward.memory += elements * (c.layer.fuses_weight_gradients ? 2 * kept : 2 * static_cast<double>(c.layer.weight_width) + 2 * kept) / c.on.memory;
}

/// Scores and what they weigh.
constexpr void add_attention(both_passes& t, const cost_scene& c) {
  const auto& m = c.job->model;
  const auto& l = c.layer;
  const auto samples = static_cast<double>(l.samples), sequence = static_cast<double>(l.sequence), context = static_cast<double>(l.context);
  const auto heads = static_cast<double>(m.heads) / static_cast<double>(l.tensor);
  if (l.kernel == attention::eager || l.kernel == attention::math) {
    const auto width = m.head_width();
    const double rate = aligned(width, l.width) && aligned(l.sequence, l.width) ? c.on.matmul_16 : c.on.unaligned;
    const auto scores = seconds_of({.rows = sequence / context, .columns = sequence, .inner = static_cast<double>(width), .batch = samples * heads}, rate);
    t.forward.attention += 2 * scores;
    t.backward.attention += 4 * scores;
    return;
  }
  const double work = 2 * samples * attended_pairs(m, sequence, causal_convention::half_square) * pair_features(m) / static_cast<double>(l.tensor) / context;
  t.forward.attention += work / c.on.attention;
  t.backward.attention += 2.5 * work / c.on.attention;  // five multiplications for two: scores again, and four gradients (Dao et al. 2022, algorithm 4)
}

/// Tensor parallelism: partial sums of both halves are reduced in forward, gradients of both inputs in backward (Shoeybi et al. 2019,
/// section 3); with sequence parallelism as a reduce-scatter and an all-gather of the same volume (Korthikanti et al. 2022, 4.2.2).
constexpr void add_tensor_parallel(both_passes& t, const cost_scene& c, double blocks) {
  const auto& l = c.layer;
  if (l.tensor <= 1) return;
  const double whole = static_cast<double>(l.tokens) * static_cast<double>(c.job->model.hidden) * static_cast<double>(l.width);
  const bool behind = l.habits->async_tensor_parallel || l.habits->overlaps_tensor_parallel;
  double seconds = blocks * (behind ? 0.5 : 1.0) * reduce_seconds(c.on.links, {l.tensor, 1}, whole);
  // DTensor gathers and scatters along the sequence, not along the first dimension: what all ranks sent is cut up and concatenated
  // (torch/distributed/_functional_collectives.py all_gather_tensor, reduce_scatter_tensor). In pieces it is put in its
  // place at once, and a compiler puts the copies into other kernels.
  if (l.habits->divides_modules && l.sequence_split > 1 && !behind && !l.compiled) seconds += blocks * 4 * whole / c.on.memory;
  t.forward.communication += seconds;
  t.backward.communication += seconds;
}

/// Context parallelism: keys and values of the other ranks' tokens, in a ring behind attention, gathered first, or exchanged for heads.
constexpr void add_context_parallel(both_passes& t, const cost_scene& c) {
  const auto& l = c.layer;
  if (l.context <= 1) return;
  const auto& m = c.job->model;
  const rank_group group{l.context, l.tensor};
  const double token = static_cast<double>(l.tokens) * static_cast<double>(l.width) / static_cast<double>(l.tensor);
  const double kv = 2 * token * static_cast<double>(m.mla.kv_rank > 0 ? m.heads * (m.mla.nope_dim + m.mla.rope_dim) : m.kv_width());
  const auto exposed = [](double communication, double behind) { return communication > behind ? communication - behind : 0.0; };
  if (l.context_kind == context_kind::ulysses) {
    const double all = kv + 2 * token * static_cast<double>(m.query_width());
    const double seconds = exchange_seconds(c.on.links, group, all);
    t.forward.communication += seconds;
    t.backward.communication += seconds;
    return;
  }
  const double gathered = gather_seconds(c.on.links, group, kv * static_cast<double>(l.context));
  if (l.context_kind == context_kind::all_gather) {
    t.forward.communication += gathered;
    t.backward.communication += 2 * gathered;
    return;
  }
  t.forward.communication += exposed(gathered, t.forward.attention);
  t.backward.communication += exposed(2 * gathered, t.backward.attention);  // with the gradients that travel on
}

/// Experts: tokens to their experts and back.
constexpr void add_expert_parallel(both_passes& t, const cost_scene& c) {
  const auto& l = c.layer;
  const auto& m = c.job->model;
  if (l.expert <= 1 && l.expert_tensor <= 1) return;
  const double token = static_cast<double>(m.hidden) * static_cast<double>(l.width);
  double seconds = 0;
  if (l.habits->dispatcher == token_dispatcher::all_gather && c.job->source->framework.layers == layer_modules::megatron) {
    seconds = 2 * gather_seconds(c.on.links, {l.expert * l.expert_tensor, 1}, static_cast<double>(megatron::gathered_tokens(l)) * token);
  } else {
    const auto sent = static_cast<double>(l.expert_imbalance) / 100 * static_cast<double>(l.stream_tokens() * m.experts.active) * token;
    seconds = 2 * exchange_seconds(c.on.links, {l.expert, l.expert_tensor}, sent);
    if (l.expert_tensor > 1) seconds += 2 * gather_seconds(c.on.links, {l.expert_tensor, 1}, sent * static_cast<double>(l.expert_tensor));
  }
  t.forward.communication += seconds;
  t.backward.communication += seconds;
}

/// (token, expert) pairs that this rank's experts compute.
constexpr double routed_pairs(const scene& s) {
  if (s.habits->layers == layer_modules::megatron) return static_cast<double>(megatron::route(s).computed);
  return static_cast<double>(s.tokens * s.model->experts.active);
}

/// The linear layers that `choose(role)` picks, of one layer of the stack or, `stack` false, outside it. Dense and sparse layers in turn
/// list a kind of weight for each run of them: the first will do.
template <class Choose>
constexpr void add_linears(both_passes& t, const cost_scene& c, const inventory& list, bool stack, const Choose& choose) {
  const auto& l = c.layer;
  std::array<layer_span, module_count> first{};
  for (const auto& w : list) {
    if (!w.linear || (w.layers.count > 0) != stack || !choose(w.role)) continue;
    auto& span = first[static_cast<std::size_t>(w.role)];
    if (span.count == 0) span = w.layers;
    if (span != w.layers) continue;
    auto rows = static_cast<double>(w.rows), columns = static_cast<double>(w.columns);
    const auto degree = static_cast<double>(w.expert ? l.expert_tensor : l.tensor);
    if (w.split == split_axis::rows || w.split == split_axis::vocabulary) rows /= degree;
    if (w.split == split_axis::columns) columns /= degree;
    const bool trains = c.trained.has(w.role);
    const bool fits_tensor_cores = aligned(static_cast<std::int64_t>(rows), l.width) && aligned(static_cast<std::int64_t>(columns), l.width);
    double rate = w.role == module::head || w.role == module::router ? c.on.matmul_16 : c.on.matmul;
    if (!fits_tensor_cores && rows > 64) rate = c.on.unaligned;
    if (w.expert) {
      const double experts = static_cast<double>(w.per_layer) / static_cast<double>(l.expert);
      add_linear(t, c, routed_pairs(l) / experts, rows, columns, experts, trains, l.quantised.has(w.role), rate);
    } else {
      const double tokens = static_cast<double>(w.split == split_axis::none ? l.stream_tokens() : l.tokens);
      add_linear(t, c, tokens, rows, columns, static_cast<double>(w.per_layer), trains, l.quantised.has(w.role), rate);
    }
  }
}

constexpr bool routed_module(module m) {
  return m == module::router || m == module::experts_gate || m == module::experts_up || m == module::experts_down || m == module::shared_gate ||
         m == module::shared_up || m == module::shared_down;
}
constexpr bool dense_module(module m) { return m == module::gate_proj || m == module::up_proj || m == module::down_proj; }

/// What a layer computes again before its backward.
constexpr void settle_recompute(both_passes& t, const cost_scene& c, bool sparse) {
  const auto& r = c.job->source->recompute;
  if (r.mode == recompute_mode::none) return;
  if (r.mode == recompute_mode::full) {
    t.again = t.forward;
    return;
  }
  const auto& l = c.layer;
  if (c.job->source->framework.layers == layer_modules::eager) {
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
  if (l.recomputes(recompute_module::layernorm) || l.recomputes(recompute_module::moe_act) || l.recomputes(recompute_module::gelu)) t.again.memory += t.forward.memory / 8;
  t.again.gaps = t.forward.gaps / 4;
  t.again.host = t.forward.host / 4;
}

/// Megatron drops out and adds to the residual stream in one kernel (core/fusions/fused_bias_dropout.py): the dropped tensor is not
/// written and read.
constexpr traffic fused_dropout(const cost_scene& c, traffic t) {
  const auto& l = c.layer;
  if (!l.drops.hidden.positive()) return t;
  return {t.bytes - 2 * static_cast<double>(l.stream_tokens() * c.job->model.hidden * l.width), t.operations - 1};
}
constexpr traffic attention_traffic(const cost_scene& c) {
  const auto& l = c.layer;
  if (c.job->source->framework.layers == layer_modules::megatron)
    return fused_dropout(c, traffic_of(c.job->model.mla.kv_rank > 0 ? megatron::latent_block(l, true) : megatron::dense_block(l, true, c.trained, true)));
  return traffic_of(decoder_block(l, c.job->model.parallel_block ? layer_part::parallel : layer_part::attention, c.trained, true));
}
constexpr traffic mlp_traffic(const cost_scene& c, bool sparse) {
  const auto& l = c.layer;
  const auto& m = c.job->model;
  if (c.job->source->framework.layers == layer_modules::megatron)
    return fused_dropout(c, traffic_of(sparse ? megatron::sparse_block(l, c.trained, true) : megatron::dense_block(l, false, c.trained, true)));
  if (m.parallel_block) return {};
  if (!sparse) return traffic_of(decoder_block(l, layer_part::mlp, c.trained, true));
  // Routed tokens are gathered, go through an MLP each and are added back; the loop over experts runs the MLP's operations for each.
  const double each = static_cast<double>(4 * m.hidden + 6 * m.experts.ffn) * static_cast<double>(l.width);
  return {static_cast<double>(l.tokens * m.experts.active) * each + 10.0 * static_cast<double>(l.tokens * m.hidden * l.width), 10.0 + 8.0 * static_cast<double>(m.experts.count)};
}

/// One dense or sparse layer.
constexpr both_passes layer_seconds(const cost_scene& c, const inventory& list, bool sparse) {
  both_passes t;
  add_linears(t, c, list, true, [sparse](module m) { return !(sparse ? dense_module(m) : routed_module(m)); });
  add_attention(t, c);
  add_traffic(t, c, attention_traffic(c));
  add_traffic(t, c, mlp_traffic(c, sparse));
  add_tensor_parallel(t, c, c.job->model.parallel_block || (sparse && c.layer.sequence_split > 1) ? 1 : 2);
  add_context_parallel(t, c);
  if (sparse) add_expert_parallel(t, c);
  settle_recompute(t, c, sparse);
  return t;
}

/// Final norm, head and loss.
constexpr both_passes head_seconds(const cost_scene& c, const inventory& list) {
  both_passes t;
  const auto& m = c.job->model;
  const auto& l = c.layer;
  const double heads = static_cast<double>(1 + m.mtp_layers);
  add_linears(t, c, list, false, [](module r) { return r == module::head; });
  if (m.tied && m.head != head_kind::none)
    add_linear(t, c, static_cast<double>(l.tokens), static_cast<double>(l.vocabulary) / static_cast<double>(l.tensor), static_cast<double>(m.embedding_width()), 1,
               c.trained.has(module::embedding), false, c.on.matmul_16);
  const bool divided = c.job->source->framework.layers == layer_modules::megatron;
  add_traffic(t, c, traffic_of(divided ? megatron::head_and_loss(l, c.trained) : head_and_loss(l, c.trained, true)));
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
constexpr both_passes embedding_seconds(const cost_scene& c) {
  both_passes t;
  add_traffic(t, c, traffic_of(embedding(c.layer, c.trained)));
  if (c.layer.tensor > 1) {
    const double whole = static_cast<double>(c.layer.tokens) * static_cast<double>(c.job->model.hidden) * static_cast<double>(c.layer.width);
    t.forward.communication += reduce_seconds(c.on.links, {c.layer.tensor, 1}, whole);
  }
  if (c.trained.has(module::embedding))
    t.backward.memory += 2 * static_cast<double>(c.layer.vocabulary) / static_cast<double>(c.layer.tensor) * static_cast<double>(c.job->model.embedding_width() * c.layer.weight_width) / c.on.memory;
  return t;
}

}  // namespace headroom::detail
