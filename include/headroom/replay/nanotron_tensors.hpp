// Distributed under the Boost Software License, Version 1.0.
// The tensors that nanotron keeps of a stage, in the order it makes them: parameters, DDP's buckets, one tensor of fp32 gradients, one of
// masters; and what gathers updated parameters.
// Sources: see engine/tensor_parallel/nanotron_states.hpp; torch distributed/c10d/reducer.cpp compute_bucket_assignment_by_size.
#pragma once

#include <headroom/replay/stage_tensors.hpp>
#include <headroom/replay/tensor_memory.hpp>

#include <vector>

namespace headroom::detail {

/// DDP's buckets: the last parameter first, each closed when it has reached its size (1 MiB, then bucket_cap_mb of 25).
inline void make_buckets(const settled_job& s, const std::vector<stage_tensor>& all, tensor_memory& to) {
  const auto width = s.precision.parameters.width();
  std::int64_t limit = mib.count(), bucket = 0;
  for (auto i = all.size(); i-- > 0;) {
    bucket += all[i].elements * width;
    if (bucket < limit && i > 0) continue;
    to.make(bytes{bucket}, row::communication_buffers);
    limit = 25 * mib.count();
    bucket = 0;
  }
}

/// All of it. Returns the shares of which this rank has masters and moments: each tensor is cut by itself (optim/zero.py _partition_parameters).
inline std::vector<stage_tensor> make_nanotron_states(const settled_job& s, const std::vector<stage_tensor>& all, tensor_memory& to) {
  const auto& p = s.precision;
  const auto ranks = divides_updates(s) ? s.data : 1;
  for (const auto& t : all) to.make(bytes{checked::mul(t.elements, p.parameters.width())}, row::model_parameters);
  if (wraps_in_buckets(s)) make_buckets(s, all, to);
  auto mine = all;
  std::int64_t whole = 0, shares = 0;
  for (auto& t : mine) {
    whole += t.elements;
    shares += t.elements = checked::ceil_div(t.elements, ranks);
  }
  to.make(bytes{checked::mul(whole, p.gradients.width())}, row::gradients);
  to.make(bytes{checked::mul(shares, p.master.width())}, row::master_parameters);
  return mine;
}

/// Calls of an update before its optimizer's: the norm of each gradient, that of a large one behind a memset, and its scaling (optim/clip_grads.py
/// clip_grad_norm; torch aten/src/ATen/native/cuda/Reduce.cuh). Behind it each weight is copied in 16 bits (optim/gradient_accumulator.py step).
inline std::size_t clipping_calls(const std::vector<stage_tensor>& mine, std::int64_t ranks) {
  constexpr std::int64_t large = 1 << 16;
  std::size_t calls = 0;
  for (const auto& t : mine) calls += t.elements * ranks > large ? 3 : 2;
  return calls;
}

inline void gather_update(const gathered_update& g, tensor_memory& to) {
  if (g.ranks == 0) return;
  std::vector<tensor_memory::handle> made{to.make(g.mine, row::temporaries)};
  for (std::int64_t i = 0; i < g.ranks; ++i) made.push_back(to.make(g.each, row::temporaries));
  made.push_back(to.make(g.flat, row::temporaries));
  for (auto& h : made) to.free(h);
}

}  // namespace headroom::detail
