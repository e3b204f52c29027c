// Distributed under the Boost Software License, Version 1.0.
// How states are divided over data-parallel ranks, and what lives off the GPU.
#pragma once

#include <headroom/units/checked.hpp>

#include <cstdint>

namespace headroom {

/// DeepSpeed's ZeRO, PyTorch's FullyShardedDataParallel (fsdp1) and fully_shard (fsdp2), Megatron-LM's two.
enum class sharding_kind : std::uint8_t { none, ddp, zero, fsdp1, fsdp2, megatron_distributed_optimizer, megatron_fsdp };

/// A switch that may be left to the framework.
enum class choice : std::uint8_t { unset, no, yes };
constexpr bool chosen(choice c, bool otherwise) { return c == choice::unset ? otherwise : c == choice::yes; }

/// Sizes are in elements, as DeepSpeed's own keys are; -1: the framework's default.
struct sharding {
  sharding_kind kind{};
  std::int64_t stage{};                        ///< ZeRO stage 0 to 3 (FSDP: 3 full shard, 2 shard gradients and optimizer)
  choice reshard_after_forward{};
  bool no_sync{};                              ///< micro-batches accumulate unsharded gradients (FSDP's no_sync)
  choice overlap_comm{};
  choice contiguous_gradients{};
  choice reduce_scatter{};
  choice round_robin_gradients{};
  std::int64_t reduce_bucket_size{-1};
  std::int64_t allgather_bucket_size{-1};
  std::int64_t sub_group_size{-1};
  std::int64_t stage3_prefetch_bucket_size{-1};
  std::int64_t stage3_param_persistence_threshold{-1};
  std::int64_t stage3_max_live_parameters{-1};
  std::int64_t stage3_max_reuse_distance{-1};
  std::int64_t zero_hpz_partition_size{-1};
  std::int64_t mics_shard_size{-1};
  choice gradient_as_bucket_view{};            ///< DDP
  std::int64_t communication_unit{-1};         ///< Megatron-FSDP's suggested_communication_unit_size
  choice double_buffer{};                      ///< Megatron-FSDP: buffers of two layers stay (fsdp-double-buffer)

  /// Whether a bucket that ZeRO's stage has is left to DeepSpeed's default.
  [[nodiscard]] constexpr bool leaves_buckets_open() const { return reduce_bucket_size < 0 || (stage == 3 ? stage3_prefetch_bucket_size : allgather_bucket_size) < 0; }
  friend constexpr bool operator==(const sharding&, const sharding&) = default;
};

/// .sharding = zero(3), in a job.
constexpr sharding ddp() { return {.kind = sharding_kind::ddp}; }
constexpr sharding zero(std::int64_t stage) { return {.kind = sharding_kind::zero, .stage = stage}; }
constexpr sharding fsdp1(std::int64_t stage = 3) { return {.kind = sharding_kind::fsdp1, .stage = stage}; }
/// Stages: 0 no_shard, 1 optim, 2 optim_grads, 3 optim_grads_params.
constexpr sharding megatron_fsdp(std::int64_t stage = 3) { return {.kind = sharding_kind::megatron_fsdp, .stage = stage}; }
constexpr sharding fsdp2(std::int64_t stage = 3) { return {.kind = sharding_kind::fsdp2, .stage = stage}; }

enum class place : std::uint8_t { on_gpu, on_cpu, on_nvme };

/// What is kept off the GPU. Buffer counts and sizes (in elements) are DeepSpeed's; -1: its default.
struct offload {
  place optimizer{};
  place parameters{};
  place activations{};
  bool pin_memory{true};
  std::int64_t optimizer_buffer_count{-1};
  std::int64_t parameter_buffer_count{-1};
  std::int64_t parameter_buffer_size{-1};
  std::int64_t max_in_cpu{-1};

  friend constexpr bool operator==(const offload&, const offload&) = default;
};

}  // namespace headroom
