// Distributed under the Boost Software License, Version 1.0.
// How large DeepSpeed ZeRO's buckets are, of which a job may leave any open.
#pragma once

#include <headroom/layout/sharding.hpp>

namespace headroom::detail {

/// DeepSpeed's own defaults (runtime/zero/config.py), in elements.
struct zero_sizes {
  std::int64_t reduce_bucket{500'000'000};
  std::int64_t allgather_bucket{500'000'000};
  std::int64_t sub_group{1'000'000'000};
  std::int64_t prefetch{50'000'000};
  std::int64_t max_live{1'000'000'000};
  std::int64_t max_reuse{1'000'000'000};
  bool overlap{};
};
constexpr zero_sizes zero_sizes_of(const sharding& z) {
  zero_sizes r;
  const auto set = [](std::int64_t& to, std::int64_t from) {
    if (from >= 0) to = from;
  };
  set(r.reduce_bucket, z.reduce_bucket_size);
  set(r.allgather_bucket, z.allgather_bucket_size);
  set(r.sub_group, z.sub_group_size);
  set(r.prefetch, z.stage3_prefetch_bucket_size);
  set(r.max_live, z.stage3_max_live_parameters);
  set(r.max_reuse, z.stage3_max_reuse_distance);
  r.overlap = chosen(z.overlap_comm, z.stage == 3);
  return r;
}

}  // namespace headroom::detail
