// Distributed under the Boost Software License, Version 1.0.
// What a report takes for granted, in sentences. Numbers need none of them, so that estimate.hpp does without this header; by how much an
// assumption may be wrong says uncertainty.hpp. A new one is a name (assumption_kind.hpp), its sentence here, and the line that raises it.
#pragma once

#include <headroom/report/assumption_kind.hpp>

#include <array>
#include <string_view>

namespace headroom {

/// Why an assumption has no spread of its own (uncertainty.hpp).
enum class without_spread : std::uint8_t {
  has_one,
  fills_in,          ///< it fills in what a job leaves open: the report is of the job with that
  decides,           ///< … and another choice takes several times as much: said before the numbers. It may have a spread, too
  left_out,          ///< it says what is no part of these numbers
  in_other_spreads,  ///< its errors are in the records that others are calibrated on: tensors, compiler, recipe
};

/// One assumption, and the sentence that a report prints.
struct assumption_entry {
  assumption id{};
  without_spread why{};
  std::string_view sentence{};
};

// clang-format off
/// All assumptions, in the order of their names.
inline constexpr auto all_assumptions = std::to_array<assumption_entry>({
    {assumption::framework_precision, without_spread::fills_in,
     "precision was left open: the framework's usual recipe is assumed."},
    {assumption::optimizer_adamw, without_spread::fills_in,
     "optimizer was left open: AdamW with two moments for each trained parameter is assumed."},
    {assumption::optimizer_implementation, without_spread::fills_in,
     "optimizer.implementation was left open: the one that the framework picks (fused, foreach or loop) is assumed; it decides the temporaries of the update."},
    {assumption::data_parallel_from_gpus, without_spread::fills_in,
     "parallel.data was left open: every GPU that tensor, pipeline and context parallelism leave over is a data-parallel rank."},
    {assumption::attention_sdpa, without_spread::fills_in,
     "attention was left open: PyTorch's scaled_dot_product_attention with a fused kernel is assumed, so no sequence x sequence scores are stored."},
    {assumption::attention_eager_for_softcap, without_spread::fills_in,
     "the model caps its attention scores, or adds to them what its code computes for each pair, which fused kernels of that time cannot, or its class calls none: eager attention with stored scores is assumed."},
    {assumption::loss_of_framework, without_spread::fills_in,
     "loss.kind was left open: the framework's own loss is assumed, with what it keeps of the logits."},
    {assumption::logits_format_of_framework, without_spread::fills_in,
     "loss.logits was left open: the number format in which the framework computes its loss is assumed."},
    {assumption::fsdp_keeps_fp32_shards, without_spread::fills_in,
     "mixed precision under FSDP: the sharded parameters, gradients and states are fp32, and 16-bit weights exist only while a layer is gathered."},
    {assumption::steady_state, without_spread::has_one,
     "the step reported is a later one, when gradients' buffers and optimizer states exist; the first step may peak lower."},
    {assumption::zero_buckets_default, without_spread::fills_in,
     "DeepSpeed's bucket sizes were left open: its defaults (5e8 elements to reduce and to gather, 5e7 to prefetch) are assumed."},
    {assumption::deepspeed_stage3_trace, without_spread::has_one,
     "ZeRO-3 gathers parameters in the order recorded in the first step; a model that runs its layers in a changing order holds more."},
    {assumption::adapter_format, without_spread::fills_in,
     "adapter.format was left open: the adapters have the number format that the framework gives them."},
    {assumption::adapters_in_fp32, without_spread::in_other_spreads,
     "adapters, their gradients and states are in fp32, whatever adapter.format says: PEFT before 0.7 (2023-12) makes them in torch's default format, and Unsloth casts them to it."},
    {assumption::recompute_reentrant_default, without_spread::fills_in,
     "recompute.reentrant was left open: the variant of torch.utils.checkpoint that the framework uses is assumed."},
    {assumption::flash_backward_workspace, without_spread::in_other_spreads,
     "the flash-attention kernel's backward accumulates the query gradient in fp32; the size of that workspace is derived from its source, not measured for this GPU."},
    {assumption::cublas_workspace_by_capability, without_spread::in_other_spreads,
     "cuBLAS workspaces are those that PyTorch allots by compute capability (32 MiB for each handle on Hopper, 8.1 MiB before it) unless CUBLAS_WORKSPACE_CONFIG is stated."},
    {assumption::context_calibrated, without_spread::has_one,
     "the CUDA context and the libraries' code outside PyTorch's allocator are a calibrated constant (400 MiB for any GPU; 767 MiB on "
     "Hopper where environment.torch is 2.11 or newer, of three runs with CUDA 13.0; 1,343 MiB where kernels are loaded whole: torch before 1.13, llm.c); other GPUs, drivers and libraries take more or less."},
    {assumption::nccl_derived, without_spread::has_one,
     "NCCL's buffers are derived from its defaults (16 or 24 channels, 32 between two ranks of a node, 12 MiB for each neighbour; RCCL's on AMD: 8 a link, 8 MiB), a "
     "communicator for each kind of group; topology and version change them, and published runs have up to three times as much."},
    {assumption::reserved_without_fragmentation, without_spread::has_one,
     "reserved memory is that of an allocator that reuses what it frees; fragmentation comes on top of it and depends on the order of sizes."},
    {assumption::host_runtime_not_counted, without_spread::left_out,
     "host memory counts tensors and pinned buffers, not the interpreter, the libraries and the data loader of each process."},
    {assumption::activations_offload_overlap, without_spread::has_one,
     "activations go to the host behind the computation; copies that fall behind keep more of them on the GPU."},
    {assumption::experts_overlap_in_turn, without_spread::in_other_spreads,
     "a forward and a backward that overlap-moe-expert-parallel-comm runs side by side, layer by layer, are counted one after the other."},
    {assumption::graphs_as_eager, without_spread::has_one,
     "steps that run without CUDA graphs, before capture, are the highest in what is allocated; graphs then keep in pools of their own what "
     "those steps kept, and static copies of each layer's input and output, which are not counted."},
    {assumption::fp8_in_all_layers, without_spread::in_other_spreads,
     "the layers that first-last-layers-bf16 keeps in bf16 are counted as the others are."},
    {assumption::no_eval_no_generation, without_spread::left_out,
     "only training steps are counted: evaluation with larger batches or generation with a cache of keys and values may need more."},
    {assumption::gpu_assumed, without_spread::fills_in,
     "hardware.gpu was left open: one h100-sxm-80gb is assumed."},
    {assumption::ddp_assumed, without_spread::fills_in,
     "sharding is \"none\" over several data-parallel ranks: DistributedDataParallel with its gradient buckets is assumed."},
    {assumption::balanced_routing, without_spread::has_one,
     "tokens are taken to reach all experts evenly. A busier expert keeps more of them; in measured dropless runs a rank computes 1.0 to 1.4 "
     "times its share: state parallel.expert_imbalance for one that does."},
    {assumption::reserved_by_pools, without_spread::has_one,
     "reserved memory is the sum of what each stream's pool, the logits and the segments left by wrapping hold at most; it is not a replay of "
     "every allocation, and fragmentation comes on top of it."},
    {assumption::compiled_layers, without_spread::has_one,
     "torch.compile keeps what matrix multiplications, attention and norms read and computes the rest again in backward, as PyTorch's "
     "partitioner prefers; how else it reorders or reuses buffers is not followed."},
    {assumption::fp8_in_linear, without_spread::has_one,
     "fp8 tensors live inside a linear layer for a moment only and are not counted; what is kept for backward stays in 16 bits."},
    {assumption::compiled_loss_targets, without_spread::in_other_spreads,
     "a compiled loss writes its one-hot targets out in backward, one tensor of fp32 logits: inferred from one measured run of torchtune; other versions of PyTorch may not."},
    {assumption::int8_update_copies, without_spread::has_one,
     "the update of 8-bit optimizer state makes three fp32 copies of the tensor at hand: calibrated on one measured run of torchtune with AdamW8bit."},
    {assumption::reserved_replayed, without_spread::has_one,
     "reserved memory is a replay of loading and two steps through the caching allocator's rules, in the order of the walk; evaluation, "
     "saving and samples of other lengths may leave more segments behind."},
    {assumption::moments_copied_for_step, without_spread::has_one,
     "moments in fewer than 32 bits are copied to fp32 for the optimizer step, as TransformerEngine did before 2026-02."},
    {assumption::zero_bubble_defers_all, without_spread::has_one,
     "zero-bubble schedules are assumed to put off the weight gradient of every matrix, the head's included."},
    {assumption::rank_with_most_weights, without_spread::in_other_spreads,
     "Muon's distributed optimizer gives whole weights to ranks: the rank with the most of them is reported, others hold less."},
    {assumption::first_micro_batch_gathers, without_spread::in_other_spreads,
     "under Megatron-FSDP the first micro-batch of a run gathers layers in the loss, once more than later ones; optimizer states are taken to "
     "be there by then, as in a run that goes on from a checkpoint."},
    {assumption::update_without_copies, without_spread::in_other_spreads,
     "the foreach update of this framework makes no temporaries as large as the parameters: inferred from one measured run of torchtune, not read in its source."},
    {assumption::compiled_chunks_in_place, without_spread::in_other_spreads,
     "the gradient of a compiled chunk of logits takes the chunk's own place: inferred from two measured runs of torchtune."},
    {assumption::cublas_workspace_before_2026, without_spread::has_one,
     "cuBLAS workspaces of this GPU are the 8.1 MiB of PyTorch before 2.12 (2026-02), where each takes 32 MiB; environment.torch says which."},
    {assumption::samples_of_one_length, without_spread::has_one,
     "every micro-batch of a step is as long as batch.sequence; with samples of their own length the later micro-batches, in which a sharded "
     "model peaks, are shorter."},
    {assumption::recipe_of_one_date, without_spread::has_one,
     "this framework's training loop is a recipe that changes from release to release; the one of the stated date is assumed."},
    {assumption::towers_on_few_runs, without_spread::has_one,
     "vision towers, resamplers and their ZeRO-3 gathers follow their source; MiniCPM-V's six measured runs took twice what is predicted, and why is not known."},
    {assumption::eager_stages_on_two_runs, without_spread::has_one,
     "pipelines of torchtitan's modules have been compared with two runs alone, which took a fifth more than is predicted."},
    {assumption::megatron_kinds_on_few_runs, without_spread::has_one,
     "Megatron's hybrid stacks, BERT and T5 follow their source and have been compared with 29 published runs, of which 27 are within 3 %."},
    {assumption::parameters_stay_on_gpu, without_spread::fills_in,
     "offload.parameters has no effect: DeepSpeed offloads parameters in ZeRO's third stage alone and keeps them on the GPU in the others, "
     "without a word."},
    {assumption::sharded_adapters_unexplained, without_spread::has_one,
     "adapters of PEFT under FSDP1 took 3 to 11 % more than is predicted in eight measured runs, and a quarter more in one of 70B; why is not "
     "known."},
    {assumption::upcast_quantised_base, without_spread::has_one,
     "PEFT on a quantised base has been compared with four runs on one GPU, within 5 %; precision.parameters says what it leaves in fp32."},
    {assumption::recurrence_fused, without_spread::decides,
     "recurrence was left open: the fused kernels of flash-linear-attention, mamba_ssm and causal_conv1d are assumed. Without these packages "
     "transformers runs PyTorch's operations one by one (recurrence \"eager\"), which keep several times as much."},
    {assumption::keys_ignored, without_spread::decides,
     "keys of the files that this job was imported from were ignored on request (ignored_keys): what they change is not in these numbers."},
    {assumption::unified_memory, without_spread::decides,
     "the GPU's memory is the host's, too: what the system and the program hold of it on the host is not in these numbers; hardware.taken_gib says how "
     "much others hold."},
    {assumption::open_defaults, without_spread::decides,
     "the files that this job was imported from leave something open that changes memory, and defaults stand for it (assumed_defaults): of what "
     "releases changed, the older; of images, the largest; of videos, none. --set at the import decides."},
    {assumption::replay_too_long, without_spread::in_other_spreads,
     "a replay would take as long as one of 16,777,216 tensors or longer and is not begun: reserved memory is that of an allocator that reuses what it frees, and whether the job fits is said for all that fragmentation may take."},
    {assumption::method_of_trl, without_spread::fills_in,
     "objective.trainer was left open: the loss code of TRL's newest release is assumed."},
    {assumption::methods_on_few_runs, without_spread::has_one,
     "methods other than sft have been compared with eight runs of ms-swift's DPO alone, of samples of unknown lengths; they took from 8 % less to 41 % more than is predicted."},
    {assumption::openrlhf_dpo_unexplained, without_spread::has_one,
     "OpenRLHF's DPO has been compared with one public run alone (issue 384), which took at least two and a half times what is predicted; why is not known."},
    {assumption::generation_of_full_length, without_spread::has_one,
     "prompts and completions have the full length that the job states; shorter ones take less. Evaluation is counted where the job has one."},
    {assumption::engine_graphs, without_spread::has_one,
     "CUDA graphs of the engine that generates are counted as 1 GiB beside its share, and stay while it sleeps; 0.3 to 2.5 GiB have been reported."},
    {assumption::host_ahead_of_collectives, without_spread::has_one,
     "what collectives of tensor parallelism read stays taken until the GPU has passed them. How far the host is ahead of the GPU by then decides how much that is, "
     "and no job says it: what it gains on the GPU since the step began, or since its stage last received, is assumed, 22 layers at most; "
     "on more than 32 nodes or 16 tensor-parallel ranks, that it waits at each message."},
    {assumption::head_with_loss, without_spread::has_one,
     "nanotron may put the head on one stage and the loss on a later one: both are counted on the last stage. Where its costs of layers come out even, runs "
     "have had a layer less on the first stage than its code says."},
    {assumption::lengths_not_given, without_spread::decides,
     "every micro-batch is taken to be as long as batch.sequence. Where samples have lengths of their own, without packing, reserved memory is a lower "
     "bound, and a job that fits by it may still run out: batch.lengths says how long they are."},
    {assumption::lengths_unknown, without_spread::decides, "how long samples are is not known: all are counted as long as batch.sequence. Shorter ones take less; lengths that vary leave more cached: batch.lengths says them."},
    {assumption::lengths_not_replayed, without_spread::decides,
     "samples have lengths of their own (batch.lengths): allocated memory and the step's time are those of a longest micro-batch. Reserved memory is a "
     "lower bound here: only a replay of many micro-batches says what they leave cached, and whether the job fits."},
    {assumption::lengths_replayed, without_spread::has_one,
     "samples have lengths of their own (batch.lengths): allocated memory and the step's time are those of a longest micro-batch; reserved memory is the "
     "median of replays of a run in several orders, of at most 128 micro-batches each; the job fits where each of them does."},
    {assumption::swift_over_megatron, without_spread::has_one,
     "ms-swift over Megatron-Core has been compared with three figures in its own scripts of dense models, which are 6 to 11 % above what is predicted; two of them "
     "are from before the scripts set expandable segments."},
    {assumption::swift_experts_over_megatron, without_spread::has_one,
     "ms-swift over Megatron-Core has been compared with five figures in its own scripts of mixtures of experts, which are 12 to 36 % above what is predicted; "
     "why is not known."},
    {assumption::megatron_under_deepspeed, without_spread::has_one,
     "Megatron-DeepSpeed has been compared with the memory that BLOOM's authors noted while they chose its layout: in pipelines mostly a "
     "tenth to three tenths of what is allocated above what is predicted; why is not known. GPT-NeoX, under the same engine, has been compared with no figure. "
     "Gradients are counted from the start of forward."},
    {assumption::compiled_in_parts, without_spread::has_one,
     "layers with experts or latent attention are walked as eager modules under torch.compile, too: what of them is compiled changes from release to release, and keeps less."},
    {assumption::other_maker, without_spread::has_one,
     "accelerators of other makers than NVIDIA have been compared with few runs (Ascend 910B, MI355X), which took from 6 % less than is predicted to 68 % more: their runtimes, "
     "libraries and collectives take what is not counted."},
    {assumption::nvfp4_by_source, without_spread::left_out,
     "NVFP4 follows TransformerEngine's source (4 bits, a scale for 16 numbers, rows and columns apart) and has been compared with no run; what its "
     "Hadamard transforms make for a moment is left out."},
    {assumption::unsloth_by_source, without_spread::has_one,
     "Unsloth's layers, checkpoints and loss follow its source: compared from one side alone, its published longest contexts (2024-12) are predicted to take 5 to 13 % less than those "
     "GPUs have. Attention that is not flash is xFormers', given keys and values repeated. The loss comes in chunks by what is free at the first step, taken to be all but the weights."},
    {assumption::corrected_by_run, without_spread::decides,
     "these numbers are corrected by a measured run (measured): what is uncertain in them is as far off as it was there, two thirds of that where the job is not "
     "that run's; ranges are what it leaves of them."},
    {assumption::newest_framework, without_spread::decides, "framework.version says neither a date nor a release that is known: the framework's newest profile is taken."},
    {assumption::attention_by_math, without_spread::decides,
     "PyTorch has no fused attention kernel for this format on this GPU (fp32, and any format before Ampere, with fewer heads of keys than of queries, up to torch "
     "2.13; bf16 before Ampere), or for Falcon's one head of keys (attention flash has): scores of sequence x sequence are written out in fp32. bf16 or its autocast from Ampere on, or fp16 with as many heads, needs none."},
    {assumption::towers_held, without_spread::decides,
     "samples are text alone (batch.images.none): the weights of what sees and hears are counted, and no picture and no sound goes through them, so that "
     "nothing else of them is in these numbers."},
    {assumption::frozen_tower_asked, without_spread::fills_in,
     "recompute.frozen_towers was left open: transformers 5 asks what this tower makes of patches for a gradient where layers are recomputed, so that a tower that does not train "
     "keeps its checkpoints, and gradients go back through it."},
});
// clang-format on
static_assert([] {
  for (std::size_t i = 0; i < all_assumptions.size(); ++i)
    if (static_cast<std::size_t>(all_assumptions[i].id) != i) return false;
  return all_assumptions.size() == assumption_count;
}(), "the table has one entry for each assumption, in their order");

/// The entry of an assumption.
constexpr const assumption_entry& entry_of(assumption a) { return all_assumptions[static_cast<std::size_t>(a)]; }

}  // namespace headroom
