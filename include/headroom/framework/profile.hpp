// Distributed under the Boost Software License, Version 1.0.
// How a training framework does things, as plain data. One value describes one framework at one date; nothing here computes.
#pragma once

#include <headroom/layout/sharding.hpp>
#include <headroom/name.hpp>
#include <headroom/recipe/optimizer.hpp>
#include <headroom/recipe/precision.hpp>

#include <concepts>

namespace headroom {

/// How RMSNorm is written, which decides what autograd keeps of it (x: its input, n: the normalised tensor).
enum class norm_style : std::uint8_t {
  fused,               ///< one kernel: x and one statistic a row
  cast_before_weight,  ///< eager in fp32, n cast back before × weight: fp32 x, n in compute format
  cast_after_weight,   ///< eager in fp32, the product cast back: fp32 x, fp32 n
  input_format,        ///< eager in the format of x
};

/// What happens between the head's logits and the scalar loss.
enum class loss_style : std::uint8_t {
  upcast_in_loss,   ///< loss casts logits to fp32; the caller keeps what the model returned, in its format
  upcast_shifted,   ///< logits.float() in the model, a contiguous shifted copy, then the loss (transformers before 2024-10); models with
                    ///< one projection for q, k and v (GPT-2, Bloom, Falcon, GPT-NeoX, Qwen's first) leave their logits as they are
  autocast,         ///< under autocast: outputs are converted to fp32 for the caller, and loss is computed from fp32
  plain,            ///< cross entropy on the logits as they are
  chunked,          ///< litgpt: chunks of 128 positions, each converted to fp32 for the caller
  whole_or_divided, ///< torchtitan: fp32 inside the loss; under tensor parallelism over a divided vocabulary
  chunked_in_loss,  ///< torchtune: whole logits made fp32 by the model, or the head's chunks, each cast inside the loss
  chunked_head,     ///< torchtitan's ChunkedLossWrapper: head, loss and both backwards, one chunk of tokens after another, all in forward
  in_place,         ///< one kernel that overwrites the logits with their gradient (llm.c, flash-attn)
  fused_linear,        ///< head and loss together, chunk by chunk; the gradients are made in forward (Liger)
};

/// How TransformerEngine scales fp8 tensors: one factor a tensor, or one a block. Blocks are cut along rows or along columns, so that a
/// tensor and its transpose are two tensors; with one factor they are one where the GPU multiplies either way (Blackwell).
enum class fp8_scaling : std::uint8_t { tensor, block, row };  // row: torchao's rowwise recipes

/// How tokens reach their experts: all_to_all; all_gather, through a global buffer for the tokens of all ranks; flex, by DeepEP or
/// HybridEP, whose buffers lie outside PyTorch's allocator.
enum class token_dispatcher : std::uint8_t { all_to_all, all_gather, flex };

/// Whose modules a layer is made of: transformers-like eager ones, or Megatron's over TransformerEngine.
enum class layer_modules : std::uint8_t { eager, megatron };

/// Who captures layers in CUDA graphs: Megatron itself, after a step that it records, or TransformerEngine.
enum class graph_capture : std::uint8_t { none, by_framework, by_engine };

/// Parts of a layer that are captured, as bits: attention, a dense MLP, experts with their router.
enum class graph_module : std::uint8_t { attn, mlp, moe };

/// Modules whose saved tensors Megatron can keep in host memory, as bits (fine-grained-activation-offloading).
enum class offload_module : std::uint8_t { attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, expert_fc1, moe_act };

enum class input_gradient : std::uint8_t { never, if_checkpointed, always };

enum class runtime : std::uint8_t { autograd, preallocated };

/// Kinds of sharding as bits.
constexpr std::uint8_t one_of(std::same_as<sharding_kind> auto... kinds) { return static_cast<std::uint8_t>((0U | ... | (1U << static_cast<int>(kinds)))); }

struct profile {
  short_name label{};
  std::int32_t date{};                 ///< yyyymm; profiles of one label differ by date
  headroom::runtime runtime{runtime::autograd};

  bool recipes_change{};               ///< the training loop is a recipe that changes from release to release: runs whose commit is unstated lie further off

  // The layer.
  norm_style norm{norm_style::cast_before_weight};
  bool expands_kv{};                   ///< grouped k and v are repeated to the query heads before attention
  bool expands_kv_if_padded{};         ///< … only where an attention mask is passed
  bool fused_qkv{};                    ///< one projection makes q, k and v
  bool copies_qkv{};                   ///< … which are then copied out of it: k and v repeated to the query heads with expands_kv, where they are fewer
  bool copies_attention_output{};      ///< the kernel's output has q's layout and is copied for the output projection
  bool rotates_parts{};                ///< rotary embedding cuts q and k apart and concatenates them again (new storage)
  bool rotates_pairs{};                ///< pairs of an fp32 copy are taken apart, turned and stacked, first q, then k (torchtune)
  bool rotates_in_fp32{};              ///< q and k become fp32 for it, both at once (torchtitan)
  bool casts_adapter_input{true};      ///< fp32 adapters cast their input (PEFT)
  bool adapters_in_fp32{};             ///< adapters are made in torch's default format, whatever the base's and the job's
  bool autocasts_16bit{};              ///< forward runs under autocast even where the weights are in 16 bits already
  bool converts_outputs{};             ///< … and what the model returns is converted to fp32
  bool casts_linear_input{};           ///< set under autocast: each linear layer casts its own input
  bool softmax_keeps_input{};          ///< torch before 1.11: softmax and log_softmax save their input, too (pytorch pull request 65242)
  bool mean_keeps_input{};             ///< torch 1.13: mean saves its input, so that an eager RMSNorm keeps the square (MeanBackward1, self.sym_numel())
  bool sums_out_of_place{};            ///< torch before 2.0: a tensor's second gradient and the first are added into a third (autograd/input_buffer.cpp)
  bool copies_heads{};                 ///< heads are views, which matmul copies where samples and heads do not lie one behind the other (reshape)
  bool fills_masked_scores{};          ///< by masked_fill, whose gradient is another tensor
  bool statistics_in_input_format{};   ///< LayerNorm on a CPU keeps mean and deviation in the input's format
  bool compiles_layers{};              ///< torch.compile is applied to each layer by itself, not to embedding and head

  layer_modules layers{layer_modules::eager};
  bool divides_modules{};              ///< DTensor divides eager modules over tensor, sequence and context parallelism (torchtitan)
  bool groups_experts{};               ///< routed experts are grouped matrix multiplications over sorted tokens (torchtitan)
  bool quantises_in_linear{};          ///< fp8 is made of tensors inside each linear layer; between layers they stay in 16 bits (torchao)
  bool local_modules{};                ///< Megatron without TransformerEngine: attention written out into a global buffer
  bool fuses_weight_gradients{};       ///< accumulated in the GEMM; TransformerEngine then keeps one empty gradient a weight shape
  bool writes_out_rope{};              ///< rotary embedding without the fused kernel: cosine and sine are made and saved by each call
  bool writes_out_glu{};               ///< a gated activation is a chunk, the function and a product (no-bias-swiglu-fusion; all before 2023-11-19, 8503f75401)
  bool copies_scaled_logits{};         ///< the loss subtracts each row's maximum out of place, beside its fp32 copy of the logits (before 2024-06-13, 9634c0e4a3)
  bool masks_in_loader{};              ///< a boolean b × s × s mask comes with each micro-batch, on the first and last stage
  bool pads_experts{};                 ///< every expert gets its capacity of tokens, padded (moe-pad-expert-input-to-capacity)
  fp8_scaling fp8{};                   ///< of linear layers, where the job computes in fp8
  bool wide_beside_fp8{};              ///< what fp8 does not multiply is fp32: neither --bf16 nor --fp16 (arguments.py params_dtype)
  bool precision_aware{};              ///< TransformerEngine's FusedAdam on the shards themselves: no fp32 copy of gradients; of an fp32 master beside bf16 parameters only the other 16 bits are kept
  bool names_fp8_recipe{};             ///< an fp8 recipe that is not delayed is set, though perhaps nothing computes in fp8: with an fp32 master that
                                       ///< leaves of precision_aware only the formats of the moments (Megatron-LM core/optimizer/optimizer_config.py)
  bool deals_out_weights{};            ///< Muon's distributed optimizer deals whole weights out by size, without a layout in buffers
                                       ///< (no-use-layer-wise-param-layout; all before 2026-05)
  bool overlaps_reduction{};           ///< its layout is in buckets (overlap-grad-reduce)
  bool unscales_moments{};             ///< … which makes fp32 copies of 16-bit moments for a step (TransformerEngine before 2026-02)
  bool exchanges_heads{};              ///< cp-comm-type a2a+p2p: an all-to-all over heads within groups of the context ring
  token_dispatcher dispatcher{};
  bool routes_in_fp32{};               ///< moe-router-dtype fp32: probabilities, and what they are multiplied with for a moment
  bool grouped_gemm{};                 ///< experts in one call: a workspace for each of four streams more
  bool overlaps_tensor_parallel{};     ///< TransformerEngine keeps a workspace of three streams' size more (since 2025-11)
  bool overlaps_gradients{};           ///< gradients are reduced behind backward (Megatron's overlap-grad-reduce; DDP's buckets do it anyway)
  bool overlaps_parameters{};          ///< updated shards are gathered behind the next forward (overlap-param-gather)
  bool overlaps_input_gradients{};     ///< tensor-parallel ranks add up a linear layer's input gradient behind its weight gradient (Megatron-LM since 2021-09,
                                       ///< LinearWithGradAccumulationAndAsyncCommunication; TransformerEngine's modules)
  bool async_tensor_parallel{};        ///< collectives of tensor parallelism run in pieces behind the multiplications (torchtitan enable_async_tensor_parallel)
  bool overlaps_warm_up{};             ///< the interleaved schedule receives ahead in its warm-up, too (overlap-p2p-communication-warmup-flush)
  std::int32_t microbatch_group{};     ///< micro-batches that pass a virtual stage in a row; 0: as many as stages
  std::uint32_t offloaded_modules{};   ///< bit i: offload_module i, where the job keeps activations on the host
  graph_capture graphs{};
  std::uint32_t captured_modules{};    ///< bit i: graph_module i, where graphs are captured before the first step (cuda-graph-warmup-steps 0)
  bool ends_in_bf16{};                 ///< with fp8, the first layer and the last compute in bf16 (first-last-layers-bf16)
  bool overlaps_experts{};             ///< a forward runs beside each backward (overlap-moe-expert-parallel-comm), one micro-batch further ahead
  std::int32_t deferral_limit{};       ///< micro-batches whose head weight gradient waits (defer-embedding-wgrad-compute)

  bool first_flash_kernels{};          ///< FlashAttention before its second version (2023-07; torch's own before 2.2), Triton's among them: slower, not smaller

  // Head and loss.
  loss_style loss{loss_style::upcast_in_loss};
  bool compiles_loss{};                ///< with `compile`, inductor also generates the loss: see ops::compiled_cross_entropy
  bool scatters_loss_gradient{};       ///< … with the one-hot targets of its gradient written out (inductor of torch 2.5)
  std::int32_t loss_chunks{8};         ///< of chunked_head and chunked_in_loss; 0: whole logits where the job leaves it open
  bool shifts_logits{};                ///< logits[:, :-1] is made contiguous
  bool outputs_live_in_loss{true};     ///< the caller still names the logits while the loss is computed from a cast of them
  bool keeps_outputs{};                ///< the caller holds the model's output through backward
  bool loss_leaves{};                  ///< the loss is gone when the optimizer steps
  bool keeps_loss_graph{};             ///< … and the previous step's until the next forward has returned

  // Quantised matrices (bitsandbytes).
  bool quantised_keeps_input{};        ///< MatMul4Bit up to 0.43.1: input on the context, alive until the graph dies
  bool dequantises_through_half{};     ///< fp16 first, then bf16: both alive for a moment
  bool dequantises_through_indices{};  ///< int64 indices of both halves, what they stand for, and its product with the scales (torchao)

  /// Embedding outputs are made to require a gradient although the embedding is frozen, so that something reaches the
  /// adapters through a checkpoint: never, with checkpoints or a quantised base (transformers), always.
  input_gradient embeddings_need_gradient{};

  // Checkpointing.
  bool reentrant_checkpoint{};
  bool checkpoint_weight_cache{true};  ///< autocast keeps cast weights of checkpointed layers until the end of forward

  // FSDP2.
  bool splits_root{};                  ///< the embedding is one unit, final norm and head another; else both lie in the root's, gathered
                                       ///< from the start of forward to the end of backward, its gradients reduced last
  bool keeps_last_layer{};             ///< the last layer stays gathered between forward and backward
  bool gathers_in_fp8{};               ///< matrices of the layers are quantised before they are gathered (torchao enable_fsdp_float8_all_gather)

  // FSDP1.
  bool wraps_adapters{};               ///< FSDP1 wraps each adapter matrix by itself, so that a layer's own flat parameter is frozen
  bool wraps_on_gpu{};                 ///< each unit is moved to the GPU, broadcast, concatenated and sharded there (sync_module_states)

  // Optimizer.
  implementation optimizer{implementation::foreach};
  std::int32_t foreach_copies{1};      ///< parameter-sized temporaries of a foreach Adam step
  bool loop_keeps_previous{true};      ///< Python keeps the previous tensor's denominator while the next is made
  std::int32_t int8_copies{};          ///< fp32 copies of a tensor in the update of its 8-bit state (torchao; bitsandbytes makes none)
  bool gradients_stay{};               ///< zero_grad() fills with zeros instead of freeing

  // Runtime.
  bool loads_all_kernels{};            ///< CUDA modules are loaded whole (torch before 1.13; CUDA before 12.2 where nobody asks for LAZY): a large context
  bool expandable_segments{};          ///< its launcher sets PyTorch's allocator so, where the job leaves it open
  std::int32_t cublas_handles{2};      ///< forward thread and autograd thread
  bool position_buffers{};             ///< a boolean causal mask and position numbers (int64), or cos and sin in the model's format, are its buffers
  bool rotary_cache{};                 ///< cos and sin are fp32 buffers of the model's length (litgpt), not made in each forward
  bool rotary_cache_whole{};           ///< … of max_positions, however short the sequence (torchtune)
  bool rotary_cache_in_layers{};       ///< each layer keeps cos and sin of max_positions (transformers up to 4.38; fp32 where weights are
                                       ///< quantised as they are loaded, else in the parameters' format)
  bool packs_documents{};              ///< knows packed sequences: a block mask, and position numbers that rotary embedding looks up
  bool bf16_optimizer{};               ///< DeepSpeed: bf16, stage 1 and fp32 gradients keep all fp32 gradients
  bool loads_on_host{true};            ///< a full copy of the weights in host memory at load, one for each local rank
  number_format load_format{};         ///< of that copy; not set(): the parameters' format
  bool checkpoint_saves_on_host{true};
  bool unties_embeddings{};            ///< the head is a matrix of its own even where the model ties it (litgpt)
  bool quantises_head{};               ///< a quantised base includes the head (litgpt); PEFT leaves it out
  bool upcasts_frozen{};               ///< what is not quantised becomes fp32 (PEFT prepare_model_for_kbit_training)
  headroom::precision precision{precisions::bf16_mixed};  ///< where the job leaves it open

  // What a search may ask of it; a job may ask for more.
  std::uint8_t shardings{0xFF};        ///< bit i: sharding_kind i; all: no launcher that would say no
  bool checkpoints_all{};              ///< all layers or none

  friend constexpr bool operator==(const profile&, const profile&) = default;
};

}  // namespace headroom
