// Distributed under the Boost Software License, Version 1.0.
// What a block needs to know of a job to be built: sizes, widths of formats, and the framework's habits. Filled once for a
// job by settle/settle.hpp; blocks read it and nothing else.
#pragma once

#include <headroom/job.hpp>
#include <headroom/recipe/method_loss.hpp>

namespace headroom {

/// What a layer's program depends on: the model, the trainer's ways, and how much of the batch is here.
struct scene {
  const shape* model{};
  const profile* habits{};
  const adapter* side{};             ///< adapters, or an inactive one

  std::int64_t samples{};            ///< sequences of a micro-batch
  std::int64_t sequence{};           ///< positions of each, on this rank
  std::int64_t tokens{};             ///< samples × sequence
  std::int64_t keys{};               ///< positions attended to, where they are not the stream's own
  std::int64_t memory{};             ///< positions of each sample that an encoder has read; 0: no encoder
  bool memory_has_gradient{};
  bool layer_inputs_train{};         ///< layers' own embeddings have gradients
  bool embedding_is_leaf{};          ///< … as they are made of the token's embedding, which PEFT makes require one
  bool fake_head{};                  ///< the head multiplies rounded numbers, too (fake)
  bool compares{};                   ///< scores are compared with those of another model's forward (scoring)
  bool compiled_loss{};
  headroom::context_kind context_kind{};
  bool exchanges_whole{};            ///< heads are exchanged for positions in one tensor, not in pieces (ms-swift)
  std::int64_t width{};              ///< bytes of an element in a matrix multiplication
  std::int64_t residual_width{};     ///< bytes of an element of the residual stream
  bool wide_outputs{};               ///< units return fp32, whatever they compute in (FSDP2's output_dtype)
  std::int64_t weight_width{};       ///< bytes of an element of a weight gradient when autograd makes it
  std::int64_t expert_width{};       ///< bytes of an element of routed experts' parameters, which are multiplied as they are
  std::int64_t adapter_width{};      ///< bytes of an element of an adapter as it is multiplied
  std::int64_t adapter_kept{};       ///< … as its weight is kept
  std::int64_t statistic_width{4};   ///< of a norm's mean and deviation
  std::int64_t granule{512};         ///< the allocator's rounding
  bool autocast{};
  bool casts_weights{};              ///< … and weights are wider than what is multiplied
  bool narrow_frozen{};              ///< … but for those that do not train
  bool padded{};
  bool masked{};                     ///< all layers read a mask although no sample is padded (settle/windows.hpp)
  bool packed{};                     ///< documents share a sequence: positions are looked up, not counted
  bool block_mask{};                 ///< a mask in the stream's format keeps the images of one sequence apart (Pixtral)
  bool masks_each_layer{};           ///< … which each layer makes anew
  bool joins_images{};               ///< attention runs for each image apart, and a copy joins what it gives (Qwen-VL, GLM-4V)
  bool compiled{};                   ///< inductor generates the layer's kernels: see ops::rms_norm, activate, gated, rotate
  bool layer_scale{};                ///< each branch of a layer is multiplied with a trained vector before it is added (InternViT)
  bool copies_for_softmax{};         ///< softmax's input is copied into a wider format: no kernel widens it as it reads
  bool host{};                       ///< tensors lie in host memory: no GPU kernels, no workspaces
  headroom::attention kernel{};
  bool sums_views_apart{};           ///< autograd adds a second gradient to one that is a view in a third tensor
  bool cudnn{};                      ///< torch's own attention is cuDNN's, whose result lies as queries do, masks or not (native/cudnn/MHA.cpp alloc_with_matching_layout)
  bool ungrouped{};                  ///< torch's own attention takes as many heads of keys as of queries (before 2.5: no enable_gqa)
  bool groups_by_math{};             ///< … and no kernel of it that runs here takes fewer: what is handed over so has its scores written out
  bool no_kernel{};                  ///< no kernel of it takes the format on this GPU
  headroom::recurrence recurrence{};
  fused_kernels fused{};
  number_format base{};              ///< of frozen linear layers
  module_set quantised{};            ///< linear layers stored in `base`
  dropout drops{};
  fake_quantization fake{};          ///< linear layers multiply rounded numbers
  std::int64_t vocabulary{};         ///< padded
  headroom::loss loss{};
  loss_style loss_program{};
  method_loss scoring{};             ///< of loss_style::compared
  std::int64_t kept{};               ///< last positions of each sample that the head reads; 0: all
  std::int64_t scored{};             ///< positions of each sample whose logits the loss reads, of all that there are; 0: all
  std::int64_t accumulated_width{};  ///< of the head's gradient while chunks are added up (FSDP2: the format of the reduction)

  // How the layer is divided. `tokens` are this rank's: samples × sequence / context.
  std::int64_t tensor{1};
  std::int64_t sequence_split{1};    ///< tensor with sequence parallelism, else 1: how the residual stream is divided
  std::int64_t context{1};
  std::int64_t expert{1};
  std::int64_t expert_tensor{1};
  std::int64_t expert_imbalance{100};
  bool fuses_weight_gradients{};     ///< added straight into the main gradient buffer: autograd makes none
  bool copies_flash_output{};        ///< flash kernel with s-b-h-d layout: its result is transposed into a copy where b > 1
  bool fp8{};                        ///< TransformerEngine's linear layers multiply in fp8 or nvfp4; all else stays in `width`
  std::int64_t fp8_copies{1};        ///< of an fp8 tensor: with its transpose
  std::int8_t narrow_bits{8};        ///< of a number that they multiply
  std::int16_t scaled_together{};    ///< so many numbers have one byte of scales; 0: a tensor has one scale
  std::int32_t weights_together{};   ///< … so many of a weight
  bool keeps_returned{};             ///< what experts return stays for backward
  bool weighs_in_activation{};       ///< between experts' activation and second projection no tensor is made for the router's weights
  bool grouped_by_engine{};          ///< TransformerEngine multiplies experts' matrices, in streams of its own
  bool zeroes_padding{};             ///< rows of padding are filled with zeros behind a written-out softmax, which keeps their mask (TransformerEngine since 1.10)
  bool fuses_activation{true};       ///< SwiGLU, or bias and GELU, is one kernel that saves its input

  bool nested_backward{};              ///< a layer runs backward inside a node of another backward (reentrant checkpoint)
  recompute_policy policy{};           ///< of a selective recompute that is set for eager modules
  std::uint32_t recomputed_modules{};  ///< bit i: recompute_module i
  std::uint32_t offloaded_modules{};   ///< bit i: offload_module i

  [[nodiscard]] constexpr bool recomputes(recompute_module m) const { return (recomputed_modules >> static_cast<int>(m) & 1U) != 0; }
  [[nodiscard]] constexpr bool offloads(offload_module m) const { return (offloaded_modules >> static_cast<int>(m) & 1U) != 0; }
  /// Whether the trainer computes the loss from what the model returns, or the model itself.
  [[nodiscard]] constexpr bool loss_outside() const {
    return loss_program == loss_style::chunked || loss_program == loss_style::whole_or_divided || loss_program == loss_style::chunked_in_loss || loss_program == loss_style::compared || loss_program == loss_style::beside_own;
  }
  /// Tokens of the residual stream on this rank.
  [[nodiscard]] constexpr std::int64_t stream_tokens() const { return sequence_split == 1 ? tokens : tokens / sequence_split; }
  /// This rank's share of features that tensor parallelism divides.
  [[nodiscard]] constexpr std::int64_t divided(std::int64_t features) const { return tensor == 1 ? features : features / tensor; }
  /// Whether a weight is cast for its multiplication.
  [[nodiscard]] constexpr bool casts(bool trains) const { return casts_weights && (trains || !narrow_frozen); }
  [[nodiscard]] constexpr bool adapts(module m) const { return side->active() && side->targets.has(m); }
  /// Whether the layers are transformers' own, so that what a model joins is one linear layer with one adapter (PEFT).
  [[nodiscard]] constexpr bool runs_joined() const { return habits->attention.qkv == qkv_projection::separate && !habits->adapters.by_target; }
  [[nodiscard]] constexpr bool joins_qkv(const shape& m) const {
    return m.fused_qkv && (side->fused_qkv || (runs_joined() && adapts(module::q_proj) && adapts(module::k_proj) && adapts(module::v_proj)));
  }
  [[nodiscard]] constexpr bool joins_gate_up(const shape& m) const { return m.fused_gate_up && runs_joined() && adapts(module::gate_proj) == adapts(module::up_proj) && adapts(module::shared_gate) == adapts(module::shared_up); }
};

}  // namespace headroom
