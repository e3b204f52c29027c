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

  [[nodiscard]] constexpr std::int64_t gpus() const { return checked::mul(nodes, gpus_per_node); }
  friend constexpr bool operator==(const cluster&, const cluster&) = default;
};

}  // namespace headroom
