// Distributed under the Boost Software License, Version 1.0.
// How a framework checkpoints, shards, updates and communicates, and what its process is like: one part for each owner.
#pragma once

#include <headroom/layout/degrees.hpp>
#include <headroom/layout/sharding.hpp>
#include <headroom/recipe/optimizer.hpp>
#include <headroom/recipe/precision.hpp>

#include <concepts>
#include <cstdint>

namespace headroom {

/// Who captures layers in CUDA graphs: Megatron itself, after a step that it records, or TransformerEngine.
enum class graph_capture : std::uint8_t { none, by_framework, by_engine };

/// Parts of a layer that are captured, as bits: attention, a dense MLP, experts with their router.
enum class graph_module : std::uint8_t { attn, mlp, moe };

/// Modules whose saved tensors Megatron can keep in host memory, as bits (fine-grained-activation-offloading).
enum class offload_module : std::uint8_t { attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, expert_fc1, moe_act };

/// Whether collectives of tensor parallelism run in pieces behind the multiplications: PyTorch's async tensor parallelism
/// (torchtitan enable_async_tensor_parallel); TransformerEngine's userbuffers (tp-comm-overlap), with a workspace of three streams' size
/// more (since 2025-11).
enum class tensor_parallel_overlap : std::uint8_t { none, in_pieces, userbuffers };

/// How Muon's distributed optimizer lays out whole weights: in one buffer, in buckets (overlap-grad-reduce), or not at all, dealt out by
/// size (no-use-layer-wise-param-layout; all before 2026-05).
enum class muon_layout : std::uint8_t { one_buffer, buckets, dealt_out };

/// Kinds of sharding as bits.
constexpr std::uint8_t one_of(std::same_as<sharding_kind> auto... kinds) { return static_cast<std::uint8_t>((0U | ... | (1U << static_cast<int>(kinds)))); }

/// How what was not saved is computed again.
struct checkpointing_profile {
  bool reentrant{};
  bool all_or_none{};                ///< a search tries to recompute all layers or none; a job may say how many
  bool asks_towers{};                ///< what a vision tower makes of its patches is asked for a gradient, whether it trains or not (block/tower_gradients.hpp)
  bool copies_input{};               ///< a checkpoint keeps a copy of its input, which backward gathers into another tensor (DeepSpeed's partition_activations)
  std::uint32_t offloaded_modules{}; ///< bit i: offload_module i, where the job keeps activations on the host

  bool operator==(const checkpointing_profile&) const = default;
};

/// CUDA graphs of layers.
struct graph_profile {
  graph_capture capture{};
  std::uint32_t modules{};           ///< bit i: graph_module i, where graphs are captured before the first step (cuda-graph-warmup-steps 0)

  bool operator==(const graph_profile&) const = default;
};

/// How much of a step CUDA graphs start, as a recipe sets it: nothing; attention and router of each layer; all of it.
enum class recipe_graphs : std::uint8_t { none, layers, step };

/// What the recipe of a release sets and a job leaves open, as far as a step's time hangs on it.
struct recipe_profile {
  std::int32_t release{};            ///< yymmpp: 26.04.01 is 260401; 0: not said
  bool known{};                      ///< the release has a recipe for the job's model, GPU and format
  recipe_graphs graphs{};
  bool hides_exchange{};             ///< tokens travel to experts behind the compute of another micro-batch
  bool sends_once{};                 ///< … once to each node

  bool operator==(const recipe_profile&) const = default;
};

/// How parameters, gradients and states are divided over data-parallel ranks.
struct sharding_profile {
  std::uint8_t kinds{0xFF};          ///< bit i: a search tries sharding_kind i; all where no launcher of its own limits them
  bool no_others{};                  ///< its own program sets them up: another kind is another program, and refused

  // FSDP2.
  root_units root{root_units::whole};  ///< the root's unit is unsharded from the start of forward to the end of backward, its gradients reduced last
  bool reshards_root{};              ///< … is told to let go between forward and backward, as layers are, which torch does since 2.8
  bool keeps_last_layer{};           ///< the last layer is not resharded between forward and backward
  bool gathers_in_fp8{};             ///< matrices of the layers are quantised before they are gathered (torchao enable_fsdp_float8_all_gather)

  // FSDP1.
  bool wraps_adapters{};             ///< FSDP1 wraps each adapter matrix by itself, so that a layer's own flat parameter is frozen
  bool wraps_on_gpu{};               ///< each unit is moved to the GPU, broadcast, concatenated and sharded there (sync_module_states)

  // ZeRO.
  bool bf16_optimizer{};             ///< DeepSpeed: bf16, stage 1 and fp32 gradients keep all fp32 gradients

  [[nodiscard]] constexpr bool offers(sharding_kind kind) const { return (kinds >> static_cast<int>(kind) & 1U) != 0; }
  /// Whether every kind can be used: in a training loop of one's own.
  [[nodiscard]] constexpr bool offers_all() const { return kinds == 0xFF; }

  bool operator==(const sharding_profile&) const = default;
};

/// Where gradients lie, and when they go.
struct gradients_profile {
  bool stay{};                       ///< gradients stay: zero_grad() fills them with zeros instead of freeing them
  bool stay_in_micro_batch{};        ///< autograd's own stay whole until a micro-batch's backward is done, when they are added to others (nanotron)
  bool fused_accumulation{};         ///< weight gradients are accumulated by the GEMM itself; TransformerEngine then keeps one empty gradient for each shape of weight

  bool operator==(const gradients_profile&) const = default;
};

/// What an update makes for a moment.
struct optimizer_profile {
  implementation how{implementation::foreach};
  std::int32_t foreach_copies{1};    ///< parameter-sized temporaries of a foreach Adam step
  bool loop_keeps_previous{true};    ///< tensor by tensor: a Python variable keeps the previous tensor's denominator while the next is made
  std::int32_t int8_copies{};        ///< fp32 copies of a tensor in the update of its 8-bit state (torchao; bitsandbytes makes none)
  bool registers_embeddings{};       ///< embeddings keep fp32 states under 8-bit optimizers of bitsandbytes (transformers trainer.py create_optimizer, register_module_override)
  std::int64_t torchao_block{};      ///< numbers to a scale in torchao's 8- and 4-bit states, where the trainer says it; 0: torchao's own
  bool precision_aware{};            ///< TransformerEngine's FusedAdam on the shards themselves: no fp32 copy of gradients; of an fp32 master beside bf16 parameters only the other 16 bits are kept
  bool unscales_moments{};           ///< … which makes fp32 copies of 16-bit moments for a step (TransformerEngine before 2026-02)
  muon_layout muon{};

  bool operator==(const optimizer_profile&) const = default;
};

/// What runs behind compute, and what it keeps.
struct communication_profile {
  bool overlaps_gradients{};         ///< gradients are reduced behind backward (Megatron's overlap-grad-reduce; DDP's buckets do it anyway)
  bool overlaps_parameters{};        ///< updated shards are gathered behind the next forward (overlap-param-gather)
  bool overlaps_input_gradients{};   ///< tensor-parallel ranks add up a linear layer's input gradient behind its weight gradient (Megatron-LM since 2021-09,
                                     ///< LinearWithGradAccumulationAndAsyncCommunication; TransformerEngine's modules)
  tensor_parallel_overlap tensor_parallel{};
  bool keeps_gathered{};             ///< sequence parallelism: a column-parallel layer saves its gathered input, and does not gather it again (nanotron
                                     ///< tp_recompute_allgather false)
  bool broadcasts_updated{};         ///< gradients are summed over all data-parallel ranks, and each rank's updated tensors broadcast by themselves (InternEvo)
  bool exchanges_heads{};            ///< cp-comm-type a2a+p2p: an all-to-all over heads within groups of the context ring

  bool operator==(const communication_profile&) const = default;
};

/// How a pipeline is run.
struct pipeline_profile {
  layer_split split{};               ///< of layers over stages, where the job leaves it open
  bool overlaps_warm_up{};           ///< the interleaved schedule receives ahead in its warm-up, too (overlap-p2p-communication-warmup-flush)
  bool overlaps_experts{};           ///< a forward runs beside each backward (overlap-moe-expert-parallel-comm), one micro-batch further ahead
  std::int32_t microbatch_group{};   ///< micro-batches that pass a virtual stage in a row; 0: as many as stages
  std::int32_t deferral_limit{};     ///< micro-batches whose head weight gradient waits (defer-embedding-wgrad-compute)
  bool keeps_tensors{true};          ///< the schedule's variables and the layers' attributes name tensors that they have used (Megatron-LM)
  bool none{};                       ///< DeepSpeed's engine runs the model without its pipeline (no-pipeline-parallel)
  bool polls_messages{};             ///< nanotron's benchmarks: each message about a tensor is asked for every 0.1 s

  bool operator==(const pipeline_profile&) const = default;
};

/// The process on each GPU: CUDA, its libraries and PyTorch's allocator.
struct process_profile {
  bool loads_all_kernels{};          ///< CUDA modules are loaded whole (torch before 1.13; CUDA before 12.2 where nobody asks for LAZY): a large context
  bool expandable_segments{};        ///< its launcher sets PyTorch's allocator so, where the job leaves it open
  std::int32_t cublas_handles{2};    ///< forward thread and autograd thread
  std::int32_t contexts{1};          ///< processes that have a CUDA context on the GPU: the trainer's own, and those that help it

  bool operator==(const process_profile&) const = default;
};

/// How the model comes into memory.
struct loading_profile {
  bool on_host{true};                ///< a full copy of the weights in host memory at load, one for each local rank
  number_format format{};            ///< of that copy; not set(): the parameters' format
  bool whole_on_gpu{};               ///< each rank has the whole model on its GPU before FSDP2 divides it
  bool into_buffers{};               ///< under Megatron's distributed optimizer parameters are copied into buffers, once all are there
  bool steps_at_once{};              ///< DeepSpeed's optimizer makes its state when it is built, in a step of zeros (until 2024-02-10, 18179807f)
  bool unties_embeddings{};          ///< the head is a matrix of its own even where the model ties it (litgpt)

  bool operator==(const loading_profile&) const = default;
};

}  // namespace headroom
