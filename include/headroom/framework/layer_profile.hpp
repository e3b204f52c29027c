// Distributed under the Boost Software License, Version 1.0.
// How a framework writes the layers, the embedding and the loss of a model: one part for each owner.
#pragma once

#include <headroom/recipe/precision.hpp>

#include <cstdint>

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
  beside_own,       ///< the model is given labels, and computes its own loss, which nobody reads, before the caller's (block/loss_beside_own.hpp)
  autocast,         ///< under autocast: outputs are converted to fp32 for the caller, and loss is computed from fp32
  plain,            ///< cross entropy on the logits as they are
  chunked,          ///< litgpt: chunks of 128 positions, each converted to fp32 for the caller
  whole_or_divided, ///< torchtitan: fp32 inside the loss; under tensor parallelism over a divided vocabulary
  chunked_in_loss,  ///< torchtune: whole logits made fp32 by the model, or the head's chunks, each cast inside the loss
  chunked_head,     ///< torchtitan's ChunkedLossWrapper: head, loss and both backwards, one chunk of tokens after another, all in forward
  in_place,         ///< one kernel that overwrites the logits with their gradient (llm.c, flash-attn)
  rows_again,          ///< cross entropy of some rows of the logits at a time, again in backward, whose gradient is written over them (ms-swift's CELOSS_PARALLEL_SIZE)
  fused_linear,        ///< head and loss together, chunk by chunk; the gradients are made in forward (Liger)
  checkpointed_chunks, ///< TRL: head and loss together, 256 tokens at a time, each chunk behind a checkpoint
  chunked_by_memory,   ///< Unsloth: head and loss together, in chunks as large as half of what is free; gradients are made in forward
  cut,                 ///< head and loss in one kernel that keeps a log-sum-exp a row, and makes logits again in backward, tile by tile (Cut Cross-Entropy)
  fused_scores,        ///< verl: scores of hidden states, 512 tokens at a time or in kernels (block/fused_scores.hpp)
  compared,            ///< log-probabilities or distributions are compared: a method with several models, or with pairs (block/preference_loss.hpp)
  logits,              ///< none: the logits are what another model's forward is for
};

/// How long a variable of the training loop holds the logits that the model returned, where the loss is computed from a cast of them.
enum class output_lifetime : std::uint8_t { unnamed, through_loss, through_backward };

/// How long the loss lives: until the optimizer has stepped; only until backward is over; or, with the graph behind it, until the next
/// forward has returned.
enum class loss_lifetime : std::uint8_t { through_step, through_backward, with_graph };

/// What is made on the way from a quantised matrix to its weights in the compute format: nothing; fp16, alive beside bf16 for a moment; or
/// (torchao) int64 indices of the two 4-bit halves of each byte, the values that they look up, and those times the scales.
enum class dequantisation : std::uint8_t { direct, through_half, through_indices };

/// How TransformerEngine scales fp8 tensors: one factor a tensor, or one a block. Blocks are cut along rows or along columns, so that a
/// tensor and its transpose are two tensors; with one factor they are one where the GPU multiplies either way (Blackwell).
enum class fp8_scaling : std::uint8_t { tensor, block, row };  // row: torchao's rowwise recipes

/// How tokens reach their experts: all_to_all; all_gather, through a global buffer for the tokens of all ranks; flex, by DeepEP or
/// HybridEP, whose buffers lie outside PyTorch's allocator.
enum class token_dispatcher : std::uint8_t { all_to_all, all_gather, flex };

/// How routed experts multiply.
enum class expert_gemm : std::uint8_t {
  one_by_one,    ///< one matrix after another, in a loop over the experts (transformers before 5)
  grouped_mm,    ///< torch._grouped_mm over sorted tokens, one each for gate, up and down (torchtitan)
  sorted_mm,     ///< … one for gate and up, which are one parameter, and one for down (transformers since 5)
  grouped_gemm,  ///< grouped GEMM in one call (moe-grouped-gemm), with a workspace for each of four streams more
};

/// Whose modules a layer is made of.
enum class layer_modules : std::uint8_t {
  eager,           ///< transformers-like ones, one operation after another
  dtensor,         ///< the same, divided by DTensor over tensor, sequence and context parallelism (torchtitan)
  megatron,        ///< Megatron-LM's, over TransformerEngine
  megatron_local,  ///< Megatron-LM's own without TransformerEngine: attention written out into a global buffer
  nanotron,        ///< nanotron's own, divided like Megatron-LM's; no gradient is added up by a matrix multiplication
  megatron_deepspeed,  ///< Megatron-LM's own, in the stages of DeepSpeed's pipeline
  gpt_neox,            ///< GPT-NeoX's own, in the same stages
};

/// Where grouped k and v are repeated to the query heads before attention: for a kernel that reads a mask (transformers repeat_kv), or whatever it reads
/// where torch's own takes no groups (before 2.5); for any but FlashAttention's own package (Unsloth, for xFormers; transformers before 4.54); or always.
enum class kv_expansion : std::uint8_t { never, if_padded, unless_flash, always };

/// The masks that a model makes for torch's own attention (block/attention_mask.hpp): none but what comes with a batch; in the model's format, one for
/// all layers; boolean, one for each kind of layer.
enum class sdpa_masks : std::uint8_t { none, added, boolean };

/// Three projections make q, k and v, or one; of one projection's result they are views, or copies of them.
enum class qkv_projection : std::uint8_t { separate, fused, fused_then_copied };

/// How rotary embedding turns q and k where no kernel does it. Each way makes new storage.
enum class rope_style : std::uint8_t {
  rotate_half,         ///< transformers: a turned copy, two products and their sum
  parts_concatenated,  ///< litgpt: only some features are turned, in fp32, and concatenated with the rest
  pairs_stacked,       ///< torchtune: pairs of an fp32 copy are taken apart, turned and stacked, first q, then k
  complex_fp32,        ///< torchtitan: q and k become complex fp32 numbers, both at once
};

/// Where cos and sin come from.
enum class rope_tables : std::uint8_t {
  each_forward,         ///< made in the compute format, for every sample
  cached,               ///< fp32 buffers of the sequence's length (litgpt)
  cached_whole,         ///< fp32 buffers of max_positions, however short the sequence (torchtune)
  buffers_beside_mask,  ///< buffers in the model's format, beside a boolean causal mask; position numbers (int64) of a model that learns them
  in_each_layer,        ///< each layer keeps max_positions, and forward makes its own (transformers up to 4.38; fp32 where weights are
                        ///< quantised as they are loaded, else in the parameters' format)
};

/// How one function of autograd multiplies by frozen matrices and their adapters: it saves casts of A and B (axolotl); or none, and writes the
/// input's gradient over the input (Unsloth), the adapter's product a tensor of its own that is then added, or added by the multiplication itself.
enum class adapter_functions : std::uint8_t { save_casts, add_products, accumulate };

/// When what enters the first layer is made to require a gradient.
enum class input_gradient : std::uint8_t { never, if_checkpointed, always };

/// Whose modules the layers are.
struct modules_profile {
  layer_modules kind{};

  /// Whether layers are divided by the trainer's own modules, stage by stage (engine/tensor_parallel/): Megatron-LM's and nanotron's.
  [[nodiscard]] constexpr bool megatron() const { return kind >= layer_modules::megatron; }
  [[nodiscard]] constexpr bool nanotron() const { return kind == layer_modules::nanotron; }
  /// Megatron-DeepSpeed and GPT-NeoX.
  [[nodiscard]] constexpr bool deepspeed() const { return kind == layer_modules::megatron_deepspeed || neox(); }
  [[nodiscard]] constexpr bool neox() const { return kind == layer_modules::gpt_neox; }
  [[nodiscard]] constexpr bool local() const { return kind == layer_modules::megatron_local || deepspeed(); }
  [[nodiscard]] constexpr bool eager() const { return !megatron(); }  ///< divided by DTensor or not
  [[nodiscard]] constexpr bool dtensor() const { return kind == layer_modules::dtensor; }
  bool operator==(const modules_profile&) const = default;
};

/// What PyTorch's operations keep for backward, by their version.
struct autograd_profile {
  bool softmax_keeps_input{};        ///< torch before 1.11: softmax and log_softmax save their input, too (pytorch pull request 65242)
  bool mean_keeps_input{};           ///< torch 1.13: mean saves its input, so that an eager RMSNorm keeps the square (MeanBackward1, self.sym_numel())
  bool sums_out_of_place{};          ///< torch before 2.0: a tensor's second gradient and the first are added into a third (autograd/input_buffer.cpp)
  bool names_inputs{true};           ///< a module's inputs and locals live until it returns (Python; torch/nn/modules/module.py _call_impl)

  bool operator==(const autograd_profile&) const = default;
};

/// How the trainer uses torch.autocast.
struct autocast_profile {
  bool over_16bit{};                 ///< forward runs under autocast even where the weights are in 16 bits already
  bool converts_outputs{};           ///< … and what the model returns is converted to fp32
  bool caches_checkpointed{true};    ///< autocast keeps cast weights of checkpointed layers until the end of forward

  bool operator==(const autocast_profile&) const = default;
};

/// torch.compile, where the job asks for it.
struct compile_profile {
  bool layers{};                     ///< torch.compile is applied to each layer by itself, not to embedding and head
  bool loss{};                       ///< inductor also generates the loss: see ops::compiled_cross_entropy
  bool scatters_loss_gradient{};     ///< … with the one-hot targets of its gradient written out (inductor of torch 2.5)

  bool operator==(const compile_profile&) const = default;
};

/// How its norms are computed.
struct norm_profile {
  norm_style style{norm_style::cast_before_weight};
  bool names_scaled{};               ///< what is cast before × weight has a name until the norm returns (transformers' RMSNorms)
  bool statistics_in_input_format{}; ///< LayerNorm on a CPU keeps mean and deviation in the input's format

  bool operator==(const norm_profile&) const = default;
};

/// How attention is computed, and what around it is copied.
struct attention_profile {
  kv_expansion expands_kv{};
  qkv_projection qkv{};              ///< where k and v are always expanded, the copies of a fused projection are, too
  bool chooses_kernel{};             ///< among those that are installed: a job that leaves it open leaves nothing to assume
  bool copies_output{};              ///< the kernel's output has q's layout and is copied for the output projection
  bool copies_heads{};               ///< heads are views, which matmul copies where samples and heads do not lie one behind the other (reshape)
  bool fills_masked_scores{};        ///< scores are masked by masked_fill, whose gradient is another tensor; else a mask is added
  bool first_flash_kernels{};        ///< FlashAttention before its second version (2023-07; torch's own before 2.2), Triton's among them: slower, not smaller
  bool prefers_cudnn{};              ///< torch's own attention is asked for cuDNN's kernel first
  bool deterministic{};              ///< kernels that may give other results each time are forbidden (Megatron's deterministic-mode)
  bool masks_in_loader{};            ///< a boolean b × s × s mask comes with each micro-batch, on the first and last stage
  sdpa_masks masks{};                ///< that torch's own attention reads
  bool lays_out_heads{};             ///< the function that most decoders share makes q, k and v contiguous for it, heads before positions, and its result again
  bool packs_by_kernel{};            ///< knows packed sequences where a flash kernel is told where each begins: nothing else changes
  bool packs_documents{};            ///< knows packed sequences: a block mask, and position numbers that rotary embedding looks up

  bool operator==(const attention_profile&) const = default;
};

/// How positions turn queries and keys.
struct rotary_profile {
  rope_style style{};
  rope_tables tables{};
  bool writes_out{};                 ///< Megatron without the fused kernel: cosine and sine are made and saved by each call

  [[nodiscard]] constexpr bool caches() const { return tables == rope_tables::cached || tables == rope_tables::cached_whole; }
  bool operator==(const rotary_profile&) const = default;
};

/// How a gated activation is computed.
struct mlp_profile {
  bool writes_out_glu{};             ///< a gated activation is a chunk, the function and a product (no-bias-swiglu-fusion; all before 2023-11-19, 8503f75401)
  bool gates_apart{};                ///< gate and up are two matrices, and SiLU is torch's own (GPT-NeoX before 2024-09)
  bool both_first{};                 ///< gate and up are there before the function of the gate is (litgpt's fc_1 and fc_2; elsewhere act(gate(x)) * up(x))
  bool adds_bias_apart{};            ///< the sum with the bias is a tensor of its own, which the function keeps (GPT-NeoX without bias_gelu_fusion)

  bool operator==(const mlp_profile&) const = default;
};

/// How tokens are routed to experts, and come back.
struct experts_profile {
  expert_gemm gemm{};
  bool pads_to_capacity{};           ///< every expert gets its capacity of tokens, padded (moe-pad-expert-input-to-capacity)
  bool routes_in_fp32{};             ///< moe-router-dtype fp32: probabilities, and what they are multiplied with for a moment
  token_dispatcher dispatcher{};
  bool overlaps_shared{};            ///< the shared expert runs beside the dispatch, on an input that tensor-parallel ranks gather for it (moe-shared-expert-overlap)
  bool fuses_permutation{};          ///< tokens are put in the experts' order and back by one kernel each (moe-permute-fusion)
  bool weighs_returned{};            ///< the router's weights multiply what experts return, and not what goes into their second projection
  bool adds_by_index{};              ///< where kernels have to be deterministic, tokens go back by index_add_, whose graph keeps what it adds

  /// Whether an eager layer's experts are computed together, out of parameters that hold all of them, and not one after the other.
  [[nodiscard]] constexpr bool at_once() const { return gemm == expert_gemm::grouped_mm || gemm == expert_gemm::sorted_mm; }
  /// Whether gate and up of all experts are one parameter.
  [[nodiscard]] constexpr bool joins_gate() const { return gemm == expert_gemm::sorted_mm; }
  bool operator==(const experts_profile&) const = default;
};

/// Linear layers, where the job computes in fp8.
struct fp8_profile {
  fp8_scaling scaling{};
  bool quantises_in_linear{};        ///< fp8 is made of tensors inside each linear layer; between layers they stay in 16 bits (torchao)
  bool rest_in_fp32{};               ///< what fp8 does not multiply is fp32: neither --bf16 nor --fp16 (arguments.py params_dtype)
  bool names_recipe{};               ///< an fp8 recipe that is not delayed is set, though perhaps nothing computes in fp8: with an fp32 master that
                                     ///< leaves of precision_aware only the formats of the moments (Megatron-LM core/optimizer/optimizer_config.py)
  bool ends_in_bf16{};               ///< the first layer and the last compute in bf16 (first-last-layers-bf16)

  bool operator==(const fp8_profile&) const = default;
};

/// How the loss is computed, and what names its logits.
struct loss_profile {
  loss_style style{loss_style::upcast_in_loss};
  std::int32_t chunks{8};            ///< of chunked_head and chunked_in_loss; 0: whole logits where the job leaves it open
  bool copies_scaled_logits{};       ///< the loss subtracts each row's maximum out of place, beside its fp32 copy of the logits (before 2024-06-13, 9634c0e4a3)
  bool shifts_logits{};              ///< logits[:, :-1] is made contiguous
  std::int64_t chunk_mib{};          ///< of chunked_by_memory: at most so much for the fp32 logits of a chunk; 0: half of what is free, however much
  bool rounds_chunks_up{};           ///< … and chunks are counted up, not to the nearest
  std::int64_t whole_up_to{};        ///< of cut: so few tokens have whole logits
  output_lifetime outputs{output_lifetime::through_loss};
  loss_lifetime lives{};

  [[nodiscard]] constexpr bool keeps_outputs() const { return outputs == output_lifetime::through_backward; }
  [[nodiscard]] constexpr bool keeps_graph() const { return lives == loss_lifetime::with_graph; }

  bool operator==(const loss_profile&) const = default;
};

/// Adapters, and a frozen base in few bits under them.
struct adapter_profile {
  bool casts_input{true};            ///< fp32 adapters cast their input (PEFT)
  bool in_fp32{};                    ///< adapters are made in torch's default format, fp32, whatever the base and the job are in
  adapter_functions functions{};     ///< of fused_kernel::adapted_qkv and its like
  bool parallel{};                   ///< they are divided as the layers beside them are, q, k and v or gate and up one adapter (ms-swift over Megatron)
  bool by_target{};                  ///< layers of its own, whose q, k and v, gate and up each have an adapter, whatever transformers joins
  /// Embedding outputs are made to require a gradient although the embedding is frozen, so that something reaches the
  /// adapters through a checkpoint: never, with checkpoints or a quantised base (transformers), always.
  input_gradient embeddings_need_gradient{};

  bool operator==(const adapter_profile&) const = default;
};

/// A frozen base in few bits: what is quantised, and what of it stays.
struct quantised_profile {
  bool keeps_input{};                ///< bitsandbytes up to 0.43.1: MatMul4Bit sets its input on ctx, without save_for_backward, so that it lives as long as the graph
  dequantisation dequantises{};
  bool with_head{};                  ///< a quantised base includes the head (litgpt); PEFT leaves it out
  bool upcasts_rest{};               ///< what is not quantised becomes fp32 (PEFT utils/other.py prepare_model_for_kbit_training)
  bool divides_statistics{};         ///< FSDP2 divides and gathers scales with their weights (torchao dtypes/nf4tensor.py nf4_split, fsdp_pre_all_gather), as bitsandbytes' quant_state is not
  bool leaves_tied_head{};           ///< a tied head is no linear layer, and not fake-quantised (torchtune modules/tied_linear.py)

  /// … but what lies beside a base that GPTQ packed: is_gptq_quantized there, in every release that knows GPTQ (since 0.5, 2023-08).
  [[nodiscard]] constexpr bool upcasts_beside(const number_format& base) const { return upcasts_rest && base.quantised() && base.column_bits == 0; }
  bool operator==(const quantised_profile&) const = default;
};

}  // namespace headroom
