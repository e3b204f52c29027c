// Distributed under the Boost Software License, Version 1.0.
// How states are divided over data-parallel ranks, and what lives off the GPU.
#pragma once

#include <headroom/units/checked.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace headroom {

/// DeepSpeed's ZeRO, PyTorch's FullyShardedDataParallel (fsdp1) and fully_shard (fsdp2), Megatron-LM's two.
enum class sharding_kind : std::uint8_t { none, ddp, zero, fsdp1, fsdp2, megatron_distributed_optimizer, megatron_fsdp };

/// Whose code shards: PyTorch's, DeepSpeed's engine, Megatron-LM's.
enum class sharder : std::uint8_t { nobody, pytorch, deepspeed, megatron };

/// What may be divided over data-parallel ranks.
enum class sharded_state : std::uint8_t { weights, gradients, optimizer };

/// What sets one kind of sharding apart from another.
struct sharding_properties {
  static constexpr std::int64_t never = 4;

  sharder by{};
  std::array<std::int64_t, 3> cut_from{never, never, never};  ///< the first stage that divides parameters, gradients, optimizer states
  std::int64_t usual_stage{};   ///< where none is stated
  bool flat{};                  ///< one flat vector is cut into equal pieces; else each tensor is
  bool gathers_units{};         ///< a unit, mostly a layer, is unsharded (gathered whole) before it computes, and its gradients are reduced after its backward
  bool shards_are_master{};     ///< shards keep the master's format; the format that is computed in exists only while a unit is gathered
};

/// One row a kind, in the order of sharding_kind. Sources: torch nn/parallel/distributed.py; deepspeed runtime/zero/config.py
/// (ZeroStageEnum); torch distributed/fsdp/api.py (ShardingStrategy) and _flat_param.py; torch distributed/fsdp/_fully_shard (FSDPParam);
/// Megatron-LM core/optimizer/distrib_optimizer.py; megatron_fsdp param_and_grad_buffer.py (data_parallel_sharding_strategy).
inline constexpr std::array<sharding_properties, 7> sharding_table{{
    {},  // none
    {.by = sharder::pytorch},  // ddp
    {.by = sharder::deepspeed, .cut_from = {3, 2, 1}, .flat = true},  // zero
    {.by = sharder::pytorch, .cut_from = {1, 1, 1}, .usual_stage = 3, .flat = true, .gathers_units = true, .shards_are_master = true},  // fsdp1
    {.by = sharder::pytorch, .cut_from = {0, 0, 0}, .usual_stage = 3, .gathers_units = true, .shards_are_master = true},  // fsdp2
    {.by = sharder::megatron, .cut_from = {sharding_properties::never, sharding_properties::never, 0}, .usual_stage = 1, .flat = true},  // megatron_distributed_optimizer
    {.by = sharder::megatron, .cut_from = {3, 2, 1}, .usual_stage = 3, .flat = true, .gathers_units = true},  // megatron_fsdp
}};
constexpr const sharding_properties& properties_of(sharding_kind kind) { return sharding_table[static_cast<std::size_t>(kind)]; }

/// A switch that may be left to the framework.
enum class choice : std::uint8_t { unset, no, yes };
constexpr bool chosen(choice c, bool otherwise) { return c == choice::unset ? otherwise : c == choice::yes; }

/// How FSDP2 divides what lies outside the layers where embedding and head are two tables: one unit, the root's; the embedding a unit and the
/// rest the root's; or embedding, and last norm with head, a unit each. Of a tied model all is one.
enum class root_units : std::uint8_t { unset, whole, embedding_apart, split };

/// Sizes are in elements, as DeepSpeed's own keys are; -1: the framework's default.
struct sharding {
  sharding_kind kind{};
  std::int64_t stage{};                        ///< ZeRO stage 0 to 3 (FSDP: 3 full shard, 2 shard gradients and optimizer)
  choice reshard_after_forward{};
  bool no_sync{};                              ///< micro-batches accumulate unsharded gradients (FSDP's no_sync)
  bool loads_once{};                           ///< FSDP: the first rank of each node alone holds the weights on the host while they are loaded, and hands them on
  root_units root{};                           ///< FSDP2; left to the trainer where unset
  bool towers_in_root{};                       ///< FSDP2: a tower's layers are no units of their own, but gathered with what lies outside the layers
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
  choice backward_prefetch{};                  ///< FSDP1: a layer's backward gathers the layer before, as torch does unless it is told not to (accelerate, NO_PREFETCH)
  std::int64_t communication_unit{-1};         ///< Megatron-FSDP's suggested_communication_unit_size
  choice double_buffer{};                      ///< Megatron-FSDP: buffers of two layers stay (fsdp-double-buffer)

  /// Whether the size of a bucket that ZeRO's stage uses is left to DeepSpeed's default.
  [[nodiscard]] constexpr bool leaves_buckets_open() const { return reduce_bucket_size < 0 || (stage == 3 ? stage3_prefetch_bucket_size : allgather_bucket_size) < 0; }

  [[nodiscard]] constexpr const sharding_properties& properties() const { return properties_of(kind); }
  [[nodiscard]] constexpr bool by(sharder s) const { return properties().by == s; }
  /// Whether the stage is high enough that each rank keeps only a part of this state.
  [[nodiscard]] constexpr bool cuts(sharded_state state) const { return stage >= properties().cut_from[static_cast<std::size_t>(state)]; }
  /// Whether any stage of the kind divides anything; else ranks are replicas.
  [[nodiscard]] constexpr bool divides() const { return properties().cut_from[static_cast<std::size_t>(sharded_state::optimizer)] != sharding_properties::never; }
  [[nodiscard]] constexpr bool flat() const { return properties().flat; }
  [[nodiscard]] constexpr bool gathers_units() const { return properties().gathers_units; }
  /// Whether a unit stays unsharded from its forward to its backward, instead of being resharded in between.
  [[nodiscard]] constexpr bool stays_gathered() const { return stage == 2 || reshard_after_forward == choice::no; }
  /// Megatron's distributed optimizer: whole parameters, and shares of optimizer states.
  [[nodiscard]] constexpr bool distributes_optimizer() const { return by(sharder::megatron) && divides() && !gathers_units(); }
  /// Each tensor is cut along its first dimension: shards are DTensors, which tensor and context parallelism cut further (FSDP2).
  [[nodiscard]] constexpr bool cuts_tensors() const { return gathers_units() && !flat(); }
  /// PyTorch's FSDP, of either version.
  [[nodiscard]] constexpr bool fully_sharded() const { return by(sharder::pytorch) && gathers_units(); }

  bool operator==(const sharding&) const = default;
};

/// .sharding = zero(3), in a job.
constexpr sharding ddp() { return {.kind = sharding_kind::ddp}; }
constexpr sharding zero(std::int64_t stage) { return {.kind = sharding_kind::zero, .stage = stage}; }
constexpr sharding fsdp1(std::int64_t stage = 3) { return {.kind = sharding_kind::fsdp1, .stage = stage}; }
/// Stages: 0 no_shard, 1 optim, 2 optim_grads, 3 optim_grads_params.
constexpr sharding megatron_fsdp(std::int64_t stage = 3) { return {.kind = sharding_kind::megatron_fsdp, .stage = stage}; }
constexpr sharding fsdp2(std::int64_t stage = 3) { return {.kind = sharding_kind::fsdp2, .stage = stage}; }

/// Where something is kept.
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
  std::int32_t optimizer_fraction{1'000'000};  ///< of the trained parameters, whose optimizer lies there: millionths (Megatron-LM's --optimizer-offload-fraction)

  bool operator==(const offload&) const = default;
};

}  // namespace headroom
