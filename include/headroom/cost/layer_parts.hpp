// Distributed under the Boost Software License, Version 1.0.
// What the parts of a layer take of each resource for a micro-batch, on one rank: linear layers by their sizes, data moved and kernels
// started by the layer's program, attention by its pairs of positions.
#pragma once

#include <headroom/block/program.hpp>
#include <headroom/cost/flops.hpp>
#include <headroom/cost/matmul.hpp>
#include <headroom/settle/settle.hpp>
#include <headroom/states/states.hpp>

namespace headroom::detail {

/// Kernels of one forward that an eager recurrent mixer starts in loops, beside those that its program lists.
constexpr double looped_kernels(const shape& m, mixer_kind kind, std::int64_t sequence) {
  if (kind == mixer_kind::mamba1) return mamba1_loops(sequence);
  if (kind == mixer_kind::lightning_attention) return lightning_loops(m, sequence);
  if (kind == mixer_kind::rg_lru) return rg_lru_loops(sequence);
  return kind == mixer_kind::gated_delta_net ? gated_delta_net_loops(m, sequence) : 0.0;
}

/// Seconds of one direction.
struct pass_seconds {
  double matmul{};
  double weights{};        ///< of it, gradients of weights
  double attention{};
  double memory{};
  double communication{};  ///< that the direction waits for: tensor, expert and context parallelism
  double gaps{};           ///< of the device between kernels: they start and drain one after the other
  double host{};           ///< of a processor core that starts all of it
  double away{};           ///< no seconds: bytes of what is saved that go to host memory
  [[nodiscard]] constexpr double device() const { return matmul + attention + memory + communication + gaps; }
  [[nodiscard]] constexpr double total() const { return device() > host ? device() : host; }
  constexpr void add(const pass_seconds& o, double times = 1) {
    matmul += times * o.matmul, weights += times * o.weights, attention += times * o.attention, memory += times * o.memory;
    communication += times * o.communication, gaps += times * o.gaps, host += times * o.host, away += times * o.away;
  }
  constexpr void scale(double by) {
    const auto once = *this;
    *this = {};
    add(once, by);
  }
};
struct both_passes {
  pass_seconds forward{}, backward{};
  pass_seconds again{};    ///< what recomputation repeats of forward
  [[nodiscard]] constexpr double total() const { return forward.total() + backward.total() + again.total(); }
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
  module_set trained{};    ///< outside the stack, and in every layer where no selection names some
  double host_operation{};
  double host_kernel{};    ///< … of a loop's
  double flow{1};          ///< of the layers, those that backward comes by
};

/// Of the stack's layers, those that backward comes by: none below the first in which something trains, where nothing before the stack does.
constexpr double share_with_backward(const job& j) {
  constexpr module_set outside{module::embedding, module::position, module::head, module::mtp, module::encoder, module::vision, module::projector};
  constexpr module_set before{module::embedding, module::position, module::encoder, module::vision, module::projector};
  if (j.trainable.all() || j.adapter.active() || (trained_modules(j, -1).bits & before.bits) != 0) return 1;
  std::int64_t first = 0;
  while (first < j.model.layers && (trained_modules(j, first).bits & ~outside.bits) == 0) ++first;
  return static_cast<double>(j.model.layers - first) / static_cast<double>(j.model.layers);
}
/// Of a weight's copies, those that train.
constexpr double trained_share(const job& j, const module_set& trained, const weight& w) {
  if (j.trainable.all() || w.layers.count == 0) return trained.has(w.role) ? 1.0 : 0.0;
  return static_cast<double>(trained_copies(j, trained, w, w.copies())) / static_cast<double>(w.copies());
}

/// What a program's operations read and write, beside weights and their copies, and how many there are. A matrix multiplication's operands count: its
/// tiles' first loads and last stores are not hidden.
struct traffic {
  double bytes{};
  double operations{};
  double away{};           ///< bytes that go to host memory, and come back
};
constexpr traffic traffic_of(const program& p) {
  traffic t{};
  const auto add = [&](const auto& o, const auto& copies) {
    if ((o.reads | o.makes) != 0 || o.forward_temporary > bytes{0}) t.operations += 1;  // others only say what has a name
    t.bytes += static_cast<double>(p.sum(p.storages(o.reads) & ~copies).count() + p.sum(p.storages(o.makes) & ~copies).count());
  };
  for (std::size_t i = 0; i < p.operations(); ++i) p.near() ? add(p.at<near_set>(i), p.copies().word[0]) : add(p.at<wide_set>(i), p.copies());
  if (p.offloaded() != 0) [[unlikely]] t.away = static_cast<double>((p.sum(p.offloaded() & ~p.recomputed()) + p.doubled()).count());
  return t;
}
constexpr void add_traffic(both_passes& t, const cost_scene& c, const traffic& moved) {
  const double once = moved.bytes / c.on.memory;
  t.forward.memory += once;
  t.forward.away += moved.away;
  t.backward.memory += c.share.backward_traffic * once;
  t.forward.gaps += moved.operations * c.share.gap;
  t.backward.gaps += 2 * moved.operations * c.share.gap;
  t.forward.host += moved.operations * c.host_operation;
  t.backward.host += moved.operations * c.host_operation;
}

/// What dequantising moves beside weights, and a recurrence that PyTorch writes out beside what its program lists: temporaries are written and read, by kernels
/// of their own.
constexpr void add_dequantised(both_passes& t, const cost_scene& c, const program& p) {
  for (std::size_t i = 0; i < p.operations(); ++i) {
    const auto o = p[i];
    t.forward.memory += 2 * static_cast<double>(o.forward_temporary.count()) / c.on.memory;
    t.backward.memory += 2 * static_cast<double>(o.backward_temporary.count()) / c.on.memory;
  }
}

/// A linear layer of this rank: rows (tokens) × in → out, `copies` of it side by side. `trains`: how much of it. Autocast casts what is not in its format
/// (PyTorch 2.4 aten/src/ATen/autocast_mode.cpp cached_cast): a wider weight is read, its copy written and read, and backward finds the copy saved. The
/// copy's gradient is copied into the weight's format (torch/csrc/autograd/FunctionsManual.cpp _to_copy_backward).
constexpr void add_linear(both_passes& t, const cost_scene& c, double tokens, double out, double in, double copies, double trains, bool quantised, double rate) {
  const auto& s = *c.job;
  // Three multiplications of the same sizes, each of them once the inner one: see seconds_of(matmul).
  const double rows = whole_tiles(tokens), columns = whole_tiles(out), inner = whole_tiles(in), each = 2 * copies / rate;
  t.forward.matmul += rows * columns * in * each;
  t.backward.matmul += rows * inner * out * each;
  const double elements = out * in * copies;
  const auto width = static_cast<double>(c.layer.width);
  const double stored = quantised ? 0.5 : static_cast<double>(c.layer.weight_width);
  const double cast = quantised || !c.layer.casts_weights ? 0.0 : c.layer.narrow_frozen ? trains : 1.0;
  const double reads = elements * (quantised ? stored + width : width) / c.on.memory;  // dequantised ones are masked in place: see add_dequantised
  t.forward.memory += reads + cast * elements * (stored + width) / c.on.memory;
  t.backward.memory += reads;
  if (trains == 0) return;
  const double gradient = trains * columns * inner * tokens * each;
  t.backward.matmul += gradient;
  t.backward.weights += gradient;
  // Written by the multiplication, and added to what there is: by itself, or by a kernel of its own.
  const double kept = static_cast<double>(s.precision.gradients.width());
  const double made = 2 * static_cast<double>(c.layer.weight_width) + (c.layer.casts_weights ? 2 * width : 0.0);
  t.backward.memory += trains * elements * (c.layer.fuses_weight_gradients ? 2 * kept : made + 2 * kept) / c.on.memory;
}

/// How long the documents of a packed sequence are to a kernel that computes no pairs of different ones: as long as a token's own is on average,
/// where a job says their lengths; else as the sequence. Such kernels are told where each begins, or skip blocks of a mask.
constexpr double attended_length(const cost_scene& c) {
  const auto& b = c.job->source->batch;
  return b.packed && b.lengths.given() ? b.lengths.of_a_token(b.sequence) : static_cast<double>(c.layer.sequence);
}

/// Scores and what they weigh.
constexpr void add_attention(both_passes& t, const cost_scene& c, const shape& m) {
  const auto& l = c.layer;
  const auto samples = static_cast<double>(l.samples), sequence = static_cast<double>(l.sequence), context = static_cast<double>(l.context);
  const auto heads = static_cast<double>(m.heads) / static_cast<double>(l.tensor);
  if (l.kernel == attention::eager || l.kernel == attention::math || ops::attends_by_math(l, m)) {
    const auto width = m.head_width();
    const double rate = aligned(width, l.width) && aligned(l.sequence, l.width) ? c.on.matmul_16 : c.on.unaligned;
    const auto scores = seconds_of({.rows = sequence / context, .columns = sequence + (m.position == position_kind::disentangled ? static_cast<double>(m.relative_buckets) : 0.0), .inner = static_cast<double>(width), .batch = samples * heads}, rate);
    t.forward.attention += 2 * scores;
    t.backward.attention += 4 * scores;
    return;
  }
  const double own = attended_length(c);
  if (ops::masks_window(l, m) || (l.habits->attention.masks != sdpa_masks::none && ops::masks_all(l, m))) {  // torch's kernel for masks computes every pair
    auto whole = m;
    whole.sliding_window = 0;
    const double pairs = 2 * samples * attended_pairs(whole, sequence, causal_convention::whole_square) * pair_features(m) / static_cast<double>(l.tensor) / context;
    t.forward.attention += pairs / c.on.attention;
    t.backward.attention += 2.5 * pairs / c.on.attention;
    return;
  }
  const double work = 2 * samples * (sequence / own) * attended_pairs(m, own, causal_convention::half_square) * pair_features(m) / static_cast<double>(l.tensor) / context;
  t.forward.attention += work / c.on.attention;
  t.backward.attention += 2.5 * work / c.on.attention;  // five multiplications for two: scores again, and four gradients (Dao et al. 2022, algorithm 4)
}

/// The indexer of sparse attention, forward alone: its matrices and every pair of positions in fp32, and what is written and read of the scores:
/// the product, its multiple and the positive part, each of them twice.
constexpr void add_indexer_time(both_passes& t, const cost_scene& c) {
  const auto& m = c.job->model;
  const auto& a = m.mla;
  const auto& l = c.layer;
  const double weights = product(a.q_rank, a.index_heads, a.index_dim) + product(m.hidden, a.index_heads + a.index_dim);
  const double pairs = product(l.tokens, l.sequence, a.index_heads);
  t.forward.attention += 2 * product(l.tokens) * weights / c.on.matmul_16 + 2 * pairs * product(a.index_dim + 1) / c.on.unaligned;
  t.forward.memory += 6 * 4 * pairs / c.on.memory;
}

/// What a mixer multiplies beside its weights.
constexpr void add_mixer(both_passes& t, const cost_scene& c, mixer_kind kind) {
  if (attends(kind)) global(kind) ? add_attention(t, c, globally(c.job->model)) : add_attention(t, c, c.job->model);
  if (kind == mixer_kind::sparse_attention) add_indexer_time(t, c);
  if (!recurrent(kind)) return;
  // Matrices of a chunk's size, in 16 bits where kernels are fused; backward is two multiplications for one, and one again.
  const bool eager = c.layer.recurrence == recurrence::eager;
  const double seconds = product(c.layer.tokens) * recurrence_flops(c.job->model, kind) / static_cast<double>(c.layer.tensor) / (eager ? c.on.unaligned : c.on.matmul_16);
  t.forward.attention += seconds;
  t.backward.attention += 3 * seconds;
  const double kernels = eager ? looped_kernels(c.job->model, kind, c.layer.sequence) : 0.0;
  t.forward.gaps += kernels * c.share.gap;
  t.backward.gaps += 2 * kernels * c.share.gap;
  t.forward.host += kernels * c.host_kernel;
  t.backward.host += kernels * c.host_kernel;
}

}  // namespace headroom::detail
