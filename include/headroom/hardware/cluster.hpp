// Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <headroom/hardware/gpu.hpp>

namespace headroom {

/// Equal nodes of equal GPUs. Host memory and NVMe are per node; 0: not stated, so not judged.
struct cluster {
  headroom::gpu gpu{};
  std::int64_t nodes{1};
  std::int64_t gpus_per_node{1};
  bytes host_memory{};
  bytes nvme{};

  /// The GPU of the job, or the one that is assumed where a job names none.
  [[nodiscard]] constexpr bool names_gpu() const { return !gpu.label.empty() || gpu.memory != bytes{0}; }
  [[nodiscard]] constexpr const headroom::gpu& accelerator() const { return names_gpu() ? gpu : headroom::gpus::h100_sxm_80gb; }
  [[nodiscard]] constexpr std::int64_t gpus() const { return checked::mul(nodes, gpus_per_node); }
  friend constexpr bool operator==(const cluster&, const cluster&) = default;
};

}  // namespace headroom
