// Distributed under the Boost Software License, Version 1.0.
// A Llama's tensors, and what a rank of an eager trainer holds of them from its start to its end, counted tensor by tensor.
#pragma once

#include "ledger.hpp"

#include <headroom/headroom.hpp>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace ledger {

/// Elements of a Llama's tensors.
struct sizes {
  std::vector<std::int64_t> layer;
  std::int64_t table, norm, tables;
  explicit sizes(const shape& m) : table(m.vocab * m.hidden), norm(m.hidden), tables(m.tied ? 1 : 2) {
    const auto q = m.heads * m.head_width(), kv = m.kv_heads * m.head_width();
    layer = {q * m.hidden, kv * m.hidden, kv * m.hidden, q * m.hidden, m.hidden * m.ffn, m.hidden * m.ffn, m.hidden * m.ffn, m.hidden, m.hidden};
  }
};
inline std::int64_t sum(const std::vector<std::int64_t>& of) { return std::accumulate(of.begin(), of.end(), std::int64_t{0}); }
inline std::int64_t outside(const sizes& of) { return of.tables * of.table + of.norm; }
inline std::int64_t block(std::int64_t bytes) { return (bytes + 511) / 512 * 512; }

/// Elements of a layer's adapters: two matrices beside each of its seven.
inline std::vector<std::int64_t> adapters(const job& j) {
  const auto& m = j.model;
  const auto q = m.heads * m.head_width(), kv = m.kv_heads * m.head_width(), r = j.adapter.rank;
  std::vector<std::int64_t> all;
  for (const auto& [out, in] : {std::pair{q, m.hidden}, {kv, m.hidden}, {kv, m.hidden}, {m.hidden, q}, {m.ffn, m.hidden}, {m.ffn, m.hidden}, {m.hidden, m.ffn}})
    all.push_back(r * in), all.push_back(r * out);
  return all;
}

/// What a rank holds all along: its part of the weights, of an fp32 copy and of two moments, token numbers and labels, cuBLAS's workspace, and tables of
/// angles or the frequencies that they are made of. Flat parts are not rounded up to the allocator's blocks.
inline amounts resident(const job& j) {
  const auto s = settle(j);
  const sizes of(j.model);
  const auto& z = j.sharding;
  const auto ranks = j.parallel.data / j.parallel.replicate;
  const bool flat = z.kind == sharding_kind::fsdp1 || z.kind == sharding_kind::zero, whole = z.kind == sharding_kind::zero || z.kind == sharding_kind::ddp || z.kind == sharding_kind::none;
  std::vector<std::int64_t> tensors(static_cast<std::size_t>(of.tables), of.table);
  tensors.push_back(of.norm);
  for (std::int64_t i = 0; i < j.model.layers; ++i) tensors.insert(tensors.end(), of.layer.begin(), of.layer.end());
  const auto& p = s.precision;
  amounts r;
  if (j.adapter.active()) {  // a frozen model, and what trains beside it in fp32
    for (const auto n : tensors) r[row::model_parameters] += block(p.parameters.bits / 8 * (whole ? n : (n + ranks - 1) / ranks));
    for (const auto n : adapters(j)) {
      const auto part = block(4 * (z.kind == sharding_kind::ddp || z.kind == sharding_kind::none ? n : (n + ranks - 1) / ranks));
      r[row::adapters] += j.model.layers * part;
      r[row::optimizer_state] += j.model.layers * 2 * part;
      r[row::communication_buffers] += z.kind == sharding_kind::ddp ? j.model.layers * part : 0;
    }
    tensors.clear();
  }
  for (const auto n : tensors) {
    const auto part = z.kind == sharding_kind::ddp || z.kind == sharding_kind::none ? n : (n + ranks - 1) / ranks;
    const auto sized = [&](std::int64_t elements, const number_format& f) { return flat ? f.bits / 8 * elements : block(f.bits / 8 * elements); };
    r[row::model_parameters] += whole ? block(p.parameters.bits / 8 * n) : sized(part, p.parameters);
    r[row::master_parameters] += p.master.bits > 0 ? sized(part, p.master) : 0;
    r[row::optimizer_state] += 2 * sized(part, s.optimizer.state);
    r[row::communication_buffers] += z.kind == sharding_kind::ddp || (z.kind == sharding_kind::none && j.parallel.data > 1) ? block(p.gradients.bits / 8 * n) : 0;
  }
  const auto angles = j.model.head_width();
  r[row::workspace] = j.framework.process.cublas_handles * cublas_workspace(s).count();
  r[row::activations] = 16 * j.batch.micro * j.batch.sequence + (j.framework.rotary.caches() ? 2 * j.batch.sequence * angles * 4 : 0);
  // Or a mask of all pairs of positions, a byte each, and cosines and sines of all of them.
  if (j.framework.rotary.tables == rope_tables::buffers_beside_mask) r[row::activations] += j.model.max_positions * (j.model.max_positions + 2 * angles * 4);
  return r;
}

/// The most that a rank holds until its trainer is built: its weights, and beside them the largest tensor that is cut as a whole; or, where FSDP1 wraps on
/// the GPU, what lies outside the layers twice, last; DDP's buckets; an fp32 copy, and zeros as large for gradients while ZeRO's optimizer is built.
inline std::int64_t loading(const job& j, const amounts& all_along) {
  const auto s = settle(j);
  const sizes of(j.model);
  const auto kept = [&](row r) { return all_along.count(r) == 1 ? all_along.at(r) : 0; };
  const std::int64_t weights = kept(row::model_parameters), width = s.precision.parameters.bits / 8;
  const auto tables = kept(row::activations) - 16 * j.batch.micro * j.batch.sequence;
  const bool fsdp = j.sharding.kind == sharding_kind::fsdp1 || j.sharding.kind == sharding_kind::fsdp2;
  if (!fsdp) return weights + tables + kept(row::communication_buffers) + (j.sharding.kind == sharding_kind::zero ? 2 * kept(row::master_parameters) : 0);
  if (j.sharding.kind == sharding_kind::fsdp1 && j.framework.sharding.wraps_on_gpu) return weights + 2 * width * outside(of) - width * outside(of) / j.parallel.data;
  const auto largest = std::max(of.table, *std::max_element(of.layer.begin(), of.layer.end()));
  return weights + width * largest + tables;
}

}  // namespace ledger
