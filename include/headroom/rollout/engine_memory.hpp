// Distributed under the Boost Software License, Version 1.0.
// What an engine of its own holds on a GPU that trains, awake and asleep, and on the host.
#pragma once

#include <headroom/hardware/cluster.hpp>
#include <headroom/rollout/key_value_cache.hpp>
#include <headroom/rollout/rollout.hpp>

namespace headroom {

/// What an inference engine holds of one GPU while it is awake, in bytes.
struct engine_memory {
  bytes weights{};
  bytes forward{};  ///< tensors of one of its forwards
  bytes cache{};    ///< room for keys and values; not above 0 where there is none
  [[nodiscard]] constexpr bytes awake() const { return weights + forward + cache; }
};

namespace detail {

/// Tensors of a forward over so many positions, at their tallest: the residual stream twice, and what a feed-forward reads and makes (vllm
/// model_executor/models/llama.py LlamaMLP; fused_moe.py, whose tokens are sorted and whose results are summed).
constexpr bytes engine_forward(const shape& m, std::int64_t tensor, std::int64_t positions, std::int64_t width) {
  const auto dense = checked::mul(3, m.ffn) / tensor;
  const auto routed = m.sparse() ? checked::mul(m.experts.active, checked::add(checked::mul(3, m.experts.ffn) / tensor, m.hidden)) : 0;
  const auto widest = checked::add(checked::mul(2, m.hidden), dense > routed ? dense : routed);
  return bytes{checked::mul(positions, widest, width)};
}

}  // namespace detail

/// CUDA graphs of an engine: captured after its keys and values have their room, in no share, and there while it sleeps. Not derived: 0.3 to 2.5 GiB are reported
/// (2,464 MiB for 34 B over four 24 GB cards, vllm issue 7553); a report lists it as an assumption.
constexpr bytes graphs_of(const rollout& r) { return chosen(r.graphs, true) ? gib : bytes{0}; }

/// On a GPU of the kind; `held`: what is in use there when the engine starts.
constexpr engine_memory engine_memory_of(const shape& m, const inventory& list, const rollout& r, bytes card, bytes held) {
  engine_memory e;
  const auto positions = r.batched_tokens > 0 ? r.batched_tokens : 8192;
  e.weights = engine_weights(m, list, r.tensor, r.weight_format());
  e.forward = detail::engine_forward(m, r.tensor, positions, r.weight_format().width());
  const auto budget = engine_budget(r.engine, r.share, card, held);
  e.cache = budget - e.weights - (properties_of(r.engine).forward_in_share ? e.forward : bytes{0});
  return e;
}

/// Why an engine does not start; empty where it does: keys and values of one sequence must have room (vllm v1/core/kv_cache_utils.py
/// check_enough_kv_cache_memory).
constexpr objection check_start(const shape& m, const rollout& r, const engine_memory& e) {
  if (room_for(e.cache, pages_of(m, r), r.prompt + r.completion).sequences > 0) return {};
  return objecting{}("headroom: rollout.share is too small: beside the engine's weights it has no room for the keys and values of one sequence, and the engine stops when it starts; share, in millionths", r.share.per_million);
}

namespace detail {

/// Which matrices of a layer are one of the engine's, by a number: q, k and v; gate and up, of experts alike. 0: by itself.
constexpr int joined_matrix(const shape& m, module role) {
  switch (role) {
    case module::q_proj:
    case module::k_proj:
    case module::v_proj: return m.latent() ? 0 : 1;
    case module::gate_proj:
    case module::up_proj: return 2;
    case module::experts_gate:
    case module::experts_up: return 3;
    case module::shared_gate:
    case module::shared_up: return 4;
    default: return 0;
  }
}

/// What pinned copies of pieces take: each is rounded up to a power of two.
class pinned_pieces {
 public:
  constexpr void add(bytes piece, std::int64_t copies) {
    if (piece < 10 * mib) small_ += copies * piece;
    else sum_ += copies * bytes{checked::power_of_two_ceil(round_up(piece, 2 * mib).count())};
  }
  [[nodiscard]] constexpr bytes total() const { return sum_ + checked::ceil_div(small_.count(), (20 * mib).count()) * (32 * mib); }

 private:
  bytes sum_{0}, small_{0};
};

}  // namespace detail

/// Host memory of an engine whose weights sleep there: a pinned copy of each piece that its allocator mapped (vllm device_allocator/cumem.py
/// CuMemAllocator.sleep), which PyTorch's host allocator rounds up to a power of two and keeps once the weights are back. Pieces are what
/// PyTorch's caching allocator maps: a matrix by itself, rounded up to 2 MiB, and smaller tensors of less than 10 MiB in pieces of 20 MiB.
constexpr bytes engine_backup(const shape& m, const inventory& list, const rollout& r) {
  detail::pinned_pieces all;
  struct {
    int number{};
    layer_span at{};
    bytes piece{};
    std::int64_t copies{};
  } open;
  const auto close = [&] {
    if (open.piece > bytes{0}) all.add(open.piece, open.copies);
    open.piece = bytes{0};
  };
  for (const auto& w : list) {
    if (w.role == module::mtp) continue;
    const auto columns = detail::engine_split(w) == split_axis::columns ? w.columns / r.tensor : w.columns;
    auto one = parameters{checked::mul(detail::engine_rows(m, w, r.tensor), columns)} * r.weight_format().density();
    if (w.expert) one = one * w.per_layer;
    const auto copies = w.expert ? w.layers.count : w.copies();
    if (w.vector()) {
      all.add(one, copies);
      continue;
    }
    const auto number = detail::joined_matrix(m, w.role);
    if (number == 0 || number != open.number || w.layers != open.at) close();
    open.number = number;
    open.at = w.layers;
    open.piece += one;
    open.copies = copies;
  }
  close();
  return all.total();
}

}  // namespace headroom
