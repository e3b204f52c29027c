// Distributed under the Boost Software License, Version 1.0.
// What is trained, on what, how: an aggregate of plain structural members. Key for key the job file.
#pragma once

#include <headroom/framework/libtorch.hpp>
#include <headroom/hardware/cluster.hpp>
#include <headroom/layout/degrees.hpp>
#include <headroom/layout/sharding.hpp>
#include <headroom/measured/run.hpp>
#include <headroom/model/images.hpp>
#include <headroom/model/shape.hpp>
#include <headroom/recipe/adapter.hpp>
#include <headroom/recipe/evaluation.hpp>
#include <headroom/recipe/fake_quantization.hpp>
#include <headroom/recipe/objective.hpp>
#include <headroom/recipe/optimizer.hpp>
#include <headroom/recipe/precision.hpp>
#include <headroom/recipe/sample_lengths.hpp>
#include <headroom/rollout/rollout.hpp>

namespace headroom {

/// What a rank works on in a step, in examples and tokens.
struct batch {
  std::int64_t micro{1};         ///< examples a rank works on at once: sequences, or what the objective makes of them (pairs)
  std::int64_t sequence{};       ///< tokens of each
  std::int64_t accumulation{1};  ///< micro-batches in a step
  bool padded{};                 ///< an attention mask is passed
  bool packed{};                 ///< documents share a sequence behind a block mask
  image_batch images{};          ///< of each sample; their tokens are among those of the sequence
  sample_lengths lengths{};      ///< of samples that are not all as long as the sequence; not given(): they are
  /// Tokens of each example of the longest micro-batch: what every moment's tallest is that of.
  /// Whether micro-batches are of different lengths: packed ones are not, whatever their documents are.
  [[nodiscard]] constexpr bool varies() const { return lengths.given() && !packed; }
  [[nodiscard]] constexpr std::int64_t longest() const { return lengths.padded(varies() ? lengths.longest_within(sequence) : sequence); }
  bool operator==(const batch&) const = default;
};

/// What is computed again in backward instead of being saved (activation checkpointing): nothing, whole layers, or parts of them.
enum class recompute_mode : std::uint8_t { none, full, selective };
/// Megatron-LM's --recompute-method: groups of `layers` layers over the whole stack, or the first `layers` of each stage one by one.
enum class recompute_method : std::uint8_t { unset, uniform, block };
/// Which saved tensors a selective policy drops.
enum class recompute_policy : std::uint8_t { unset, every_other_matmul, attention_only };
/// Modules that Megatron can recompute by name, as bits.
enum class recompute_module : std::uint8_t { core_attn, mlp, moe, moe_act, layernorm, mla_up_proj, shared_experts, gelu };

/// How much is computed again in backward; recompute::none and recompute::full are the two that most use.
struct recompute {
  recompute_mode mode{};
  recompute_method method{};
  std::int64_t layers{};   ///< of `method`; 0: all
  std::uint32_t modules{}; ///< bit i: recompute_module i
  recompute_policy policy{};
  choice reentrant{};
  choice towers{};       ///< layers of a vision tower, too; `unset`: as the main stack's
  choice frozen_towers{};  ///< what a tower makes of patches is asked for a gradient, and gradients go back through its layers, whether they train or not; `unset`: as the framework does

  static const recompute none;
  static const recompute full;
  bool operator==(const recompute&) const = default;
};
/// Nothing is computed again.
inline constexpr recompute recompute::none{};
inline constexpr recompute recompute::full{.mode = recompute_mode::full};

/// The attention kernel. `unset`: sdpa. `math` and `eager` write the scores out, the others do not.
enum class attention : std::uint8_t { unset, eager, sdpa, flash, flash3, te, math };

/// Kernels of recurrent mixers: those of flash-linear-attention, mamba_ssm and causal_conv1d, or PyTorch's operations one by one, which
/// transformers falls back on without a word where these packages are missing, and which keep several times as much. `unset`: fused.
enum class recurrence : std::uint8_t { unset, fused, eager };

/// How cross entropy is computed: on all logits at once, chunk by chunk of the sequence, in one kernel, on logits that stay divided over
/// tensor-parallel ranks, or together with the head, so that logits never exist as a whole (Liger), or
/// only in a kernel's registers (Cut Cross-Entropy, Wijmans et al. 2024).
enum class loss_kind : std::uint8_t { unset, full, chunked, fused, vocab_parallel, fused_linear, cut };
/// What makes verl's entropies of logits that are only scored (use_torch_compile): a compiled kernel, or torch's operations, of all tokens or of
/// 2,048 at a time. `unset`: compiled.
enum class entropy_code : std::uint8_t { unset, compiled, whole, pieces };
/// What computes the loss.
struct loss {
  loss_kind kind{};
  number_format logits{};        ///< of the loss computation; not set(): the framework's
  std::int64_t chunk_tokens{};   ///< positions of each sample in a chunk; 0: the framework's
  choice chunked_head{};         ///< the head too runs chunk by chunk
  bool balances_experts{};       ///< transformers adds a loss of the routers' probabilities (output_router_logits)
  entropy_code entropies{};
  bool operator==(const loss&) const = default;
};

/// Of the process: what CUBLAS_WORKSPACE_CONFIG, PYTORCH_CUDA_ALLOC_CONF and NCCL_BUFFSIZE say.
struct environment {
  bytes cublas_workspace{-1};    ///< of one handle and stream; -1: by compute capability
  choice expandable_segments{};
  bytes max_split_size{-1};      ///< larger blocks are not cut, and serve no smaller request; -1: no limit
  std::int32_t roundup_power2_divisions{};  ///< sizes are rounded up to so many steps between powers of two; 0, 1: to 512 bytes
  /// Has an effect only beside set_per_process_memory_fraction() (CUDACachingAllocator.cpp, malloc: `set_fraction &&`), which none of the
  /// trainers that are known here calls: kept, and without effect.
  probability garbage_collection_threshold{};
  bytes nccl_buffsize{-1};
  std::int32_t torch{};          ///< version of PyTorch, 100 × major + minor (2.12: 212); 0: of the framework's date
  bool operator==(const environment&) const = default;
};

/// A training job. `model`, `hardware` and `batch.sequence` are all that has to be said; what is left open is the framework's, and the report
/// names what was assumed. Structural and trivially copyable: constexpr, a template argument, a key.
struct job {
  shape model{};
  cluster hardware{};
  profile framework{frameworks::libtorch};
  headroom::precision precision{};   ///< left open: the framework's
  headroom::optimizer optimizer{};   ///< left open: AdamW
  degrees parallel{};
  headroom::sharding sharding{};
  headroom::offload offload{};
  headroom::batch batch{};
  headroom::recompute recompute{};
  headroom::attention attention{};
  headroom::recurrence recurrence{};
  fused_kernels kernels{};
  headroom::loss loss{};
  headroom::objective objective{};
  headroom::rollout rollout{};
  headroom::evaluation evaluation{};
  headroom::adapter adapter{};
  headroom::trainable trainable{};
  headroom::dropout dropout{};
  headroom::fake_quantization fake_quantization{};
  bool compile{};
  headroom::environment environment{};
  measured_run measured{};           ///< by which its report and its step's time are corrected
  std::int32_t ignored_keys{};       ///< of its launch files, that were passed over on request: what they say is not in this job
  std::int32_t assumed_defaults{};   ///< of its launch files' program, that its releases changed: the older ones are in this job
  bool undated{};                    ///< its framework's version was said, and tells nothing of its date

  bool operator==(const job&) const = default;
};

/// What tells the jobs of one search apart, in one number: what a search opens, mixed by FNV-1a's multiplication (Fowler, Noll, Vo).
constexpr std::uint64_t fingerprint_of(const job& j) {
  std::uint64_t sum = 14695981039346656037U;
  const auto mix = [&sum](std::int64_t n) {
    for (int byte = 0; byte < 8; ++byte) sum = (sum ^ (static_cast<std::uint64_t>(n) >> (8 * byte) & 0xFFU)) * 1099511628211U;
  };
  const auto word = [&mix](auto e) { mix(static_cast<std::int64_t>(e)); };
  const auto& b = j.batch;
  const auto& d = j.parallel;
  for (const auto n : {j.hardware.nodes, j.hardware.gpus_per_node, b.micro, b.sequence, b.accumulation, d.data, d.replicate, d.tensor, d.pipeline, d.virtual_pipeline, d.context, d.expert, d.expert_tensor, j.sharding.stage, j.recompute.layers, j.model.layers}) mix(n);
  for (const bool flag : {d.sequence, b.padded, b.packed, j.compile, j.sharding.towers_in_root}) mix(flag ? 1 : 0);
  if (j.rollout.given())
    for (const auto n : {static_cast<std::int64_t>(j.rollout.share.per_million), j.rollout.tensor, static_cast<std::int64_t>(j.rollout.sleep), static_cast<std::int64_t>(j.rollout.gpus), j.rollout.steps_per_generation, j.rollout.iterations, static_cast<std::int64_t>(j.rollout.corrects)}) mix(n);
  word(d.schedule), word(j.sharding.kind), word(j.sharding.root), word(j.recompute.mode), word(j.recompute.method), word(j.recompute.policy), mix(j.recompute.modules);
  word(j.offload.optimizer), word(j.offload.parameters), word(j.offload.activations), word(j.attention), word(j.loss.kind), word(j.environment.expandable_segments), mix(j.batch.lengths.mean), word(j.batch.lengths.order);
  return sum;
}

/// Where parameters are kept. DeepSpeed takes offload_param in ZeRO's third stage alone: the optimizer of stages 1 and 2 is not given it, and
/// nothing is said (runtime/engine.py _configure_zero_optimizer; runtime/zero/config.py, "Valid only with stage 3").
constexpr place place_of_parameters(const job& j) {
  return j.sharding.by(sharder::deepspeed) && !j.sharding.cuts(sharded_state::weights) ? place::on_gpu : j.offload.parameters;
}

/// Whether each unit's gradients go to the host as soon as they are reduced: FSDP2's CPUOffloadPolicy (torch
/// distributed/fsdp/_fully_shard/_fsdp_collectives.py foreach_reduce, offload_to_cpu). FSDP1 copies them, too, and lets them go after backward alone
/// (_flat_param.py prepare_gradient_for_optim).
constexpr bool gradients_leave(const job& j) { return j.sharding.kind == sharding_kind::fsdp2 && j.offload.parameters != place::on_gpu; }

/// GPUs of a job, those of an engine that has its own among them.
constexpr std::int64_t all_gpus_of(const job& j) { return j.hardware.gpus() + (j.rollout.shares_gpus() ? 0 : j.rollout.gpus); }

}  // namespace headroom
