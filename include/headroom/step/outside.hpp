// Distributed under the Boost Software License, Version 1.0.
// Memory of a GPU beside its tensors: library workspaces inside the allocator, context and communicators outside it.
#pragma once

#include <headroom/step/settle.hpp>

namespace headroom {

/// cuBLAS workspace of one handle and stream, which lies in the caching allocator: 4096 KiB × 2 + 16 KiB × 8, and 32 MiB with
/// compute capability 9.x, with 10.x and later since 2026-02 (aten/src/ATen/cuda/CublasHandlePool.cpp,
/// parseChosenWorkspaceSize; pytorch pull request 175344); 32 MiB on AMD.
constexpr bytes cublas_workspace(const settled_job& s) {
  const auto& j = *s.source;
  const auto& g = *s.on;
  if (g.maker == vendor::cpu) return bytes{0};
  if (j.environment.cublas_workspace >= bytes{0}) return j.environment.cublas_workspace;
  if (g.maker == vendor::amd || g.compute_capability / 10 == 9 || (g.compute_capability >= 100 && j.framework.date >= 202602)) return 32 * mib;
  return 8'519'680 * bytes{1};
}

/// CUDA context with its kernels. Calibrated, not derived: 300 to 400 MiB with lazily loaded modules in public reports
/// (426 MiB on an RTX 6000 Ada with torch 2.10; 287 MB lazily and 667 MB eagerly loaded with torch 1.13).
/// Loaded whole, they took 1,343 MiB on a V100 with torch 1.10 (transformers, guide to training on one GPU: before the model).
constexpr bytes context_of(const gpu& g, bool loads_all_kernels = false) {
  return g.maker == vendor::cpu ? bytes{0} : (loads_all_kernels ? 1343 : 400) * mib;
}

/// NCCL's buffers for one ring over `ranks`: a channel receives from one peer (10 MiB: Simple, LL and LL128 each rounded up to
/// 2 MiB) and sends to one (2 MiB) (src/init.cc computeBuffSizes, transport/p2p.cc). Channels as NCCL opens them within a node
/// of NVLink GPUs (16), and across nodes.
constexpr bytes nccl_of(const settled_job& s) {
  const auto& g = *s.on;
  if (g.maker == vendor::cpu || s.data <= 1) return bytes{0};
  constexpr std::int64_t channels = 16;
  bytes simple = s.source->environment.nccl_buffsize >= bytes{0} ? s.source->environment.nccl_buffsize : 4 * mib;
  const auto receive = round_up(simple, 2 * mib) + round_up(bytes{524'288}, 2 * mib) + round_up(bytes{4'915'200}, 2 * mib) - 2 * mib;
  const auto& z = s.source->sharding;
  const bool groups = s.source->parallel.replicate > 1 || s.shards.secondary > 1 || (z.mics_shard_size > 0 && z.mics_shard_size < s.data);
  return (groups ? 2 : 1) * channels * (receive + 2 * mib + 2 * mib);
}

}  // namespace headroom
