// Distributed under the Boost Software License, Version 1.0.
// How a training framework does things, as plain data. One value describes one framework at one date; nothing here computes.
#pragma once

#include <headroom/framework/layer_profile.hpp>
#include <headroom/framework/step_profile.hpp>
#include <headroom/name.hpp>
#include <headroom/recipe/fused_kernel.hpp>

namespace headroom {

/// Who allocates: PyTorch's autograd as it goes, or the trainer before the first step.
enum class runtime : std::uint8_t { autograd, preallocated };

/// Where a job does not say how long its samples are: whether its micro-batches are all of one length, or padded to their longest sample,
/// as in fine-tuning without packing.
enum class micro_batch_lengths : std::uint8_t { one, of_longest_sample, of_longest_sample_with_adapters };

/// How one trainer does things, at one time.
struct profile {
  short_name label{};
  std::int32_t date{};                 ///< yyyymm; profiles of one label differ by date
  headroom::runtime runtime{runtime::autograd};
  bool recipes_change{};               ///< the training loop is a recipe that changes from release to release: runs whose commit is unstated lie further off
  micro_batch_lengths lengths{};

  // The model.
  modules_profile modules{};
  autograd_profile autograd{};
  autocast_profile autocast{};
  compile_profile compile{};
  norm_profile norm{};
  attention_profile attention{};
  rotary_profile rotary{};
  mlp_profile mlp{};
  experts_profile experts{};
  fp8_profile fp8{};
  loss_profile loss{};
  fused_kernels kernels{};             ///< that it always runs, whatever the job says
  adapter_profile adapters{};
  quantised_profile quantised{};

  // The step.
  checkpointing_profile checkpointing{};
  graph_profile graphs{};
  sharding_profile sharding{};
  gradients_profile gradients{};
  optimizer_profile optimizer{};
  communication_profile communication{};
  pipeline_profile pipeline{};
  recipe_profile recipe{};

  // The process.
  process_profile process{};
  loading_profile loading{};
  headroom::precision precision{precisions::bf16_mixed};  ///< where the job leaves it open

  /// Whether models that cap their scores run the attention that is asked for: transformers 5, told by how its experts multiply. It hands the cap to any
  /// function (models/gemma2/modeling_gemma2.py); flash attention caps, torch's own does without (integrations/sdpa_attention.py does not read it).
  [[nodiscard]] constexpr bool caps_in_kernels() const { return experts.joins_gate(); }
  /// Whether the layers are transformers' own classes, told by their RMSNorms: a class that calls no fused attention writes its scores out.
  [[nodiscard]] constexpr bool runs_transformers() const { return norm.names_scaled; }

  bool operator==(const profile&) const = default;
};

}  // namespace headroom
