// Distributed under the Boost Software License, Version 1.0.
// What a chunk of divided layers costs for one micro-batch: a stage runs one chunk, or several in turn.
// Source: Megatron-LM core/transformer/transformer_block.py (which layers a checkpoint holds).
#pragma once

#include <headroom/engine/tensor_parallel/divided_layers.hpp>
#include <headroom/engine/tensor_parallel/stage_states.hpp>

namespace headroom {

namespace detail {

/// Layers of one kind in a row, within a chunk. `each` of them run as a unit: more than one where they share a checkpoint.
struct chunk_run {
  std::int64_t first;
  std::int64_t count;  // units
  std::int64_t each;
  bool sparse;         // the first layer's kind; a unit of several may mix them
  bool recomputes;
};

/// The layers of a chunk, in the order of forward.
struct chunk_runs {
  static constexpr int capacity = 8;
  std::array<chunk_run, capacity> runs;
  std::int32_t size;
};

/// One chunk of layers, for one micro-batch: what it leaves for backward, and its tallest moments above what the stage holds
/// for other micro-batches.
template <class Moment>
struct basic_chunk_cost : chunk_runs {
  bool has_head{};
  Moment saved{}, kept{};
  Moment forward{}, loss{}, backward{};
  bytes on_host{};         ///< of what is saved, in host memory
  bytes stays{}, comes{};  ///< of its last layer: what would be there, and what comes back
  std::int64_t forward_layer{}, backward_layer{};
};
using chunk_cost = basic_chunk_cost<moment>;

/// Of a chunk what a schedule's order adds up: totals.
struct chunk_totals {
  bytes saved{}, kept{}, forward{}, loss{}, backward{};
  bytes on_host{}, stays{}, comes{};
  bool has_head{};
};
constexpr chunk_totals totals_of(const chunk_cost& k) {
  return {k.saved.total, k.kept.total, k.forward.total, k.loss.total, k.backward.total, k.on_host, k.stays, k.comes, k.has_head};
}

/// A chunk that has not been walked yet, or not for this job.
template <class Moment>
constexpr void begin_walk(basic_chunk_cost<Moment>& k) {
  k.saved = k.kept = k.forward = k.loss = k.backward = Moment{};
  k.on_host = k.stays = k.comes = bytes{0};
  k.forward_layer = k.backward_layer = 0;
}
template <class Moment>
constexpr basic_chunk_cost<Moment> chunk_of(const chunk_runs& runs, bool has_head) {
  basic_chunk_cost<Moment> k{};
  static_cast<chunk_runs&>(k) = runs;
  k.has_head = has_head;
  return k;
}

/// The layers of a chunk as runs of one kind. Full recomputation may take the first layers of each chunk (method block), or put
/// several layers in a checkpoint (method uniform).
constexpr chunk_runs cut_chunk(const job& j, const shape& m, const layer_chunk& c, stage_parts& kinds) {
  chunk_runs k{};
  const bool full = j.recompute.mode == recompute_mode::full;
  const auto n = j.recompute.layers;
  const bool block = full && j.recompute.method == recompute_method::block && n > 0;
  const auto each = full && j.recompute.method == recompute_method::uniform && n > 1 ? n : 1;
  const auto end = c.first + c.count;
  for (auto i = c.first; i < end;) {
    const auto size = each < end - i ? each : end - i;
    const bool sparse = m.sparse_layer(i), recomputes = full && (!block || i - c.first < n);
    bool mixed = false;
    for (std::int64_t l = i; l < i + size; ++l) {
      const bool s = m.sparse_layer(l);
      (s ? kinds.sparse : kinds.dense) = true;
      mixed = mixed || s != sparse;
    }
    const auto last = static_cast<std::size_t>(k.size) - 1;
    if (k.size > 0 && !mixed && k.runs[last].sparse == sparse && k.runs[last].recomputes == recomputes && k.runs[last].each == size) {
      ++k.runs[last].count;
    } else {
      if (k.size == chunk_runs::capacity) refuse("headroom: a pipeline chunk holds at most 8 runs of dense and sparse layers; use more stages", k.size);
      k.runs[static_cast<std::size_t>(k.size++)] = {i, 1, size, sparse, recomputes};
    }
    i += size;
  }
  return k;
}

/// Several layers in one checkpoint: its input is kept; in backward all of them run forward again, then backward.
template <class Moment>
constexpr basic_layer_cost<Moment> cost_of_unit(const shape& m, const basic_divided_layers<Moment>& w, const chunk_run& r) {
  basic_layer_cost<Moment> c;
  const part input{row::activations, w.input}, gradient{row::temporaries, w.input};
  c.saved = Moment(row::activations, w.input);
  Moment live{};
  for (auto l = r.first; l < r.first + r.each; ++l) {
    const auto i = static_cast<std::size_t>(m.sparse_layer(l));
    if (l == r.first)
      c.forward = w.graphless[i];
    else
      c.forward.rise_to(w.graphless[i], input);
    c.backward.rise_to(live, w.whole[i].forward, gradient);
    c.backward.rise_to(live, w.whole[i].backward);
    live += w.whole[i].saved;
    c.kept += w.whole[i].kept;
  }
  c.backward_first = c.backward;
  return c;
}

/// Fills in what a chunk costs: up through its layers to the loss, and down again.
/// `attention_mask` is an argument of the model's forward, and saved with every checkpoint that is given it.
template <class Moment>
constexpr void walk_chunk(basic_chunk_cost<Moment>& k, const job& j, const shape& m, const basic_divided_layers<Moment>& w, bytes embedding_mask, bytes attention_mask) {
  basic_layer_cost<Moment> unit;
  const auto cost = [&](const chunk_run& r) -> const basic_layer_cost<Moment>& {
    const auto i = static_cast<std::size_t>(r.sparse);
    if (r.each > 1) [[unlikely]] return unit = cost_of_unit(m, w, r);
    return r.recomputes ? w.checkpoint[i] : w.whole[i];
  };
  const auto keep = [](Moment& tallest, std::int64_t& layer, const Moment& live, const Moment& peak, std::int64_t at) {
    if (tallest.rise_to(live, peak)) layer = at;
  };
  const auto modules = j.recompute.mode == recompute_mode::selective ? j.recompute.modules : 0;
  const bool saves_mask = j.recompute.mode == recompute_mode::full || (modules >> static_cast<int>(recompute_module::core_attn) & 1U) != 0;
  const bytes mask_in_forward = saves_mask ? bytes{0} : attention_mask;
  Moment live(row::activations, embedding_mask + (saves_mask ? attention_mask : bytes{0}));
  live.add(row::activations, mask_in_forward);
  std::int64_t none = -1;
  for (std::int32_t i = 0; i < k.size; ++i) {
    const auto& r = k.runs[static_cast<std::size_t>(i)];
    const auto& c = cost(r);
    live += multiple{r.count - 1, c.saved};
    keep(k.forward, k.forward_layer, live, c.forward, r.first + (r.count - 1) * r.each);
    live += c.saved;
    k.kept += multiple{r.count, c.kept};
    k.on_host += r.count * (c.offloaded + c.doubled);
    k.stays = c.offloaded;
    k.comes = c.offloaded + c.doubled;
  }
  if (k.has_head) {
    if (m.mtp_layers > 0) {
      keep(k.forward, none, live, w.norm.forward, -1);
      live += w.norm.saved;
      for (std::int64_t i = 0; i < m.mtp_layers; ++i) {
        keep(k.forward, none, live, w.mtp.forward, -1);
        live += w.mtp.saved;
      }
      k.on_host += m.mtp_layers * (w.mtp.offloaded + w.mtp.doubled);
      k.stays = w.mtp.offloaded;
      k.comes = w.mtp.offloaded + w.mtp.doubled;
      k.kept += multiple{m.mtp_layers, w.mtp.kept};
    }
    k.saved = live + w.head_saved;
    k.kept += w.head_kept;
    keep(k.loss, none, live, w.head_forward, -1);
    live.add(row::activations, -mask_in_forward);
    k.saved.add(row::activations, -mask_in_forward);
    keep(k.backward, k.backward_layer, live + Moment(row::activations, k.stays), w.head_backward, -1);
    if (m.mtp_layers > 0) {
      // The gradients of all hidden states lie in one tensor until the stack's own is used.
      const Moment joined(row::temporaries, m.mtp_layers * w.input);
      for (std::int64_t i = 0; i < m.mtp_layers; ++i) {
        live -= w.mtp.saved;
        if (k.backward.rise_to(live, w.mtp.backward, joined)) k.backward_layer = -1;
      }
      live -= w.norm.saved;
      if (k.backward.rise_to(live, w.norm.backward, joined)) k.backward_layer = -1;
    }
  } else {
    live.add(row::activations, -mask_in_forward);
    k.saved = live;
  }
  for (std::int32_t i = k.size; i-- > 0;) {
    const auto& r = k.runs[static_cast<std::size_t>(i)];
    const auto& c = cost(r);
    live -= c.saved;
    const bool held = !k.has_head && i == k.size - 1;  // by the schedule, whose caller this is: output_tensor_grad
    keep(k.backward, k.backward_layer, live, held ? c.backward_first : c.backward, r.first + r.count * r.each - 1);
    live += multiple{1 - r.count, c.saved};
    if (held) live.add(row::communication_buffers, w.input);
  }
}

}  // namespace detail

}  // namespace headroom
