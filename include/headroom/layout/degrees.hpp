// Distributed under the Boost Software License, Version 1.0.
// How the work is divided over GPUs: degrees, and the pipeline's schedule.
#pragma once

#include <headroom/units/checked.hpp>

#include <cstdint>

namespace headroom {

enum class schedule : std::uint8_t { one_forward_one_backward, naive, gpipe, interleaved, zero_bubble, dualpipe };
enum class context_kind : std::uint8_t { ring, ulysses, all_gather };

/// Degrees of parallelism. `data` counts all replicas, `replicate` included; 0: whatever the GPUs leave.
struct degrees {
  static constexpr int max_chunks = 64;
  std::int64_t data{};
  std::int64_t replicate{1};
  std::int64_t tensor{1};
  bool sequence{};
  std::int64_t pipeline{1};
  std::int64_t virtual_pipeline{1};
  headroom::schedule schedule{};
  std::int64_t first_stage_layers{};
  std::int64_t last_stage_layers{};
  std::int32_t stage_layers[max_chunks]{};  ///< layers of each chunk, when they are uneven
  std::int32_t chunks{};                    ///< how many of them are given
  std::int64_t context{1};
  headroom::context_kind context_kind{};
  std::int64_t expert{1};
  std::int64_t expert_tensor{1};
  std::int64_t expert_imbalance_percent{100};  ///< tokens of the busiest expert-parallel rank, of an even share; routing decides

  friend constexpr bool operator==(const degrees&, const degrees&) = default;
};

}  // namespace headroom
