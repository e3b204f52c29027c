// Distributed under the Boost Software License, Version 1.0.
// What a report takes for granted: each assumption with its sentence and what it may be wrong by. A new one is a name, an entry of the
// table, and the line that raises it.
#pragma once

#include <headroom/report/assumption_kind.hpp>

namespace headroom {

// Calibrated: on every first, third, fifth, … record of a family and metric in tests/accuracy/measured.jsonl, graded A or B, by
// tests/accuracy/spreads.py, which names the records of each spread and says how many of the other records are then inside; on all of a
// spread's records where half of them are fewer than eight. A spread is such that 80 % of the records it is taken from, and of one more,
// lie where Student's t says (bounds.hpp), and not below a stated least.
// Where runs have come closer since, the wider spread has stayed: spreads.py marks those lines.
// Derived: from the size of what is uncertain.
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
     "the model caps its attention scores, or adds to them what its code computes for each pair, which fused kernels of that time cannot: eager attention with stored scores is assumed."},
    {assumption::loss_of_framework, without_spread::fills_in,
     "loss.kind was left open: the framework's own loss is assumed, with what it keeps of the logits."},
    {assumption::logits_format_of_framework, without_spread::fills_in,
     "loss.logits was left open: the number format in which the framework computes its loss is assumed."},
    {assumption::fsdp_keeps_fp32_shards, without_spread::fills_in,
     "mixed precision under FSDP: the sharded parameters, gradients and states are fp32, and 16-bit weights exist only while a layer is gathered."},
    // Calibrated on litgpt on one GPU, SimuMax and dense Megatron; rounding of blocks and the order of frees are in it.
    // Derived: scalars, random number states, statistics of a loss, a block of 2 MiB cut or not.
    // Calibrated on litgpt under FSDP1, torchtune under FSDP2 and fsdp_qlora: how many units are gathered at once.
    {assumption::steady_state,
     "the step reported is a later one, when gradients' buffers and optimizer states exist; the first step may peak lower.",
     {"tensors", reading::allocated, error_base::step_tensors, 5, 5},
     {"small_blocks", reading::allocated, error_base::mebibyte, 2000, 4000},
     {"gather_windows", reading::allocated, error_base::gathered, 65, 65}},
    {assumption::zero_buckets_default, without_spread::fills_in,
     "DeepSpeed's bucket sizes were left open: its defaults (5e8 elements to reduce and to gather, 5e7 to prefetch) are assumed."},
    // Calibrated on Qwen under ZeRO-3: its pool grows beyond what is ever gathered at once. Derived: a replay's holes, or none (2.776 deviations).
    {assumption::deepspeed_stage3_trace,
     "ZeRO-3 gathers parameters in the order recorded in the first step; a model that runs its layers in a changing order holds more.",
     {"stage3_gathers", reading::reserved, error_base::allocated, 0, 110}, {"stage3_holes", reading::reserved, error_base::holes, 360, 0}},
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
    // Derived: contexts of 287 MB (lazily loaded) to 667 MB (eagerly), and libraries on top, have been reported (states/outside.hpp).
    // Calibrated on Qwen, BERT and llm.c: what a driver's tool shows, in units of 10^9 or 2^30, of a process that also evaluates, saves
    // and loads.
    {assumption::context_calibrated,
     "the CUDA context and the libraries' code outside PyTorch's allocator are a calibrated constant (400 MiB for any GPU, 1,343 MiB where "
     "kernels are loaded whole: torch before 1.13, llm.c); other GPUs, drivers and libraries take more or less.",
     {"context", reading::device, error_base::mebibyte, 60'000, 300'000},
     {"driver_reading", reading::device, error_base::device, 30, 30}},
    // Published: 1.2 to 3.2 times what is derived. Groups of 2 and 4 A100 544 and 688 MiB (NCCL issue 964), vLLM's of 4 about 1 GiB (pull request
    // 51485), Megatron on 8 H100 7 GB (verl pull request 6408) and on 8 H200 6.6 GiB with the context (basetenlabs/ml-cookbook pull request 105).
    {assumption::nccl_derived,
     "NCCL's buffers are derived from its defaults (16 or 24 channels, 32 between two ranks of a node, 12 MiB for each neighbour; RCCL's on AMD: 8 a link, 8 MiB), a "
     "communicator for each kind of group; topology and version change them, and published runs have up to three times as much.",
     {"nccl_buffers", reading::device, error_base::nccl, 400, 800}},
    // Calibrated on replay() of all records: ends of blocks that are too small to be cut off add 0.6 % to four values of five, at most
    // 1.1 %.
    // Calibrated on replay() of all records: what it reserves beyond the tensors.
    {assumption::reserved_without_fragmentation,
     "reserved memory is that of an allocator that reuses what it frees; fragmentation comes on top of it and depends on the order of sizes.",
     {"block_ends", reading::allocated, error_base::allocated, 0, 4},
     {"fragmentation", reading::reserved, error_base::allocated, 0, 85}},
    {assumption::host_runtime_not_counted, without_spread::left_out,
     "host memory counts tensors and pinned buffers, not the interpreter, the libraries and the data loader of each process."},
    // Derived: a layer's activations more or less on their way among some ten.
    {assumption::activations_offload_overlap,
     "activations go to the host behind the computation; copies that fall behind keep more of them on the GPU.",
     {"offload_overlap", reading::allocated, error_base::step_tensors, 50, 80}},
    {assumption::experts_overlap_in_turn, without_spread::in_other_spreads,
     "a forward and a backward that overlap-moe-expert-parallel-comm runs side by side, layer by layer, are counted one after the other."},
    // Derived: the private pools of captured graphs keep what the modules save, beside a cache that has held as much before; half of it.
    {assumption::graphs_as_eager,
     "steps that run without CUDA graphs, before capture, are the highest in what is allocated; graphs then keep in pools of their own what "
     "those steps kept, and static copies of each layer's input and output, which are not counted.",
     {"graph_pools", reading::reserved, error_base::activations, 0, 500}},
    {assumption::fp8_in_all_layers, without_spread::in_other_spreads,
     "the layers that first-last-layers-bf16 keeps in bf16 are counted as the others are."},
    {assumption::no_eval_no_generation, without_spread::left_out,
     "only training steps are counted: evaluation with larger batches or generation with a cache of keys and values may need more."},
    {assumption::gpu_assumed, without_spread::fills_in,
     "hardware.gpu was left open: one h100-sxm-80gb is assumed."},
    {assumption::ddp_assumed, without_spread::fills_in,
     "sharding is \"none\" over several data-parallel ranks: DistributedDataParallel with its gradient buckets is assumed."},
    // Calibrated on Megatron's and Megatron-Bridge's mixtures of experts: a busy rank computes 1.15 times its share, seldom more than 1.4
    // times, and records are the tallest of all steps, so that most lie above.
    {assumption::balanced_routing,
     "tokens are taken to reach all experts evenly. A busier expert keeps more of them; in measured dropless runs a rank computes 1.0 to 1.4 "
     "times its share: state parallel.expert_imbalance for one that does.",
     {"routing", reading::allocated, error_base::routed, 30, 150}},
    // Calibrated on torchtitan and fsdp_qlora.
    {assumption::reserved_by_pools,
     "reserved memory is the sum of what each stream's pool, the logits and the segments left by wrapping hold at most; it is not a replay of "
     "every allocation, and fragmentation comes on top of it.",
     {"stream_pools", reading::reserved, error_base::turnover, 35, 35}},
    // Calibrated on compiled runs of torchtune and torchtitan.
    {assumption::compiled_layers,
     "torch.compile keeps what matrix multiplications, attention and norms read and computes the rest again in backward, as PyTorch's "
     "partitioner prefers; how else it reorders or reuses buffers is not followed.",
     {"compiler", reading::allocated, error_base::step_tensors, 40, 40}},
    // Calibrated on torchtitan's fp8 runs.
    {assumption::fp8_in_linear,
     "fp8 tensors live inside a linear layer for a moment only and are not counted; what is kept for backward stays in 16 bits.",
     {"fp8_tensors", reading::allocated, error_base::activations, 65, 65}},
    {assumption::compiled_loss_targets, without_spread::in_other_spreads,
     "a compiled loss writes its one-hot targets out in backward, one tensor of fp32 logits: inferred from one measured run of torchtune; other versions of PyTorch may not."},
    // Derived: one of the three copies more or less, and half of that.
    {assumption::int8_update_copies,
     "the update of 8-bit optimizer state makes three fp32 copies of the tensor at hand: calibrated on one measured run of torchtune with AdamW8bit.",
     {"update_copies", reading::allocated, error_base::temporaries, 170, 170}},
    // Calibrated on three replayed runs of PEFT.
    {assumption::reserved_replayed,
     "reserved memory is a replay of loading and two steps through the caching allocator's rules, in the order of the walk; evaluation, "
     "saving and samples of other lengths may leave more segments behind.",
     {"replay_order", reading::reserved, error_base::turnover, 45, 45}},
    // Derived: either the copies are made or another phase is the tallest; half of that either way.
    {assumption::moments_copied_for_step,
     "moments in fewer than 32 bits are copied to fp32 for the optimizer step, as TransformerEngine did before 2026-02.",
     {"moment_copies", reading::allocated, error_base::over_next, 500, 0}},
    // Derived: a head that does not wait gives back its logits' gradient, some tenth of what waits.
    {assumption::zero_bubble_defers_all,
     "zero-bubble schedules are assumed to put off the weight gradient of every matrix, the head's included.",
     {"deferred_weights", reading::allocated, error_base::samples, 100, 0}},
    {assumption::rank_with_most_weights, without_spread::in_other_spreads,
     "Muon's distributed optimizer gives whole weights to ranks: the rank with the most of them is reported, others hold less."},
    {assumption::first_micro_batch_gathers, without_spread::in_other_spreads,
     "under Megatron-FSDP the first micro-batch of a run gathers layers in the loss, once more than later ones; optimizer states are taken to "
     "be there by then, as in a run that goes on from a checkpoint."},
    {assumption::update_without_copies, without_spread::in_other_spreads,
     "the foreach update of this framework makes no temporaries as large as the parameters: inferred from one measured run of torchtune, not read in its source."},
    {assumption::compiled_chunks_in_place, without_spread::in_other_spreads,
     "the gradient of a compiled chunk of logits takes the chunk's own place: inferred from two measured runs of torchtune."},
    // Derived: two handles' workspaces of 32 instead of 8.1 MiB are 48 MiB more; half of it.
    {assumption::cublas_workspace_before_2026,
     "cuBLAS workspaces of this GPU are the 8.1 MiB of PyTorch before 2.12 (2026-02), where each takes 32 MiB; environment.torch says which.",
     {"cublas_workspace", reading::allocated, error_base::mebibyte, 0, 24'000}},
    // Calibrated on litgpt under FSDP1. Shorter samples only take less.
    {assumption::samples_of_one_length,
     "every micro-batch of a step is as long as batch.sequence; with samples of their own length the later micro-batches, in which a sharded "
     "model peaks, are shorter.",
     {"sample_lengths", reading::allocated, error_base::samples, 310, 0}},
    // Calibrated on torchtune: most of eleven are within 2 %, three 5 to 9 % off.
    {assumption::recipe_of_one_date,
     "this framework's training loop is a recipe that changes from release to release; the one of the stated date is assumed.",
     {"recipe", reading::allocated, error_base::allocated, 40, 40}},
    // Stated: MiniCPM-V's six runs, of grade C, took twice what is predicted, of what comes and goes (test_towers.cpp): half of that is one deviation.
    {assumption::towers_on_few_runs,
     "vision towers, resamplers and their ZeRO-3 gathers follow their source; MiniCPM-V's six measured runs took twice what is predicted, and why is not known.",
     {"towers", reading::allocated, error_base::step_tensors, 250, 500}},
    // Stated: the only two runs of torchtitan's pipelines took 21 and 27 % more than is predicted.
    {assumption::eager_stages_on_two_runs,
     "pipelines of torchtitan's modules have been compared with two runs alone, which took a fifth more than is predicted.",
     {"eager_stages", reading::allocated, error_base::allocated, 50, 200}},
    // Stated: of 29 runs 27 are within 2.6 %, most of them low; two of 0.5 GB are 7 and 24 % low. With tensor parallelism BERT takes 30 to 110 MiB
    // more than its tensors, whatever its size.
    {assumption::megatron_kinds_on_few_runs,
     "Megatron's hybrid stacks, BERT and T5 follow their source and have been compared with 29 published runs, of which 27 are within 3 %.",
     {"megatron_kinds", reading::allocated, error_base::allocated, 10, 13},
     {"megatron_blocks", reading::allocated, error_base::mebibyte, 2000, 45'000}},
    {assumption::parameters_stay_on_gpu, without_spread::fills_in,
     "offload.parameters has no effect: DeepSpeed offloads parameters in ZeRO's third stage alone and keeps them on the GPU in the others, "
     "without a word."},
    // Calibrated on fms-acceleration's nine runs on two GPUs, all of which lie above.
    {assumption::sharded_adapters_unexplained,
     "adapters of PEFT under FSDP1 took 3 to 11 % more than is predicted in eight measured runs, and a quarter more in one of 70B; why is not "
     "known.",
     {"adapter_units", reading::allocated, error_base::allocated, 15, 75}},
    // Calibrated on its four runs of a quantised base on one GPU.
    {assumption::upcast_quantised_base,
     "PEFT on a quantised base has been compared with four runs on one GPU, within 5 %; precision.parameters says what it leaves in fp32.",
     {"adapter_base", reading::allocated, error_base::allocated, 30, 30}},
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
    // Stated: eight runs of ms-swift's DPO, rounded by hand and with chat samples of unknown lengths, took from 8 % less to 41 % more.
    {assumption::methods_on_few_runs,
     "methods other than sft have been compared with eight runs of ms-swift's DPO alone, of samples of unknown lengths; they took from 8 % less to 41 % more than is predicted.",
     {"methods", reading::allocated, error_base::allocated, 50, 200}},
    // Stated: the run of issue 384, of pairs of at most 2,048 tokens, went out of 80 GiB, 2.5 times what is predicted; with flash attention it ran.
    {assumption::openrlhf_dpo_unexplained,
     "OpenRLHF's DPO has been compared with one public run alone (issue 384), which took at least two and a half times what is predicted; why is not known.",
     {"openrlhf_dpo", reading::allocated, error_base::allocated, 50, 800}},
    // Derived: what grows with a sample's length is all there or, where texts end at once, not at all: two deviations.
    {assumption::generation_of_full_length,
     "prompts and completions have the full length that the job states; shorter ones take less. Evaluation is not counted.",
     {"generated_lengths", reading::allocated, error_base::samples, 500, 0}},
    // Derived: 0.3 to 2.5 GiB have been reported.
    {assumption::engine_graphs,
     "CUDA graphs of the engine that generates are counted as 1 GiB beside its share, and stay while it sleeps; 0.3 to 2.5 GiB have been reported.",
     {"engine_graphs", reading::device, error_base::mebibyte, 350'000, 750'000}},
    // Calibrated on the even lines of nanotron's sweep with more than one tensor-parallel rank.
    {assumption::host_ahead_of_collectives,
     "what collectives of tensor parallelism read stays taken until the GPU has passed them. How far the host is ahead of the GPU by then decides how much that is, "
     "and no job says it: one layer is assumed, or where one process has all layers what it gains on the GPU since the step began, 22 at most.",
     {"host_ahead", reading::reserved, error_base::turnover, 110, 220}},
    // Calibrated on the even lines of the same sweep with one tensor-parallel rank: where costs come out even, most runs had a layer less.
    {assumption::head_with_loss,
     "nanotron may put the head on one stage and the loss on a later one: both are counted on the last stage. Where its costs of layers come out even, runs "
     "have had a layer less on the first stage than its code says.",
     {"dealt_layers", reading::allocated, error_base::step_tensors, 60, 30}},
    {assumption::lengths_not_given, without_spread::decides,
     "every micro-batch is taken to be as long as batch.sequence. Where samples have lengths of their own, without packing, reserved memory is a lower "
     "bound, and a job that fits by it may still run out: batch.lengths says how long they are."},
    // Calibrated on rows 0, 2, 4, … of tests/data/tables_measured.jsonl (test_tables.py holds the others), unknown_lengths on lines 0, 2, 4, … of swift_lengths.jsonl there.
    {assumption::lengths_unknown, without_spread::decides, "how long samples are is not known: all are counted as long as batch.sequence. Shorter ones take less; lengths that vary leave more cached: batch.lengths says them.",
     {"longest_sample", reading::allocated, error_base::step_tensors, 250, 40}, {"unknown_lengths", reading::reserved, error_base::cached, 0, 1430}, {"program_beside", reading::reserved, error_base::mebibyte, 0, 1'200'000}},
    {assumption::lengths_not_replayed, without_spread::decides,
     "samples have lengths of their own (batch.lengths): allocated memory and the step's time are those of a longest micro-batch. Reserved memory is a "
     "lower bound here: only a replay of many micro-batches says what they leave cached, and whether the job fits."},
    // Derived: the tenth and the ninetieth percentile of a normal distribution lie 2.56 standard deviations apart.
    {assumption::lengths_replayed,
     "samples have lengths of their own (batch.lengths): allocated memory and the step's time are those of a longest micro-batch; reserved memory is the "
     "median of replays of a run in several orders, of at most 128 micro-batches each; the job fits where each of them does.",
     {"sample_orders", reading::reserved, error_base::orders, 390, 390}},
    // Figures in the head of its scripts (whole GiB of torch.cuda.max_memory_reserved, swift/megatron/init.py), with the commit that wrote them, where rows are
    // packed full. Dense: fp8/benchmark.sh (bf16; 891a9ab3, 2025-12) 52 of 49.0 predicted; base_to_chat.sh (9d297f99, 2025-03) 65 of 59.1 and
    // dense/qwen3_32b.sh (40c8406f, 2025-05) 80 of 71.8, both before the scripts had expandable segments: a root mean square of 9.4 %.
    {assumption::swift_over_megatron,
     "ms-swift over Megatron-Core has been compared with three figures in its own scripts of dense models, which are 6 to 11 % above what is predicted; two of them "
     "are from before the scripts set expandable segments.",
     {"swift_megatron", reading::reserved, error_base::allocated, 20, 94}},
    // Experts: moe/moe.sh (c3f3ca4a, 2025-07) 57 of 44.4, moe/deepseek_v3.sh (cecf735f, 2025-07) 60 of 50.4, flash_attention_3/mcore.sh (710553d8, 2025-08) 49
    // of 35.9, cached_dataset/mcore.sh (11a345d4, 2025-07) 48 of 35.9, mcore_bridge/full/moe.sh (fca00c96, 2025-11; with a capacity) 76 of 67.9: a root mean square of 27.5 %. Neither the
    // busiest rank's share of tokens nor the allocator's holes of such sizes, replayed, make that difference.
    {assumption::swift_experts_over_megatron,
     "ms-swift over Megatron-Core has been compared with five figures in its own scripts of mixtures of experts, which are 12 to 36 % above what is predicted; "
     "why is not known.",
     {"swift_megatron_experts", reading::reserved, error_base::allocated, 20, 275}},
    // Calibrated on the first, third, fifth, … line of tests/data/bloom_memory.jsonl (whole GB as nvidia-smi shows them, taken as GiB): 80 % of these 33
    // figures, and of one more, are within 24.8 % of what is allocated.
    {assumption::megatron_under_deepspeed,
     "Megatron-DeepSpeed has been compared with the memory that BLOOM's authors noted while they chose its layout: in pipelines mostly a "
     "tenth to three tenths of what is allocated above what is predicted; why is not known. GPT-NeoX, under the same engine, has been compared with no figure. "
     "Gradients are counted from the start of forward.",
     {"megatron_deepspeed", reading::reserved, error_base::allocated, 20, 194}},
    // Derived: a dense layer that is compiled keeps an eighth less (Llama 3 8B, every other multiplication recomputed: 13.8 and 15.8 GiB at 8,192 tokens).
    {assumption::compiled_in_parts,
     "layers with experts or latent attention are walked as eager modules under torch.compile, too: what of them is compiled changes from release to release, and keeps less.",
     {"compiled_parts", reading::allocated, error_base::activations, 100, 20}},
    // Stated: of ten published figures five on an Ascend 910B (ms-swift's NPU-support.md, whole GB, sample lengths unknown) are 23 to 68 % above, three on MI355X (Primus) from 6 %
    // below to 24 % above; of two MI300X jobs the layers are not known.
    {assumption::other_maker,
     "accelerators of other makers than NVIDIA have been compared with few runs (Ascend 910B, MI355X), which took from 6 % less than is predicted to 68 % more: their runtimes, "
     "libraries and collectives take what is not counted.",
     {"other_maker", reading::device, error_base::device, 40, 250}},
    {assumption::nvfp4_by_source, without_spread::left_out,
     "NVFP4 follows TransformerEngine's source (4 bits, a scale for 16 numbers, rows and columns apart) and has been compared with no run; what its "
     "Hadamard transforms make for a moment is left out."},
    {assumption::unsloth_by_source,  // derived: a compiled loss may write its gradient over a chunk's logits, half of both, or one-hot targets in fp32, as much again: at 95 %
     "Unsloth's layers, checkpoints and loss follow its source: compared from one side alone, its published longest contexts (2024-12) are predicted to take 5 to 13 % less than those "
     "GPUs have. Attention that is not flash is xFormers', given keys and values repeated. The loss comes in chunks by what is free at the first step, taken to be all but the weights.",
     {"loss_chunks", reading::allocated, error_base::logits_again, 180, 360}},
    {assumption::corrected_by_run, without_spread::decides,
     "these numbers are corrected by a measured run (measured): what is uncertain in them is as far off as it was there, two thirds of that where the job is not "
     "that run's; ranges are what it leaves of them."},
    {assumption::newest_framework, without_spread::decides, "framework.version says neither a date nor a release that is known: the framework's newest profile is taken."},
});
// clang-format on
/// How many there are.
inline constexpr int assumption_count = static_cast<int>(all_assumptions.size());
static_assert([] {
  for (std::size_t i = 0; i < all_assumptions.size(); ++i)
    if (static_cast<std::size_t>(all_assumptions[i].id) != i) return false;
  return true;
}(), "the table has one entry for each assumption, in their order");

/// The entry of an assumption.
constexpr const assumption_entry& entry_of(assumption a) { return all_assumptions[static_cast<std::size_t>(a)]; }

}  // namespace headroom
