// Distributed under the Boost Software License, Version 1.0.
// The keys of ZeRO that a job has in DeepSpeed's own words (deepspeed/runtime/zero/config.py): where they are read, written and taken over.
#pragma once

#include <headroom/layout/sharding.hpp>

#include <string_view>

namespace headroom::io {

struct zero_size {
  std::string_view key;
  std::int64_t sharding::*member;

  /// DeepSpeed takes the keys of its third stage without their prefix, too; empty for the others.
  [[nodiscard]] constexpr std::string_view bare() const {
    constexpr std::string_view prefix = "stage3_";
    return key.starts_with(prefix) ? key.substr(prefix.size()) : std::string_view{};
  }
};
inline constexpr zero_size zero_sizes[] = {
    {"reduce_bucket_size", &sharding::reduce_bucket_size},
    {"allgather_bucket_size", &sharding::allgather_bucket_size},
    {"sub_group_size", &sharding::sub_group_size},
    {"stage3_prefetch_bucket_size", &sharding::stage3_prefetch_bucket_size},
    {"stage3_param_persistence_threshold", &sharding::stage3_param_persistence_threshold},
    {"stage3_max_live_parameters", &sharding::stage3_max_live_parameters},
    {"stage3_max_reuse_distance", &sharding::stage3_max_reuse_distance},
    {"zero_hpz_partition_size", &sharding::zero_hpz_partition_size},
    {"mics_shard_size", &sharding::mics_shard_size},
};

struct zero_switch {
  std::string_view key;
  choice sharding::*member;
};
inline constexpr zero_switch zero_switches[] = {
    {"overlap_comm", &sharding::overlap_comm},
    {"contiguous_gradients", &sharding::contiguous_gradients},
    {"reduce_scatter", &sharding::reduce_scatter},
    {"round_robin_gradients", &sharding::round_robin_gradients},
};

}  // namespace headroom::io
