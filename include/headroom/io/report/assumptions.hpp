// Distributed under the Boost Software License, Version 1.0.
// What an estimate took for granted, in sentences: what was assumed, and where it comes from.
#pragma once

#include <headroom/report.hpp>
#include <string_view>

namespace headroom::io {

/// One sentence. The switch has no default, so that a new assumption without a sentence is a compiler's warning.
constexpr std::string_view assumption_text(assumption a) {
  switch (a) {
    case assumption::framework_precision:
      return "precision was left open: the framework's usual recipe is assumed.";
    case assumption::optimizer_adamw:
      return "optimizer was left open: AdamW with two moments for each trained parameter is assumed.";
    case assumption::optimizer_implementation:
      return "optimizer.implementation was left open: the one that the framework picks (fused, foreach or loop) is assumed; "
             "it decides the temporaries of the update.";
    case assumption::data_parallel_from_gpus:
      return "parallel.data was left open: every GPU that tensor, pipeline and context parallelism leave over is a "
             "data-parallel rank.";
    case assumption::attention_sdpa:
      return "attention was left open: PyTorch's scaled_dot_product_attention with a fused kernel is assumed, so no "
             "sequence x sequence scores are stored.";
    case assumption::attention_eager_for_softcap:
      return "the model caps its attention scores, which fused kernels of that time cannot: eager attention with stored "
             "scores is assumed.";
    case assumption::loss_of_framework:
      return "loss.kind was left open: the framework's own loss is assumed, with what it keeps of the logits.";
    case assumption::logits_format_of_framework:
      return "loss.logits was left open: the number format in which the framework computes its loss is assumed.";
    case assumption::fsdp_keeps_fp32_shards:
      return "mixed precision under FSDP: the sharded parameters, gradients and states are fp32, and 16-bit weights exist "
             "only while a layer is gathered.";
    case assumption::steady_state:
      return "the step reported is a later one, when gradients' buffers and optimizer states exist; the first step may peak "
             "lower.";
    case assumption::zero_buckets_default:
      return "DeepSpeed's bucket sizes were left open: its defaults (5e8 elements to reduce and to gather, 5e7 to prefetch) "
             "are assumed.";
    case assumption::deepspeed_stage3_trace:
      return "ZeRO-3 gathers parameters in the order recorded in the first step; a model that runs its layers in a changing "
             "order holds more.";
    case assumption::adapters_in_fp32:
      return "adapters, their gradients and states are in fp32, whatever adapter.format says: PEFT before 0.7 (2023-12) makes them in torch's "
             "default format.";
    case assumption::adapter_format:
      return "adapter.format was left open: the adapters have the number format that the framework gives them.";
    case assumption::recompute_reentrant_default:
      return "recompute.reentrant was left open: the variant of torch.utils.checkpoint that the framework uses is assumed.";
    case assumption::flash_backward_workspace:
      return "the flash-attention kernel's backward accumulates the query gradient in fp32; the size of that workspace is "
             "derived from its source, not measured for this GPU.";
    case assumption::cublas_workspace_by_capability:
      return "cuBLAS workspaces are those that PyTorch allots by compute capability (32 MiB for each handle on Hopper, 8.1 "
             "MiB before it) unless CUBLAS_WORKSPACE_CONFIG is stated.";
    case assumption::context_calibrated:
      return "the CUDA context and the libraries' code outside PyTorch's allocator are a calibrated constant (400 MiB "
             "for any GPU, 1,343 MiB where kernels are loaded whole: torch before 1.13, llm.c); other GPUs, drivers and libraries take "
             "more or less.";
    case assumption::nccl_derived:
      return "NCCL's buffers are derived from its defaults (16 channels for a ring, 32 for an exchange of tokens, 12 MiB for each peer), a "
             "communicator for each kind of group; topology and version change them.";
    case assumption::reserved_without_fragmentation:
      return "reserved memory is that of an allocator that reuses what it frees; fragmentation comes on top of it and "
             "depends on the order of sizes.";
    case assumption::host_runtime_not_counted:
      return "host memory counts tensors and pinned buffers, not the interpreter, the libraries and the data loader of each "
             "process.";
    case assumption::activations_offload_overlap:
      return "activations go to the host behind the computation; copies that fall behind keep more of them on the GPU.";
    case assumption::experts_overlap_in_turn:
      return "a forward and a backward that overlap-moe-expert-parallel-comm runs side by side, layer by layer, are counted one after the other.";
    case assumption::graphs_as_eager:
      return "steps that run without CUDA graphs, before capture, are the highest in what is allocated; graphs then keep in pools of their own what those "
             "steps kept, and static copies of each layer's input and output, which are not counted.";
    case assumption::fp8_in_all_layers:
      return "the layers that first-last-layers-bf16 keeps in bf16 are counted as the others are.";
    case assumption::no_eval_no_generation:
      return "only training steps are counted: evaluation with larger batches or generation with a cache of keys and values "
             "may need more.";
    case assumption::gpu_assumed:
      return "hardware.gpu was left open: one h100-sxm-80gb is assumed.";
    case assumption::ddp_assumed:
      return "sharding is \"none\" over several data-parallel ranks: DistributedDataParallel with its gradient buckets is "
             "assumed.";
    case assumption::balanced_routing:
      return "tokens are taken to reach all experts evenly. A busier expert keeps more of them; in measured dropless runs a rank "
             "computes 1.0 to 1.4 times its share: state parallel.expert_imbalance for one that does.";
    case assumption::reserved_by_pools:
      return "reserved memory is the sum of what each stream's pool, the logits and the segments left by wrapping hold at most; "
             "it is not a replay of every allocation, and fragmentation comes on top of it.";
    case assumption::compiled_layers:
      return "torch.compile keeps what matrix multiplications, attention and norms read and computes the rest again in backward, as "
             "PyTorch's partitioner prefers; how else it reorders or reuses buffers is not followed.";
    case assumption::fp8_in_linear:
      return "fp8 tensors live inside a linear layer for a moment only and are not counted; what is kept for backward stays in 16 bits.";
    case assumption::compiled_loss_targets:
      return "a compiled loss writes its one-hot targets out in backward, one tensor of fp32 logits: inferred from one measured run of "
             "torchtune; other versions of PyTorch may not.";
    case assumption::int8_update_copies:
      return "the update of 8-bit optimizer state makes three fp32 copies of the tensor at hand: calibrated on one measured run of "
             "torchtune with AdamW8bit.";
    case assumption::reserved_replayed:
      return "reserved memory is a replay of loading and two steps through the caching allocator's rules, in the order of the walk; "
             "evaluation, saving and samples of other lengths may leave more segments behind.";
    case assumption::moments_copied_for_step:
      return "moments in fewer than 32 bits are copied to fp32 for the optimizer step, as TransformerEngine did before 2026-02.";
    case assumption::zero_bubble_defers_all:
      return "zero-bubble schedules are assumed to put off the weight gradient of every matrix, the head's included.";
    case assumption::rank_with_most_weights:
      return "Muon's distributed optimizer gives whole weights to ranks: the rank with the most of them is reported, others hold less.";
    case assumption::first_micro_batch_gathers:
      return "under Megatron-FSDP the first micro-batch of a run gathers layers in the loss, once more than later ones; optimizer states "
             "are taken to be there by then, as in a run that goes on from a checkpoint.";
    case assumption::update_without_copies:
      return "the foreach update of this framework makes no temporaries as large as the parameters: inferred from one measured run "
             "of torchtune, not read in its source.";
    case assumption::compiled_chunks_in_place:
      return "the gradient of a compiled chunk of logits takes the chunk's own place: inferred from two measured runs of torchtune.";
    case assumption::cublas_workspace_before_2026:
      return "cuBLAS workspaces of this GPU are the 8.1 MiB of PyTorch before 2.12 (2026-02), where each takes 32 MiB; environment.torch says which.";
    case assumption::samples_of_one_length:
      return "every micro-batch of a step is as long as batch.sequence; with samples of their own length the later micro-batches, in which a "
             "sharded model peaks, are shorter.";
    case assumption::recipe_of_one_date:
      return "this framework's training loop is a recipe that changes from release to release; the one of the stated date is assumed.";
    case assumption::eager_stages_on_two_runs:
      return "pipelines of torchtitan's modules have been compared with two runs alone, which took a fifth more than is predicted.";
    case assumption::towers_on_few_runs:
      return "vision towers, resamplers and their ZeRO-3 gathers follow their source; the only measured runs (MiniCPM-V) occupied twice as "
             "much, and why is not known.";
    case assumption::parameters_stay_on_gpu:
      return "offload.parameters has no effect: DeepSpeed offloads parameters in ZeRO's third stage alone and keeps them on the GPU in the others, "
             "without a word.";
    case assumption::sharded_adapters_unexplained:
      return "adapters of PEFT under FSDP1 took 3 to 11 % more than is predicted in eight measured runs, and a quarter more in one of 70B; why is not known.";
    case assumption::upcast_quantised_base:
      return "PEFT on a quantised base has been compared with four runs on one GPU, within 5 %; precision.parameters says what it leaves in fp32.";
  }
  return "an assumption that this version has no sentence for.";
}

}  // namespace headroom::io
