// Distributed under the Boost Software License, Version 1.0.
// How completions come about in online methods: who generates, on which GPUs, with how much of them, and what the trainer does meanwhile.
#pragma once

#include <headroom/layout/sharding.hpp>
#include <headroom/recipe/number_format.hpp>
#include <headroom/rollout/engine.hpp>

#include <initializer_list>

namespace headroom {

/// On the GPUs that train, or on others.
enum class rollout_place : std::uint8_t { unset, colocated, separate };

/// What a trainer may put on the host while completions are generated.
enum class trainer_part : std::uint8_t { weights, optimizer, gradients };
/// A set of these.
struct trainer_parts {
  std::uint32_t bits{};
  constexpr trainer_parts() = default;
  constexpr trainer_parts(std::initializer_list<trainer_part> list) {
    for (const auto p : list) add(p);
  }
  constexpr void add(trainer_part p) { bits |= std::uint32_t{1} << static_cast<int>(p); }
  [[nodiscard]] constexpr bool has(trainer_part p) const { return (bits >> static_cast<int>(p) & 1U) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits == 0; }
  bool operator==(const trainer_parts&) const = default;
};

/// Which model writes, where it is not the policy alone: a distillation's teacher, of all batches or of those that the student leaves (seq_kd).
enum class completion_writer : std::uint8_t { unset, teacher, both };

/// Who generates what a method learns from, where, and how long its texts are.
struct rollout {
  engine_kind engine{};             ///< unset: nothing is generated
  rollout_place placement{};
  completion_writer by{};
  memory_share share{};             ///< of a GPU's memory, as the engine reads it
  std::int64_t tensor{1};           ///< GPUs over which the engine divides the model
  std::int32_t sleep{-1};           ///< 0: it stays; 1: its weights go to the host; 2: they are thrown away. Keys and values go with both. -1: not said
  std::int32_t gpus{};              ///< of an engine that has GPUs of its own; 0: not said
  choice graphs{};                  ///< CUDA graphs; unset: the engine's own choice, yes
  choice gathers{};                 ///< where the trainer generates: ZeRO's third stage gathers the whole model first; unset: yes
  trainer_parts trainer_moves{};
  number_format format{};           ///< of its weights; not set(): bf16
  number_format kv_format{};        ///< of keys and values; not set(): as the weights
  std::int64_t batched_tokens{};    ///< tokens of one of its forwards, at most; 0: the trainer's choice
  std::int64_t prompt{}, completion{};  ///< tokens, at most; together batch.sequence
  std::int64_t data_answers{};      ///< tokens of the data set's longest answer, where a part of a distillation's batches learns from those; 0: none does
  std::int64_t generations{};       ///< completions of each prompt; 0: not said
  std::int64_t steps_per_generation{};  ///< micro-batches whose completions are generated together, as TRL and ms-swift count them; 0: those between two updates
  std::int64_t iterations{};        ///< updates that learn from the same completions (num_iterations, num_ppo_epochs); 0: one
  choice corrects{};                ///< TRL weighs tokens by what vLLM and the policy say of them (vllm_importance_sampling_correction); unset: yes, since 0.23
  std::int64_t batch{};             ///< completions that a GPU scores at once; 0: as many as it trains on at once
  std::int64_t sync_bucket_mib{-1}; ///< verl's buffer for weights on their way; 0: without one; -1: 2048
  std::int64_t sync_groups{1};      ///< groups of layers that are gathered one after the other

  [[nodiscard]] constexpr bool given() const { return engine != engine_kind::unset; }
  /// Micro-batches whose completions are generated together.
  [[nodiscard]] constexpr std::int64_t micro_batches(std::int64_t accumulation) const { return steps_per_generation > 0 ? steps_per_generation : accumulation; }
  /// The trained weights generate, in the trainer's process.
  [[nodiscard]] constexpr bool by_module() const { return engine == engine_kind::trainer || engine == engine_kind::hybrid; }
  /// An engine of its own lies on the GPUs that train.
  [[nodiscard]] constexpr bool shares_gpus() const { return given() && !by_module() && placement == rollout_place::colocated; }
  [[nodiscard]] constexpr bytes bucket() const { return (sync_bucket_mib < 0 ? 2048 : sync_bucket_mib) * mib; }
  [[nodiscard]] constexpr bool sleeps() const { return sleep > 0; }
  [[nodiscard]] constexpr const number_format& weight_format() const { return format.set() ? format : formats::bf16; }
  [[nodiscard]] constexpr const number_format& cache_format() const { return kv_format.set() ? kv_format : weight_format(); }
  bool operator==(const rollout&) const = default;
};

}  // namespace headroom
